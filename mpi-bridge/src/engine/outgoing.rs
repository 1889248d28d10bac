//! Packets on their way out, and the ranks to which some have to go.

use super::tokens::{Token, TokenTable};
use crate::fabric::{Broken, Fabric, FabricLane};
use crate::packet::Packet;
use std::collections::VecDeque;

/// What is being sent, and what is to be sent. Only the engine writes it.
pub(super) struct OutgoingPackets {
    /// Packets being sent.
    sending: TokenTable<Packet>,
    /// Ranks with messages in their outboxes, as far as known here.
    pub(super) waiting: VecDeque<u32>,
    /// Ranks to which this one owes credits, and which may need a packet that returns them.
    owing: Vec<u32>,
    /// Frame and credit packets sent to each rank.
    sent_to: Vec<u64>,
}

impl OutgoingPackets {
    /// To so many ranks.
    pub(super) fn new(ranks: u32) -> Self {
        Self {
            sending: TokenTable::new(),
            waiting: VecDeque::new(),
            owing: Vec::new(),
            sent_to: vec![0; ranks as usize],
        }
    }

    /// Begins to send a packet. Gives it back if it has left at once.
    pub(super) fn ship(
        &mut self,
        fabric: &mut dyn Fabric,
        to: u32,
        packet: Packet,
    ) -> Result<Option<Packet>, Broken> {
        self.sent_to[to as usize] += 1;
        let at = self.sending.put(packet);
        let Some(packet) = self.sending.get(at) else { return Ok(None) };
        let (from, length, token) = (packet.bytes().as_ptr(), packet.length(), Token::Sent(at).pack());
        // SAFETY: the packet's buffer is on the heap and stays in the table, unchanged, until the
        // sending completes.
        let done = unsafe { fabric.send(FabricLane::Packets, to, 0, from, length, token)? };
        Ok(if done { self.sent(at) } else { None })
    }

    /// The packet that has left.
    pub(super) fn sent(&mut self, at: u32) -> Option<Packet> {
        self.sending.take(at)
    }

    /// Notes that `rank` may need a packet that returns its credits.
    pub(super) fn owe(&mut self, rank: u32) {
        if !self.owing.contains(&rank) {
            self.owing.push(rank);
        }
    }

    /// Takes the ranks out that may need such a packet.
    pub(super) fn take_owing(&mut self) -> Vec<u32> {
        core::mem::take(&mut self.owing)
    }

    /// Whether no packet is being sent.
    pub(super) fn is_empty(&self) -> bool {
        self.sending.is_empty()
    }

    /// Frame and credit packets sent to each rank.
    pub(super) fn sent_to(&self) -> &[u64] {
        &self.sent_to
    }
}
