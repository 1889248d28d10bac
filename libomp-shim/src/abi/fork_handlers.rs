//! A program's fork handlers.
//!
//! Prepare handlers run in reverse order of registration. After the runtime's own one the forking
//! thread cannot enter a region, so that must run last: the runtime registers its handlers before
//! the program's first one. In the parent and the child the runtime's handlers then run first.
//!
//! This fails for handlers that were registered before the library was loaded by `dlopen`.
//!
//! Rejected: registering at load time, because loading the library must run no code.
use core::ffi::{c_int, c_void};
use core::mem::transmute;

use super::next::library_next;

type Handler = Option<unsafe extern "C" fn()>;
type Register = unsafe extern "C" fn(Handler, Handler, Handler, *mut c_void) -> c_int;

/// What `pthread_atfork` calls (Linux Standard Base 5.0, `__register_atfork`): handlers before a
/// fork, after it in the parent, and in the child; `object` identifies the shared object whose
/// unloading removes them. An error number if there is no memory, `ENOSYS` if the C library has no
/// such function.
///
/// # Safety
/// As the C library's function. Any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __register_atfork(
    prepare: Handler,
    parent: Handler,
    child: Handler,
    object: *mut c_void,
) -> c_int {
    library_next! { NEXT = c"__register_atfork"; }
    omp::root::register_fork_handlers();
    // SAFETY: the caller's arguments; the next definition is the C library's, with this signature.
    match unsafe { transmute::<*const c_void, Option<Register>>(NEXT.address()) } {
        // SAFETY: as above.
        Some(next) => unsafe { next(prepare, parent, child, object) },
        None => libc::ENOSYS,
    }
}
