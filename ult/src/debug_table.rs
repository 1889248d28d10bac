//! Everything that a debugger can know of this crate: the entries of [`crate::debug`] that the
//! modules declare, in one table.

use crate::debug::DebugEntry;

/// Everything there is to know about this crate's part.
pub const ENTRIES: [&[DebugEntry]; 6] = [
    &crate::debug::BLOCK_ENTRY,
    &crate::worker::table::REGISTRY_ENTRIES,
    &crate::worker::record::ENTRIES,
    &crate::sched::suspended::ENTRIES,
    &crate::stall::signal::SIGNAL_ENTRY,
    &crate::ult::ENTRIES,
];
