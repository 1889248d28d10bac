//! What the stall monitor reads about a worker: may its running code be waiting for a context that
//! waits behind it?
//!
//! How long the monitor waits lives in [`crate::stall`]. The monitor should not give a worker to a
//! younger gang too early. If a gang fits on the pool, all its threads run at the same time. A
//! thread of this gang that spins for another thread of it then soon continues by itself. If the
//! worker of the spinning thread went to a younger gang, the gang's threads would no longer run
//! together.
//!
//! So the scheduler reports to the stall monitor which contexts wait. Threads of the running gang
//! are urgent, and so are threads of gangs that go before it by the order of
//! [`eligible`](crate::gang::eligible). Other contexts run too, but after a while: a program may make
//! gangs wait for each other in ways that the order does not know.

use core::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering};

use crate::gang::GangTag;

/// What a worker reports about the code that it runs and the contexts that are suspended behind it.
/// The owner writes it. Other threads read a recent value: at worst the monitor comes early or
/// late.
pub(crate) struct Urgency {
    id: AtomicI64,
    level: AtomicI32,
    pub(super) suspended: AtomicBool,
    /// All suspended contexts are helpers, see [`crate::stall::WaitUrgency`].
    pub(super) all_are_helpers: AtomicBool,
}

impl Urgency {
    pub(crate) const fn new() -> Self {
        let (id, level) = (AtomicI64::new(GangTag::NONE.id), AtomicI32::new(GangTag::NONE.level));
        Self { id, level, suspended: AtomicBool::new(false), all_are_helpers: AtomicBool::new(false) }
    }

    /// Code of this gang runs from here on.
    #[inline]
    pub(crate) fn set_running(&self, tag: GangTag) {
        // ORDERING: Relaxed, all four; see the type. A tag that is half old is as good as an old
        // one.
        if self.id.load(Ordering::Relaxed) != tag.id {
            // ORDERING: as above.
            self.id.store(tag.id, Ordering::Relaxed);
        }
        // ORDERING: as above.
        if self.level.load(Ordering::Relaxed) != tag.level {
            // ORDERING: as above.
            self.level.store(tag.level, Ordering::Relaxed);
        }
    }

    /// Notes whether an urgent context is suspended behind the running code, and whether all that are
    /// suspended there are helpers.
    #[inline]
    pub(crate) fn set_suspended(&self, urgent: bool, helpers: bool) {
        for (flag, value) in [(&self.suspended, urgent), (&self.all_are_helpers, helpers)] {
            // ORDERING: Relaxed; see the type.
            if flag.load(Ordering::Relaxed) != value {
                // ORDERING: as above.
                flag.store(value, Ordering::Relaxed);
            }
        }
    }

    /// The suspended contexts are no helpers any more: they have been released.
    #[inline]
    pub(crate) fn clear_helpers(&self) {
        // ORDERING: Relaxed, both; see the type.
        if self.all_are_helpers.load(Ordering::Relaxed) {
            // ORDERING: as above.
            self.all_are_helpers.store(false, Ordering::Relaxed);
        }
    }

    pub(super) fn running(&self) -> GangTag {
        // ORDERING: Relaxed, both; see the type.
        GangTag { id: self.id.load(Ordering::Relaxed), level: self.level.load(Ordering::Relaxed) }
    }
}
