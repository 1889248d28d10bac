//! Putting a team together: where its threads run, and how a member lives there.
//!
//! What does not live here: the fork and the join ([`super::parallel`]), and the counts of members
//! that start and leave ([`super::team`]). The table shows which kind of team a region gets
//! ([`TeamKind`]). Thread 0 is always the forking context itself.
//!
//! | kind | when | its members |
//! |---|---|---|
//! | assigned workers | an outermost region, if the pool can assign each member a shared worker without ULTs | wait on their worker for the next region |
//! | ULTs | every other region | ULTs that start anew in each region and end with it |
//! | kernel threads | see the list below | wait on kernel threads beyond the pool |
//!
//! A team runs on kernel threads of its own in three cases:
//!
//! * TLS blocks cannot be borrowed, or `GANGWAY_TLS=kernel` forbids it;
//! * the program has mutexes that pass priorities on;
//! * the region's code was seen to block in the kernel.
//!
//! In the last two cases an outermost region that follows a team with assigned workers of the same
//! size keeps that team. Its workers then run no other code ([`pool::isolate`]).
//!
//! *The end of a ULT member.* The ULT ends when its share is over; `Team::retire_members` is its
//! last access to the team. If this region or the one before used tasks, the member instead stays
//! at the join and helps until thread 0 has closed the region. If the first task is created later,
//! the members that have already left come back ([`start_helper`]). The join of an outermost region
//! waits until all members have left ([`await_leaving`]). The join of an inner region does not
//! wait: the forking thread skips a team with members that are still leaving when it takes its next
//! team.
//!
//! *What members run with.* The forking thread keeps one TLS block per thread number
//! (`ThreadOwn::tls_blocks`). Thread *n* of its outermost regions runs with the same block each
//! time, so that `threadprivate` variables persist. This holds for teams of ULTs and for teams on
//! kernel threads. A member on a kernel thread switches to the block for its share only
//! ([`kept_share`]). Between regions no thread runs with it.
//!
//! Rejected: keeping the ULTs of a team from region to region. They would stay on the workers on
//! which they first started, however busy those workers are, and could not be stolen.

use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};

use ult::gang::GangTag;
use ult::pool::{self, Assignment};
use ult::sched::{Job, ReadyOrder, SearchScope, Spin, Wait};
use ult::spawn::{self, SpawnGroup, UltStart};
use ult::tls_block::TlsBlock;
use ult::worker::{self, Duty, Locals, Worker};

use super::agents::calls;
use super::agents::record::Agents;
use super::env;
use super::exit::end_lost_process;
use super::extension::check;
use super::extension::tools;
use super::parallel::{among, spin_for};

use super::report;
use super::storage::{self, may_share};
use crate::queue::find;
use crate::queue::search;
use crate::team::kept::KeptVerdict;
use crate::team::plan::TeamKind;
use crate::team::record::Team;
use crate::thread::current::{CurrentThread, OwnThread};
use crate::thread::record::Thread;
use crate::tls_blocks::TlsBlocks;

/// A team of one for the forking thread.
pub fn serial_team(here: CurrentThread) -> Box<Team> {
    take_team(here, 1, TeamKind::Ults)
}

/// A team for `wanted` threads of a region whose code is `region`. Also returns how many threads
/// the team has, at most `wanted`.
pub fn assemble(here: CurrentThread, wanted: u32, region: usize) -> (Box<Team>, u32) {
    if wanted == 1 {
        return (serial_team(here), 1);
    }
    if is_outermost(here) {
        ult::exceptions::refresh();
    }
    let (team, size) = match kind(here, wanted, region) {
        TeamKind::AssignedWorkers => assigned(here, wanted),
        TeamKind::KernelThreads => on_kernel_threads(here, wanted),
        TeamKind::Ults => as_ults(here, wanted),
    };
    if is_outermost(here) {
        let keeps = team.kind != TeamKind::AssignedWorkers && may_share();
        here.thread.own().forks.kept_size.set(if keeps { size } else { 0 });
    }
    (team, size)
}

/// Is a region that is forked here in no other active region? A region of a free agent counts as an
/// inner one, because its workers also serve other teams.
fn is_outermost(here: CurrentThread) -> bool {
    here.team().plan().nesting.active_around == 0 && !here.thread.is_agent()
}

fn kind(here: CurrentThread, wanted: u32, region: usize) -> TeamKind {
    if !may_share() {
        return TeamKind::KernelThreads;
    }
    let blocks = ult::stall::is_known_blocker(region) || storage::are_kept_apart();
    let outermost = is_outermost(here);
    if blocks && !(outermost && isolate_assigned(here, wanted)) {
        TeamKind::KernelThreads
    } else if outermost && wanted as usize - 1 <= pool::limit() && !keeps_sharing(here, wanted) {
        TeamKind::AssignedWorkers
    } else {
        TeamKind::Ults
    }
}

/// Isolates the workers of the last outermost team, if that team has assigned workers and `wanted`
/// threads. The `threadprivate` variables of its members lie in the storage of their kernel
/// threads, so the team must stay. From here on its workers run no other code. A worker that runs
/// other code at this moment is asked again in the next region. Returns false if there is no such
/// team.
fn isolate_assigned(here: CurrentThread, wanted: u32) -> bool {
    let own = here.thread.own();
    let is_it = |team: &Team| {
        team.kind == TeamKind::AssignedWorkers && team.size() == wanted && team.is_of_this_process()
    };
    own.forks.kept_size.get() == 0
        && own.forks.teams.with(is_it, |team| {
            let homes = (1..wanted).filter_map(|num| team.thread(num)?.home_or_host());
            homes.for_each(pool::isolate);
        })
}

/// Had the last outermost team `wanted` threads that ran with the forking thread's kept TLS blocks?
/// Then the next team must find their `threadprivate` variables again (5.2 §5.2), even if enough
/// workers are free by now.
fn keeps_sharing(here: CurrentThread, wanted: u32) -> bool {
    worker::uses_tls_blocks() && here.thread.own().forks.kept_size.get() == wanted
}

/// A team whose threads each have an assigned worker of the pool. It is a team of ULTs instead if
/// the pool has too few free workers.
fn assigned(here: CurrentThread, wanted: u32) -> (Box<Team>, u32) {
    let team = take_team(here, wanted, TeamKind::AssignedWorkers);
    let missing = wanted.saturating_sub(team.attached());
    if missing > 0 {
        let mut workers = Vec::with_capacity(missing as usize);
        if !pool::lease(missing as usize, &mut workers) {
            here.thread.own().forks.teams.keep(team);
            return as_ults(here, wanted);
        }
        assign_workers(&team, workers);
    }
    (team, wanted)
}

fn on_kernel_threads(here: CurrentThread, wanted: u32) -> (Box<Team>, u32) {
    let team = take_team(here, wanted, TeamKind::KernelThreads);
    if team.attached() < wanted {
        let own: Vec<_> = (team.attached()..wanted).map(|num| dedicated_worker(here, num)).collect();
        let missing = own.iter().filter(|worker| worker.is_none()).count();
        let mut others = Vec::with_capacity(missing);
        pool::acquire(missing, &mut others);
        if others.len() < missing {
            complain_about_threads(missing, others.len());
        }
        let mut others = others.into_iter();
        assign_workers(&team, own.into_iter().map_while(|worker| worker.or_else(|| others.next())).collect());
    }
    let size = team.attached().min(wanted);
    (team, size)
}

/// The dedicated worker of thread `num`, if that thread had one in the region before.
fn dedicated_worker(here: CurrentThread, num: u32) -> Option<&'static Worker> {
    if num == 0 || !storage::are_kept_apart() || !is_outermost(here) {
        return None;
    }
    here.thread.own().forks.tls_blocks.of(num)?.take_dedicated_worker()
}

fn as_ults(here: CurrentThread, wanted: u32) -> (Box<Team>, u32) {
    let team = take_team(here, wanted, TeamKind::Ults);
    if worker::uses_tls_blocks() {
        // Before the workers exist: the calling thread blocks its signals while it starts them.
        // Signals for the process then go to the threads that exist already.
        ult::signals::take_over();
    }
    let blocks = &here.thread.own().forks.tls_blocks;
    // Donors start while the records are made. They have started before the workers, which would take
    // the processors from them.
    let more = if worker::uses_tls_blocks() && is_outermost(here) { blocks.begin(wanted - 1) } else { None };
    while team.attached() < wanted {
        let thread = team.attach(Thread::new(team.attached()));
        // SAFETY: a new thread that has not run; the team is freed only after the member has left.
        unsafe { thread.join_team(&raw const *team) };
    }
    if let Some(more) = more {
        blocks.finish(more);
    }
    ult::stall::leave_start_to_worker();
    if !pool::prepare(wanted as usize - 1) {
        ult::stall::start_if_needed();
    }
    ult::stall::keep_up_with_objects();
    (team, wanted)
}

/// The newest team of this kind that the forking thread has kept. A team of ULTs qualifies only when
/// all its members have left. Teams of a parent process are forgotten on the way.
#[inline(always)]
fn take_kept(here: CurrentThread, kind: TeamKind) -> Option<Box<Team>> {
    let judge = |team: &Team| {
        if !team.is_of_this_process() {
            KeptVerdict::Lose
        } else if team.kind == kind && (kind != TeamKind::Ults || team.present() == 0) {
            KeptVerdict::Take
        } else {
            KeptVerdict::Keep
        }
    };
    here.thread.own().forks.teams.take(judge)
}

/// A team with room for `size` threads: one that the forking thread kept, or a new one.
fn take_team(here: CurrentThread, size: u32, kind: TeamKind) -> Box<Team> {
    while let Some(team) = take_kept(here, kind) {
        if team.capacity() >= size {
            return team;
        }
        dismiss(team);
    }
    let team = Team::new(size.next_power_of_two(), kind, NO_SPAWN_GROUP);
    let primary = team.attach(Thread::new(0));
    // SAFETY: a new thread; the team outlives it.
    unsafe { primary.join_team(&raw const *team) };
    team
}

/// Attaches one new member for each of `workers`, for the lifetime of the team.
#[cold]
fn assign_workers(team: &Team, workers: Vec<&'static Worker>) {
    let stack_size = env::settings().threads.stacksize;
    for worker in workers {
        let thread = team.attach(Thread::new(team.attached()));
        // SAFETY: a new thread that has not run; the team is dismissed only after the member has
        // left.
        unsafe { thread.join_team(team) };
        thread.move_in(worker);
        thread.set_home(worker);
        thread.seen_epoch.set(team.epoch());
        team.count_present();
        let argument = ptr::from_ref(thread).cast_mut().cast();
        pool::assign(worker, Assignment { entry: assigned_main, argument, stack_size });
    }
}

/// Describes how the members of a team of ULTs start in the region that is being forked. Thread 0
/// runs for the gang `outer` until then.
pub fn prepare_ults(team: &Team, outer: GangTag) {
    let plan = team.plan();
    let group = plan.origin.root_worker.map_or(0, |root_worker| root_worker.group());
    let keeps = keeps_storage(team);
    // `as_ults` has borrowed them.
    let blocks = tls_blocks(team);
    team.count_all_present();
    let data = ptr::from_ref(team).cast_mut().cast();
    // SAFETY: this is the forking thread, and the ULTs of the last region have left (`take_team`).
    unsafe {
        team.set_spawn_group(SpawnGroup {
            data,
            tag: outer,
            region: plan.body.function as usize,
            group,
            ..NO_SPAWN_GROUP
        })
    };
    for num in 1..team.size() {
        let Some(thread) = team.thread(num) else { continue };
        let tls_block = if keeps { blocks.of(num) } else { None };
        // SAFETY: as above.
        unsafe {
            thread.set_ult_start(UltStart {
                spawn_group: team.spawn_group(),
                data: ptr::from_ref(thread).cast_mut().cast(),
                tls_block,
            })
        };
    }
}

/// The spawn group of a team before its first region.
pub const NO_SPAWN_GROUP: SpawnGroup = SpawnGroup {
    run: shared_main,
    end: shared_end,
    retire: retire_members,
    data: ptr::null_mut(),
    tag: GangTag::NONE,
    region: 0,
    group: 0,
};

/// Does the forking thread keep TLS blocks for the threads of this team, by number?
fn keeps_storage(team: &Team) -> bool {
    team.plan().nesting.active_around == 1 && worker::uses_tls_blocks()
}

/// The TLS blocks of the thread that forks `team`, and calls this.
fn tls_blocks(team: &Team) -> &TlsBlocks {
    // SAFETY: the caller is the forking thread, which the plan names.
    &unsafe { OwnThread::assume(&*team.plan().origin.parent_thread) }.own().forks.tls_blocks
}

/// Sets the TLS blocks with which the members of a team on kernel threads run in the region that is
/// being forked.
pub fn set_tls_blocks(team: &Team) {
    if team.kind == TeamKind::AssignedWorkers || !may_share() || !keeps_storage(team) {
        return;
    }
    // SAFETY: this is the forking thread, between regions.
    unsafe { team.plan_mut() }.uses_kept_tls_blocks = true;
    let blocks = tls_blocks(team);
    blocks.prepare(team.size() - 1);
    for num in 1..team.size() {
        if let Some(thread) = team.thread(num) {
            // SAFETY: as above.
            unsafe { thread.set_kept(blocks.of(num)) };
        }
    }
}

/// Starts a ULT for a member that has left the region. The ULT helps with the region's tasks until
/// the region ends. It runs on the calling worker, or on a worker that steals it.
pub fn start_helper(thread: &Thread) {
    let team = thread.team();
    // SAFETY: the member has left, and its record belongs to the caller until the ULT starts
    // (`Thread::comes_back`).
    unsafe {
        let spawn_group = thread.set_helper(SpawnGroup {
            run: shared_helper,
            tag: team.gang(),
            ..*team.spawn_group().as_ref()
        });
        thread.set_ult_start(UltStart { spawn_group, ..*thread.ult_start() });
        spawn::plain(1, |_| thread.ult_start());
    }
}

static COMPLAINED: AtomicBool = AtomicBool::new(false);

fn complain_about_threads(wanted: usize, got: usize) {
    // ORDERING: Relaxed; the exchange lets at most one message through.
    if !COMPLAINED.swap(true, Ordering::Relaxed) {
        report::warn(format!(
            "the system started {got} of {wanted} more threads; the team is smaller (see ulimit -u and cgroup pids.max)"
        ));
    }
}

// ---- members ----------------------------------------------------------------

/// Sets a member up for the region that has just started. For thread 0 the region is about to
/// start.
pub fn begin_member(thread: OwnThread, team: &Team) {
    let plan = team.plan();
    let own = thread.own();
    own.work.constructs.set(0);
    own.work.singles.set(0);
    thread.note_inclusion();
    // SAFETY: the plan names the forking task, which is suspended in the region.
    unsafe { thread.implicit.begin_implicit(team, &thread, plan.origin.parent_task, plan.icv) };
    super::binding::bind_member(thread, plan);
    super::binding::display_member(&thread, plan);
}

/// What a member with a kernel thread of its own, or an assigned worker, does until its next
/// region.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// The member helps with the tasks of the region that ends.
    Helping,
    /// The member has switched back from its kept TLS block, and switches to it again if there are
    /// tasks. The number counts how often in a row it then found none.
    Left(u32),
}

/// What ends a member's rest.
enum Call {
    Region,
    /// There are tasks of the region that the member has left.
    Back,
    Dismissal,
}

/// The life of a member that does not run as ULTs: it waits for a region, runs its share, arrives
/// at the join, and starts over, until the team is dismissed.
unsafe fn assigned_main(argument: *mut ()) {
    // SAFETY: `assign_workers` passes a thread that lives until the member has left; this is the member.
    let thread = unsafe { OwnThread::assume(&*argument.cast()) };
    let mut rest = Rest::Helping;
    loop {
        rest = match await_call(thread, rest) {
            Call::Region => take_part(thread),
            Call::Back => come_back(thread, rest),
            Call::Dismissal => break,
        };
    }
    thread.own().forks.teams.take_all().into_iter().for_each(dismiss);
    crate::following::leaves_team(thread);
    thread.home_or_host().into_iter().for_each(ult::sched::return_home);
    worker::set_locals(Locals::default());
    thread.team().leave_for_good(1);
}

fn take_part(thread: OwnThread) -> Rest {
    let team = thread.team();
    worker::set_duty(Duty { tag: team.gang(), region: team.plan().body.function as usize });
    let kept = if team.plan().uses_kept_tls_blocks { thread.kept() } else { None };
    crate::following::region_begins(thread);
    let rest = match kept {
        None => {
            run_share(thread);
            worker::set_duty(Duty::NONE);
            let notified = team.plan().notified;
            team.arrive_at_join();
            if notified {
                stay_to_the_end(thread);
            }
            Rest::Helping
        }
        Some(tls_block) => kept_share(thread, tls_block),
    };
    thread.home_or_host().into_iter().for_each(ult::sched::retire);
    rest
}

/// Keeps a member at the join until thread 0 has closed the region; the member helps meanwhile. For
/// members without a kept TLS block, in regions whose events a tool is notified of.
#[cold]
fn stay_to_the_end(thread: OwnThread) {
    let team = thread.team();
    let epoch = thread.seen_epoch.get();
    let seek = |scope: SearchScope| find::find_after(thread, scope, epoch);
    let ready = || team.is_closed(epoch) || team.is_retired() || team.is_left_to(thread);
    ult::sched::wait(&Wait::until(&ready).seeking(&seek).counted_by(team.sleepers()).spinning(team.spin()));
    if team.is_lost() {
        end_lost_process(thread);
    }
    tools::region::member_leaves(&thread);
}

/// Runs a member's share with the TLS block that is kept for it. No other context runs with the
/// block before the member has joined and switched back. Afterwards the next outermost region,
/// perhaps of another team, may use it.
fn kept_share(thread: OwnThread, tls_block: &'static TlsBlock) -> Rest {
    let team = thread.team();
    let own = set_thread_pointer(tls_block);
    run_share(thread);
    if team.is_lost() {
        end_lost_process(thread); // the child of a fork continues with the storage that the C library takes for its thread's
    }
    if team.has_used_tasks() || team.plan().notified {
        team.keep_holding();
        team.arrive_at_join();
        help_with_own_block(thread, own);
    } else {
        set_thread_pointer(own);
        worker::set_duty(Duty::NONE);
        team.arrive_at_join();
    }
    Rest::Left(0)
}

/// A member that has left the region helps with its tasks, if the region is still open.
fn come_back(thread: OwnThread, rest: Rest) -> Rest {
    let team = thread.team();
    let Rest::Left(in_vain) = rest else { return rest };
    if !team.hold_again(thread.seen_epoch.get()) {
        return rest;
    }
    // The forking thread changes this after the region is closed and the member has switched back.
    let Some(tls_block) = thread.kept() else {
        report::fatal("a member has lost the storage that was kept for it")
    };
    let own = set_thread_pointer(tls_block);
    worker::set_duty(Duty { tag: team.gang(), region: team.plan().body.function as usize });
    let found = help_with_own_block(thread, own);
    thread.home_or_host().into_iter().for_each(ult::sched::retire);
    Rest::Left(if found { 0 } else { in_vain + 1 })
}

/// Helps with the tasks of the region until thread 0 has closed it, or until the worker would
/// otherwise go to sleep. Then the member runs with `own` again. Returns true if it found a job.
fn help_with_own_block(thread: OwnThread, own: &'static TlsBlock) -> bool {
    let team = thread.team();
    let epoch = thread.seen_epoch.get();
    let (found, idle, notified) = (Cell::new(false), Cell::new(false), team.plan().notified);
    let more = || !team.is_closed(epoch);
    let seek = |scope: SearchScope| {
        let job = find::find(thread, scope, &more);
        found.set(found.get() || job.is_some());
        // The job does nothing. After it the scheduler checks the condition once more.
        job.or_else(|| {
            (!notified && scope == SearchScope::BeforeSleep && !idle.replace(true))
                .then_some(Job { run: no_job, data: ptr::null_mut() })
        })
    };
    let ready = || idle.get() || team.is_closed(epoch) || team.is_left_to(thread);
    let wait = Wait::until(&ready).seeking(&seek).counted_by(team.sleepers()).spinning(team.spin());
    ult::sched::wait(&wait.finished());
    search::end_help(thread);
    if team.is_lost() {
        end_lost_process(thread);
    }
    if notified {
        tools::region::member_leaves(&thread);
    }
    set_thread_pointer(own);
    worker::set_duty(Duty::NONE);
    team.let_go_of_block();
    found.get()
}

unsafe fn no_job(_: *mut ()) {}

/// A member stops coming back to a region after it came so often in a row and could take no task.
const IN_VAIN: u32 = 4;

/// Switches to `tls_block`; returns the block that was in use before.
fn set_thread_pointer(tls_block: &'static TlsBlock) -> &'static TlsBlock {
    // SAFETY: the caller is a member, on its own stack, between its share and its waiting: no other
    // context of it exists. The block kept for its number belongs to it alone from the start of the
    // region until it has switched back. The block of its kernel thread always belongs to it alone.
    match unsafe { ult::sched::change_storage(tls_block) } {
        Some(before) => before,
        None => report::fatal("a thread without storage of its own was given another's"),
    }
}

/// Waits for the next region, and helps with the tasks of the one before. Also returns if there are
/// tasks for which the member must switch to its kept TLS block.
fn await_call(thread: OwnThread, rest: Rest) -> Call {
    let team = thread.team();
    let seen = thread.seen_epoch.get();
    let is_back = || matches!(rest, Rest::Left(in_vain) if in_vain < IN_VAIN) && team.calls_back(seen);
    let seek = |scope: SearchScope| {
        if rest == Rest::Helping { find::find_after(thread, scope, seen) } else { None }
    };
    let ready = || {
        team.next_region(seen, thread.num()).is_some()
            || team.is_retired()
            || team.is_left_to(thread)
            || is_back()
    };
    let spin = among(team, spin_for(env::settings()));
    crate::following::between_regions(thread);
    ult::sched::wait(&Wait::until(&ready).seeking(&seek).counted_by(team.sleepers()).spinning(spin));
    if team.is_lost() {
        end_lost_process(thread);
    }
    match team.next_region(seen, thread.num()) {
        Some(epoch) => {
            thread.seen_epoch.set(epoch);
            Call::Region
        }
        None if team.is_retired() => Call::Dismissal,
        None => Call::Back,
    }
}

/// The life of a member of a team of ULTs: its share of one region. The member stays to help with
/// tasks if the region uses some.
unsafe fn shared_main(argument: *mut ()) {
    // SAFETY: `prepare_ults` passes a thread that lives until the member has left; this is the member.
    let thread = unsafe { OwnThread::assume(&*argument.cast()) };
    let team = thread.team();
    team.expect_end();
    thread.move_in(worker::register_current());
    super::stats::count_gang_ult();
    run_share(thread);
    if team.is_lost() {
        end_lost_process(thread);
    }
    if team.lingers() {
        let notified = team.plan().notified;
        team.arrive_at_join();
        help_until_closed(thread);
        if notified {
            tools::region::member_leaves(&thread);
        }
    } else {
        thread.keep_mode();
    }
}

/// The code of a member that comes back to help with tasks. It has already joined.
unsafe fn shared_helper(argument: *mut ()) {
    // SAFETY: `start_helper` passes a thread that lives until the member has left; this is the
    // member.
    let thread = unsafe { OwnThread::assume(&*argument.cast()) };
    thread.move_in(worker::register_current());
    // SAFETY: the thread and its implicit task live as long as the team, and this kernel thread
    // hosts it.
    unsafe { CurrentThread::set(&thread, &thread.implicit) };
    thread.resume_mode();
    help_until_closed(thread);
}

fn help_until_closed(thread: OwnThread) {
    let team = thread.team();
    let epoch = team.epoch();
    let more = || !team.is_closed(epoch);
    let ready = || team.is_closed(epoch) || team.is_left_to(thread);
    let seek = |scope: SearchScope| find::find(thread, scope, &more);
    // All members are resumed together, so all share one position. The order of a barrier has
    // another object.
    let order = ReadyOrder::at(team.sleepers(), epoch, 0);
    let wait = Wait::until(&ready).seeking(&seek).counted_by(team.sleepers()).spinning(team.spin());
    let wait = wait.finished().synchronizing_if(true).waits_as_helper_if(team.is_outermost());
    ult::sched::wait(&wait.taking_any_task_if(true).in_order(order));
    search::end_help(thread);
    if team.is_lost() {
        end_lost_process(thread);
    }
}

/// Called when the member's ULT has ended and its TLS block is free.
unsafe fn shared_end(argument: *mut ()) {
    // SAFETY: as in `shared_main`; the member counts as present until it is retired.
    let thread: &Thread = unsafe { &*argument.cast() };
    thread.note_left(thread.team().epoch());
}

/// Called when the ULTs of `count` members have ended on this worker.
unsafe fn retire_members(argument: *mut (), count: u32) {
    // SAFETY: the spawn group passes a team that lives until its members have left; the last line
    // is where they leave.
    let team: &Team = unsafe { &*argument.cast() };
    team.retire_members(count);
}

fn run_share(thread: OwnThread) {
    let team = thread.team();
    begin_member(thread, team);
    // SAFETY: the thread and its implicit task live as long as the team, and this kernel thread
    // hosts it.
    unsafe { CurrentThread::set(&thread, &thread.implicit) };
    team.adopt_floating_point();
    tools::region::member_begins(&thread, team);
    let body = team.plan().body;
    team.share_begins();
    // SAFETY: the front made the body for its own `call`.
    unsafe { (body.call)(&thread, &body) };
    check::join_reached(&thread);
    team.share_ends();
    tools::region::member_arrives(team);
    thread.implicit.end_implicit();
}

/// Waits until the members of a team of ULTs have left, or those on kernel threads have switched
/// back from their kept TLS blocks. Called at the end of an outermost region: the next region runs
/// with the same TLS blocks. Also, the program's kernel thread must leave the join without a ULT
/// among its suspended contexts.
pub fn await_leaving(team: &Team) {
    if !team.is_clear() {
        await_until(team, &|| team.is_clear());
    }
}

fn await_until(team: &Team, done: &dyn Fn() -> bool) {
    // ULT members do not know which worker waits for them, and they are about to leave.
    let spin = if team.kind == TeamKind::Ults { Spin::POLLING } else { Spin::exactly(20) };
    ult::sched::wait(&Wait::until(&|| done() || team.is_lost()).spinning(spin).finished());
}

/// Ends the members of a team and frees it. The team is between regions.
pub fn dismiss(team: Box<Team>) {
    if !team.is_of_this_process() {
        core::mem::forget(team);
        return;
    }
    if team.kind != TeamKind::Ults {
        // The ULTs of a team run on any worker, and end with each region: no worker is assigned.
        let homes = (1..team.attached()).filter_map(|num| team.thread(num)?.home_or_host());
        homes.for_each(Worker::note_dismissed);
    }
    team.end_runner(worker::register_current());
    await_until(&team, &|| team.present() == 0);
    for thread in (0..team.attached()).filter_map(|num| team.thread(num)) {
        // SAFETY: the member has left; the part of thread 0 belongs to the forking thread, which is
        // the caller.
        let inner = unsafe { thread.own_at_rest() }.forks.teams.take_all();
        inner.into_iter().for_each(dismiss);
    }
    end_agents(&team);
    team.await_visitors();
    team.free_members();
}

/// Dismisses the teams that the team's agents keep. The team is about to be freed.
pub fn end_agents(team: &Team) {
    calls::dismiss(team);
    for thread in team.agents().into_iter().flat_map(Agents::threads) {
        // SAFETY: the agent has left, and no thread calls another one.
        let inner = unsafe { thread.own_at_rest() }.forks.teams.take_all();
        inner.into_iter().for_each(dismiss);
    }
}
