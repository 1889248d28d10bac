//! Graphs of tasks that are made once and run many times: `ompx_taskgraph_*`, after the `taskgraph`
//! construct of OpenMP 6.0 (§14.3).
//!
//! | file | what lives there |
//! |---|---|
//! | here | what a graph is, its beginning and its end |
//! | `record` | its fields |
//! | `recording` | what the program's tasks leave in it the first time |
//! | `edges` | whom they wait for, found from their dependences once |
//!
//! The first time, the program makes the tasks between beginning and end, and they run as usual.
//! The graph records each task as it was made: its code, its block of data, its properties, and its
//! predecessors. From then on the beginning makes the tasks itself ([`super::depend::replay()`]): it
//! evaluates no clause and looks up no address.
//!
//! *Which tasks can be recorded.* The data of the task may be copied byte by byte. A task cannot be
//! recorded if its data have constructors, if it has an event, if it works on devices, or if it
//! runs at once in the program's code (`if(0)`). A task that is made by another construct than
//! `task` is not seen. Every child of the recording task is counted ([`made`]). If the graph lacks
//! a child, it is *unfit*: the program makes its tasks each time, which is right but not faster.
//!
//! What does not live here: the layout of the fronts' blocks of data. The fronts pass a function
//! that adapts a copy.
//!
//! Rejected:
//! * Recording the items of `depend` and entering them again: looking up the addresses is half of
//!   the cost of making such a task.
//! * Graphs that include descendants beyond the recording task's own children: their tasks make
//!   them anew, which 6.0 leaves to the implementation.

use core::sync::atomic::Ordering;

use super::agents::rules as agents;
use super::depend::entering;
use super::depend::replay::{Links, replay};
use super::extension::offload;
use super::extension::tools;
use super::task::constructs;
use super::task::owned::OwnedTask;
use super::task::record::{Task, TaskFlags};
use super::taskgroup;
use super::thread::current::CurrentThread;

mod edges;
pub(crate) mod record;
pub(crate) mod recording;

pub use record::{Relocate, TaskgraphGraph};
pub use recording::{RecordedWait, joined, made, record, spoil};

use record::{Recorded, TaskgraphState};
use recording::has_reductions;

/// What the running task has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskgraphBegun {
    /// The program makes the tasks.
    Make,
    /// They have been made; the program makes none.
    Made,
}

impl TaskgraphGraph {
    /// Begins the graph in the running task: a taskgroup is open until [`TaskgraphGraph::end`]. If
    /// another task is between the two, the program makes the tasks, and nothing is written down.
    pub fn begin(&self, here: CurrentThread) -> TaskgraphBegun {
        taskgroup::start(here);
        // ORDERING: Acquire, pairs with the Release in `end`: the graph is as the last task has
        // left it.
        if !is_recordable(here) || self.busy.swap(true, Ordering::Acquire) {
            return TaskgraphBegun::Make;
        }
        if let Some(opened) = here.task.open_group() {
            opened.graph.set(self);
        }
        match self.state.get() {
            // Its tasks are not entered in the table of those that were made before.
            TaskgraphState::Ready if !entering::has_live_children(here) => {
                self.launch(here);
                return TaskgraphBegun::Made;
            }
            TaskgraphState::New => {
                self.state.set(TaskgraphState::Recording);
                here.task.set_flags(here.task.flags().with(TaskFlags::RECORDS));
            }
            TaskgraphState::Ready | TaskgraphState::Recording | TaskgraphState::Unfit => {}
        }
        TaskgraphBegun::Make
    }

    /// Waits for all tasks of the graph and their descendants, and ends it.
    pub fn end(&self, here: CurrentThread) {
        let is_ours = here.task.open_group().is_some_and(|group| core::ptr::eq(group.graph.get(), self));
        if is_ours && self.state.get() == TaskgraphState::Recording {
            here.task.set_flags(here.task.flags().without(TaskFlags::RECORDS));
            // SAFETY: `busy` is ours.
            let (recording, tasks) = unsafe { (&mut *self.recording.get(), &mut *self.tasks.get()) };
            let phases = core::mem::take(recording).finish();
            self.state.set(if phases.is_some() { TaskgraphState::Ready } else { TaskgraphState::Unfit });
            *tasks = phases.unwrap_or_default();
        }
        taskgroup::end(here, |_| {});
        if is_ours {
            // ORDERING: Release, pairs with `begin`.
            self.busy.store(false, Ordering::Release);
        }
    }

    /// Will the next run make no task by the program's code? `None`: nothing has been written down.
    pub fn is_ready(&self) -> Option<bool> {
        match self.state.get() {
            TaskgraphState::New | TaskgraphState::Recording => None,
            TaskgraphState::Ready => Some(true),
            TaskgraphState::Unfit => Some(false),
        }
    }

    /// Makes all tasks; between phases it waits.
    fn launch(&self, here: CurrentThread) {
        agents::forget_wish(here);
        // SAFETY: `busy` is ours, and no thread changes a graph that is ready.
        let phases = unsafe { &*self.tasks.get() };
        for (number, phase) in phases.iter().enumerate() {
            if number > 0 {
                constructs::taskwait(here);
            }
            let links =
                |at: usize| Links { before: &phase[at].before, is_waited_for: phase[at].is_waited_for };
            replay(here, phase.len(), |at| phase[at].make(here), links);
        }
    }
}

/// Are tasks made here as everywhere, and do they depend on nothing that a graph does not know?
fn is_recordable(here: CurrentThread) -> bool {
    let is_plain = !constructs::is_included(here)
        && !here.task.flags().has_any(TaskFlags::RECORDS.with(TaskFlags::WISHES));
    is_plain && !offload::is_used() && !has_reductions(here.task.open_group())
}

impl Recorded {
    /// One more task of this kind, a child of the running one.
    fn make(&self, here: CurrentThread) -> OwnedTask {
        let task = Task::generate(here, self.data.len() * 8, self.run, self.flags);
        // SAFETY: fresh, with a payload of that size; the front has said how its copies are put
        // right.
        unsafe {
            let into = task.payload().cast::<u64>();
            core::ptr::copy_nonoverlapping(self.data.as_ptr(), into, self.data.len());
            task.front[0].set(self.front[0]);
            task.front[1].set(self.front[1]);
            self.relocation()(&task, self.from, self.data.len() * 8);
        }
        task.set_priority(self.priority);
        task.set_affinity(self.affinity);
        tools::task::created(here, &task, false);
        task
    }

    ult::seam! {
        /// The function that makes a task use its own copy of the data.
        fn relocation(&self) -> Relocate {
            self.relocate
        } or taskgraph_data_shared {
            |_, _, _| {}
        }
    }
}
