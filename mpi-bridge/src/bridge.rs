//! One end of the bridge: what callers touch, from any thread.
//!
//! The data are split by the threads that may access them:
//! * outboxes: a lock each; senders and the engine;
//! * orders, transfers and spare packets (`pool`): a lock each; callers and the engine;
//! * the thread for progress (`napping`): a lock; the callers of `open` and `stop`;
//! * counters: atomic;
//! * handlers: written before the bridge is open;
//! * configuration, settings and `reach`: written before threads share the bridge;
//! * the engine itself: only the thread inside the [`Gate`](crate::gate::Gate).

mod counts;
mod gated;
pub(crate) mod last_line;
mod lists;
mod operations;
mod outboxes;

pub(crate) use counts::{BridgeCounts, count, count_inside};
pub(crate) use lists::lock;

use crate::engine::{Engine, EngineOrder};
use crate::fabric::{Broken, Fabric};
use crate::near::reach::Reach;
use crate::packet::{Packet, PacketFrame, UNIT};
use crate::pair::{Full, PairLimits};
use crate::progress::Napping;
use crate::slots::TransferSlots;
use crate::table::{BridgeConfig, BridgeCounters, HandlerFn, code};
use gated::{Entered, Gated};
use lists::{FlaggedList, PreparedTable};
use outboxes::Outboxes;
use std::collections::VecDeque;
use std::ffi::{CString, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, Ordering::Relaxed};

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
    /// The most transfers to or from one rank at the same time; the others wait.
    pub most_in_flight: u32,
    /// Receptions of packets that are begun in advance.
    pub posted_receives: u32,
}

impl BridgeSettings {
    /// What is used with MPI.
    pub fn new(ranks: u32, config: &BridgeConfig) -> Self {
        let limits = PairLimits::new(ranks, config.window, config.queue_kib as usize * 1024);
        Self { limits, chunk: 1 << 30, most_in_flight: 16, posted_receives: 8 }
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

/// One end of the bridge. See the module.
pub struct Bridge {
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    pub(crate) settings: BridgeSettings,
    pub(crate) config: BridgeConfig,
    state: AtomicU32,
    outboxes: Outboxes,
    orders: FlaggedList<EngineOrder>,
    pub(crate) slots: Mutex<TransferSlots>,
    pool: Mutex<Vec<Packet>>,
    handlers: PreparedTable<BridgeHandler>,
    aborter: fn(),
    engine: Gated<Engine>,
    pub(crate) counts: BridgeCounts,
    napping: Mutex<Option<Napping>>,
    /// Direct copies to and from ranks of this machine.
    pub(crate) reach: Reach,
}

// Any thread may call the bridge: what is neither locked nor atomic is written before it is shared.
const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<Bridge>();
};

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
            outboxes: Outboxes::new(ranks),
            orders: FlaggedList::default(),
            slots: Mutex::new(TransferSlots::new(tickets)),
            pool: Mutex::default(),
            handlers: PreparedTable::new(HANDLERS),
            aborter: fabric.aborter(),
            engine: Gated::new(Engine::new(fabric, &settings)),
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
        self.handlers.prepare(number as usize, BridgeHandler { call, context }).ok_or(code::ARGUMENT)
    }

    /// Begins to receive, and starts the thread for progress if there is to be one. The bridge must
    /// outlive that thread, which [`Bridge::stop`] ends.
    pub fn open(&self) -> BridgeAnswer {
        self.handlers.finish().ok_or(code::STATE)?;
        let opened = self.engine.wait_and_work(|engine| engine.open(self));
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
        self.handlers.get(usize::from(number))
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
    /// Returns true if a full packet is waiting there.
    pub(crate) fn push(
        &self,
        to: u32,
        frame: &PacketFrame<'_>,
        must: bool,
        counter: Option<&AtomicU64>,
    ) -> Result<bool, i32> {
        let pushed = self.outboxes.push(to, frame, &self.settings.limits, must, counter, || self.fresh());
        pushed.map_err(|Full| {
            count(&self.counts.busy, 1);
            code::BUSY
        })
    }

    /// Does no message wait for `to`? The answer includes the messages that the calling thread has
    /// put there. It includes those of another thread if their `push` happened before this call.
    pub(crate) fn has_nothing_for(&self, to: u32) -> bool {
        self.outboxes.has_nothing_for(to)
    }

    /// Takes the next packet for `to` out, and says whether more wait; with none left the outbox is
    /// unlisted.
    pub(crate) fn pop(&self, to: u32) -> (Option<Packet>, bool) {
        self.outboxes.pop(to)
    }

    /// Bytes that wait here for `rank`.
    pub fn waiting(&self, rank: u32) -> usize {
        self.outboxes.waiting(rank)
    }

    /// Ranks for which something waits that the engine has not taken up yet.
    pub(crate) fn take_listed(&self, into: &mut VecDeque<u32>) {
        self.outboxes.take_listed(into);
    }

    pub(crate) fn take_orders(&self) -> Vec<EngineOrder> {
        self.orders.take()
    }

    pub(crate) fn order(&self, order: EngineOrder) {
        self.orders.put(order);
    }

    /// Has the engine take up what was brought: by this thread if no thread is inside the gate,
    /// else by the thread inside.
    fn hurry(&self) -> BridgeAnswer {
        let entered = self.engine.request();
        entered.map_or(Ok(()), |entered| self.work(entered, Engine::hurry).map(|_| ()))
    }

    /// Runs `work` inside the gate, which the caller has entered, and leaves; what is brought
    /// meanwhile is taken up.
    fn work(
        &self,
        entered: Entered<'_, Engine>,
        work: impl FnOnce(&mut Engine, &Self) -> Result<usize, Broken>,
    ) -> Result<usize, i32> {
        let outcome = entered.work(|engine| work(engine, self), |engine| engine.hurry(self));
        outcome.map_err(|why| self.fail(code::MPI, &why.0))
    }

    /// Whether the caller is in a callback of a bridge.
    fn in_callback() -> bool {
        gated::is_inside()
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
            transfers: read(&c.transfers_begun).saturating_sub(read(&c.transfers_ended)),
        }
    }

    /// Something went wrong that no call can return: tells the user's function, or ends all ranks.
    /// If the bridge has failed or finished before, only returns. The result is `code`.
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
