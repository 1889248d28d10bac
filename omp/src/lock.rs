//! Locks (OpenMP 5.2 §18.9), also those behind `critical` and library atomics.
//!
//! | type | in memory | serves |
//! |---|---|---|
//! | [`Lock`] | 4 bytes, zero is a free lock | `omp_lock_t`, `critical`, GCC's library atomics |
//! | [`NestHandle`] | 8 bytes, a pointer | `omp_nest_lock_t` |
//! | [`parking`] | a static table | records of the contexts that wait, by lock |
//!
//! What does not live here: names and argument conventions of compilers (the fronts).
//!
//! One compare-and-swap takes a free lock, and one releases it. A thread that finds the lock held
//! polls for a microsecond or two, less and less often, then queues and suspends. This is a switch
//! point and not a task scheduling point: the worker may continue another of its contexts, but
//! starts no task.
//! `docs/protocols/lock.md` describes the protocol, and shows why no wake-up is lost and no waiter
//! starves.
//!
//! Tried and rejected:
//! * A ticket lock. Four bytes would be enough for it, but the next context in line may be
//!   suspended on a worker where another one spins.
//! * Passing the lock on at every release. This makes a convoy: with more threads than cores each
//!   release waits for a wake-up.
//! * A futex in the lock word. It puts the worker to sleep, with every other context that it hosts.
//!
//! Misuse is checked only where the check costs nothing. Unsetting a free lock leaves it free.
//! Unsetting a nestable lock that another task owns is not noticed. Under `GANGWAY_CHECK` locks
//! have a bit in their word ([`CHECKED`]), so that the first compare-and-swap of each operation
//! fails. The operation then takes the slow path, which notifies the checks ([`check`]). Other locks pay
//! nothing for this.

use core::cell::Cell;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use ult::sanitize::{after, before};
use ult::sys::sync::CachePadded;

use super::extension::check::{self, WaitTarget};
use crate::task::record::Task;

pub mod parking;

/// The lock is held. Derived: a bit of the lock word.
const LOCKED: u32 = 1;
/// A waiter for this lock is in the parking table. Changed only under the lock of the table's
/// bucket. Derived: a bit of the lock word.
const QUEUED: u32 = 2;
/// The checks are notified of the uses of the lock. Constant from [`Lock::made`] to [`Lock::destroy`].
/// Derived: a bit of the lock word.
const CHECKED: u32 = 4;

/// The first waiter has been nudged, and has not competed since: a release has no thread to wake.
/// Changed only under the lock of the table's bucket. Derived: a bit of the lock word.
const NUDGED: u32 = 8;
/// Bits below the time of the nudge. Chosen: four are used, and 24 bits of time are enough.
const NUDGE_TIME_SHIFT: u32 = 8;
/// The time of the latest nudge ([`parking::nudge_time`]); zero without [`NUDGED`]. Derived: the bits
/// above [`NUDGE_TIME_SHIFT`].
const NUDGE_TIME: u32 = u32::MAX << NUDGE_TIME_SHIFT;
/// [`NUDGED`] and the time. Derived: from these two.
const NUDGE_BITS: u32 = NUDGED | NUDGE_TIME;

/// How often a thread polls a held lock before it queues. The times between the looks double, so that
/// several waiters leave the cache line to the holder. Chosen: 31 pauses in all, one microsecond (AMD)
/// or two (Intel); any value from 4 to 8 will do.
const LOOKS: u32 = 6;

/// A simple lock: without an owner, and not recursive. A word of zeros is a free lock.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Lock {
    word: AtomicU32,
}

const _: () = assert!(size_of::<Lock>() == 4 && align_of::<Lock>() == 4);

/// The lock of the unnamed `critical` of GCC's programs.
pub static CRITICAL: CachePadded<Lock> = CachePadded(Lock::new());
/// The lock behind atomics for which the processor has no instruction.
pub static ATOMIC: CachePadded<Lock> = CachePadded(Lock::new());

ult::seam! {
    /// Frees the locks of unnamed `critical`s and of atomics in the child of a fork(2). The threads
    /// that held them do not exist there. (Each reduction of gcc's code holds one for a moment.) A
    /// child that was forked inside such a `critical` continues with the lock free. If the lock
    /// stayed held, the child's threads would wait for it without end, and so would a nested region.
    pub fn free_after_fork() {
        for lock in [&CRITICAL, &ATOMIC] {
            // ORDERING: Relaxed; the child has one thread.
            lock.word.store(0, Ordering::Relaxed);
        }
    } or child_inherits_locks {}
}

impl Lock {
    /// A free lock.
    pub const fn new() -> Self {
        Self { word: AtomicU32::new(0) }
    }

    /// The lock in the four bytes at `address`.
    ///
    /// # Safety
    /// `address` is 4-aligned, valid, initialised (zero, or by `Lock::init`) and used as a lock
    /// only, for `'a`.
    #[inline(always)]
    pub unsafe fn at<'a>(address: *mut Lock) -> &'a Lock {
        // SAFETY: as the caller says; the type consists of an atomic only.
        unsafe { &*address }
    }

    /// A free lock of the program (`omp_init_lock`), to be kept at `address`. Reads the
    /// environment, if no thread has done so yet.
    pub fn made(address: *const Lock) -> Self {
        let word = if check::is_lock_checked(address.addr()) { CHECKED } else { 0 };
        Self { word: AtomicU32::new(word) }
    }

    /// Ends the use of the lock by the library routine `routine`. A held lock stays held.
    pub fn destroy(&self, routine: &str) {
        let seen = self.load();
        if seen & CHECKED != 0 {
            // ORDERING: Relaxed; no other thread uses the lock any more.
            self.word.fetch_and(!CHECKED, Ordering::Relaxed);
            check::lock_destroyed(self.address(), seen & LOCKED != 0, routine);
        }
    }

    /// Takes the lock, and waits for it if necessary.
    ///
    /// The first exchange comes without a load before it. If the last holder ran on another core, a
    /// load would fetch the cache line once more.
    #[inline]
    pub fn lock(&self) {
        self.lock_unwatched();
        after(self);
    }

    /// As [`Lock::lock`], without an observer ([`ult::watch::any_watcher`]).
    #[inline(always)]
    pub fn lock_unwatched(&self) {
        if !self.take(0, LOCKED) {
            self.lock_slowly();
        }
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> bool {
        let taken = self.try_take();
        if taken {
            after(self);
        }
        taken
    }

    #[inline(always)]
    fn try_take(&self) -> bool {
        loop {
            let seen = self.load();
            if seen & LOCKED != 0 {
                return try_on_held_lock();
            }
            if self.take(seen, seen | LOCKED) {
                if seen & CHECKED != 0 {
                    check::lock_set(self.address());
                }
                return true;
            }
        }
    }

    /// Releases the lock.
    #[inline]
    pub fn unlock(&self) {
        before(self);
        self.unlock_unwatched();
    }

    /// As [`Lock::unlock`], without an observer.
    #[inline(always)]
    pub fn unlock_unwatched(&self) {
        if !self.release_to(LOCKED, 0) {
            parking::release(self);
        }
    }

    /// Is the lock held? The answer may be stale when the caller reads it.
    pub fn is_locked(&self) -> bool {
        self.load() & LOCKED != 0
    }

    #[cold]
    #[inline(never)]
    fn lock_slowly(&self) {
        if self.is_checked() {
            return self.lock_checked();
        }
        for look in 0..LOOKS {
            if self.try_take() {
                return;
            }
            for _ in 0..(1 << look) / 2 {
                ult::sys::arch::pause();
            }
        }
        parking::acquire(self);
    }

    /// As [`Lock::lock`], with the checks of `GANGWAY_CHECK`.
    fn lock_checked(&self) {
        check::lock_wanted(self.address());
        if !self.try_take() {
            let noted = check::wait_begins(|| WaitTarget::Lock(self.address()));
            parking::acquire(self);
            drop(noted);
            check::lock_set(self.address());
        }
    }

    fn is_checked(&self) -> bool {
        self.load() & CHECKED != 0
    }

    /// The address by which tools and checks know the lock.
    pub fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    #[inline(always)]
    fn load(&self) -> u32 {
        // ORDERING: Relaxed; every use is followed by an exchange that decides.
        self.word.load(Ordering::Relaxed)
    }

    /// Changes the word from a value without `LOCKED` to one with it.
    #[inline(always)]
    fn take(&self, seen: u32, wanted: u32) -> bool {
        // ORDERING: Acquire, pairs with the Release in `release_to` and `clear`: the new holder sees
        // the last holder's writes.
        self.word.compare_exchange(seen, wanted, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Changes the word from `seen`, which has `LOCKED`, to `wanted`, which has it too. Under the
    /// bucket's lock.
    fn annotate(&self, seen: u32, wanted: u32) -> bool {
        // ORDERING: Relaxed; the bucket's lock orders the queue, and a failed exchange is repeated.
        self.word.compare_exchange(seen, wanted, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Changes the word from `seen` to `wanted`, which does not have `LOCKED`. For the holder.
    #[inline(always)]
    fn release_to(&self, seen: u32, wanted: u32) -> bool {
        // ORDERING: Release, pairs with the Acquire in `take`. A failure publishes nothing.
        self.word.compare_exchange(seen, wanted, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Clears `bits` in the word. For the holder, under the bucket's lock.
    fn clear(&self, bits: u32) {
        // ORDERING: Release, pairs with the Acquire in `take` when `LOCKED` is among the bits.
        self.word.fetch_and(!bits, Ordering::Release);
    }
}

ult::seam! {
    /// The result of a try-lock on a held lock: it fails.
    fn try_on_held_lock() -> bool {
        false
    } or lock_shared {
        true
    }
}

/// A nestable lock. A task region owns it and may set it again.
#[derive(Debug, Default)]
pub struct NestLock {
    lock: Lock,
    owner: AtomicPtr<Task>,
    /// How often the owner has set the lock. Only the owner touches the count.
    count: Cell<u32>,
}

// SAFETY: `count` is touched only by the task that owns the lock; the lock's release and acquire
// order two owners.
unsafe impl Sync for NestLock {}

/// `omp_nest_lock_t`. Every compiler's type has room for this pointer.
pub type NestHandle = *mut NestLock;

const _: () = assert!(size_of::<NestHandle>() == 8);

impl NestLock {
    /// A new lock on the heap.
    pub fn create() -> NestHandle {
        let handle = Box::into_raw(Box::new(Self::default()));
        // SAFETY: the block is new, and no other thread knows it.
        unsafe { (*handle).lock = Lock::made(&raw const (*handle).lock) };
        handle
    }

    /// Frees a lock. A null handle is ignored.
    ///
    /// # Safety
    /// The handle came from [`NestLock::create`], and no thread uses the lock any more.
    pub unsafe fn destroy(handle: NestHandle) {
        if let Some(lock) = NonNull::new(handle) {
            // SAFETY: as the caller says.
            let lock = unsafe { Box::from_raw(lock.as_ptr()) };
            lock.lock.destroy("omp_destroy_nest_lock");
        }
    }

    /// Takes the lock for `task`, once more if the task has it already. Returns how often the task
    /// has it now.
    pub fn lock(&self, task: &Task) -> u32 {
        if !self.is_owned_by(task) {
            self.lock.lock();
            self.own(task);
        }
        self.set_again()
    }

    /// Like [`NestLock::lock`], but returns 0 when another task has the lock.
    pub fn try_lock(&self, task: &Task) -> u32 {
        if !self.is_owned_by(task) {
            if !self.lock.try_lock() {
                return 0;
            }
            self.own(task);
        }
        self.set_again()
    }

    /// Gives back one setting; the last one releases the lock. Returns how many settings are left.
    pub fn unlock(&self) -> u32 {
        if self.lock.is_checked() {
            check::nest_lock_unset(self.lock.address());
        }
        let left = self.count.get().saturating_sub(1);
        self.count.set(left);
        if left == 0 {
            // ORDERING: Relaxed, as in `own`.
            self.owner.store(ptr::null_mut(), Ordering::Relaxed);
            self.lock.unlock();
        }
        left
    }

    fn is_owned_by(&self, task: &Task) -> bool {
        // ORDERING: Relaxed; only the task itself stores its own address here and removes it, so
        // the task sees its own address exactly. Any other value means that another task, or none,
        // has the lock.
        ptr::eq(self.owner.load(Ordering::Relaxed), task)
    }

    fn own(&self, task: &Task) {
        // ORDERING: Relaxed; see `is_owned_by`.
        self.owner.store(ptr::from_ref(task).cast_mut(), Ordering::Relaxed);
    }

    fn set_again(&self) -> u32 {
        self.count.set(one_more(self.count.get()));
        self.count.get()
    }
}

ult::seam! {
    /// Number of settings of a nestable lock after one more than `count`.
    fn one_more(count: u32) -> u32 {
        count + 1
    } or nest_lock_counts_wrong {
        count + 1 + u32::from(count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::AtomicUsize;

    #[test]
    fn a_free_lock_is_taken_once() {
        let lock = Lock::new();
        assert!(lock.try_lock());
        assert!(!lock.try_lock());
        lock.unlock();
        assert!(!lock.is_locked());
    }

    #[test]
    fn unsetting_a_free_lock_leaves_it_free() {
        let lock = Lock::new();
        lock.unlock();
        assert!(lock.try_lock());
    }

    #[test]
    fn a_nestable_lock_counts_and_knows_its_task() {
        let (mine, other) = (Task::implicit(), Task::implicit());
        let lock = NestLock::default();
        assert_eq!((lock.lock(&mine), lock.try_lock(&mine), lock.try_lock(&other)), (1, 2, 0));
        assert_eq!((lock.unlock(), lock.unlock(), lock.try_lock(&other)), (1, 0, 1));
    }

    #[test]
    fn many_threads_exclude_each_other_and_all_finish() {
        static LOCK: Lock = Lock::new();
        exclude_each_other(&LOCK);
        assert_eq!(LOCK.load(), 0);
    }

    #[test]
    fn a_lock_that_is_looked_at_excludes_and_keeps_its_mark() {
        static LOCK: Lock = Lock { word: AtomicU32::new(CHECKED) };
        exclude_each_other(&LOCK);
        assert_eq!(LOCK.load(), CHECKED);
        assert!(LOCK.try_lock() && !LOCK.try_lock());
        assert_eq!(LOCK.load(), CHECKED | LOCKED);
        LOCK.unlock();
        LOCK.destroy("omp_destroy_lock");
        assert_eq!(LOCK.load(), 0);
    }

    fn exclude_each_other(lock: &'static Lock) {
        let inside = AtomicUsize::new(0);
        const ROUNDS: usize = if cfg!(miri) { 50 } else { 20_000 };
        let total = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        lock.lock();
                        // ORDERING: Relaxed in all of this; the lock under test orders these
                        // accesses.
                        assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0);
                        total.store(total.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                        inside.fetch_sub(1, Ordering::Relaxed);
                        lock.unlock();
                    }
                });
            }
        });
        assert_eq!(total.into_inner(), 8 * ROUNDS);
        assert!(!lock.is_locked());
    }

    #[test]
    fn nobody_starves_while_one_thread_takes_the_lock_again_at_once() {
        static LOCK: Lock = Lock::new();
        static DONE: AtomicUsize = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                LOCK.lock();
                // ORDERING: Relaxed; a flag by itself.
                while DONE.load(Ordering::Relaxed) < 7 {
                    // A waiter that is nudged while this thread holds the lock again must in the
                    // end be granted the lock.
                    std::thread::sleep(core::time::Duration::from_micros(200));
                    LOCK.unlock();
                    LOCK.lock();
                }
                LOCK.unlock();
            });
            for _ in 0..7 {
                scope.spawn(|| {
                    for _ in 0..5 {
                        LOCK.lock();
                        LOCK.unlock();
                    }
                    // ORDERING: Relaxed; as above.
                    DONE.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
    }
}
