//! Events for tools and the trace.
//!
//! What lives here: the trait [`Tools`], whose methods are the events, and the functions by which
//! the host's OpenMP and the fronts report. What does not: tools, and what they keep
//! ([`super::side`]).
//!
//! | file | events of |
//! |---|---|
//! | `kinds` | kinds of constructs, and what becomes of them |
//! | `wait` | barriers, `taskwait`, `taskgroup` |
//! | `work` | loops, sections, `single`, `masked`, reductions, chunks |
//! | `mutex` | locks, `critical`, `ordered`, `flush` |
//! | `other` | cancellation, errors, `omp_control_tool` |
//!
//! A function of these files is inlined. It asks whether an extension listens ([`is_on`], one load),
//! and calls the trait's method out of line.
//!
//! **Contract.** An event is reported by the thread that it is about, in the name of the running
//! task and on its stack, unless its method says otherwise. The running code holds no lock of the
//! host. The method may block for a short time, allocate, and ask. It may not wait for other OpenMP
//! threads, execute constructs, or unwind. Threads, teams and tasks that it gets live until it
//! returns. Where two methods are a begin and an end, the second is called if and only if the first
//! was, even if the extension came or went in between.

use core::sync::atomic::{AtomicBool, Ordering};

use ult::watch;

use super::linked;
use super::side::Token;
use crate::omp::task::Task;
use crate::omp::thread::CurrentThread;

pub mod kinds;
pub mod mutex;
pub mod other;
pub mod wait;
pub mod work;

use kinds::{Chunk, SyncKind, ToolEndpoint, ToolMutex, ToolWork};

/// The bits of tools and of the trace.
const WATCHES: u32 = super::TOOL_WATCHES | super::TRACE_WATCHES;

/// Does a tool or the trace listen? One load.
#[inline(always)]
pub fn is_on() -> bool {
    watch::watchers() & WATCHES != 0
}

/// No thread has looked for a tool yet, and one is wanted as far as is known.
static MAY_COME: AtomicBool = AtomicBool::new(true);

/// May there be a tool that no thread has looked for yet? One load.
#[inline(always)]
pub fn may_come() -> bool {
    // ORDERING: Relaxed; a thread that asks once too often finds that it has been looked for.
    MAY_COME.load(Ordering::Relaxed)
}

/// The tool of the process has started, or there is none.
pub fn has_come() {
    // ORDERING: Relaxed; see `may_come`.
    MAY_COME.store(false, Ordering::Relaxed);
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

    /// The calling thread has just become an initial thread. The extension looks for a tool, once in
    /// the process, and starts it. It calls [`has_come`] then.
    fn look_for_tool(&self) {
        has_come();
    }
    /// May [`Tools::look_for_tool`] find a tool? Any thread may ask, which need not be OpenMP's; it
    /// may be in a signal handler or in an allocation.
    fn may_find_tool(&self) -> bool {
        false
    }

    // ---- `wait` ----

    /// A synchronizing region begins, whose waiting and end are reported later.
    fn sync_region_begins(&self, here: CurrentThread, kind: SyncKind) {}
    /// The running task begins to wait in a synchronizing region. `whole`: the region begins here,
    /// too. [`Tools::sync_wait_ends`] gets the token.
    fn sync_wait_begins(&self, here: CurrentThread, kind: SyncKind, whole: bool) -> Token {
        Token::NONE
    }
    /// The task goes on, and the region is over.
    fn sync_wait_ends(&self, here: CurrentThread, kind: SyncKind, token: Token) {}

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
    fn mutex_wanted(&self, kind: ToolMutex, hint: u32, id: usize) -> Token {
        Token::NONE
    }
    /// The thread has the mutex so many times now: 0 if it was not free.
    fn mutex_answers(&self, kind: ToolMutex, id: usize, count: u32, token: Token) {}
    /// The thread has given a mutex back, and has it so many times still.
    fn mutex_released(&self, kind: ToolMutex, id: usize, left: u32) {}
    /// A lock is made. This may be the first call of the program.
    fn lock_made(&self, kind: ToolMutex, hint: u32, id: usize) {}
    /// A lock is no more.
    fn lock_destroyed(&self, kind: ToolMutex, id: usize) {}
    /// `flush`.
    fn flush(&self) {}

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
