//! What a TLS block keeps of its thread's kernel state: settings, processor time, rights of keys.
//!
//! What may not live here: what a kernel thread has ([`super::host`]), and applying the one to the
//! other ([`super`]).

use core::ptr;
use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

use super::alternate_stack::Alternate;
use super::settings::KeptSettings;

/// True if a switch between threads must call `border::take_along`: a thread has set a signal mask of
/// its own, or other state that the kernel keeps per thread, or the address space is limited.
static DIFFER: AtomicBool = AtomicBool::new(false);

#[inline]
pub(crate) fn differ() -> bool {
    // ORDERING: Relaxed; a thread that has set state sees its own store. Another thread sees the
    // store at a later switch.
    DIFFER.load(Relaxed)
}

/// From here on every switch between threads calls `border::take_along`. Called when a thread has set
/// kernel state of its own, or the address space is limited.
pub(crate) fn threads_differ() {
    // ORDERING: Relaxed; see `differ`.
    DIFFER.store(true, Relaxed);
}

/// Nanoseconds of processor time that were counted for a thread.
pub(super) struct CountedTime(AtomicU64);

impl CountedTime {
    pub(super) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(super) fn add(&self, ns: u64) {
        // ORDERING: Relaxed; a number that is handed on with the thread.
        self.0.fetch_add(ns, Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        // ORDERING: as above.
        self.0.load(Relaxed)
    }
}

/// Beside the rights in a word: they are known.
pub(super) const KNOWN: u64 = 1 << 32;

/// The rights that are kept for a thread.
pub(super) struct Rights(AtomicU64);

impl Rights {
    pub(super) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(super) fn set(&self, rights: u32) {
        // ORDERING: Relaxed; handed on with the thread.
        self.0.store(KNOWN | u64::from(rights), Relaxed);
    }

    pub(super) fn get(&self) -> Option<u32> {
        // ORDERING: as above.
        let kept = self.0.load(Relaxed);
        (kept & KNOWN != 0).then_some(kept as u32)
    }

    pub(super) fn forget(&self) {
        // ORDERING: as above.
        self.0.store(0, Relaxed);
    }
}

/// The kernel state that a TLS block keeps; `kept` is null until its thread asks.
pub(crate) struct ThreadState {
    pub(super) kept: AtomicPtr<KeptSettings>,
    pub(super) time: CountedTime,
    pub(super) rights: Rights,
    /// Another thread has changed the kept settings since the last `catch_up` of this thread.
    pub(super) is_behind: AtomicBool,
}

impl core::fmt::Debug for ThreadState {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("State").field("keeps", &self.kept().is_some()).finish_non_exhaustive()
    }
}

impl ThreadState {
    pub(crate) const fn new() -> Self {
        Self {
            kept: AtomicPtr::new(ptr::null_mut()),
            time: CountedTime::new(),
            rights: Rights::new(),
            is_behind: AtomicBool::new(false),
        }
    }

    /// Another thread has changed what is kept.
    pub(super) fn has_been_changed(&self) {
        // ORDERING: Release, pairs with the Acquire in `catch_up`: what is kept.
        self.is_behind.store(true, Release);
        threads_differ();
    }

    pub(super) fn kept(&self) -> Option<&'static KeptSettings> {
        // ORDERING: Acquire, pairs with the Release in `keep`.
        // SAFETY: null, or leaked by `keep`.
        unsafe { self.kept.load(Acquire).as_ref() }
    }

    /// The settings that this TLS block keeps; made now if there are none. They stay with the TLS
    /// block for good.
    pub(super) fn keep(&self) -> &'static KeptSettings {
        if let Some(kept) = self.kept() {
            return kept;
        }
        let new = Box::into_raw(Box::new(KeptSettings::new()));
        // ORDERING: Release pairs with the Acquire in `kept`; Acquire for one that another thread
        // was quicker with.
        match self.kept.compare_exchange(ptr::null_mut(), new, Release, Acquire) {
            // SAFETY: leaked just now.
            Ok(_) => unsafe { &*new },
            Err(there) => {
                // SAFETY: `new` was made above, and no other thread has it; `there` is leaked.
                unsafe {
                    drop(Box::from_raw(new));
                    &*there
                }
            }
        }
    }

    /// The alternate stack that the thread has set.
    pub(crate) fn alternate(&self) -> Alternate {
        self.kept().map_or(Alternate::NONE, KeptSettings::alternate)
    }

    /// Forgets the settings, because the thread has ended.
    pub(crate) fn forget(&self) {
        self.rights.forget();
        if let Some(kept) = self.kept() {
            kept.forget();
        }
    }
}
