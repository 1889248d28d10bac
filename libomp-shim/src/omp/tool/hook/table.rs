//! The table of the events, as the host's extension point asks for it.

use super::super::ompt;
use super::{mutex, other, wait, work};
use crate::omp::extension::side::Token;
use crate::omp::extension::tools::Tools;
use crate::omp::extension::tools::kinds::{Chunk, SyncKind, ToolEndpoint, ToolMutex, ToolWork};
use crate::omp::task::Task;
use crate::omp::thread::CurrentThread;

/// Tools and the trace.
pub struct ToolHooks;

impl Tools for ToolHooks {
    fn look_for_tool(&self) {
        ompt::start();
    }

    fn may_find_tool(&self) -> bool {
        ompt::may_find_tool()
    }

    // ---- `wait` ----

    fn sync_region_begins(&self, here: CurrentThread, kind: SyncKind) {
        wait::region_begins(here, kind);
    }

    fn sync_wait_begins(&self, here: CurrentThread, kind: SyncKind, whole: bool) -> Token {
        wait::begins(here, kind, whole)
    }

    fn sync_wait_ends(&self, here: CurrentThread, kind: SyncKind, token: Token) {
        wait::ends(here, kind, &token);
    }

    // ---- `work` ----

    fn work_begins(&self, here: CurrentThread, kind: ToolWork, count: u64) {
        work::begins(here, kind, count);
    }

    fn work_ends(&self, here: CurrentThread) {
        work::ends(here);
    }

    fn work(&self, kind: ToolWork, end: ToolEndpoint, count: u64) {
        work::one(kind, end, count);
    }

    fn single(&self, executes: bool, has_end: bool) {
        work::single(executes, has_end);
    }

    fn chunk(&self, chunk: Chunk) {
        work::chunk(chunk);
    }

    fn iteration(&self, here: CurrentThread, source: bool, values: &[i64]) {
        work::iteration(here, source, values);
    }

    fn masked(&self, end: ToolEndpoint) {
        work::masked(end);
    }

    fn reduction(&self, end: ToolEndpoint) {
        work::reduction(end);
    }

    // ---- `mutex` ----

    fn mutex_wanted(&self, kind: ToolMutex, hint: u32, id: usize) -> Token {
        mutex::wanted(kind, hint, id)
    }

    fn mutex_answers(&self, kind: ToolMutex, id: usize, count: u32, token: Token) {
        mutex::answers(kind, id, count, &token);
    }

    fn mutex_released(&self, kind: ToolMutex, id: usize, left: u32) {
        mutex::released(kind, id, left);
    }

    fn lock_made(&self, kind: ToolMutex, hint: u32, id: usize) {
        mutex::made(kind, hint, id);
    }

    fn lock_destroyed(&self, kind: ToolMutex, id: usize) {
        mutex::destroyed(kind, id);
    }

    fn flush(&self) {
        mutex::flush();
    }

    // ---- `other` ----

    fn cancels(&self, here: CurrentThread, flags: u32) {
        other::cancels(here, flags);
    }

    fn discards(&self, task: &Task, flags: u32) {
        other::discards(task, flags);
    }

    fn error(&self, fatal: bool, message: &str) {
        other::error(fatal, message);
    }

    fn control(&self, here: CurrentThread, command: u64, modifier: u64, argument: usize) -> Option<i32> {
        other::control(here, command, modifier, argument)
    }
}
