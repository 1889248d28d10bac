//! Which workers run: the *active* ones. The other shared workers of the pool are *withdrawn*.
//!
//! A withdrawn worker takes no work that is queued at other workers, and forks queue nothing at it. It
//! takes offers, because possibly no other worker can take them. It still resumes its own contexts,
//! and starts what is queued at it, so nothing is left behind. The workers of the program's kernel
//! threads are always active.
//!
//! *Several kernel threads of the program* may each have an outermost team. The number of running
//! workers is then that of each team, the worker of its kernel thread included.
//!
//! What does not live here: how many workers run ([`super`]), and which threads move
//! ([`crate::sched::relocate`] and the layer above).

use crate::worker::record::Worker;
use crate::worker::table::{at, table_len};

use super::attention::{ALL_WORKERS, running, set_running};

/// From here on all workers run. One thread at a time.
pub fn run_on_all() {
    set_running(ALL_WORKERS);
    for worker in (0..table_len()).filter_map(at) {
        set_withdrawn(worker, false);
    }
}

/// From here on each of `teams` teams has `number` workers, both at least 1: that of its kernel thread, and
/// others of the pool. Of the workers that are assigned to teams, the first `number` - 1 of
/// each team run. If these are too few for all teams, workers without an assignment run as well. Called
/// again after each quantum, because workers may have come since. One thread at a time.
pub fn run_on(number: u32, teams: u32) {
    set_running(number);
    for worker in (0..table_len()).filter_map(at).filter(|worker| !may_be_withdrawn(worker)) {
        set_withdrawn(worker, false);
    }
    let workers = pool_workers();
    let groups: Vec<_> = workers.iter().map(|worker| worker.assigned_group()).collect();
    for (worker, is_active) in workers.iter().zip(choose(&groups, number - 1, teams)) {
        set_withdrawn(worker, !is_active);
    }
}

fn set_withdrawn(worker: &Worker, withdrawn: bool) {
    if worker.set_withdrawn(withdrawn) && !withdrawn {
        worker.wake(); // it looks for work again
    }
}

/// Which workers of the pool run, if each of `teams` teams is to have `each` of them? `groups` holds, for
/// each worker, the group of the team that has it; `None` for no team.
fn choose(groups: &[Option<u32>], each: u32, teams: u32) -> Vec<bool> {
    let is_among_first = |(at, group): (usize, &Option<u32>)| {
        let before = groups[..at].iter().filter(|other| *other == group).count();
        group.is_some() && before < each as usize
    };
    let mut active: Vec<bool> = groups.iter().enumerate().map(is_among_first).collect();
    let assigned = active.iter().filter(|&&is_active| is_active).count();
    let missing = (teams as usize * each as usize).saturating_sub(assigned);
    let free = (0..groups.len()).filter(|&at| groups[at].is_none());
    free.take(missing).for_each(|at| active[at] = true);
    active
}

/// Can the worker be withdrawn? Not if it belongs to one thread, such as that of the
/// program's kernel thread, stands in
/// for another worker, or has no kernel thread.
fn may_be_withdrawn(worker: &Worker) -> bool {
    worker.is_shared() && !worker.is_standing_in() && !worker.is_dedicated() && worker.watched.tid() != 0
}

/// The workers that may be withdrawn, in the order of their indices.
pub(super) fn pool_workers() -> Vec<&'static Worker> {
    (0..table_len()).filter_map(at).filter(|worker| may_be_withdrawn(worker)).collect()
}

/// The active worker on which thread `number` of a team runs, if the team runs on at most
/// `team_limit` workers. `first` is the worker of thread 0. Workers that are assigned to a team of the
/// same kernel thread come first, then those without an assignment.
pub fn active_worker(number: u32, team_limit: u32, first: &'static Worker) -> &'static Worker {
    let others = number % running().min(team_limit).max(1);
    if others == 0 {
        return first;
    }
    let mut active = pool_workers();
    active.retain(|worker| !worker.is_withdrawn());
    active.sort_by_key(|worker| match worker.assigned_group() {
        Some(group) if group == first.group() => 0,
        None => 1,
        Some(_) => 2,
    });
    active.get(others as usize - 1).copied().unwrap_or(first)
}

/// In the child of a fork, which has one kernel thread.
pub(crate) fn reset_after_fork() {
    super::attention::reset_after_fork();
    (0..table_len()).filter_map(at).for_each(|worker| _ = worker.set_withdrawn(false));
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::choose;

    #[test]
    fn each_team_keeps_as_many_of_its_workers() {
        let groups = [Some(1), Some(1), None, Some(1), Some(5), None, Some(5), None];
        let active = |each, teams| {
            let chosen = choose(&groups, each, teams);
            (0..groups.len()).filter(|&at| chosen[at]).collect::<Vec<_>>()
        };
        assert_eq!(active(0, 2), []);
        assert_eq!(active(1, 2), [0, 4]);
        assert_eq!(active(2, 2), [0, 1, 4, 6]);
        assert_eq!(active(3, 2), [0, 1, 2, 3, 4, 6], "one worker of the second team is missing");
        assert_eq!(active(9, 2), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(active(1, 3), [0, 2, 4], "the third team has no assigned workers");
    }
}
