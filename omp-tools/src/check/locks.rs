//! Locks that are misused: who has set which lock, and where.
//!
//! Locks that are made under `GANGWAY_CHECK` carry a bit in their word (`lock::CHECKED`), so that
//! each of their operations fails its first compare-and-swap and comes by here; other locks have no
//! way here at all.
//!
//! An owner is a task (5.2 §18.9). A lock that is handed from one task to the next without being
//! unset is misused even where both are tasks of one thread. `critical` has no owner that could be
//! wrong, and is not noted.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::place::{CodePosition, CodeSource};
use super::reports::{About, Participant, report_at};

/// The task that has set a lock, and where.
#[derive(Clone, Copy)]
pub struct LockHolder {
    /// The task.
    pub who: Participant,
    /// Where it has set the lock.
    pub place: CodePosition,
    /// Another task has unset the lock since, which has been reported.
    is_robbed: bool,
}

impl LockHolder {
    fn me() -> Self {
        Self { who: Participant::me(), place: CodePosition::of_caller(CodeSource::NONE), is_robbed: false }
    }
}

/// Locks that are set, by address.
static HELD: Mutex<Option<HashMap<usize, LockHolder>>> = Mutex::new(None);

fn with<R>(look: impl FnOnce(&mut HashMap<usize, LockHolder>) -> R) -> R {
    look(HELD.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

fn holder(lock: usize) -> Option<LockHolder> {
    with(|held| held.get(&lock).copied()).filter(|holder| !holder.is_robbed)
}

/// Has the running task set it?
pub fn is_mine(lock: usize) -> bool {
    holder(lock).is_some_and(|holder| holder.who.is(&Participant::me()))
}

/// A lock that is set.
pub struct HeldLock {
    /// Its address.
    pub lock: usize,
    /// Who has set it.
    pub holder: LockHolder,
}

/// All locks that are set.
pub fn all() -> Vec<HeldLock> {
    with(|held| {
        held.iter()
            .filter(|(_, holder)| !holder.is_robbed)
            .map(|(&lock, &holder)| HeldLock { lock, holder })
            .collect()
    })
}

/// The running task is about to set the lock, and will wait if it is set.
pub fn wanted(lock: usize) {
    if !super::is_noted() {
        return;
    }
    let me = LockHolder::me();
    if let Some(before) = holder(lock).filter(|before| before.who.is(&me.who)) {
        report_at(
            About::SetTwice,
            me.place,
            format_args!(
                "{} sets a lock that it has set already, at {}; set before at {}; it waits for ever",
                me.who, me.place, before.place
            ),
        );
    }
}

/// The running task has set it.
pub fn set(lock: usize) {
    if super::is_noted() {
        let me = LockHolder::me();
        with(|held| held.insert(lock, me));
    }
}

/// The running task is about to unset the lock for good.
pub fn unset(lock: usize) {
    if super::is_noted() {
        look_at_owner(lock, "omp_unset_lock");
        let me = Participant::me();
        with(|held| match held.get_mut(&lock) {
            Some(holder) if !holder.who.is(&me) => holder.is_robbed = true,
            _ => drop(held.remove(&lock)),
        });
    }
}

/// The running task is about to unset a nestable lock, perhaps not for good.
pub fn unset_nest(lock: usize) {
    if super::is_noted() {
        look_at_owner(lock, "omp_unset_nest_lock");
    }
}

fn look_at_owner(lock: usize, routine: &str) {
    let (me, holder) = (Participant::me(), with(|held| held.get(&lock).copied()));
    if holder.is_some_and(|holder| holder.who.is(&me)) {
        return;
    }
    let place = CodePosition::of_caller(CodeSource::NONE);
    match holder.filter(|holder| !holder.is_robbed) {
        None => report_at(
            About::Unset,
            place,
            format_args!("{routine} of a lock that nobody has set, by {me}, at {place}; nothing is unset"),
        ),
        Some(LockHolder { who, place: before, .. }) => {
            report_at(
                About::Unset,
                place,
                format_args!(
                    "{routine} of a lock that {who} has set, by {me}, at {place}; set at {before}; it is unset all the same"
                ),
            );
        }
    }
}

/// The lock is destroyed; `is_locked`: its word says that it is set.
pub fn destroyed(lock: usize, is_locked: bool, routine: &str) {
    if !super::is_noted() {
        return;
    }
    let holder = with(|held| held.remove(&lock));
    if let (true, Some(LockHolder { who, place: before, is_robbed: false })) = (is_locked, holder) {
        let place = CodePosition::of_caller(CodeSource::NONE);
        report_at(
            About::Destroyed,
            place,
            format_args!(
                "{routine} of a lock that {who} has set, at {place}; set at {before}; it is destroyed all the same"
            ),
        );
    }
}

/// A new lock stands there.
pub fn made(lock: usize) {
    if super::is_noted() {
        with(|held| held.remove(&lock));
    }
}
