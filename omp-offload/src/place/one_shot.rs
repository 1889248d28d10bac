//! A task waits here, suspended, until another thread gives it a value ([`OneShot`]).

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::transfer;
use device_trait::Wake;

/// A value that one thread gives, once, to one task that waits for it.
pub(super) struct OneShot<T> {
    is_given: AtomicBool,
    inside: Mutex<OneShotInside<T>>,
}

struct OneShotInside<T> {
    given: Option<T>,
    wake: Option<Wake>,
}

// SAFETY: the code that passes a `Wake` agrees that any thread may call it (`interface::Wake`).
unsafe impl<T: Send> Send for OneShotInside<T> {}

impl<T> Default for OneShot<T> {
    fn default() -> Self {
        Self {
            is_given: AtomicBool::new(false),
            inside: Mutex::new(OneShotInside { given: None, wake: None }),
        }
    }
}

impl<T> OneShot<T> {
    fn inside(&self) -> MutexGuard<'_, OneShotInside<T>> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the task this value, and wakes the task. To be called once.
    pub(super) fn give(&self, what: T) {
        let wake = {
            let mut inside = self.inside();
            inside.given = Some(what);
            // ORDERING: Release, pairs with the Acquire in `is_given`: a thread that sees it finds
            // the value.
            self.is_given.store(true, Ordering::Release);
            inside.wake.take()
        };
        if let Some(wake) = wake {
            // SAFETY: the caller of `wake_on` has promised that it may be called.
            unsafe { (wake.call)(wake.data) };
        }
    }

    fn is_given(&self) -> bool {
        // ORDERING: Acquire, pairs with the Release in `give`.
        self.is_given.load(Ordering::Acquire)
    }

    /// `wake` is called when a value is given; at once if it has been given already.
    fn wake_on(&self, wake: Wake) {
        let mut inside = self.inside();
        if inside.given.is_none() {
            inside.wake = Some(wake);
            return;
        }
        drop(inside);
        // SAFETY: as the caller of `transfer::wait` promises.
        unsafe { (wake.call)(wake.data) };
    }

    /// Waits for the value. The caller may be suspended. To be called by one task, once.
    pub(super) fn wait(&self) -> T {
        let wake_on = |wake| {
            self.wake_on(wake);
            true
        };
        transfer::wait(&|| self.is_given(), &wake_on);
        let given = self.inside().given.take();
        given.unwrap_or_else(|| omp::report::fatal("a target region that waited was let go with nothing"))
    }
}
