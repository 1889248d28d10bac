//! Where a worker looks for work, in this order (ICS '21, Algorithm 2):
//!
//! 1. its own suspended contexts that can go on, unless a deeper or older gang waits in its gang
//!    deque; where they only let others go first, 3 and 4 have a turn before them;
//! 2. its own gang deque, within what [`eligible`] allows;
//! 3. its own ULTs, newest first, and the jobs of its own contexts;
//! 4. the jobs that its contexts may take from others;
//! 5. a victim's gang deque, then the victim's ULTs;
//! 6. what is offered to workers that host nobody of a region ([`offers`]).
//!
//! What a program's kernel thread takes is of its own group only: ULTs of another root must not run
//! under that root's signal masks, priorities and lifetime.
//!
//! *Held back*: a gang ULT that is not eligible, or a context that could go on while one of a
//! deeper or older gang is suspended here, on a worker that would sleep otherwise. Everything here
//! waits visibly, so nobody spins for it yet; but what it waits for may need that very thread (a
//! lock that another root holds across its region). After [`HOLD_BACK_TIME`] the worker takes it
//! all the same: one that sleeps at the end of that sleep, one that looks without an end by the
//! clock ([`Refused`]). `docs/models/gang.md` has the runs that show both sides.

use core::ptr::{self, NonNull};
use core::sync::atomic::{Ordering, fence};
use core::time::Duration;

use super::{Next, SearchScope, SuspendedContext, handoff, polled};
use crate::arch;
use crate::deque::Steal;
use crate::gang::{GangTag, eligible};
use crate::observer::{self, SchedulerEvent};
use crate::pool;
use crate::spawn::{self, UltStart, offers};
use crate::topology::distance;
use crate::victim::VictimPolicy;
use crate::worker::{self, ThreadMode, Worker};

/// How long a gang ULT is held back on a worker that has nothing else to do.
pub(super) const HOLD_BACK_TIME: Duration = Duration::from_micros(200);

/// Every so many ticks the whole list of suspended contexts is looked at, not only its newest
/// entry, so that an old context does not wait for the last job of a long queue.
const TICKS_PER_FULL_SEARCH: u32 = 16;

/// Every so many ticks who has sat longest goes on, whatever its number: threads that go on and
/// wait in turn, the others passed over, may all be waiting for one of these. A multiple of the
/// above.
const TICKS_PER_UNRANKED_RESUME: u32 = 256;

/// The 16th of so many turns something new goes before a context that only lets others go first:
/// all who do may be waiting for it, in a circle. In the other turns in which everything is looked
/// at such a context goes on, so that it does not wait for the last of very many tasks.
const TICKS_PER_NEW_FIRST: u32 = 64;

/// One look, without spinning: the path between two jobs.
pub(super) fn quickly(worker: &'static Worker) -> Option<Next> {
    // SAFETY: own kernel thread; conditions and seeks do not wait, so nobody else touches the part
    // meanwhile.
    let own = unsafe { &mut *worker.own() };
    own.ticks = own.ticks.wrapping_add(1);
    let busy = !worker.gang_deque.is_empty() || !worker.ults.is_empty() || worker.is_standing_in();
    // Where threads wait in their own code, who has just been suspended must not go before a mate
    // that the others wait for. Who asks for a task yields to tasks.
    let ranks = || {
        own.suspended.is_shared()
            && !own.suspended.newest_asks()
            && crate::stall::is_known_to_wait(own.role.region)
    };
    let released = core::mem::take(&mut own.released);
    if busy || released || own.ticks.is_multiple_of(TICKS_PER_FULL_SEARCH) || ranks() {
        return everywhere(worker, true);
    }
    if let Some(entry) = own.suspended.take_newest() {
        return Some(Next::Resume(entry));
    }
    let found =
        own.suspended.seek_newest(SearchScope::Own).or_else(|| own.suspended.seek_newest(SearchScope::Steal));
    found.map(|(job, role)| Next::Run(job, role))
}

/// [`arch::ticks`] that pass at most between two looks at everything where short ULTs follow each
/// other: some half a microsecond.
const CLOCK_TICKS_PER_FULL_SEARCH: u64 = 2048;

/// What comes after a ULT of `region`: as [`quickly`], but the newest ULT that was forked here goes
/// first if everything has been looked at just now, at `looked`. Not where threads wait in their
/// own code: the next one might wait for a context that can go on since.
pub(super) fn after_ult(worker: &'static Worker, region: usize, looked: &mut u64) -> Option<Next> {
    if worker.ults.is_empty() || !worker.gang_deque.is_empty() || worker.is_standing_in() {
        return quickly(worker);
    }
    let now = arch::ticks();
    if now.wrapping_sub(*looked) < CLOCK_TICKS_PER_FULL_SEARCH && !crate::stall::is_known_to_wait(region) {
        return own_ult(worker).or_else(|| quickly(worker));
    }
    *looked = now;
    quickly(worker)
}

/// Everything, in the order of the module; one victim only if `steal` says so.
pub(super) fn everywhere(worker: &'static Worker, steal: bool) -> Option<Next> {
    polled::look_after();
    handoff::unpack(worker);
    if let Some(entry) = signalled(worker, ptr::null()) {
        return Some(Next::Resume(entry));
    }
    if let Some(entry) = handoff::end_of_standing_in(worker) {
        return Some(Next::Resume(entry));
    }
    in_own_queues(worker, SearchScope::Own)
        .or_else(|| seek_elsewhere(worker))
        .or_else(|| if steal { steal_once(worker).or_else(|| offered(worker)) } else { None })
}

/// A context whose thread has a signal to handle, but for the thread `except`.
#[inline]
pub(super) fn signalled(worker: &'static Worker, except: *const ThreadMode) -> Option<SuspendedContext> {
    // SAFETY: own kernel thread, in its scheduler.
    if unsafe { (*worker.own()).signalled } { signalled_cold(worker, except) } else { None }
}

#[cold]
fn signalled_cold(worker: &'static Worker, except: *const ThreadMode) -> Option<SuspendedContext> {
    // SAFETY: own kernel thread, in its scheduler.
    let own = unsafe { &mut *worker.own() };
    let found = own.suspended.take_signalled(except);
    handoff::note_signalled(worker);
    if found.is_some() {
        worker.note_signals(); // for `back_to_program`, which delivers
    }
    found
}

/// May a context of the worker go on? Leaves it where it is.
pub(super) fn has_ready(worker: &'static Worker) -> bool {
    // SAFETY: own kernel thread; conditions do not wait.
    handoff::has_returning(worker) || unsafe { (*worker.own()).suspended.best_ready(true).is_some() }
}

/// Everything but the worker's own contexts, all victims included; the worker is announced as
/// asleep already.
pub(super) fn for_the_last_time(worker: &'static Worker) -> Option<Next> {
    // SAFETY: own kernel thread, as in `quickly`.
    let strictest = unsafe { (*worker.own()).suspended.strictest() };
    take_gang_ult(worker, worker, |tag| eligible(tag, strictest))
        .or_else(|| own_ult(worker))
        .or_else(|| seek(worker, SearchScope::BeforeSleep))
        .or_else(|| steal_anywhere(worker))
        .or_else(|| offered(worker))
}

fn in_own_queues(worker: &'static Worker, scope: SearchScope) -> Option<Next> {
    resume_or_start(worker).or_else(|| own_ult(worker)).or_else(|| seek(worker, scope))
}

/// Steps 1 and 2.
fn resume_or_start(worker: &'static Worker) -> Option<Next> {
    // SAFETY: own kernel thread, as in `quickly`.
    let own = unsafe { &mut *worker.own() };
    let suspended = &mut own.suspended;
    let ready = suspended.best_ready_in_window(true, !own.ticks.is_multiple_of(TICKS_PER_UNRANKED_RESUME));
    if !worker.gang_deque.is_empty() {
        let strictest = suspended.strictest();
        let first = |tag: GangTag| ready.is_none_or(|(_, r)| tag.id != r.id && eligible(tag, r));
        if let Some(start) = take_gang_ult(worker, worker, |tag| eligible(tag, strictest) && first(tag)) {
            return Some(start);
        }
    }
    let (at, gang) = ready?;
    if suspended.yields(at)
        && own.ticks % TICKS_PER_NEW_FIRST == TICKS_PER_FULL_SEARCH
        && let Some(new) =
            own_ult(worker).or_else(|| suspended.seek_before(gang).map(|(job, role)| Next::Run(job, role)))
    {
        return Some(new);
    }
    Some(Next::Resume(suspended.take_at(at)))
}

fn seek(worker: &'static Worker, scope: SearchScope) -> Option<Next> {
    // SAFETY: own kernel thread, as in `quickly`.
    let suspended = unsafe { &(*worker.own()).suspended };
    suspended.seek(scope, ptr::null()).map(|(job, role)| Next::Run(job, role))
}

fn seek_elsewhere(worker: &'static Worker) -> Option<Next> {
    // SAFETY: as above.
    let suspended = unsafe { &(*worker.own()).suspended };
    suspended.seek_elsewhere().map(|(job, role)| Next::Run(job, role))
}

/// The newest ULT that this worker forked without a gang.
pub(super) fn own_ult(worker: &'static Worker) -> Option<Next> {
    if worker.ults.is_empty() || worker.is_dedicated() {
        return None;
    }
    // SAFETY: own kernel thread: the deque's owner.
    let ult_start = unsafe { worker.ults.pop() }?;
    Some(start(ult_start, GangTag::NONE))
}

fn start(ult_start: NonNull<UltStart>, tag: GangTag) -> Next {
    // SAFETY: starts live until their ULT has ended (`UltStart`), and this one was taken by us
    // alone.
    Next::Start(unsafe { ult_start.as_ref() }, tag)
}

/// Takes a ULT from the gang deque of `victim` for `worker`.
pub(super) fn take_gang_ult(
    worker: &Worker,
    victim: &Worker,
    wanted: impl Fn(GangTag) -> bool,
) -> Option<Next> {
    if worker.is_dedicated() {
        return None;
    }
    let is_own = core::ptr::eq(worker, victim);
    // A dedicated worker starts nothing, so ULTs that were placed there may leave.
    let may_leave = is_own
        || victim.is_dedicated()
        || worker.stands_for().is_some_and(|blocked| core::ptr::eq(blocked, victim));
    // What is queued here runs here, whoever this worker serves by now.
    let may_run = |group: u32| {
        is_own || ((may_leave || group & spawn::PLACED == 0) && worker.accepts(group & !spawn::PLACED))
    };
    let (ult_start, tag) = victim.gang_deque.take_if(|tag, group| may_run(group) && wanted(tag))?;
    if !is_own {
        victim.count_gang_load(-1);
        worker.count_gang_load(1);
    }
    Some(start(ult_start, tag))
}

// ---- stealing ---------------------------------------------------------------

/// Looks at one victim, chosen by the worker's policy.
fn steal_once(worker: &'static Worker) -> Option<Next> {
    let count = worker::table_len();
    let me = worker.index() as usize;
    if count < 2 || me >= count {
        return None;
    }
    // SAFETY: own kernel thread; the selector calls nobody.
    let selector = unsafe { &mut (*worker.own()).selector };
    selector.keep_up(&worker.site, me, count, |at| worker::at(at)?.site.get());
    let at = selector.select(me, count);
    let found = worker::at(at).and_then(|victim| steal_from(worker, victim));
    match found {
        Some(_) => selector.succeeded(at),
        None => selector.failed(at),
    }
    found
}

/// Looks at every victim once, beginning behind the worker itself: those who look at the same time
/// do not all begin with the same victims. The worker is about to sleep, and notes where.
fn steal_anywhere(worker: &'static Worker) -> Option<Next> {
    if distance::distances().is_some() {
        worker.site.note();
    }
    let (me, count) = (worker.index() as usize, worker::table_len());
    let others = (me + 1..count).chain(0..me.min(count));
    others.filter_map(worker::at).find_map(|victim| steal_from(worker, victim))
}

fn steal_from(worker: &'static Worker, victim: &'static Worker) -> Option<Next> {
    if victim.gang_deque.is_empty() && victim.ults.is_empty() || !(may_help(worker) || victim.is_dedicated())
    {
        return None;
    }
    worker.per_switch.steals.add_attempt();
    // SAFETY: own kernel thread, as in `quickly`.
    let strictest = unsafe { (*worker.own()).suspended.strictest() };
    // Mates are not stolen: who took one while its own context waits could bury that one. And once
    // more a look at home: an older gang may have arrived since.
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

/// A ULT that is offered to whoever is idle, if the worker hosts nobody of a region.
fn offered(worker: &'static Worker) -> Option<Next> {
    if !offers::any() {
        return None;
    }
    // SAFETY: own kernel thread; nothing is called that waits.
    if !offers::suits(worker) || !may_help(worker) || unsafe { (*worker.own()).suspended.hosts_a_region() } {
        return None;
    }
    Some(Next::Start(offers::take()?, GangTag::NONE))
}

/// May the worker start what is queued at others? Not while the program's own kernel threads in
/// regions are as many as the processors: each has one to itself then, and who took a ULT from it
/// would only take turns with another of them.
fn may_help(worker: &Worker) -> bool {
    pool::has_room() || worker.is_standing_in()
}

/// The oldest ULT that `victim` forked without a gang. Of another group than the worker's own it is
/// not taken, which can be reported only while there is no other group: asked when the ULT has been
/// seen, because its group may have come since the last look.
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

/// Wakes one sleeping worker that may run ULTs of `group`, if there is one. The caller has passed a
/// full fence since it published them, which pairs with the one in `park_unless`: they, or the
/// sleeper, are seen.
pub(crate) fn wake_idle_behind_fence(group: u32) -> bool {
    everybody().any(|w| w.accepts(group) && w.parker.is_parked() && !w.is_dedicated() && w.unpark())
}

/// Wakes one sleeping worker that would take an offer, if there is one. The caller has passed a
/// full fence since it made the offer.
pub(crate) fn wake_vacant_behind_fence() -> bool {
    everybody().any(|w| offers::suits(w) && w.parker.is_parked() && w.is_vacant() && w.unpark())
}

// ---- what is held back ------------------------------------------------------

/// Is there a gang ULT, here or elsewhere, or a context among the suspended contexts, that the
/// worker is not allowed to go to now?
pub(super) fn held_back(worker: &'static Worker) -> bool {
    let queued = |victim: &Worker| !victim.gang_deque.is_empty();
    // SAFETY: own kernel thread; conditions do not wait.
    queued(worker)
        || unsafe { (*worker.own()).suspended.best_ready(false).is_some() }
        || may_help(worker) && everybody().any(queued)
}

/// Goes there.
pub(super) fn what_was_held_back(worker: &'static Worker) -> Option<Next> {
    if let Some(next) = everywhere(worker, true).or_else(|| take_gang_ult(worker, worker, |_| true)) {
        return Some(next);
    }
    // SAFETY: own kernel thread, as in `quickly`.
    let suspended = unsafe { &mut (*worker.own()).suspended };
    let ready = suspended.best_ready(false).map(|(at, _)| Next::Resume(suspended.take_at(at)));
    ready.or_else(|| {
        if may_help(worker) {
            everybody().find_map(|victim| take_gang_ult(worker, victim, |_| true))
        } else {
            None
        }
    })
}

/// What a worker that never comes to sleep holds back. It would wait for ever if only the end of a
/// sleep let it go.
pub(super) struct Refused {
    /// When this was asked, in microseconds; 0: not yet.
    asked: u64,
    /// Was somebody held back then?
    somebody: bool,
}

impl Refused {
    pub(super) const NOBODY: Self = Self { asked: 0, somebody: false };

    /// Goes there, if somebody was held back [`HOLD_BACK_TIME`] ago or earlier, and still is.
    pub(super) fn take(&mut self, worker: &'static Worker, now: u64) -> Option<Next> {
        if now.saturating_sub(self.asked) < HOLD_BACK_TIME.as_micros() as u64 {
            return None;
        }
        self.asked = now;
        let found = if self.somebody { what_was_held_back(worker) } else { None };
        self.somebody = found.is_none() && held_back(worker);
        found
    }
}

fn everybody() -> impl Iterator<Item = &'static Worker> {
    (0..worker::table_len()).filter_map(worker::at)
}

/// Tells the monitor whether threads wait behind the code that is about to run.
///
/// # Safety
/// Own kernel thread.
pub(super) unsafe fn publish_crowd(worker: &'static Worker) {
    // SAFETY: as the caller says.
    unsafe {
        let own = &mut *worker.own();
        rest(worker, own);
        let others = own.suspended.others(own.role.thread, worker.is_standing_in());
        own.sync_point = others.sync_point;
        worker.per_switch.urgency.set_running(own.role.tag);
        worker.per_switch.urgency.set_suspended(others.exists && own.suspended.has_urgent(&own.role));
        worker.set_suspended(others.exists);
        worker.watched.set_region(own.role.region);
        own.published = own.suspended.changes();
    }
}

/// [`publish_crowd`] for a ULT that follows another one with the same gang and region: who is
/// suspended is the same as before, if nobody has been suspended or resumed; what is queued may not
/// be.
///
/// # Safety
/// Own kernel thread.
pub(super) unsafe fn publish_crowd_again(worker: &'static Worker) {
    // SAFETY: as the caller says.
    unsafe {
        // Not asked again whether it is over.
        (*worker.own()).sync_point = core::ptr::null();
        publish_crowd_as_before(worker);
    }
}

/// [`publish_crowd`] for the code that ran before, on this worker: if nobody has been suspended or
/// resumed, what was notified of those who are suspended holds; what is queued may not.
///
/// # Safety
/// Own kernel thread.
pub(super) unsafe fn publish_crowd_as_before(worker: &'static Worker) {
    // SAFETY: as the caller says.
    let own = unsafe { &mut *worker.own() };
    if own.published == own.suspended.changes() && own.suspended.has_nobody_resting() {
        worker.publish_crowd_behind_fence();
    } else {
        // SAFETY: as above.
        unsafe { publish_crowd(worker) };
    }
}

/// A thread waits here for its next region while other code is about to run: whoever starts that
/// region has to know, so the thread is counted as if its worker slept. Undone by [`stir`].
fn rest(worker: &'static Worker, own: &mut worker::WorkerOwn) {
    let resting = if own.suspended.is_empty() { None } else { own.suspended.resting(own.role.thread) };
    worker.set_resting(resting.is_some());
    if let Some(Some(counter)) = resting {
        own.rested = counter;
        // ORDERING: SeqCst, and the fence: pairs with the fence of a waker that publishes, then
        // reads the counter. Whoever asks next whether the thread can go on
        // (`SuspendedContexts::others`) sees it, or the waker sees the counter.
        counter.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        // A job that came, or was left to others, before the thread was counted: nobody will tell
        // of it again.
        if own.suspended.rests_beside_a_job(own.role.thread) {
            worker.call_resting();
        }
    }
}

/// The worker is in its scheduler again.
#[inline]
pub(super) fn stir(worker: &'static Worker) {
    worker.recall();
    handoff::unpack(worker);
    // SAFETY: own kernel thread.
    let own = unsafe { &mut *worker.own() };
    if !own.rested.is_null() {
        // ORDERING: Relaxed; a waker that still sees the old count wakes for nothing.
        // SAFETY: the team of a thread that rests here is not freed before the thread has gone on.
        unsafe { &*own.rested }.fetch_sub(1, Ordering::Relaxed);
        own.rested = core::ptr::null();
    }
}
