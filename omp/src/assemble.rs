//! Putting a team together: where its threads run.
//!
//! What does not live here: the fork and the join ([`super::parallel`]), what a member does where it
//! runs ([`member`]), the end of a team ([`dismissal`]), and the counts of members that start and
//! leave ([`super::team`]). The table shows which kind of team a region gets ([`TeamKind`]). Thread 0
//! is always the forking context itself.
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
//! size keeps that team. The team's workers then run no other code ([`pool::isolate`]): with such
//! mutexes at once, otherwise as soon as the region's code was seen to block often.
//!
//! *What members run with.* The forking thread keeps one TLS block per thread number
//! (`ThreadOwn::tls_blocks`). Thread *n* of its outermost regions runs with the same block each
//! time, so that `threadprivate` variables persist. This holds for teams of ULTs and for teams on
//! kernel threads. A member on a kernel thread switches to the block for its share only
//! ([`member`]). Between regions no thread runs with it.
//!
//! Rejected: keeping the ULTs of a team from region to region. They would stay on the workers on
//! which they first started, however busy those workers are, and could not be stolen.

use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};

use ult::gang::GangTag;
use ult::pool::{self, Assignment};
use ult::spawn::{self, SpawnGroup, UltStart};
use ult::worker::{self, Worker};

use super::env;
use super::report;
use super::storage::{self, may_share};
use crate::team::kept::KeptVerdict;
use crate::team::plan::TeamKind;
use crate::team::record::Team;
use crate::thread::current::{CurrentThread, OwnThread};
use crate::thread::record::Thread;
use crate::tls_blocks::TlsBlocks;

mod dismissal;
mod member;

pub use dismissal::{await_leaving, dismiss, end_agents};
pub use member::begin_member;
use member::{assigned_main, retire_members, shared_end, shared_helper, shared_main};

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
    let isolate = || ult::stall::is_frequent_blocker(region) || storage::are_kept_apart();
    if blocks && !(outermost && keep_assigned_team(here, wanted, isolate())) {
        TeamKind::KernelThreads
    } else if outermost && wanted as usize - 1 <= pool::limit() && !keeps_sharing(here, wanted) {
        TeamKind::AssignedWorkers
    } else {
        TeamKind::Ults
    }
}

/// Keeps the last outermost team for the region, if that team has assigned workers and `wanted`
/// threads; false if there is no such team. The team must stay, because the `threadprivate` variables
/// of its members lie in the storage of their kernel threads. If `isolate`, the team's workers run no
/// other code from here on. A worker that runs other code at this moment is asked again in the next
/// region.
fn keep_assigned_team(here: CurrentThread, wanted: u32, isolate: bool) -> bool {
    let own = here.thread.own();
    let is_it = |team: &Team| {
        team.kind == TeamKind::AssignedWorkers && team.size() == wanted && team.is_of_this_process()
    };
    own.forks.kept_size.get() == 0
        && own.forks.teams.with(is_it, |team| {
            if isolate {
                let homes = (1..wanted).filter_map(|num| team.thread(num)?.home_or_host());
                homes.for_each(pool::isolate);
            }
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
        assign_workers(here, &team, workers);
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
        assign_workers(
            here,
            &team,
            own.into_iter().map_while(|worker| worker.or_else(|| others.next())).collect(),
        );
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
fn assign_workers(here: CurrentThread, team: &Team, workers: Vec<&'static Worker>) {
    let group = here.team().plan().origin.root_worker.map_or(0, Worker::group);
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
        pool::assign(worker, Assignment { entry: assigned_main, argument, stack_size, group });
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
