//! The record of a graph of tasks.
//!
//! What does not live here: what the tasks leave in it ([`super::recording`]).

use core::cell::{Cell, UnsafeCell};
use core::sync::atomic::AtomicBool;

use super::edges::Edges;
use crate::task::record::{RunFn, Task, TaskFlags};

/// A graph (`ompx_taskgraph_t`).
#[derive(Default)]
pub struct TaskgraphGraph {
    /// A task is between its beginning and its end.
    pub(super) busy: AtomicBool,
    pub(super) state: Cell<TaskgraphState>,
    pub(super) tasks: UnsafeCell<Vec<Phase>>,
    pub(super) recording: UnsafeCell<Recording>,
}

// SAFETY: all but `busy` is touched only by the task that has set it, until that takes it back.
unsafe impl Sync for TaskgraphGraph {}

/// Tasks that a `taskwait` of the recording task divides from the next ones.
pub(super) type Phase = Vec<Recorded>;

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum TaskgraphState {
    /// Nothing has been written down yet.
    #[default]
    New,
    /// Its tasks are being written down.
    Recording,
    /// It can be run.
    Ready,
    /// It cannot.
    Unfit,
}

/// A task as it was when it was made.
pub(super) struct Recorded {
    pub(super) run: RunFn,
    pub(super) flags: TaskFlags,
    pub(super) priority: i32,
    pub(super) affinity: u32,
    pub(super) front: [usize; 2],
    pub(super) relocate: Relocate,
    /// Where its data were.
    pub(super) from: usize,
    /// Its data, in words.
    pub(super) data: Box<[u64]>,
    /// The tasks of its phase that it waits for.
    pub(super) before: Vec<u32>,
    /// Do others wait for it?
    pub(super) is_waited_for: bool,
}

/// Puts right what a copy of a task's data knows of its own place: `(copy, where the data were, how
/// many bytes)`. The front's; two front words are copied, too.
pub type Relocate = unsafe fn(&Task, usize, usize);

/// What has been written down.
#[derive(Default)]
pub(super) struct Recording {
    pub(super) phases: Vec<Phase>,
    pub(super) phase: Phase,
    pub(super) edges: Edges,
    /// Children that have been made, and how many of them stand here.
    pub(super) made: u64,
    pub(super) written: u64,
}
