//! Loops, sections, `single`, `masked`, reductions, and chunks.
//!
//! Static loops are reported only where the compiler calls the library for them; gcc does not.

use super::kinds::{Chunk, ToolEndpoint, ToolWork};
use super::{is_on, linked};
use crate::thread::current::CurrentThread;

/// The running thread begins work of this kind, `count` iterations or sections; both are asked for
/// only if a tool listens.
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
    linked().tools.work_begins(here, kind, count);
}

/// It has ended its share.
#[inline(always)]
pub fn ends() {
    if is_on() {
        ends_cold();
    }
}

#[cold]
#[inline(never)]
fn ends_cold() {
    linked().tools.work_ends(CurrentThread::get());
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
    linked().tools.work(kind, end, count);
}

/// `single` where the compiler does not mark its end (gcc): that is the thread's next barrier or
/// construct, or [`ends`].
#[inline(always)]
pub fn single_without_end(executes: bool) {
    if is_on() {
        single_cold(executes, false);
    }
}

/// `single`: the thread executes the block, or passes it.
#[inline(always)]
pub fn single(executes: bool) {
    if is_on() {
        single_cold(executes, true);
    }
}

#[cold]
#[inline(never)]
fn single_cold(executes: bool, has_end: bool) {
    linked().tools.single(executes, has_end);
}

/// A chunk is handed out. `what` is called only if a tool listens.
#[inline(always)]
pub fn chunk(what: impl FnOnce() -> Chunk) {
    if is_on() {
        chunk_cold(what());
    }
}

#[cold]
#[inline(never)]
fn chunk_cold(chunk: Chunk) {
    linked().tools.chunk(chunk);
}

/// An iteration of a doacross loop, by the values of its loop variables, is a source, or one that
/// the running code waits for.
#[inline(always)]
pub fn iteration(here: CurrentThread, source: bool, dimensions: usize, at: &impl Fn(usize) -> i64) {
    if is_on() {
        let values: Vec<i64> = (0..dimensions).map(at).collect();
        linked().tools.iteration(here, source, &values);
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
    linked().tools.masked(end);
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
    linked().tools.reduction(end);
}
