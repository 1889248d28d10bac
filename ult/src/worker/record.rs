//! The record of a worker.
//!
//! Any thread may touch [`Worker`]; only the kernel thread that holds the worker's gate touches
//! [`WorkerOwn`] ([`super::gate`]). The fields are declared here, in groups by purpose, and each
//! file beside this one works on some of them. What does not live here: the owner's part
//! ([`super::own`]).

use core::cell::UnsafeCell;
use core::mem::offset_of;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::OnceLock;

use crate::allotment::program_time::ProgramTime;
use crate::debug::DebugEntry;
use crate::deque::Deque;
use crate::gang::GangTag;
use crate::gang::deque::GangDeque;
use crate::park::Parker;
use crate::pool::assignment::AssignmentLetter;
use crate::sched::parcel::Parcel;
use crate::sched::suspended::{SOUGHT_COUNTERS, SuspendedContexts};
use crate::signals::mask::current_mask;
use crate::spawn::start::UltStart;
use crate::stall::watched::Watched;
use crate::sys::sync::CachePadded;
use crate::tls_block::record::TlsBlock;
use crate::topology::distance::CpuSite;
use crate::victim;

use super::own::WorkerOwn;
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
    /// ULTs of gangs. They start here, or on another worker where they are eligible earlier.
    pub(crate) gang_deque: GangDeque<UltStart>,
    /// ULTs that contexts of this worker forked without a gang.
    pub(crate) ults: Deque<UltStart>,
    /// Which work the worker takes.
    pub(super) duty: WorkerDuty,
    /// What the pool and the worker tell each other.
    pub(crate) pool: PoolLink,
    /// What the worker waits for while it sleeps or runs other code.
    pub(super) waits: WorkerWaits,
    /// The workers that stand in for this one, and the one that it stands in for.
    pub(crate) stand_in: StandInLinks,
    /// The storage of the kernel thread.
    pub(crate) storage: KernelThreadStorage,
    /// Fields that change at switch points.
    pub(crate) per_switch: CachePadded<PerSwitch>,
    /// How long program code has run here; written at the scheduler's border while it is measured.
    pub(crate) program_time: CachePadded<ProgramTime>,
    /// The stall monitor's record of this worker.
    pub(crate) watched: Watched,
    /// The processor on which the kernel thread was last seen.
    pub site: CpuSite,
    /// A word for the observer.
    pub(super) observers: AtomicPtr<()>,
    /// The part that only the kernel thread that holds the gate touches.
    pub(super) own: UnsafeCell<WorkerOwn>,
}

/// Which work a worker takes. The worker writes it when it gets or leaves an assignment. A thread
/// that takes a worker for one OpenMP thread writes it too (`pool::isolate`,
/// `sched::dedicated::move_to_dedicated_worker`). Threads that queue or steal work read it.
pub(crate) struct WorkerDuty {
    /// The group whose ULTs the worker runs, see [`Worker::accepts`].
    pub(super) serves: AtomicU32,
    /// See [`Worker::is_dedicated`].
    pub(super) dedicated: AtomicBool,
    /// See [`Worker::runs_on_kernel_stack`].
    pub(super) runs_on_kernel_stack: AtomicBool,
    /// See [`Worker::is_withdrawn`].
    pub(super) withdrawn: AtomicBool,
}

/// What the pool and a worker tell each other. Used when a worker is taken or comes back, and when
/// its kernel thread is renewed.
pub(crate) struct PoolLink {
    /// Work for an idle worker of the pool. The thread that took the worker from the pool writes
    /// it.
    pub(crate) mailbox: AtomicPtr<AssignmentLetter>,
    /// For a worker of the pool: whether it has an assignment, see `crowd`.
    pub(super) assignment: AtomicU32,
    /// For a worker with an assignment: the group in it, see `crowd`.
    pub(super) assigned_group: AtomicU32,
    /// Whether the kernel thread is asked to end, and its answer, see `pool::renew`.
    pub(crate) renewal: AtomicU32,
    /// The `pthread_t` of the kernel thread that has left the worker to another one, see
    /// `pool::renew`.
    pub(crate) departed_thread: AtomicUsize,
    /// For a kernel thread of the pool: the signal mask that it starts with.
    pub(crate) first_mask: AtomicU64,
}

/// What a worker waits for while it sleeps or runs other code. The worker writes it. A thread that
/// has work for it, or calls it, reads it, and sets `summoned`.
pub(crate) struct WorkerWaits {
    /// The jobs that the worker looks for while it sleeps, named by the counters of their sleepers;
    /// null for none.
    pub(super) sought: [AtomicPtr<AtomicU32>; SOUGHT_COUNTERS],
    /// While the worker sleeps: no thread of a region is suspended on it.
    pub(super) vacant: AtomicBool,
    /// A thread waits here for its next region, behind other code.
    pub(super) resting: AtomicBool,
    /// The resting thread was called meanwhile, see [`Worker::call_resting`]. Any thread sets it,
    /// and the worker resets it.
    pub(super) summoned: AtomicBool,
}

/// The links between a blocked worker and its stand-ins, see `gate`, and what was sent to a worker.
pub(crate) struct StandInLinks {
    /// The blocked worker that this one stands in for. This worker then takes what others have
    /// queued there, and no new work is queued at it. Null for none.
    pub(super) stands_for: AtomicPtr<Worker>,
    /// Another worker stands in for this one, and has not yet been notified that this one runs
    /// again.
    pub(super) handed_off: AtomicBool,
    /// Parcels of contexts from all senders: workers that stood in for this one, and threads that
    /// return here, or move here (`sched::depart`, `sched::dedicated`). The lowest bit is a signal,
    /// see `wake::SIGNALS`.
    pub(crate) returning: AtomicPtr<Parcel>,
}

/// The storage of a worker's kernel thread, for other kernel threads. Written before the kernel
/// thread runs anything, and when another one takes the worker over.
pub(crate) struct KernelThreadStorage {
    /// The thread pointer with which the kernel thread was started.
    pub(super) thread_pointer: AtomicUsize,
    /// The TLS block of the kernel thread's own storage.
    pub(super) native_tls_block: AtomicPtr<TlsBlock>,
    /// For a kernel thread of the pool: the record to which `native_tls_block` leads.
    pub(super) pool_tls_block: OnceLock<TlsBlock>,
}

/// Fields that the owner writes whenever it leaves one piece of code for another. Other kernel
/// threads write some of them, rarely. They have cache lines of their own, because threads that
/// fork, wake or steal read the other fields all the time.
pub(crate) struct PerSwitch {
    /// Which thread may touch the owner's part: `PROGRAM`, `SCHEDULER` or `THIEF`, see `gate`. A
    /// kernel thread that seizes the worker writes it too.
    pub(super) gate: AtomicU32,
    /// The number of ULTs that were started or adopted here and have not ended. Any kernel thread
    /// that moves a context from here, or to here, changes it.
    pub(super) hosting: AtomicI32,
    /// Whether other threads than the running one are suspended here, as of the last switch. A
    /// kernel thread that has seized the worker clears it.
    pub(super) suspended: AtomicBool,
    /// Whether a context waits behind the running code that goes before it, for the stall monitor.
    pub(crate) urgency: Urgency,
    /// Counts attempts to steal ULTs.
    pub(crate) steals: victim::StealCounters,
    /// The number of context switches; only the owner writes it.
    pub(super) switches: AtomicU64,
}

// SAFETY: only the kernel thread that holds the gate touches the fields in `WorkerOwn`. In program
// code the worker's own kernel thread uses those that no hand-off changes (`Worker::own`). The rest
// is atomic.
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
            gang_deque: GangDeque::new(),
            ults: Deque::new(32),
            duty: WorkerDuty {
                serves: AtomicU32::new(NO_GROUP),
                dedicated: AtomicBool::new(false),
                runs_on_kernel_stack: AtomicBool::new(false),
                withdrawn: AtomicBool::new(false),
            },
            pool: PoolLink {
                mailbox: AtomicPtr::new(ptr::null_mut()),
                assignment: AtomicU32::new(0),
                assigned_group: AtomicU32::new(NO_GROUP),
                renewal: AtomicU32::new(0),
                departed_thread: AtomicUsize::new(0),
                first_mask: AtomicU64::new(0),
            },
            waits: WorkerWaits {
                sought: [const { AtomicPtr::new(ptr::null_mut()) }; SOUGHT_COUNTERS],
                vacant: AtomicBool::new(false),
                resting: AtomicBool::new(false),
                summoned: AtomicBool::new(false),
            },
            stand_in: StandInLinks {
                stands_for: AtomicPtr::new(ptr::null_mut()),
                handed_off: AtomicBool::new(false),
                returning: AtomicPtr::new(ptr::null_mut()),
            },
            storage: KernelThreadStorage {
                thread_pointer: AtomicUsize::new(0),
                native_tls_block: AtomicPtr::new(ptr::null_mut()),
                pool_tls_block: OnceLock::new(),
            },
            per_switch: CachePadded(PerSwitch {
                gate: AtomicU32::new(PROGRAM),
                hosting: AtomicI32::new(0),
                suspended: AtomicBool::new(false),
                urgency: Urgency::new(),
                steals: victim::StealCounters::new(),
                switches: AtomicU64::new(0),
            }),
            program_time: CachePadded(ProgramTime::default()),
            watched: Watched::new(),
            site: CpuSite::new(),
            observers: AtomicPtr::new(ptr::null_mut()),
            own: UnsafeCell::new(WorkerOwn::new(index)),
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
        own.signals.kernel_mask = mask;
        if let Some(tls_block) = own.tls.native {
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

    /// The TLS block with which the kernel thread was made. Any thread, also in a signal handler.
    /// It is the answer of [`WorkerTls::original`](super::own::WorkerTls::original), which a
    /// hand-off changes in two steps while the worker's program code runs.
    pub(crate) fn native_tls_block(&self) -> Option<&'static TlsBlock> {
        // ORDERING: Acquire, pairs with the Release in `registry::adopt`.
        // SAFETY: null or a record. That of a kernel thread of the pool is in its worker, and
        // neither is ever freed.
        unsafe { self.storage.native_tls_block.load(Ordering::Acquire).as_ref() }
    }

    /// The owner's part.
    ///
    /// # Safety
    /// Only for the kernel thread that holds the gate: the worker's own one in its scheduler, or
    /// another one that has seized the worker. In program code the worker's own kernel thread may
    /// use the fields that no hand-off changes. The result must not be kept across a switch.
    #[inline(always)]
    pub(crate) unsafe fn own(&self) -> *mut WorkerOwn {
        self.own.get()
    }
}

impl Role {
    /// The role of the calling kernel thread while it runs for no region.
    pub(crate) fn none(worker: &'static Worker) -> Self {
        // SAFETY: own kernel thread.
        let own = unsafe { &*worker.own() };
        // The mode and the counts of a thread that is away belong to the worker that has it.
        let thread =
            if own.tls.borrowed.is_some() { &raw const own.mode_without_thread } else { worker.thread() };
        Self { tag: GangTag::NONE, region: 0, thread, tls_block: own.tls.native, away: false }
    }
}
