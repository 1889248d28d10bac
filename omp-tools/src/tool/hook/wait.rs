//! Barriers, `taskwait` and `taskgroup`.

use super::super::{notify, record};
use super::{ProgramCall, put_state, state};
use omp::extension::side::BeginToken;
use omp::extension::tools::kinds::{SyncKind, ToolEndpoint};
use omp::thread::CurrentThread;

/// A wait whose begin was reported.
#[derive(Clone, Copy)]
struct SyncBegun {
    call: ProgramCall,
    /// The thread's state before.
    state: record::ThreadState,
    /// What the task's record has returned, if there is one.
    spans: u32,
}

fn is_for_tasks(kind: SyncKind) -> bool {
    matches!(kind, SyncKind::Taskwait | SyncKind::Taskgroup)
}

/// See [`Tools::sync_wait_begins`](omp::extension::tools::Tools).
pub fn begins(here: CurrentThread, kind: SyncKind, whole: bool) -> BeginToken {
    if is_for_tasks(kind) && !here.task.is_explicit() && record::of_thread(&here.thread).thin.is_thinning() {
        return BeginToken::new(None::<SyncBegun>);
    }
    super::task::resumed(here);
    if !is_for_tasks(kind) {
        super::work::close_single(here);
    }
    let mut call = ProgramCall::begin(here);
    let site = call.site(here);
    if whole {
        notify(|consumer| consumer.sync_region(&site, kind, ToolEndpoint::Begin, false));
    }
    let state = put_state(&here.thread, state_of(kind), 0);
    notify(|consumer| consumer.sync_wait(&site, kind, ToolEndpoint::Begin, false));
    call.code = site.found_code();
    let spans = record::of(here.task).map_or(0, record::TaskRecord::rest);
    BeginToken::new(Some(SyncBegun { call, state, spans }))
}

/// See [`Tools::sync_wait_ends`](omp::extension::tools::Tools).
pub fn ends(here: CurrentThread, kind: SyncKind, token: &BeginToken) {
    // SAFETY: `begins` has made it.
    let Some(SyncBegun { call, state, spans }) = (unsafe { token.get::<Option<SyncBegun>>() }) else {
        return;
    };
    if let Some(record) = record::of(here.task) {
        record.go_on(spans);
    }
    let site = call.site(here);
    super::task::resumed(here);
    notify(|consumer| consumer.sync_wait(&site, kind, ToolEndpoint::End, false));
    record::of_thread(&here.thread).state.set(state);
    notify(|consumer| consumer.sync_region(&site, kind, ToolEndpoint::End, false));
    call.end(here);
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
pub fn region_begins(here: CurrentThread, kind: SyncKind) {
    let call = ProgramCall::begin(here);
    let site = call.site(here);
    notify(|consumer| consumer.sync_region(&site, kind, ToolEndpoint::Begin, false));
    call.end(here);
}
