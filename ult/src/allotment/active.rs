//! Which workers run: the *active* ones. The other shared workers of the pool are *withdrawn*.
//!
//! A withdrawn worker takes no work that is queued at other workers, and forks queue nothing at it. It
//! takes offers, because possibly no other worker can take them. It still resumes its own contexts,
//! and starts what is queued at it, so nothing is left behind. The workers of the program's kernel
//! threads are always active.
//!
//! *Several kernel threads of the program* may each have an outermost team. Each of these teams then
//! runs on the number of running workers. This number includes the worker of its kernel thread.
//!
//! What does not live here: how many workers run ([`super`]), and which threads move
//! ([`crate::sched::relocate`] and the layer above).

use std::collections::BTreeMap;

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

/// From here on each of `teams` teams has `number` workers: the worker of its kernel thread, and
/// `number` - 1 workers of the pool. Both arguments are at least 1. Of the workers that are assigned
/// to teams of one group, the first `number` - 1 run. If there are too few such workers for all
/// teams, others run as well. Called again after each quantum, because workers may have come since.
/// One thread at a time.
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

/// Which workers of the pool run, if each of `teams` teams is to have `per_team` workers of the pool?
/// `groups` holds the group to which each worker is assigned; `None` if it has no assignment.
fn choose(groups: &[Option<u32>], per_team: u32, teams: u32) -> Vec<bool> {
    let mut seen = BTreeMap::new();
    let mut is_among_first = |group| {
        let count = seen.entry(group).or_insert(0);
        *count += 1;
        *count <= per_team
    };
    let mut active: Vec<bool> = groups.iter().map(|group| group.is_some_and(&mut is_among_first)).collect();
    let assigned = active.iter().filter(|&&is_active| is_active).count();
    let missing = (teams as usize * per_team as usize).saturating_sub(assigned);
    // Workers without an assignment first.
    let mut others: Vec<usize> = (0..groups.len()).filter(|&at| !active[at]).collect();
    others.sort_by_key(|&at| groups[at].is_some());
    others.into_iter().take(missing).for_each(|at| active[at] = true);
    active
}

/// Can the worker be withdrawn? Not if it belongs to one thread, such as the program's kernel
/// thread, stands in for another worker, or has no kernel thread.
fn may_be_withdrawn(worker: &Worker) -> bool {
    worker.is_shared() && !worker.is_standing_in() && !worker.is_dedicated() && worker.watched.tid() != 0
}

/// The workers that may be withdrawn, in the order of their indices.
pub(super) fn pool_workers() -> Vec<&'static Worker> {
    (0..table_len()).filter_map(at).filter(|worker| may_be_withdrawn(worker)).collect()
}

/// The active worker on which thread `number` of a team runs, if the team runs on at most
/// `team_limit` workers. `first` is the worker of thread 0. The other active workers are numbered in
/// this order: those assigned to the group of `first`, then those without an assignment. If the
/// former are too few and no worker is without an assignment, workers that are assigned to other
/// groups follow.
pub fn active_worker(number: u32, team_limit: u32, first: &'static Worker) -> &'static Worker {
    let per_team = running().min(team_limit).max(1) as usize;
    let Some(index) = (number as usize % per_team).checked_sub(1) else { return first };
    let (mut own, mut free, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for worker in pool_workers().into_iter().filter(|worker| !worker.is_withdrawn()) {
        match worker.assigned_group() {
            Some(group) if group == first.group() => own.push(worker),
            None => free.push(worker),
            Some(_) => others.push(worker),
        }
    }
    if let Some(worker) = own.get(index) {
        return worker;
    }
    // Each kernel thread of the program begins at a different worker, so that the teams spread.
    let start = program_threads_before(first) * (per_team - 1) + index - own.len();
    let rest = if free.is_empty() { others } else { free };
    start.checked_rem(rest.len()).map_or(first, |at| rest[at])
}

/// How many kernel threads of the program have a worker with a lower index.
fn program_threads_before(worker: &Worker) -> usize {
    let before = (0..worker.index() as usize).filter_map(at);
    before.filter(|worker| !worker.is_of_the_pool() && worker.watched.tid() != 0).count()
}

/// In the child of a fork, which has one kernel thread.
pub(crate) fn reset_after_fork() {
    super::attention::reset_after_fork();
    (0..table_len()).filter_map(at).for_each(|worker| _ = worker.set_withdrawn(false));
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::choose;

    fn active(groups: &[Option<u32>], per_team: u32, teams: u32) -> Vec<usize> {
        let chosen = choose(groups, per_team, teams);
        (0..groups.len()).filter(|&at| chosen[at]).collect()
    }

    #[test]
    fn each_group_keeps_the_first_of_its_workers() {
        let groups = [Some(1), Some(1), None, Some(1), Some(5), None, Some(5), None];
        assert_eq!(active(&groups, 0, 2), []);
        assert_eq!(active(&groups, 1, 2), [0, 4]);
        assert_eq!(active(&groups, 2, 2), [0, 1, 4, 6]);
        assert_eq!(active(&groups, 3, 2), [0, 1, 2, 3, 4, 6], "one worker of the second group is missing");
        assert_eq!(active(&groups, 9, 2), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(active(&groups, 1, 3), [0, 2, 4], "the third group has no assigned workers");
    }

    #[test]
    fn workers_of_one_team_help_the_others_if_none_is_free() {
        let groups = [Some(1); 6];
        assert_eq!(active(&groups, 1, 1), [0]);
        assert_eq!(active(&groups, 1, 4), [0, 1, 2, 3]);
        assert_eq!(active(&groups, 3, 4), [0, 1, 2, 3, 4, 5]);
    }
}
