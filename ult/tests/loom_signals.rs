//! Model of a signal for a thread that ends its region, or begins the next one. The thread's worker
//! or its donor handles the signal. The model restates `TlsBlock::claim` and `release`,
//! `signals::notify_host`, `on_kick` and `on_tls_donor` of `docs/protocols/signals.md` with the
//! same orderings. The queue is a flag.
//!
//! A kick is a flag, too. The kernel thread that it was sent to looks at it between any two steps,
//! and once more at the end. The reason: an interrupt may come between any two steps, and its
//! handler sees all earlier writes of that kernel thread.
//!
//! The models whose names begin with `broken` leave one thing out and must fail.
#![cfg(loom)]

mod models;

use loom::cell::UnsafeCell;
use loom::thread;
use models::{explore, with_shared};
use ult::sys::sync::{AtomicUsize, Ordering};

/// What a broken model leaves out.
#[derive(Clone, Copy, PartialEq)]
enum RemovedStep {
    Nothing,
    /// The check of the queue when a thread has ended.
    QueueCheckAtEnd,
    /// A kicked worker checks where the thread is now.
    HostCheckOnKick,
    /// The donor forwards the kick when a worker has claimed the TLS block meanwhile.
    TlsDonorForwards,
    /// The check of the queue when a thread begins.
    QueueCheckAtBegin,
    /// The exchange by which a worker claims the storage.
    Claim,
}

const NO_HOST: usize = 0;
const TLS_DONOR_HANDLES: usize = 1;
const WORKER: usize = 2;

struct Thread {
    removed: RemovedStep,
    host: AtomicUsize,
    news: AtomicUsize,
    kicks_worker: AtomicUsize,
    kicks_tls_donor: AtomicUsize,
    /// The worker runs program code, which its handler may interrupt for the program's.
    runs: AtomicUsize,
    handled: AtomicUsize,
    storage: UnsafeCell<usize>,
}

// SAFETY: the storage is used by one kernel thread at a time: what the model checks.
unsafe impl Sync for Thread {}

impl Thread {
    fn new(removed: RemovedStep, host: usize) -> Self {
        Self {
            removed,
            host: AtomicUsize::new(host),
            news: AtomicUsize::new(0),
            kicks_worker: AtomicUsize::new(0),
            kicks_tls_donor: AtomicUsize::new(0),
            runs: AtomicUsize::new(0),
            handled: AtomicUsize::new(0),
            storage: UnsafeCell::new(0),
        }
    }

    /// Code runs with the storage.
    fn use_storage(&self) {
        // SAFETY: see the type.
        self.storage.with_mut(|storage| unsafe { *storage += 1 });
    }

    fn has_news(&self) -> bool {
        // ORDERING: Acquire, as shipped.
        self.news.load(Ordering::Acquire) != 0
    }

    /// The handler of the program runs for what is in the queue, if anything is.
    fn take(&self) {
        // ORDERING: Acquire; the shipped queue acquires its list.
        if self.news.swap(0, Ordering::Acquire) != 0 {
            // ORDERING: Relaxed; a note of the model's.
            self.handled.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn notify_host(&self) {
        // ORDERING: Acquire, as shipped.
        let to = if self.host.load(Ordering::Acquire) == WORKER {
            &self.kicks_worker
        } else {
            &self.kicks_tls_donor
        };
        // ORDERING: Release; the kernel orders what precedes a signal before its handler. A
        // read-modify-write, because loom may let a plain store be missed.
        to.fetch_or(1, Ordering::Release);
    }

    fn send(&self) {
        // ORDERING: Release, as shipped; an exchange, as there.
        self.news.swap(1, Ordering::Release);
        self.notify_host();
    }

    /// The worker's kernel thread is interrupted, if it was kicked.
    fn on_worker_kick(&self) {
        // ORDERING: Acquire, see `notify_host`.
        if self.kicks_worker.swap(0, Ordering::Acquire) == 0 {
            return;
        }
        // ORDERING: Acquire, as shipped.
        if self.has_news() && self.host.load(Ordering::Acquire) != WORKER {
            if self.removed != RemovedStep::HostCheckOnKick {
                self.notify_host();
            }
        // ORDERING: Relaxed; the worker's own.
        } else if self.runs.load(Ordering::Relaxed) != 0 {
            self.take();
        }
    }

    /// The donor's kernel thread is interrupted, if it was kicked.
    fn on_tls_donor_kick(&self) {
        // ORDERING: Acquire, see `notify_host`.
        if self.kicks_tls_donor.swap(0, Ordering::Acquire) == 0 || !self.has_news() {
            return;
        }
        // ORDERING: as shipped.
        if self
            .host
            .compare_exchange(NO_HOST, TLS_DONOR_HANDLES, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            if self.removed != RemovedStep::TlsDonorForwards {
                self.notify_host();
            }
            return;
        }
        self.use_storage();
        self.take();
        // ORDERING: Release, as shipped.
        self.host.store(NO_HOST, Ordering::Release);
        if self.has_news() {
            self.notify_host();
        }
    }

    /// The thread has ended on the worker, which is in its scheduler.
    fn end_thread(&self) {
        self.use_storage();
        self.on_worker_kick();
        // ORDERING: Release, as shipped.
        self.host.store(NO_HOST, Ordering::Release);
        self.on_worker_kick();
        if self.removed != RemovedStep::QueueCheckAtEnd && self.has_news() {
            self.notify_host();
        }
        self.on_worker_kick();
    }

    /// The thread begins on the worker.
    fn begin_thread(&self) {
        if self.removed == RemovedStep::Claim {
            // ORDERING: Release.
            self.host.store(WORKER, Ordering::Release);
        } else {
            // ORDERING: as shipped.
            while self.host.compare_exchange(NO_HOST, WORKER, Ordering::Acquire, Ordering::Relaxed).is_err() {
                thread::yield_now();
            }
        }
        self.use_storage();
        self.on_worker_kick();
        // ORDERING: Relaxed; the worker's own.
        self.runs.store(1, Ordering::Relaxed);
        self.on_worker_kick();
        if self.removed != RemovedStep::QueueCheckAtBegin && self.has_news() {
            self.take();
        }
        self.on_worker_kick();
    }
}

/// A thread sends a signal while the worker does its `part`. The donor may be kicked early or late.
fn check_race(removed: RemovedStep, host: usize, part: fn(&Thread)) {
    explore(3, move || {
        with_shared(Thread::new(removed, host), |one| {
            let worker = thread::spawn(move || part(one));
            let tls_donor = thread::spawn(move || one.on_tls_donor_kick());
            one.send();
            worker.join().unwrap();
            tls_donor.join().unwrap();
            for _ in 0..4 {
                one.on_worker_kick();
                one.on_tls_donor_kick();
            }
            // ORDERING: Relaxed; all have been joined.
            assert_eq!(one.handled.load(Ordering::Relaxed), 1, "handled once");
        });
    });
}

#[test]
fn a_signal_for_a_thread_that_ends_is_handled() {
    check_race(RemovedStep::Nothing, WORKER, Thread::end_thread);
}

#[test]
fn a_signal_for_a_thread_that_begins_is_handled() {
    check_race(RemovedStep::Nothing, NO_HOST, Thread::begin_thread);
}

#[test]
#[should_panic(expected = "handled once")]
fn broken_no_queue_check_at_end() {
    check_race(RemovedStep::QueueCheckAtEnd, WORKER, Thread::end_thread);
}

#[test]
#[should_panic(expected = "handled once")]
fn broken_the_kicked_worker_does_not_look() {
    check_race(RemovedStep::HostCheckOnKick, WORKER, Thread::end_thread);
}

#[test]
#[should_panic(expected = "handled once")]
fn broken_the_tls_donor_does_not_send_on() {
    check_race(RemovedStep::TlsDonorForwards, NO_HOST, Thread::begin_thread);
}

#[test]
#[should_panic(expected = "handled once")]
fn broken_no_queue_check_at_begin() {
    check_race(RemovedStep::QueueCheckAtBegin, NO_HOST, Thread::begin_thread);
}

#[test]
#[should_panic]
fn broken_both_have_the_storage() {
    check_race(RemovedStep::Claim, NO_HOST, Thread::begin_thread);
}
