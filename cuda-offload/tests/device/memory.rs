//! Memory, and copies between it and the host.

use device_trait::Device;

use crate::common::{complete, get, one, put};

#[test]
fn bytes_go_there_and_come_back() {
    let gpu = one("delay=100");
    let block = put(&gpu, &[1, 2, 3, 4]);
    assert_eq!(get(&gpu, block), [1, 2, 3, 4]);
    assert_eq!(get(&gpu, block + 8), [3, 4]);
    let other = gpu.allocate(16, 4096).expect("room");
    assert_eq!(other % 4096, 0);
    // SAFETY: as large.
    complete(&gpu, unsafe { gpu.copy_within(other, block + 4, 12) }).expect("copied");
    assert_eq!(get(&gpu, other), [2, 3, 4]);
    // SAFETY: no operation uses them any more.
    unsafe {
        gpu.free(block);
        gpu.free(other);
    }
    gpu.synchronise().expect("fine");
}

#[test]
fn what_touches_the_same_bytes_happens_in_order_in_whatever_stream() {
    for seed in 1..20 {
        let gpu = one(&format!("delay=300,seed={seed}"));
        let (a, b) = (put(&gpu, &[0; 64]), put(&gpu, &[0; 64]));
        let (values, mut seen) =
            ((0..8).map(|round| [round + 1; 64]).collect::<Vec<[u32; 64]>>(), [[0_u32; 64]; 8]);
        let mut begun = Vec::new();
        for (values, seen) in values.iter().zip(&mut seen) {
            // SAFETY: as large; values and what is seen stay until all is over.
            unsafe {
                begun.push(gpu.copy_in(a, values.as_ptr().cast(), 256).expect("begun"));
                begun.push(gpu.copy_within(b, a, 256).expect("begun"));
                begun.push(gpu.copy_out(seen.as_mut_ptr().cast(), b, 256).expect("begun"));
            }
        }
        for operation in begun.into_iter().rev() {
            complete(&gpu, Ok(operation)).expect("fine");
        }
        assert_eq!(seen.to_vec(), values, "seed {seed}");
    }
}

#[test]
fn memory_runs_out_with_a_line_and_comes_back() {
    let gpu = one("memory=8");
    let blocks: Vec<_> = (0..3).map(|_| gpu.allocate(2 << 20, 64).expect("room")).collect();
    let full = gpu.allocate(4 << 20, 64).expect_err("full");
    assert_eq!(full.to_string(), format!("out of memory for {} bytes", 4 << 20));
    // SAFETY: no operation uses them any more.
    blocks.into_iter().for_each(|block| unsafe { gpu.free(block) });
    let large = gpu.allocate(6 << 20, 64).expect("what was kept has gone");
    // SAFETY: no operation uses it any more.
    unsafe { gpu.free(large) };
    assert!(gpu.allocate(usize::MAX, 64).is_err());
}

#[test]
fn a_driver_that_has_no_memory_once_is_asked_again_only_if_something_was_kept() {
    // The first allocation is the device's own words of zeros.
    let gpu = one("alloc=3");
    let block = gpu.allocate(100, 8).expect("room");
    assert!(gpu.allocate(1000, 8).is_err(), "the third one");
    // SAFETY: no operation uses it any more.
    unsafe { gpu.free(block) };
    assert!(gpu.allocate(1000, 8).is_ok());
}

#[test]
fn many_threads_copy_at_the_same_time() {
    let gpu = one("delay=50");
    std::thread::scope(|scope| {
        for thread in 0..8_u32 {
            let gpu = &gpu;
            scope.spawn(move || {
                for round in 0..30 {
                    let values = [thread, round, thread * round, 9];
                    let block = put(gpu, &values);
                    assert_eq!(get(gpu, block), values);
                    // SAFETY: no operation uses it any more.
                    unsafe { gpu.free(block) };
                }
            });
        }
    });
}
