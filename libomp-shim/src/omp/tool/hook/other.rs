//! Cancellation, errors, `omp_control_tool`.

use core::cell::Cell;

use super::super::event::EventSite;
use super::super::{is_on, notify};
use super::site;
use crate::omp::task::Task;
use crate::omp::thread::CurrentThread;

/// The running task cancels, or notices a cancellation, in the bits of
/// [`cancelled`](super::super::event::cancelled).
#[inline(always)]
pub fn cancels(here: CurrentThread, flags: impl FnOnce() -> u32) {
    if is_on() {
        cancels_cold(here, flags());
    }
}

/// `task` is not begun, because what it belongs to was cancelled.
#[inline(always)]
pub fn discards(task: &Task, flags: u32) {
    if is_on() {
        let here = CurrentThread::get();
        let site = EventSite::at(here, 0);
        notify(|consumer| consumer.cancel(&site, task, flags));
    }
}

#[cold]
#[inline(never)]
fn cancels_cold(here: CurrentThread, flags: u32) {
    let site = site(here, None);
    notify(|consumer| consumer.cancel(&site, here.task, flags));
}

/// `error at(execution)`.
#[inline]
pub fn error(fatal: bool, message: &str) {
    if is_on() {
        let site = site(CurrentThread::get(), None);
        notify(|consumer| consumer.error(&site, fatal, message.as_bytes()));
    }
}

/// `omp_control_tool`: the answer of the first consumer that has one; `None` where no consumer is
/// attached.
pub fn control(command: u64, modifier: u64, argument: usize) -> Option<i32> {
    let here = CurrentThread::get();
    if !is_on() {
        return None;
    }
    let answer = Cell::new(None);
    super::entered(here, |code| {
        let site = site(here, code);
        notify(|consumer| {
            let said = consumer.control_tool(&site, command, modifier, argument);
            answer.set(answer.get().or(said));
        });
    });
    answer.get()
}
