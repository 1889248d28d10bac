//! Admissions on GPUs: tasks that are regions, and device tasks ([`super::tasks`],
//! [`super::versions`]), wait here, suspended, until it is their admission to be placed, and then
//! until they begin.
//!
//! The rules are `placement::admission`': priority, remaining path, time; a GPU without work takes
//! over what waits for another one. Here are the tasks that wait, and how many regions a GPU can
//! use. Only tasks for devices come here ([`TaskFlags::OFFLOADED`]). *Who has an admission that
//! counts waits for devices alone*: whoever has to wait for more calls [`step_aside`] first; this
//! is owed by each such wait in this crate. While a device task's function runs, which may wait for
//! anything, its admission does not count ([`Admission::pause`]). The page is
//! `docs/protocols/admission.md`.
//!
//! The remaining path is reported by dependences: as soon as regions come here each task with
//! dependences has a place in the order ([`made`]), the host's too, whose own time counts as
//! nothing. What such a region takes is reported by its task's code, as its data are not known when
//! it is made; a program may have made most of its tasks by the time when the first one of them
//! ends, so what is learned then counts for those, too.
//!
//! Where both are needed, the policy's lock is taken before this one. Nobody is woken or suspended
//! under it.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use placement::admission::AdmissionQueue;
use placement::order::Id;
use placement::policy::View;

use super::one_shot::OneShot;
use super::{PlacedRegion, Reservation, hints, policies, times};
use crate::omp::depend;
use crate::omp::device::{DeviceSlot, avoided, usable};
use crate::omp::env;
use crate::omp::task::{Task, TaskFlags};
use crate::omp::thread::CurrentThread;

/// Regions that a GPU can use at a time: one for each stream of kernels, and as many whose data are
/// on their way (`docs/gpu-model.md`).
const EACH: u32 = 8;
/// Nanoseconds that what has begun on a GPU should last at least, and the most short regions for
/// that: their end is reported by the host, as is who follows.
const AHEAD: u64 = 500_000;
/// See [`AHEAD`].
const MOST_AHEAD: u64 = 56;

/// What a waiting task gets.
enum AdmissionGrant {
    Admission,
    Promise(Reservation),
}

/// A task that waits.
struct AdmissionHeld {
    task: usize,
    one_shot: Arc<OneShot<AdmissionGrant>>,
    /// When it has been placed.
    placed: Option<Offered>,
}

struct Offered {
    promise: Reservation,
    offers: Vec<Offer>,
    elsewhere: u64,
}

/// Another GPU that might run the region.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    /// Its number.
    pub(super) device: i32,
    /// Nanoseconds that copies to it take.
    pub(super) bring: u64,
}

/// A task that has an admission.
struct Holder {
    id: Id,
    /// The place in the order is the admission's alone.
    own: bool,
    /// Where the region has begun.
    device: Option<usize>,
    /// See [`Admission::pause`].
    is_paused: bool,
}

/// An admission of a task's, given back when this is dropped.
pub struct Admission(usize);

struct AdmissionState {
    admission: AdmissionQueue<AdmissionHeld>,
    holders: BTreeMap<usize, Holder>,
}

static STATE: Mutex<Option<AdmissionState>> = Mutex::new(None);
static USED: AtomicBool = AtomicBool::new(false);
/// Regions that waited, and those that a GPU has taken over.
static WAITED: AtomicU64 = AtomicU64::new(0);
/// See [`WAITED`].
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// Regions that waited for their admission or their GPU; those that another GPU than the chosen one
/// has taken over.
pub fn counters() -> [u64; 2] {
    // ORDERING: Relaxed; sums for people.
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

/// Tasks are made that are regions for GPUs. From here on each task with dependences costs its
/// place in the order.
pub fn announce() {
    // ORDERING: Relaxed; tasks that were made before have no place there.
    USED.store(true, Ordering::Relaxed);
}

/// Do tasks have places in the order?
#[inline]
pub fn is_used() -> bool {
    // ORDERING: Relaxed; see `announce`.
    USED.load(Ordering::Relaxed)
}

/// A task with dependences is made.
#[cold]
pub fn made(task: &Task) -> Id {
    // What is announced of a task that never launched anything stays, so a function comes first.
    let entry = hints::take_function(task).or_else(|| Some(hints::is_announced(task)?.entry)).unwrap_or(0);
    with(|state| add(&mut state.admission, task, entry))
}

fn add(admission: &mut AdmissionQueue<AdmissionHeld>, task: &Task, entry: usize) -> Id {
    let id = admission.order().add(priority(task), times::expected_of(entry), &[]);
    admission.order().set_kind(id, entry);
    id
}

fn priority(task: &Task) -> i32 {
    if ult::mutant!(admission_by_age) { 0 } else { task.priority() }
}

/// One of them waits for another one.
#[cold]
pub fn follows(id: Id, before: Id) {
    if ult::mutant!(admission_by_age) {
        return;
    }
    with(|state| state.admission.order().follow(id, before));
}

/// It is known better how long regions take.
pub(super) fn learn() {
    if is_used() {
        with(|state| state.admission.order().learn(times::expected_of));
    }
}

/// It is complete.
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

/// How many may have admissions.
fn admission() -> u32 {
    usable().iter().filter(|slot| is_gpu(slot)).map(window).sum()
}

/// Is the running task a region that waits for its admission, if it runs on a GPU? Regions inside
/// of a device task's function do not: they may have to wait for those before the task.
pub(super) fn applies(here: CurrentThread) -> bool {
    here.task.flags().has(TaskFlags::OFFLOADED.with(TaskFlags::TARGET)) && is_used()
}

/// The running task's region, of a task with this code, is ready: waits until it may be placed. It
/// has an admission then, until [`give_back`].
pub(super) fn take(here: CurrentThread, entry: usize) {
    let (task, one_shot, most) = (key(here.task), Arc::new(OneShot::default()), admission());
    let place = depend::place_in_order(here.task);
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

/// The running task's region was placed: waits until it may begin, if it has an admission. Its
/// promise may be for another GPU then.
pub(super) fn begin(here: CurrentThread, placed: PlacedRegion) -> Reservation {
    let PlacedRegion { mut promise, offers, elsewhere, may_wait, follows, .. } = placed;
    let (task, one_shot, slot) = (key(here.task), Arc::new(OneShot::default()), promise.slot());
    if !is_gpu(slot) || !may_wait {
        give_back(task);
        return promise;
    }
    promise.set_admission(Admission(task));
    let (device, window) = (slot.number as usize, window(slot));
    let held = AdmissionHeld {
        task,
        one_shot: one_shot.clone(),
        placed: Some(Offered { promise, offers, elsewhere }),
    };
    let begins = with(|AdmissionState { admission, holders }| {
        let Some(holder) = holders.get_mut(&task) else { return Some(held) };
        let begins = if follows && !ult::mutant!(follower_keeps_turn) {
            admission.place_behind(holder.id, device, window, held)
        } else {
            admission.place(holder.id, device, window, held)
        };
        holder.device = Some(device);
        begins
    });
    if let Some(AdmissionHeld { placed: Some(Offered { promise, .. }), .. }) = begins {
        return promise;
    }
    // ORDERING: Relaxed; a sum.
    WAITED.fetch_add(1, Ordering::Relaxed);
    if follows {
        // Its admission is another's as long as it waits.
        let_others_in(|_| Some(None));
    } else {
        usable().iter().filter(|slot| is_gpu(slot)).for_each(take_over);
    }
    match one_shot.wait() {
        AdmissionGrant::Promise(promise) => promise,
        AdmissionGrant::Admission => {
            crate::omp::report::fatal("a target region that had begun was given an admission")
        }
    }
}

/// The running device task is ready, whose function this is: as [`take`].
pub(super) fn take_for_task(here: CurrentThread, function: usize) {
    if here.task.flags().has(TaskFlags::OFFLOADED) && is_used() {
        take(here, function);
    }
}

/// It has taken so long by now, as a mean: paths are made anew if that is news.
pub(super) fn ran(function: usize, nanoseconds: u64) {
    if times::ended_of(function, nanoseconds) {
        learn();
    }
}

/// The task gives its admission back, if it has one: its work has ended, or it has to wait for more
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

/// Others may begin, or be placed, after this change, which says where somebody makes room for
/// them: `None` if nobody does.
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
    /// Code of the program's is about to run for the task, which may wait for what needs an
    /// admission: this one does not count until it [resumes](Self::resume).
    pub(super) fn pause(&self) {
        if ult::mutant!(function_keeps_turn) {
            return;
        }
        let_others_in(|AdmissionState { admission, holders }| {
            let holder = holders.get_mut(&self.0).filter(|holder| !holder.is_paused)?;
            admission.pauses(holder.device?);
            holder.is_paused = true;
            Some(holder.device)
        });
    }

    /// The code has returned.
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

/// The running task has to wait for more than a device.
pub fn step_aside(here: CurrentThread) {
    if is_used() && here.task.flags().has(TaskFlags::OFFLOADED) && !ult::mutant!(turn_kept) {
        give_back(key(here.task));
    }
}

/// The GPU takes over what waits for others, as long as it has nothing to do and that pays.
fn take_over(slot: &'static DeviceSlot) {
    let (device, limit) = (slot.number as usize, env::settings().device_memory);
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
    /// The task goes on.
    fn go_on(self) {
        self.one_shot.give(
            self.placed.map_or(AdmissionGrant::Admission, |placed| AdmissionGrant::Promise(placed.promise)),
        );
    }

    /// How much sooner it would have run on this GPU.
    fn gain(&self, slot: &DeviceSlot, limit: Option<u64>) -> Option<u64> {
        let Offered { promise, offers, elsewhere } = self.placed.as_ref()?;
        let offer =
            offers.iter().find(|offer| offer.device == slot.number).filter(|_| !avoided::has(slot))?;
        let (now, from, cost) = (times::now(), promise.slot(), promise.expected());
        let room = limit.map_or(u64::MAX, |limit| limit.saturating_sub(slot.placing.in_use()));
        // It is one of those that its own GPU has to run.
        let stays =
            View { wait: from.placing.wait(from.load(), now).saturating_sub(cost), cost, ..View::default() };
        // The other one has nothing to do.
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

    /// Its GPU is this one from here on. Under the policy's lock.
    fn carry_over(&mut self, slot: &'static DeviceSlot) {
        if let Some(Offered { promise, elsewhere, .. }) = &mut self.placed {
            promise.carry_over(slot, *elsewhere);
        }
    }
}
