//! Tasks with versions for several kinds of device: which of them runs, and where
//! ([`placement::versions`]); here is what is known of the devices, and what runs take.
//!
//! The choice is made by a worker that could run the host's version now. So that version waits for
//! nobody but the tasks before it, and what other tasks the team has waiting is not looked at:
//! nobody knows how long they take. A GPU is taken to run one task after the other; so a task has
//! taken the time since it was put there or, if that is later, since the one before it was seen to
//! have ended. Its end is seen by whoever waits for it or is idle, which may be late where all
//! compute; so whoever chooses looks first ([`look`]). Without that GPUs that had long been through
//! with everything counted as late and therefore busy, the workers ran the host's versions, and
//! nobody looked. What nobody saw in time says between which times it has ended ([`VersionRun`]).
//!
//! Locks, in this order: the list of what is watched, the state of one of these, the record of
//! times, the load of a device. That of the record is held while a task is placed, so that two do
//! not count on the same gap. None is held while anybody waits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use placement::times::TaskKind;
use placement::versions::{VersionOption, VersionRun, VersionTimes};
use ult::sched::undisturbed;

use super::admission::{self, Admission, Offer};
use super::writers::Writers;
use super::{PlacedRegion, Reservation, rates, times};
use crate::omp::device::interface::{DeviceFailure, DeviceOperation, DeviceProgress};
use crate::omp::device::{DeviceSlot, get, transfer};
use crate::omp::thread::CurrentThread;

static VERSIONS: Mutex<VersionTimes> = Mutex::new(VersionTimes::new());
/// Where tasks with versions have written, as far as they have said how much.
static WRITERS: Writers = Writers::new();
/// Stands for the host there: no device has this number.
const HOST: i32 = Writers::LAST;

fn versions() -> MutexGuard<'static, VersionTimes> {
    VERSIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Something that a task reads or writes.
#[derive(Clone, Copy, Debug)]
pub struct VersionDatum {
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
pub struct VersionRequest<'a> {
    /// Its versions by address: the host's, and that for GPUs.
    pub functions: [usize; 2],
    /// What it uses.
    pub data: &'a [VersionDatum],
    /// GPUs on which tasks before it have put work that is not over.
    pub before: &'a [i32],
}

/// A device, or the host.
pub type VersionDevice = Option<&'static DeviceSlot>;

impl VersionRequest<'_> {
    /// Nanoseconds that copies of what it reads take to there.
    fn moves(&self, place: VersionDevice) -> u64 {
        self.data
            .iter()
            .filter(|datum| datum.reads)
            .map(|datum| moves(datum, place))
            .fold(0, u64::saturating_add)
    }

    fn way(&self, place: VersionDevice) -> VersionOption {
        let bytes = self.data.iter().map(|datum| datum.bytes).fold(0, u64::saturating_add);
        let device = u8::from(place.is_some());
        let moves = self.moves(place);
        let wait = match place {
            Some(slot) => slot.placing.wait(slot.load(), times::now()),
            // It begins when those before it have ended.
            None => self
                .before
                .iter()
                .filter_map(|&number| get(number))
                .map(|slot| slot.placing.wait(slot.load(), times::now()))
                .max()
                .unwrap_or(0),
        };
        let near = place.is_some_and(|slot| self.before.contains(&slot.number));
        VersionOption {
            kind: TaskKind { function: self.functions[usize::from(device)], bytes, device },
            wait,
            moves,
            near,
        }
    }
}

/// Nanoseconds that a copy of it takes to where it would be used, if it was written elsewhere.
fn moves(datum: &VersionDatum, place: VersionDevice) -> u64 {
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
    way: VersionOption,
    place: VersionDevice,
    expected: u64,
    began: Option<u64>,
    /// On a GPU. Nobody counts on room for it, so it is made and moves without the policy's lock.
    promise: Option<Reservation>,
    has_left: bool,
}

/// The place among these for a task; `None`: there is none. `accept` says whether the task takes it
/// now: else nothing has happened.
pub fn choose(
    asked: &VersionRequest<'_>,
    places: &[VersionDevice],
    accept: impl FnOnce(VersionDevice) -> bool,
) -> Option<Result<Share, VersionDevice>> {
    undisturbed(look);
    let mut versions = versions();
    let ways: Vec<VersionOption> = places.iter().map(|&place| asked.way(place)).collect();
    let chosen = versions.choose(&ways)?;
    let place = places[chosen];
    if !accept(place) {
        return Some(Err(place));
    }
    let expected = versions.place(&ways, chosen);
    let promise = place.map(|slot| Reservation::of_version(slot, ways[chosen].kind, expected));
    Some(Ok(Share { way: ways[chosen], place, expected, began: None, promise, has_left: false }))
}

impl Share {
    /// Where the task runs.
    pub fn place(&self) -> VersionDevice {
        self.place
    }

    /// The running task, which is for a GPU, waits for its admission, and until its GPU can use it.
    /// It may be for another one of these then.
    pub fn take_admission(
        &mut self,
        asked: &VersionRequest<'_>,
        gpus: impl FnOnce() -> Vec<&'static DeviceSlot>,
        follows: bool,
    ) {
        admission::take_for_task(CurrentThread::get(), self.way.kind.function);
        let Some(mut promise) = self.promise.take() else { return };
        let gpus = gpus();
        if let Some(&slot) = gpus.iter().min_by_key(|slot| self.finish(asked, slot))
            && slot.number != promise.slot().number
        {
            promise.carry_over(slot, 0);
        }
        let others = gpus.iter().filter(|slot| slot.number != promise.slot().number);
        let offers =
            others.map(|slot| Offer { device: slot.number, bring: asked.moves(Some(slot)) }).collect();
        // It may have waited, and another worker may go on with it.
        let promise = admission::begin(
            CurrentThread::get(),
            PlacedRegion { promise, may_move: false, may_wait: true, offers, elsewhere: 0, follows },
        );
        if !ult::mutant!(version_stays) {
            self.place = Some(promise.slot());
        }
        self.way.moves = asked.moves(self.place);
        self.promise = Some(promise);
    }

    /// When it would have run there, from now; of those that are equal it stays where it is.
    fn finish(&self, asked: &VersionRequest<'_>, slot: &'static DeviceSlot) -> (u64, bool) {
        let is_there = self.place.is_some_and(|place| place.number == slot.number);
        let wait = slot.placing.wait(slot.load(), times::now()).saturating_sub(if is_there {
            self.expected
        } else {
            0
        });
        (wait.saturating_add(asked.moves(Some(slot))), !is_there)
    }

    /// The task asks for its stream, and then its function is called.
    pub fn opens(&self) {
        self.promise.iter().for_each(Reservation::pause);
    }

    /// It has got the stream.
    pub fn launches(&mut self) {
        self.promise.iter_mut().for_each(Reservation::begin_on_stream);
    }

    /// The function has returned. The admission is the task's own from here on: who sees the end of
    /// what it has put there may be in the middle of anything.
    pub fn has_put(&mut self) -> Option<Admission> {
        self.promise.iter().for_each(Reservation::resume);
        self.promise.as_mut().and_then(Reservation::take_admission)
    }

    /// Its code begins.
    pub fn begin(&mut self, data: &[VersionDatum]) {
        let now = times::now();
        self.promise.iter_mut().for_each(Reservation::launch);
        self.began = Some(now);
        let number = self.place.map_or(HOST, |slot| slot.number);
        data.iter()
            .filter(|datum| datum.writes && datum.bytes > 0)
            .for_each(|datum| WRITERS.note(datum.address, number));
    }

    /// What it has done is over, and well; on a GPU somebody last saw that it was not at that time,
    /// or never (0).
    pub fn end(mut self, pending: u64) {
        let Some(began) = self.began else { return };
        let now = times::now();
        let from = self.promise.as_mut().map_or(began, |promise| promise.land_behind().clamp(began, now));
        let at_least = if self.place.is_some() { pending.saturating_sub(from) } else { now - from };
        self.leave(Some(VersionRun { at_least, at_most: now - from, moves: self.way.moves }));
    }

    fn leave(&mut self, run: Option<VersionRun>) {
        if !core::mem::replace(&mut self.has_left, true) {
            versions().ended(self.way.kind, run);
        }
    }
}

/// Work of a version on a GPU, until somebody has seen that it is over.
struct Watched {
    slot: &'static DeviceSlot,
    operation: DeviceOperation,
    state: Mutex<VersionState>,
}

enum VersionState {
    /// When somebody last saw that it was not over; 0: nobody has.
    Pending(u64, Share),
    Over(Result<(), DeviceFailure>),
}

static WATCHED: Mutex<Vec<Arc<Watched>>> = Mutex::new(Vec::new());

fn watched() -> MutexGuard<'static, Vec<Arc<Watched>>> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watched {
    fn state(&self) -> MutexGuard<'_, VersionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Is it over? Who sees it first notes how long it took.
    fn is_over(&self) -> bool {
        // Others of this kernel thread may want the lock, in the scheduler too, and the driver's
        // code is no part of the runtime.
        undisturbed(|| self.look())
    }

    fn look(&self) -> bool {
        let mut state = self.state();
        let VersionState::Pending(seen, _) = &mut *state else { return true };
        let result = match self.slot.device.poll(self.operation) {
            DeviceProgress::Pending => {
                *seen = times::now();
                return false;
            }
            DeviceProgress::Done => Ok(()),
            DeviceProgress::Failed(why) => Err(why),
        };
        let went_well = result.is_ok();
        if let VersionState::Pending(seen, share) =
            core::mem::replace(&mut *state, VersionState::Over(result))
            && went_well
        {
            share.end(seen);
        }
        true
    }
}

/// Looks at what versions have put on GPUs: who waits for it may be kept from looking for long, by
/// tasks that its worker runs.
fn look() {
    let mut pending: Vec<i32> = Vec::new();
    for work in watched().iter() {
        // As a rule what was put there later is over later.
        if !pending.contains(&work.slot.number) && !work.is_over() {
            pending.push(work.slot.number);
        }
    }
}

/// Waits for what the version has put on its GPU.
///
/// # Errors
/// It failed.
pub fn complete(
    share: Share,
    slot: &'static DeviceSlot,
    operation: DeviceOperation,
) -> Result<(), DeviceFailure> {
    let kind = share.way.kind;
    let result = complete_share(share, slot, operation);
    let expected = versions().expected(kind, 0);
    // By the task, in no lock.
    if let Some(expected) = expected.filter(|_| result.is_ok()) {
        admission::ran(kind.function, expected);
    }
    result
}

fn complete_share(
    share: Share,
    slot: &'static DeviceSlot,
    operation: DeviceOperation,
) -> Result<(), DeviceFailure> {
    if operation == DeviceOperation::DONE {
        share.end(0);
        return Ok(());
    }
    let work = Arc::new(Watched { slot, operation, state: Mutex::new(VersionState::Pending(0, share)) });
    watched().push(work.clone());
    transfer::wait(&|| work.is_over(), &|wake| slot.device.wake_on(operation, wake));
    watched().retain(|other| !Arc::ptr_eq(other, &work));
    // Over, unless this is the child of a fork.
    match &*work.state() {
        VersionState::Over(result) => result.clone(),
        VersionState::Pending(..) => Ok(()),
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

    const DATA: [VersionDatum; 2] = [
        VersionDatum { address: 0x7e00_0000_1000, bytes: 1 << 20, reads: true, writes: false },
        VersionDatum { address: 0x7e00_0000_2000, bytes: 1 << 20, reads: false, writes: true },
    ];

    fn slot(number: i32) -> &'static DeviceSlot {
        Box::leak(Box::new(DeviceSlot::new(number, Box::new(HostImage::new(number, 0)))))
    }

    fn asked(functions: [usize; 2]) -> VersionRequest<'static> {
        VersionRequest { functions, data: &DATA, before: &[] }
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
        share.end(0);
        assert_eq!(gpu.placing.wait(0, times::now()), 0);
        let share = choose(&asked, &[Some(gpu)], |_| true).and_then(Result::ok).unwrap();
        drop(share);
        assert_eq!(gpu.placing.wait(0, times::now()), 0);
        assert!(versions().expected(asked.way(Some(gpu)).kind, 0).is_some_and(|time| time < 1_000_000_000));
    }

    #[test]
    fn copies_are_needed_where_it_was_not_written() {
        let (gpu, other) = (slot(0), slot(1));
        let written = VersionDatum { address: 0x7e00_0000_3000, bytes: 1 << 20, reads: true, writes: true };
        let asked = VersionRequest { functions: [103, 104], data: &[written], before: &[1] };
        assert_eq!(
            [None, Some(gpu), Some(other)].map(|place| asked.way(place).moves),
            [0; 3],
            "nobody knows"
        );
        let mut share = choose(&asked, &[Some(other)], |_| true).and_then(Result::ok).unwrap();
        share.begin(&[written]);
        let ways = [None, Some(gpu), Some(other)].map(|place| asked.way(place));
        assert!(ways[0].moves > 1_000_000 && ways[1].moves > 1_000_000 && ways[2].moves == 0, "{ways:?}");
        assert_eq!(ways.map(|way| way.near), [false, false, true]);
        assert_eq!(
            ways.map(|way| (way.kind.bytes, way.kind.device, way.kind.function)),
            [(1 << 20, 0, 103), (1 << 20, 1, 104), (1 << 20, 1, 104)]
        );
        drop(share);
        let mut here = choose(&asked, &[None], |_| true).and_then(Result::ok).unwrap();
        here.begin(&[written]);
        assert_eq!((asked.way(None).moves, asked.way(Some(gpu)).moves > 1_000_000), (0, true));
        here.end(0);
    }
}
