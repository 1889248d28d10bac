//! Alternate signal stacks: the description of one, and the words in which a thread's is kept.
//!
//! What may not live here: which of them a kernel thread has ([`super::host`]), and the system
//! call's meaning ([`super::alternate`]).

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use libc::{SS_DISABLE, stack_t};

/// `SS_AUTODISARM`.
pub(super) const AUTODISARM: i32 = 1 << 31;

/// An alternate stack; of no bytes: none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alternate {
    pub(crate) start: usize,
    pub(crate) bytes: usize,
    pub(super) flags: i32,
}

impl Alternate {
    pub(super) const NONE: Alternate = Alternate { start: 0, bytes: 0, flags: SS_DISABLE };

    pub(super) fn of(stack: &stack_t) -> Self {
        let flags = stack.ss_flags & AUTODISARM;
        if stack.ss_flags & SS_DISABLE != 0 {
            Self::NONE
        } else {
            Self { start: stack.ss_sp as usize, bytes: stack.ss_size, flags }
        }
    }

    pub(super) fn to_c(self) -> stack_t {
        stack_t { ss_sp: self.start as *mut _, ss_flags: self.flags, ss_size: self.bytes }
    }

    pub(crate) fn contains(&self, sp: usize) -> bool {
        sp.wrapping_sub(self.start) < self.bytes
    }
}

/// The alternate stack of a thread, kept with its TLS block.
pub(super) struct KeptStack {
    pub(super) start: AtomicUsize,
    pub(super) bytes: AtomicUsize,
    pub(super) flags: AtomicUsize,
}

impl KeptStack {
    pub(super) const fn new() -> Self {
        Self { start: AtomicUsize::new(0), bytes: AtomicUsize::new(0), flags: AtomicUsize::new(0) }
    }

    /// Written by the thread itself, which reads it, its handlers included.
    pub(super) fn store(&self, stack: Alternate) {
        // ORDERING: Relaxed, all three; handed on with the thread.
        self.bytes.store(0, Relaxed);
        self.start.store(stack.start, Relaxed);
        // ORDERING: as above.
        self.flags.store(stack.flags as u32 as usize, Relaxed);
        self.bytes.store(stack.bytes, Relaxed);
    }

    pub(super) fn load(&self) -> Alternate {
        // ORDERING: as above.
        let (start, bytes) = (self.start.load(Relaxed), self.bytes.load(Relaxed));
        // ORDERING: as above.
        if bytes == 0 {
            Alternate::NONE
        } else {
            Alternate { start, bytes, flags: self.flags.load(Relaxed) as u32 as i32 }
        }
    }
}
