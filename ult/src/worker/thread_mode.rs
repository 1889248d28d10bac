//! What is kept for an OpenMP thread whose contexts are suspended: its floating-point words, and how
//! many contexts it has.
//!
//! What may not live here: when the words are saved and loaded ([`super::mode`]).

use core::cell::{Cell, UnsafeCell};
use core::ptr;

use crate::sys::arch::FpWords;
use crate::ult::Ult;

/// Holds the floating-point words of an OpenMP thread while another thread's words are in force.
/// Its address names the thread: contexts with the same address belong together ([`super::role::Role`]).
/// It also counts the thread's suspended contexts, for the worker that has them.
pub(crate) struct ThreadMode {
    pub(super) words: UnsafeCell<FpWords>,
    suspended: Cell<u32>,
    interrupted: Cell<u32>,
    newest: Cell<*mut Ult>,
}

impl ThreadMode {
    pub(crate) const fn new() -> Self {
        Self {
            words: UnsafeCell::new(FpWords::INITIAL),
            suspended: Cell::new(0),
            interrupted: Cell::new(0),
            newest: Cell::new(ptr::null_mut()),
        }
    }

    /// Counts a context that a worker suspends, perhaps in the middle of its code. Returns the
    /// newest context that the thread had suspended before, or null.
    pub(crate) fn suspends(&self, context: *mut Ult, interrupted: bool) -> *mut Ult {
        self.suspended.set(self.suspended.get() + 1);
        self.interrupted.set(self.interrupted.get() + u32::from(interrupted));
        self.newest.replace(context)
    }

    /// Counts a context that leaves the suspended contexts of its worker. `below` is what
    /// `suspends` returned for it. False if a newer context of the thread stays suspended.
    pub(crate) fn resumes(&self, context: *mut Ult, below: *mut Ult, interrupted: bool) -> bool {
        self.suspended.set(self.suspended.get() - 1);
        self.interrupted.set(self.interrupted.get() - u32::from(interrupted));
        let is_newest = self.is_newest(context);
        if self.suspended.get() == 0 {
            self.newest.set(ptr::null_mut());
        } else if is_newest {
            self.newest.set(below);
        }
        is_newest
    }

    /// Is this the thread's newest suspended context?
    pub(crate) fn is_newest(&self, context: *mut Ult) -> bool {
        ptr::eq(self.newest.get(), context)
    }

    /// How many contexts of the thread are suspended on the worker that has them.
    pub(crate) fn suspended(&self) -> u32 {
        self.suspended.get()
    }

    /// Is a context of the thread suspended in the middle of its code?
    pub(crate) fn has_interrupted(&self) -> bool {
        self.interrupted.get() != 0
    }
}
