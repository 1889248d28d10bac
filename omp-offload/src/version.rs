//! Tasks that have a function for the host and one for GPUs (`ompx_task_versions`): the runtime
//! chooses which of them runs.
//!
//! Such a task begins as a device task does ([`super::work`]): when the device tasks before it have
//! queued their work. If a GPU is chosen then, its work is queued behind theirs. If the host is,
//! the task waits until those before it are complete, and the choice is made once more, since by
//! then much may have changed. If the host is chosen again, the task is one like any other of the
//! team.
//!
//! Where GPUs are the runtime's choice, a task for a GPU waits for its admission. By then another
//! GPU may be the better one, or may take the task over ([`super::place::tasks`]). A task for the
//! host waits for no admission.
//!
//! A GPU that gives no stream has run nothing yet: the task goes elsewhere. A failure after that is
//! the task's failure: it is not known what the task has done. In either case tasks with versions
//! leave that GPU alone from there on, as far as they have a choice: a CUDA context
//! after an error is of no use any more.
//!
//! What does not live here: the choice itself ([`super::place::versions`]).

use core::ffi::{c_int, c_void};
use core::ptr;

use super::borrowed;
use super::place::region::{ANY, ANY_GPU};
use super::place::versions::{self, Share, VersionDatum, VersionDevice, VersionRequest};
use super::work::{self, DeviceTaskFailure};
use super::{array, avoided, chain, place, transfer};
use crate::bytes::Bytes;
use crate::device_slot::DeviceSlot;
use crate::devices;
use crate::handle::{RemoteFault, RemoteHandle};
use omp::depend::{self, Dependence};
use omp::env::TargetOffload;
use omp::report;
use omp::target;
use omp::task::{self, Task, TaskFlags};
use omp::thread::{CurrentThread, Thread};

/// A version: the number of the device, a stream of it (null on the host), the copy of the
/// arguments; 0 or an error of its own.
pub type VersionFunction = unsafe extern "C-unwind" fn(c_int, *mut c_void, *const c_void) -> c_int;

/// What a task has versions for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenVersions {
    /// For the host.
    pub host: bool,
    /// For GPUs.
    pub gpu: bool,
}

/// Where a task may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionChoice {
    host: bool,
    gpus: Gpus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gpus {
    None,
    Any,
    One(i32),
}

impl VersionChoice {
    /// With this number for the device, and these versions.
    ///
    /// # Errors
    /// There is no such device, or no version for it.
    pub fn new(device: i32, given: GivenVersions) -> Result<Self, RemoteFault> {
        let is_mandatory = target::offload() == TargetOffload::Mandatory;
        let gpus = given.gpu && borrowed::exists(ANY_GPU);
        let found = match device {
            target::INITIAL => Self { host: true, gpus: Gpus::None },
            _ if device == devices::count() => Self { host: true, gpus: Gpus::None },
            ANY => Self { host: !is_mandatory, gpus: if gpus { Gpus::Any } else { Gpus::None } },
            ANY_GPU if gpus => Self { host: false, gpus: Gpus::Any },
            ANY_GPU => Self { host: !is_mandatory, gpus: Gpus::None },
            _ => Self {
                host: false,
                gpus: if gpus && borrowed::exists(device) { Gpus::One(device) } else { Gpus::None },
            },
        };
        let found = Self { host: found.host && given.host, ..found };
        if found.host || found.gpus != Gpus::None { Ok(found) } else { Err(RemoteFault::Device) }
    }

    /// The places, GPUs first: of equal ones a GPU leaves the worker to others.
    fn places(self, without: &[VersionDevice]) -> Vec<VersionDevice> {
        let gpus = borrowed::all().filter(|slot| match self.gpus {
            Gpus::None => false,
            Gpus::Any => true,
            Gpus::One(number) => slot.number == number,
        });
        let all: Vec<VersionDevice> = gpus
            .map(Some)
            .chain(self.host.then_some(None))
            .filter(|place| !without.iter().any(|other| is_same(*place, *other)))
            .collect();
        let sound: Vec<VersionDevice> =
            all.iter().copied().filter(|place| place.is_none_or(|slot| !avoided::has(slot))).collect();
        if sound.is_empty() { all } else { sound }
    }
}

fn is_same(one: VersionDevice, other: VersionDevice) -> bool {
    one.map(|slot| slot.number) == other.map(|slot| slot.number)
}

/// The GPU has failed a task with versions.
fn avoid(slot: &DeviceSlot) {
    if avoided::add(slot) {
        report::warn(format_args!(
            "device {} has failed: tasks with versions run elsewhere from here on if they can",
            slot.number
        ));
    }
}

/// What a task does.
pub struct TaskVersions {
    /// Where.
    pub among: VersionChoice,
    /// The host's version.
    pub host: Option<VersionFunction>,
    /// That for GPUs.
    pub gpu: Option<VersionFunction>,
    /// The arguments.
    pub arguments: Bytes,
    /// What it uses.
    pub data: Vec<VersionDatum>,
    /// Accesses that name blocks of arrays; [`create`] looks for them.
    pub blocks: Vec<Dependence>,
    /// Whom to tell.
    pub future: Option<RemoteHandle>,
}

const _: () = assert!(align_of::<TaskVersions>() <= align_of::<Task>());

/// Creates the task, as a child of the running one.
pub fn create(
    here: CurrentThread,
    versions: TaskVersions,
    items: impl ExactSizeIterator<Item = Dependence> + Clone,
) {
    // With a GPU to choose as `work::create`; else a task like any other.
    let has_gpus = versions.among.gpus != Gpus::None;
    let flags = TaskFlags::UNTIED.with_if(has_gpus, TaskFlags::OFFLOADED.with(TaskFlags::QUEUES));
    let task = Task::allocate(here, size_of::<TaskVersions>(), run, flags);
    let (needs_admission, function) =
        (versions.among.gpus == Gpus::Any, versions.gpu.map_or(0, |function| function as usize));
    let versions =
        TaskVersions { blocks: items.clone().filter(array::tasks::names_block).collect(), ..versions };
    // SAFETY: a fresh task with room for it.
    unsafe { task.payload().cast::<TaskVersions>().write(versions) };
    if needs_admission {
        place::tasks::announce(&task, function);
    }
    if items.len() == 0 { task::submit(here, task) } else { depend::submit(here, task, items) }
}

unsafe fn run(_: &Thread, task: &Task, discarded: bool) -> bool {
    // SAFETY: `create` wrote it; the task runs once.
    let versions = unsafe { task.payload().cast::<TaskVersions>().read() };
    place::tasks::begins(task);
    if discarded {
        work::discard(versions.future);
        return true;
    }
    let (name, result) = carry_out(&versions);
    work::finish(name, versions.future, result);
    true
}

/// The version that ran, and how.
fn carry_out(versions: &TaskVersions) -> (usize, Result<(), DeviceTaskFailure>) {
    let addresses =
        [versions.host, versions.gpu].map(|function| function.map_or(0, |function| function as usize));
    let mut without = Vec::new();
    let mut last = DeviceTaskFailure::None(RemoteFault::Device);
    while let Some(share) = choose(versions, addresses, &without) {
        let place = share.place();
        let name = addresses[usize::from(place.is_some())];
        match place {
            None => return (name, on_host(versions, share)),
            Some(slot) => match on_gpu(versions, share, slot) {
                Err(why @ (DeviceTaskFailure::None(_) | DeviceTaskFailure::Blocks(_))) => {
                    if matches!(why, DeviceTaskFailure::None(_)) {
                        avoid(slot);
                    }
                    without.push(place);
                    last = why;
                }
                result => {
                    if let Err(DeviceTaskFailure::Device(..)) = result {
                        avoid(slot);
                    }
                    return (name, result);
                }
            },
        }
    }
    (addresses[1], Err(last))
}

/// Where the task runs; `None`: there is nothing left. On the host nothing before it is left to
/// wait for.
fn choose(versions: &TaskVersions, functions: [usize; 2], without: &[VersionDevice]) -> Option<Share> {
    let (here, places) = (CurrentThread::get(), versions.among.places(without));
    let before = chain::devices_before(here);
    let may_begin = |place: VersionDevice| place.is_some() || nothing_precedes(here.task);
    let asked = |before| VersionRequest { functions, data: &versions.data, before };
    let mut share = match versions::choose(&asked(&before), &places, may_begin)? {
        Ok(share) => share,
        Err(_) => {
            chain::wait(here.task);
            versions::choose(&asked(&[]), &places, |_| true)?.ok()?
        }
    };
    if share.place().is_none() {
        // It may have waited, and another worker may go on with it.
        chain::leave(CurrentThread::get());
        return Some(share);
    }
    if versions.among.gpus == Gpus::Any {
        let has_others = !chain::devices_before(CurrentThread::get()).is_empty();
        // Behind others on the GPU the task follows them there, without the host. GPUs that have
        // failed while it waited for its admission are no candidates.
        let gpus = || {
            if has_others {
                Vec::new()
            } else {
                versions.among.places(without).into_iter().flatten().collect()
            }
        };
        share.take_admission(&asked(&[]), gpus, has_others);
    }
    Some(share)
}

ult::seam! {
    /// Are all tasks before `task`, the running one, complete?
    fn nothing_precedes(task: &Task) -> bool {
        !task.flags().has(TaskFlags::QUEUES) || depend::before_are_complete(task)
    } or version_overtakes {
        true
    }
}

fn on_host(versions: &TaskVersions, mut share: Share) -> Result<(), DeviceTaskFailure> {
    let Some(function) = versions.host else { return Err(DeviceTaskFailure::None(RemoteFault::Device)) };
    share.begin(&versions.data);
    array::tasks::to_host(CurrentThread::get(), &versions.blocks).map_err(DeviceTaskFailure::Host)?;
    // SAFETY: the program's function, with no stream and the copy of its arguments.
    let said = unsafe {
        function(devices::count(), ptr::null_mut(), versions.arguments.address().cast_const().cast())
    };
    if said != 0 {
        return Err(DeviceTaskFailure::Said(said));
    }
    share.end(0);
    Ok(())
}

fn on_gpu(
    versions: &TaskVersions,
    mut share: Share,
    slot: &'static DeviceSlot,
) -> Result<(), DeviceTaskFailure> {
    let Some(function) = versions.gpu else { return Err(DeviceTaskFailure::None(RemoteFault::Device)) };
    share.begin(&versions.data);
    let wants =
        versions.blocks.iter().filter_map(|access| array::tasks::wanted(access, slot.number)).collect();
    array::tasks::begin(CurrentThread::get(), wants).map_err(DeviceTaskFailure::Blocks)?;
    share.opens();
    // It may have waited, and another worker may go on with it.
    let here = CurrentThread::get();
    let stream = borrowed::stream(here, Some(slot.number.into())).map_err(|why| {
        array::tasks::end(CurrentThread::get().task);
        DeviceTaskFailure::None(why)
    })?;
    share.launches();
    // SAFETY: the program's function, with its stream and the copy of its arguments.
    let said = unsafe { function(slot.number, stream, versions.arguments.address().cast_const().cast()) };
    let admission = share.has_put();
    // What it has put there is waited for in any case; how long it took counts if all went well.
    let mut share = Some(share).filter(|_| said == 0);
    let completed = borrowed::wait_for_work_with(
        CurrentThread::get(),
        |on, operation| match share.take_if(|_| on.number == slot.number) {
            Some(share) => versions::complete(share, on, operation),
            None => transfer::wait_for(&*on.device, operation),
        },
        |_| drop(admission),
    );
    array::tasks::end(CurrentThread::get().task);
    if said == 0 {
        completed.map_err(|(slot, why)| DeviceTaskFailure::Device(slot, why))
    } else {
        Err(DeviceTaskFailure::Said(said))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tests' process has no GPUs.
    #[test]
    fn without_gpus_only_the_host_is_left() {
        let host = Ok(VersionChoice { host: true, gpus: Gpus::None });
        let [both, only_host, only_gpu] =
            [(true, true), (true, false), (false, true)].map(|(host, gpu)| GivenVersions { host, gpu });
        for device in [target::INITIAL, ANY, ANY_GPU, devices::count()] {
            assert_eq!(VersionChoice::new(device, both), host, "{device}");
            assert_eq!(VersionChoice::new(device, only_host), host, "{device}");
            assert_eq!(VersionChoice::new(device, only_gpu), Err(RemoteFault::Device), "{device}");
        }
        for device in [77, -4, crate::place::region::ANY_RANK] {
            assert_eq!(VersionChoice::new(device, both), Err(RemoteFault::Device), "{device}");
        }
        assert_eq!(host.map(|among| among.places(&[]).len()), Ok(1));
        assert!(host.is_ok_and(|among| among.places(&[None]).is_empty()));
    }
}
