//! A persistent task: its procedure, its trays, and what it has been asked.
//!
//! All of it lives on the task's rank. Each request becomes an operation of the task's queue
//! ([`super::queue`]). The thread that adds an operation, brings data that one waits for, or ends
//! one, begins those that may begin. Quick operations begin at once, also in the middle of the
//! bridge, the others as work of the team that serves.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::order::{Key, PersistentOperation, RemoteFunction};
use super::parcels;
use super::perform::perform;
use super::queue::{BegunOperation, TrayQueue};
use super::tray::{Tray, TrayParcel};
use super::{credit, numbered};
use crate::remote::server::SERVER;
use crate::remote::{RemoteFault, RemoteHandle, me};
use omp_offload::bytes::Bytes;

/// Who asks for an operation.
#[derive(Clone, Copy)]
pub struct PersistentSource {
    /// The rank.
    pub rank: u32,
    /// It counts how far it is ahead ([`credit`]).
    pub counts: bool,
    /// Target regions around who asks.
    pub depth: u8,
}

/// An operation, and what it needs.
pub struct PersistentJob {
    /// What is to be done.
    pub order: PersistentOperation,
    /// The bytes beside it.
    pub bytes: Bytes,
    /// Who asks.
    pub source: PersistentSource,
    /// What has come for it, in order.
    pub parcels: Vec<TrayParcel>,
}

/// What is known of a task.
pub struct PersistentState {
    queue: TrayQueue<PersistentJob>,
    /// By number.
    pub trays: BTreeMap<u32, Tray>,
    /// What it executes.
    pub procedure: Option<RemoteFunction>,
    /// It is to be freed: nothing is asked any more.
    closing: bool,
}

/// A task of this rank.
pub struct PersistentTask {
    /// Its handle.
    pub name: RemoteHandle,
    state: Mutex<PersistentState>,
}

// ---- which there are --------------------------------------------------------

struct PersistentKnown {
    tasks: BTreeMap<u64, Arc<PersistentTask>>,
    made: u64,
}

/// The tasks of this rank, by generation, which none has twice. One lock: it is held for a look,
/// and all of them can be asked at a time.
static KNOWN: Mutex<PersistentKnown> = Mutex::new(PersistentKnown { tasks: BTreeMap::new(), made: 0 });

fn known() -> MutexGuard<'static, PersistentKnown> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn fresh(name: RemoteHandle) -> Arc<PersistentTask> {
    let state =
        PersistentState { queue: TrayQueue::EMPTY, trays: BTreeMap::new(), procedure: None, closing: false };
    Arc::new(PersistentTask { name, state: Mutex::new(state) })
}

/// Makes a task of this rank.
pub fn create() -> RemoteHandle {
    let mut known = known();
    known.made += 1;
    let name = RemoteHandle { rank: me(), id: known.made as u32, generation: known.made };
    known.tasks.insert(name.generation, fresh(name));
    name
}

/// The task of this rank that a handle names.
///
/// # Errors
/// There is none.
pub fn find(name: RemoteHandle) -> Result<Arc<PersistentTask>, RemoteFault> {
    let mut known = known();
    if let Some(task) = known.tasks.get(&name.generation) {
        return if task.name.id == name.id { Ok(Arc::clone(task)) } else { Err(RemoteFault::Stale) };
    }
    if !numbered::begins_here(name) {
        return Err(RemoteFault::Stale);
    }
    let task = fresh(name);
    known.tasks.insert(name.generation, Arc::clone(&task));
    Ok(task)
}

/// All tasks of this rank that have been used.
pub fn all() -> Vec<Arc<PersistentTask>> {
    known().tasks.values().cloned().collect()
}

/// A task is gone.
pub fn forget(name: RemoteHandle) {
    let gone = known().tasks.remove(&name.generation);
    // Its trays go outside of the lock.
    drop(gone);
}

impl PersistentState {
    /// What was asked of the task and cannot begin; as of [`TrayQueue::hindered`].
    pub fn hindered(&self, most: usize) -> Vec<(&PersistentJob, Vec<Option<&PersistentJob>>)> {
        self.queue.hindered(most)
    }
}

// ---- what they do -----------------------------------------------------------

impl PersistentTask {
    /// Procedure and trays.
    pub fn state(&self) -> MutexGuard<'_, PersistentState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for an operation; its bytes come later if there are none. Its number.
    ///
    /// # Errors
    /// The bytes, if the task is being freed.
    pub fn push(
        self: &Arc<Self>,
        source: PersistentSource,
        order: PersistentOperation,
        bytes: Option<Bytes>,
    ) -> Result<u64, Option<Bytes>> {
        let expected = order.parcels() as usize;
        let missing = usize::from(bytes.is_none()) + expected;
        let number = {
            let mut state = self.state();
            if state.closing {
                return Err(bytes);
            }
            let job = PersistentJob {
                order,
                bytes: bytes.unwrap_or(Bytes::EMPTY),
                source,
                parcels: vec![None; expected],
            };
            state.closing = order == PersistentOperation::Free;
            state.queue.push(order.access(), missing, job)
        };
        if let PersistentOperation::Take(_, key, ..) = order {
            for at in 0..expected {
                let key = Key { part: key.part + at as u32, ..key };
                parcels::wanted(key, Some((Arc::clone(self), number, at)));
            }
        }
        self.go_on(false);
        Ok(number)
    }

    /// The bytes of an operation have come.
    pub fn complete(self: &Arc<Self>, number: u64, bytes: Bytes) {
        self.state().queue.provide(number, |job| job.bytes = bytes);
        self.go_on(false);
    }

    /// A parcel has come that an operation waits for.
    pub fn receive(self: &Arc<Self>, number: u64, at: usize, parcel: TrayParcel) {
        self.state().queue.provide(number, |job| job.parcels[at] = parcel);
        self.go_on(false);
    }

    fn next(&self) -> Option<BegunOperation<PersistentJob>> {
        self.state().queue.begin_next()
    }

    fn finish(&self, number: u64) {
        self.state().queue.finish(number);
    }

    /// Begins all that may begin. Of what takes longer, one that runs nothing of the program is
    /// left to the caller if he is to `take` one.
    fn go_on(self: &Arc<Self>, take: bool) -> Option<BegunOperation<PersistentJob>> {
        let mut taken = None;
        while let Some(begun) = self.next() {
            let job = &begun.what;
            if job.order.is_quick() {
                self.carry_out(begun);
            } else if take && taken.is_none() && job.order != PersistentOperation::Execute {
                taken = Some(begun);
            } else {
                let task = Arc::clone(self);
                SERVER.leave(Box::new(move || task.work(begun)));
            }
        }
        taken
    }

    /// What takes longer, and what it makes possible. In a task of its own: a procedure finds it
    /// fresh.
    fn work(self: Arc<Self>, first: BegunOperation<PersistentJob>) {
        let mut next = Some(first);
        while let Some(begun) = next {
            self.carry_out(begun);
            next = self.go_on(true);
        }
    }

    fn carry_out(self: &Arc<Self>, begun: BegunOperation<PersistentJob>) {
        let BegunOperation { number, what: job } = begun;
        let (source, bytes) = (job.source, job.bytes.size());
        perform(self, job);
        self.finish(number);
        if source.counts {
            credit::done(source.rank, bytes);
        }
    }
}
