//! The events, and who hears them. Kinds of constructs are the host's
//! ([`omp::extension::tools::kinds`]); numbers are those of OMPT (OpenMP 5.2 §19.4.4).

use core::cell::Cell;

use super::code;
use omp::depend::Dependence;
use omp::extension::tools::TaskMark;
use omp::extension::tools::device::{DeviceOp, ToolDevice, ToolMapping, ToolTarget};
use omp::extension::tools::kinds::{Chunk, SyncKind, TaskStatus, ToolEndpoint, ToolMutex, ToolWork};
use omp::task::Task;
use omp::team::Team;
use omp::thread::{CurrentThread, Thread};

/// Kinds of OpenMP threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ThreadKind {
    /// A kernel thread of the program.
    Initial = 1,
    /// A member of a team.
    Worker = 2,
}

/// The tool's words: of a construct of a device, and of the operation that is reported.
pub struct Words<'a> {
    /// The construct's.
    pub construct: &'a Cell<u64>,
    /// The operation's.
    pub op: &'a Cell<u64>,
}

/// Where something happens: in which thread and task, and behind which call of the program.
pub struct EventSite<'a> {
    /// The thread.
    pub thread: &'a Thread,
    /// The task.
    pub task: &'a Task,
    code: Cell<Option<usize>>,
}

impl EventSite<'_> {
    /// In running code that the program has called.
    pub fn caller(here: CurrentThread) -> Self {
        EventSite { thread: here.thread.thread(), task: here.task, code: Cell::new(None) }
    }

    /// In running code of which this address is the program's, 0 for none.
    pub fn at(here: CurrentThread, code: usize) -> Self {
        EventSite { thread: here.thread.thread(), task: here.task, code: Cell::new(Some(code)) }
    }

    /// Of `task`, which `thread` runs or is about to run, without a call of the program's.
    pub fn of<'a>(thread: &'a Thread, task: &'a Task) -> EventSite<'a> {
        EventSite { thread, task, code: Cell::new(Some(0)) }
    }

    /// The address to which the call into the library returns (`codeptr_ra`); 0 where there is
    /// none. Costs an unwinding when it is asked for the first time: about a microsecond.
    pub fn code(&self) -> usize {
        let code = self.code.get().unwrap_or_else(|| code::caller().address);
        self.code.set(Some(code));
        code
    }

    /// What [`EventSite::code`] has found, if it was called or known before.
    pub(super) fn found_code(&self) -> Option<usize> {
        self.code.get()
    }

    /// What [`EventSite::code`] has found, 0 if it was not called.
    pub(super) fn known_code(&self) -> usize {
        self.code.get().unwrap_or(0)
    }

    /// Index of the kernel thread's worker.
    pub fn worker(&self) -> usize {
        self.thread.host().map_or(0, |worker| worker.index() as usize)
    }
}

/// Who hears what happens. See the module above for what the functions may do; each is called by
/// the thread that it is about unless it says otherwise.
#[allow(unused_variables, reason = "nothing is done by default")]
pub trait Consumer: Sync {
    /// A thread begins: an initial one at its first OpenMP call, a worker before its first region.
    fn thread_begin(&self, thread: &Thread, kind: ThreadKind) {}
    /// A thread ends: its kernel thread, or its team. For a worker it may be reported by the thread
    /// that keeps the team.
    fn thread_end(&self, thread: &Thread) {}
    /// A member on a worker of its own has nothing to do until the next region.
    fn idle(&self, thread: &Thread, end: ToolEndpoint) {}
    /// A team of `wanted` threads was asked for. The threads begin after this.
    fn parallel_begin(&self, site: &EventSite, team: &Team, wanted: u32) {}
    /// A league of `teams` initial teams begins; `word` is the tool's.
    fn league_begin(&self, site: &EventSite, word: *mut u64, teams: u32) {}
    /// It is over.
    fn league_end(&self, site: &EventSite, word: *mut u64) {}
    /// The region is over; `site` is the task that forked it.
    fn parallel_end(&self, site: &EventSite, team: &Team) {}
    /// The implicit task of a thread; an initial one where the team is no `parallel` region's.
    /// `over`: its region has ended, so the team is no longer its own.
    fn implicit_task(&self, thread: &Thread, end: ToolEndpoint, over: bool) {}
    /// An explicit task has been made by the site's.
    fn task_create(&self, site: &EventSite, task: &Task, has_dependences: bool) {}
    /// What a task depends on.
    fn dependences(&self, site: &EventSite, task: &Task, items: &[Dependence]) {}
    /// An iteration of a doacross loop, by its loop variables: it is a `source`, or the site's task
    /// waits for it.
    fn iteration(&self, site: &EventSite, source: bool, values: &[i64]) {}
    /// The second task waits for the first, which is perhaps complete by now.
    fn task_dependence(&self, site: &EventSite, first: TaskMark, second: &Task) {}
    /// The thread stops running `prior` and goes on with `next`, which is `None` where it goes on
    /// with what it did.
    fn task_schedule(&self, thread: &Thread, prior: &Task, status: TaskStatus, next: Option<&Task>) {}
    /// A synchronizing region. `over` as in `implicit_task`.
    fn sync_region(&self, site: &EventSite, kind: SyncKind, end: ToolEndpoint, over: bool) {}
    /// The waiting in it.
    fn sync_wait(&self, site: &EventSite, kind: SyncKind, end: ToolEndpoint, over: bool) {}
    /// Work that is divided; `count` iterations, sections or tasks as far as they are known.
    fn work(&self, site: &EventSite, kind: ToolWork, end: ToolEndpoint, count: u64) {}
    /// Some of it is handed out.
    fn dispatch(&self, site: &EventSite, chunk: Chunk) {}
    /// `masked`, in the thread that executes it.
    fn masked(&self, site: &EventSite, end: ToolEndpoint) {}
    /// A reduction combines copies.
    fn reduction(&self, site: &EventSite, end: ToolEndpoint) {}
    /// A thread wants a mutex.
    fn mutex_acquire(&self, site: &EventSite, kind: ToolMutex, hint: u32, id: u64) {}
    /// The thread has the mutex.
    fn mutex_acquired(&self, site: &EventSite, kind: ToolMutex, id: u64) {}
    /// The thread has given the mutex back.
    fn mutex_released(&self, site: &EventSite, kind: ToolMutex, id: u64) {}
    /// An owner has taken its nestable lock once more, or given one setting back.
    fn nest_lock(&self, site: &EventSite, end: ToolEndpoint, id: u64) {}
    /// A lock has been made.
    fn lock_init(&self, site: &EventSite, kind: ToolMutex, hint: u32, id: u64) {}
    /// A lock is no more.
    fn lock_destroy(&self, site: &EventSite, kind: ToolMutex, id: u64) {}
    /// `flush`.
    fn flush(&self, site: &EventSite) {}
    /// A cancellation, in the bits of [`cancelled`](omp::extension::tools::kinds::cancelled),
    /// of the site's task or of one that is discarded.
    fn cancel(&self, site: &EventSite, task: &Task, flags: u32) {}
    /// `error at(execution)`.
    fn error(&self, site: &EventSite, fatal: bool, message: &[u8]) {}
    /// `omp_control_tool`; the answer of the first that gives one counts.
    fn control_tool(&self, site: &EventSite, command: u64, modifier: u64, argument: usize) -> Option<i32> {
        None
    }
    /// A construct of a device, by its number; −1 is the host.
    fn target(&self, site: &EventSite, kind: ToolTarget, end: ToolEndpoint, device: i32) {}
    /// Something is done with a device's memory, from its beginning to its end or, without either,
    /// at once.
    fn device_op(&self, site: &EventSite, op: &DeviceOp, end: Option<ToolEndpoint>, words: &Words) {}
    /// A region is sent to its device, whose construct asks for so many teams, 0 for as many as
    /// there may be.
    fn submit(&self, end: ToolEndpoint, teams: u32, words: &Words) {}
    /// What a construct maps.
    fn maps(&self, site: &EventSite, construct: &Cell<u64>, items: &[ToolMapping]) {}
    /// The device is used for the first time.
    fn device_opens(&self, device: &ToolDevice) {}
    /// The program ends, which has used it.
    fn device_closes(&self, device: &ToolDevice) {}
    /// It has loaded an image.
    fn device_loads(&self, device: &ToolDevice, module: u64, image: &[u8]) {}
    /// It has unloaded it.
    fn device_unloads(&self, device: &ToolDevice, module: u64) {}
}
