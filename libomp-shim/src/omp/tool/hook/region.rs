//! Threads, regions and implicit tasks.
//!
//! The fork of a region decides whether the region is reported to tools
//! ([`Plan::notified`](crate::omp::team::Plan)). The members of a reported region stay at its join
//! until thread 0 has closed it; only then has their implicit barrier ended.

use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use super::super::event::{EventSite, ThreadKind};
use super::super::record::{self, RUNTIME_BASE, TaskRecord};
use super::super::{code, is_on, notify, unique_id};
use super::{enter, leave, put_state, state};
use crate::omp::extension::tools::kinds::{ConstructKind, SyncKind, ToolEndpoint};
use crate::omp::team::{Team, TeamKind};
use crate::omp::thread::{CurrentThread, Thread};

/// A worker that has begun and not ended: an address, which stays valid until it is taken off the
/// list.
struct Begun(*const Thread);
// SAFETY: what is read through it is the record of a thread that is idle or has left.
unsafe impl Send for Begun {}

static BEGUN: Mutex<Vec<Begun>> = Mutex::new(Vec::new());
/// Members that have not yet reported the end of their implicit task.
static OWED: AtomicU32 = AtomicU32::new(0);

fn begun() -> std::sync::MutexGuard<'static, Vec<Begun>> {
    BEGUN.lock().unwrap_or_else(PoisonError::into_inner) // a panic aborts the process
}

// ---- threads ----------------------------------------------------------------

/// An initial thread has begun, with its team and its initial task.
#[inline]
pub fn root_begins(here: CurrentThread) {
    if is_on() {
        root_begins_cold(here);
    }
}

#[cold]
fn root_begins_cold(here: CurrentThread) {
    let team = here.team();
    here.thread.tool.id.set(unique_id());
    notify(|consumer| consumer.thread_begin(here.thread, ThreadKind::Initial));
    new_region(team, ConstructKind::Parallel, 0);
    put_state(here.thread, state::SERIAL, 0);
    task_begins(here.thread);
}

/// An initial thread ends.
#[inline]
pub fn root_ends(here: CurrentThread) {
    if is_on() && here.thread.tool.id.get() != 0 {
        root_ends_cold(here);
    }
}

#[cold]
fn root_ends_cold(here: CurrentThread) {
    notify(|consumer| consumer.implicit_task(here.thread, ToolEndpoint::End, true));
    notify(|consumer| consumer.thread_end(here.thread));
    here.thread.tool.id.set(0);
}

/// The generation of the process to which the two above belong; [`NOBODYS`] before a worker has
/// begun.
static GENERATION: AtomicU32 = AtomicU32::new(NOBODYS);
const NOBODYS: u32 = u32::MAX;

/// Do the list and the count belong to a parent of this process? Its threads are not here, and one
/// of them may have held the lock.
fn is_of_parent() -> bool {
    // ORDERING: Relaxed; the threads of a process write one number.
    let generation = GENERATION.load(Ordering::Relaxed);
    generation != NOBODYS && generation != ult::sys::fork::generation()
}

/// Reports the begin of the member's thread, before its first region.
fn worker_begins(thread: &Thread) {
    if thread.tool.id.get() == 0 {
        thread.tool.id.set(unique_id());
        thread.tool.data.set(0);
        if !is_of_parent() {
            // ORDERING: Relaxed; see `is_of_parent`.
            GENERATION.store(ult::sys::fork::generation(), Ordering::Relaxed);
            begun().push(Begun(thread));
        }
        notify(|consumer| consumer.thread_begin(thread, ThreadKind::Worker));
    }
}

/// A free agent begins. Tools know it as a worker; its actions are reported with its tasks.
#[inline(always)]
pub fn agent_begins(thread: &Thread) {
    if is_on() {
        agent_begins_cold(thread);
    }
}

#[cold]
#[inline(never)]
fn agent_begins_cold(thread: &Thread) {
    worker_begins(thread);
    put_state(thread, state::PARALLEL, 0);
    new_task(thread);
}

/// The record of a member that has left is about to be freed.
#[inline]
pub fn worker_is_freed(thread: &Thread) {
    if thread.tool.id.get() != 0 && thread.num() != 0 {
        worker_ends(thread);
    }
}

#[cold]
fn worker_ends(thread: &Thread) {
    if !is_of_parent() {
        begun().retain(|begun| !core::ptr::eq(begun.0, thread));
    }
    end_of_thread(thread);
}

fn end_of_thread(thread: &Thread) {
    // SAFETY: the member has left, or is idle while the program ends; it is named for the duration
    // of the call only.
    let before = unsafe { CurrentThread::set(thread, &thread.implicit) };
    notify(|consumer| consumer.thread_end(thread));
    ult::worker::set_locals(before);
    thread.tool.id.set(0);
}

/// Gives members that are on their way out of a region a moment, at the program's end, to report
/// that.
pub fn await_members() {
    if is_of_parent() {
        return;
    }
    for _ in 0..2000 {
        // ORDERING: Acquire, pairs with the Release in `member_leaves_cold`.
        if OWED.load(Ordering::Acquire) == 0 {
            break;
        }
        crate::omp::yielding::let_others_run(); // a suspended member of this worker can end its task only if this thread yields
        std::thread::sleep(core::time::Duration::from_micros(100));
    }
}

/// The program ends: all threads end for tools.
pub fn end_all(here: CurrentThread) {
    await_members();
    if is_of_parent() {
        return;
    }
    // One after the other, under the lock: who frees one takes it off the list first
    // ([`worker_ends`]), and waits for that.
    let mut workers = begun();
    while let Some(Begun(thread)) = workers.pop() {
        // SAFETY: it was on the list a moment ago, and the lock is held, hence not freed.
        end_of_thread(unsafe { &*thread });
    }
    drop(workers);
    if record::is_root(here.team()) {
        root_ends(here);
    }
}

// ---- regions ----------------------------------------------------------------

/// A team for a region has been planned, which asked for `wanted` threads. By the forking thread,
/// before it starts.
#[inline(always)]
pub fn begins(here: CurrentThread, team: &Team, wanted: u32, kind: ConstructKind) {
    let notified = is_on();
    // SAFETY: we are the forking thread and the team is between regions.
    let plan = unsafe { team.plan_mut() };
    if plan.notified != notified {
        plan.notified = notified;
    }
    if notified {
        begins_cold(here, team, wanted, kind);
    }
}

#[cold]
#[inline(never)]
fn begins_cold(here: CurrentThread, team: &Team, wanted: u32, kind: ConstructKind) {
    let caller = code::caller();
    new_region(team, kind, caller.address);
    if kind == ConstructKind::Parallel {
        enter(here.task, caller);
        let site = EventSite::at(here, caller.address);
        notify(|consumer| consumer.parallel_begin(&site, team, wanted));
    }
}

/// A league of `teams` teams is about to begin; [`league_ends`] gets what this returns.
pub fn league_begins(here: CurrentThread, teams: u32) -> League {
    let league = League { notified: is_on(), word: Cell::new(0), code: Cell::new(0) };
    if league.notified {
        let caller = code::caller();
        league.code.set(caller.address);
        enter(here.task, caller);
        let site = EventSite::at(here, caller.address);
        notify(|consumer| consumer.league_begin(&site, league.word.as_ptr(), teams));
    }
    league
}

/// All its teams have ended.
pub fn league_ends(here: CurrentThread, league: &League) {
    if league.notified {
        let site = EventSite::at(here, league.code.get());
        notify(|consumer| consumer.league_end(&site, league.word.as_ptr()));
        leave(here.task);
    }
}

/// What tools know of a league.
pub struct League {
    notified: bool,
    word: Cell<u64>,
    code: Cell<usize>,
}

fn new_region(team: &Team, kind: ConstructKind, code: usize) {
    let record = &team.tool;
    record.data.set(0);
    record.id.set(unique_id());
    record.trace.set(0);
    record.code.set(code);
    record.kind.set(kind);
}

/// The forking code runs as thread 0 now.
#[inline(always)]
pub fn entered(team: &Team) {
    if team.plan().notified {
        entered_cold(CurrentThread::get());
    }
}

#[cold]
#[inline(never)]
fn entered_cold(here: CurrentThread) {
    put_state(here.thread, state::PARALLEL, 0);
    task_begins(here.thread);
}

/// The program itself calls the code of a region of one thread, from the frame that has called the
/// runtime.
#[inline]
pub fn called_by_program(here: CurrentThread) {
    if here.team().plan().notified {
        let frame = &here.thread.tool.task.frame;
        frame.exit.set(code::caller().base);
        frame.exit_kind.set(record::PROGRAM_BASE);
    }
}

/// Thread 0 has ended its share.
#[inline(always)]
pub fn primary_arrives(team: &Team) {
    if team.plan().notified {
        arrives(CurrentThread::get(), team.tool.code.get());
    }
}

/// All members have joined, and all tasks are complete.
#[inline(always)]
pub fn primary_leaves(team: &Team) {
    if team.plan().notified {
        leaves(CurrentThread::get(), team.tool.code.get());
    }
}

/// The forking task goes on.
#[inline(always)]
pub fn ended(here: CurrentThread, team: &Team) {
    if team.plan().notified {
        ended_cold(here, team);
    }
}

#[cold]
#[inline(never)]
fn ended_cold(here: CurrentThread, team: &Team) {
    if team.tool.kind.get() == ConstructKind::Parallel {
        let site = EventSite::at(here, team.tool.code.get());
        notify(|consumer| consumer.parallel_end(&site, team));
        leave(here.task);
    }
}

/// A member begins its share.
#[inline(always)]
pub fn member_begins(thread: &Thread, team: &Team) {
    if team.plan().notified {
        member_begins_cold(thread);
    }
}

#[cold]
#[inline(never)]
fn member_begins_cold(thread: &Thread) {
    worker_begins(thread);
    // ORDERING: Relaxed; a count by itself.
    OWED.fetch_add(1, Ordering::Relaxed);
    if put_state(thread, state::PARALLEL, 0).0 == state::IDLE {
        notify(|consumer| consumer.idle(thread, ToolEndpoint::End));
    }
    task_begins(thread);
}

/// A member has ended its share, and is about to arrive at the join.
#[inline(always)]
pub fn member_arrives(team: &Team) {
    if team.plan().notified {
        arrives(CurrentThread::get(), 0);
    }
}

/// A member has seen that the region is closed. Nothing of the team may be touched but what is the
/// member's.
#[cold]
pub fn member_leaves(thread: &Thread) {
    leaves(CurrentThread::get(), 0);
    if thread.team().kind != TeamKind::Ults {
        put_state(thread, state::IDLE, 0);
        notify(|consumer| consumer.idle(thread, ToolEndpoint::Begin));
    }
    // ORDERING: Release, pairs with the Acquire in `await_members`, for `end_all`: the reports of
    // this member come before the end of the program.
    OWED.fetch_sub(1, Ordering::Release);
}

fn barrier_kind(team: &Team) -> Option<SyncKind> {
    match team.tool.kind.get() {
        ConstructKind::Parallel => Some(SyncKind::Parallel),
        ConstructKind::League | ConstructKind::Target => None,
    }
}

#[cold]
#[inline(never)]
fn arrives(here: CurrentThread, code: usize) {
    super::work::close_single(here);
    let frame = &here.thread.tool.task.frame;
    frame.exit.set(0);
    frame.exit_kind.set(0);
    let Some(kind) = barrier_kind(here.team()) else { return };
    put_state(here.thread, state::JOIN, 0);
    let site = EventSite::at(here, code);
    notify(|consumer| consumer.sync_region(&site, kind, ToolEndpoint::Begin, false));
    notify(|consumer| consumer.sync_wait(&site, kind, ToolEndpoint::Begin, false));
    here.thread.tool.joined.set(here.thread.num() != 0);
}

#[cold]
#[inline(never)]
fn leaves(here: CurrentThread, code: usize) {
    super::task::resumed(here);
    if let Some(kind) = barrier_kind(here.team()) {
        let site = EventSite::at(here, code);
        notify(|consumer| consumer.sync_wait(&site, kind, ToolEndpoint::End, true));
        notify(|consumer| consumer.sync_region(&site, kind, ToolEndpoint::End, true));
    }
    put_state(here.thread, state::OVERHEAD, 0);
    notify(|consumer| consumer.implicit_task(here.thread, ToolEndpoint::End, true));
}

/// The implicit task of `thread` begins.
fn task_begins(thread: &Thread) {
    new_task(thread);
    notify(|consumer| consumer.implicit_task(thread, ToolEndpoint::Begin, false));
}

/// What is kept for tools of the implicit task of `thread`, anew.
fn new_task(thread: &Thread) {
    let record: &TaskRecord = &thread.tool.task;
    record.data.set(0);
    record.trace.set(0);
    record.id.set(unique_id());
    record.frame.enter.set(0);
    record.frame.enter_kind.set(0);
    record.frame.exit.set(0);
    record.frame.exit_kind.set(RUNTIME_BASE);
    thread.tool.current.set(&raw const thread.implicit);
    thread.tool.joined.set(false);
}
