//! Tools by the standard's interface (OMPT, OpenMP 5.2 §19): found, started, notified, and
//! finished.
//!
//! | file | what lives there |
//! |---|---|
//! | here | the life of a tool: start, end |
//! | `search` | where a tool is looked for, and the log of that (`OMP_TOOL_VERBOSE_INIT`) |
//! | `types` | what tools and the runtime pass to each other |
//! | `callbacks` | the callbacks that a tool has registered, and the events that it is notified of |
//! | `devices` | those of devices |
//! | `inquiry` | what a tool may ask |
//!
//! A tool begins with the first initial thread, after that has its team: routines that the tool's
//! initializer calls find one. It ends when the program does, or when it says so itself; then all
//! threads end for it.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI32, AtomicPtr, Ordering};
use std::sync::Once;

use super::hook::{self, region};
use super::{ConsumerSlot, attach, detach};
use omp::env;
use omp::exit;
use omp::extension::offload;
use omp::extension::tools;
use omp::thread::CurrentThread;

mod callbacks;
mod devices;
mod inquiry;
mod search;
mod types;

use callbacks::Ompt;
use types::StartResult;

pub use search::{may_find_tool, start_next};

/// What the tool's `ompt_start_tool` has returned; null where there is no tool, or it has finished.
static TOOL: AtomicPtr<StartResult> = AtomicPtr::new(core::ptr::null_mut());

/// The kernel thread that starts the tool, 0 while none does.
static STARTER: AtomicI32 = AtomicI32::new(0);

/// Looks for a tool, once in the process, and starts it. The calling thread is an initial one;
/// others wait here meanwhile.
pub fn start() {
    static START: Once = Once::new();
    let me = ult::sys::thread::number();
    // ORDERING: Relaxed; only who has written it looks for its own number: the tool's initializer
    // calls the runtime.
    if START.is_completed() || STARTER.load(Ordering::Relaxed) == me {
        return;
    }
    START.call_once(|| {
        // ORDERING: Relaxed, both; as above.
        STARTER.store(me, Ordering::Relaxed);
        if env::settings().tools.enabled {
            initialize(search::find());
        }
        STARTER.store(0, Ordering::Relaxed);
        tools::search_done();
    });
}

/// Starts a tool that has been found, if there is one and it wants to be notified.
fn initialize(result: *mut StartResult) {
    if result.is_null() {
        return;
    }
    // SAFETY: what the tool has returned, which lives until it has finished.
    if unsafe { ((*result).initialize)(inquiry::lookup, offload::count(), &raw mut (*result).data) } == 0 {
        return;
    }
    // ORDERING: Release, pairs with `finish`.
    TOOL.store(result, Ordering::Release);
    attach(ConsumerSlot::Ompt, &Ompt);
    exit::call(at_exit);
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
    hook::device::close_all();
    if let Some(here) = CurrentThread::if_known() {
        region::end_all(here);
    }
    detach(ConsumerSlot::Ompt);
    // SAFETY: as in `initialize`.
    unsafe { ((*tool).finalize)(&raw mut (*tool).data) };
}
