//! The binding policies (OpenMP 5.2, section 10.1.3) as arithmetic: no memory, no state, O(1) per
//! thread.

use core::ops::Range;

use crate::icv::binding::ProcBind;

/// Where the threads of one team go. Cheap to copy; ask [`PlaceAssignment::thread`] for each, or
/// iterate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceAssignment {
    policy: ProcBind,
    /// The parent's place, relative to the start of its partition.
    origin: u32,
    partition: Range<u32>,
    nthreads: u32,
    next: u32,
}

/// Computes the places of a team of `nthreads` whose primary thread runs on `parent_place` (`None`,
/// or a place outside the partition: the partition's first) with the place partition
/// `parent_partition`. `None` if threads are not bound: policy [`ProcBind::False`], an empty
/// partition or no threads. [`ProcBind::True`] is `close`.
pub fn assign(
    policy: ProcBind,
    parent_place: Option<u32>,
    parent_partition: Range<u32>,
    nthreads: u32,
) -> Option<PlaceAssignment> {
    if policy == ProcBind::False || parent_partition.is_empty() || nthreads == 0 {
        return None;
    }
    let parent = parent_place.filter(|p| parent_partition.contains(p)).unwrap_or(parent_partition.start);
    Some(PlaceAssignment {
        policy,
        origin: parent - parent_partition.start,
        partition: parent_partition,
        nthreads,
        next: 0,
    })
}

impl PlaceAssignment {
    /// Place and place partition of the implicit task of thread `i`.
    pub fn thread(&self, i: u32) -> (u32, Range<u32>) {
        let places = self.partition.len() as u32;
        let start = self.partition.start;
        match self.policy {
            ProcBind::Primary | ProcBind::False => (start + self.origin, self.partition.clone()),
            ProcBind::Spread if self.nthreads <= places => self.spread(i, places),
            ProcBind::Spread => {
                let place = self.close(i, places);
                (place, place..place + 1)
            }
            ProcBind::True | ProcBind::Close => (self.close(i, places), self.partition.clone()),
        }
    }

    /// Consecutive places from the parent's on, around the partition; with more threads than
    /// places, consecutive threads share one and the places nearest to the parent's take the
    /// remainder.
    fn close(&self, i: u32, places: u32) -> u32 {
        let step = if self.nthreads <= places { i } else { part_of(i, self.nthreads, places) };
        self.partition.start + (self.origin + step) % places
    }

    /// One part of the partition per thread; thread 0 stays where it is, the others take the first
    /// place of theirs.
    fn spread(&self, i: u32, places: u32) -> (u32, Range<u32>) {
        let first = part_of(self.origin, places, self.nthreads);
        let part = (first + i) % self.nthreads;
        let start = self.partition.start;
        let range = start + part_start(part, places, self.nthreads)
            ..start + part_start(part + 1, places, self.nthreads);
        let place = if i == 0 { start + self.origin } else { range.start };
        (place, range)
    }
}

impl Iterator for PlaceAssignment {
    type Item = (u32, Range<u32>);

    fn next(&mut self) -> Option<Self::Item> {
        let i = self.next;
        (i < self.nthreads).then(|| {
            self.next += 1;
            self.thread(i)
        })
    }
}

/// `total` items in `parts` consecutive parts, the first `total % parts` of them one larger: the
/// start of part `p`.
fn part_start(p: u32, total: u32, parts: u32) -> u32 {
    p * (total / parts) + p.min(total % parts)
}

/// The part that item `i` is in, of `total` items in `parts` consecutive parts, the first ones the
/// larger.
pub fn part_of(i: u32, total: u32, parts: u32) -> u32 {
    let (size, larger) = (total / parts, total % parts);
    let in_larger = larger * (size + 1);
    if i < in_larger { i / (size + 1) } else { larger + (i - in_larger) / size }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(policy: ProcBind, parent: u32, partition: Range<u32>, n: u32) -> Vec<u32> {
        assign(policy, Some(parent), partition, n).unwrap().map(|(place, _)| place).collect()
    }

    fn parts(parent: u32, partition: Range<u32>, n: u32) -> Vec<(u32, Range<u32>)> {
        assign(ProcBind::Spread, Some(parent), partition, n).unwrap().collect()
    }

    #[test]
    fn primary_keeps_everybody_with_the_parent() {
        let got: Vec<_> = assign(ProcBind::Primary, Some(5), 4..8, 3).unwrap().collect();
        assert_eq!(got, vec![(5, 4..8); 3]);
    }

    #[test]
    fn close_with_enough_places_goes_around_the_partition() {
        assert_eq!(places(ProcBind::Close, 0, 0..8, 4), [0, 1, 2, 3]);
        assert_eq!(places(ProcBind::Close, 6, 0..8, 4), [6, 7, 0, 1]);
        assert_eq!(places(ProcBind::Close, 5, 4..7, 3), [5, 6, 4]);
        assert!(assign(ProcBind::Close, Some(5), 4..7, 3).unwrap().all(|(_, p)| p == (4..7)));
    }

    #[test]
    fn close_with_too_few_places_puts_consecutive_threads_together() {
        assert_eq!(places(ProcBind::Close, 0, 0..8, 16), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]);
        assert_eq!(places(ProcBind::Close, 6, 0..8, 16), [6, 6, 7, 7, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
        assert_eq!(places(ProcBind::Close, 1, 0..3, 5), [1, 1, 2, 2, 0]);
    }

    #[test]
    fn spread_gives_each_thread_its_part() {
        assert_eq!(parts(0, 0..8, 4), [(0, 0..2), (2, 2..4), (4, 4..6), (6, 6..8)]);
        assert_eq!(parts(3, 0..8, 4), [(3, 2..4), (4, 4..6), (6, 6..8), (0, 0..2)]);
        assert_eq!(parts(0, 0..8, 3), [(0, 0..3), (3, 3..6), (6, 6..8)]);
        assert_eq!(parts(7, 4..9, 2), [(7, 7..9), (4, 4..7)]);
        assert_eq!(parts(2, 0..4, 1), [(2, 0..4)]);
    }

    #[test]
    fn spread_with_too_few_places_gives_parts_of_one_place() {
        assert_eq!(parts(1, 0..2, 4), [(1, 1..2), (1, 1..2), (0, 0..1), (0, 0..1)]);
    }

    #[test]
    fn unbound_and_odd_requests() {
        assert!(assign(ProcBind::False, Some(0), 0..4, 2).is_none());
        assert!(assign(ProcBind::Close, Some(0), 0..0, 2).is_none());
        assert!(assign(ProcBind::Close, Some(0), 0..4, 0).is_none());
        assert_eq!(assign(ProcBind::True, None, 2..4, 2).unwrap().thread(0).0, 2);
        assert_eq!(places(ProcBind::Close, 9, 2..4, 2), [2, 3]);
    }

    /// Every clause of the specification that can be stated for all inputs.
    #[test]
    fn the_rules_hold_for_every_small_case() {
        for (p, t) in (1..9u32).flat_map(|p| (1..20u32).map(move |t| (p, t))) {
            for parent in 3..3 + p {
                check(ProcBind::Close, parent, 3..3 + p, t);
                check(ProcBind::Spread, parent, 3..3 + p, t);
            }
        }
    }

    fn check(policy: ProcBind, parent: u32, partition: Range<u32>, t: u32) {
        let p = partition.len() as u32;
        let team: Vec<_> = assign(policy, Some(parent), partition.clone(), t).unwrap().collect();
        let what = format!("{policy:?} {parent} of {partition:?}, {t} threads: {team:?}");
        assert_eq!(team[0].0, parent, "thread 0 stays: {what}");
        assert!(team.iter().all(|(place, part)| part.contains(place)), "{what}");
        for place in partition.clone() {
            let here = team.iter().filter(|(on, _)| *on == place).count() as u32;
            assert!(here <= t.div_ceil(p) && (t <= p || here >= t / p), "even: {what}");
        }
        if policy == ProcBind::Spread && t <= p {
            let sizes = || team.iter().map(|(_, part)| part.len() as u32);
            assert_eq!(sizes().sum::<u32>(), p, "disjoint and complete: {what}");
            assert!(sizes().all(|s| s == p / t || s == p.div_ceil(t)), "{what}");
        }
    }
}
