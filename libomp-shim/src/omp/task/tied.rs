//! The tied tasks that a thread has begun and not ended: a stack that a signal handler on the same
//! kernel thread may read between any two instructions.
//!
//! Tools ask for running tasks in handlers (`ompt_get_task_info`, OpenMP 5.2 §19.6.1.14). A `Vec`
//! has moments in which its memory has been freed and it does not say so; here a task is written
//! before it counts, and memory is freed when nothing points to it any more. The handler runs to
//! its end before the interrupted code goes on, so that order is all it takes.

use core::ops::Deref;
use core::ptr::{self, NonNull};
use core::slice;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, compiler_fence};

use super::Task;

/// The tasks, oldest first.
pub struct Tied {
    tasks: AtomicPtr<*const Task>,
    count: AtomicUsize,
    room: usize,
}

impl Default for Tied {
    fn default() -> Self {
        Self { tasks: AtomicPtr::new(NonNull::dangling().as_ptr()), count: AtomicUsize::new(0), room: 0 }
    }
}

// ORDERING: Relaxed on every access: one thread writes, and reads; a handler on it reads, for which
// the compiler's order is enough (`compiler_fence`).
impl Tied {
    /// `task` has begun.
    #[inline(always)]
    #[allow(clippy::not_unsafe_ptr_arg_deref, reason = "the address is kept, nothing is read there")]
    pub fn push(&mut self, task: *const Task) {
        let count = self.len();
        if count == self.room {
            self.grow();
        }
        // SAFETY: there is room for one more.
        unsafe { self.tasks.load(Ordering::Relaxed).add(count).write(task) };
        compiler_fence(Ordering::Release); // the task is there before it counts
        self.count.store(count + 1, Ordering::Relaxed);
    }

    /// The newest one has ended.
    #[inline(always)]
    pub fn pop(&mut self) {
        self.count.store(self.len().saturating_sub(1), Ordering::Relaxed);
        compiler_fence(Ordering::Release); // a handler does not see it when it is freed
    }

    /// This one has ended, which is not the newest.
    #[cold]
    #[inline(never)]
    pub fn remove(&mut self, task: *const Task) {
        let count = self.len();
        let Some(at) = self.iter().rposition(|&other| ptr::eq(other, task)) else { return };
        let tasks = self.tasks.load(Ordering::Relaxed);
        // One after the other: whoever looks meanwhile finds one of them twice.
        for at in at + 1..count {
            // SAFETY: both are among them.
            unsafe { tasks.add(at - 1).write(*tasks.add(at)) };
        }
        compiler_fence(Ordering::Release);
        self.count.store(count - 1, Ordering::Relaxed);
    }

    /// Of the oldest `among` those that were begun before `task`, which may go on when it has ended
    /// or waits: how many, and the newest one. All of them, if it is not among them. May be
    /// called by signal handlers.
    pub fn below(&self, task: *const Task, among: usize) -> (usize, Option<*const Task>) {
        let all: &[*const Task] = self;
        let oldest = &all[..among.min(all.len())];
        let count = oldest.iter().rposition(|&other| ptr::eq(other, task)).unwrap_or(oldest.len());
        (count, oldest[..count].last().copied())
    }

    fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut larger: Vec<*const Task> = Vec::with_capacity((2 * self.room).max(8));
        larger.extend_from_slice(self);
        let (old, room) = (self.tasks.load(Ordering::Relaxed), self.room);
        compiler_fence(Ordering::Release); // all tasks are there before they are looked for there
        self.room = larger.capacity();
        self.tasks.store(larger.leak().as_mut_ptr(), Ordering::Relaxed);
        compiler_fence(Ordering::Release); // and nobody looks where they were when that is freed
        release(old, room);
    }
}

/// Gives the memory of a stack back.
fn release(tasks: *mut *const Task, room: usize) {
    if room != 0 {
        // SAFETY: `grow` has leaked a vector with this room; addresses need no drop.
        drop(unsafe { Vec::from_raw_parts(tasks, 0, room) });
    }
}

impl Deref for Tied {
    type Target = [*const Task];
    #[inline(always)]
    fn deref(&self) -> &[*const Task] {
        let tasks = self.tasks.load(Ordering::Relaxed);
        // SAFETY: so many have been written; who changes them has the stack for itself, but for
        // handlers, which change nothing.
        unsafe { slice::from_raw_parts(tasks, self.len()) }
    }
}

impl Drop for Tied {
    fn drop(&mut self) {
        release(*self.tasks.get_mut(), self.room);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(number: usize) -> *const Task {
        ptr::without_provenance(number * 64)
    }

    #[test]
    fn tasks_end_in_any_order() {
        let mut tied = Tied::default();
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
        (0..38).for_each(|_| tied.pop());
        assert_eq!(&*tied, &[task(1)]);
        tied.pop();
        tied.pop();
        assert!(tied.is_empty() && tied.below(task(1), 1) == (0, None));
    }
}
