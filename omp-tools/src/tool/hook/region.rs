//! Threads, regions and implicit tasks.
//!
//! The functions that are no helpers are events of
//! [`Tools`](omp::extension::tools::Tools), which says when they happen.

use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use super::super::event::{EventSite, ThreadKind};
use super::super::record::{self, RUNTIME_BASE, TaskRecord};
use super::super::{code, notify, unique_id};
use super::{enter, leave, put_state, state};
use omp::extension::side::{LeagueSide, SideRecord};
use omp::extension::tools;
use omp::extension::tools::kinds::{RegionKind, SyncKind, ToolEndpoint};
use omp::team::{Team, TeamKind};
use omp::thread::{CurrentThread, Thread};

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

/// An initial thread has begun.
pub fn root_begins(here: CurrentThread) {
    let team = here.team();
    record::of_thread(&here.thread).id.set(unique_id());
    notify(|consumer| consumer.thread_begin(&here.thread, ThreadKind::Initial));
    new_region(team, RegionKind::Parallel, 0);
    put_state(&here.thread, state::SERIAL, 0);
    task_begins(&here.thread);
}

/// An initial thread ends.
pub fn root_ends(here: CurrentThread) {
    notify(|consumer| consumer.implicit_task(&here.thread, ToolEndpoint::End, true));
    notify(|consumer| consumer.thread_end(&here.thread));
    record::of_thread(&here.thread).id.set(0);
}

/// The generation of the process to which the two above belong; [`NO_PROCESS`] before a worker has
/// begun.
static GENERATION: AtomicU32 = AtomicU32::new(NO_PROCESS);
const NO_PROCESS: u32 = u32::MAX;

/// Do the list and the count belong to a parent of this process? Its threads are not here, and one
/// of them may have held the lock.
fn is_of_parent() -> bool {
    // ORDERING: Relaxed; the threads of a process write one number.
    let generation = GENERATION.load(Ordering::Relaxed);
    generation != NO_PROCESS && generation != ult::sys::fork::generation()
}

/// Reports the begin of the member's thread, before its first region.
fn worker_begins(thread: &Thread) {
    if record::of_thread(thread).id.get() == 0 {
        record::of_thread(thread).id.set(unique_id());
        record::of_thread(thread).data.set(0);
        if !is_of_parent() {
            // ORDERING: Relaxed; see `is_of_parent`.
            GENERATION.store(ult::sys::fork::generation(), Ordering::Relaxed);
            begun().push(Begun(thread));
        }
        notify(|consumer| consumer.thread_begin(thread, ThreadKind::Worker));
    }
}

/// A free agent begins. Tools know it as a worker; its actions are reported with its tasks.
pub fn agent_begins(thread: &Thread) {
    worker_begins(thread);
    put_state(thread, state::PARALLEL, 0);
    new_task(thread);
}

/// The record of a member that has left is about to be freed.
pub fn worker_ends(thread: &Thread) {
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
    record::of_thread(thread).id.set(0);
}

/// Gives members that are on their way out of a region a moment, at the program's end, to report
/// that.
pub fn await_members() {
    if is_of_parent() {
        return;
    }
    for _ in 0..2000 {
        // ORDERING: Acquire, pairs with the Release in `member_leaves`.
        if OWED.load(Ordering::Acquire) == 0 {
            break;
        }
        omp::yielding::let_others_run(); // a suspended member of this worker can end its task only if this thread yields
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
        tools::region::root_ends(here);
    }
}

// ---- regions ----------------------------------------------------------------

/// A region begins.
pub fn begins(here: CurrentThread, team: &Team, wanted: u32, kind: RegionKind) {
    let caller = code::caller();
    new_region(team, kind, caller.address);
    if kind == RegionKind::Parallel {
        enter(here.task, caller);
        let site = EventSite::at(here, caller.address);
        notify(|consumer| consumer.parallel_begin(&site, team, wanted));
    }
}

/// With a league.
struct LeagueRecord {
    /// The tool's word.
    data: Cell<u64>,
    /// Behind which call of the program it is.
    code: Cell<usize>,
}

// SAFETY: numbers.
unsafe impl SideRecord for LeagueRecord {}

/// A league of `teams` teams is about to begin.
pub fn league_begins(here: CurrentThread, teams: u32, side: &LeagueSide) {
    // SAFETY: the blocks of leagues have this record.
    let league: &LeagueRecord = unsafe { side.record() };
    let caller = code::caller();
    league.code.set(caller.address);
    enter(here.task, caller);
    let site = EventSite::at(here, caller.address);
    notify(|consumer| consumer.league_begin(&site, league.data.as_ptr(), teams));
}

/// All its teams have ended.
pub fn league_ends(here: CurrentThread, side: &LeagueSide) {
    // SAFETY: as above.
    let league: &LeagueRecord = unsafe { side.record() };
    let site = EventSite::at(here, league.code.get());
    notify(|consumer| consumer.league_end(&site, league.data.as_ptr()));
    leave(here.task);
}

fn new_region(team: &Team, kind: RegionKind, code: usize) {
    let record = record::of_team(team);
    record.data.set(0);
    record.id.set(unique_id());
    record.trace.set(0);
    record.code.set(code);
    record.kind.set(kind);
}

/// The forking code runs as thread 0 now.
pub fn entered(here: CurrentThread) {
    put_state(&here.thread, state::PARALLEL, 0);
    task_begins(&here.thread);
}

/// The program itself calls the code of a region of one thread, from the frame that has called the
/// runtime.
pub fn called_by_program(here: CurrentThread) {
    let frame = &record::of_implicit(&here.thread).frame;
    frame.exit.set(code::caller().base);
    frame.exit_kind.set(record::PROGRAM_BASE);
}

/// Thread 0 has ended its share.
pub fn primary_arrives(here: CurrentThread, team: &Team) {
    arrives(here, record::of_team(team).code.get());
}

/// All members have joined, and all tasks are complete.
pub fn primary_leaves(here: CurrentThread, team: &Team) {
    leaves(here, record::of_team(team).code.get());
}

/// The forking task goes on.
pub fn ended(here: CurrentThread, team: &Team) {
    if record::of_team(team).kind.get() == RegionKind::Parallel {
        let site = EventSite::at(here, record::of_team(team).code.get());
        notify(|consumer| consumer.parallel_end(&site, team));
        leave(here.task);
    }
}

/// A member begins its share.
pub fn member_begins(thread: &Thread) {
    worker_begins(thread);
    // ORDERING: Relaxed; a count by itself.
    OWED.fetch_add(1, Ordering::Relaxed);
    if put_state(thread, state::PARALLEL, 0).state == state::IDLE {
        notify(|consumer| consumer.idle(thread, ToolEndpoint::End));
    }
    task_begins(thread);
}

/// A member has ended its share, and is about to arrive at the join.
pub fn member_arrives(here: CurrentThread) {
    arrives(here, 0);
}

/// A member has seen that the region is closed. Nothing of the team may be touched but what is the
/// member's.
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
    match record::of_team(team).kind.get() {
        RegionKind::Parallel => Some(SyncKind::Parallel),
        RegionKind::League | RegionKind::Target => None,
    }
}

fn arrives(here: CurrentThread, code: usize) {
    super::work::close_single(here);
    let frame = &record::of_implicit(&here.thread).frame;
    frame.exit.set(0);
    frame.exit_kind.set(0);
    let Some(kind) = barrier_kind(here.team()) else { return };
    put_state(&here.thread, state::JOIN, 0);
    let site = EventSite::at(here, code);
    notify(|consumer| consumer.sync_region(&site, kind, ToolEndpoint::Begin, false));
    notify(|consumer| consumer.sync_wait(&site, kind, ToolEndpoint::Begin, false));
    record::of_thread(&here.thread).joined.set(here.thread.num() != 0);
}

fn leaves(here: CurrentThread, code: usize) {
    super::task::resumed(here);
    if let Some(kind) = barrier_kind(here.team()) {
        let site = EventSite::at(here, code);
        notify(|consumer| consumer.sync_wait(&site, kind, ToolEndpoint::End, true));
        notify(|consumer| consumer.sync_region(&site, kind, ToolEndpoint::End, true));
    }
    put_state(&here.thread, state::OVERHEAD, 0);
    notify(|consumer| consumer.implicit_task(&here.thread, ToolEndpoint::End, true));
}

/// The implicit task of `thread` begins.
fn task_begins(thread: &Thread) {
    new_task(thread);
    notify(|consumer| consumer.implicit_task(thread, ToolEndpoint::Begin, false));
}

/// What is kept for tools of the implicit task of `thread`, anew.
fn new_task(thread: &Thread) {
    let record: &TaskRecord = record::of_implicit(thread);
    record.data.set(0);
    record.trace.set(0);
    record.id.set(unique_id());
    record.frame.enter.set(0);
    record.frame.enter_kind.set(0);
    record.frame.exit.set(0);
    record.frame.exit_kind.set(RUNTIME_BASE);
    record::of_thread(thread).current.set(&raw const thread.implicit);
    record::of_thread(thread).joined.set(false);
}
