//! Workers: one record per kernel thread, the runtime's own and the program's alike.
//!
//! What lives here: the record, in three parts: what anybody may touch ([`Worker`]), what only its
//! kernel thread touches (`WorkerOwn`), and what the running context runs for (`Role`). Fields are
//! declared here alone; each file below works on some of them. What may not: choosing what to run
//! ([`crate::sched`]), starting and stopping our threads ([`crate::pool`]).
//!
//! | file | what lives there |
//! |---|---|
//! | `running` | how a kernel thread finds its record; the running context's words, role and storage |
//! | `mode` | the floating-point mode of each OpenMP thread |
//! | `wake` | waking a worker, or calling it to its scheduler |
//! | `gate` | who may touch the owner's part; standing in for a blocked worker |
//! | `set` | workers to wake together |
//! | `crowd` | whose ULTs run on a worker, and who waits behind it |
//! | `registry` | all records: the table, kernel threads that are not ours, the child of a fork |
//!
//! A record is never freed: whoever publishes work may wake a worker through a pointer read
//! earlier, at any time later, and at worst wakes it for nothing. Records of program threads that
//! ended are used again.

use core::cell::UnsafeCell;
use core::mem::offset_of;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::OnceLock;

use crate::debug::DebugEntry;
use crate::deque::Deque;
use crate::gang::GangTag;
use crate::gang::deque::GangDeque;
use crate::park::Parker;
use crate::sched::{Parcel, RunnerTask, SOUGHT_COUNTERS, SuspendedContexts, Urgency};
use crate::spawn::UltStart;
use crate::stall::Watched;
use crate::sync::CachePadded;
use crate::tls_block::TlsBlock;
use crate::topology::distance::CpuSite;
use crate::ult::Ult;
use crate::victim::{self, Selector};

mod crowd;
mod gate;
mod mode;
mod registry;
mod running;
mod set;
mod wake;

pub(crate) use mode::{ThreadMode, begin_mode, end_mode, switch_mode};
pub use set::WorkerSet;
pub(crate) use wake::SIGNALS;

pub(crate) use registry::REGISTRY_ENTRIES;
pub use registry::{
    TABLE, on_thread_exit, register_current, somebody_runs, totals, use_tls_blocks, uses_tls_blocks,
};
pub(crate) use registry::{
    adopt_for_pool, at, forget_after_fork, leave_to_successor, main_thread, of_kernel_thread,
    own_thread_pointer, program_thread_ends, program_threads, put_back_record, table_len, take_record,
};
pub use running::{
    Locals, current, duty, kernel_thread, locals, locals_of_program, move_to_place, replace_locals,
    runs_with_own_storage, set_duty, set_locals, stack_of_thread, tls_block_in_force,
};
pub(crate) use running::{
    borrow_tls_block, clear_runtime_words, forget_worker, give_spare_tls_block_back, give_tls_block_back,
    note_stack, note_tls_block, play, run_with,
};

use crowd::NOBODY;
use gate::PROGRAM;

/// A kernel thread as the scheduler sees it.
#[repr(align(128))]
pub struct Worker {
    /// How this kernel thread sleeps and is woken. Any thread may wake it.
    pub parker: Parker,
    /// Small number, unique among live workers.
    index: AtomicU32,
    /// Work for a pool worker that is idle: set by the thread that took it from the pool.
    pub(crate) mailbox: AtomicPtr<crate::pool::AssignmentLetter>,
    /// Which jobs it looks for while it sleeps: those announced to the waiters counted here; null
    /// for none.
    sought: [AtomicPtr<AtomicU32>; SOUGHT_COUNTERS],
    /// While it sleeps: no thread of a region is suspended on it.
    vacant: AtomicBool,
    /// ULTs of gangs that are to start here, or wherever one is eligible first.
    pub(crate) gang_deque: GangDeque<UltStart>,
    /// ULTs that contexts of this worker forked without a gang.
    pub(crate) ults: Deque<UltStart>,
    /// Whose ULTs it runs, see [`Worker::accepts`].
    serves: AtomicU32,
    /// See [`Worker::is_dedicated`].
    dedicated: AtomicBool,
    /// See [`Worker::runs_on_kernel_stack`].
    runs_on_kernel_stack: AtomicBool,
    /// Of a worker of the pool: whether it has an assignment, see `crowd`.
    assignment: AtomicU32,
    /// A thread waits here for its next region, behind other code.
    resting: AtomicBool,
    /// It was woken meanwhile.
    summoned: AtomicBool,
    /// What changes at switch points.
    pub(crate) per_switch: CachePadded<PerSwitch>,
    /// Stands in for this worker, which was blocked: takes what others queued, and is given nothing
    /// itself. Null: for nobody.
    stands_for: AtomicPtr<Worker>,
    /// Another one stands in for this worker, and has not been reported that it has moved again.
    handed_off: AtomicBool,
    /// Contexts that come to this worker from those that stood in for it; in the lowest bit whether
    /// a thread here has a signal to handle.
    pub(crate) returning: AtomicPtr<Parcel>,
    /// What the stall monitor knows.
    pub(crate) watched: Watched,
    /// Where its kernel thread was last seen.
    pub site: CpuSite,
    /// The observer's.
    observers: AtomicPtr<()>,
    /// The thread pointer that its kernel thread was started with.
    thread_pointer: AtomicUsize,
    /// Of a kernel thread of the pool: the TLS block of its own storage.
    storage: OnceLock<TlsBlock>,
    /// The `pthread_t` of the kernel thread that has left the worker to another one, see
    /// `pool::renew`.
    pub(crate) departed_thread: AtomicUsize,
    /// Is it asked to end, and what came of it; see `pool::renew`.
    pub(crate) renewal: AtomicU32,
    /// The signal mask that its kernel thread starts with, if it is one of the pool.
    pub(crate) first_mask: AtomicU64,
    /// What only the kernel thread itself touches.
    own: UnsafeCell<WorkerOwn>,
}

/// What the owner writes whenever it comes from one piece of code to the next, on lines of its own:
/// those who fork, wake and steal look at the other fields all the time.
pub(crate) struct PerSwitch {
    /// Who may touch the owner's part: `PROGRAM`, `SCHEDULER` or `THIEF`, see `gate`.
    gate: AtomicU32,
    /// ULTs that were started here, or adopted, and have not ended.
    hosting: AtomicI32,
    /// Threads are suspended here beside the running one, as of the last switch.
    suspended: AtomicBool,
    /// Who waits behind it, for the stall monitor.
    pub(crate) urgency: Urgency,
    /// Attempts to steal ULTs.
    pub(crate) steals: victim::StealCounters,
    /// Context switches; written by the owner alone.
    switches: AtomicU64,
}

/// What a context runs for.
#[derive(Clone, Copy)]
pub(crate) struct Role {
    /// Its gang.
    pub(crate) tag: GangTag,
    /// Code address of its parallel region; zero for none.
    pub(crate) region: usize,
    /// Which contexts belong to the same thread, see `sched::suspended`: they share its mode.
    pub(crate) thread: *const ThreadMode,
    /// The thread-local storage it runs with; `None` where TLS blocks are not used.
    pub(crate) tls_block: Option<&'static TlsBlock>,
    /// Who wakes the thread may wake another worker than the one it is on, see `sched::handoff`.
    pub(crate) away: bool,
}

impl Role {
    /// Not that of an idle worker, nor of a thread between two regions.
    pub(crate) fn is_of_a_region(&self) -> bool {
        self.tag != GangTag::NONE || self.region != 0
    }

    /// That of a kernel thread which runs for nobody.
    pub(crate) fn none(worker: &'static Worker) -> Self {
        // SAFETY: written once, before the kernel thread runs anything.
        let tls_block = unsafe { (*worker.own()).native_tls_block };
        Self { tag: GangTag::NONE, region: 0, thread: worker.thread(), tls_block, away: false }
    }
}

/// The part of a worker that belongs to its kernel thread. On lines that nobody else reads.
#[repr(align(128))]
pub(crate) struct WorkerOwn {
    pub(crate) current: *mut Ult,
    pub(crate) native: Ult,
    /// What the running context runs for.
    pub(crate) role: Role,
    /// Suspended contexts of this worker.
    pub(crate) suspended: SuspendedContexts,
    /// Runner contexts that stand at the top of their loop with nothing on their stack.
    pub(crate) idle_runners: Vec<*mut Ult>,
    /// A stack is reserved for the job that is run next, see [`crate::stack::promised`].
    pub(crate) has_reserved_stack: bool,
    /// Memory of the next fork of a gang.
    pub(crate) targets: crate::spawn::SpawnTargets,
    /// ULTs that have ended here and were not counted.
    pub(crate) ended: crate::sched::EndedUlts,
    /// What was handed to the next runner.
    pub(crate) handed: Option<RunnerTask>,
    /// The job of the ULT that an assignment starts.
    pub(crate) assigned: Option<crate::sched::Job>,
    /// The TLS block of the kernel thread's own storage; `None` where TLS blocks are not used.
    pub(crate) native_tls_block: Option<&'static TlsBlock>,
    /// The kernel thread's own TLS block while adopted contexts run with it elsewhere; the one
    /// above is a substitute then.
    pub(crate) borrowed: Option<&'static TlsBlock>,
    /// Some thread that is suspended here may have a signal to handle.
    pub(crate) signalled: bool,
    /// The running thread is in a system call of `signals::under_mask`, which a
    /// [`crate::stall::kick`] has to end.
    pub(crate) in_interruptible_call: bool,
    /// The signal that the running thread is sending to itself; zero: none.
    pub(crate) sends_itself: i32,
    /// The signal mask of the kernel thread while program code runs.
    pub(crate) kernel_mask: u64,
    /// What the kernel keeps for it.
    pub(crate) kernel: crate::kernel_state::KernelHost,
    /// A substitute for the next time.
    pub(crate) substitute: Option<&'static TlsBlock>,
    /// What the last ULT had borrowed here, for the next one that borrows.
    spare: Option<&'static TlsBlock>,
    /// The switch count at which the worker was blocked that this one stands in for.
    pub(crate) stands_since: u32,
    /// Of the code that the kernel thread runs for itself, or for the OpenMP thread that it is: its
    /// thread.
    mode: ThreadMode,
    /// Whose floating-point mode is in force, see `mode`; null: that of a ULT that has ended.
    mode_in_force: *const ThreadMode,
    /// The TLS block that is in use now.
    block_in_use: Option<&'static TlsBlock>,
    /// Chooses whom to steal from.
    pub(crate) selector: Selector,
    /// Free memory, see `blocks`.
    pub(crate) blocks: crate::blocks::Magazines,
    /// How long it looks for before it sleeps.
    pub(crate) spin_history: crate::sched::SpinHistory,
    /// Counts jobs, to look at the whole list of suspended contexts now and then.
    pub(crate) ticks: u32,
    /// Counts jobs that might follow one by a call.
    pub(crate) in_place: u32,
    /// The synchronization point that all those wait at who are suspended here beside the running
    /// thread, as of the last switch: see `sched::suspended`.
    pub(crate) sync_point: *const AtomicU32,
    /// What somebody here has waited for has happened: the next look is at everything.
    pub(crate) released: bool,
    /// `SuspendedContexts::changes` when it was last notified who is suspended here.
    pub(crate) published: u32,
    /// Where a thread that waits for its next region is counted while other code runs, see
    /// `sched::look`.
    pub(crate) rested: *const AtomicU32,
    /// Calls of `sched::yielding::poll` with others waiting.
    pub(crate) polls: u32,
    /// Calls of `sched::yield_from_program` with others waiting.
    pub(crate) yields: u32,
    /// Where program code that may not yield at once asks to yield, see `sched::yielding`.
    pub(crate) demand: crate::sched::Demand,
    /// Times that a gang ULT was passed over, see `sched::yielding`.
    pub(crate) held_back: u32,
    /// Times that a context gave way to another one, see `sched::yielding`.
    pub(crate) circles: u32,
    /// Program code is in `spawn`.
    pub(crate) forks: bool,
    /// The place it is bound to, see [`move_to_place`].
    place: Option<u32>,
}

impl WorkerOwn {
    /// The TLS block that the kernel thread was made with, even while another worker's context runs
    /// with it.
    pub(crate) fn original_tls_block(&self) -> Option<&'static TlsBlock> {
        self.borrowed.or(self.native_tls_block)
    }
}

// SAFETY: everything in `WorkerOwn` is touched by the worker's own kernel thread alone
// (`Worker::own`); the rest is atomic.
unsafe impl Sync for Worker {}
// SAFETY: as above; a record is handed to its kernel thread before that thread uses it.
unsafe impl Send for Worker {}

/// For [`crate::debug`].
pub(crate) const ENTRIES: [DebugEntry; 6] = [
    DebugEntry::number("worker.index", offset_of!(Worker, index)),
    DebugEntry::number("worker.tid", offset_of!(Worker, watched) + Watched::TID),
    DebugEntry::number("worker.current", offset_of!(Worker, own) + offset_of!(WorkerOwn, current)),
    DebugEntry::number("worker.region", offset_of!(Worker, own) + offset_of!(WorkerOwn, role.region)),
    DebugEntry::number("worker.gang", offset_of!(Worker, own) + offset_of!(WorkerOwn, role.tag.id)),
    DebugEntry::number(
        "worker.suspended",
        offset_of!(Worker, own) + offset_of!(WorkerOwn, suspended) + SuspendedContexts::LIST,
    ),
];

impl Worker {
    fn new(index: u32) -> Self {
        Self {
            parker: Parker::new(),
            index: AtomicU32::new(index),
            mailbox: AtomicPtr::new(ptr::null_mut()),
            sought: [const { AtomicPtr::new(ptr::null_mut()) }; SOUGHT_COUNTERS],
            vacant: AtomicBool::new(false),
            gang_deque: GangDeque::new(),
            ults: Deque::new(32),
            serves: AtomicU32::new(NOBODY),
            dedicated: AtomicBool::new(false),
            runs_on_kernel_stack: AtomicBool::new(false),
            assignment: AtomicU32::new(0),
            resting: AtomicBool::new(false),
            summoned: AtomicBool::new(false),
            per_switch: CachePadded(PerSwitch {
                gate: AtomicU32::new(PROGRAM),
                hosting: AtomicI32::new(0),
                suspended: AtomicBool::new(false),
                urgency: Urgency::new(),
                steals: victim::StealCounters::new(),
                switches: AtomicU64::new(0),
            }),
            stands_for: AtomicPtr::new(ptr::null_mut()),
            handed_off: AtomicBool::new(false),
            returning: AtomicPtr::new(ptr::null_mut()),
            watched: Watched::new(),
            site: CpuSite::new(),
            observers: AtomicPtr::new(ptr::null_mut()),
            thread_pointer: AtomicUsize::new(0),
            storage: OnceLock::new(),
            departed_thread: AtomicUsize::new(0),
            renewal: AtomicU32::new(0),
            first_mask: AtomicU64::new(0),
            own: UnsafeCell::new(WorkerOwn {
                current: ptr::null_mut(),
                native: Ult::native(),
                role: Role {
                    tag: GangTag::NONE,
                    region: 0,
                    thread: ptr::null(),
                    tls_block: None,
                    away: false,
                },
                suspended: SuspendedContexts::new(),
                idle_runners: Vec::with_capacity(16),
                has_reserved_stack: false,
                targets: crate::spawn::SpawnTargets::default(),
                ended: crate::sched::EndedUlts::NONE,
                handed: None,
                assigned: None,
                native_tls_block: None,
                borrowed: None,
                signalled: false,
                in_interruptible_call: false,
                sends_itself: 0,
                kernel_mask: 0,
                kernel: crate::kernel_state::KernelHost::NEW,
                substitute: None,
                spare: None,
                stands_since: 0,
                mode: ThreadMode::new(),
                mode_in_force: ptr::null(),
                block_in_use: None,
                selector: Selector::new(victim::default_kind(), u64::from(index) + 1),
                ticks: 0,
                in_place: 0,
                sync_point: ptr::null(),
                released: false,
                published: 0,
                rested: ptr::null(),
                polls: 0,
                blocks: crate::blocks::Magazines::EMPTY,
                spin_history: crate::sched::SpinHistory::NEW,
                yields: 0,
                demand: crate::sched::Demand::NONE,
                held_back: 0,
                circles: 0,
                forks: false,
                place: None,
            }),
        }
    }

    /// Small number of this worker, unique among live workers and used again when its kernel thread
    /// has ended.
    pub fn index(&self) -> u32 {
        // ORDERING: Relaxed; written before the record is handed to its kernel thread.
        self.index.load(Ordering::Relaxed)
    }

    /// Notes the signal mask that its kernel thread, the calling one, has now.
    pub(crate) fn note_kernel_mask(&self) {
        let mask = crate::signals::current_mask();
        // SAFETY: own kernel thread.
        let own = unsafe { &mut *self.own() };
        own.kernel_mask = mask;
        if let Some(tls_block) = own.native_tls_block {
            tls_block.set_mask(mask);
        }
    }

    /// Is the stall monitor's record of this worker the one at `address`?
    pub fn is_watched_at(&self, address: usize) -> bool {
        ptr::from_ref(&self.watched) as usize == address
    }

    /// The word that the observer keeps for this worker, see [`crate::observer`]. Stays with the
    /// record when another kernel thread gets it.
    #[inline]
    pub fn observers_word(&self) -> &AtomicPtr<()> {
        &self.observers
    }

    /// Counts a context switch; the owner.
    #[inline]
    pub(crate) fn count_switch(&self) {
        // ORDERING: Relaxed, both; a statistic with one writer.
        self.per_switch
            .switches
            .store(self.per_switch.switches.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// The thread of its kernel thread's own contexts. Any thread; names it only.
    #[inline(always)]
    pub(crate) fn thread(&self) -> *const ThreadMode {
        // SAFETY: the address of a field; nothing is read.
        unsafe { &raw const (*self.own.get()).mode }
    }

    /// The owner's part.
    ///
    /// # Safety
    /// Only on the worker's own kernel thread, and the result must not be kept across a switch.
    #[inline(always)]
    pub(crate) unsafe fn own(&self) -> *mut WorkerOwn {
        self.own.get()
    }
}
