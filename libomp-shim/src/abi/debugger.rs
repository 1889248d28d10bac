//! The table from which gdb's script (`gangway/gdb/gangway.py`) finds threads, teams and tasks:
//! [`ult::debug`].
//!
//! A symbol of the dynamic table, so that it is found in a stripped library and in a core.
//! Constants only; nothing here runs.

use ult::debug::DebugEntry;
use ult::debug_table;

use super::{gomp, kmpc};
use omp::{task, team, thread};

const PARTS: usize = debug_table::ENTRIES.len() + 6;

/// Lists of entries.
#[repr(C)]
pub struct DebuggerTable {
    /// How many lists there are.
    parts: usize,
    /// Where each begins, and how many entries it has.
    lists: [DebuggerList; PARTS],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct DebuggerList {
    first: *const DebugEntry,
    count: usize,
}

// SAFETY: constants, and pointers to constants.
unsafe impl Sync for DebuggerTable {}

/// What a debugger asks for by this name.
#[unsafe(no_mangle)]
pub static GANGWAY_DEBUG: DebuggerTable = {
    let own: [&[DebugEntry]; 6] = [
        &ult::deque::ENTRIES,
        &thread::ENTRIES,
        &team::ENTRIES,
        &task::ENTRIES,
        &gomp::task::ENTRIES,
        &kmpc::task::ENTRIES,
    ];
    let mut lists = [DebuggerList { first: core::ptr::null(), count: 0 }; PARTS];
    let mut at = 0;
    while at < PARTS {
        let part = if at < own.len() { own[at] } else { debug_table::ENTRIES[at - own.len()] };
        lists[at] = DebuggerList { first: part.as_ptr(), count: part.len() };
        at += 1;
    }
    DebuggerTable { parts: PARTS, lists }
};
