//! Which parallel regions were seen spinning, and which were seen blocking in the kernel.
//!
//! Small lock-free hash sets of code addresses: written by the signal handler and the watcher, read
//! from anywhere. When a set is full nothing more is remembered, which costs time and never
//! correctness. Spins are forgotten when they were taken for such by mistake: what computes
//! would be interrupted for as long as the program runs.
//!
//! A third set holds the places of the loops, in lines of 64 bytes: one region may have many, a
//! barrier that was inlined at each call. In a region that was seen spinning one sample there is
//! enough, while a sample elsewhere has to prove itself.
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const TABLE_SLOTS: usize = 512;
/// Places looked at before an address is given up.
const SLOTS_PER_LOOKUP: usize = 16;
/// In a place whose key was removed.
const GONE: usize = usize::MAX;

struct Set {
    keys: [AtomicUsize; TABLE_SLOTS],
}

static SPINNERS: Set = Set::new();
static BLOCKERS: Set = Set::new();
static LOOPS: Set = Set::new();
/// Places in libraries without regions, where threads were seen waiting for each other around a
/// `sched_yield`.
static WAITS: Set = Set::new();
/// Regions that wait now and then, around a `sched_yield` or so seldom that no spin is expected of
/// them.
static WAITERS: Set = Set::new();
/// Regions that were seen computing.
static COMPUTERS: Set = Set::new();
/// Spinners that an alarm has found asleep as well.
static SLEEPERS: Set = Set::new();

impl Set {
    const fn new() -> Self {
        Self { keys: [const { AtomicUsize::new(0) }; TABLE_SLOTS] }
    }

    fn places(key: usize) -> impl Iterator<Item = usize> {
        let start = key.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize) >> 40;
        (0..SLOTS_PER_LOOKUP).map(move |step| (start + step) % TABLE_SLOTS)
    }

    fn has(&self, key: usize) -> bool {
        if key == 0 {
            return false;
        }
        for place in Self::places(key) {
            // ORDERING: Relaxed; a key stands for itself.
            match self.keys[place].load(Relaxed) {
                0 => return false,
                found if found == key => return true,
                _ => {}
            }
        }
        false
    }

    fn insert(&self, key: usize) {
        if key == 0 || self.has(key) {
            return;
        }
        for place in Self::places(key) {
            // ORDERING: Relaxed; as in `has`. Two that insert the same key at once may use two
            // places.
            let put = |free| self.keys[place].compare_exchange(free, key, Relaxed, Relaxed);
            match put(0).or_else(|found| if found == GONE { put(GONE) } else { Err(found) }) {
                Err(found) if found != key => {}
                _ => return,
            }
        }
    }

    fn remove(&self, key: usize) {
        if key == 0 {
            return;
        }
        for place in Self::places(key) {
            // ORDERING: Relaxed; as in `has`. Fails where the place holds another key.
            let _ = self.keys[place].compare_exchange(key, GONE, Relaxed, Relaxed);
        }
    }
}

/// Was the region whose outlined function is at `region` seen waiting in a loop of its own? Any
/// thread, async-signal-safe, a few nanoseconds.
pub fn is_known_spinner(region: usize) -> bool {
    SPINNERS.has(region)
}

/// Was the region whose outlined function is at `region` seen blocking in the kernel? Any thread,
/// async-signal-safe.
pub fn is_known_blocker(region: usize) -> bool {
    BLOCKERS.has(region)
}

/// Was it seen waiting for others where the scheduler is not asked, in either way? Any thread,
/// async-signal-safe.
pub fn is_known_to_wait(region: usize) -> bool {
    is_known_spinner(region) || is_known_blocker(region)
}

/// Bytes of a line.
const LINE: usize = 64;

/// Was a loop of `region`, or of another region, seen spinning at `site` or next to it, and
/// `region` spinning at all?
pub(super) fn is_known_loop(region: usize, site: usize) -> bool {
    let line = site / LINE;
    is_known_spinner(region) && (LOOPS.has(line) || LOOPS.has(line + 1) || LOOPS.has(line.wrapping_sub(1)))
}

/// The region spins, in a loop at `site`.
pub(super) fn remember_spinner(region: usize, site: usize) {
    SPINNERS.insert(region);
    LOOPS.insert(site / LINE);
}

/// The loop at `site`, if it is one, does not wait.
pub(super) fn forget_spin(region: usize, site: usize) {
    let line = (site / LINE).max(1);
    (line - 1..=line + 1).for_each(|line| LOOPS.remove(line));
    forget_spinner(region);
}

/// No spin is expected of the region any more.
pub(super) fn forget_spinner(region: usize) {
    SPINNERS.remove(region);
}

/// Are the two places so near that they belong to one loop, as far as [`is_known_loop`] can tell?
pub(super) fn is_one_loop(site: usize, other: usize) -> bool {
    site.abs_diff(other) < LINE
}

pub(super) fn remember_blocker(region: usize) {
    BLOCKERS.insert(region);
}

/// Was the region seen computing, and not waiting in any way?
pub(super) fn is_known_computer(region: usize) -> bool {
    COMPUTERS.has(region) && !is_known_to_wait(region) && !WAITERS.has(region)
}

pub(super) fn remember_waiter(region: usize) {
    WAITERS.insert(region);
}

pub(super) fn remember_computer(region: usize) {
    COMPUTERS.insert(region);
}

pub(super) fn is_known_sleeper(region: usize) -> bool {
    SLEEPERS.has(region)
}

pub(super) fn remember_sleeper(region: usize) {
    SLEEPERS.insert(region);
}

/// Was a `sched_yield` that returns to `site` seen waiting by [`remember_wait`]? Any thread, a few
/// nanoseconds.
pub fn is_known_wait(site: usize) -> bool {
    WAITS.has(site)
}

/// Threads wait at `site` for what other threads of their worker do. Any thread.
pub fn remember_wait(site: usize) {
    WAITS.insert(site);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_what_was_put_in_and_nothing_else() {
        static SET: Set = Set::new();
        for i in 1..=TABLE_SLOTS / 2 {
            SET.insert(i * 48);
        }
        let held = (1..=TABLE_SLOTS / 2).filter(|i| SET.has(i * 48)).count();
        assert!(held > TABLE_SLOTS / 2 - 8, "only {held} remembered");
        assert!((1..=TABLE_SLOTS).all(|i| !SET.has(i * 48 + 7)));
        assert!(!SET.has(0));
    }

    #[test]
    fn what_was_removed_makes_room() {
        static SET: Set = Set::new();
        (0..4 * TABLE_SLOTS).for_each(|i| {
            SET.insert(7777);
            SET.insert(i % 3 * 48);
            SET.remove(7777);
        });
        assert!(!SET.has(7777) && SET.has(48) && SET.has(96));
        remember_spinner(0x4560, 0x8880);
        assert!(is_known_loop(0x4560, 0x8880) && is_one_loop(0x8880, 0x8890));
        forget_spin(0x4560, 0x88a0);
        assert!(!is_known_spinner(0x4560) && !LOOPS.has(0x8880 / LINE));
    }

    #[test]
    fn who_was_seen_waiting_is_no_computer() {
        remember_computer(0x1230);
        assert!(is_known_computer(0x1230) && !is_known_computer(0x1231));
        remember_spinner(0x1230, 0x9990);
        assert!(!is_known_computer(0x1230));
        remember_computer(0x1240);
        remember_waiter(0x1240);
        assert!(!is_known_computer(0x1240) && !is_known_spinner(0x1240));
        assert!(!is_known_wait(0x77770));
        remember_wait(0x77770);
        assert!(is_known_wait(0x77770));
    }

    #[test]
    fn a_full_set_forgets_newcomers_only() {
        static SET: Set = Set::new();
        (1..=4 * TABLE_SLOTS).for_each(|i| SET.insert(i * 16));
        assert!(SET.has(16));
        let held = (1..=4 * TABLE_SLOTS).filter(|i| SET.has(i * 16)).count();
        assert!(held <= TABLE_SLOTS);
    }
}
