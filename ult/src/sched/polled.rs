//! Waiting for events that cause no wake-up, such as requests of another library. The searches of
//! workers evaluate the conditions of such waits.
//!
//! The layer above this crate knows the requests. A context that waits like this ([`wait_polled`])
//! is in one list of the process until its condition holds. While the list is not empty, every full
//! search (`look::everywhere`) of any worker evaluates some of these conditions ([`look_after`]).
//! This is a part of the scheduler, and happens on any stack. A worker that hosts such a context
//! does not sleep: it pauses between searches (`spin_policy`). So the conditions are evaluated
//! while one of these workers is in its scheduler. If all of them run program code, the next worker
//! that makes a full search evaluates the conditions.
//!
//! * **P1** Only the holder of the list's lock evaluates conditions, so no two workers evaluate one
//!   condition at the same time.
//! * **P2** An entry leaves the list before its `done` is set. No other thread touches the entry
//!   after that. It lies on the stack of the waiting context, which may have continued.
//!
//! In the child process of `fork(2)` the entries are forgotten and their waits are over, because
//! the awaited events belong to the parent.
//!
//! Tried and rejected: letting each suspended context call the library in its own condition. A
//! search of a thousand suspended contexts then calls the library a thousand times, and each call
//! may advance a whole network stack.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::{Job, SearchScope, Spin, Wait, undisturbed, wait};
use crate::sys::{arch, fork, thread};
use crate::worker::{self, Worker};

/// How many conditions one search evaluates. Chosen: each may advance a network stack, and a search
/// should stay short; any value from 4 to 16 will do.
const QUESTIONS_PER_LOOK: usize = 8;

/// How often a condition is evaluated before the context is suspended. The first number applies if
/// other contexts wait behind the running code, the second one if none does. An answer under way
/// comes within some microseconds, and an evaluation takes at least 50 ns. Chosen: 96 evaluations
/// take about as long as such an answer needs; any value from (1, 48) to (4, 192) will do.
const FIRST_LOOKS: (u32, u32) = (2, 96);

struct PolledEntry {
    ready: *const (dyn Fn() -> bool + 'static),
    worker: &'static Worker,
    done: AtomicBool,
}

struct PolledList {
    entries: Vec<*const PolledEntry>,
    cursor: usize,
    generation: u32,
}

struct Desk {
    /// 0 when free, else one more than what `fork::generation()` was for the holder. That
    /// generation is another one in the child process of a fork. So if `holder` is neither 0 nor
    /// the present generation plus one, the holder was a thread of the parent process.
    holder: AtomicU32,
    list: UnsafeCell<PolledList>,
    /// How many entries are in the list, or about to be.
    waiting: AtomicU32,
}

// SAFETY: `list` is touched only between `try_enter` and the drop of its result. Two such intervals
// exclude each other.
unsafe impl Sync for Desk {}

static DESK: Desk = Desk {
    holder: AtomicU32::new(0),
    list: UnsafeCell::new(PolledList { entries: Vec::new(), cursor: 0, generation: 0 }),
    waiting: AtomicU32::new(0),
};

struct Locked;

impl Desk {
    fn try_enter(&'static self) -> Option<Locked> {
        let generation = fork::generation();
        // ORDERING: Relaxed; only a guess for the exchange.
        let holder = self.holder.load(Ordering::Relaxed);
        if holder == generation + 1
            // ORDERING: Acquire, pairs with the Release in `drop`: the list is as the last holder
            // left it.
            || self.holder.compare_exchange(holder, generation + 1, Ordering::Acquire, Ordering::Relaxed).is_err()
        {
            return None;
        }
        let locked = Locked;
        let list = locked.list();
        if list.generation != generation {
            *list = PolledList { entries: Vec::new(), cursor: 0, generation };
        }
        Some(locked)
    }

    fn enter(&'static self) -> Locked {
        let mut turns = 0_u32;
        loop {
            if let Some(locked) = self.try_enter() {
                return locked;
            }
            turns += 1;
            if turns.is_multiple_of(64) { thread::give_core() } else { arch::pause() }
        }
    }
}

impl Locked {
    #[allow(clippy::mut_from_ref, reason = "the list is locked by us")]
    fn list(&self) -> &mut PolledList {
        // SAFETY: the list is this thread's while `self` exists; callers do not keep the reference
        // across another call.
        unsafe { &mut *DESK.list.get() }
    }

    /// Evaluates the next condition. True if there was one.
    fn ask(&self) -> bool {
        let list = self.list();
        let Some(&entry) = list.entries.get(list.cursor).or_else(|| list.entries.first()) else {
            return false;
        };
        list.cursor = if list.cursor < list.entries.len() { list.cursor } else { 0 };
        // SAFETY: P2: an entry in the list is alive, and its closure outlives the wait.
        let (ready, worker) = unsafe { (&*(*entry).ready, (*entry).worker) };
        if ready() {
            let list = self.list();
            list.entries.swap_remove(list.cursor);
            // SAFETY: as above; this is the last use.
            // ORDERING: Release, pairs with the Acquire in `wait_polled`. The entry may be gone
            // after this.
            unsafe { (*entry).done.store(true, Ordering::Release) };
            worker.wake();
        } else {
            self.list().cursor += 1;
        }
        true
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // ORDERING: Release, pairs with the Acquire in `try_enter`.
        DESK.holder.store(0, Ordering::Release);
    }
}

/// A part of every full search: evaluates some conditions, unless another worker does so now. One
/// load if no context waits like this.
#[inline(always)]
pub(super) fn look_after() {
    // ORDERING: Relaxed; a worker that still reads 0 only omits this evaluation. The worker of a
    // waiting context sees its own increment, and evaluates the conditions by itself.
    if DESK.waiting.load(Ordering::Relaxed) != 0 {
        ask_some();
    }
}

#[cold]
fn ask_some() {
    if let Some(locked) = DESK.try_enter() {
        for _ in 0..QUESTIONS_PER_LOOK.min(locked.list().entries.len()) {
            locked.ask();
        }
    }
}

/// Evaluates `ready` some times before the context is suspended. For an event that comes within
/// microseconds this costs less than a suspension. `ready` must not wait.
pub fn comes_at_once(ready: &dyn Fn() -> bool) -> bool {
    look_first(worker::register_current(), ready)
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
    let worker = worker::register_current();
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
    wait(&Wait { seek, sleepers, spin: Spin::ANSWERS, ..Wait::until(&ready) });
    // ORDERING: as above.
    DESK.waiting.fetch_sub(1, Ordering::Relaxed);
}

/// The running code is about to block in a library. If another context or a queued ULT could run
/// here, a spare kernel thread takes over what waits behind this code ([`super::hand_off`]).
pub fn blocks() {
    if let Some(worker) = worker::current().filter(|w| !w.is_in_scheduler() && w.has_others())
        && (worker.has_queued() || !super::nobody_else_can_go_on(worker))
    {
        super::hand_off(&worker.watched);
    }
}

/// May the calling code be suspended? It may on a registered kernel thread, outside of the
/// scheduler and of [`undisturbed`].
pub fn may_suspend() -> bool {
    worker::current().is_some_and(|worker| !worker.is_in_scheduler())
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
