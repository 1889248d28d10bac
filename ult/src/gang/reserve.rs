//! Chooses the workers that get the ULTs of a new gang (ICS '21, Algorithm 1, `GET_WORKERS`).
//!
//! What lives here: a pure function of the values that the forking thread has read. What does not:
//! the caller reads these values, and pushes the ULTs under the fork lock.
//!
//! Rejected:
//! * Sorting all workers by load, as the paper says. It takes more than linear time while every
//!   other fork waits. It also sends a small gang across the machine to save a position in a short
//!   queue.
//! * One worker after the other, from 0 on. All small gangs would be put on the first workers.
//! * An order of the other workers that each worker keeps. Unbound workers move, and to count the
//!   classes anew costs as much as to read the loads.

/// The number of classes of distance. A larger class counts as the last one.
const CLASSES: usize = crate::topology::distance::PREFERENCES;

/// Names the workers for `n` gang ULTs beside thread 0, which runs on the forking worker `me`.
/// `into` is overwritten with `n` worker indices, one for each ULT, in the order in which the ULTs
/// should go to them.
///
/// `loads[w]` is the number of ULTs in the gang deque of worker `w`, and `in_flight` is the number
/// of all gang ULTs of the process. `classes[w]` says how far `w` is from `me` (0 is nearest, see
/// `Distances::preference`). If the slice is empty, all workers are equally near.
///
/// * If `n` is less than the number of workers, all chosen workers are different, and none is `me`.
///   Workers that hold no more than the average `in_flight / workers` come first, nearest first. If
///   these are too few, the least loaded of the rest follow, and of equal loads the nearer worker.
/// * If `n` is larger, every worker gets one ULT, and then the next round begins. A whole round
///   goes over all workers, with `me` last. The remainder goes to the least loaded other workers.
///   No worker has more than `ceil((n + 1) / workers)` ULTs of the gang, thread 0 included.
///
/// Among equally near workers the search starts after `me`, so that gangs forked at different
/// workers spread. The function takes O(n + workers) steps, and allocates only if `into` is too
/// small.
///
/// # Panics
/// If `me` is not a worker, or if `classes` is neither empty nor as long as `loads`.
pub fn reserve(n: usize, me: usize, loads: &[u32], in_flight: u32, classes: &[u8], into: &mut Vec<usize>) {
    let workers = loads.len();
    assert!(me < workers, "the forking worker {me} is none of {workers}");
    assert!(classes.is_empty() || classes.len() == workers, "a class for each worker");
    into.clear();
    into.reserve(n);
    within_average(n, me, loads, in_flight, classes, into);
    top_up(n, me, loads, in_flight, classes, into);
    go_round(n, me, loads, classes, into);
}

/// Gives ULTs the workers that they prefer, as far as possible. `into` is what [`reserve`] has
/// written for the same gang. `wanted(i, free)` names a worker for ULT `i` for which `free` holds.
///
/// Each ULT keeps a worker of its own, and no ULT gets a worker above the average load. A gang with
/// more ULTs than other workers stays as it is.
///
/// Takes O(n + workers) steps in addition to the calls, and allocates.
pub fn prefer(
    me: usize,
    loads: &[u32],
    in_flight: u32,
    wanted: impl Fn(usize, &dyn Fn(usize) -> bool) -> Option<usize>,
    into: &mut [usize],
) {
    if into.len() >= loads.len() {
        return;
    }
    let mut taken = vec![false; loads.len()];
    let mut granted = vec![None; into.len()];
    for (i, grant) in granted.iter_mut().enumerate() {
        let free = |worker: usize| {
            worker != me && !taken[worker] && is_within(loads[worker], in_flight, loads.len())
        };
        *grant = wanted(i, &free);
        if let Some(worker) = *grant {
            taken[worker] = true;
        }
    }
    // The `n` workers are different, so at least as many are left as there are ULTs without a wish.
    let left: Vec<usize> = into.iter().copied().filter(|&worker| !taken[worker]).collect();
    let mut left = left.into_iter();
    for (place, grant) in into.iter_mut().zip(granted) {
        if let Some(worker) = grant.or_else(|| left.next()) {
            *place = worker;
        }
    }
}

/// The other workers, beginning after `me`.
fn others(me: usize, workers: usize) -> impl Iterator<Item = usize> {
    (me + 1..workers).chain(0..me)
}

fn is_within(load: u32, in_flight: u32, workers: usize) -> bool {
    u64::from(load) * workers as u64 <= u64::from(in_flight)
}

/// Chooses workers that hold no more than the average, class by class.
fn within_average(n: usize, me: usize, loads: &[u32], in_flight: u32, classes: &[u8], into: &mut Vec<usize>) {
    let fits = |&worker: &usize| is_within(loads[worker], in_flight, loads.len());
    let fitting = || others(me, loads.len()).filter(fits);
    if classes.is_empty() {
        return into.extend(fitting().take(n));
    }
    // A counting sort: it finds where each class ends, and puts each worker at its position. Then
    // the far end is cut off.
    let mut ends = [0; CLASSES];
    fitting().for_each(|worker| ends[class(classes, worker)] += 1);
    let mut total = 0;
    for end in &mut ends {
        total += *end;
        *end = total - *end;
    }
    into.resize(total, 0);
    for worker in fitting() {
        let next = &mut ends[class(classes, worker)];
        into[*next] = worker;
        *next += 1;
    }
    into.truncate(n);
}

fn class(classes: &[u8], worker: usize) -> usize {
    classes.get(worker).map_or(0, |&class| usize::from(class).min(CLASSES - 1))
}

/// Adds the least loaded of the workers above the average, as many as are missing, or all of them.
fn top_up(n: usize, me: usize, loads: &[u32], in_flight: u32, classes: &[u8], into: &mut Vec<usize>) {
    let begin = into.len();
    if begin == n {
        return;
    }
    let above = |&worker: &usize| !is_within(loads[worker], in_flight, loads.len());
    into.extend(others(me, loads.len()).filter(above));
    keep_least_loaded(n - begin, begin, loads, classes, into);
}

/// Cuts `into[begin..]` down to its `count` least loaded workers.
fn keep_least_loaded(count: usize, begin: usize, loads: &[u32], classes: &[u8], into: &mut Vec<usize>) {
    if (1..into.len() - begin).contains(&count) {
        into[begin..]
            .select_nth_unstable_by_key(count - 1, |&worker| (loads[worker], class(classes, worker)));
    }
    into.truncate(begin + count);
}

/// More ULTs than other workers: adds further rounds.
fn go_round(n: usize, me: usize, loads: &[u32], classes: &[u8], into: &mut Vec<usize>) {
    while n - into.len() >= loads.len() {
        into.extend(others(me, loads.len()));
        into.push(me);
    }
    let begin = into.len();
    if begin < n {
        into.extend(others(me, loads.len()));
        keep_least_loaded(n - begin, begin, loads, classes, into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reserved(n: usize, me: usize, loads: &[u32], classes: &[u8]) -> Vec<usize> {
        let mut into = vec![99; 3];
        reserve(n, me, loads, loads.iter().sum(), classes, &mut into);
        assert_eq!(into.len(), n);
        into
    }

    fn sorted(mut workers: Vec<usize>) -> Vec<usize> {
        workers.sort_unstable();
        workers
    }

    const ALIKE: &[u8] = &[];

    #[test]
    fn the_idle_neighbours_come_first() {
        assert_eq!(reserved(3, 2, &[0; 8], ALIKE), [3, 4, 5]);
        assert_eq!(reserved(3, 6, &[0; 8], ALIKE), [7, 0, 1]);
        assert_eq!(reserved(0, 6, &[0; 8], ALIKE), []);
    }

    #[test]
    fn near_before_far() {
        // Two caches of two workers on each of two nodes; the forking worker is 5.
        let classes = [2, 2, 2, 2, 0, 0, 1, 1];
        assert_eq!(reserved(4, 5, &[0; 8], &classes), [4, 6, 7, 0]);
        assert_eq!(reserved(7, 5, &[0; 8], &classes), [4, 6, 7, 0, 1, 2, 3]);
        assert_eq!(reserved(3, 5, &[0; 8], &[255, 9, 7, 7, 7, 0, 255, 8]), [2, 3, 4], "classes without end");
    }

    #[test]
    fn a_loaded_neighbour_is_passed_over_until_there_are_too_few() {
        // The average is 6 / 4: the worker with three ULTs is above it.
        let classes = [3, 0, 3, 3];
        let loads = [0, 3, 1, 2];
        assert_eq!(reserved(1, 0, &loads, &classes), [2]);
        assert_eq!(reserved(2, 0, &loads, &classes), [2, 3], "2 above the average, 3 more so");
        assert_eq!(sorted(reserved(3, 0, &loads, &classes)), [1, 2, 3]);
    }

    #[test]
    fn an_average_load_is_no_reason_to_go_far() {
        assert_eq!(reserved(1, 0, &[1, 1, 0, 2], &[0, 0, 1, 1]), [1]);
        // All others above the average: of equal loads the near one.
        assert_eq!(reserved(1, 0, &[0, 3, 2, 2], &[0, 1, 2, 0]), [3]);
    }

    #[test]
    fn the_forking_worker_is_spared_while_others_suffice() {
        for n in 1..8 {
            let workers = sorted(reserved(n, 3, &[2, 0, 5, 0, 1, 1, 0, 3], ALIKE));
            assert!(!workers.contains(&3));
            assert!(workers.windows(2).all(|pair| pair[0] < pair[1]), "distinct: {workers:?}");
        }
    }

    #[test]
    fn a_gang_larger_than_the_pool_is_spread_evenly() {
        for workers in 1..7 {
            for n in 0..40 {
                let loads: Vec<u32> = (0..workers as u32).map(|worker| worker * 7 % 3).collect();
                let mut share = vec![0; workers];
                reserved(n, 0, &loads, ALIKE).into_iter().for_each(|worker| share[worker] += 1);
                share[0] += 1; // thread 0
                let fair = (n + 1).div_ceil(workers);
                assert!(share.iter().all(|&one| one <= fair && one + 1 >= fair), "{n}: {share:?}");
            }
        }
    }

    #[test]
    fn the_remainder_goes_to_the_least_loaded() {
        let workers = reserved(6, 0, &[0, 9, 1, 8, 0], ALIKE);
        // Four others, then two more: those with 0 and 1, not the forking worker.
        assert_eq!(sorted(workers[..4].to_vec()), [1, 2, 3, 4]);
        assert_eq!(sorted(workers[4..].to_vec()), [2, 4]);
    }

    fn preferred(n: usize, me: usize, loads: &[u32], wishes: &[Option<usize>]) -> Vec<usize> {
        let mut into = reserved(n, me, loads, ALIKE);
        let wanted = |i: usize, free: &dyn Fn(usize) -> bool| wishes[i].filter(|&worker| free(worker));
        prefer(me, loads, loads.iter().sum(), wanted, &mut into);
        into
    }

    #[test]
    fn wishes_are_granted_while_each_has_a_worker_to_itself() {
        let none = [None; 4];
        assert_eq!(preferred(4, 2, &[0; 8], &none), [3, 4, 5, 6]);
        assert_eq!(preferred(4, 2, &[0; 8], &[None, Some(7), None, Some(3)]), [4, 7, 5, 3]);
        assert_eq!(
            preferred(4, 2, &[0; 8], &[Some(7), Some(7), Some(2), None]),
            [7, 3, 4, 5],
            "taken, and the forking one"
        );
        assert_eq!(
            preferred(3, 0, &[0, 0, 0, 0, 9], &[Some(4), Some(1), None]),
            [2, 1, 3],
            "above the average"
        );
        assert_eq!(
            preferred(3, 0, &[0; 3], &[Some(2), Some(2), Some(2)]),
            reserved(3, 0, &[0; 3], ALIKE),
            "it goes round"
        );
        let all: Vec<_> = (1..8).rev().map(Some).collect();
        assert_eq!(preferred(7, 0, &[0; 8], &all), [7, 6, 5, 4, 3, 2, 1]);
    }

    #[test]
    fn with_two_workers_loads_decide_nothing() {
        for n in 0..9 {
            for loads in [[0, 0], [0, 9], [9, 0], [3, 4]] {
                assert_eq!(reserved(n, 0, &loads, ALIKE), reserved(n, 0, &[0, 0], ALIKE));
                assert_eq!(reserved(n, 1, &loads, ALIKE), reserved(n, 1, &[0, 0], ALIKE));
                assert_eq!(preferred(n, 0, &loads, &[Some(0); 9]), reserved(n, 0, &loads, ALIKE));
                assert_eq!(preferred(n, 0, &loads, &[Some(1); 9]), reserved(n, 0, &loads, ALIKE));
            }
        }
    }

    #[test]
    fn a_single_worker_takes_everything() {
        assert_eq!(reserved(3, 0, &[4], ALIKE), [0, 0, 0]);
    }
}
