//! Pseudo-random numbers.
//!
//! They spread choices, and are not for security. The same seed gives the same numbers.

/// Marsaglia's xorshift: three shifts, no multiplication.
#[derive(Clone, Debug)]
pub struct XorShift(u64);

impl XorShift {
    /// Begins at `state`, which is not 0.
    #[must_use]
    pub const fn new(state: u64) -> Self {
        Self(state)
    }

    /// As [`new`](Self::new), but any seed will do: seeds 0, 1, 2, … have first numbers that are
    /// not alike.
    #[must_use]
    pub const fn seeded(seed: u64) -> Self {
        let mixed = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        // Odd, so never zero.
        Self((mixed ^ (mixed >> 32)) | 1)
    }

    /// The next number; never 0.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `bound`, which is not zero.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        // The high half is the better one; a product and a shift avoid the division of a remainder.
        (((self.draw() >> 32) * u64::from(bound)) >> 32) as u32
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spread_and_below_their_bound() {
        let mut counts = [0; 7];
        let mut random = XorShift::seeded(0);
        (0..7000).for_each(|_| counts[random.below(7) as usize] += 1);
        assert!(counts.iter().all(|&count| (850..1150).contains(&count)), "{counts:?}");
    }

    #[test]
    fn neighbouring_seeds_begin_apart() {
        let first: std::collections::HashSet<u32> =
            (0..16).map(|seed| XorShift::seeded(seed).below(1 << 16)).collect();
        assert_eq!(first.len(), 16);
    }
}
