//! Runners: the stacks that jobs and ULTs run on.
//!
//! A runner runs a job by a plain call, then whatever [`super::next`] finds, until a context on the bench can go on; then
//! it stands idle with nothing on its stack until a job is handed over again. A job that waits keeps its runner.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::{Job, Next, Waiting, enter_program, next, switch_context, switch_to};
use crate::fork::Seed;
use crate::gang::GangTag;
use crate::ult::Ult;
use crate::worker::{self, Locals, Own, Role, Worker};

/// What is handed to a runner.
#[derive(Clone, Copy)]
pub(crate) enum Task {
    /// A job, in a role.
    Job(Job, Role),
    /// A ULT to start.
    Ult(&'static Seed, GangTag),
}

/// Hands `job` to a runner and leaves for it. Returns when the calling context is resumed.
///
/// # Safety
/// Own kernel thread; the calling context is on the bench.
pub(super) unsafe fn run_on_runner(worker: &'static Worker, job: Job, role: Role) {
    // SAFETY: as the caller says.
    unsafe { hand_over(worker, Task::Job(job, role)) };
}

/// As [`run_on_runner`], for a ULT.
///
/// # Safety
/// As [`run_on_runner`]; the seed was taken by this worker.
pub(super) unsafe fn start_on_runner(worker: &'static Worker, seed: &'static Seed, tag: GangTag) {
    // SAFETY: as the caller says.
    unsafe { hand_over(worker, Task::Ult(seed, tag)) };
}

/// # Safety
/// As [`run_on_runner`].
unsafe fn hand_over(worker: &'static Worker, task: Task) {
    // SAFETY: own kernel thread; a cached runner stands at the top of its loop, a new one at its entry.
    unsafe {
        let own: *mut Own = worker.own();
        (*own).handed = Some(task);
        let runner = match (*own).idle_runners.pop() {
            Some(runner) => runner,
            None => new_runner(),
        };
        switch_context(worker, runner, None);
    }
}

/// Runners kept per worker; more are given back when they become idle.
const IDLE_RUNNERS: usize = 8;

fn new_runner() -> *mut Ult {
    match Ult::new(runner_stack_size(), runner_main) {
        Ok(ult) => Box::into_raw(ult),
        Err(error) => crate::fatal(&format!(
            "cannot map a stack of {} KiB for threads and tasks: {error}",
            runner_stack_size() >> 10
        )),
    }
}

unsafe extern "C" fn runner_main(_: usize) -> ! {
    loop {
        // Asked for anew: what ran may have come back on another worker.
        let worker = here();
        // SAFETY: own kernel thread; `handed` is taken before anything can wait.
        let handed = unsafe { (*worker.own()).handed.take() };
        match handed {
            // SAFETY: whoever made the job vouches for it.
            Some(Task::Job(job, role)) => unsafe { run_job(worker, job, role) },
            // SAFETY: the seed was taken by this worker.
            Some(Task::Ult(seed, tag)) => unsafe { run_ult(worker, seed, tag) },
            None => {}
        }
        let worker = here();
        match next(worker) {
            // SAFETY: own kernel thread.
            Next::Run(job, role) => unsafe { (*worker.own()).handed = Some(Task::Job(job, role)) },
            // SAFETY: own kernel thread.
            Next::Start(seed, tag) => unsafe { (*worker.own()).handed = Some(Task::Ult(seed, tag)) },
            Next::Resume(entry) => stand_idle(worker, &entry),
        }
    }
}

#[inline(never)]
fn here() -> &'static Worker {
    worker::current().unwrap_or_else(|| crate::fatal("a runner runs on an unregistered thread"))
}

unsafe fn run_job(worker: &'static Worker, job: Job, role: Role) {
    // SAFETY: own kernel thread; a runner between two jobs has nothing that belongs to an identity.
    unsafe { worker::play(worker, role) };
    enter_program();
    // SAFETY: whoever made the job vouches for it.
    unsafe { (job.run)(job.data) };
    super::enter(here());
}

/// Runs a ULT from its start to its end.
unsafe fn run_ult(worker: &'static Worker, seed: &'static Seed, tag: GangTag) {
    let identity = seed.identity();
    // A ULT without a gang of its own runs for the one it was forked in.
    let ganged = tag != GangTag::NONE;
    let role = Role {
        tag: if ganged { tag } else { seed.tag },
        region: seed.region,
        strand: core::ptr::from_ref(seed) as usize,
        identity: identity.or_native(worker),
        away: false,
    };
    let charged = worker;
    // SAFETY: as in `run_job`.
    unsafe {
        worker::play(worker, role);
        worker::set_locals(Locals::default());
    }
    let (run, end, data) = (seed.run, seed.end, seed.data);
    worker.count_hosted(1);
    enter_program();
    // SAFETY: whoever made the seed vouches for it.
    unsafe { run(data) };
    let worker = here();
    super::enter(worker);
    worker::set_locals(Locals::default());
    // SAFETY: own kernel thread; the ULT has ended, so nothing of its identity is in use any more.
    unsafe { worker::play(worker, Role::none(worker)) };
    identity.end();
    worker.count_hosted(-1);
    if ganged {
        charged.count_gang_load(-1);
    }
    // Only now: whoever learns that the ULT has ended may start the next one under the same identity.
    // SAFETY: whoever made the seed vouches for it. The seed may be gone when this returns.
    unsafe { end(data) };
}

/// Caches the running runner, retires one that is too many, and switches to `entry`.
fn stand_idle(worker: &'static Worker, entry: &Waiting) {
    // SAFETY: own kernel thread; the running runner has nothing on its stack, those in the cache neither.
    unsafe {
        let own = worker.own();
        if (*own).idle_runners.len() >= IDLE_RUNNERS {
            let oldest = (*own).idle_runners.remove(0);
            Ult::retire(oldest);
        }
        let me = (*own).current;
        (*own).idle_runners.push(me);
        switch_to(worker, entry);
    }
}

static RUNNER_STACK: AtomicUsize = AtomicUsize::new(1 << 20);

/// Sets the usable size of runner stacks, in bytes, for runners made from now on.
pub fn set_runner_stack_size(bytes: usize) {
    // ORDERING: Relaxed; a setting, made before the first runner.
    RUNNER_STACK.store(bytes, Ordering::Relaxed);
}

fn runner_stack_size() -> usize {
    // ORDERING: Relaxed; see `set_runner_stack_size`.
    RUNNER_STACK.load(Ordering::Relaxed)
}
