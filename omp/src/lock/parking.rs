//! The parking table: the contexts that wait for a lock, by the lock's address, in the order of
//! their arrival.
//!
//! What lives here: the records, the buckets, and the slow paths of taking and releasing a lock.
//! What does not: the lock word and the fast paths ([`super`]).
//!
//! The record of a waiter lies on the waiter's own suspended stack. A bucket is a short list under
//! a lock of its own. This lock is held for a few dozen instructions, never across a wait. The
//! protocol is in `docs/protocols/lock.md`; its invariants are:
//!
//! * **I1** A lock's word has `QUEUED` exactly while a record for the lock is in its bucket. Both
//!   change under the bucket's lock. Hence a holder that finds the word exactly `LOCKED` has no thread
//!   to wake.
//! * **I2** A record leaves the list before its owner returns. The thread that stores `GRANTED`
//!   removes the record first, and does not touch it afterwards.
//! * **I3** A lock's word has [`super::NUDGED`] exactly while its first record is [`MAY_COMPETE`].
//!   Both change under the bucket's lock. Hence a holder that finds `NUDGED` may release
//!   without it: the nudged waiter competes anyway.
//! * **I4** Only the first record of a lock in the list is nudged or granted the lock. So the
//!   waiters of a lock become ready in the order of their tickets, and the scheduler polls only a
//!   few of them ([`ReadyOrder`]).
//!
//! Buckets and lists carry the process's generation, which counts its fork(2)s. In the child of a
//! fork a bucket that a thread of the parent has locked counts as free. Records of the parent's
//! waiters count as gone.

use core::cell::{Cell, UnsafeCell};
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use ult::sched::{ReadyOrder, Spin, Wait};
use ult::sys::clock;
use ult::worker::{self, Worker};

use super::{CHECKED, LOCKED, Lock, NUDGE_BITS, NUDGE_TIME, NUDGE_TIME_SHIFT, NUDGED, QUEUED};
use crate::extension::check;

/// The waiter has been neither nudged nor granted the lock.
const WAITING: u32 = 0;
/// The lock was released, and the waiter may compete for it. The record stays in the list.
const MAY_COMPETE: u32 = 1;
/// The waiter has the lock. The record has been removed from the list.
const GRANTED: u32 = 2;

/// Microseconds for which the first waiter may lose against newcomers before a release passes the
/// lock to it.
const FAIR_AFTER: u64 = 500;

/// Ticks in a unit of [`nudge_time`], as a power of two: 1 to 4 µs.
const NUDGE_TIME_TICKS: u32 = 12;
/// A nudge is recent for so many units: 31 to 123 µs. Chosen: a fraction of [`FAIR_AFTER`], and far
/// more than a release through the bucket costs; any value from 10 to 60 will do.
const RECENT: u32 = 30;

/// How long a queued context polls before its worker may sleep; in microseconds.
const SPIN: Spin = Spin::exactly(20);

/// A context that waits for a lock.
struct Waiter {
    lock: *const Lock,
    worker: &'static Worker,
    state: AtomicU32,
    /// Time of the first nudge, in microseconds; 0 if there was none. Under the bucket's lock.
    nudged_at: UnsafeCell<u64>,
    /// The next in the bucket's list. Under the bucket's lock.
    next: UnsafeCell<*const Waiter>,
    /// Number of the record, higher than those of all earlier records. Its owner writes it once.
    ticket: Cell<u64>,
}

/// Number of buckets; a power of two. Locks in one bucket share only the bucket's short lock.
const BUCKETS: usize = 128;

#[unsafe(link_section = ".sbss.large")]
static TABLE: [Bucket; BUCKETS] = [const { Bucket::new() }; BUCKETS];

#[repr(align(64))]
struct Bucket {
    /// 0 if the bucket is free; otherwise the generation of the holder plus one.
    holder: AtomicU32,
    list: UnsafeCell<ParkingList>,
}

/// First and last record, and the generation of their process.
struct ParkingList {
    first: *const Waiter,
    last: *const Waiter,
    generation: u32,
    /// The ticket of the last record that was added.
    ticket: u64,
}

// SAFETY: `list` is touched only between `enter` and the drop of the value that `enter` returns,
// and these sections exclude each other.
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
        let generation = ult::sys::fork::generation();
        let mut turns = 0u32;
        while !self.try_enter(generation + 1) {
            turns += 1;
            if turns.is_multiple_of(64) {
                ult::sys::thread::give_core(); // the holder may have lost its own core
            } else {
                ult::sys::arch::pause();
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
        // SAFETY: the bucket is ours while `self` exists, and callers do not keep the reference
        // across another call.
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

    /// The record of `lock` that has waited longest, apart from `except`.
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

/// As [`acquire`]. False in the child of a fork(2) that another context of this kernel thread made
/// meanwhile; the record is forgotten there.
fn acquire_in_this_process(lock: &Lock) -> bool {
    let generation = ult::sys::fork::generation();
    let forked = || ult::sys::fork::generation() != generation;
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
        // ORDERING: Acquire, pairs with the Release in `release`: the grant publishes the last
        // holder's writes.
        let ready = || waiter.state.load(Ordering::Acquire) != WAITING || forked();
        let order = ReadyOrder::at(lock, 0, waiter.ticket.get());
        ult::sched::wait(&Wait::until(&ready).spinning(SPIN).in_order(order));
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

/// Queues for a held lock. False if the lock had become free; the caller has then taken it.
fn enqueue(lock: &Lock, waiter: &Waiter) -> bool {
    let bucket = bucket(lock);
    loop {
        let seen = lock.load();
        if seen & LOCKED == 0 {
            if lock.take(seen, seen | LOCKED) {
                return false;
            }
        } else if lock.annotate(seen, seen & !inherited_nudge(&bucket, lock, seen) | QUEUED) {
            bucket.push(waiter);
            return true;
        }
    }
}

/// The bits of a nudge in `seen`, if no record is queued: the nudged waiter was in the parent process.
fn inherited_nudge(bucket: &Locked, lock: &Lock, seen: u32) -> u32 {
    if seen & NUDGED != 0 && bucket.first(lock, ptr::null()).is_none() { NUDGE_BITS } else { 0 }
}

/// Competes for the lock after a nudge or a grant. True if the waiter has the lock and its record
/// is off the list.
fn compete(lock: &Lock, waiter: &Waiter) -> bool {
    let bucket = bucket(lock);
    // ORDERING: Acquire, as in `acquire_in_this_process`; the lock may have been granted meanwhile.
    if waiter.state.load(Ordering::Acquire) == GRANTED {
        return true;
    }
    let others = if bucket.first(lock, waiter).is_some() { QUEUED } else { 0 };
    loop {
        let seen = lock.load();
        if seen & LOCKED != 0 {
            if !lock.annotate(seen, seen & !nudge_of_loser()) {
                continue;
            }
            // The word now has `QUEUED` and not `NUDGED`. So the holder releases through the bucket,
            // after this thread has left it, and nudges again.
            // ORDERING: Relaxed; the bucket's lock orders this store for `release`, and no other
            // thread stores.
            waiter.state.store(WAITING, Ordering::Relaxed);
            return false;
        }
        if lock.take(seen, seen & CHECKED | LOCKED | others) {
            bucket.remove(waiter);
            return true;
        }
    }
}

/// Releases a lock that a waiter may be queued for.
#[cold]
#[inline(never)]
pub(super) fn release(lock: &Lock) {
    if lock.is_checked() {
        check::lock_unset(lock.address());
    }
    if release_behind_nudge(lock) {
        return;
    }
    let bucket = bucket(lock);
    if lock.load() & LOCKED == 0 {
        return; // the program unsets a free lock
    }
    let Some(waiter) = bucket.first(lock, ptr::null()) else {
        // The waiter was in the parent process.
        lock.clear(LOCKED | QUEUED | NUDGE_BITS);
        return;
    };
    let worker = waiter.worker;
    if is_due(waiter) {
        bucket.remove(waiter);
        lock.clear(cleared_by_grant(bucket.first(lock, ptr::null()).is_some()) | NUDGE_BITS);
        // ORDERING: Release, pairs with the Acquire in `acquire_in_this_process`. After this store
        // the record may be gone.
        waiter.state.store(GRANTED, Ordering::Release);
    } else {
        release_with_nudge(lock);
        // ORDERING: Release, pairs with the Acquire in `acquire_in_this_process`.
        waiter.state.store(MAY_COMPETE, Ordering::Release);
    }
    drop(bucket);
    worker.wake();
}

/// Releases the lock without the bucket if the first waiter was nudged less than [`RECENT`] units ago,
/// and has not competed since. If that waiter is suspended on the holder's own worker, it cannot
/// compete yet. So an older nudge is not trusted: the release goes through the bucket, which checks
/// [`FAIR_AFTER`].
fn release_behind_nudge(lock: &Lock) -> bool {
    loop {
        let seen = lock.load();
        if seen & NUDGED == 0 || nudge_time().wrapping_sub(seen & NUDGE_TIME) >> NUDGE_TIME_SHIFT >= RECENT {
            return false;
        }
        if lock.release_to(seen, seen & !LOCKED) {
            return true;
        }
    }
}

/// Releases the lock, and notes that the first waiter is nudged now. Under the bucket's lock.
fn release_with_nudge(lock: &Lock) {
    loop {
        let seen = lock.load();
        if lock.release_to(seen, seen & !LOCKED & !NUDGE_BITS | NUDGED | nudge_time()) {
            return;
        }
    }
}

/// The time, for the lock word, above its bits. It repeats after 17 seconds or more: an old nudge may
/// then count as recent once more, for 123 µs at most.
fn nudge_time() -> u32 {
    ((ult::sys::arch::ticks() >> NUDGE_TIME_TICKS) as u32) << NUDGE_TIME_SHIFT
}

ult::seam! {
    /// The bits that a nudged waiter clears when it finds the lock held.
    fn nudge_of_loser() -> u32 {
        NUDGE_BITS
    } or lock_nudge_kept {
        0
    }
}

ult::seam! {
    /// The bits, apart from those of the nudge, that are cleared when the lock is granted to a
    /// waiter. It stays held, and stays queued for if others wait.
    fn cleared_by_grant(others_wait: bool) -> u32 {
        if others_wait { 0 } else { QUEUED }
    } or lock_queue_forgotten {
        QUEUED
    } or lock_handed_to_two {
        if others_wait { LOCKED } else { LOCKED | QUEUED }
    }
}

/// Has this waiter lost against newcomers for [`FAIR_AFTER`]? Under the bucket's lock.
fn is_due(waiter: &Waiter) -> bool {
    let now = clock::micros().max(1);
    // SAFETY: the bucket is locked.
    let since = unsafe { &mut *waiter.nudged_at.get() };
    if *since == 0 {
        *since = now;
    }
    is_starved(now - *since)
}

ult::seam! {
    /// Does a waiter starve that has lost against newcomers for `micros`?
    fn is_starved(micros: u64) -> bool {
        micros >= FAIR_AFTER
    } or lock_unfair {
        false
    }
}
