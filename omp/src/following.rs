//! On how many workers an outermost team runs: the number follows the processors that the program
//! gets.
//!
//! A member that waits at a barrier, or the thread that forks, measures a quantum, and asks
//! [`ult::allotment`] how many workers are to run. Each member but thread 0 moves at its next
//! barrier, or when it waits for its next region: member *n* of a team on *r* workers runs on the
//! worker of member *n* modulo *r*. It goes back when there are processors enough.
//!
//! A member moves only if it has an assigned worker, its team is not bound to places, and the process
//! has one initial thread. While no worker is kept waiting, nothing is measured.
//!
//! What does not live here: the decision, and the move itself ([`ult::sched::relocate`]).

use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use ult::allotment::attention::{self, ALL_WORKERS};
use ult::allotment::{Allotment, QUANTUM_MICROS, QuantumMeter};
use ult::sys::fork::ForkMutex;

use crate::team::plan::TeamKind;
use crate::team::record::Team;
use crate::thread::current::OwnThread;
use crate::{root, storage};

/// Quanta without a shortage after which measuring ends. Chosen: half a second; any value
/// from 20 to 200 will do.
const CALM_QUANTA: u32 = 50;

/// The team that is measured. One thread at a time measures.
static FOLLOWED: ForkMutex<Option<FollowedTeam>> = ForkMutex::new(None);
/// How many threads are not on the worker that is assigned to them.
static AWAY: AtomicU32 = AtomicU32::new(0);

struct FollowedTeam {
    /// Its address; compared only.
    team: usize,
    size: u32,
    allotment: Allotment,
    meter: QuantumMeter,
    /// Quanta in a row without a shortage.
    calm: u32,
}

/// `thread` is about to wait at a barrier.
#[inline]
pub fn before_wait(thread: OwnThread) {
    if attention::needs_attention() {
        attend(thread);
    }
}

/// A region with this team begins.
#[inline]
pub fn at_fork(team: &Team) {
    if attention::needs_attention() && may_move(team) {
        measure(team);
    }
}

/// The thread is about to wait for its next region. The forking thread may be changing the team's
/// plan, so the plan is not read.
#[inline]
pub fn between_regions(thread: OwnThread) {
    if attention::needs_attention() && thread.own().binding.may_move.get() {
        follow(thread, thread.team());
    }
}

/// A region begins for the thread, which has an assigned worker.
#[inline]
pub fn region_begins(thread: OwnThread) {
    if attention::needs_attention() {
        thread.own().binding.may_move.set(may_move(thread.team()));
    }
}

#[cold]
fn attend(thread: OwnThread) {
    let team = thread.team();
    if may_move(team) {
        measure(team);
        if thread.num() != 0 {
            follow(thread, team);
        }
    }
}

fn may_move(team: &Team) -> bool {
    let plan = team.plan();
    team.kind == TeamKind::AssignedWorkers
        && team.size() > 1
        && plan.nesting.active_around <= 1
        && plan.binding.places.is_none()
        && storage::may_share()
        && !storage::are_kept_apart()
}

fn measure(team: &Team) {
    if root::count() != 1 {
        return attention::set_running(ALL_WORKERS);
    }
    let Some(mut followed) = FOLLOWED.try_lock() else { return };
    let name = ptr::from_ref(team) as usize;
    let homes = || (0..team.size()).filter_map(|num| team.thread(num)?.home_or_host());
    let Some(known) = followed.as_mut().filter(|known| (known.team, known.size) == (name, team.size()))
    else {
        attention::set_running(ALL_WORKERS);
        let seed = u64::from(std::process::id()) << 8 | u64::from(team.size());
        *followed = Some(FollowedTeam {
            team: name,
            size: team.size(),
            allotment: Allotment::new(team.size(), seed),
            meter: QuantumMeter::new(homes()),
            calm: 0,
        });
        return;
    };
    if known.meter.age() < QUANTUM_MICROS {
        return;
    }
    let running = known.allotment.decide(known.meter.next(homes()));
    if running < team.size() {
        prepare_to_share();
    }
    attention::set_running(if running == team.size() { ALL_WORKERS } else { running });
    known.calm = if known.allotment.is_calm() { known.calm + 1 } else { 0 };
    // ORDERING: Relaxed; a thread that has just come home is seen later.
    if known.calm > CALM_QUANTA && AWAY.load(Ordering::Relaxed) == 0 {
        *followed = None;
        attention::end_attention();
    }
}

/// Called before threads share a worker. From then on signals reach the right thread, and the monitor
/// helps threads that wait behind code that spins or blocks.
fn prepare_to_share() {
    ult::signals::take_over();
    ult::stall::start_if_needed();
    ult::stall::keep_up_with_objects();
}

/// In the child of a fork, whose teams are new.
///
/// # Safety
/// Before the child has a second thread.
pub unsafe fn forget_after_fork() {
    // SAFETY: as the caller says.
    unsafe { FOLLOWED.forget(None) };
    // ORDERING: Relaxed; single-threaded.
    AWAY.store(0, Ordering::Relaxed);
}

fn follow(thread: OwnThread, team: &Team) {
    let (num, running) = (thread.num(), attention::running());
    let on = if num < running { num } else { num % running };
    let (Some(home), Some(host)) = (thread.home_or_host(), thread.host()) else { return };
    let target = team.thread(on).and_then(|member| member.home_or_host());
    // An isolated worker is for its thread alone.
    let target = if home.is_shared() { target } else { Some(home) };
    let Some(target) = target.filter(|target| !ptr::eq(*target, host)) else { return };
    if ult::sched::relocate(home, target) {
        thread.note_host(target);
        count_away(ptr::eq(host, home), ptr::eq(target, home));
    }
}

fn count_away(was_home: bool, is_home: bool) {
    // ORDERING: Relaxed, both; a count by itself.
    match (was_home, is_home) {
        (true, false) => _ = AWAY.fetch_add(1, Ordering::Relaxed),
        (false, true) => _ = AWAY.fetch_sub(1, Ordering::Relaxed),
        _ => {}
    }
}

/// The thread, which has an assigned worker, leaves its team: it is about to go home.
pub fn leaves_team(thread: OwnThread) {
    if let (Some(home), Some(host)) = (thread.home(), thread.host()) {
        count_away(ptr::eq(host, home), true);
    }
}
