//! One look at everything: packets out, completions in, handlers, collective operations.
//!
//! Only the thread inside the bridge's gate is here, so that this is sequential code. A look first
//! sends what waits, then takes what has completed and calls handlers, then sends what they left.
//! `engine/frames.rs` says what each frame does, `engine/blocks.rs` moves large blocks,
//! `engine/collective.rs` drives the waves.
//!
//! Rejected: MPI calls from every thread under MPI_THREAD_MULTIPLE (slower for all by MPI's own
//! locks, and no batches).

mod blocks;
mod collective;
mod frames;
mod tokens;

use crate::bridge::{Bridge, BridgeSettings, count_inside};
use crate::fabric::{Broken, Completion, Fabric, FabricLane, FabricOutcome};
use crate::packet::{Packet, PacketFrame};
use crate::pair::{Channel, Violation};
use crate::table::{Arrival, Done, IdleFn};
use crate::wave::{WaveOperation, Waves};
use blocks::{Flow, Incoming};
use collective::CollectivePending;
use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use tokens::{Token, TokenTable};

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
    /// Packets posted for reception.
    ring: Vec<Packet>,
    /// Places of the ring that are not posted.
    bare: Vec<u32>,
    /// Packets for the ring.
    spare: Vec<Packet>,
    /// Places of the ring whose reception was cancelled at the end.
    cancelled: usize,
    /// Packets being sent.
    sending: TokenTable<Packet>,
    /// Ranks with messages in their outboxes, as far as known here.
    waiting: VecDeque<u32>,
    /// Ranks to which this one owes credits, and which may need a packet that returns them.
    owing: Vec<u32>,
    /// Packets sent to each rank, of both kinds.
    sent_to: Vec<u64>,
    received: u64,
    flows: HashMap<u32, Flow>,
    incoming: TokenTable<Incoming>,
    /// MPI messages that serve gets of other ranks.
    serving: u32,
    waves: Waves,
    pending: VecDeque<CollectivePending>,
    completions: Vec<Completion>,
    /// Packets that have come without a reception; empty between looks.
    arrivals: Vec<(u32, Packet)>,
    /// Completions that may run callbacks, for the next look.
    late: VecDeque<Token>,
    /// Ranks from which packets have come, for the next look.
    ripe: VecDeque<u32>,
    /// What this look has found.
    events: usize,
    /// Nothing but what others wait for is sent any more.
    closing: bool,
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
            ring: Vec::new(),
            bare: Vec::new(),
            spare: Vec::new(),
            cancelled: 0,
            sending: TokenTable::new(),
            waiting: VecDeque::new(),
            owing: Vec::new(),
            sent_to: vec![0; ranks as usize],
            received: 0,
            flows: HashMap::new(),
            incoming: TokenTable::new(),
            serving: 0,
            waves: Waves::new(rank, ranks),
            pending: VecDeque::new(),
            completions: Vec::new(),
            arrivals: Vec::new(),
            late: VecDeque::new(),
            ripe: VecDeque::new(),
            events: 0,
            closing: false,
        }
    }

    /// Begins to receive packets.
    pub fn open(&mut self, bridge: &Bridge) -> Result<(), Broken> {
        self.ring = (0..self.settings.ring).map(|_| bridge.fresh()).collect();
        (0..self.settings.ring).try_for_each(|at| self.post(at))
    }

    fn post(&mut self, at: u32) -> Result<(), Broken> {
        let packet = &mut self.ring[at as usize];
        let (into, size) = (packet.as_mut_ptr(), packet.capacity());
        // SAFETY: the packet stays in the ring, untouched, until this reception completes; its
        // buffer is on the heap, so that moving the `Packet` value would not matter.
        unsafe { self.fabric.receive(FabricLane::Packets, None, 0, into, size, Token::Ring(at).pack()) }
    }

    /// Takes up what callers have brought. It runs no callback, as callers of `send` may hold locks
    /// that callbacks take. Where packets wait for credits it looks for credits, and leaves the
    /// rest of what comes to the next look.
    pub fn hurry(&mut self, bridge: &Bridge) -> Result<usize, Broken> {
        self.events = 0;
        self.orders(bridge)?;
        self.send_waiting(bridge)?;
        if !self.waiting.is_empty() {
            self.take_in(bridge)?;
            self.send_waiting(bridge)?;
            self.refill()?;
        }
        Ok(self.events)
    }

    /// A whole look. Gives the number of things that happened.
    pub fn look(&mut self, bridge: &Bridge) -> Result<usize, Broken> {
        self.events = 0;
        count_inside(&bridge.counts.polls, 1);
        self.orders(bridge)?;
        self.send_waiting(bridge)?;
        self.take_in(bridge)?;
        // The usual look of a waiting thread finds nothing. What `hurry` has left is in the lists.
        if self.events == 0
            && self.ripe.is_empty()
            && self.late.is_empty()
            && (self.pending.is_empty() || self.waves.wants().is_none())
        {
            return Ok(0);
        }
        self.handle_ripe(bridge)?;
        self.complete_late(bridge)?;
        self.collectives(bridge)?;
        if self.events > 0 {
            self.orders(bridge)?;
            self.send_waiting(bridge)?;
            self.return_credits(bridge)?;
            self.refill()?;
        }
        Ok(self.events)
    }

    /// Posts receptions again where packets have come.
    fn refill(&mut self) -> Result<(), Broken> {
        while let Some(at) = self.bare.pop() {
            self.post(at)?;
        }
        Ok(())
    }

    fn orders(&mut self, bridge: &Bridge) -> Result<(), Broken> {
        for order in bridge.take_orders() {
            self.events += 1;
            match order {
                EngineOrder::Start(ticket) => self.start(bridge, ticket)?,
                EngineOrder::Accept { arrival, into, done } => self.accept(arrival, into, done)?,
                EngineOrder::Collective(pending) => self.begin(pending),
            }
        }
        Ok(())
    }

    /// Sends packets to every rank for which some wait and that has room for them.
    fn send_waiting(&mut self, bridge: &Bridge) -> Result<(), Broken> {
        bridge.take_listed(&mut self.waiting);
        for _ in 0..self.waiting.len() {
            let Some(to) = self.waiting.pop_front() else { break };
            if self.send_to(bridge, to)? {
                self.waiting.push_back(to);
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

    /// Sends a message that is not in an outbox, if nothing is before it and it may leave now. It
    /// fits into a packet.
    pub fn send_at_once(
        &mut self,
        bridge: &Bridge,
        to: u32,
        frame: &PacketFrame<'_>,
    ) -> Result<bool, Broken> {
        if !self.channels[to as usize].may_send() || !bridge.has_nothing_for(to) {
            return Ok(false);
        }
        let mut packet = self.spare.pop().unwrap_or_else(|| bridge.fresh());
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
        self.events += 1;
        self.sent_to[to as usize] += 1;
        count_inside(&bridge.counts.packets_sent, 1);
        let at = self.sending.put(packet);
        let Some(packet) = self.sending.get(at) else { return Ok(()) };
        let (from, length, token) = (packet.bytes().as_ptr(), packet.length(), Token::Sent(at).pack());
        // SAFETY: the packet's buffer is on the heap and stays in the table, unchanged, until the
        // sending completes.
        let done = unsafe { self.fabric.send(FabricLane::Packets, to, 0, from, length, token)? };
        if done {
            self.sent(bridge, at);
        }
        Ok(())
    }

    /// A packet has left.
    fn sent(&mut self, bridge: &Bridge, at: u32) {
        if let Some(packet) = self.sending.take(at) {
            self.put_aside(bridge, packet);
        }
    }

    /// Returns credits to ranks to which nothing else goes.
    fn return_credits(&mut self, bridge: &Bridge) -> Result<(), Broken> {
        let owing = core::mem::take(&mut self.owing);
        for to in owing {
            if !self.closing && self.channels[to as usize].owes(&self.settings.limits) {
                let mut packet = bridge.fresh();
                self.channels[to as usize].seal_credits(&mut packet);
                count_inside(&bridge.counts.credit_packets, 1);
                self.ship(bridge, to, packet)?;
            }
        }
        Ok(())
    }

    /// Takes what has completed from the fabric, as far as no callback has to run.
    fn take_in(&mut self, bridge: &Bridge) -> Result<(), Broken> {
        let mut arrivals = core::mem::take(&mut self.arrivals);
        let spare = &mut self.spare;
        self.fabric.arrivals(&mut || spare.pop().unwrap_or_else(|| bridge.fresh()), &mut arrivals)?;
        self.events += arrivals.len();
        arrivals.drain(..).try_for_each(|(source, packet)| self.arrived(bridge, source, packet))?;
        self.arrivals = arrivals;
        let mut list = core::mem::take(&mut self.completions);
        self.fabric.poll(&mut list)?;
        self.events += list.len();
        let outcome = list.drain(..).try_for_each(|c| self.complete(bridge, c));
        self.completions = list;
        outcome
    }

    fn complete(&mut self, bridge: &Bridge, completion: Completion) -> Result<(), Broken> {
        let token =
            Token::unpack(completion.token).ok_or_else(|| Broken("a completion of nothing".into()))?;
        match token {
            Token::Ring(_) if completion.outcome == FabricOutcome::Cancelled => {
                self.cancelled += 1;
                Ok(())
            }
            Token::Ring(at) => {
                let packet = self.taken_from_ring(bridge, at, completion.length);
                self.arrived(bridge, completion.source, packet)
            }
            Token::Sent(at) => {
                self.sent(bridge, at);
                Ok(())
            }
            Token::Transfer(_) | Token::Incoming(_) => {
                self.late.push_back(token);
                Ok(())
            }
            Token::Served => {
                self.serving -= 1;
                Ok(())
            }
        }
    }

    /// Handles the completions that may run callbacks. The end of one transfer may start another
    /// that completes at once, so the list may grow meanwhile.
    fn complete_late(&mut self, bridge: &Bridge) -> Result<(), Broken> {
        while let Some(token) = self.late.pop_front() {
            self.events += 1;
            match token {
                Token::Transfer(ticket) => self.transferred(bridge, ticket)?,
                Token::Incoming(at) => self.received_piece(bridge, at)?,
                Token::Ring(_) | Token::Sent(_) | Token::Served => {}
            }
        }
        Ok(())
    }

    /// The packet that was received at a place of the ring, which is filled again when what hurries
    /// is done.
    fn taken_from_ring(&mut self, bridge: &Bridge, at: u32, length: usize) -> Packet {
        let spare = self.spare.pop().unwrap_or_else(|| bridge.fresh());
        let mut packet = core::mem::replace(&mut self.ring[at as usize], spare);
        self.bare.push(at);
        packet.set_length(length);
        packet
    }

    /// A packet is here: counts the credits it brings.
    fn arrived(&mut self, bridge: &Bridge, source: u32, packet: Packet) -> Result<(), Broken> {
        self.received += 1;
        count_inside(&bridge.counts.packets_received, 1);
        let arrived = self.channels[source as usize].arrive(packet, &self.settings.limits);
        match arrived.map_err(|v| broken(source, v))? {
            Some(packet) => self.put_aside(bridge, packet),
            None if self.ripe.back() == Some(&source) => {}
            None => self.ripe.push_back(source),
        }
        Ok(())
    }

    /// Handles the packets whose turn it is.
    fn handle_ripe(&mut self, bridge: &Bridge) -> Result<(), Broken> {
        while let Some(source) = self.ripe.pop_front() {
            while let Some(packet) = self.channels[source as usize].take_next() {
                self.handle(bridge, source, &packet)?;
                self.channels[source as usize].handled();
                self.put_aside(bridge, packet);
            }
            if self.channels[source as usize].owes(&self.settings.limits) && !self.owing.contains(&source) {
                self.owing.push(source);
            }
        }
        Ok(())
    }

    /// Keeps a packet for the ring, or for sending; that needs no lock.
    fn put_aside(&mut self, bridge: &Bridge, packet: Packet) {
        if self.spare.len() < self.ring.len() { self.spare.push(packet) } else { bridge.recycle(packet) }
    }

    /// Whether nothing of this rank is under way.
    fn is_drained(&self) -> bool {
        self.waiting.is_empty() && self.sending.is_empty() && self.incoming.is_empty() && self.serving == 0
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
            let expected = self.fabric.complete(&self.sent_to)?;
            while self.received < expected || !self.sending.is_empty() {
                let events = self.look(bridge)?;
                poll_policy.after(events);
            }
            (0..self.ring.len() as u32).try_for_each(|at| self.fabric.cancel(Token::Ring(at).pack()))?;
            while self.cancelled < self.ring.len() {
                self.take_in(bridge)?;
            }
        }
        self.fabric.close()
    }
}
