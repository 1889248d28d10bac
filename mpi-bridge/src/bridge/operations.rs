//! What callers can ask for: messages, transfers, collective operations, looks, the end.
//!
//! Each operation is brought to the engine and taken up by the thread that is inside the gate. What
//! may not live here: waiting for the engine, except in `wait` and `finish`.

use super::{Bridge, BridgeAnswer, DEAD, HANDLERS, INLINE, MOST_TRANSFERS, count, lock};
use crate::engine::{Engine, EngineOrder};
use crate::packet::{MOST_BLOCKS, PacketAnnounced, PacketFrame, UNIT, Verb};
use crate::slots::{Transfer, TransferKind};
use crate::table::{Arrival, BridgeBlock, Done, IdleFn, code};
use crate::wave::WaveOperation;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering, Ordering::Relaxed};

impl Bridge {
    /// Sends a message; see the header.
    ///
    /// # Safety
    /// The blocks' memory stays readable and unchanged until they are done.
    pub unsafe fn send(
        &self,
        to: u32,
        handler: u32,
        pieces: &[&[u8]],
        blocks: &[BridgeBlock],
        flags: u32,
    ) -> BridgeAnswer {
        self.check(to)?;
        let number =
            u16::try_from(handler).ok().filter(|n| usize::from(*n) < HANDLERS).ok_or(code::ARGUMENT)?;
        if blocks.len() > MOST_BLOCKS {
            return Err(code::TOO_LARGE);
        }
        let size: usize = pieces.iter().map(|p| p.len()).sum::<usize>() + blocks.len() * UNIT;
        if size > self.most_bytes() {
            return Err(code::TOO_LARGE);
        }
        let full = if blocks.is_empty() {
            let frame = PacketFrame { verb: Verb::Message, number, word: 0, blocks: &[], pieces };
            if flags & crate::table::MORE == 0
                && let Some(answer) = self.send_at_once(to, &frame)
            {
                return answer;
            }
            self.push(to, &frame, Self::in_callback(), Some(&self.counts.left))?
        } else {
            self.send_blocks(to, number, pieces, blocks)?
        };
        if full || flags & crate::table::MORE == 0 { self.hurry() } else { Ok(()) }
    }

    /// Sends a message if no thread is inside the gate. The message goes past the outbox if nothing
    /// waits there and a credit is left; otherwise it is put there. `None`: nothing was done,
    /// because a thread is inside the gate, or the caller is in a callback.
    fn send_at_once(&self, to: u32, frame: &PacketFrame<'_>) -> Option<BridgeAnswer> {
        if Self::in_callback() {
            return None;
        }
        let entered = self.engine.try_enter()?;
        let mut answer = Ok(());
        let outcome = self.work(entered, |engine, bridge| {
            if engine.send_at_once(bridge, to, frame)? {
                return Ok(1);
            }
            answer = self.push(to, frame, false, Some(&self.counts.left)).map(|_| ());
            if answer.is_ok() { engine.hurry(bridge) } else { Ok(0) }
        });
        Some(outcome.and(answer))
    }

    fn send_blocks(
        &self,
        to: u32,
        number: u16,
        pieces: &[&[u8]],
        blocks: &[BridgeBlock],
    ) -> Result<bool, i32> {
        let mut announced = Vec::with_capacity(blocks.len());
        for block in blocks {
            let done = Done { call: block.done, context: block.context };
            let Ok(ticket) =
                self.begin(to, TransferKind::Out, block.from.cast_mut().cast(), block.bytes, 0, done)
            else {
                self.give_up(&announced);
                return Err(code::BUSY);
            };
            announced.push(PacketAnnounced { bytes: block.bytes, ticket });
        }
        let frame = PacketFrame { verb: Verb::Message, number, word: 0, blocks: &announced, pieces };
        let pushed = self.push(to, &frame, Self::in_callback(), Some(&self.counts.left));
        match pushed {
            Ok(_) => announced.iter().for_each(|a| self.order(EngineOrder::Start(a.ticket))),
            Err(_) => self.give_up(&announced),
        }
        pushed
    }

    /// A ticket for a new transfer, counted as begun.
    fn begin(
        &self,
        peer: u32,
        way: TransferKind,
        local: *mut u8,
        bytes: u64,
        remote: u64,
        done: Done,
    ) -> Result<u32, i32> {
        let mut slots = lock(&self.slots);
        let transfer = Transfer { peer, way, local, bytes, remote, done, left: 0, verdict: None };
        let ticket =
            if slots.count() < MOST_TRANSFERS || Self::in_callback() { slots.take(transfer) } else { None };
        drop(slots);
        match ticket {
            Some(_) => count(&self.counts.transfers_begun, 1),
            None => count(&self.counts.busy, 1),
        }
        ticket.ok_or(code::BUSY)
    }

    /// Takes back transfers of which neither the engine nor the other rank has heard.
    fn give_up(&self, announced: &[PacketAnnounced]) {
        let mut slots = lock(&self.slots);
        for a in announced {
            slots.remove(a.ticket);
            count(&self.counts.transfers_ended, 1);
        }
    }

    /// Writes memory of another rank; see the header.
    ///
    /// # Safety
    /// `bytes` at `from` stay readable and unchanged until `done`, and `bytes` at `address` of rank
    /// `to` may be written.
    pub unsafe fn put(&self, to: u32, from: *const u8, address: u64, bytes: u64, done: Done) -> BridgeAnswer {
        self.check(to)?;
        let inline = bytes <= INLINE;
        let way = if inline { TransferKind::OutInline } else { TransferKind::Out };
        let ticket = self.begin(to, way, from.cast_mut(), bytes, address, done)?;
        let announced = [PacketAnnounced { bytes, ticket }];
        let data = if inline && bytes > 0 {
            // SAFETY: the caller promises that the bytes are readable. An empty slice may have any
            // pointer but null.
            unsafe { core::slice::from_raw_parts(from, bytes as usize) }
        } else {
            &[]
        };
        let frame = PacketFrame {
            verb: Verb::Put,
            number: u16::from(inline),
            word: address,
            blocks: &announced,
            pieces: &[data],
        };
        if let Err(busy) = self.push(to, &frame, Self::in_callback(), None) {
            self.give_up(&announced);
            return Err(busy);
        }
        if inline {
            count(&self.counts.block_bytes, bytes);
        } else {
            self.order(EngineOrder::Start(ticket));
        }
        self.hurry()
    }

    /// Reads memory of another rank; see the header.
    ///
    /// # Safety
    /// `bytes` at `into` may be written, by this bridge alone, until `done`; `bytes` at `address`
    /// of rank `from` are readable.
    pub unsafe fn get(&self, from: u32, into: *mut u8, address: u64, bytes: u64, done: Done) -> BridgeAnswer {
        self.check(from)?;
        let ticket = self.begin(from, TransferKind::In, into, bytes, address, done)?;
        self.order(EngineOrder::Start(ticket));
        self.hurry()
    }

    /// Copies from or to memory of another rank, now; see the header.
    ///
    /// # Safety
    /// `bytes` at `here` are the caller's, to read or (unless it `writes`) to write; no other
    /// thread uses those at `there`, memory of `rank`.
    pub unsafe fn copy(
        &self,
        rank: u32,
        here: *mut u8,
        there: u64,
        bytes: u64,
        writes: bool,
    ) -> BridgeAnswer {
        self.check(rank)?;
        // SAFETY: as the caller says.
        if self.config.allow.is_some() || !unsafe { self.reach.copy(rank, here, there, bytes, writes) } {
            return Err(code::REFUSED);
        }
        count(&self.counts.block_bytes, if writes { bytes } else { 0 });
        Ok(())
    }

    /// Takes a block; see the header.
    ///
    /// # Safety
    /// As many bytes as the block has may be written at `into`, by this bridge alone, until `done`.
    pub unsafe fn accept(&self, arrival: Arrival, into: *mut u8, done: Done) -> BridgeAnswer {
        self.check(arrival.source)?;
        self.order(EngineOrder::Accept { arrival, into: Some(into), done });
        self.hurry()
    }

    /// Does not take a block.
    pub fn refuse(&self, arrival: Arrival) -> BridgeAnswer {
        self.check(arrival.source)?;
        self.order(EngineOrder::Accept { arrival, into: None, done: Done::NOBODY });
        self.hurry()
    }

    /// Sends what was kept because of `MORE`.
    pub fn flush(&self) -> BridgeAnswer {
        self.check(0)?;
        self.hurry()
    }

    /// One look; see the header. In a callback it does nothing.
    pub fn progress(&self) -> Result<usize, i32> {
        self.check(0)?;
        self.engine.try_enter().map_or(Ok(0), |entered| self.work(entered, Engine::look))
    }

    /// Begins a collective operation.
    pub fn collective(
        &self,
        operation: WaveOperation,
        idle: Option<(IdleFn, *mut c_void)>,
        done: Done,
    ) -> BridgeAnswer {
        self.check(0)?;
        self.order(EngineOrder::collective(operation, idle, done));
        self.hurry()
    }

    /// Begins a collective operation and makes progress until it has ended. Not in a callback.
    pub fn wait(&self, operation: WaveOperation, idle: Option<(IdleFn, *mut c_void)>) -> BridgeAnswer {
        unsafe extern "C" fn mark(context: *mut c_void, status: i32) {
            // SAFETY: the context is `ended` below, which is freed after this was called, or never.
            let ended = unsafe { &*context.cast::<AtomicU32>() };
            // ORDERING: Release pairs with the Acquire load below.
            ended.store(1 + u32::from(status != code::OK), Ordering::Release);
        }
        if Self::in_callback() {
            return Err(code::STATE);
        }
        // Never freed if the bridge dies: another thread may still be about to write it.
        let ended = Box::into_raw(Box::new(AtomicU32::new(0)));
        let context = ended.cast();
        // SAFETY: allocated above, freed below.
        let seen = unsafe { &*ended };
        self.collective(operation, idle, Done { call: Some(mark), context })?;
        let mut poll_policy = crate::progress::PollPolicy::default();
        // ORDERING: Acquire pairs with the Release in `mark`.
        while seen.load(Ordering::Acquire) == 0 {
            poll_policy.after(self.progress()?);
        }
        // ORDERING: Relaxed; read before.
        let fine = seen.load(Relaxed) == 1;
        // SAFETY: `mark` was called, which is the last use, and there was one allocation.
        drop(unsafe { Box::from_raw(ended) });
        if fine { Ok(()) } else { Err(code::PROTOCOL) }
    }

    /// Ends the thread for progress.
    pub fn stop(&self) {
        let napping = lock(&self.napping).take();
        if let Some(napping) = napping {
            napping.end();
        }
    }

    /// Waits until nothing is under way anywhere, and takes the bridge down. Collective. Not in a
    /// callback.
    pub fn finish(&self) -> BridgeAnswer {
        // ORDERING: Relaxed; no other call is under way (the header's rule).
        if self.state.load(Relaxed) == DEAD || Self::in_callback() {
            return Err(code::STATE);
        }
        let opened = self.is_open();
        if opened {
            self.wait(WaveOperation::Quiet, None)?;
        }
        self.stop();
        // ORDERING: Relaxed; no other call is under way (the header's rule).
        self.state.store(DEAD, Relaxed);
        let closed = self.engine.wait_and_work(|engine| engine.close(self, opened));
        closed.map_err(|why| self.fail(code::MPI, &why.0))
    }
}
