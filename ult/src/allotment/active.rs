//! Which workers run: the *active* ones. The other shared workers of the pool are *withdrawn*.
//!
//! A withdrawn worker takes no work that is queued at other workers, and forks queue nothing at it. It
//! takes offers, because possibly no other worker can take them. It still resumes its own contexts,
//! and starts what is queued at it, so nothing is left behind. The worker of the program's kernel
//! thread is always active.
//!
//! What does not live here: how many workers run ([`super`]), and which threads move
//! ([`crate::sched::relocate`] and the layer above).

use core::ptr;

use crate::worker::record::Worker;
use crate::worker::table::{at, table_len};

use super::attention::{ALL_WORKERS, running, set_running};

/// From here on `number` workers run, at least 1: that of the program's kernel thread and the first
/// [`candidates`]. Called again after each quantum, because workers may have come since. One thread at
/// a time.
pub fn run_on(number: u32) {
    set_running(number);
    for worker in (0..table_len()).filter_map(at).filter(|worker| !may_be_withdrawn(worker)) {
        worker.set_withdrawn(false);
    }
    let active_in_pool = if number == ALL_WORKERS { usize::MAX } else { number as usize - 1 };
    for (index, worker) in candidates().into_iter().enumerate() {
        let was_withdrawn = worker.set_withdrawn(index >= active_in_pool);
        if was_withdrawn && index < active_in_pool {
            worker.wake(); // it looks for work again
        }
    }
}

/// Can the worker be withdrawn? Not if it belongs to one thread, such as that of the
/// program's kernel thread, stands in
/// for another worker, or has no kernel thread.
fn may_be_withdrawn(worker: &Worker) -> bool {
    worker.is_shared() && !worker.is_standing_in() && !worker.is_dedicated() && worker.watched.tid() != 0
}

/// The workers that may be withdrawn; those with an assigned OpenMP thread come first.
fn candidates() -> Vec<&'static Worker> {
    let all = (0..table_len()).filter_map(at).filter(|worker| may_be_withdrawn(worker));
    let mut all: Vec<_> = all.map(|worker| (!worker.is_assigned(), worker)).collect();
    all.sort_by_key(|&(is_free, _)| is_free);
    all.into_iter().map(|(_, worker)| worker).collect()
}

/// The active worker on which thread `number` of a team runs, if the team runs on at most
/// `team_limit` workers. `first` is the worker of thread 0.
pub fn active_worker(number: u32, team_limit: u32, first: &'static Worker) -> &'static Worker {
    let mut others =
        candidates().into_iter().filter(|worker| !worker.is_withdrawn() && !ptr::eq(*worker, first));
    match number % running().min(team_limit).max(1) {
        0 => first,
        number => others.nth(number as usize - 1).unwrap_or(first),
    }
}

/// In the child of a fork, which has one kernel thread.
pub(crate) fn reset_after_fork() {
    super::attention::reset_after_fork();
    (0..table_len()).filter_map(at).for_each(|worker| _ = worker.set_withdrawn(false));
}
