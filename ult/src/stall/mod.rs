//! The stall monitor: it finds workers that reach no switch point while other contexts wait behind
//! them, and it helps these contexts.
//!
//! User-level threads switch at switch points only. Code that waits where the runtime cannot see it
//! (a loop on a flag, a blocking call) holds its worker. The code that would end the wait may be
//! queued behind that same worker. One watcher thread per process finds such workers; it sleeps
//! while no context waits behind a running worker. The monitor has two means:
//!
//! * *Interrupt.* A thread that consumes processor time gets a signal. If the interrupted code is
//!   the program's and makes no progress, the handler switches to another context
//!   ([`Hooks::preempt`]).
//! * *Hand-off.* If a worker sleeps in the kernel, or cannot be interrupted, a spare kernel thread
//!   takes over its queues ([`Hooks::hand_off`]).
//!
//! | module | what lives there |
//! |---|---|
//! | `watched` | the record of one worker: values from the scheduler, notes of the monitor |
//! | `watcher` | the watcher thread: when it looks at workers, how it sleeps |
//! | `episode` | the decision about one worker that has not moved |
//! | `clock` | what the kernel says about another thread: processor time, asleep or not |
//! | `signal` | the signal and its handler |
//! | `frame` | moves the signal frame to the stack of the code that is left |
//! | `spin` | spinning or computing: compares samples of registers |
//! | `leaf` | functions of the C library in which the program may be left |
//! | `unwind` | finds the caller of the C library's interrupted code |
//! | `alarm` | a timer that interrupts a worker on which spins follow each other |
//! | `restart` | puts a thread that the signal has woken back to sleep |
//! | `objects` | which code is the program's |
//! | `standing` | lists workers that stand still, for reports to people |
//! | `regions` | what is remembered about parallel regions |
//!
//! What may not live here: queues, contexts, and the choice of the next context. The monitor
//! reaches the scheduler through [`Hooks`] alone. The page `docs/protocols/stall.md` has the
//! protocol, its correctness argument and the rejected designs.
//!
//! # What the scheduler does
//!
//! * It calls [`install`] once.
//! * It calls [`Watched::begin`] and [`Watched::end`] on each kernel thread.
//! * It calls [`Watched::enter_user`] and [`Watched::enter_scheduler`] around the program's code,
//!   and [`Watched::pass`] at switch points in between.
//! * It calls [`Watched::set_crowd`] when the number of waiting contexts changes; where several
//!   threads queue contexts, it calls [`Watched::recount`] instead.
//! * It calls [`Watched::set_region`] when the parallel region changes.
//! * It calls [`start_if_needed`] when contexts begin to share kernel threads, outside of signal
//!   handlers.
//! * In the child of a fork it calls [`reset_after_fork`], then `begin` on the record of the
//!   surviving thread.
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

mod alarm;
mod episode;
#[cfg_attr(not(target_arch = "x86_64"), path = "frame_in_place.rs")]
mod frame;
mod leaf;
mod objects;
mod regions;
mod restart;
mod signal;
mod spin;
mod standing;
#[cfg(test)]
mod tests;
mod unwind;
mod watched;
mod watcher;

pub(crate) use frame::SignalFrame;
pub use objects::{
    is_program_code, keep_up as keep_up_with_objects, openmp_object_has_allocator,
    refresh as refresh_objects, treat_as_program,
};
pub use regions::{is_known_blocker, is_known_spinner, is_known_to_wait, is_known_wait, remember_wait};
pub use signal::set_signal;
pub(crate) use signal::{
    handler_address, is_its_signal, kick, leave_later, leave_soon, restart_interrupted_call, send_again,
    signal_as_set,
};
pub use standing::{Standing, standing};
pub use watched::{Watched, WorkerMode};
pub use watcher::{reset_after_fork, start_if_needed};

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
    /// Does a context wait behind the worker that its running code may well be waiting for (a
    /// thread of its own gang)? If not, the monitor takes more time. Called on any thread, also in
    /// the signal handler.
    pub urgent: fn(&'static Watched) -> bool,
}

static HOOKS: AtomicPtr<Hooks> = AtomicPtr::new(ptr::null_mut());

/// Sets the hooks. Call it once per process, before [`start_if_needed`]. Each call leaks a few
/// bytes.
pub fn install(hooks: Hooks) {
    // ORDERING: Release pairs with the Acquire in `hooks`.
    HOOKS.store(Box::into_raw(Box::new(hooks)), Release);
}

fn hooks() -> Option<&'static Hooks> {
    // ORDERING: Acquire pairs with the Release in `install`.
    let hooks = HOOKS.load(Acquire);
    // SAFETY: the pointer is null, or was leaked by `install`; the hooks never change.
    unsafe { hooks.as_ref() }
}

/// Does a context wait behind `watched` that should not wait for long?
fn is_urgent(watched: &'static Watched) -> bool {
    hooks().is_none_or(|hooks| (hooks.urgent)(watched))
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

struct Tally {
    stalls: AtomicU64,
    interrupts: AtomicU64,
    ticks: AtomicU64,
    preemptions: AtomicU64,
    hand_offs: AtomicU64,
    yields: AtomicU64,
    computing: AtomicU64,
    elsewhere: AtomicU64,
    restarts: AtomicU64,
}

static TALLY: Tally = Tally {
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

fn count(counter: &AtomicU64) {
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

/// Does a `sched_yield` that returns to `return_address` come from program code, so that the
/// calling thread may switch to another thread? Calls from other libraries are forwarded to the
/// kernel: such a library may hold locks of its own, or is not built with OpenMP. Any thread,
/// async-signal-safe.
#[inline]
pub fn yields_for(return_address: usize) -> bool {
    is_program_code(return_address)
}
