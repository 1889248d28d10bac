//! Events of detachable tasks (5.2 §12.5.4) that are never fulfilled. They are reported when the
//! process ends, for tasks whose own code has ended.
//!
//! A task whose own code has not ended is not reported: the call that fulfils its event may be yet
//! to come.

use core::ffi::{c_int, c_void};
use core::ptr::NonNull;
use std::collections::HashMap;
use std::sync::{Mutex, Once, PoisonError};

use super::place::{CodePosition, CodeSource};
use super::reports::{About, report_at};
use omp::exit;
use omp::task::Task;

/// Tasks whose events are still to be fulfilled, by address, and where they were made.
static OPEN: Mutex<Option<HashMap<usize, CodePosition>>> = Mutex::new(None);

fn with<R>(look: impl FnOnce(&mut HashMap<usize, CodePosition>) -> R) -> R {
    look(OPEN.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

/// The calling code makes a detachable task.
pub fn made(task: NonNull<Task>, source: CodeSource) {
    static AT_EXIT: Once = Once::new();
    if super::is_noted() {
        AT_EXIT.call_once(|| exit::call(look));
        with(|open| open.insert(task.addr().get(), CodePosition::of_caller(source)));
    }
}

/// The event of the task at this address is fulfilled, or will not be waited for.
pub fn fulfilled(task: usize) {
    if super::is_noted() {
        with(|open| open.remove(&task));
    }
}

/// The program ends.
unsafe extern "C" fn look(_: c_int, _: *mut c_void) {
    if !super::is_noted() {
        return;
    }
    let open: Vec<(usize, CodePosition)> =
        with(|open| open.iter().map(|(&task, &place)| (task, place)).collect());
    for (task, place) in open {
        // SAFETY: a task whose event is not fulfilled is not complete, hence alive.
        let task = unsafe { &*(task as *const Task) };
        if task.awaits_event() {
            let waits = task.waiter().map_or_else(String::new, |who| format!(", and {who} waits for it"));
            report_at(
                About::Event,
                place,
                format_args!(
                    "nobody has fulfilled the event of the task made at {place}{waits}; the program ends"
                ),
            );
        }
    }
}
