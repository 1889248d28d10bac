//! The binding policies (OpenMP 5.2, section 10.1.3) as arithmetic: no memory, no state, O(1) per thread.

use core::ops::Range;

use crate::omp::icv::ProcBind;

/// Where the threads of one team go. Cheap to copy; ask [`Assignment::thread`] for each, or iterate.
#[derive(Clone, Debug)]
pub struct Assignment {
    policy: ProcBind,
    /// The parent's place, relative to the start of its partition.
    origin: u32,
    partition: Range<u32>,
    nthreads: u32,
    next: u32,
}

/// Computes the places of a team of `nthreads` whose primary thread runs on `parent_place` (`None`, or a place outside
/// the partition: the partition's first) with the place partition `parent_partition`. `None` if threads are not bound:
/// policy [`ProcBind::False`], an empty partition or no threads. [`ProcBind::True`] is `close`.
pub fn assign(
    policy: ProcBind,
    parent_place: Option<u32>,
    parent_partition: Range<u32>,
    nthreads: u32,
) -> Option<Assignment> {
    if policy == ProcBind::False || parent_partition.is_empty() || nthreads == 0 {
        return None;
    }
    let parent = parent_place
        .filter(|p| parent_partition.contains(p))
        .unwrap_or(parent_partition.start);
    Some(Assignment {
        policy,
        origin: parent - parent_partition.start,
        partition: parent_partition,
        nthreads,
        next: 0,
    })
}

impl Assignment {
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

    /// Consecutive places from the parent's on, around the partition; with more threads than places, consecutive
    /// threads share one and the places nearest to the parent's take the remainder.
    fn close(&self, i: u32, places: u32) -> u32 {
        let step = if self.nthreads <= places {
            i
        } else {
            part_of(i, self.nthreads, places)
        };
        self.partition.start + (self.origin + step) % places
    }

    /// One part of the partition per thread; thread 0 stays where it is, the others take the first place of theirs.
    fn spread(&self, i: u32, places: u32) -> (u32, Range<u32>) {
        let first = part_of(self.origin, places, self.nthreads);
        let part = (first + i) % self.nthreads;
        let start = self.partition.start;
        let range = start + part_start(part, places, self.nthreads)
            ..start + part_start(part + 1, places, self.nthreads);
        let place = if i == 0 {
            start + self.origin
        } else {
            range.start
        };
        (place, range)
    }
}

impl Iterator for Assignment {
    type Item = (u32, Range<u32>);

    fn next(&mut self) -> Option<Self::Item> {
        let i = self.next;
        (i < self.nthreads).then(|| {
            self.next += 1;
            self.thread(i)
        })
    }
}

/// `total` items in `parts` consecutive parts, the first `total % parts` of them one larger: the start of part `p`.
fn part_start(p: u32, total: u32, parts: u32) -> u32 {
    p * (total / parts) + p.min(total % parts)
}

/// The part that item `i` is in.
fn part_of(i: u32, total: u32, parts: u32) -> u32 {
    let (size, larger) = (total / parts, total % parts);
    let in_larger = larger * (size + 1);
    if i < in_larger {
        i / (size + 1)
    } else {
        larger + (i - in_larger) / size
    }
}
