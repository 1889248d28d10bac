//! The watcher: one thread per process that looks at the workers behind which contexts wait, and
//! sleeps while there are none.
//!
//! A worker is *crowded* if other contexts wait behind it while it runs. It *stands still* if it is
//! crowded and runs program code without reaching a switch point.
//!
//! *Pace.* The watcher looks every 50 us when a crowded worker stands still, and every 30 us when
//! one moves in a region that was seen spinning or blocking. While all crowded workers move, naps
//! double up to 10 ms. After each long nap there are two looks, 50 us apart, because one look
//! cannot tell whether a worker stands still. When no worker has been crowded for 1 to 2 ms, the
//! watcher falls asleep.
//!
//! *Falling asleep* is Dekker's pattern with all of the cost on the sleeper's side. The watcher
//! first announces that it sleeps. Then `membarrier` makes every processor that runs this process
//! execute a barrier, and the watcher looks once more. A worker that becomes crowded stores its
//! number and then reads the announcement, without a fence. If the kernel has no such barrier, the
//! watcher wakes every 10 ms instead.
//!
//! *Getting a processor.* Where all cores spin, a waking thread must preempt one of the spinning
//! threads. So the watcher asks the kernel for short time slices, which make its deadline early,
//! and for exact timers.
//!
//! What may not live here: the decision about a worker ([`super::episode`]).
//!
//! Tried and rejected:
//! * Timers per worker. They also signal workers that sleep.
//! * A fence in `set_crowd`. It costs a tenth of a switch, and the watcher is nearly always awake
//!   when it would be paid.
//! * Real-time priority. The kernel refuses it to ordinary users, and it was slower in all but the
//!   worst cases.
use core::ffi::c_void;
use core::sync::atomic::{
    AtomicPtr, AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, Ordering::SeqCst, fence,
};
use core::time::Duration;
use core::{mem, ptr};

use super::episode::Finding;
use super::hooks::may_wait_for_others;
use super::signal;
use super::watched::Watched;
use crate::sys::{clock, futex, thread};

/// Nanoseconds between two looks at a worker that stands still. Chosen: several times what a look
/// and its signal cost; any value from 40 us to 100 us will do.
pub(super) const QUICK_PERIOD_NANOS: u64 = 50_000;
/// Nanoseconds between two looks at a worker in a region that was seen spinning. Derived: a look
/// and its signal cost a fifth of it.
const SPINNING_PERIOD_NANOS: u64 = 30_000;
/// Nanoseconds of the longest nap, and the longest time between two looks at a worker that
/// computes. Chosen: short against the time slices of other programs, long against a look; any
/// value from 5 ms to 20 ms will do.
pub(super) const LONGEST_NAP_NANOS: u64 = 10_000_000;
/// Nanoseconds of the last nap before the watcher falls asleep. Derived: 16 periods, so that the
/// few microseconds in which a worker wakes the watcher are small against it.
const LAST_NAP_NANOS: u64 = 16 * QUICK_PERIOD_NANOS;

/// There is no watcher in this process. Derived: the smallest state, because `crowded` wakes the
/// watcher from `NAPS` upwards.
const NONE: u32 = 0;
/// There is no watcher, and a worker that is being started will start it. Derived: below `NAPS`, as
/// `NONE`.
const LEFT_TO_WORKER: u32 = 1;
/// The watcher looks again within some 50 us. Derived: below `NAPS`, because no worker need wake
/// it.
const AWAKE: u32 = 2;
/// The watcher naps for longer; it wakes early for a region that was seen spinning or blocking.
/// Derived: the first state from which `crowded` wakes the watcher.
const NAPS: u32 = 3;
/// The watcher sleeps until a worker is crowded. Derived: above `NAPS`, because `crowded` wakes the
/// watcher from there upwards.
const ASLEEP: u32 = 4;

/// The state of the watcher; also the futex on which it sleeps.
static STATE: AtomicU32 = AtomicU32::new(NONE);
/// All records that were ever begun in this process.
static HEAD: AtomicPtr<Watched> = AtomicPtr::new(ptr::null_mut());
/// The record whose kernel thread the watcher may be about to signal.
static AIM: AtomicPtr<Watched> = AtomicPtr::new(ptr::null_mut());

// ---- what workers call ------------------------------------------------------

/// Puts `watched` on the list, once. `listed` says whether it is on the list already.
pub(super) fn enlist(watched: &'static Watched, listed: &AtomicU32) {
    // ORDERING: Relaxed; only the winner of the exchange goes on.
    if listed.swap(1, Relaxed) != 0 {
        return;
    }
    // ORDERING: Relaxed; the exchange below publishes.
    let mut head = HEAD.load(Relaxed);
    loop {
        // ORDERING: Relaxed; published by the exchange.
        watched.next.store(head, Relaxed);
        // ORDERING: Release pairs with the Acquire in `records`.
        match HEAD.compare_exchange(head, ptr::from_ref(watched).cast_mut(), Release, Relaxed) {
            Ok(_) => return,
            Err(now) => head = now,
        }
    }
}

/// Called when `watched` has become crowded, or when a crowded worker has changed its region.
/// Async-signal-safe.
#[inline(always)]
pub(super) fn crowded(watched: &Watched) {
    // ORDERING: Relaxed; ordered by the watcher's barrier, see `Bed::lie_down`.
    let state = STATE.load(Relaxed);
    if state >= NAPS {
        rouse(watched, state);
    }
}

#[cold]
fn rouse(watched: &Watched, state: u32) {
    if state == NAPS && !watched.in_known_region() {
        return;
    }
    // ORDERING: Relaxed; the watcher reads everything anew after it wakes. The winner of the
    // exchange wakes it.
    if STATE.compare_exchange(state, AWAKE, Relaxed, Relaxed).is_ok() {
        futex_wake();
    }
}

/// Is the watcher about to send a signal to this record's thread?
pub(super) fn aims_at(watched: &Watched) -> bool {
    // ORDERING: Acquire pairs with the Release in `Aimed::drop`: if the result is false, the signal
    // has been sent.
    ptr::eq(AIM.load(Acquire), watched)
}

pub(super) fn records() -> impl Iterator<Item = &'static Watched> {
    // ORDERING: Acquire pairs with the Release in `enlist`. The links behind the head were
    // published before the head.
    let mut next: *const Watched = HEAD.load(Acquire);
    core::iter::from_fn(move || {
        // SAFETY: the pointer is null or points to a record, and records are never freed.
        let watched: &'static Watched = unsafe { next.as_ref()? };
        // ORDERING: Relaxed; see above.
        next = watched.next.load(Relaxed);
        Some(watched)
    })
}

/// Starts the watcher if this process has none. Any thread may call it, but not in a signal
/// handler. It costs one load when the watcher runs already.
///
/// False if memory or threads for the watcher are lacking: there is no monitor, and the next call
/// tries again.
pub fn start_if_needed() -> bool {
    // ORDERING: Relaxed; only `start` acts on it.
    let state = STATE.load(Relaxed);
    !(state == NONE || state == LEFT_TO_WORKER) || start(state)
}

/// Leaves the start of the watcher to the next kernel thread of the pool, if this process has no
/// watcher. Called just before workers are started; if none is started, the caller calls
/// [`start_if_needed`] afterwards. So the forking thread makes one kernel thread less. Any thread.
pub fn leave_start_to_worker() {
    // ORDERING: Relaxed; making the worker's kernel thread publishes it.
    let _ = STATE.compare_exchange(NONE, LEFT_TO_WORKER, Relaxed, Relaxed);
}

/// Starts the watcher if that was left to a worker ([`leave_start_to_worker`]). The caller is the
/// kernel thread of a worker that has just started.
pub(crate) fn start_if_due() {
    // ORDERING: Relaxed; see `leave_start_to_worker`.
    if STATE.load(Relaxed) == LEFT_TO_WORKER {
        start(LEFT_TO_WORKER);
    }
}

/// False if the watcher cannot be started.
fn start(state: u32) -> bool {
    // ORDERING: Relaxed; the winner of the exchange starts the watcher, and nothing else depends on
    // it.
    if STATE.compare_exchange(state, AWAKE, Relaxed, Relaxed).is_ok() && !spawn() {
        // Without a watcher, this thread makes the first scan.
        super::objects::refresh();
        // ORDERING: as above.
        STATE.store(NONE, Relaxed);
        return false;
    }
    true
}

/// Resets the watcher in the child of a fork: there is no watcher, and no kernel thread uses a
/// record. The surviving thread must call `begin` on its record again. Async-signal-safe.
///
/// # Safety
/// Call it only in the child, before the child has a second thread.
pub unsafe fn reset_after_fork() {
    for watched in records() {
        watched.forget();
    }
    // ORDERING: the only thread.
    HEAD.store(ptr::null_mut(), Relaxed);
    // ORDERING: the only thread.
    AIM.store(ptr::null_mut(), Relaxed);
    // ORDERING: the only thread.
    STATE.store(NONE, Relaxed);
    super::objects::reset_after_fork();
}

// ---- the thread -------------------------------------------------------------

/// The watcher's right to signal. There is one, on the watcher's stack.
pub(super) struct Aim(());

/// While this value exists, [`Watched::end`] of that record waits. It must not live across a call
/// of a hook.
pub(super) struct Aimed<'a> {
    /// The kernel thread of the record.
    pub(super) tid: i32,
    _aim: &'a Aim,
}

impl Aim {
    /// Announces that the watcher may signal the kernel thread of `watched`. That kernel thread
    /// stays the record's while the result exists. The result is `None` if the record has no kernel
    /// thread.
    pub(super) fn at(&self, watched: &'static Watched) -> Option<Aimed<'_>> {
        // ORDERING: SeqCst, with the fence below: pairs with `Watched::end`. Either `end` sees this
        // store, or the load of `tid` below sees that the record has ended.
        AIM.store(ptr::from_ref(watched).cast_mut(), SeqCst);
        // ORDERING: as above.
        fence(SeqCst);
        let aimed = Aimed { tid: watched.tid(), _aim: self };
        (aimed.tid != 0).then_some(aimed)
    }
}

impl Drop for Aimed<'_> {
    fn drop(&mut self) {
        // ORDERING: Release pairs with the Acquire in `aims_at`.
        AIM.store(ptr::null_mut(), Release);
    }
}

/// What one round over all records found.
struct Round {
    /// A worker is crowded.
    crowded: bool,
    /// A crowded worker moves, so the watcher looks again at the usual pace.
    moves: bool,
    /// A moving worker runs a region that was seen spinning or blocking.
    known: bool,
    /// When the next look at a worker that stands still is due, in nanoseconds.
    due: u64,
}

fn watch() -> ! {
    let aim = Aim(());
    let mut bed = Bed::Light(0);
    let mut calm = QUICK_PERIOD_NANOS;
    // The last look came after a long nap, so it is only the first of two.
    let mut first = true;
    loop {
        let now = clock::nanos();
        let round = go_round(&aim, now);
        if !round.crowded && calm >= LAST_NAP_NANOS {
            // If no worker has become crowded, one more look leads to sleep again.
            calm = if bed.lie_down() { QUICK_PERIOD_NANOS } else { LAST_NAP_NANOS };
            first = true;
            continue;
        }
        let mut until = round.due;
        if round.known || round.moves && first {
            until = until.min(now + if round.known { SPINNING_PERIOD_NANOS } else { QUICK_PERIOD_NANOS });
            first = false;
        } else if round.moves || !round.crowded {
            calm = (2 * calm).min(LONGEST_NAP_NANOS);
            until = until.min(now + calm);
            first = true;
        } else {
            calm = QUICK_PERIOD_NANOS;
            first = true;
        }
        if nap(now, until) {
            (calm, first) = (QUICK_PERIOD_NANOS, true);
        }
    }
}

fn go_round(aim: &Aim, now: u64) -> Round {
    let mut round = Round { crowded: false, moves: false, known: false, due: now + LONGEST_NAP_NANOS };
    for watched in records() {
        // SAFETY: this is the watcher thread, and there is one reference at a time.
        let look = unsafe { watched.notes() }.look(watched, aim, now);
        round.crowded |= watched.is_crowded();
        match look {
            Finding::Fine => {}
            Finding::Moves => {
                round.moves = true;
                round.known |=
                    watched.in_known_region() && !watched.alarm.is_running() && may_wait_for_others(watched);
            }
            Finding::Still(due) => round.due = round.due.min(due),
        }
    }
    round
}

/// Sleeps until the given time, or until a worker wakes the watcher for a region that was seen
/// spinning or blocking. The result is true in the second case.
fn nap(now: u64, until: u64) -> bool {
    let length = until.saturating_sub(now).max(QUICK_PERIOD_NANOS / 2);
    let state = if length > 4 * QUICK_PERIOD_NANOS { NAPS } else { AWAKE };
    // ORDERING: Relaxed; a worker that misses this store is seen at the end of the nap.
    STATE.store(state, Relaxed);
    futex_wait(state, Some(length));
    // ORDERING: as above.
    state == NAPS && STATE.swap(AWAKE, Relaxed) == AWAKE
}

/// How the watcher falls asleep.
enum Bed {
    /// Without the barrier; the sleep is short. The kernel takes some 10 ms to grant the barrier,
    /// and the watcher is blind meanwhile. So the barrier is requested only after several short
    /// sleeps. The value counts short sleeps in a row that no worker ended.
    Light(u32),
    /// With the barrier: the sleep lasts until a worker is crowded.
    Deep,
    /// The kernel has no such barrier: the sleep ends after [`LONGEST_NAP_NANOS`].
    Refused,
}

/// Number of uninterrupted sleeps of [`LIGHT_SLEEP_NANOS`] in a row before the watcher requests the
/// barrier. Chosen: the process has been calm for several times the 10 ms that the request takes;
/// any value from 32 to 256 will do.
const LIGHT_SLEEPS_BEFORE_DEEP: u32 = 64;
/// Nanoseconds of a sleep without the barrier, which is also the longest delay of a missed call.
/// Chosen: a tenth of the longest nap; any value from 0.5 ms to 2 ms will do.
const LIGHT_SLEEP_NANOS: u64 = 1_000_000;

impl Bed {
    /// Sleeps until a worker is crowded, or for a limited time. The result is true if a worker is
    /// or was crowded.
    fn lie_down(&mut self) -> bool {
        // ORDERING: Relaxed; the barrier, if there is one, orders this store before the look at the
        // records. Without the barrier the sleep is short.
        STATE.store(ASLEEP, Relaxed);
        let limit = match self {
            Bed::Light(_) => Some(LIGHT_SLEEP_NANOS),
            Bed::Deep if membarrier(MEMBARRIER_PRIVATE_EXPEDITED) => None,
            Bed::Deep | Bed::Refused => Some(LONGEST_NAP_NANOS),
        };
        let late = records().any(|watched| watched.is_crowded());
        if !late {
            futex_wait(ASLEEP, limit);
        }
        // ORDERING: Relaxed; the watcher reads everything anew.
        let called = STATE.swap(AWAKE, Relaxed) == AWAKE || late;
        if let Bed::Light(times) = self {
            *times = if called { 0 } else { *times + 1 };
            if *times >= LIGHT_SLEEPS_BEFORE_DEEP {
                *self =
                    if membarrier(MEMBARRIER_REGISTER_PRIVATE_EXPEDITED) { Bed::Deep } else { Bed::Refused };
            }
        }
        called
    }
}

/// Command of `membarrier`: the barrier. Given: by the kernel.
const MEMBARRIER_PRIVATE_EXPEDITED: i32 = 1 << 3;
/// Command of `membarrier`: the request to use the barrier. Given: by the kernel.
const MEMBARRIER_REGISTER_PRIVATE_EXPEDITED: i32 = 1 << 4;

/// The system call of that name. It executes a full fence here and on every processor that runs a
/// thread of this process, or it requests the permission for that. The result is false if the
/// kernel refuses.
fn membarrier(command: i32) -> bool {
    // ORDERING: a fence of this thread, in case the kernel refuses.
    fence(SeqCst);
    // SAFETY: the call passes no memory.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Waits while [`STATE`] is `expected`, at most `length` nanoseconds.
fn futex_wait(expected: u32, length: Option<u64>) {
    futex::wait(&STATE, expected, length.map(Duration::from_nanos));
}

fn futex_wake() {
    futex::wake(&raw const STATE, 1);
}

// ---- birth ------------------------------------------------------------------

/// Bytes of the watcher's stack; the hand-off hook runs there. Chosen: far more than the hook uses;
/// any value from 256 KiB to 8 MiB will do.
const WATCHER_STACK_BYTES: usize = 512 << 10;

fn spawn() -> bool {
    if signal::number().is_none() && !crate::sanitize::sees_races() {
        eprintln!("gangway: every real-time signal is in use; threads that spin are not interrupted");
    }
    // SAFETY: plain POSIX calls on local, initialised objects. All signals are blocked in the new
    // thread: the program's handlers do not run there.
    unsafe {
        let mut attributes: libc::pthread_attr_t = mem::zeroed();
        libc::pthread_attr_init(&raw mut attributes);
        libc::pthread_attr_setdetachstate(&raw mut attributes, libc::PTHREAD_CREATE_DETACHED);
        libc::pthread_attr_setstacksize(&raw mut attributes, WATCHER_STACK_BYTES);
        let mut id: libc::pthread_t = mem::zeroed();
        let result = crate::signals::mask::with_all_blocked(|_| {
            libc::pthread_create(&raw mut id, &raw const attributes, main, ptr::null_mut())
        });
        libc::pthread_attr_destroy(&raw mut attributes);
        result == 0
    }
}

extern "C" fn main(_: *mut c_void) -> *mut c_void {
    thread::set_name(c"gangway-stall");
    // SAFETY: the call passes plain values; a refusal does no harm.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
    leave_the_starters_place();
    ask_for_short_slices();
    // The scan takes some 50 us, so the watcher makes it, not the forking thread.
    super::objects::refresh();
    watch()
}

/// Widens the affinity of the watcher: the thread that started it may be bound to one processor.
fn leave_the_starters_place() {
    // The kernel refuses where the machine has changed meanwhile; the watcher then keeps its
    // processor.
    let _ = crate::topology::bind_current_thread(crate::topology::allowed());
}

/// The kernel's `sched_attr`, in its first version.
#[repr(C)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Requests slices of 100 us (Linux 6.12). A thread that wakes with an early deadline runs before
/// threads that compute. Other kernels ignore or refuse the request.
fn ask_for_short_slices() {
    let size = size_of::<SchedAttr>() as u32;
    let mut attr =
        SchedAttr { size, policy: 0, flags: 0, nice: 0, priority: 0, runtime: 0, deadline: 0, period: 0 };
    // SAFETY: the structure has the size that it states; the call is about the calling thread.
    unsafe {
        if libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attr, size, 0) == 0 && attr.policy == 0 {
            attr.runtime = 100_000;
            libc::syscall(libc::SYS_sched_setattr, 0, &raw mut attr, 0);
        }
    }
}
