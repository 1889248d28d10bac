//! Loops, sections, `single`, `masked`, reductions, and chunks.

use super::super::event::EventSite;
use super::super::{notify, record};
use super::{Working, put_state, site, state};
use omp::extension::tools::kinds::{Chunk, ToolEndpoint, ToolWork};
use omp::thread::CurrentThread;

/// See [`Tools::work_begins`](omp::extension::tools::Tools).
pub fn begins(here: CurrentThread, kind: ToolWork, count: u64) {
    close(here, None); // left by a jump
    let site = site(here, None);
    notify(|consumer| consumer.work(&site, kind, ToolEndpoint::Begin, count));
    record::of_thread(&here.thread).work.set(Working { kind: Some(kind), count, code: site.known_code() });
}

/// See [`Tools::work_ends`](omp::extension::tools::Tools).
pub fn ends(here: CurrentThread) {
    close(here, Some(site(here, None)));
}

/// Without a call that ends it the address behind the one that began it stands for that.
fn close(here: CurrentThread, call: Option<EventSite>) {
    let Working { kind: Some(kind), count, code } = record::of_thread(&here.thread).work.take() else {
        return;
    };
    let site = call.unwrap_or_else(|| EventSite::at(here, code));
    notify(|consumer| consumer.work(&site, kind, ToolEndpoint::End, count));
}

/// See [`Tools::work`](omp::extension::tools::Tools).
pub fn one(kind: ToolWork, end: ToolEndpoint, count: u64) {
    let site = site(CurrentThread::get(), None);
    notify(|consumer| consumer.work(&site, kind, end, count));
}

/// See [`Tools::single`](omp::extension::tools::Tools). An end that is not reported is the
/// thread's next barrier or construct, or [`ends`].
pub fn single(executes: bool, has_end: bool) {
    match (executes, has_end) {
        (true, true) => one(ToolWork::SingleExecutor, ToolEndpoint::Begin, 1),
        (true, false) => begins(CurrentThread::get(), ToolWork::SingleExecutor, 1),
        (false, _) => {
            one(ToolWork::SingleOther, ToolEndpoint::Begin, 1);
            one(ToolWork::SingleOther, ToolEndpoint::End, 1);
        }
    }
}

/// The thread is at a barrier or at the end of its region: a `single` that it has executed is over.
pub fn close_single(here: CurrentThread) {
    if record::of_thread(&here.thread).work.get().kind == Some(ToolWork::SingleExecutor) {
        close(here, None);
    }
}

/// See [`Tools::chunk`](omp::extension::tools::Tools).
pub fn chunk(chunk: Chunk) {
    let site = site(CurrentThread::get(), None);
    let chunk = match chunk {
        Chunk::Section(0) => Chunk::Section(site.code()),
        other => other,
    };
    notify(|consumer| consumer.dispatch(&site, chunk));
}

/// See [`Tools::iteration`](omp::extension::tools::Tools).
pub fn iteration(here: CurrentThread, source: bool, values: &[i64]) {
    let site = site(here, None);
    notify(|consumer| consumer.iteration(&site, source, values));
}

/// See [`Tools::masked`](omp::extension::tools::Tools).
pub fn masked(end: ToolEndpoint) {
    let site = site(CurrentThread::get(), None);
    notify(|consumer| consumer.masked(&site, end));
}

/// See [`Tools::reduction`](omp::extension::tools::Tools).
pub fn reduction(end: ToolEndpoint) {
    let here = CurrentThread::get();
    put_state(&here.thread, if end == ToolEndpoint::Begin { state::REDUCTION } else { state::PARALLEL }, 0);
    let site = site(here, None);
    notify(|consumer| consumer.reduction(&site, end));
}
