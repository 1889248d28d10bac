//! Batches and credits between two ranks: the state machine without any I/O.
//!
//! For each destination a rank has an [`Outbox`], in which messages are packed as they are sent
//! (senders and the engine touch it, under its lock). For each it also has a [`Channel`] with the
//! numbers of both directions (the engine alone touches it). A packet of frames costs its sender a
//! credit. The receiver gives it back once the handlers have run, along with the next packet that
//! it sends. If half a window is owed, the receiver returns the credits in a packet of their own,
//! which costs nothing. So at most a window of packets is under way from one rank to another,
//! whatever MPI does with them. Packets that only return credits never wait for credits. Packets of
//! frames are numbered, so that MPI may complete receptions in any order. Packets that only return
//! credits need no number and are not kept: credits are a sum. `tests/model_credit.rs` explores all
//! orders of events, and shows what goes wrong without each of these rules.
//!
//! Rejected: credits counted in bytes (a packet needs a receive buffer whatever it holds); a
//! receiver that withholds credits while its own outboxes are full (two such receivers wait for
//! each other).

use crate::packet::{Packet, PacketFrame, PacketHeader, PacketKind};
use std::collections::VecDeque;

/// Sizes that all ranks agree on, in bytes if not said otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PairLimits {
    /// The largest packet.
    pub packet: usize,
    /// No message is added to a packet that would grow beyond this; a larger message has a packet
    /// to itself.
    pub batch: usize,
    /// What may wait for one destination before senders are refused.
    pub queue: usize,
    /// Packets of frames under way to one destination.
    pub window: u32,
}

impl PairLimits {
    /// The sizes of a program of `ranks` ranks. A packet holds 8 KiB of map data and its arguments;
    /// a batch fits what Open MPI and MPICH copy through shared memory at once (4 KiB).
    /// `window`: 0 for 32 packets, fewer beyond 1000 ranks, so that what all ranks together can
    /// send to one stays near 512 MiB.
    pub fn new(ranks: u32, window: u32, queue: usize) -> Self {
        let window = if window == 0 {
            (32_000 / ranks.max(1)).clamp(4, 32)
        } else {
            window.clamp(2, crate::packet::MOST_CREDITS - 1)
        };
        Self { packet: 16 * 1024, batch: 4000, queue: if queue == 0 { 1 << 20 } else { queue }, window }
    }
}

/// Too much waits for this destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Messages that wait for one destination, packed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Outbox {
    packets: VecDeque<Packet>,
    bytes: usize,
    /// Whether the engine has been notified that messages wait here.
    pub listed: bool,
}

impl Outbox {
    /// Adds a message. `must`: even if more waits than senders may queue (answers given by
    /// handlers, the bridge's own frames). `fresh` makes an empty packet. The frame must fit
    /// into one. Returns true if a full packet is waiting.
    pub fn push(
        &mut self,
        frame: &PacketFrame<'_>,
        limits: &PairLimits,
        must: bool,
        fresh: impl FnOnce() -> Packet,
    ) -> Result<bool, Full> {
        if !must && self.bytes >= limits.queue {
            return Err(Full);
        }
        self.bytes += frame.size();
        if let Some(last) = self.packets.back_mut()
            && last.append(frame, limits.batch)
        {
            return Ok(self.packets.len() > 1);
        }
        let mut packet = fresh();
        let fits = packet.append(frame, limits.packet);
        debug_assert!(fits, "callers check the size");
        self.packets.push_back(packet);
        Ok(self.packets.len() > 1)
    }

    /// Takes the packet that has waited longest.
    pub fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.length() - crate::packet::UNIT;
        Some(packet)
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Packets that wait.
    pub fn packets(&self) -> usize {
        self.packets.len()
    }

    /// Bytes of messages that wait.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// What went wrong with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// Its header is not ours.
    Nonsense,
    /// Its number was used before.
    Repeated,
    /// It returns more credits than were spent.
    Credits,
    /// More packets arrived than the window allows.
    Window,
}

/// Numbers of the traffic with one other rank, both directions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Channel {
    /// Packets of frames that may be sent.
    credits: u32,
    /// Packets of frames that were handled and not yet acknowledged.
    owed: u32,
    /// Number of the next packet to send.
    next_out: u32,
    /// Number of the next packet to handle.
    next_in: u32,
    /// Packets that have come and were not handled yet.
    early: Vec<Packet>,
}

impl Channel {
    /// Nothing sent, nothing received.
    pub fn new(limits: &PairLimits) -> Self {
        Self { credits: limits.window, owed: 0, next_out: 0, next_in: 0, early: Vec::new() }
    }

    /// Whether a packet of frames may be sent.
    pub fn may_send(&self) -> bool {
        self.credits > 0
    }

    /// Credits to spend, for invariants.
    pub fn credits(&self) -> u32 {
        self.credits
    }

    /// Credits to give back, for invariants.
    pub fn owed(&self) -> u32 {
        self.owed
    }

    /// Readies a packet of frames for sending. The caller has asked [`Channel::may_send`].
    pub fn seal(&mut self, packet: &mut Packet) {
        self.credits -= 1;
        packet.seal(PacketHeader {
            kind: PacketKind::Frames,
            sequence: self.next_out,
            credits: core::mem::take(&mut self.owed),
        });
        self.next_out = self.next_out.wrapping_add(1);
    }

    /// Packets that have come and were not handled yet, for invariants.
    pub fn early(&self) -> &[Packet] {
        &self.early
    }

    /// Whether a packet that only returns credits is due, if nothing else goes that way.
    pub fn owes(&self, limits: &PairLimits) -> bool {
        self.owed >= (limits.window / 2).max(1)
    }

    /// Makes `packet`, an empty one, return what is owed.
    pub fn seal_credits(&mut self, packet: &mut Packet) {
        packet.seal(PacketHeader {
            kind: PacketKind::Credits,
            sequence: 0,
            credits: core::mem::take(&mut self.owed),
        });
    }

    /// Takes in a packet as MPI delivers it: counts the credits it brings, and keeps it for
    /// [`Channel::take_next`] if it carries frames. Gives it back if it does not.
    pub fn arrive(&mut self, packet: Packet, limits: &PairLimits) -> Result<Option<Packet>, Violation> {
        let header = packet.header().ok_or(Violation::Nonsense)?;
        self.credits += header.credits;
        if self.credits > limits.window {
            return Err(Violation::Credits);
        }
        if header.kind == PacketKind::Credits {
            return Ok(Some(packet));
        }
        let ahead = header.sequence.wrapping_sub(self.next_in);
        if ahead > u32::MAX / 2
            || self.early.iter().any(|p| p.header().is_some_and(|h| h.sequence == header.sequence))
        {
            return Err(Violation::Repeated);
        }
        if self.early.len() as u32 >= limits.window {
            return Err(Violation::Window);
        }
        self.early.push(packet);
        Ok(None)
    }

    /// The next packet whose turn it is. Its sender is owed a credit as soon as
    /// [`Channel::handled`] is called.
    pub fn take_next(&mut self) -> Option<Packet> {
        let turn = |p: &Packet| p.header().is_some_and(|h| h.sequence == self.next_in);
        let at = self.early.iter().position(turn)?;
        self.next_in = self.next_in.wrapping_add(1);
        Some(self.early.swap_remove(at))
    }

    /// The handlers of a packet of frames have run.
    pub fn handled(&mut self) {
        self.owed += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Verb;

    const LIMITS: PairLimits = PairLimits { packet: 128, batch: 64, queue: 96, window: 2 };

    fn message(outbox: &mut Outbox, number: u64, must: bool) -> Result<bool, Full> {
        outbox
            .push(&PacketFrame::plain(Verb::Message, 0, number), &LIMITS, must, || Packet::new(LIMITS.packet))
    }

    #[test]
    fn messages_share_packets_up_to_the_batch() {
        let mut outbox = Outbox::default();
        let full: Vec<bool> =
            (0..4).map(|i| message(&mut outbox, i, false).expect("there is room")).collect();
        assert_eq!(full, [false, false, false, true]);
        assert_eq!(outbox.packets(), 2, "three 16-byte frames and a header make 64");
        let large = PacketFrame { verb: Verb::Message, number: 0, word: 4, blocks: &[], pieces: &[&[0; 96]] };
        outbox.push(&large, &LIMITS, true, || Packet::new(LIMITS.packet)).expect("must");
        assert_eq!(outbox.packets(), 3, "a large one has a packet to itself");
        let order: Vec<u64> = std::iter::from_fn(|| outbox.pop())
            .flat_map(|p| p.frames().flatten().map(|f| f.word).collect::<Vec<_>>())
            .collect();
        assert_eq!((order, outbox.bytes()), (vec![0, 1, 2, 3, 4], 0));
    }

    #[test]
    fn a_full_queue_refuses_senders_but_not_answers() {
        let mut outbox = Outbox::default();
        let accepted = (0..20).take_while(|i| message(&mut outbox, *i, false).is_ok()).count();
        assert_eq!(accepted, 6, "96 bytes in frames of 16");
        assert_eq!(message(&mut outbox, 99, true), Ok(true));
    }

    #[test]
    fn a_window_of_packets_and_no_more() {
        let (mut here, mut there) = (Channel::new(&LIMITS), Channel::new(&LIMITS));
        let send = |here: &mut Channel| {
            let mut packet = Packet::new(32);
            here.seal(&mut packet);
            packet
        };
        let (one, two) = (send(&mut here), send(&mut here));
        assert!(!here.may_send());
        // The second overtakes the first.
        there.arrive(two, &LIMITS).expect("fine");
        assert_eq!(there.take_next(), None);
        there.arrive(one.clone(), &LIMITS).expect("fine");
        assert!(there.take_next().is_some());
        there.handled();
        assert!(there.owes(&LIMITS));
        assert_eq!(there.arrive(one, &LIMITS), Err(Violation::Repeated));
        let mut back = Packet::new(16);
        there.seal_credits(&mut back);
        assert!(here.arrive(back, &LIMITS).expect("fine").is_some(), "credits are not kept");
        assert_eq!(here.take_next(), None, "credits are no frames");
        assert_eq!(here.credits(), 1);
    }

    #[test]
    fn wrapping_numbers_and_false_credits() {
        let mut channel = Channel { next_out: u32::MAX, next_in: u32::MAX, ..Channel::new(&LIMITS) };
        let mut packet = Packet::new(16);
        channel.seal(&mut packet);
        channel.arrive(packet, &LIMITS).expect("fine");
        assert!(channel.take_next().is_some());
        assert_eq!((channel.next_in, channel.next_out), (0, 0));
        let mut false_credit = Packet::new(16);
        false_credit.seal(PacketHeader { kind: PacketKind::Credits, sequence: 0, credits: 2 });
        assert_eq!(channel.arrive(false_credit, &LIMITS), Err(Violation::Credits));
    }
}
