//! The tied tasks that a thread has begun and not ended. This stack may be read by a signal handler
//! on the same kernel thread between any two instructions.
//!
//! Tools ask for running tasks in signal handlers (`ompt_get_task_info`, OpenMP 5.2 §19.6.1.14). A
//! handler runs to its end before the interrupted code continues, so the order of the writes is
//! sufficient. Here a task is written before it counts, and memory is freed when nothing points to
//! it any more.
//!
//! Rejected: a `Vec`, whose memory is already freed at some moments while its fields still point to
//! that memory.

use core::cell::Cell;
use core::ptr::{self, NonNull};
use core::slice;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, compiler_fence};

/// The tasks, oldest first. `T` is the descriptor of a task, of which the stack keeps addresses
/// alone.
pub struct Tied<T> {
    tasks: AtomicPtr<*const T>,
    count: AtomicUsize,
    room: Cell<usize>,
}

impl<T> Default for Tied<T> {
    fn default() -> Self {
        Self {
            tasks: AtomicPtr::new(NonNull::dangling().as_ptr()),
            count: AtomicUsize::new(0),
            room: Cell::new(0),
        }
    }
}

// ORDERING: Relaxed on every access: one thread writes and reads; a handler on that thread reads.
// For the handler the compiler's order is sufficient (`compiler_fence`).
impl<T> Tied<T> {
    /// Notes that `task` has begun.
    #[inline(always)]
    #[allow(clippy::not_unsafe_ptr_arg_deref, reason = "the address is kept, nothing is read there")]
    pub fn push(&self, task: *const T) {
        let count = self.len();
        if count == self.room.get() {
            self.grow();
        }
        // SAFETY: there is room for one more.
        unsafe { self.tasks.load(Ordering::Relaxed).add(count).write(task) };
        compiler_fence(Ordering::Release); // the task is there before it counts
        self.count.store(count + 1, Ordering::Relaxed);
    }

    /// Notes that `task` has ended, if it is the newest one. Returns false if it is not.
    #[inline(always)]
    pub fn pop(&self, task: *const T) -> bool {
        let Some((&newest, older)) = self.all().split_last() else { return false };
        let is_newest = ptr::eq(newest, task);
        if is_newest {
            self.count.store(older.len(), Ordering::Relaxed);
            compiler_fence(Ordering::Release); // a handler does not see the task when it is freed
        }
        is_newest
    }

    /// Notes that `task` has ended, which is not the newest one.
    #[cold]
    #[inline(never)]
    pub fn remove(&self, task: *const T) {
        let count = self.len();
        let Some(at) = self.all().iter().rposition(|&other| ptr::eq(other, task)) else { return };
        let tasks = self.tasks.load(Ordering::Relaxed);
        // The tasks move up one after the other: a handler that looks meanwhile finds one of them
        // twice.
        for at in at + 1..count {
            // SAFETY: both are among them.
            unsafe { tasks.add(at - 1).write(*tasks.add(at)) };
        }
        compiler_fence(Ordering::Release);
        self.count.store(count - 1, Ordering::Relaxed);
    }

    /// Of the oldest `limit` tasks, those that were begun before `task`. They may continue when
    /// `task` has ended or waits. Returns how many they are, and the newest of them. If `task` is
    /// not among the tasks, all count. Signal handlers may call this.
    pub fn below(&self, task: *const T, limit: usize) -> (usize, Option<*const T>) {
        let all = self.all();
        let oldest = &all[..limit.min(all.len())];
        let count = oldest.iter().rposition(|&other| ptr::eq(other, task)).unwrap_or(oldest.len());
        (count, oldest[..count].last().copied())
    }

    /// The newest task.
    #[inline(always)]
    pub fn last(&self) -> Option<*const T> {
        self.all().last().copied()
    }

    /// Is there no task?
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tasks. No caller changes the stack while it has the slice.
    #[inline(always)]
    fn all(&self) -> &[*const T] {
        let tasks = self.tasks.load(Ordering::Relaxed);
        // SAFETY: `count` tasks have been written. The thread that changes them has the stack for
        // itself, except for handlers, which change nothing.
        unsafe { slice::from_raw_parts(tasks, self.len()) }
    }

    /// How many tasks there are.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    #[cold]
    #[inline(never)]
    fn grow(&self) {
        let mut larger: Vec<*const T> = Vec::with_capacity((2 * self.room.get()).max(8));
        larger.extend_from_slice(self.all());
        let (old, room) = (self.tasks.load(Ordering::Relaxed), self.room.get());
        compiler_fence(Ordering::Release); // all tasks are there before a handler looks for them there
        self.room.set(larger.capacity());
        self.tasks.store(larger.leak().as_mut_ptr(), Ordering::Relaxed);
        compiler_fence(Ordering::Release); // no handler looks at the old memory when it is freed
        release(old, room);
    }
}

/// Frees the memory of a stack.
fn release<T>(tasks: *mut *const T, room: usize) {
    if room != 0 {
        // SAFETY: `grow` has leaked a vector with this room; addresses need no drop.
        drop(unsafe { Vec::from_raw_parts(tasks, 0, room) });
    }
}

impl<T> Drop for Tied<T> {
    fn drop(&mut self) {
        release(*self.tasks.get_mut(), self.room.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(number: usize) -> *const u8 {
        ptr::without_provenance(number * 64)
    }

    #[test]
    fn tasks_end_in_any_order() {
        let tied = Tied::<u8>::default();
        (1..=40).for_each(|number| tied.push(task(number)));
        assert_eq!(tied.below(task(40), 40), (39, Some(task(39))));
        assert_eq!(
            (tied.below(task(1), 40), tied.below(task(50), usize::MAX)),
            ((0, None), (40, Some(task(40))))
        );
        assert_eq!(tied.below(task(40), 30), (30, Some(task(30))));
        tied.remove(task(39));
        tied.remove(task(50));
        assert_eq!(tied.below(task(40), 39), (38, Some(task(38))));
        assert!(!tied.pop(task(1)), "not the newest one");
        assert!((2..=40).rev().filter(|&number| number != 39).all(|number| tied.pop(task(number))));
        assert_eq!(tied.all(), &[task(1)]);
        assert!(tied.pop(task(1)) && !tied.pop(task(1)));
        assert!(tied.is_empty() && tied.below(task(1), 1) == (0, None));
    }
}
