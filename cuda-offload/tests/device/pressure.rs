//! Memory at its limit, and many threads on several devices at once.

use std::sync::Barrier;

use cuda_offload::{Gpu, gpus};
use device_trait::{Convention, Device, DeviceOperation};

use crate::common::{all, complete, get, launch, load, one, open, put};

/// Numbers by chance.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// All that is left can be had, in pieces of 2 MiB: how many.
fn room(gpu: &Gpu) -> usize {
    let blocks: Vec<_> = std::iter::from_fn(|| gpu.allocate(2 << 20, 64).ok()).collect();
    // SAFETY: no operation uses them any more.
    blocks.iter().for_each(|&block| unsafe { gpu.free(block) });
    blocks.len()
}

#[test]
fn many_threads_allocate_and_free_at_the_limit_and_nothing_is_lost() {
    let gpu = one("memory=24,delay=20");
    let before = room(&gpu);
    assert!(before >= 11);
    let full: usize = std::thread::scope(|scope| {
        let work = |thread: usize| {
            let (mut chance, mut mine, mut full) = (Chance(thread as u64 + 1), Vec::new(), 0);
            for round in 0..150 {
                let most = if chance.below(3) == 0 { 1 << 20 } else { 1 << 10 };
                let size = 4 * (1 + chance.below(most));
                match gpu.allocate(size, 64) {
                    Ok(block) => {
                        let value = (thread << 16 | round) as u32;
                        for at in [block, block + size - 4] {
                            // SAFETY: inside of the block, and waited for.
                            complete(&gpu, unsafe { gpu.copy_in(at, (&raw const value).cast(), 4) })
                                .expect("copied");
                        }
                        mine.push((block, size, value));
                    }
                    Err(why) => {
                        assert_eq!(why.to_string(), format!("out of memory for {size} bytes"));
                        full += 1;
                    }
                }
                while mine.len() > 6 || !mine.is_empty() && chance.below(4) == 0 {
                    let (block, size, value) = mine.swap_remove(chance.below(mine.len()));
                    assert_eq!(
                        (get(&gpu, block), get(&gpu, block + size - 4)),
                        ([value], [value]),
                        "nobody else has written there"
                    );
                    // SAFETY: no operation uses it any more.
                    unsafe { gpu.free(block) };
                }
            }
            // SAFETY: no operation uses them any more.
            mine.into_iter().for_each(|(block, ..)| unsafe { gpu.free(block) });
            full
        };
        let threads: Vec<_> = (0..8).map(|thread| scope.spawn(move || work(thread))).collect();
        threads.into_iter().map(|thread| thread.join().expect("it ends")).sum()
    });
    assert!(full > 0, "the limit was met");
    assert_eq!((room(&gpu), gpu.known()), (before, 0));
}

#[test]
fn the_last_room_is_given_to_one_of_many() {
    let gpu = one("memory=9");
    let whole = 8 << 20;
    for _ in 0..20 {
        let (start, end) = (Barrier::new(6), Barrier::new(6));
        let got: usize = std::thread::scope(|scope| {
            let take = || {
                start.wait();
                let block = gpu.allocate(whole, 64);
                end.wait();
                // SAFETY: no operation uses it any more.
                block.iter().for_each(|&block| unsafe { gpu.free(block) });
                usize::from(block.is_ok())
            };
            let threads: Vec<_> = (0..6).map(|_| scope.spawn(take)).collect();
            threads.into_iter().map(|thread| thread.join().expect("it ends")).sum()
        });
        assert_eq!(got, 1);
    }
}

#[test]
fn kept_blocks_of_one_size_make_room_for_another() {
    let gpu = one("memory=16");
    for round in 0..30 {
        let size = [512, 1 << 16, 1 << 20, 5 << 20][round % 4];
        let blocks: Vec<_> = std::iter::from_fn(|| gpu.allocate(size, 64).ok()).take(200).collect();
        assert!(!blocks.is_empty(), "round {round}");
        // SAFETY: no operation uses them any more.
        blocks.into_iter().for_each(|block| unsafe { gpu.free(block) });
    }
}

#[test]
fn a_device_that_goes_gives_all_its_memory_back() {
    let driver = open("memory=12").expect("a driver");
    let mut rooms = Vec::new();
    for _ in 0..4 {
        let gpu = gpus(driver).expect("devices").0.remove(0);
        let (kept, used) = (gpu.allocate(1 << 20, 64).expect("room"), gpu.allocate(100, 64).expect("room"));
        // SAFETY: no operation uses them any more.
        unsafe {
            gpu.free(kept);
            gpu.free(used);
        }
        rooms.push(room(&gpu));
    }
    assert!(rooms.iter().all(|&room| room == rooms[0] && room >= 5), "{rooms:?}");
}

#[test]
fn several_devices_work_for_many_threads_at_their_limits() {
    let gpus = all("devices=3,memory=16,delay=30,pageable=1");
    let modules: Vec<_> = gpus.iter().map(load).collect();
    std::thread::scope(|scope| {
        for thread in 0..9_usize {
            let (gpus, modules) = (&gpus, &modules);
            scope.spawn(move || {
                let mut chance = Chance(thread as u64 + 77);
                for round in 0..25_u32 {
                    let at = chance.below(3);
                    let (gpu, count) = (&gpus[at], 1 + chance.below(200_000));
                    let block = loop {
                        match gpu.allocate(4 * count, 64) {
                            Ok(block) => break block,
                            Err(_) => std::thread::yield_now(),
                        }
                    };
                    let (values, mut seen) = (vec![round; count], vec![0_u32; count]);
                    let arguments = [block, block, count, thread];
                    // SAFETY: as large, the kernel's arguments, and all is waited for.
                    let begun: [DeviceOperation; 3] = unsafe {
                        [
                            gpu.copy_in(block, values.as_ptr().cast(), 4 * count).expect("begun"),
                            gpu.run(&launch(gpu, modules[at], c"add", Convention::Separate, &arguments))
                                .expect("begun"),
                            gpu.copy_out(seen.as_mut_ptr().cast(), block, 4 * count).expect("begun"),
                        ]
                    };
                    begun.into_iter().for_each(|operation| complete(gpu, Ok(operation)).expect("fine"));
                    assert!(
                        seen.iter().all(|&value| value == round + thread as u32),
                        "thread {thread}, round {round}"
                    );
                    // SAFETY: no operation uses it any more.
                    unsafe { gpu.free(block) };
                }
            });
        }
    });
    assert!(gpus.iter().all(|gpu| gpu.known() == 0));
}

/// What a thread has on the devices, and what should be there.
struct Mine<'a> {
    gpus: &'a [Gpu],
    blocks: Vec<(usize, usize)>,
    model: Vec<Vec<u32>>,
    begun: Vec<(usize, DeviceOperation)>,
    /// Sources and targets of copies stay until all is over.
    kept: Vec<(Vec<u32>, Option<Vec<u32>>)>,
}

impl Mine<'_> {
    fn step(&mut self, chance: &mut Chance, modules: &[device_trait::DeviceModule]) {
        let (which, other) = (chance.below(self.blocks.len()), chance.below(self.blocks.len()));
        let ((at, block), (from, source)) = (self.blocks[which], self.blocks[other]);
        let (gpu, count) = (&self.gpus[at], self.model[which].len());
        let begin = chance.below(count);
        let size = 1 + chance.below(count - begin);
        // SAFETY: as large; what is on the host is kept until all is over.
        let begun = unsafe {
            match chance.below(4) {
                0 => {
                    let values: Vec<u32> = (0..size).map(|_| chance.below(1 << 30) as u32).collect();
                    self.model[which][begin..begin + size].copy_from_slice(&values);
                    let begun = gpu.copy_in(block + 4 * begin, values.as_ptr().cast(), 4 * size);
                    self.kept.push((values, None));
                    begun
                }
                1 => {
                    let mut seen = vec![0_u32; size];
                    let begun = gpu.copy_out(seen.as_mut_ptr().cast(), block + 4 * begin, 4 * size);
                    self.kept.push((seen, Some(self.model[which][begin..begin + size].to_vec())));
                    begun
                }
                2 => {
                    let arguments = [block, block, count, 3];
                    self.model[which].iter_mut().for_each(|value| *value = value.wrapping_add(3));
                    gpu.run(&launch(gpu, modules[at], c"add", Convention::Separate, &arguments))
                }
                _ if which == other => return,
                _ => {
                    let part = self.model[other][begin..begin + size].to_vec();
                    self.model[which][begin..begin + size].copy_from_slice(&part);
                    let (to, from_address) = (block + 4 * begin, source + 4 * begin);
                    if at == from {
                        gpu.copy_within(to, from_address, 4 * size)
                    } else {
                        let peer = self.gpus[from].peer().expect("a peer");
                        assert!(gpu.reaches(peer));
                        gpu.copy_across(to, peer, from_address, 4 * size)
                    }
                }
            }
        };
        self.begun.push((at, begun.expect("begun")));
    }

    fn end(mut self, chance: &mut Chance) {
        while !self.begun.is_empty() {
            let (at, operation) = self.begun.swap_remove(chance.below(self.begun.len()));
            complete(&self.gpus[at], Ok(operation)).expect("fine");
        }
        for (seen, expected) in &self.kept {
            assert!(expected.as_ref().is_none_or(|expected| expected == seen));
        }
    }
}

#[test]
fn whatever_is_begun_in_whatever_order_gives_what_the_order_says() {
    for seed in 1..7_u64 {
        let gpus = all(&format!("devices=3,delay={},pageable={},seed={seed}", seed % 3 * 60, seed % 2));
        let modules: Vec<_> = gpus.iter().map(load).collect();
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let (gpus, modules) = (&gpus, &modules);
                scope.spawn(move || {
                    let mut chance = Chance(seed * 100 + thread);
                    let count = [40, 5000, 30_000, 1_400_000][(thread + seed) as usize % 4];
                    let blocks: Vec<_> = (0..3).map(|at| (at, put(&gpus[at], &vec![0; count]))).collect();
                    for _ in 0..3 {
                        let mut mine = Mine {
                            gpus,
                            model: vec![vec![0; count]; 3],
                            blocks: blocks.clone(),
                            begun: Vec::new(),
                            kept: Vec::new(),
                        };
                        for (&(at, block), zeros) in blocks.iter().zip(&mine.model) {
                            // SAFETY: as large, and waited for.
                            complete(&gpus[at], unsafe {
                                gpus[at].copy_in(block, zeros.as_ptr().cast(), 4 * count)
                            })
                            .expect("copied");
                        }
                        (0..25).for_each(|_| mine.step(&mut chance, modules));
                        mine.end(&mut chance);
                    }
                });
            }
        });
        assert!(gpus.iter().all(|gpu| gpu.known() == 0));
    }
}
