//! Hashes: numbers for texts and for data.
//!
//! What may not live here: hash tables (the standard library's).

use core::hash::{Hash, Hasher};

const PRIME: u64 = 0x0000_0100_0000_01b3;
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// A number for a name (FNV-1a), also for constants.
#[must_use]
pub const fn of_name(name: &str) -> u64 {
    let bytes = name.as_bytes();
    let mut hash = BASIS;
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(PRIME);
        at += 1;
    }
    hash
}

/// A number for bytes that differs when they do, as far as 64 bits can tell (FNV-1a, by words).
/// Never 0. It is no cryptographic hash.
pub fn of_bytes(seed: u64, bytes: &[u8]) -> u64 {
    let mut hash = BASIS ^ seed.rotate_left(17);
    let mut mix = |word: u64| {
        hash = (hash ^ word).wrapping_mul(PRIME);
        hash ^= hash >> 29;
    };
    let (words, rest) = bytes.as_chunks::<8>();
    words.iter().for_each(|word| mix(u64::from_ne_bytes(*word)));
    rest.iter().for_each(|&byte| mix(u64::from(byte) | 0x100));
    mix(bytes.len() as u64);
    hash.max(1)
}

/// A number for a value, by its `Hash` implementation. The same in each process of this library.
pub fn of_value(value: &impl Hash) -> u64 {
    let mut hasher = ByteHasher(0);
    value.hash(&mut hasher);
    hasher.finish()
}

struct ByteHasher(u64);

impl Hasher for ByteHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = of_bytes(self.0, bytes);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_numbers_of_fnv() {
        assert_eq!(of_name(""), BASIS);
        assert_eq!(of_name("a"), 0xaf63_dc4c_8601_ec8c);
    }

    #[test]
    fn hashes_see_every_byte_and_the_length() {
        let text: Vec<u8> = (0..67).collect();
        let whole = of_bytes(0, &text);
        for at in 0..text.len() {
            let mut other = text.clone();
            other[at] ^= 1;
            assert_ne!(of_bytes(0, &other), whole, "{at}");
        }
        assert_ne!(of_bytes(0, &[0; 8]), of_bytes(0, &[0; 16]));
        assert_ne!(of_bytes(1, &text), whole);
    }

    #[test]
    fn values_differ_by_each_member() {
        let numbers = [(0_u8, 0_u64), (1, 0), (0, 1), (1, 1)].map(|value| of_value(&value));
        let apart: std::collections::HashSet<u64> = numbers.into_iter().collect();
        assert_eq!(apart.len(), numbers.len());
        assert_eq!(of_value(&(1_u8, 1_u64)), numbers[3]);
    }
}
