//! Barriers, `taskwait` and `taskgroup`.

use super::super::event::{SyncKind, ToolEndpoint};
use super::super::{is_on, notify, record};
use super::{entered, put_state, site, state};
use crate::omp::thread::CurrentThread;

/// Runs `wait`, a synchronizing region of this kind. The kind is asked for only if a consumer is
/// notified.
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
    let for_tasks = matches!(kind, SyncKind::Taskwait | SyncKind::Taskgroup);
    if for_tasks && !here.task.is_explicit() && here.thread.tool.thin.is_thinning() {
        return wait();
    }
    super::task::resumed(here);
    if !for_tasks {
        super::work::close_single(here);
    }
    entered(here, |code| {
        let site = site(here, code);
        if whole {
            notify(|consumer| consumer.sync_region(&site, kind, ToolEndpoint::Begin, false));
        }
        let before = put_state(here.thread, state_of(kind), 0);
        notify(|consumer| consumer.sync_wait(&site, kind, ToolEndpoint::Begin, false));
        let result = match record::of(here.task) {
            Some(record) => record.resting(wait),
            None => wait(),
        };
        super::task::resumed(here);
        notify(|consumer| consumer.sync_wait(&site, kind, ToolEndpoint::End, false));
        here.thread.tool.state.set(before);
        notify(|consumer| consumer.sync_region(&site, kind, ToolEndpoint::End, false));
        result
    })
}

fn state_of(kind: SyncKind) -> u32 {
    match kind {
        SyncKind::Explicit => state::BARRIER,
        SyncKind::Workshare => state::WORKSHARE,
        SyncKind::Parallel | SyncKind::Teams => state::JOIN,
        SyncKind::Taskwait => state::TASKWAIT,
        SyncKind::Taskgroup => state::TASKGROUP,
        SyncKind::Implementation | SyncKind::Reduction => state::INTERNAL,
    }
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
    entered(here, |code| {
        let site = site(here, code);
        notify(|consumer| consumer.sync_region(&site, kind, ToolEndpoint::Begin, false));
    });
}
