//! Tools by the standard's interface (OMPT, OpenMP 5.2 §19): found, started, told, and finished.
//!
//! | file | what lives there |
//! |---|---|
//! | here | the life of a tool: start, end |
//! | `search` | where a tool is looked for, and the log of that (`OMP_TOOL_VERBOSE_INIT`) |
//! | `types` | what tools and the runtime pass to each other |
//! | `callbacks` | what a tool has registered, and the events it is told |
//! | `inquiry` | what a tool may ask |
//!
//! A tool begins with the first initial thread, after that has its team: routines that the tool's initializer calls find one. It ends when the
//! program does, or when it says so itself; then all threads end for it.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};
use std::sync::Once;

use super::hook::region;
use super::{Place, attach, detach};
use crate::omp::device;
use crate::omp::env;
use crate::omp::exit;
use crate::omp::thread::Here;

mod callbacks;
mod inquiry;
mod search;
mod types;

use callbacks::Ompt;
use types::StartResult;

pub use search::start_next;

/// What the tool's `ompt_start_tool` has returned; null where there is no tool, or it has finished.
static TOOL: AtomicPtr<StartResult> = AtomicPtr::new(core::ptr::null_mut());

/// Looks for a tool, once in the process, and starts it. The calling thread is an initial one.
pub fn start() {
    static START: Once = Once::new();
    // A tool whose initializer calls the runtime comes back on this thread, which is known already.
    thread_local!(static STARTS: Cell<bool> = const { Cell::new(false) });
    if START.is_completed() || STARTS.replace(true) {
        return;
    }
    START.call_once(|| {
        if env::settings().tool.enabled {
            search::find(initialize);
        }
    });
    STARTS.set(false);
}

/// Starts a tool that has been found; false if it does not want to be told.
fn initialize(result: *mut StartResult) -> bool {
    // SAFETY: what the tool has returned, which lives until it has finished.
    let wants = unsafe { ((*result).initialize)(inquiry::lookup, device::count(), &raw mut (*result).data) };
    if wants == 0 {
        return false;
    }
    // ORDERING: Release, pairs with `finish`.
    TOOL.store(result, Ordering::Release);
    attach(Place::Ompt, &Ompt);
    exit::call(at_exit);
    true
}

unsafe extern "C" fn at_exit(_: c_int, _: *mut c_void) {
    finish();
}

/// The tool's last events, and its end; once.
fn finish() {
    // ORDERING: AcqRel, pairs with `initialize`.
    let tool = TOOL.swap(core::ptr::null_mut(), Ordering::AcqRel);
    if tool.is_null() {
        return;
    }
    if let Some(here) = Here::if_known() {
        region::end_all(here);
    }
    detach(Place::Ompt);
    // SAFETY: as in `initialize`.
    unsafe { ((*tool).finalize)(&raw mut (*tool).data) };
}
