//! Teams that a thread keeps for the next regions that it forks.
//!
//! What does not live here: which of them a region takes ([`crate::assemble`]).

use core::cell::UnsafeCell;

/// The teams, oldest first. No method runs code of its caller while it has the list: the functions
/// that `take` and `with` are given see one team, and the list stays free.
pub struct KeptTeams<T>(UnsafeCell<Vec<Box<T>>>);

/// What becomes of a kept team.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum KeptVerdict {
    /// The caller takes it.
    Take,
    /// It stays.
    Keep,
    /// It leaves the list and is never freed: its members were threads of a parent process.
    Lose,
}

impl<T> Default for KeptTeams<T> {
    fn default() -> Self {
        Self(UnsafeCell::new(Vec::new()))
    }
}

impl<T> KeptTeams<T> {
    /// Adds `team`, which is between regions.
    #[inline(always)]
    pub fn keep(&self, team: Box<T>) {
        // SAFETY: not shared between threads, and no other method has the list.
        unsafe { &mut *self.0.get() }.push(team);
    }

    /// Takes the newest team for which `judge` says `Take`. Forgets each newer one for which it says
    /// `Lose`.
    #[inline(always)]
    pub fn take(&self, judge: impl Fn(&T) -> KeptVerdict) -> Option<Box<T>> {
        // SAFETY: as in `keep`.
        let teams = unsafe { &mut *self.0.get() };
        let mut at = teams.len();
        while at > 0 {
            at -= 1;
            match judge(&teams[at]) {
                KeptVerdict::Take => return Some(teams.remove(at)),
                KeptVerdict::Keep => {}
                KeptVerdict::Lose => core::mem::forget(teams.remove(at)),
            }
        }
        None
    }

    /// Takes all of them.
    pub fn take_all(&self) -> Vec<Box<T>> {
        // SAFETY: as in `keep`.
        core::mem::take(unsafe { &mut *self.0.get() })
    }

    /// Calls `act` with the first team for which `fits` is true. Returns whether there is one.
    pub fn with(&self, fits: impl Fn(&T) -> bool, act: impl FnOnce(&T)) -> bool {
        // SAFETY: as in `keep`; `act` sees one team and not the list.
        let teams = unsafe { &*self.0.get() };
        teams.iter().find(|team| fits(team)).map(|team| act(team)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_that_fits_is_taken_and_lost_ones_go() {
        let kept = KeptTeams::default();
        (1..=5).for_each(|team| kept.keep(Box::new(team)));
        let judge = |&team: &i32| match team {
            5 => KeptVerdict::Keep,
            4 => KeptVerdict::Lose,
            _ => KeptVerdict::Take,
        };
        assert_eq!(kept.take(judge).as_deref(), Some(&3));
        assert!(!kept.with(|&team| team == 4, |_| ()) && kept.with(|&team| team == 5, |_| ()));
        assert_eq!(kept.take_all().len(), 3);
        assert!(kept.take(|_| KeptVerdict::Take).is_none());
    }
}
