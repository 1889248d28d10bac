//! Parallel regions (OpenMP 5.2 §10.1): the size of a team, its fork and its join.
//!
//! What does not live here: how a team is put together ([`super::assemble`]), and what its members
//! share during a region ([`super::team`]).
//!
//! The forking thread reuses a team of an earlier region, or makes a new one. It writes the plan
//! and launches the team. It then runs thread 0's share itself and waits for the other threads and
//! for all tasks. At the end it keeps the team for its next region.
//!
//! * A team with *assigned workers* or *kernel threads* is launched by one store of the epoch, plus
//!   a wake-up for each member that sleeps. The launch takes no lock and allocates nothing.
//! * A team of *ULTs* is launched by spawning its threads as ULTs. If the region is a gang
//!   ([`is_ganged`]), the scheduler places and orders them. Otherwise they go on the forking
//!   worker's own deque.

use core::ffi::CStr;
use core::ptr;
use std::sync::Once;

use ult::gang::GangTag;
use ult::pool;
use ult::sched::Spin;
use ult::spawn;
use ult::stack::promised;
use ult::worker::{self, Duty};

use super::assemble::{assemble, begin_member, serial_team};

use super::binding;
use super::counts::CountList;
use super::env::{self, Settings};
use super::extension::check;
use super::extension::offload;
use super::extension::side::LeagueSide;
use super::extension::tools;
use super::extension::tools::kinds::RegionKind;
use super::group::Group;
use super::report;
use super::stacks;
use super::stats;
pub use super::team::plan::{ForkedRegion, StrictNumThreads};
use crate::icv::binding::ProcBind;
use crate::icv::record::{GangSched, MOST_THREADS};
use crate::team::plan::{Body, LeaguePosition, TeamKind};
use crate::team::record::Team;
use crate::thread::current::{CurrentThread, OwnThread};
use crate::thread::record::Thread;

/// The clauses of a `parallel` construct.
#[derive(Clone, Copy, Debug, Default)]
pub struct ParallelRequest {
    /// `num_threads`; 0 if the clause is absent. 1 also stands for a false `if`.
    pub num_threads: u32,
    /// `num_threads` as a list; its first element is [`ParallelRequest::num_threads`]. `None` if
    /// the list has no further element.
    pub counts: Option<&'static CountList>,
    /// `strict` of `num_threads`.
    pub strict: Option<StrictNumThreads>,
    /// `proc_bind`; `None` if the clause is absent.
    pub bind: Option<ProcBind>,
    /// Does `proc_bind` also hold for the regions inside? In libgomp the clause sets a new
    /// `bind-var`, in libomp it does not. By the specification the clause overrides the variable
    /// for its own region (5.2 §2.5).
    pub bind_lasts: bool,
}

impl StrictNumThreads {
    #[cold]
    fn complain(self, wanted: u32, got: u32) {
        // SAFETY: null, or a C string that lives until the region begins, as the field's comment
        // demands.
        let text =
            (!self.message.is_null()).then(|| unsafe { CStr::from_ptr(self.message) }.to_string_lossy());
        let text = text.as_deref().unwrap_or("num_threads(strict)");
        let what = format!("{text}: a team of {wanted} threads was asked for, {got} can be had");
        if self.fatal {
            report::end(format_args!("{what}; the program stops"));
        }
        report::warn(format_args!("{what}; the team is smaller"));
    }
}

/// Runs `body` in a new team. Returns when all threads and tasks of the team have ended.
pub fn parallel(here: CurrentThread, body: Body, request: ParallelRequest) {
    let region = ForkedRegion::begin(here, body, request);
    region.run_primary();
    region.end();
}

/// Runs `body` once per team of a league of `teams` initial teams (5.2 §10.2). The calling thread
/// runs the teams one after the other. `thread_limit` is the limit of each team's contention group;
/// 0 if the clause is absent.
pub fn league(here: CurrentThread, body: Body, teams: u32, thread_limit: u32) {
    let side = LeagueSide::new();
    let notified = tools::region::league_begins(here, teams.max(1), &side);
    for number in 0..teams.max(1) {
        let league = LeaguePosition { teams: teams.max(1), number: team_num(number) };
        let region = ForkedRegion::begin_initial(here, body, league, thread_limit);
        region.run_primary();
        region.end();
    }
    if notified {
        tools::region::league_ends(here, &side);
    }
    binding::return_to_place(here);
}

ult::seam! {
    /// The teams of a league are numbered from 0, in the order in which they run.
    fn team_num(before: u32) -> u32 {
        before
    } or team_num_wrong {
        before + 1
    }
}

impl ForkedRegion {
    /// Makes the calling code the initial thread of one team of a league. `league` is the place of
    /// that team.
    pub fn begin_initial(here: CurrentThread, body: Body, league: LeaguePosition, thread_limit: u32) -> Self {
        let team = serial_team(here);
        plan(here, &team, body, 1, ParallelRequest::default());
        // SAFETY: this is the forking thread, and the team is between regions.
        let plan = unsafe { team.plan_mut() };
        plan.nesting.level -= 1;
        plan.defers_alone &= plan.nesting.level != 0;
        plan.icv = here.task.own.icv.get();
        if thread_limit != 0 {
            plan.icv.thread_limit = thread_limit;
        }
        plan.league = league;
        plan.group = &raw const team.group;
        plan.binding.places = None;
        if let Some(primary) = team.thread(0)
            // SAFETY: the calling code is about to continue as thread 0.
            && let Some(partition) = binding::bind_team(here, unsafe { OwnThread::assume(primary) }, league)
        {
            plan.binding.partition = Some(partition);
        }
        tools::region::begins(here, &team, 1, RegionKind::League);
        Self::enter(team, 0, 0)
    }

    /// Forks. When this function returns, the calling code runs as thread 0 of the new team.
    pub fn begin(here: CurrentThread, body: Body, request: ParallelRequest) -> Self {
        stats::count_region();
        let (wanted, counted) = reserve(here, team_size(here, request));
        let (wanted, stacks) = stacks::reserve(wanted);
        let (team, size) = assemble(here, wanted, body.function as usize);
        if size > 1 && team.kind == TeamKind::Ults {
            team.expect_start();
        }
        if size < request.num_threads
            && let Some(strict) = request.strict
        {
            strict.complain(request.num_threads, size);
        }
        plan(here, &team, body, size, request);
        // SAFETY: this is the forking thread, and the team is between regions.
        let plan = unsafe { team.plan_mut() };
        let displays = binding::is_to_display(here, plan, size);
        put(&mut plan.binding.displays, displays);
        tools::region::begins(here, &team, asked_for(here, request), RegionKind::Parallel);
        Self::enter(team, counted, stacks)
    }

    /// Makes the calling code the initial thread of a target region. `device` is the host, or a
    /// device that the host runs. `depth` is the number of nested target regions, this one
    /// included.
    pub fn begin_target(here: CurrentThread, body: Body, thread_limit: u32, device: i32, depth: u32) -> Self {
        let team = serial_team(here);
        plan(here, &team, body, 1, ParallelRequest::default());
        // SAFETY: this is the forking thread, and the team is between regions.
        let plan = unsafe { team.plan_mut() };
        plan.nesting.level = 0;
        plan.defers_alone = false;
        plan.nesting.active_level = 0;
        plan.nesting.device = device;
        plan.nesting.target_depth = depth;
        plan.icv = env::settings().initial; // the device's own variables, not those of the encountering task
        if thread_limit != 0 {
            plan.icv.thread_limit = thread_limit;
        }
        plan.league = LeaguePosition::ALONE;
        plan.group = &raw const team.group;
        tools::region::begins(here, &team, 1, RegionKind::Target);
        Self::enter(team, 0, 0)
    }

    /// Publishes a planned region. The calling code continues as its thread 0.
    fn enter(team: Box<Team>, counted: u32, stacks: u32) -> Self {
        let Some(primary) = team.thread(0) else { report::fatal("a team has no primary thread") };
        // SAFETY: the calling code continues as thread 0, until `end` of the region.
        let primary = unsafe { OwnThread::assume(primary) };
        primary.move_in(worker::register_current());
        begin_member(primary, &team);
        // SAFETY: the thread and its implicit task live as long as the team. `end` gives the team
        // back as its last step.
        let outer = unsafe { CurrentThread::set(&primary, &primary.implicit) };
        tools::region::entered(&team);
        let duty = worker::duty();
        let size = team.size();
        let shares = size > 1 && team.plan().nesting.active_around == 1 && super::root::count() > 1;
        if shares {
            pool::enter_region();
        }
        let reserved =
            if size > 1 && team.kind == TeamKind::Ults { pool::reserve(size as usize - 1) } else { 0 };
        if size > 1 {
            launch(&team, duty.tag);
        }
        let region = if size > 1 { team.plan().body.function as usize } else { duty.region };
        worker::set_duty(Duty { tag: team.gang(), region });
        if size > 1 && team.kind == TeamKind::Ults {
            spawn::yield_to_older();
        }
        Self { team, outer, duty, counted, stacks, reserved, shares }
    }

    /// Runs thread 0's share.
    pub fn run_primary(&self) {
        let body = &self.team.plan().body;
        if let Some(primary) = self.team.thread(0) {
            // SAFETY: the front made the body for its own `call`.
            unsafe { (body.call)(primary, body) };
        }
    }

    /// Does the join end the outermost active region, so that the initial thread's own code
    /// continues?
    fn is_outermost(&self) -> bool {
        self.team.size() > 1 && self.team.plan().nesting.active_around == 1
    }

    /// Joins: waits for the other threads and all tasks. Afterwards the calling code runs as the
    /// thread and task that forked.
    pub fn end(self) {
        let Some(primary) = self.team.thread(0) else { return };
        // SAFETY: the forking thread runs in the name of thread 0 until the locals change below.
        let primary = unsafe { OwnThread::assume(primary) };
        let is_in_target = self.team.plan().nesting.target_depth > 0;
        check::join_reached(&primary);
        tools::region::primary_arrives(&self.team);
        self.team.await_join(primary);
        check::region_ended(&self.team);
        if self.is_outermost() {
            super::assemble::await_leaving(&self.team);
            if let Some(root_worker) = self.team.plan().origin.root_worker {
                ult::sched::return_to(root_worker);
            }
        }
        tools::region::primary_leaves(&self.team);
        primary.implicit.end_implicit();
        self.team.reset(primary.own().work.constructs.get() != 0);
        worker::set_duty(self.duty);
        worker::set_locals(self.outer);
        let here = CurrentThread::get();
        tools::region::ended(here, &self.team);
        group(here).leave(self.counted);
        promised::release(self.stacks as usize);
        pool::unreserve(self.reserved);
        if self.shares {
            pool::leave_region();
        }
        if self.team.plan().binding.places.is_some() {
            binding::after_region(here);
        }
        here.thread.own().forks.teams.keep(self.team);
        if !is_in_target {
            offload::host_looks();
        }
    }
}

// ---- how many threads -------------------------------------------------------

/// The number of threads that the construct requests, or else `nthreads-var`.
fn asked_for(here: CurrentThread, request: ParallelRequest) -> u32 {
    if request.num_threads == 0 { here.task.own.icv.get().nthreads } else { request.num_threads }
}

/// The number of threads by algorithm 10.1 of the specification, before the thread limit.
fn team_size(here: CurrentThread, request: ParallelRequest) -> u32 {
    let icv = here.task.own.icv.get();
    let active = here.team().plan().nesting.active_level;
    if request.num_threads == 1 || !may_be_active(active, icv.max_active_levels) {
        return 1;
    }
    let wanted = if request.num_threads == 0 { icv.nthreads } else { request.num_threads };
    let wanted = if icv.dynamic { wanted.min(env::settings().num_procs) } else { wanted };
    if wanted > MOST_THREADS {
        say_too_many(wanted);
    }
    wanted.clamp(1, MOST_THREADS)
}

ult::seam! {
    /// A region inside `around` active regions may be active if `around` is less than `most`.
    fn may_be_active(around: u32, most: u32) -> bool {
        around < most
    } or max_active_levels_ignored {
        true
    }
}

/// Warns once that a team is smaller than requested.
#[cold]
fn say_too_many(wanted: u32) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        report::warn(format_args!(
            "{wanted} threads for a region are more than a team can have; using {MOST_THREADS}"
        ))
    });
}

/// Reserves threads for a team that wants `wanted`, within the limits of the contention group.
/// Returns the size that the team may have, and how many threads were counted. The end of the
/// region gives these back.
fn reserve(here: CurrentThread, wanted: u32) -> (u32, u32) {
    if !needs_other_threads(wanted) {
        return (wanted, 0);
    }
    let (more, counted) = group(here).enter(&here.task.own.icv.get(), wanted - 1);
    (1 + more, counted)
}

ult::seam! {
    /// Does a team of `wanted` threads need threads besides the forking one? Only these count
    /// against the limit.
    fn needs_other_threads(wanted: u32) -> bool {
        wanted != 1
    } or thread_limit_ignored {
        false
    }
}

/// The contention group of the running thread.
fn group(here: CurrentThread) -> &'static Group {
    // SAFETY: the initial team of the group outlives every region in the group.
    unsafe { &*here.team().plan().group }
}

ult::seam! {
    /// A region is one level further in than the region around it.
    fn level_inside(outer: u32) -> u32 {
        outer + 1
    } or level_wrong {
        outer + 1 + u32::from(outer > 0)
    }
}

fn plan(here: CurrentThread, team: &Team, body: Body, size: u32, request: ParallelRequest) {
    let settings = env::settings();
    let outer = here.team().plan();
    let icv = here.task.own.icv.get();
    // SAFETY: this is the forking thread, and the team is between regions.
    let plan = unsafe { team.plan_mut() };
    team.set_size(size);
    put(&mut plan.body, body);
    put(&mut plan.nesting.level, level_inside(outer.nesting.level));
    put(&mut plan.nesting.active_level, outer.nesting.active_level + u32::from(size > 1));
    put(
        &mut plan.nesting.active_around,
        outer.nesting.active_around + u32::from(size > 1) + u32::from(here.thread.is_agent()),
    );
    put(&mut plan.origin.parent_thread, here.thread.thread());
    put(&mut plan.origin.parent_task, here.task);
    let own = request.counts.map_or(icv, |counts| icv.with_counts(counts));
    put(&mut plan.icv, own.nested(settings, request.bind.filter(|_| request.bind_lasts)));
    put(&mut plan.origin.floating_point, ult::sys::arch::fp_state());
    put(&mut plan.league, outer.league);
    put(&mut plan.group, outer.group);
    put(&mut plan.spin, among(team, outer.spin));
    if size == 1 {
        team.set_gang(here.team().gang()); // in a larger team `launch` sets the gang
    }
    if plan.origin.root_worker.map(ptr::from_ref) != outer.origin.root_worker.map(ptr::from_ref) {
        plan.origin.root_worker = outer.origin.root_worker;
    }
    put(&mut plan.binding.bind, request.bind.unwrap_or(icv.bind));
    let has_places = settings.binding.bound.places.is_some();
    let places = || binding::assignment(here, plan.binding.bind, icv.bind, size);
    put(&mut plan.binding.places, has_places.then(places).flatten());
    put(&mut plan.uses_kept_tls_blocks, false);
    put(&mut plan.defers_alone, settings.ranks.task_aware_mpi);
    put(&mut plan.binding.displays, false);
    put(&mut plan.nesting.device, outer.nesting.device);
    put(&mut plan.nesting.target_depth, outer.nesting.target_depth);
    put(&mut plan.binding.partition, has_places.then(|| here.thread.own().binding.partition.get()));
}

/// Writes a value only if it differs from that of the last region. An unchanged value stays in the
/// caches of the processors on which the members run.
#[inline(always)]
fn put<T: PartialEq>(slot: &mut T, value: T) {
    if *slot != value {
        *slot = value;
    }
}

/// Microseconds that a member polls before it sleeps, if the members' kernel threads outnumber the
/// processors. A member that polls longer keeps a processor from the threads that it waits for.
const AMONG_MANY: u32 = 5;

/// The spin policy for members of `team`; smaller teams wait by `spin`.
pub fn among(team: &Team, spin: Spin) -> Spin {
    let own_kernel_threads = team.kind == TeamKind::KernelThreads;
    if own_kernel_threads && team.size() as usize > ult::sched::cores() {
        spin.capped(AMONG_MANY)
    } else {
        spin
    }
}

/// `pause` instructions per microsecond, for settings that count loop iterations.
const PAUSES_PER_MICRO: u64 = 40;

/// The spin policy that the environment asks for.
pub fn spin_for(settings: &Settings) -> Spin {
    let exactly = |micros| Spin::exactly(u32::try_from(micros).unwrap_or(u32::MAX - 1));
    match settings.threads.waiting.spin {
        env::SpinSetting::None => Spin::NONE,
        env::SpinSetting::Learnt { least, most } => Spin::between(least, most),
        env::SpinSetting::Micros(n) => exactly(n),
        env::SpinSetting::Iterations(n) => exactly(n / PAUSES_PER_MICRO),
        env::SpinSetting::Forever => Spin::FOREVER,
    }
}

// ---- launching --------------------------------------------------------------

/// Starts the other threads of a planned region. Thread 0 runs for the gang `outer` until then.
fn launch(team: &Team, outer: GangTag) {
    let level = outer.level + 1;
    if team.kind != TeamKind::Ults {
        super::assemble::set_tls_blocks(team);
        stats::count_gang();
        super::following::at_fork(team);
        spawn::assigned_gang(level, |tag| {
            team.set_gang(tag);
            team.start_region();
        });
        return;
    }
    super::following::at_fork(team);
    super::assemble::prepare_ults(team, outer);
    let count = team.size() as usize - 1;
    // SAFETY: `prepare_ults` has written the starts, and this is the forking thread.
    let ult_start = |i: usize| unsafe { member(team, i).ult_start() };
    let root_worker = team.plan().origin.root_worker;
    match root_worker {
        Some(root_worker) if is_ganged(team) => {
            stats::count_gang();
            let place = |i: usize| binding::worker_for(team, i as u32 + 1);
            let near = |i: usize| binding::processors_for(team, i as u32 + 1);
            let (bound, outermost) =
                (team.plan().binding.places.is_some(), team.plan().nesting.active_around == 1);
            let (place, near) =
                ((bound && outermost).then_some(&place as _), (bound && !outermost).then_some(&near as _));
            spawn::gang(count, level, root_worker, ult_start, place, near, |tag| {
                team.set_gang(tag);
                team.start_region();
            });
        }
        _ => {
            team.set_gang(outer);
            team.start_region();
            spawn::plain(count, ult_start);
        }
    }
}

/// The thread with number `i` + 1.
fn member(team: &Team, i: usize) -> &Thread {
    match team.thread(i as u32 + 1) {
        Some(thread) => thread,
        None => report::fatal("a team lacks a thread"),
    }
}

/// Is the region gang-scheduled (`gang-sched-var`)? By default outermost regions are. Inner regions
/// are if their code was once seen to wait for its threads outside of the runtime.
fn is_ganged(team: &Team) -> bool {
    let plan = team.plan();
    match plan.icv.gang {
        GangSched::All => true,
        GangSched::None => false,
        GangSched::Auto => {
            plan.nesting.active_around == 1 || ult::stall::is_known_spinner(plan.body.function as usize)
        }
    }
}
