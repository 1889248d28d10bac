//! The outboxes of a rank: messages wait there until the engine sends them.

use super::counts::count;
use super::lists::{FlaggedList, lock};
use crate::packet::{Packet, PacketFrame};
use crate::pair::{Full, Outbox, PairLimits};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// A lock on its own cache lines.
#[repr(align(128))]
#[derive(Default)]
struct Padded<T>(T);

/// What waits for one rank.
#[derive(Default)]
struct WaitingMessages {
    outbox: Mutex<Outbox>,
    /// Whether a message waits. Stored under the lock.
    has_messages: AtomicBool,
}

/// What waits for each rank. Senders put messages in, and the engine takes packets out.
pub(super) struct Outboxes {
    of_rank: Box<[Padded<WaitingMessages>]>,
    /// Ranks for which something waits that the engine has not taken up yet.
    listed: FlaggedList<u32>,
}

impl Outboxes {
    /// For so many ranks.
    pub(super) fn new(ranks: u32) -> Self {
        Self { of_rank: (0..ranks).map(|_| Padded::default()).collect(), listed: FlaggedList::default() }
    }

    /// Puts a frame into the outbox of `to`. `counter` counts it before another thread can see it.
    /// Returns true if a full packet is waiting there.
    pub(super) fn push(
        &self,
        to: u32,
        frame: &PacketFrame<'_>,
        limits: &PairLimits,
        must: bool,
        counter: Option<&AtomicU64>,
        fresh: impl FnOnce() -> Packet,
    ) -> Result<bool, Full> {
        let WaitingMessages { outbox, has_messages } = &self.of_rank[to as usize].0;
        let mut outbox = lock(outbox);
        let full = outbox.push(frame, limits, must, fresh)?;
        if let Some(counter) = counter {
            count(counter, 1);
        }
        // ORDERING: Relaxed; `has_nothing_for` says why.
        has_messages.store(true, Relaxed);
        let newly = !core::mem::replace(&mut outbox.listed, true);
        drop(outbox);
        if newly {
            self.listed.put(to);
        }
        Ok(full)
    }

    /// Does no message wait for `to`? The answer includes the messages that the calling thread has
    /// put there. It includes those of another thread if their `push` happened before this call.
    pub(super) fn has_nothing_for(&self, to: u32) -> bool {
        // ORDERING: Relaxed; if a `push` happened before this load, the load reads the value that
        // this `push` stored, or a newer one. Nothing is read through it.
        !self.of_rank[to as usize].0.has_messages.load(Relaxed)
    }

    /// Takes the next packet for `to` out, and says whether more wait; with none left the outbox is
    /// unlisted.
    pub(super) fn pop(&self, to: u32) -> (Option<Packet>, bool) {
        let WaitingMessages { outbox, has_messages } = &self.of_rank[to as usize].0;
        let mut outbox = lock(outbox);
        let packet = outbox.pop();
        outbox.listed = !outbox.is_empty();
        // ORDERING: Relaxed, as in `push`.
        has_messages.store(outbox.listed, Relaxed);
        (packet, outbox.listed)
    }

    /// Bytes that wait here for `rank`.
    pub(super) fn waiting(&self, rank: u32) -> usize {
        self.of_rank.get(rank as usize).map_or(0, |o| lock(&o.0.outbox).bytes())
    }

    /// Takes the list of ranks for which something waits.
    pub(super) fn take_listed(&self, into: &mut VecDeque<u32>) {
        self.listed.move_to(into);
    }
}
