//! The gang a worker or a ULT runs for: the pair the gang scheduler orders by, and the rule of the
//! order.
//!
//! What lives here: the tag `(gang id, nest level)` that workers and ULTs carry, the source of ids,
//! and [`eligible`], the one place where the order is decided. `docs/protocols/gang.md` has the
//! proof sketch; the exhaustive models drive these very functions. [`deque`] is where ULTs of a
//! gang wait to be started, [`reserve`] says at which workers.

pub mod deque;
pub mod reserve;

use core::sync::atomic::{AtomicI64, Ordering};

/// What a worker runs for: the id of the gang (process-wide, growing) and its nest level; both −1
/// when idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GangTag {
    /// Monotonic id of the gang, −1 for none.
    pub id: i64,
    /// Nest level of the region the gang executes, −1 for none.
    pub level: i32,
}

impl GangTag {
    /// The tag of a worker that runs for no gang.
    pub const NONE: Self = Self { id: -1, level: -1 };

    /// The stricter of two tags: the one that lets fewer gangs in. A worker with several suspended
    /// contexts is bound by the strictest of them.
    #[must_use]
    pub fn strictest(self, other: Self) -> Self {
        if eligible(self, other) { self } else { other }
    }
}

/// May a worker that runs for `worker` take a ULT of gang `ult`? (ICS '21, Algorithm 2, lines
/// 21–27.)
///
/// True for a deeper gang, for an older one of the same level, and for the worker's own: a gang may
/// have more ULTs than there are workers, and its later ones are taken where the earlier ones wait.
/// The paper, whose gangs always fit, asks for a smaller id only.
///
/// Why nothing deadlocks at one level: order the gangs by id. Gangs are pushed whole and in the
/// order of their ids, so every ULT of the oldest unfinished gang runs, has ended, or is the first
/// in a deque; and a worker that reaches a switch point takes it before anything younger. A worker
/// that does not reach a switch point spins for mates of its own gang, whose id is not smaller than
/// that of what it left in its deque only if it started before; by induction over the ids nobody
/// waits for a gang younger than the own one.
///
/// The function alone is not the order. It holds with what goes with it: forks under one lock,
/// thread 0 yielding at the fork, ready contexts held back behind an unfinished older gang, mates
/// not stolen (`docs/protocols/gang.md`; each of these left out is a circle that
/// `docs/models/gang.md` shows).
#[must_use]
pub fn eligible(ult: GangTag, worker: GangTag) -> bool {
    if crate::mutant!(eligible_inverted) && ult.level == worker.level {
        return ult.id >= worker.id;
    }
    ult.level > worker.level || (ult.level == worker.level && ult.id <= worker.id)
}

static NEXT_ID: AtomicI64 = AtomicI64::new(0);

/// The next gang id. Ids grow with time; they are never used twice in a process.
pub fn next_id() -> i64 {
    // ORDERING: Relaxed; an id publishes nothing, only its uniqueness and growth matter.
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn tag(id: i64, level: i32) -> GangTag {
        GangTag { id, level }
    }

    #[test]
    fn an_idle_worker_takes_anything() {
        assert!(eligible(tag(0, 0), GangTag::NONE));
        assert!(eligible(tag(7, 3), GangTag::NONE));
    }

    #[test]
    fn deeper_goes_first_whatever_its_age() {
        assert!(eligible(tag(9, 2), tag(3, 1)));
        assert!(!eligible(tag(3, 1), tag(9, 2)));
    }

    #[test]
    fn within_a_level_older_goes_first_and_mates_are_welcome() {
        assert!(eligible(tag(3, 1), tag(4, 1)));
        assert!(eligible(tag(4, 1), tag(4, 1)));
        assert!(!eligible(tag(5, 1), tag(4, 1)));
    }

    #[test]
    fn the_strictest_of_two_does_not_depend_on_their_order() {
        for (a, b, strict) in [
            (tag(1, 0), tag(2, 0), tag(1, 0)),
            (tag(1, 0), tag(2, 1), tag(2, 1)),
            (GangTag::NONE, tag(2, 1), tag(2, 1)),
        ] {
            assert_eq!((a.strictest(b), b.strictest(a)), (strict, strict));
        }
    }
}
