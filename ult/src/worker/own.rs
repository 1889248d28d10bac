//! The part of a worker's record that only the kernel thread that holds its gate touches
//! ([`super::gate`]).
//!
//! What does not live here: the part for all threads ([`super::record`]), and what the fields mean
//! to the files that work on them.

use core::ptr;
use core::sync::atomic::AtomicU32;

use crate::blocks::magazine::Magazines;
use crate::gang::GangTag;
use crate::kernel_state::host::KernelHost;
use crate::sched::demand::Demand;
use crate::sched::fairness::Fairness;
use crate::sched::next::{EndedUlts, RunnerTask};
use crate::sched::request::Job;
use crate::sched::spin_policy::SpinHistory;
use crate::sched::suspended::SuspendedContexts;
use crate::spawn::targets::SpawnTargets;
use crate::tls_block::record::TlsBlock;
use crate::ult::Ult;
use crate::victim::{self, Selector};

use super::role::Role;
use super::thread_mode::ThreadMode;

/// The part of a worker that belongs to its kernel thread. Another kernel thread touches it only
/// while it has seized the worker.
#[repr(align(128))]
pub(crate) struct WorkerOwn {
    /// The stack that the kernel thread runs on: `native`, or that of a ULT or runner.
    pub(crate) current: *mut Ult,
    /// The kernel thread's own stack, with which it was started.
    pub(crate) native: Ult,
    /// What the running context runs for.
    pub(crate) role: Role,
    /// Suspended contexts of this worker.
    pub(crate) suspended: SuspendedContexts,
    /// What the next contexts start with.
    pub(crate) starts: ContextStarts,
    /// What the worker knows when it looks for work.
    pub(crate) search: SearchState,
    /// The storage of the kernel thread, and of the code that runs on it.
    pub(crate) tls: WorkerTls,
    /// Signals of the threads that run here.
    pub(crate) signals: WorkerSignals,
    /// The thread of the code that the kernel thread runs for itself, or for the OpenMP thread that
    /// it is.
    pub(super) mode: ThreadMode,
    /// In place of `mode` while the OpenMP thread that owns the kernel thread runs elsewhere, see
    /// `tls.borrowed`.
    pub(super) mode_without_thread: ThreadMode,
    /// The thread whose floating-point mode is in force, see `mode`; null for a ULT that has ended.
    pub(super) mode_in_force: *const ThreadMode,
    /// The state that the kernel keeps for the kernel thread.
    pub(crate) kernel: KernelHost,
    /// Free memory, see `blocks`.
    pub(crate) blocks: Magazines,
    /// The switch count of the blocked worker at the moment when this one began to stand in for it.
    pub(crate) stands_since: u32,
    /// Program code is in `fork(2)`, and the worker counts as in its scheduler; see `pool`.
    pub(crate) forks: bool,
    /// The OpenMP place that the kernel thread is bound to, see [`super::note_place`].
    pub(super) place: Option<u32>,
}

/// What the next contexts of a worker start with, and what the last ones left.
pub(crate) struct ContextStarts {
    /// Runner contexts at the top of their loop, with nothing on their stacks.
    pub(crate) idle_runners: Vec<*mut Ult>,
    /// Whether a stack is reserved for the job that runs next, see [`crate::stack::promised`].
    pub(crate) has_reserved_stack: bool,
    /// Memory for the next fork of a gang.
    pub(crate) targets: SpawnTargets,
    /// What the next runner has to run.
    pub(crate) handed: Option<RunnerTask>,
    /// The job of the ULT that an assignment starts.
    pub(crate) assigned: Option<Job>,
    /// ULTs that have ended here and have not been retired yet.
    pub(crate) ended: EndedUlts,
}

/// What a worker knows when it looks for work, and what it has published of its contexts.
pub(crate) struct SearchState {
    /// Chooses the victims from which the worker steals.
    pub(crate) selector: Selector,
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
}

/// The TLS blocks of a worker. Each is `None` where TLS blocks are not used.
pub(crate) struct WorkerTls {
    /// That of the kernel thread's own storage, or a substitute, see `borrowed`.
    pub(crate) native: Option<&'static TlsBlock>,
    /// The kernel thread's own TLS block, while the thread that owns this kernel thread runs
    /// elsewhere. A hand-off or `relocate` sets it. `native` is a substitute then.
    pub(crate) borrowed: Option<&'static TlsBlock>,
    /// A substitute for the next time that one is needed.
    pub(crate) substitute: Option<&'static TlsBlock>,
    /// The one that the last ULT borrowed here, for the next ULT that borrows one.
    pub(super) spare: Option<&'static TlsBlock>,
    /// The one that is in use now.
    pub(super) in_use: Option<&'static TlsBlock>,
}

/// Signals of the threads that run on a worker.
pub(crate) struct WorkerSignals {
    /// A thread that is suspended here may have a signal to handle.
    pub(crate) pending: bool,
    /// The running thread is in a system call of `signals::under_mask`. A `stall::signal::kick`
    /// has to end this call.
    pub(crate) in_interruptible_call: bool,
    /// The signal that the running thread is sending to itself; zero for none.
    pub(crate) sends_itself: i32,
    /// The signal mask of the kernel thread while program code runs.
    pub(crate) kernel_mask: u64,
}

impl WorkerOwn {
    pub(super) fn new(index: u32) -> Self {
        Self {
            current: ptr::null_mut(),
            native: Ult::native(),
            role: Role { tag: GangTag::NONE, region: 0, thread: ptr::null(), tls_block: None, away: false },
            suspended: SuspendedContexts::new(),
            starts: ContextStarts {
                idle_runners: Vec::with_capacity(16),
                has_reserved_stack: false,
                targets: SpawnTargets::default(),
                handed: None,
                assigned: None,
                ended: EndedUlts::NONE,
            },
            search: SearchState {
                selector: Selector::new(victim::default_kind(), u64::from(index) + 1),
                spin_history: SpinHistory::NEW,
                fairness: Fairness::NEW,
                sync_point: ptr::null(),
                released: false,
                published: 0,
                rested: ptr::null(),
                demand: Demand::NONE,
            },
            tls: WorkerTls { native: None, borrowed: None, substitute: None, spare: None, in_use: None },
            signals: WorkerSignals {
                pending: false,
                in_interruptible_call: false,
                sends_itself: 0,
                kernel_mask: 0,
            },
            mode: ThreadMode::new(),
            mode_without_thread: ThreadMode::new(),
            mode_in_force: ptr::null(),
            kernel: KernelHost::NEW,
            blocks: Magazines::EMPTY,
            stands_since: 0,
            forks: false,
            place: None,
        }
    }
}

impl WorkerTls {
    /// The TLS block with which the kernel thread was made, even while another worker's context
    /// runs with it. For the scheduler; program code asks
    /// [`Worker::native_tls_block`](super::record::Worker::native_tls_block).
    pub(crate) fn original(&self) -> Option<&'static TlsBlock> {
        self.borrowed.or(self.native)
    }
}
