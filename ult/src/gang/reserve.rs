//! Which workers get the ULTs of a new gang (ICS '21, Algorithm 1, `GET_WORKERS`).
//!
//! A pure function of what the forking thread has read; the reading and the pushing are its
//! caller's, under the fork lock.
//!
//! Rejected: sorting all workers by load (the paper's words; costs more than linear while every
//! other fork waits, and sends a small gang across the machine to save a place in a short queue),
//! one worker after the other from 0 on (all small gangs would meet at the first workers), and an
//! order of the others kept for each worker (workers that nobody has bound move; counting the
//! classes anew costs what reading the loads costs).

/// Classes of nearness that are distinguished; larger ones count as the last.
const CLASSES: usize = crate::topology::distance::PREFERENCES;

/// Names the workers for `n` gang ULTs beside thread 0, which runs on the forking worker `me`.
/// `into` is overwritten with `n` worker indices, one for each ULT, in the order in which the ULTs
/// should go to them.
///
/// `loads[w]` is the number of ULTs in the gang deque of worker `w`, `in_flight` that of all gang
/// ULTs of the process, and `classes[w]` how far `w` is from `me` (0 nearest, see
/// `Distances::seat`); with an empty slice all are equally near.
///
/// * While `n` is less than the number of workers, all are different and none is `me`: first those
///   that hold no more than the average `in_flight / workers`, nearest first; if that is too few,
///   the least loaded of the rest, the nearer of equals.
/// * Beyond that every worker gets one, and it goes round again: whole rounds over all workers,
///   `me` the last of each, and the remainder to the least loaded others. No worker has more than
///   `ceil((n + 1) / workers)` ULTs of the gang, thread 0 included.
///
/// Among equally near ones the search starts after `me`, so that gangs forked at different workers
/// spread. Takes O(n + workers) steps, and allocates only if `into` is too small.
///
/// # Panics
/// If `me` is not a worker, or `classes` is neither empty nor as long as `loads`.
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

/// Gives ULTs that are wanted somewhere what they want, in what [`reserve`] has left in `into` for
/// the same gang, as long as it leaves the ULTs on workers of their own: `wanted(i, free)` names a
/// worker for ULT `i` for which `free` holds. Nobody gets a worker above the average, and a gang
/// that goes round stays as it is.
///
/// Takes O(n + workers) steps beside the calls, and allocates.
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
    // Of n different workers at least as many are left as ULTs have none.
    let left: Vec<usize> = into.iter().copied().filter(|&worker| !taken[worker]).collect();
    let mut left = left.into_iter();
    for (place, grant) in into.iter_mut().zip(granted) {
        if let Some(worker) = grant.or_else(|| left.next()) {
            *place = worker;
        }
    }
}

/// The others, beginning after `me`.
fn others(me: usize, workers: usize) -> impl Iterator<Item = usize> {
    (me + 1..workers).chain(0..me)
}

fn is_within(load: u32, in_flight: u32, workers: usize) -> bool {
    u64::from(load) * workers as u64 <= u64::from(in_flight)
}

/// Workers that hold no more than the average, class by class.
fn within_average(n: usize, me: usize, loads: &[u32], in_flight: u32, classes: &[u8], into: &mut Vec<usize>) {
    let fits = |&worker: &usize| is_within(loads[worker], in_flight, loads.len());
    let fitting = || others(me, loads.len()).filter(fits);
    if classes.is_empty() {
        return into.extend(fitting().take(n));
    }
    // A counting sort: where each class ends, then everybody to its place, and the far end is cut
    // off.
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

/// The least loaded of those above the average, as many as are missing and there are.
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

/// More ULTs than other workers: further rounds.
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
