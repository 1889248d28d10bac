//! The parking table: those who wait for a lock stand here, by the lock's address, in the order in
//! which they came.
//!
//! A waiter's record lives on its own suspended stack. A bucket is a short list under a lock of its
//! own, held for a few dozen instructions, never across a wait. See `docs/protocols/lock.md` for
//! the protocol; its invariants are
//!
//! * **I1** a lock's word has `QUEUED` exactly while a record for it is in its bucket, and both
//!   change under the bucket's lock; hence a holder that releases without the bucket's lock has
//!   nobody to wake.
//! * **I2** a record leaves the list before its owner returns; who stores `GRANTED` takes it off
//!   first and does not touch it afterwards.
//! * **I3** only the record of a lock that is first in the list is nudged or granted the lock. So
//!   the waiters of a lock become ready in the order of their tickets, and the scheduler polls a
//!   few of them only ([`ReadyOrder`]).
//!
//! Everything carries the process's generation (how often it was forked): in the child of a fork a
//! bucket locked by a thread that does not exist there counts as free, and records of the parent's
//! waiters as gone.

use core::cell::{Cell, UnsafeCell};
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use ult::sched::{ReadyOrder, Spin, Wait};
use ult::worker::{self, Worker};

use super::{CHECKED, LOCKED, Lock, QUEUED};
use crate::omp::check;

/// Waits for its turn.
const WAITING: u32 = 0;
/// The lock was released; the waiter may compete for it. The record stays where it is.
const NUDGED: u32 = 1;
/// The lock is the waiter's. The record has been taken off the list.
const GRANTED: u32 = 2;

/// How long the first in line may lose against newcomers before the lock is handed to it, in
/// microseconds.
const FAIR_AFTER: u64 = 500;

/// How long a queued context looks before its worker may sleep.
const SPIN: Spin = Spin::exactly(20);

/// A context that waits for a lock.
struct Waiter {
    lock: *const Lock,
    worker: &'static Worker,
    state: AtomicU32,
    /// When it was first nudged, in microseconds; 0 for never. Under the bucket's lock.
    nudged_at: UnsafeCell<u64>,
    /// The next in the bucket's list. Under the bucket's lock.
    next: UnsafeCell<*const Waiter>,
    /// Higher than those of all records before it. Written once, by its owner.
    ticket: Cell<u64>,
}

/// Buckets; a power of two. Two locks that share one only share its short lock.
const BUCKETS: usize = 128;

static TABLE: [Bucket; BUCKETS] = [const { Bucket::new() }; BUCKETS];

#[repr(align(64))]
struct Bucket {
    /// 0 when free, else the generation of the holder plus one.
    holder: AtomicU32,
    list: UnsafeCell<ParkingList>,
}

/// First and last record, and the generation of the process they belong to.
struct ParkingList {
    first: *const Waiter,
    last: *const Waiter,
    generation: u32,
    /// The ticket of the last record that was added.
    ticket: u64,
}

// SAFETY: `list` is touched only between `enter` and the drop of what it returns, which exclude
// each other.
unsafe impl Sync for Bucket {}

/// A locked bucket.
struct Locked<'a> {
    bucket: &'a Bucket,
}

/// The bucket of a lock.
fn bucket(lock: &Lock) -> Locked<'static> {
    // Fibonacci hashing: neighbouring locks go to different buckets.
    let hash = (ptr::from_ref(lock) as usize >> 2).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    TABLE[hash >> (usize::BITS - BUCKETS.ilog2())].enter()
}

impl Bucket {
    const fn new() -> Self {
        let list = ParkingList { first: ptr::null(), last: ptr::null(), generation: 0, ticket: 0 };
        Self { holder: AtomicU32::new(0), list: UnsafeCell::new(list) }
    }

    fn enter(&self) -> Locked<'_> {
        let generation = ult::pool::generation();
        let mut turns = 0u32;
        while !self.try_enter(generation + 1) {
            turns += 1;
            if turns.is_multiple_of(64) {
                ult::park::give_core(); // the holder may have lost its own
            } else {
                ult::arch::pause();
            }
        }
        let locked = Locked { bucket: self };
        locked.forget_other_generations(generation);
        locked
    }

    fn try_enter(&self, me: u32) -> bool {
        // ORDERING: Relaxed; only a guess for the exchange.
        let holder = self.holder.load(Ordering::Relaxed);
        // A holder of another generation was a thread of the parent process.
        holder != me
            // ORDERING: Acquire, pairs with the Release in `drop`: the list is as the last holder
            // left it.
            && self.holder.compare_exchange(holder, me, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // ORDERING: Release, pairs with the Acquire in `try_enter`.
        self.bucket.holder.store(0, Ordering::Release);
    }
}

impl Locked<'_> {
    #[allow(clippy::mut_from_ref, reason = "the bucket is locked by us")]
    fn list(&self) -> &mut ParkingList {
        // SAFETY: the bucket is ours while `self` exists; callers do not keep the reference across
        // another call.
        unsafe { &mut *self.bucket.list.get() }
    }

    fn forget_other_generations(&self, generation: u32) {
        let list = self.list();
        if list.generation != generation {
            *list = ParkingList { first: ptr::null(), last: ptr::null(), generation, ticket: 0 };
        }
    }

    fn push(&self, waiter: &Waiter) {
        let list = self.list();
        // SAFETY: the records in the list are alive (I2) and their links belong to the bucket.
        match unsafe { list.last.as_ref() } {
            // SAFETY: as above.
            Some(last) => unsafe { *last.next.get() = waiter },
            None => list.first = waiter,
        }
        list.last = waiter;
        list.ticket += 1;
        waiter.ticket.set(list.ticket);
    }

    /// The longest waiting record of `lock` that is not `except`.
    fn first(&self, lock: &Lock, except: *const Waiter) -> Option<&Waiter> {
        let mut at = self.list().first;
        // SAFETY: the records in the list are alive (I2) while the bucket is ours.
        while let Some(waiter) = unsafe { at.as_ref() } {
            if ptr::eq(waiter.lock, lock) && !ptr::eq(waiter, except) {
                return Some(waiter);
            }
            // SAFETY: links belong to the bucket.
            at = unsafe { *waiter.next.get() };
        }
        None
    }

    fn remove(&self, waiter: &Waiter) {
        let list = self.list();
        let mut before: *const Waiter = ptr::null();
        let mut at = list.first;
        while !ptr::eq(at, waiter) {
            before = at;
            // SAFETY: as in `first`; `waiter` is in the list, so its end is not passed.
            at = unsafe { *(*at).next.get() };
        }
        // SAFETY: as in `first`.
        unsafe {
            let next = *waiter.next.get();
            match before.as_ref() {
                Some(before) => *before.next.get() = next,
                None => list.first = next,
            }
            if ptr::eq(list.last, waiter) {
                list.last = before;
            }
        }
    }
}

/// Waits for `lock` and takes it.
pub(super) fn acquire(lock: &Lock) {
    while !acquire_in_this_process(lock) {}
}

/// As [`acquire`]; false when another context of this kernel thread forked meanwhile and this is
/// the child, where the record is forgotten.
fn acquire_in_this_process(lock: &Lock) -> bool {
    let generation = ult::pool::generation();
    let forked = || ult::pool::generation() != generation;
    let waiter = Waiter {
        lock,
        worker: worker::register_current(),
        state: AtomicU32::new(WAITING),
        nudged_at: UnsafeCell::new(0),
        next: UnsafeCell::new(ptr::null()),
        ticket: Cell::new(0),
    };
    if !enqueue(lock, &waiter) {
        return true;
    }
    loop {
        // ORDERING: Acquire, pairs with the Release in `release`: with the grant come the last
        // holder's writes.
        let ready = || waiter.state.load(Ordering::Acquire) != WAITING || forked();
        let wait = Wait { spin: SPIN, ..Wait::until(&ready) };
        ult::sched::wait_in_order(&wait, ReadyOrder::at(lock, 0, waiter.ticket.get()));
        // ORDERING: Acquire, as above. GRANTED is final, and the record is off the list already.
        if waiter.state.load(Ordering::Acquire) == GRANTED {
            return true;
        }
        if forked() {
            return false;
        }
        if compete(lock, &waiter) {
            return true;
        }
    }
}

/// Queues for a held lock; false when it was free by now and has been taken instead.
fn enqueue(lock: &Lock, waiter: &Waiter) -> bool {
    let bucket = bucket(lock);
    loop {
        let seen = lock.load();
        if seen & LOCKED == 0 {
            if lock.take(seen, seen | LOCKED) {
                return false;
            }
        } else if lock.announce(seen) {
            bucket.push(waiter);
            return true;
        }
    }
}

/// What a waiter does that was nudged or granted the lock: true when it has the lock and is off the
/// list.
fn compete(lock: &Lock, waiter: &Waiter) -> bool {
    let bucket = bucket(lock);
    // ORDERING: Acquire, as in `acquire_in_this_process`; it may have been granted meanwhile.
    if waiter.state.load(Ordering::Acquire) == GRANTED {
        return true;
    }
    let others = if bucket.first(lock, waiter).is_some() { QUEUED } else { 0 };
    loop {
        let seen = lock.load();
        if seen & LOCKED != 0 {
            // The holder will release under the bucket's lock (I1), so after this, and nudge again.
            // ORDERING: Relaxed; the bucket's lock orders it for `release`, and nobody else stores.
            waiter.state.store(WAITING, Ordering::Relaxed);
            return false;
        }
        if lock.take(seen, seen & CHECKED | LOCKED | others) {
            bucket.remove(waiter);
            return true;
        }
    }
}

/// Releases a lock that somebody may be queued for.
#[cold]
#[inline(never)]
pub(super) fn release(lock: &Lock) {
    if lock.is_checked() {
        check::locks::unsets(lock.address());
    }
    let bucket = bucket(lock);
    let Some(waiter) = bucket.first(lock, ptr::null()) else {
        // Misuse, or a waiter of the parent process.
        lock.clear(LOCKED | QUEUED);
        return;
    };
    let worker = waiter.worker;
    if is_due(waiter) {
        bucket.remove(waiter);
        if bucket.first(lock, ptr::null()).is_none() || ult::mutant!(lock_queue_forgotten) {
            lock.clear(QUEUED);
        }
        if ult::mutant!(lock_handed_to_two) {
            lock.clear(LOCKED)
        }
        // ORDERING: Release, pairs with the Acquire in `acquire_in_this_process`. The record may be
        // gone after this.
        waiter.state.store(GRANTED, Ordering::Release);
    } else {
        lock.clear(LOCKED);
        // ORDERING: Release, pairs with the Acquire in `acquire_in_this_process`.
        waiter.state.store(NUDGED, Ordering::Release);
    }
    drop(bucket);
    worker.wake();
}

/// Has this waiter lost against newcomers for too long? Under the bucket's lock.
fn is_due(waiter: &Waiter) -> bool {
    if ult::mutant!(lock_unfair) {
        return false;
    }
    let now = micros();
    // SAFETY: the bucket is locked.
    let since = unsafe { &mut *waiter.nudged_at.get() };
    if *since == 0 {
        *since = now;
    }
    now - *since >= FAIR_AFTER
}

/// Microseconds of the monotonic clock, at least 1.
fn micros() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid out pointer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    (t.tv_sec as u64 * 1_000_000 + t.tv_nsec as u64 / 1000).max(1)
}
