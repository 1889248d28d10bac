//! Which parallel regions were seen spinning, and which were seen blocking in the kernel.
//!
//! The module holds small lock-free hash sets of code addresses. The signal handler and the watcher
//! write them, and any thread reads them. When a set is full, no further address is remembered;
//! that costs time, but never correctness. A loop that was taken for a spin by mistake is
//! forgotten, because code that computes would otherwise be interrupted as long as the program
//! runs.
//!
//! One more set holds the positions of loops, in lines of 64 bytes. One region may have many loops,
//! such as a barrier that was inlined at each call. In a region that was seen spinning, one sample
//! at such a position is enough. A sample elsewhere must first be compared with another one.
//!
//! What may not live here: the decision that code spins or blocks.
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Number of entries of a set. Chosen: more regions than most programs have; any value from 256 to
/// 4096 will do.
const TABLE_SLOTS: usize = 512;
/// Number of entries that are examined before an address is given up. Chosen: enough for a set that
/// is half full; any value from 8 to 32 will do.
const SLOTS_PER_LOOKUP: usize = 16;
/// Value of an entry whose key was removed. Derived: no code has this address.
const GONE: usize = usize::MAX;
/// How often a region must be seen blocking in the kernel before its team's assigned workers are
/// isolated. Chosen: locks that are waited for once, at the program's start, do not count; any value
/// from 4 to 16 will do.
const FREQUENT_BLOCKS: usize = 8;

struct Set {
    keys: [AtomicUsize; TABLE_SLOTS],
}

/// Regions that were seen waiting in a loop of their own.
#[unsafe(link_section = ".sbss.large")]
static SPINNERS: Set = Set::new();
/// Regions that were seen blocking in the kernel: entry *n* holds those seen more than *n* times.
#[unsafe(link_section = ".sbss.large")]
static BLOCKERS: [Set; FREQUENT_BLOCKS] = [const { Set::new() }; FREQUENT_BLOCKS];
/// Lines of code in which a loop was seen spinning.
#[unsafe(link_section = ".sbss.large")]
static LOOPS: Set = Set::new();
/// Return addresses in libraries without regions, where threads were seen waiting for each other
/// around a `sched_yield`.
#[unsafe(link_section = ".sbss.large")]
static WAITS: Set = Set::new();
/// Regions that wait now and then: around a `sched_yield`, or so seldom that no spin is expected of
/// them.
#[unsafe(link_section = ".sbss.large")]
static WAITERS: Set = Set::new();
/// Regions that were seen computing.
#[unsafe(link_section = ".sbss.large")]
static COMPUTERS: Set = Set::new();
/// Spinning regions that an alarm has also found asleep.
#[unsafe(link_section = ".sbss.large")]
static SLEEPERS: Set = Set::new();

/// Regions that were given up as spinners, because they spun too seldom: entry *n* holds those that
/// were given up more than *n* times.
#[unsafe(link_section = ".sbss.large")]
static GIVEN_UP: [Set; 2] = [const { Set::new() }; 2];

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
            // ORDERING: Relaxed; a key refers to no other data.
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
            // ORDERING: Relaxed; as in `has`. Two threads that insert the same key at once may use
            // two entries.
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
            // ORDERING: Relaxed; as in `has`. The exchange fails where the entry holds another key.
            let _ = self.keys[place].compare_exchange(key, GONE, Relaxed, Relaxed);
        }
    }
}

/// Was the region whose outlined function is at `region` seen waiting in a loop of its own? Any
/// thread may call it; it is async-signal-safe and takes a few nanoseconds.
pub fn is_known_spinner(region: usize) -> bool {
    SPINNERS.has(region)
}

/// Was the region whose outlined function is at `region` seen blocking in the kernel? Any thread
/// may call it; it is async-signal-safe.
pub fn is_known_blocker(region: usize) -> bool {
    BLOCKERS[0].has(region)
}

/// Was the region seen blocking in the kernel [`FREQUENT_BLOCKS`] times? Any thread may call it; it
/// is async-signal-safe.
pub fn is_frequent_blocker(region: usize) -> bool {
    BLOCKERS[FREQUENT_BLOCKS - 1].has(region)
}

/// Was the region seen spinning or blocking, that is, waiting where the scheduler is not asked? Any
/// thread may call it; it is async-signal-safe.
pub fn is_known_to_wait(region: usize) -> bool {
    is_known_spinner(region) || is_known_blocker(region)
}

/// Bytes of a line of code. Chosen: the size of many loops, and of a cache line on many processors;
/// any value from 32 to 128 will do.
const LINE: usize = 64;

/// Was `region` seen spinning, and was a loop of this or another region seen spinning at `site` or
/// in the next lines?
pub(super) fn is_known_loop(region: usize, site: usize) -> bool {
    let line = site / LINE;
    is_known_spinner(region) && (LOOPS.has(line) || LOOPS.has(line + 1) || LOOPS.has(line.wrapping_sub(1)))
}

/// Remembers that the region spins, in a loop at `site`.
pub(super) fn remember_spinner(region: usize, site: usize) {
    SPINNERS.insert(region);
    LOOPS.insert(site / LINE);
}

/// Forgets the loop at `site`, if it is one, because it does not wait.
pub(super) fn forget_spin(region: usize, site: usize) {
    let line = (site / LINE).max(1);
    (line - 1..=line + 1).for_each(|line| LOOPS.remove(line));
    forget_spinner(region);
}

/// Forgets that the region spins: no spin is expected of it any more.
pub(super) fn forget_spinner(region: usize) {
    SPINNERS.remove(region);
}

/// Forgets that the region spins, because most expected spins did not come.
pub(super) fn give_up(region: usize) {
    forget_spinner(region);
    insert_once_more(&GIVEN_UP, region);
}

/// How often [`give_up`] was called for the region, as far as it is counted: at most 2.
pub(super) fn times_given_up(region: usize) -> usize {
    GIVEN_UP.iter().take_while(|set| set.has(region)).count()
}

/// Adds `key` to the first set that does not have it.
fn insert_once_more(sets: &[Set], key: usize) {
    if let Some(set) = sets.iter().find(|set| !set.has(key)) {
        set.insert(key);
    }
}

/// Are the two addresses so close that they belong to one loop, as far as [`is_known_loop`] can
/// tell?
pub(super) fn is_one_loop(site: usize, other: usize) -> bool {
    site.abs_diff(other) < LINE
}

/// The region was seen blocking in the kernel once more.
pub(super) fn remember_blocker(region: usize) {
    insert_once_more(&BLOCKERS, region);
}

/// Was the region seen computing, and never waiting?
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

/// Did [`remember_wait`] record a `sched_yield` that returns to `site`? Any thread may call it; it
/// takes a few nanoseconds.
pub fn is_known_wait(site: usize) -> bool {
    WAITS.has(site)
}

/// Remembers that threads wait at `site` for other threads of their worker. Any thread may call it.
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
    fn a_region_that_was_given_up_is_no_spinner_until_it_spins_again() {
        for times in 0..4 {
            remember_spinner(0x7890, 0x7898);
            assert_eq!((is_known_spinner(0x7890), times_given_up(0x7890)), (true, times.min(2)));
            give_up(0x7890);
            assert!(!is_known_spinner(0x7890));
        }
        assert_eq!(times_given_up(0x78a0), 0);
    }

    #[test]
    fn a_region_blocks_frequently_once_it_was_seen_often() {
        for seen in 1..=FREQUENT_BLOCKS + 1 {
            remember_blocker(0x5670);
            assert!(is_known_blocker(0x5670) && is_known_to_wait(0x5670));
            assert_eq!(is_frequent_blocker(0x5670), seen >= FREQUENT_BLOCKS, "seen {seen} times");
        }
        assert!(!is_known_blocker(0x5680) && !is_frequent_blocker(0x5680));
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
