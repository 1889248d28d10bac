//! Drives the waves of barriers and quiescence.

use super::{Broken, Engine};
use crate::bridge::Bridge;
use crate::packet::{PacketFrame, Verb};
use crate::table::{Done, IdleFn, code};
use crate::wave::{Sums, WaveOperation, WaveStep, Waves};
use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::atomic::Ordering::Relaxed;

/// A collective operation that was begun here.
pub struct CollectivePending {
    pub(super) operation: WaveOperation,
    pub(super) idle: Option<(IdleFn, *mut c_void)>,
    pub(super) done: Done,
}

// SAFETY: callbacks may come from any thread that makes progress (the header's rule).
unsafe impl Send for CollectivePending {}

impl CollectivePending {
    fn is_ready(&self) -> bool {
        match (self.operation, self.idle) {
            // SAFETY: the function was given with its argument.
            (WaveOperation::Quiet, Some((idle, context))) => unsafe { idle(context) != 0 },
            _ => true,
        }
    }
}

/// The collective operations that were begun here, and the waves that end them. Only the engine
/// writes it.
pub(super) struct CollectiveQueue {
    pub(super) waves: Waves,
    /// The operations, in the order in which they were begun.
    pending: VecDeque<CollectivePending>,
}

impl CollectiveQueue {
    /// None, at rank `rank` of `ranks`.
    pub(super) fn new(rank: u32, ranks: u32) -> Self {
        Self { waves: Waves::new(rank, ranks), pending: VecDeque::new() }
    }

    pub(super) fn begin(&mut self, pending: CollectivePending) {
        self.waves.begin(pending.operation);
        self.pending.push_back(pending);
    }

    /// Whether no wave waits for this rank.
    pub(super) fn is_at_rest(&self) -> bool {
        self.pending.is_empty() || self.waves.wants().is_none()
    }

    /// Whether a wave waits for this rank, and this rank is ready for it.
    fn is_ready(&self) -> bool {
        self.waves.wants().is_some() && self.pending.front().is_some_and(CollectivePending::is_ready)
    }
}

impl Engine {
    /// Takes one step of the current wave, if this rank is ready for it. A look takes no second
    /// step, so that a quiescence that is not reached does not keep the look from ending.
    pub(super) fn collectives(&mut self, bridge: &Bridge) -> Result<(), Broken> {
        if !self.collective.is_ready() {
            return Ok(());
        }
        let c = &bridge.counts;
        // ORDERING: Relaxed; a wave needs each counter to be no older than the wave itself. `idle`
        // orders what the threads of this rank did before they became idle. A message that is sent
        // meanwhile makes the sums of the next wave differ.
        let (sent, handled) = (
            c.sent() + c.transfers_begun.load(Relaxed),
            c.handled.load(Relaxed) + c.transfers_ended.load(Relaxed),
        );
        match self.collective.waves.ready(sent, handled) {
            Some(WaveStep::Up(parent, sums)) => rise(bridge, parent, sums),
            Some(WaveStep::Down(ends)) => self.verdict(bridge, ends)?,
            Some(WaveStep::Disagree) => {
                bridge.fail(code::PROTOCOL, "ranks have begun collective operations in different orders");
            }
            None => {}
        }
        Ok(())
    }

    /// The verdict on the current wave is here: tells the children, and ends the operation if it
    /// `ends`.
    pub(super) fn verdict(&mut self, bridge: &Bridge, ends: bool) -> Result<(), Broken> {
        self.findings.events += 1;
        for child in self.collective.waves.children() {
            own(bridge, child, &PacketFrame::plain(Verb::Down, u16::from(ends), 0));
        }
        if self.collective.waves.down(ends).is_some() {
            let pending = self
                .collective
                .pending
                .pop_front()
                .ok_or_else(|| Broken("an operation ends that was not begun".into()))?;
            pending.done.notify(code::OK);
        }
        Ok(())
    }
}

fn rise(bridge: &Bridge, parent: u32, sums: Sums) {
    let mut payload = [0; 24];
    payload[0..8].copy_from_slice(&sums.sent.to_le_bytes());
    payload[8..16].copy_from_slice(&sums.handled.to_le_bytes());
    payload[16..24].copy_from_slice(&sums.operations.to_le_bytes());
    own(
        bridge,
        parent,
        &PacketFrame { verb: Verb::Up, number: 0, word: 0, blocks: &[], pieces: &[&payload] },
    );
}

/// Sends a frame of the bridge itself, which is never refused.
pub(super) fn own(bridge: &Bridge, to: u32, frame: &PacketFrame<'_>) {
    let pushed = bridge.push(to, frame, true, None);
    debug_assert!(pushed.is_ok(), "must");
}
