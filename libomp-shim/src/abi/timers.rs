//! Timers with `SIGEV_THREAD_ID`. The kernel sends such a signal to the thread's donor, which
//! queues it for the OpenMP thread (`ult::signals`).
//!
//! If a program makes a timer by the system call, its handlers still run. Without a handler the
//! default action is taken, even if the thread blocks the signal.
use core::ffi::{c_int, c_void};
use core::mem::transmute;

use libc::{clockid_t, sigevent, timer_t};

use super::next::library_next;
use super::signals::set_errno;

type TimerCreate = unsafe extern "C" fn(clockid_t, *mut sigevent, *mut timer_t) -> c_int;

/// `timer_create` (POSIX.1-2017).
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timer_create(clock: clockid_t, event: *mut sigevent, timer: *mut timer_t) -> c_int {
    library_next! { NEXT = c"timer_create"; }
    // SAFETY: the caller's pointers; the next definition is the C library's, with this signature.
    unsafe {
        if let Some(event) = event.as_ref()
            && event.sigev_notify == libc::SIGEV_THREAD_ID
        {
            ult::signals::register_timer_signal(event.sigev_notify_thread_id, event.sigev_signo);
        }
        let Some(next) = transmute::<*const c_void, Option<TimerCreate>>(NEXT.address()) else {
            return set_errno(libc::ENOSYS);
        };
        let result = next(clock, event, timer);
        if result == 0
            && let Some(number) = kernels_number(*timer)
        {
            ult::signals::forget_overruns(number);
        }
        result
    }
}

/// The number that the kernel has for a timer. `None` for a timer that the C library keeps itself
/// (`SIGEV_THREAD`): glibc 2.34 and later set the highest bit there, and earlier ones use addresses.
fn kernels_number(timer: timer_t) -> Option<u32> {
    u32::try_from(timer.addr()).ok().filter(|&number| number <= i32::MAX as u32)
}

/// `timer_getoverrun` (POSIX.1-2017): the overruns of the timer's last signal, which may have come
/// through a queue (`ult::signals`).
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timer_getoverrun(timer: timer_t) -> c_int {
    library_next! { NEXT = c"timer_getoverrun"; }
    type TimerGetOverrun = unsafe extern "C" fn(timer_t) -> c_int;
    // SAFETY: the next definition is the C library's, with this signature.
    let result = unsafe {
        match transmute::<*const c_void, Option<TimerGetOverrun>>(NEXT.address()) {
            Some(next) => next(timer),
            None => return set_errno(libc::ENOSYS),
        }
    };
    let ours = || kernels_number(timer).and_then(ult::signals::overruns_of);
    // The C library says whether there is such a timer.
    if result < 0 { result } else { ours().map_or(result, |overruns| overruns as c_int) }
}
