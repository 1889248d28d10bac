//! One end of the bridge: what callers touch, from any thread.
//!
//! The data are split by the threads that may access them:
//! * outboxes: a lock each; senders and the engine;
//! * orders and transfers: a lock each; callers and the engine;
//! * counters: atomic;
//! * the engine itself: only the thread inside the [`Gate`].

pub(crate) mod last_line;
mod operations;

use crate::engine::{Engine, EngineOrder};
use crate::fabric::{Broken, Fabric};
use crate::gate::Gate;
use crate::near::reach::Reach;
use crate::packet::{Packet, PacketFrame, UNIT};
use crate::pair::{Outbox, PairLimits};
use crate::progress::Napping;
use crate::slots::TransferSlots;
use crate::table::{BridgeConfig, BridgeCounters, HandlerFn, code};
use std::cell::{Cell, UnsafeCell};
use std::collections::VecDeque;
use std::ffi::{CString, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Handler numbers are below this.
pub const HANDLERS: usize = 1024;
/// Up to this size, put and get carry the bytes in the packet itself.
pub const INLINE: u64 = 2048;
/// Transfers under way before callers are refused.
const MOST_TRANSFERS: usize = 4096;
/// Numbers that tests make small.
#[derive(Clone, Copy, Debug)]
pub struct BridgeSettings {
    /// Sizes of packets and windows.
    pub limits: PairLimits,
    /// A longer block is sent as several MPI messages. Bytes.
    pub chunk: u64,
    /// Transfers to or from one rank at the same time; the others wait.
    pub flights: u32,
    /// Receptions of packets that are begun in advance.
    pub ring: u32,
}

impl BridgeSettings {
    /// What is used with MPI.
    pub fn new(ranks: u32, config: &BridgeConfig) -> Self {
        let limits = PairLimits::new(ranks, config.window, config.queue_kib as usize * 1024);
        Self { limits, chunk: 1 << 30, flights: 16, ring: 8 }
    }
}

/// Who gets messages of a number.
#[derive(Clone, Copy)]
pub(crate) struct BridgeHandler {
    pub(crate) call: HandlerFn,
    pub(crate) context: *mut c_void,
}

// SAFETY: the caller that registers a handler agrees that any thread which makes progress calls it,
// one at a time.
unsafe impl Send for BridgeHandler {}
// SAFETY: as above.
unsafe impl Sync for BridgeHandler {}

const SET_UP: u32 = 0;
const OPEN: u32 = 1;
const DEAD: u32 = 2;

/// A lock on its own cache lines.
#[repr(align(128))]
#[derive(Default)]
struct Padded<T>(T);

/// What waits for one rank.
#[derive(Default)]
struct WaitingMessages {
    outbox: Mutex<Outbox>,
    /// Something does. Stored under the lock.
    any: AtomicBool,
}

/// One end of the bridge. See the module.
pub struct Bridge {
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    pub(crate) settings: BridgeSettings,
    pub(crate) config: BridgeConfig,
    state: AtomicU32,
    outboxes: Box<[Padded<WaitingMessages>]>,
    listed: Mutex<Vec<u32>>,
    any_listed: AtomicBool,
    orders: Mutex<Vec<EngineOrder>>,
    any_orders: AtomicBool,
    pub(crate) slots: Mutex<TransferSlots>,
    pool: Mutex<Vec<Packet>>,
    handlers: OnceLock<Box<[Option<BridgeHandler>]>>,
    preparing: Mutex<Vec<Option<BridgeHandler>>>,
    aborter: fn(),
    gate: Gate,
    engine: UnsafeCell<Engine>,
    pub(crate) counts: BridgeCounts,
    napping: Mutex<Option<Napping>>,
    /// Ranks whose memory is reached without them.
    pub(crate) reach: Reach,
}

// SAFETY: `engine` is only touched by the thread inside `gate` (invariant "one inside"); everything
// else is locked, atomic or written before the bridge is shared. `config` is Sync by its own
// argument.
unsafe impl Sync for Bridge {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for Bridge {}

/// What has happened so far. Only sums; nothing is published through them except where
/// `engine::collective` says so.
#[derive(Default)]
pub(crate) struct BridgeCounts {
    /// Messages that were left in an outbox.
    pub(crate) left: AtomicU64,
    /// Messages that were sent past it, inside the gate.
    pub(crate) at_once: AtomicU64,
    pub(crate) handled: AtomicU64,
    pub(crate) begun: AtomicU64,
    pub(crate) ended: AtomicU64,
    pub(crate) packets_sent: AtomicU64,
    pub(crate) packets_received: AtomicU64,
    pub(crate) credit_packets: AtomicU64,
    pub(crate) block_bytes: AtomicU64,
    pub(crate) busy: AtomicU64,
    pub(crate) polls: AtomicU64,
}

impl BridgeCounts {
    /// Messages sent.
    pub(crate) fn sent(&self) -> u64 {
        // ORDERING: Relaxed, both; as the sums they are.
        self.left.load(Relaxed) + self.at_once.load(Relaxed)
    }
}

/// Adds to a counter.
pub(crate) fn count(counter: &AtomicU64, by: u64) {
    // ORDERING: a sum that others only read as a sum.
    counter.fetch_add(by, Relaxed);
}

/// Adds to a counter that only the thread inside the gate writes: cheaper than [`count`].
pub(crate) fn count_inside(counter: &AtomicU64, by: u64) {
    // ORDERING: Relaxed; one writer at a time, ordered by the gate, and readers want a sum.
    counter.store(counter.load(Relaxed) + by, Relaxed);
}

/// Takes a flag down, and says whether it was up. Only the thread inside the gate does.
fn take_flag(flag: &AtomicBool) -> bool {
    // ORDERING: Relaxed, as where it is set, in `push` and `order`: the gate and the list's lock
    // publish. Taking it down before the list is taken loses nothing: who sets it later has listed
    // later. The load alone is the usual case, and free.
    flag.load(Relaxed) && flag.swap(false, Relaxed)
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

thread_local! {
    /// Whether this thread is inside the engine, and therefore perhaps in a callback.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// The result of an operation: `Err` holds one of the codes.
pub type BridgeAnswer = Result<(), i32>;

impl Bridge {
    /// An end over `fabric`.
    pub fn new(fabric: Box<dyn Fabric>, settings: BridgeSettings, config: BridgeConfig) -> Box<Self> {
        let (rank, ranks) = (fabric.rank(), fabric.ranks());
        // The tag of a block is its ticket doubled, plus one for a get.
        let tickets = (fabric.most_tag() / 2).min(1 << 20);
        Box::new(Self {
            rank,
            ranks,
            settings,
            config,
            state: AtomicU32::new(SET_UP),
            outboxes: (0..ranks).map(|_| Padded::default()).collect(),
            listed: Mutex::default(),
            any_listed: AtomicBool::new(false),
            orders: Mutex::default(),
            any_orders: AtomicBool::new(false),
            slots: Mutex::new(TransferSlots::new(tickets)),
            pool: Mutex::default(),
            handlers: OnceLock::new(),
            preparing: Mutex::new(vec![None; HANDLERS]),
            aborter: fabric.aborter(),
            gate: Gate::default(),
            engine: UnsafeCell::new(Engine::new(fabric, &settings)),
            counts: BridgeCounts::default(),
            napping: Mutex::default(),
            reach: Reach::default(),
        })
    }

    /// This rank.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Most bytes in a message without blocks.
    pub fn most_bytes(&self) -> usize {
        self.settings.limits.packet - 2 * UNIT
    }

    /// Says who gets messages for `number`, before [`Bridge::open`].
    pub fn handle(&self, number: u32, call: HandlerFn, context: *mut c_void) -> BridgeAnswer {
        // ORDERING: Relaxed; `handlers`, taken in `open`, settles races.
        if self.state.load(Relaxed) != SET_UP {
            return Err(code::STATE);
        }
        let mut list = lock(&self.preparing);
        *list.get_mut(number as usize).ok_or(code::ARGUMENT)? = Some(BridgeHandler { call, context });
        Ok(())
    }

    /// Begins to receive, and starts the thread for progress if there is to be one. The bridge must
    /// outlive that thread, which [`Bridge::stop`] ends.
    pub fn open(&self) -> BridgeAnswer {
        let handlers = core::mem::take(&mut *lock(&self.preparing)).into();
        self.handlers.set(handlers).map_err(|_| code::STATE)?;
        let opened = self.inside(|engine| engine.open(self));
        opened.map_err(|why| self.fail(code::MPI, &why.0))?;
        // ORDERING: Release pairs with the Acquire in `is_open`: a thread that sees OPEN sees the
        // handlers.
        let was = self.state.compare_exchange(SET_UP, OPEN, Ordering::Release, Relaxed);
        was.map_err(|_| code::STATE)?;
        if self.config.progress == crate::table::DEDICATED {
            *lock(&self.napping) = Some(Napping::start(self)?);
        }
        Ok(())
    }

    pub(crate) fn is_open(&self) -> bool {
        // ORDERING: Acquire pairs with the Release in `open`.
        self.state.load(Ordering::Acquire) == OPEN
    }

    fn check(&self, rank: u32) -> BridgeAnswer {
        match (self.is_open(), rank < self.ranks) {
            (true, true) => Ok(()),
            (false, _) => Err(code::STATE),
            (true, false) => Err(code::ARGUMENT),
        }
    }

    pub(crate) fn handler(&self, number: u16) -> Option<BridgeHandler> {
        *self.handlers.get()?.get(usize::from(number))?
    }

    /// An empty packet.
    pub(crate) fn fresh(&self) -> Packet {
        lock(&self.pool).pop().unwrap_or_else(|| Packet::new(self.settings.limits.packet))
    }

    /// Gives a packet back.
    pub(crate) fn recycle(&self, mut packet: Packet) {
        packet.clear();
        let mut pool = lock(&self.pool);
        if pool.len() < 256 {
            pool.push(packet);
        }
    }

    /// Puts a frame into the outbox of `to`. `counter` counts it before another thread can see it.
    /// Says whether a packet that takes no more waits there.
    pub(crate) fn push(
        &self,
        to: u32,
        frame: &PacketFrame<'_>,
        must: bool,
        counter: Option<&AtomicU64>,
    ) -> Result<bool, i32> {
        let WaitingMessages { outbox, any } = &self.outboxes[to as usize].0;
        let mut outbox = lock(outbox);
        let Ok(full) = outbox.push(frame, &self.settings.limits, must, || self.fresh()) else {
            count(&self.counts.busy, 1);
            return Err(code::BUSY);
        };
        if let Some(counter) = counter {
            count(counter, 1);
        }
        // ORDERING: Relaxed; `has_nothing_for` says why.
        any.store(true, Relaxed);
        let newly = !core::mem::replace(&mut outbox.listed, true);
        drop(outbox);
        if newly {
            lock(&self.listed).push(to);
            // ORDERING: Relaxed; the list's lock and the gate publish. A look that comes too early
            // is repeated: `request`.
            self.any_listed.store(true, Relaxed);
        }
        Ok(full)
    }

    /// Does no message wait for `to`? The answer takes into account all messages that the calling
    /// thread has left there, and all messages of other threads that it has heard of.
    pub(crate) fn has_nothing_for(&self, to: u32) -> bool {
        // ORDERING: Relaxed; a thread that has left a message, or has heard of one from the thread
        // that left it, reads the value stored for that message, or a newer one. Nothing is read
        // through it.
        !self.outboxes[to as usize].0.any.load(Relaxed)
    }

    /// Takes the next packet for `to` out, and says whether more wait; with none left the outbox is
    /// unlisted.
    pub(crate) fn pop(&self, to: u32) -> (Option<Packet>, bool) {
        let WaitingMessages { outbox, any } = &self.outboxes[to as usize].0;
        let mut outbox = lock(outbox);
        let packet = outbox.pop();
        outbox.listed = !outbox.is_empty();
        // ORDERING: Relaxed, as in `push`.
        any.store(outbox.listed, Relaxed);
        (packet, outbox.listed)
    }

    /// Bytes that wait here for `rank`.
    pub fn waiting(&self, rank: u32) -> usize {
        self.outboxes.get(rank as usize).map_or(0, |o| lock(&o.0.outbox).bytes())
    }

    /// Ranks for which something waits that the engine has not taken up yet.
    pub(crate) fn take_listed(&self, into: &mut VecDeque<u32>) {
        if take_flag(&self.any_listed) {
            into.extend(lock(&self.listed).drain(..));
        }
    }

    pub(crate) fn take_orders(&self) -> Vec<EngineOrder> {
        if take_flag(&self.any_orders) { core::mem::take(&mut lock(&self.orders)) } else { Vec::new() }
    }

    pub(crate) fn order(&self, order: EngineOrder) {
        lock(&self.orders).push(order);
        // ORDERING: as in `push`.
        self.any_orders.store(true, Relaxed);
    }

    /// Has the engine take up what was brought: by this thread if no thread is inside the gate,
    /// else by the thread inside.
    fn hurry(&self) -> BridgeAnswer {
        if self.gate.request() { self.work(Engine::hurry).map(|_| ()) } else { Ok(()) }
    }

    /// Runs `work` inside the gate, which the caller has entered, and leaves; what is brought
    /// meanwhile is taken up.
    fn work(&self, work: impl FnOnce(&mut Engine, &Self) -> Result<usize, Broken>) -> Result<usize, i32> {
        INSIDE.set(true);
        // SAFETY: this thread is inside the gate (invariant "one inside"), and callbacks get no
        // reference to the engine.
        let engine = unsafe { &mut *self.engine.get() };
        let mut outcome = work(engine, self);
        while outcome.is_ok() && !self.gate.leave() {
            let more = engine.hurry(self);
            outcome = outcome.and_then(|n| more.map(|m| n + m));
        }
        INSIDE.set(false);
        // A broken engine stays locked: no thread enters again.
        outcome.map_err(|why| self.fail(code::MPI, &why.0))
    }

    /// Runs `work` on the engine, waiting for the gate. Only while no callback runs on this thread.
    fn inside<T>(&self, work: impl FnOnce(&mut Engine) -> T) -> T {
        while !self.gate.try_enter() {
            std::thread::yield_now();
        }
        // SAFETY: as in `work`.
        let result = work(unsafe { &mut *self.engine.get() });
        while !self.gate.leave() {}
        result
    }

    /// Whether the caller is in a callback of a bridge.
    fn in_callback() -> bool {
        INSIDE.get()
    }

    /// What has happened so far.
    pub fn counters(&self) -> BridgeCounters {
        let c = &self.counts;
        // ORDERING: Relaxed; sums for people.
        let read = |counter: &AtomicU64| counter.load(Relaxed);
        BridgeCounters {
            messages_sent: c.sent(),
            messages_handled: read(&c.handled),
            packets_sent: read(&c.packets_sent),
            packets_received: read(&c.packets_received),
            credit_packets: read(&c.credit_packets),
            block_bytes_sent: read(&c.block_bytes),
            busy: read(&c.busy),
            polls: read(&c.polls),
            transfers: read(&c.begun).saturating_sub(read(&c.ended)),
        }
    }

    /// Something went wrong that no call can return: tells the user's function, or ends all ranks.
    /// Gives `code`.
    pub(crate) fn fail(&self, code: i32, why: &str) -> i32 {
        // ORDERING: Relaxed; the state alone matters.
        if self.state.swap(DEAD, Relaxed) == DEAD {
            return code;
        }
        match self.config.failed {
            Some(failed) => {
                let text = CString::new(why.replace('\0', " ")).unwrap_or_default();
                // SAFETY: the function and its argument come from the configuration; the text
                // outlives the call.
                unsafe { failed(self.config.context, code, text.as_ptr()) };
            }
            None => self.abort(why),
        }
        code
    }

    /// Prints a line and ends all ranks.
    pub fn abort(&self, why: &str) {
        last_line::say(&format!("rank {}: {why}", self.rank));
        std::thread::sleep(last_line::FORWARDING);
        (self.aborter)();
    }
}
