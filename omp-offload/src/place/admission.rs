//! Admissions on GPUs. Regions and device tasks ([`super::tasks`], [`super::versions`]) wait here,
//! suspended: first for an admission to be placed, and then until they may begin.
//!
//! The rules are in `placement::admission`: tasks are admitted by priority, remaining path, and
//! time. A GPU without work takes over regions that wait for another GPU. Here are the tasks that
//! wait, and how many regions a GPU can use. Only tasks for devices come here
//! ([`TaskFlags::OFFLOADED`]). The page is `docs/protocols/admission.md`.
//!
//! *A task whose admission counts waits for devices alone.* A task that has to wait for anything
//! else calls [`step_aside`] first; each such wait in this crate must do so. The function of a
//! device task may wait for anything. While it runs, the admission of its task does not count
//! ([`Admission::pause`]).
//!
//! The remaining path comes from the dependences. As soon as regions come here, each task with
//! dependences has a place in the order ([`made`]). Tasks of the host have one, too; their own time
//! counts as zero. The expected time of a region comes from the code of its task, since its data
//! are not known when the task is made. A program may have made most of its tasks before the first
//! one ends. So times that are learned then count for the tasks that exist already, too.
//!
//! If both locks are needed, the policy's lock is taken before the lock of this module. No task is
//! woken or suspended under this lock.

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use placement::admission::AdmissionQueue;
use placement::order::Id;
use placement::policy::View;

use super::one_shot::OneShot;
use super::reservation::{Offer, PlacedRegion, Reservation};
use super::{hints, policies, times};
use crate::avoided;
use crate::device_slot::DeviceSlot;
use crate::devices::usable;
use omp::depend;
use omp::env;
use omp::extension::offload::MARKS;
use omp::task::{Task, TaskFlags};
use omp::thread::CurrentThread;

/// Regions that a GPU can use at a time: one for each stream of kernels, and the same number whose
/// data are on their way (`docs/gpu-model.md`).
const EACH: u32 = 8;
/// The regions that have begun on a GPU should last so many nanoseconds together. The time covers
/// the host's part: the host reports the end of a region, and starts the next one.
const AHEAD: u64 = 500_000;
/// The most regions beyond [`EACH`] that may begin for [`AHEAD`].
const MOST_AHEAD: u64 = 56;

/// What a waiting task receives.
enum AdmissionGrant {
    Admission,
    Reservation(Reservation),
}

/// A task that waits.
struct AdmissionHeld {
    task: usize,
    one_shot: Arc<OneShot<AdmissionGrant>>,
    /// Set when the task has been placed.
    placed: Option<Offered>,
}

struct Offered {
    reservation: Reservation,
    offers: Vec<Offer>,
    elsewhere: u64,
}

/// A task that has an admission.
struct Holder {
    id: Id,
    /// The place in the order was made for the admission, and ends with it.
    own: bool,
    /// The device that the region was placed on.
    device: Option<usize>,
    /// See [`Admission::pause`].
    is_paused: bool,
}

/// The admission of a task. Dropping this value gives the admission back.
pub struct Admission(usize);

struct AdmissionState {
    admission: AdmissionQueue<AdmissionHeld>,
    holders: BTreeMap<usize, Holder>,
}

static STATE: Mutex<Option<AdmissionState>> = Mutex::new(None);
/// Regions that have waited.
static WAITED: AtomicU64 = AtomicU64::new(0);
/// Regions that another GPU has taken over.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// The number of regions that waited for their admission or their GPU, and of those that another
/// GPU than the chosen one has taken over.
pub fn counters() -> [u64; 2] {
    // ORDERING: Relaxed; the sums are for reports.
    [&WAITED, &TAKEN].map(|sum| sum.load(Ordering::Relaxed))
}

fn with<T>(work: impl FnOnce(&mut AdmissionState) -> T) -> T {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    work(state.get_or_insert_with(|| AdmissionState {
        admission: AdmissionQueue::new(usable().len()),
        holders: BTreeMap::new(),
    }))
}

fn key(task: &Task) -> usize {
    core::ptr::from_ref(task).addr()
}

// ---- the order of tasks -----------------------------------------------------

/// Notes that the program makes tasks for GPUs. From here on each task with dependences gets a
/// place in the order.
pub fn announce() {
    // ORDERING: Relaxed; tasks that were made before have no place in the order.
    MARKS.store(true, Ordering::Relaxed);
}

/// Do tasks have places in the order?
#[inline]
pub fn is_used() -> bool {
    // ORDERING: Relaxed; see `announce`.
    MARKS.load(Ordering::Relaxed)
}

/// Adds a new task with dependences to the order.
#[cold]
pub fn made(task: &Task) -> Id {
    // An announcement stays behind if its task never launched a region. So the function is checked
    // first.
    let entry = hints::take_function(task).or_else(|| Some(hints::is_announced(task)?.entry)).unwrap_or(0);
    with(|state| add(&mut state.admission, task, entry))
}

fn add(admission: &mut AdmissionQueue<AdmissionHeld>, task: &Task, entry: usize) -> Id {
    let id = admission.order().add(priority(task), times::expected_of(entry), &[]);
    admission.order().set_kind(id, entry);
    id
}

ult::seam! {
    /// The priority of a task among those that wait for an admission.
    fn priority(task: &Task) -> i32 {
        task.priority()
    } or admission_by_age {
        0
    }
}

/// Notes that one task waits for another one.
#[cold]
pub fn follows(id: Id, before: Id) {
    with(|state| lengthen_path(&mut state.admission, id, before));
}

ult::seam! {
    /// The path of the task `before` goes on with the task `id`, which waits for it.
    fn lengthen_path(admission: &mut AdmissionQueue<AdmissionHeld>, id: Id, before: Id) {
        admission.order().follow(id, before);
    } or admission_by_age {}
}

/// Updates the order after the expected times of regions have changed.
pub(super) fn learn() {
    if is_used() {
        with(|state| state.admission.order().learn(times::expected_of));
    }
}

/// Removes a complete task from the order.
#[cold]
pub fn complete(id: Id) {
    with(|state| state.admission.order().end(id));
}

// ---- admissions ------------------------------------------------------------------

fn is_gpu(slot: &DeviceSlot) -> bool {
    slot.owner.gpu.is_some()
}

/// How many regions a GPU can use at a time.
fn window(slot: &DeviceSlot) -> u32 {
    EACH + (AHEAD / slot.placing.usual_time().max(1)).min(MOST_AHEAD) as u32
}

/// How many tasks may have admissions.
fn admission() -> u32 {
    usable().iter().filter(|slot| is_gpu(slot)).map(window).sum()
}

/// Does the running task wait for an admission if it runs on a GPU? Regions inside of a device
/// task's function do not: they may have to wait for the tasks before that task.
pub(super) fn applies(here: CurrentThread) -> bool {
    here.task.flags().has(TaskFlags::OFFLOADED.with(TaskFlags::TARGET)) && is_used()
}

/// Waits until the running task's region, whose task has this code, may be placed. The task then
/// has an admission until [`give_back`].
pub(super) fn take(here: CurrentThread, entry: usize) {
    let (task, one_shot, most) = (key(here.task), Arc::new(OneShot::default()), admission());
    let place = depend::offload_mark(here.task).map(|mark| Id::of_word(mark.0));
    let waits = with(|AdmissionState { admission, holders }| {
        let id = place.unwrap_or_else(|| add(admission, here.task, entry));
        holders.insert(task, Holder { id, own: place.is_none(), device: None, is_paused: false });
        admission.ask(id, most, AdmissionHeld { task, one_shot: one_shot.clone(), placed: None }).is_none()
    });
    if waits {
        // ORDERING: Relaxed; a sum.
        WAITED.fetch_add(1, Ordering::Relaxed);
        one_shot.wait();
    }
}

/// Waits until the placed region of the running task may begin, if the task has an admission. The
/// returned reservation may be for another GPU.
pub(super) fn begin(here: CurrentThread, placed: PlacedRegion) -> Reservation {
    let PlacedRegion { mut reservation, offers, elsewhere, may_wait, follows, .. } = placed;
    let (task, one_shot, slot) = (key(here.task), Arc::new(OneShot::default()), reservation.slot());
    if !is_gpu(slot) || !may_wait {
        give_back(task);
        return reservation;
    }
    reservation.set_admission(Admission(task));
    let (device, window) = (slot.number as usize, window(slot));
    let held = AdmissionHeld {
        task,
        one_shot: one_shot.clone(),
        placed: Some(Offered { reservation, offers, elsewhere }),
    };
    let begins = with(|AdmissionState { admission, holders }| {
        let Some(holder) = holders.get_mut(&task) else { return Some(held) };
        let begins = if yields_admission(follows) {
            admission.place_behind(holder.id, device, window, held)
        } else {
            admission.place(holder.id, device, window, held)
        };
        holder.device = Some(device);
        begins
    });
    if let Some(AdmissionHeld { placed: Some(Offered { reservation, .. }), .. }) = begins {
        return reservation;
    }
    // ORDERING: Relaxed; a sum.
    WAITED.fetch_add(1, Ordering::Relaxed);
    if follows {
        // While the region waits, another task may have its admission.
        let_others_in(|_| Some(None));
    } else {
        usable().iter().filter(|slot| is_gpu(slot)).for_each(take_over);
    }
    match one_shot.wait() {
        AdmissionGrant::Reservation(reservation) => reservation,
        AdmissionGrant::Admission => {
            omp::report::fatal("a target region that had begun was given an admission")
        }
    }
}

ult::seam! {
    /// Does a region that `follows` others lend its admission while it waits for its device?
    fn yields_admission(follows: bool) -> bool {
        follows
    } or follower_keeps_admission {
        false
    }
}

/// Waits until the running device task, which calls this function, may be placed; as [`take`].
pub(super) fn take_for_task(here: CurrentThread, function: usize) {
    if here.task.flags().has(TaskFlags::OFFLOADED) && is_used() {
        take(here, function);
    }
}

/// Notes the mean time of a function. If that is news (`times::ended_of`), the remaining paths are
/// computed anew.
pub(super) fn ran(function: usize, nanoseconds: u64) {
    if times::ended_of(function, nanoseconds) {
        learn();
    }
}

/// Gives the task's admission back, if it has one: its work has ended, or it has to wait for more
/// than a device.
pub(super) fn give_back(task: usize) {
    if !is_used() {
        return;
    }
    let device = let_others_in(|AdmissionState { admission, holders }| {
        let Holder { id, own, device, is_paused } = holders.remove(&task)?;
        device.filter(|_| is_paused).into_iter().for_each(|device| admission.resumes(device));
        admission.ends(device);
        if own {
            admission.order().end(id);
        }
        Some(device)
    });
    if let Some(slot) = device.flatten().and_then(|device| usable().get(device)) {
        take_over(slot);
    }
}

/// Makes the change, and then lets other tasks begin or be placed. `change` returns `None` if it
/// makes no room, else the device that it makes room on, if any.
fn let_others_in(change: impl FnOnce(&mut AdmissionState) -> Option<Option<usize>>) -> Option<Option<usize>> {
    let mut given = Vec::new();
    let device = with(|state| {
        let device = change(state)?;
        let (admission, most) = (&mut state.admission, admission());
        if let Some((device, slot)) = device.and_then(|device| Some((device, usable().get(device)?))) {
            let window = window(slot);
            given.extend(core::iter::from_fn(|| admission.next_on(device, window)));
        }
        given.extend(core::iter::from_fn(|| admission.next(most)));
        Some(device)
    });
    given.into_iter().for_each(AdmissionHeld::go_on);
    device
}

impl Admission {
    ult::seam! {
        /// Called before code of the program runs for the task. That code may wait for a task that
        /// needs an admission. So this admission does not count until [`resume`](Self::resume).
        pub(super) fn pause(&self) {
            let_others_in(|AdmissionState { admission, holders }| {
                let holder = holders.get_mut(&self.0).filter(|holder| !holder.is_paused)?;
                admission.pauses(holder.device?);
                holder.is_paused = true;
                Some(holder.device)
            });
        } or function_keeps_admission {}
    }

    /// Called after that code has returned.
    pub(super) fn resume(&self) {
        with(|AdmissionState { admission, holders }| {
            let Some(holder) = holders.get_mut(&self.0).filter(|holder| holder.is_paused) else { return };
            holder.is_paused = false;
            holder.device.into_iter().for_each(|device| admission.resumes(device));
        });
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        give_back(self.0);
    }
}

/// Called before the running task waits for more than a device: gives its admission back.
pub fn step_aside(here: CurrentThread) {
    if may_hold_admission(here) {
        give_back(key(here.task));
    }
}

ult::seam! {
    /// Is the running task one of those that may have admissions?
    fn may_hold_admission(here: CurrentThread) -> bool {
        is_used() && here.task.flags().has(TaskFlags::OFFLOADED)
    } or admission_kept {
        false
    }
}

/// Lets the GPU take over regions that wait for other GPUs, as long as it has no work and the move
/// pays.
fn take_over(slot: &'static DeviceSlot) {
    let (device, limit) = (slot.number as usize, env::settings().devices.memory);
    if !with(|state| state.admission.is_idle(device)) {
        return;
    }
    let policy = policies::in_force(usable().len(), limit);
    let held = with(|AdmissionState { admission, holders }| {
        if !admission.is_idle(device) {
            return None;
        }
        let mut held = admission.take_over(device, |_, held| held.gain(slot, limit))?;
        if let Some(holder) = holders.get_mut(&held.task) {
            holder.device = Some(device);
        }
        held.carry_over(slot);
        Some(held)
    });
    drop(policy);
    if let Some(held) = held {
        // ORDERING: Relaxed; a sum.
        TAKEN.fetch_add(1, Ordering::Relaxed);
        held.go_on();
    }
}

impl AdmissionHeld {
    /// Lets the task go on.
    fn go_on(self) {
        self.one_shot.give(
            self.placed
                .map_or(AdmissionGrant::Admission, |placed| AdmissionGrant::Reservation(placed.reservation)),
        );
    }

    /// How much sooner the region would end on this GPU; `None` if it may not move there.
    fn gain(&self, slot: &DeviceSlot, limit: Option<u64>) -> Option<u64> {
        let Offered { reservation, offers, elsewhere } = self.placed.as_ref()?;
        let offer =
            offers.iter().find(|offer| offer.device == slot.number).filter(|_| !avoided::has(slot))?;
        let (now, from, cost) = (times::now(), reservation.slot(), reservation.expected());
        let room = limit.map_or(u64::MAX, |limit| limit.saturating_sub(slot.placing.in_use()));
        // The wait of its own GPU includes the region itself, so its time is subtracted.
        let stays =
            View { wait: from.placing.wait(from.load(), now).saturating_sub(cost), cost, ..View::default() };
        // The other GPU has no work.
        let goes = View {
            wait: 0,
            bring: offer.bring,
            moves: offer.bring,
            cost,
            need: *elsewhere,
            room,
            ..View::default()
        };
        stays.gain(&goes)
    }

    /// Moves the region to this GPU. Called under the policy's lock.
    fn carry_over(&mut self, slot: &'static DeviceSlot) {
        if let Some(Offered { reservation, elsewhere, .. }) = &mut self.placed {
            reservation.carry_over(slot, *elsewhere);
        }
    }
}
