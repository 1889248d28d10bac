//! Binding threads to places (OpenMP 5.2 §10.1.3): when, and to what. The arithmetic of the
//! policies is in [`super::affinity`]; here it is applied to kernel threads.

use core::ops::Range;
use std::sync::Once;

use ult::worker::{self, Worker};

use super::env;
use super::report;
use crate::affinity::assign::{PlaceAssignment, assign, part_of};
use crate::affinity::format::{Facts, display_affinity, ranges};
use crate::icv::binding::ProcBind;
use crate::team::plan::{LeaguePosition, Plan, TeamKind};
use crate::team::record::Team;
use crate::thread::current::{CurrentThread, OwnThread};
use crate::thread::record::Thread;

/// The places of a team of `size` that the running thread forks under `policy`; `None` when threads
/// are not bound. A `bind-var` of false switches binding off for the region and its clauses.
///
/// Not inlined: the fork of a region calls it only if there are places, and its code costs a fork
/// registers.
#[inline(never)]
pub fn assignment(
    here: CurrentThread,
    policy: ProcBind,
    bind_var: ProcBind,
    size: u32,
) -> Option<PlaceAssignment> {
    if bind_var == ProcBind::False {
        return None;
    }
    env::settings().binding.bound.places.as_ref()?;
    if here.team().plan().nesting.level == 0 {
        bind_initial(here.thread);
    }
    let own = here.thread.own();
    assign(policy, u32::try_from(own.binding.place.get()).ok(), own.binding.partition.get(), size)
}

/// Lets an initial thread use all places. It is bound when it forks its first region, or asks where
/// it is: a program may start threads that inherit its mask, and threads that never fork are the
/// program's own.
pub fn begin_initial(thread: OwnThread) {
    if let Some(places) = &env::settings().binding.bound.places {
        thread.own().binding.partition.set(places.all());
    }
}

/// Binds an initial thread, if it is not bound yet, as the first element of `bind-var` asks.
fn bind_initial(thread: OwnThread) {
    let settings = env::settings();
    let own = thread.own();
    if settings.initial.bind == ProcBind::False
        || own.binding.place.get() >= 0
        || own.binding.partition.get().is_empty()
    {
        return;
    }
    if settings.binding.bound.reset {
        own.binding.unbound.replace(ult::topology::current_thread_cpus());
    }
    bind(thread, 0, own.binding.partition.get());
}

/// Binds the running thread if it is an initial one that has not been: what it is about to say
/// depends on it. Under `KMP_AFFINITY=reset` it stays where it is.
pub fn bind_if_initial(here: CurrentThread) {
    let settings = env::settings();
    if settings.binding.bound.places.is_some()
        && !settings.binding.bound.reset
        && here.team().plan().nesting.level == 0
    {
        bind_initial(here.thread);
    }
}

/// The joining thread is outside all regions again: back on its place, from which a member that ran
/// here meanwhile may have taken it; with `KMP_AFFINITY=reset`, wherever it could run before.
pub fn after_region(here: CurrentThread) {
    if here.team().plan().nesting.level != 0 {
        return;
    }
    if !env::settings().binding.bound.reset {
        return return_to_place(here);
    }
    let own = here.thread.own();
    if own.binding.place.get() >= 0 && worker::note_place(NOWHERE) {
        own.binding.place.set(-1);
        // A refusal leaves the thread where it is: nothing else can be done.
        let _ = ult::kernel_state::bind_kernel_thread(&own.binding.unbound.borrow());
    }
}

/// What a kernel thread that is not bound is noted as.
const NOWHERE: u32 = u32::MAX;

/// Binds the initial thread of a team of a league (5.2 §10.2): the teams share the forking thread's
/// places as `KMP_TEAMS_PROC_BIND` says, by default each gets a part of them. Returns the team's
/// places.
pub fn bind_team(here: CurrentThread, primary: OwnThread, league: LeaguePosition) -> Option<Range<u32>> {
    let bind_var = here.task.own.icv.get().bind;
    let assignment = assignment(here, env::settings().binding.teams, bind_var, league.teams)?;
    let (place, partition) = assignment.thread(league.number);
    bind(primary, place, partition.clone());
    Some(partition)
}

/// Brings the running thread back to its own place when its teams have run on others.
pub fn return_to_place(here: CurrentThread) {
    let own = here.thread.own();
    if let Ok(place) = u32::try_from(own.binding.place.get()) {
        bind(here.thread, place, own.binding.partition.get());
    }
}

/// Binds a member of a team that has just started a region, if it is not where the plan wants it.
#[inline]
pub fn bind_member(thread: OwnThread, plan: &Plan) {
    if let Some(assignment) = &plan.binding.places {
        let (place, partition) = assignment.thread(thread.num());
        bind(thread, place, partition);
    } else if plan.binding.partition.is_some() {
        inherit(thread, plan);
    }
}

/// The processors that the running thread may use: those of its kernel thread's mask at this
/// moment, but not more than were found worth using at the start (a cgroup's quota,
/// `KMP_HW_SUBSET`). For a thread that the runtime has bound, those of the start. `None`: a thread
/// that has not met OpenMP. Neither allocates nor starts the runtime; 1 if the calling thread is
/// reading the environment.
pub fn num_procs(thread: Option<OwnThread>) -> u32 {
    let Some(at_start) = env::settings_for_query().map(|settings| settings.num_procs) else { return 1 };
    if thread.is_some_and(|thread| thread.own().binding.place.get() >= 0) {
        return at_start;
    }
    let now = ult::topology::num_current_thread_cpus() as u32;
    let is_restricted = (at_start as usize) < ult::topology::num_usable();
    match now {
        0 => at_start,
        now if is_restricted => now.min(at_start),
        now => now,
    }
}

/// The worker on which thread `num` of a bound outermost team that shares workers has to run;
/// `None`: anywhere.
///
/// Consecutive threads share a worker, as they share places: never two workers fewer than could
/// run. One worker per *place* was rejected: of a machine with 192 processors in two places it left
/// 190 without work.
pub fn worker_for(team: &Team, num: u32) -> Option<&'static Worker> {
    let plan = team.plan();
    plan.binding.places.as_ref()?;
    match worker_number(num, team.size(), ult::pool::limit() as u32 + 1) {
        0 => plan.origin.root_worker,
        n => ult::pool::shared_worker(n as usize - 1),
    }
}

/// The processors of the place of thread `num` of a bound inner team: it rather starts on a worker
/// that is there, but may start anywhere.
pub fn processors_for(team: &Team, num: u32) -> &'static [usize] {
    let place = team.plan().binding.places.as_ref().map(|assignment| assignment.thread(num).0);
    let places = env::settings().binding.bound.places.as_ref();
    place.zip(places).map_or(&[], |(place, places)| places.procs(place as usize))
}

/// Which of `workers` runs thread `num` of `size`, 0 for the forking thread's. With a worker per
/// place these are the threads that share the place.
fn worker_number(num: u32, size: u32, workers: u32) -> u32 {
    if size <= workers { num } else { part_of(num, size, workers) }
}

/// Without binding, threads inherit the forking thread's partition.
fn inherit(thread: OwnThread, plan: &Plan) {
    if let Some(partition) = &plan.binding.partition {
        thread.own().binding.partition.set(partition.clone());
    }
}

/// Calls `use_facts` with what is to be said about `thread`, which runs on the calling kernel
/// thread.
pub fn with_facts<R>(thread: &Thread, use_facts: impl FnOnce(&Facts<'_>) -> R) -> R {
    let team = thread.team();
    let plan = team.plan();
    let parent = plan.parent().filter(|_| plan.nesting.level != 0);
    use_facts(&Facts {
        team_num: plan.league.number,
        num_teams: plan.league.teams,
        nesting_level: plan.nesting.level,
        thread_num: thread.num(),
        num_threads: team.size(),
        ancestor_tnum: parent.map_or(-1, |t| t.num() as i32),
        // SAFETY: no preconditions.
        native_thread_id: unsafe { libc::gettid() } as u32,
        affinity: &ult::topology::current_thread_cpus(),
    })
}

/// Decides whether the threads of a team of `size` that is being forked print where they are (5.2
/// §21.2.5). They do when the team is the first at its level, and when its size or places differ
/// from the last one's. A region inside, which thread 0 has run meanwhile, counts as a difference.
pub fn is_to_display(here: CurrentThread, plan: &Plan, size: u32) -> bool {
    if !env::settings().binding.display {
        return false;
    }
    if let Some(outer) = here.team().plan().parent().filter(|_| here.thread.num() == 0) {
        // SAFETY: thread 0 runs for its forking thread, which is suspended in the region.
        unsafe { OwnThread::assume(outer) }.own().binding.displayed.take();
    }
    let state = Some((size, plan.binding.places.clone()));
    let before = here.thread.own().binding.displayed.replace(state);
    before != *here.thread.own().binding.displayed.borrow()
}

/// Says where a member of a team is that has just started a region, if the plan wants it.
pub fn display_member(thread: &Thread, plan: &Plan) {
    if plan.binding.displays {
        with_facts(thread, |facts| display_affinity(None, facts));
    }
}

fn bind(thread: OwnThread, place: u32, partition: Range<u32>) {
    let own = thread.own();
    own.binding.partition.set(partition);
    own.binding.place.set(place as i32);
    // The kernel thread follows, unless others run on it, too: threads of nested teams start
    // wherever a worker is free.
    let nested = thread.team().kind == TeamKind::Ults && thread.team().plan().nesting.active_around > 1;
    let alone = !nested || !ult::sched::has_others_here();
    if !alone || !worker::note_place(place) {
        return;
    }
    if let Some(places) = &env::settings().binding.bound.places {
        let procs = places.procs(place as usize);
        if let Err(error) = ult::kernel_state::bind_kernel_thread(procs) {
            report_refusal(procs, &error);
        }
        thread.worker().site.note();
    }
}

/// Once in the process: the mask has changed under us, or the machine is only believed in. Nothing
/// else can be done.
#[cold]
fn report_refusal(procs: &[usize], error: &std::io::Error) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        let procs = ranges(procs);
        report::warn(format_args!(
            "no thread can be bound to processors {procs}: {error}; it runs where the kernel lets it (this is said once)"
        ));
    });
}

#[cfg(test)]
mod tests {
    use super::worker_number;

    fn numbers(size: u32, workers: u32) -> Vec<u32> {
        (0..size).map(|num| worker_number(num, size, workers)).collect()
    }

    #[test]
    fn threads_find_a_worker_each_while_there_are_any() {
        assert_eq!(numbers(3, 3), [0, 1, 2]);
        assert_eq!(numbers(3, 192), [0, 1, 2]);
        assert_eq!(numbers(4, 1), [0, 0, 0, 0]);
        assert_eq!(numbers(10, 4), [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]);
        let crowd = numbers(400, 192);
        assert_eq!((crowd[2], crowd[3], crowd[48], crowd[399]), (0, 1, 16, 191));
    }
}
