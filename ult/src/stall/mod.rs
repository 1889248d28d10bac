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
//! | `signal` | the signal, its handler, and the verdict on a sample |
//! | `interrupted` | which code a signal has interrupted, and whether its stack may be left |
//! | `frame` | moves the signal frame to the stack of the code that is left |
//! | `spin` | spinning or computing: compares samples of registers |
//! | `leaf` | functions of the C library in which the program may be left |
//! | `unwind` | finds the caller of the C library's interrupted code |
//! | `alarm` | a timer that interrupts a worker on which spins follow each other |
//! | `restart` | puts a thread that the signal has woken back to sleep |
//! | `objects` | which code is the program's |
//! | `standing` | lists workers that stand still, for reports to people |
//! | `regions` | what is remembered about parallel regions |
//! | `hooks` | the functions by which the monitor reaches the scheduler; what it counts |
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

pub(crate) mod alarm;
pub(crate) mod episode;
#[cfg_attr(not(target_arch = "x86_64"), path = "frame_in_place.rs")]
pub(crate) mod frame;
pub(crate) mod hooks;
pub(crate) mod interrupted;
pub(crate) mod leaf;
pub(crate) mod objects;
pub(crate) mod regions;
pub(crate) mod restart;
pub(crate) mod signal;
pub(crate) mod spin;
pub(crate) mod standing;
#[cfg(test)]
mod tests;
pub(crate) mod unwind;
pub(crate) mod watched;
pub(crate) mod watcher;

pub use hooks::{Hooks, StallCounters, WaitUrgency, counters, install};
pub use objects::{
    is_program_code, keep_up as keep_up_with_objects, openmp_object_has_allocator,
    refresh as refresh_objects, treat_as_program,
};
pub use regions::{
    is_frequent_blocker, is_known_blocker, is_known_spinner, is_known_to_wait, is_known_wait, remember_wait,
};
pub use signal::set_signal;
pub use standing::{Standing, standing};
pub use watched::{Watched, WorkerMode};
pub use watcher::{leave_start_to_worker, reset_after_fork, start_if_needed};

/// Does a `sched_yield` that returns to `return_address` come from program code, so that the
/// calling thread may switch to another thread? Calls from other libraries are forwarded to the
/// kernel: such a library may hold locks of its own, or is not built with OpenMP. Any thread,
/// async-signal-safe.
#[inline]
pub fn yields_for(return_address: usize) -> bool {
    is_program_code(return_address)
}
