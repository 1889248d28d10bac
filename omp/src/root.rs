//! Initial threads: a kernel thread of the program that meets OpenMP becomes the only thread of a
//! team of its own.
//!
//! The record of an initial thread is freed when its kernel thread ends, with the teams it keeps.
//! In the child of a fork the surviving kernel thread keeps its record (it may be in the middle of
//! a region), but teams that it kept are forgotten: their members do not exist there.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::Once;

use ult::worker::{self, Locals};

use super::assemble;
use super::env::{self, Tls};
pub use super::exit::{finish_at_exit, finish_tasks};
use super::extension::offload;
use super::extension::tools;
use super::parallel;
use crate::team::plan::TeamKind;
use crate::team::record::Team;
use crate::thread::current::{CurrentThread, OwnThread};
use crate::thread::record::Thread;

static PREPARE: Once = Once::new();
static THREADS: AtomicU32 = AtomicU32::new(0);

/// Number of initial threads alive.
pub fn count() -> u32 {
    // ORDERING: Relaxed; a statistic.
    THREADS.load(Ordering::Relaxed)
}

impl CurrentThread {
    /// The running thread and task. A kernel thread on its first OpenMP call becomes an initial
    /// thread.
    #[inline(always)]
    pub fn get() -> Self {
        let Locals([thread, task]) = worker::locals();
        if thread == 0 {
            return enter();
        }
        // SAFETY: as in `CurrentThread::if_known`.
        unsafe { Self::of_words(thread, task) }
    }
}

/// Makes the calling kernel thread an initial thread.
#[cold]
#[inline(never)]
pub fn enter() -> CurrentThread {
    PREPARE.call_once(prepare);
    let worker = worker::register_current();
    let settings = env::settings();
    let team = Box::leak(Team::new(1, TeamKind::Ults, assemble::NO_SPAWN_GROUP));
    // SAFETY: the team is new; no other thread knows it.
    let plan = unsafe { team.plan_mut() };
    plan.icv = settings.initial;
    plan.spin = parallel::spin_for(settings);
    plan.group = &raw const team.group;
    plan.origin.root_worker = Some(worker);
    let thread = team.attach(Thread::new(0));
    // SAFETY: new thread, and the team lives until `leave`.
    unsafe { thread.join_team(team) };
    thread.move_in(worker);
    // SAFETY: an initial task has no parent.
    unsafe { thread.implicit.begin_implicit(team, thread, ptr::null(), settings.initial) };
    thread.note_inclusion();
    // SAFETY: this kernel thread becomes the thread, which lives until `leave`.
    let thread = unsafe { OwnThread::assume(thread) };
    super::binding::begin_initial(thread);
    // ORDERING: Relaxed; a statistic.
    THREADS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: thread and task live until `leave`, which clears the words first.
    unsafe { CurrentThread::set(&thread, &thread.implicit) };
    let here = CurrentThread { thread, task: &thread.thread().implicit };
    tools::look_for_tool();
    tools::region::root_begins(here);
    here
}

/// What is done once in the process, at the first OpenMP call.
#[cold]
fn prepare() {
    let settings = env::settings();
    offload::starts();
    ult::sched::set_runner_stack_size(settings.threads.stacksize);
    ult::sched::set_cores(ult::topology::worker_target());
    ult::pool::set_limit(settings.scheduling.workers.max(1) as usize - 1);
    ult::pool::set_idle_spin(parallel::spin_for(settings));
    ult::worker::use_tls_blocks(!matches!(settings.scheduling.tls, Tls::Shared | Tls::Kernel));
    ult::victim::set_default(settings.scheduling.victim);
    if settings.scheduling.fixed_workers.is_none() {
        ult::allotment::attention::turn_on();
    }
    if let Some(signal) = settings.scheduling.stall_signal {
        ult::stall::set_signal(signal);
    }
    ult::stall::install(ult::stall::Hooks {
        preempt: ult::sched::preempt,
        hand_off: ult::sched::hand_off,
        lowest_of_stack: ult::sched::lowest_of_stack,
        urgency: ult::worker::wait_urgency,
    });
    ult::fault::set_overflow_hint(
        "a thread or task needs more than it has; set OMP_STACKSIZE (for example OMP_STACKSIZE=64M)",
    );
    super::storage::look_for_a_java_machine();
    worker::on_thread_exit(leave);
    register_fork_handlers();
}

/// Registers the runtime's fork handlers, once. Prepare handlers that are registered later run
/// earlier, and may use the runtime. Any thread, also before the first OpenMP call. Two threads
/// that register their first handlers at the same time may come in either order.
pub fn register_fork_handlers() {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    // ORDERING: Relaxed; a flag by itself. It is set first, because registering comes here again.
    if !REGISTERED.load(Ordering::Relaxed) && !REGISTERED.swap(true, Ordering::Relaxed) {
        ult::pool::register_fork_handlers();
        // SAFETY: the handler neither allocates nor waits.
        unsafe { libc::pthread_atfork(None, None, Some(after_fork_in_child)) };
    }
}

extern "C" fn after_fork_in_child() {
    env::forget_reader_after_fork();
    super::lock::free_after_fork();
    // SAFETY: the child has one thread.
    unsafe { super::following::forget_after_fork() };
}

/// The kernel thread ends: its teams are dismissed and its record is freed.
fn leave() {
    let Some(here) = CurrentThread::if_known() else { return };
    let team = here.team();
    if !team.plan().origin.parent_thread.is_null() {
        return; // ends inside a region: nothing of it can be taken apart
    }
    if team.has_incomplete_tasks() {
        // Detached tasks, whose events may be fulfilled at any time: they refer to the team.
        return dismiss_kept(here);
    }
    assemble::end_agents(team);
    team.await_visitors();
    tools::region::root_ends(here);
    dismiss_kept(here);
    here.thread.own().forks.tls_blocks.give_back();
    here.task.end_implicit();
    worker::set_locals(worker::Locals::default());
    team.free_members();
    // ORDERING: Relaxed; a statistic.
    THREADS.fetch_sub(1, Ordering::Relaxed);
    // SAFETY: `enter` leaked the team from a Box, its only member is gone, and this kernel thread
    // was its only user.
    drop(unsafe { Box::from_raw(ptr::from_ref(team).cast_mut()) });
}

/// Dismisses the teams that the kernel thread has kept for its next regions.
fn dismiss_kept(here: CurrentThread) {
    here.thread.own().forks.teams.take_all().into_iter().for_each(assemble::dismiss);
}
