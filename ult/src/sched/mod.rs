//! What a worker does when the context that it runs has to wait. Read this file from top to bottom.
//!
//! A *context* is a stack with unfinished code: the program's own stack, a ULT, or a runner in the
//! middle of a job. A worker runs exactly one context. Its other contexts are [`suspended`], each
//! with a condition.
//!
//! A worker is either *in its scheduler* or runs *program code*. A *switch point* is a call in
//! which program code enters the scheduler. Contexts and ULTs that are suspended or queued at a
//! worker wait *behind* the code that the worker runs. *Own kernel thread*, in a SAFETY comment,
//! means: the caller runs on the kernel thread of this worker.
//!
//! A context that must wait calls [`wait`], which does the following:
//!
//! 1. It suspends the context, and asks `idle::next` what this worker should do.
//! 2. If the answer is to *resume* a context, it switches there directly. Often this is the context
//!    that has just been suspended.
//! 3. If the answer is a *job*, it leaves the stack for a runner. The runner runs the job by a
//!    plain call, then further jobs, until a suspended context can be resumed.
//!
//! So a series of jobs that never wait costs one switch: the switch to the runner. A job that waits
//! keeps its runner's stack, and the worker continues with another runner. So a blocked job does
//! not block the stack of another context. Two exceptions exist, in which a job runs on the stack
//! of a waiting context. The first one holds after a call of [`run_jobs_on_own_stacks`]. The second
//! one holds if a region has met a limit of memory, and there is no room for one more stack
//! (`runner`).
//!
//! Each context has a *role* (`worker::Role`): the gang, the region and the thread that it runs
//! for, and its TLS block. A job that a waiting context seeks runs in the role of that context. A
//! ULT that has not started ([`crate::spawn::UltStart`]) is a job too, and has a role of its own.
//!
//! | file | what lives there |
//! |---|---|
//! | `request` | what a context asks for when it waits |
//! | `next` | what a worker does next, as a type |
//! | `wait` | suspending the calling context |
//! | `border` | entering and leaving the scheduler |
//! | `idle` | the loop in which a worker searches, polls and sleeps |
//! | `leave` | leaving a context for another one |
//! | `suspended` | which contexts can be resumed or seek jobs; which gang binds a worker |
//! | `order` | in which order a worker searches for work, one table per situation |
//! | `fairness` | what keeps contexts, ULTs and tasks from being passed over for ever |
//! | `look` | how a worker searches for work |
//! | `crowd` | what the worker reports before it runs program code |
//! | `runner` | the stacks that jobs run on |
//! | `stacks` | settings of these stacks |
//! | `storage` | a context that changes its thread-local storage |
//! | `handoff` | a spare kernel thread takes over the contexts of a blocked worker |
//! | `returning`, `parcel` | contexts on their way to another worker |
//! | `dedicated` | a kernel thread for one OpenMP thread alone |
//! | `relocate`, `depart` | a thread moves to another worker; a context sends itself there |
//! | `yielding` | yielding from program code: `sched_yield`, the stall monitor |
//! | `spin_policy` | how long a worker polls before it sleeps |
//! | `demand` | how often program code has asked to yield in a row |
//! | `polled` | waiting for events that cause no wake-up: requests of another library |
//! | `desk` | the list of the contexts that wait for such events |
//!
//! The worker that owns a context *polls* its condition: it evaluates the condition in its
//! searches. The code that makes a condition true wakes that worker. At any time only one kernel
//! thread may touch a context: that of the worker whose list holds it, or the one that has seized
//! this worker (`handoff`). A context changes lists only as `handoff`, `dedicated` and `relocate`
//! describe, and only after its stack has been left. So no worker can resume a stack that is only
//! half left.
//!
//! Tried and rejected: pushing resumable contexts into the owner's inbox. It needs one more
//! lock-free list and one more allocation per wait. Polling costs little, because a worker usually
//! has few suspended contexts, and polls only some of many (`suspended`).
//!
//! # How a worker sleeps without losing a wake-up
//!
//! The waker makes the condition true, then calls [`crate::worker::Worker::wake`], which executes a
//! full fence and reads the parked flag. The sleeper sets the flag, executes a full fence, and
//! evaluates all conditions once more. At least one of the two sees what the other one wrote. Where
//! many workers may wait for one event, each sleeper increments a counter before its last search.
//! The waker reads this counter, and visits the workers only if it is not zero. See
//! `docs/protocols/park.md`.

pub(crate) mod border;
pub(crate) mod crowd;
pub(crate) mod dedicated;
pub(crate) mod demand;
pub(crate) mod depart;
pub(crate) mod desk;
pub(crate) mod fairness;
pub(crate) mod handoff;
pub(crate) mod idle;
pub(crate) mod leave;
pub(crate) mod look;
pub(crate) mod next;
pub mod order;
pub(crate) mod parcel;
pub(crate) mod polled;
pub(crate) mod relocate;
pub(crate) mod request;
pub(crate) mod returning;
pub(crate) mod runner;
pub(crate) mod spin_policy;
pub(crate) mod stacks;
pub(crate) mod storage;
pub(crate) mod suspended;
pub(crate) mod wait;
pub(crate) mod yielding;

pub use border::{note_mask, note_mask_of_context, undisturbed};
pub use dedicated::{dedicate_kernel_thread, share_kernel_thread_again};
pub use handoff::{hand_off, retire, return_to};
pub use polled::{blocks, comes_at_once, may_suspend, wait_polled};
pub use relocate::{relocate, return_home};
pub use request::{Job, ReadyOrder, SearchScope, Wait};
pub use runner::promise_stacks;
pub use spin_policy::{Spin, cores, set_cores};
pub use stacks::{run_jobs_on_own_stacks, set_runner_stack_size};
pub use storage::change_storage;
pub use wait::{end_sync_point, may_go_on_in_place, wait};
pub use yielding::{
    demands, has_others_beside_sync_point, has_others_here, lowest_of_stack, poll, preempt, switch_away,
    yield_from_program, yield_to_released,
};

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::gang::GangTag;
    use crate::worker::{self, Duty};
    use core::cell::Cell;
    use core::time::Duration;
    use std::time::Instant;

    const fn gang(id: i64) -> Duty {
        Duty { tag: GangTag { id, level: 0 }, region: 0 }
    }

    /// A job of a younger gang: it waits until its condition is evaluated for the second time, and
    /// then notes that it was resumed.
    unsafe fn younger(data: *mut ()) {
        worker::set_duty(gang(2));
        let asked = Cell::new(false);
        let ready = || asked.replace(true);
        wait(&Wait::until(&ready));
        // SAFETY: the cell is the test's, and stays until the test has waited for it.
        unsafe { (*data.cast::<Cell<bool>>()).set(true) };
    }

    /// The older gang's context holds back the younger gang's context. A worker that sleeps takes
    /// the held-back context at the end of its sleep. A worker that polls without limit never
    /// sleeps, and takes it by the clock. So the test runs with each spin policy.
    #[test]
    fn what_is_held_back_goes_on_in_the_end() {
        for spin in [Spin::NONE, Spin::POLLING, Spin::ANSWERS, Spin::FOREVER] {
            let alone = std::thread::spawn(move || {
                let (went_on, begun) = (Cell::new(false), Cell::new(false));
                let start = Instant::now();
                let ready = || went_on.get() || start.elapsed() > Duration::from_secs(10);
                let seek = |_: SearchScope| {
                    (!begun.replace(true))
                        .then_some(Job { run: younger, data: (&raw const went_on).cast_mut().cast() })
                };
                worker::register_current();
                worker::set_duty(gang(1));
                wait(&Wait::until(&ready).seeking(&seek).spinning(spin));
                worker::set_duty(Duty::NONE);
                assert!(went_on.get(), "{spin:?}");
            });
            alone.join().unwrap();
        }
    }
}
