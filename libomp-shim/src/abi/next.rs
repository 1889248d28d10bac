//! The C library's functions behind those that are taken over.
use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

/// The C library's function behind one of ours, looked up once.
pub(super) struct LibraryNext(&'static CStr, AtomicUsize);

impl LibraryNext {
    /// Not looked up yet.
    pub(super) const fn new(name: &'static CStr) -> Self {
        Self(name, AtomicUsize::new(0))
    }

    /// Its address; null if there is none.
    pub(super) fn address(&self) -> *const c_void {
        // ORDERING: Relaxed, both; the address is complete in itself, and every thread finds the
        // same one.
        let mut known = self.1.load(Ordering::Relaxed);
        if known == 0 {
            // SAFETY: a C string.
            known = unsafe { libc::dlsym(libc::RTLD_NEXT, self.0.as_ptr()) } as usize;
            // ORDERING: as above.
            self.1.store(known, Ordering::Relaxed);
        }
        known as *const c_void
    }
}
