//! How long a thread's tasks take: whether they are *short*.
//!
//! A thread counts the tasks that it ends, and those that it runs at once because other threads have
//! enough to do. After every
//! [`TASKS_PER_LOOK`] of them it reads the clock. The time since the last look, divided by their
//! number, is the mean time of a task. Time between tasks counts as well, so a thread that often
//! waits does not find its tasks short. One long task among short ones makes the mean long.
//!
//! What does not live here: what follows from it ([`super::throttle`]).

use core::cell::Cell;

use ult::sys::arch::ticks;

/// Number of tasks after which a thread reads the clock. Chosen: reading the clock then
/// costs less than a nanosecond per task, and a change is seen soon; any value from 8 to 64 will do.
const TASKS_PER_LOOK: u32 = 16;

/// Tasks that take at most this many [`ticks`] on average are short: 2 to 8 microseconds by
/// processor. Derived: queueing a task costs a hundred nanoseconds, which matters little for longer
/// tasks. The owner checks its deque each time that it makes a task, so an idle thread waits for a
/// new task no longer than one short task takes.
const SHORT_TICKS: u64 = 8192;

/// What a thread knows of the length of its tasks; own thread only.
#[derive(Default)]
pub struct Grain {
    /// Tasks since the last look at the clock.
    tasks: Cell<u32>,
    /// The time of that look.
    since: Cell<u64>,
    short: Cell<bool>,
}

impl Grain {
    /// Counts one task.
    #[inline(always)]
    pub fn count(&self) {
        let tasks = self.tasks.get() + 1;
        self.tasks.set(tasks);
        if tasks == TASKS_PER_LOOK {
            self.look(ticks());
        }
    }

    /// Were the last tasks short?
    #[inline(always)]
    pub fn is_short(&self) -> bool {
        self.short.get()
    }

    /// Called when the thread stops running new tasks at once. As a rule, its deque is nearly empty
    /// then, perhaps because it ran a long task meanwhile. So the mean is taken again now.
    #[inline]
    pub fn recheck(&self) {
        if self.short.get() && self.tasks.get() != 0 {
            self.look(ticks());
        }
    }

    #[inline(never)]
    fn look(&self, now: u64) {
        let tasks = u64::from(self.tasks.replace(0));
        self.short.set(now.wrapping_sub(self.since.replace(now)) <= tasks * SHORT_TICKS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts tasks of this length, and looks at the clock as often as `count` would.
    fn run(grain: &Grain, tasks: u32, length: u64, now: &mut u64) {
        for _ in 0..tasks {
            *now += length;
            grain.tasks.set(grain.tasks.get() + 1);
            if grain.tasks.get() == TASKS_PER_LOOK {
                grain.look(*now);
            }
        }
    }

    #[test]
    fn tasks_are_short_by_their_mean_time() {
        let (grain, mut now) = (Grain::default(), 1 << 40);
        run(&grain, TASKS_PER_LOOK, 100, &mut now);
        assert!(!grain.is_short(), "the time before the first task counts");
        run(&grain, TASKS_PER_LOOK, 100, &mut now);
        assert!(grain.is_short());
        run(&grain, 1, SHORT_TICKS * u64::from(TASKS_PER_LOOK), &mut now);
        run(&grain, TASKS_PER_LOOK - 1, 100, &mut now);
        assert!(!grain.is_short(), "one long task is enough");
    }

    #[test]
    fn a_long_task_is_seen_when_the_others_have_no_work() {
        let grain = Grain::default();
        grain.since.set(ticks());
        grain.short.set(true);
        grain.recheck();
        assert!(grain.is_short(), "no task has ended since the last look");
        grain.tasks.set(1);
        grain.since.set(ticks().wrapping_sub(1 << 40));
        grain.recheck();
        assert!(!grain.is_short());
    }
}
