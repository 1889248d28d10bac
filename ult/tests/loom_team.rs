//! Model of a team: the start of a region, its barrier and its end among threads that may sleep,
//! and the detection that no task is incomplete. It restates the protocol of
//! `docs/protocols/team.md` with the same orderings, on the shipped parker; the threads and plans
//! around it are not needed to see a lost wake-up or a missing write.
//!
//! The models whose names begin with `broken` leave one thing out and must fail.
#![cfg(loom)]

mod models;

use loom::cell::UnsafeCell;
use loom::thread;
use models::{explore, with_shared};
use ult::park::Parker;
use ult::sys::sync::{AtomicPtr, AtomicUsize, Ordering, fence};

/// What a broken model leaves out.
#[derive(Clone, Copy, PartialEq)]
enum Without {
    Nothing,
    /// The full fence between an event and the look at the sleepers.
    WakersFence,
    /// The Release of the epoch.
    EpochsRelease,
    /// The closer registers only after its last look.
    Registration,
    /// Created tasks are summed before completed ones.
    SumOrder,
}

struct Team {
    without: Without,
    parkers: [Parker; 2],
    sleepers: AtomicUsize,
    epoch: AtomicUsize,
    arrived: AtomicUsize,
    passed: AtomicUsize,
    joined: AtomicUsize,
    plan: UnsafeCell<usize>,
}

// SAFETY: the plan is written by thread 0 before it publishes the epoch: what the model checks.
unsafe impl Sync for Team {}

impl Team {
    fn new(without: Without) -> Self {
        Self {
            without,
            parkers: [Parker::new(), Parker::new()],
            sleepers: AtomicUsize::new(0),
            epoch: AtomicUsize::new(0),
            arrived: AtomicUsize::new(0),
            passed: AtomicUsize::new(0),
            joined: AtomicUsize::new(0),
            plan: UnsafeCell::new(0),
        }
    }

    /// `sched::sleep`, in a loop: one counter, then the parker's announcement and last look.
    fn wait(&self, num: usize, ready: impl Fn() -> bool) {
        while !ready() {
            // ORDERING: SeqCst as in the shipped code.
            self.sleepers.fetch_add(1, Ordering::SeqCst);
            self.parkers[num].park_unless(&ready, None);
            // ORDERING: Relaxed; late is harmless.
            self.sleepers.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// `Team::wake_members`.
    fn wake(&self, num: usize) {
        if self.without != Without::WakersFence {
            fence(Ordering::SeqCst);
        }
        // ORDERING: Relaxed; after the fence.
        if self.sleepers.load(Ordering::Relaxed) != 0 {
            self.parkers[num].unpark();
        }
    }

    fn barrier(&self, num: usize) {
        // ORDERING: Relaxed; constant until we arrive.
        let passed = self.passed.load(Ordering::Relaxed);
        // ORDERING: AcqRel, as shipped.
        if self.arrived.fetch_add(1, Ordering::AcqRel) == 1 {
            // ORDERING: Relaxed; published by `passed`.
            self.arrived.store(0, Ordering::Relaxed);
            // ORDERING: Release, pairs with the wait below.
            self.passed.store(passed + 1, Ordering::Release);
            self.wake(1 - num);
        } else {
            // ORDERING: Acquire, pairs with the Release above.
            self.wait(num, || self.passed.load(Ordering::Acquire) != passed);
        }
    }

    fn fork(&self, region: usize) {
        // SAFETY: between regions.
        self.plan.with_mut(|p| unsafe { *p = region });
        let release =
            if self.without == Without::EpochsRelease { Ordering::Relaxed } else { Ordering::Release };
        self.epoch.store(region, release);
        self.wake(1);
    }

    fn member(&self, regions: usize, barrier: bool) {
        for region in 1..=regions {
            // ORDERING: Acquire, pairs with `fork`.
            self.wait(1, || self.epoch.load(Ordering::Acquire) == region);
            // SAFETY: constant while the region runs.
            self.plan.with(|p| assert_eq!(unsafe { *p }, region));
            if barrier {
                self.barrier(1);
            }
            // ORDERING: AcqRel, as shipped; pairs with `join`.
            self.joined.fetch_add(1, Ordering::AcqRel);
            self.parkers[0].unpark();
        }
    }

    fn join(&self) {
        // ORDERING: Acquire, pairs with `member`.
        self.wait(0, || self.joined.load(Ordering::Acquire) == 1);
        // ORDERING: Relaxed; published by the next epoch.
        self.joined.store(0, Ordering::Relaxed);
    }
}

fn regions(count: usize, barrier: bool, without: Without) {
    with_shared(Team::new(without), |team| {
        let member = thread::spawn(move || team.member(count, barrier));
        for region in 1..=count {
            team.fork(region);
            if barrier {
                team.barrier(0);
            }
            team.join();
        }
        member.join().unwrap();
    });
}

#[test]
fn regions_start_and_end() {
    explore(2, || regions(2, false, Without::Nothing));
}

#[test]
fn a_region_with_a_barrier() {
    explore(2, || regions(1, true, Without::Nothing));
}

#[test]
#[should_panic]
fn broken_a_member_sleeps_through_the_fork() {
    explore(3, || regions(1, false, Without::WakersFence));
}

#[test]
#[should_panic]
fn broken_a_member_reads_an_old_plan() {
    explore(2, || regions(1, false, Without::EpochsRelease));
}

/// The last arriver of a barrier, and a thread that runs the tasks: one that creates another.
struct Counts {
    without: Without,
    closer: AtomicPtr<Parker>,
    parker: Parker,
    created: [AtomicUsize; 2],
    completed: [AtomicUsize; 2],
    result: UnsafeCell<usize>,
}

// SAFETY: the result is written by tasks and read when the team is quiet: what the model checks.
unsafe impl Sync for Counts {}

fn increment(counter: &AtomicUsize) {
    // ORDERING: Relaxed load of our own counter; Release pairs with `is_quiet`.
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Release);
}

fn sum(counters: &[AtomicUsize; 2]) -> usize {
    // ORDERING: Acquire, pairs with `increment`.
    counters.iter().map(|c| c.load(Ordering::Acquire)).sum()
}

impl Counts {
    fn is_quiet(&self) -> bool {
        if self.without == Without::SumOrder {
            let created = sum(&self.created);
            return created == sum(&self.completed);
        }
        let completed = sum(&self.completed);
        completed == sum(&self.created)
    }

    fn run_tasks(&self) {
        increment(&self.created[1]);
        increment(&self.completed[1]);
        // SAFETY: no thread reads the result before the team is quiet.
        self.result.with_mut(|r| unsafe { *r = 2 });
        increment(&self.completed[1]);
        fence(Ordering::SeqCst);
        // ORDERING: Acquire, as shipped.
        let closer = self.closer.load(Ordering::Acquire);
        // SAFETY: null or the parker below, which outlives the model's threads.
        if let Some(parker) = unsafe { closer.as_ref() } {
            parker.unpark();
        }
    }

    fn close(&self) {
        let register = || {
            // ORDERING: Release, as shipped.
            self.closer.store((&raw const self.parker).cast_mut(), Ordering::Release);
        };
        if self.without != Without::Registration {
            register();
        }
        while !self.is_quiet() {
            let late = self.without == Without::Registration;
            let look = || {
                let quiet = self.is_quiet();
                if late {
                    register();
                }
                quiet
            };
            self.parker.park_unless(look, None);
        }
        // SAFETY: the team is quiet.
        self.result.with(|r| assert_eq!(unsafe { *r }, 2));
    }
}

fn quiet(without: Without) {
    let counts = Counts {
        without,
        closer: AtomicPtr::new(std::ptr::null_mut()),
        parker: Parker::new(),
        // Thread 0 has created one task, which thread 1 has taken.
        created: [AtomicUsize::new(1), AtomicUsize::new(0)],
        completed: [AtomicUsize::new(0), AtomicUsize::new(0)],
        result: UnsafeCell::new(0),
    };
    with_shared(counts, |counts| {
        let other = thread::spawn(|| counts.run_tasks());
        counts.close();
        other.join().unwrap();
    });
}

#[test]
fn the_last_arriver_sees_the_last_task() {
    explore(3, || quiet(Without::Nothing));
}

#[test]
#[should_panic]
fn broken_the_closer_registers_after_its_look() {
    explore(3, || quiet(Without::Registration));
}

#[test]
#[should_panic]
fn broken_creations_are_summed_first() {
    explore(3, || quiet(Without::SumOrder));
}
