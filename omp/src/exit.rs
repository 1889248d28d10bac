//! What the runtime does when the program ends: functions that the C library calls when `main` has
//! returned, or the program has called `exit`.
//!
//! Those that were added last go first. They run in the thread that ends the program, and may use
//! the runtime.

use core::ffi::{c_int, c_void};
use core::ptr;
use std::sync::Once;

use ult::sched::Wait;

use crate::extension::offload;
use crate::thread::current::{CurrentThread, OwnThread};

/// Gets the program's status.
pub type ExitHandler = unsafe extern "C" fn(c_int, *mut c_void);

unsafe extern "C" {
    /// As `atexit`, for a function that gets the status (glibc).
    fn on_exit(function: ExitHandler, argument: *mut c_void) -> c_int;
}

/// Has `handler` called, with a null pointer, when the program ends. Any thread.
pub fn call(handler: ExitHandler) {
    // SAFETY: the function lives as long as this library, which is never unloaded. Without memory
    // for it nothing is done at the end, as by `atexit`.
    unsafe { _ = on_exit(handler, ptr::null_mut()) };
}

static FINISHES: Once = Once::new();

/// Promises that the tasks of the calling thread, an initial one, are waited for when the program
/// ends. Only if its kernel thread is the one that runs `main`.
pub fn finish_at_exit() -> bool {
    let is_main = ult::sys::thread::is_main();
    if is_main {
        FINISHES.call_once(|| call(finish));
    }
    is_main
}

unsafe extern "C" fn finish(status: c_int, _: *mut c_void) {
    finish_tasks(status);
}

/// `main` has returned, or it has called `exit`: the implicit barrier at the end of the initial
/// task (5.2 §12.6). Not where the program gives up, or is inside of a region. Once it has been
/// done it is soon done again.
pub fn finish_tasks(status: c_int) {
    let Some(here) = CurrentThread::if_known().filter(|_| status == 0) else { return };
    let team = here.team();
    if team.plan().origin.parent_thread.is_null() && !here.task.is_explicit() && team.is_of_this_process() {
        team.await_quiet(here.thread);
        offload::host_looks();
    }
}

/// Ends the child process of a fork whose only program thread is `thread`, a member or a free agent
/// that has completed its share. First it waits until the thread has completed its explicit tasks:
/// one of them may have called `fork`, and may wait in a region of its own. The status is 0, as POSIX
/// specifies it for the end of the last thread.
pub fn end_lost_process(thread: OwnThread) -> ! {
    let is_done = || thread.own().unfinished_tasks() == 0;
    ult::sched::wait(&Wait::until(&is_done).spinning(thread.team().spin()));
    // SAFETY: the child has no other thread of the program; threads of the pool may run.
    unsafe { libc::exit(0) }
}
