//! `pthread_getattr_np`, taken over to answer with the stack that a thread runs on.
//!
//! An OpenMP thread runs on a stack that the C library has not allocated. The C library's answer is
//! the stack of the kernel thread, or of the TLS donor whose TLS block the OpenMP thread runs with.
//! Virtual machines and garbage collectors look for frames and for the end of the stack there. The
//! answer is the C library's, with the stack replaced. It stays as it is where code runs on a stack
//! of the C library's: threads of the program, thread 0 on the program's own stack, processes that
//! call no OpenMP.
//!
//! *The guard size* is one page, what the C library gives its own threads. The guard area is larger
//! ([`ult::stack::GUARD`]), and lies below the lowest address, as in the C library since 2.27.
//!
//! What may not live here: which stack it is ([`ult::worker::stack_of_thread`]).
//!
//! Tried and rejected:
//! * the guard's true size: Ruby subtracts it from the stack's size and CPython 3.14 adds it to the
//!   lowest address, as if it lay inside; of a stack of 1 MiB nothing would be left;
//! * writing the bounds into the C library's record of the thread, where calls that are bound to
//!   the C library would find them, too. The C library keeps the record's layout to itself, and
//!   frees the stack that it finds there.

use core::ffi::{c_int, c_void};

use super::next::library_next;

type GetAttributes = unsafe extern "C" fn(libc::pthread_t, *mut libc::pthread_attr_t) -> c_int;

/// `pthread_getattr_np`, with the stack that `thread` runs on, or ran on last. Any thread, about
/// any thread that exists.
///
/// Returns 0 or an error number; as in the C library the caller destroys the attributes.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_getattr_np(
    thread: libc::pthread_t,
    attributes: *mut libc::pthread_attr_t,
) -> c_int {
    let Some(next) = next() else { return libc::ENOSYS };
    // SAFETY: arguments are passed on.
    let result = unsafe { next(thread, attributes) };
    if result != 0 {
        return result;
    }
    // SAFETY: the C library has just read the record of the thread, so the thread exists.
    match unsafe { ult::worker::stack_of_thread(thread_pointer(thread)) } {
        // SAFETY: the call above has initialised the attributes.
        Some((lowest, size)) => unsafe { put_stack(attributes, lowest, size) },
        None => 0,
    }
}

/// The thread pointer of a thread: it has the same distance from the thread's name in all threads.
pub(super) fn thread_pointer(thread: libc::pthread_t) -> usize {
    // SAFETY: no preconditions.
    let me = unsafe { libc::pthread_self() };
    (thread as usize).wrapping_sub(me as usize).wrapping_add(ult::sys::arch::thread_pointer())
}

/// Replaces the stack in attributes that the C library has filled in. They are destroyed if it
/// refuses the values.
///
/// # Safety
/// `attributes` are initialised.
unsafe fn put_stack(attributes: *mut libc::pthread_attr_t, lowest: usize, size: usize) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        let mut result = libc::pthread_attr_setstack(attributes, lowest as *mut c_void, size);
        if result == 0 {
            result = libc::pthread_attr_setguardsize(attributes, ult::sys::memory::page_size());
        }
        if result != 0 {
            libc::pthread_attr_destroy(attributes);
        }
        result
    }
}

/// The next definition of the function, the C library's.
fn next() -> Option<GetAttributes> {
    library_next! { NEXT = c"pthread_getattr_np"; }
    // SAFETY: null, or the C library's function, which has this signature.
    unsafe { core::mem::transmute::<*const c_void, Option<GetAttributes>>(NEXT.address()) }
}
