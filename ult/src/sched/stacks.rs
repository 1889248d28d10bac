//! Settings of the stacks that jobs run on.
//!
//! What may not live here: the stacks ([`super::runner`], [`crate::stack`]).

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// True if a waiting thread runs jobs on its own stack, not on a runner's stack.
static ON_OWN_STACKS: AtomicBool = AtomicBool::new(false);

/// From now on a waiting thread runs its jobs by plain calls, on the stack on which it waits. This
/// is for programs with a virtual machine or a garbage collector, which recognizes a thread by the
/// bounds of its stack. The thread then checks its condition only when such a job ends, as under
/// libgomp.
pub fn run_jobs_on_own_stacks() {
    // ORDERING: Relaxed; a setting.
    ON_OWN_STACKS.store(true, Ordering::Relaxed);
}

/// True after [`run_jobs_on_own_stacks`].
pub(crate) fn jobs_run_on_own_stacks() -> bool {
    // ORDERING: Relaxed; as above.
    ON_OWN_STACKS.load(Ordering::Relaxed)
}

static RUNNER_STACK: AtomicUsize = AtomicUsize::new(1 << 20);

/// Sets the usable size of runner stacks, in bytes, for runners made from now on.
pub fn set_runner_stack_size(bytes: usize) {
    // ORDERING: Relaxed; a setting, made before the first runner.
    RUNNER_STACK.store(bytes, Ordering::Relaxed);
}

/// Usable bytes of the stack of an OpenMP thread or task.
pub(crate) fn runner_stack_size() -> usize {
    // ORDERING: Relaxed; see `set_runner_stack_size`.
    RUNNER_STACK.load(Ordering::Relaxed)
}
