//! Pages of memory.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes of the smallest page of all processors. Pages of the processors that have larger ones are
/// multiples of it. Given: by the processors.
pub const LEAST_PAGE: usize = 4096;

/// Bytes of a page as far as asked for; 0 before.
static PAGE: AtomicUsize = AtomicUsize::new(0);

/// Bytes of a page.
pub fn page_size() -> usize {
    // ORDERING: the same value from whichever thread asks first.
    match PAGE.load(Relaxed) {
        0 => {
            // SAFETY: no preconditions.
            let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
            // ORDERING: the same value from whichever thread asks first.
            PAGE.store(page, Relaxed);
            page
        }
        page => page,
    }
}
