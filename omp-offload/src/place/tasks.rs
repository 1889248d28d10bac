//! Device tasks whose GPU is the runtime's choice (`ompx_cuda_task`): their admission, the choice
//! of the GPU, and the times that are learned of them.
//!
//! Device tasks and regions share the admissions ([`admission`]). A task begins here when the tasks
//! before it have queued their work. There are three cases:
//! * All its predecessors have unfinished work on one GPU. The task follows them there, without the
//!   host, and is not offered to other GPUs.
//! * They have unfinished work on several GPUs. The task waits for it before it asks for an
//!   admission.
//! * Otherwise the policy in force chooses the GPU, as for regions.
//!
//! The time of a task is learned by its function and by the bytes of the array blocks that it
//! names. Of equal GPUs the one is chosen where most of the task's predecessors ran, then the one
//! that has most of its blocks. Policies that know regions by number (by hand, planned, from a
//! library) are not asked.
//!
//! The function is code of the program, and may wait for anything. So the admission pauses while it
//! runs ([`PlacedDeviceTask::opens`], [`PlacedDeviceTask::has_put`]). The runtime does not see
//! waits that the program makes by itself (for a variable, or a lock of the system's).
//!
//! Rejected: giving the admission back in each wait of the runtime's that a function may come to.
//!
//! What may not live here: streams and blocks (`device/work.rs`, `borrowed.rs`, `array/`), tasks
//! with versions ([`super::versions`]).

use placement::policy::View;
use placement::times::TaskKind;

use super::reservation::{Offer, PlacedRegion, Reservation, ReservedWork};
use super::{admission, hints, policies, rates, times};
use crate::device_slot::DeviceSlot;
use crate::devices::usable;
use crate::{array, avoided, borrowed, chain};
use omp::depend::Dependence;
use omp::env;
use omp::task::Task;
use omp::thread::CurrentThread;

/// Notes that the new task `task` will call this function on a GPU that the runtime chooses.
pub fn announce(task: &Task, function: usize) {
    admission::announce();
    hints::set_function(task, function);
}

/// The task has begun, or was discarded.
pub fn begins(task: &Task) {
    // The function was removed before, unless the task had no predecessors.
    hints::take_function(task);
}

/// A device task that has its GPU, until its work there is over. Then, or when this value is
/// dropped, the admission is given back.
pub struct PlacedDeviceTask(Reservation);

/// Waits until the running task's function may begin on the GPU of the returned value, as far as
/// admissions go; `None`: there is no GPU. The caller may be suspended.
pub fn take(function: usize, blocks: &[Dependence]) -> Option<PlacedDeviceTask> {
    let before = chain::devices_before(CurrentThread::get());
    if before.iter().any(|device| *device != before[0]) {
        chain::wait(CurrentThread::get().task);
    }
    // The task may have waited, here and below, and another worker may have resumed it.
    admission::take_for_task(CurrentThread::get(), function);
    let here = CurrentThread::get();
    let Some(placed) = choose(here, function, blocks) else {
        admission::step_aside(here);
        return None;
    };
    Some(PlacedDeviceTask(admission::begin(here, placed)))
}

fn choose(here: CurrentThread, function: usize, blocks: &[Dependence]) -> Option<PlacedRegion> {
    let slots = usable();
    let bytes = array::tasks::bytes(blocks);
    let kind = TaskKind { function, bytes, device: 1 };
    let (expected, owner) = (times::expected(kind), chain::device_before(here));
    let asked =
        DeviceTaskAsked { blocks, bytes, expected, now: times::now(), before: chain::devices_behind(here) };
    let sound: Vec<bool> =
        slots.iter().map(|slot| borrowed::has_streams(slot) && !avoided::has(slot)).collect();
    let any_sound = sound.contains(&true);
    let may_run = |slot: &DeviceSlot, is_sound: bool| {
        borrowed::has_streams(slot)
            && (owner.is_some() || !any_sound || is_sound)
            && stays_in_chain(slot, owner)
    };
    let mut policy = policies::in_force(slots.len(), env::settings().devices.memory);
    let views: Vec<View> = slots
        .iter()
        .zip(sound)
        .map(|(slot, is_sound)| if may_run(slot, is_sound) { asked.view(slot) } else { NOWHERE })
        .collect();
    let chosen =
        policy.choose_for_task(&views).filter(|&chosen| views.get(chosen).is_some_and(View::fits))?;
    let others = slots.iter().zip(&views).filter(|(other, view)| {
        other.number != slots[chosen].number && can_take_over(view) && policy.lets_steal()
    });
    let offers = others.map(|(other, view)| Offer { device: other.number, bring: view.bring }).collect();
    let reservation =
        Reservation::new(&slots[chosen], ReservedWork::without_memory(function, kind, expected));
    drop(policy);
    Some(PlacedRegion {
        reservation,
        may_move: false,
        may_wait: true,
        offers,
        elsewhere: 0,
        follows: owner.is_some(),
    })
}

ult::seam! {
    /// Is the device the `owner` of all unfinished work before the task, if there is such work?
    fn stays_in_chain(slot: &DeviceSlot, owner: Option<i32>) -> bool {
        owner.is_none_or(|owner| owner == slot.number)
    } or task_leaves_chain {
        true
    }
}

ult::seam! {
    /// Can a device with this view take the task over while it waits for another one?
    fn can_take_over(view: &View) -> bool {
        view.fits()
    } or task_never_moves {
        false
    }
}

/// The view of a device on which a task does not fit.
const NOWHERE: View =
    View { need: 1, room: 0, present: 0, running: 0, wait: 0, bring: 0, moves: 0, cost: 0, near: 0 };

/// A task to be placed, with all values that are the same for all GPUs.
struct DeviceTaskAsked<'a> {
    blocks: &'a [Dependence],
    bytes: u64,
    expected: u64,
    now: u64,
    /// The devices where its predecessors ran.
    before: Vec<i32>,
}

impl DeviceTaskAsked<'_> {
    /// The GPU as the policy sees it. Room for blocks is made when the task begins.
    fn view(&self, slot: &DeviceSlot) -> View {
        let present = array::tasks::near(slot, self.blocks);
        let bring = rates::bring(slot.number, self.bytes.saturating_sub(present));
        View {
            need: 0,
            room: u64::MAX,
            present,
            running: slot.load() + slot.placing.sent(),
            wait: slot.placing.wait(slot.load(), self.now),
            bring,
            moves: bring,
            cost: self.expected,
            near: self.before.iter().filter(|&&device| device == slot.number).count() as u32,
        }
    }
}

impl PlacedDeviceTask {
    /// The device that the task runs on.
    pub fn slot(&self) -> &'static DeviceSlot {
        self.0.slot()
    }

    /// The task asks for its stream; its function is called next.
    pub fn opens(&self) {
        self.0.pause();
    }

    /// The task has got the stream, perhaps behind other work of the GPU.
    pub fn launches(&mut self) {
        self.0.begin_on_stream();
        if !chain::devices_before(CurrentThread::get()).is_empty() {
            self.0.follow();
        }
        self.0.launch();
    }

    /// The function has returned.
    pub fn has_put(&self) {
        self.0.resume();
    }

    /// The work that the task queued is over, and the task is, too. `well`: it has not failed.
    pub fn ends(mut self, well: bool) {
        if well {
            self.0.land();
        } else {
            self.fails();
        }
    }

    ult::seam! {
        /// The task has failed, and gives its admission back.
        fn fails(self) {
            drop(self);
        } or failed_task_keeps_admission {
            core::mem::forget(self);
        }
    }
}
