//! Does anybody wait behind a worker whom the code that runs there may be waiting for?
//!
//! Where a gang fits on the pool, its threads run at the same time, and one that spins for a moment
//! gets on by itself: to take its worker away for a younger gang would undo what the gang is for.
//! So the stall monitor is notified who waits: mates, and those who go before the running gang by
//! the order of [`eligible`], are urgent; the others are served too, but after a while, because the
//! program may make gangs wait for each other in ways that the order does not know.
//!
//! What may not live here: how long the monitor waits ([`crate::stall`]).

use core::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering};

use crate::gang::{GangTag, eligible};
use crate::stall::Watched;
use crate::worker::Worker;

/// What a worker tells about the code it runs and those who are suspended behind it. Written by the
/// owner; read from anywhere, a recent value: at worst the monitor comes early or late.
pub(crate) struct Urgency {
    id: AtomicI64,
    level: AtomicI32,
    suspended: AtomicBool,
}

impl Urgency {
    pub(crate) const fn new() -> Self {
        let (id, level) = (AtomicI64::new(GangTag::NONE.id), AtomicI32::new(GangTag::NONE.level));
        Self { id, level, suspended: AtomicBool::new(false) }
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

    /// Whether somebody urgent is suspended behind it.
    #[inline]
    pub(crate) fn set_suspended(&self, urgent: bool) {
        // ORDERING: Relaxed; see the type.
        if self.suspended.load(Ordering::Relaxed) != urgent {
            // ORDERING: as above.
            self.suspended.store(urgent, Ordering::Relaxed);
        }
    }

    fn running(&self) -> GangTag {
        // ORDERING: Relaxed, both; see the type.
        GangTag { id: self.id.load(Ordering::Relaxed), level: self.level.load(Ordering::Relaxed) }
    }
}

/// For the stall monitor: does anybody urgent wait behind the worker with this record? Any thread,
/// async-signal-safe.
pub fn is_urgent(watched: &'static Watched) -> bool {
    let worker = Worker::of(watched);
    // ORDERING: Relaxed; see the type.
    let suspended = worker.per_switch.urgency.suspended.load(Ordering::Relaxed);
    suspended || !worker.ults.is_empty() || has_urgent_gang(worker)
}

fn has_urgent_gang(worker: &Worker) -> bool {
    let running = worker.per_switch.urgency.running();
    worker.gang_deque.head_of_deepest().is_some_and(|head| eligible(head, running))
}
