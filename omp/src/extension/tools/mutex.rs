//! Locks, `critical`, `atomic` by a lock, `ordered`, and `flush`. A mutex is known by its address.

use ult::watch;

use super::kinds::ToolMutex;
use super::{is_on, is_search_pending, linked};
use crate::lock::Lock;

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
    let token = linked().tools.mutex_wanted(kind, hint, id);
    let count = take();
    linked().tools.mutex_answers(kind, id, count, token);
    count
}

/// Gives a mutex back by `give`, which says how often its owner has it still.
#[inline(always)]
pub fn release(kind: ToolMutex, id: usize, give: impl FnOnce() -> u32) {
    if is_on() {
        let left = give();
        released_cold(kind, id, left);
    } else {
        give();
    }
}

#[cold]
#[inline(never)]
fn released_cold(kind: ToolMutex, id: usize, left: u32) {
    linked().tools.mutex_released(kind, id, left);
}

/// A lock is made. This may be the first call of the program: tools begin here.
#[inline]
pub fn made(kind: ToolMutex, hint: u32, id: usize) {
    if is_on() || is_search_pending() {
        made_cold(kind, hint, id);
    }
}

#[cold]
#[inline(never)]
fn made_cold(kind: ToolMutex, hint: u32, id: usize) {
    linked().tools.lock_made(kind, hint, id);
}

/// A lock is no more.
#[inline(always)]
pub fn destroyed(kind: ToolMutex, id: usize) {
    if is_on() {
        destroyed_cold(kind, id);
    }
}

#[cold]
#[inline(never)]
fn destroyed_cold(kind: ToolMutex, id: usize) {
    linked().tools.lock_destroyed(kind, id);
}

/// `flush`.
#[inline(always)]
pub fn flush() {
    if is_on() {
        flush_cold();
    }
}

#[cold]
#[inline(never)]
fn flush_cold() {
    linked().tools.flush();
}
