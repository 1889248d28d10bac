//! The C library's functions that wait for signals, or wait with another mask: `ult::signals`
//! queues the signals for an OpenMP thread that shares its worker, and the kernel those for the
//! process. Either ends a wait. The C library serves a thread with a kernel thread of its own.
//!
//! Descriptors of `signalfd` show what the kernel has for the kernel thread that reads them. The
//! signals of such a descriptor stay with the kernel from then on.
use core::ffi::{c_int, c_void};
use core::mem::transmute;
use core::ptr;
use core::time::Duration;
use std::time::Instant;

use libc::{epoll_event, fd_set, nfds_t, pollfd, siginfo_t, sigset_t, timespec};
use ult::signals::{self, Info};

use super::next::library_next;
use super::signals::set_errno;

/// The kernel's part of a set.
///
/// # Safety
/// Null or a valid set.
unsafe fn word_of(set: *const sigset_t) -> Option<u64> {
    // SAFETY: as the caller says; the first word of a set is the kernel's.
    unsafe { set.cast::<u64>().as_ref() }.copied()
}

/// A set for the C library.
fn set_of(word: u64) -> sigset_t {
    // SAFETY: all zero is the empty set; its first word is the kernel's.
    unsafe {
        let mut set: sigset_t = core::mem::zeroed();
        (&raw mut set).cast::<u64>().write(word);
        set
    }
}

fn errno() -> c_int {
    // SAFETY: the calling thread's errno.
    unsafe { *libc::__errno_location() }
}

/// The result of a function of the C library that says -1 and sets `errno`.
fn from_c_result(result: c_int) -> Result<c_int, c_int> {
    if result < 0 { Err(errno()) } else { Ok(result) }
}

fn to_c_result(result: Result<c_int, c_int>) -> c_int {
    result.unwrap_or_else(set_errno)
}

// ---- waiting for a signal ---------------------------------------------------

type TimedWait = unsafe extern "C" fn(*const sigset_t, *mut siginfo_t, *const timespec) -> c_int;

/// The wait of a thread that shares its worker. `None`: the C library's function must be called.
///
/// # Safety
/// Null or valid pointers.
unsafe fn wait(set: *const sigset_t, limit: *const timespec) -> Option<Result<(c_int, Info), c_int>> {
    // SAFETY: as the caller says.
    let (set, limit) = unsafe { (word_of(set)?, limit_of(limit)?) };
    signals::wait_for(set, limit)
}

/// `sigtimedwait` (POSIX.1-2017).
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigtimedwait(
    set: *const sigset_t,
    info: *mut siginfo_t,
    limit: *const timespec,
) -> c_int {
    library_next! { NEXT = c"sigtimedwait"; }
    // SAFETY: the caller's pointers; the next definition is the C library's, with this signature.
    unsafe {
        match wait(set, limit) {
            Some(Ok((signal, found))) => {
                if !info.is_null() {
                    info.cast::<Info>().write(found);
                    // As glibc, which makes no difference between threads and processes here.
                    if (*info).si_code == libc::SI_TKILL {
                        (*info).si_code = libc::SI_USER;
                    }
                }
                signal
            }
            Some(Err(error)) => set_errno(error),
            None => {
                let next = transmute::<*const c_void, Option<TimedWait>>(NEXT.address());
                next.map_or_else(|| set_errno(libc::ENOSYS), |next| next(set, info, limit))
            }
        }
    }
}

/// `sigwaitinfo` (POSIX.1-2017).
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigwaitinfo(set: *const sigset_t, info: *mut siginfo_t) -> c_int {
    // SAFETY: passed on.
    unsafe { sigtimedwait(set, info, ptr::null()) }
}

/// `sigwait` (POSIX.1-2017): zero, or an error number; handlers that run meanwhile do not end it.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigwait(set: *const sigset_t, signal: *mut c_int) -> c_int {
    let before = errno();
    let result = loop {
        // SAFETY: passed on.
        match unsafe { from_c_result(sigtimedwait(set, ptr::null_mut(), ptr::null())) } {
            Err(libc::EINTR) => {}
            Err(error) => break error,
            Ok(found) => {
                // SAFETY: as the caller says.
                unsafe { signal.write(found) };
                break 0;
            }
        }
    };
    // `sigtimedwait` has set it.
    let _ = set_errno(before);
    result
}

/// `sigpending` (POSIX.1-2017).
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigpending(set: *mut sigset_t) -> c_int {
    let mut pending = 0_u64;
    let size = size_of::<u64>();
    // SAFETY: a local word, as long as is said.
    let error = unsafe {
        ult::sys::arch::system_call(
            libc::SYS_rt_sigpending as usize,
            [(&raw mut pending) as usize, size, 0, 0],
        )
    } as c_int;
    if error < 0 {
        return set_errno(-error);
    }
    // SAFETY: as the caller says.
    unsafe { set.write(set_of(pending | signals::pending())) };
    0
}

/// `signalfd(2)`.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signalfd(descriptor: c_int, set: *const sigset_t, flags: c_int) -> c_int {
    type Function = unsafe extern "C" fn(c_int, *const sigset_t, c_int) -> c_int;
    library_next! { NEXT = c"signalfd"; }
    // SAFETY: the caller's set; the next definition is the C library's, with this signature.
    unsafe {
        if let Some(set) = word_of(set) {
            signals::leave_to_kernel(set);
        }
        let next = transmute::<*const c_void, Option<Function>>(NEXT.address());
        next.map_or_else(|| set_errno(libc::ENOSYS), |next| next(descriptor, set, flags))
    }
}

// ---- waiting under another mask ---------------------------------------------

/// `sigsuspend` (POSIX.1-2017).
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigsuspend(mask: *const sigset_t) -> c_int {
    type Function = unsafe extern "C" fn(*const sigset_t) -> c_int;
    library_next! { NEXT = c"sigsuspend"; }
    // SAFETY: the next definition is the C library's, with this signature; the caller's set.
    unsafe {
        let next = transmute::<*const c_void, Option<Function>>(NEXT.address());
        let (Some(next), Some(mask)) = (next, word_of(mask)) else { return set_errno(libc::EFAULT) };
        to_c_result(signals::under_mask(mask, |mask| from_c_result(next(&set_of(mask)))))
    }
}

/// The end of a wait that may be made of several.
struct Deadline(Option<Instant>);

impl Deadline {
    fn after(limit: Option<Duration>) -> Self {
        Self(limit.and_then(|limit| Instant::now().checked_add(limit)))
    }

    /// What is left; `None`: no end.
    fn remaining(&self) -> Option<Duration> {
        self.0.map(|end| end.saturating_duration_since(Instant::now()))
    }

    /// The same for the kernel, in `buffer`.
    fn remaining_as_timespec(&self, buffer: &mut timespec) -> *const timespec {
        let Some(left) = self.remaining() else { return ptr::null() };
        *buffer = timespec { tv_sec: left.as_secs() as libc::time_t, tv_nsec: left.subsec_nanos().into() };
        buffer
    }
}

const ZERO_TIME: timespec = timespec { tv_sec: 0, tv_nsec: 0 };

/// A time limit. `Some(None)`: no limit. `None`: the value is invalid, and the kernel reports the
/// error.
///
/// # Safety
/// Null or a valid pointer.
unsafe fn limit_of(limit: *const timespec) -> Option<Option<Duration>> {
    // SAFETY: as the caller says.
    let Some(time) = (unsafe { limit.as_ref() }) else { return Some(None) };
    let nanoseconds = u32::try_from(time.tv_nsec).ok().filter(|&ns| ns < 1_000_000_000)?;
    Some(Some(Duration::new(time.tv_sec.try_into().ok()?, nanoseconds)))
}

/// `ppoll(2)`.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ppoll(
    fds: *mut pollfd,
    count: nfds_t,
    limit: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    type Function = unsafe extern "C" fn(*mut pollfd, nfds_t, *const timespec, *const sigset_t) -> c_int;
    library_next! { NEXT = c"ppoll"; }
    // SAFETY: the next definition is the C library's, with this signature; the caller's pointers.
    unsafe {
        let Some(next) = transmute::<*const c_void, Option<Function>>(NEXT.address()) else {
            return set_errno(libc::ENOSYS);
        };
        let (Some(wanted), Some(end)) = (word_of(mask), limit_of(limit).map(Deadline::after)) else {
            return next(fds, count, limit, mask);
        };
        to_c_result(signals::under_mask(wanted, |mask| {
            from_c_result(next(fds, count, end.remaining_as_timespec(&mut ZERO_TIME.clone()), &set_of(mask)))
        }))
    }
}

/// `pselect` (POSIX.1-2017).
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pselect(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    limit: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    type Function = unsafe extern "C" fn(
        c_int,
        *mut fd_set,
        *mut fd_set,
        *mut fd_set,
        *const timespec,
        *const sigset_t,
    ) -> c_int;
    library_next! { NEXT = c"pselect"; }
    // SAFETY: the next definition is the C library's, with this signature; the caller's pointers.
    unsafe {
        let Some(next) = transmute::<*const c_void, Option<Function>>(NEXT.address()) else {
            return set_errno(libc::ENOSYS);
        };
        let (Some(wanted), Some(end)) = (word_of(mask), limit_of(limit).map(Deadline::after)) else {
            return next(count, read, write, except, limit, mask);
        };
        to_c_result(signals::under_mask(wanted, |mask| {
            from_c_result(next(
                count,
                read,
                write,
                except,
                end.remaining_as_timespec(&mut ZERO_TIME.clone()),
                &set_of(mask),
            ))
        }))
    }
}

/// `epoll_pwait(2)`.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_pwait(
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    limit: c_int,
    mask: *const sigset_t,
) -> c_int {
    type Function = unsafe extern "C" fn(c_int, *mut epoll_event, c_int, c_int, *const sigset_t) -> c_int;
    library_next! { NEXT = c"epoll_pwait"; }
    // SAFETY: the next definition is the C library's, with this signature; the caller's pointers.
    unsafe {
        let Some(next) = transmute::<*const c_void, Option<Function>>(NEXT.address()) else {
            return set_errno(libc::ENOSYS);
        };
        let Some(wanted) = word_of(mask) else { return next(epoll, events, most, limit, mask) };
        let end = Deadline::after(u64::try_from(limit).ok().map(Duration::from_millis));
        to_c_result(signals::under_mask(wanted, |mask| {
            // Rounded up: a wait is not to end too early.
            let left = end.remaining().map_or(limit, |left| left.as_nanos().div_ceil(1_000_000) as c_int);
            from_c_result(next(epoll, events, most, left, &set_of(mask)))
        }))
    }
}

/// `epoll_pwait2(2)`.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_pwait2(
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    limit: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    type Function =
        unsafe extern "C" fn(c_int, *mut epoll_event, c_int, *const timespec, *const sigset_t) -> c_int;
    library_next! { NEXT = c"epoll_pwait2"; }
    // SAFETY: the next definition is the C library's, with this signature; the caller's pointers.
    unsafe {
        let Some(next) = transmute::<*const c_void, Option<Function>>(NEXT.address()) else {
            return set_errno(libc::ENOSYS);
        };
        let (Some(wanted), Some(end)) = (word_of(mask), limit_of(limit).map(Deadline::after)) else {
            return next(epoll, events, most, limit, mask);
        };
        to_c_result(signals::under_mask(wanted, |mask| {
            from_c_result(next(
                epoll,
                events,
                most,
                end.remaining_as_timespec(&mut ZERO_TIME.clone()),
                &set_of(mask),
            ))
        }))
    }
}
