//! Lets at most one thread at a time drive the engine: no thread waits for it, and no request is
//! lost.
//!
//! A thread that brings something for the engine calls [`Gate::request`]. If no thread is inside,
//! the caller enters and does the work. Otherwise it leaves a note, and the thread inside does the
//! work before it leaves. So messages that several threads send at once are sent by one of them,
//! several to a packet, and a sender never blocks. `tests/loom_gate.rs` explores the protocol.
//!
//! Rejected: a mutex with `try_lock` and a flag beside it (the same protocol in two words, with a
//! fence on each side).

use crate::sync::{AtomicU32, Ordering};

const OPEN: u32 = 0;
const INSIDE: u32 = 1;
const AGAIN: u32 = 2;

/// One word: no thread is inside, one is inside, or the one inside has to go round once more.
#[derive(Debug)]
pub struct Gate(AtomicU32);

impl Default for Gate {
    fn default() -> Self {
        Self(AtomicU32::new(OPEN))
    }
}

impl Gate {
    /// Enters if no thread is inside. For threads that bring nothing.
    #[must_use]
    pub fn try_enter(&self) -> bool {
        // ORDERING: Relaxed; only a hint that spares idle workers the write to a shared line.
        // A caller whose request must not be lost goes on by the exchanges in `request`.
        if self.0.load(Ordering::Relaxed) != OPEN {
            return false;
        }
        // ORDERING: Acquire pairs with the Release in `leave`: the work of the last thread inside
        // is visible.
        self.0.compare_exchange(OPEN, INSIDE, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Enters, or makes the thread inside go round once more; that round sees all writes before the
    /// call. Says whether the caller is inside now.
    #[must_use]
    pub fn request(&self) -> bool {
        loop {
            if self.try_enter() {
                return true;
            }
            // ORDERING: Release publishes what the caller brings to the `leave` that finds AGAIN.
            // On failure the state is looked at again by `try_enter`, so nothing needs to be read
            // here.
            if self.0.compare_exchange(INSIDE, AGAIN, Ordering::Release, Ordering::Relaxed).is_ok() {
                return false;
            }
            // ORDERING: a read-modify-write that keeps the value, so that the Release is in the
            // release sequence which `leave` reads; a plain load of AGAIN would publish nothing.
            if self.0.compare_exchange(AGAIN, AGAIN, Ordering::Release, Ordering::Relaxed).is_ok() {
                return false;
            }
        }
    }

    /// Leaves, or says `false`: something was brought meanwhile, the caller is still inside and
    /// goes round once more.
    #[must_use]
    pub fn leave(&self) -> bool {
        // ORDERING: Release pairs with the Acquire in `try_enter`.
        if self.0.compare_exchange(INSIDE, OPEN, Ordering::Release, Ordering::Relaxed).is_ok() {
            return true;
        }
        // Only AGAIN is left, and only the one inside leaves it.
        // ORDERING: Acquire pairs with the Release in `request`; a swap reads the newest note.
        self.0.swap(INSIDE, Ordering::Acquire);
        false
    }

    /// Leaves without looking whether something was brought. For the model, which must notice.
    #[cfg(loom)]
    pub fn leave_blindly(&self) {
        self.0.store(OPEN, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_note_sends_the_one_inside_round_again() {
        let gate = Gate::default();
        assert!(gate.request());
        assert!(!gate.try_enter());
        assert!(gate.leave());
        assert!(gate.try_enter());
        assert!(!gate.request() && !gate.request());
        assert!(!gate.leave(), "something was brought");
        assert!(gate.leave(), "two notes are one more round");
    }
}
