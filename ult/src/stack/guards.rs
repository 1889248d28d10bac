//! Which addresses are guard areas of our stacks: written by `stack`, read by the fault handler.
//!
//! A flat table of words, one per mapped stack: the lowest address of its guard area, or zero. All
//! guard areas have the same length, so one word says everything and nothing can be read
//! half-written. No lock anywhere: a signal handler reads the table at any moment, and a child of
//! `fork` finds it usable whatever the other threads were doing.
//!
//! The table is zero-initialised memory of the library that the kernel does not materialise before
//! a stack is mapped.
//!
//! Tried and rejected:
//! * Bounds of the current stack in the kernel thread's block: an overflow during a switch, or of a
//!   stack that a signal handler of the program runs on, would be missed.
//! * A list through the stacks' own memory: the handler could follow it into a mapping that is just
//!   being removed.
use super::GUARD;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Stacks that can be mapped at one time.
pub(super) const CAPACITY: usize = 1 << 18;

#[unsafe(link_section = ".sbss.large")]
static LOWEST: [AtomicUsize; CAPACITY] = [const { AtomicUsize::new(0) }; CAPACITY];
/// Entries at and above this index have never been used; the reader stops here.
static USED: AtomicUsize = AtomicUsize::new(0);
/// Where the last free entry was seen: a hint, any value is right.
static HINT: AtomicUsize = AtomicUsize::new(0);

/// Records the guard area that starts at `lowest`. `None` if [`CAPACITY`] stacks are mapped.
pub(super) fn add(lowest: usize) -> Option<usize> {
    // ORDERING: a hint; publishes nothing.
    let start = HINT.load(Relaxed);
    for step in 0..CAPACITY {
        let slot = (start + step) % CAPACITY;
        // ORDERING: the entry publishes only itself. A stack's own thread reads it in a later
        // signal handler (program order); for another thread's stack the hand-over of the stack has
        // already ordered it.
        if LOWEST[slot].compare_exchange(0, lowest, Relaxed, Relaxed).is_ok() {
            // ORDERING: as for the entry itself.
            USED.fetch_max(slot + 1, Relaxed);
            // ORDERING: a hint; publishes nothing.
            HINT.store((slot + 1) % CAPACITY, Relaxed);
            return Some(slot);
        }
    }
    None
}

/// An upper bound on the number of entries that were ever in use at one time. It never falls. Any
/// thread.
pub(super) fn used() -> usize {
    // ORDERING: a number by itself.
    USED.load(Relaxed)
}

/// Forgets the entry that [`add`] returned; called before the memory is unmapped.
pub(super) fn remove(slot: usize) {
    // ORDERING: the address space itself orders this with the next owner of the addresses (munmap,
    // mmap).
    LOWEST[slot].store(0, Relaxed);
    // ORDERING: a hint; publishes nothing. Low entries are preferred, so that the reader's walk
    // stays short.
    if slot < HINT.load(Relaxed) {
        // ORDERING: a hint; publishes nothing.
        HINT.store(slot, Relaxed);
    }
}

/// Whether `address` lies in the guard area of one of our stacks. Async-signal-safe; walks the
/// entries ever used.
pub(crate) fn contains(address: usize) -> bool {
    // ORDERING: see `add`.
    let used = USED.load(Relaxed);
    LOWEST[..used].iter().any(|entry| {
        // ORDERING: see `add`.
        let lowest = entry.load(Relaxed);
        lowest != 0 && address.wrapping_sub(lowest) < GUARD
    })
}
