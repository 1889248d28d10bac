//! Which parallel regions were seen spinning, and which were seen blocking in the kernel.
//!
//! Two small hash sets of code addresses, append-only and lock-free: written by the signal handler and the watcher,
//! read from anywhere. When a set is full nothing more is remembered, which costs time and never correctness.
//!
//! A spinner's entry carries the place of its loop, so that one sample there is enough the next time, while a
//! sample elsewhere in the same region has to prove itself anew.
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const CAPACITY: usize = 512;
/// Places looked at before an address is given up.
const PROBES: usize = 16;

struct Set {
    keys: [AtomicUsize; CAPACITY],
    values: [AtomicUsize; CAPACITY],
}

static SPINNERS: Set = Set::new();
static BLOCKERS: Set = Set::new();

impl Set {
    const fn new() -> Self {
        Self {
            keys: [const { AtomicUsize::new(0) }; CAPACITY],
            values: [const { AtomicUsize::new(0) }; CAPACITY],
        }
    }

    fn places(key: usize) -> impl Iterator<Item = usize> {
        let start = key.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize) >> 40;
        (0..PROBES).map(move |step| (start + step) % CAPACITY)
    }

    fn find(&self, key: usize) -> Option<usize> {
        if key == 0 {
            return None;
        }
        for place in Self::places(key) {
            // ORDERING: Relaxed; a key stands for itself and never changes once set.
            match self.keys[place].load(Relaxed) {
                0 => return None,
                found if found == key => return Some(place),
                _ => {}
            }
        }
        None
    }

    fn insert(&self, key: usize, value: usize) {
        if key == 0 {
            return;
        }
        for place in Self::places(key) {
            // ORDERING: Relaxed; as in `find`. A reader that sees the key before the value takes one more sample.
            match self.keys[place].compare_exchange(0, key, Relaxed, Relaxed) {
                Err(found) if found != key => {}
                _ => {
                    // ORDERING: Relaxed; a hint.
                    self.values[place].store(value, Relaxed);
                    return;
                }
            }
        }
    }
}

/// Was the region whose outlined function is at `region` seen waiting in a loop of its own? Any thread,
/// async-signal-safe, a few nanoseconds.
pub fn is_known_spinner(region: usize) -> bool {
    SPINNERS.find(region).is_some()
}

/// Was the region whose outlined function is at `region` seen blocking in the kernel? Any thread, async-signal-safe.
pub fn is_known_blocker(region: usize) -> bool {
    BLOCKERS.find(region).is_some()
}

/// Where the loop of a known spinner was last seen; zero if nowhere.
pub(super) fn spin_site(region: usize) -> usize {
    // ORDERING: Relaxed; a hint.
    SPINNERS.find(region).map_or(0, |place| SPINNERS.values[place].load(Relaxed))
}

pub(super) fn remember_spinner(region: usize, site: usize) {
    SPINNERS.insert(region, site);
}

pub(super) fn remember_blocker(region: usize) {
    BLOCKERS.insert(region, 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_what_was_put_in_and_nothing_else() {
        static SET: Set = Set::new();
        for i in 1..=CAPACITY / 2 {
            SET.insert(i * 48, i);
        }
        let held = (1..=CAPACITY / 2).filter(|i| SET.find(i * 48).is_some()).count();
        assert!(held > CAPACITY / 2 - 8, "only {held} remembered");
        assert!((1..=CAPACITY).all(|i| SET.find(i * 48 + 7).is_none()));
        assert!(SET.find(0).is_none());
    }

    #[test]
    fn a_full_set_forgets_newcomers_only() {
        static SET: Set = Set::new();
        (1..=4 * CAPACITY).for_each(|i| SET.insert(i * 16, i));
        assert!(SET.find(16).is_some());
        let held = (1..=4 * CAPACITY).filter(|i| SET.find(i * 16).is_some()).count();
        assert!(held <= CAPACITY);
    }
}
