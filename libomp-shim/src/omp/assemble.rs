//! Putting a team together: where its threads run, and how a member lives there.
//!
//! | housing | when | its members |
//! |---|---|---|
//! | resident | an outermost region whose threads each get a shared worker of the pool that runs nobody's ULTs | wait on their worker for the next region |
//! | shared | every other region | ULTs that start anew in each region and end with it |
//! | grown | identities cannot be borrowed (or `GANGWAY_TLS=kernel`), or the region's code was seen to block in the kernel | wait on kernel threads beyond the pool |
//!
//! Thread 0 is always the forking context itself.
//!
//! The end of a *shared* member: it arrives at the join, goes on helping with tasks until thread 0 has closed the region,
//! and then leaves (`Team::leave_for_good` is its last touch). The join of an outermost region waits for the leaving
//! ([`await_leaving`]); an inner one does not: a team that somebody is still about to leave is passed over when the next one
//! is taken.
//!
//! Rejected: keeping the ULTs of shared teams from region to region. They would stay on the workers on which they were
//! first started, however busy those are, and could not be stolen.

use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};

use ult::fork::Seed;
use ult::gang::GangTag;
use ult::pool::{self, Assignment};
use ult::sched::{Look, Spin, Wait};
use ult::worker::{self, Locals, Worker};

use super::env::{self, Tls};
use super::parallel::spin_for;
use super::queue;
use super::report;
use super::team::{Housing, Team};
use super::thread::{Here, Thread};

/// A team of one for the forking thread.
pub fn serial_team(here: Here) -> Box<Team> {
    take_team(here, 1, Housing::Shared)
}

/// A team for `wanted` threads of a region whose code is `region`; returns how many there are, at most `wanted`.
pub fn assemble(here: Here, wanted: u32, region: usize) -> (Box<Team>, u32) {
    if wanted == 1 {
        return (serial_team(here), 1);
    }
    match housing(here, wanted, region) {
        Housing::Resident => resident(here, wanted),
        Housing::Grown => grown(here, wanted),
        Housing::Shared => shared(here, wanted),
    }
}

fn housing(here: Here, wanted: u32, region: usize) -> Housing {
    if !may_share() || ult::stall::is_known_blocker(region) {
        Housing::Grown
    } else if here.team().plan().active_around == 0 && wanted as usize - 1 <= pool::limit() {
        Housing::Resident
    } else {
        Housing::Shared
    }
}

/// May threads share workers at all?
fn may_share() -> bool {
    match env::settings().tls {
        Tls::Kernel => false,
        Tls::Shared => true,
        Tls::Auto | Tls::Donor => worker::uses_identities(),
    }
}

/// One with threads that each have a worker of the pool; one that shares workers if the pool has too few to lend.
fn resident(here: Here, wanted: u32) -> (Box<Team>, u32) {
    let team = take_team(here, wanted, Housing::Resident);
    let missing = wanted.saturating_sub(team.attached());
    if missing > 0 {
        let mut workers = Vec::with_capacity(missing as usize);
        if !pool::lease(missing as usize, &mut workers) {
            // SAFETY: own thread only.
            unsafe { here.thread.own() }.teams.push(team);
            return shared(here, wanted);
        }
        house(&team, workers);
    }
    (team, wanted)
}

fn grown(here: Here, wanted: u32) -> (Box<Team>, u32) {
    let team = take_team(here, wanted, Housing::Grown);
    let missing = wanted.saturating_sub(team.attached()) as usize;
    if missing > 0 {
        let mut workers = Vec::with_capacity(missing);
        pool::acquire(missing, &mut workers);
        if workers.len() < missing {
            complain_about_threads(missing, workers.len());
        }
        house(&team, workers);
    }
    let size = team.attached().min(wanted);
    (team, size)
}

fn shared(here: Here, wanted: u32) -> (Box<Team>, u32) {
    let team = take_team(here, wanted, Housing::Shared);
    pool::prepare(wanted as usize - 1);
    ult::stall::start_if_needed();
    ult::stall::refresh_objects();
    while team.attached() < wanted {
        let thread = team.attach(Thread::new(team.attached()));
        // SAFETY: a new thread that has not run; the team is freed only after the member has left.
        unsafe { thread.join_team(&raw const *team) };
    }
    (team, wanted)
}

/// A team with room for `size` threads: one that the forking thread kept, or a new one.
fn take_team(here: Here, size: u32, housing: Housing) -> Box<Team> {
    // SAFETY: own thread only; `dismiss` may wait, so the reference is not kept across it.
    let kept = || unsafe { &mut here.thread.own().teams };
    let mut at = kept().len();
    while at > 0 {
        at -= 1;
        if !kept()[at].is_of_this_process() {
            core::mem::forget(kept().swap_remove(at)); // its members were threads of the parent process
        } else if kept()[at].housing == housing && (housing != Housing::Shared || kept()[at].present() == 0) {
            let team = kept().swap_remove(at);
            if team.capacity() >= size {
                return team;
            }
            dismiss(team);
            at = at.min(kept().len());
        }
    }
    let team = Team::new(size.next_power_of_two(), housing);
    let primary = team.attach(Thread::new(0));
    // SAFETY: a new thread; the team outlives it.
    unsafe { primary.join_team(&raw const *team) };
    team
}

/// Sends one new member to each of `workers`, for good.
#[cold]
fn house(team: &Team, workers: Vec<&'static Worker>) {
    let stack_size = env::settings().stacksize;
    for worker in workers {
        let thread = team.attach(Thread::new(team.attached()));
        // SAFETY: a new thread that has not run; the team is dismissed only after the member has left.
        unsafe { thread.join_team(team) };
        thread.move_in(worker);
        thread.seen_epoch.set(team.epoch());
        team.count_present();
        let argument = ptr::from_ref(thread).cast_mut().cast();
        pool::assign(worker, Assignment { entry: resident_main, argument, stack_size });
    }
}

/// Describes how the members of a team that shares workers start in the region that is being forked for `outer`.
pub fn sow(team: &Team, outer: GangTag) {
    let plan = team.plan();
    let group = plan.home.map_or(0, |home| home.group());
    let outermost = plan.active_around == 1;
    for num in 1..team.size() {
        let Some(thread) = team.thread(num) else { continue };
        team.count_present();
        let keeps = outermost && worker::uses_identities();
        // SAFETY: an outermost region is forked by its initial thread: own thread only.
        let identity = if keeps { unsafe { (*plan.parent_thread).own() }.identities.of(num) } else { None };
        let data = ptr::from_ref(thread).cast_mut().cast();
        let region = plan.body.function as usize;
        // SAFETY: we are the forking thread; the member's last ULT has left (`take_team`).
        unsafe { thread.set_seed(Seed { run: shared_main, end: shared_end, data, tag: outer, region, group, identity }) };
    }
}

static COMPLAINED: AtomicBool = AtomicBool::new(false);

fn complain_about_threads(wanted: usize, got: usize) {
    // ORDERING: Relaxed; at most one message.
    if !COMPLAINED.swap(true, Ordering::Relaxed) {
        report::warn(format!(
            "the system started {got} of {wanted} more threads; the team is smaller (see ulimit -u and cgroup pids.max)"
        ));
    }
}

// ---- members ----------------------------------------------------------------------------------------------------

/// Sets a member up for the region that has just started (thread 0: is about to).
pub fn begin_member(thread: &Thread, team: &Team) {
    let plan = team.plan();
    // SAFETY: own thread only: called by the thread itself; thread 0 is the forking thread.
    let own = unsafe { thread.own() };
    own.constructs = 0;
    own.singles = 0;
    // SAFETY: the plan names the forking task, which is suspended in the region.
    unsafe { thread.implicit.begin_implicit(team, thread, plan.parent_task, plan.icv) };
    super::binding::bind_member(thread, plan);
    super::binding::display_member(thread, plan);
}

/// The life of a resident member: wait for a region, run its share, arrive, again; until the team is dismissed.
unsafe fn resident_main(argument: *mut ()) {
    // SAFETY: `house` passes a thread that lives until the member has left.
    let thread: &Thread = unsafe { &*argument.cast() };
    while await_region(thread) {
        worker::set_duty((thread.team().plan().gang, thread.team().plan().body.function as usize));
        run_share(thread);
        worker::set_duty((GangTag::NONE, 0));
        thread.team().arrive_at_join();
        ult::sched::settle(thread.worker());
    }
    // SAFETY: own thread only.
    for inner in core::mem::take(&mut unsafe { thread.own() }.teams) {
        dismiss(inner);
    }
    ult::sched::return_to(thread.worker());
    worker::set_locals(Locals::default());
    thread.team().leave_for_good();
}

/// Waits for the next region, helping with the tasks of the one before. False when the team is dismissed.
fn await_region(thread: &Thread) -> bool {
    let team = thread.team();
    let seen = thread.seen_epoch.get();
    ult::sched::wait(&Wait {
        ready: &|| team.next_region(seen, thread.num()).is_some() || team.is_retired() || team.is_lost(),
        seek: Some(&|look: Look| queue::find_after(thread, look, seen)),
        sleepers: Some(team.sleepers()),
        spin: spin_for(env::settings()),
        yields: false,
        finished: false,
    });
    if team.is_lost() {
        end_lost_process();
    }
    match team.next_region(seen, thread.num()) {
        Some(epoch) => {
            thread.seen_epoch.set(epoch);
            true
        }
        None => false,
    }
}

/// The only thread of a child that a member forked has nothing more to do: a process ends with its last thread.
fn end_lost_process() -> ! {
    // SAFETY: the process has one thread, which runs no program code here.
    unsafe { libc::exit(0) }
}

/// The life of a member that shares workers: its share of one region.
unsafe fn shared_main(argument: *mut ()) {
    // SAFETY: `sow` passes a thread that lives until the member has left.
    let thread: &Thread = unsafe { &*argument.cast() };
    let team = thread.team();
    let epoch = team.epoch();
    thread.move_in(worker::register_current());
    super::stats::count_gang_ult();
    run_share(thread);
    team.arrive_at_join();
    ult::sched::wait(&Wait {
        ready: &|| team.is_closed(epoch) || team.is_lost(),
        seek: Some(&|look: Look| queue::find(thread, look)),
        sleepers: Some(team.sleepers()),
        spin: team.spin(),
        yields: false,
        finished: true,
    });
    if team.is_lost() {
        end_lost_process();
    }
}

/// The member's ULT has ended, and its identity is free for the next region.
unsafe fn shared_end(argument: *mut ()) {
    // SAFETY: as in `shared_main`; the member leaves with the last line.
    let thread: &Thread = unsafe { &*argument.cast() };
    thread.team().leave_for_good();
}

fn run_share(thread: &Thread) {
    let team = thread.team();
    begin_member(thread, team);
    // SAFETY: the thread and its implicit task live as long as the team, and this kernel thread hosts it.
    unsafe { Here::set(thread, &thread.implicit) };
    team.adopt_floating_point();
    let body = team.plan().body;
    // SAFETY: the front made the body for its own `call`.
    unsafe { (body.call)(thread, &body) };
    thread.implicit.end_implicit();
}

/// Waits until the members of a team that shares workers have left. At the end of an outermost region: the next one wears the
/// same identities, and a program's kernel thread leaves the join with no ULT on its bench.
pub fn await_leaving(team: &Team) {
    if team.housing == Housing::Shared && team.present() != 0 {
        await_absence(team);
    }
}

fn await_absence(team: &Team) {
    ult::sched::wait(&Wait {
        ready: &|| team.present() == 0 || team.is_lost(),
        seek: None,
        sleepers: None,
        // Members that share workers do not know who waits for them; they are about to leave.
        spin: Spin { micros: if team.housing == Housing::Shared { u32::MAX } else { 20 } },
        yields: false,
        finished: true,
    });
}

/// Sends a team's members home and frees it. The team is between regions.
pub fn dismiss(team: Box<Team>) {
    if !team.is_of_this_process() {
        core::mem::forget(team);
        return;
    }
    team.retire(worker::register_current());
    await_absence(&team);
    for thread in (0..team.attached()).filter_map(|num| team.thread(num)) {
        // SAFETY: the member has left, the primary's part belongs to the forking thread, which is here.
        for inner in core::mem::take(&mut unsafe { thread.own() }.teams) {
            dismiss(inner);
        }
    }
    team.await_visitors();
    team.free_members();
}
