//! `ompt_start_tool`: programs that are linked with this library export theirs because it has one,
//! and the linker sees that.

use core::ffi::{c_char, c_uint, c_void};

/// `ompt_start_tool` (5.2 §19.2.1), where no tool has one that comes before it: asks the next
/// library, if there is one; null otherwise.
///
/// # Safety
/// `runtime` is a C string.
#[cfg(feature = "tools")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompt_start_tool(version: c_uint, runtime: *const c_char) -> *mut c_void {
    // SAFETY: as for this function.
    unsafe { omp_tools::tool::ompt::start_next(version, runtime) }
}

/// `ompt_start_tool` of a library without tools: there is none, and none is asked for.
#[cfg(not(feature = "tools"))]
#[unsafe(no_mangle)]
pub extern "C" fn ompt_start_tool(_version: c_uint, _runtime: *const c_char) -> *mut c_void {
    core::ptr::null_mut()
}
