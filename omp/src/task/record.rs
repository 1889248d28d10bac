//! The descriptor of a task, and its properties.
//!
//! What lives here: the fields, and accessors. What does not: making a task ([`super::making`]), and
//! running it ([`super::life`]).

use core::cell::Cell;
use core::mem::offset_of;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use ult::blocks;
use ult::debug::DebugEntry;

use crate::depend::record::Node;
use crate::env;
use crate::extension::side::TaskSide;
use crate::icv::record::Icv;
use crate::taskgroup::record::Taskgroup;
use crate::team::record::Team;
use crate::team_queue::TeamQueueMark;
use crate::thread::record::Thread;

/// One child's share of [`Task::counts`]: one reference and one incomplete child.
pub(super) const CHILD: u64 = REFERENCE + 1;

/// One reference.
pub(super) const REFERENCE: u64 = 1 << 32;

/// The mask of the incomplete children.
pub(super) const CHILDREN: u64 = REFERENCE - 1;

/// The bias. While a task has not ended, its word counts this many children too many, and leaves
/// out the pending ones. The bias is larger than the number of pending children can be.
pub(super) const BIAS: u64 = 1 << 24;

/// The word of a task that has had no children yet.
pub(super) const FRESH: u64 = REFERENCE + BIAS * CHILD;

/// The bit of a task that waits until its children are complete. It is set before the task sleeps.
pub(super) const WAITING: u64 = 1 << 63;

/// Properties of a task. Most are fixed before the task starts; the thread that runs the task
/// changes the others.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskFlags(pub(super) u32);

impl TaskFlags {
    /// An explicit task.
    pub const EXPLICIT: Self = Self(1);
    /// The `untied` clause.
    pub const UNTIED: Self = Self(2);
    /// A final task: its children are included.
    pub const FINAL: Self = Self(4);
    /// The `detach` clause: the task is complete only when its event is fulfilled, too.
    pub const DETACH: Self = Self(8);
    /// The task's creator runs it at once.
    pub const UNDEFERRED: Self = Self(16);
    /// `mergeable` and undeferred: the task shares its creator's data environment.
    pub const MERGED: Self = Self(32);
    /// The arguments were constructed, and the task's own code destroys them. So the code runs even
    /// when the task is discarded.
    pub const CONSTRUCTED: Self = Self(64);
    /// An untied task whose first part has begun.
    pub const BEGUN: Self = Self(128);
    /// A target task for a device other than the host. Its creator need not wait for that device,
    /// even if the creator is alone in its team.
    pub const OFFLOADED: Self = Self(256);
    /// The task's next target construct adds to the thread's own copies of reduction items, which
    /// are copied to the device and back. Meanwhile the thread begins no task that might add to the
    /// copies here.
    pub const REDUCES: Self = Self(512);
    /// The task depends on tasks that may have left data on a device. Those data are brought back
    /// first.
    pub const LOOKS: Self = Self(2048);
    /// The task queues its work on a device, behind the work of its predecessors that do so, too
    /// ([`crate::depend::queued`]).
    pub const QUEUES: Self = Self(4096);
    /// The task's next child queues its work on a device.
    pub const WISHES: Self = Self(16384);
    /// A side block is behind the task's payload ([`crate::extension::side`]): the task is reported
    /// to tools.
    pub const SIDE: Self = Self(65536);
    /// The task's children are recorded ([`crate::taskgraph`]).
    pub const RECORDS: Self = Self(524_288);
    /// A target task.
    pub const TARGET: Self = Self(1_048_576);
    /// Free agents may run the task ([`crate::agents`]).
    pub const POOL: Self = Self(4_194_304);
    /// Free agents may run the task's next child.
    pub const POOLS: Self = Self(8_388_608);

    /// An untied task whose parts may run on several threads: LLVM's compiler divides it. A task
    /// that is run whole does not have this property.
    pub const IN_PARTS: Self = Self(16_777_216);

    /// Properties that extensions name, and that mean nothing to the host.
    pub const EXTENSION: [Self; 3] = [Self(131_072), Self(262_144), Self(2_097_152)];
    /// All of these.
    pub const EXTENSIONS: Self = all(&Self::EXTENSION);
    /// Another one, which only devices name.
    pub const OFFLOAD: Self = Self(1024);
    /// Further properties that only devices name. Devices are notified at the end of the code of a task
    /// that has one of these ([`crate::extension::offload::task_ends`]).
    pub const AT_END: [Self; 2] = [Self(8192), Self(32768)];
    /// All of these.
    pub const ANY_AT_END: Self = all(&Self::AT_END);

    /// Returns the union of both sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// Returns the union with `other` if `condition` is true, and the set itself otherwise.
    #[must_use]
    pub const fn with_if(self, condition: bool, other: Self) -> Self {
        if condition { self.with(other) } else { self }
    }
    /// Returns the properties that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
    /// Returns true if at least one property of `other` is here.
    #[inline(always)]
    pub const fn has_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
    /// Returns true if all properties of `other` are here.
    #[inline(always)]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Returns the union of these properties.
pub(super) const fn all(mut sets: &[TaskFlags]) -> TaskFlags {
    let mut union = TaskFlags(0);
    while let [first, rest @ ..] = sets {
        union = union.with(*first);
        sets = rest;
    }
    union
}

/// A task region (OpenMP 5.2 §12). It takes three cache lines: the data that its own thread touches
/// when it makes children; the data that are constant once the task is published; the data that
/// other threads write.
#[repr(C, align(64))]
pub struct Task {
    /// What the task's own thread touches when it makes children.
    pub own: TaskOwn,

    /// What the task is, and where it belongs.
    pub(super) origin: TaskOrigin,
    /// The thread in whose name the task runs; null until the task starts. Atomic, because children
    /// of an untied task may read it while another thread takes the next part of the task.
    pub(super) thread: AtomicPtr<Thread>,
    /// Dependences among the task's children: a table of [`crate::depend`], which stands above this
    /// record.
    pub children_depend: Cell<Option<NonNull<()>>>,

    /// References (upper half) and incomplete children (lower half), see [`super::counts`].
    pub(super) counts: AtomicU64,
    /// For a detachable task: has its code ended, and is its event fulfilled? See [`super::life`].
    pub(super) event: AtomicU32,
    /// How urgent the task is, and where it should run.
    pub(super) clauses: TaskClauses,
    /// From where the stack depth of a chain of tasks is counted, each of which runs the next one
    /// at once. It is the stack position where the first task ran a child at once; 0 if none did.
    /// See `constructs`.
    pub(super) chain_stack_base: Cell<u32>,
    /// How far the team queue has been searched for descendants of this task.
    pub marks: TeamQueueMark,
    /// Bytes of payload behind the descriptor.
    pub(super) payload: Cell<usize>,
    /// Two words for the use of the front.
    pub front: [Cell<usize>; 2],
}

const _: () = {
    assert!(align_of::<Task>() <= blocks::GRAIN && size_of::<Task>() == 192);
    assert!(offset_of!(Task, origin) == 64 && offset_of!(Task, counts) == 128);
};

/// What a task's own thread touches when it makes children; no other thread reads it while the task
/// runs.
#[repr(C)]
pub struct TaskOwn {
    /// The control variables of the task's data environment.
    pub icv: Cell<Icv>,
    /// The innermost taskgroup to which the task's children belong.
    pub taskgroup: Cell<*const Taskgroup>,
    /// Children that are not in `counts` yet; see `counts`.
    pub(super) pending: Cell<u32>,
    /// True once the bias is subtracted: the task's code has ended.
    pub(super) retired: Cell<bool>,
}

/// What a task is, and where it belongs: its creator writes this before it publishes the task, and
/// all threads read it. Some flags change later, see [`TaskFlags`].
#[repr(C)]
pub(super) struct TaskOrigin {
    /// The task that generated this one; null for an initial task.
    pub(super) parent: Cell<*const Task>,
    /// The team whose threads may run it.
    pub(super) team: Cell<*const Team>,
    /// The front's function that runs the task's code.
    pub(super) run: Cell<Option<RunFn>>,
    /// The taskgroup to which the task itself belongs.
    pub(super) member_of: Cell<*const Taskgroup>,
    /// The task's own node in its parent's dependence graph.
    pub(super) node: Cell<Option<NonNull<Node>>>,
    pub(super) flags: Cell<TaskFlags>,
    /// Number of ancestors.
    pub(super) depth: Cell<u32>,
}

/// How urgent a task is, and where it should run, by its clauses: its creator writes this before it
/// submits the task, and threads that queue the task read it.
#[repr(C)]
pub(super) struct TaskClauses {
    /// The value of the `priority` clause as far as it counts; 0 without the clause.
    pub(super) priority: Cell<i32>,
    /// A key for the data that an `affinity` clause names; 0 without the clause. See
    /// [`crate::affinity::hint`].
    pub(super) affinity: Cell<u32>,
}

/// Runs the code of a task. If the last argument is true, the task is discarded, and only the code
/// runs that must not be left out. Returns false if only a part of an untied task has run; then the
/// task is to be queued again.
pub type RunFn = unsafe fn(&Thread, &Task, bool) -> bool;

// SAFETY: the cells are written before the task is published (pushed, or its node released), or by
// the thread that runs the task. Publication by the deque or the dependence node orders these
// writes. The other fields are atomic.
unsafe impl Sync for Task {}

// SAFETY: as above.
unsafe impl Send for Task {}

/// Entries for the debugger ([`ult::debug`]).
pub const ENTRIES: [DebugEntry; 7] = [
    DebugEntry::number("task.parent", offset_of!(Task, origin.parent)),
    DebugEntry::number("task.flags", offset_of!(Task, origin.flags)),
    DebugEntry::number("task.flags.explicit", TaskFlags::EXPLICIT.0 as usize),
    DebugEntry::number("task.priority", offset_of!(Task, clauses.priority)),
    DebugEntry::number("task.run", offset_of!(Task, origin.run)),
    DebugEntry::number("task.front", offset_of!(Task, front)),
    DebugEntry::number("task.size", size_of::<Task>()),
];

impl Task {
    /// Makes a blank task: an implicit one that [`Task::begin_implicit`] sets up. An explicit task
    /// begins with the same value.
    pub fn implicit() -> Self {
        Self {
            own: TaskOwn {
                icv: Cell::new(Icv::INITIAL),
                taskgroup: Cell::new(ptr::null()),
                pending: Cell::new(0),
                retired: Cell::new(false),
            },
            origin: TaskOrigin {
                parent: Cell::new(ptr::null()),
                team: Cell::new(ptr::null()),
                run: Cell::new(None),
                member_of: Cell::new(ptr::null()),
                node: Cell::new(None),
                flags: Cell::new(TaskFlags::default()),
                depth: Cell::new(0),
            },
            thread: AtomicPtr::new(ptr::null_mut()),
            children_depend: Cell::new(None),
            counts: AtomicU64::new(FRESH),
            event: AtomicU32::new(0),
            clauses: TaskClauses { priority: Cell::new(0), affinity: Cell::new(0) },
            chain_stack_base: Cell::new(0),
            marks: TeamQueueMark::default(),
            payload: Cell::new(0),
            front: [Cell::new(0), Cell::new(0)],
        }
    }

    /// Sets an implicit task up for a region of `team`.
    ///
    /// # Safety
    /// `parent` is null or the task that forks the region, suspended in it.
    pub unsafe fn begin_implicit(&self, team: &Team, thread: &Thread, parent: *const Task, icv: Icv) {
        self.origin.parent.set(parent);
        self.origin.team.set(team);
        self.set_thread(thread);
        self.own.icv.set(icv);
        self.own.taskgroup.set(ptr::null());
        self.chain_stack_base.set(0);
        // SAFETY: as the caller promises.
        let outer = unsafe { parent.as_ref() };
        self.origin.depth.set(outer.map_or(0, |p| p.origin.depth.get() + 1));
        let inherits_final = outer.is_some_and(|p| p.flags().has(TaskFlags::FINAL));
        self.origin.flags.set(TaskFlags::default().with_if(inherits_final, TaskFlags::FINAL));
    }

    /// Writes the value of [`Task::implicit`] to `block`. If the value was assigned instead, the
    /// compiler was seen to make it elsewhere and to copy it.
    ///
    /// # Safety
    /// `block` has room for a task, and no other thread uses it.
    #[inline(always)]
    pub(super) unsafe fn write_fresh<'a>(block: NonNull<Task>) -> &'a Self {
        // SAFETY: as the caller promises. All fields except these two are null, zero, false or
        // `None`, whose bytes are zero.
        unsafe {
            block.write_bytes(0, 1);
            (&raw mut (*block.as_ptr()).own.icv).write(Cell::new(Icv::INITIAL));
            (&raw mut (*block.as_ptr()).counts).write(AtomicU64::new(FRESH));
            block.as_ref()
        }
    }

    /// Returns the address of the front's payload.
    #[inline(always)]
    pub fn payload(&self) -> *mut u8 {
        // SAFETY: an explicit task's block continues behind the descriptor.
        unsafe { ptr::from_ref(self).cast_mut().cast::<u8>().add(size_of::<Task>()) }
    }

    /// Returns the task whose payload begins at `payload`.
    ///
    /// # Safety
    /// `payload` came from [`Task::payload`] of a live task.
    #[inline(always)]
    pub unsafe fn of_payload<'a>(payload: *const u8) -> &'a Task {
        // SAFETY: as the caller promises.
        unsafe { &*payload.sub(size_of::<Task>()).cast::<Task>() }
    }

    /// Returns the number of bytes behind the descriptor.
    pub fn payload_size(&self) -> usize {
        self.payload.get()
    }

    /// Returns the number of the front's bytes behind the descriptor.
    pub fn data_size(&self) -> usize {
        self.payload.get() - if self.flags().has(TaskFlags::SIDE) { size_of::<TaskSide>() } else { 0 }
    }

    /// Returns what tools keep with the task; `None` if it is not reported.
    pub fn side(&self) -> Option<&TaskSide> {
        if !self.is_explicit() {
            return Some(&self.thread().tools.task);
        }
        self.flags().has(TaskFlags::SIDE).then(|| {
            // SAFETY: `allocate_with_side` has written it, at the end of the payload.
            unsafe { &*self.payload().add(self.data_size()).cast::<TaskSide>() }
        })
    }

    /// Returns the function that runs the task.
    pub fn code(&self) -> Option<RunFn> {
        self.origin.run.get()
    }

    /// Returns the task's properties.
    #[inline(always)]
    pub fn flags(&self) -> TaskFlags {
        self.origin.flags.get()
    }

    /// Changes the task's properties. Only for the creator before the task is submitted, and for
    /// the thread that runs the task.
    pub fn set_flags(&self, flags: TaskFlags) {
        self.origin.flags.set(flags);
    }

    /// Returns the value of the `priority` clause as far as it counts: at least 0.
    #[inline(always)]
    pub fn priority(&self) -> i32 {
        self.clauses.priority.get()
    }

    /// Notes that the task begins on the stack of `creator`, and takes over the position from which
    /// the stack's depth is counted.
    #[inline(always)]
    pub fn inherits_stack_base(&self, creator: &Self) {
        self.chain_stack_base.set(creator.chain_stack_base.get());
    }

    /// Sets the `priority` (5.2 §12.4) that the construct names, limited by
    /// *max-task-priority-var*. The task has not been submitted. Negative priorities are not
    /// allowed, and count as 0.
    pub fn set_priority(&self, given: i32) {
        self.clauses.priority.set(given.clamp(0, Self::highest_priority()));
    }

    ult::seam! {
        /// Priorities count up to *max-task-priority-var*.
        fn highest_priority() -> i32 {
            env::settings().max_task_priority
        } or priority_ignored {
            0
        }
    }

    /// Returns the key for the data that the task names, or 0 if the task names none.
    #[inline(always)]
    pub fn affinity(&self) -> u32 {
        self.clauses.affinity.get()
    }

    /// Sets the key for the data that the task names. The task has not been submitted.
    pub fn set_affinity(&self, key: u32) {
        self.clauses.affinity.set(key);
    }

    /// Returns true if tools are notified of the task's events: it is an implicit task, or has a
    /// side block.
    #[inline(always)]
    pub fn is_reported(&self) -> bool {
        self.flags().0 & (TaskFlags::EXPLICIT.0 | TaskFlags::SIDE.0) != TaskFlags::EXPLICIT.0
    }

    /// Returns true for an explicit task.
    #[inline(always)]
    pub fn is_explicit(&self) -> bool {
        self.flags().has(TaskFlags::EXPLICIT)
    }

    /// Returns the generating task, or `None` for an initial task.
    pub fn parent(&self) -> Option<&Task> {
        // SAFETY: a task holds a reference on its parent; the parent of an implicit task is
        // suspended in the fork.
        unsafe { self.origin.parent.get().as_ref() }
    }

    /// Returns the dependence node of the task, if it has one.
    pub fn node(&self) -> Option<&Node> {
        // SAFETY: the task drops its reference on the node only when it is complete.
        self.origin.node.get().map(|node| unsafe { node.as_ref() })
    }

    /// Returns true if `code` is the function that runs the task.
    pub fn runs(&self, code: RunFn) -> bool {
        self.origin.run.get().is_some_and(|run| ptr::fn_addr_eq(run, code))
    }

    /// Sets the task's node. The task has not been submitted.
    pub fn set_node(&self, node: NonNull<Node>) {
        self.origin.node.set(Some(node));
    }

    /// Returns the thread in whose name the task runs.
    pub fn thread(&self) -> &Thread {
        // ORDERING: Relaxed; constant while the task is started, except for tasks in parts, see
        // `drop_child_of_task_in_parts`.
        let thread = self.thread.load(Ordering::Relaxed);
        // SAFETY: the thread is set when the task starts; callers ask only about started tasks.
        unsafe { &*thread }
    }

    pub(super) fn set_thread(&self, thread: &Thread) {
        // ORDERING: Relaxed; each thread that may ask is ordered by the publication of the child
        // through which it asks.
        self.thread.store(ptr::from_ref(thread).cast_mut(), Ordering::Relaxed);
    }

    /// Returns the team whose threads may run the task.
    pub fn team(&self) -> &Team {
        // SAFETY: a region ends only when its tasks are complete.
        unsafe { &*self.origin.team.get() }
    }

    /// Returns the taskgroup of which this task is a member, if there is one.
    pub fn member_of(&self) -> Option<&Taskgroup> {
        // SAFETY: a taskgroup is open while it has members that are not complete.
        unsafe { self.origin.member_of.get().as_ref() }
    }

    /// Returns the innermost open taskgroup of this task, if there is one. For the running task.
    pub fn open_group(&self) -> Option<&Taskgroup> {
        // SAFETY: only the running task closes its taskgroups.
        unsafe { self.own.taskgroup.get().as_ref() }
    }

    /// Returns true if this task is `ancestor` or a descendant of it.
    pub fn descends_from(&self, ancestor: &Task) -> bool {
        let mut task = self;
        while task.origin.depth.get() > ancestor.origin.depth.get() {
            match task.parent() {
                Some(parent) => task = parent,
                None => return false,
            }
        }
        ptr::eq(task, ancestor)
    }
}

/// A list of descriptors for reuse, linked by their parents. Each one is *as new*: no thread refers
/// to it, and its fields have the values of [`Task::implicit`], except for those that the next task
/// writes anyway.
#[derive(Default)]
pub struct Spares {
    pub(super) first: Cell<*const Task>,
    pub(super) count: Cell<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::MaybeUninit;

    /// The test names every field, so that a new field has to be added here.
    #[test]
    fn a_task_that_is_written_in_place_is_as_one_that_is_made() {
        let mut block = MaybeUninit::<Task>::uninit();
        // SAFETY: the block has room for a task, and no other thread uses it; a task needs no drop.
        let in_place = unsafe {
            block.as_mut_ptr().cast::<u8>().write_bytes(0xAA, size_of::<Task>());
            Task::write_fresh(NonNull::new_unchecked(block.as_mut_ptr()))
        };
        let made = Task::implicit();
        let words = |task: &Task| {
            let Task {
                own,
                origin,
                thread,
                children_depend,
                counts,
                event,
                clauses,
                chain_stack_base,
                marks,
                payload,
                front,
            } = task;
            let TaskOwn { icv, taskgroup, pending, retired } = own;
            let TaskOrigin { parent, team, run, member_of, node, flags, depth } = origin;
            let TaskClauses { priority, affinity } = clauses;
            // ORDERING: Relaxed for all; no other thread has the task.
            let shared = (
                thread.load(Ordering::Relaxed),
                counts.load(Ordering::Relaxed),
                event.load(Ordering::Relaxed),
            );
            let pointers = (
                taskgroup.get(),
                parent.get(),
                team.get(),
                member_of.get(),
                run.get().is_none(),
                node.get(),
                children_depend.get(),
            );
            let numbers = (
                pending.get(),
                retired.get(),
                flags.get().0,
                depth.get(),
                priority.get(),
                affinity.get(),
                chain_stack_base.get(),
                payload.get(),
            );
            (
                shared,
                pointers,
                numbers,
                format!("{:?} {marks:?}", icv.get()),
                front.clone().map(Cell::into_inner),
            )
        };
        assert_eq!(words(in_place), words(&made));
    }
}
