//! Stacks of our own kernel threads, with their thread blocks: donors and workers of the pool.
//!
//! They are mapped here and handed to `pthread_create`. In the child of a fork the C library takes back the stacks that it has allocated itself, thread
//! blocks included, except that of the thread it believes to be running, and gives them to the next threads that are made. A context of the
//! child may still wear the identity of another thread, and a worker goes back to its own; so their stacks must be ours.
//!
//! What may not live here: stacks of user-level threads ([`super`]). Never unmapped once a thread was started: neither donors nor workers end.

use core::ffi::c_void;
use core::ptr;

/// A mapped stack, with one inaccessible page below it.
pub(crate) struct KernelStack {
    base: *mut c_void,
    page: usize,
    /// Usable bytes, whole pages.
    size: usize,
}

impl KernelStack {
    /// One of at least `least` bytes for the thread that is made with `attributes`; `None` if the system refuses.
    ///
    /// # Safety
    /// `attributes` are initialised, and at most one thread is made with them.
    pub(crate) unsafe fn for_thread(attributes: &mut libc::pthread_attr_t, least: usize) -> Option<Self> {
        let stack = Self::map(least)?;
        // SAFETY: as the caller says; the range is ours.
        let set = unsafe { libc::pthread_attr_setstack(attributes, stack.base.wrapping_byte_add(stack.page), stack.size) };
        if set != 0 {
            stack.unmap();
            return None;
        }
        Some(stack)
    }

    fn map(least: usize) -> Option<Self> {
        // SAFETY: a new mapping at an address that the kernel chooses, changed before anybody knows it.
        unsafe {
            let page = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)).ok()?;
            let size = least.next_multiple_of(page);
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
            let base = libc::mmap(ptr::null_mut(), page + size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            if base == libc::MAP_FAILED {
                return None;
            }
            let stack = Self { base, page, size };
            if libc::mprotect(base, page, libc::PROT_NONE) != 0 {
                stack.unmap();
                return None;
            }
            Some(stack)
        }
    }

    /// Frees a stack on which no thread was started.
    pub(crate) fn unmap(self) {
        // SAFETY: the range is ours, and nobody runs on it.
        unsafe { libc::munmap(self.base, self.page + self.size) };
    }
}
