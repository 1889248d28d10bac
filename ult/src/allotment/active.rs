//! Which workers run: the *active* ones. The other shared workers of the pool are *withdrawn*.
//!
//! A withdrawn worker takes no work that is queued at other workers, and forks queue nothing at it. It
//! takes offers, because no other worker may be idle. It still resumes its own contexts, and starts what is
//! queued at it, so nothing is left behind. The worker of the program's kernel thread is always active.
//!
//! What does not live here: how many workers run ([`super`]), and which threads move
//! ([`crate::sched::relocate`] and the layer above).

use core::ptr;

use crate::worker::record::Worker;
use crate::worker::table::{at, table_len};

use super::attention::{ALL_WORKERS, running, set_running};

/// From here on `number` workers run, at least 1: that of the program's kernel thread and the first
/// ones of the pool, those with an OpenMP thread before the others. One thread at a time.
pub fn run_on(number: u32) {
    if running() == number {
        return;
    }
    set_running(number);
    let mut left = number.saturating_sub(1);
    for worker in candidates() {
        let was_withdrawn = worker.is_withdrawn();
        worker.set_withdrawn(number != ALL_WORKERS && left == 0);
        left = left.saturating_sub(1);
        if was_withdrawn && !worker.is_withdrawn() {
            worker.wake(); // it looks for work again
        }
    }
}

/// The shared workers that have a kernel thread, those with an OpenMP thread first.
fn candidates() -> impl Iterator<Item = &'static Worker> {
    let all = || (0..table_len()).filter_map(at).filter(|worker| worker.is_shared());
    let has_thread = |worker: &&Worker| worker.is_assigned() && worker.watched.tid() != 0;
    all().filter(has_thread).chain(all().filter(move |worker| !has_thread(worker)))
}

/// The active worker on which thread `number` of a team runs, if the team runs on at most `most`
/// workers. `first` is the worker of thread 0.
pub fn active(number: u32, most: u32, first: &'static Worker) -> &'static Worker {
    let mut others = candidates().filter(|worker| !worker.is_withdrawn() && !ptr::eq(*worker, first));
    match number % running().min(most).max(1) {
        0 => first,
        number => others.nth(number as usize - 1).unwrap_or(first),
    }
}

/// In the child of a fork, which has one kernel thread.
pub(crate) fn reset_after_fork() {
    super::attention::reset_after_fork();
    (0..table_len()).filter_map(at).for_each(|worker| worker.set_withdrawn(false));
}
