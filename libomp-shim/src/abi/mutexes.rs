//! `pthread_mutexattr_setprotocol`, taken over to learn that a program uses mutexes that pass
//! priorities on.
//!
//! For such a mutex the kernel compares the owner that the lock word names with the kernel thread
//! that asks. A thread under borrowed storage names its donor there, so a contended lock is never
//! given on (`abi-tests/sync/inheriting_mutex.c` hangs). From the first call on, threads of new
//! regions have kernel threads of their own, with their own storage.
//!
//! Tried and rejected: writing the kernel thread's number into the donor's thread block at each
//! switch (a store at an offset that the C library keeps to itself).

use core::ffi::{c_int, c_void};

use omp::storage::Reason;

use super::next::library_next;

type SetProtocol = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;

/// `pthread_mutexattr_setprotocol`, as POSIX has it; threads of regions that are forked after a
/// call with `PTHREAD_PRIO_INHERIT` share no kernel threads. Any thread.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_mutexattr_setprotocol(attributes: *mut c_void, protocol: c_int) -> c_int {
    library_next! { NEXT = c"pthread_mutexattr_setprotocol"; }
    if protocol == libc::PTHREAD_PRIO_INHERIT {
        omp::storage::share_no_more(Reason::Mutexes);
    }
    // SAFETY: the next definition is the C library's, with this signature; arguments are passed on.
    unsafe {
        let next = NEXT.address();
        if next.is_null() {
            return libc::ENOSYS;
        }
        core::mem::transmute::<*const c_void, SetProtocol>(next)(attributes, protocol)
    }
}
