//! Model of the calls of free agents. A thread that puts a task where agents find it calls one,
//! unless the highest number of agents is out. An agent that has ended calls another one if there
//! is a task. A task must not be left while no agent is out, and no agent may be called into a
//! region that is over. It restates `docs/protocols/task.md` with the same orderings.
//!
//! The models whose names begin with `broken` leave one thing out and must fail.
#![cfg(loom)]

mod models;

use loom::thread;
use models::{explore, with_shared};
use ult::sys::sync::{AtomicUsize, Ordering, fence};

#[derive(Clone, Copy, PartialEq)]
enum Without {
    Nothing,
    /// The fence of the thread that puts a task.
    FenceOfTask,
    /// The fence of the agent that has ended.
    FenceOfEnd,
    /// The one step in which an agent is counted: it is counted first, and taken back where there
    /// are too many.
    OneStep,
}

/// A team that may have one agent.
struct Agents {
    without: Without,
    ready: AtomicUsize,
    out: AtomicUsize,
}

const MOST: usize = 1;

impl Agents {
    fn new(without: Without) -> Self {
        Self { without, ready: AtomicUsize::new(0), out: AtomicUsize::new(0) }
    }

    /// True: an agent has been called, which the caller plays.
    fn call(&self) -> bool {
        if self.without == Without::OneStep {
            let room = self.out.load(Ordering::Relaxed) < MOST;
            let called = room && self.out.fetch_add(1, Ordering::Relaxed) < MOST;
            if room && !called {
                self.out.fetch_sub(1, Ordering::Relaxed);
            }
            return called;
        }
        let more = |out| (out < MOST).then_some(out + 1);
        self.out.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Puts a task; the agent that is called for it, if one is, looks once and ends.
    fn put(&self) {
        self.ready.fetch_add(1, Ordering::Relaxed);
        if self.without != Without::FenceOfTask {
            fence(Ordering::SeqCst);
        }
        if self.call() {
            self.live();
        }
    }

    /// An agent: takes a task if it sees one, ends, and is followed if it has left one. The last
    /// one may be out when the model ends.
    fn live(&self) {
        let seen = self.ready.load(Ordering::Relaxed);
        if seen != 0 {
            self.ready.fetch_sub(1, Ordering::Relaxed);
        }
        self.out.fetch_sub(1, Ordering::Relaxed);
        if self.without != Without::FenceOfEnd {
            fence(Ordering::SeqCst);
        }
        if self.ready.load(Ordering::Relaxed) != 0 {
            self.call();
        }
    }
}

/// Two threads put a task each.
fn two(without: Without) {
    explore(2, move || {
        with_shared(Agents::new(without), |agents| {
            let other = thread::spawn(move || agents.put());
            agents.put();
            other.join().unwrap();
            let (ready, out) = (agents.ready.load(Ordering::Relaxed), agents.out.load(Ordering::Relaxed));
            assert!(ready == 0 || out == MOST, "a task is left with nobody out");
        });
    });
}

#[test]
fn no_task_is_forgotten() {
    two(Without::Nothing);
}

#[test]
#[should_panic(expected = "a task is left with nobody out")]
fn broken_without_the_fence_of_who_puts() {
    two(Without::FenceOfTask);
}

#[test]
#[should_panic(expected = "a task is left with nobody out")]
fn broken_without_the_fence_of_who_has_ended() {
    two(Without::FenceOfEnd);
}

#[test]
#[should_panic(expected = "a task is left with nobody out")]
fn broken_if_counted_in_two_steps() {
    two(Without::OneStep);
}

// ---- a call and the end of the region ---------------------------------------

/// Who publishes a task and calls an agent for it, perhaps after others have run that task and come
/// to the end of the region.
struct Region {
    counted_late: bool,
    /// A task stands in the deque.
    task: AtomicUsize,
    present: AtomicUsize,
    /// Thread 0 has left the region: no agent may be called.
    over: AtomicUsize,
}

impl Region {
    fn publish(&self) {
        if !self.counted_late {
            self.present.fetch_add(1, Ordering::Relaxed);
        }
        self.task.store(1, Ordering::Release);
        fence(Ordering::SeqCst);
        if self.counted_late {
            self.present.fetch_add(1, Ordering::Relaxed);
        }
        assert!(self.over.load(Ordering::Relaxed) == 0, "an agent is called into a region that is over");
        self.present.fetch_sub(1, Ordering::Release);
    }

    /// Thread 0, which runs the task, the last one of the region, if it sees it. Instead of waiting
    /// for who is present the model ends.
    fn end(&self) {
        if self.task.load(Ordering::Acquire) == 1 && self.present.load(Ordering::Acquire) == 0 {
            self.over.store(1, Ordering::Relaxed);
        }
    }
}

fn late_call(counted_late: bool) {
    explore(2, move || {
        let region = Region {
            counted_late,
            task: AtomicUsize::new(0),
            present: AtomicUsize::new(0),
            over: AtomicUsize::new(0),
        };
        with_shared(region, |region| {
            let member = thread::spawn(move || region.publish());
            region.end();
            member.join().unwrap();
        });
    });
}

#[test]
fn nobody_is_called_into_a_region_that_is_over() {
    late_call(false);
}

#[test]
#[should_panic(expected = "an agent is called into a region that is over")]
fn broken_if_who_calls_is_counted_late() {
    late_call(true);
}
