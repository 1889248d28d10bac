//! Large blocks: straight from the sender's memory into the receiver's.
//!
//! The rank that begins a transfer numbers it (its *ticket*). A block (or put) goes out at once,
//! while its announcement travels in a packet. The tag of its messages is twice the ticket, and one
//! more for a get. At most `most_in_flight` transfers with one rank are under way, gets included.
//! So MPI keeps at most as many small ones for a receiver that has not asked for them yet. A get
//! posts its reception first and then asks. The receiver of a block says `Ended` when it has it. A
//! refused block is still received, piece by piece into a buffer of its own, because MPI has no way
//! to turn it away. Small puts travel inside packets, and so does the answer to a small get.
//!
//! Rejected:
//! * Waiting for the receiver's word before a block is sent: half a round trip more for each, and
//!   MPI does the same again for large messages.
//! * A copy into packets for middle sizes: twice the memory traffic.

use super::collective::own;
use super::tokens::TokenTable;
use super::{Broken, Engine, Token};
use crate::bridge::{Bridge, INLINE, count, lock};
use crate::fabric::FabricLane;
use crate::packet::{PacketAnnounced, PacketFrame, Received, Verb};
use crate::slots::{Transfer, TransferKind};
use crate::table::{Arrival, Done, code};
use std::collections::{HashMap, VecDeque};

/// Transfers with one rank.
#[derive(Debug, Default)]
struct Flow {
    /// How many were issued and have not ended.
    in_flight: u32,
    /// Tickets of transfers that are not issued yet, because as many as allowed are in flight.
    waiting: VecDeque<u32>,
}

/// A block that is being received.
#[derive(Debug)]
struct Incoming {
    arrival: Arrival,
    done: Done,
    /// MPI messages that have not completed.
    left: u64,
    /// For a refused block: where its pieces go, and which comes next.
    drain: Option<(Box<[u8]>, u64)>,
}

/// The blocks that are under way. Only the engine writes it.
pub(super) struct BlockTransfers {
    /// Transfers that this rank has begun, by the other rank.
    flows: HashMap<u32, Flow>,
    incoming: TokenTable<Incoming>,
    /// MPI messages that serve gets of other ranks.
    pub(super) serving: u32,
}

impl BlockTransfers {
    /// None.
    pub(super) fn new() -> Self {
        Self { flows: HashMap::new(), incoming: TokenTable::new(), serving: 0 }
    }

    /// Whether no block comes in and none is served. Transfers that this rank has begun are left
    /// out: the quiescence of all ranks has counted them.
    pub(super) fn is_empty(&self) -> bool {
        self.incoming.is_empty() && self.serving == 0
    }
}

/// The tag of a block or put, and of a get.
fn tag(ticket: u32, get: bool) -> u32 {
    ticket * 2 + u32::from(get)
}

fn unknown(source: u32) -> Broken {
    Broken(format!("rank {source} speaks of a transfer that does not exist"))
}

impl Engine {
    fn pieces(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.settings.chunk).max(1)
    }

    /// Start and length of a piece.
    fn piece(&self, bytes: u64, index: u64) -> (usize, usize) {
        let start = index * self.settings.chunk;
        (start as usize, (bytes - start).min(self.settings.chunk) as usize)
    }

    /// Starts a transfer, or lets it wait for others with the same rank.
    pub(super) fn start(&mut self, bridge: &Bridge, ticket: u32) -> Result<(), Broken> {
        let Some(peer) = lock(&bridge.slots).get(ticket).map(|t| t.peer) else { return Ok(()) };
        let flow = self.blocks.flows.entry(peer).or_default();
        if flow.in_flight >= self.settings.most_in_flight {
            flow.waiting.push_back(ticket);
            return Ok(());
        }
        flow.in_flight += 1;
        self.issue(bridge, ticket)
    }

    /// Posts the messages of a transfer and, for a get, asks the other rank for it.
    fn issue(&mut self, bridge: &Bridge, ticket: u32) -> Result<(), Broken> {
        let mut slots = lock(&bridge.slots);
        let Some(transfer) = slots.get(ticket) else { return Ok(()) };
        let (peer, way, local, bytes, remote) =
            (transfer.peer, transfer.way, transfer.local, transfer.bytes, transfer.remote);
        let small = way == TransferKind::In && bytes <= INLINE;
        let pieces = if small { 0 } else { self.pieces(bytes) };
        transfer.left = pieces as u32;
        drop(slots);
        for index in 0..pieces {
            let (start, length) = self.piece(bytes, index);
            let token = Token::Transfer(ticket).pack();
            // SAFETY: the caller of put, get or send has promised that this memory is valid until
            // `done`, which is called after every piece has completed; the piece lies inside it.
            unsafe {
                let at = local.add(start);
                match way {
                    TransferKind::In => self.fabric.receive(
                        FabricLane::Blocks,
                        Some(peer),
                        tag(ticket, true),
                        at,
                        length,
                        token,
                    )?,
                    _ if self.fabric.send(
                        FabricLane::Blocks,
                        peer,
                        tag(ticket, false),
                        at,
                        length,
                        token,
                    )? =>
                    {
                        // Done at once; it still counts as a completion, so that callbacks keep to
                        // the look.
                        self.findings.late.push_back(Token::Transfer(ticket));
                    }
                    _ => {}
                }
            }
        }
        if way == TransferKind::In {
            let blocks = [PacketAnnounced { bytes, ticket }];
            own(
                bridge,
                peer,
                &PacketFrame { verb: Verb::Get, number: 0, word: remote, blocks: &blocks, pieces: &[] },
            );
        } else {
            count(&bridge.counts.block_bytes, bytes);
        }
        Ok(())
    }

    /// A piece of a transfer begun here has completed.
    pub(super) fn transferred(&mut self, bridge: &Bridge, ticket: u32) -> Result<(), Broken> {
        let mut slots = lock(&bridge.slots);
        let Some(transfer) = slots.get(ticket) else {
            return Err(Broken("a transfer completes twice".into()));
        };
        transfer.left -= 1;
        if transfer.left == 0 && transfer.way == TransferKind::In && transfer.verdict.is_none() {
            transfer.verdict = Some(code::OK);
        }
        drop(slots);
        self.finish(bridge, ticket)
    }

    /// The other rank says how a transfer has ended there.
    pub(super) fn notified(
        &mut self,
        bridge: &Bridge,
        source: u32,
        frame: &Received<'_>,
    ) -> Result<(), Broken> {
        let ticket = frame.word as u32;
        let mut slots = lock(&bridge.slots);
        let transfer = slots.get(ticket).filter(|t| t.peer == source).ok_or_else(|| unknown(source))?;
        transfer.verdict = Some(if frame.number == 0 { code::OK } else { code::REFUSED });
        let cancel = transfer.way == TransferKind::In && transfer.left > 0;
        drop(slots);
        if cancel {
            self.fabric.cancel(Token::Transfer(ticket).pack())?;
        }
        self.finish(bridge, ticket)
    }

    /// Ends a transfer if nothing is left of it, tells the caller, and starts the next with that
    /// rank.
    fn finish(&mut self, bridge: &Bridge, ticket: u32) -> Result<(), Broken> {
        let mut slots = lock(&bridge.slots);
        let verdict = slots.get(ticket).filter(|t| t.left == 0).and_then(|t| t.verdict);
        let (Some(status), Some(Transfer { peer, done, way, .. })) =
            (verdict, verdict.and_then(|_| slots.remove(ticket)))
        else {
            return Ok(());
        };
        drop(slots);
        if way == TransferKind::OutInline {
            done.notify(status);
            count(&bridge.counts.transfers_ended, 1);
            return Ok(());
        }
        let flow = self.blocks.flows.entry(peer).or_default();
        flow.in_flight -= 1;
        let next = flow.waiting.pop_front();
        if next.is_some() {
            flow.in_flight += 1;
        } else if flow.in_flight == 0 {
            self.blocks.flows.remove(&peer);
        }
        done.notify(status);
        count(&bridge.counts.transfers_ended, 1);
        next.map_or(Ok(()), |ticket| self.issue(bridge, ticket))
    }

    /// Receives a block, or drains one without a destination (`into` is `None`).
    pub(super) fn accept(
        &mut self,
        arrival: Arrival,
        into: Option<*mut u8>,
        done: Done,
    ) -> Result<(), Broken> {
        let left = self.pieces(arrival.bytes);
        let Some(into) = into else {
            let size = self.piece(arrival.bytes, 0).1;
            let drain = Some((vec![0; size].into(), 0));
            let at = self.blocks.incoming.put(Incoming { arrival, done, left, drain });
            return self.drain(at);
        };
        let at = self.blocks.incoming.put(Incoming { arrival, done, left, drain: None });
        for index in 0..left {
            let (start, length) = self.piece(arrival.bytes, index);
            let token = Token::Incoming(at).pack();
            // SAFETY: the caller of `accept` has promised that the block fits at `into`, and that
            // no other thread touches the memory until `done`; or `allow` has agreed to a put
            // there. The piece lies inside the block.
            unsafe {
                let to = into.add(start);
                self.fabric.receive(
                    FabricLane::Blocks,
                    Some(arrival.source),
                    tag(arrival.ticket, false),
                    to,
                    length,
                    token,
                )?;
            }
        }
        Ok(())
    }

    /// Receives the next piece of a block without a destination.
    fn drain(&mut self, at: u32) -> Result<(), Broken> {
        let chunk = self.settings.chunk;
        let Some(Incoming { arrival, drain: Some((buffer, next)), .. }) = self.blocks.incoming.get(at) else {
            return Ok(());
        };
        let length = (arrival.bytes - *next * chunk).min(chunk) as usize;
        *next += 1;
        let (source, ticket, into) = (arrival.source, arrival.ticket, buffer.as_mut_ptr());
        // SAFETY: the buffer has the size of the largest piece, and the piece before has completed.
        unsafe {
            self.fabric.receive(
                FabricLane::Blocks,
                Some(source),
                tag(ticket, false),
                into,
                length,
                Token::Incoming(at).pack(),
            )
        }
    }

    /// A piece of a block has come in.
    pub(super) fn received_piece(&mut self, bridge: &Bridge, at: u32) -> Result<(), Broken> {
        let Some(incoming) = self.blocks.incoming.get(at) else {
            return Err(Broken("a block completes twice".into()));
        };
        incoming.left -= 1;
        if incoming.left > 0 {
            return if incoming.drain.is_some() { self.drain(at) } else { Ok(()) };
        }
        let Some(Incoming { arrival, done, drain, .. }) = self.blocks.incoming.take(at) else {
            return Ok(());
        };
        if drain.is_none() {
            done.notify(code::OK);
        }
        let word = u64::from(arrival.ticket);
        own(bridge, arrival.source, &PacketFrame::plain(Verb::Ended, u16::from(drain.is_some()), word));
        Ok(())
    }

    /// Another rank writes here.
    pub(super) fn put(&mut self, bridge: &Bridge, source: u32, frame: &Received<'_>) -> Result<(), Broken> {
        let block = frame.blocks().next().ok_or_else(|| unknown(source))?;
        let allowed = allows(bridge, source, frame.word, block.bytes, true);
        if frame.number == 0 {
            let arrival = Arrival { bytes: block.bytes, source, ticket: block.ticket };
            let into = allowed.then_some(frame.word as *mut u8);
            return self.accept(arrival, into, Done::NOBODY);
        }
        if allowed {
            // SAFETY: the caller of `put` answers for the address, and `allow` has agreed. The
            // payload lies in a packet, which the address cannot name. For an empty payload any
            // address will do.
            unsafe { (frame.word as *mut u8).copy_from(frame.payload.as_ptr(), frame.payload.len()) };
        }
        own(bridge, source, &PacketFrame::plain(Verb::Ended, u16::from(!allowed), u64::from(block.ticket)));
        Ok(())
    }

    /// Another rank reads here.
    pub(super) fn serve(&mut self, bridge: &Bridge, source: u32, frame: &Received<'_>) -> Result<(), Broken> {
        let block = frame.blocks().next().ok_or_else(|| unknown(source))?;
        let ticket = u64::from(block.ticket);
        if !allows(bridge, source, frame.word, block.bytes, false) {
            own(bridge, source, &PacketFrame::plain(Verb::Ended, 1, ticket));
            return Ok(());
        }
        count(&bridge.counts.block_bytes, block.bytes);
        let from = frame.word as *const u8;
        if block.bytes <= INLINE {
            let data = if block.bytes == 0 {
                &[]
            } else {
                // SAFETY: the caller of `get` answers for the address, and `allow` has agreed.
                unsafe { core::slice::from_raw_parts(from, block.bytes as usize) }
            };
            own(
                bridge,
                source,
                &PacketFrame { verb: Verb::Got, number: 0, word: ticket, blocks: &[], pieces: &[data] },
            );
            return Ok(());
        }
        for index in 0..self.pieces(block.bytes) {
            let (start, length) = self.piece(block.bytes, index);
            let tag = tag(block.ticket, true);
            // SAFETY: as above; the caller keeps the memory as it is until its get is done.
            let done = unsafe {
                self.fabric.send(
                    FabricLane::Blocks,
                    source,
                    tag,
                    from.add(start),
                    length,
                    Token::Served.pack(),
                )?
            };
            self.blocks.serving += u32::from(!done);
        }
        Ok(())
    }

    /// The bytes of a small get are here.
    pub(super) fn got(&mut self, bridge: &Bridge, source: u32, frame: &Received<'_>) -> Result<(), Broken> {
        let ticket = frame.word as u32;
        let mut slots = lock(&bridge.slots);
        let fits = |t: &&mut Transfer| {
            t.peer == source && t.way == TransferKind::In && t.bytes == frame.payload.len() as u64
        };
        let transfer = slots.get(ticket).filter(fits).ok_or_else(|| unknown(source))?;
        // SAFETY: the caller of `get` has promised that this many bytes may be written until
        // `done`.
        unsafe { transfer.local.copy_from(frame.payload.as_ptr(), frame.payload.len()) };
        transfer.verdict = Some(code::OK);
        drop(slots);
        self.finish(bridge, ticket)
    }
}

/// Asks the user whether another rank may touch this memory.
fn allows(bridge: &Bridge, rank: u32, address: u64, bytes: u64, write: bool) -> bool {
    // SAFETY: the function and its argument come from the configuration.
    bridge.config.allow.is_none_or(|allow| unsafe {
        allow(bridge.config.context, rank, address, bytes, i32::from(write)) != 0
    })
}
