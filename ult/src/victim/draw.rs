//! A random victim: all alike, or the nearer ones more often.
//!
//! With distances, draws fall into three bands: victims that share a core or a cache ([`NEAR`] of
//! 16 draws), others of the same memory node ([`NODE`]), and the rest of the machine ([`FAR`]). In
//! the last band a step nearer counts twice. A band without victims leaves its draws to the others.
//! So the share of far draws is bounded from both sides, however many processors are far: work on
//! another node is found, but seldom looked for. In a band of few victims, each is drawn at most
//! [`MOST`] times as often as an average victim of the next band. Otherwise a single neighbour
//! would be asked every other time.
//!
//! Rejected:
//! * A fixed weight per victim: on 192 processors in eight nodes, four to one for the near ones
//!   still made two draws in three far.
//! * Going through the near ones first each time: a thief whose node is idle would ask all of it,
//!   in vain, before it looks where the work is.

use crate::sys::random::XorShift;
use crate::topology::distance::{self, CpuSite, FARTHEST, SAME_CACHE, SAME_NODE};

/// Draws of 16 that go to victims with a common core or cache.
pub const NEAR: u32 = 8;
/// Draws of 16 that go to others of the same memory node.
pub const NODE: u32 = 5;
/// Draws of 16 that go farther.
pub const FAR: u32 = 3;
/// A victim is drawn at most so much more often than those of the next band that has any.
pub const MOST: u32 = 16;

/// A source of random victims for one worker.
#[derive(Debug)]
pub struct Draw {
    random: XorShift,
    /// Draws made, to look now and then whether the distances are still right.
    age: u32,
    /// What the distances were computed from.
    seen: (u32, usize),
    /// `reach[i]` is the weight of workers `0..=i` together; empty when all weigh the same.
    reach: Vec<u32>,
    /// The weight of each worker past the end of `reach`.
    beyond: u32,
}

impl Draw {
    /// Draws all victims alike. Any seed will do; equal seeds give equal sequences.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        // Workers are seeded 0, 1, 2, ...
        Self { random: XorShift::seeded(seed), age: 0, seen: (0, 0), reach: Vec::new(), beyond: 1 }
    }

    /// See [`Selector::set_distances`](super::Selector::set_distances).
    pub fn set_distances(&mut self, me: usize, distances: &[u8]) {
        let others =
            || distances.iter().enumerate().filter(|&(at, _)| at != me).map(|(_, &distance)| distance);
        let weights = weights(others());
        self.beyond = weights[usize::from(FARTHEST)];
        self.reach.clear();
        self.reach.extend(distances.iter().enumerate().scan(0, |sum, (at, &distance)| {
            *sum += if at == me { 0 } else { weights[usize::from(distance.min(FARTHEST))] };
            Some(*sum)
        }));
    }

    /// Is it time to ask for the distances again? True the first time, and every [`EVERY`] calls
    /// from there on.
    #[inline]
    fn is_due(&mut self) -> bool {
        self.age = self.age.wrapping_add(1);
        self.age % EVERY == 1
    }

    /// Before the caller, number `me` of `count`, draws: notes at `site` now and then where it is,
    /// and computes the distances of the others if any of them has moved. `site_of` returns their
    /// sites.
    #[inline]
    pub fn keep_up(
        &mut self,
        site: &CpuSite,
        me: usize,
        count: usize,
        site_of: impl Fn(usize) -> Option<usize>,
    ) {
        if count > 2 && self.is_due() {
            self.look_around(site, me, count, site_of);
        }
    }

    #[cold]
    fn look_around(
        &mut self,
        site: &CpuSite,
        me: usize,
        count: usize,
        site_of: impl Fn(usize) -> Option<usize>,
    ) {
        let Some(distances) = distance::distances() else { return };
        let here = site.note();
        let now = (distance::moves(), count);
        if core::mem::replace(&mut self.seen, now) == now {
            return;
        }
        let between =
            |other| here.zip(site_of(other)).map_or(FARTHEST, |(here, there)| distances.between(here, there));
        let row: Vec<u8> = (0..count).map(between).collect();
        self.set_distances(me, &row);
    }

    /// One of the workers `0..count` other than `me`.
    ///
    /// # Panics
    /// If there is no other worker.
    #[inline]
    pub fn victim(&mut self, me: usize, count: usize) -> usize {
        assert!(count >= 2, "a thief needs another worker");
        let (mine, from) =
            if me < count { (self.up_to(me + 1) - self.up_to(me), self.up_to(me)) } else { (0, u32::MAX) };
        let mut drawn = self.random.below(self.up_to(count) - mine);
        if drawn >= from {
            drawn += mine;
        }
        self.worker_at(drawn)
    }

    /// The weight of workers `0..count` together.
    #[inline]
    fn up_to(&self, count: usize) -> u32 {
        if self.reach.is_empty() {
            return count as u32;
        }
        let known = count.min(self.reach.len());
        let weight = if known == 0 { 0 } else { self.reach[known - 1] };
        weight + (count - known) as u32 * self.beyond
    }

    /// The worker whose stretch of the total weight holds `point`.
    #[inline]
    fn worker_at(&self, point: u32) -> usize {
        if self.reach.is_empty() {
            return point as usize;
        }
        let known = self.reach.partition_point(|&reach| reach <= point);
        if known < self.reach.len() {
            return known;
        }
        known + ((point - self.up_to(known)) / self.beyond) as usize
    }
}

/// Calls between two looks at the distances.
const EVERY: u32 = 256;

/// What all victims weigh together, if no band is empty.
const TOTAL: u32 = 1 << 24;

/// A band of victims.
#[derive(Clone, Copy)]
struct Band {
    /// Draws of 16.
    share: u32,
    victims: u32,
    /// The same, each as often as it is drawn compared with the farthest.
    units: u32,
}

/// The weight of a victim at each distance, none of them zero.
fn weights(distances: impl Iterator<Item = u8>) -> [u32; FARTHEST as usize + 1] {
    let mut bands = [NEAR, NODE, FAR].map(|share| Band { share, victims: 0, units: 0 });
    for distance in distances {
        let band = &mut bands[band(distance)];
        band.victims += 1;
        band.units += steps(distance);
    }
    let mut unit = [1; 3];
    let mut limit = u32::MAX;
    for (at, band) in bands.into_iter().enumerate().rev().filter(|(_, band)| band.victims > 0) {
        unit[at] = (TOTAL / 16 * band.share / band.units).clamp(1, limit);
        limit = (unit[at] * band.units / band.victims).saturating_mul(MOST);
    }
    if bands[2].victims == 0 {
        unit[2] = unit[1].min(unit[0]); // those who are not known yet
    }
    core::array::from_fn(|distance| unit[band(distance as u8)] * steps(distance as u8))
}

/// How often a victim is drawn compared with the farthest of its band.
const fn steps(distance: u8) -> u32 {
    if distance > SAME_NODE && distance < FARTHEST { 1 << (FARTHEST - distance) } else { 1 }
}

const fn band(distance: u8) -> usize {
    if distance <= SAME_CACHE { 0 } else { (distance > SAME_NODE) as usize + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(draw: &mut Draw, me: usize, count: usize) -> Vec<usize> {
        let mut hits = vec![0; count];
        (0..10_000).for_each(|_| hits[draw.victim(me, count)] += 1);
        hits
    }

    fn about(hits: usize, expected: usize) -> bool {
        hits.abs_diff(expected) < 60 + expected / 10
    }

    #[test]
    fn without_distances_all_others_are_drawn_alike() {
        for me in [0, 3, 4] {
            let hits = histogram(&mut Draw::new(7), me, 5);
            assert_eq!(hits[me], 0);
            let even = hits.iter().enumerate().all(|(at, &hits)| at == me || about(hits, 2500));
            assert!(even, "{hits:?}");
        }
    }

    #[test]
    fn each_band_gets_its_share() {
        let mut draw = Draw::new(7);
        // Two of the same cache, one of the node, three far: 8, 5 and 3 of 16 draws; the one step
        // nearer counts twice.
        draw.set_distances(0, &[0, 1, 0, 2, 5, 6, 9]);
        let hits = histogram(&mut draw, 0, 7);
        let shares = [0, 2500, 2500, 3125, 938, 469, 469];
        assert!(hits.iter().zip(shares).all(|(&hits, share)| about(hits, share)), "{hits:?}");
        assert_eq!(hits[0], 0);
    }

    #[test]
    fn empty_bands_leave_their_draws_to_the_others() {
        let mut draw = Draw::new(7);
        draw.set_distances(1, &[1, 0, 3]);
        let hits = histogram(&mut draw, 1, 3);
        assert!(about(hits[0], 7273) && hits[1] == 0, "8 of 11: {hits:?}");
        draw.set_distances(1, &[2, 0, 2]);
        assert!(about(histogram(&mut draw, 1, 3)[0], 5000));
    }

    #[test]
    fn distances_may_name_fewer_or_more_workers_than_there_are() {
        let mut draw = Draw::new(7);
        draw.set_distances(0, &[0, 0, 6]);
        let hits = histogram(&mut draw, 0, 5);
        // The two that are not named weigh as much as the far one: 8 against 3, three times.
        let shares = [0, 4706, 1765, 1765, 1765];
        assert!(hits.iter().zip(shares).all(|(&hits, share)| about(hits, share)), "{hits:?}");
        draw.set_distances(0, &[2, 2, 0, 0, 0, 0]);
        assert_eq!(histogram(&mut draw, 0, 2), [0, 10_000]);
        draw.set_distances(0, &[]);
        assert!(
            histogram(&mut draw, 9, 4).iter().all(|&hits| about(hits, 2500)),
            "an outsider draws from all"
        );
    }

    /// The share of draws by `me` in each band, percent, with a worker on each processor of the
    /// machine.
    fn bands(text: &str, me: usize) -> [usize; 3] {
        let machine = crate::topology::Description::parse(text).unwrap();
        let distances = machine.distances().unwrap();
        let row: Vec<u8> =
            machine.cpus.iter().map(|cpu| distances.between(machine.cpus[me].os, cpu.os)).collect();
        let mut draw = Draw::new(me as u64);
        draw.set_distances(me, &row);
        let hits = histogram(&mut draw, me, row.len());
        assert_eq!(hits[me], 0);
        let mut sums = [0; 3];
        row.iter().zip(&hits).for_each(|(&distance, hits)| sums[band(distance)] += hits);
        sums.map(|sum| (sum + 50) / 100)
    }

    #[test]
    fn far_draws_are_bounded_on_every_machine() {
        let eight = "cpus 0-191\ncore 0,96 x96\ncache 0-5,96-101 x16+6\nnuma 0-11,96-107 x8+12";
        let table = [
            (eight, [55, 24, 21]),
            // Two nodes of 32, a cache each: no worker is in between.
            ("cpus 0-63\ncache 0-31 x2+32\nnuma 0-31 x2+32", [73, 0, 27]),
            // Caches are not known, and no two workers share a core.
            ("cpus 0-63\nnuma 0-31 x2+32", [0, 63, 38]),
            // One sibling among 62 others of the node: sixteen times as often as each of them, not
            // every other draw.
            ("cpus 0-63\ncore 0,32 x32\nnuma 0-63", [21, 79, 0]),
            // Four small caches on one node.
            ("cpus 0-15\ncache 0-3 x4+4", [62, 38, 0]),
        ];
        for (text, expected) in table {
            for me in [0, 1, 15] {
                let found = bands(text, me);
                assert!(found.iter().zip(expected).all(|(a, b)| a.abs_diff(b) <= 2), "{text}\n{found:?}");
            }
        }
    }

    #[test]
    fn seeds_differ_and_repeat() {
        let sequence = |seed| {
            let mut draw = Draw::new(seed);
            (0..32).map(|_| draw.victim(0, 64)).collect::<Vec<_>>()
        };
        assert_eq!(sequence(5), sequence(5));
        assert_ne!(sequence(5), sequence(6));
        assert_ne!(sequence(0), sequence(u64::MAX));
    }
}
