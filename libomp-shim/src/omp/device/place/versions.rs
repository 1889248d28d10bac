//! Tasks with versions for several kinds of device: which of them runs, and where ([`placement::versions`]); here is what is known of the devices, and what runs take.
//!
//! The choice is made by a worker that could run the host's version now. So that version waits for nobody but the tasks before it, and what other tasks the team has waiting is not
//! looked at: nobody knows how long they take. A GPU is taken to run one task after the other; so a task has taken the time since it was put there or, if that is later, since the one before it was seen to
//! have ended. Its end is seen by whoever is idle, which may be late where all compute: such a run says between which times it has ended ([`Run`]).
//!
//! The lock of the record is held while a task is placed, so that two do not count on the same gap; devices' loads are looked at under it.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use placement::times::Kind;
use placement::versions::{Run, Versions, Way};

use super::writers::Writers;
use super::{rates, times};
use crate::omp::device::Slot;

static VERSIONS: Mutex<Versions> = Mutex::new(Versions::new());
/// Where tasks with versions have written, as far as they have said how much.
static WRITERS: Writers = Writers::new();
/// Stands for the host there: no device has this number.
const HOST: i32 = Writers::LAST;

fn versions() -> MutexGuard<'static, Versions> {
    VERSIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Something that a task reads or writes.
#[derive(Clone, Copy, Debug)]
pub struct Datum {
    /// Where it begins.
    pub address: usize,
    /// Bytes; 0: not known.
    pub bytes: u64,
    /// Its bytes are needed.
    pub reads: bool,
    /// They change.
    pub writes: bool,
}

/// A task whose way is to be chosen.
pub struct Asked<'a> {
    /// Its versions by address: the host's, and that for GPUs.
    pub functions: [usize; 2],
    /// What it uses.
    pub data: &'a [Datum],
    /// GPUs on which tasks before it have put work that is not over.
    pub before: &'a [i32],
}

/// A device, or the host.
pub type Place = Option<&'static Slot>;

impl Asked<'_> {
    fn way(&self, place: Place) -> Way {
        let bytes = self.data.iter().map(|datum| datum.bytes).fold(0, u64::saturating_add);
        let device = u8::from(place.is_some());
        let moves = self.data.iter().filter(|datum| datum.reads).map(|datum| moves(datum, place)).fold(0, u64::saturating_add);
        let wait = match place {
            Some(slot) => slot.placing.wait(slot.load(), times::now()),
            // It begins when those before it have ended.
            None => self.before.iter().filter_map(|&number| crate::omp::device::get(number)).map(|slot| slot.placing.wait(slot.load(), times::now())).max().unwrap_or(0),
        };
        let near = place.is_some_and(|slot| self.before.contains(&slot.number));
        Way { kind: Kind { function: self.functions[usize::from(device)], bytes, device }, wait, moves, near }
    }
}

/// Nanoseconds that a copy of it takes to where it would be used, if it was written elsewhere.
fn moves(datum: &Datum, place: Place) -> u64 {
    let Some(from) = WRITERS.of(datum.address).filter(|_| datum.bytes > 0) else { return 0 };
    let to = place.map_or(HOST, |slot| slot.number);
    match (from, to) {
        _ if from == to => 0,
        // To the host as long as from it.
        (_, HOST) => rates::bring(from, datum.bytes),
        (HOST, _) => rates::bring(to, datum.bytes),
        _ => rates::between(Some(from), to, datum.bytes),
    }
}

/// What a task has of a device from the choice to its end.
pub struct Share {
    way: Way,
    place: Place,
    expected: u64,
    began: Option<u64>,
}

/// The place among these for a task; `None`: there is none. `accept` says whether the task takes it now: else nothing has happened.
pub fn choose(asked: &Asked<'_>, places: &[Place], accept: impl FnOnce(Place) -> bool) -> Option<Result<Share, Place>> {
    let mut versions = versions();
    let ways: Vec<Way> = places.iter().map(|&place| asked.way(place)).collect();
    let chosen = versions.choose(&ways)?;
    let place = places[chosen];
    if !accept(place) {
        return Some(Err(place));
    }
    let expected = versions.place(&ways, chosen);
    if let Some(slot) = place {
        slot.placing.place(expected);
    }
    Some(Ok(Share { way: ways[chosen], place, expected, began: None }))
}

/// When somebody last saw that a task was not over, in nanoseconds as of [`times::now`]; 0: nobody has.
#[derive(Default)]
pub struct Seen(AtomicU64);

impl Seen {
    /// It is not over.
    pub fn pending(&self) {
        // ORDERING: Relaxed; one word, read by the task that was waited for.
        self.0.store(times::now(), Ordering::Relaxed);
    }
}

impl Share {
    /// Where the task runs.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Its code begins.
    pub fn begin(&mut self, data: &[Datum]) {
        let now = times::now();
        if let Some(slot) = self.place {
            slot.placing.begin(self.expected, now);
        }
        self.began = Some(now);
        let number = self.place.map_or(HOST, |slot| slot.number);
        data.iter().filter(|datum| datum.writes && datum.bytes > 0).for_each(|datum| WRITERS.note(datum.address, number));
    }

    /// What it has done is over, and well.
    pub fn end(mut self, seen: &Seen) {
        let Some(began) = self.began else { return };
        let now = times::now();
        let from = self.place.map_or(began, |slot| slot.placing.ends(now).clamp(began, now));
        // ORDERING: Relaxed; see `Seen`.
        let pending = seen.0.load(Ordering::Relaxed);
        let at_least = if self.place.is_some() { pending.saturating_sub(from) } else { now - from };
        self.leave(Some(Run { at_least, at_most: now - from, moves: self.way.moves }));
        core::mem::forget(self);
    }

    fn leave(&mut self, run: Option<Run>) {
        if let Some(slot) = self.place {
            slot.placing.forget(self.expected, self.began);
        }
        versions().ended(self.way.kind, run);
    }
}

impl Drop for Share {
    /// It has failed, or has not begun.
    fn drop(&mut self) {
        self.leave(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::omp::device::host::HostImage;

    const DATA: [Datum; 2] = [Datum { address: 0x7e00_0000_1000, bytes: 1 << 20, reads: true, writes: false }, Datum { address: 0x7e00_0000_2000, bytes: 1 << 20, reads: false, writes: true }];

    fn slot(number: i32) -> &'static Slot {
        Box::leak(Box::new(Slot::new(number, Box::new(HostImage::new(number, 0)))))
    }

    fn asked(functions: [usize; 2]) -> Asked<'static> {
        Asked { functions, data: &DATA, before: &[] }
    }

    /// A device has to do what was placed there until that has ended, also if it fails.
    #[test]
    fn what_is_placed_counts_until_it_has_ended() {
        let (gpu, asked) = (slot(0), asked([101, 102]));
        assert!(choose(&asked, &[], |_| true).is_none());
        assert!(choose(&asked, &[Some(gpu)], |_| false).is_some_and(|refused| refused.is_err()), "not now");
        assert_eq!(gpu.placing.wait(0, times::now()), 0);
        let mut share = choose(&asked, &[Some(gpu)], |_| true).and_then(Result::ok).unwrap();
        assert_eq!(gpu.placing.wait(0, times::now()), share.expected);
        share.begin(&DATA);
        assert!(gpu.placing.wait(0, times::now()) > 0);
        share.end(&Seen::default());
        assert_eq!(gpu.placing.wait(0, times::now()), 0);
        let share = choose(&asked, &[Some(gpu)], |_| true).and_then(Result::ok).unwrap();
        drop(share);
        assert_eq!(gpu.placing.wait(0, times::now()), 0);
        assert!(versions().expected(asked.way(Some(gpu)).kind, 0).is_some_and(|time| time < 1_000_000_000));
    }

    #[test]
    fn copies_are_needed_where_it_was_not_written() {
        let (gpu, other) = (slot(0), slot(1));
        let written = Datum { address: 0x7e00_0000_3000, bytes: 1 << 20, reads: true, writes: true };
        let asked = Asked { functions: [103, 104], data: &[written], before: &[1] };
        assert_eq!([None, Some(gpu), Some(other)].map(|place| asked.way(place).moves), [0; 3], "nobody knows");
        let mut share = choose(&asked, &[Some(other)], |_| true).and_then(Result::ok).unwrap();
        share.begin(&[written]);
        let ways = [None, Some(gpu), Some(other)].map(|place| asked.way(place));
        assert!(ways[0].moves > 1_000_000 && ways[1].moves > 1_000_000 && ways[2].moves == 0, "{ways:?}");
        assert_eq!(ways.map(|way| way.near), [false, false, true]);
        assert_eq!(ways.map(|way| (way.kind.bytes, way.kind.device, way.kind.function)), [(1 << 20, 0, 103), (1 << 20, 1, 104), (1 << 20, 1, 104)]);
        drop(share);
        let mut here = choose(&asked, &[None], |_| true).and_then(Result::ok).unwrap();
        here.begin(&[written]);
        assert_eq!((asked.way(None).moves, asked.way(Some(gpu)).moves > 1_000_000), (0, true));
        here.end(&Seen::default());
    }
}
