//! The events as the host reports them ([`ToolHooks`]), and what consumers hear of that.
//!
//! | file | events of |
//! |---|---|
//! | `region` | threads, regions, implicit tasks |
//! | `task` | explicit tasks |
//! | `wait` | barriers, `taskwait`, `taskgroup` |
//! | `work` | loops, sections, `single`, `masked`, reductions, chunks |
//! | `mutex` | locks, `critical`, `ordered`, `flush` |
//! | `device` | constructs of devices, their memory, their lives |
//! | `other` | cancellation, errors, `omp_control_tool` |
//! | `table` | the table of them all, as the host's extension point asks for it |
//!
//! *Frames.* A tool that walks stacks asks where a task's code has entered the runtime
//! ([`TaskFrame`](super::record::TaskFrame)). A hook at the beginning of something that the
//! program's code has called notes that, and the one at its end takes it back ([`enter`],
//! [`leave`]); only for tools of the standard's interface.

use super::code::{self, CodeCaller};
use super::record::{self, PROGRAM_STACK};
use super::{ConsumerSlot, is_attached};
use omp::extension::tools::kinds::ToolWork;
use omp::task::Task;
use omp::thread::{CurrentThread, Thread};

pub mod device;
mod mutex;
mod other;
pub mod region;
mod table;
mod task;
mod wait;
mod work;

pub use table::ToolHooks;

/// States of threads, in OMPT's numbers (5.2 §19.4.4.31).
pub mod state {
    /// Outside of all regions.
    pub const SERIAL: u32 = 0x000;
    /// In a region.
    pub const PARALLEL: u32 = 0x001;
    /// Combining copies.
    pub const REDUCTION: u32 = 0x002;
    /// At the end of a region.
    pub const JOIN: u32 = 0x011;
    /// At the end of a worksharing construct.
    pub const WORKSHARE: u32 = 0x012;
    /// At a barrier of the program's.
    pub const BARRIER: u32 = 0x014;
    /// At a barrier of the implementation's.
    pub const INTERNAL: u32 = 0x015;
    /// At a `taskwait`.
    pub const TASKWAIT: u32 = 0x020;
    /// At the end of a `taskgroup`.
    pub const TASKGROUP: u32 = 0x021;
    /// Before a lock.
    pub const LOCK: u32 = 0x041;
    /// Before a `critical`.
    pub const CRITICAL: u32 = 0x042;
    /// Before an `atomic`.
    pub const ATOMIC: u32 = 0x043;
    /// Before an `ordered`.
    pub const ORDERED: u32 = 0x044;
    /// A member between two regions.
    pub const IDLE: u32 = 0x100;
    /// In the runtime.
    pub const OVERHEAD: u32 = 0x101;
    /// Of no thread of OpenMP's.
    pub const UNDEFINED: u32 = 0x102;
}

/// The work that a thread divides with others at present, to be reported again at its end.
#[derive(Clone, Copy, Default)]
pub struct Working {
    /// What it is; `None` outside.
    kind: Option<ToolWork>,
    count: u64,
    /// Behind which call it began; 0 if no consumer has asked.
    code: usize,
}

// SAFETY: numbers, of which only the bytes count.
const _: () = assert!(unsafe { core::mem::transmute::<Option<ToolWork>, u32>(None) } == 0);

/// The running code has called the runtime from this frame, if that is not known already. True if
/// it was not.
fn enter(task: &Task, caller: CodeCaller) -> bool {
    let Some(record) = record::of(task) else { return false };
    let is_first = record.frame.enter.get() == 0;
    if is_first {
        record.frame.enter.set(caller.stack);
        record.frame.enter_kind.set(PROGRAM_STACK);
    }
    is_first
}

/// It goes back to the program's code.
fn leave(task: &Task) {
    if let Some(record) = record::of(task) {
        record.frame.enter.set(0);
        record.frame.enter_kind.set(0);
    }
}

/// Where the running code has called the runtime from; looked for at once only where frames are to
/// be noted.
fn caller_if_wanted() -> Option<CodeCaller> {
    is_attached(ConsumerSlot::Ompt).then(code::caller)
}

/// A call of the program's running code, until it returns.
#[derive(Clone, Copy)]
struct ProgramCall {
    /// The address behind the call, if it is known.
    code: Option<usize>,
    /// The code was not inside of the runtime before.
    is_first: bool,
}

impl ProgramCall {
    /// The program's running code has called.
    fn begin(here: CurrentThread) -> Self {
        let caller = caller_if_wanted();
        let is_first = caller.is_some_and(|caller| enter(here.task, caller));
        Self { code: caller.map(|caller| caller.address), is_first }
    }

    /// Where the call is.
    fn site(self, here: CurrentThread) -> super::event::EventSite<'static> {
        site(here, self.code)
    }

    /// The call returns.
    fn end(self, here: CurrentThread) {
        if self.is_first {
            leave(here.task);
        }
    }
}

/// The site of running code whose caller is known, or will be looked for.
fn site(here: CurrentThread, code: Option<usize>) -> super::event::EventSite<'static> {
    match code {
        Some(code) => super::event::EventSite::at(here, code),
        None => super::event::EventSite::caller(here),
    }
}

/// `thread` is in this state from here on, waiting for `wait_id`; returns what it was in.
fn put_state(thread: &Thread, state: u32, wait_id: u64) -> record::ThreadState {
    record::of_thread(thread).state.replace(record::ThreadState { state, wait_id })
}
