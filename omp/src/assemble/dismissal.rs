//! The end of a team: waiting for members that leave, and dismissing those that stay.
//!
//! What does not live here: what a member does until then ([`super::member`]), and the counts of
//! members that leave ([`crate::team`]).

use ult::sched::{Spin, Wait};
use ult::worker::{self, Worker};

use crate::agents::calls;
use crate::agents::record::Agents;
use crate::team::plan::TeamKind;
use crate::team::record::Team;

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
