//! Where a debugger finds what the scheduler knows: offsets of fields, by name, and the addresses
//! of tables.
//!
//! A suspended user-level thread is no kernel thread, so a debugger does not list it. What lives
//! here: the entries from which its script finds the workers and the contexts suspended on them, in
//! a stopped process or a core, without debug information. What may not: anything that runs. The
//! layer above exports the table; the script is `gangway/gdb/gangway.py`.
//!
//! Entries have names, so the script says which one it misses instead of reading the wrong place.
//! Each module declares those of its own private fields, and [`crate::debug_table`] has all of them.
//!
//! Rejected:
//! * `DW_TAG` information of the release build: ten times the library's size.
//! * Functions for the debugger to call: in a core no thread can call them, and in a stopped
//!   process they could wait for a lock.

use core::ptr;
use core::sync::atomic::AtomicIsize;

/// One fact: a name, padded with zeros, and an offset, a number or an address.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DebugEntry {
    name: [u8; 24],
    value: *const (),
}

// SAFETY: constants; no code here dereferences the address.
unsafe impl Sync for DebugEntry {}

impl DebugEntry {
    /// An address. The name has at most 23 bytes.
    #[must_use]
    pub const fn address(name: &str, value: *const ()) -> Self {
        let (bytes, mut padded, mut at) = (name.as_bytes(), [0; 24], 0);
        assert!(bytes.len() < 24, "the name of an entry is too long");
        while at < bytes.len() {
            padded[at] = bytes[at];
            at += 1;
        }
        Self { name: padded, value }
    }

    /// A number or an offset in bytes.
    #[must_use]
    pub const fn number(name: &str, value: usize) -> Self {
        Self::address(name, ptr::without_provenance(value))
    }
}

/// Distance from the thread pointer to the kernel thread's block ([`crate::sys::arch::thread_block`]),
/// which is the same in all threads; 0 before the first worker is registered.
pub(crate) static BLOCK: AtomicIsize = AtomicIsize::new(0);

/// What debuggers find of it.
pub(crate) const BLOCK_ENTRY: [DebugEntry; 1] = [DebugEntry::address("block", (&raw const BLOCK).cast())];
