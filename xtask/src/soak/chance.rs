//! Numbers by chance that are the same for the same seed, on every machine.

/// A generator (splitmix64).
pub struct Chance(u64);

impl Chance {
    /// The stream of program `program` of the run with `seed`; `purpose` tells streams of one
    /// program apart.
    pub fn new(seed: u64, program: u64, purpose: u64) -> Chance {
        let mut chance = Chance(seed);
        for word in [program, purpose] {
            chance.0 = chance.next() ^ word.wrapping_mul(0xD134_2543_DE82_EF95);
        }
        chance
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// `low` to `high`, both included.
    pub fn from(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.next().is_multiple_of(times)
    }

    /// One of `choices`.
    pub fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.from(0, choices.len() as u64 - 1) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::Chance;

    #[test]
    fn streams_differ_and_repeat() {
        let first = |seed, program, purpose| Chance::new(seed, program, purpose).from(0, u64::MAX - 1);
        assert_eq!(first(1, 2, 3), first(1, 2, 3));
        assert_ne!(first(1, 2, 3), first(1, 2, 4));
        assert_ne!(first(1, 2, 3), first(1, 3, 3));
        assert_ne!(first(1, 2, 3), first(2, 2, 3));
    }
}
