//! Events for devices of all kinds.
//!
//! What lives here: the trait, and the functions by which the host's OpenMP calls it. What does not:
//! any device.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::super::env::PolicyName;
use super::linked;
use super::memory::DeviceMemory;
pub use super::side::{NodeMark, QueuedWork};
use super::tools::device::ToolDevice;
use crate::depend::dependence::Dependence;
use crate::stats::counters::Counters;
use crate::task::record::{Task, TaskFlags};
use crate::thread::current::CurrentThread;

/// Calls a function with each item of a task's `depend` clauses, in their order.
pub type Items<'a> = dyn Fn(&mut dyn FnMut(Dependence)) + 'a;

/// What the host's OpenMP tells, and asks, devices of all kinds. By default nothing is done.
pub trait Offload: Sync {
    /// The runtime starts: the first OpenMP call of the process. The environment has been read. The
    /// calling thread is no OpenMP thread yet, and other threads wait for it.
    fn starts(&self) {}

    /// See [`host_looks`]. Some device has a copy ([`RESIDENT_COPIES`]). The running thread may wait here.
    fn host_looks(&self) {}

    /// Returns the placement policy that a text names. Any thread; the environment may not have been
    /// read.
    ///
    /// # Errors
    /// What is wrong with the text.
    fn policy(&self, text: &str) -> Result<PolicyName, String> {
        Ok(PolicyName::of(text))
    }

    /// Returns the number of devices that may be used. Any thread, also before the first OpenMP
    /// call.
    fn count(&self) -> i32 {
        0
    }

    /// Returns what tools ask of the device with this number, if it has been opened. Numbers begin
    /// at 0 and leave out none.
    fn tool_device(&self, _number: i32) -> Option<ToolDevice<'static>> {
        None
    }

    /// Returns what devices do for allocators.
    fn memory(&self) -> Option<&'static dyn DeviceMemory> {
        None
    }

    /// Writes what devices count. Any thread, also before the first OpenMP call and at exit.
    fn add_counters(&self, _counters: &mut Counters) {}

    /// Are there devices, or data on them? Then tasks may depend on more than their dependences
    /// say.
    fn is_used(&self) -> bool {
        false
    }

    /// See [`task_enters`]. The running task has made `task`, which no other thread knows. Its
    /// properties may be changed here, and other tasks may be made before it.
    fn task_enters(&self, _here: CurrentThread, _task: &Task, _items: &Items<'_>) {}

    /// See [`task_begins`]. The task is the running one.
    fn task_begins(&self, _task: &Task) {}

    /// The code of the running task has ended. The task has [`TaskFlags::QUEUES`] or one of
    /// [`TaskFlags::ANY_AT_END`]. It becomes complete after this call, which may wait.
    fn task_ends(&self) {}

    /// The running task `parent` makes `child`, and has [`TaskFlags::WISHES`]. `flags` are the
    /// child's properties so far. Returns its properties.
    fn child_made(&self, _parent: &Task, _child: &Task, flags: TaskFlags) -> TaskFlags {
        flags
    }

    /// May a thread that is alone in its team begin a task while another one of its tasks waits for
    /// a device?
    fn has_room(&self) -> bool {
        true
    }

    /// See [`node_made`]. Returns what is to be kept with the node.
    fn node_made(&self, _task: &Task) -> Option<NodeMark> {
        None
    }

    /// One task waits for another one. Both have marks. The first one has not begun, and the other
    /// one may be complete already.
    fn node_follows(&self, _node: NodeMark, _before: NodeMark) {}

    /// The task with this mark is complete.
    fn node_completes(&self, _node: NodeMark) {}
}

/// Where there is no such extension.
pub struct NoOffload;

impl Offload for NoOffload {}

/// How many data of the program have copies on devices that only [`Offload::host_looks`] brings
/// back. Devices write it.
pub static RESIDENT_COPIES: AtomicUsize = AtomicUsize::new(0);

/// The runtime starts.
pub fn starts() {
    linked().offload.starts();
}

/// The running thread goes on because tasks have ended: it may read what they have written, and
/// change what they have read. While no device has such data, this costs one load.
#[inline(always)]
pub fn host_looks() {
    // ORDERING: Acquire, pairs with the Release by devices: a thread that finds no data finds the
    // host's bytes written. The caller knows of the end, so it also sees the copies that were kept
    // before that end.
    if RESIDENT_COPIES.load(Ordering::Acquire) != 0 {
        looks();
    }
}

#[cold]
#[inline(never)]
fn looks() {
    linked().offload.host_looks();
}

/// How many parts of the devices want to hear of each task with dependences before it is submitted.
/// Devices write it.
pub static TASK_SUBSCRIBERS: AtomicUsize = AtomicUsize::new(0);

/// A task with dependences is about to be submitted by its generating task, which is the running
/// one. While devices have no reason to hear of it, this costs one load.
#[inline(always)]
pub fn task_enters(here: CurrentThread, task: &Task, items: &(impl Iterator<Item = Dependence> + Clone)) {
    // ORDERING: Relaxed; a thread that gave devices a reason knows of it, and so does a thread that
    // makes tasks behind that.
    if TASK_SUBSCRIBERS.load(Ordering::Relaxed) != 0 {
        enters(here, task, &|each| items.clone().for_each(each));
    }
}

#[cold]
#[inline(never)]
fn enters(here: CurrentThread, task: &Task, items: &Items<'_>) {
    linked().offload.task_enters(here, task, items);
}

/// True if the offload extension stores a word with each node that [`super::super::depend::submit`]
/// makes. The extension sets it.
pub static MARKS: AtomicBool = AtomicBool::new(false);

/// The node of `task` is made, and not published. Returns the word that the offload extension
/// stores with the node. While it stores none, this costs one load.
#[inline(always)]
pub fn node_made(task: &Task) -> Option<NodeMark> {
    // ORDERING: Relaxed; tasks that were made before have no mark.
    if MARKS.load(Ordering::Relaxed) { mark(task) } else { None }
}

#[cold]
#[inline(never)]
fn mark(task: &Task) -> Option<NodeMark> {
    linked().offload.node_made(task)
}

/// One task waits for another one.
#[cold]
pub fn node_follows(node: NodeMark, before: NodeMark) {
    linked().offload.node_follows(node, before);
}

/// The task with this mark is complete.
#[cold]
pub fn node_completes(node: NodeMark) {
    linked().offload.node_completes(node);
}

/// The code of a task with [`TaskFlags::LOOKS`] begins.
#[cold]
#[inline(never)]
pub fn task_begins(task: &Task) {
    linked().offload.task_begins(task);
}

/// The code of the running task has ended, see [`Offload::task_ends`].
#[cold]
pub fn task_ends() {
    linked().offload.task_ends();
}

/// A task with [`TaskFlags::WISHES`] makes a child; returns the child's properties.
#[cold]
pub fn child_made(parent: &Task, child: &Task, flags: TaskFlags) -> TaskFlags {
    linked().offload.child_made(parent, child, flags)
}

/// See [`Offload::has_room`].
#[cold]
pub fn has_room() -> bool {
    linked().offload.has_room()
}

/// See [`Offload::policy`].
///
/// # Errors
/// As there.
pub fn policy(text: &str) -> Result<PolicyName, String> {
    linked().offload.policy(text)
}

/// The number of devices that may be used (`omp_get_num_devices`). It is also the number of the
/// initial device.
pub fn count() -> i32 {
    linked().offload.count()
}

/// See [`Offload::add_counters`].
pub fn add_counters(counters: &mut Counters) {
    linked().offload.add_counters(counters);
}

/// See [`Offload::is_used`].
pub fn is_used() -> bool {
    linked().offload.is_used()
}
