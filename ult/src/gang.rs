//! The gang for which a worker or a ULT runs: the pair by which the gang scheduler orders, and the
//! rule of the order.
//!
//! What lives here: the tag `(gang id, nest level)` of workers and ULTs, the source of ids, and
//! [`eligible`], the only function that decides the order. What does not: the queue in which the
//! ULTs of a gang wait for their start ([`deque`]), and the choice of the workers for them
//! ([`reserve`]). `docs/protocols/gang.md` has the proof sketch, and the exhaustive models run the
//! functions of this module.

pub mod deque;
pub mod reserve;

use core::sync::atomic::{AtomicI64, Ordering};

use crate::sys::sync::CachePadded;

/// What a worker runs for: the gang's id (process-wide, growing) and its nest level. Both are −1
/// when the worker is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GangTag {
    /// The id of the gang, which grows with each gang; −1 for none.
    pub id: i64,
    /// The nest level of the region that the gang executes; −1 for none.
    pub level: i32,
}

impl GangTag {
    /// The tag of a worker that runs for no gang.
    pub const NONE: Self = Self { id: -1, level: -1 };

    /// The stricter of two tags, which is the one that lets fewer gangs in. If a worker has several
    /// suspended contexts, the strictest of their tags binds it.
    #[must_use]
    pub fn strictest(self, other: Self) -> Self {
        if eligible(self, other) { self } else { other }
    }
}

/// May a worker that runs for `worker` take a ULT of gang `ult`? (ICS '21, Algorithm 2, lines
/// 21–27.)
///
/// True for a deeper gang, for an older gang of the same level, and for the worker's own gang. A
/// gang may have more ULTs than there are workers; its later ULTs are then taken where its earlier
/// ones wait. In the paper gangs always fit, so the paper asks for a smaller id only.
///
/// Why no deadlock arises at one level: order the gangs by id. Gangs are pushed whole, in the order
/// of their ids. So each ULT of the oldest unfinished gang runs, has ended, or is the first in a
/// deque. A worker that reaches a switch point takes that ULT before it takes a younger one.
///
/// A worker that does not reach a switch point spins for mates of its own gang. Its deque may still
/// hold a ULT of an older gang, or of the same one. This is so only if the worker started before
/// the push of that ULT. By induction over the ids, no thread waits for a gang younger than its
/// own.
///
/// The function alone is not the whole order. The order also needs the following rules
/// (`docs/protocols/gang.md`); without any one of them a cycle of waiting threads is possible,
/// which `docs/models/gang.md` shows:
///
/// * Forks hold one lock.
/// * Thread 0 yields at the fork.
/// * Ready contexts are held back behind an unfinished older gang.
/// * Mates are not stolen.
#[must_use]
pub fn eligible(ult: GangTag, worker: GangTag) -> bool {
    ult.level > worker.level || (ult.level == worker.level && goes_first(ult, worker))
}

crate::seam! {
    /// Both gangs have the same level. Is `one` older than `other`, or the same gang?
    fn goes_first(one: GangTag, other: GangTag) -> bool {
        one.id <= other.id
    } or eligible_inverted {
        one.id >= other.id
    }
}

/// Each fork of a gang writes it, so it has cache lines of its own.
static NEXT_ID: CachePadded<AtomicI64> = CachePadded(AtomicI64::new(0));

/// The next gang id. Ids grow with time, and no id is used twice in a process.
pub fn next_id() -> i64 {
    // ORDERING: Relaxed; an id publishes nothing. It only has to be unique and to grow.
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
