//! Streams for the program's own work, and operations that are put in order on the device.

use cuda_offload::{Driver, Gpu};
use device_trait::{Convention, Device, DeviceModule, DeviceOperation, DeviceProgress, Launch, Stream};

use crate::common::{all, complete, get, launch, load, on_stream, one, opened, put};

/// `to[i] = from[i] + by`, put on the stream by the program itself.
fn add(driver: &Driver, gpu: &Gpu, stream: Stream, module: DeviceModule, arguments: [usize; 4]) {
    on_stream(driver, gpu, stream, gpu.find(module, c"add").expect("the kernel"), &arguments);
}

#[test]
fn a_stream_has_a_handle_of_its_own_and_is_used_again() {
    let gpu = one("");
    let (a, b) = (gpu.open_stream(0).expect("one"), gpu.open_stream(0).expect("another"));
    assert!(a.id != b.id && a.handle != b.handle && !a.handle.is_null());
    gpu.close_stream(a.id);
    let again = gpu.open_stream(0).expect("one");
    assert!(again.handle == a.handle && again.id != a.id, "numbers are not used again");
    assert!(gpu.put_behind(a.id, &[]).is_err() && gpu.mark(a.id, &[]).is_err());
    assert!(gpu.put_behind(again.id, &[]).is_ok());
    gpu.close_stream(a.id);
    gpu.close_stream(77);
    assert_ne!(
        gpu.open_stream(0).expect("a third").handle,
        again.handle,
        "what was closed twice is not borrowed twice"
    );
}

#[test]
fn the_oldest_spare_stream_goes_first() {
    let gpu = one("");
    let streams: Vec<_> = (0..3).map(|_| gpu.open_stream(0).expect("one")).collect();
    streams.iter().rev().for_each(|stream| gpu.close_stream(stream.id));
    let again: Vec<_> = (0..3).map(|_| gpu.open_stream(0).expect("one").handle).collect();
    assert_eq!(again, streams.iter().rev().map(|stream| stream.handle).collect::<Vec<_>>());
}

#[test]
fn a_device_says_how_its_own_interface_knows_it() {
    for (number, gpu) in (0..).zip(all("devices=3")) {
        let handles = gpu.handles().expect("handles");
        assert!(gpu.orders_operations() && handles.ordinal == number && !handles.context.is_null());
    }
}

#[test]
fn what_the_program_puts_on_a_stream_comes_behind_what_it_was_put_behind() {
    for seed in 1..20 {
        let (driver, gpu) = opened(&format!("delay=300,seed={seed}"));
        let (module, stream) = (load(&gpu), gpu.open_stream(0).expect("one"));
        let (from, to) = (put(&gpu, &[0; 4]), put(&gpu, &[0; 4]));
        let values = [1_u32, 2, 3, 4];
        // SAFETY: as large; waited for.
        let copied = unsafe { gpu.copy_in(from, values.as_ptr().cast(), 16) }.expect("begun");
        gpu.put_behind(stream.id, &[copied]).expect("put");
        add(driver, &gpu, stream, module, [from, to, 4, 10]);
        let marked = gpu.mark(stream.id, &[(to, 16)]).expect("marked");
        assert_eq!(get(&gpu, to), [11, 12, 13, 14], "seed {seed}");
        for operation in [copied, marked] {
            complete(&gpu, Ok(operation)).expect("fine");
        }
    }
}

#[test]
fn copies_and_kernels_of_marked_bytes_wait_for_the_mark() {
    for seed in 1..20 {
        let (driver, gpu) = opened(&format!("delay=300,seed={seed}"));
        let (module, stream) = (load(&gpu), gpu.open_stream(0).expect("one"));
        let (a, b) = (put(&gpu, &[1; 4]), put(&gpu, &[0; 4]));
        let mut begun = Vec::new();
        for round in 0..5_usize {
            add(driver, &gpu, stream, module, [a, a, 4, round]);
            begun.push(gpu.mark(stream.id, &[(a, 16)]).expect("marked"));
            let arguments = [a, b, 4, 100];
            // SAFETY: the kernel's arguments; all is waited for.
            begun.push(
                unsafe { gpu.run(&launch(&gpu, module, c"add", Convention::Separate, &arguments)) }
                    .expect("begun"),
            );
            gpu.put_behind(stream.id, &begun[begun.len() - 1..]).expect("put");
        }
        assert_eq!(get(&gpu, b), [111; 4], "seed {seed}");
        begun.into_iter().rev().for_each(|operation| complete(&gpu, Ok(operation)).expect("fine"));
    }
}

#[test]
fn a_mark_is_over_only_when_what_is_before_it_is() {
    let (driver, gpu) = opened("");
    let (module, stream) = (load(&gpu), gpu.open_stream(0).expect("one"));
    let gate = put(&gpu, &[0; 1]);
    on_stream(driver, &gpu, stream, gpu.find(module, c"hold").expect("the kernel"), &[gate]);
    let marked = gpu.mark(stream.id, &[]).expect("marked");
    for _ in 0..20 {
        assert_eq!(gpu.poll(marked), DeviceProgress::Pending);
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(get(&gpu, gate), [0], "bytes that were not named are not held up");
    // SAFETY: as large, and waited for.
    complete(&gpu, unsafe { gpu.copy_in(gate, [1_u32].as_ptr().cast(), 4) }).expect("copied");
    complete(&gpu, Ok(marked)).expect("over");
}

#[test]
fn a_kernel_begins_behind_the_operations_that_it_is_reported() {
    for seed in 1..20 {
        let (driver, gpu) = opened(&format!("delay=300,seed={seed}"));
        let (module, stream) = (load(&gpu), gpu.open_stream(0).expect("one"));
        // The second block is reached by way of the first only: nothing in the arguments says so.
        let (hidden, out) = (put(&gpu, &[0; 4]), put(&gpu, &[0; 4]));
        let pointer = put(&gpu, &[hidden as u32, (hidden >> 32) as u32]);
        let values = [7_u32, 8, 9, 10];
        // SAFETY: as large; waited for.
        let copied = unsafe { gpu.copy_in(hidden, values.as_ptr().cast(), 16) }.expect("begun");
        gpu.put_behind(stream.id, &[copied]).expect("put");
        add(driver, &gpu, stream, module, [hidden, hidden, 4, 1]);
        let marked = gpu.mark(stream.id, &[]).expect("marked");
        let arguments = [pointer, out, 4];
        let behind = Launch {
            after: &[copied, marked, DeviceOperation::DONE],
            ..launch(&gpu, module, c"follow", Convention::Separate, &arguments)
        };
        // SAFETY: the kernel's arguments.
        complete(&gpu, unsafe { gpu.run(&behind) }).expect("it runs");
        assert_eq!(get(&gpu, out), [8, 9, 10, 11], "seed {seed}");
        [copied, marked].into_iter().for_each(|operation| complete(&gpu, Ok(operation)).expect("fine"));
    }
}

#[test]
fn operations_that_are_over_are_no_hindrance_and_their_numbers_stay_theirs() {
    let (driver, gpu) = opened("delay=50");
    let (module, stream, block) = (load(&gpu), gpu.open_stream(0).expect("one"), put(&gpu, &[0; 4]));
    let mut over = Vec::new();
    for _ in 0..50 {
        let operation = gpu.mark(stream.id, &[(block, 16)]).expect("marked");
        complete(&gpu, Ok(operation)).expect("over");
        assert!(!over.contains(&operation), "used again");
        over.push(operation);
    }
    gpu.put_behind(stream.id, &over).expect("put");
    add(driver, &gpu, stream, module, [block, block, 4, 3]);
    let marked = gpu.mark(stream.id, &[(block, 16)]).expect("marked");
    let arguments = [block, block, 4, 1];
    let behind = Launch { after: &over, ..launch(&gpu, module, c"add", Convention::Separate, &arguments) };
    // SAFETY: the kernel's arguments.
    complete(&gpu, unsafe { gpu.run(&behind) }).expect("it runs");
    assert_eq!(get(&gpu, block), [4; 4]);
    complete(&gpu, Ok(marked)).expect("over");
}

#[test]
fn what_is_on_a_closed_stream_takes_place_before_the_next_one_s_work() {
    for seed in 1..10 {
        let (driver, gpu) = opened(&format!("delay=500,seed={seed}"));
        let (module, first, block) = (load(&gpu), gpu.open_stream(0).expect("one"), put(&gpu, &[1; 4]));
        for _ in 0..4 {
            add(driver, &gpu, first, module, [block, block, 4, 1]);
        }
        gpu.close_stream(first.id);
        let second = gpu.open_stream(0).expect("one");
        let marked = gpu.mark(second.id, &[]).expect("marked");
        complete(&gpu, Ok(marked)).expect("over");
        assert_eq!(get(&gpu, block), [5; 4], "seed {seed}");
    }
}

#[test]
fn synchronise_waits_for_the_program_s_streams_too() {
    let (driver, gpu) = opened("delay=2000");
    let (module, open, closed, block) =
        (load(&gpu), gpu.open_stream(0).expect("one"), gpu.open_stream(0).expect("one"), put(&gpu, &[1; 8]));
    for _ in 0..3 {
        add(driver, &gpu, open, module, [block, block, 4, 1]);
        add(driver, &gpu, closed, module, [block + 16, block + 16, 4, 2]);
    }
    gpu.close_stream(closed.id);
    gpu.synchronise().expect("fine");
    assert_eq!(get(&gpu, block), [4, 4, 4, 4, 7, 7, 7, 7]);
}

#[test]
fn many_threads_have_streams_at_the_same_time() {
    let (driver, gpu) = opened("delay=50");
    let module = load(&gpu);
    std::thread::scope(|scope| {
        for thread in 0..6_u32 {
            let gpu = &gpu;
            scope.spawn(move || {
                for round in 0..20 {
                    let (stream, block) = (gpu.open_stream(0).expect("one"), put(gpu, &[thread, round]));
                    add(driver, gpu, stream, module, [block, block, 2, 5]);
                    let marked = gpu.mark(stream.id, &[(block, 8)]).expect("marked");
                    gpu.close_stream(stream.id);
                    assert_eq!(get(gpu, block), [thread + 5, round + 5]);
                    complete(gpu, Ok(marked)).expect("over");
                    // SAFETY: no operation uses it any more.
                    unsafe { gpu.free(block) };
                }
            });
        }
    });
}

#[test]
fn a_lost_device_has_no_streams_and_marks_fail() {
    let (driver, gpu) = opened("launch=1");
    let (module, stream, block) = (load(&gpu), gpu.open_stream(0).expect("one"), put(&gpu, &[1; 4]));
    add(driver, &gpu, stream, module, [block, block, 4, 1]);
    let marked = gpu.mark(stream.id, &[(block, 16)]);
    assert!(complete(&gpu, marked).is_err());
    assert!(gpu.put_behind(stream.id, &[]).is_ok(), "nothing is asked of the device");
    assert!(gpu.mark(stream.id, &[]).is_err());
    gpu.close_stream(stream.id);
}
