//! Streams that tasks of the program put their own work on: kernels of theirs, calls of libraries
//! (`ompx_cuda_stream`, `ompx_cuda_task`).
//!
//! Such a task is a *device task*: it has ended when its code has returned and what it put on its
//! streams is over. Its code only queues work; so with [`wish`], or made by [`super::work`], it
//! begins when the device tasks and regions before it have queued theirs, and its streams wait for
//! these ([`super::chain`]).
//!
//! The streams are kept by task in a small list, which is empty in programs without device tasks.
//! Rejected: fields of every task.
//!
//! What may not live here: streams themselves (the device's), who waits for whom
//! ([`omp::depend`]).

use core::ffi::c_void;

use super::flags;
use super::place::hints::ByTask;
use super::place::region::ANY_GPU;
use super::{chain, transfer};
use crate::device_slot::{DeviceSlot, RunningRegion, fail};
use crate::devices::usable;
use crate::handle::RemoteFault;
use device_trait::{DeviceFailure, DeviceOperation, Stream};
use omp::report;
use omp::task::{Task, TaskFlags};
use omp::thread::CurrentThread;

/// By parent: the device that its next task is to use. By task: the device that it was made for.
static WISHES: ByTask<i64> = ByTask::new();
static STREAMS: ByTask<Vec<TaskStream>> = ByTask::new();

/// A stream while a task has it.
#[derive(Clone)]
struct TaskStream {
    slot: &'static DeviceSlot,
    stream: Stream,
    /// What was current on the kernel thread before.
    before: usize,
}

/// The next explicit task that the running one generates only queues work, on a stream of this
/// device.
pub fn wish(here: CurrentThread, device: i64) {
    WISHES.set(here.task, Some(device));
    here.task.set_flags(here.task.flags().with(TaskFlags::WISHES));
}

/// The fresh child of a task that wished: what it is then.
#[cold]
pub fn grant(parent: &Task, child: &Task, flags: TaskFlags) -> TaskFlags {
    parent.set_flags(parent.flags().without(TaskFlags::WISHES));
    let Some(device) = WISHES.take(parent) else { return flags };
    WISHES.set(child, Some(device));
    flags.with(TaskFlags::QUEUES).with(TaskFlags::OFFLOADED)
}

/// Can tasks have streams there?
pub fn has_streams(slot: &DeviceSlot) -> bool {
    slot.device.orders_operations()
}

/// The device with this number, if it has streams. For "any GPU" it is the device on which a
/// task before the running one has queued its work, else the device on which this process runs
/// least. The caller is in the middle of its code and cannot wait for an admission.
fn device(here: CurrentThread, number: i64) -> Option<&'static DeviceSlot> {
    let devices = || usable().iter().filter(|slot| has_streams(slot));
    if number != i64::from(ANY_GPU) {
        return devices().find(|slot| i64::from(slot.number) == number);
    }
    let before = chain::device_before(here);
    devices().find(|slot| Some(slot.number) == before).or_else(|| devices().min_by_key(|slot| slot.load()))
}

/// All of them.
pub fn all() -> impl Iterator<Item = &'static DeviceSlot> {
    usable().iter().filter(|slot| has_streams(slot))
}

/// Is there such a device with streams?
pub fn exists(number: i32) -> bool {
    usable().iter().filter(|slot| has_streams(slot)).any(|slot| number == ANY_GPU || slot.number == number)
}

/// How many streams of the device the running task and those it is a part of have.
pub fn of_task_and_parents(here: CurrentThread, slot: &DeviceSlot) -> u32 {
    let tasks = core::iter::successors(Some(here.task), |task| task.parent());
    // Flags are the running task's own: those of the others are not looked at.
    let streams = tasks.flat_map(|task| STREAMS.of(task).unwrap_or_default());
    streams.filter(|borrowed| borrowed.slot.number == slot.number).count() as u32
}

fn broken(slot: &DeviceSlot, why: &DeviceFailure) -> RemoteFault {
    report::warn(format_args!("a stream of device {}: {why}", slot.number));
    RemoteFault::Broken
}

/// The running task's stream on a device, by the handle of the device's own interface; the device's
/// context is current from here on. Without a number it is the device that the task was made for
/// ([`wish`]), or the default device.
///
/// # Errors
/// The running task is no explicit one; there is no such device with streams; the device failed.
pub fn stream(here: CurrentThread, number: Option<i64>) -> Result<*mut c_void, RemoteFault> {
    let task = here.task;
    if !task.flags().has(TaskFlags::EXPLICIT) {
        return Err(RemoteFault::Task);
    }
    let wished = || WISHES.of(task).filter(|_| task.flags().has(TaskFlags::QUEUES));
    let number = number.or_else(wished).unwrap_or_else(|| task.own.icv.get().default_device.into());
    let mut all = STREAMS.of(task).unwrap_or_default();
    if let Some(borrowed) =
        all.iter().find(|borrowed| number == i64::from(ANY_GPU) || i64::from(borrowed.slot.number) == number)
    {
        return borrowed
            .slot
            .device
            .bind()
            .map(|_| borrowed.stream.handle)
            .map_err(|why| broken(borrowed.slot, &why));
    }
    let slot = device(here, number).ok_or(RemoteFault::Device)?;
    let after = chain::behind(here, slot, &[]);
    let borrowed = open(slot, &after, flags::priority(task)).map_err(|why| broken(slot, &why))?;
    let handle = borrowed.stream.handle;
    core::mem::forget(slot.begin()); // ends in `close`
    all.push(borrowed);
    STREAMS.set(task, Some(all));
    task.set_flags(task.flags().with(flags::STREAMS));
    Ok(handle)
}

fn open(
    slot: &'static DeviceSlot,
    after: &[DeviceOperation],
    priority: u32,
) -> Result<TaskStream, DeviceFailure> {
    let stream = slot.device.open_stream(priority)?;
    let ready = slot.device.put_behind(stream.id, after).and_then(|()| slot.device.bind());
    match ready {
        Ok(before) => Ok(TaskStream { slot, stream, before }),
        Err(why) => {
            slot.device.close_stream(stream.id);
            Err(why)
        }
    }
}

fn close(borrowed: &TaskStream) {
    borrowed.slot.device.close_stream(borrowed.stream.id);
    drop(RunningRegion(borrowed.slot));
}

/// The code of the running task has put its work on its streams; what comes after it may queue its
/// own. Waits for the work.
///
/// # Errors
/// Some of it failed: where, and how.
pub fn wait_for_work(here: CurrentThread) -> Result<(), (&'static DeviceSlot, DeviceFailure)> {
    wait_for_work_with(here, |slot, operation| transfer::wait_for(&*slot.device, operation), |_| ())
}

/// [`wait_for_work`], with a way to wait for the work on a device. `over` is called when all of it
/// is over, with whether it went well. After that the tasks are waited for that this task follows.
///
/// # Errors
/// As there.
pub fn wait_for_work_with(
    here: CurrentThread,
    mut complete: impl FnMut(&'static DeviceSlot, DeviceOperation) -> Result<(), DeviceFailure>,
    over: impl FnOnce(bool),
) -> Result<(), (&'static DeviceSlot, DeviceFailure)> {
    let all = STREAMS.take(here.task).unwrap_or_default();
    WISHES.take(here.task);
    for borrowed in all.iter().rev() {
        borrowed.slot.device.unbind(borrowed.before);
    }
    let marked: Vec<_> =
        all.iter().map(|borrowed| borrowed.slot.device.mark(borrowed.stream.id, &[])).collect();
    if let ([borrowed], [Ok(operation)]) = (&all[..], &marked[..]) {
        chain::queued(here, borrowed.slot, *operation);
    }
    // All are waited for, whatever became of the others.
    let results: Vec<_> = all
        .iter()
        .zip(marked)
        .map(|(borrowed, mark)| mark.and_then(|operation| complete(borrowed.slot, operation)))
        .collect();
    all.iter().for_each(close);
    over(results.iter().all(Result::is_ok));
    chain::wait(here.task);
    all.iter().zip(results).try_for_each(|(borrowed, result)| result.map_err(|why| (borrowed.slot, why)))
}

/// [`wait_for_work`] for a task of the program. There is no future to report its failure to, so a
/// failure ends the program.
#[cold]
pub fn end(here: CurrentThread) {
    if let Err((slot, why)) = wait_for_work(here) {
        fail(slot, "a task's work on its stream", &why);
    }
}
