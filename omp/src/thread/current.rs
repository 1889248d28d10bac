//! The thread and the task of the running code.
//!
//! What lives here: the pair of both, and the two local words of a context in which it is kept. What
//! does not: the first call of a kernel thread, which makes it an initial thread: `root` adds
//! `CurrentThread::get`.

use core::ptr;

use ult::worker::{self, Locals};

use super::record::Thread;
use crate::task::record::Task;
use crate::team::record::Team;

/// The thread and the task of the running code.
#[derive(Clone, Copy)]
pub struct CurrentThread {
    /// The OpenMP thread.
    pub thread: &'static Thread,
    /// The task region, implicit or explicit.
    pub task: &'static Task,
}

impl CurrentThread {
    /// The running thread and task, or `None` on a kernel thread that has made no OpenMP call.
    #[inline(always)]
    pub fn if_known() -> Option<Self> {
        let Locals([thread, task]) = worker::locals();
        if thread == 0 {
            return None;
        }
        // SAFETY: `set` and `enter` below write the words, and each context saves and restores its
        // own. Thread and task are alive while code runs in their name. `'static` stands for that;
        // a `CurrentThread` is not kept beyond the construct it serves.
        Some(unsafe { Self { thread: &*(thread as *const Thread), task: &*(task as *const Task) } })
    }

    /// [`CurrentThread::if_known`] for signal handlers: also `None` while the kernel thread is in
    /// the scheduler.
    pub fn in_program() -> Option<Self> {
        let Locals([thread, task]) = worker::locals_of_program()?;
        // Both words are checked because they are written one after the other.
        // SAFETY: as in `if_known`: those of program code are valid.
        (thread != 0 && task != 0)
            .then(|| unsafe { Self { thread: &*(thread as *const Thread), task: &*(task as *const Task) } })
    }

    /// Makes `thread` and `task` the running ones. Returns the words that were there before.
    ///
    /// # Safety
    /// Both stay alive until the words are changed again. The running kernel thread hosts `thread`.
    #[inline(always)]
    pub unsafe fn set(thread: &Thread, task: &Task) -> Locals {
        worker::replace_locals(Locals([ptr::from_ref(thread) as usize, ptr::from_ref(task) as usize]))
    }

    /// [`CurrentThread::set`] for callers that do not need the words from before.
    ///
    /// # Safety
    /// As for [`CurrentThread::set`].
    #[inline(always)]
    pub unsafe fn enter(self) {
        worker::set_locals(Locals([ptr::from_ref(self.thread) as usize, ptr::from_ref(self.task) as usize]));
    }

    /// The team of the running thread.
    #[inline(always)]
    pub fn team(&self) -> &'static Team {
        // SAFETY: as in `if_known`: the team is alive while its thread runs.
        unsafe { &*ptr::from_ref(self.thread.team()) }
    }
}
