//! The watcher: one thread per process that looks at the workers behind which somebody waits, and
//! sleeps otherwise.
//!
//! *Pace.* 50 us when a crowded worker stands still, or runs a region that was seen spinning or
//! blocking. While all of them move, naps double up to 10 ms, and after each nap there are two
//! looks, 50 us apart: one look cannot tell who stands still. When nobody has been crowded for 1 to
//! 2 ms it lies down.
//!
//! *Lying down* is Dekker's pattern with all of the cost on the sleeper's side: it announces that
//! it sleeps, makes every processor that runs this process execute a barrier (`membarrier`), and
//! looks once more. A worker that becomes crowded stores its number and then looks at the
//! announcement, with no fence. Where the kernel has no such barrier the sleeper looks up every 10
//! ms instead.
//!
//! *Getting a processor.* Where all cores spin, a thread that wakes has to push one of them aside:
//! it asks the kernel for short slices (which makes its deadline early) and for exact timers.
//!
//! What may not live here: judging a worker ([`super::episode`]).
//!
//! Tried and rejected: timers per worker (they signal who sleeps); a fence in `set_crowd` (a tenth
//! of a switch, for a watcher that is nearly always awake then); real-time priority (refused to
//! ordinary users, and slower but for the worst cases).
use core::ffi::c_void;
use core::mem;
use core::ptr;
use core::sync::atomic::{
    AtomicPtr, AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, Ordering::SeqCst, fence,
};

use super::clock;
use super::episode::Finding;
use super::is_urgent;
use super::signal;
use super::watched::Watched;

/// Nanoseconds between looks at a worker that stands still.
pub(super) const QUICK_PERIOD_NANOS: u64 = 50_000;
/// Between two looks at a region that was seen spinning, ns: what one look costs, and the signal,
/// is a fifth of it.
const SPINNING_PERIOD_NANOS: u64 = 30_000;
/// The longest nap, and the longest time between looks at one that computes, nanoseconds.
pub(super) const LONGEST_NAP_NANOS: u64 = 10_000_000;
/// The last nap before it lies down, nanoseconds: waking it costs a worker some microseconds, which
/// is nothing then.
const LAST_NAP_NANOS: u64 = 16 * QUICK_PERIOD_NANOS;

/// No watcher in this process.
const NONE: u32 = 0;
/// Looks again within 50 us or so.
const AWAKE: u32 = 1;
/// Naps for longer; wakes early for a region that was seen spinning or blocking.
const NAPS: u32 = 2;
/// Sleeps until somebody is crowded.
const ASLEEP: u32 = 3;

/// What the watcher is at; the futex it sleeps on.
static STATE: AtomicU32 = AtomicU32::new(NONE);
/// All records that were ever begun in this process.
static HEAD: AtomicPtr<Watched> = AtomicPtr::new(ptr::null_mut());
/// The record whose thread the watcher may be about to signal.
static AIM: AtomicPtr<Watched> = AtomicPtr::new(ptr::null_mut());

// ---- what workers call ------------------------------------------------------

/// Puts `watched` on the list, once; `listed` says whether it is there.
pub(super) fn enlist(watched: &'static Watched, listed: &AtomicU32) {
    // ORDERING: Relaxed; only the winner goes on.
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

/// `watched` has become crowded, or a crowded worker has changed its region. Async-signal-safe.
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
    // ORDERING: Relaxed; the watcher reads everything anew after it wakes. Who wins wakes it.
    if STATE.compare_exchange(state, AWAKE, Relaxed, Relaxed).is_ok() {
        futex_wake();
    }
}

/// Is the watcher about to send a signal to this record's thread?
pub(super) fn aims_at(watched: &Watched) -> bool {
    // ORDERING: Acquire pairs with the Release in `Aimed::drop`: the signal is sent when this says
    // no.
    ptr::eq(AIM.load(Acquire), watched)
}

pub(super) fn records() -> impl Iterator<Item = &'static Watched> {
    // ORDERING: Acquire pairs with the Release in `enlist`; links behind the head were published
    // before it.
    let mut next: *const Watched = HEAD.load(Acquire);
    core::iter::from_fn(move || {
        // SAFETY: null or a record, and records are never freed.
        let watched: &'static Watched = unsafe { next.as_ref()? };
        // ORDERING: Relaxed; see above.
        next = watched.next.load(Relaxed);
        Some(watched)
    })
}

/// Starts the watcher if this process has none. Any thread, not in a signal handler; one load when
/// it runs already.
///
/// Without memory or threads for it there is no monitor; the next call tries again.
pub fn start_if_needed() {
    // ORDERING: Relaxed; who wins starts it, nothing else depends on it.
    if STATE.load(Relaxed) == NONE && STATE.compare_exchange(NONE, AWAKE, Relaxed, Relaxed).is_ok() {
        super::objects::refresh();
        if !spawn() {
            // ORDERING: as above.
            STATE.store(NONE, Relaxed);
        }
    }
}

/// In the child of a fork: there is no watcher, and no record belongs to anybody.
/// Async-signal-safe. The record of the thread that is left has to `begin` again.
///
/// # Safety
/// Only in the child, before it has a second thread.
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

/// The watcher's right to signal. One exists, on the watcher's stack.
pub(super) struct Aim(());

/// While it exists, [`Watched::end`] of that record waits. Not to be kept across a hook.
pub(super) struct Aimed<'a> {
    /// The kernel thread of the record.
    pub(super) tid: i32,
    _aim: &'a Aim,
}

impl Aim {
    /// The kernel thread of `watched`, which stays that record's while the result exists; `None` if
    /// it has none.
    pub(super) fn at(&self, watched: &'static Watched) -> Option<Aimed<'_>> {
        // ORDERING: SeqCst, with the fence: pairs with `Watched::end`, which either sees this or is
        // seen to be over.
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
    crowded: bool,
    /// Somebody crowded moves, so that it is to be looked at again at the usual pace.
    moves: bool,
    /// One of them runs a region that was seen spinning or blocking.
    known: bool,
    /// When the next of those that stand still is due, ns.
    due: u64,
}

fn watch() -> ! {
    let aim = Aim(());
    let mut bed = Bed::Light(0);
    let mut calm = QUICK_PERIOD_NANOS;
    // The last look came after a long nap: it is only the first of two.
    let mut first = true;
    loop {
        let now = clock::now();
        let round = go_round(&aim, now);
        if !round.crowded && calm >= LAST_NAP_NANOS {
            // If nobody has come, it is down again after one look.
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
        // SAFETY: this is the watcher thread, and one reference at a time.
        let look = unsafe { watched.notes() }.look(watched, aim, now);
        round.crowded |= watched.is_crowded();
        match look {
            Finding::Fine => {}
            Finding::Moves => {
                round.moves = true;
                round.known |= watched.in_known_region() && !watched.alarm.is_running() && is_urgent(watched);
            }
            Finding::Still(due) => round.due = round.due.min(due),
        }
    }
    round
}

/// Sleeps until the given time, or until somebody wakes it for a region that was seen spinning or
/// blocking (then true).
fn nap(now: u64, until: u64) -> bool {
    let length = until.saturating_sub(now).max(QUICK_PERIOD_NANOS / 2);
    let state = if length > 4 * QUICK_PERIOD_NANOS { NAPS } else { AWAKE };
    // ORDERING: Relaxed; who misses it is seen at the end of the nap.
    STATE.store(state, Relaxed);
    futex_wait(state, Some(length));
    // ORDERING: as above.
    state == NAPS && STATE.swap(AWAKE, Relaxed) == AWAKE
}

/// How the watcher lies down.
enum Bed {
    /// Not so often yet that the barrier has been asked for: the kernel takes some 10 ms to grant
    /// it, for which the watcher is blind. The number of times.
    Light(u32),
    /// With the barrier: until a worker is crowded.
    Deep,
    /// The kernel has no such barrier.
    Refused,
}

/// Times that the watcher lies down for at most [`LIGHT_SLEEP_NANOS`] before it asks for the
/// barrier.
const LIGHT_SLEEPS_BEFORE_DEEP: u32 = 64;
/// Nanoseconds.
const LIGHT_SLEEP_NANOS: u64 = 1_000_000;

impl Bed {
    /// Sleeps until a worker is crowded, or not so long. True if one is, or was.
    fn lie_down(&mut self) -> bool {
        // ORDERING: Relaxed; ordered before the look by the barrier, or not: then the wait is
        // short.
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
        // ORDERING: Relaxed; everything is read anew.
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

const MEMBARRIER_PRIVATE_EXPEDITED: i32 = 1 << 3;
const MEMBARRIER_REGISTER_PRIVATE_EXPEDITED: i32 = 1 << 4;

/// The system call of that name: a full fence on every processor that runs a thread of this
/// process, and here, or the request to be allowed that. False if refused.
fn membarrier(command: i32) -> bool {
    // ORDERING: the fence of this thread, should the kernel refuse.
    fence(SeqCst);
    // SAFETY: no memory is passed.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Waits while [`STATE`] is `expected`, at most `length` nanoseconds.
fn futex_wait(expected: u32, length: Option<u64>) {
    let time = length
        .map(|ns| libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ });
    let limit = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: a static word and a limit that outlives the call.
    unsafe { libc::syscall(libc::SYS_futex, STATE.as_ptr(), operation, expected, limit) };
}

fn futex_wake() {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: a static word. Cannot fail, so `errno` stays.
    unsafe { libc::syscall(libc::SYS_futex, STATE.as_ptr(), operation, 1) };
}

// ---- birth ------------------------------------------------------------------

/// Bytes of the watcher's stack; the hand-off hook runs there.
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
        let result = crate::signals::with_all_blocked(|_| {
            libc::pthread_create(&raw mut id, &raw const attributes, main, ptr::null_mut())
        });
        libc::pthread_attr_destroy(&raw mut attributes);
        result == 0
    }
}

extern "C" fn main(_: *mut c_void) -> *mut c_void {
    crate::stack::kernel::set_name(c"gangway-stall");
    // SAFETY: plain values; it may be refused without harm.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
    leave_the_starters_place();
    ask_for_short_slices();
    watch()
}

/// The thread that started us may be bound to one processor.
fn leave_the_starters_place() {
    // Refused where the machine has changed meanwhile: then it stays where it is.
    let _ = crate::topology::bind_current_thread(crate::topology::allowed());
}

/// The kernel's `sched_attr`, its first version.
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

/// Slices of 100 us (Linux 6.12): a thread that wakes with an early deadline goes before those that
/// compute. Elsewhere the kernel ignores or refuses it.
fn ask_for_short_slices() {
    let size = size_of::<SchedAttr>() as u32;
    let mut attr =
        SchedAttr { size, policy: 0, flags: 0, nice: 0, priority: 0, runtime: 0, deadline: 0, period: 0 };
    // SAFETY: a structure of the size that it says, for the calling thread.
    unsafe {
        if libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attr, size, 0) == 0 && attr.policy == 0 {
            attr.runtime = 100_000;
            libc::syscall(libc::SYS_sched_setattr, 0, &raw mut attr, 0);
        }
    }
}
