//! `taskloop` as gcc emits it: the first two words of each task's argument block are the bounds of
//! its part.

use core::ffi::{c_int, c_long, c_uint, c_ulonglong, c_void};

use super::parallel::OutlinedFunction;
use super::task::{self as front, ArgumentBuilder, TaskArguments};
use super::task_reduction;
use omp::agents;
use omp::extension::tools;
use omp::extension::tools::kinds::ToolWork;
use omp::task::{self, TaskFlags};
use omp::taskgroup;
use omp::taskloop::{self, Division};
use omp::thread::CurrentThread;

const UP: c_uint = 1 << 8;
const GRAINSIZE: c_uint = 1 << 9;
const IF: c_uint = 1 << 10;
const NOGROUP: c_uint = 1 << 11;
const REDUCTION: c_uint = 1 << 12;
const STRICT: c_uint = 1 << 14;

/// A taskloop's iteration space: `trips` iterations from `start` by `step`, all modulo 2^64.
struct Space {
    start: u64,
    step: u64,
    trips: u64,
}

fn division(flags: c_uint, value: u64) -> Division {
    match (value, flags & GRAINSIZE != 0, flags & STRICT != 0) {
        (0, ..) => Division::Default,
        (n, true, true) => Division::StrictGrainsize(n),
        (n, true, false) => Division::Grainsize(n),
        (n, false, _) => Division::NumTasks(n),
    }
}

/// # Safety
/// As [`GOMP_taskloop`].
unsafe fn run(
    function: OutlinedFunction,
    arguments: TaskArguments,
    flags: c_uint,
    value: u64,
    priority: c_int,
    space: &Space,
) {
    let here = CurrentThread::get();
    // SAFETY: with `REDUCTION`, the third word of the data is the reduction array.
    let reductions = (flags & REDUCTION != 0).then(|| unsafe { *arguments.data.cast::<*mut usize>().add(2) });
    if space.trips == 0 {
        agents::forget_wish(here);
        if flags & NOGROUP == 0
            && let Some(array) = reductions
        {
            // SAFETY: the compiler's array; an empty one is what its code combines.
            unsafe { task_reduction::make_empty(array) };
        }
        return;
    }
    tools::work::begun(ToolWork::Taskloop, space.trips);
    if flags & NOGROUP == 0 {
        task_reduction::start_group(here);
        if let Some(array) = reductions {
            // SAFETY: the compiler's array.
            unsafe { task_reduction::register(here, array) };
        }
    }
    let is_for_agents = agents::is_wished(here);
    for (begin, end) in
        taskloop::parts(space.trips, division(flags, value), agents::width(here, is_for_agents))
    {
        if is_for_agents {
            agents::wish(here); // for each of its tasks
        }
        // SAFETY: as for this function.
        unsafe { launch(here, function, arguments, flags, priority, space, begin, end) };
    }
    tools::work::ended(ToolWork::Taskloop, space.trips);
    if flags & NOGROUP == 0 {
        taskgroup::end(here, |_| {});
    }
}

/// # Safety
/// As [`GOMP_taskloop`].
#[allow(clippy::too_many_arguments, reason = "a part of a taskloop has that many aspects")]
unsafe fn launch(
    here: CurrentThread,
    function: OutlinedFunction,
    arguments: TaskArguments,
    flags: c_uint,
    priority: c_int,
    space: &Space,
    begin: u64,
    end: u64,
) {
    let properties = front::properties(flags & 3)
        .with_if(flags & IF == 0, TaskFlags::UNDEFERRED)
        .with_if(arguments.copy.is_some(), TaskFlags::CONSTRUCTED);
    let deferred =
        flags & IF != 0 && !task::is_included(here) && !task::has_enough(here, properties, priority);
    // SAFETY: as for this function; the block begins with two words for the bounds.
    let set_bounds = |block: *mut c_void| unsafe {
        let bounds = block.cast::<u64>();
        bounds.write(space.start.wrapping_add(begin.wrapping_mul(space.step)));
        bounds.add(1).write(space.start.wrapping_add(end.wrapping_mul(space.step)));
    };
    // SAFETY: as for this function.
    unsafe {
        if !deferred && arguments.copy.is_none() && priority == 0 {
            set_bounds(arguments.data);
            return front::run_on_own_data(here, function, arguments.data, properties, core::ptr::null_mut());
        }
        let task = front::create(here, function, arguments, properties);
        set_bounds(front::block_of(&task));
        task.set_priority(priority);
        tools::task::created(here, &task, !deferred);
        tools::task::is_part(&task, begin, end - begin);
        if deferred {
            task::defer(here, task);
        } else {
            task::run_at_once(here, task);
        }
        tools::task::made(here);
    }
}

/// Iterations from `start` to `end` exclusive.
fn trips_signed(start: i64, end: i64, step: i64) -> u64 {
    match step {
        s if s > 0 && start < end => (end.wrapping_sub(start) as u64).div_ceil(s as u64),
        s if s < 0 && start > end => (start.wrapping_sub(end) as u64).div_ceil(s.unsigned_abs()),
        _ => 0,
    }
}

/// `taskloop` over a `long`.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the ABI's arguments")]
pub unsafe extern "C-unwind" fn GOMP_taskloop(
    function: OutlinedFunction,
    data: *mut c_void,
    copy: Option<ArgumentBuilder>,
    size: c_long,
    align: c_long,
    flags: c_uint,
    value: u64,
    priority: c_int,
    start: c_long,
    end: c_long,
    step: c_long,
) {
    let arguments = TaskArguments { data, copy, size: size as usize, align: align as usize };
    let space = Space { start: start as u64, step: step as u64, trips: trips_signed(start, end, step) };
    // SAFETY: as for this function.
    unsafe { run(function, arguments, flags, value, priority, &space) };
}

/// `taskloop` over an `unsigned long long`; the direction is a flag.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the ABI's arguments")]
pub unsafe extern "C-unwind" fn GOMP_taskloop_ull(
    function: OutlinedFunction,
    data: *mut c_void,
    copy: Option<ArgumentBuilder>,
    size: c_long,
    align: c_long,
    flags: c_uint,
    value: u64,
    priority: c_int,
    start: c_ulonglong,
    end: c_ulonglong,
    step: c_ulonglong,
) {
    let arguments = TaskArguments { data, copy, size: size as usize, align: align as usize };
    let trips = match flags & UP != 0 {
        _ if step == 0 => 0,
        true if start < end => (end - start).div_ceil(step),
        false if start > end => (start - end).div_ceil(step.wrapping_neg()),
        _ => 0,
    };
    // SAFETY: as for this function.
    unsafe { run(function, arguments, flags, value, priority, &Space { start, step, trips }) };
}
