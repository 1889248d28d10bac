//! What a worker does next, and how it sleeps while there is nothing.
//!
//! What may not live here: where it looks ([`super::look`]), and how long it polls
//! ([`super::spin_policy`]).

use core::sync::atomic::Ordering;

use crate::observer::{self, SchedulerEvent};
use crate::signals::mask::{current_mask, set_mask};
use crate::sys::thread::{self, KernelThreadState};
use crate::worker::record::Worker;
use crate::worker::table::{at, table_len, wake_idle_behind_fence};

use super::fairness::{HOLD_BACK_TIME, LOOKS_PER_PASS, LOOKS_PER_STEAL};
use super::look;
use super::next::Next;
use super::returning::has_adopted;
use super::spin_policy::{self, Spin, SpinHistory, SpinPolicy};
use super::suspended::SuspendedContexts;

/// Decides what this worker does. As a rule it resumes started work before it starts new work;
/// `order` has the exceptions, and `fairness` their intervals. The worker has at least one
/// suspended context.
pub(crate) fn next(worker: &'static Worker) -> Next {
    if let Some(found) = look::search_after_job(worker) {
        return found;
    }
    let (spin, spin_history) = spin_and_history(worker);
    let mut spin_policy = SpinPolicy::new(spin, spin_history);
    let (mut looks, mut naps) = (0_u32, 0_u32);
    let mut refused = look::Refused::NONE;
    loop {
        if let Some(found) = look::full_search(worker, looks.is_multiple_of(LOOKS_PER_STEAL)) {
            teach(worker, &spin_policy);
            return found;
        }
        looks += 1;
        // So many searches take some hundred microseconds. A worker that polls for that long makes
        // them, whether it sleeps in the end or not.
        if looks.is_multiple_of(LOOKS_PER_PASS)
            && let Some(mask) = pass_timer_signals(worker)
        {
            set_mask(mask);
        }
        // A worker whose sleep ended without a wake-up has waited long, unless a signal ended the
        // sleep. So one search before the next sleep is enough.
        if naps != 0 || !spin_policy.go_on() || spin_policy.is_question_due() && is_in_the_way(worker) {
            // A context may have come in a parcel since the spin policy was made. If the worker
            // must not sleep while it hosts this context, it polls from here on.
            let (spin, spin_history) = spin_and_history(worker);
            if spin.is_endless() {
                (spin_policy, naps) = (SpinPolicy::new(spin, spin_history), 0);
                continue;
            }
            let slept = sleep(worker, naps);
            // SAFETY: own kernel thread.
            let spin_history = unsafe { &mut (*worker.own()).search.spin_history };
            spin_policy.teach(spin_history);
            spin_history.awakes();
            naps = match slept {
                Slept::Found(found) => return found,
                Slept::Nap => naps + 1,
                Slept::Woken => {
                    pass_wake_up_on(worker);
                    0
                }
            };
            spin_policy = SpinPolicy::new(spin, *spin_history);
        } else if let Some(found) = spin_policy.time_awake().and_then(|now| refused.take(worker, now)) {
            teach(worker, &spin_policy);
            return found;
        }
    }
}

/// How long the suspended contexts of this worker want it to poll, and what it has learnt from
/// earlier waits.
fn spin_and_history(worker: &'static Worker) -> (Spin, SpinHistory) {
    // SAFETY: own kernel thread.
    unsafe { ((*worker.own()).suspended.spin(), (*worker.own()).search.spin_history) }
}

/// The worker has found work: it learns from this wait.
fn teach(worker: &'static Worker, spin_policy: &SpinPolicy) {
    // SAFETY: own kernel thread.
    spin_policy.teach(unsafe { &mut (*worker.own()).search.spin_history });
}

/// The most woken workers whose processors one worker asks the kernel for at a time. Chosen: one question
/// takes 5 to 10 µs; any value from 2 to 8 will do.
const MOST_WORKERS_ASKED_FOR: usize = 4;

/// Is a woken worker queued on the processor of `me`, the calling worker? As a rule the calling worker
/// polls for a result of the woken worker, and so keeps it from running. Each worker searches from the
/// index after its own, so that the workers do not all ask for the same ones.
#[cold]
fn is_in_the_way(me: &Worker) -> bool {
    let (own, length) = (me.index() as usize, table_len());
    let others = (own + 1..length).chain(0..own.min(length)).filter_map(at);
    let woken = others.filter(|worker| worker.parker.is_being_woken()).map(|worker| worker.watched.tid());
    let mut tids = woken.take(MOST_WORKERS_ASKED_FOR).peekable();
    let here = tids.peek().map(|_| thread::processor_and_node().0);
    // A woken worker that is not yet runnable may still get another processor.
    tids.any(|tid| thread::processor_of(tid) == here && thread::state(tid) == KernelThreadState::Runnable)
}

/// A withdrawn worker may have been woken for a ULT that it does not take, because it was withdrawn
/// after that. Another worker is woken for it.
fn pass_wake_up_on(worker: &'static Worker) {
    if worker.is_withdrawn() {
        wake_idle_behind_fence(worker.group());
    }
}

/// How a sleep has ended.
enum Slept {
    /// The last search found something to do.
    Found(Next),
    /// The sleep ended without a waker: a nap is over, or a signal ended the sleep.
    Nap,
    /// A waker woke the worker, or came before the sleep began.
    Woken,
}

/// The most doublings of the time of a nap. The first nap lasts [`HOLD_BACK_TIME`]. Chosen: the
/// longest nap is then 3.2 ms; any value from 3 to 5 will do.
const NAP_DOUBLINGS: u32 = 4;

/// Sleeps until a waker wakes this worker, unless a last search finds something to do. A signal may
/// end the sleep early. The sleep is a *nap* if something is held back, or if a waker might wake
/// another worker instead of this one. A nap has a time limit: [`HOLD_BACK_TIME`] while something
/// is held back. Otherwise each nap may last twice as long as the one before, up to a limit. `naps`
/// naps came before this one. The worker's suspended contexts do not change during the sleep.
fn sleep(worker: &'static Worker, naps: u32) -> Slept {
    let held_back = look::held_back(worker);
    announce(worker);
    let mut found = None;
    let mut mask = None;
    // A context may have come here by a hand-off or a relocation, or for a dedicated kernel thread.
    // The waker of such a context may wake the context's former worker. So this worker must search
    // by itself.
    let polls = held_back || has_adopted(worker);
    // A context that must be held back may have become ready after `held_back` was read above. The
    // context's waker may have come before this worker announced its sleep, and does not come
    // again. So `held_back` is read again. If something is held back now, this sleep is cancelled,
    // and the next one is a nap.
    let awake = || {
        look::has_ready(worker)
            || {
                found = look::search_before_sleep(worker);
                found.is_some() || !polls && look::held_back(worker)
            }
            || {
                // This runs after the fence of the sleep. `register_timer_signal` adds a signal
                // first, and then wakes this worker if it sleeps. If the worker was not asleep for
                // that call, the signal was added before the fence, so the signal is seen here.
                mask = pass_timer_signals(worker);
                false
            }
    };
    let nap = HOLD_BACK_TIME * if held_back { 1 } else { 1 << naps.min(NAP_DOUBLINGS) };
    observer::notify(|| SchedulerEvent::Sleeps);
    let rest = worker.parker.rest_unless(awake, polls.then_some(nap));
    if let Some(mask) = mask {
        set_mask(mask);
    }
    observer::notify(|| SchedulerEvent::Wakes);
    renounce(worker, rest.notified);
    if found.is_none() && rest.slept && held_back {
        found = look::what_was_held_back(worker);
    }
    match found {
        Some(found) => Slept::Found(found),
        None if rest.slept && !rest.notified => Slept::Nap,
        None => Slept::Woken,
    }
}

/// Unblocks the timer signals of the OpenMP thread that owns this kernel thread, if that thread
/// runs on another worker after a hand-off or a relocation. The kernel still sends these signals
/// here, and the handler puts them into the thread's queue. They are unblocked for a sleep, or for
/// a moment while the worker polls; no thread's code runs with this mask. Returns the mask to
/// restore.
fn pass_timer_signals(worker: &'static Worker) -> Option<u64> {
    // SAFETY: own kernel thread, in its scheduler.
    let passed = unsafe { (*worker.own()).tls.borrowed }?.timer_signals();
    // The mask is read from the kernel, not from `kernel_mask`: a context that continues after an
    // interrupt restores its own mask, so `kernel_mask` may be out of date.
    (passed != 0).then(|| set_mask(current_mask() & !passed))
}

/// Announces that the worker is about to sleep, and which jobs it seeks.
fn announce(worker: &'static Worker) {
    // SAFETY: own kernel thread; no switch happens while the reference is in use.
    let suspended: &SuspendedContexts = unsafe { &(*worker.own()).suspended };
    worker.note_what_is_sought(suspended.sought(), !suspended.hosts_a_region());
    suspended.for_each_counter(|counter| {
        // ORDERING: SeqCst increment before the last search. It pairs with the fence of a waker
        // that publishes, then reads the counter. `rest_unless` adds the full fence between this
        // increment and the search.
        counter.fetch_add(1, Ordering::SeqCst);
    });
    spin_policy::falls_asleep();
    worker.watched.enter_idle();
}

/// Undoes [`announce`]. If `woke` is true, the waker has already counted the worker as awake.
fn renounce(worker: &'static Worker, woke: bool) {
    worker.watched.enter_scheduler();
    if !woke {
        spin_policy::wakes_up();
    }
    // SAFETY: as in `announce`.
    let suspended: &SuspendedContexts = unsafe { &(*worker.own()).suspended };
    suspended.for_each_counter(|counter| {
        // ORDERING: Relaxed; a waker that still sees the old count wakes without need.
        counter.fetch_sub(1, Ordering::Relaxed);
    });
}

#[cfg(all(test, not(loom)))]
mod tests {
    use core::cell::Cell;
    use core::ptr;
    use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::sync::mpsc;

    use super::super::border::{enter, enter_program};
    use super::super::request::Wait;
    use super::super::returning::send;
    use super::super::spin_policy::Spin;
    use super::super::suspended::context::SuspendedContext;
    use super::super::wait::wait;
    use super::{is_in_the_way, thread};
    use crate::gang::GangTag;
    use crate::worker;
    use crate::worker::role::Role;
    use crate::worker::thread_mode::ThreadMode;
    use crate::worker::words::here;

    /// A worker that was woken and does not run is behind the caller if both are on one processor.
    #[test]
    fn a_woken_worker_on_the_own_processor_is_behind() {
        let stay_on = |processor: usize| {
            // SAFETY: all zero is the empty set, and the set lives through the call.
            unsafe {
                let mut set: libc::cpu_set_t = core::mem::zeroed();
                libc::CPU_SET(processor, &mut set);
                assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &raw const set), 0);
            }
        };
        let own = thread::processor_and_node().0;
        let (announce, announced) = mpsc::channel();
        let is_over = &*Box::leak(Box::new(AtomicBool::new(false)));
        let sleeper = std::thread::spawn(move || {
            stay_on(own);
            worker::register_current();
            let worker = here();
            // Asleep for wakers, but it runs, and does not notice them.
            let is_awake = || {
                announce.send(worker).unwrap();
                // ORDERING: Relaxed, here and below; a flag by itself.
                while !is_over.load(Ordering::Relaxed) {
                    core::hint::spin_loop();
                }
                true
            };
            worker.parker.rest_unless(is_awake, None);
        });
        let poller = std::thread::spawn(move || {
            stay_on(own);
            worker::register_current();
            let worker = announced.recv().unwrap();
            assert!(worker.parker.unpark());
            // Workers of other tests may be woken at the same time.
            assert!((0..1000).any(|_| is_in_the_way(here())));
            // ORDERING: as above.
            is_over.store(true, Ordering::Relaxed);
        });
        poller.join().unwrap();
        sleeper.join().unwrap();
    }

    /// A context without a waker comes in a parcel while its new worker falls asleep. From then on
    /// the worker polls, and does not sleep any more.
    #[test]
    fn a_context_without_a_waker_that_comes_in_a_parcel_ends_sleeping() {
        const SEARCHES: u32 = 50;
        let on_a_worker = || {
            worker::register_current();
            let worker = here();
            let (mode, sleepers) = (ThreadMode::new(), AtomicU32::new(0));
            let role =
                Role { tag: GangTag::NONE, region: 0, thread: &raw const mode, tls_block: None, away: true };
            let never = || false;
            // No code switches to this context: its condition never holds.
            let context = ptr::dangling_mut();
            let polled = SuspendedContext::of(context, role, &Wait::until(&never).spinning(Spin::POLLING));

            let (sent, searches, sleeps) = (Cell::new(false), Cell::new(0), Cell::new(0));
            let ready = || {
                // ORDERING: Relaxed; this thread alone uses the counter.
                let is_asleep = sleepers.load(Ordering::Relaxed) != 0;
                if is_asleep && !sent.replace(true) {
                    send(worker, vec![polled]);
                } else if is_asleep && searches.get() != 0 {
                    sleeps.set(sleeps.get() + 1);
                } else if !is_asleep && sent.get() {
                    searches.set(searches.get() + 1);
                }
                searches.get() >= SEARCHES
            };
            wait(&Wait::until(&ready).counted_by(&sleepers));
            assert_eq!((sent.get(), sleeps.get()), (true, 0));

            enter(worker);
            // SAFETY: own kernel thread, in its scheduler.
            unsafe { (*worker.own()).suspended.take_all(ptr::null(), |_| true) };
            enter_program();
        };
        std::thread::spawn(on_a_worker).join().unwrap();
    }
}
