//! Priorities of tasks, as the driver hears of them.

use cuda_offload::{Driver, Gpu, gpus};
use device_trait::{Convention, Device, DeviceModule, DeviceOperation, Launch};

use crate::common::{complete, driver_file_old, get, launch, load, on_stream, one, open_file, opened, put};

/// Begins `add`.
fn add(
    gpu: &Gpu,
    module: DeviceModule,
    priority: u32,
    after: &[DeviceOperation],
    arguments: &[usize],
) -> DeviceOperation {
    let asked = Launch { priority, after, ..launch(gpu, module, c"add", Convention::Separate, arguments) };
    // SAFETY: the kernel's arguments; blocks that stay.
    unsafe { gpu.run(&asked) }.expect("begun")
}

/// The priority of the stream on which a kernel of a task with this priority runs.
fn of_kernel(gpu: &Gpu, module: DeviceModule, priority: u32) -> i32 {
    let arguments = [put(gpu, &[77])];
    let asked = Launch { priority, ..launch(gpu, module, c"priority", Convention::Separate, &arguments) };
    // SAFETY: the kernel's arguments.
    complete(gpu, unsafe { gpu.run(&asked) }).expect("it runs");
    get::<1>(gpu, arguments[0])[0] as i32
}

/// The priority of a stream that the program opens for tasks with this priority.
fn of_stream(driver: &Driver, gpu: &Gpu, module: DeviceModule, priority: u32) -> i32 {
    let (stream, out) = (gpu.open_stream(priority).expect("one"), put(gpu, &[77]));
    on_stream(driver, gpu, stream, gpu.find(module, c"priority").expect("the kernel"), &[out]);
    complete(gpu, gpu.mark(stream.id, &[(out, 4)])).expect("it runs");
    gpu.close_stream(stream.id);
    get::<1>(gpu, out)[0] as i32
}

#[test]
fn kernels_and_streams_have_their_tasks_priority_up_to_the_greatest() {
    for (settings, expected) in
        [("", [0, -1, -3, -5, -5, -5]), ("priorities=2", [0, -1, -2, -2, -2, -2]), ("priorities=0", [0; 6])]
    {
        let (driver, gpu) = opened(settings);
        let module = load(&gpu);
        let priorities = [0, 1, 3, 5, 6, i32::MAX as u32];
        assert_eq!(priorities.map(|priority| of_kernel(&gpu, module, priority)), expected, "{settings}");
        assert_eq!(
            priorities.map(|priority| of_stream(driver, &gpu, module, priority)),
            expected,
            "{settings}: borrowed"
        );
        assert_eq!(of_kernel(&gpu, module, 0), 0, "{settings}: and again");
    }
}

#[test]
fn a_stream_is_used_again_for_its_own_priority() {
    let gpu = one("");
    let open = |priority| gpu.open_stream(priority).expect("one");
    let (usual, urgent) = (open(0), open(2));
    [usual, urgent].iter().for_each(|stream| gpu.close_stream(stream.id));
    assert_eq!(open(2).handle, urgent.handle);
    let other = open(2).handle;
    assert!(other != usual.handle && other != urgent.handle);
    assert_eq!(open(0).handle, usual.handle);
}

#[test]
fn a_driver_without_priorities_runs_all_alike() {
    let driver = open_file(driver_file_old(), "devices=1").expect("a driver");
    let gpu = gpus(driver).expect("devices").0.remove(0);
    let module = load(&gpu);
    assert_eq!((of_kernel(&gpu, module, 4), of_stream(driver, &gpu, module, 4)), (0, 0));
}

/// Five streams with a priority can be made: four for kernels of one, and one more.
#[test]
fn where_no_stream_is_made_a_kernel_has_the_least_priority() {
    let gpu = one("streams=5");
    let module = load(&gpu);
    assert_eq!([1, 2, 2, 1, 0].map(|priority| of_kernel(&gpu, module, priority)), [-1, 0, 0, -1, 0]);
    assert!(gpu.open_stream(3).is_err(), "a stream of a task's own is the program's affair");
}

/// What touches the same bytes, and what is said to come before, keeps its order whatever its
/// priority.
#[test]
fn priorities_change_no_order() {
    for seed in 1..30 {
        let gpu = one(&format!("delay=200,seed={seed}"));
        let module = load(&gpu);
        let blocks: Vec<usize> = (0..8).map(|_| put(&gpu, &[0; 4])).collect();
        let steps = blocks.windows(2).zip([0, 5, 1, 4, 0, 2, 9]);
        let begun: Vec<_> = steps
            .map(|(pair, priority)| add(&gpu, module, priority, &[], &[pair[0], pair[1], 4, 1]))
            .collect();
        assert_eq!(get(&gpu, blocks[7]), [7; 4], "seed {seed}");
        begun.into_iter().for_each(|operation| complete(&gpu, Ok(operation)).expect("fine"));
        // By a pointer that the device does not see.
        let [from, to] = [put(&gpu, &[3; 4]), put(&gpu, &[0; 4])];
        let cell = put(&gpu, &[from as u32, (from >> 32) as u32]);
        let first = add(&gpu, module, 1, &[], &[blocks[7], from, 4, 20]);
        let arguments = [cell, to, 4];
        let after = [first];
        let behind = Launch {
            priority: 5,
            after: &after,
            ..launch(&gpu, module, c"follow", Convention::Separate, &arguments)
        };
        // SAFETY: the kernel's arguments.
        complete(&gpu, unsafe { gpu.run(&behind) }).expect("it runs");
        assert_eq!(get(&gpu, to), [27; 4], "seed {seed}");
        complete(&gpu, Ok(first)).expect("fine");
    }
}
