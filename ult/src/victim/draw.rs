//! A random victim: all alike, or the nearer ones more often.
//!
//! The generator is Marsaglia's xorshift (three shifts, no multiplication): victims need to be spread, not to be secret.

/// A source of random victims for one worker.
#[derive(Debug)]
pub struct Draw {
    state: u64,
    /// `reach[i]` is the weight of workers `0..=i` together; empty when all weigh the same.
    reach: Vec<u32>,
}

impl Draw {
    /// Draws all victims alike. Any seed will do; equal seeds give equal sequences.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        // Workers are seeded 0, 1, 2, ...: mix the bits, or their first draws would be alike. Odd, so never zero.
        let mixed = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        Self {
            state: (mixed ^ (mixed >> 32)) | 1,
            reach: Vec::new(),
        }
    }

    /// How much more often a worker at this distance is drawn than a far one: 4 for a shared cache (0), 2 for the same
    /// memory node (1), 1 for all others.
    #[must_use]
    pub const fn weight(distance: u8) -> u32 {
        match distance {
            0 => 4,
            1 => 2,
            _ => 1,
        }
    }

    /// See [`Selector::set_distances`](super::Selector::set_distances).
    pub fn set_distances(&mut self, distances: &[u8]) {
        self.reach.clear();
        self.reach
            .extend(distances.iter().scan(0, |sum, &distance| {
                *sum += Self::weight(distance);
                Some(*sum)
            }));
    }

    /// One of the workers `0..count` other than `me`.
    ///
    /// # Panics
    /// If there is no other worker.
    #[inline]
    pub fn victim(&mut self, me: usize, count: usize) -> usize {
        assert!(count >= 2, "a thief needs another worker");
        let (mine, from) = if me < count {
            (self.up_to(me + 1) - self.up_to(me), self.up_to(me))
        } else {
            (0, u32::MAX)
        };
        let mut drawn = self.below(self.up_to(count) - mine);
        if drawn >= from {
            drawn += mine;
        }
        self.worker_at(drawn)
    }

    /// The weight of workers `0..count` together.
    #[inline]
    fn up_to(&self, count: usize) -> u32 {
        let known = count.min(self.reach.len());
        let weight = if known == 0 { 0 } else { self.reach[known - 1] };
        weight + (count - known) as u32
    }

    /// The worker whose stretch of the total weight holds `point`.
    #[inline]
    fn worker_at(&self, point: u32) -> usize {
        let known = self.reach.partition_point(|&reach| reach <= point);
        if known < self.reach.len() {
            return known;
        }
        known + (point - self.up_to(known)) as usize
    }

    /// A number below `bound`, which is not zero.
    #[inline]
    fn below(&mut self, bound: u32) -> u32 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        // The high half is the better one; scaling by a product is a division less than a remainder.
        (((self.state >> 32) * u64::from(bound)) >> 32) as u32
    }
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
            let even = hits
                .iter()
                .enumerate()
                .all(|(at, &hits)| at == me || about(hits, 2500));
            assert!(even, "{hits:?}");
        }
    }

    #[test]
    fn nearer_ones_are_drawn_more_often() {
        let mut draw = Draw::new(7);
        draw.set_distances(&[0, 0, 1, 2, 9]);
        // The others weigh 4 + 2 + 1 + 1, of which each gets its share.
        let hits = histogram(&mut draw, 0, 5);
        let shares = [0, 5000, 2500, 1250, 1250];
        assert!(
            hits.iter()
                .zip(shares)
                .all(|(&hits, share)| about(hits, share)),
            "{hits:?}"
        );
        assert_eq!(hits[0], 0);
    }

    #[test]
    fn distances_may_name_fewer_or_more_workers_than_there_are() {
        let mut draw = Draw::new(7);
        draw.set_distances(&[0, 0]);
        let hits = histogram(&mut draw, 0, 4);
        let shares = [0, 6667, 1667, 1667];
        assert!(
            hits.iter()
                .zip(shares)
                .all(|(&hits, share)| about(hits, share)),
            "{hits:?}"
        );
        draw.set_distances(&[2, 2, 0, 0, 0, 0]);
        assert_eq!(histogram(&mut draw, 0, 2), [0, 10_000]);
        draw.set_distances(&[]);
        assert!(
            histogram(&mut draw, 9, 4)
                .iter()
                .all(|&hits| about(hits, 2500)),
            "an outsider draws from all"
        );
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
