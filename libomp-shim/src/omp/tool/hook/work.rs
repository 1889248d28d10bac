//! Loops, sections, `single`, `masked`, reductions, and chunks.
//!
//! Static loops are reported only where the compiler calls the library for them; gcc does not.

use super::super::event::{Chunk, EventSite, ToolEndpoint, ToolWork};
use super::super::{is_on, notify};
use super::{Working, put_state, site, state};
use crate::omp::thread::CurrentThread;

/// The running thread begins work of this kind, `count` iterations or sections; both are asked for
/// only if a consumer is notified.
#[inline(always)]
pub fn begins(what: impl FnOnce() -> (CurrentThread, ToolWork, u64)) {
    if is_on() {
        let (here, kind, count) = what();
        begins_cold(here, kind, count);
    }
}

#[cold]
#[inline(never)]
fn begins_cold(here: CurrentThread, kind: ToolWork, count: u64) {
    ends_cold(here, None); // left by a jump
    let site = site(here, None);
    notify(|consumer| consumer.work(&site, kind, ToolEndpoint::Begin, count));
    here.thread.tool.work.set(Working { kind: Some(kind), count, code: site.known_code() });
}

/// It has ended its share.
#[inline(always)]
pub fn ends() {
    if is_on() {
        let here = CurrentThread::get();
        ends_cold(here, Some(site(here, None)));
    }
}

/// Without a call that ends it the address behind the one that began it stands for that.
#[cold]
#[inline(never)]
fn ends_cold(here: CurrentThread, call: Option<EventSite>) {
    let Working { kind: Some(kind), count, code } = here.thread.tool.work.take() else { return };
    let site = call.unwrap_or_else(|| EventSite::at(here, code));
    notify(|consumer| consumer.work(&site, kind, ToolEndpoint::End, count));
}

/// Work that is one call, or work whose end [`ended`] reports.
#[inline(always)]
pub fn begun(kind: ToolWork, count: u64) {
    if is_on() {
        one(kind, ToolEndpoint::Begin, count);
    }
}

/// As [`begun`].
#[inline(always)]
pub fn ended(kind: ToolWork, count: u64) {
    if is_on() {
        one(kind, ToolEndpoint::End, count);
    }
}

#[cold]
#[inline(never)]
fn one(kind: ToolWork, end: ToolEndpoint, count: u64) {
    let site = site(CurrentThread::get(), None);
    notify(|consumer| consumer.work(&site, kind, end, count));
}

/// `single` where the compiler does not mark its end (gcc): that is the thread's next barrier or
/// construct, or [`ends`].
#[inline(always)]
pub fn single_without_end(here: CurrentThread, executes: bool) {
    if is_on() {
        if executes {
            begins_cold(here, ToolWork::SingleExecutor, 1);
        } else {
            single_cold(false);
        }
    }
}

/// The thread is at a barrier or at the end of its region: a `single` that it has executed is over.
pub(super) fn close_single(here: CurrentThread) {
    if here.thread.tool.work.get().kind == Some(ToolWork::SingleExecutor) {
        ends_cold(here, None);
    }
}

/// `single`: the thread executes the block, or passes it.
#[inline(always)]
pub fn single(executes: bool) {
    if is_on() {
        single_cold(executes);
    }
}

#[cold]
#[inline(never)]
fn single_cold(executes: bool) {
    if executes {
        one(ToolWork::SingleExecutor, ToolEndpoint::Begin, 1);
    } else {
        one(ToolWork::SingleOther, ToolEndpoint::Begin, 1);
        one(ToolWork::SingleOther, ToolEndpoint::End, 1);
    }
}

/// A chunk is handed out. `what` is called only if a consumer is notified.
#[inline(always)]
pub fn chunk(what: impl FnOnce() -> Chunk) {
    if is_on() {
        chunk_cold(what());
    }
}

#[cold]
#[inline(never)]
fn chunk_cold(chunk: Chunk) {
    let site = site(CurrentThread::get(), None);
    let chunk = match chunk {
        Chunk::Section(0) => Chunk::Section(site.code()),
        other => other,
    };
    notify(|consumer| consumer.dispatch(&site, chunk));
}

/// An iteration of a doacross loop, by the values of its loop variables, is a source, or one that
/// the running code waits for.
#[inline(always)]
pub fn iteration(here: CurrentThread, source: bool, dimensions: usize, at: &impl Fn(usize) -> i64) {
    if is_on() {
        let values: Vec<i64> = (0..dimensions).map(at).collect();
        let site = site(here, None);
        notify(|consumer| consumer.iteration(&site, source, &values));
    }
}

/// `masked`, in the thread that executes it.
#[inline(always)]
pub fn masked(end: ToolEndpoint) {
    if is_on() {
        masked_cold(end);
    }
}

#[cold]
#[inline(never)]
fn masked_cold(end: ToolEndpoint) {
    let site = site(CurrentThread::get(), None);
    notify(|consumer| consumer.masked(&site, end));
}

/// A reduction begins to combine copies, or has done so.
#[inline(always)]
pub fn reduction(end: ToolEndpoint) {
    if is_on() {
        reduction_cold(end);
    }
}

#[cold]
#[inline(never)]
fn reduction_cold(end: ToolEndpoint) {
    let here = CurrentThread::get();
    put_state(here.thread, if end == ToolEndpoint::Begin { state::REDUCTION } else { state::PARALLEL }, 0);
    let site = site(here, None);
    notify(|consumer| consumer.reduction(&site, end));
}
