//! Parallel regions (OpenMP 5.2 §10.1): how large a team is, how it is forked and joined.
//!
//! The forking thread takes a team it has kept from an earlier region (or makes one,
//! [`super::assemble`]), writes the plan, and launches it. It then runs thread 0's share itself,
//! waits for the others and for all tasks, and keeps the team for its next region.
//!
//! * A team with *assigned* workers is launched by one store of the epoch, plus a wake-up for each
//!   member that sleeps: no allocation, no lock.
//! * A team that *shares* workers is launched by queueing its threads as ULTs: as a gang, which the
//!   scheduler places and orders, or on the forking worker's own deque. Which regions are gangs:
//!   [`is_ganged`].

use core::ffi::{CStr, c_char};
use core::ptr;
use std::sync::Once;

use ult::gang::GangTag;
use ult::pool;
use ult::sched::Spin;
use ult::spawn;
use ult::stack::promised;
use ult::worker::{self, Locals};

use super::assemble::{assemble, begin_member, serial_team};

use super::binding;
use super::check::sync_points;
use super::counts::CountList;
use super::device::resident;
use super::env::{self, Settings};
use super::group::Group;
use super::icv::{GangSched, ProcBind};
use super::report;
use super::stacks;
use super::stats;
use super::team::{Body, Team, TeamKind};
use super::thread::{CurrentThread, Thread};
use super::tool::event::ConstructKind;
use super::tool::hook;

/// What the `parallel` construct said.
#[derive(Clone, Copy, Debug, Default)]
pub struct ParallelRequest {
    /// `num_threads`, 0 when not given; 1 also stands for a false `if`.
    pub num_threads: u32,
    /// `num_threads` as a list, whose first element is `num_threads` above; `None` when it has no
    /// more.
    pub counts: Option<&'static CountList>,
    /// `strict` of `num_threads`.
    pub strict: Option<Strict>,
    /// `proc_bind`, `None` when not given.
    pub bind: Option<ProcBind>,
    /// Does `proc_bind` hold for the regions inside, too? libgomp makes the clause the new
    /// `bind-var`, libomp does not; the specification has the clause override the variable for
    /// its own region (5.2 §2.5).
    pub bind_lasts: bool,
}

/// `num_threads(strict: …)` (6.0 §12.1.2): what to do about a team that is smaller than asked for.
#[derive(Clone, Copy, Debug)]
pub struct Strict {
    /// `severity(fatal)`; otherwise a warning.
    pub fatal: bool,
    /// `message`: a C string that lives until the region begins, or null.
    pub message: *const c_char,
}

impl Strict {
    #[cold]
    fn complain(self, wanted: u32, got: u32) {
        // SAFETY: as the field says.
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

/// A region between its fork and its join, seen from the thread that forked it.
pub struct ForkedRegion {
    team: Box<Team>,
    outer: Locals,
    duty: (GangTag, usize),
    /// Threads counted against the contention group's limit.
    counted: u32,
    /// Stacks promised to its threads, see [`stacks`].
    stacks: u32,
    /// Threads counted against the pool's workers.
    reserved: usize,
    /// Counted among the program's kernel threads in regions.
    shares: bool,
}

/// Runs `body` in a new team and returns when all of its threads and tasks have ended.
pub fn parallel(here: CurrentThread, body: Body, request: ParallelRequest) {
    let region = ForkedRegion::begin(here, body, request);
    region.run_primary();
    region.end();
}

/// Runs `body` once per team of a league of `teams` initial teams, one after the other on the
/// calling thread (5.2 §10.2). `thread_limit` is that of each team's contention group, 0 when not
/// given.
pub fn league(here: CurrentThread, body: Body, teams: u32, thread_limit: u32) {
    let notified = hook::region::league_begins(here, teams.max(1));
    for number in 0..teams.max(1) {
        let region = ForkedRegion::begin_initial(
            here,
            body,
            (teams.max(1), number + u32::from(ult::mutant!(team_num_wrong))),
            thread_limit,
        );
        region.run_primary();
        region.end();
    }
    hook::region::league_ends(here, &notified);
    binding::return_to_place(here);
}

impl ForkedRegion {
    /// Makes the calling code the initial thread of team `league.1` of `league.0`.
    pub fn begin_initial(here: CurrentThread, body: Body, league: (u32, u32), thread_limit: u32) -> Self {
        let team = serial_team(here);
        plan(here, &team, body, 1, ParallelRequest::default());
        // SAFETY: we are the forking thread and the team is between regions.
        let plan = unsafe { team.plan_mut() };
        plan.level -= 1;
        plan.defers_alone &= plan.level != 0;
        plan.icv = here.task.icv.get();
        if thread_limit != 0 {
            plan.icv.thread_limit = thread_limit;
        }
        plan.league = league;
        plan.group = &raw const team.group;
        plan.places = None;
        if let Some(primary) = team.thread(0)
            && let Some(partition) = binding::bind_team(here, primary, league)
        {
            plan.partition = Some(partition);
        }
        hook::region::begins(here, &team, 1, ConstructKind::League);
        Self::enter(team, 0, 0)
    }

    /// Forks: when this returns, the calling code runs as thread 0 of the new team.
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
        // SAFETY: we are the forking thread and the team is between regions.
        let plan = unsafe { team.plan_mut() };
        let displays = binding::is_to_display(here, plan, size);
        put(&mut plan.displays, displays);
        hook::region::begins(here, &team, asked_for(here, request), ConstructKind::Parallel);
        Self::enter(team, counted, stacks)
    }

    /// Makes the calling code the initial thread of a target region of `device`, which is the host
    /// or runs on it; the region lies in `depth` ones, itself counted.
    pub fn begin_target(here: CurrentThread, body: Body, thread_limit: u32, device: i32, depth: u32) -> Self {
        let team = serial_team(here);
        plan(here, &team, body, 1, ParallelRequest::default());
        // SAFETY: we are the forking thread and the team is between regions.
        let plan = unsafe { team.plan_mut() };
        plan.level = 0;
        plan.defers_alone = false;
        plan.active_level = 0;
        plan.device = device;
        plan.target_depth = depth;
        plan.icv = env::settings().initial; // the device's own, not the encountering task's
        if thread_limit != 0 {
            plan.icv.thread_limit = thread_limit;
        }
        plan.league = (1, 0);
        plan.group = &raw const team.group;
        hook::region::begins(here, &team, 1, ConstructKind::Target);
        Self::enter(team, 0, 0)
    }

    /// Publishes a planned region; the calling code goes on as its thread 0.
    fn enter(team: Box<Team>, counted: u32, stacks: u32) -> Self {
        let Some(primary) = team.thread(0) else { report::fatal("a team has no primary thread") };
        primary.move_in(worker::register_current());
        begin_member(primary, &team);
        // SAFETY: the thread and its implicit task live as long as the team, which `end` gives back
        // last.
        let outer = unsafe { CurrentThread::set(primary, &primary.implicit) };
        hook::region::entered(&team);
        let duty = worker::duty();
        let size = team.size();
        let shares = size > 1 && team.plan().active_around == 1 && super::root::count() > 1;
        if shares {
            pool::enter_region();
        }
        let reserved =
            if size > 1 && team.kind == TeamKind::Ults { pool::reserve(size as usize - 1) } else { 0 };
        if size > 1 {
            launch(&team, duty.0);
        }
        let region = if size > 1 { team.plan().body.function as usize } else { duty.1 };
        worker::set_duty((team.gang(), region));
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

    /// Does the join lead out of all active regions, back to the initial thread's own code?
    fn is_outermost(&self) -> bool {
        self.team.size() > 1 && self.team.plan().active_around == 1
    }

    /// Joins: waits for the other threads and all tasks; the calling code is again what it was
    /// before the fork.
    pub fn end(self) {
        let Some(primary) = self.team.thread(0) else { return };
        let is_in_target = self.team.plan().target_depth > 0;
        sync_points::joins(primary);
        hook::region::primary_arrives(&self.team);
        self.team.await_join(primary);
        sync_points::is_over(&self.team);
        if self.is_outermost() {
            super::assemble::await_leaving(&self.team);
            if let Some(root_worker) = self.team.plan().root_worker {
                ult::sched::return_to(root_worker);
            }
        }
        hook::region::primary_leaves(&self.team);
        primary.implicit.end_implicit();
        // SAFETY: own thread only.
        self.team.reset(unsafe { primary.own() }.constructs != 0);
        worker::set_duty(self.duty);
        worker::set_locals(self.outer);
        let here = CurrentThread::get();
        hook::region::ended(here, &self.team);
        group(here).leave(self.counted);
        promised::release(self.stacks as usize);
        pool::unreserve(self.reserved);
        if self.shares {
            pool::leave_region();
        }
        if self.team.plan().places.is_some() {
            binding::after_region(here);
        }
        // SAFETY: own thread only.
        unsafe { here.thread.own() }.teams.push(self.team);
        if !is_in_target {
            resident::host_looks();
        }
    }
}

// ---- how many threads -------------------------------------------------------

/// What the construct, or else `nthreads-var`, asks for.
fn asked_for(here: CurrentThread, request: ParallelRequest) -> u32 {
    if request.num_threads == 0 { here.task.icv.get().nthreads } else { request.num_threads }
}

/// Number of threads asked for, by algorithm 10.1 of the specification, before the thread limit.
fn team_size(here: CurrentThread, request: ParallelRequest) -> u32 {
    let icv = here.task.icv.get();
    let active = here.team().plan().active_level;
    if request.num_threads == 1
        || (active >= icv.max_active_levels && !ult::mutant!(max_active_levels_ignored))
    {
        return 1;
    }
    let wanted = if request.num_threads == 0 { icv.nthreads } else { request.num_threads };
    let wanted = if icv.dynamic { wanted.min(env::settings().num_procs) } else { wanted };
    if wanted > MOST_THREADS {
        say_too_many(wanted);
    }
    wanted.clamp(1, MOST_THREADS)
}

/// Says, once, that a team is smaller than was asked for.
#[cold]
fn say_too_many(wanted: u32) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        report::warn(format_args!(
            "{wanted} threads for a region are more than a team can have; using {MOST_THREADS}"
        ))
    });
}

/// The most threads of a team: an epoch keeps their number in 16 bits.
pub const MOST_THREADS: u32 = 0xFFFF;

/// Reserves threads for a team that wants `wanted`, within the limits of the contention group.
/// Returns the size the team may have and how many threads were counted, which the end of the
/// region gives back.
fn reserve(here: CurrentThread, wanted: u32) -> (u32, u32) {
    if wanted == 1 || ult::mutant!(thread_limit_ignored) {
        return (wanted, 0);
    }
    let (more, counted) = group(here).enter(&here.task.icv.get(), wanted - 1);
    (1 + more, counted)
}

/// The contention group.
fn group(here: CurrentThread) -> &'static Group {
    // SAFETY: the initial team of the group outlives every region in it.
    unsafe { &*here.team().plan().group }
}

fn plan(here: CurrentThread, team: &Team, body: Body, size: u32, request: ParallelRequest) {
    let settings = env::settings();
    let outer = here.team().plan();
    let icv = here.task.icv.get();
    // SAFETY: we are the forking thread and the team is between regions.
    let plan = unsafe { team.plan_mut() };
    team.set_size(size);
    put(&mut plan.body, body);
    put(&mut plan.level, outer.level + 1 + u32::from(ult::mutant!(level_wrong) && outer.level > 0));
    put(&mut plan.active_level, outer.active_level + u32::from(size > 1));
    put(
        &mut plan.active_around,
        outer.active_around + u32::from(size > 1) + u32::from(here.thread.is_agent()),
    );
    put(&mut plan.parent_thread, here.thread);
    put(&mut plan.parent_task, here.task);
    let own = request.counts.map_or(icv, |counts| icv.with_counts(counts));
    put(&mut plan.icv, own.nested(settings, request.bind.filter(|_| request.bind_lasts)));
    put(&mut plan.floating_point, ult::arch::fp_state());
    put(&mut plan.league, outer.league);
    put(&mut plan.group, outer.group);
    put(&mut plan.spin, among(team, outer.spin));
    if size == 1 {
        team.set_gang(here.team().gang()); // otherwise `launch` does
    }
    if plan.root_worker.map(ptr::from_ref) != outer.root_worker.map(ptr::from_ref) {
        plan.root_worker = outer.root_worker;
    }
    put(&mut plan.bind, request.bind.unwrap_or(icv.bind));
    put(&mut plan.places, binding::assignment(here, plan.bind, icv.bind, size));
    put(&mut plan.keeps, false);
    put(&mut plan.defers_alone, settings.task_aware_mpi);
    put(&mut plan.displays, false);
    put(&mut plan.device, outer.device);
    put(&mut plan.target_depth, outer.target_depth);
    // SAFETY: own thread only.
    put(
        &mut plan.partition,
        settings.places.is_some().then(|| unsafe { here.thread.own() }.partition.clone()),
    );
}

/// Writes what is different from the last region's: members on other processors keep the rest in
/// their caches.
#[inline(always)]
fn put<T: PartialEq>(slot: &mut T, value: T) {
    if *slot != value {
        *slot = value;
    }
}

/// Microseconds that members look before they sleep whose kernel threads outnumber the processors:
/// whoever looks for longer keeps those from running for whom it waits.
const AMONG_MANY: u32 = 5;

/// How members of `team` look before they sleep where those of smaller teams look as `spin` says.
pub fn among(team: &Team, spin: Spin) -> Spin {
    let own_kernel_threads = team.kind == TeamKind::KernelThreads;
    if own_kernel_threads && team.size() as usize > ult::sched::cores() {
        spin.capped(AMONG_MANY)
    } else {
        spin
    }
}

/// `pause` instructions per microsecond, for settings given in turns of a loop.
const PAUSES_PER_MICRO: u64 = 40;

/// How members look before they sleep, from the environment.
pub fn spin_for(settings: &Settings) -> Spin {
    let exactly = |micros| Spin::exactly(u32::try_from(micros).unwrap_or(u32::MAX - 1));
    match settings.spin {
        env::SpinSetting::None => Spin::NONE,
        env::SpinSetting::Learnt { least, most } => Spin::between(least, most),
        env::SpinSetting::Micros(n) => exactly(n),
        env::SpinSetting::Iterations(n) => exactly(n / PAUSES_PER_MICRO),
        env::SpinSetting::Forever => Spin::FOREVER,
    }
}

// ---- launching --------------------------------------------------------------

/// Starts the threads of a planned region beside thread 0, which runs for `outer` so far.
fn launch(team: &Team, outer: GangTag) {
    let level = outer.level + 1;
    if team.kind != TeamKind::Ults {
        super::assemble::clothe(team);
        stats::count_gang();
        spawn::assigned_gang(level, |tag| {
            team.set_gang(tag);
            team.start_region();
        });
        return;
    }
    super::assemble::sow(team, outer);
    let count = team.size() as usize - 1;
    // SAFETY: `sow` has written the starts; we are the forking thread.
    let ult_start = |i: usize| unsafe { member(team, i).ult_start() };
    let root_worker = team.plan().root_worker;
    match root_worker {
        Some(root_worker) if is_ganged(team) => {
            stats::count_gang();
            let place = |i: usize| binding::worker_for(team, i as u32 + 1);
            let near = |i: usize| binding::processors_for(team, i as u32 + 1);
            let (bound, outermost) = (team.plan().places.is_some(), team.plan().active_around == 1);
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

/// The member that starts `i`th beside thread 0.
fn member(team: &Team, i: usize) -> &Thread {
    match team.thread(i as u32 + 1) {
        Some(thread) => thread,
        None => report::fatal("a team lacks a thread"),
    }
}

/// Is the region gang-scheduled (`gang-sched-var`)? By default the outermost ones are, and those
/// whose code was once seen waiting for its threads where the runtime cannot see it.
fn is_ganged(team: &Team) -> bool {
    let plan = team.plan();
    match plan.icv.gang {
        GangSched::All => true,
        GangSched::None => false,
        GangSched::Auto => {
            plan.active_around == 1 || ult::stall::is_known_spinner(plan.body.function as usize)
        }
    }
}
