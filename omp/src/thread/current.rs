//! The thread and the task of the running code.
//!
//! What lives here: the pair of both, the token of the thread, and the two local words of a context
//! in which they are kept. What does not: the first call of a kernel thread, which makes it an
//! initial thread: `root` adds `CurrentThread::get`.

use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr;

use ult::sys::arch::{self, FpState};
use ult::worker::{self, Locals};

use super::own::ThreadOwn;
use super::record::Thread;
use crate::task::owned::OwnedTask;
use crate::task::record::Task;
use crate::team::record::Team;

/// The OpenMP thread in whose name the code runs: a token for what is its own.
///
/// A token stays on the stack that it was made on (it is not `Send`). Two kinds of code hold one.
/// One is code of the thread. The other is the scheduler, when it searches for tasks on behalf of a
/// suspended thread; it does so on the worker where the thread's context is suspended. So the holder
/// has the thread's own part to itself, also where the context moves to another worker in a wait.
///
/// A token is not valid after a part of an untied task has ended, because another thread may run the
/// next part. Call [`CurrentThread::get`] again there.
#[derive(Clone, Copy)]
pub struct OwnThread {
    thread: &'static Thread,
    stays: PhantomData<*const ()>,
}

impl OwnThread {
    /// The token for `thread`.
    ///
    /// # Safety
    /// The calling code runs in the name of `thread`, and the thread stays alive while it does.
    #[inline(always)]
    pub unsafe fn assume(thread: &Thread) -> Self {
        // SAFETY: the thread is alive while the token is used, as the caller says. `'static` stands
        // for that.
        Self { thread: unsafe { &*ptr::from_ref(thread) }, stays: PhantomData }
    }

    /// The thread as others see it.
    #[inline(always)]
    pub fn thread(self) -> &'static Thread {
        self.thread
    }

    /// What only the thread itself touches.
    #[inline(always)]
    pub fn own(self) -> &'static ThreadOwn {
        &self.thread.own
    }

    /// Puts a ready task into the thread's deque. From here on it belongs to the team.
    #[inline(always)]
    pub fn push_task(self, task: OwnedTask) {
        // SAFETY: this is the owner of the deque.
        unsafe { self.thread.deque.push(task.into_pointer()) };
    }

    /// Takes the newest task of the thread's deque.
    #[inline(always)]
    pub fn pop_task(self) -> Option<OwnedTask> {
        // SAFETY: this is the owner of the deque, in which `push_task` alone puts tasks.
        unsafe { self.thread.deque.pop().map(|task| OwnedTask::assume(task)) }
    }

    /// Saves the present floating-point mode. The thread leaves a region that may call it back to
    /// help with tasks; it does so in this mode.
    #[inline]
    pub fn keep_mode(self) {
        self.own().mode.set(arch::fp_state());
    }

    /// Restores the mode that [`OwnThread::keep_mode`] saved, when the thread has come back.
    pub fn resume_mode(self) {
        // SAFETY: a state that was read from a running thread.
        unsafe { arch::set_fp_state(self.saved_mode()) };
    }

    ult::seam! {
        /// The floating-point mode of a thread that has come back: the one that it saved.
        fn saved_mode(self) -> FpState {
            self.own().mode.get()
        } or mode_lost_by_leaving {
            arch::fp_state()
        }
    }
}

impl Deref for OwnThread {
    type Target = Thread;
    #[inline(always)]
    fn deref(&self) -> &Thread {
        self.thread
    }
}

/// The thread and the task of the running code.
#[derive(Clone, Copy)]
pub struct CurrentThread {
    /// The OpenMP thread.
    pub thread: OwnThread,
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
        Some(unsafe { Self::of_words(thread, task) })
    }

    /// [`CurrentThread::if_known`] for signal handlers: also `None` while the kernel thread is in
    /// the scheduler.
    pub fn in_program() -> Option<Self> {
        let Locals([thread, task]) = worker::locals_of_program()?;
        // Both words are checked because they are written one after the other.
        // SAFETY: as in `if_known`: those of program code are valid.
        (thread != 0 && task != 0).then(|| unsafe { Self::of_words(thread, task) })
    }

    /// The pair whose addresses lie in the local words.
    ///
    /// # Safety
    /// Both are alive, and the calling code runs in their name.
    #[inline(always)]
    pub(crate) unsafe fn of_words(thread: usize, task: usize) -> Self {
        // SAFETY: as the caller says.
        unsafe {
            Self { thread: OwnThread::assume(&*(thread as *const Thread)), task: &*(task as *const Task) }
        }
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
        worker::set_locals(Locals([
            ptr::from_ref(self.thread.thread()) as usize,
            ptr::from_ref(self.task) as usize,
        ]));
    }

    /// The team of the running thread.
    #[inline(always)]
    pub fn team(&self) -> &'static Team {
        // SAFETY: as in `if_known`: the team is alive while its thread runs.
        unsafe { &*ptr::from_ref(self.thread.team()) }
    }
}
