//! Copies from and to memory that the system may move: in pieces, without anybody who waits in the
//! driver.

use std::sync::mpsc;
use std::time::Duration;

use cuda_offload::{Driver, Gpu};
use device_trait::{Convention, Device, DeviceOperation, DeviceProgress, Launch};

use crate::common::{all, complete, launch, load, on_stream, opened, put};

/// Larger than all buffers together.
const MUCH: usize = 40 << 20;

/// Runs it, and fails if it takes long: it would wait for what comes after it.
fn at_once<T: Send>(what: &str, run: impl FnOnce() -> T + Send) -> T {
    let (done, notified) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let running = scope.spawn(move || {
            let result = run();
            drop(done);
            result
        });
        let late = notified.recv_timeout(Duration::from_secs(20)) == Err(mpsc::RecvTimeoutError::Timeout);
        if late {
            eprintln!("{what} keeps its caller waiting");
            std::process::abort();
        }
        running.join().expect("it runs")
    })
}

/// A device whose kernel waits for a word, and an operation that is over when that has ended and
/// has all of `touches`.
struct Held {
    driver: &'static Driver,
    gpu: Gpu,
    gate: usize,
    /// A word that is 1.
    open: usize,
    marked: Vec<DeviceOperation>,
}

impl Held {
    fn new(settings: &str) -> Self {
        let (driver, gpu) = opened(settings);
        let (gate, open) = (put(&gpu, &[0]), put(&gpu, &[1]));
        Self { driver, gpu, gate, open, marked: Vec::new() }
    }

    fn touching(&mut self, touches: &[(usize, usize)]) {
        let (module, stream) = (load(&self.gpu), self.gpu.open_stream(0).expect("one"));
        on_stream(
            self.driver,
            &self.gpu,
            stream,
            self.gpu.find(module, c"hold").expect("the kernel"),
            &[self.gate],
        );
        self.marked.push(self.gpu.mark(stream.id, touches).expect("marked"));
    }

    /// Inside of the device: in the other directions copies are behind those that are held up.
    fn go(&mut self) {
        // SAFETY: as large, and waited for.
        complete(&self.gpu, unsafe { self.gpu.copy_within(self.gate, self.open, 4) }).expect("copied");
        self.marked.drain(..).for_each(|operation| complete(&self.gpu, Ok(operation)).expect("over"));
    }
}

fn numbers(bytes: usize, add: usize) -> Vec<u32> {
    (0..bytes / 4).map(|i| (i.wrapping_mul(2_654_435_761) + add) as u32).collect()
}

fn copy_in(gpu: &Gpu, to: usize, values: &[u32]) -> DeviceOperation {
    // SAFETY: as large; the tests wait before the values go.
    unsafe { gpu.copy_in(to, values.as_ptr().cast(), size_of_val(values)) }.expect("begun")
}

fn copy_out(gpu: &Gpu, values: &mut [u32], from: usize) -> DeviceOperation {
    // SAFETY: as above.
    unsafe { gpu.copy_out(values.as_mut_ptr().cast(), from, size_of_val(values)) }.expect("begun")
}

#[test]
fn large_copies_arrive_whole() {
    for settings in ["", "pageable=1,delay=100", "pinned=0,pageable=1", "pinned=3", "pinned=1,delay=50"] {
        let (_, gpu) = opened(settings);
        for bytes in [4, 16 << 10, (16 << 10) + 4, 64 << 10, (64 << 10) + 4, 2 << 20, (2 << 20) + 4, MUCH - 4]
        {
            let (values, mut seen) = (numbers(bytes, bytes), vec![0; bytes / 4]);
            let block = gpu.allocate(bytes, 64).expect("room");
            complete(&gpu, Ok(copy_in(&gpu, block, &values))).expect("copied");
            complete(&gpu, Ok(copy_out(&gpu, &mut seen, block))).expect("copied");
            assert!(seen == values, "{bytes} bytes with {settings:?}");
            // SAFETY: no operation uses it any more.
            unsafe { gpu.free(block) };
        }
        assert_eq!(gpu.known(), 0);
    }
}

#[test]
fn who_copies_to_the_host_does_not_wait_for_what_is_before_it() {
    let mut held = Held::new("pageable=1");
    for bytes in [4, 1000, 3 << 20] {
        let block = held.gpu.allocate(bytes, 64).expect("room");
        complete(&held.gpu, Ok(copy_in(&held.gpu, block, &numbers(bytes, 1)))).expect("copied");
        held.touching(&[(block, bytes)]);
        let mut seen = vec![0; bytes / 4];
        let begun = at_once("a copy to the host", || copy_out(&held.gpu, &mut seen, block));
        assert_eq!(held.gpu.poll(begun), DeviceProgress::Pending);
        at_once("a copy of something else", || put(&held.gpu, &[7]));
        held.go();
        complete(&held.gpu, Ok(begun)).expect("copied");
        assert!(seen == numbers(bytes, 1));
        complete(&held.gpu, Ok(copy_in(&held.gpu, held.gate, &[0]))).expect("copied");
    }
}

#[test]
fn who_copies_much_to_the_device_does_not_wait_for_what_is_before_it() {
    let mut held = Held::new("pageable=1");
    let (block, values, mut seen) =
        (held.gpu.allocate(MUCH, 64).expect("room"), numbers(MUCH, 5), vec![0; MUCH / 4]);
    held.touching(&[(block, MUCH)]);
    let begun = at_once("a copy to the device", || copy_in(&held.gpu, block, &values));
    assert_eq!(held.gpu.poll(begun), DeviceProgress::Pending);
    held.go();
    complete(&held.gpu, Ok(begun)).expect("copied");
    complete(&held.gpu, Ok(copy_out(&held.gpu, &mut seen, block))).expect("copied");
    assert!(seen == values);
}

#[test]
fn more_copies_than_there_are_buffers_all_begin() {
    let mut held = Held::new("pageable=1");
    let blocks: Vec<_> = (0..20).map(|_| held.gpu.allocate(3 << 20, 64).expect("room")).collect();
    let touches: Vec<_> = blocks.iter().map(|&block| (block, 3 << 20)).collect();
    held.touching(&touches);
    let values = numbers(3 << 20, 7);
    let begun: Vec<_> = at_once("one of many copies", || {
        blocks.iter().map(|&block| copy_in(&held.gpu, block, &values)).collect()
    });
    held.go();
    begun.into_iter().rev().for_each(|operation| complete(&held.gpu, Ok(operation)).expect("copied"));
    for block in blocks {
        let mut seen = vec![0; values.len()];
        complete(&held.gpu, Ok(copy_out(&held.gpu, &mut seen, block))).expect("copied");
        assert!(seen == values);
    }
    assert_eq!(held.gpu.known(), 0);
}

#[test]
fn what_is_begun_behind_a_large_copy_comes_behind_all_of_its_pieces() {
    for seed in 1..4 {
        let (driver, gpu) = opened(&format!("pageable=1,delay=200,seed={seed}"));
        let (module, stream) = (load(&gpu), gpu.open_stream(0).expect("one"));
        let (a, b) = (gpu.allocate(MUCH, 64).expect("room"), gpu.allocate(MUCH, 64).expect("room"));
        let (first, second) = (numbers(MUCH, 1), numbers(MUCH, 2));
        let (mut seen, mut between) = (vec![0; MUCH / 4], vec![0; MUCH / 4]);
        let count = MUCH / 4;
        let mut begun = vec![copy_in(&gpu, a, &first)];
        // SAFETY: as large; all is waited for.
        begun.push(unsafe { gpu.copy_within(b, a, MUCH) }.expect("begun"));
        begun.push(copy_out(&gpu, &mut between, b));
        begun.push(copy_in(&gpu, b, &second));
        let arguments = [b, a, count, 10];
        // SAFETY: the kernel's arguments.
        begun.push(
            unsafe { gpu.run(&launch(&gpu, module, c"add", Convention::Separate, &arguments)) }
                .expect("begun"),
        );
        gpu.put_behind(stream.id, &begun).expect("put");
        on_stream(driver, &gpu, stream, gpu.find(module, c"add").expect("the kernel"), &[a, a, count, 100]);
        begun.push(gpu.mark(stream.id, &[(a, MUCH)]).expect("marked"));
        begun.push(copy_out(&gpu, &mut seen, a));
        begun.into_iter().rev().for_each(|operation| complete(&gpu, Ok(operation)).expect("fine"));
        assert!(between == first, "seed {seed}");
        assert!(
            seen.iter().zip(&second).all(|(seen, value)| *seen == value.wrapping_add(110)),
            "seed {seed}"
        );
        assert_eq!(gpu.known(), 0);
    }
}

#[test]
fn a_kernel_that_is_reported_to_comes_behind_all_pieces() {
    let (_, gpu) = opened("pageable=1,delay=100");
    let (module, hidden, out) =
        (load(&gpu), gpu.allocate(MUCH, 64).expect("room"), gpu.allocate(MUCH, 64).expect("room"));
    let (pointer, values) = (put(&gpu, &[hidden as u32, (hidden >> 32) as u32]), numbers(MUCH, 3));
    let copied = copy_in(&gpu, hidden, &values);
    let arguments = [pointer, out, MUCH / 4];
    let behind =
        Launch { after: &[copied], ..launch(&gpu, module, c"follow", Convention::Separate, &arguments) };
    // SAFETY: the kernel's arguments.
    complete(&gpu, unsafe { gpu.run(&behind) }).expect("it runs");
    let mut seen = vec![0; MUCH / 4];
    complete(&gpu, Ok(copy_out(&gpu, &mut seen, out))).expect("copied");
    assert!(seen == values);
    complete(&gpu, Ok(copied)).expect("over");
}

#[test]
fn another_device_reads_behind_all_pieces() {
    let gpus = all("devices=2,pageable=1,delay=100");
    let blocks: Vec<_> = gpus.iter().map(|gpu| gpu.allocate(MUCH, 64).expect("room")).collect();
    let (values, mut seen) = (numbers(MUCH, 9), vec![0; MUCH / 4]);
    let first = copy_in(&gpus[0], blocks[0], &values);
    let peer = gpus[0].peer().expect("a peer");
    assert!(gpus[1].reaches(peer));
    // SAFETY: as large, and waited for.
    let second = unsafe { gpus[1].copy_across(blocks[1], peer, blocks[0], MUCH) }.expect("begun");
    let third = copy_out(&gpus[1], &mut seen, blocks[1]);
    for (gpu, operation) in [(1, third), (1, second), (0, first)] {
        complete(&gpus[gpu], Ok(operation)).expect("fine");
    }
    assert!(seen == values);
}

#[test]
fn synchronise_ends_copies_that_nobody_asks_for() {
    let (_, gpu) = opened("pageable=1,delay=100");
    let (block, values, mut seen) =
        (gpu.allocate(MUCH, 64).expect("room"), numbers(MUCH, 11), vec![0; MUCH / 4]);
    let begun = [copy_in(&gpu, block, &values), copy_out(&gpu, &mut seen, block)];
    gpu.synchronise().expect("fine");
    assert!(seen == values);
    begun.into_iter().for_each(|operation| complete(&gpu, Ok(operation)).expect("over"));
}

#[test]
fn a_large_copy_on_a_device_that_fails_ends_with_its_line() {
    for bytes in [1000, MUCH] {
        let (_, gpu) = opened("pageable=1,delay=300,launch=1");
        let (module, block, mut seen) =
            (load(&gpu), gpu.allocate(bytes, 64).expect("room"), vec![0; bytes / 4]);
        let arguments = [block, block, 1, 1];
        // SAFETY: the kernel's arguments.
        let failing = unsafe { gpu.run(&launch(&gpu, module, c"add", Convention::Separate, &arguments)) };
        // SAFETY: as large, and waited for.
        let copied = complete(&gpu, unsafe { gpu.copy_out(seen.as_mut_ptr().cast(), block, bytes) });
        assert_eq!(copied.expect_err("it fails").to_string(), "CUDA_ERROR_LAUNCH_FAILED");
        assert!(complete(&gpu, failing).is_err());
        assert_eq!(gpu.known(), 0);
    }
}

#[test]
fn memory_that_is_pinned_is_copied_as_it_is() {
    let (driver, gpu) = opened("pageable=1,pinned=1");
    // What is pinned here is all there is: a copy in pieces would keep the caller waiting.
    let mut pinned = core::ptr::null_mut();
    let (block, gate, open) = (put(&gpu, &[1, 2, 3, 4]), put(&gpu, &[0]), put(&gpu, &[1]));
    let (module, stream) = (load(&gpu), gpu.open_stream(0).expect("one"));
    let context = cuda_offload::driver::Context(gpu.handles().expect("handles").context);
    // SAFETY: the device's own context, and a valid out pointer.
    unsafe {
        driver.check((driver.context_set)(context)).expect("fine");
        driver.check((driver.host_allocate.expect("there"))(&raw mut pinned, 1 << 20, 0)).expect("room");
    }
    on_stream(driver, &gpu, stream, gpu.find(module, c"hold").expect("the kernel"), &[gate]);
    let marked = gpu.mark(stream.id, &[(block, 16)]).expect("marked");
    let to = pinned.addr();
    // SAFETY: as large, and waited for.
    let begun = at_once("a copy to pinned memory", || unsafe { gpu.copy_out(to as *mut u8, block, 16) })
        .expect("begun");
    assert!(begun.0 < 1 << 63, "not in pieces");
    // SAFETY: as large, and waited for.
    complete(&gpu, unsafe { gpu.copy_within(gate, open, 4) }).expect("copied");
    complete(&gpu, Ok(begun)).expect("copied");
    complete(&gpu, Ok(marked)).expect("over");
    // SAFETY: four words, copied.
    assert_eq!(unsafe { *(to as *const [u32; 4]) }, [1, 2, 3, 4]);
}

#[test]
fn many_threads_make_large_copies() {
    let (_, gpu) = opened("pageable=1,delay=50");
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let gpu = &gpu;
            scope.spawn(move || {
                for round in 0..4 {
                    let bytes = (1 << 20) * (1 + (thread + round) % 7) + 4 * thread;
                    let (values, mut seen) = (numbers(bytes, thread), vec![0; bytes / 4]);
                    let block = gpu.allocate(bytes, 64).expect("room");
                    complete(gpu, Ok(copy_in(gpu, block, &values))).expect("copied");
                    complete(gpu, Ok(copy_out(gpu, &mut seen, block))).expect("copied");
                    assert!(seen == values);
                    // SAFETY: no operation uses it any more.
                    unsafe { gpu.free(block) };
                }
            });
        }
    });
    assert_eq!(gpu.known(), 0);
}
