//! Operations that are under way: requests whose answer has not come, copies that have not ended.
//!
//! Each has a ticket: a number from 1 on that is never used again in the process. An operation is
//! written down when it is over, or when a thread sleeps until it is over. The thread that begins
//! an operation asks for its result until the result is given, once. A result that was not asked
//! for stays. A waiting thread asks at each look, mostly in vain. So a part without a result to
//! take is known without its lock.

use core::hash::{BuildHasherDefault, Hasher};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use omp_offload::interface::{DeviceFailure, Wake};

/// What an operation came to: a word of the answer, or why it failed.
pub type PendingOutcome = Result<u64, DeviceFailure>;

enum PendingState {
    /// Under way, and a waiting thread is to be woken at the end.
    Awaited(Wake),
    Over(PendingOutcome),
}

// SAFETY: who passes a `Wake` agrees that any thread may call it (`interface::Wake`).
unsafe impl Send for PendingState {}

/// How many locks: tickets in a row meet different ones.
const PARTS: usize = 16;

/// A ticket as its own hash: those of one part differ in the bits above the part's. A waiting
/// thread looks for its answer again and again. With the standard library's hash that was a fifth
/// of the time of an empty region's round trip.
#[derive(Default)]
struct Ticket(u64);

impl Hasher for Ticket {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(self.0 << 8 ^ u64::from(byte)));
    }

    fn write_u64(&mut self, ticket: u64) {
        // The table takes places from the low bits and tags from the high ones.
        self.0 = (ticket / PARTS as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[derive(Default)]
struct States {
    /// Of the operations that are over and not asked for, or awaited.
    by_ticket: HashMap<u64, PendingState, BuildHasherDefault<Ticket>>,
    to_take: u32,
    ended: u64,
}

/// Operations whose tickets have the same remainder.
#[derive(Default)]
struct PendingStripe {
    states: Mutex<States>,
    /// Outcomes that have not been taken, as far as those who ask have to know. Stored under the
    /// lock.
    to_take: AtomicU32,
    /// Operations that are over. Stored under the lock.
    ended: AtomicU64,
}

/// The operations of a process.
#[derive(Default)]
pub struct PendingOperations {
    last: AtomicU64,
    parts: [PendingStripe; PARTS],
}

impl PendingOperations {
    fn part(&self, ticket: u64) -> (&PendingStripe, MutexGuard<'_, States>) {
        let part = &self.parts[ticket as usize % PARTS];
        (part, part.states.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A ticket for an operation that begins.
    pub fn begin(&self) -> u64 {
        // ORDERING: Relaxed; numbers that differ. `count` compares it with the ends, which come
        // later.
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The operation is over; who waits for it is woken.
    pub fn end(&self, ticket: u64, outcome: PendingOutcome) {
        let before = {
            let (part, mut states) = self.part(ticket);
            if let Some(PendingState::Over(_)) = states.by_ticket.get(&ticket) {
                return;
            }
            states.to_take += 1;
            states.ended += 1;
            // ORDERING: Release, pairs with the Acquire in `take`. Under the lock: who finds the
            // state, and is woken or wakes for it, finds the number.
            part.to_take.store(states.to_take, Ordering::Release);
            // ORDERING: Release, pairs with the Acquire in `count`: what belongs to the end has
            // been done.
            part.ended.store(states.ended, Ordering::Release);
            states.by_ticket.insert(ticket, PendingState::Over(outcome))
        };
        if let Some(PendingState::Awaited(wake)) = before {
            // SAFETY: `wake_on` was promised that it may be called.
            unsafe { (wake.call)(wake.data) };
        }
    }

    /// The outcome, if the operation is over; it is forgotten then. Ticket 0 is that of what was
    /// over at once.
    pub fn take(&self, ticket: u64) -> Option<PendingOutcome> {
        if ticket == 0 {
            return Some(Ok(0));
        }
        // ORDERING: Acquire, pairs with the Release in `end`: a thread that was notified of the end
        // finds it.
        if self.parts[ticket as usize % PARTS].to_take.load(Ordering::Acquire) == 0 {
            return None;
        }
        let (part, mut states) = self.part(ticket);
        if !matches!(states.by_ticket.get(&ticket), Some(PendingState::Over(_))) {
            return None;
        }
        states.to_take -= 1;
        // ORDERING: Relaxed; fewer are to be had than was known.
        part.to_take.store(states.to_take, Ordering::Relaxed);
        match states.by_ticket.remove(&ticket) {
            Some(PendingState::Over(outcome)) => Some(outcome),
            _ => None,
        }
    }

    /// Is the operation over, and is its outcome still to be taken?
    pub fn is_to_take(&self, ticket: u64) -> bool {
        let (_, states) = self.part(ticket);
        matches!(states.by_ticket.get(&ticket), Some(PendingState::Over(_)))
    }

    /// `wake` is called when the operation is over, now if it is already.
    pub fn wake_on(&self, ticket: u64, wake: Wake) {
        let (_, mut states) = self.part(ticket);
        if let Some(PendingState::Over(_)) = states.by_ticket.get(&ticket) {
            drop(states);
            // SAFETY: as the caller of `Device::wake_on` promises.
            unsafe { (wake.call)(wake.data) };
        } else {
            states.by_ticket.insert(ticket, PendingState::Awaited(wake));
        }
    }

    /// How many operations are not over.
    pub fn count(&self) -> u64 {
        // ORDERING: Acquire, pairs with the Release in `end`. The ends are read first: they are
        // never more than the beginnings, so where both are equal nothing was under way when the
        // beginnings were read.
        let ended: u64 = self.parts.iter().map(|part| part.ended.load(Ordering::Acquire)).sum();
        // ORDERING: Relaxed; not before the loads above, which acquire.
        self.last.load(Ordering::Relaxed) - ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn add(data: *mut ()) {
        // SAFETY: the tests pass a counter.
        unsafe { *data.cast::<u32>() += 1 };
    }

    #[test]
    fn an_outcome_is_given_once_and_wakes_once() {
        let (pending, mut woken) = (PendingOperations::default(), 0u32);
        let wake = Wake { call: add, data: (&raw mut woken).cast() };
        let (a, b) = (pending.begin(), pending.begin());
        assert!(a != b && pending.count() == 2);
        assert_eq!(pending.take(a), None);
        pending.wake_on(a, wake);
        pending.end(a, Ok(7));
        pending.end(a, Ok(8));
        assert_eq!((woken, pending.count()), (1, 1));
        assert_eq!((pending.take(a), pending.take(a)), (Some(Ok(7)), None));
        assert_eq!(pending.take(0), Some(Ok(0)));
        pending.end(b, Err(DeviceFailure("no".into())));
        pending.wake_on(b, wake);
        assert_eq!((woken, pending.count()), (2, 0));
        assert_eq!(pending.take(b), Some(Err(DeviceFailure("no".into()))));
    }
}
