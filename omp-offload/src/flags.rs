//! Properties of tasks that only devices know. `omp` keeps bits for them ([`TaskFlags::OFFLOAD`],
//! [`TaskFlags::AT_END`]), and looks at none of them alone.

use omp::task::TaskFlags;

/// A target region that itself looks after data that other regions have left on devices
/// ([`super::resident`]).
pub const STAYS_RESIDENT: TaskFlags = TaskFlags::OFFLOAD;

/// The task has put work on streams of devices ([`super::borrowed`]).
pub const STREAMS: TaskFlags = TaskFlags::AT_END[0];

/// The task writes blocks of arrays on the host ([`super::array::ahead`]).
pub const OPENS: TaskFlags = TaskFlags::AT_END[1];
