//! Teams that are smaller because memory is limited: their size, and the warning. The
//! counting is in [`ult::stack::promised`].

use std::sync::Once;

use super::report;
use ult::stack::promised;

/// The size that a team of `wanted` threads may have, and how many stacks [`promised::release`]
/// gets back at the region's end.
#[inline]
pub fn reserve(wanted: u32) -> (u32, u32) {
    if promised::is_scarce(wanted as usize - 1) { ask(wanted) } else { (wanted, 0) }
}

#[cold]
fn ask(wanted: u32) -> (u32, u32) {
    let (threads, promised) = ult::sched::promise_stacks(wanted as usize - 1);
    let size = threads as u32 + 1;
    if size < wanted {
        say(wanted, size);
    }
    (size, promised as u32)
}

/// Says, once, that a team is smaller than was asked for.
fn say(wanted: u32, size: u32) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        let limits: Vec<String> =
            promised::limits().map(|limit| format!("{} is {} MiB", limit.name, limit.bytes >> 20)).collect();
        report::warn(format_args!(
            "no room for the stacks of {wanted} threads ({}); the region runs with {size}. \
             OMP_STACKSIZE makes stacks smaller",
            limits.join(", ")
        ));
    });
}
