//! The C library's functions about the name of a thread, taken over for threads that share kernel threads ([`ult::kernel_state`]).
use core::ffi::{CStr, c_char, c_int, c_void};

use ult::identity::Identity;
use ult::kernel_state::{self, NAME_BYTES};

use super::next::Next;

type SetName = unsafe extern "C" fn(libc::pthread_t, *const c_char) -> c_int;
type GetName = unsafe extern "C" fn(libc::pthread_t, *mut c_char, usize) -> c_int;

/// Names the calling thread: zero or an error number. Its donor is named, too, which is what other programs see behind the thread's number.
///
/// # Safety
/// A C string.
pub(super) unsafe fn set(name: *const c_char) -> c_int {
    // SAFETY: passed on.
    let error = unsafe { kernel_state::rename(name.cast()) };
    let donor = ult::worker::identity_in_force().and_then(Identity::donor_number);
    if error == 0
        && let Some(tid) = donor
    {
        // SAFETY: as the caller says.
        let name = unsafe { CStr::from_ptr(name) };
        // Without `/proc` only the name that others see stays.
        let _ = std::fs::write(format!("/proc/self/task/{tid}/comm"), name.to_bytes());
    }
    error
}

/// `pthread_setname_np` (glibc): a thread that shares its kernel thread has its name wherever it runs.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_setname_np(thread: libc::pthread_t, name: *const c_char) -> c_int {
    static NEXT: Next = Next::new(c"pthread_setname_np");
    // SAFETY: passed on; the next definition is the C library's, with this signature.
    unsafe {
        if thread == libc::pthread_self() {
            return if libc::strlen(name) < NAME_BYTES { set(name) } else { libc::ERANGE };
        }
        let next = core::mem::transmute::<*const c_void, Option<SetName>>(NEXT.address());
        next.map_or(libc::ENOSYS, |next| next(thread, name))
    }
}

/// `pthread_getname_np` (glibc).
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_getname_np(thread: libc::pthread_t, into: *mut c_char, bytes: usize) -> c_int {
    static NEXT: Next = Next::new(c"pthread_getname_np");
    // SAFETY: passed on; the next definition is the C library's, with this signature. The kernel writes `NAME_BYTES` at most.
    unsafe {
        if thread == libc::pthread_self() {
            if bytes < NAME_BYTES {
                return libc::ERANGE;
            }
            return -ult::arch::system_call(libc::SYS_prctl as usize, [libc::PR_GET_NAME as usize, into as usize, 0, 0]) as c_int;
        }
        let next = core::mem::transmute::<*const c_void, Option<GetName>>(NEXT.address());
        next.map_or(libc::ENOSYS, |next| next(thread, into, bytes))
    }
}
