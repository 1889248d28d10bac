//! Target constructs in a library without devices: a launch answers "not offloaded", and compiled
//! code then runs its host version; data constructs do nothing.
//!
//! What lives here: the entry points that `launch`, `data`, `task` and `register` have in a library
//! with devices. Only the arguments that matter are named.

use core::ffi::c_int;

use super::NOT_OFFLOADED;
use crate::abi::kmpc::parallel::Location;
use crate::abi::kmpc::task::{__kmpc_omp_task_alloc, KmpTask, TIED, TaskRoutine, record_of};
use omp::extension::tools;
use omp::extension::tools::device::ToolTarget;
use omp::target;
use omp::task::TaskFlags;
use omp::thread::CurrentThread;

fn launch(device: i64) -> c_int {
    target::refuse_if_mandatory(CurrentThread::get(), device);
    NOT_OFFLOADED
}

fn change(device: i64, kind: ToolTarget) {
    target::refuse_if_mandatory(CurrentThread::get(), device);
    tools::device::on_host(kind);
}

/// Defines launches: those whose calls begin with a location, and those whose calls do not.
macro_rules! launches {
    ([$($located:ident)*] [$($bare:ident)*]) => {
        $(
            /// Launches a target region.
            #[unsafe(no_mangle)]
            pub extern "C-unwind" fn $located(_: Location, device: i64) -> c_int {
                launch(device)
            }
        )*
        $(
            /// Launches a target region, as compilers before clang 12 do.
            #[unsafe(no_mangle)]
            pub extern "C-unwind" fn $bare(device: i64) -> c_int {
                launch(device)
            }
        )*
    };
}

launches! {
    [
        __tgt_target_kernel __tgt_target_kernel_nowait __tgt_target_mapper __tgt_target_nowait_mapper
        __tgt_target_teams_mapper __tgt_target_teams_nowait_mapper
    ]
    [__tgt_target __tgt_target_nowait __tgt_target_teams __tgt_target_teams_nowait]
}

/// Defines data constructs: their calls with a location, and those of compilers before clang 12.
macro_rules! data_constructs {
    ($($located:ident $bare:ident = $kind:ident;)*) => {$(
        /// A data construct.
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn $located(_: Location, device: i64) {
            change(device, ToolTarget::$kind);
        }

        /// A data construct, as compilers before clang 12 call it.
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn $bare(device: i64) {
            change(device, ToolTarget::$kind);
        }
    )*};
}

data_constructs! {
    __tgt_target_data_begin_mapper __tgt_target_data_begin = EnterData;
    __tgt_target_data_end_mapper __tgt_target_data_end = ExitData;
    __tgt_target_data_update_mapper __tgt_target_data_update = Update;
    __tgt_target_data_begin_nowait_mapper __tgt_target_data_begin_nowait = EnterData;
    __tgt_target_data_end_nowait_mapper __tgt_target_data_end_nowait = ExitData;
    __tgt_target_data_update_nowait_mapper __tgt_target_data_update_nowait = Update;
}

/// Allocates a `target` task, which is untied (5.2 §1.2.5).
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_omp_target_task_alloc(
    location: Location,
    gtid: c_int,
    flags: c_int,
    size: usize,
    shareds: usize,
    routine: Option<TaskRoutine>,
    _device: i64,
) -> *mut KmpTask {
    let made = __kmpc_omp_task_alloc(location, gtid, flags & !TIED, size, shareds, routine);
    // SAFETY: the task was made here.
    let task = unsafe { record_of(made) };
    task.set_flags(task.flags().with(TaskFlags::TARGET));
    made
}

/// An object brings code for devices, which is of no use here.
#[unsafe(no_mangle)]
pub extern "C" fn __tgt_register_lib() {}

/// The object leaves.
#[unsafe(no_mangle)]
pub extern "C" fn __tgt_unregister_lib() {}
