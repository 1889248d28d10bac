//! The table of the events, as the host's extension point asks for it.

use core::cell::Cell;
use core::ffi::c_char;

use super::super::ompt;
use super::{device, mutex, other, region, task, wait, work};
use crate::trace;
use omp::depend::Dependence;
use omp::env::Settings;
use omp::extension::side::{BeginToken, LeagueSide};
use omp::extension::tools::device::{DeviceCopy, DeviceOp, ToolMapping, ToolTarget};
use omp::extension::tools::kinds::{
    Chunk, RegionKind, SyncKind, TaskStatus, ToolEndpoint, ToolMutex, ToolWork,
};
use omp::extension::tools::{TaskMark, Tools};
use omp::task::{OwnedTask, Task};
use omp::team::Team;
use omp::thread::{CurrentThread, Thread};

/// Tools and the trace.
pub struct ToolHooks;

impl Tools for ToolHooks {
    #[cold]
    fn settings_read(&self, settings: &Settings) {
        trace::at_start(settings);
    }

    fn look_for_tool(&self) {
        ompt::start();
    }

    fn may_find_tool(&self) -> bool {
        ompt::may_find_tool()
    }

    // ---- `region` ----

    fn initial_thread_begins(&self, here: CurrentThread) {
        region::root_begins(here);
    }

    fn initial_thread_ends(&self, here: CurrentThread) {
        region::root_ends(here);
    }

    fn agent_begins(&self, thread: &Thread) {
        region::agent_begins(thread);
    }

    fn member_is_freed(&self, thread: &Thread) {
        region::worker_ends(thread);
    }

    fn region_source(&self, location: *const c_char) {
        trace::note_region(location);
    }

    fn region_begins(&self, here: CurrentThread, team: &Team, wanted: u32, kind: RegionKind) {
        region::begins(here, team, wanted, kind);
    }

    fn league_begins(&self, here: CurrentThread, teams: u32, side: &LeagueSide) {
        region::league_begins(here, teams, side);
    }

    fn league_ends(&self, here: CurrentThread, side: &LeagueSide) {
        region::league_ends(here, side);
    }

    fn primary_begins(&self, here: CurrentThread) {
        region::entered(here);
    }

    fn region_is_called_by_program(&self, here: CurrentThread) {
        region::called_by_program(here);
    }

    fn primary_arrives(&self, here: CurrentThread, team: &Team) {
        region::primary_arrives(here, team);
    }

    fn primary_leaves(&self, here: CurrentThread, team: &Team) {
        region::primary_leaves(here, team);
    }

    fn region_ends(&self, here: CurrentThread, team: &Team) {
        region::ended(here, team);
    }

    fn member_begins(&self, thread: &Thread) {
        region::member_begins(thread);
    }

    fn member_arrives(&self, here: CurrentThread) {
        region::member_arrives(here);
    }

    fn member_leaves(&self, thread: &Thread) {
        region::member_leaves(thread);
    }

    // ---- `task` ----

    fn wants_task(&self, here: CurrentThread) -> bool {
        task::is_wanted(here)
    }

    fn hears_of_included_task(&self, here: CurrentThread) -> bool {
        task::is_heard_of(here)
    }

    fn task_made(&self, here: CurrentThread, task: &Task, at_once: bool, items: Option<&[Dependence]>) {
        task::created(here, task, at_once, items);
    }

    fn task_making_ends(&self, here: CurrentThread) {
        task::made(here);
    }

    fn mark(&self, task: &Task) -> TaskMark {
        task::mark(task)
    }

    fn task_waits_for(&self, first: TaskMark, second: &Task) {
        task::waits_for(first, second);
    }

    fn task_begins(&self, thread: &Thread, task: &Task) {
        task::begun(thread, task);
    }

    fn task_ends(&self, thread: &Thread, task: &Task, status: TaskStatus) {
        task::ended(thread, task, status);
    }

    fn task_is_called_by_program(&self, task: &Task) {
        task::called_by_program(task);
    }

    fn task_is_part(&self, task: &Task, first: u64, count: u64) {
        task::is_part(task, first, count);
    }

    fn task_source(&self, task: &Task, location: *const c_char, code: usize) {
        trace::note_task(task, location, code);
    }

    fn task_stolen(&self, victim: &Thread, _: &Task) {
        trace::note_steal(victim);
    }

    fn taskwait_begins(&self, here: CurrentThread, items: &[Dependence]) -> Option<OwnedTask> {
        Some(task::wait_begins(here, items))
    }

    fn taskwait_ends(&self, here: CurrentThread, waiter: OwnedTask) {
        task::wait_ends(here, waiter);
    }

    fn yield_begins(&self, here: CurrentThread) {
        task::yield_begins(here);
    }

    fn yield_ends(&self, here: CurrentThread) {
        task::yield_ends(here);
    }

    fn event_fulfilled(&self, task: &Task, body_is_done: bool) {
        task::fulfilled(task, body_is_done);
    }

    // ---- `wait` ----

    fn sync_region_begins(&self, here: CurrentThread, kind: SyncKind) {
        wait::region_begins(here, kind);
    }

    fn sync_wait_begins(&self, here: CurrentThread, kind: SyncKind, whole: bool) -> BeginToken {
        wait::begins(here, kind, whole)
    }

    fn sync_wait_ends(&self, here: CurrentThread, kind: SyncKind, token: BeginToken) {
        wait::ends(here, kind, &token);
    }

    fn outside_wait(&self, end: ToolEndpoint) {
        trace::note_outside(end);
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

    fn mutex_wanted(&self, kind: ToolMutex, hint: u32, id: usize) -> BeginToken {
        mutex::wanted(kind, hint, id)
    }

    fn mutex_answers(&self, kind: ToolMutex, id: usize, count: u32, token: BeginToken) {
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

    // ---- `device` ----

    fn target_begins(&self, kind: ToolTarget, number: i32) -> BeginToken {
        device::begins(kind, number)
    }

    fn target_ends(&self, token: BeginToken) {
        device::ends(&token);
    }

    fn device_op(&self, op: &DeviceOp, end: Option<ToolEndpoint>, word: &Cell<u64>) {
        device::op(op, end, word);
    }

    fn device_submits(&self, end: ToolEndpoint, teams: u32) {
        device::submits(end, teams);
    }

    fn device_maps(&self, items: &dyn Fn() -> Vec<ToolMapping>) {
        device::maps(items);
    }

    fn device_copies(&self, kind: DeviceCopy, bytes: usize) {
        trace::note_copy(kind, bytes);
    }

    fn rank_is_served(&self, end: ToolEndpoint, rank: i64) {
        trace::note_served(end, rank);
    }

    fn device_comes_up(&self, number: i32) {
        device::opens(number);
    }

    fn device_loads(&self, number: i32, module: u64, image: &[u8]) {
        device::loads(number, module, image);
    }

    fn device_unloads(&self, number: i32, module: u64) {
        device::unloads(number, module);
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
