//! The gang a worker or a ULT runs for: the pair the gang scheduler orders by.
//!
//! What lives here: the tag `(gang id, nest level)` that workers and ULTs carry, and the source of ids.
//! What does not yet: reservation, gang deques and the eligibility rule. Until they exist, every thread of a
//! team has a worker of its own and the tag is carried, saved and restored, but decides nothing.

use core::sync::atomic::{AtomicI64, Ordering};

/// What a worker runs for: the id of the gang (process-wide, growing) and its nest level; both −1 when idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GangTag {
    /// Monotonic id of the gang, −1 for none.
    pub id: i64,
    /// Nest level of the region the gang executes, −1 for none.
    pub level: i32,
}

impl GangTag {
    /// The tag of a worker that runs for no gang.
    pub const NONE: Self = Self { id: -1, level: -1 };
}

static NEXT_ID: AtomicI64 = AtomicI64::new(0);

/// The next gang id. Ids grow with time; they are never used twice in a process.
pub fn next_id() -> i64 {
    // ORDERING: Relaxed; an id publishes nothing, only its uniqueness and growth matter.
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}
