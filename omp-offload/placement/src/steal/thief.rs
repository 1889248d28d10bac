//! A device's part in stealing: when it may ask, and what it knows of origins that have work.
//!
//! What may not live here: which rank it asks when it knows of no work (`ult::victim`), and which
//! ranks are notified ([`super::names`]).

/// Aborted steals in a row after which a thief that knows of no work asks no more. A second one
/// finds little that word of work does not bring, and where all have the same each thief has one
/// more steal in vain at its end: 3.3 for each successful one with 2, 2.0 with 1
/// (`docs/distributed.md` has the model).
pub const ATTEMPTS: u32 = 1;
/// Tips followed in vain in a row after which it follows no more.
pub const TIPS: u32 = 2;

/// Word that regions wait at an origin. It is used up in three ways. A rank that passes it on
/// halves it, as the other rank will take half. Every region that ends where it is kept takes one
/// off, as one will have ended at the origin, too. A rank that has asked there in vain forgets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tip {
    /// The rank where they wait.
    pub origin: usize,
    /// How many there will be.
    pub waiting: u32,
}

impl Tip {
    /// The half that is passed on to another rank, if any.
    #[must_use]
    pub fn half(self) -> Option<Self> {
        (self.waiting > 1).then_some(Self { waiting: self.waiting / 2, ..self })
    }
}

/// Which rank a thief has asked that has not answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum PendingQuestion {
    None,
    /// By a tip.
    Origin,
    /// Without one.
    AnyRank,
}

/// When a device may ask.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Thief {
    asked: PendingQuestion,
    /// Aborted steals before it asks no more: without a tip, and by tips.
    left: [u32; 2],
    limits: [u32; 2],
    tip: Option<Tip>,
}

impl Default for Thief {
    fn default() -> Self {
        Self::with_limits(ATTEMPTS, TIPS)
    }
}

impl Thief {
    /// With other limits than [`ATTEMPTS`] and [`TIPS`].
    #[must_use]
    pub fn with_limits(attempts: u32, tips: u32) -> Self {
        Self { asked: PendingQuestion::None, left: [attempts, tips], limits: [attempts, tips], tip: None }
    }

    fn followed(&self) -> Option<usize> {
        self.tip.filter(|_| self.left[1] > 0).map(|tip| tip.origin)
    }

    /// May it ask a rank? Not while an answer is to come, nor after too many aborted steals.
    #[must_use]
    pub fn may_ask(&self) -> bool {
        self.asked == PendingQuestion::None && (self.left[0] > 0 || self.followed().is_some())
    }

    /// It asks: the origin that it knows of, or any rank (`None`).
    pub fn asks(&mut self) -> Option<usize> {
        let origin = self.followed();
        self.asked = if origin.is_some() { PendingQuestion::Origin } else { PendingQuestion::AnyRank };
        origin
    }

    /// The answer of `victim` has come; an aborted steal may bring a tip.
    pub fn is_answered(&mut self, victim: usize, success: bool, tip: Option<Tip>) {
        let asked = core::mem::replace(&mut self.asked, PendingQuestion::None);
        if success {
            self.left = self.limits;
            return;
        }
        let left = &mut self.left[usize::from(asked == PendingQuestion::Origin)];
        *left = left.saturating_sub(1);
        self.tip = self.tip.filter(|tip| tip.origin != victim).or(tip);
    }

    /// A region has come, from an origin where so many wait if that is another rank.
    pub fn region_came(&mut self, from: Option<Tip>) {
        self.left = self.limits;
        let Some(tip) = from else { return };
        if tip.waiting > 0 {
            self.tip = Some(tip);
        } else {
            self.tip = self.tip.filter(|old| old.origin != tip.origin);
        }
    }

    /// A region has ended here.
    pub fn region_ended(&mut self) {
        self.tip = self.tip.and_then(|tip| {
            Some(Tip { waiting: tip.waiting.checked_sub(1).filter(|&left| left > 0)?, ..tip })
        });
    }

    /// It is notified of regions that wait. Of two such tips it keeps the better one.
    pub fn take_tip(&mut self, tip: Tip) {
        if self.tip.is_none_or(|old| old.origin == tip.origin || old.waiting < tip.waiting) {
            self.tip = Some(tip);
        }
    }

    /// The tip for a rank that asks here and gets no region.
    pub fn tip_for(&mut self, asker: usize) -> Option<Tip> {
        let tip = self.tip.filter(|tip| tip.origin != asker)?.half()?;
        self.tip = Some(tip);
        Some(tip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: Tip = Tip { origin: 7, waiting: 5 };

    #[test]
    fn a_thief_asks_as_often_as_it_may() {
        let mut thief = Thief::default();
        for _ in 0..ATTEMPTS {
            assert!(thief.may_ask());
            assert_eq!(thief.asks(), None);
            assert!(!thief.may_ask());
            thief.is_answered(3, false, None);
        }
        assert!(!thief.may_ask());
        thief.region_came(None);
        assert_eq!(thief.asks(), None);
        thief.is_answered(3, true, None);
        assert!(thief.may_ask());
    }

    #[test]
    fn a_tip_is_followed_once_whatever_attempts_are_left() {
        let mut thief = Thief::with_limits(0, 1);
        assert!(!thief.may_ask());
        thief.take_tip(FAR);
        assert_eq!((thief.may_ask(), thief.asks()), (true, Some(7)));
        thief.is_answered(7, false, Some(Tip { origin: 8, waiting: 9 }));
        assert!(!thief.may_ask(), "it follows one in vain");
        thief.region_came(None);
        assert_eq!(thief.asks(), Some(8));
        thief.is_answered(8, true, None);
        assert_eq!(thief.asks(), Some(8), "who had some is asked again");
    }

    #[test]
    fn a_tip_dies_by_being_passed_on_and_by_time() {
        let mut thief = Thief::default();
        thief.take_tip(FAR);
        assert_eq!(thief.tip_for(7), None, "who asks has it");
        assert_eq!(
            [thief.tip_for(1), thief.tip_for(2), thief.tip_for(3)],
            [Some(Tip { waiting: 2, ..FAR }), Some(Tip { waiting: 1, ..FAR }), None]
        );
        assert_eq!(thief.asks(), Some(7));
        thief.region_ended();
        assert_eq!((thief.followed(), thief.tip), (None, None));
    }

    #[test]
    fn the_better_word_is_kept_and_the_newest_of_one_origin() {
        let mut thief = Thief::default();
        thief.take_tip(FAR);
        thief.take_tip(Tip { origin: 8, waiting: 4 });
        assert_eq!(thief.tip, Some(FAR));
        thief.take_tip(Tip { origin: 8, waiting: 6 });
        thief.take_tip(Tip { origin: 8, waiting: 2 });
        assert_eq!(thief.tip, Some(Tip { origin: 8, waiting: 2 }));
        thief.region_came(Some(Tip { origin: 7, waiting: 0 }));
        assert_eq!(thief.followed(), Some(8));
        thief.region_came(Some(Tip { origin: 8, waiting: 0 }));
        assert_eq!(thief.followed(), None);
    }
}
