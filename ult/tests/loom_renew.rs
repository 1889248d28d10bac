//! Model of the replacement of a worker's kernel thread. The worker is put back into the pool once,
//! by the kernel thread or by the thread that has asked it to end. The latter joins a kernel thread
//! exactly if that has left. It restates `ult/src/pool/renew.rs` with the same orderings.
//!
//! The models whose names begin with `broken` leave one thing out and must fail.
#![cfg(loom)]

mod models;

use loom::cell::UnsafeCell;
use loom::thread;
use models::explore;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize as Untracked, Ordering as Order};
use ult::sys::sync::{AtomicUsize, Ordering};

const NOT_ASKED: usize = 0;
const ASKED: usize = 1;
const LEAVING: usize = 2;
const LEFT: usize = 3;
const STAYS: usize = 4;

#[derive(Clone, Copy, PartialEq)]
enum LeftOut {
    Nothing,
    /// The question is taken back by a store.
    Exchange,
    /// The answer does not publish the handle of the kernel thread.
    Release,
}

struct Worker {
    left_out: LeftOut,
    renewal: AtomicUsize,
    handle: UnsafeCell<usize>,
    /// How often it was put back into the pool.
    put_back: Untracked,
}

// SAFETY: the cell is loom's, which reports accesses that are not ordered.
unsafe impl Sync for Worker {}

impl Worker {
    fn give_back(&self) {
        self.put_back.fetch_add(1, Order::Relaxed);
    }

    fn has_answered(&self) -> bool {
        // ORDERING: Acquire, as shipped.
        matches!(self.renewal.load(Ordering::Acquire), LEFT | STAYS)
    }

    /// The thread that relinquishes: asks, and looks once. Returns the handle of the kernel thread
    /// that it joins.
    fn end_kernel_thread(&self) -> Option<usize> {
        // ORDERING: Release, as shipped.
        self.renewal.store(ASKED, Ordering::Release);
        thread::yield_now();
        if !self.has_answered() {
            let is_taken_back = if self.left_out == LeftOut::Exchange {
                // ORDERING: Relaxed.
                self.renewal.store(NOT_ASKED, Ordering::Relaxed);
                true
            } else {
                // ORDERING: Relaxed, as shipped.
                self.renewal.compare_exchange(ASKED, NOT_ASKED, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            };
            if is_taken_back {
                self.give_back();
                return None;
            }
            while !self.has_answered() {
                thread::yield_now();
            }
        }
        // ORDERING: Acquire, as shipped.
        let has_left = self.renewal.swap(NOT_ASKED, Ordering::Acquire) == LEFT;
        // SAFETY: loom looks whether the access is ordered.
        has_left.then(|| self.handle.with(|handle| unsafe { *handle }))
    }

    /// The kernel thread, in its idle loop. True if it has left.
    fn leave(&self, may_leave: bool) -> bool {
        // ORDERING: Acquire, as shipped, both.
        if self.renewal.load(Ordering::Acquire) != ASKED
            || self.renewal.compare_exchange(ASKED, LEAVING, Ordering::Acquire, Ordering::Relaxed).is_err()
        {
            return false;
        }
        // SAFETY: as above.
        self.handle.with_mut(|handle| unsafe { *handle = 7 });
        self.give_back();
        // ORDERING: Release, as shipped.
        let ordering = if self.left_out == LeftOut::Release { Ordering::Relaxed } else { Ordering::Release };
        self.renewal.store(if may_leave { LEFT } else { STAYS }, ordering);
        may_leave
    }
}

fn replace(left_out: LeftOut, may_leave: bool) {
    explore(4, move || {
        let worker = Arc::new(Worker {
            left_out,
            renewal: AtomicUsize::new(NOT_ASKED),
            handle: UnsafeCell::new(0),
            put_back: Untracked::new(0),
        });
        let other = Arc::clone(&worker);
        let kernel_thread = thread::spawn(move || other.leave(may_leave));
        let joined = worker.end_kernel_thread();
        let left = kernel_thread.join().unwrap();
        assert_eq!(worker.put_back.load(Order::Relaxed), 1, "in the pool once");
        assert_eq!(joined, left.then_some(7));
    });
}

#[test]
fn a_kernel_thread_leaves_once() {
    replace(LeftOut::Nothing, true);
}

#[test]
fn a_kernel_thread_may_stay() {
    replace(LeftOut::Nothing, false);
}

#[test]
#[should_panic]
fn broken_question_taken_back_by_a_store() {
    replace(LeftOut::Exchange, true);
}

#[test]
#[should_panic]
fn broken_answer_without_release() {
    replace(LeftOut::Release, true);
}
