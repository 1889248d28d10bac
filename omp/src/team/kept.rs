//! Teams that a thread keeps for the next regions that it forks.
//!
//! What does not live here: which of them a region takes ([`crate::assemble`]).

use core::cell::UnsafeCell;

/// The teams, oldest first. A team that a function of the caller sees is not in the list meanwhile, so
/// that function may change the list.
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
        self.change(|teams| teams.push(team));
    }

    /// Takes the newest team for which `judge` says `Take`. Forgets each newer one for which it says
    /// `Lose`.
    #[inline(always)]
    pub fn take(&self, judge: impl Fn(&T) -> KeptVerdict) -> Option<Box<T>> {
        let newest = self.change(Vec::pop)?;
        match judge(&newest) {
            KeptVerdict::Take => Some(newest),
            verdict => self.take_older(newest, verdict, judge),
        }
    }

    #[cold]
    fn take_older(
        &self,
        newest: Box<T>,
        verdict: KeptVerdict,
        judge: impl Fn(&T) -> KeptVerdict,
    ) -> Option<Box<T>> {
        let mut kept = Vec::new();
        let mut judged = Some((newest, verdict));
        let taken = loop {
            match judged {
                None => break None,
                Some((team, KeptVerdict::Take)) => break Some(team),
                Some((team, KeptVerdict::Keep)) => kept.push(team),
                Some((team, KeptVerdict::Lose)) => core::mem::forget(team),
            }
            judged = self.change(Vec::pop).map(|team| {
                let verdict = judge(&team);
                (team, verdict)
            });
        };
        self.change(|teams| teams.extend(kept.into_iter().rev()));
        taken
    }

    /// Takes all of them.
    pub fn take_all(&self) -> Vec<Box<T>> {
        self.change(core::mem::take)
    }

    /// Calls `act` with the first team for which `fits` is true. Returns whether there is one.
    pub fn with(&self, fits: impl Fn(&T) -> bool, act: impl FnOnce(&T)) -> bool {
        let teams = self.take_all();
        let found = teams.iter().find(|team| fits(team)).map(|team| act(team)).is_some();
        self.change(|present| {
            let later = core::mem::replace(present, teams);
            present.extend(later);
        });
        found
    }

    /// `change` runs no code of a caller, and none that uses the list.
    #[inline(always)]
    fn change<R>(&self, change: impl FnOnce(&mut Vec<Box<T>>) -> R) -> R {
        // SAFETY: not shared between threads; only functions of this file are passed, which have the
        // list one after the other.
        change(unsafe { &mut *self.0.get() })
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
        let more = |_: &i32| kept.keep(Box::new(6));
        assert!(kept.with(|&team| team == 2, more));
        assert_eq!(kept.take_all().iter().map(|team| **team).collect::<Vec<_>>(), [1, 2, 5, 6]);
        assert!(kept.take(|_| KeptVerdict::Take).is_none());
    }
}
