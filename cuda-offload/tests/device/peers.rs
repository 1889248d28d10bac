//! Copies between devices.

use cuda_offload::Gpu;
use device_trait::{Convention, Device, DeviceFailure, DeviceOperation};

use crate::common::{all, complete, driver_file_old, get, launch, load, open_file, put};

/// From one device to another: begun only.
fn across(to: (&Gpu, usize), from: (&Gpu, usize), size: usize) -> Result<DeviceOperation, DeviceFailure> {
    let peer = from.0.peer().expect("a peer");
    assert!(to.0.reaches(peer));
    // SAFETY: as large, and all operations are waited for before anything goes.
    unsafe { to.0.copy_across(to.1, peer, from.1, size) }
}

/// One kernel: adds a number to four of them.
fn add(gpu: &Gpu, block: usize, by: usize) -> DeviceOperation {
    let arguments = [block, block, 4, by];
    // SAFETY: the kernel's arguments.
    unsafe { gpu.run(&launch(gpu, load_once(gpu), c"add", Convention::Separate, &arguments)) }.expect("begun")
}

fn load_once(gpu: &Gpu) -> device_trait::DeviceModule {
    let module = device_trait::DeviceModule(0);
    if gpu.find(module, c"add").is_some() { module } else { load(gpu) }
}

#[test]
fn devices_know_each_other_and_not_themselves() {
    let gpus = all("devices=3");
    for (i, a) in gpus.iter().enumerate() {
        for (j, b) in gpus.iter().enumerate() {
            assert_eq!(a.reaches(b.peer().expect("a peer")), i != j);
        }
        assert!(!a.reaches(0) && !a.reaches(7) && !a.reaches(u64::MAX), "other kinds have other numbers");
    }
}

#[test]
fn bytes_go_from_one_device_to_another() {
    let gpus = all("devices=2,delay=100");
    let (from, to) = (put(&gpus[0], &[1, 2, 3, 4]), put(&gpus[1], &[9; 4]));
    complete(&gpus[1], across((&gpus[1], to + 4), (&gpus[0], from), 8)).expect("copied");
    assert_eq!((get(&gpus[1], to), get(&gpus[0], from)), ([9, 1, 2, 9], [1, 2, 3, 4]));
}

#[test]
fn a_copy_comes_behind_what_writes_to_its_source_and_before_what_writes_there_later() {
    for seed in 1..30 {
        let gpus = all(&format!("devices=2,delay=300,seed={seed}"));
        let (from, to) = (put(&gpus[0], &[0; 4]), put(&gpus[1], &[0; 4]));
        let values: Vec<_> = (1..6_u32).map(|round| [round * 10; 4]).collect();
        let (mut seen, mut begun) = ([[0_u32; 4]; 5], Vec::new());
        for (values, seen) in values.iter().zip(&mut seen) {
            // SAFETY: as large; all is waited for.
            unsafe {
                begun.push((0, gpus[0].copy_in(from, values.as_ptr().cast(), 16).expect("begun")));
                begun.push((0, add(&gpus[0], from, 1)));
                begun.push((1, across((&gpus[1], to), (&gpus[0], from), 16).expect("begun")));
                begun.push((0, gpus[0].copy_in(from, [7_u32; 4].as_ptr().cast(), 16).expect("begun")));
                begun.push((1, add(&gpus[1], to, 2)));
                begun.push((1, gpus[1].copy_out(seen.as_mut_ptr().cast(), to, 16).expect("begun")));
            }
            // The seven's bytes are this round's.
            let last = begun[begun.len() - 3];
            complete(&gpus[last.0], Ok(last.1)).expect("fine");
        }
        begun
            .into_iter()
            .rev()
            .for_each(|(device, operation)| complete(&gpus[device], Ok(operation)).expect("fine"));
        assert_eq!(seen, [[13; 4], [23; 4], [33; 4], [43; 4], [53; 4]], "seed {seed}");
    }
}

#[test]
fn a_ring_of_devices_passes_bytes_on_without_the_host() {
    for seed in 1..10 {
        let gpus = all(&format!("devices=4,delay=200,seed={seed}"));
        let blocks: Vec<_> = gpus.iter().map(|gpu| put(gpu, &[0; 4])).collect();
        let mut begun = Vec::new();
        for step in 0..20 {
            let (at, next) = (step % 4, (step + 1) % 4);
            begun.push((at, add(&gpus[at], blocks[at], 1)));
            begun.push((
                next,
                across((&gpus[next], blocks[next]), (&gpus[at], blocks[at]), 16).expect("begun"),
            ));
        }
        assert_eq!(get(&gpus[0], blocks[0]), [20; 4], "seed {seed}");
        begun
            .into_iter()
            .for_each(|(device, operation)| complete(&gpus[device], Ok(operation)).expect("fine"));
    }
}

#[test]
fn what_was_copied_and_reported_holds_nobody_up_any_more() {
    let gpus = all("devices=2,delay=20");
    let (a, b) = (put(&gpus[0], &[3; 4]), put(&gpus[1], &[0; 4]));
    for round in 0..300 {
        complete(&gpus[1], across((&gpus[1], b), (&gpus[0], a), 16)).expect("copied");
        complete(&gpus[0], Ok(add(&gpus[0], a, 1))).expect("fine");
        assert_eq!(get(&gpus[1], b), [3 + round; 4]);
        assert_eq!((gpus[0].known(), gpus[1].known()), (0, 0));
    }
}

#[test]
fn without_a_way_or_without_the_functions_it_says_so() {
    for (settings, reached) in [
        ("devices=4,peers=0", [false; 3]),
        ("devices=4,peers=2", [true, false, false]),
        ("devices=4,peers=3", [false; 3]),
    ] {
        let gpus = all(settings);
        for (other, reached) in gpus[1..].iter().zip(reached) {
            let (peer, block) = (other.peer().expect("a peer"), put(&gpus[0], &[5; 2]));
            assert_eq!([gpus[0].reaches(peer), gpus[0].reaches(peer)], [reached; 2], "{settings}");
            let from = put(other, &[8; 2]);
            // SAFETY: as large, and waited for.
            let copied = complete(&gpus[0], unsafe { gpus[0].copy_across(block, peer, from, 8) });
            assert_eq!(copied.is_ok(), reached, "{settings}");
            assert_eq!(get(&gpus[0], block), if reached { [8; 2] } else { [5; 2] });
        }
    }
    let old =
        cuda_offload::gpus(open_file(driver_file_old(), "devices=2").expect("a driver")).expect("devices").0;
    assert!(old[0].peer().is_none() && !old[0].reaches(1 << 32 | 1));
    // SAFETY: it is refused.
    assert!(unsafe { old[0].copy_across(0, 1 << 32 | 1, 0, 8) }.is_err());
}

#[test]
fn a_source_that_is_lost_fails_the_copy_and_nobody_else() {
    let gpus = all("devices=3,launch=1");
    let blocks: Vec<_> = gpus.iter().map(|gpu| put(gpu, &[4; 4])).collect();
    assert!(complete(&gpus[0], Ok(add(&gpus[0], blocks[0], 1))).is_err());
    let lost = complete(&gpus[1], across((&gpus[1], blocks[1]), (&gpus[0], blocks[0]), 16));
    assert_eq!(lost.expect_err("it fails").to_string(), "CUDA_ERROR_LAUNCH_FAILED");
    complete(&gpus[1], across((&gpus[1], blocks[1]), (&gpus[2], blocks[2]), 16)).expect("these two go on");
    assert_eq!(get(&gpus[1], blocks[1]), [4; 4]);
}

#[test]
fn many_threads_copy_in_all_directions() {
    let gpus = all("devices=4,delay=40");
    std::thread::scope(|scope| {
        for thread in 0..8_usize {
            let gpus = &gpus;
            scope.spawn(move || {
                for round in 0..25_u32 {
                    let (a, b) = (thread % 4, (thread + 1 + round as usize % 3) % 4);
                    let values = [thread as u32, round];
                    let (from, to) = (put(&gpus[a], &values), put(&gpus[b], &[0; 2]));
                    let there = across((&gpus[b], to), (&gpus[a], from), 8).expect("begun");
                    let back = across((&gpus[a], from), (&gpus[b], to), 8).expect("begun");
                    assert_eq!((get(&gpus[b], to), get(&gpus[a], from)), (values, values));
                    complete(&gpus[b], Ok(there)).expect("fine");
                    complete(&gpus[a], Ok(back)).expect("fine");
                    // SAFETY: no operation uses them any more.
                    unsafe {
                        gpus[a].free(from);
                        gpus[b].free(to);
                    }
                }
            });
        }
    });
}

#[test]
fn devices_go_in_whatever_order_with_copies_that_nobody_asked_for() {
    for first in 0..2 {
        let mut gpus = all("devices=2,delay=50");
        let (a, b) = (put(&gpus[0], &[1; 4]), put(&gpus[1], &[2; 4]));
        let begun = across((&gpus[1], b), (&gpus[0], a), 16).expect("begun");
        gpus[0].synchronise().expect("fine");
        gpus[1].synchronise().expect("fine");
        drop(gpus.remove(first));
        if first == 0 {
            complete(&gpus[0], Ok(begun)).expect("fine");
            assert_eq!(get(&gpus[0], b), [1; 4]);
        } else {
            complete(&gpus[0], Ok(add(&gpus[0], a, 1))).expect("the source is free");
            assert_eq!(get(&gpus[0], a), [2; 4]);
        }
    }
}
