//! Barriers, `taskwait` and `taskgroup`, and waits for what is outside of the runtime.

use super::kinds::{SyncKind, ToolEndpoint};
use super::{is_on, linked};
use crate::thread::current::CurrentThread;

/// Runs `wait`, a synchronizing region of this kind. The kind is asked for only if a tool listens.
#[inline(always)]
pub fn around<R>(here: CurrentThread, kind: impl FnOnce() -> SyncKind, wait: impl FnOnce() -> R) -> R {
    if is_on() && here.task.is_reported() { around_cold(here, kind(), true, wait) } else { wait() }
}

/// [`around`] the end of a region whose begin [`begins`] has reported.
#[inline(always)]
pub fn end_of<R>(here: CurrentThread, kind: SyncKind, wait: impl FnOnce() -> R) -> R {
    if is_on() && here.task.is_reported() { around_cold(here, kind, false, wait) } else { wait() }
}

#[cold]
#[inline(never)]
fn around_cold<R>(here: CurrentThread, kind: SyncKind, whole: bool, wait: impl FnOnce() -> R) -> R {
    let token = linked().tools.sync_wait_begins(here, kind, whole);
    let result = wait();
    linked().tools.sync_wait_ends(here, kind, token);
    result
}

/// A region of this kind begins, whose end is a call of its own.
#[inline(always)]
pub fn begins(here: CurrentThread, kind: SyncKind) {
    if is_on() && here.task.is_reported() {
        begins_cold(here, kind);
    }
}

#[cold]
#[inline(never)]
fn begins_cold(here: CurrentThread, kind: SyncKind) {
    linked().tools.sync_region_begins(here, kind);
}

/// Runs `wait`, in which the calling thread waits for something outside of the runtime.
#[inline(always)]
pub fn outside<R>(wait: impl FnOnce() -> R) -> R {
    if is_on() { outside_cold(wait) } else { wait() }
}

#[cold]
#[inline(never)]
fn outside_cold<R>(wait: impl FnOnce() -> R) -> R {
    linked().tools.outside_wait(ToolEndpoint::Begin);
    let result = wait();
    linked().tools.outside_wait(ToolEndpoint::End);
    result
}
