//! Properties of tasks that only devices know, and the priority of a task's work on a device.
//!
//! `omp` keeps bits for these properties ([`TaskFlags::OFFLOAD`], [`TaskFlags::AT_END`]), and looks
//! at none of them alone.

use omp::task::{Task, TaskFlags};

/// A target region that itself looks after data that other regions have left on devices
/// ([`super::resident`]).
pub const STAYS_RESIDENT: TaskFlags = TaskFlags::OFFLOAD;

/// The task has put work on streams of devices ([`super::borrowed`]).
pub const STREAMS: TaskFlags = TaskFlags::AT_END[0];

/// The task writes blocks of arrays on the host ([`super::array::ahead`]).
pub const OPENS: TaskFlags = TaskFlags::AT_END[1];

ult::seam! {
    /// The priority of the work that the task queues on its device.
    pub(crate) fn priority(task: &Task) -> u32 {
        task.priority().max(0) as u32
    } or device_priority_unsaid {
        0
    }
}
