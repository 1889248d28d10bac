//! What a worker reports about the contexts behind the code that it runs, and to whom.
//!
//! What may not live here: the list of these contexts ([`super::suspended`]).

use core::ptr;
use core::sync::atomic::{Ordering, fence};

use super::returning;
use crate::worker::own::{SearchState, WorkerOwn};
use crate::worker::record::Worker;

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
        own.search.sync_point = others.sync_point;
        worker.per_switch.urgency.set_running(own.role.tag);
        let urgent = others.exists && own.suspended.has_urgent(&own.role);
        worker.per_switch.urgency.set_suspended(urgent, others.are_helpers_of(&own.role));
        worker.set_suspended(others.exists);
        worker.watched.set_region(own.role.region);
        own.search.published = own.suspended.changes();
    }
}

/// [`publish_crowd`] for a ULT that follows another one with the same gang and region. If no
/// context was suspended or resumed meanwhile, and all suspended contexts run for regions, the last
/// report about suspended contexts still holds. Then only the queues are reported again.
///
/// # Safety
/// Own kernel thread.
pub(super) unsafe fn publish_crowd_again(worker: &'static Worker) {
    // SAFETY: as the caller says.
    unsafe {
        // The noted synchronization point may be over. Only `SuspendedContexts::others` would find
        // that out, and it is not always called here. So the note is cleared.
        (*worker.own()).search.sync_point = ptr::null();
        publish_crowd_as_before(worker);
    }
}

/// [`publish_crowd`] where the running code has the same thread, gang and region as at the last
/// report. If no context was suspended or resumed since then, and all suspended contexts run for
/// regions, the last report about suspended contexts still holds. Then only the queues are reported
/// again.
///
/// # Safety
/// Own kernel thread.
pub(super) unsafe fn publish_crowd_as_before(worker: &'static Worker) {
    // SAFETY: as the caller says.
    let own = unsafe { &mut *worker.own() };
    if own.search.published == own.suspended.changes() && own.suspended.all_run_for_regions() {
        worker.publish_crowd_behind_fence();
    } else {
        // SAFETY: as above.
        unsafe { publish_crowd(worker) };
    }
}

/// Called before program code runs. If another thread that waits for its next region is suspended
/// here, increments its counter of sleepers. The thread that starts the region then summons
/// this worker, as it wakes workers that sleep. [`stir`] takes the count back.
fn rest(worker: &'static Worker, own: &mut WorkerOwn) {
    let resting = if own.suspended.is_empty() { None } else { own.suspended.resting(own.role.thread) };
    worker.set_resting(resting.is_some());
    if let Some(Some(counter)) = resting {
        // `border::undisturbed` and `change_storage` come here without a call of `stir`. The thread
        // is still counted then.
        if !ptr::eq(own.search.rested, counter) {
            take_count_back(&mut own.search);
            own.search.rested = counter;
            // ORDERING: SeqCst, and the fence: pairs with the fence of a waker that publishes, then
            // reads the counter. Either the next check of the thread's condition (in
            // `SuspendedContexts::others`) sees the event, or the waker sees the counter.
            counter.fetch_add(1, Ordering::SeqCst);
        }
        fence(Ordering::SeqCst);
        // There may already be a job for the thread. The job may have been queued before the thread
        // was counted. Or earlier searches may have seen the job and left it: in its first
        // `Steal` searches, a thread leaves a task in the queue of another thread to that thread. No
        // thread will announce this job again, so the worker is called to its scheduler here.
        if own.suspended.rests_beside_a_job(own.role.thread) {
            worker.call_resting();
        }
    }
}

/// Called at each entry to the scheduler after which another context may run: recalls the workers
/// that stand in for this one, unpacks parcels, and takes back the count of [`rest`].
#[inline]
pub(super) fn stir(worker: &'static Worker) {
    worker.recall();
    returning::unpack(worker);
    // SAFETY: own kernel thread.
    take_count_back(unsafe { &mut (*worker.own()).search });
}

/// Decrements the counter that [`rest`] has incremented, if any.
#[inline]
fn take_count_back(search: &mut SearchState) {
    if !search.rested.is_null() {
        // ORDERING: Relaxed; a waker that still sees the old count wakes without need.
        // SAFETY: the team of a thread that rests here is freed only after the thread has been
        // resumed.
        unsafe { &*search.rested }.fetch_sub(1, Ordering::Relaxed);
        search.rested = ptr::null();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use core::ptr;
    use core::sync::atomic::{AtomicU32, Ordering};

    use crate::gang::GangTag;
    use crate::sched::border::{enter, enter_program, undisturbed};
    use crate::sched::request::Wait;
    use crate::sched::suspended::context::SuspendedContext;
    use crate::worker;
    use crate::worker::role::Role;
    use crate::worker::thread_mode::ThreadMode;
    use crate::worker::words::here;

    /// A call of [`undisturbed`] enters the scheduler and leaves it without `stir`. A thread that
    /// rests here is counted once all the same.
    #[test]
    fn a_resting_thread_is_counted_once() {
        let on_a_worker = || {
            worker::register_current();
            let worker = here();
            let (mode, sleepers) = (ThreadMode::new(), AtomicU32::new(0));
            let role =
                Role { tag: GangTag::NONE, region: 0, thread: &raw const mode, tls_block: None, away: false };
            let ready = || false;
            // ORDERING: Relaxed; no other thread has the counter.
            let count = || sleepers.load(Ordering::Relaxed);

            enter(worker);
            // SAFETY: own kernel thread, in its scheduler. The entry leaves the list below.
            unsafe {
                let own = worker.own();
                let resting =
                    SuspendedContext::of((*own).current, role, &Wait::until(&ready).counted_by(&sleepers));
                (*own).suspended.suspend(resting);
            }
            enter_program();
            assert_eq!(count(), 1);
            for _ in 0..3 {
                undisturbed(|| ());
                assert_eq!(count(), 1);
            }

            enter(worker);
            assert_eq!(count(), 0);
            // SAFETY: as above.
            unsafe { (*worker.own()).suspended.take_all(ptr::null(), |_| true) };
            enter_program();
            assert_eq!(count(), 0);
        };
        std::thread::spawn(on_a_worker).join().unwrap();
    }
}
