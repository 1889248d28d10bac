//! The address space that the pool's kernel threads take.
//!
//! What may not live here: starting them ([`super`]).

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::fault;
use crate::sched::stacks::runner_stack_size;
use crate::stack::kernel;
use crate::stack::promised::SpaceBesideStack;
use crate::worker::record::Worker;

pub(super) static STARTED: AtomicUsize = AtomicUsize::new(0);

/// Number of kernel threads the pool has started in this process.
pub fn started() -> usize {
    // ORDERING: Relaxed; a statistic.
    STARTED.load(Ordering::Relaxed)
}

/// Bytes of a worker's kernel stack for its idle loop. User code runs on ULT stacks; the exception
/// is [`Worker::runs_on_kernel_stack`].
const IDLE_LOOP_STACK: usize = 256 << 10;

/// Bytes of a worker's kernel stack for the program's code; zero if that runs on ULT stacks.
pub(super) fn program_stack(record: &Worker) -> usize {
    if record.runs_on_kernel_stack() { runner_stack_size() } else { 0 }
}

/// The address space that a worker takes, and how many were started: for a region that asks whether
/// there is room. Any thread.
pub(crate) fn space_per_worker() -> SpaceBesideStack {
    // ORDERING: Relaxed; a statistic.
    SpaceBesideStack { bytes: address_space(0), existing: STARTED.load(Ordering::Relaxed) }
}

/// Bytes of address space that a worker takes, with `program` bytes of stack for the program's
/// code.
pub(super) fn address_space(program: usize) -> usize {
    kernel::address_space(kernel_stack(program)) + fault::ALTERNATE_SPACE
}

/// Bytes of a worker's kernel stack, of which the program's code uses `program`.
pub(super) fn kernel_stack(program: usize) -> usize {
    IDLE_LOOP_STACK + program + kernel::minimal_stack()
}
