//! Cancellation, errors, `omp_control_tool`.

use super::{is_on, linked};
use crate::task::record::Task;
use crate::thread::current::CurrentThread;

/// The running task cancels, or notices a cancellation, in the bits of
/// [`cancelled`](super::kinds::cancelled).
#[inline(always)]
pub fn cancels(here: CurrentThread, flags: impl FnOnce() -> u32) {
    if is_on() {
        cancels_cold(here, flags());
    }
}

#[cold]
#[inline(never)]
fn cancels_cold(here: CurrentThread, flags: u32) {
    linked().tools.cancels(here, flags);
}

/// `task` is not begun, because what it belongs to was cancelled.
#[inline(always)]
pub fn discards(task: &Task, flags: u32) {
    if is_on() {
        discards_cold(task, flags);
    }
}

#[cold]
#[inline(never)]
fn discards_cold(task: &Task, flags: u32) {
    linked().tools.discards(task, flags);
}

/// `error at(execution)`.
#[inline]
pub fn error(fatal: bool, message: &str) {
    if is_on() {
        linked().tools.error(fatal, message);
    }
}

/// `omp_control_tool`: the answer of the first tool that has one; `None` where no tool is attached.
pub fn control(command: u64, modifier: u64, argument: usize) -> Option<i32> {
    let here = CurrentThread::get(); // looks for a tool if no thread has
    if is_on() { linked().tools.control(here, command, modifier, argument) } else { None }
}
