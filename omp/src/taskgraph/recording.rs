//! What the tasks of a graph leave in it the first time: the recording task tells of each child
//! that it makes.

use super::edges::Edges;
use super::record::{Phase, Recorded, Recording, Relocate, TaskgraphGraph, TaskgraphState};
use crate::depend::dependence::Dependence;
use crate::task::record::{Task, TaskFlags};
use crate::taskgroup::record::Taskgroup;
use crate::thread::current::CurrentThread;

/// What a task may be and be written down.
const KNOWN: TaskFlags = TaskFlags::EXPLICIT
    .with(TaskFlags::UNTIED)
    .with(TaskFlags::IN_PARTS)
    .with(TaskFlags::FINAL)
    .with(TaskFlags::SIDE)
    .with(TaskFlags::EXTENSIONS);

impl Recording {
    /// Everything, if that is everything.
    pub(super) fn finish(mut self) -> Option<Vec<Phase>> {
        self.join();
        (self.made == self.written).then_some(self.phases)
    }

    /// The recording task has waited for the tasks up to here.
    fn join(&mut self) {
        self.phases.push(core::mem::take(&mut self.phase));
        self.edges = Edges::default();
    }

    fn write(&mut self, task: &Task, relocate: Relocate, items: impl Iterator<Item = Dependence>) {
        let before = self.edges.enter(self.phase.len() as u32, items);
        for &other in &before {
            self.phase[other as usize].is_waited_for = true;
        }
        let bytes = task.data_size();
        let mut data = vec![0_u64; bytes.div_ceil(8)].into_boxed_slice();
        // SAFETY: the payload has as many bytes, and the task has not begun.
        unsafe { core::ptr::copy_nonoverlapping(task.payload(), data.as_mut_ptr().cast::<u8>(), bytes) };
        // The first word is the front's to put right; another address of the data's own was made by
        // a constructor.
        let from = task.payload() as u64;
        if data.iter().skip(1).any(|word| (from..from + bytes as u64).contains(word)) {
            return;
        }
        let flags = task.flags().without(TaskFlags::SIDE.with(TaskFlags::EXTENSIONS));
        let front = [task.front[0].get(), task.front[1].get()];
        let (from, priority, affinity) = (task.payload() as usize, task.priority(), task.affinity());
        if let Some(run) = task.code() {
            self.phase.push(Recorded {
                run,
                flags,
                priority,
                affinity,
                front,
                relocate,
                from,
                data,
                before,
                is_waited_for: false,
            });
            self.written += 1;
        }
    }
}

/// The recording that the running task makes.
#[allow(clippy::mut_from_ref, reason = "as for `recording_of`")]
fn of(task: &Task) -> Option<&mut Recording> {
    let mut groups = core::iter::successors(task.open_group(), |group| group.outer());
    // SAFETY: a graph outlives its taskgroup.
    let graph = groups.find_map(|group| unsafe { group.graph.get().as_ref() })?;
    (graph.state.get() == TaskgraphState::Recording).then(|| recording_of(graph))
}

#[allow(clippy::mut_from_ref, reason = "only the recording task asks, one call at a time")]
fn recording_of(graph: &TaskgraphGraph) -> &mut Recording {
    // SAFETY: the recording task has set `busy` of the graph.
    unsafe { &mut *graph.recording.get() }
}

/// A child of `parent`, which records, is made. If [`record`] does not write this child down as
/// well, the graph becomes unfit.
#[cold]
pub fn made(parent: &Task) {
    if let Some(recording) = of(parent) {
        recording.made += 1;
    }
}

/// `task`, a child of the running one that has not begun, with these dependences. `is_fit`: its
/// data may be copied.
#[inline(always)]
pub fn record(
    here: CurrentThread,
    task: &Task,
    is_fit: bool,
    relocate: Relocate,
    items: impl Iterator<Item = Dependence>,
) {
    if here.task.flags().has(TaskFlags::RECORDS) {
        record_cold(here, task, is_fit, relocate, items);
    }
}

#[cold]
#[inline(never)]
fn record_cold(
    here: CurrentThread,
    task: &Task,
    is_fit: bool,
    relocate: Relocate,
    items: impl Iterator<Item = Dependence>,
) {
    let is_known = task.flags().without(KNOWN) == TaskFlags::default();
    // A task of a group with reductions keeps that group's address with its data.
    if let (Some(recording), true) =
        (of(here.task), is_fit && is_known && !has_reductions(here.task.open_group()))
    {
        recording.write(task, relocate, items);
    }
}

/// How the running task has waited.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RecordedWait {
    /// For its children: `taskwait`.
    Children,
    /// For some of them, or for a taskgroup's: what a graph does not know.
    Other,
}

/// The running task has waited.
#[inline(always)]
pub fn joined(here: CurrentThread, wait: RecordedWait) {
    if here.task.flags().has(TaskFlags::RECORDS) {
        joined_cold(here, wait);
    }
}

#[cold]
fn joined_cold(here: CurrentThread, wait: RecordedWait) {
    if let Some(recording) = of(here.task) {
        match wait {
            RecordedWait::Children => recording.join(),
            RecordedWait::Other => spoil(here.task),
        }
    }
}

/// The graph that `task` records, if it does, is unfit.
#[cold]
pub fn spoil(task: &Task) {
    made(task); // one that is never written
}

/// Has one of the open taskgroups reductions? Tasks keep its address with their data.
pub(super) fn has_reductions(group: Option<&Taskgroup>) -> bool {
    core::iter::successors(group, |group| group.outer()).any(|group| group.reductions.get().is_some())
}
