//! Runners: the stacks that jobs and ULTs run on.
//!
//! The choice of what a worker does next lives in [`super::idle`] and [`super::look`], and the
//! memory of stacks lives in [`crate::stack`]. A runner runs a job by a plain call. It then runs
//! what [`super::idle::next`] finds, until a suspended context can be resumed. After that it is
//! idle, with nothing on its stack, until it receives another job. A job that waits keeps its
//! runner.
//!
//! Under a limit of memory ([`promised`]), no runner stays idle. If there is then no room
//! for the stack of a job, the job runs on the stack of the waiting context that it was found for
//! ([`find_stack_for`]).

use core::ptr;

use super::border::{enter, enter_program, enter_program_again, retire};
use super::idle::next;
use super::leave::{switch_context, switch_to};
use super::next::{Next, Retire, RunnerTask};
use super::request::Job;
use super::stacks::runner_stack_size;
use super::suspended::context::SuspendedContext;
use super::{crowd, look};
use crate::gang::GangTag;
use crate::observer::{self, SchedulerEvent};
use crate::spawn::start::UltStart;
use crate::spawn::ult_tls_block::UltTlsBlock;
use crate::stack::promised::{self, SpaceBesideStack};
use crate::tls_block;
use crate::tls_block::record::TlsBlock;
use crate::ult::Ult;
use crate::worker::own::WorkerOwn;
use crate::worker::record::Worker;
use crate::worker::role::{Locals, Role};
use crate::worker::thread_mode::ThreadMode;
use crate::worker::{mode, running, table, words};

/// Gives `job` to a runner and switches to it. Returns when the calling context is resumed.
///
/// # Safety
/// Own kernel thread. The calling context is among the suspended contexts, or `job` sends it to
/// another worker.
pub(super) unsafe fn run_on_runner(worker: &'static Worker, job: Job, role: Role) {
    // SAFETY: as the caller says.
    unsafe { hand_over(worker, RunnerTask::Job(job, role)) };
}

/// As [`run_on_runner`], for a ULT.
///
/// # Safety
/// As [`run_on_runner`]; this worker has taken the start.
pub(super) unsafe fn start_on_runner(worker: &'static Worker, ult_start: &'static UltStart, tag: GangTag) {
    // SAFETY: as the caller says.
    unsafe { hand_over(worker, RunnerTask::Ult(ult_start, tag)) };
}

/// # Safety
/// As [`run_on_runner`].
unsafe fn hand_over(worker: &'static Worker, task: RunnerTask) {
    // SAFETY: own kernel thread; a cached runner is at the top of its loop, a new one at its entry.
    unsafe {
        let own: *mut WorkerOwn = worker.own();
        (*own).starts.handed = Some(task);
        let runner = match (*own).starts.idle_runners.pop() {
            Some(runner) => runner,
            None => new_runner(),
        };
        if matches!(task, RunnerTask::Job(..)) {
            keep_reserved_stack(worker, runner);
        }
        switch_context(worker, runner, None);
    }
}

/// The address space that each thread needs beside its stack: for a TLS block if threads share
/// workers, otherwise for a worker.
fn beside_stack() -> SpaceBesideStack {
    if table::uses_tls_blocks() {
        tls_block::space_per_donor()
    } else {
        crate::pool::space::space_per_worker()
    }
}

/// Provides runner stacks for the `threads` further threads of a region; see [`promised::promise`].
pub fn promise_stacks(threads: usize) -> (usize, usize) {
    let stacks = promised::promise(threads, runner_stack_size(), beside_stack);
    if promised::is_limited() {
        // From here on every switch between threads calls `retire_idle`.
        crate::kernel_state::thread_state::threads_differ();
    }
    stacks
}

/// Finds a stack for the job in `next`. If a limit leaves no room, the waiting context is
/// resumed and runs the job on its own stack.
#[inline]
pub(super) fn find_stack_for(worker: &'static Worker, next: Next) -> Next {
    match next {
        Next::Run(job, role) if promised::is_limited() => find_job_stack(worker, job, role),
        other => other,
    }
}

#[cold]
fn find_job_stack(worker: &'static Worker, job: Job, role: Role) -> Next {
    // SAFETY: own kernel thread, in its scheduler; a suspended context's descriptor is this
    // worker's.
    unsafe {
        let own = worker.own();
        (*own).starts.has_reserved_stack = promised::reserve_for_job(runner_stack_size());
        if (*own).starts.has_reserved_stack {
            return Next::Run(job, role);
        }
        match (*own).suspended.take_newest_seeker(&role) {
            Some(entry) => {
                ((*entry.ult).job, (*entry.ult).resumed_early) = (Some((job, role)), true);
                Next::Resume(entry)
            }
            // The context that the job was found for is no longer suspended. The worker tries to
            // map a stack, and the program ends if that fails.
            None => Next::Run(job, role),
        }
    }
}

/// The runner `ult` receives a job, for which a stack may have been reserved. The runner keeps this
/// reservation. If it already has one from an earlier job, one of the two is released.
///
/// # Safety
/// Own kernel thread, in its scheduler; a runner of this worker.
unsafe fn keep_reserved_stack(worker: &'static Worker, ult: *mut Ult) {
    // SAFETY: as the caller says.
    let (reserved, has_one) = unsafe {
        (core::mem::take(&mut (*worker.own()).starts.has_reserved_stack), &mut (*ult).has_job_stack)
    };
    if reserved && core::mem::replace(has_one, true) {
        promised::release_job_stack();
    }
}

/// Gives the stack of a runner back.
///
/// # Safety
/// As for [`Ult::retire_runner`].
pub(crate) unsafe fn end_runner(runner: *mut Ult) {
    // SAFETY: as the caller says.
    unsafe {
        if (*runner).has_job_stack {
            promised::release_job_stack();
        }
        Ult::retire_runner(runner);
    }
}

/// Gives back the stacks of all idle runners, under a limit of memory. This includes the
/// runner that the worker has just left.
pub(super) fn retire_idle(worker: &'static Worker) {
    if promised::is_limited() {
        // SAFETY: own kernel thread; idle runners have nothing on their stacks, and the running
        // context is not one of them.
        unsafe { (*worker.own()).starts.idle_runners.drain(..).for_each(|runner| end_runner(runner)) }
    }
}

/// What a worker does next when its runner has nothing on its stack. Under a limit of
/// memory, the worker does not sleep on that stack, which another worker may need. Instead it
/// resumes the newest suspended context, which continues the search.
fn next_for_runner(worker: &'static Worker) -> Next {
    if !promised::is_limited() {
        return next(worker);
    }
    if let Some(found) = look::search_after_job(worker) {
        return found;
    }
    // SAFETY: own kernel thread, in its scheduler; a suspended context's descriptor is this
    // worker's.
    unsafe {
        match (*worker.own()).suspended.take_newest_waiting() {
            Some(entry) => {
                (*entry.ult).resumed_early = true;
                Next::Resume(entry)
            }
            None => next(worker),
        }
    }
}

/// Idle runners that a worker keeps. When one more becomes idle, the oldest of them ends. Chosen:
/// more than a worker usually needs at once, and little memory; any value from 4 to 16 will do.
const IDLE_RUNNERS: usize = 8;

fn new_runner() -> *mut Ult {
    match promised::take(runner_stack_size()) {
        Ok(stack) => Ult::at_top_of(stack, runner_main),
        Err(error) => no_stack(&error),
    }
}

fn no_stack(error: &std::io::Error) -> ! {
    crate::sys::fatal(&format!(
        "cannot map a stack of {} KiB for threads and tasks: {error}",
        runner_stack_size() >> 10
    ))
}

unsafe extern "C" fn runner_main(_: usize) -> ! {
    crate::sanitize::begin();
    loop {
        // The worker is read again, because the job may have returned on another worker.
        let worker = here();
        // SAFETY: own kernel thread; `handed` is taken before anything can wait.
        let handed = unsafe { (*worker.own()).starts.handed.take() };
        let next = match handed {
            // SAFETY: the code that made the job guarantees it.
            Some(RunnerTask::Job(job, role)) => unsafe { run_job(worker, job, role) },
            // SAFETY: this worker has taken the start.
            Some(RunnerTask::Ult(ult_start, tag)) => unsafe { run_ults(worker, ult_start, tag) },
            None => next_for_runner(worker),
        };
        let worker = here();
        match find_stack_for(worker, next) {
            // SAFETY: own kernel thread; the running context is this runner.
            Next::Run(job, role) => unsafe {
                keep_reserved_stack(worker, (*worker.own()).current);
                (*worker.own()).starts.handed = Some(RunnerTask::Job(job, role));
            },
            // SAFETY: own kernel thread.
            Next::Start(ult_start, tag) => unsafe {
                (*worker.own()).starts.handed = Some(RunnerTask::Ult(ult_start, tag))
            },
            Next::Resume(entry) => stand_idle(worker, &entry),
        }
    }
}

#[inline(never)]
fn here() -> &'static Worker {
    words::current().unwrap_or_else(|| crate::sys::fatal("a runner runs on an unregistered thread"))
}

/// Runs a job in a role. Returns what the worker does next.
unsafe fn run_job(worker: &'static Worker, job: Job, role: Role) -> Next {
    // SAFETY: own kernel thread; a runner between two jobs has nothing that belongs to a TLS block.
    // The thread that the job runs for waits here.
    unsafe {
        mode::switch_mode(worker, role.thread);
        running::play(worker, role);
    }
    // `Locals` may still hold the values of a context that this worker has left. That context may
    // have ended since.
    words::set_locals(Locals::default());
    enter_program();
    // SAFETY: the code that made the job guarantees it.
    unsafe { (job.run)(job.data) };
    words::set_locals(Locals::default());
    let worker = here();
    enter(worker);
    next_for_runner(worker)
}

/// Runs a ULT from its start to its end. Then, while the next thing that the worker finds is a ULT
/// with the same `SpawnGroup::data`, it runs that ULT as well. Each of them is a plain call.
/// [`retire`] reports the ends to the spawn group: all those since the last report. The worker
/// reports when one of the ULTs enters the scheduler, and after the last ULT. Returns what the
/// worker does next.
unsafe fn run_ults(worker: &'static Worker, ult_start: &'static UltStart, tag: GangTag) -> Next {
    // The ULTs run one after the other, so one `ThreadMode` serves them all. Its address names a
    // thread, so for the worker these ULTs are one thread.
    let mode = ThreadMode::new();
    let mut running = Running { ult_start, tag, block: ult_start.tls_block(worker), charged: worker };
    // SAFETY: own kernel thread; a runner between two ULTs has nothing that belongs to a TLS block.
    // `mode` stays until `end_mode`.
    unsafe {
        mode::begin_mode(worker, &raw const mode);
        running::play(worker, running.role(worker, &mode));
    }
    worker.count_hosted(1);
    let mut looked = 0;
    let mut follows = false;
    loop {
        let worker = running.run(follows);
        match look::after_ult(worker, running.ult_start.spawn_group().region, &mut looked) {
            Some(Next::Start(ult_start, tag))
                if ptr::eq(ult_start.spawn_group().data, running.ult_start.spawn_group().data) =>
            {
                let block = running.block.pass_on(ult_start, worker);
                let mate = Running { ult_start, tag, block, charged: worker };
                // SAFETY: own kernel thread; the ULT has ended, so nothing of its TLS block is in
                // use any more.
                unsafe { running::play(worker, mate.role(worker, &mode)) };
                running.block.end_before(block, worker);
                follows = running.tag == mate.tag
                    && ptr::eq(running.ult_start.spawn_group(), mate.ult_start.spawn_group());
                running.end(worker);
                running = mate;
            }
            found => {
                // SAFETY: as above. If a context is resumed next, the worker switches to its TLS
                // block here. No other kernel thread runs with that block, because the context was
                // suspended here.
                unsafe {
                    mode::end_mode(worker);
                    running::play(
                        worker,
                        Role { tls_block: block_between(worker, found.as_ref()), ..Role::none(worker) },
                    );
                }
                running.block.end(worker);
                worker.count_hosted(-1);
                running.end(worker);
                // SAFETY: own kernel thread.
                unsafe { retire(worker) };
                return found.unwrap_or_else(|| next_for_runner(worker));
            }
        }
    }
}

/// The TLS block in use between a ULT and what the worker does next. If the worker then resumes a
/// context, this is already the block of that context, so the block changes only once. Otherwise
/// this is the worker's own block.
fn block_between(worker: &'static Worker, next: Option<&Next>) -> Option<&'static TlsBlock> {
    match next {
        Some(Next::Resume(entry)) => entry.role.tls_block,
        _ => Role::none(worker).tls_block,
    }
}

/// A ULT that has started.
struct Running {
    ult_start: &'static UltStart,
    tag: GangTag,
    block: UltTlsBlock,
    /// The worker at which the ULT counts as load.
    charged: &'static Worker,
}

impl Running {
    fn role(&self, worker: &'static Worker, mode: &ThreadMode) -> Role {
        // A ULT without a gang of its own runs for the gang in which it was spawned.
        let ganged = self.tag != GangTag::NONE;
        Role {
            tag: if ganged { self.tag } else { self.ult_start.spawn_group().tag },
            region: self.ult_start.spawn_group().region,
            thread: mode,
            tls_block: self.block.or_native(worker),
            away: false,
        }
    }

    /// Runs the ULT, whose role is in force already. `follows` means that the ULT before it had the
    /// same gang and region, on this worker. Returns the worker on which the ULT has ended, in its
    /// scheduler.
    fn run(&self, follows: bool) -> &'static Worker {
        words::set_locals(Locals::default());
        // Signals may have come for the thread while it was between two regions. `enter_program`
        // then lets the thread handle them before its code runs.
        if self.block.tls_block().is_some_and(|tls_block| tls_block.signals.has_news()) {
            self.charged.note_signals();
        }
        if follows {
            enter_program_again(self.charged)
        } else {
            enter_program()
        }
        observer::notify(|| SchedulerEvent::UltBegins { id: self.tag.id, level: self.tag.level });
        // SAFETY: the code that made the start guarantees it.
        unsafe { (self.ult_start.spawn_group().run)(self.ult_start.data) };
        observer::notify(|| SchedulerEvent::UltEnds);
        let worker = here();
        worker.enter_scheduler();
        crowd::stir(worker);
        worker
    }

    /// Called when the ULT has ended and its TLS block is no longer in use. Counts the ULT, so that
    /// the next call of [`retire`] reports it to the spawn group. Then calls `SpawnGroup::end`.
    /// As soon as that call has begun, another thread may start the next ULT with the same
    /// `UltStart` and TLS block.
    fn end(&self, worker: &'static Worker) {
        // SAFETY: the code that made the start guarantees it; the worker is the calling kernel
        // thread's. `ult_start` is read only before the call of `SpawnGroup::end`. After that call
        // the memory of this `UltStart` may hold the next one.
        unsafe {
            let ended = &mut (*worker.own()).starts.ended;
            ended.count += 1;
            let spawn_group = self.ult_start.spawn_group();
            let is_same = |(retire, data): (Retire, *mut ())| {
                retire as usize == spawn_group.retire as usize && data == spawn_group.data
            };
            debug_assert!(
                ended.spawn_group.is_none_or(is_same),
                "ULTs of two spawn groups are retired as of one"
            );
            ended.spawn_group = Some((spawn_group.retire, spawn_group.data));
            let ganged = self.tag != GangTag::NONE;
            if ptr::eq(self.charged, worker) {
                ended.ganged += i32::from(ganged);
            } else if ganged {
                self.charged.count_gang_load(-1);
            }
            (spawn_group.end)(self.ult_start.data);
        }
    }
}

/// Caches the running runner, and switches to `entry`. Ends the oldest cached runner if the cache
/// is full.
fn stand_idle(worker: &'static Worker, entry: &SuspendedContext) {
    // SAFETY: own kernel thread; the running runner and those in the cache have nothing on their
    // stacks.
    unsafe {
        let own = worker.own();
        if (*own).starts.idle_runners.len() >= IDLE_RUNNERS {
            let oldest = (*own).starts.idle_runners.remove(0);
            end_runner(oldest);
        }
        let me = (*own).current;
        (*own).starts.idle_runners.push(me);
        crate::sanitize::leaves_nothing(&mut (*me).trail);
        switch_to(worker, entry);
    }
}
