//! Making a task, up to its submission.
//!
//! What lives here: the block of a task, and what a child takes over from its parent. What does not:
//! submitting a task (`constructs`), and its end (`life`).

use core::ptr::{self, NonNull};

use ult::blocks;

use super::counts::free;
use super::owned::OwnedTask;
use super::record::{RunFn, Task, TaskFlags};
use super::spares;
use crate::agents::rules as agents;
use crate::depend::table::DependTable;
use crate::extension::side::TaskSide;
use crate::extension::{offload, tools};
use crate::icv::record::Icv;
use crate::report;
use crate::taskgraph::recording as taskgraph;
use crate::taskgroup::record::Taskgroup;
use crate::thread::current::CurrentThread;

impl Task {
    /// Frees the data that the region left on an implicit task.
    pub fn end_implicit(&self) {
        DependTable::discard(&self.children_depend);
    }

    /// Allocates an explicit task, a child of `here.task`, with `payload` bytes (16-aligned) behind
    /// the descriptor. The task does not count as created before [`super::submit`] or
    /// [`super::run_undeferred`].
    pub fn allocate(here: CurrentThread, payload: usize, run: RunFn, flags: TaskFlags) -> OwnedTask {
        if tools::is_on() {
            Self::allocate_with_side(here, payload, run, flags)
        } else {
            Self::allocate_plain(here, payload, run, flags)
        }
    }

    /// [`Task::allocate`] for a task of the program. It gets a side block only if tools want to be
    /// notified of it.
    pub fn generate(here: CurrentThread, payload: usize, run: RunFn, flags: TaskFlags) -> OwnedTask {
        if tools::task::is_wanted(here) {
            Self::allocate_with_side(here, payload, run, flags)
        } else {
            Self::allocate_plain(here, payload, run, flags)
        }
    }

    /// [`Task::allocate`] with a side block behind the payload.
    #[cold]
    #[inline(never)]
    fn allocate_with_side(here: CurrentThread, payload: usize, run: RunFn, flags: TaskFlags) -> OwnedTask {
        let start = payload.saturating_add(align_of::<TaskSide>() - 1) & !(align_of::<TaskSide>() - 1);
        let block = Self::allocate_plain(here, start.saturating_add(size_of::<TaskSide>()), run, flags);
        // SAFETY: the block is fresh and has room for the side block.
        unsafe { block.payload().add(start).cast::<TaskSide>().write(TaskSide::new()) };
        block.set_flags(block.flags().with(TaskFlags::SIDE));
        block
    }

    #[inline(always)]
    fn allocate_plain(here: CurrentThread, payload: usize, run: RunFn, flags: TaskFlags) -> OwnedTask {
        if spares::is_small(payload)
            && let Some(task) = here.thread.own().small_spares.take()
        {
            task.front[0].set(0);
            task.front[1].set(0);
            task.begin_life(here, run, flags);
            task.payload.set(payload);
            return task;
        }
        Self::allocate_fresh(here, payload, run, flags)
    }

    /// [`Task::allocate`] without a side block, in a block that is cleared.
    #[inline(never)]
    fn allocate_fresh(here: CurrentThread, payload: usize, run: RunFn, flags: TaskFlags) -> OwnedTask {
        let Some(block) = NonNull::new(blocks::allocate(size_of::<Task>().saturating_add(payload))) else {
            report::fatal("out of memory for a task")
        };
        let block = block.cast::<Task>();
        // SAFETY: the block is fresh and large enough.
        let task = unsafe {
            Self::write_fresh(block);
            OwnedTask::assume(block)
        };
        task.begin_life(here, run, flags);
        task.payload.set(payload);
        task
    }

    /// Writes the data that a child of `here.task` takes over from it.
    #[inline(always)]
    fn begin_life(&self, here: CurrentThread, run: RunFn, flags: TaskFlags) {
        let parent = here.task;
        let inherited = parent.flags_for_child();
        self.origin.parent.set(parent);
        self.origin.team.set(here.thread.team());
        self.origin.run.set(Some(run));
        self.own.icv.set(parent.icv_for_child());
        self.own.taskgroup.set(parent.taskgroup_for_grandchildren());
        self.origin.member_of.set(parent.own.taskgroup.get());
        self.origin.depth.set(parent.origin.depth.get() + 1);
        let has_requests =
            parent.flags().has_any(TaskFlags::WISHES.with(TaskFlags::RECORDS).with(TaskFlags::POOLS));
        let flags = if has_requests { self.apply_child_requests(here, flags) } else { flags };
        self.origin.flags.set(flags.with(TaskFlags::EXPLICIT).with(inherited));
    }

    ult::seam! {
        /// A child of a final task is final, too.
        fn flags_for_child(&self) -> TaskFlags {
            TaskFlags(self.flags().0 & TaskFlags::FINAL.0)
        } or final_not_inherited {
            TaskFlags(0)
        }
    }

    ult::seam! {
        /// A child begins with the ICVs that the task has now.
        fn icv_for_child(&self) -> Icv {
            self.own.icv.get()
        } or icv_not_inherited {
            Icv::INITIAL
        }
    }

    ult::seam! {
        /// The children of a child belong to the same taskgroup as the child.
        fn taskgroup_for_grandchildren(&self) -> *const Taskgroup {
            self.own.taskgroup.get()
        } or taskgroup_misses_grandchildren {
            ptr::null()
        }
    }

    /// Applies what the parent has requested for its next children; returns the child's properties.
    #[cold]
    fn apply_child_requests(&self, here: CurrentThread, flags: TaskFlags) -> TaskFlags {
        let parent = here.task;
        if parent.flags().has(TaskFlags::RECORDS) {
            taskgraph::made(parent);
        }
        let flags =
            if parent.flags().has(TaskFlags::POOLS) { agents::grant(here, self, flags) } else { flags };
        if parent.flags().has(TaskFlags::WISHES) { offload::child_made(parent, self, flags) } else { flags }
    }

    /// Copies this unsubmitted task with its payload, as another child of `here.task`. The side block
    /// is not copied, because the copy may be reported where this task is not.
    pub fn duplicate_for(&self, here: CurrentThread) -> OwnedTask {
        let size = self.data_size();
        let Some(run) = self.origin.run.get() else { report::fatal("a task without code was duplicated") };
        let copy = Self::generate(here, size, run, self.flags().without(TaskFlags::SIDE));
        // SAFETY: both payloads have `size` bytes and do not overlap.
        unsafe { ptr::copy_nonoverlapping(self.payload(), copy.payload(), size) };
        copy.clauses.priority.set(self.priority());
        copy.clauses.affinity.set(self.affinity());
        copy.front[0].set(self.front[0].get());
        copy
    }

    /// Frees a task that was never announced.
    pub fn free_unsubmitted(task: OwnedTask) {
        // SAFETY: the caller has the task to itself.
        unsafe { free(task.into_pointer().as_ptr()) };
    }
}

impl Task {
    /// Makes a child of `here.task` without a payload, as [`Task::allocate`] does, for
    /// [`super::run_at_once`]. `NOTIFIED` means that the task gets a record for tools.
    #[inline(always)]
    pub fn included<const NOTIFIED: bool>(here: CurrentThread, run: RunFn, flags: TaskFlags) -> OwnedTask {
        let spare = if NOTIFIED { None } else { here.thread.own().spares.take() };
        match spare {
            Some(task) => {
                task.begin_life(here, run, flags);
                task
            }
            None => Self::one_more::<NOTIFIED>(here, run, flags),
        }
    }

    #[cold]
    #[inline(never)]
    fn one_more<const NOTIFIED: bool>(here: CurrentThread, run: RunFn, flags: TaskFlags) -> OwnedTask {
        if NOTIFIED { Self::allocate(here, 0, run, flags) } else { Self::allocate_plain(here, 0, run, flags) }
    }
}
