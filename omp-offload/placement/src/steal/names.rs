//! Which ranks a rank notifies that regions wait somewhere: the names that thieves have left with
//! it, and *lifelines*.
//!
//! A thief that got nothing leaves its name, and is notified once. So word of work spreads to ranks
//! that have none, and costs nothing where all are busy. Where no thief has left a name, a lifeline
//! is notified: a rank at a distance of 1, 2, 4, … in turn. So any rank reaches any other in as
//! many steps as their number has bits. This is the hypercube of Saraswat et al., *Lifeline-based
//! global load balancing*, PPoPP 2011. There thieves leave their names along its edges, and so ask
//! along them. Here they leave them where they ask anyway. Lifelines may well be busy; hence the
//! [`PACE`].
//!
//! Rejected:
//! * Names of two ranks left with each rank at the start, a tree on which the first word reaches
//!   all ranks: lifelines do that, too.
//! * Notifying all names at once: they come in the middle of the same region.

use std::collections::VecDeque;

/// Occasions between two lifelines that are notified, at most. The first lifeline is notified at
/// once, and the occasions in between double.
pub const PACE: u32 = 64;

/// Where a rank is among the devices.
#[derive(Clone, Copy, Debug)]
pub struct RankRange {
    /// Its number, if it is a device.
    pub device: Option<usize>,
    /// How many devices there are.
    pub devices: usize,
}

impl RankRange {
    fn lifeline(self, number: u32) -> Option<usize> {
        let distances = usize::BITS - self.devices.saturating_sub(1).leading_zeros();
        let distance = 1 << number.checked_rem(distances)?;
        // A rank that is no device counts as the one before the first.
        let other = (self.device.unwrap_or(self.devices - 1) + distance) % self.devices;
        (self.device != Some(other)).then_some(other)
    }
}

/// See above.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WaitingThieves {
    left: VecDeque<usize>,
    /// Occasions without a name since the last lifeline, and how many there have to be.
    occasions: u32,
    pace: u32,
    /// The next one's number.
    lifeline: u32,
}

impl Default for WaitingThieves {
    fn default() -> Self {
        Self { left: VecDeque::new(), occasions: 0, pace: 1, lifeline: 0 }
    }
}

impl WaitingThieves {
    /// This device is to be notified.
    pub fn leave(&mut self, device: usize) {
        if !self.left.contains(&device) {
            self.left.push_back(device);
        }
    }

    /// A device is to be notified, but none of `except`. Returns which; its name is forgotten then.
    pub fn next(&mut self, place: RankRange, except: [Option<usize>; 2]) -> Option<usize> {
        let may = |&device: &usize| !except.contains(&Some(device));
        if let Some(at) = self.left.iter().position(may) {
            return self.left.remove(at);
        }
        self.occasions += 1;
        if self.occasions < self.pace {
            return None;
        }
        (self.occasions, self.pace) = (0, (2 * self.pace).min(PACE));
        let lifeline = place.lifeline(self.lifeline);
        self.lifeline = self.lifeline.wrapping_add(1);
        lifeline.filter(may)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_first_and_each_is_passed_on_once() {
        let mut names = WaitingThieves::default();
        [5, 6, 5, 7].into_iter().for_each(|name| names.leave(name));
        let place = RankRange { device: Some(6), devices: 8 };
        let notified: [_; 4] = core::array::from_fn(|_| names.next(place, [Some(6), Some(5)]));
        assert_eq!(
            notified,
            [Some(7), Some(7), None, Some(0)],
            "the second and the last are lifelines, 1 and 2 away"
        );
        assert_eq!(names.next(place, [None; 2]), Some(5));
    }

    #[test]
    fn lifelines_are_passed_on_more_and_more_rarely() {
        let mut names = WaitingThieves::default();
        let place = RankRange { device: Some(0), devices: 5 };
        let notified: Vec<_> = (1..400).filter_map(|at| Some((at, names.next(place, [None; 2])?))).collect();
        assert_eq!(notified[..7], [(1, 1), (3, 2), (7, 4), (15, 1), (31, 2), (63, 4), (127, 1)]);
        assert_eq!(notified[7..], [(191, 2), (255, 4), (319, 1), (383, 2)]);
    }

    #[test]
    fn every_device_is_reached_by_lifelines() {
        for devices in 1..70_usize {
            for first in [None, Some(0), Some(devices / 2)] {
                let mut reached = vec![first];
                let mut at = 0;
                while let Some(&device) = reached.get(at) {
                    let others = (0..8).filter_map(|number| RankRange { device, devices }.lifeline(number));
                    for other in others {
                        assert!(other < devices && Some(other) != device);
                        if !reached.contains(&Some(other)) {
                            reached.push(Some(other));
                        }
                    }
                    at += 1;
                }
                assert_eq!(
                    reached.iter().flatten().count(),
                    devices - usize::from(devices == 1 && first.is_none()),
                    "{devices} from {first:?}"
                );
            }
        }
    }
}
