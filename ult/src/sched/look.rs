//! How a worker searches for work: one loop that reads an order of sources, and how the worker asks
//! each source.
//!
//! The orders live in [`super::order`], and the intervals of their exceptions in
//! [`super::fairness`]. How long a worker searches before it sleeps lives in
//! [`super::spin_policy`]. [`super::suspended`] has the rules by which a worker resumes its own
//! contexts and asks them for jobs. A *full search* ([`NORMAL`]) follows ICS '21, Algorithm 2: own
//! contexts and the own gang deque, as far as [`eligible`] allows, then own ULTs, then tasks, then
//! the ULTs of one victim.
//!
//! A *group* is all ULTs that one kernel thread of the program has spawned, with the ULTs that
//! these have spawned. A kernel thread of the program runs no ULT of another group, because that
//! ULT would get the kernel thread's signal mask, priority and lifetime.
//!
//! *Holding back.* A worker does not start a gang ULT that is not eligible. It does not resume a
//! ready context of a gang while an unfinished context of a deeper gang, or of an older gang of the
//! same level, is suspended here. The worker *holds back* these ULTs and contexts. A ready context
//! that has finished is never held back. During a full search all contexts of the worker are
//! suspended. So at the moment when the search holds something back, no code of this worker spins
//! in a wait for it. For code that spins and yields there is a rule of its own
//! ([`Source::GangUltInTurn`]). But a suspended context may wait for an event that comes only after
//! a held-back thread has run. For example, a context here waits for a lock, and a thread of
//! another group holds this lock while it executes a region of a younger gang. That region cannot
//! end while one of its threads is held back here. So if the worker finds nothing else for some
//! time, it takes one of the held-back ULTs or contexts. A worker that polls without limit does so
//! after [`HOLD_BACK_TIME`], by the clock ([`Refused`]). Any other worker first polls as long as
//! its spin policy says. Then it sleeps for [`HOLD_BACK_TIME`], and takes held-back work at the end
//! of that sleep. `docs/models/gang.md` has runs that deadlock if nothing is held back, and runs
//! that deadlock without this exception.

use core::ptr::{self, NonNull};

use super::fairness::{CLOCK_TICKS_PER_FULL_SEARCH, HOLD_BACK_TIME};
use super::next::Next;
use super::order::{
    AFTER_JOB, AFTER_ULT, BEFORE_SLEEP, HELD_BACK, NEW_FIRST, NORMAL, Source, YIELD, YIELD_URGENT,
};
use super::request::SearchScope;
use super::suspended::context::{SoughtJob, SuspendedContext};
use super::{desk, returning};
use crate::deque::Steal;
use crate::gang::{GangTag, eligible};
use crate::observer::{self, SchedulerEvent};
use crate::pool::share;
use crate::spawn::offers;
use crate::spawn::start::{PLACED, UltStart};
use crate::sys::arch;
use crate::topology::distance;
use crate::victim::VictimPolicy;
use crate::worker::record::Worker;
use crate::worker::table;
use crate::worker::thread_mode::ThreadMode;

/// A search for work: who searches, and for what.
#[derive(Clone, Copy)]
struct WorkSearch {
    worker: &'static Worker,
    /// No source gives work of this thread. Null if there is no exception.
    except: *const ThreadMode,
    /// The gang of a context that could run now, and that lets the work run first.
    /// [`GangTag::NONE`] if there is no such context, or if it runs for no gang.
    before: GangTag,
    /// Does the search go to other workers, too?
    steals: bool,
}

impl WorkSearch {
    /// A search between two jobs.
    #[inline(always)]
    fn by(worker: &'static Worker) -> Self {
        Self { worker, except: ptr::null(), before: GangTag::NONE, steals: true }
    }

    /// Asks the sources in this order until one of them gives work.
    ///
    /// The loop is unrolled here, so that this does not depend on the compiler. `order` is a
    /// constant at each call, so each step becomes a call of the one function that asks the source.
    #[inline(always)]
    fn in_order<const SOURCES: usize>(&self, order: &'static [Source; SOURCES]) -> Option<Next> {
        macro_rules! unrolled {
            ($($step:literal)*) => {
                const { assert!(SOURCES <= [$($step),*].len(), "the loop is too short") };
                $(if SOURCES > $step {
                    let found = self.ask(order[$step % SOURCES]);
                    if found.is_some() {
                        return found;
                    }
                })*
            };
        }
        unrolled!(0 1 2 3 4 5 6 7);
        None
    }

    /// Asks one source. Each arm is one call, because this function is inlined at each step.
    #[inline(always)]
    fn ask(&self, source: Source) -> Option<Next> {
        let worker = self.worker;
        match source {
            Source::Signalled => resume(signalled(worker, self.except)),
            Source::EndOfStandIn => resume(returning::end_of_standing_in(worker)),
            Source::Newest => newest(worker),
            Source::NewestOwnTask => newest_task(worker, SearchScope::Own),
            Source::NewestOthersTask => newest_task(worker, SearchScope::Steal),
            Source::Resumable => resume_or_start(worker),
            Source::GangUlt => gang_ult(worker),
            Source::GangUltInTurn => gang_ult_in_turn(worker, self.before),
            Source::HeldBackUlt => take_gang_ult(worker, worker, |_| true),
            Source::HeldBackContext => held_back_context(worker),
            Source::HeldBackUltAnywhere => held_back_ult_anywhere(worker),
            Source::OwnUlt => own_ult(worker),
            Source::Mate => mate(worker),
            Source::Oldest => oldest(worker),
            Source::OwnTask => task(worker, SearchScope::Own, self.except),
            Source::OthersTask => others_task(worker),
            Source::TaskBeforeContext => task_before(worker, self.before),
            Source::AnyTask => task(worker, SearchScope::BeforeSleep, self.except),
            Source::AnyTaskInTurn => any_task_in_turn(worker, self.except),
            Source::Victim => self.elsewhere(steal_once),
            Source::EveryVictim => steal_anywhere(worker),
            Source::Offer => self.elsewhere(offered),
        }
    }

    /// Asks a source of other workers, if the search goes there.
    #[inline(always)]
    fn elsewhere(&self, source: impl FnOnce(&'static Worker) -> Option<Next>) -> Option<Next> {
        if self.steals { source(self.worker) } else { None }
    }
}

#[inline(always)]
fn resume(entry: Option<SuspendedContext>) -> Option<Next> {
    entry.map(Next::Resume)
}

#[inline(always)]
fn run(sought: SoughtJob) -> Next {
    Next::Run(sought.job, sought.role)
}

// ---- situations -------------------------------------------------------------

/// Makes one search, between two jobs. Before the search, this function decides which one it makes.
/// As a rule the search covers only the newest suspended context and the jobs for that context
/// ([`AFTER_JOB`]). In the other cases it is a full search ([`full_search`]). A search that finds
/// nothing is not followed by another one here, but in [`super::idle`].
pub(super) fn search_after_job(worker: &'static Worker) -> Option<Next> {
    // SAFETY: own kernel thread; conditions and seeks do not wait, so no other code touches the
    // worker's own data meanwhile.
    let own = unsafe { &mut *worker.own() };
    own.search.fairness.tick();
    let busy = !worker.gang_deque.is_empty() || !worker.ults.is_empty() || worker.is_standing_in();
    // In regions whose threads were seen spinning or blocking, the ready context with the lowest
    // resume rank must come first, so a full search is needed. The full search is not needed if the
    // newest context yields and has a `seek`. That context was suspended so that its jobs run
    // first, and the short search below calls its `seek`.
    let ranks = || {
        own.suspended.is_shared()
            && !own.suspended.newest_asks()
            && crate::stall::regions::is_known_to_wait(own.role.region)
    };
    let released = core::mem::take(&mut own.search.released);
    if busy || released || own.search.fairness.is_full_search_due() || ranks() {
        return full_search(worker, true);
    }
    WorkSearch::by(worker).in_order(&AFTER_JOB)
}

/// Finds what the worker runs after a ULT of `region`. The newest ULT that was spawned here comes
/// first if all of this holds:
///
/// * The last full search, at `looked`, is recent.
/// * The gang deque is empty, and the worker does not stand in.
/// * Threads of `region` were not seen spinning or blocking. In a region where they were, the ULT
///   that has just ended may have made a context ready, and the next ULT may spin until that
///   context has run.
///
/// In all other cases, the function makes the search of [`search_after_job`].
pub(super) fn after_ult(worker: &'static Worker, region: usize, looked: &mut u64) -> Option<Next> {
    if worker.ults.is_empty() || !worker.gang_deque.is_empty() || worker.is_standing_in() {
        return search_after_job(worker);
    }
    let now = arch::ticks();
    if now.wrapping_sub(*looked) < CLOCK_TICKS_PER_FULL_SEARCH
        && !crate::stall::regions::is_known_to_wait(region)
    {
        return WorkSearch::by(worker).in_order(&AFTER_ULT).or_else(|| search_after_job(worker));
    }
    *looked = now;
    search_after_job(worker)
}

/// A full search. First evaluates some conditions of waits that have no wake-up
/// ([`super::polled`]), and unpacks parcels. If `steals` is false, the search does not go to other
/// workers.
pub(super) fn full_search(worker: &'static Worker, steals: bool) -> Option<Next> {
    desk::look_after();
    returning::unpack(worker);
    WorkSearch { steals, ..WorkSearch::by(worker) }.in_order(&NORMAL)
}

/// What the worker runs when its running code yields. It is no work of the yielding thread.
pub(super) fn search_for_yield(worker: &'static Worker) -> Option<Next> {
    // SAFETY: own kernel thread, as in `search_after_job`.
    let role = unsafe { (*worker.own()).role };
    let search = WorkSearch { except: role.thread, before: role.tag, ..WorkSearch::by(worker) };
    search.in_order(&YIELD_URGENT).or_else(|| {
        // SAFETY: as above.
        unsafe { (*worker.own()).search.fairness.count_yield_search() };
        search.in_order(&YIELD)
    })
}

/// Is there a parcel, a signal, or a ready context that is not held back? Leaves the context
/// suspended.
pub(super) fn has_ready(worker: &'static Worker) -> bool {
    // SAFETY: own kernel thread; conditions do not wait.
    returning::has_returning(worker) || unsafe { (*worker.own()).suspended.best_ready(true).is_some() }
}

/// The last search before a sleep, which is already announced. Searches all queues and all victims
/// for jobs. Before this search, the caller checks whether a context of the worker itself is ready
/// ([`has_ready`]).
pub(super) fn search_before_sleep(worker: &'static Worker) -> Option<Next> {
    WorkSearch::by(worker).in_order(&BEFORE_SLEEP)
}

// ---- contexts of this worker, and their tasks -------------------------------

/// Takes a context of a thread that has a signal to handle, but not of the thread `except`.
#[inline]
fn signalled(worker: &'static Worker, except: *const ThreadMode) -> Option<SuspendedContext> {
    // SAFETY: own kernel thread, in its scheduler.
    if unsafe { (*worker.own()).signals.pending } { signalled_cold(worker, except) } else { None }
}

#[cold]
fn signalled_cold(worker: &'static Worker, except: *const ThreadMode) -> Option<SuspendedContext> {
    // SAFETY: own kernel thread, in its scheduler.
    let own = unsafe { &mut *worker.own() };
    let found = own.suspended.take_signalled(except);
    returning::note_signalled(worker);
    if found.is_some() {
        worker.note_signals(); // for `back_to_program`, which delivers
    }
    found
}

/// The newest suspended context, if it is ready.
#[inline(always)]
fn newest(worker: &'static Worker) -> Option<Next> {
    // SAFETY: own kernel thread, as in `search_after_job`.
    resume(unsafe { (*worker.own()).suspended.take_newest() })
}

#[inline(always)]
fn newest_task(worker: &'static Worker, scope: SearchScope) -> Option<Next> {
    // SAFETY: own kernel thread, as in `search_after_job`.
    unsafe { (*worker.own()).suspended.seek_newest(scope) }.map(run)
}

/// The context that can go on, or the ULT of the own gang deque that goes before it. At some ticks
/// (`Fairness::is_new_first`) new work goes before a context that only yields.
fn resume_or_start(worker: &'static Worker) -> Option<Next> {
    // SAFETY: own kernel thread, as in `search_after_job`.
    let own = unsafe { &mut *worker.own() };
    let suspended = &mut own.suspended;
    let ready = suspended.best_ready_in_window(true, own.search.fairness.do_ranks_count());
    if !worker.gang_deque.is_empty() {
        let strictest = suspended.strictest();
        let first = |tag: GangTag| ready.is_none_or(|(_, r)| tag.id != r.id && eligible(tag, r));
        if let Some(start) = take_gang_ult(worker, worker, |tag| eligible(tag, strictest) && first(tag)) {
            return Some(start);
        }
    }
    let (at, before) = ready?;
    if suspended.yields(at)
        && own.search.fairness.is_new_first()
        && let Some(new) = (WorkSearch { before, ..WorkSearch::by(worker) }).in_order(&NEW_FIRST)
    {
        return Some(new);
    }
    // SAFETY: as above. The search for new work has not changed the suspended contexts.
    Some(Next::Resume(unsafe { (*worker.own()).suspended.take_at(at) }))
}

fn held_back_context(worker: &'static Worker) -> Option<Next> {
    // SAFETY: own kernel thread, as in `search_after_job`.
    let suspended = unsafe { &mut (*worker.own()).suspended };
    suspended.best_ready(false).map(|(at, _)| Next::Resume(suspended.take_at(at)))
}

/// A context of another thread of the gang of the running context. The running context most often
/// spins at a barrier of that gang.
fn mate(worker: &'static Worker) -> Option<Next> {
    // SAFETY: own kernel thread, as in `search_after_job`.
    let own = unsafe { &mut *worker.own() };
    let (thread, gang) = (own.role.thread, own.role.tag);
    if gang == GangTag::NONE || !own.search.fairness.are_mates_first() {
        return None;
    }
    resume(own.suspended.take_lowest(|role| role.thread != thread && role.tag == gang))
}

/// Of the ready contexts of threads other than the running one, the one that has been suspended
/// longest.
fn oldest(worker: &'static Worker) -> Option<Next> {
    // SAFETY: own kernel thread, as in `search_after_job`.
    let own = unsafe { &mut *worker.own() };
    let thread = own.role.thread;
    resume(own.suspended.take_other(|role| role.thread != thread))
}

fn task(worker: &'static Worker, scope: SearchScope, except: *const ThreadMode) -> Option<Next> {
    // SAFETY: own kernel thread, as in `search_after_job`.
    unsafe { (*worker.own()).suspended.seek(scope, except) }.map(run)
}

fn any_task_in_turn(worker: &'static Worker, except: *const ThreadMode) -> Option<Next> {
    // SAFETY: own kernel thread, as in `search_after_job`.
    let is_job_first = unsafe { (*worker.own()).search.fairness.is_job_first() };
    if is_job_first { task(worker, SearchScope::BeforeSleep, except) } else { None }
}

fn others_task(worker: &'static Worker) -> Option<Next> {
    // SAFETY: own kernel thread, as in `search_after_job`.
    unsafe { (*worker.own()).suspended.seek_elsewhere() }.map(run)
}

fn task_before(worker: &'static Worker, gang: GangTag) -> Option<Next> {
    // SAFETY: own kernel thread, as in `search_after_job`.
    unsafe { (*worker.own()).suspended.seek_before(gang) }.map(run)
}

// ---- ULTs that are queued here ----------------------------------------------

fn gang_ult(worker: &'static Worker) -> Option<Next> {
    // SAFETY: own kernel thread, as in `search_after_job`.
    let strictest = unsafe { (*worker.own()).suspended.strictest() };
    take_gang_ult(worker, worker, |tag| eligible(tag, strictest))
}

/// A ULT for a worker whose code, of the gang `running`, yields.
fn gang_ult_in_turn(worker: &'static Worker, running: GangTag) -> Option<Next> {
    if worker.gang_deque.is_empty() {
        return None;
    }
    // SAFETY: own kernel thread, as in `search_after_job`.
    let own = unsafe { &mut *worker.own() };
    let strictest = own.suspended.strictest().strictest(running);
    let may_all = own.search.fairness.is_held_back_due();
    take_gang_ult(worker, worker, |tag| may_all || eligible(tag, strictest))
}

/// The newest ULT that this worker spawned without a gang.
fn own_ult(worker: &'static Worker) -> Option<Next> {
    if worker.ults.is_empty() || worker.is_dedicated() {
        return None;
    }
    // SAFETY: own kernel thread: the deque's owner.
    let ult_start = unsafe { worker.ults.pop() }?;
    Some(start(ult_start, GangTag::NONE))
}

fn start(ult_start: NonNull<UltStart>, tag: GangTag) -> Next {
    // SAFETY: starts live until their ULT has ended (`UltStart`), and only this worker has taken
    // this one.
    Next::Start(unsafe { ult_start.as_ref() }, tag)
}

/// Takes a ULT from the gang deque of `victim` for `worker`.
fn take_gang_ult(worker: &Worker, victim: &Worker, wanted: impl Fn(GangTag) -> bool) -> Option<Next> {
    if worker.is_dedicated() {
        return None;
    }
    let is_own = core::ptr::eq(worker, victim);
    // A ULT that is bound to the place of its worker (`PLACED`) may not leave it. A
    // dedicated worker starts no ULT, so even such ULTs may leave.
    let may_leave = is_own
        || victim.is_dedicated()
        || worker.stands_for().is_some_and(|blocked| core::ptr::eq(blocked, victim));
    // A ULT that is queued at this worker runs here, whatever group the worker serves by now.
    let may_run =
        |group: u32| is_own || ((may_leave || group & PLACED == 0) && worker.accepts(group & !PLACED));
    let (ult_start, tag) = victim.gang_deque.take_if(|tag, group| may_run(group) && wanted(tag))?;
    if !is_own {
        victim.count_gang_load(-1);
        worker.count_gang_load(1);
    }
    Some(start(ult_start, tag))
}

// ---- stealing ---------------------------------------------------------------

/// Searches one victim, which the worker's victim policy chooses.
fn steal_once(worker: &'static Worker) -> Option<Next> {
    let count = table::table_len();
    let me = worker.index() as usize;
    if count < 2 || me >= count {
        return None;
    }
    // SAFETY: own kernel thread; the selector calls no other code.
    let selector = unsafe { &mut (*worker.own()).search.selector };
    selector.keep_up(&worker.site, me, count, |at| table::at(at)?.site.get());
    let at = selector.select(me, count);
    let found = table::at(at).and_then(|victim| steal_from(worker, victim));
    match found {
        Some(_) => selector.succeeded(at),
        None => selector.failed(at),
    }
    found
}

/// Searches every victim once, beginning with the next index. So workers that search at the same
/// time begin with different victims. The worker is about to sleep, and notes on which processor it
/// runs.
fn steal_anywhere(worker: &'static Worker) -> Option<Next> {
    if distance::distances().is_some() {
        worker.site.note();
    }
    let (me, count) = (worker.index() as usize, table::table_len());
    let others = (me + 1..count).chain(0..me.min(count));
    others.filter_map(table::at).find_map(|victim| steal_from(worker, victim))
}

fn steal_from(worker: &'static Worker, victim: &'static Worker) -> Option<Next> {
    if victim.gang_deque.is_empty() && victim.ults.is_empty() || !(may_help(worker) || victim.is_dedicated())
    {
        return None;
    }
    worker.per_switch.steals.add_attempt();
    // SAFETY: own kernel thread, as in `search_after_job`.
    let strictest = unsafe { (*worker.own()).suspended.strictest() };
    // A ULT of the strictest gang is not stolen. It would run here while a context of its own gang
    // is suspended here, and might wait for that context. The own gang deque is read once more,
    // because an older gang may have arrived since.
    let mine = || worker.gang_deque.head_of_deepest();
    let may = |tag: GangTag| {
        tag.id != strictest.id && eligible(tag, strictest) && !mine().is_some_and(|h| eligible(h, tag))
    };
    let found = take_gang_ult(worker, victim, may).or_else(|| steal_ult(worker, victim));
    if found.is_some() {
        worker.per_switch.steals.add_success();
        observer::notify(|| SchedulerEvent::Steals { victim: victim.index() });
    }
    found
}

/// A ULT that is offered to idle workers, if this worker hosts no thread of a region. A withdrawn
/// worker takes it, too: possibly no other worker would start it.
fn offered(worker: &'static Worker) -> Option<Next> {
    if !offers::any() {
        return None;
    }
    // SAFETY: own kernel thread; nothing is called that waits.
    if !offers::suits(worker) || !share::has_room() || unsafe { (*worker.own()).suspended.hosts_a_region() } {
        return None;
    }
    Some(Next::Start(offers::take()?, GangTag::NONE))
}

/// May the worker start ULTs that are queued at other workers? A worker that stands in always may.
/// A withdrawn worker may not.
/// Other workers may not while the program has at least as many kernel threads in regions as there
/// are processors. These kernel threads then need all processors. A worker that took a ULT from one
/// of them would only share a processor with one of them.
fn may_help(worker: &Worker) -> bool {
    share::has_room() && !worker.is_withdrawn() || worker.is_standing_in()
}

/// Takes the oldest ULT that `victim` spawned without a gang, if its group may run here. These ULTs
/// do not record their group. So the worker steals only if it runs the ULTs of all groups, if there
/// is one group only, or if both workers serve the same group. The worker checks this after it has
/// seen that the deque has a ULT. Suppose that it checked earlier, while there was one group only.
/// A second group could then begin and push the ULT, and the worker would steal it wrongly.
fn steal_ult(worker: &'static Worker, victim: &'static Worker) -> Option<Next> {
    let may = || worker.may_steal_blindly() || worker.is_of_one_group_with(victim);
    if victim.ults.is_empty() || worker.is_dedicated() || !may() {
        return None;
    }
    loop {
        match victim.ults.steal_if(may) {
            Steal::Empty => return None,
            Steal::Retry => worker.per_switch.steals.add_aborted(),
            Steal::Success(ult_start) => return Some(start(ult_start, GangTag::NONE)),
        }
    }
}

// ---- what is held back ------------------------------------------------------

/// May something be held back? Called after a search that found nothing. True if a ULT is in a gang
/// deque that this worker may search, or if a context here is ready. This includes ULTs that may
/// not run here, and ULTs of workers that the search did not ask.
pub(super) fn held_back(worker: &'static Worker) -> bool {
    let queued = |victim: &Worker| !victim.gang_deque.is_empty();
    // SAFETY: own kernel thread; conditions do not wait.
    queued(worker)
        || unsafe { (*worker.own()).suspended.best_ready(false).is_some() }
        || may_help(worker) && all_workers().any(queued)
}

/// Searches everything once more, then takes a ULT or context that was held back.
pub(super) fn what_was_held_back(worker: &'static Worker) -> Option<Next> {
    full_search(worker, true).or_else(|| WorkSearch::by(worker).in_order(&HELD_BACK))
}

fn held_back_ult_anywhere(worker: &'static Worker) -> Option<Next> {
    if may_help(worker) {
        all_workers().find_map(|victim| take_gang_ult(worker, victim, |_| true))
    } else {
        None
    }
}

/// For a worker that never sleeps: when it last asked whether something is held back, and the
/// answer. By this clock the worker takes held-back work after [`HOLD_BACK_TIME`]. A worker that
/// sleeps takes such work at the end of its sleep.
pub(super) struct Refused {
    /// When the worker last asked, in microseconds; 0 before the first time.
    asked: u64,
    /// Was something held back then?
    was_held_back: bool,
}

impl Refused {
    pub(super) const NONE: Self = Self { asked: 0, was_held_back: false };

    /// Takes what is held back, if something was held back at least [`HOLD_BACK_TIME`] ago, and
    /// still is.
    pub(super) fn take(&mut self, worker: &'static Worker, now: u64) -> Option<Next> {
        if now.saturating_sub(self.asked) < HOLD_BACK_TIME.as_micros() as u64 {
            return None;
        }
        self.asked = now;
        let found = if self.was_held_back { what_was_held_back(worker) } else { None };
        self.was_held_back = found.is_none() && held_back(worker);
        found
    }
}

fn all_workers() -> impl Iterator<Item = &'static Worker> {
    (0..table::table_len()).filter_map(table::at)
}
