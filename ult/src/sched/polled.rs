//! Waiting for events that cause no wake-up, such as requests of another library. The searches of
//! workers evaluate the conditions of such waits.
//!
//! The layer above this crate knows the requests. A context that waits like this ([`wait_polled`])
//! is in one list of the process until its condition holds. While the list is not empty, every full
//! search (`look::full_search`) of any worker evaluates some of these conditions
//! (`desk::look_after`). This is a part of the scheduler, and happens on any stack. A worker that
//! hosts such a context does not sleep: it pauses between searches (`spin_policy`). So the
//! conditions are evaluated while one of these workers is in its scheduler. If all of them run
//! program code, the next worker that makes a full search evaluates the conditions.
//!
//! * **P1** While an entry is in the list, only the holder of the list's lock evaluates its
//!   condition. So no two workers evaluate one condition at the same time.
//! * **P2** An entry leaves the list before its `done` is set. No other thread touches the entry
//!   after `done` is set. It lies on the stack of the waiting context, which may have continued.
//!
//! In the child process of `fork(2)` the entries are forgotten and their waits are over, because
//! the awaited events belong to the parent.
//!
//! Tried and rejected: letting each suspended context call the library in its own condition. A
//! search of a thousand suspended contexts then calls the library a thousand times, and each call
//! may advance a whole network stack.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::border::undisturbed;
use super::desk::{DESK, PolledEntry};
use super::handoff::hand_off;
use super::request::{Job, SearchScope, Wait};
use super::spin_policy::Spin;
use super::wait::{no_other_can_go_on, wait};
use crate::sys::fork;
use crate::worker::record::Worker;
use crate::worker::words::{self, here};

/// How often a condition is evaluated before the context is suspended. The first number applies if
/// other contexts wait behind the running code, the second one if none does. An answer under way
/// comes within some microseconds, and an evaluation takes at least 50 ns. Chosen: 96 evaluations
/// take about as long as such an answer needs; any value from (1, 48) to (4, 192) will do.
const FIRST_LOOKS: (u32, u32) = (2, 96);

/// Evaluates `ready` some times before the context is suspended. For an event that comes within
/// microseconds this costs less than a suspension. `ready` must not wait.
pub fn comes_at_once(ready: &dyn Fn() -> bool) -> bool {
    look_first(here(), ready)
}

fn look_first(worker: &'static Worker, ready: &dyn Fn() -> bool) -> bool {
    let looks = if worker.has_others() { FIRST_LOOKS.0 } else { FIRST_LOOKS.1 };
    undisturbed(|| (0..looks).any(|_| ready()))
}

/// Waits until `ready` holds, for an event that causes no wake-up. `seek` and `sleepers` are as in
/// [`Wait`].
///
/// Any registered kernel thread calls `ready` in its scheduler, one thread at a time, and not again
/// after it has returned true. `ready` must not wait, and must not call into the runtime.
pub fn wait_polled(
    ready: &dyn Fn() -> bool,
    seek: Option<&dyn Fn(SearchScope) -> Option<Job>>,
    sleepers: Option<&AtomicU32>,
) {
    let worker = here();
    if look_first(worker, ready) {
        return;
    }
    let generation = fork::generation();
    let forked = || fork::generation() != generation;
    // SAFETY: only the lifetime is erased. The entry leaves the list before this function returns
    // (P2), or stays with the parent's process.
    let ready = unsafe {
        core::mem::transmute::<*const (dyn Fn() -> bool + '_), *const (dyn Fn() -> bool + 'static)>(ready)
    };
    let entry = PolledEntry { ready, worker, done: AtomicBool::new(false) };
    // ORDERING: Relaxed; see `look_after`.
    DESK.waiting.fetch_add(1, Ordering::Relaxed);
    undisturbed(|| DESK.enter().list().entries.push(&raw const entry));
    // ORDERING: Acquire, pairs with the Release in `ask`.
    let ready = || entry.done.load(Ordering::Acquire) || forked();
    let plain = Wait::until(&ready).spinning(Spin::ANSWERS);
    let seeking = seek.map_or(plain, |seek| plain.seeking(seek));
    wait(&sleepers.map_or(seeking, |sleepers| seeking.counted_by(sleepers)));
    // ORDERING: as above.
    DESK.waiting.fetch_sub(1, Ordering::Relaxed);
}

/// The running code is about to block in a library. If another context or a queued ULT could run
/// here, a spare kernel thread takes over what waits behind this code ([`hand_off`]).
pub fn blocks() {
    if let Some(worker) = words::current().filter(|w| !w.is_in_scheduler() && w.has_others())
        && (worker.has_queued() || !no_other_can_go_on(worker))
    {
        hand_off(&worker.watched);
    }
}

/// May the calling code be suspended? It may on a registered kernel thread, outside of the
/// scheduler and of [`undisturbed`].
pub fn may_suspend() -> bool {
    words::current().is_some_and(|worker| !worker.is_in_scheduler())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_asked_until_its_first_yes() {
        for yes in [1, 2, FIRST_LOOKS.1, 10 * FIRST_LOOKS.1] {
            let asked = AtomicU32::new(0);
            // ORDERING: Relaxed, here and below; the wait itself orders these counts.
            wait_polled(&|| asked.fetch_add(1, Ordering::Relaxed) + 1 == yes, None, None);
            // ORDERING: as above.
            assert_eq!(asked.load(Ordering::Relaxed), yes);
        }
    }

    #[test]
    fn those_who_wait_answer_each_other() {
        const THREADS: u32 = 6;
        let turn = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for me in (0..THREADS).rev() {
                let turn = &turn;
                scope.spawn(move || {
                    // ORDERING: Relaxed, all; a number alone.
                    wait_polled(&|| turn.load(Ordering::Relaxed) == me, None, None);
                    // ORDERING: as above.
                    turn.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(turn.into_inner(), THREADS);
    }
}
