//! Locks, `critical`, `atomic` by a lock, `ordered`, and `flush`. A mutex is known by its address.

use ult::watch;

use super::super::event::{EventSite, ToolEndpoint, ToolMutex};
use super::super::{is_on, notify, ompt};
use super::{entered, put_state, site, state};
use crate::omp::lock::Lock;
use crate::omp::thread::CurrentThread;

/// Takes `lock`, with or without a watcher.
#[inline(always)]
pub fn lock(kind: ToolMutex, hint: u32, lock: &Lock) {
    if watch::any_watcher() { lock_watched(kind, hint, lock) } else { lock.lock_unwatched() }
}

#[cold]
#[inline(never)]
fn lock_watched(kind: ToolMutex, hint: u32, lock: &Lock) {
    take(kind, hint, lock.address(), || lock.lock());
}

/// Releases `lock`, with or without a watcher.
#[inline(always)]
pub fn unlock(kind: ToolMutex, lock: &Lock) {
    if watch::any_watcher() { unlock_watched(kind, lock) } else { lock.unlock_unwatched() }
}

#[cold]
#[inline(never)]
fn unlock_watched(kind: ToolMutex, lock: &Lock) {
    release(kind, lock.address(), || {
        lock.unlock();
        0
    });
}

/// Takes a mutex by `take`, which waits for it.
#[inline(always)]
pub fn take(kind: ToolMutex, hint: u32, id: usize, take: impl FnOnce()) {
    if is_on() {
        attempt_cold(kind, hint, id, || {
            take();
            1
        });
    } else {
        take();
    }
}

/// Takes a mutex if `take` says so: how often the thread has it now, 0 if it has not.
#[inline(always)]
pub fn attempt(kind: ToolMutex, id: usize, take: impl FnOnce() -> u32) -> u32 {
    if is_on() { attempt_cold(kind, 0, id, take) } else { take() }
}

#[cold]
#[inline(never)]
fn attempt_cold(kind: ToolMutex, hint: u32, id: usize, take: impl FnOnce() -> u32) -> u32 {
    let here = CurrentThread::get();
    entered(here, |code| {
        let site = site(here, code);
        let id = id as u64;
        notify(|consumer| consumer.mutex_acquire(&site, kind, hint, id));
        let before = put_state(here.thread, state_of(kind), id);
        let count = take();
        here.thread.tool.state.set(before);
        match count {
            0 => {}
            1 => notify(|consumer| consumer.mutex_acquired(&site, kind, id)),
            _ => notify(|consumer| consumer.nest_lock(&site, ToolEndpoint::Begin, id)),
        }
        count
    })
}

fn state_of(kind: ToolMutex) -> u32 {
    match kind {
        ToolMutex::Critical => state::CRITICAL,
        ToolMutex::Atomic => state::ATOMIC,
        ToolMutex::Ordered => state::ORDERED,
        _ => state::LOCK,
    }
}

/// Gives a mutex back by `give`, which says how often its owner has it still.
#[inline(always)]
pub fn release(kind: ToolMutex, id: usize, give: impl FnOnce() -> u32) {
    if is_on() {
        let left = give();
        released_cold(kind, id as u64, left);
    } else {
        give();
    }
}

#[cold]
#[inline(never)]
fn released_cold(kind: ToolMutex, id: u64, left: u32) {
    let site = site(CurrentThread::get(), None);
    if left == 0 {
        notify(|consumer| consumer.mutex_released(&site, kind, id));
    } else {
        notify(|consumer| consumer.nest_lock(&site, ToolEndpoint::End, id));
    }
}

/// A lock is made. This may be the first call of the program: tools begin here.
#[inline]
pub fn made(kind: ToolMutex, hint: u32, id: usize) {
    if is_on() || ompt::is_wanted() {
        made_cold(kind, hint, id);
    }
}

#[cold]
#[inline(never)]
fn made_cold(kind: ToolMutex, hint: u32, id: usize) {
    let here = CurrentThread::get(); // looks for a tool if no thread has
    if is_on() {
        notify_of(here, |consumer, site| consumer.lock_init(site, kind, hint, id as u64));
    }
}

/// A lock is no more.
#[inline(always)]
pub fn destroyed(kind: ToolMutex, id: usize) {
    if is_on() {
        notify_of(CurrentThread::get(), |consumer, site| consumer.lock_destroy(site, kind, id as u64));
    }
}

/// `flush`.
#[inline(always)]
pub fn flush() {
    if is_on() {
        notify_of(CurrentThread::get(), |consumer, site| consumer.flush(site));
    }
}

#[cold]
#[inline(never)]
fn notify_of(here: CurrentThread, event: impl Fn(&dyn super::super::Consumer, &EventSite)) {
    let site = site(here, None);
    notify(|consumer| event(consumer, &site));
}
