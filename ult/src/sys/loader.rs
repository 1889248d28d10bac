//! The loader's list of objects and `fork`.
//!
//! The C library's `dl_iterate_phdr` holds a lock of the loader that a child of `fork` inherits as
//! it is (glibc 2.36): where another thread was in it, the child's first region waited for ever. So
//! who walks the list here shares a lock that a fork takes for itself. Walks of others (the
//! program's own) are not covered.
//!
//! Tried and rejected: not asking the loader in a child (it would miss the copies of the C++
//! runtime in what it loads itself).
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A lock of the standard library: a futex and nothing else, so that it means the same in a child
/// as in its parent.
static WALKS: RwLock<()> = RwLock::new(());

/// The fork's hold on [`WALKS`], from before it until after it, in the parent and in the child.
struct LoaderHeld(UnsafeCell<Option<RwLockWriteGuard<'static, ()>>>);

// SAFETY: accessed only by the kernel thread that holds `WALKS` alone.
unsafe impl Sync for LoaderHeld {}

static HELD: LoaderHeld = LoaderHeld(UnsafeCell::new(None));

/// What [`walk`] calls for each object, as `dl_iterate_phdr` has it: not zero ends the walk.
pub type Callback = unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int;

/// The C library's `dl_iterate_phdr`, not during a fork. Any thread, but not from within
/// `callback`.
///
/// # Safety
/// `callback` may be called with `data`, and does not unwind.
pub unsafe fn walk(callback: Callback, data: *mut c_void) {
    let _shared: RwLockReadGuard<'_, ()> = WALKS.read().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: as the caller says.
    unsafe { libc::dl_iterate_phdr(Some(callback), data) };
}

/// Before a fork: waits for the walks under way, and lets no other begin.
pub(crate) fn before_fork() {
    let alone = WALKS.write().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: we hold the lock alone.
    unsafe { *HELD.0.get() = Some(alone) };
}

/// After a fork, in the parent and in the child.
pub(crate) fn after_fork() {
    // SAFETY: the calling thread went through `before_fork` and still holds the lock alone.
    drop(unsafe { (*HELD.0.get()).take() });
}
