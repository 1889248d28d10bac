//! What the monitor calls above it, and what it counts.
//!
//! What may not live here: when the hooks are called ([`super::episode`], [`super::signal`]).

use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use super::frame::SignalFrame;
use super::watched::Watched;
use crate::tls_block::record::TlsBlock;

/// The functions through which decisions of the monitor reach the scheduler.
#[derive(Clone, Copy)]
pub struct Hooks {
    /// Switches to another context, because program code spins. The handler calls this hook last,
    /// on the worker, on the interrupted context's own stack. The worker's mode is `Scheduler`
    /// already.
    ///
    /// If another context is ready, the hook switches to it, and returns true when the interrupted
    /// context is resumed. The worker that resumes it is in mode `User` then. If there is no other
    /// context, the hook returns false at once and changes nothing. The hook must not allocate,
    /// lock, or call into the C library.
    pub preempt: unsafe fn() -> bool,
    /// Hands off the contexts that wait behind a worker. The watcher thread calls this hook when
    /// the worker's running context blocks in the kernel, or runs where it cannot be interrupted.
    /// The worker that takes over reports this by [`Watched::set_heir`].
    ///
    /// The watcher repeats the call while the worker stands still and a context waits behind it. If
    /// the heir blocks too, the repetition comes at once; otherwise it comes after 1, 2, 4 ms and
    /// so on, at most 50 ms. The worker may have moved on meanwhile, so the hook checks again under
    /// its own lock. The hook must not wait for the worker.
    pub hand_off: fn(&'static Watched),
    /// The lowest address of the running context's own stack, if the given stack pointer lies in
    /// that stack. If the result is `None`, the code runs on memory of the program's own, and the
    /// handler does not leave it. Called in the signal handler, on a worker that runs program code.
    pub lowest_of_stack: unsafe fn(&'static Watched, usize) -> Option<usize>,
    /// How urgent the contexts are that wait behind the worker. Called on any thread, also in the
    /// signal handler.
    pub urgency: fn(&'static Watched) -> WaitUrgency,
}

/// How urgent the contexts are that wait behind a worker's running code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitUrgency {
    /// The running code may well be waiting for one of them, or for a queued ULT, and not all of them
    /// are helpers.
    Urgent,
    /// All of them are *helpers*: they wait at the next barrier of the code's own team. They can only
    /// run tasks until the code comes to this barrier.
    Helpers,
    /// None of them is urgent.
    NotUrgent,
}

static HOOKS: AtomicPtr<Hooks> = AtomicPtr::new(ptr::null_mut());

/// Sets the hooks. Call it once per process, before [`super::start_if_needed`]. Each call leaks a few
/// bytes.
pub fn install(hooks: Hooks) {
    // ORDERING: Release pairs with the Acquire in `hooks`.
    HOOKS.store(Box::into_raw(Box::new(hooks)), Release);
}

pub(super) fn hooks() -> Option<&'static Hooks> {
    // ORDERING: Acquire pairs with the Release in `install`.
    let hooks = HOOKS.load(Acquire);
    // SAFETY: the pointer is null, or was leaked by `install`; the hooks never change.
    unsafe { hooks.as_ref() }
}

/// How urgent the contexts are that wait behind `watched`.
pub(super) fn urgency(watched: &'static Watched) -> WaitUrgency {
    hooks().map_or(WaitUrgency::Urgent, |hooks| (hooks.urgency)(watched))
}

/// May the code of `watched` be waiting for a context that waits behind it?
pub(super) fn may_wait_for_others(watched: &'static Watched) -> bool {
    urgency(watched) != WaitUrgency::NotUrgent
}

/// The lowest address of the running context's own stack, if `sp` lies in it. The program's code
/// may run on any other memory: a coroutine's stack, a block of the heap, an alternate signal
/// stack.
pub(super) fn lowest_of_stack(watched: &'static Watched, sp: usize) -> Option<usize> {
    // SAFETY: in the handler, on the kernel thread of the record.
    lowest_to_be_left(hooks().and_then(|hooks| unsafe { (hooks.lowest_of_stack)(watched, sp) }))
}

crate::seam! {
    /// Only a stack with known bounds may be left.
    fn lowest_to_be_left(known: Option<usize>) -> Option<usize> {
        known
    } or unknown_stacks_are_left {
        known.or(Some(0))
    }
}

/// What the monitor has done so far in this process. These are relaxed statistics: there is no
/// order between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StallCounters {
    /// Workers that stood still for a whole interval with a context waiting behind them. Each
    /// stretch of standing still counts once.
    pub stalls: u64,
    /// Signals sent by the watcher or by an alarm.
    pub interrupts: u64,
    /// Signals of alarms; they are part of `interrupts`.
    pub ticks: u64,
    /// Contexts switched out by the handler.
    pub preemptions: u64,
    /// Workers whose queues were handed off.
    pub hand_offs: u64,
    /// Preemptions that found the C library's `sched_yield` or `pthread_spin_lock`; they are part
    /// of `preemptions`.
    pub yields: u64,
    /// Samples that found program code computing.
    pub computing: u64,
    /// Samples that found code that is not the program's, or too little free stack to switch.
    pub elsewhere: u64,
    /// System calls that a signal cut short and the handler made again.
    pub restarts: u64,
}

pub(super) struct Tally {
    pub(super) stalls: AtomicU64,
    pub(super) interrupts: AtomicU64,
    pub(super) ticks: AtomicU64,
    pub(super) preemptions: AtomicU64,
    pub(super) hand_offs: AtomicU64,
    pub(super) yields: AtomicU64,
    pub(super) computing: AtomicU64,
    pub(super) elsewhere: AtomicU64,
    pub(super) restarts: AtomicU64,
}

pub(super) static TALLY: Tally = Tally {
    stalls: AtomicU64::new(0),
    interrupts: AtomicU64::new(0),
    ticks: AtomicU64::new(0),
    preemptions: AtomicU64::new(0),
    hand_offs: AtomicU64::new(0),
    yields: AtomicU64::new(0),
    computing: AtomicU64::new(0),
    elsewhere: AtomicU64::new(0),
    restarts: AtomicU64::new(0),
};

pub(super) fn count(counter: &AtomicU64) {
    // ORDERING: Relaxed; the counter is a statistic.
    counter.fetch_add(1, Relaxed);
}

/// The counters of this process. Any thread may call it.
pub fn counters() -> StallCounters {
    // ORDERING: Relaxed; the counters are statistics.
    let read = |counter: &AtomicU64| counter.load(Relaxed);
    StallCounters {
        stalls: read(&TALLY.stalls),
        interrupts: read(&TALLY.interrupts),
        ticks: read(&TALLY.ticks),
        preemptions: read(&TALLY.preemptions),
        hand_offs: read(&TALLY.hand_offs),
        yields: read(&TALLY.yields),
        computing: read(&TALLY.computing),
        elsewhere: read(&TALLY.elsewhere),
        restarts: read(&TALLY.restarts),
    }
}

/// Where the monitor's handler passes on what is not for the monitor.
#[derive(Clone, Copy)]
pub(crate) struct SignalHooks {
    /// A signal with the monitor's number that something else has sent.
    ///
    /// The caller is a handler with this frame, and has nothing else to do.
    pub(crate) receive: unsafe fn(c_int, SignalFrame),
    /// A kick ([`super::signal::kick`]) has come for the thread with this TLS block. As `receive`.
    pub(crate) on_kick: unsafe fn(&'static TlsBlock, SignalFrame),
}

static SIGNAL_HOOKS: AtomicPtr<SignalHooks> = AtomicPtr::new(ptr::null_mut());

/// Sets the hooks for signals, which stay. Call it before the first thread is watched.
pub(crate) fn install_signal_hooks(hooks: &'static SignalHooks) {
    // ORDERING: Release, pairs with the Acquire in `signal_hooks`.
    SIGNAL_HOOKS.store(ptr::from_ref(hooks).cast_mut(), Release);
}

/// The hooks for signals; `None` where only the monitor runs, as in its own tests. May be called in
/// a signal handler.
pub(super) fn signal_hooks() -> Option<&'static SignalHooks> {
    // ORDERING: Acquire, pairs with the Release in `install_signal_hooks`.
    // SAFETY: null, or a constant.
    unsafe { SIGNAL_HOOKS.load(Acquire).as_ref() }
}
