//! What a fork leaves behind: a lock that the child may forget, and the count of forks.
//!
//! What may not live here: which locks are forgotten, and in which order ([`crate::pool`]).

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};

use super::thread;

/// A mutex that the child of a fork may discard: the thread that held it may not exist there.
pub struct ForkMutex<T>(UnsafeCell<Mutex<T>>);

// SAFETY: a Mutex is Sync. Only `forget` writes the cell, in a child that has a single thread.
unsafe impl<T: Send> Sync for ForkMutex<T> {}

impl<T> ForkMutex<T> {
    /// A mutex that no thread holds.
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(Mutex::new(value)))
    }

    /// The value, once no other thread holds the mutex. Keeps `errno`.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        // SAFETY: no thread writes the cell while more than one thread exists.
        let mutex = unsafe { &*self.0.get() };
        match mutex.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(e)) => e.into_inner(),
            // `errno` is kept, because the program may be about to read it.
            Err(TryLockError::WouldBlock) => {
                let errno = thread::errno();
                let guard = mutex.lock().unwrap_or_else(|e| e.into_inner());
                thread::set_errno(errno);
                guard
            }
        }
    }

    /// The value, unless another thread holds the mutex.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        // SAFETY: as above.
        unsafe { &*self.0.get() }.try_lock().ok()
    }

    /// Puts a fresh mutex in place. The old value is leaked, never dropped.
    ///
    /// # Safety
    /// Only in the child of a fork, before it has a second thread.
    pub unsafe fn forget(&self, value: T) {
        // SAFETY: the caller guarantees a single thread; `write` drops nothing, so no allocator is
        // called.
        unsafe { self.0.get().write(Mutex::new(value)) };
    }
}

static GENERATION: AtomicU32 = AtomicU32::new(0);

/// How many forks lie between the process that loaded the library and this one. Structures of
/// another generation belong to threads that do not exist any more.
#[inline]
pub fn generation() -> u32 {
    // ORDERING: Relaxed; written only in a child that has a single thread, which sees its own
    // write.
    GENERATION.load(Ordering::Relaxed)
}

/// In the child of a fork, before it has a second thread: it is another generation.
pub(crate) fn count() {
    // ORDERING: Relaxed; single-threaded.
    GENERATION.fetch_add(1, Ordering::Relaxed);
}
