//! Timers with `SIGEV_THREAD_ID`. The kernel sends such a signal to the thread's donor, which
//! queues it for the OpenMP thread (`ult::signals`).
//!
//! If a program makes a timer by the system call, its handlers still run. Without a handler the
//! default action is taken, even if the thread blocks the signal.
use core::ffi::{c_int, c_void};
use core::mem::transmute;

use libc::{clockid_t, sigevent, timer_t};

use super::next::LibraryNext;
use super::signals::set_errno;

type TimerCreate = unsafe extern "C" fn(clockid_t, *mut sigevent, *mut timer_t) -> c_int;

/// `timer_create` (POSIX.1-2017).
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timer_create(clock: clockid_t, event: *mut sigevent, timer: *mut timer_t) -> c_int {
    static NEXT: LibraryNext = LibraryNext::new(c"timer_create");
    // SAFETY: the caller's pointers; the next definition is the C library's, with this signature.
    unsafe {
        if let Some(event) = event.as_ref()
            && event.sigev_notify == libc::SIGEV_THREAD_ID
        {
            ult::signals::register_timer_signal(event.sigev_notify_thread_id, event.sigev_signo);
        }
        match transmute::<*const c_void, Option<TimerCreate>>(NEXT.address()) {
            Some(next) => next(clock, event, timer),
            None => set_errno(libc::ENOSYS),
        }
    }
}
