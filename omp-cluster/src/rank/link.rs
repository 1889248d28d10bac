//! Calls of the bridge, and requests: a message with a ticket, and its answer.
//!
//! Every call is counted while it is inside, so that the end can wait for the last one
//! ([`Cluster::close`]), and is a part of the runtime: MPIs yield the processor in the middle of
//! their work, which must not lead to another thread of the worker. When a rank has too many
//! messages waiting for it, the caller's thread is suspended until there is room; handlers are
//! never refused.

use core::cell::{Cell, RefCell};
use core::ffi::{CStr, c_int, c_void};
use core::ptr;
use core::sync::atomic::Ordering;

use mpi_bridge::table::{Arrival, BridgeBlock, BridgeCounters, BridgeMessage, BridgePiece, DoneFn, code};
use ult::sched::undisturbed;

use super::pending::PendingOutcome;
use super::wire::{WireReader, bytes, verb};
use super::{CLUSTER, Cluster, Peer};
use omp::thread::CurrentThread;
use omp_offload::interface::{DeviceAddress, DeviceFailure, DeviceOperation, Wake};
use omp_offload::transfer;

/// Flag of [`Cluster::post`]: more follows soon.
pub const MORE: u32 = mpi_bridge::table::MORE;

/// The ticket of what is over when it has begun.
const DONE: u64 = DeviceOperation::DONE.0;

/// Bytes that are copied at once between memory here and that of a rank of this machine: a
/// millisecond.
const PART: usize = 4 << 20;

/// A call of the bridge that is under way.
struct BridgeCall<'a>(&'a Cluster);

impl Drop for BridgeCall<'_> {
    fn drop(&mut self) {
        // ORDERING: Release, pairs with the Acquire in `close`: the call is over.
        self.0.inside.fetch_sub(1, Ordering::Release);
    }
}

fn parted() -> DeviceFailure {
    DeviceFailure("the ranks have parted".into())
}

impl Cluster {
    fn enter(&self) -> Option<BridgeCall<'_>> {
        // ORDERING: SeqCst, as in `close`: one of both sees the other.
        self.inside.fetch_add(1, Ordering::SeqCst);
        let inside = BridgeCall(self);
        // ORDERING: as above.
        (!self.closed.load(Ordering::SeqCst)).then_some(inside)
    }

    /// Lets no call into the bridge any more, and waits for the calls inside.
    pub(super) fn close(&self) {
        // ORDERING: SeqCst, see `enter`.
        self.closed.store(true, Ordering::SeqCst);
        // ORDERING: SeqCst, see `enter`; also acquires what the calls have done.
        while self.inside.load(Ordering::SeqCst) != 0 {
            std::thread::yield_now();
        }
    }

    pub(super) fn peer(&self, rank: u32) -> &Peer {
        &self.peers[rank as usize]
    }

    /// Looks after messages, if no other thread does.
    pub fn progress(&self) {
        if let Some(_inside) = self.enter() {
            // SAFETY: the bridge is open.
            undisturbed(|| unsafe { (self.table.progress)(self.bridge) });
        }
    }

    /// Messages sent, messages handled, operations with memory that are under way.
    pub fn traffic(&self) -> (u64, u64, u64) {
        let mut counters = BridgeCounters::default();
        if let Some(_inside) = self.enter() {
            // SAFETY: the bridge is open; a valid out pointer.
            unsafe { (self.table.reports.counters)(self.bridge, &raw mut counters) };
        }
        (counters.messages_sent, counters.messages_handled, counters.transfers)
    }

    /// A call of the bridge's, again and again while it says that it is busy. Handlers, which are
    /// never refused, come here too, on whichever kernel thread; only who may wait does.
    fn until_accepted(&self, call: &dyn Fn() -> c_int) -> Result<(), DeviceFailure> {
        let Some(inside) = self.enter() else { return Err(parted()) };
        let mut result = undisturbed(call);
        drop(inside);
        if result == code::BUSY {
            result = self.again_until_free(call);
        }
        if result == code::OK { Ok(()) } else { Err(self.failure(result)) }
    }

    /// Other threads of the worker go on meanwhile. A kernel thread that has not met OpenMP (that
    /// of the checks) does not become an initial thread by this.
    fn again_until_free(&self, call: &dyn Fn() -> c_int) -> c_int {
        let last = Cell::new(code::BUSY);
        let is_free = || {
            if last.get() == code::BUSY {
                self.progress();
                last.set(if let Some(_inside) = self.enter() { undisturbed(call) } else { code::STATE });
            }
            last.get() != code::BUSY
        };
        match CurrentThread::if_known() {
            Some(here) => here.team().wait_polling(&is_free),
            None => {
                while !is_free() {
                    std::thread::yield_now();
                }
            }
        }
        last.get()
    }

    fn failure(&self, code: c_int) -> DeviceFailure {
        // SAFETY: the function answers every code with a constant string.
        let text = unsafe { CStr::from_ptr((self.table.reports.error_text)(code)) };
        DeviceFailure(text.to_string_lossy().into_owned().into())
    }

    /// Sends a message.
    ///
    /// # Errors
    /// The bridge's.
    pub fn post(
        &self,
        to: u32,
        verb: u32,
        words: &[u64],
        tail: &[u8],
        flags: u32,
    ) -> Result<(), DeviceFailure> {
        self.post_pieces(to, verb, &[bytes(words), tail], flags)
    }

    fn post_pieces<const N: usize>(
        &self,
        to: u32,
        verb: u32,
        pieces: &[&[u8]; N],
        flags: u32,
    ) -> Result<(), DeviceFailure> {
        let pieces = pieces.map(|b| BridgePiece { bytes: b.as_ptr().cast(), length: b.len() as u64 });
        // SAFETY: the bridge is open, and copies the pieces.
        let send = || unsafe {
            (self.table.traffic.send)(self.bridge, to, verb, pieces.as_ptr(), N as u32, ptr::null(), 0, flags)
        };
        self.until_accepted(&send)
    }

    /// Sends a message with a block beside it.
    ///
    /// # Errors
    /// The bridge's; then nothing was begun.
    /// # Safety
    /// The block's bytes stay as they are until its `done` is called.
    pub unsafe fn post_block(
        &self,
        to: u32,
        verb: u32,
        words: &[u64],
        block: &BridgeBlock,
    ) -> Result<(), DeviceFailure> {
        let head = bytes(words);
        let piece = BridgePiece { bytes: head.as_ptr().cast(), length: head.len() as u64 };
        // SAFETY: the bridge is open, and copies the piece; the block as the caller says.
        let send =
            || unsafe { (self.table.traffic.send)(self.bridge, to, verb, &raw const piece, 1, block, 1, 0) };
        self.until_accepted(&send)
    }

    /// Takes a block that came beside a message; `done(context)` when it is there. Called in the
    /// message's handler, which cannot wait: if more is under way than there are numbers for, that
    /// is an error.
    ///
    /// # Errors
    /// The bridge's; then nothing was begun.
    /// # Safety
    /// As many bytes as the block has may be written at `into` until `done` is called.
    pub unsafe fn accept(
        &self,
        block: &Arrival,
        into: *mut u8,
        done: DoneFn,
        context: *mut c_void,
    ) -> Result<(), DeviceFailure> {
        // SAFETY: as the caller says.
        let accept =
            || unsafe { (self.table.traffic.accept)(self.bridge, block, into.cast(), Some(done), context) };
        let Some(_inside) = self.enter() else { return Err(parted()) };
        match undisturbed(accept) {
            code::OK => Ok(()),
            other => Err(self.failure(other)),
        }
    }

    /// Sends a request: `words` and `tail` behind its ticket, which is returned.
    ///
    /// # Errors
    /// The bridge's.
    pub fn request(&self, to: u32, verb: u32, words: &[u64], tail: &[u8]) -> Result<u64, DeviceFailure> {
        let ticket = self.pending.begin();
        match self.post_pieces(to, verb, &[bytes(&[ticket]), bytes(words), tail], 0) {
            Ok(()) => Ok(ticket),
            Err(why) => {
                self.pending.end(ticket, Ok(0));
                self.pending.take(ticket);
                Err(why)
            }
        }
    }

    /// The outcome, after a look at what has come.
    pub fn outcome(&self, ticket: u64) -> Option<PendingOutcome> {
        self.progress();
        self.pending.take(ticket)
    }

    /// Promises to call `wake` if a thread of the bridge makes progress here; false if none does.
    pub fn wake_on(&self, ticket: u64, wake: Wake) -> bool {
        if self.dedicated {
            self.pending.wake_on(ticket, wake);
        }
        self.dedicated
    }

    /// Asks, and waits for the answer's word.
    ///
    /// # Errors
    /// What the other rank says.
    pub fn ask(&self, to: u32, verb: u32, words: &[u64], tail: &[u8]) -> PendingOutcome {
        let ticket = self.request(to, verb, words, tail)?;
        self.await_outcome(ticket)
    }

    /// Waits for the outcome of an operation that was begun. The calling task is suspended.
    ///
    /// # Errors
    /// What the other rank, or the bridge, says.
    pub fn await_outcome(&self, ticket: u64) -> PendingOutcome {
        let outcome = RefCell::new(None);
        let ready = || {
            let mut outcome = outcome.borrow_mut();
            if outcome.is_none() {
                *outcome = self.outcome(ticket);
            }
            outcome.is_some()
        };
        transfer::wait(&ready, &|wake| self.wake_on(ticket, wake));
        outcome.into_inner().unwrap_or(Ok(0))
    }

    /// Copies between memory here and memory of a rank of this machine, now. `false`: not this way.
    /// What was sent to the rank before need not have been handled there, so writes and wipes
    /// that are not known to be made are waited for by a copy in the order of messages.
    ///
    /// # Safety
    /// Both are that large, and the callers'.
    unsafe fn copies_now(
        &self,
        rank: u32,
        here: *mut u8,
        there: DeviceAddress,
        size: usize,
        writes: bool,
    ) -> bool {
        if super::remote::unknown(self, rank).is_some() {
            return false;
        }
        let Some(_inside) = self.enter() else { return false };
        // In parts, between which the stall monitor may let others go on.
        (0..size).step_by(PART).all(|at| {
            let (here, there, size) =
                (here.wrapping_add(at).cast(), (there + at) as u64, PART.min(size - at) as u64);
            // SAFETY: the bridge is open; the memory as the caller says.
            undisturbed(|| unsafe {
                (self.table.traffic.copy)(self.bridge, rank, here, there, size, writes.into())
            }) == code::OK
        })
    }

    /// Begins a large copy to another rank.
    ///
    /// # Errors
    /// The bridge's.
    /// # Safety
    /// `from` stays as it is until the operation is over, and `to` is that rank's memory.
    pub unsafe fn put(
        &self,
        rank: u32,
        to: DeviceAddress,
        from: *const u8,
        size: usize,
    ) -> Result<u64, DeviceFailure> {
        // SAFETY: as the caller says; it is only read here.
        if unsafe { self.copies_now(rank, from.cast_mut(), to, size, true) } {
            return Ok(DONE);
        }
        let ticket = self.pending.begin();
        let flying = &self.peer(rank).flying;
        super::remote::lock(flying).push((ticket, to..to + size));
        let context = context(rank, ticket);
        // SAFETY: as the caller says.
        let put = || unsafe {
            (self.table.traffic.put)(
                self.bridge,
                rank,
                from.cast(),
                to as u64,
                size as u64,
                Some(done),
                context,
            )
        };
        match self.until_accepted(&put) {
            Ok(()) => Ok(ticket),
            Err(why) => {
                super::remote::lock(flying).retain(|(t, _)| *t != ticket);
                self.give_up(ticket);
                Err(why)
            }
        }
    }

    /// Begins to fetch memory of another rank.
    ///
    /// # Errors
    /// The bridge's.
    /// # Safety
    /// `to` stays valid until the operation is over, and `from` is that rank's memory.
    pub unsafe fn get(
        &self,
        rank: u32,
        to: *mut u8,
        from: DeviceAddress,
        size: usize,
    ) -> Result<u64, DeviceFailure> {
        // SAFETY: as the caller says.
        if unsafe { self.copies_now(rank, to, from, size, false) } {
            return Ok(DONE);
        }
        let ticket = self.pending.begin();
        let context = context(rank, ticket);
        // SAFETY: as the caller says.
        let get = || unsafe {
            (self.table.traffic.get)(
                self.bridge,
                rank,
                to.cast(),
                from as u64,
                size as u64,
                Some(done),
                context,
            )
        };
        self.until_accepted(&get).map(|()| ticket).inspect_err(|_| self.give_up(ticket))
    }

    /// Fetches memory of another rank for a third one, and waits for it.
    ///
    /// # Errors
    /// The bridge's.
    /// # Safety
    /// Both are that large, ours and that rank's, and no other thread uses ours.
    pub(super) unsafe fn fetch(
        &self,
        rank: u32,
        to: DeviceAddress,
        from: DeviceAddress,
        size: usize,
    ) -> PendingOutcome {
        // ORDERING: Relaxed; a sum.
        self.counts.across.fetch_add(size as u64, Ordering::Relaxed);
        // SAFETY: as the caller says.
        let ticket = unsafe { self.get(rank, to as *mut u8, from, size) }?;
        self.await_outcome(ticket)
    }

    fn give_up(&self, ticket: u64) {
        self.pending.end(ticket, Ok(0));
        self.pending.take(ticket);
    }
}

/// Bits of a rank's number in a context.
const RANK_BITS: u32 = 16;
/// The most ranks there can be.
pub const MOST_RANKS: u32 = 1 << RANK_BITS;

fn context(rank: u32, ticket: u64) -> *mut c_void {
    ptr::without_provenance_mut((ticket << RANK_BITS | u64::from(rank)) as usize)
}

/// A put or a get has ended.
unsafe extern "C" fn done(context: *mut c_void, status: c_int) {
    let Some(cluster) = CLUSTER.get() else { return };
    let (rank, ticket) = (context.addr() as u64 % u64::from(MOST_RANKS), context.addr() as u64 >> RANK_BITS);
    super::remote::lock(&cluster.peer(rank as u32).flying).retain(|(t, _)| *t != ticket);
    cluster.pending.end(ticket, if status == code::OK { Ok(0) } else { Err(cluster.failure(status)) });
}

/// [`verb::ANSWER`].
pub(super) unsafe extern "C" fn answered(_: *mut c_void, message: *const BridgeMessage) {
    let Some(cluster) = CLUSTER.get() else { return };
    // SAFETY: the bridge's message.
    let (mut reader, source) = unsafe { opened(message) };
    let (ticket, failed, word, writes) = (reader.word(), reader.word(), reader.word(), reader.word());
    let known = &cluster.peer(source).known;
    // ORDERING: Relaxed, both; a number that only grows.
    if known.load(Ordering::Relaxed) < writes {
        // ORDERING: as above.
        known.fetch_max(writes, Ordering::Relaxed);
    }
    let outcome = match failed {
        0 => {
            // SAFETY: the launch has sent the address of this room, which stays until the operation
            // is over.
            unsafe { ptr::copy_nonoverlapping(reader.0.as_ptr(), word as usize as *mut u8, reader.0.len()) };
            Ok(word)
        }
        _ => Err(DeviceFailure(String::from_utf8_lossy(reader.0).into_owned().into())),
    };
    cluster.pending.end(ticket, outcome);
}

/// The bytes of a message, and who sent it.
///
/// # Safety
/// The bridge's message, during its handler.
pub unsafe fn opened<'a>(message: *const BridgeMessage) -> (WireReader<'a>, u32) {
    // SAFETY: as the caller says.
    let message = unsafe { &*message };
    if message.length == 0 {
        return (WireReader(&[]), message.source);
    }
    // SAFETY: as above.
    let bytes = unsafe { core::slice::from_raw_parts(message.bytes.cast::<u8>(), message.length as usize) };
    (WireReader(bytes), message.source)
}

/// The blocks beside a message.
///
/// # Safety
/// As [`opened`].
pub unsafe fn blocks<'a>(message: *const BridgeMessage) -> &'a [Arrival] {
    // SAFETY: as the caller says.
    let message = unsafe { &*message };
    if message.block_count == 0 {
        return &[];
    }
    // SAFETY: as above.
    unsafe { core::slice::from_raw_parts(message.blocks, message.block_count as usize) }
}

impl Cluster {
    /// Answers a request; `bytes` go to the address that the outcome is.
    pub(super) fn answer(&self, to: u32, ticket: u64, outcome: PendingOutcome, bytes: &[u8]) {
        // ORDERING: Acquire, pairs with the Release of `serve::written`.
        let handled = self.peer(to).handled.load(Ordering::Acquire);
        let sent = match outcome {
            Ok(word) => self.post(to, verb::ANSWER, &[ticket, 0, word, handled], bytes, 0),
            Err(why) => self.post(to, verb::ANSWER, &[ticket, 1, 0, handled], why.0.as_bytes(), 0),
        };
        // A bridge that fails has ended all ranks, or is about to.
        drop(sent);
    }
}
