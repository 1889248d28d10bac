//! What a member does in its team: its share of each region, and what comes between two of them.
//!
//! What does not live here: where the member runs ([`super`]), and the conditions for which it waits
//! ([`crate::team`]).
//!
//! *The end of a ULT member.* The ULT ends when its share is over; `Team::retire_members` is its
//! last access to the team. If this region or the one before used tasks, the member instead stays
//! at the join and helps until thread 0 has closed the region. If the first task is created later,
//! the members that have already left come back ([`super::start_helper`]). The join of an outermost
//! region waits until all members have left ([`super::await_leaving`]). The join of an inner region
//! does not wait: the forking thread skips a team with members that are still leaving when it takes
//! its next team.

use core::cell::Cell;
use core::ptr;

use ult::sched::{Job, ReadyOrder, SearchScope, Wait};
use ult::tls_block::TlsBlock;
use ult::worker::{self, Duty, Locals};

use super::dismissal::dismiss;
use crate::exit::end_lost_process;
use crate::extension::check;
use crate::extension::tools;
use crate::parallel::{among, spin_for};
use crate::queue::find;
use crate::queue::search;
use crate::team::record::Team;
use crate::thread::current::{CurrentThread, OwnThread};
use crate::thread::record::Thread;
use crate::{binding, env, report, stats};

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
    binding::bind_member(thread, plan);
    binding::display_member(&thread, plan);
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
pub(super) unsafe fn assigned_main(argument: *mut ()) {
    // SAFETY: `super::assign_workers` passes a thread that lives until the member has left; this
    // is the member.
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
    let ready = || team.is_closed(epoch) || team.is_retired() || team.is_left_alone(thread, 0);
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
    let ready = || idle.get() || team.is_closed(epoch) || team.is_left_alone(thread, 0);
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
            || team.is_left_alone(thread, 0)
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
pub(super) unsafe fn shared_main(argument: *mut ()) {
    // SAFETY: `prepare_ults` passes a thread that lives until the member has left; this is the member.
    let thread = unsafe { OwnThread::assume(&*argument.cast()) };
    let team = thread.team();
    team.expect_end();
    thread.move_in(worker::register_current());
    stats::count_gang_ult();
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
pub(super) unsafe fn shared_helper(argument: *mut ()) {
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
    let ready = || team.is_closed(epoch) || team.is_left_alone(thread, 0);
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
pub(super) unsafe fn shared_end(argument: *mut ()) {
    // SAFETY: as in `shared_main`; the member counts as present until it is retired.
    let thread: &Thread = unsafe { &*argument.cast() };
    thread.note_left(thread.team().epoch());
}

/// Called when the ULTs of `count` members have ended on this worker.
pub(super) unsafe fn retire_members(argument: *mut (), count: u32) {
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
