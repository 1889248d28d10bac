//! Stealing between devices: regions that wait where they were created, and devices that ask for
//! them (TagHit §5.6.2).
//!
//! A region that was placed on a device does not go there at once if as many as it can use are
//! under way to it. It waits in the [`StealQueue`] of its *origin*, the process that created it and
//! has its data. A device with little to do asks an origin for regions that wait for others: the
//! origin changes their device, which is all that stealing is. So a region is in one queue from the
//! choice of its device to its launch, nothing has been copied for it, and its results come back as
//! those of any region.
//!
//! *Depths.* A region may create regions, and wait for them. Regions under way therefore hold back
//! only regions of the same depth of nesting. Those of the greatest depth wait for no region, end,
//! and let others of their depth begin. Then those of the depth before end, and so on. With one
//! window for all depths regions that wait for their own could fill it
//! (`mpi-bridge/tests/model_steal.rs` shows both).
//!
//! *Word of work.* A [`Thief`] that knows of an origin with work asks there; otherwise it asks any
//! rank, once ([`ATTEMPTS`]). Word of work ([`Tip`]) comes along with regions, with answers to
//! steals in vain, and to ranks that are *notified*. An origin that had nothing to give keeps the
//! thief's name. It notifies the thief once when regions wait again, with itself or with an origin
//! that it hears of. Where no thief has left a name, lifelines are notified, seldom
//! ([`RankRange`]). So ranks that have never had work hear of it, too. A notified rank gets a
//! region if it is in time, and with it word of those that still wait, which it passes on.
//!
//! *Silence.* A thief asks when a region has ended, when it was notified that regions wait
//! somewhere, and again after an answer; never by itself. After aborted steals in a row it asks no
//! more until a region or word of work comes. New word is sent only when regions come, begin to
//! wait or begin; word that is passed on is halved. So ranks without work send nothing, and the end
//! of the program can be found.
//!
//! Rejected:
//! * Sending regions from rank to rank as TagHit does: data would have to follow, and results would
//!   find their way back through all ranks that had them in between.
//! * Asking at intervals: an idle cluster would never fall silent.
//! * More attempts instead of word: 16 tries where few have work bring most of what there is to be
//!   had, and 20 aborted steals for each successful one where all have the same.

mod names;
mod thief;

pub use names::{PACE, RankRange};
pub use thief::{ATTEMPTS, TIPS, Thief, Tip};

use names::WaitingThieves;
use std::collections::VecDeque;

/// How much a thief is given at once (`OMPX_STEAL`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Amount {
    /// Nothing, and nothing waits: `off`.
    #[default]
    Nothing,
    /// One region: `one`.
    One,
    /// Half of what waits, rounded up: `half`.
    Half,
}

/// Depths of nesting that are distinguished. Deeper regions must not wait here.
pub const DEPTHS: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct StealableRegion<T> {
    device: usize,
    depth: usize,
    region: T,
}

/// The regions of one origin that wait, and how many of it are under way to each device.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StealQueue<T> {
    /// By device and depth.
    under_way: Vec<[u32; DEPTHS]>,
    /// The oldest first.
    waiting: VecDeque<StealableRegion<T>>,
    /// Devices that got nothing, and have not been notified of work since.
    names: WaitingThieves,
}

impl<T> Default for StealQueue<T> {
    fn default() -> Self {
        Self { under_way: Vec::new(), waiting: VecDeque::new(), names: WaitingThieves::default() }
    }
}

/// What a steal has come to.
#[derive(Debug, PartialEq, Eq)]
pub struct Stolen<T> {
    /// How many regions are the thief's now, 0: the steal is aborted.
    pub taken: usize,
    /// Those that begin now.
    pub begin: Vec<T>,
}

impl<T> StealQueue<T> {
    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Does no region wait?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    fn row(&mut self, device: usize) -> &mut [u32; DEPTHS] {
        if self.under_way.len() <= device {
            self.under_way.resize(device + 1, [0; DEPTHS]);
        }
        &mut self.under_way[device]
    }

    /// A region of this depth, which is below [`DEPTHS`], was placed on `device`, which can use
    /// `window` regions at a time. It is given back if it begins now; otherwise it waits.
    pub fn admit(&mut self, device: usize, depth: usize, window: u32, region: T) -> Option<T> {
        let before = self.waiting.iter().any(|w| w.device == device && w.depth == depth);
        let under_way = &mut self.row(device)[depth];
        if *under_way < window && !before {
            *under_way += 1;
            return Some(region);
        }
        self.waiting.push_back(StealableRegion { device, depth, region });
        None
    }

    /// The oldest region that waits for `device`, if there is room for it; it begins.
    pub fn next(&mut self, device: usize, depth: usize, window: u32) -> Option<T> {
        if self.row(device)[depth] >= window {
            return None;
        }
        let at = self.waiting.iter().position(|w| w.device == device && w.depth == depth)?;
        self.begin(at)
    }

    fn begin(&mut self, at: usize) -> Option<T> {
        let StealableRegion { device, depth, region } = self.waiting.remove(at)?;
        self.row(device)[depth] += 1;
        Some(region)
    }

    /// A region that had begun has ended. [`StealQueue::next`] returns the region that follows.
    pub fn ended(&mut self, device: usize, depth: usize) {
        let under_way = &mut self.row(device)[depth];
        *under_way = under_way.saturating_sub(1);
    }

    /// `thief` asks. If none waits for itself it gets the newest of those that wait for other
    /// devices: the oldest ones are next there. `carry` carries a region over, and says no
    /// where it cannot go there. At least one region begins if any is the thief's, whatever its
    /// window is: it has asked because it has time. A thief that gets nothing is remembered.
    pub fn steal(
        &mut self,
        thief: usize,
        amount: Amount,
        window: u32,
        mut carry: impl FnMut(&mut T) -> bool,
    ) -> Stolen<T> {
        let others = self.waiting.iter().filter(|w| w.device != thief).count();
        let most = match amount {
            _ if others < self.waiting.len() => 0,
            Amount::Nothing => 0,
            Amount::One => others.min(1),
            Amount::Half => others.div_ceil(2),
        };
        let mut taken = 0;
        for waiting in self.waiting.iter_mut().rev().filter(|w| w.device != thief) {
            if taken < most && carry(&mut waiting.region) {
                waiting.device = thief;
                taken += 1;
            }
        }
        let mut begin = Vec::new();
        while let Some(region) = (0..DEPTHS).find_map(|depth| self.next(thief, depth, window)) {
            begin.push(region);
        }
        if begin.is_empty()
            && let Some(at) = self.waiting.iter().position(|w| w.device == thief)
        {
            begin.extend(self.begin(at));
        }
        if begin.is_empty() {
            self.remember(thief);
        }
        Stolen { taken: taken.max(begin.len()), begin }
    }

    /// `thief` is to be notified when regions wait.
    pub fn remember(&mut self, thief: usize) {
        self.names.leave(thief);
    }

    /// A region has begun to wait, or one has begun while others wait. Returns the device that is
    /// to be notified of them, if any.
    pub fn announce(&mut self, place: RankRange) -> Option<usize> {
        if self.waiting.is_empty() { None } else { self.names.next(place, [None; 2]) }
    }

    /// Regions wait with another origin, which is the device `origin` if it is a device. Returns
    /// the device that is to be notified of them, if any.
    pub fn passes_on(&mut self, place: RankRange, origin: Option<usize>) -> Option<usize> {
        self.names.next(place, [place.device, origin])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A queue whose windows, of one region each, are taken, and in which these regions wait:
    /// device and name.
    fn queue(waiting: &[(usize, char)]) -> StealQueue<char> {
        let mut queue = StealQueue::default();
        for device in 0..4 {
            assert_eq!(queue.admit(device, 0, 1, '*'), Some('*'));
        }
        for &(device, name) in waiting {
            assert_eq!(queue.admit(device, 0, 1, name), None);
        }
        queue
    }

    #[test]
    fn a_region_waits_while_its_device_has_enough_and_the_oldest_follows() {
        let mut q = queue(&[(0, 'a'), (1, 'b'), (0, 'c')]);
        assert_eq!((q.len(), q.next(0, 0, 1)), (3, None));
        q.ended(0, 0);
        assert_eq!((q.next(0, 0, 1), q.next(0, 0, 1)), (Some('a'), None));
        assert_eq!(q.admit(0, 0, 9, 'd'), None, "behind the one that waits");
        assert_eq!([q.next(0, 0, 3), q.next(0, 0, 3), q.next(1, 0, 3)], [Some('c'), Some('d'), Some('b')]);
        assert!(q.is_empty());
    }

    #[test]
    fn regions_hold_back_those_of_their_own_depth_only() {
        let mut q = queue(&[(0, 'a')]);
        assert_eq!(q.admit(0, 1, 1, 'b'), Some('b'));
        assert_eq!(q.admit(0, 1, 1, 'c'), None);
        q.ended(0, 1);
        assert_eq!((q.next(0, 0, 1), q.next(0, 1, 1)), (None, Some('c')));
    }

    #[test]
    fn a_thief_gets_the_newest_half() {
        let mut q = queue(&[(0, 'a'), (1, 'b'), (0, 'c'), (1, 'd'), (0, 'e')]);
        let stolen = q.steal(2, Amount::Half, 2, |_| true);
        assert_eq!(stolen, Stolen { taken: 3, begin: vec!['c'] }, "one was under way, so one begins");
        q.ended(2, 0);
        assert_eq!((q.next(2, 0, 2), q.next(2, 0, 2)), (Some('d'), None));
        assert_eq!(
            q.steal(3, Amount::Half, 1, |_| true),
            Stolen { taken: 2, begin: vec!['b'] },
            "over its window: b and e"
        );
        assert_eq!(q.len(), 2);
    }

    #[test]
    fn a_thief_gets_one_or_nothing() {
        let mut q = queue(&[(0, 'a'), (1, 'b')]);
        assert_eq!(q.steal(2, Amount::Nothing, 1, |_| true).taken, 0);
        assert_eq!(q.steal(2, Amount::Half, 1, |_| false).taken, 0, "none can go there");
        assert_eq!(q.steal(2, Amount::One, 1, |&mut r| r == 'a'), Stolen { taken: 1, begin: vec!['a'] });
        assert_eq!(q.admit(0, 0, 1, 'c'), None);
        assert_eq!(
            q.steal(1, Amount::Half, 1, |_| true),
            Stolen { taken: 1, begin: vec!['b'] },
            "what waits for itself first"
        );
        assert_eq!(q.steal(1, Amount::Half, 1, |_| true), Stolen { taken: 1, begin: vec!['c'] });
        assert_eq!(q.steal(1, Amount::Half, 1, |_| true).taken, 0);
    }

    #[test]
    fn a_thief_without_answer_is_notified_once() {
        let place = RankRange { device: Some(0), devices: 4 };
        let mut q = queue(&[]);
        for thief in [3, 2, 3] {
            assert_eq!(q.steal(thief, Amount::Half, 1, |_| true).taken, 0);
        }
        assert_eq!(q.announce(place), None, "nothing waits");
        assert_eq!(q.admit(0, 0, 1, 'a'), None);
        assert_eq!([q.announce(place), q.announce(place)], [Some(3), Some(2)]);
        assert_eq!(
            [q.announce(place), q.announce(place)],
            [Some(1), None],
            "then a lifeline, and not each time"
        );
    }

    #[test]
    fn word_of_others_goes_neither_there_nor_home() {
        let place = RankRange { device: Some(0), devices: 4 };
        let mut q = queue(&[]);
        [0, 3, 2].into_iter().for_each(|name| q.remember(name));
        assert_eq!([q.passes_on(place, Some(3)), q.passes_on(place, Some(3))], [Some(2), Some(1)]);
        assert_eq!(q.passes_on(place, None), Some(3));
    }
}
