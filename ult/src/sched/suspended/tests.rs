//! Tests of the suspended contexts of a worker.

use super::*;
use crate::sched::request::{Job, ReadyOrder, SearchScope, Wait};
use core::cell::{Cell, RefCell};
use core::ptr;
use core::sync::atomic::AtomicU32;

/// A waiting context: its thread's number, its counter of sleepers, and whether it waits at a
/// synchronization point.
type TestWait<'a> = (usize, &'a AtomicU32, bool);

/// The thread with this number. Each test has its own.
fn thread(number: usize) -> *const ThreadMode {
    thread_local! {
        static MODES: &'static [ThreadMode] = Vec::leak((0..512).map(|_| ThreadMode::new()).collect());
    }
    MODES.with(|modes| &raw const modes[number])
}

fn role(number: usize) -> Role {
    Role { tag: GangTag::NONE, region: 1, thread: thread(number), tls_block: None, away: false }
}

/// Calls `f` with a list of these suspended contexts, which all have the condition `ready` and the
/// search `seek`.
fn with_suspended<R>(
    slots: &[TestWait<'_>],
    ready: &dyn Fn() -> bool,
    seek: &dyn Fn(usize) -> Option<Job>,
    f: impl FnOnce(&mut SuspendedContexts) -> R,
) -> R {
    let seeks: Vec<_> = slots.iter().map(|&(number, ..)| move |_: SearchScope| seek(number)).collect();
    let mut suspended = SuspendedContexts::new();
    for (&(number, sleepers, synchronizes), seek) in slots.iter().zip(&seeks) {
        let wait = Wait::until(ready).seeking(seek).counted_by(sleepers);
        let wait = wait.synchronizing_if(synchronizes).taking_any_task_if(synchronizes);
        let ult = ptr::without_provenance_mut(suspended.entries.len() + 1);
        suspended.suspend(SuspendedContext::of(ult, role(number), &wait));
    }
    let result = f(&mut suspended);
    suspended.take_all(ptr::null(), |_| true);
    result
}

#[test]
fn a_sync_point_is_noted_where_all_others_wait_at_it() {
    let (a, b) = (AtomicU32::new(0), AtomicU32::new(0));
    let others = |slots: &[TestWait<'_>], ready: bool| {
        let notified =
            with_suspended(slots, &|| ready, &|_| None, |suspended| suspended.others(thread(1), false));
        (notified.exists, notified.sync_point)
    };
    assert_eq!(others(&[], false), (false, ptr::null()));
    assert_eq!(others(&[(1, &a, false)], false), (false, ptr::null()));
    assert_eq!(others(&[(2, &a, true), (1, &b, false), (3, &a, true)], false), (true, &raw const a));
    assert_eq!(others(&[(2, &a, true), (3, &a, true)], true), (true, ptr::null()), "it is over");
    assert_eq!(others(&[(2, &a, true), (2, &a, false)], false), (true, ptr::null()), "in a task");
    for slots in
        [[(2, &a, true), (3, &b, true), (4, &a, true)], [(2, &a, true), (3, &a, true), (4, &a, false)]]
    {
        assert_eq!(others(&slots, false), (true, ptr::null()));
    }
}

#[test]
fn helpers_wait_for_the_team_of_the_running_code() {
    let counter = AtomicU32::new(0);
    let never = || false;
    let (tag, other) = (GangTag { id: 7, level: 1 }, GangTag { id: 8, level: 1 });
    let of = |number, tag| Role { tag, ..role(number) };
    let mut suspended = SuspendedContexts::new();
    for number in [2, 3] {
        let wait = Wait::until(&never).counted_by(&counter).synchronizing_if(true).waits_as_helper_if(true);
        let ult = ptr::without_provenance_mut(number);
        suspended.suspend(SuspendedContext::of(ult, of(number, tag), &wait));
    }
    let are_helpers = |running: Role| suspended.others(thread(1), false).are_helpers_of(&running);
    assert!(are_helpers(of(1, tag)));
    assert!(!are_helpers(of(1, other)), "of another region");
    assert!(!are_helpers(role(1)), "of no gang");
    let nested = Wait::until(&never).counted_by(&counter).synchronizing_if(true);
    suspended.suspend(SuspendedContext::of(ptr::without_provenance_mut(5), of(5, tag), &nested));
    assert!(!suspended.others(thread(1), false).are_helpers_of(&of(1, tag)), "one is of a nested team");
    suspended.take_all(thread(5), |_| true);
    suspended.suspend(SuspendedContext::interrupted(ptr::without_provenance_mut(4), of(4, tag)));
    assert!(!suspended.others(thread(1), false).are_helpers_of(&of(1, tag)), "one was interrupted");
    suspended.take_all(ptr::null(), |_| true);
}

#[test]
fn one_of_each_sync_point_steals() {
    let (a, b) = (AtomicU32::new(0), AtomicU32::new(0));
    let asked = RefCell::new(Vec::new());
    let seek = |number| {
        asked.borrow_mut().push(number);
        None
    };
    let slots = [(1, &a, true), (2, &a, true), (3, &a, false), (4, &b, true), (5, &b, true), (5, &b, false)];
    with_suspended(&slots, &|| false, &seek, |suspended| assert!(suspended.seek_elsewhere().is_none()));
    assert_eq!(asked.take(), [5, 4, 3, 2]);
    with_suspended(&slots, &|| false, &seek, |suspended| {
        assert!(suspended.seek(SearchScope::BeforeSleep, thread(3)).is_none())
    });
    assert_eq!(asked.take(), [5, 4, 2]);
}

#[test]
fn who_is_alone_is_asked_below_newer_ones_unless_these_are_in_the_middle_of_their_code() {
    let counters: [AtomicU32; 4] = core::array::from_fn(|_| AtomicU32::new(0));
    let asked = RefCell::new(0);
    let seek = |_| {
        *asked.borrow_mut() += 1;
        None
    };
    let times = |suspended: &SuspendedContexts| {
        assert!(suspended.seek(SearchScope::Own, ptr::null()).is_none());
        asked.take()
    };
    let slots = [
        (1, &counters[0], false),
        (1, &counters[1], false),
        (2, &counters[2], false),
        (1, &counters[3], false),
    ];
    with_suspended(&slots, &|| false, &seek, |suspended| {
        assert_eq!(times(suspended), 2, "the newest of each thread");
        suspended.entries[1].alone = true;
        assert_eq!(times(suspended), 3);
        assert!(suspended.seek(SearchScope::Own, thread(1)).is_none());
        assert_eq!(asked.take(), 1, "the thread is excepted");
        suspended.suspend(SuspendedContext::interrupted(ptr::without_provenance_mut(11), role(2)));
        assert_eq!(times(suspended), 2);
        suspended.suspend(SuspendedContext::interrupted(ptr::without_provenance_mut(12), role(1)));
        assert_eq!(times(suspended), 0);
    });
}

/// Adds the thread `number`, which waits at this position in the order of an event of `object`.
fn sit_in_order(
    suspended: &mut SuspendedContexts,
    number: usize,
    position: u64,
    ready: &dyn Fn() -> bool,
    object: &u32,
) {
    let wait = Wait::until(ready).in_order(ReadyOrder::at(object, 0, position));
    let ult = ptr::without_provenance_mut(number + 1);
    suspended.suspend(SuspendedContext::of(ult, role(number), &wait));
}

/// Suspends one context per condition, for threads 0, 1 and so on.
fn suspend_all(suspended: &mut SuspendedContexts, conditions: &[impl Fn() -> bool]) {
    for (number, ready) in conditions.iter().enumerate() {
        let ult = ptr::without_provenance_mut(number + 1);
        suspended.suspend(SuspendedContext::of(ult, role(number), &Wait::until(ready)));
    }
}

/// Each thread waits until `now` is its number, which is its position as well. Each of `turns` is
/// an order in which the threads are suspended. Each time a context becomes ready, the next search
/// finds it, and evaluates few conditions.
#[test]
fn a_look_asks_few_of_many_that_wait_in_order() {
    const THREADS: usize = 500;
    // 7 and 500 have no common divisor.
    let turns: [fn(usize) -> usize; 3] = [|at| at, |at| THREADS - 1 - at, |at| at * 7 % THREADS];
    for turn in turns {
        let (now, asked) = (Cell::new(usize::MAX), Cell::new(0));
        let object = 0;
        let conditions: Vec<_> = (0..THREADS)
            .map(|number| {
                let (now, asked) = (&now, &asked);
                move || {
                    asked.set(asked.get() + 1);
                    now.get() == number
                }
            })
            .collect();
        let mut suspended = SuspendedContexts::new();
        for number in (0..THREADS).map(turn) {
            sit_in_order(&mut suspended, number, number as u64, &conditions[number], &object);
        }
        assert_eq!(suspended.entries.len(), POLLED_PER_ORDER);
        for (number, condition) in conditions.iter().enumerate() {
            asked.set(0);
            assert!(suspended.best_ready_in_window(true, true).is_none());
            now.set(number);
            let (at, _) = suspended.best_ready_in_window(true, true).expect("its turn has come");
            assert_eq!(suspended.take_at(at).ult.addr(), number + 1);
            assert!(asked.get() <= 2 * POLLED_PER_ORDER);
            // Some threads wait again after they were resumed, as if their turn were not over. Such
            // a thread waits at its old position, and its context is the newest entry.
            if number % 3 == 0 {
                sit_in_order(&mut suspended, number, number as u64, condition, &object);
                let (at, _) = suspended.best_ready_in_window(true, true).expect("it is polled again");
                assert_eq!(suspended.take_at(at).ult.addr(), number + 1);
            }
        }
        assert!(suspended.is_empty() && suspended.unpolled.iter().next().is_none());
    }
}

#[test]
fn a_thread_that_starts_a_task_is_replaced_among_those_that_are_polled() {
    let object = 0;
    let mut suspended = SuspendedContexts::new();
    for number in 0..100 {
        sit_in_order(&mut suspended, number, number as u64, &|| false, &object);
    }
    for number in 0..POLLED_PER_ORDER - 1 {
        suspended
            .suspend(SuspendedContext::interrupted(ptr::without_provenance_mut(1000 + number), role(number)));
        assert!(suspended.entries.last().is_some_and(|newest| newest.interrupted), "it stays the newest");
        let polled = suspended
            .entries
            .iter()
            .filter(|entry| entry.is_alone_of_its_thread() && !entry.interrupted)
            .count();
        assert_eq!(polled, POLLED_PER_ORDER);
    }
    let all = suspended.take_all(ptr::null(), |_| true);
    assert_eq!(all.len(), 100 + POLLED_PER_ORDER - 1);
    let has_none = |number: usize| {
        // SAFETY: leaked by `thread`, and this thread's.
        let mode = unsafe { &*thread(number) };
        mode.suspended() == 0 && !mode.has_interrupted()
    };
    assert!((0..100).all(has_none));
}

/// However many contexts are suspended, each of them is polled within a few searches, and the
/// newest in every search.
#[test]
fn each_context_is_looked_at_soon() {
    for count in 1..=80_usize {
        let asked: Vec<_> = (0..count).map(|_| Cell::new(0)).collect();
        let conditions: Vec<_> = asked
            .iter()
            .map(|times| {
                move || {
                    times.set(times.get() + 1);
                    false
                }
            })
            .collect();
        let mut suspended = SuspendedContexts::new();
        suspend_all(&mut suspended, &conditions);
        let looks = count.div_ceil(WINDOW_SIZE);
        for look in 0..looks {
            let is_found = if look % 2 == 0 {
                suspended.best_ready_in_window(true, true).is_some()
            } else {
                suspended.has_ready_of_others(ptr::null())
            };
            assert!(!is_found);
            assert!(
                asked.iter().map(Cell::get).sum::<usize>() <= (look + 1) * (WINDOW_SIZE + WINDOW_NEWEST),
                "{count}"
            );
        }
        assert!(asked.iter().all(|times| times.get() > 0), "{count}");
        assert!(asked.iter().rev().take(WINDOW_NEWEST).all(|times| times.get() == looks), "{count}");
        suspended.take_all(ptr::null(), |_| true);
    }
}

/// A search finds the context that the peek before it has found.
#[test]
fn a_search_finds_the_context_that_a_peek_has_seen() {
    for count in [3, 24, 25, 40, 60] {
        for ready in 0..count {
            let condition = |number: usize| move || number == ready;
            let conditions: Vec<_> = (0..count).map(condition).collect();
            let mut suspended = SuspendedContexts::new();
            suspend_all(&mut suspended, &conditions);
            while !suspended.has_ready_of_others(ptr::null()) {}
            let (at, _) = suspended.best_ready_in_window(true, true).expect("it was seen");
            assert_eq!(suspended.take_at(at).ult.addr(), ready + 1);
            suspended.take_all(ptr::null(), |_| true);
        }
    }
}

/// Contexts that can always be resumed run in a circle.
#[test]
fn contexts_that_yield_go_round() {
    for count in [3, 21, 24, 25, 30, 60] {
        let mut suspended = SuspendedContexts::new();
        (0..count).for_each(|number| {
            suspended
                .suspend(SuspendedContext::interrupted(ptr::without_provenance_mut(number + 1), role(number)))
        });
        let mut turns = vec![0; count];
        for _ in 0..20 * count {
            let (at, _) = suspended.best_ready_in_window(true, true).expect("all can go on");
            let number = suspended.take_at(at).ult.addr() - 1;
            turns[number] += 1;
            suspended.suspend(SuspendedContext::interrupted(
                ptr::without_provenance_mut(number + 1),
                role(number),
            ));
        }
        assert!(turns.iter().all(|&turns| (15..=25).contains(&turns)), "{count}: {turns:?}");
        suspended.take_all(ptr::null(), |_| true);
    }
}

/// A context of the running thread stays in the list, whatever its position. A newer context of its
/// thread may come to depend on it.
#[test]
fn the_running_thread_stays_polled() {
    let object = 0;
    let mut suspended = SuspendedContexts::new();
    let last = 99;
    sit_in_order(&mut suspended, last, last as u64, &|| false, &object);
    let all = {
        (0..40).for_each(|number| sit_in_order(&mut suspended, number, number as u64, &|| false, &object));
        suspended.take_all(ptr::null(), |_| true)
    };
    all.into_iter().for_each(|entry| suspended.suspend_beside(entry, thread(last)));
    assert!(suspended.has_polled(|entry| entry.role.thread == thread(last)));
    assert_eq!(suspended.entries.len(), POLLED_PER_ORDER + 1);
    suspended.take_all(thread(last), |_| false);
    assert!(suspended.has_polled(|entry| entry.role.thread == thread(last)));
    suspended.take_all(ptr::null(), |_| true);
}

#[test]
fn contexts_are_found_and_moved_whether_they_are_polled_or_not() {
    let object = 0;
    let mut suspended = SuspendedContexts::new();
    for number in 0..100 {
        sit_in_order(&mut suspended, number, number as u64, &|| false, &object);
    }
    assert!((0..100).all(|number| suspended.has(|entry| entry.role.thread == thread(number))));
    suspended.remove(ptr::without_provenance_mut(60 + 1));
    assert!(!suspended.has(|entry| entry.role.thread == thread(60)));
    let even = |entry: &SuspendedContext| (entry.ult.addr() - 1).is_multiple_of(2);
    assert_eq!(suspended.take_all(ptr::null(), even).len(), 49);
    assert_eq!(suspended.entries.len() + suspended.unpolled.iter().count(), 50);
    assert_eq!(suspended.entries.len(), POLLED_PER_ORDER);
    assert_eq!(suspended.take_all(ptr::null(), |_| true).len(), 50);
}
