//! Target tasks: a target construct with `nowait` or `depend` is a task of clang's
//! ([`crate::abi::kmpc::task`]) that runs for a device.

use core::ffi::c_int;

use crate::abi::kmpc::parallel::Location;
use crate::abi::kmpc::task::{__kmpc_omp_task_alloc, KmpTask, TIED, TaskRoutine, record_of};
use omp::task::TaskFlags;
use omp::thread::CurrentThread;
use omp_offload::place::{AnnouncedRegion, hints};
use omp_offload::{array, choose};

/// Allocates a `target` task. If the runtime is to choose the task's device, the task gets the
/// number of its region now; the device is chosen when the task runs. Such a task is untied (5.2
/// §1.2.5): while it waits for its device, its thread may begin other tasks.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_omp_target_task_alloc(
    location: Location,
    gtid: c_int,
    flags: c_int,
    size: usize,
    shareds: usize,
    routine: Option<TaskRoutine>,
    device: i64,
) -> *mut KmpTask {
    let entry = routine.map_or(0, |routine| routine as usize);
    let announced = choose::announce(CurrentThread::get(), device, true)
        .map(|region| AnnouncedRegion { entry, ..region });
    let made = __kmpc_omp_task_alloc(location, gtid, flags & !TIED, size, shareds, routine);
    // SAFETY: the task was made here.
    let task = unsafe { record_of(made) };
    let queues = omp_offload::any()
        && choose::queues(CurrentThread::get(), entry, omp_offload::number(CurrentThread::get(), device));
    task.set_flags(
        task.flags()
            .with(TaskFlags::TARGET)
            .with_if(omp_offload::any(), TaskFlags::OFFLOADED)
            .with_if(queues, TaskFlags::QUEUES),
    );
    hints::announce(task, announced);
    array::ahead::bind(task, omp_offload::number(CurrentThread::get(), device));
    made
}
