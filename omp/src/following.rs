//! On how many workers an outermost team runs: the number follows the processors that the program
//! gets.
//!
//! A member that waits at a barrier, or the thread that forks, measures a quantum, and asks
//! [`ult::allotment`] how many workers are to run. Each member but thread 0 moves at its next
//! barrier, or when it waits for its next region: member *n* of a team on *r* workers runs on the
//! worker of member *n* modulo *r*. It goes back when there are processors enough.
//!
//! Only members with an assigned worker move, of teams that are not bound to places, and in a
//! process with one initial thread. While no worker is kept waiting, nothing is measured.
//!
//! What does not live here: the decision, and the move itself ([`ult::sched::relocate`]).

use core::ptr;

use ult::allotment::attention::{self, ALL_WORKERS};
use ult::allotment::{Allotment, QUANTUM_MICROS, QuantumMeter};
use ult::sys::fork::ForkMutex;

use crate::team::plan::TeamKind;
use crate::team::record::Team;
use crate::thread::current::OwnThread;
use crate::{root, storage};

/// Quanta without a shortage after which nobody measures any more. Chosen: half a second; any value
/// from 20 to 200 will do.
const CALM_QUANTA: u32 = 50;

/// The team that is measured. One thread at a time measures.
static FOLLOWED: ForkMutex<Option<FollowedTeam>> = ForkMutex::new(None);

struct FollowedTeam {
    /// Its address; compared only.
    team: usize,
    size: u32,
    allotment: Allotment,
    meter: QuantumMeter,
    /// Quanta in a row without a shortage.
    calm: u32,
}

/// `thread` is about to wait at a barrier, or for its next region.
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
        && !storage::are_kept_apart()
}

fn measure(team: &Team) {
    if root::count() != 1 {
        return attention::run_on(ALL_WORKERS);
    }
    let Some(mut followed) = FOLLOWED.try_lock() else { return };
    let name = ptr::from_ref(team) as usize;
    let homes = || (0..team.size()).filter_map(|num| team.thread(num)?.home_or_host());
    let Some(known) = followed.as_mut().filter(|known| (known.team, known.size) == (name, team.size()))
    else {
        attention::run_on(ALL_WORKERS);
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
    attention::run_on(if running == team.size() { ALL_WORKERS } else { running });
    known.calm = if known.allotment.is_calm() { known.calm + 1 } else { 0 };
    if known.calm > CALM_QUANTA {
        *followed = None;
        attention::end_attention();
    }
}

/// Before threads share a worker: signals go to the thread that is meant, and the monitor helps those
/// that wait behind code which does not come back.
fn prepare_to_share() {
    ult::signals::take_over();
    ult::stall::start_if_needed();
    ult::stall::keep_up_with_objects();
}

fn follow(thread: OwnThread, team: &Team) {
    let (num, running) = (thread.num(), attention::running());
    let on = if num < running { num } else { num % running };
    let (Some(home), Some(host)) = (thread.home_or_host(), thread.host()) else { return };
    let target = team.thread(on).and_then(|member| member.home_or_host());
    let Some(target) = target.filter(|target| !ptr::eq(*target, host)) else { return };
    thread.set_home(home);
    if ult::sched::relocate(home, target) {
        thread.set_host(target);
    }
}
