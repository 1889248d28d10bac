//! Cancellation, errors, `omp_control_tool`.

use core::cell::Cell;

use super::super::event::EventSite;
use super::super::notify;
use super::{ProgramCall, site};
use omp::task::Task;
use omp::thread::CurrentThread;

/// See [`Tools::cancels`](omp::extension::tools::Tools).
pub fn cancels(here: CurrentThread, flags: u32) {
    let site = site(here, None);
    notify(|consumer| consumer.cancel(&site, here.task, flags));
}

/// See [`Tools::discards`](omp::extension::tools::Tools).
pub fn discards(task: &Task, flags: u32) {
    let site = EventSite::at(CurrentThread::get(), 0);
    notify(|consumer| consumer.cancel(&site, task, flags));
}

/// See [`Tools::error`](omp::extension::tools::Tools).
pub fn error(fatal: bool, message: &str) {
    let site = site(CurrentThread::get(), None);
    notify(|consumer| consumer.error(&site, fatal, message.as_bytes()));
}

/// See [`Tools::control`](omp::extension::tools::Tools).
pub fn control(here: CurrentThread, command: u64, modifier: u64, argument: usize) -> Option<i32> {
    let call = ProgramCall::begin(here);
    let (site, answer) = (call.site(here), Cell::new(None));
    notify(|consumer| {
        let said = consumer.control_tool(&site, command, modifier, argument);
        answer.set(answer.get().or(said));
    });
    call.end(here);
    answer.get()
}
