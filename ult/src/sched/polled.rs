//! Waiting for what nobody tells of: requests of another library, asked for by whoever has nothing
//! better to do.
//!
//! A context that waits so ([`wait_polled`]) stands in one list of the process until its question
//! is answered with yes. At each look of any worker, while the list is not empty, the worker asks
//! some of those in it ([`look_after`]): as a part of the scheduler, on whatever stack it runs. A
//! worker that hosts such a context does not sleep, it naps at most, so somebody asks unless all
//! workers run program code; then whoever comes to the scheduler first asks.
//!
//! * **P1** who holds the list's lock asks; nobody asks the same question twice at once.
//! * **P2** an entry leaves the list before its `done` is set, and is not touched after that: it
//!   lies on the waiting stack.
//!
//! In the child of a fork the entries are forgotten, and those waits are over: what was waited for
//! is the parent's.
//!
//! Tried and rejected: to ask in the condition of each context. A look at a list of suspended
//! contexts with a thousand of them then costs a thousand questions, each of which may move a whole
//! network stack.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::{Job, SearchScope, Spin, Wait, undisturbed, wait};
use crate::worker::{self, Worker};
use crate::{arch, park, pool};

/// Questions that are asked at one look.
const QUESTIONS_PER_LOOK: usize = 8;

/// Looks before the context is suspended: with others behind it, and without. An answer that is
/// under way comes within some microseconds, and a look takes 50 ns and more.
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
    /// 0 when free, else the generation of the holder plus one: a holder of another generation was
    /// a thread of the parent process.
    holder: AtomicU32,
    list: UnsafeCell<PolledList>,
    /// How many are in the list, or about to be.
    waiting: AtomicU32,
}

// SAFETY: `list` is touched only between `try_enter` and the drop of what it returns, which exclude
// each other.
unsafe impl Sync for Desk {}

static DESK: Desk = Desk {
    holder: AtomicU32::new(0),
    list: UnsafeCell::new(PolledList { entries: Vec::new(), cursor: 0, generation: 0 }),
    waiting: AtomicU32::new(0),
};

struct Locked;

impl Desk {
    fn try_enter(&'static self) -> Option<Locked> {
        let generation = pool::generation();
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
            if turns.is_multiple_of(64) { park::give_core() } else { arch::pause() }
        }
    }
}

impl Locked {
    #[allow(clippy::mut_from_ref, reason = "the list is locked by us")]
    fn list(&self) -> &mut PolledList {
        // SAFETY: the list is ours while `self` exists; callers do not keep the reference across
        // another call.
        unsafe { &mut *DESK.list.get() }
    }

    /// Asks the next one; true if there was one.
    fn ask(&self) -> bool {
        let list = self.list();
        let Some(&entry) = list.entries.get(list.cursor).or_else(|| list.entries.first()) else {
            return false;
        };
        list.cursor = if list.cursor < list.entries.len() { list.cursor } else { 0 };
        // SAFETY: P2: what is in the list is alive, and its closure outlives the wait.
        let (ready, worker) = unsafe { (&*(*entry).ready, (*entry).worker) };
        if ready() {
            let list = self.list();
            list.entries.swap_remove(list.cursor);
            // SAFETY: as above; the last use.
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

/// Part of a worker's look: asks some of those who wait, unless somebody else is at it. One load
/// where nobody waits.
#[inline(always)]
pub(super) fn look_after() {
    // ORDERING: Relaxed; who waits looks himself.
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

/// Looks some times whether `ready` holds, before the context is suspended: what comes within
/// microseconds is not worth the way through the scheduler. `ready` must not wait.
pub fn comes_at_once(ready: &dyn Fn() -> bool) -> bool {
    look_first(worker::register_current(), ready)
}

fn look_first(worker: &'static Worker, ready: &dyn Fn() -> bool) -> bool {
    let looks = if worker.has_others() { FIRST_LOOKS.0 } else { FIRST_LOOKS.1 };
    undisturbed(|| (0..looks).any(|_| ready()))
}

/// Waits until `ready` holds, for what nobody tells of. `seek` and `sleepers` as in [`Wait`].
///
/// `ready` is called by any registered kernel thread in its scheduler, by one at a time, and not
/// any more once it has answered true. It must not wait, nor call into the runtime.
pub fn wait_polled(
    ready: &dyn Fn() -> bool,
    seek: Option<&dyn Fn(SearchScope) -> Option<Job>>,
    sleepers: Option<&AtomicU32>,
) {
    let worker = worker::register_current();
    if look_first(worker, ready) {
        return;
    }
    let generation = pool::generation();
    let forked = || pool::generation() != generation;
    // SAFETY: only the lifetime is erased; the entry leaves the list (P2, or with the parent's
    // process) before this returns.
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

/// The running code is about to block in a library: what could go on behind it does so at another
/// kernel thread.
pub fn blocks() {
    if let Some(worker) = worker::current().filter(|w| !w.is_in_scheduler() && w.has_others())
        && (worker.has_queued() || !super::nobody_else_can_go_on(worker))
    {
        super::hand_off(&worker.watched);
    }
}

/// May the calling code be suspended: on a registered kernel thread, and not inside of the
/// scheduler or [`undisturbed`]?
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
            // ORDERING: Relaxed, here and below; counts that the wait itself orders.
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
