//! The engine moves packets and blocks, and calls handlers.
//!
//! A *look* is one progress pass. It sends the packets that wait, takes what has completed from the
//! fabric, and calls handlers. It then takes a step of the current collective operation, and sends
//! what the handlers left. Only the thread inside the bridge's gate runs this code, so it is
//! sequential.
//!
//! `engine/posted_receives.rs` has the packets that come in, `engine/outgoing.rs` those that go
//! out. `engine/frames.rs` says what each frame does, `engine/blocks.rs` moves large blocks,
//! `engine/collective.rs` drives the waves.
//!
//! Rejected: MPI calls from every thread under MPI_THREAD_MULTIPLE (slower for all by MPI's own
//! locks, and no batches).

mod blocks;
mod collective;
mod frames;
mod outgoing;
mod posted_receives;
mod tokens;

use crate::bridge::{Bridge, BridgeSettings, count_inside};
use crate::fabric::{Broken, Completion, Fabric, FabricOutcome};
use crate::packet::{Packet, PacketFrame};
use crate::pair::{Channel, Violation};
use crate::table::{Arrival, Done, IdleFn};
use crate::wave::WaveOperation;
use blocks::BlockTransfers;
use collective::{CollectivePending, CollectiveQueue};
use outgoing::OutgoingPackets;
use posted_receives::PostedReceives;
use std::collections::VecDeque;
use std::ffi::c_void;
use tokens::Token;

/// What callers leave for the engine.
pub enum EngineOrder {
    /// Start this transfer.
    Start(u32),
    /// Take a block (or not).
    Accept {
        /// Which.
        arrival: Arrival,
        /// Where to; `None`: refuse it.
        into: Option<*mut u8>,
        /// The function to call at its end.
        done: Done,
    },
    /// Begin a collective operation.
    Collective(CollectivePending),
}

// SAFETY: pointers in orders are the caller's, who has promised that any thread may use them until
// `done`.
unsafe impl Send for EngineOrder {}

impl EngineOrder {
    /// An order for a collective operation.
    pub fn collective(operation: WaveOperation, idle: Option<(IdleFn, *mut c_void)>, done: Done) -> Self {
        EngineOrder::Collective(CollectivePending { operation, idle, done })
    }
}

/// Everything that only the thread inside the gate touches.
pub struct Engine {
    fabric: Box<dyn Fabric>,
    settings: BridgeSettings,
    channels: Vec<Channel>,
    posted_receives: PostedReceives,
    outgoing: OutgoingPackets,
    findings: PassFindings,
    blocks: BlockTransfers,
    collective: CollectiveQueue,
    /// No packet that only returns credits is sent any more.
    closing: bool,
}

/// What a look has found at the fabric and has to handle. Every part of the engine writes it.
#[derive(Default)]
struct PassFindings {
    /// The number of things that this look has done or found.
    events: usize,
    /// Frame and credit packets received, in all looks.
    received: u64,
    /// Completions that this look handles; empty between looks.
    completions: Vec<Completion>,
    /// Packets that have come without a reception; empty between looks.
    arrivals: Vec<(u32, Packet)>,
    /// Completions that may run callbacks. The look that took them handles them; after a `hurry`,
    /// the next look does.
    late: VecDeque<Token>,
    /// Ranks from which packets of frames have come. Handled like `late`.
    ripe: VecDeque<u32>,
}

fn broken(source: u32, why: Violation) -> Broken {
    Broken(format!("a packet from rank {source} breaks the protocol: {why:?}"))
}

impl Engine {
    /// For the ranks of `fabric`.
    pub fn new(fabric: Box<dyn Fabric>, settings: &BridgeSettings) -> Self {
        let (rank, ranks) = (fabric.rank(), fabric.ranks());
        Self {
            fabric,
            settings: *settings,
            channels: (0..ranks).map(|_| Channel::new(&settings.limits)).collect(),
            posted_receives: PostedReceives::default(),
            outgoing: OutgoingPackets::new(ranks),
            findings: PassFindings::default(),
            blocks: BlockTransfers::new(),
            collective: CollectiveQueue::new(rank, ranks),
            closing: false,
        }
    }

    /// Begins to receive packets.
    pub fn open(&mut self, bridge: &Bridge) -> Result<(), Broken> {
        let packets = (0..self.settings.posted_receives).map(|_| bridge.fresh()).collect();
        self.posted_receives.open(&mut *self.fabric, packets)
    }

    /// Carries out the orders of callers, and sends the packets that wait. It runs no callback,
    /// because callers of `send` may hold locks that callbacks take. If packets wait for credits,
    /// it also takes in what has come, for the credits. The next look handles the rest.
    pub fn hurry(&mut self, bridge: &Bridge) -> Result<usize, Broken> {
        self.findings.events = 0;
        self.orders(bridge)?;
        self.send_waiting(bridge)?;
        if !self.outgoing.waiting.is_empty() {
            self.take_in(bridge)?;
            self.send_waiting(bridge)?;
            self.posted_receives.refill(&mut *self.fabric)?;
        }
        Ok(self.findings.events)
    }

    /// A whole look. Gives the number of things that happened.
    pub fn look(&mut self, bridge: &Bridge) -> Result<usize, Broken> {
        self.findings.events = 0;
        count_inside(&bridge.counts.polls, 1);
        self.orders(bridge)?;
        self.send_waiting(bridge)?;
        self.take_in(bridge)?;
        // The usual look of a waiting thread finds nothing. What `hurry` has left is in the lists.
        if self.findings.events == 0
            && self.findings.ripe.is_empty()
            && self.findings.late.is_empty()
            && self.collective.is_at_rest()
        {
            return Ok(0);
        }
        self.handle_ripe(bridge)?;
        self.complete_late(bridge)?;
        self.collectives(bridge)?;
        if self.findings.events > 0 {
            self.orders(bridge)?;
            self.send_waiting(bridge)?;
            self.return_credits(bridge)?;
            self.posted_receives.refill(&mut *self.fabric)?;
        }
        Ok(self.findings.events)
    }

    fn orders(&mut self, bridge: &Bridge) -> Result<(), Broken> {
        for order in bridge.take_orders() {
            self.findings.events += 1;
            match order {
                EngineOrder::Start(ticket) => self.start(bridge, ticket)?,
                EngineOrder::Accept { arrival, into, done } => self.accept(arrival, into, done)?,
                EngineOrder::Collective(pending) => self.collective.begin(pending),
            }
        }
        Ok(())
    }

    /// Sends packets to every rank for which some wait and that has room for them.
    fn send_waiting(&mut self, bridge: &Bridge) -> Result<(), Broken> {
        bridge.take_listed(&mut self.outgoing.waiting);
        for _ in 0..self.outgoing.waiting.len() {
            let Some(to) = self.outgoing.waiting.pop_front() else { break };
            if self.send_to(bridge, to)? {
                self.outgoing.waiting.push_back(to);
            }
        }
        Ok(())
    }

    /// Sends what it may to `to`; says whether something has to wait for credits.
    fn send_to(&mut self, bridge: &Bridge, to: u32) -> Result<bool, Broken> {
        while self.channels[to as usize].may_send() {
            let (packet, more) = bridge.pop(to);
            if let Some(mut packet) = packet {
                self.channels[to as usize].seal(&mut packet);
                self.ship(bridge, to, packet)?;
            }
            if !more {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sends a message past the outbox of `to`. False if a message waits in that outbox, if no
    /// credit is left, or if the message does not fit into a packet.
    pub fn send_at_once(
        &mut self,
        bridge: &Bridge,
        to: u32,
        frame: &PacketFrame<'_>,
    ) -> Result<bool, Broken> {
        if !self.channels[to as usize].may_send() || !bridge.has_nothing_for(to) {
            return Ok(false);
        }
        let mut packet = self.posted_receives.spare(|| bridge.fresh());
        packet.clear();
        if !packet.append(frame, self.settings.limits.packet) {
            self.put_aside(bridge, packet);
            return Ok(false);
        }
        count_inside(&bridge.counts.at_once, 1);
        self.channels[to as usize].seal(&mut packet);
        self.ship(bridge, to, packet)?;
        Ok(true)
    }

    fn ship(&mut self, bridge: &Bridge, to: u32, packet: Packet) -> Result<(), Broken> {
        self.findings.events += 1;
        count_inside(&bridge.counts.packets_sent, 1);
        if let Some(packet) = self.outgoing.ship(&mut *self.fabric, to, packet)? {
            self.put_aside(bridge, packet);
        }
        Ok(())
    }

    /// A packet has left.
    fn sent(&mut self, bridge: &Bridge, at: u32) {
        if let Some(packet) = self.outgoing.sent(at) {
            self.put_aside(bridge, packet);
        }
    }

    /// Returns credits to ranks to which nothing else goes.
    fn return_credits(&mut self, bridge: &Bridge) -> Result<(), Broken> {
        for to in self.outgoing.take_owing() {
            if !self.closing && self.channels[to as usize].owes(&self.settings.limits) {
                let mut packet = bridge.fresh();
                self.channels[to as usize].seal_credits(&mut packet);
                count_inside(&bridge.counts.credit_packets, 1);
                self.ship(bridge, to, packet)?;
            }
        }
        Ok(())
    }

    /// Takes all packets and completions from the fabric. It runs no callback: packets of frames
    /// are noted in `ripe`, and completions that may run one in `late`.
    fn take_in(&mut self, bridge: &Bridge) -> Result<(), Broken> {
        let mut arrivals = core::mem::take(&mut self.findings.arrivals);
        let receives = &mut self.posted_receives;
        self.fabric.arrivals(&mut || receives.spare(|| bridge.fresh()), &mut arrivals)?;
        self.findings.events += arrivals.len();
        arrivals.drain(..).try_for_each(|(source, packet)| self.arrived(bridge, source, packet))?;
        self.findings.arrivals = arrivals;
        let mut list = core::mem::take(&mut self.findings.completions);
        self.fabric.poll(&mut list)?;
        self.findings.events += list.len();
        let outcome = list.drain(..).try_for_each(|c| self.complete(bridge, c));
        self.findings.completions = list;
        outcome
    }

    fn complete(&mut self, bridge: &Bridge, completion: Completion) -> Result<(), Broken> {
        let token =
            Token::unpack(completion.token).ok_or_else(|| Broken("a completion of nothing".into()))?;
        match token {
            Token::PostedReceive(_) if completion.outcome == FabricOutcome::Cancelled => {
                self.posted_receives.note_cancelled();
                Ok(())
            }
            Token::PostedReceive(at) => {
                let packet = self.posted_receives.take(at, completion.length, || bridge.fresh());
                self.arrived(bridge, completion.source, packet)
            }
            Token::Sent(at) => {
                self.sent(bridge, at);
                Ok(())
            }
            Token::Transfer(_) | Token::Incoming(_) => {
                self.findings.late.push_back(token);
                Ok(())
            }
            Token::Served => {
                self.blocks.serving -= 1;
                Ok(())
            }
        }
    }

    /// Handles the completions that may run callbacks. The end of one transfer may start another
    /// that completes at once, so the list may grow meanwhile.
    fn complete_late(&mut self, bridge: &Bridge) -> Result<(), Broken> {
        while let Some(token) = self.findings.late.pop_front() {
            self.findings.events += 1;
            match token {
                Token::Transfer(ticket) => self.transferred(bridge, ticket)?,
                Token::Incoming(at) => self.received_piece(bridge, at)?,
                Token::PostedReceive(_) | Token::Sent(_) | Token::Served => {}
            }
        }
        Ok(())
    }

    /// A packet is here: counts the credits it brings.
    fn arrived(&mut self, bridge: &Bridge, source: u32, packet: Packet) -> Result<(), Broken> {
        self.findings.received += 1;
        count_inside(&bridge.counts.packets_received, 1);
        let arrived = self.channels[source as usize].arrive(packet, &self.settings.limits);
        match arrived.map_err(|v| broken(source, v))? {
            Some(packet) => self.put_aside(bridge, packet),
            None if self.findings.ripe.back() == Some(&source) => {}
            None => self.findings.ripe.push_back(source),
        }
        Ok(())
    }

    /// Handles the packets whose turn it is.
    fn handle_ripe(&mut self, bridge: &Bridge) -> Result<(), Broken> {
        while let Some(source) = self.findings.ripe.pop_front() {
            while let Some(packet) = self.channels[source as usize].take_next() {
                self.handle(bridge, source, &packet)?;
                self.channels[source as usize].handled();
                self.put_aside(bridge, packet);
            }
            if self.channels[source as usize].owes(&self.settings.limits) {
                self.outgoing.owe(source);
            }
        }
        Ok(())
    }

    /// Keeps a packet for later receptions and sends, or else in the bridge's pool.
    fn put_aside(&mut self, bridge: &Bridge, packet: Packet) {
        if let Some(packet) = self.posted_receives.put_aside(packet) {
            bridge.recycle(packet);
        }
    }

    /// Whether nothing of this rank is under way.
    fn is_drained(&self) -> bool {
        self.outgoing.waiting.is_empty() && self.outgoing.is_empty() && self.blocks.is_empty()
    }

    /// Waits for the last packets and closes the fabric. After the quiescence that all ranks have
    /// reached, only packets of the bridge itself can be under way; ranks tell each other how
    /// many.
    pub fn close(&mut self, bridge: &Bridge, opened: bool) -> Result<(), Broken> {
        if opened {
            self.closing = true;
            let mut poll_policy = crate::progress::PollPolicy::default();
            loop {
                let events = self.look(bridge)?;
                if self.is_drained() {
                    break;
                }
                poll_policy.after(events);
            }
            let expected = self.fabric.complete(self.outgoing.sent_to())?;
            while self.findings.received < expected || !self.outgoing.is_empty() {
                let events = self.look(bridge)?;
                poll_policy.after(events);
            }
            self.posted_receives.cancel(&mut *self.fabric)?;
            while !self.posted_receives.has_ended() {
                self.take_in(bridge)?;
            }
        }
        self.fabric.close()
    }
}
