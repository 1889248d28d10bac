//! Stacks of our own kernel threads, with their thread blocks: donors and workers of the pool.
//!
//! They are mapped here and handed to `pthread_create`. In the child of a fork the C library takes
//! back the stacks that it has allocated itself, thread blocks included. It leaves out the stack of
//! the thread that it believes to be running, and gives the others to the next threads that are
//! made. A context of the child may still run with the TLS block of another thread, and a worker
//! goes back to its own; so their stacks must be ours.
//!
//! The kernel thread of a donor or a worker ends only when the program relinquishes its resources
//! ([`crate::pool::renew`]). The thread that ends it waits for it here, and then its stack is
//! unmapped.
//!
//! What may not live here: stacks of user-level threads ([`super`]).

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::io;

use crate::signals::mask;
use crate::sys::fork::ForkMutex;
use crate::sys::memory::page_size;

/// The threads that were started here and not joined, with their stacks.
static STARTED: ForkMutex<Vec<(libc::pthread_t, KernelStack)>> = ForkMutex::new(Vec::new());

/// Starts a kernel thread, with all signals blocked but the two of the C library, on a stack of at
/// least `min_stack_bytes` bytes. `prepare` is given the signal mask of the calling thread before.
pub(crate) fn start_thread(
    min_stack_bytes: usize,
    main: extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
    prepare: impl FnOnce(u64),
) -> io::Result<()> {
    // SAFETY: plain POSIX calls on local, initialised objects. The stack is the new thread's alone
    // until `join`.
    unsafe {
        let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
        libc::pthread_attr_init(&mut attributes);
        let Some(stack) = KernelStack::for_thread(&mut attributes, min_stack_bytes) else {
            libc::pthread_attr_destroy(&mut attributes);
            return Err(io::ErrorKind::OutOfMemory.into());
        };
        let mut id: libc::pthread_t = core::mem::zeroed();
        let result = mask::with_all_blocked(|before| {
            prepare(before);
            libc::pthread_create(&mut id, &attributes, main, argument)
        });
        libc::pthread_attr_destroy(&mut attributes);
        if result == 0 {
            STARTED.lock().push((id, stack));
            return Ok(());
        }
        stack.unmap();
        Err(io::Error::from_raw_os_error(result))
    }
}

/// Waits until the kernel thread `id` has ended. It was started here and has been asked to end. Its
/// destructors of thread-local variables have run then. Does nothing in the child of a fork, where
/// the thread does not exist.
pub(crate) fn join(id: libc::pthread_t) {
    let stack = {
        let mut started = STARTED.lock();
        // Those that end are young as a rule: a program that relinquishes its threads again and
        // again keeps few.
        started.iter().rposition(|&(other, _)| other == id).map(|at| started.swap_remove(at).1)
    };
    if let Some(stack) = stack {
        // SAFETY: a thread that was made joinable in this process, and is joined once.
        if unsafe { libc::pthread_join(id, ptr::null_mut()) } == 0 {
            stack.unmap();
        }
    }
}

/// Bytes of address space of a stack of at least `min_bytes` bytes, with its inaccessible page.
pub(crate) fn address_space(min_bytes: usize) -> usize {
    page_size() + min_bytes.next_multiple_of(page_size())
}

/// The smallest stack, in bytes, that threads of this process need for their static thread-local
/// storage; constant after start-up. The first call takes the loader's lock.
pub(crate) fn minimal_stack() -> usize {
    static KNOWN: AtomicUsize = AtomicUsize::new(0);
    // ORDERING: Relaxed; the number is complete in itself, and every thread finds the same one.
    let mut known = KNOWN.load(Ordering::Relaxed);
    if known == 0 {
        known = ask_minimal_stack();
        // ORDERING: Relaxed, as above.
        KNOWN.store(known, Ordering::Relaxed);
    }
    known
}

fn ask_minimal_stack() -> usize {
    type MinStack = unsafe extern "C" fn(*const libc::pthread_attr_t) -> usize;
    // SAFETY: the symbol, where glibc has it, has this signature; plain POSIX calls on a local,
    // initialised object.
    unsafe {
        let symbol = libc::dlsym(libc::RTLD_DEFAULT, c"__pthread_get_minstack".as_ptr());
        if symbol.is_null() {
            return libc::PTHREAD_STACK_MIN;
        }
        let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
        libc::pthread_attr_init(&mut attributes);
        let least = core::mem::transmute::<*mut libc::c_void, MinStack>(symbol)(&attributes);
        libc::pthread_attr_destroy(&mut attributes);
        least
    }
}

/// In the child of a fork: none of the threads exists.
///
/// # Safety
/// Only in the child of a fork, before it has a second thread.
pub(crate) unsafe fn forget_after_fork() {
    // SAFETY: as the caller says.
    unsafe { STARTED.forget(Vec::new()) };
}

// SAFETY: the mapping belongs to the value; nothing is done through it but to free it.
unsafe impl Send for KernelStack {}

/// A mapped stack, with one inaccessible page below it.
struct KernelStack {
    base: *mut c_void,
    page: usize,
    /// Usable bytes, whole pages.
    size: usize,
}

impl KernelStack {
    /// One of at least `min_bytes` bytes for the thread that is made with `attributes`; `None` if
    /// the system refuses.
    ///
    /// # Safety
    /// `attributes` are initialised, and at most one thread is made with them.
    unsafe fn for_thread(attributes: &mut libc::pthread_attr_t, min_bytes: usize) -> Option<Self> {
        let stack = Self::map(min_bytes)?;
        // SAFETY: as the caller says; the range is ours.
        let set = unsafe {
            libc::pthread_attr_setstack(attributes, stack.base.wrapping_byte_add(stack.page), stack.size)
        };
        if set != 0 {
            stack.unmap();
            return None;
        }
        Some(stack)
    }

    fn map(min_bytes: usize) -> Option<Self> {
        // SAFETY: a new mapping at an address that the kernel chooses, changed before anybody knows
        // it.
        unsafe {
            let page = page_size();
            let size = min_bytes.next_multiple_of(page);
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
            let base =
                libc::mmap(ptr::null_mut(), page + size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            if base == libc::MAP_FAILED {
                return None;
            }
            let stack = Self { base, page, size };
            // One light guard is as cheap as an area of its own, which could not be merged with
            // those of the threads that are made next.
            if libc::madvise(base, page, super::MADV_GUARD_INSTALL) != 0
                && !super::make_inaccessible(base, page)
            {
                stack.unmap();
                return None;
            }
            Some(stack)
        }
    }

    /// Frees a stack on which no thread runs.
    fn unmap(self) {
        // SAFETY: the range is ours, and no thread runs on it.
        unsafe { libc::munmap(self.base, self.page + self.size) };
    }
}
