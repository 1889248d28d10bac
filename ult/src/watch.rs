//! Whether the program has watchers: a sanitizer, a tool, the trace, the checks of misuse.
//!
//! What lives here: one word, with a bit for each kind of watcher. What may not: the events that
//! watchers are notified of, and the code that notifies them ([`crate::sanitize`], and the layer
//! above for the bits that are not ours).
//!
//! An operation that all of them want to be notified of asks once, [`any_watcher`]. It has a second
//! form, out of line, in which each is asked for by itself. The form that runs where no watcher
//! exists asks nothing. So an operation costs one load of a word that hardly ever changes, however
//! many kinds of watchers there are.
//!
//! Rejected:
//! * A word for each kind: three loads and branches per operation. A pair of lock calls took 34
//!   instructions, 19 without any.
//! * The addresses of one form or the other in a table: an indirect call where no watcher exists,
//!   and nothing is inlined.

use core::sync::atomic::{AtomicU32, Ordering};

/// A word that all threads read and that is hardly ever written, on a cache line of its own: beside
/// a lock it would be fetched anew for each operation.
#[repr(align(128))]
struct Apart(AtomicU32);

/// The bits of the watchers.
static WATCHERS: Apart = Apart(AtomicU32::new(UNDECIDED));

/// No thread has looked for sanitizers yet.
pub(crate) const UNDECIDED: u32 = 1;
/// ThreadSanitizer.
pub(crate) const RACES: u32 = 2;
/// AddressSanitizer.
pub(crate) const ADDRESSES: u32 = 4;
/// LeakSanitizer, alone or as a part of AddressSanitizer.
pub(crate) const LEAKS: u32 = 8;
/// A sanitizer without a bit of its own.
pub(crate) const OTHER: u32 = 16;
/// Sanitizers, or no thread has looked for them yet.
pub(crate) const SANITIZERS: u32 = UNDECIDED | RACES | ADDRESSES | LEAKS | OTHER;
/// The first of the bits that are free for the layer above.
pub const FREE: u32 = 1 << 8;

/// Who watches.
#[inline(always)]
pub fn watchers() -> u32 {
    // ORDERING: Relaxed; a watcher that begins a moment later has missed the events that were under
    // way. The data by which a watcher is notified have an ordering of their own.
    WATCHERS.0.load(Ordering::Relaxed)
}

/// Is there a watcher, as far as is known? One load.
#[inline(always)]
pub fn any_watcher() -> bool {
    watchers() != 0
}

/// The watchers with these bits watch from here on.
pub fn begin(bits: u32) {
    // ORDERING: Release, pairs with nothing that is read here; the bits follow the data by which
    // the watchers are notified.
    WATCHERS.0.fetch_or(bits, Ordering::Release);
}

/// The watchers with these bits watch no more; they may be notified of events under way.
pub fn end(bits: u32) {
    // ORDERING: Relaxed; it says nothing about what is under way.
    WATCHERS.0.fetch_and(!bits, Ordering::Relaxed);
}
