//! Tasks with versions for several kinds of device: which version runs, and where
//! ([`placement::versions`]). Here are the state of the devices, and the times of runs.
//!
//! A worker that could run the host's version at once makes the choice. So that version waits only
//! for the tasks before it. Other tasks that the team has waiting are not considered, since their
//! times are not known.
//!
//! A GPU is assumed to run one task after the other. So the time of a task starts when it was put
//! on the GPU, or when the end of the task before it was seen, if that is later. A thread that
//! waits for the task, or is idle, sees its end. This may be late if all threads compute. So the
//! thread that makes a choice polls first ([`look`]). Without that, GPUs that had long finished
//! counted as late, and therefore as busy; so the workers ran the host's versions, and no thread
//! polled. If an end was not seen in time, only the times between which it happened are known
//! ([`VersionRun`]).
//!
//! Locks, in this order: the list of watched work, the state of one entry, the record of times, the
//! load of a device. The record's lock is held while a task is placed, so that two tasks do not
//! count on the same gap. No lock is held while a thread waits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use placement::times::TaskKind;
use placement::versions::{VersionOption, VersionRun, VersionTimes};
use ult::sched::undisturbed;

use super::admission::{self, Admission};
use super::reservation::{Offer, PlacedRegion, Reservation};
use super::writers::Writers;
use super::{rates, times};
use crate::device_slot::DeviceSlot;
use crate::devices::get;
use crate::transfer;
use device_trait::{DeviceFailure, DeviceOperation, DeviceProgress};
use omp::thread::CurrentThread;

static VERSIONS: Mutex<VersionTimes> = Mutex::new(VersionTimes::new());
/// Where tasks with versions have written data, if they gave the size.
#[unsafe(link_section = ".sbss.large")]
static WRITERS: Writers = Writers::new();
/// Stands for the host in [`WRITERS`]; no device has this number.
const HOST: i32 = Writers::LAST;

fn versions() -> MutexGuard<'static, VersionTimes> {
    VERSIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A datum that a task reads or writes.
#[derive(Clone, Copy, Debug)]
pub struct VersionDatum {
    /// The first byte.
    pub address: usize,
    /// The size in bytes; 0: not known.
    pub bytes: u64,
    /// The task reads the datum.
    pub reads: bool,
    /// The task writes the datum.
    pub writes: bool,
}

/// A task whose version and device are to be chosen.
pub struct VersionRequest<'a> {
    /// The addresses of its versions: the host's, and the one for GPUs.
    pub functions: [usize; 2],
    /// The data that it uses.
    pub data: &'a [VersionDatum],
    /// The GPUs on which its predecessors have unfinished work.
    pub before: &'a [i32],
}

/// A device, or the host.
pub type VersionDevice = Option<&'static DeviceSlot>;

impl VersionRequest<'_> {
    /// Nanoseconds that copies of the data that the task reads take to `place`.
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
            // On the host the task begins when its predecessors have ended.
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

/// Nanoseconds that a copy of the datum to `place` takes, if it was written elsewhere.
fn moves(datum: &VersionDatum, place: VersionDevice) -> u64 {
    let Some(from) = WRITERS.of(datum.address).filter(|_| datum.bytes > 0) else { return 0 };
    let to = place.map_or(HOST, |slot| slot.number);
    match (from, to) {
        _ if from == to => 0,
        // A copy to the host is assumed to take as long as one from it.
        (_, HOST) => rates::bring(from, datum.bytes),
        (HOST, _) => rates::bring(to, datum.bytes),
        _ => rates::between(Some(from), to, datum.bytes),
    }
}

/// A task's part in the load of a device, from the choice to its end.
pub struct Share {
    way: VersionOption,
    place: VersionDevice,
    expected: u64,
    began: Option<u64>,
    /// Set on a GPU. It reserves no memory, so it is made and moved without the policy's lock.
    reservation: Option<Reservation>,
    has_left: bool,
}

/// Chooses one of `places` for a task; `None` if there is none. `accept` says whether the task
/// takes the place now. If it does not, nothing has changed.
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
    let reservation = place.map(|slot| Reservation::of_version(slot, ways[chosen].kind, expected));
    Some(Ok(Share { way: ways[chosen], place, expected, began: None, reservation, has_left: false }))
}

impl Share {
    /// The place that the task runs on.
    pub fn place(&self) -> VersionDevice {
        self.place
    }

    /// Waits until the running task, which is for a GPU, has an admission, and its GPU can use it.
    /// The task may then be for another one of `gpus`.
    pub fn take_admission(
        &mut self,
        asked: &VersionRequest<'_>,
        gpus: impl FnOnce() -> Vec<&'static DeviceSlot>,
        follows: bool,
    ) {
        admission::take_for_task(CurrentThread::get(), self.way.kind.function);
        let Some(mut reservation) = self.reservation.take() else { return };
        let gpus = gpus();
        if let Some(&slot) = gpus.iter().min_by_key(|slot| self.finish(asked, slot))
            && slot.number != reservation.slot().number
        {
            reservation.carry_over(slot, 0);
        }
        let others = gpus.iter().filter(|slot| slot.number != reservation.slot().number);
        let offers =
            others.map(|slot| Offer { device: slot.number, bring: asked.moves(Some(slot)) }).collect();
        // The task may have waited, and another worker may have resumed it.
        let reservation = admission::begin(
            CurrentThread::get(),
            PlacedRegion { reservation, may_move: false, may_wait: true, offers, elsewhere: 0, follows },
        );
        self.go_to(reservation.slot());
        self.way.moves = asked.moves(self.place);
        self.reservation = Some(reservation);
    }

    ult::seam! {
        /// The task runs on this device from here on.
        fn go_to(&mut self, slot: &'static DeviceSlot) {
            self.place = Some(slot);
        } or version_stays {}
    }

    /// How long from now until the task would have run on the device. Of equal devices the task
    /// stays where it is.
    fn finish(&self, asked: &VersionRequest<'_>, slot: &'static DeviceSlot) -> (u64, bool) {
        let is_there = self.place.is_some_and(|place| place.number == slot.number);
        let wait = slot.placing.wait(slot.load(), times::now()).saturating_sub(if is_there {
            self.expected
        } else {
            0
        });
        (wait.saturating_add(asked.moves(Some(slot))), !is_there)
    }

    /// The task asks for its stream; its function is called next.
    pub fn opens(&self) {
        self.reservation.iter().for_each(Reservation::pause);
    }

    /// The task has got the stream.
    pub fn launches(&mut self) {
        self.reservation.iter_mut().for_each(Reservation::begin_on_stream);
    }

    /// The function has returned. From here on the caller owns the admission. The thread that sees
    /// the end of the task's work may be in the middle of anything, and must not give the admission
    /// back.
    pub fn has_put(&mut self) -> Option<Admission> {
        self.reservation.iter().for_each(Reservation::resume);
        self.reservation.as_mut().and_then(Reservation::take_admission)
    }

    /// The code of the task begins.
    pub fn begin(&mut self, data: &[VersionDatum]) {
        let now = times::now();
        self.reservation.iter_mut().for_each(Reservation::launch);
        self.began = Some(now);
        let number = self.place.map_or(HOST, |slot| slot.number);
        data.iter()
            .filter(|datum| datum.writes && datum.bytes > 0)
            .for_each(|datum| WRITERS.note(datum.address, number));
    }

    /// The work of the task is over, and has succeeded. On a GPU it was last seen unfinished at the
    /// time `pending`; 0: never.
    pub fn end(mut self, pending: u64) {
        let Some(began) = self.began else { return };
        let now = times::now();
        let from = self
            .reservation
            .as_mut()
            .map_or(began, |reservation| reservation.land_behind().clamp(began, now));
        let at_least = if self.place.is_some() { pending.saturating_sub(from) } else { now - from };
        self.leave(Some(VersionRun { at_least, at_most: now - from, moves: self.way.moves }));
    }

    fn leave(&mut self, run: Option<VersionRun>) {
        if !core::mem::replace(&mut self.has_left, true) {
            versions().ended(self.way.kind, run);
        }
    }
}

/// Work of a version on a GPU, until a thread has seen that it is over.
struct Watched {
    slot: &'static DeviceSlot,
    operation: DeviceOperation,
    state: Mutex<VersionState>,
}

enum VersionState {
    /// When a thread last saw that the work was not over; 0: never.
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

    /// Is the work over? The first thread that sees its end notes how long it took.
    fn is_over(&self) -> bool {
        // Other contexts of this kernel thread may want the lock, also in the scheduler. The
        // driver's code is not part of the runtime.
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

/// Polls the work of versions on GPUs. The thread that waits for the work may be kept from polling
/// for long, by tasks that its worker runs.
fn look() {
    let mut pending: Vec<i32> = Vec::new();
    for work in watched().iter() {
        // As a rule work that was put on a GPU later is over later.
        if !pending.contains(&work.slot.number) && !work.is_over() {
            pending.push(work.slot.number);
        }
    }
}

/// Waits for the work that the version has put on its GPU.
///
/// # Errors
/// The work failed.
pub fn complete(
    share: Share,
    slot: &'static DeviceSlot,
    operation: DeviceOperation,
) -> Result<(), DeviceFailure> {
    let kind = share.way.kind;
    let result = complete_share(share, slot, operation);
    let expected = versions().expected(kind, 0);
    // Called by the task, with no lock held.
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
    // The work is over, unless this is the child of a fork.
    match &*work.state() {
        VersionState::Over(result) => result.clone(),
        VersionState::Pending(..) => Ok(()),
    }
}

impl Drop for Share {
    /// The task has failed, or has not begun.
    fn drop(&mut self) {
        self.leave(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::HostImage;

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

    /// Placed work counts for a device until it has ended, also if it fails.
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
