//! The C library's functions about the name of a thread, taken over for threads that share kernel
//! threads ([`ult::kernel_state`]).
use core::ffi::{CStr, c_char, c_int, c_void};
use std::fs::File;
use std::io::Read as _;

use ult::kernel_state::{self, NAME_BYTES, ThreadName};
use ult::tls_block::{self, TlsBlock};

use super::next::library_next;
use super::thread_attributes::thread_pointer;

type SetName = unsafe extern "C" fn(libc::pthread_t, *const c_char) -> c_int;
type GetName = unsafe extern "C" fn(libc::pthread_t, *mut c_char, usize) -> c_int;

/// Names the calling thread: zero or an error number. Its donor is named, too, which is what other
/// programs see behind the thread's number.
///
/// # Safety
/// A C string.
pub(super) unsafe fn set(name: *const c_char) -> c_int {
    // SAFETY: passed on.
    let error = unsafe { kernel_state::rename(name.cast()) };
    let tls_donor = ult::worker::tls_block_in_force().and_then(TlsBlock::tls_donor_number);
    if error == 0
        && let Some(tid) = tls_donor
    {
        // SAFETY: as the caller says.
        let name = unsafe { CStr::from_ptr(name) };
        // Without `/proc` only the name that others see stays.
        let _ = std::fs::write(format!("/proc/self/task/{tid}/comm"), name.to_bytes());
    }
    error
}

/// The name of the calling thread: zero or a negative error number. The runtime names its kernel
/// threads for `top -H`. A thread without a name of its own has the program's name nevertheless, as
/// under libgomp: that of the main thread.
///
/// # Safety
/// `NAME_BYTES` can be written.
pub(super) unsafe fn get(into: *mut u8) -> isize {
    kernel_state::catch_up();
    // SAFETY: as the caller says; the kernel writes `NAME_BYTES`.
    unsafe {
        let result = ult::sys::arch::system_call(
            libc::SYS_prctl as usize,
            [libc::PR_GET_NAME as usize, into as usize, 0, 0],
        );
        // Read only if the kernel has been able to write there.
        if result == 0
            && (*into.cast::<ThreadName>()).starts_with(ult::pool::THREAD_NAME_PREFIX.as_bytes())
            && ult::worker::current().is_some()
        {
            let mut programs: ThreadName = [0; NAME_BYTES];
            // Without `/proc` the kernel thread's name stays.
            if let Ok(bytes @ 1..) =
                File::open("/proc/self/comm").and_then(|mut file| file.read(&mut programs))
            {
                programs[bytes - 1] = 0; // the end of the line
                *into.cast::<ThreadName>() = programs;
            }
        }
        result
    }
}

/// `pthread_setname_np` (glibc): a thread that shares its kernel thread has its name wherever it
/// runs.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_setname_np(thread: libc::pthread_t, name: *const c_char) -> c_int {
    library_next! { NEXT = c"pthread_setname_np"; }
    // SAFETY: passed on; the next definition is the C library's, with this signature.
    unsafe {
        if thread == libc::pthread_self() {
            return if libc::strlen(name) < NAME_BYTES { set(name) } else { libc::ERANGE };
        }
        let next = core::mem::transmute::<*const c_void, Option<SetName>>(NEXT.address());
        let error = next.map_or(libc::ENOSYS, |next| next(thread, name));
        if error == 0
            && let Some(tls_block) = tls_block::of_donors_thread_pointer(thread_pointer(thread))
        {
            let mut padded: ThreadName = [0; NAME_BYTES];
            // The C library has refused a longer one.
            padded.iter_mut().zip(CStr::from_ptr(name).to_bytes()).for_each(|(to, from)| *to = *from);
            kernel_state::rename_other(tls_block, &padded);
        }
        error
    }
}

/// `pthread_getname_np` (glibc).
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_getname_np(
    thread: libc::pthread_t,
    into: *mut c_char,
    bytes: usize,
) -> c_int {
    library_next! { NEXT = c"pthread_getname_np"; }
    // SAFETY: passed on; the next definition is the C library's, with this signature. The kernel
    // writes `NAME_BYTES` at most.
    unsafe {
        if thread == libc::pthread_self() {
            if bytes < NAME_BYTES {
                return libc::ERANGE;
            }
            return -get(into.cast()) as c_int;
        }
        let next = core::mem::transmute::<*const c_void, Option<GetName>>(NEXT.address());
        next.map_or(libc::ENOSYS, |next| next(thread, into, bytes))
    }
}
