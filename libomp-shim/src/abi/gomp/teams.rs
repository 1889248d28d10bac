//! `teams` as gcc emits it: inside `target`, and on the host.

use core::ffi::{c_uint, c_void};

use super::parallel::{OutlinedFunction, body_of};
use omp::icv;
use omp::team::LeaguePosition;
use omp::thread::CurrentThread;

/// `teams` inside `target`, called in a loop: true as long as the calling code is to run another
/// team.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_teams4(low: c_uint, high: c_uint, thread_limit: c_uint, first: bool) -> bool {
    let here = CurrentThread::get();
    let team = here.team();
    let LeaguePosition { teams, number } = team.plan().league;
    let league = if first {
        LeaguePosition { teams: league_size(low, high), number: 0 }
    } else if number + 1 < teams {
        LeaguePosition { teams, number: number + 1 }
    } else {
        LeaguePosition::ALONE
    };
    let limit = limit_of(thread_limit);
    if first && limit != 0 {
        let mut icv = here.task.own.icv.get();
        icv.thread_limit = icv.thread_limit.min(limit);
        here.task.own.icv.set(icv);
    }
    // SAFETY: the team of a target region has one thread, this one, so no other thread reads its
    // plan.
    unsafe { team.plan_mut() }.league = league;
    first || number + 1 < teams
}

/// `teams` inside `target`, as gcc 11 and older emit it: one team.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_teams(_num_teams: c_uint, thread_limit: c_uint) {
    GOMP_teams4(1, 1, thread_limit, true);
}

fn league_size(low: c_uint, high: c_uint) -> u32 {
    [high, low, icv::nteams()].into_iter().find(|&n| n != 0).unwrap_or(1)
}

/// The limit of each team's contention group: what the clause said, or `teams-thread-limit-var`; 0
/// for none.
fn limit_of(thread_limit: c_uint) -> u32 {
    if thread_limit != 0 { thread_limit } else { icv::teams_thread_limit() }
}

/// `teams` on the host: runs `function(data)` once per team.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_teams_reg(
    function: OutlinedFunction,
    data: *mut c_void,
    num_teams: c_uint,
    thread_limit: c_uint,
    _flags: c_uint,
) {
    let teams = league_size(0, num_teams);
    omp::parallel::league(CurrentThread::get(), body_of(function, data), teams, limit_of(thread_limit));
}
