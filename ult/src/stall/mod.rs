//! The stall monitor: finds workers that reach no switch point while others wait behind them, and
//! helps.
//!
//! User-level threads yield at switch points only. Code that waits where the runtime cannot see
//! it (a loop on a flag, a blocking call) holds its worker, and what it waits for may be queued
//! behind it. One watcher thread per process, asleep while nobody is queued behind anybody, finds
//! such workers and
//!
//! * *interrupts what spins*: a signal to a thread that consumes processor time; if the interrupted
//!   code is the program's and does not get on, the handler switches to another context
//!   ([`Hooks::preempt`]);
//! * *hands off what blocks*: the queues of a worker that sleeps in the kernel, or that cannot be
//!   interrupted, go to a spare kernel thread ([`Hooks::hand_off`]).
//!
//! | room | what lives there |
//! |---|---|
//! | `watched` | the record of one worker: what the scheduler tells, what the monitor notes |
//! | `watcher` | the thread: when it looks, how it sleeps |
//! | `episode` | the decision about one worker that has not moved |
//! | `clock` | what the kernel tells about another thread: processor time, asleep or not |
//! | `signal` | the signal and its handler |
//! | `frame` | the frame of the signal, moved to the stack of the code that is left |
//! | `spin` | spinning or computing: comparing samples of registers |
//! | `leaf` | functions of the C library in which the program may be left |
//! | `unwind` | who has called the C library's code that was interrupted |
//! | `alarm` | a timer that interrupts a worker on which spins follow each other |
//! | `restart` | puts a thread that the signal has woken back to sleep |
//! | `objects` | which code is the program's |
//! | `standing` | workers that stand still, for people: where their code is |
//! | `regions` | what is remembered about parallel regions |
//!
//! What may not live here: queues, contexts, who runs next. The scheduler is reached through
//! [`Hooks`] alone. The protocol, its argument and what was tried are in `docs/protocols/stall.md`.
//!
//! # What the scheduler does
//!
//! [`install`] once; [`Watched::begin`] and [`Watched::end`] on each kernel thread;
//! [`Watched::enter_user`] and [`Watched::enter_scheduler`] around the program's code,
//! [`Watched::pass`] at switch points between; [`Watched::set_crowd`] (or [`Watched::recount`],
//! where several threads queue) and [`Watched::set_region`] when they change; [`start_if_needed`]
//! when contexts begin to share kernel threads (not in a signal handler); [`reset_after_fork`] in
//! the child of a fork, then `begin` on the record of the thread that is left.
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

mod alarm;
mod clock;
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

/// How decisions reach the scheduler.
#[derive(Clone, Copy)]
pub struct Hooks {
    /// Called at the end of the signal handler, on the worker, on the interrupted context's own
    /// stack, where program code spins. The worker's mode is `Scheduler` already. Switches to
    /// another context and returns true when this one is resumed, with the mode of the worker
    /// it is resumed on set to `User`; or returns false at once, with nothing changed, if there
    /// is nobody to switch to. Must not allocate, lock, or call into the C library.
    pub preempt: unsafe fn() -> bool,
    /// Called on the watcher thread: the worker's running context blocks in the kernel, or runs
    /// where it cannot be interrupted, while others wait behind it. Who takes them over says so
    /// by [`Watched::set_heir`]. Again as long as the worker stands still and somebody waits
    /// behind it: when that heir blocks as well, else after 1, 2, 4 ms and so on, at most 50. The
    /// worker may have moved on meanwhile: the hook looks again under its own lock. Must not
    /// wait for the worker.
    pub hand_off: fn(&'static Watched),
    /// Called in the signal handler, on the worker, where it runs program code: the lowest address
    /// of the running context's own stack, if the stack pointer lies in that. Otherwise the
    /// code stands on memory of the program's own, and is not left.
    pub lowest_of_stack: unsafe fn(&'static Watched, usize) -> Option<usize>,
    /// Does somebody wait behind the worker whom its running code may well be waiting for (a thread
    /// of its own gang)? If not, the monitor takes its time. Any thread, in the signal handler
    /// too.
    pub urgent: fn(&'static Watched) -> bool,
}

static HOOKS: AtomicPtr<Hooks> = AtomicPtr::new(ptr::null_mut());

/// Sets the hooks. Call before [`start_if_needed`], once per process; each call keeps a few bytes
/// for good.
pub fn install(hooks: Hooks) {
    // ORDERING: Release pairs with the Acquire in `hooks`.
    HOOKS.store(Box::into_raw(Box::new(hooks)), Release);
}

fn hooks() -> Option<&'static Hooks> {
    // ORDERING: Acquire pairs with the Release in `install`.
    let hooks = HOOKS.load(Acquire);
    // SAFETY: null, or leaked by `install` and never changed.
    unsafe { hooks.as_ref() }
}

/// Does somebody wait behind `watched` who should not wait for long?
fn is_urgent(watched: &'static Watched) -> bool {
    hooks().is_none_or(|hooks| (hooks.urgent)(watched))
}

/// What the monitor has done so far in this process. Relaxed statistics: no order between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StallCounters {
    /// Workers found standing still for a whole interval with somebody behind them; one per stretch
    /// of standing still.
    pub stalls: u64,
    /// Signals, by the watcher or an alarm.
    pub interrupts: u64,
    /// Of the signals: those of an alarm.
    pub ticks: u64,
    /// Contexts switched out by the handler.
    pub preemptions: u64,
    /// Workers whose queues were handed off.
    pub hand_offs: u64,
    /// Of the preemptions: those found in the C library's `sched_yield` or `pthread_spin_lock`.
    pub yields: u64,
    /// Samples that found program code computing.
    pub computing: u64,
    /// Samples that found code that is not the program's, or no room to switch.
    pub elsewhere: u64,
    /// System calls that a signal cut short and that were made again.
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
    // ORDERING: Relaxed; a statistic.
    counter.fetch_add(1, Relaxed);
}

/// What the monitor has done so far in this process. Any thread.
pub fn counters() -> StallCounters {
    // ORDERING: Relaxed; statistics.
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

/// Is a `sched_yield` that returns to `return_address` one that a thread of the program waits with,
/// so that it may switch to another thread? Any thread, async-signal-safe. Calls from libraries
/// that hold locks of their own, or that are not built with OpenMP, are forwarded to the kernel
/// instead.
#[inline]
pub fn yields_for(return_address: usize) -> bool {
    is_program_code(return_address)
}
