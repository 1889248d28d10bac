//! The record of a worker, in two parts.
//!
//! Any thread may touch [`Worker`]; only the worker's kernel thread touches [`WorkerOwn`]. All
//! fields are declared here, and each file of the room works on some of them. What does not live
//! here: what they mean to the others.

use core::cell::UnsafeCell;
use core::mem::offset_of;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::OnceLock;

use crate::blocks::magazine::Magazines;
use crate::debug::DebugEntry;
use crate::deque::Deque;
use crate::gang::GangTag;
use crate::gang::deque::GangDeque;
use crate::kernel_state::host::KernelHost;
use crate::park::Parker;
use crate::pool::assignment::AssignmentLetter;
use crate::sched::demand::Demand;
use crate::sched::fairness::Fairness;
use crate::sched::next::{EndedUlts, RunnerTask};
use crate::sched::parcel::Parcel;
use crate::sched::request::Job;
use crate::sched::spin_policy::SpinHistory;
use crate::sched::suspended::{SOUGHT_COUNTERS, SuspendedContexts};
use crate::signals::mask::current_mask;
use crate::spawn::start::UltStart;
use crate::spawn::targets::SpawnTargets;
use crate::stall::watched::Watched;
use crate::sys::sync::CachePadded;
use crate::tls_block::record::TlsBlock;
use crate::topology::distance::CpuSite;
use crate::ult::Ult;
use crate::victim::{self, Selector};

use super::role::Role;
use super::thread_mode::ThreadMode;
use super::urgency::Urgency;

/// A worker that runs no other thread's ULTs: a kernel thread that belongs to one thread of a team.
pub(super) const NO_GROUP: u32 = 0;

/// The worker runs program code, or has no kernel thread; its suspended contexts may be adopted.
pub(super) const PROGRAM: u32 = 0;

/// A kernel thread as the scheduler sees it.
#[repr(align(128))]
pub struct Worker {
    /// How this kernel thread sleeps and is woken. Any thread may wake it.
    pub parker: Parker,
    /// A small number, unique among live workers.
    pub(super) index: AtomicU32,
    /// Work for an idle worker of the pool. The thread that took the worker from the pool writes
    /// it.
    pub(crate) mailbox: AtomicPtr<AssignmentLetter>,
    /// The jobs that the worker looks for while it sleeps, named by the counters of their sleepers;
    /// null for none.
    pub(super) sought: [AtomicPtr<AtomicU32>; SOUGHT_COUNTERS],
    /// While the worker sleeps: no thread of a region is suspended on it.
    pub(super) vacant: AtomicBool,
    /// ULTs of gangs. They start here, or on another worker where they are eligible earlier.
    pub(crate) gang_deque: GangDeque<UltStart>,
    /// ULTs that contexts of this worker forked without a gang.
    pub(crate) ults: Deque<UltStart>,
    /// The group whose ULTs the worker runs, see [`Worker::accepts`].
    pub(super) serves: AtomicU32,
    /// See [`Worker::is_dedicated`].
    pub(super) dedicated: AtomicBool,
    /// See [`Worker::runs_on_kernel_stack`].
    pub(super) runs_on_kernel_stack: AtomicBool,
    /// For a worker of the pool: whether it has an assignment, see `crowd`.
    pub(super) assignment: AtomicU32,
    /// A thread waits here for its next region, behind other code.
    pub(super) resting: AtomicBool,
    /// The resting thread was called meanwhile, see [`Worker::call_resting`].
    pub(super) summoned: AtomicBool,
    /// Fields that change at switch points.
    pub(crate) per_switch: CachePadded<PerSwitch>,
    /// The blocked worker that this one stands in for. This worker then takes what others have
    /// queued there, and no new work is queued at it. Null for none.
    pub(super) stands_for: AtomicPtr<Worker>,
    /// Another worker stands in for this one, and has not yet been notified that this one runs
    /// again.
    pub(super) handed_off: AtomicBool,
    /// Contexts that come back from workers that stood in for this one. The lowest bit says that a
    /// thread here has a signal to handle.
    pub(crate) returning: AtomicPtr<Parcel>,
    /// The stall monitor's record of this worker.
    pub(crate) watched: Watched,
    /// The processor on which the kernel thread was last seen.
    pub site: CpuSite,
    /// A word for the observer.
    pub(super) observers: AtomicPtr<()>,
    /// The thread pointer with which the kernel thread was started.
    pub(super) thread_pointer: AtomicUsize,
    /// The TLS block of the kernel thread's own storage, for other kernel threads.
    pub(super) native_tls_block: AtomicPtr<TlsBlock>,
    /// For a kernel thread of the pool: the TLS block of its own storage.
    pub(super) storage: OnceLock<TlsBlock>,
    /// The `pthread_t` of the kernel thread that has left the worker to another one, see
    /// `pool::renew`.
    pub(crate) departed_thread: AtomicUsize,
    /// Whether the kernel thread is asked to end, and its answer, see `pool::renew`.
    pub(crate) renewal: AtomicU32,
    /// For a kernel thread of the pool: the signal mask that it starts with.
    pub(crate) first_mask: AtomicU64,
    /// The part that only the kernel thread itself touches.
    pub(super) own: UnsafeCell<WorkerOwn>,
}

/// Fields that the owner writes whenever it leaves one piece of code for another. They have cache
/// lines of their own, because threads that fork, wake or steal read the other fields all the time.
pub(crate) struct PerSwitch {
    /// Which thread may touch the owner's part: `PROGRAM`, `SCHEDULER` or `THIEF`, see `gate`.
    pub(super) gate: AtomicU32,
    /// The number of ULTs that were started or adopted here and have not ended.
    pub(super) hosting: AtomicI32,
    /// Whether other threads than the running one are suspended here, as of the last switch.
    pub(super) suspended: AtomicBool,
    /// Whether a context waits behind the running code that goes before it, for the stall monitor.
    pub(crate) urgency: Urgency,
    /// Counts attempts to steal ULTs.
    pub(crate) steals: victim::StealCounters,
    /// The number of context switches; only the owner writes it.
    pub(super) switches: AtomicU64,
}

/// The part of a worker that belongs to its kernel thread. No other thread reads its cache lines.
#[repr(align(128))]
pub(crate) struct WorkerOwn {
    pub(crate) current: *mut Ult,
    pub(crate) native: Ult,
    /// What the running context runs for.
    pub(crate) role: Role,
    /// Suspended contexts of this worker.
    pub(crate) suspended: SuspendedContexts,
    /// Runner contexts at the top of their loop, with nothing on their stacks.
    pub(crate) idle_runners: Vec<*mut Ult>,
    /// Whether a stack is reserved for the job that runs next, see [`crate::stack::promised`].
    pub(crate) has_reserved_stack: bool,
    /// Memory for the next fork of a gang.
    pub(crate) targets: SpawnTargets,
    /// ULTs that have ended here and have not been retired yet.
    pub(crate) ended: EndedUlts,
    /// What the next runner has to run.
    pub(crate) handed: Option<RunnerTask>,
    /// The job of the ULT that an assignment starts.
    pub(crate) assigned: Option<Job>,
    /// The TLS block of the kernel thread's own storage, or a substitute, see `borrowed`. `None`
    /// where TLS blocks are not used.
    pub(crate) native_tls_block: Option<&'static TlsBlock>,
    /// The kernel thread's own TLS block while adopted contexts run with it elsewhere. Then
    /// `native_tls_block` is a substitute.
    pub(crate) borrowed: Option<&'static TlsBlock>,
    /// A thread that is suspended here may have a signal to handle.
    pub(crate) signalled: bool,
    /// The running thread is in a system call of `signals::under_mask`. A `stall::signal::kick`
    /// has to end this call.
    pub(crate) in_interruptible_call: bool,
    /// The signal that the running thread is sending to itself; zero for none.
    pub(crate) sends_itself: i32,
    /// The signal mask of the kernel thread while program code runs.
    pub(crate) kernel_mask: u64,
    /// The state that the kernel keeps for the kernel thread.
    pub(crate) kernel: KernelHost,
    /// A substitute TLS block for the next time that one is needed.
    pub(crate) substitute: Option<&'static TlsBlock>,
    /// The TLS block that the last ULT borrowed here, for the next ULT that borrows one.
    pub(super) spare: Option<&'static TlsBlock>,
    /// The switch count of the blocked worker at the moment when this one began to stand in for it.
    pub(crate) stands_since: u32,
    /// The thread of the code that the kernel thread runs for itself, or for the OpenMP thread that
    /// it is.
    pub(super) mode: ThreadMode,
    /// The thread whose floating-point mode is in force, see `mode`; null for a ULT that has ended.
    pub(super) mode_in_force: *const ThreadMode,
    /// The TLS block that is in use now.
    pub(super) block_in_use: Option<&'static TlsBlock>,
    /// Chooses the victims from which the worker steals.
    pub(crate) selector: Selector,
    /// Free memory, see `blocks`.
    pub(crate) blocks: Magazines,
    /// What earlier waits took; it decides how long the worker polls before it sleeps.
    pub(crate) spin_history: SpinHistory,
    /// What keeps contexts, ULTs and tasks from being passed over for ever.
    pub(crate) fairness: Fairness,
    /// The synchronization point at which all other threads that are suspended here wait, as of the
    /// last switch; see `sched::suspended`.
    pub(crate) sync_point: *const AtomicU32,
    /// The condition of a context that is suspended here may have come true: the next search covers
    /// all queues and contexts.
    pub(crate) released: bool,
    /// The value of `SuspendedContexts::changes` when the suspended contexts were last published.
    pub(crate) published: u32,
    /// The counter that counts a thread which waits here for its next region while other code runs,
    /// see `sched::crowd`.
    pub(crate) rested: *const AtomicU32,
    /// Where program code demands a yield that it may not make at once, see `sched::yielding`.
    pub(crate) demand: Demand,
    /// Program code is in `fork(2)`, and the worker counts as in its scheduler; see `pool`.
    pub(crate) forks: bool,
    /// The OpenMP place that the kernel thread is bound to, see [`super::note_place`].
    pub(super) place: Option<u32>,
}

impl WorkerOwn {
    /// The TLS block with which the kernel thread was made, even while another worker's context
    /// runs with it. For the scheduler; program code asks [`Worker::native_tls_block`].
    pub(crate) fn original_tls_block(&self) -> Option<&'static TlsBlock> {
        self.borrowed.or(self.native_tls_block)
    }
}

// SAFETY: only the worker's own kernel thread touches the fields in `WorkerOwn` (`Worker::own`);
// the rest is atomic.
unsafe impl Sync for Worker {}

// SAFETY: as above; a record is handed to its kernel thread before that thread uses it.
unsafe impl Send for Worker {}

/// What debuggers find, see [`crate::debug`].
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
    pub(super) fn new(index: u32) -> Self {
        Self {
            parker: Parker::new(),
            index: AtomicU32::new(index),
            mailbox: AtomicPtr::new(ptr::null_mut()),
            sought: [const { AtomicPtr::new(ptr::null_mut()) }; SOUGHT_COUNTERS],
            vacant: AtomicBool::new(false),
            gang_deque: GangDeque::new(),
            ults: Deque::new(32),
            serves: AtomicU32::new(NO_GROUP),
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
            native_tls_block: AtomicPtr::new(ptr::null_mut()),
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
                targets: SpawnTargets::default(),
                ended: EndedUlts::NONE,
                handed: None,
                assigned: None,
                native_tls_block: None,
                borrowed: None,
                signalled: false,
                in_interruptible_call: false,
                sends_itself: 0,
                kernel_mask: 0,
                kernel: KernelHost::NEW,
                substitute: None,
                spare: None,
                stands_since: 0,
                mode: ThreadMode::new(),
                mode_in_force: ptr::null(),
                block_in_use: None,
                selector: Selector::new(victim::default_kind(), u64::from(index) + 1),
                fairness: Fairness::NEW,
                sync_point: ptr::null(),
                released: false,
                published: 0,
                rested: ptr::null(),
                blocks: Magazines::EMPTY,
                spin_history: SpinHistory::NEW,
                demand: Demand::NONE,
                forks: false,
                place: None,
            }),
        }
    }

    /// A small number, unique among live workers. It is used again when the kernel thread has
    /// ended.
    pub fn index(&self) -> u32 {
        // ORDERING: Relaxed; written before the record is handed to its kernel thread.
        self.index.load(Ordering::Relaxed)
    }

    /// Notes the present signal mask of the worker's kernel thread, which is the calling one.
    pub(crate) fn note_kernel_mask(&self) {
        let mask = current_mask();
        // SAFETY: own kernel thread.
        let own = unsafe { &mut *self.own() };
        own.kernel_mask = mask;
        if let Some(tls_block) = own.native_tls_block {
            tls_block.set_mask(mask);
        }
    }

    /// Is the stall monitor's record of this worker at `address`?
    pub fn is_watched_at(&self, address: usize) -> bool {
        ptr::from_ref(&self.watched) as usize == address
    }

    /// The word that the observer keeps for this worker, see [`crate::observer`]. It stays with the
    /// record when another kernel thread gets the record.
    #[inline]
    pub fn observers_word(&self) -> &AtomicPtr<()> {
        &self.observers
    }

    /// Counts a context switch. Called by the owner.
    #[inline]
    pub(crate) fn count_switch(&self) {
        // ORDERING: Relaxed, both; a statistic with one writer.
        self.per_switch
            .switches
            .store(self.per_switch.switches.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Names the thread of the kernel thread's own contexts. Any thread may ask; nothing is read.
    #[inline(always)]
    pub(crate) fn thread(&self) -> *const ThreadMode {
        // SAFETY: the address of a field; nothing is read.
        unsafe { &raw const (*self.own.get()).mode }
    }

    /// The TLS block with which the kernel thread was made. Any thread, also in a signal handler. It
    /// is the answer of [`WorkerOwn::original_tls_block`], which a hand-off changes in two steps
    /// while the worker's program code runs.
    pub(crate) fn native_tls_block(&self) -> Option<&'static TlsBlock> {
        // ORDERING: Acquire, pairs with the Release in `registry::adopt`.
        // SAFETY: null or a record. That of a kernel thread of the pool is in its worker, and
        // neither is ever freed.
        unsafe { self.native_tls_block.load(Ordering::Acquire).as_ref() }
    }

    /// The owner's part.
    ///
    /// # Safety
    /// Only on the worker's own kernel thread. The result must not be kept across a switch.
    #[inline(always)]
    pub(crate) unsafe fn own(&self) -> *mut WorkerOwn {
        self.own.get()
    }
}

impl Role {
    /// The role of a kernel thread that runs for no region.
    pub(crate) fn none(worker: &'static Worker) -> Self {
        // SAFETY: the field is written once, before the kernel thread runs anything.
        let tls_block = unsafe { (*worker.own()).native_tls_block };
        Self { tag: GangTag::NONE, region: 0, thread: worker.thread(), tls_block, away: false }
    }
}
