//! Binding threads to places (OpenMP 5.2 §10.1.3): when, and to what. The arithmetic of the policies is in
//! [`super::affinity`]; here it is applied to kernel threads.

use core::ops::Range;

use ult::worker::{self, Worker};

use super::affinity::{Assignment, Facts, assign, display_affinity};
use super::env;
use super::icv::ProcBind;
use super::team::{Housing, Plan, Team};
use super::thread::{Here, Thread};

/// The places of a team of `size` that the running thread forks under `policy`; `None` when threads are not bound. A
/// `bind-var` of false switches binding off for the region and its clauses.
pub fn assignment(here: Here, policy: ProcBind, bind_var: ProcBind, size: u32) -> Option<Assignment> {
    if bind_var == ProcBind::False {
        return None;
    }
    env::settings().places.as_ref()?;
    // SAFETY: own thread only.
    let own = unsafe { here.thread.own() };
    assign(policy, u32::try_from(own.place).ok(), own.partition.clone(), size)
}

/// Binds the initial thread, as the first element of `bind-var` asks.
pub fn bind_initial(thread: &Thread) {
    let settings = env::settings();
    let Some(places) = &settings.places else { return };
    // SAFETY: own thread only.
    let own = unsafe { thread.own() };
    own.partition = places.all();
    if settings.initial.bind != ProcBind::False && !own.partition.is_empty() {
        own.place = -1;
        bind(thread, 0, places.all());
    }
}

/// Binds a member of a team that has just started a region, if it is not where the plan wants it.
#[inline]
pub fn bind_member(thread: &Thread, plan: &Plan) {
    if let Some(assignment) = &plan.places {
        let (place, partition) = assignment.thread(thread.num());
        bind(thread, place, partition);
    } else if plan.partition.is_some() {
        inherit(thread, plan);
    }
}

/// The worker on which thread `num` of a bound outermost team that shares workers has to run: workers stand for the places,
/// beginning with the forking thread and its place. `None`: anywhere.
pub fn worker_for(team: &Team, num: u32) -> Option<&'static Worker> {
    let plan = team.plan();
    let first = plan.places.as_ref()?.thread(0).0;
    let place = plan.places.as_ref()?.thread(num).0;
    let places = env::settings().places.as_ref()?.all().len() as u32;
    match (place + places - first % places) % places {
        0 => plan.home,
        n => ult::pool::shared_worker(n as usize - 1),
    }
}

/// Without binding, threads inherit the forking thread's partition.
fn inherit(thread: &Thread, plan: &Plan) {
    // SAFETY: own thread only.
    let own = unsafe { thread.own() };
    if let Some(partition) = &plan.partition {
        own.partition = partition.clone();
    }
}

/// Calls `use_facts` with what is to be said about `thread`, which runs on the calling kernel thread.
pub fn with_facts<R>(thread: &Thread, use_facts: impl FnOnce(&Facts<'_>) -> R) -> R {
    let team = thread.team();
    let plan = team.plan();
    // SAFETY: the forking thread of a region outlives it.
    let parent = unsafe { plan.parent_thread.as_ref() }.filter(|_| plan.level != 0);
    use_facts(&Facts {
        team_num: plan.league.1,
        num_teams: plan.league.0,
        nesting_level: plan.level,
        thread_num: thread.num(),
        num_threads: team.size(),
        ancestor_tnum: parent.map_or(-1, |t| t.num() as i32),
        // SAFETY: no preconditions.
        native_thread_id: unsafe { libc::gettid() } as u32,
        affinity: &ult::topology::current_thread_cpus(),
    })
}

/// `OMP_DISPLAY_AFFINITY` (5.2 §21.2.5): one line when a member begins its first region, and when its place or the
/// size of its team has changed since.
pub fn display_member(thread: &Thread) {
    if !env::settings().display_affinity {
        return;
    }
    // SAFETY: own thread only.
    let own = unsafe { thread.own() };
    let state = Some((thread.team().size(), own.place));
    if own.displayed != state {
        own.displayed = state;
        with_facts(thread, |facts| display_affinity(None, facts));
    }
}

fn bind(thread: &Thread, place: u32, partition: Range<u32>) {
    // SAFETY: own thread only.
    let own = unsafe { thread.own() };
    own.partition = partition;
    own.place = place as i32;
    // The kernel thread follows, unless other threads run on it, too: those of nested teams that share workers.
    let alone = thread.team().housing != Housing::Shared || thread.team().plan().active_around <= 1;
    if !alone || !worker::move_to_place(place) {
        return;
    }
    if let Some(places) = &env::settings().places {
        // A refusal (the mask has changed under us) leaves the thread where it is: nothing else can be done.
        let _ = ult::topology::bind_current_thread(places.procs(place as usize));
    }
}
