//! What is kept with threads, teams and tasks for consumers.
//!
//! Threads and teams have their records always; an explicit task has one behind its payload if a
//! consumer was notified when it was made ([`Task::side`]). An implicit task's is its
//! thread's.
//!
//! Records are written by code that runs in the name of the thread or task they belong to, or by
//! its creator before it is published; a team's by the forking thread between regions. The words
//! for tools are theirs: what they do with them is between them and their threads.

use core::cell::Cell;
use core::mem::offset_of;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering, compiler_fence};

use crate::trace::{Spans, Thin};
use omp::extension::side::SideRecord;
use omp::extension::tools::kinds::RegionKind;
use omp::task::{Task, TaskFlags};
use omp::team::Team;
use omp::thread::Thread;

/// `ompt_frame_t` (5.2 §19.4.4.28): between which frames of the stack a task's code is inside of
/// the runtime.
#[repr(C)]
pub struct TaskFrame {
    /// The runtime's frame that called the task's code, 0 for none.
    pub exit: Cell<usize>,
    /// The frame from which the task's code has called the runtime, 0 while it has not.
    pub enter: Cell<usize>,
    /// What kind of address `exit` is.
    pub exit_kind: Cell<i32>,
    /// What kind of address `enter` is.
    pub enter_kind: Cell<i32>,
}

/// Of a [`TaskFrame`]: the base of a frame of the runtime.
pub const RUNTIME_BASE: i32 = 0x20;
/// The base of a frame of the program.
pub const PROGRAM_BASE: i32 = 0x21;
/// Where the stack of a frame of the program ends.
pub const PROGRAM_STACK: i32 = 0x11;

/// For tools: the task is run at once, although it might have been deferred.
pub const INCLUDED: TaskFlags = TaskFlags::EXTENSION[0];
/// For tools: the task stands for a wait.
pub const WAITS: TaskFlags = TaskFlags::EXTENSION[1];
/// For the trace, which leaves the task out: the time in which it runs is measured.
pub const TIMED: TaskFlags = TaskFlags::EXTENSION[2];

/// With a task.
#[repr(C, align(16))]
pub struct TaskRecord {
    /// Where its code is. The host writes the first word, see [`Task::side`].
    pub frame: TaskFrame,
    /// The tool's word.
    pub data: Cell<u64>,
    /// A number that no other task has; 0 if the task was not reported.
    pub id: Cell<u64>,
    /// A word for the trace.
    pub trace: Cell<u64>,
    /// First iteration and number of iterations of its part of a taskloop, until it begins.
    pub part: Cell<(u64, u64)>,
    /// The construct of a device that it carries out at present; null: no construct that is
    /// reported. Atomic for handlers that interrupt it, see [`TaskRecord::set_construct`].
    construct: AtomicPtr<ConstructRecord>,
    /// Behind which call of the program it was made, as far as a consumer has asked.
    pub code: Cell<usize>,
    /// Which tasks that it runs at once the trace times.
    pub spans: Spans,
    /// It was begun on the stack of the explicit task that made it, which goes on only after it.
    pub is_on_parent: Cell<bool>,
    /// It waits for others, and goes on in the name of the same thread. Read by tasks that it has
    /// made, on whichever thread those are.
    rests: AtomicBool,
}

impl TaskRecord {
    /// It carries out this construct from here on, and the one that is returned no more. The record
    /// lives until it is taken back, and its memory is not given back before.
    pub fn set_construct(&self, construct: *const ConstructRecord) -> *const ConstructRecord {
        compiler_fence(Ordering::Release); // what a handler finds there is written
        // ORDERING: Relaxed, both; one thread writes and reads, and a handler on it reads, for
        // which the compiler's order is enough.
        let before = self.construct.load(Ordering::Relaxed);
        self.construct.store(construct.cast_mut(), Ordering::Relaxed);
        compiler_fence(Ordering::Release); // a handler does not find what is freed next
        before
    }

    /// Its task begins to wait for others. [`TaskRecord::go_on`] gets what this returns.
    pub fn rest(&self) -> u32 {
        let spans = self.spans.waits();
        // ORDERING: Release, pairs with `rests`: who sees that it rests sees whose it is, even if
        // that has changed just before.
        self.rests.store(true, Ordering::Release);
        spans
    }

    /// Its task goes on after a wait.
    pub fn go_on(&self, spans: u32) {
        // ORDERING: Relaxed; who relies on it runs on the thread that has written it.
        self.rests.store(false, Ordering::Relaxed);
        self.spans.goes_on(spans);
    }

    /// Does its task wait for others? If so [`Task::thread`] is right as seen after this.
    pub fn rests(&self) -> bool {
        // ORDERING: Acquire, pairs with `rest`.
        self.rests.load(Ordering::Acquire)
    }
}

const _: () = assert!(offset_of!(TaskRecord, frame) + offset_of!(TaskFrame, exit) == 0);

// SAFETY: numbers, null pointers and `false`.
unsafe impl SideRecord for TaskRecord {}

/// With a construct of a device, as long as it lasts.
pub struct ConstructRecord {
    /// The tool's word (`target_data`); the construct's number where the tool has none.
    pub data: Cell<u64>,
    /// The same of the operation that is under way, 0 while none is.
    pub op: Cell<u64>,
    /// The device's number, [`ON_HOST`](omp::team::ON_HOST).
    pub device: i32,
    /// Behind which call of the program it is, 0 if no consumer has asked.
    pub code: usize,
}

/// What a thread is doing, as a tool asks for it.
#[derive(Clone, Copy)]
pub struct ThreadState {
    /// `ompt_state_t`.
    pub state: u32,
    /// The number of what it waits for (`ompt_wait_id_t`).
    pub wait_id: u64,
}

/// With a thread.
#[repr(C)]
pub struct ThreadRecord {
    /// A number that no other thread has; 0 before it begins, and after its end. The host asks
    /// whether it is 0 ([`ThreadSide::is_known`](omp::extension::side::ThreadSide)).
    pub id: Cell<u64>,
    /// The tool's word.
    pub data: Cell<u64>,
    /// A word for the trace.
    pub trace: Cell<u64>,
    /// Which tasks the trace leaves out, and how many those were.
    pub thin: Thin,
    /// What it is doing.
    pub state: Cell<ThreadState>,
    /// The task of this thread that was last said to run.
    pub current: Cell<*const Task>,
    /// It is in a `taskyield` that has not run anything yet.
    pub yields: Cell<bool>,
    /// A member that has arrived at the join: who has forked its region may go on at any time, and
    /// be gone.
    pub joined: Cell<bool>,
    /// The work that it divides at present, see [`super::hook`].
    pub work: Cell<super::hook::Working>,
}

const _: () = assert!(offset_of!(ThreadRecord, id) == 0);

// SAFETY: numbers, null, `false`, and work that is `None` (`Working`).
unsafe impl SideRecord for ThreadRecord {}

/// With a team.
pub struct TeamRecord {
    /// The tool's word (`parallel_data`).
    pub data: Cell<u64>,
    /// A number that no other region has.
    pub id: Cell<u64>,
    /// A word for the trace.
    pub trace: Cell<u64>,
    /// Behind which call of the program the region was forked.
    pub code: Cell<usize>,
    /// What the region is.
    pub kind: Cell<RegionKind>,
}

const _: () = assert!(RegionKind::Parallel as u32 == 0);

// SAFETY: numbers, and the first of the kinds.
unsafe impl SideRecord for TeamRecord {}

/// The record of a thread.
pub fn of_thread(thread: &Thread) -> &ThreadRecord {
    // SAFETY: the blocks of threads have this record.
    unsafe { thread.tools.thread.record() }
}

/// The record of a thread's implicit task.
pub fn of_implicit(thread: &Thread) -> &TaskRecord {
    // SAFETY: the blocks of tasks have this record.
    unsafe { thread.tools.task.record() }
}

/// The record of a team.
pub fn of_team(team: &Team) -> &TeamRecord {
    // SAFETY: the blocks of teams have this record.
    unsafe { team.tools.record() }
}

/// The record of a task; `None` for an explicit one that was made while no consumer was notified.
pub fn of(task: &Task) -> Option<&TaskRecord> {
    // SAFETY: the blocks of tasks have this record.
    task.side().map(|side| unsafe { side.record::<TaskRecord>() })
}

/// The construct of a device that `task` carries out, if the construct is reported.
pub fn construct_of(task: &Task) -> Option<&ConstructRecord> {
    // ORDERING: Relaxed; see `set_construct`. That of a task which has forked a region was written
    // before.
    // SAFETY: the hook that has written it takes it back before the record goes.
    of(task).and_then(|record| unsafe { record.construct.load(Ordering::Relaxed).as_ref() })
}

/// The construct that the running code belongs to: one that `task` carries out, or one around the
/// region that it is in. Not one that a task above it carries out meanwhile.
pub fn construct_around(task: &Task) -> Option<&ConstructRecord> {
    if let Some(own) = construct_of(task) {
        return Some(own);
    }
    let mut team = task.team();
    loop {
        let forking = team.thread(0)?.implicit.parent()?;
        if of_team(team).kind.get() == RegionKind::Target {
            return construct_of(forking);
        }
        team = forking.team();
    }
}

/// The thread that `thread` is for tools: thread 0 of a team is the one that has forked it.
pub fn thread_for_tools(thread: &Thread) -> &Thread {
    let mut thread = thread;
    while thread.num() == 0 {
        match thread.team().plan().parent() {
            Some(parent) => thread = parent,
            None => break,
        }
    }
    thread
}

/// Is this the team of an initial thread, not of a region?
pub fn is_root(team: &Team) -> bool {
    team.plan().parent().is_none()
}
