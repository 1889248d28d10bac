//! Device tasks from a function of the program (`ompx_cuda_task`): it puts its work on the stream
//! that it is given, and the task ends when that is over.
//!
//! What may not live here: streams of tasks ([`super::borrowed`]), futures
//! (`omp_cluster::remote::future`).

use core::ffi::{c_int, c_void};

use super::array::{self, Refusal};
use super::borrowed;
use super::place::region::ANY_GPU;
use super::{avoided, place, ranks, transfer};
use crate::bytes::Bytes;
use crate::device_slot::{DeviceSlot, fail};
use crate::handle::{RemoteFault, RemoteHandle};
use device_trait::DeviceFailure;
use omp::depend::{self, Dependence};
use omp::functions;
use omp::report;
use omp::task::{self, Task, TaskFlags};
use omp::thread::{CurrentThread, Thread};

/// The function: the stream, the copy of its arguments; 0 or an error of its own.
pub type DeviceTaskFunction = unsafe extern "C-unwind" fn(*mut c_void, *const c_void) -> c_int;

/// What a task does.
pub struct DeviceTaskWork {
    /// Which device, or [`ANY_GPU`].
    pub device: i32,
    /// The function.
    pub function: DeviceTaskFunction,
    /// Its arguments.
    pub arguments: Bytes,
    /// The future to set at its end, if it has one.
    pub future: Option<RemoteHandle>,
}

/// A task's payload: what it does, and accesses that name blocks of arrays.
struct Payload(DeviceTaskWork, Vec<Dependence>);

const _: () = assert!(align_of::<Payload>() <= align_of::<Task>());

/// Creates the task, as a child of the running one. Its device [exists](borrowed::exists).
pub fn create(
    here: CurrentThread,
    work: DeviceTaskWork,
    items: impl ExactSizeIterator<Item = Dependence> + Clone,
) {
    // Untied: while it waits for its device its thread may begin others.
    let flags = TaskFlags::UNTIED.with(TaskFlags::OFFLOADED).with(TaskFlags::QUEUES);
    let task = Task::allocate(here, size_of::<Payload>(), run, flags);
    let (device, function) = (work.device, work.function as usize);
    let blocks = items.clone().filter(array::tasks::names_block).collect();
    // SAFETY: a fresh task with room for it.
    unsafe { task.payload().cast::<Payload>().write(Payload(work, blocks)) };
    array::ahead::bind(&task, device.into());
    if device == ANY_GPU {
        place::tasks::announce(&task, function);
    }
    if items.len() == 0 { task::submit(here, task) } else { depend::submit(here, task, items) }
}

/// Why it did not come about.
pub(super) enum DeviceTaskFailure {
    /// The function said so.
    Said(c_int),
    /// No stream.
    None(RemoteFault),
    /// No room for blocks of arrays, or a mistake with them.
    Blocks(Refusal),
    /// Blocks of arrays could not be brought to the host.
    Host(RemoteFault),
    /// The device.
    Device(&'static DeviceSlot, DeviceFailure),
}

unsafe fn run(_: &Thread, task: &Task, discarded: bool) -> bool {
    // SAFETY: `create` wrote it; the task runs once.
    let Payload(work, blocks) = unsafe { task.payload().cast::<Payload>().read() };
    place::tasks::begins(task);
    if discarded {
        discard(work.future);
    } else {
        finish(work.function as usize, work.future, carry_out(&work, &blocks));
    }
    true
}

fn carry_out(work: &DeviceTaskWork, blocks: &[Dependence]) -> Result<(), DeviceTaskFailure> {
    let mut admission = match work.device {
        ANY_GPU => Some(
            place::tasks::take(work.function as usize, blocks)
                .ok_or(DeviceTaskFailure::None(RemoteFault::Device))?,
        ),
        _ => None,
    };
    let device = admission.as_ref().map_or(work.device, |admission| admission.slot().number);
    if !blocks.is_empty() {
        let wants = blocks.iter().filter_map(|access| array::tasks::wanted(access, device)).collect();
        array::tasks::begin(CurrentThread::get(), wants).map_err(DeviceTaskFailure::Blocks)?;
    }
    admission.iter().for_each(place::tasks::PlacedDeviceTask::opens);
    // It may have waited, and another worker may go on with it.
    let stream = borrowed::stream(CurrentThread::get(), Some(device.into())).map_err(|fault| {
        admission.iter().for_each(|admission| _ = avoided::add(admission.slot()));
        DeviceTaskFailure::None(fault)
    })?;
    admission.iter_mut().for_each(place::tasks::PlacedDeviceTask::launches);
    // SAFETY: the program's function, with its stream and the copy of its arguments.
    let said = unsafe { (work.function)(stream, work.arguments.address().cast_const().cast()) };
    admission.iter().for_each(place::tasks::PlacedDeviceTask::has_put);
    // What it has put there is waited for in any case.
    let over = |well| {
        if let Some(admission) = admission.take() {
            admission.ends(well && said == 0);
        }
    };
    let completed = borrowed::wait_for_work_with(
        CurrentThread::get(),
        |slot, operation| transfer::wait_for(&*slot.device, operation),
        over,
    )
    .map_err(|(slot, why)| {
        avoided::add(slot);
        DeviceTaskFailure::Device(slot, why)
    });
    array::tasks::end(CurrentThread::get().task);
    if said == 0 { completed } else { Err(DeviceTaskFailure::Said(said)) }
}

fn set(future: Option<RemoteHandle>, well: bool) {
    if let Some(future) = future {
        ranks::linked().set_future(future, well);
    }
}

/// A task with this future does not run.
pub(super) fn discard(future: Option<RemoteHandle>) {
    set(future, false);
}

/// A task of the function at this address has ended with this result: its future is set. If the
/// task failed, a line says so, and without a future the program ends.
pub(super) fn finish(function: usize, future: Option<RemoteHandle>, result: Result<(), DeviceTaskFailure>) {
    match result {
        Ok(()) => set(future, true),
        Err(why) => complain(function, future, &why),
    }
}

fn complain(function: usize, future: Option<RemoteHandle>, why: &DeviceTaskFailure) {
    let name = functions::name(function);
    match (future, why) {
        (None, DeviceTaskFailure::Device(slot, why)) => fail(slot, &format!("the work of task {name}"), why),
        (None, DeviceTaskFailure::Said(code)) => {
            report::end(format_args!("task {name} failed with {code}, and has no future; the program stops"))
        }
        (None, DeviceTaskFailure::None(fault)) => report::end(format_args!(
            "task {name} got no stream: {fault}; it has no future, so the program stops"
        )),
        (None, DeviceTaskFailure::Blocks(why)) => {
            report::end(format_args!("task {name}: {why}; it has no future, so the program stops"))
        }
        (None, DeviceTaskFailure::Host(why)) => report::end(format_args!(
            "task {name} on the host: {why}; it has no future, so the program stops"
        )),
        (Some(_), DeviceTaskFailure::Host(why)) => {
            report::warn(format_args!("task {name} on the host: {why}; its future has failed"))
        }
        (Some(_), DeviceTaskFailure::Blocks(why)) => {
            report::warn(format_args!("task {name}: {why}; its future has failed"))
        }
        (Some(_), DeviceTaskFailure::Device(slot, why)) => report::warn(format_args!(
            "the work of task {name} on device {}: {why}; its future has failed",
            slot.number
        )),
        (Some(_), DeviceTaskFailure::Said(code)) => {
            report::warn(format_args!("task {name} failed with {code}, and its future with it"))
        }
        (Some(_), DeviceTaskFailure::None(fault)) => {
            report::warn(format_args!("task {name} got no stream: {fault}; its future has failed"))
        }
    }
    set(future, false);
}
