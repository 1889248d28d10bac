//! Events for checks of the program (`GANGWAY_CHECK`).
//!
//! What lives here: the events, and the small functions that the rest of `omp` and the fronts call.
//! Each function asks one bit of [`ult::watch`] first, but those of locks and of the ends of waits.
//! What does not: what follows from the events.
//!
//! The contract of all events: the calling thread causes the event. That of a mutex, or of a
//! fulfilment, may concern a task of another thread. No lock of the runtime is held but that of a
//! set of `mutexinoutset`. What a reference names is alive during the call. The extension may
//! allocate and take locks of its own. It may not wait for other OpenMP threads, call constructs,
//! or unwind. A pointer `location` is null or the constant `ident_t` of clang's code.
//!
//! Locks ask no bit. Those that were made while checks were active carry a bit in their own word
//! ([`super::super::lock`]), and only for those the events of locks are called.

use core::ffi::c_void;
use core::ptr::NonNull;

use ult::watch;

use super::{CHECK_WATCHES, linked};
use crate::env;
use crate::task::record::Task;
use crate::team::record::Team;
use crate::thread::current::CurrentThread;
use crate::thread::record::Thread;

/// Which call of compiled code has come to a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierKind {
    /// `GOMP_barrier`.
    Gomp,
    /// `GOMP_loop_end`.
    GompLoop,
    /// `GOMP_sections_end`.
    GompSections,
    /// `GOMP_single_copy_*`.
    GompCopy,
    /// `__kmpc_barrier`: its source says what it is for.
    Kmpc,
    /// `__kmpc_copyprivate*`.
    KmpcCopy,
    /// `__kmpc_reduce*`.
    KmpcReduce,
    /// A call of which nothing is known.
    Other,
}

/// The target of a wait of the running code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitTarget {
    /// A lock, by address.
    Lock(usize),
    /// The running task's children.
    Children,
    /// The members of a taskgroup, by address.
    Group(usize),
    /// What a node of the graph of dependences needs: `taskwait depend`, or a task that is run at
    /// once.
    Node(usize),
    /// `ompx_suspend_until`: what a library waits for.
    Library,
    /// `ompx_suspend_for`: a message, in a call of this name.
    Message(String, AwaitedMessage),
    /// `ompx_wait_until`.
    Condition,
}

/// A message of a library, as the end that waits for it knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AwaitedMessage {
    /// The other rank, as the ranks of the program count; negative: any, or not known.
    pub rank: i32,
    /// Negative: any, or not known.
    pub tag: i32,
    /// What the waiting end does.
    pub end: MessageEnd,
}

/// An end of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageEnd {
    /// Where it comes to.
    Receives,
    /// Where it comes from: the other rank has to receive it.
    Sends,
    /// One of both, or several messages.
    Unknown,
}

impl MessageEnd {
    /// Returns the end with this number, which `ompx.h` and messages use.
    pub fn from_number(number: i32) -> Self {
        match number {
            0 => Self::Receives,
            1 => Self::Sends,
            _ => Self::Unknown,
        }
    }
}

/// What the host's OpenMP tells checks of the program (`GANGWAY_CHECK`). By default nothing is done.
pub trait Check: Sync {
    /// The environment has been read, and asks for checks. Called once, before any other event. The
    /// extension sets [`CHECK_WATCHES`] if it wants the events.
    fn begin(&self) {}

    // ---- regions and barriers ---------------------------------------------

    /// The regions with this outlined function are the construct at `location`.
    fn region_named(&self, _function: *const (), _location: *const c_void) {}
    /// The running thread is about to wait in a barrier of its team.
    fn barrier_reached(&self, _thread: &Thread, _kind: BarrierKind, _location: *const c_void) {}
    /// The running thread has come to the end of its region.
    fn join_reached(&self, _thread: &Thread) {}
    /// All threads of the region have come to its end. Called by thread 0.
    fn region_ended(&self, _team: &Team) {}

    // ---- waits --------------------------------------------------------------

    /// The running task waits from here on, until [`Check::wait_ends`] with the number that this
    /// returns. 0: the extension does not want to know the end of this wait.
    fn wait_begins(&self, _what: WaitTarget) -> u64 {
        0
    }
    /// That wait is over.
    fn wait_ends(&self, _number: u64) {}

    // ---- `mutexinoutset` ------------------------------------------------------

    /// The running task makes the node at this address. The node has to acquire mutexes before
    /// `task` may start. `None`: the running task itself waits for them.
    fn mutexes_wanted(&self, _node: usize, _task: Option<&Task>) {}
    /// The node has acquired the mutex, by address (`has`), or stands in line for it.
    fn mutex_reached(&self, _node: usize, _mutex: usize, _has: bool) {}
    /// The node gives its mutexes back.
    fn mutexes_released(&self, _node: usize) {}

    // ---- events of detachable tasks -------------------------------------------

    /// The running code makes a detachable task.
    fn event_made(&self, _task: NonNull<Task>, _location: *const c_void) {}
    /// The event of the task, by address, is about to be fulfilled, or the task will not wait for
    /// it.
    fn event_fulfilled(&self, _task: usize) {}

    // ---- locks, by address ------------------------------------------------------

    /// A new lock stands there.
    fn lock_made(&self, _lock: usize) {}
    /// The running task is about to set the lock, and will wait if it is set.
    fn lock_wanted(&self, _lock: usize) {}
    /// The running task has set the lock.
    fn lock_set(&self, _lock: usize) {}
    /// The running task is about to unset the lock for good.
    fn lock_unset(&self, _lock: usize) {}
    /// The running task is about to unset a nestable lock, perhaps not for good.
    fn nest_lock_unset(&self, _lock: usize) {}
    /// The lock is destroyed by this library routine; `is_locked`: its word says that it is set.
    fn lock_destroyed(&self, _lock: usize, _is_locked: bool, _routine: &str) {}
}

/// Where there is no such extension.
pub struct NoCheck;

impl Check for NoCheck {}

/// Are checks active? Reads the environment, if no thread has done so yet.
pub fn is_on() -> bool {
    env::settings();
    is_active()
}

/// [`is_on`], where the caller is inside of OpenMP for long, so that the environment has been read.
/// One load.
#[inline(always)]
pub fn is_active() -> bool {
    watch::watchers() & CHECK_WATCHES != 0
}

/// The settings have just been read.
pub(crate) fn at_start(settings: &env::Settings) {
    if settings.tools.check {
        linked().check.begin();
    }
}

/// Notifies the extension, out of line.
#[cold]
#[inline(never)]
fn notify<R>(event: impl FnOnce(&'static dyn Check) -> R) -> R {
    event(linked().check)
}

/// [`Check::region_named`].
#[inline(always)]
pub fn region_named(function: *const (), location: *const c_void) {
    if is_active() && !location.is_null() {
        notify(move |check| check.region_named(function, location));
    }
}

/// [`Check::barrier_reached`].
#[inline(always)]
pub(crate) fn barrier_reached(here: CurrentThread, kind: BarrierKind, location: *const c_void) {
    if is_active() {
        notify(move |check| check.barrier_reached(&here.thread, kind, location));
    }
}

/// [`Check::join_reached`].
#[inline(always)]
pub(crate) fn join_reached(thread: &Thread) {
    if is_active() {
        notify(move |check| check.join_reached(thread));
    }
}

/// [`Check::region_ended`].
#[inline(always)]
pub(crate) fn region_ended(team: &Team) {
    if is_active() {
        notify(move |check| check.region_ended(team));
    }
}

/// Ends the wait when it is dropped ([`Check::wait_ends`]).
#[must_use = "the wait ends when this is dropped"]
pub struct NotedWait(u64);

impl Drop for NotedWait {
    #[inline(always)]
    fn drop(&mut self) {
        let number = self.0;
        if number != 0 {
            notify(move |check| check.wait_ends(number));
        }
    }
}

/// The running task begins to wait for that ([`Check::wait_begins`]). The wait ends when what this
/// returns is dropped.
#[inline(always)]
pub(crate) fn wait_begins(what: impl FnOnce() -> WaitTarget) -> NotedWait {
    NotedWait(if is_active() { notify(move |check| check.wait_begins(what())) } else { 0 })
}

/// As [`wait_begins`], for code that may be outside of OpenMP until now. Reads the environment, if
/// no thread has done so yet.
pub fn code_wait_begins(what: impl FnOnce() -> WaitTarget) -> NotedWait {
    env::settings();
    wait_begins(what)
}

/// [`Check::mutexes_wanted`].
#[inline(always)]
pub(crate) fn mutexes_wanted(node: usize, task: Option<&Task>) {
    if is_active() {
        notify(move |check| check.mutexes_wanted(node, task));
    }
}

/// [`Check::mutex_reached`].
#[inline(always)]
pub(crate) fn mutex_reached(node: usize, mutex: usize, has: bool) {
    if is_active() {
        notify(move |check| check.mutex_reached(node, mutex, has));
    }
}

/// [`Check::mutexes_released`].
#[inline(always)]
pub(crate) fn mutexes_released(node: usize) {
    if is_active() {
        notify(move |check| check.mutexes_released(node));
    }
}

/// [`Check::event_made`].
#[inline(always)]
pub fn event_made(task: NonNull<Task>, location: *const c_void) {
    if is_active() {
        notify(move |check| check.event_made(task, location));
    }
}

/// [`Check::event_fulfilled`].
#[inline(always)]
pub(crate) fn event_fulfilled(task: *const Task) {
    if is_active() {
        notify(move |check| check.event_fulfilled(task.addr()));
    }
}

/// Returns whether a new lock at this address is to be checked. Notifies the extension of the lock
/// ([`Check::lock_made`]). Reads the environment, if no thread has done so yet.
pub(crate) fn is_lock_checked(lock: usize) -> bool {
    is_on() && notify(move |check| (check.lock_made(lock), true).1)
}

/// [`Check::lock_wanted`].
pub(crate) fn lock_wanted(lock: usize) {
    notify(move |check| check.lock_wanted(lock));
}

/// [`Check::lock_set`].
pub(crate) fn lock_set(lock: usize) {
    notify(move |check| check.lock_set(lock));
}

/// [`Check::lock_unset`].
pub(crate) fn lock_unset(lock: usize) {
    notify(move |check| check.lock_unset(lock));
}

/// [`Check::nest_lock_unset`].
pub(crate) fn nest_lock_unset(lock: usize) {
    notify(move |check| check.nest_lock_unset(lock));
}

/// [`Check::lock_destroyed`].
pub(crate) fn lock_destroyed(lock: usize, is_locked: bool, routine: &str) {
    notify(move |check| check.lock_destroyed(lock, is_locked, routine));
}
