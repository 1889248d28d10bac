//! Leaving the running context for another one.
//!
//! What may not live here: the choice of that one ([`super::idle`]), and the switch of registers
//! ([`crate::switch`]).

use crate::observer::{self, SchedulerEvent};
use crate::switch::switch;
use crate::tls_block::record::TlsBlock;
use crate::ult::Ult;
use crate::worker::mode::switch_mode;
use crate::worker::record::Worker;
use crate::worker::running::play;

use super::next::Next;
use super::runner;
use super::suspended::context::SuspendedContext;

/// Resumes the running context itself, without a switch.
pub(super) fn resume_in_place(worker: &'static Worker, entry: &SuspendedContext) {
    // SAFETY: own kernel thread; the role is the one in which the context waited.
    unsafe { play(worker, entry.role) };
}

/// Leaves the running context, which is among the suspended contexts, for `next`. Returns when the
/// context is resumed.
pub(crate) fn leave_for(worker: &'static Worker, next: Next) {
    // SAFETY: own kernel thread. The running context is among the suspended contexts, and the entry
    // was removed from them.
    unsafe {
        match next {
            Next::Resume(entry) => switch_to(worker, &entry),
            Next::Run(job, role) => runner::run_on_runner(worker, job, role),
            Next::Start(ult_start, tag) => runner::start_on_runner(worker, ult_start, tag),
        }
    }
}

/// Leaves the running context for `entry`. The running context is among the suspended contexts, or
/// is a runner with nothing on its stack.
///
/// # Safety
/// Own kernel thread. `entry` was removed from the suspended contexts, so its context is suspended
/// and belongs to this worker.
pub(super) unsafe fn switch_to(worker: &'static Worker, entry: &SuspendedContext) {
    // SAFETY: as the caller says.
    unsafe {
        (*worker.own()).role = entry.role;
        switch_mode(worker, entry.role.thread);
        switch_context(worker, entry.ult, entry.role.tls_block);
    }
}

/// # Safety
/// `to` is a suspended context that this worker owns. It runs with `tls_block`, or with any TLS
/// block if that is `None`.
pub(super) unsafe fn switch_context(
    worker: &'static Worker,
    to: *mut Ult,
    tls_block: Option<&'static TlsBlock>,
) {
    // SAFETY: as the caller says; `current` is the running context.
    unsafe {
        let own = worker.own();
        let from = (*own).current;
        (*own).current = to;
        worker.count_switch();
        observer::notify(|| SchedulerEvent::Switches { from: from as usize, to: to as usize });
        switch(from, to, worker, tls_block);
    }
}
