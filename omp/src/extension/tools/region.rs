//! Threads, regions and implicit tasks.
//!
//! The fork of a region decides whether the region is reported to tools
//! ([`Plan::notified`](crate::team::Plan)). The members of a reported region stay at its join
//! until thread 0 has closed it; only then has their implicit barrier ended.

use core::ffi::c_char;

use super::super::side::LeagueSide;
use super::kinds::RegionKind;
use super::{is_on, linked};
use crate::team::record::Team;
use crate::thread::current::CurrentThread;
use crate::thread::record::Thread;

// ---- threads ----------------------------------------------------------------

/// An initial thread has begun, with its team and its initial task.
#[inline]
pub fn root_begins(here: CurrentThread) {
    if is_on() {
        linked().tools.initial_thread_begins(here);
    }
}

/// An initial thread ends.
#[inline]
pub fn root_ends(here: CurrentThread) {
    if is_on() && here.thread.tools.is_known() {
        linked().tools.initial_thread_ends(here);
    }
}

/// A free agent begins.
#[inline(always)]
pub fn agent_begins(thread: &Thread) {
    if is_on() {
        agent_begins_cold(thread);
    }
}

#[cold]
#[inline(never)]
fn agent_begins_cold(thread: &Thread) {
    linked().tools.agent_begins(thread);
}

/// The record of a member or a free agent that has left is about to be freed.
#[inline]
pub fn member_is_freed(thread: &Thread) {
    if thread.tools.is_known() && thread.num() != 0 {
        member_is_freed_cold(thread);
    }
}

#[cold]
fn member_is_freed_cold(thread: &Thread) {
    linked().tools.member_is_freed(thread);
}

// ---- regions ----------------------------------------------------------------

/// Where the region is that the running thread is about to fork. `location`: as compilers pass it.
#[inline(always)]
pub fn note_source(location: *const c_char) {
    if is_on() {
        note_source_cold(location);
    }
}

#[cold]
#[inline(never)]
fn note_source_cold(location: *const c_char) {
    linked().tools.region_source(location);
}

/// The forking thread has planned a team, which has not started. The region asked for `wanted`
/// threads.
#[inline(always)]
pub fn begins(here: CurrentThread, team: &Team, wanted: u32, kind: RegionKind) {
    let notified = is_on();
    // SAFETY: we are the forking thread and the team is between regions.
    let plan = unsafe { team.plan_mut() };
    if plan.notified != notified {
        plan.notified = notified;
    }
    if notified {
        begins_cold(here, team, wanted, kind);
    }
}

#[cold]
#[inline(never)]
fn begins_cold(here: CurrentThread, team: &Team, wanted: u32, kind: RegionKind) {
    linked().tools.region_begins(here, team, wanted, kind);
}

/// A league of `teams` teams is about to begin. True: its end is to be reported, too.
pub fn league_begins(here: CurrentThread, teams: u32, side: &LeagueSide) -> bool {
    let notified = is_on();
    if notified {
        linked().tools.league_begins(here, teams, side);
    }
    notified
}

/// All its teams have ended.
pub fn league_ends(here: CurrentThread, side: &LeagueSide) {
    linked().tools.league_ends(here, side);
}

/// The forking code runs as thread 0 now.
#[inline(always)]
pub fn entered(team: &Team) {
    if team.plan().notified {
        entered_cold();
    }
}

#[cold]
#[inline(never)]
fn entered_cold() {
    linked().tools.primary_begins(CurrentThread::get());
}

/// The program itself calls the code of a region of one thread, from the frame that has called the
/// runtime.
#[inline]
pub fn called_by_program(here: CurrentThread) {
    if here.team().plan().notified {
        linked().tools.region_is_called_by_program(here);
    }
}

/// Thread 0 has ended its share.
#[inline(always)]
pub fn primary_arrives(team: &Team) {
    if team.plan().notified {
        primary_arrives_cold(team);
    }
}

#[cold]
#[inline(never)]
fn primary_arrives_cold(team: &Team) {
    linked().tools.primary_arrives(CurrentThread::get(), team);
}

/// All members have joined, and all tasks are complete.
#[inline(always)]
pub fn primary_leaves(team: &Team) {
    if team.plan().notified {
        primary_leaves_cold(team);
    }
}

#[cold]
#[inline(never)]
fn primary_leaves_cold(team: &Team) {
    linked().tools.primary_leaves(CurrentThread::get(), team);
}

/// The forking task goes on.
#[inline(always)]
pub fn ended(here: CurrentThread, team: &Team) {
    if team.plan().notified {
        ended_cold(here, team);
    }
}

#[cold]
#[inline(never)]
fn ended_cold(here: CurrentThread, team: &Team) {
    linked().tools.region_ends(here, team);
}

/// A member begins its share.
#[inline(always)]
pub fn member_begins(thread: &Thread, team: &Team) {
    if team.plan().notified {
        member_begins_cold(thread);
    }
}

#[cold]
#[inline(never)]
fn member_begins_cold(thread: &Thread) {
    linked().tools.member_begins(thread);
}

/// A member has ended its share, and is about to arrive at the join.
#[inline(always)]
pub fn member_arrives(team: &Team) {
    if team.plan().notified {
        member_arrives_cold();
    }
}

#[cold]
#[inline(never)]
fn member_arrives_cold() {
    linked().tools.member_arrives(CurrentThread::get());
}

/// A member has seen that the region is closed, whose begin it has reported. Nothing of the team may
/// be touched but what is the member's.
#[cold]
pub fn member_leaves(thread: &Thread) {
    linked().tools.member_leaves(thread);
}
