//! Resource relinquishing (OpenMP 5.2 §18.6) and tool control (§18.14).

use core::ffi::{c_int, c_uint, c_void};

use omp::assemble;
use omp::extension::tools;
use omp::target::is_host;
use omp::thread::CurrentThread;

/// `omp_pause_soft`.
const SOFT: c_uint = 1;
/// `omp_pause_hard`.
const HARD: c_uint = 2;

routines! {
    /// `omp_pause_resource` (18.6.1): 0 when done, −1 for a device or kind that does not exist and
    /// inside a region. A soft pause has nothing to do, since idle threads cost nothing but memory;
    /// a hard one dismisses the teams that the calling thread keeps, and with them what their
    /// threadprivate variables held. It ends the threads that no team of another thread uses:
    /// destructors of their thread-local variables have run when it returns.
    fn omp_pause_resource(kind: c_uint, device: c_int) -> c_int {
        if !is_host(device) {
            return -1;
        }
        omp_pause_resource_all(kind)
    }

    /// `omp_pause_resource_all` (18.6.2).
    fn omp_pause_resource_all(kind: c_uint) -> c_int {
        let here = CurrentThread::get();
        if here.team().plan().nesting.level != 0 || here.task.is_explicit() || !(SOFT..=HARD).contains(&kind) {
            return -1;
        }
        if kind == HARD {
            let own = here.thread.own();
            own.forks.teams.take_all().into_iter().for_each(assemble::dismiss);
            own.forks.tls_blocks.give_back();
            own.forks.kept_size.set(0);
            ult::pool::renew::end_unused_threads();
        }
        0
    }
}

/// `omp_control_tool_notool`: there is no tool.
const NO_TOOL: c_int = -2;

fn control(command: u64, modifier: u64, argument: *mut c_void) -> c_int {
    tools::other::control(command, modifier, argument.addr()).unwrap_or(NO_TOOL)
}

/// `omp_control_tool` (18.14): what the tool answers; −2 where there is none, −1 where it does not
/// listen.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_control_tool(command: c_int, modifier: c_int, argument: *mut c_void) -> c_int {
    control(command as u64, modifier as u64, argument)
}

/// The Fortran name of [`omp_control_tool`].
///
/// # Safety
/// Called by compiled code, with the addresses of two integers.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_control_tool_(
    command: *const c_int,
    modifier: *const c_int,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe { control(*command as u64, *modifier as u64, argument) }
}

/// [`omp_control_tool_`] with 64-bit integers.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_control_tool_8_(
    command: *const i64,
    modifier: *const i64,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe { control(*command as u64, *modifier as u64, argument) }
}
