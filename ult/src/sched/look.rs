//! Where a worker searches for work.
//!
//! How long a worker searches before it sleeps lives in [`super::spin_policy`].
//! [`super::suspended`] has the rules by which a worker resumes its own contexts and asks them for
//! jobs. A *full search* of a worker has these steps, in the order of ICS '21, Algorithm 2:
//!
//! 1. Its own suspended contexts that are ready, unless a deeper or older gang waits in its gang
//!    deque. If the first of these contexts yields or was interrupted, steps 3 and 4 sometimes come
//!    before it.
//! 2. Its own gang deque, as far as [`eligible`] allows.
//! 3. Its own ULTs, newest first, and the jobs of its own contexts.
//! 4. The jobs that its contexts may take from other threads.
//! 5. A victim's gang deque, then the victim's ULTs.
//! 6. ULTs that are offered to workers without a thread of a region ([`offers`]).
//!
//! A *group* is all ULTs that one kernel thread of the program has spawned, with the ULTs that
//! these have spawned. A kernel thread of the program runs no ULT of another group, because that
//! ULT would get the kernel thread's signal mask, priority and lifetime.
//!
//! *Holding back.* A worker does not start a gang ULT that is not eligible. It does not resume a
//! ready context while an unfinished context of a deeper or older gang is suspended here. It *holds
//! back* both. During a full search all contexts of the worker are suspended. So at the moment when
//! the search holds something back, no code of this worker spins in a wait for it. For code that
//! spins and yields, `yielding` has a rule of its own. But a suspended context may wait for an
//! event that comes only after a held-back thread has run. For example, a context here waits for a
//! lock, and a thread of another group holds this lock while it executes a region of a younger
//! gang. That region cannot end while one of its threads is held back here. So if the worker finds
//! nothing else for [`HOLD_BACK_TIME`], it takes one of the held-back ULTs or contexts. A worker
//! that sleeps takes it at the end of that sleep. A worker that polls without limit takes it by the
//! clock ([`Refused`]). `docs/models/gang.md` has runs that deadlock if nothing is held back, and
//! runs that deadlock without this exception.

use core::ptr::{self, NonNull};
use core::sync::atomic::{Ordering, fence};
use core::time::Duration;

use super::next::Next;
use super::request::SearchScope;
use super::suspended::context::SuspendedContext;
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
use crate::worker::record::{self, Worker};
use crate::worker::table;
use crate::worker::thread_mode::ThreadMode;

/// How long a worker that has nothing else to do holds back a gang ULT: 200 µs. Chosen: longer than
/// usual waits of the stricter gang, and bearable if the held-back thread is needed; any value from
/// 100 to 400 µs will do.
pub(super) const HOLD_BACK_TIME: Duration = Duration::from_micros(200);

/// Every `TICKS_PER_FULL_SEARCH`th tick, the worker searches everything, and not only the newest
/// suspended context. Otherwise an old context would wait for the last job of a long queue. Chosen:
/// the full search then costs each tick little; any value from 8 to 32 will do.
const TICKS_PER_FULL_SEARCH: u32 = 16;

/// Every `TICKS_PER_UNRANKED_RESUME`th tick, resume ranks do not count. Of a gang's ready contexts,
/// the worker then resumes the one that has been suspended longest. Otherwise threads with low
/// resume ranks could be resumed again and again, while they all wait for a ready thread with a
/// higher one. Chosen: a multiple of [`TICKS_PER_FULL_SEARCH`], and rare, because resume ranks are
/// right as a rule; any value from 128 to 512 will do.
const TICKS_PER_UNRANKED_RESUME: u32 = 256;

/// Once in `TICKS_PER_NEW_FIRST` ticks, new work starts before a context that merely yielded is
/// resumed. Otherwise contexts that yield to each other could starve the task that they all wait
/// for. At all other full searches the yielding context is resumed first. So it does not have to
/// wait until the last of very many tasks has run. Chosen: a multiple of [`TICKS_PER_FULL_SEARCH`],
/// because only a full search makes this choice; any value from 32 to 128 will do.
const TICKS_PER_NEW_FIRST: u32 = 64;

/// Makes one search, between two jobs. As a rule it covers only the newest suspended context and
/// the jobs for that context. If that is not enough, it is a full search ([`everywhere`]). A search
/// that finds nothing is not repeated here, but in [`super::next`].
pub(super) fn quickly(worker: &'static Worker) -> Option<Next> {
    // SAFETY: own kernel thread; conditions and seeks do not wait, so no other code touches the
    // worker's own data meanwhile.
    let own = unsafe { &mut *worker.own() };
    own.ticks = own.ticks.wrapping_add(1);
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

/// The longest time between two full searches where short ULTs follow each other, in
/// [`arch::ticks`]: about half a microsecond. Chosen: a full search of a dozen contexts costs more
/// than an empty ULT; any value from 1024 to 4096 will do.
const CLOCK_TICKS_PER_FULL_SEARCH: u64 = 2048;

/// Finds what the worker runs after a ULT of `region`. If the last full search, at `looked`, is
/// recent, the newest ULT that was spawned here comes first. Otherwise this is [`quickly`]. It is
/// always [`quickly`] in regions whose threads were seen spinning or blocking, because the next ULT
/// might wait for a context that the last one has released.
pub(super) fn after_ult(worker: &'static Worker, region: usize, looked: &mut u64) -> Option<Next> {
    if worker.ults.is_empty() || !worker.gang_deque.is_empty() || worker.is_standing_in() {
        return quickly(worker);
    }
    let now = arch::ticks();
    if now.wrapping_sub(*looked) < CLOCK_TICKS_PER_FULL_SEARCH
        && !crate::stall::regions::is_known_to_wait(region)
    {
        return own_ult(worker).or_else(|| quickly(worker));
    }
    *looked = now;
    quickly(worker)
}

/// A full search. First takes what is urgent: parcels, signals, the end of standing in. Then
/// searches in the order of the module. Steps 5 and 6 happen only if `steal` is true; step 5
/// searches one victim.
pub(super) fn everywhere(worker: &'static Worker, steal: bool) -> Option<Next> {
    desk::look_after();
    returning::unpack(worker);
    if let Some(entry) = signalled(worker, ptr::null()) {
        return Some(Next::Resume(entry));
    }
    if let Some(entry) = returning::end_of_standing_in(worker) {
        return Some(Next::Resume(entry));
    }
    in_own_queues(worker, SearchScope::Own)
        .or_else(|| seek_elsewhere(worker))
        .or_else(|| if steal { steal_once(worker).or_else(|| offered(worker)) } else { None })
}

/// Takes a context of a thread that has a signal to handle, but not of the thread `except`.
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
    returning::note_signalled(worker);
    if found.is_some() {
        worker.note_signals(); // for `back_to_program`, which delivers
    }
    found
}

/// Is there a parcel, a signal, or a ready context that is not held back? Leaves the context
/// suspended.
pub(super) fn has_ready(worker: &'static Worker) -> bool {
    // SAFETY: own kernel thread; conditions do not wait.
    returning::has_returning(worker) || unsafe { (*worker.own()).suspended.best_ready(true).is_some() }
}

/// The last search before a sleep, which is already announced. Searches all queues and all victims
/// for jobs. Whether a context of the worker itself is ready is checked before ([`has_ready`]).
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

/// Steps 1 and 2 of the module's order.
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

/// The newest ULT that this worker spawned without a gang.
pub(super) fn own_ult(worker: &'static Worker) -> Option<Next> {
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
pub(super) fn take_gang_ult(
    worker: &Worker,
    victim: &Worker,
    wanted: impl Fn(GangTag) -> bool,
) -> Option<Next> {
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
    let selector = unsafe { &mut (*worker.own()).selector };
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
    // SAFETY: own kernel thread, as in `quickly`.
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

/// A ULT that is offered to idle workers, if this worker hosts no thread of a region.
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

/// May the worker start ULTs that are queued at other workers? A worker that stands in always may.
/// Other workers may not while the program has at least as many kernel threads in regions as there
/// are processors. These kernel threads then need all processors. A worker that took a ULT from one
/// of them would only share a processor with one of them.
fn may_help(worker: &Worker) -> bool {
    share::has_room() || worker.is_standing_in()
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

/// Is something held back? Called after a search that found nothing. So if a ULT is still in a gang
/// deque, here or at another worker, or a context here is ready, it is held back.
pub(super) fn held_back(worker: &'static Worker) -> bool {
    let queued = |victim: &Worker| !victim.gang_deque.is_empty();
    // SAFETY: own kernel thread; conditions do not wait.
    queued(worker)
        || unsafe { (*worker.own()).suspended.best_ready(false).is_some() }
        || may_help(worker) && everybody().any(queued)
}

/// Searches everything once more, then takes a ULT or context that was held back.
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

/// For a worker that never sleeps: when it last asked whether something is held back, and the
/// answer. By this clock the worker takes held-back work after [`HOLD_BACK_TIME`]. A worker that
/// sleeps takes such work at the end of its sleep.
pub(super) struct Refused {
    /// When the worker last asked, in microseconds; 0 before the first time.
    asked: u64,
    /// Was something held back then?
    somebody: bool,
}

impl Refused {
    pub(super) const NOBODY: Self = Self { asked: 0, somebody: false };

    /// Takes what is held back, if something was held back at least [`HOLD_BACK_TIME`] ago, and
    /// still is.
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
    (0..table::table_len()).filter_map(table::at)
}

/// Reports to the stall monitor whether threads wait behind the code that is about to run.
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

/// [`publish_crowd`] for a ULT that follows another one with the same gang and region. If no
/// context was suspended or resumed meanwhile, the last report about suspended contexts still
/// holds, and only the queues are reported again.
///
/// # Safety
/// Own kernel thread.
pub(super) unsafe fn publish_crowd_again(worker: &'static Worker) {
    // SAFETY: as the caller says.
    unsafe {
        // The noted synchronization point may be over. Only `SuspendedContexts::others` would find
        // that out, and it is not always called here. So the note is cleared.
        (*worker.own()).sync_point = core::ptr::null();
        publish_crowd_as_before(worker);
    }
}

/// [`publish_crowd`] where the running code has the same thread, gang and region as at the last
/// report. If no context was suspended or resumed since, that report about suspended contexts still
/// holds, and only the queues are reported again.
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

/// Called when other code is about to run. If another thread is suspended here that waits for its
/// next region, increments that thread's counter of sleepers. The worker does not sleep, but the
/// thread that starts the region then wakes this worker. [`stir`] undoes this.
fn rest(worker: &'static Worker, own: &mut record::WorkerOwn) {
    let resting = if own.suspended.is_empty() { None } else { own.suspended.resting(own.role.thread) };
    worker.set_resting(resting.is_some());
    if let Some(Some(counter)) = resting {
        own.rested = counter;
        // ORDERING: SeqCst, and the fence: pairs with the fence of a waker that publishes, then
        // reads the counter. Either the next check of the thread's condition (in
        // `SuspendedContexts::others`) sees the event, or the waker sees the counter.
        counter.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        // There may already be a job for the thread. The job may have been queued before the thread
        // was counted. Or earlier searches may have seen the job and left it: the first `Steal`
        // searches that see a task in another thread's queue leave it to that thread. No thread
        // will announce this job again, so the worker is called to its scheduler here.
        if own.suspended.rests_beside_a_job(own.role.thread) {
            worker.call_resting();
        }
    }
}

/// Called at each entry to the scheduler: recalls the workers that stand in for this one, unpacks
/// parcels, and undoes [`rest`].
#[inline]
pub(super) fn stir(worker: &'static Worker) {
    worker.recall();
    returning::unpack(worker);
    // SAFETY: own kernel thread.
    let own = unsafe { &mut *worker.own() };
    if !own.rested.is_null() {
        // ORDERING: Relaxed; a waker that still sees the old count wakes without need.
        // SAFETY: the team of a thread that rests here is freed only after the thread has been
        // resumed.
        unsafe { &*own.rested }.fetch_sub(1, Ordering::Relaxed);
        own.rested = core::ptr::null();
    }
}
