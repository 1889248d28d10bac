//! The list of contexts that wait for events that cause no wake-up, and the part of a search that
//! evaluates their conditions. The rules P1 and P2 are in [`super::polled`].

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::sys::{arch, fork, thread};
use crate::worker::record::Worker;

/// How many conditions one search evaluates. Chosen: each may advance a network stack, and a search
/// should stay short; any value from 4 to 16 will do.
const QUESTIONS_PER_LOOK: usize = 8;

pub(super) struct PolledEntry {
    pub(super) ready: *const (dyn Fn() -> bool + 'static),
    pub(super) worker: &'static Worker,
    pub(super) done: AtomicBool,
}

pub(super) struct PolledList {
    pub(super) entries: Vec<*const PolledEntry>,
    cursor: usize,
    generation: u32,
}

pub(super) struct Desk {
    /// 0 when free, else one more than what `fork::generation()` was for the holder. The generation
    /// changes in the child process of a fork. So if `holder` is neither 0 nor the present
    /// generation plus one, the holder was a thread of the parent process.
    holder: AtomicU32,
    list: UnsafeCell<PolledList>,
    /// How many contexts are in `wait_polled`. A context is counted before its entry is added, and
    /// until it continues.
    pub(super) waiting: AtomicU32,
}

// SAFETY: `list` is touched only between `try_enter` and the drop of its result. Two such intervals
// exclude each other.
unsafe impl Sync for Desk {}

pub(super) static DESK: Desk = Desk {
    holder: AtomicU32::new(0),
    list: UnsafeCell::new(PolledList { entries: Vec::new(), cursor: 0, generation: 0 }),
    waiting: AtomicU32::new(0),
};

pub(super) struct Locked;

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

    pub(super) fn enter(&'static self) -> Locked {
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
    pub(super) fn list(&self) -> &mut PolledList {
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
