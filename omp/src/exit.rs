//! What the runtime does when the program ends: functions that the C library calls when `main` has
//! returned, or the program has called `exit`.
//!
//! Those that were added last go first. They run in the thread that ends the program, and may use
//! the runtime.

use core::ffi::{c_int, c_void};
use core::ptr;

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
