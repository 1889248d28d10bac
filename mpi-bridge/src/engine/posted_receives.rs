//! Packets that are posted for reception, and those that take their places.

use super::tokens::Token;
use crate::fabric::{Broken, Fabric, FabricLane};
use crate::packet::Packet;

/// The packets into which the fabric receives. Only the engine writes it.
#[derive(Default)]
pub(super) struct PostedReceives {
    /// A packet for each place. The fabric receives into those whose reception is posted.
    posted: Vec<Packet>,
    /// Places without a posted reception.
    unposted: Vec<u32>,
    /// Packets for later receptions and sends.
    spare: Vec<Packet>,
    /// How many receptions were cancelled at the end.
    cancelled: usize,
}

impl PostedReceives {
    /// Begins to receive into `packets`.
    pub(super) fn open(&mut self, fabric: &mut dyn Fabric, packets: Vec<Packet>) -> Result<(), Broken> {
        self.posted = packets;
        (0..self.posted.len() as u32).try_for_each(|at| self.post(fabric, at))
    }

    fn post(&mut self, fabric: &mut dyn Fabric, at: u32) -> Result<(), Broken> {
        let packet = &mut self.posted[at as usize];
        let (into, size) = (packet.as_mut_ptr(), packet.capacity());
        // SAFETY: the packet stays at its place, untouched, until this reception completes; its
        // buffer is on the heap, so that moving the `Packet` value would not matter.
        unsafe { fabric.receive(FabricLane::Packets, None, 0, into, size, Token::PostedReceive(at).pack()) }
    }

    /// Posts receptions again where packets have come.
    pub(super) fn refill(&mut self, fabric: &mut dyn Fabric) -> Result<(), Broken> {
        while let Some(at) = self.unposted.pop() {
            self.post(fabric, at)?;
        }
        Ok(())
    }

    /// The packet of `length` bytes that was received at place `at`. A spare packet takes its place
    /// at once; [`Self::refill`] posts the reception.
    pub(super) fn take(&mut self, at: u32, length: usize, fresh: impl FnOnce() -> Packet) -> Packet {
        let spare = self.spare(fresh);
        let mut packet = core::mem::replace(&mut self.posted[at as usize], spare);
        self.unposted.push(at);
        packet.set_length(length);
        packet
    }

    /// A packet that was put aside, or a `fresh` one.
    pub(super) fn spare(&mut self, fresh: impl FnOnce() -> Packet) -> Packet {
        self.spare.pop().unwrap_or_else(fresh)
    }

    /// Keeps a packet for later receptions and sends, without a lock. Gives it back if as many
    /// packets are kept as there are places.
    pub(super) fn put_aside(&mut self, packet: Packet) -> Option<Packet> {
        if self.spare.len() < self.posted.len() {
            self.spare.push(packet);
            return None;
        }
        Some(packet)
    }

    /// Asks that all receptions end.
    pub(super) fn cancel(&self, fabric: &mut dyn Fabric) -> Result<(), Broken> {
        (0..self.posted.len() as u32).try_for_each(|at| fabric.cancel(Token::PostedReceive(at).pack()))
    }

    /// Notes that a reception was cancelled.
    pub(super) fn note_cancelled(&mut self) {
        self.cancelled += 1;
    }

    /// Whether all receptions were cancelled.
    pub(super) fn has_ended(&self) -> bool {
        self.cancelled >= self.posted.len()
    }
}
