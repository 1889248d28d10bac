//! Events for tools and the trace.
//!
//! What lives here: the trait [`Tools`], whose methods are the events, and the functions by which
//! the host's OpenMP and the fronts report. What does not: tools, and what they keep
//! ([`super::side`]).
//!
//! | file | events of |
//! |---|---|
//! | `kinds` | kinds of constructs, and what becomes of them |
//! | `region` | threads, regions and implicit tasks |
//! | `task` | explicit tasks |
//! | `frame` | calls of the program's code whose frames tools know |
//! | `wait` | barriers, `taskwait`, `taskgroup` |
//! | `work` | loops, sections, `single`, `masked`, reductions, chunks |
//! | `mutex` | locks, `critical`, `ordered`, `flush` |
//! | `device` | devices, as they report them |
//! | `other` | cancellation, errors, `omp_control_tool` |
//!
//! A function of these files is inlined. It asks whether an extension listens ([`is_on`], one load),
//! and calls the trait's method out of line.
//!
//! **Contract.** An event is reported by the thread that it is about, in the name of the running
//! task and on its stack, unless its method says otherwise. The running code holds no lock of the
//! host. The method may block for a short time, allocate, and ask. It may not wait for other OpenMP
//! threads, execute constructs, or unwind. Threads, teams and tasks that it gets live until it
//! returns. A method for an end that gets a token, or that belongs to a region with
//! `Plan::notified`, is called exactly for the begins that were reported. Other ends are reported
//! if the extension is active at that moment: their begins may be missing, and an end may never
//! come.

use core::cell::Cell;
use core::ffi::c_char;
use core::sync::atomic::{AtomicBool, Ordering};

use ult::watch;

use super::linked;
use super::side::{BeginToken, LeagueSide};
use crate::depend::dependence::Dependence;
use crate::env::Settings;
use crate::task::owned::OwnedTask;
use crate::task::record::Task;
use crate::team::record::Team;
use crate::thread::current::CurrentThread;
use crate::thread::record::Thread;

pub use super::side::TaskMark;

pub mod device;
pub mod frame;
pub mod kinds;
pub mod mutex;
pub mod other;
pub mod region;
pub mod task;
pub mod wait;
pub mod work;

use device::{DeviceCopy, DeviceOp, ToolMapping, ToolTarget};
use kinds::{Chunk, RegionKind, SyncKind, TaskStatus, ToolEndpoint, ToolMutex, ToolWork};

/// The bits of tools and of the trace.
const WATCHES: u32 = super::TOOL_WATCHES | super::TRACE_WATCHES;

/// Does a tool or the trace listen? One load.
#[inline(always)]
pub fn is_on() -> bool {
    watch::watchers() & WATCHES != 0
}

/// No thread has looked for a tool yet, and one is wanted as far as is known.
static SEARCH_PENDING: AtomicBool = AtomicBool::new(true);

/// May there be a tool that no thread has looked for yet? One load.
#[inline(always)]
pub fn is_search_pending() -> bool {
    // ORDERING: Relaxed; a thread that asks once too often finds that it has been looked for.
    SEARCH_PENDING.load(Ordering::Relaxed)
}

/// The tool of the process has started, or there is none.
pub fn search_done() {
    // ORDERING: Relaxed; see `is_search_pending`.
    SEARCH_PENDING.store(false, Ordering::Relaxed);
}

/// The settings have just been read.
pub(crate) fn at_start(settings: &Settings) {
    linked().tools.settings_read(settings);
}

/// The calling thread has just become an initial thread.
pub fn look_for_tool() {
    linked().tools.look_for_tool();
}

/// May there be a tool in the process? See [`Tools::may_find_tool`].
pub fn may_find_tool() -> bool {
    linked().tools.may_find_tool()
}

/// What the host's OpenMP tells tools and the trace, and asks them. By default nothing is done.
#[allow(unused_variables, reason = "nothing is done by default")]
pub trait Tools: Sync {
    // ---- the life of tools ----

    /// The settings have just been read, once in the process. The calling thread is no OpenMP thread
    /// yet, and others wait for it.
    fn settings_read(&self, settings: &Settings) {}
    /// The calling thread has just become an initial thread. The extension looks for a tool, once in
    /// the process, and starts it. It calls [`search_done`] then.
    fn look_for_tool(&self) {
        search_done();
    }
    /// May [`Tools::look_for_tool`] find a tool? Any thread may ask, which need not be OpenMP's; it
    /// may be in a signal handler or in an allocation.
    fn may_find_tool(&self) -> bool {
        false
    }

    // ---- `region` ----

    /// The calling thread has become an initial thread, with its team and its initial task.
    fn initial_thread_begins(&self, here: CurrentThread) {}
    /// It ends. Only if tools know it ([`super::side::ThreadSide::is_known`]).
    fn initial_thread_ends(&self, here: CurrentThread) {}
    /// A free agent begins.
    fn agent_begins(&self, thread: &Thread) {}
    /// The record of a member or an agent that tools know is about to be freed; it has left. The
    /// calling thread is another one.
    fn member_is_freed(&self, thread: &Thread) {}
    /// Where the region is that the running thread forks next. `location`: as compilers pass it.
    /// The calling thread need not be OpenMP's.
    fn region_source(&self, location: *const c_char) {}
    /// A region has been planned, which asked for `wanted` threads. By the forking thread, before the
    /// team starts.
    fn region_begins(&self, here: CurrentThread, team: &Team, wanted: u32, kind: RegionKind) {}
    /// A league of `teams` teams is about to begin.
    fn league_begins(&self, here: CurrentThread, teams: u32, side: &LeagueSide) {}
    /// All its teams have ended.
    fn league_ends(&self, here: CurrentThread, side: &LeagueSide) {}
    /// The forking code runs as thread 0 now.
    fn primary_begins(&self, here: CurrentThread) {}
    /// The program itself calls the code of the region, from the frame that has called the runtime.
    fn region_is_called_by_program(&self, here: CurrentThread) {}
    /// Thread 0 has ended its share.
    fn primary_arrives(&self, here: CurrentThread, team: &Team) {}
    /// All members have joined, and all tasks are complete. By thread 0.
    fn primary_leaves(&self, here: CurrentThread, team: &Team) {}
    /// The forking task goes on.
    fn region_ends(&self, here: CurrentThread, team: &Team) {}
    /// A member begins its share.
    fn member_begins(&self, thread: &Thread) {}
    /// It has ended its share, and is about to arrive at the join.
    fn member_arrives(&self, here: CurrentThread) {}
    /// It has seen that the region is closed. Nothing of the team may be touched but what is the
    /// member's.
    fn member_leaves(&self, thread: &Thread) {}

    // ---- `task` ----

    /// Does the task that the running thread makes next have a side block, so that it is reported?
    /// Asked once per task of the program.
    fn wants_task(&self, here: CurrentThread) -> bool {
        true
    }
    /// [`Tools::wants_task`] is to be asked for the task that the running task makes, and runs at
    /// once. False: nothing of that task is reported, not even that it was made.
    fn hears_of_included_task(&self, here: CurrentThread) -> bool {
        true
    }
    /// The running task has made `task`, and may run it `at_once`. `items`: its dependences, if it
    /// is reported and has some. The running task stays in the call until
    /// [`Tools::task_making_ends`].
    fn task_made(&self, here: CurrentThread, task: &Task, at_once: bool, items: Option<&[Dependence]>) {}
    /// The call that has made a task returns to the program.
    fn task_making_ends(&self, here: CurrentThread) {}
    /// What is kept of `task`, which has been made: others may wait for it.
    fn mark(&self, task: &Task) -> TaskMark {
        TaskMark::default()
    }
    /// `second`, which the running task has made, waits for the task that was marked.
    fn task_waits_for(&self, first: TaskMark, second: &Task) {}
    /// `thread` begins `task`, or goes on with its next part. The task is not the running one yet.
    fn task_begins(&self, thread: &Thread, task: &Task) {}
    /// The code of `task`, or one part of it, has ended on `thread` in this way. The task is still
    /// the running task, and it is not complete yet.
    fn task_ends(&self, thread: &Thread, task: &Task, status: TaskStatus) {}
    /// The program's own code runs `task`, between two calls.
    fn task_is_called_by_program(&self, task: &Task) {}
    /// `task` does so many iterations of a taskloop, from this one. It is about to be submitted.
    fn task_is_part(&self, task: &Task, first: u64, count: u64) {}
    /// Where the code of `task` is, which has not been submitted. `location`: as compilers pass it,
    /// or null.
    fn task_source(&self, task: &Task, location: *const c_char, code: usize) {}
    /// The calling thread has stolen `task` from `victim`.
    fn task_stolen(&self, victim: &Thread, task: &Task) {}
    /// `taskwait` with dependences begins. The task that is returned stands for the wait.
    fn taskwait_begins(&self, here: CurrentThread, items: &[Dependence]) -> Option<OwnedTask> {
        None
    }
    /// It is over. `waiter` is the task that stood for it, and is freed here.
    fn taskwait_ends(&self, here: CurrentThread, waiter: OwnedTask) {}
    /// The running task is about to run others in a `taskyield`.
    fn yield_begins(&self, here: CurrentThread) {}
    /// It goes on.
    fn yield_ends(&self, here: CurrentThread) {}
    /// The event of `task` is about to be fulfilled, by the running code.
    fn event_fulfilled(&self, task: &Task, body_is_done: bool) {}

    // ---- `wait` ----

    /// A synchronizing region begins, whose waiting and end are reported later.
    fn sync_region_begins(&self, here: CurrentThread, kind: SyncKind) {}
    /// The running task begins to wait in a synchronizing region. `whole`: the region begins here,
    /// too. [`Tools::sync_wait_ends`] gets the token.
    fn sync_wait_begins(&self, here: CurrentThread, kind: SyncKind, whole: bool) -> BeginToken {
        BeginToken::NONE
    }
    /// The task goes on, and the region is over.
    fn sync_wait_ends(&self, here: CurrentThread, kind: SyncKind, token: BeginToken) {}

    /// The calling thread begins to wait for something outside of the runtime, or goes on. It need
    /// not be OpenMP's.
    fn outside_wait(&self, end: ToolEndpoint) {}

    // ---- `work` ----

    /// The running thread begins its share of work that is divided, with `count` iterations or
    /// sections.
    fn work_begins(&self, here: CurrentThread, kind: ToolWork, count: u64) {}
    /// It has ended its share.
    fn work_ends(&self, here: CurrentThread) {}
    /// One end of work whose ends are both reported so.
    fn work(&self, kind: ToolWork, end: ToolEndpoint, count: u64) {}
    /// `single`: the thread executes the block, or passes it. `has_end`: its end is reported.
    fn single(&self, executes: bool, has_end: bool) {}
    /// A chunk is handed out to the running thread.
    fn chunk(&self, chunk: Chunk) {}
    /// An iteration of a doacross loop, by the values of its loop variables, is a `source`, or one
    /// that the running code waits for.
    fn iteration(&self, here: CurrentThread, source: bool, values: &[i64]) {}
    /// One end of `masked`, in the thread that executes it.
    fn masked(&self, end: ToolEndpoint) {}
    /// A reduction begins to combine copies, or has done so.
    fn reduction(&self, end: ToolEndpoint) {}

    // ---- `mutex` ----

    /// The running thread wants a mutex. [`Tools::mutex_answers`] gets the token.
    fn mutex_wanted(&self, kind: ToolMutex, hint: u32, id: usize) -> BeginToken {
        BeginToken::NONE
    }
    /// The thread has the mutex so many times now: 0 if it was not free.
    fn mutex_answers(&self, kind: ToolMutex, id: usize, count: u32, token: BeginToken) {}
    /// The thread has given a mutex back, and has it so many times still.
    fn mutex_released(&self, kind: ToolMutex, id: usize, left: u32) {}
    /// A lock is made. This may be the first call of the program.
    fn lock_made(&self, kind: ToolMutex, hint: u32, id: usize) {}
    /// A lock is no more.
    fn lock_destroyed(&self, kind: ToolMutex, id: usize) {}
    /// `flush`.
    fn flush(&self) {}

    // ---- `device` ----

    /// A construct begins, on the device with this number,
    /// [`ON_HOST`](crate::team::ON_HOST) for the host.
    fn target_begins(&self, kind: ToolTarget, device: i32) -> BeginToken {
        BeginToken::NONE
    }
    /// It is over, in the same task. `token` comes from its begin.
    fn target_ends(&self, token: BeginToken) {}
    /// Something is done with a device's memory: one of its ends, or `None` if it takes no time. Both
    /// ends have one `word`, which is the extension's, and 0 at the begin.
    fn device_op(&self, op: &DeviceOp, end: Option<ToolEndpoint>, word: &Cell<u64>) {}
    /// One end of sending a region to its device. The construct asks for so many teams.
    fn device_submits(&self, end: ToolEndpoint, teams: u32) {}
    /// What the construct that has begun maps. `items` takes locks of devices; they are asked for
    /// once, or not at all.
    fn device_maps(&self, items: &dyn Fn() -> Vec<ToolMapping>) {}
    /// A copy of so many bytes is begun.
    fn device_copies(&self, kind: DeviceCopy, bytes: usize) {}
    /// One end of a region that another rank has sent here.
    fn rank_is_served(&self, end: ToolEndpoint, rank: i64) {}
    /// The device is about to be used for code or data, by a thread that holds nothing.
    fn device_comes_up(&self, device: i32) {}
    /// The device has loaded an image.
    fn device_loads(&self, device: i32, module: u64, image: &[u8]) {}
    /// The device has unloaded one.
    fn device_unloads(&self, device: i32, module: u64) {}

    // ---- `other` ----

    /// The running task cancels, or notices a cancellation, in the bits of [`kinds::cancelled`].
    fn cancels(&self, here: CurrentThread, flags: u32) {}
    /// `task` is not begun, because what it belongs to was cancelled.
    fn discards(&self, task: &Task, flags: u32) {}
    /// `error at(execution)`.
    fn error(&self, fatal: bool, message: &str) {}
    /// `omp_control_tool`: the answer of the first that has one.
    fn control(&self, here: CurrentThread, command: u64, modifier: u64, argument: usize) -> Option<i32> {
        None
    }
}

/// Where there is no such extension.
pub struct NoTools;

impl Tools for NoTools {}
