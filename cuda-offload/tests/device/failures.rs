//! What fails: which calls say so, in which words, and which devices go on.

use cuda_offload::{Gpu, gpus};
use device_trait::{Convention, Device, DeviceFailure, DeviceModule, DeviceOperation};

use crate::common::{all, complete, get, image, kernels, launch, load, one, open, opened, put};

/// A kernel with the arguments that it wants.
fn add(gpu: &Gpu, module: DeviceModule, block: usize) -> Result<DeviceOperation, DeviceFailure> {
    let arguments = [block, block, 4, 1];
    // SAFETY: the kernel's arguments.
    unsafe { gpu.run(&launch(gpu, module, c"add", Convention::Separate, &arguments)) }
}

fn copy_in(gpu: &Gpu, block: usize, values: &[u32]) -> Result<DeviceOperation, DeviceFailure> {
    // SAFETY: as large; constants, or waited for.
    unsafe { gpu.copy_in(block, values.as_ptr().cast(), size_of_val(values)) }
}

#[test]
fn every_call_on_a_lost_device_says_what_happened() {
    let gpu = one("launch=2");
    let (module, block, other) = (load(&gpu), put(&gpu, &[1; 4]), put(&gpu, &[2; 4]));
    complete(&gpu, add(&gpu, module, block)).expect("the first one");
    assert!(complete(&gpu, add(&gpu, module, block)).is_err());
    let mut seen = [0_u32; 4];
    let stream = gpu.open_stream(0);
    // SAFETY: all fail.
    let failures = unsafe {
        [
            complete(&gpu, copy_in(&gpu, block, &[0; 4])),
            complete(&gpu, gpu.copy_out(seen.as_mut_ptr().cast(), block, 16)),
            complete(&gpu, gpu.copy_within(block, other, 16)),
            complete(&gpu, add(&gpu, module, other)),
            gpu.synchronise(),
            gpu.allocate(100 << 20, 64).map(|_| ()),
            stream.and_then(|stream| complete(&gpu, gpu.mark(stream.id, &[]))),
        ]
    };
    for (at, failure) in failures.into_iter().enumerate() {
        assert_eq!(failure.expect_err("lost").to_string(), "CUDA_ERROR_LAUNCH_FAILED", "{at}");
    }
    assert!(gpu.load(&image(kernels(), 9)).is_err());
    assert_eq!(gpu.known(), 0);
}

#[test]
fn operations_that_were_under_way_come_to_an_end() {
    for seed in 1..10 {
        let (_, gpu) = opened(&format!("launch=3,delay=400,seed={seed}"));
        let (module, block, mut seen) = (load(&gpu), put(&gpu, &[0; 4]), vec![0_u8; 5 << 20]);
        let large = gpu.allocate(5 << 20, 64).expect("room");
        let mut begun = Vec::new();
        for _ in 0..6 {
            begun.extend(add(&gpu, module, block));
            begun.extend(copy_in(&gpu, block, &[3; 4]));
        }
        // SAFETY: as large, and waited for.
        begun.extend(unsafe { gpu.copy_out(seen.as_mut_ptr(), large, seen.len()) });
        let failed =
            begun.into_iter().rev().filter(|&operation| complete(&gpu, Ok(operation)).is_err()).count();
        assert!(failed > 0, "seed {seed}");
        assert_eq!(gpu.known(), 0);
    }
}

#[test]
fn one_device_is_lost_under_many_threads_and_the_others_go_on() {
    let gpus = all("devices=3,launch=60,delay=60");
    let failed: Vec<usize> = std::thread::scope(|scope| {
        let run = |at: usize| {
            let gpu = &gpus[at % 3];
            let module = load(gpu);
            let mut failed = 0;
            for _ in 0..30 {
                let Ok(block) = gpu.allocate(16, 64) else {
                    failed += 1;
                    continue;
                };
                let steps = || {
                    complete(gpu, copy_in(gpu, block, &[at as u32; 4]))?;
                    complete(gpu, add(gpu, module, block))?;
                    Ok::<_, DeviceFailure>(get::<4>(gpu, block))
                };
                // The device may be lost between two steps only for who has lost it.
                match std::panic::catch_unwind(std::panic::AssertUnwindSafe(steps)) {
                    Ok(Ok(values)) => assert_eq!(values, [at as u32 + 1; 4]),
                    _ => failed += 1,
                }
                // SAFETY: it is not in use.
                unsafe { gpu.free(block) };
            }
            failed
        };
        let threads: Vec<_> = (0..6).map(|at| scope.spawn(move || run(at))).collect();
        threads.into_iter().map(|thread| thread.join().expect("it ends")).collect()
    });
    let lost: Vec<bool> = (0..3).map(|device| failed[device] + failed[device + 3] > 0).collect();
    assert_eq!(lost.iter().filter(|&&lost| lost).count(), 1, "{failed:?}");
    for (gpu, lost) in gpus.iter().zip(lost) {
        assert_eq!(gpu.synchronise().is_err(), lost);
        assert_eq!(gpu.known(), 0);
    }
}

#[test]
fn a_wrong_address_is_named() {
    let gpu = one("");
    let block = put(&gpu, &[1; 4]);
    let wrong = complete(&gpu, copy_in(&gpu, block + (1 << 40), &[1]));
    assert_eq!(wrong.expect_err("no block").to_string(), "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_eq!(gpu.synchronise().expect_err("lost").to_string(), "CUDA_ERROR_ILLEGAL_ADDRESS");
}

#[test]
fn a_kernel_without_room_for_its_buffer_is_refused_and_runs_later() {
    let gpu = one("memory=4");
    let (module, out) = (load(&gpu), put(&gpu, &[0; 2]));
    let arguments = [out];
    let reduce = launch(&gpu, module, c"reduce", Convention::SeparateAfterEnvironment, &arguments);
    let mut all = vec![];
    while let Ok(block) = gpu.allocate(512, 64) {
        all.push(block);
    }
    // SAFETY: the kernel's arguments.
    let refused = unsafe { gpu.run(&reduce) };
    assert_eq!(refused.expect_err("full").to_string(), "out of memory for 192 bytes");
    // SAFETY: it is not in use.
    unsafe { gpu.free(all.pop().expect("many")) };
    // SAFETY: the kernel's arguments.
    complete(&gpu, unsafe { gpu.run(&reduce) }).expect("it runs");
    assert_eq!(get(&gpu, out), [0, 1]);
}

#[test]
fn a_device_that_cannot_be_opened_is_left_out_with_a_line() {
    let (found, lines) = gpus(open("devices=3,alloc=2").expect("a driver")).expect("devices");
    assert_eq!(found.len(), 2);
    assert_eq!(lines, ["CUDA device 1 is left out: out of memory for 16 bytes"]);
    let (a, b) = (put(&found[0], &[1; 2]), put(&found[1], &[2; 2]));
    let peer = found[1].peer().expect("a peer");
    assert!(found[0].reaches(peer) && !found[0].reaches(peer - 1), "who was left out is nobody's peer");
    // SAFETY: as large, and waited for.
    complete(&found[0], unsafe { found[0].copy_across(a, peer, b, 8) }).expect("copied");
    assert_eq!(get(&found[0], a), [2; 2]);
    let none = gpus(open("devices=1,alloc=1").expect("a driver")).err().expect("no device");
    assert_eq!(none, "CUDA device 0 is left out: out of memory for 16 bytes");
}

#[test]
fn a_lost_device_goes_without_a_hang() {
    for seed in 1..6 {
        let gpus = all(&format!("devices=2,launch=1,delay=200,seed={seed}"));
        let (module, blocks) = (load(&gpus[0]), [put(&gpus[0], &[0; 4]), put(&gpus[1], &[0; 4])]);
        let _failing = add(&gpus[0], module, blocks[0]);
        let peer = gpus[0].peer().expect("a peer");
        if gpus[1].reaches(peer) {
            // SAFETY: as large; synchronised below.
            let _copied = unsafe { gpus[1].copy_across(blocks[1], peer, blocks[0], 16) };
        }
        let _ = gpus[1].synchronise();
        drop(gpus);
    }
}
