//! The order of regions on devices that take them one after the other: which ready region is placed
//! next, which placed region begins, and which region another device takes over
//! ([`AdmissionQueue`]).
//!
//! A ready region waits for its *admission*: no more regions have one than all devices can use. So
//! a region is placed late, when it is known where data are and which other regions are ready. Once
//! placed, a region begins if fewer regions have begun on its device than the device can use. Else
//! it waits in the device's queue. Queues go by [`TaskOrder`]: the `priority` clause, the remaining
//! path, the region's own time, its age.
//!
//! A device on which no region has begun takes over a region that waits for another device: the one
//! that gains most by it.
//!
//! *A region with an admission ends by what its device does, or gives the admission back.* A region
//! may have to wait for something else: memory, or a block of an array that others use. Then it
//! gives its admission back before it waits ([`AdmissionQueue::ends`]), since what it waits for may
//! need an admission. So admissions come back whenever devices go on, and each ready region gets
//! one.
//!
//! *Code of the program may wait for anything.* Where such code puts the work on the device, the
//! admission *pauses* while the code runs ([`AdmissionQueue::pauses`]). It counts neither among the
//! admissions nor in its device's window, but the device is not idle. When the code has returned,
//! the admission counts again ([`AdmissionQueue::resumes`]), even beyond the limit: by as many
//! regions as run such code at a time.
//!
//! Rejected: one window per device and no common limit. All that is ready is placed at once then,
//! by what is known at that moment; taking over has to mend it.

use std::collections::BTreeMap;

use crate::Time;
use crate::order::{Id, TaskOrder};

/// A region that waits: for its device, or without a device for its admission.
#[derive(Clone, Debug)]
struct WaitingRegion<T> {
    device: Option<usize>,
    /// It follows others on its device, and has no admission as long as it waits.
    follows: bool,
    region: T,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct AdmissionQueue<T> {
    /// A queue for each device, and a last one for regions that wait for their admission.
    order: TaskOrder,
    waiting: BTreeMap<Id, WaitingRegion<T>>,
    /// Regions that have an admission.
    admitted: u32,
    /// Those of them that have begun, by device.
    begun: Vec<u32>,
    /// Begun regions whose admission pauses, by device: they are in neither of these numbers.
    paused: Vec<u32>,
}

impl<T> AdmissionQueue<T> {
    /// For so many devices.
    #[must_use]
    pub fn new(devices: usize) -> Self {
        Self {
            order: TaskOrder::new(devices + 1),
            waiting: BTreeMap::new(),
            admitted: 0,
            begun: vec![0; devices],
            paused: vec![0; devices],
        }
    }

    /// The tasks, and their order.
    pub fn order(&mut self) -> &mut TaskOrder {
        &mut self.order
    }

    /// How many regions wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Does no region wait?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    fn last(&self) -> usize {
        self.begun.len()
    }

    /// A region is ready; at most `limit` regions may have admissions. It is returned if it gets an
    /// admission; otherwise it waits.
    pub fn ask(&mut self, id: Id, limit: u32, region: T) -> Option<T> {
        let last = self.last();
        if self.admitted < limit && self.order.is_empty(last) {
            self.admitted += 1;
            return Some(region);
        }
        self.wait(id, None, false, region);
        None
    }

    /// A region that has an admission was placed on the device, which can use `window` regions. It
    /// is returned if it begins; otherwise it waits.
    pub fn place(&mut self, id: Id, device: usize, window: u32, region: T) -> Option<T> {
        if self.begun[device] < window && self.order.is_empty(device) {
            self.begin(id, device);
            return Some(region);
        }
        self.wait(id, Some(device), false, region);
        None
    }

    /// The same for a region that follows others on the device and could run on no other device.
    /// While it waits, its admission is given back, since any number of such regions may wait there
    /// while other devices have nothing to do. If it waits, other regions may get admissions now.
    pub fn place_behind(&mut self, id: Id, device: usize, window: u32, region: T) -> Option<T> {
        let begins = self.place(id, device, window, region);
        if let (None, Some(waiting)) = (&begins, self.waiting.get_mut(&id)) {
            waiting.follows = true;
            self.admitted -= 1;
        }
        begins
    }

    fn wait(&mut self, id: Id, device: Option<usize>, follows: bool, region: T) {
        let queue = device.unwrap_or(self.last());
        self.waiting.insert(id, WaitingRegion { device, follows, region });
        self.order.push(id, queue);
    }

    fn begin(&mut self, id: Id, device: usize) {
        self.begun[device] += 1;
        self.order.begin(id);
    }

    /// An admission is given back: that of a region that has begun on the device, or without a
    /// device that of a region that was not placed.
    pub fn ends(&mut self, device: Option<usize>) {
        self.admitted -= 1;
        if let Some(device) = device {
            self.begun[device] -= 1;
        }
    }

    /// The admission of a region that has begun on the device does not count until it
    /// [resumes](Self::resumes): code runs for it that may wait for a region without an admission.
    pub fn pauses(&mut self, device: usize) {
        self.ends(Some(device));
        self.paused[device] += 1;
    }

    /// The paused admission counts again.
    pub fn resumes(&mut self, device: usize) {
        self.paused[device] -= 1;
        self.admitted += 1;
        self.begun[device] += 1;
    }

    fn take(&mut self, id: Id) -> Option<T> {
        self.order.remove(id);
        let WaitingRegion { follows, region, .. } = self.waiting.remove(&id)?;
        self.admitted += u32::from(follows);
        Some(region)
    }

    /// The first region that waits for its admission, if fewer than `limit` regions have one: it
    /// has its admission then.
    pub fn next(&mut self, limit: u32) -> Option<T> {
        let id = self.order.first(self.last()).filter(|_| self.admitted < limit)?;
        self.admitted += 1;
        self.take(id)
    }

    /// The first region that waits for the device, if fewer than `window` have begun there: it
    /// begins.
    pub fn next_on(&mut self, device: usize, window: u32) -> Option<T> {
        let id = self.order.first(device).filter(|_| self.begun[device] < window)?;
        self.begin_waiting(id, device)
    }

    fn begin_waiting(&mut self, id: Id, device: usize) -> Option<T> {
        let region = self.take(id);
        self.begin(id, device);
        region
    }

    /// Has the device nothing to do, while regions wait for other devices?
    #[must_use]
    pub fn is_idle(&self, device: usize) -> bool {
        self.begun[device] + self.paused[device] == 0
            && self.order.is_empty(device)
            && (0..self.last()).any(|other| !self.order.is_empty(other))
    }

    /// The device takes over the region that gains most by it, of the last few in the queue of each
    /// other device: the region begins there. `gain` gets the device that a region waits for;
    /// `None`: the region stays.
    pub fn take_over(&mut self, device: usize, mut gain: impl FnMut(usize, &T) -> Option<Time>) -> Option<T> {
        let mut best: Option<(Time, Id)> = None;
        for other in (0..self.last()).filter(|&other| other != device) {
            let may_go = |id: &Id| self.waiting.get(id).is_some_and(|waiting| !waiting.follows);
            for id in self.order.queue(other).rev().filter(may_go).take(LOOKED_AT) {
                let found = self.waiting.get(&id).and_then(|waiting| gain(waiting.device?, &waiting.region));
                best = best.max(found.map(|gain| (gain, id)));
            }
        }
        self.begin_waiting(best?.1, device)
    }
}

/// See [`AdmissionQueue::take_over`].
const LOOKED_AT: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(tasks: &[(i32, Time)]) -> (AdmissionQueue<usize>, Vec<Id>) {
        let mut queue = AdmissionQueue::new(2);
        let ids = tasks.iter().map(|&(priority, cost)| queue.order().add(priority, cost, &[])).collect();
        (queue, ids)
    }

    #[test]
    fn no_more_are_admitted_than_may_be_and_the_order_stays() {
        let (mut t, ids) = queue(&[(0, 5), (0, 5), (0, 9), (1, 1)]);
        assert_eq!(
            (t.ask(ids[0], 1, 0), t.ask(ids[1], 1, 1), t.ask(ids[2], 1, 2), t.ask(ids[3], 1, 3)),
            (Some(0), None, None, None)
        );
        assert_eq!((t.next(1), t.len()), (None, 3));
        t.ends(None);
        assert_eq!((t.next(2), t.next(2), t.next(2)), (Some(3), Some(2), None), "by priority, then by time");
        t.ends(None);
        assert_eq!((t.next(2), t.is_empty()), (Some(1), true));
    }

    #[test]
    fn nobody_overtakes_who_waits() {
        let (mut t, ids) = queue(&[(0, 1); 3]);
        assert_eq!((t.ask(ids[0], 1, 0), t.ask(ids[1], 1, 1)), (Some(0), None));
        assert_eq!(t.ask(ids[2], 9, 2), None, "there is one before it");
        assert_eq!((t.next(9), t.next(9)), (Some(1), Some(2)));
        let (mut t, ids) = queue(&[(0, 1); 3]);
        for (at, &id) in ids.iter().enumerate() {
            assert_eq!(t.ask(id, 9, at), Some(at));
        }
        assert_eq!(
            (t.place(ids[0], 0, 1, 0), t.place(ids[1], 0, 1, 1), t.place(ids[2], 0, 9, 2)),
            (Some(0), None, None)
        );
        assert_eq!(
            (t.next_on(0, 1), t.next_on(1, 9), t.next_on(0, 2), t.next_on(0, 2)),
            (None, None, Some(1), None)
        );
        t.ends(Some(0));
        assert_eq!(t.next_on(0, 2), Some(2));
    }

    #[test]
    fn an_idle_device_takes_what_gains_most() {
        let (mut t, ids) = queue(&[(0, 1); 5]);
        for (at, &id) in ids.iter().enumerate() {
            assert_eq!(t.ask(id, 9, at), Some(at));
        }
        assert_eq!(t.place(ids[0], 0, 1, 0), Some(0));
        assert!(!t.is_idle(1), "there is nothing to take");
        (1..5).for_each(|at| assert_eq!(t.place(ids[at], 0, 1, at), None));
        assert_eq!((t.is_idle(0), t.is_idle(1)), (false, true));
        assert_eq!(t.take_over(1, |_, _| None), None, "it does not pay");
        assert_eq!(t.take_over(1, |from, &at| (from == 0 && at != 4).then_some(10 * at as Time)), Some(3));
        assert!(!t.is_idle(1), "it has something to do");
        t.ends(Some(1));
        assert!(t.is_idle(1));
        t.ends(Some(0));
        assert_eq!(core::array::from_fn(|_| t.next_on(0, 9)), [Some(1), Some(2), Some(4), None]);
        assert!(t.is_empty() && !t.is_idle(1));
    }

    /// The code of the paused region waits for the other region, which needs an admission.
    #[test]
    fn a_paused_admission_does_not_count_but_its_device_is_busy() {
        let (mut t, ids) = queue(&[(0, 1); 3]);
        assert_eq!(
            (t.ask(ids[0], 1, 0), t.place(ids[0], 0, 1, 0), t.ask(ids[1], 1, 1)),
            (Some(0), Some(0), None)
        );
        assert_eq!(t.next(1), None);
        t.pauses(0);
        assert_eq!((t.next(1), t.place(ids[1], 0, 1, 1)), (Some(1), Some(1)));
        t.resumes(0);
        assert_eq!(t.ask(ids[2], 2, 2), None, "two are admitted");
        t.ends(Some(0));
        assert_eq!((t.next(2), t.place(ids[2], 1, 0, 2)), (Some(2), None));
        t.pauses(0);
        assert!(!t.is_idle(0), "something is about to be put there");
        t.resumes(0);
        t.ends(Some(0));
        assert!(t.is_idle(0));
        assert_eq!(t.take_over(0, |_, _| Some(1)), Some(2));
        t.ends(Some(0));
        assert!(t.admitted == 0 && t.begun == [0, 0] && t.paused == [0, 0]);
    }

    /// Any number of such regions may wait for one device: the other device gets later regions.
    #[test]
    fn a_region_that_follows_others_is_not_admitted_while_it_waits() {
        let (mut t, ids) = queue(&[(0, 1); 5]);
        for (at, &id) in ids[..3].iter().enumerate() {
            assert_eq!(t.ask(id, 2, at), Some(at));
            assert_eq!(t.place_behind(id, 0, 1, at), (at == 0).then_some(0));
        }
        assert_eq!((t.ask(ids[3], 2, 3), t.ask(ids[4], 2, 4)), (Some(3), None), "one has begun, and one may");
        assert_eq!(t.place(ids[3], 0, 1, 3), None);
        assert_eq!(t.take_over(1, |_, &at| Some(9 - at as Time)), Some(3), "who follows stays");
        t.ends(Some(1));
        assert_eq!(t.next(2), Some(4));
        t.ends(None);
        t.ends(Some(0));
        assert_eq!(
            (t.next_on(0, 1), t.next_on(0, 1), t.admitted),
            (Some(1), None, 1),
            "it has its admission again"
        );
        t.ends(Some(0));
        assert_eq!(t.next_on(0, 1), Some(2));
        t.ends(Some(0));
        assert!(t.admitted == 0 && t.is_empty());
    }

    #[test]
    fn what_comes_later_behind_a_region_brings_it_forward() {
        let (mut t, ids) = queue(&[(0, 5), (0, 5), (0, 6)]);
        assert_eq!(t.ask(ids[0], 1, 0), Some(0));
        assert_eq!((t.ask(ids[1], 1, 1), t.ask(ids[2], 1, 2)), (None, None));
        let behind = t.order().add(0, 2, &[]);
        t.order().follow(behind, ids[1]);
        t.ends(None);
        assert_eq!(t.next(1), Some(1), "5 and 2 behind it are more than 6");
    }

    /// Whatever comes in whatever order: limits hold, and all regions run.
    #[test]
    fn in_the_end_all_have_run() {
        for seed in 0..200 {
            let random = &mut crate::examples::ExampleRandom::new(seed);
            let (devices, regions, limit, window) =
                (random.between(1, 3) as usize, 60, random.between(1, 6) as u32, random.between(1, 3) as u32);
            let mut t: AdmissionQueue<(Id, Option<usize>)> = AdmissionQueue::new(devices);
            let (mut made, mut unplaced, mut running, mut paused, mut over) =
                (0, Vec::new(), Vec::new(), Vec::new(), 0);
            // No paused region resumes as long as others may go on: so no region waits for it.
            let mut stuck = 0;
            while over < regions {
                assert!(stuck < 1000, "seed {seed}: nobody goes on");
                let before = (made, unplaced.len(), running.len(), paused.len(), over);
                let (has_admission, begins) = match random.between(0, 4) {
                    0 if made < regions => {
                        made += 1;
                        let id = t.order().add(0, random.between(1, 9), &[]);
                        (t.ask(id, limit, (id, None)), None)
                    }
                    1 if !unplaced.is_empty() => {
                        let (id, _): (Id, _) =
                            unplaced.swap_remove(random.between(0, unplaced.len() as u64 - 1) as usize);
                        let device = random.between(0, devices as u64 - 1) as usize;
                        (None, t.place(id, device, window, (id, Some(device))))
                    }
                    2 if !running.is_empty() => {
                        let (id, device): (Id, Option<usize>) =
                            running.swap_remove(random.between(0, running.len() as u64 - 1) as usize);
                        t.ends(device);
                        t.order().end(id);
                        over += 1;
                        (None, device.and_then(|device| t.next_on(device, window)))
                    }
                    3 if !running.is_empty() && paused.len() < 20 => {
                        let (id, device): (Id, Option<usize>) =
                            running.swap_remove(random.between(0, running.len() as u64 - 1) as usize);
                        device.into_iter().for_each(|device| t.pauses(device));
                        paused.push((id, device));
                        (None, device.and_then(|device| t.next_on(device, window)))
                    }
                    3 if made == regions && unplaced.is_empty() && running.is_empty() && t.is_empty() => {
                        let Some((id, Some(device))) = paused.pop() else { continue };
                        t.resumes(device);
                        running.push((id, Some(device)));
                        (None, None)
                    }
                    _ => {
                        let idle = (0..devices).find(|&device| t.is_idle(device));
                        (
                            t.next(limit),
                            idle.and_then(|device| {
                                t.take_over(device, |_, _| Some(1)).map(|(id, _)| (id, Some(device)))
                            }),
                        )
                    }
                };
                unplaced.extend(has_admission);
                running.extend(begins);
                stuck = if before == (made, unplaced.len(), running.len(), paused.len(), over) {
                    stuck + 1
                } else {
                    0
                };
                let begun: u32 = t.begun.iter().sum();
                assert!(
                    t.admitted <= limit
                        && begun as usize == running.len()
                        && t.begun.iter().all(|&begun| begun <= window),
                    "seed {seed}"
                );
            }
            assert!(t.is_empty() && t.admitted == 0);
        }
    }
}
