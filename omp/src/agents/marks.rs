//! The marks of free agents and of their tasks.

/// The thread number of a free agent; as a signed number `omp_unassigned_thread` (6.0 §20.1).
/// Given: by the specification, less than −1; by LLVM's `omp.h`, this value.
pub const UNASSIGNED: u32 = (-2_i32).cast_unsigned();

/// Marks a pool task in the field for the hash of a task's data
/// ([`Task::affinity`](crate::task::Task::affinity)).
pub(crate) const POOL: u32 = u32::MAX - 1;

/// Marks a pool task that lies in a deque and is counted.
pub(crate) const READY: u32 = POOL - 2; // even, while a hash of an address is odd

/// Is the task with this affinity a pool task?
#[inline]
pub const fn is_pool(affinity: u32) -> bool {
    affinity == POOL || affinity == READY
}
