//! Counters of what has happened.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What has happened so far. No other data are published through these sums. Waves read them too;
/// `Engine::collectives` says why Relaxed is enough there.
#[derive(Default)]
pub(crate) struct BridgeCounts {
    /// Messages that were left in an outbox.
    pub(crate) left: AtomicU64,
    /// Messages that were sent past it, inside the gate.
    pub(crate) at_once: AtomicU64,
    pub(crate) handled: AtomicU64,
    pub(crate) transfers_begun: AtomicU64,
    pub(crate) transfers_ended: AtomicU64,
    pub(crate) packets_sent: AtomicU64,
    pub(crate) packets_received: AtomicU64,
    pub(crate) credit_packets: AtomicU64,
    pub(crate) block_bytes: AtomicU64,
    pub(crate) busy: AtomicU64,
    pub(crate) polls: AtomicU64,
}

impl BridgeCounts {
    /// Messages sent.
    pub(crate) fn sent(&self) -> u64 {
        // ORDERING: Relaxed, both; as the sums they are.
        self.left.load(Relaxed) + self.at_once.load(Relaxed)
    }
}

/// Adds to a counter.
pub(crate) fn count(counter: &AtomicU64, by: u64) {
    // ORDERING: a sum that others only read as a sum.
    counter.fetch_add(by, Relaxed);
}

/// Adds to a counter that only the thread inside the gate writes: cheaper than [`count`].
pub(crate) fn count_inside(counter: &AtomicU64, by: u64) {
    // ORDERING: Relaxed; one writer at a time, ordered by the gate, and readers want a sum.
    counter.store(counter.load(Relaxed) + by, Relaxed);
}
