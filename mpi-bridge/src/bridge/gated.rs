//! The gate and what lies behind it.

use crate::gate::Gate;
use std::cell::{Cell, UnsafeCell};

thread_local! {
    /// Whether this thread is inside [`Entered::work`], and therefore perhaps in a callback.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is inside [`Entered::work`]: so it is if it runs a callback.
pub(super) fn is_inside() -> bool {
    INSIDE.get()
}

/// A value that only the thread inside the gate touches.
pub(super) struct Gated<T> {
    gate: Gate,
    value: UnsafeCell<T>,
}

// SAFETY: `value` is only touched by the thread inside `gate` (invariant "one inside"), by one
// thread after the other.
unsafe impl<T: Send> Sync for Gated<T> {}

impl<T> Gated<T> {
    pub(super) fn new(value: T) -> Self {
        Self { gate: Gate::default(), value: UnsafeCell::new(value) }
    }

    /// Enters if no thread is inside. For threads that bring nothing.
    pub(super) fn try_enter(&self) -> Option<Entered<'_, T>> {
        self.gate.try_enter().then_some(Entered(self))
    }

    /// Enters, or makes the thread inside go round once more; see [`Gate::request`].
    pub(super) fn request(&self) -> Option<Entered<'_, T>> {
        self.gate.request().then_some(Entered(self))
    }

    /// Runs `work`, waiting for the gate. Only while no callback runs on this thread.
    pub(super) fn wait_and_work<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        while !self.gate.try_enter() {
            std::thread::yield_now();
        }
        // SAFETY: as in `Entered::work`.
        let result = work(unsafe { &mut *self.value.get() });
        while !self.gate.leave() {}
        result
    }
}

/// What a thread gets that has entered: the right to work inside.
#[must_use = "the gate stays shut"]
pub(super) struct Entered<'a, T>(&'a Gated<T>);

impl<T> Entered<'_, T> {
    /// Runs `work` and leaves; `again` takes up what is brought meanwhile. After an error the gate
    /// stays shut: no thread enters again.
    pub(super) fn work<E>(
        self,
        work: impl FnOnce(&mut T) -> Result<usize, E>,
        again: impl Fn(&mut T) -> Result<usize, E>,
    ) -> Result<usize, E> {
        let Gated { gate, value } = self.0;
        INSIDE.set(true);
        // SAFETY: this thread is inside the gate (invariant "one inside"), and callbacks get no
        // reference to the value.
        let value = unsafe { &mut *value.get() };
        let mut outcome = work(value);
        while outcome.is_ok() && !gate.leave() {
            let more = again(value);
            outcome = outcome.and_then(|n| more.map(|m| n + m));
        }
        INSIDE.set(false);
        outcome
    }
}
