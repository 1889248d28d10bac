//! Resource relinquishing (OpenMP 5.2 §18.6) and tool control (§18.14).

use core::ffi::{c_int, c_uint, c_void};

use super::device::is_host;
use crate::omp::assemble;
use crate::omp::thread::Here;

/// `omp_pause_soft`.
const SOFT: c_uint = 1;
/// `omp_pause_hard`.
const HARD: c_uint = 2;

routines! {
    /// `omp_pause_resource` (18.6.1): 0 when done, −1 for a device or kind that does not exist and inside a region. A
    /// soft pause has nothing to do, since idle threads cost nothing but memory; a hard one dismisses the teams that
    /// the calling thread keeps, and with them what their threadprivate variables held.
    fn omp_pause_resource(kind: c_uint, device: c_int) -> c_int {
        if !is_host(device) {
            return -1;
        }
        omp_pause_resource_all(kind)
    }

    /// `omp_pause_resource_all` (18.6.2).
    fn omp_pause_resource_all(kind: c_uint) -> c_int {
        let here = Here::get();
        if here.team().plan().level != 0 || here.task.is_explicit() || !(SOFT..=HARD).contains(&kind) {
            return -1;
        }
        if kind == HARD {
            // SAFETY: own thread only; the teams are taken out before anything waits.
            let kept = core::mem::take(&mut unsafe { here.thread.own() }.teams);
            kept.into_iter().for_each(assemble::dismiss);
        }
        0
    }
}

/// `omp_control_tool_notool`: nobody listens.
const NO_TOOL: c_int = -2;

/// `omp_control_tool` (18.14): there is no tool to pass the command to.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_control_tool(_command: c_int, _modifier: c_int, _argument: *mut c_void) -> c_int {
    NO_TOOL
}

/// The Fortran name of [`omp_control_tool`].
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_control_tool_(_command: *const c_int, _modifier: *const c_int, _argument: *mut c_void) -> c_int {
    NO_TOOL
}

/// [`omp_control_tool_`] with 64-bit integers.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_control_tool_8_(_command: *const i64, _modifier: *const i64, _argument: *mut c_void) -> c_int {
    NO_TOOL
}
