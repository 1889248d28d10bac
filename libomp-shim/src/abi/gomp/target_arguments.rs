//! What gcc passes to a target construct besides the list of what is mapped: its optional arguments,
//! and the variables that a region on the host has copies of.
//!
//! What does not live here: what the list means for a device (`target/kinds.rs`).

use core::ffi::{c_uint, c_void};
use core::{ptr, slice};

/// A copy of the variable for the region, in the low byte of a kind.
pub(super) const FIRSTPRIVATE: u16 = 0x0c;

/// Identifiers of the optional arguments.
const NUM_TEAMS: usize = 1;
const THREAD_LIMIT: usize = 2;
/// Bit of the `flags` argument.
pub(super) const NOWAIT: c_uint = 1;

/// How large a region is to be.
#[derive(Clone, Copy, Default)]
pub(super) struct TargetExtent {
    /// Teams that its construct asks for, 0 where it leaves their number open.
    pub(super) teams: u32,
    /// `thread_limit`, 0 when not given.
    pub(super) thread_limit: u32,
}

/// What the optional arguments say.
///
/// # Safety
/// `args` is null or the compiler's null-terminated list.
pub(super) unsafe fn extent(mut args: *const *const c_void) -> TargetExtent {
    let mut extent = TargetExtent::default();
    if args.is_null() {
        return extent;
    }
    // SAFETY: as the caller says; a set bit 7 means that the value is the next word.
    unsafe {
        while !(*args).is_null() {
            let word = *args as usize;
            let mut value = (word as isize >> 16) as usize;
            if word & 0x80 != 0 {
                args = args.add(1);
                value = *args as usize;
            }
            match word >> 8 & 0xFF {
                NUM_TEAMS => extent.teams = value as u32,
                THREAD_LIMIT => extent.thread_limit = value as u32,
                _ => {}
            }
            args = args.add(1);
        }
    }
    extent
}

/// The variables that the region has copies of: their bytes, aligned as the kinds say, in one
/// block.
#[derive(Default)]
pub(super) struct TargetCopies(Vec<u64>);

impl TargetCopies {
    /// Copies every firstprivate variable and stores its copy's address in place of the original's.
    ///
    /// # Safety
    /// The compiler's arrays of `count` entries.
    pub(super) unsafe fn make(
        count: usize,
        addresses: *mut *mut c_void,
        sizes: *const usize,
        kinds: *const u16,
    ) -> Self {
        if count == 0 {
            return Self(Vec::new());
        }
        // SAFETY: as the caller says.
        let (addresses, sizes, kinds) = unsafe {
            (
                slice::from_raw_parts_mut(addresses, count),
                slice::from_raw_parts(sizes, count),
                slice::from_raw_parts(kinds, count),
            )
        };
        let copied: Vec<usize> =
            (0..count).filter(|&i| kinds[i] & 0xFF == FIRSTPRIVATE && !addresses[i].is_null()).collect();
        let room: usize = copied.iter().map(|&i| sizes[i] + (1 << (kinds[i] >> 8))).sum();
        let mut block = Self(vec![0; room.div_ceil(8)]);
        let mut at = block.0.as_mut_ptr().cast::<u8>();
        for i in copied {
            // SAFETY: the block has room for every copy and its alignment.
            unsafe {
                at = at.map_addr(|a| a.next_multiple_of(1 << (kinds[i] >> 8)));
                ptr::copy_nonoverlapping(addresses[i].cast(), at, sizes[i]);
                addresses[i] = at.cast();
                at = at.add(sizes[i]);
            }
        }
        block
    }
}
