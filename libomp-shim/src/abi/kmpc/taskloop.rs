//! `taskloop` as clang emits it: a pattern task that is copied for each part of the loop, with the
//! part's bounds stored where the pattern has them.

use core::ffi::{c_int, c_void};

use super::parallel::{Location, note_task};
use super::task::{__kmpc_omp_task, KmpTask, entry, record_of, task_of};
use omp::agents;
use omp::extension::tools;
use omp::extension::tools::kinds::ToolWork;
use omp::task::{Task, TaskFlags};
use omp::taskgroup;
use omp::taskloop::{self, Division};
use omp::thread::CurrentThread;

/// Copies what a memory copy cannot (non-trivial firstprivates), and stores whether the part is the
/// last.
type Duplicate = unsafe extern "C-unwind" fn(*mut KmpTask, *mut KmpTask, c_int);

/// A taskloop's pattern and bounds.
struct Loop {
    location: Location,
    pattern: *mut KmpTask,
    lower_offset: usize,
    upper_offset: usize,
    stride: i64,
    duplicate: Option<Duplicate>,
}

impl Loop {
    /// A copy of the pattern for iterations `first..=last` of the loop (counted from its lower
    /// bound).
    unsafe fn part(
        &self,
        here: CurrentThread,
        lower: u64,
        first: u64,
        last: u64,
        is_last: bool,
    ) -> *mut KmpTask {
        // SAFETY: the pattern has not been submitted.
        let pattern = unsafe { record_of(self.pattern) };
        let copy = pattern.duplicate_for(here);
        // SAFETY: both payloads have the pattern's size; offsets lie inside it.
        unsafe {
            // By itself: the trace may have left the pattern out.
            note_task(self.location, &copy, entry(pattern).unwrap_or(0));
            let copy = copy.payload().cast::<KmpTask>();
            relocate_shareds(self.pattern, copy);
            let at = |n: u64| (lower as i64).wrapping_add((n as i64).wrapping_mul(self.stride));
            copy.cast::<u8>().add(self.lower_offset).cast::<i64>().write(at(first));
            copy.cast::<u8>().add(self.upper_offset).cast::<i64>().write(at(last));
            if let Some(duplicate) = self.duplicate {
                duplicate(copy, self.pattern, c_int::from(is_last));
            }
            copy
        }
    }
}

/// # Safety
/// `copy` is a byte copy of `pattern`.
unsafe fn relocate_shareds(pattern: *mut KmpTask, copy: *mut KmpTask) {
    // SAFETY: as the caller says; shareds stand in the same block, or are null.
    unsafe {
        if !(*pattern).shareds.is_null() {
            let offset = (*pattern).shareds as usize - pattern as usize;
            (*copy).shareds = copy.cast::<u8>().add(offset).cast();
        }
    }
}

/// # Safety
/// As [`__kmpc_taskloop`].
#[allow(clippy::too_many_arguments, reason = "the ABI's arguments")]
unsafe fn run(
    location: Location,
    gtid: c_int,
    task: *mut KmpTask,
    condition: c_int,
    lower: *mut u64,
    upper: *mut u64,
    stride: i64,
    no_group: c_int,
    division: Division,
    duplicate: *mut c_void,
) {
    let here = CurrentThread::get();
    // SAFETY: the compiler's pointers into the pattern task.
    let (first, last) = unsafe { (*lower, *upper) };
    let trips = trip_count(first as i64, last as i64, stride);
    tools::work::begun(ToolWork::Taskloop, trips);
    if no_group == 0 {
        taskgroup::start(here);
    }
    // SAFETY: null or the compiler's duplication function.
    let duplicate = unsafe { core::mem::transmute::<*mut c_void, Option<Duplicate>>(duplicate) };
    let plan = Loop {
        location,
        pattern: task,
        lower_offset: lower as usize - task as usize,
        upper_offset: upper as usize - task as usize,
        stride,
        duplicate,
    };
    // SAFETY: the compiler's pattern, which is a task that was not submitted.
    let is_for_agents = unsafe { record_of(task) }.flags().has(TaskFlags::POOL);
    for (begin, end) in taskloop::parts(trips, division, agents::width(here, is_for_agents)) {
        // SAFETY: the pattern and its bounds are the compiler's.
        unsafe {
            let part = plan.part(here, first, begin, end - 1, end == trips);
            let part_record = record_of(part);
            tools::task::is_part(part_record, begin, end - begin);
            if condition == 0 {
                part_record.set_flags(part_record.flags().with(TaskFlags::UNDEFERRED));
                super::task::run_at_once(here, part);
            } else {
                __kmpc_omp_task(location, gtid, part);
            }
        }
    }
    // SAFETY: the pattern was never submitted; the parts are copies.
    Task::free_unsubmitted(unsafe { task_of(task) });
    tools::work::ended(ToolWork::Taskloop, trips);
    if no_group == 0 {
        super::task_reduction::end_taskgroup(here);
    }
}

fn trip_count(lower: i64, upper: i64, stride: i64) -> u64 {
    match stride {
        0 => 0,
        s if s > 0 && upper >= lower => (upper.wrapping_sub(lower) as u64) / s as u64 + 1,
        s if s < 0 && lower >= upper => (lower.wrapping_sub(upper) as u64) / s.unsigned_abs() + 1,
        _ => 0,
    }
}

/// `taskloop`: `schedule` 0 nothing said, 1 grainsize, 2 num_tasks, with its value in `grain`.
///
/// # Safety
/// Called by compiled code: bounds point into the pattern task.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the ABI's arguments")]
pub unsafe extern "C-unwind" fn __kmpc_taskloop(
    location: Location,
    gtid: c_int,
    task: *mut KmpTask,
    condition: c_int,
    lower: *mut u64,
    upper: *mut u64,
    stride: i64,
    no_group: c_int,
    schedule: c_int,
    grain: u64,
    duplicate: *mut c_void,
) {
    let division = Division::from_abi(schedule, grain, false);
    // SAFETY: as for this function.
    unsafe { run(location, gtid, task, condition, lower, upper, stride, no_group, division, duplicate) };
}

/// `taskloop` with `strict` modifiers.
///
/// # Safety
/// As [`__kmpc_taskloop`].
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the ABI's arguments")]
pub unsafe extern "C-unwind" fn __kmpc_taskloop_5(
    location: Location,
    gtid: c_int,
    task: *mut KmpTask,
    condition: c_int,
    lower: *mut u64,
    upper: *mut u64,
    stride: i64,
    no_group: c_int,
    schedule: c_int,
    grain: u64,
    modifier: c_int,
    duplicate: *mut c_void,
) {
    let division = Division::from_abi(schedule, grain, modifier == 1);
    // SAFETY: as for this function.
    unsafe { run(location, gtid, task, condition, lower, upper, stride, no_group, division, duplicate) };
}
