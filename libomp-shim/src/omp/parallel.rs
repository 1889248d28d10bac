//! Parallel regions (OpenMP 5.2 §10.1): how large a team is, how it is put together, forked and joined.
//!
//! The forking thread takes a team it has kept from an earlier region (or makes one), writes the plan, and publishes
//! the next epoch: one store, plus a wake-up for each member that sleeps. Members that are already attached need no
//! allocation and no lock. It then runs thread 0's share itself, waits for the others and for all tasks, and keeps the
//! team for its next region.
//!
//! Every member has a worker of its own: the pool grows for it. Sharing workers needs identities for thread-local
//! storage and a remedy for code that spins outside the runtime; until both exist nothing else is safe.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use ult::gang::{self, GangTag};
use ult::pool::{self, Assignment};
use ult::sched::{Spin, Wait};
use ult::worker::{self, Locals};

use super::env::{self, Settings};
use super::icv::{NO_THREAD_LIMIT, ProcBind};
use super::queue;
use super::report;
use super::stats;
use super::team::{Body, Team};
use super::thread::{Here, Thread};

/// What the `parallel` construct said.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    /// `num_threads`, 0 when not given; 1 also stands for a false `if`.
    pub num_threads: u32,
    /// `proc_bind`, `None` when not given.
    pub bind: Option<ProcBind>,
}

/// A region between its fork and its join, seen from the thread that forked it.
pub struct Region {
    team: Box<Team>,
    outer: Locals,
    gang: GangTag,
    /// Threads counted against the contention group's limit.
    counted: u32,
}

/// Runs `body` in a new team and returns when all of its threads and tasks have ended.
pub fn parallel(here: Here, body: Body, request: Request) {
    let region = Region::begin(here, body, request);
    region.run_primary();
    region.end();
}

/// Runs `body` once per team of a league of `teams` initial teams, one after the other on the calling thread (5.2
/// §10.2). `thread_limit` is that of each team's contention group, 0 when not given.
pub fn league(here: Here, body: Body, teams: u32, thread_limit: u32) {
    for number in 0..teams.max(1) {
        let region = Region::begin_initial(here, body, (teams.max(1), number), thread_limit);
        region.run_primary();
        region.end();
    }
}

impl Region {
    /// Makes the calling code the initial thread of team `league.1` of `league.0`.
    pub fn begin_initial(here: Here, body: Body, league: (u32, u32), thread_limit: u32) -> Self {
        let team = take_team(here, 1);
        plan(here, &team, body, 1, None);
        // SAFETY: we are the forking thread and the team is between regions.
        let plan = unsafe { team.plan_mut() };
        plan.level -= 1;
        plan.icv = here.task.icv.get();
        if thread_limit != 0 {
            plan.icv.thread_limit = thread_limit;
        }
        plan.league = league;
        plan.group_threads = &raw const team.group_threads;
        Self::enter(team, 0)
    }

    /// Forks: when this returns, the calling code runs as thread 0 of the new team.
    pub fn begin(here: Here, body: Body, request: Request) -> Self {
        stats::count_region();
        let (wanted, counted) = reserve(here, team_size(here, request));
        let team = take_team(here, wanted);
        let size = man(&team, wanted);
        plan(here, &team, body, size, request.bind);
        Self::enter(team, counted)
    }

    /// Makes the calling code the initial thread of a target region that runs on the host.
    pub fn begin_target(here: Here, body: Body, thread_limit: u32) -> Self {
        let team = take_team(here, 1);
        plan(here, &team, body, 1, None);
        // SAFETY: we are the forking thread and the team is between regions.
        let plan = unsafe { team.plan_mut() };
        plan.level = 0;
        plan.active_level = 0;
        plan.icv = env::settings().initial; // the device's own, not the encountering task's
        if thread_limit != 0 {
            plan.icv.thread_limit = thread_limit;
        }
        plan.league = (1, 0);
        plan.group_threads = &raw const team.group_threads;
        Self::enter(team, 0)
    }

    /// Publishes a planned region; the calling code goes on as its thread 0.
    fn enter(team: Box<Team>, counted: u32) -> Self {
        let Some(primary) = team.thread(0) else { report::fatal("a team has no primary thread") };
        begin_member(primary, &team);
        // SAFETY: the thread and its implicit task live as long as the team, which `end` gives back last.
        let outer = unsafe { Here::set(primary, &primary.implicit) };
        if team.size() > 1 {
            ult::exceptions::refresh();
            team.start_region();
        }
        // SAFETY: this kernel thread owns its worker.
        let gang = unsafe { primary.worker().set_gang(team.plan().gang) };
        Self { team, outer, gang, counted }
    }

    /// Runs thread 0's share.
    pub fn run_primary(&self) {
        let body = &self.team.plan().body;
        if let Some(primary) = self.team.thread(0) {
            // SAFETY: the front made the body for its own `call`.
            unsafe { (body.call)(primary, body) };
        }
    }

    /// Joins: waits for the other threads and all tasks; the calling code is again what it was before the fork.
    pub fn end(self) {
        let Some(primary) = self.team.thread(0) else { return };
        self.team.await_join(primary);
        primary.implicit.end_implicit();
        // SAFETY: own thread only.
        self.team.reset(unsafe { primary.own() }.constructs != 0);
        // SAFETY: this kernel thread owns its worker.
        unsafe { primary.worker().set_gang(self.gang) };
        worker::set_locals(self.outer);
        let here = Here::get();
        unreserve(here, self.counted);
        // SAFETY: own thread only.
        unsafe { here.thread.own() }.teams.push(self.team);
    }
}

// ---- how many threads -------------------------------------------------------------------------------------------

/// Number of threads asked for, by algorithm 10.1 of the specification, before the thread limit.
fn team_size(here: Here, request: Request) -> u32 {
    let icv = here.task.icv.get();
    let active = here.team().plan().active_level;
    if request.num_threads == 1 || active >= icv.max_active_levels {
        return 1;
    }
    let wanted = if request.num_threads == 0 { icv.nthreads } else { request.num_threads };
    let wanted = if icv.dynamic { wanted.min(env::settings().num_procs) } else { wanted };
    wanted.clamp(1, MOST_THREADS)
}

/// An epoch keeps the team size in 16 bits.
const MOST_THREADS: u32 = 0xFFFF;

/// Reserves threads for a team that wants `wanted`, within the contention group's limit (`thread-limit-var`). Returns the
/// size the team may have and how many threads were counted, which the end of the region gives back.
fn reserve(here: Here, wanted: u32) -> (u32, u32) {
    let limit = here.task.icv.get().thread_limit.min(env::settings().device_thread_limit);
    if limit >= NO_THREAD_LIMIT || wanted == 1 {
        return (wanted, 0);
    }
    let free = |used: u32| (wanted - 1).min(limit.saturating_sub(1).saturating_sub(used));
    // ORDERING: Relaxed; a count by itself.
    let used = group_threads(here).fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| Some(used + free(used)));
    let counted = free(used.unwrap_or_else(|used| used));
    (1 + counted, counted)
}

/// Gives back threads that [`reserve`] counted.
fn unreserve(here: Here, counted: u32) {
    if counted != 0 {
        // ORDERING: Relaxed; a count by itself.
        group_threads(here).fetch_sub(counted, Ordering::Relaxed);
    }
}

/// Threads of the contention group beyond its initial thread.
fn group_threads(here: Here) -> &'static AtomicU32 {
    // SAFETY: the initial team of the group outlives every region in it.
    unsafe { &*here.team().plan().group_threads }
}

// ---- putting the team together ----------------------------------------------------------------------------------

/// A team with room for `size` threads: one that the forking thread kept, or a new one.
fn take_team(here: Here, size: u32) -> Box<Team> {
    // SAFETY: own thread only; `dismiss` may wait, so the reference is not kept across it.
    while let Some(team) = unsafe { here.thread.own() }.teams.pop() {
        if !team.is_of_this_process() {
            core::mem::forget(team); // its members were threads of the parent process
        } else if team.capacity() >= size {
            return team;
        } else {
            dismiss(team);
        }
    }
    let team = Team::new(size.next_power_of_two());
    let primary = team.attach(Thread::new(0));
    // SAFETY: a new thread; the team outlives it.
    unsafe { primary.join_team(&raw const *team, here.thread.worker()) };
    team
}

/// Attaches members until `size` threads are there; returns how many there are, at most `size`.
fn man(team: &Team, size: u32) -> u32 {
    let attached = team.attached();
    if attached < size {
        recruit(team, (size - attached) as usize);
    }
    team.attached().min(size)
}

#[cold]
fn recruit(team: &Team, count: usize) {
    let mut workers = Vec::with_capacity(count);
    pool::acquire(count, &mut workers);
    if workers.len() < count {
        complain_about_threads(count, workers.len());
    }
    let stack_size = env::settings().stacksize;
    for worker in workers {
        let thread = team.attach(Thread::new(team.attached()));
        // SAFETY: a new thread that has not run; the team is dismissed only after the member has left.
        unsafe { thread.join_team(team, worker) };
        thread.seen_epoch.set(team.epoch());
        team.count_present();
        let argument = ptr::from_ref(thread).cast_mut().cast();
        pool::assign(worker, Assignment { entry: member_main, argument, stack_size });
    }
}

static COMPLAINED: AtomicBool = AtomicBool::new(false);

fn complain_about_threads(wanted: usize, got: usize) {
    // ORDERING: Relaxed; at most one message.
    if !COMPLAINED.swap(true, Ordering::Relaxed) {
        report::warn(format!(
            "the system started {got} of {wanted} more threads; the team is smaller (see ulimit -u and cgroup pids.max)"
        ));
    }
}

fn plan(here: Here, team: &Team, body: Body, size: u32, bind: Option<ProcBind>) {
    let settings = env::settings();
    let outer = here.team().plan();
    let icv = here.task.icv.get();
    // SAFETY: we are the forking thread and the team is between regions.
    let plan = unsafe { team.plan_mut() };
    team.set_size(size);
    plan.body = body;
    plan.level = outer.level + 1;
    plan.active_level = outer.active_level + u32::from(size > 1);
    plan.parent_thread = here.thread;
    plan.parent_task = here.task;
    plan.icv = icv.nested(settings);
    plan.floating_point = ult::arch::fp_state();
    plan.league = outer.league;
    plan.group_threads = outer.group_threads;
    plan.spin = outer.spin;
    plan.gang = GangTag { id: if size > 1 { gang::next_id() } else { outer.gang.id }, level: outer.gang.level + 1 };
    plan.bind = bind.unwrap_or(icv.bind);
    plan.places = super::binding::assignment(here, plan.bind, icv.bind, size);
    // SAFETY: own thread only.
    plan.partition = settings.places.is_some().then(|| unsafe { here.thread.own() }.partition.clone());
}

/// `pause` instructions per microsecond, for settings given in turns of a loop.
const PAUSES_PER_MICRO: u64 = 40;

/// How members look before they sleep, from the environment.
pub fn spin_for(settings: &Settings) -> Spin {
    let micros = match settings.spin {
        env::Spin::None => 0,
        env::Spin::Micros(n) => u32::try_from(n).unwrap_or(u32::MAX - 1),
        env::Spin::Iterations(n) => u32::try_from(n / PAUSES_PER_MICRO).unwrap_or(u32::MAX - 1),
        env::Spin::Forever => u32::MAX,
    };
    Spin { micros }
}

// ---- members ----------------------------------------------------------------------------------------------------

/// Sets a member up for the region that has just started (thread 0: is about to).
fn begin_member(thread: &Thread, team: &Team) {
    let plan = team.plan();
    // SAFETY: own thread only: called by the thread itself; thread 0 is the forking thread.
    let own = unsafe { thread.own() };
    own.constructs = 0;
    own.singles = 0;
    // SAFETY: the plan names the forking task, which is suspended in the region.
    unsafe { thread.implicit.begin_implicit(team, thread, plan.parent_task, plan.icv) };
    super::binding::bind_member(thread, plan);
    super::binding::display_member(thread);
}

/// The life of a member: wait for a region, run its share, arrive, again; until the team is dismissed.
unsafe fn member_main(argument: *mut ()) {
    // SAFETY: `recruit` passes a thread that lives until the member has left.
    let thread: &Thread = unsafe { &*argument.cast() };
    while await_region(thread) {
        run_share(thread);
    }
    // SAFETY: own thread only.
    for inner in core::mem::take(&mut unsafe { thread.own() }.teams) {
        dismiss(inner);
    }
    worker::set_locals(Locals::default());
    thread.team().leave_for_good();
}

/// Waits for the next region, helping with the tasks of the one before. False when the team is dismissed.
fn await_region(thread: &Thread) -> bool {
    let team = thread.team();
    let seen = thread.seen_epoch.get();
    ult::sched::wait(&Wait {
        ready: &|| team.next_region(seen, thread.num()).is_some() || team.is_retired() || team.is_lost(),
        seek: Some(&|last| queue::find_after(thread, last, seen)),
        sleepers: Some(team.sleepers()),
        spin: spin_for(env::settings()),
        yields: false,
    });
    if team.is_lost() {
        // The only thread of a child that this thread forked has nothing more to do: a process ends with its last thread.
        // SAFETY: the process has one thread, which runs no program code here.
        unsafe { libc::exit(0) };
    }
    match team.next_region(seen, thread.num()) {
        Some(epoch) => {
            thread.seen_epoch.set(epoch);
            true
        }
        None => false,
    }
}

fn run_share(thread: &Thread) {
    let team = thread.team();
    begin_member(thread, team);
    // SAFETY: the thread and its implicit task live as long as the team, and this kernel thread hosts it.
    unsafe {
        Here::set(thread, &thread.implicit);
        thread.worker().set_gang(team.plan().gang);
    }
    team.adopt_floating_point();
    let body = team.plan().body;
    // SAFETY: the front made the body for its own `call`.
    unsafe { (body.call)(thread, &body) };
    thread.implicit.end_implicit();
    // SAFETY: this kernel thread owns its worker.
    unsafe { thread.worker().set_gang(GangTag::NONE) };
    team.arrive_at_join();
}

/// Sends a team's members home and frees it. The team is between regions.
pub fn dismiss(team: Box<Team>) {
    if !team.is_of_this_process() {
        core::mem::forget(team);
        return;
    }
    team.retire(worker::register_current());
    ult::sched::wait(&Wait {
        ready: &|| team.present() == 0,
        seek: None,
        sleepers: None,
        spin: Spin { micros: 20 },
        yields: false,
    });
    if let Some(primary) = team.thread(0) {
        // SAFETY: the primary's part belongs to the forking thread, which is here.
        for inner in core::mem::take(&mut unsafe { primary.own() }.teams) {
            dismiss(inner);
        }
    }
    team.await_visitors();
    team.free_members();
}
