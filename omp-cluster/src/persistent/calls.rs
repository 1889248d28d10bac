//! What programs call: letters to the tasks that a call names, and waiting for what comes back.
//!
//! A call checks everything that it can, and waits until none of the ranks that it asks is too far
//! behind ([`super::credit`]). Then it asks all of them without a wait in between, so two calls at
//! a time never wait for each other's halves.

use std::sync::Arc;

use super::kind::ElementType;
use super::order::{AwaitedFuture, PersistentOperation, RemoteFunction};
use super::wire::Tail;
use super::{credit, devices, task, wire};
use crate::rank::cluster;
use crate::rank::remote::wait_for_copies;
use crate::remote::check::waits::{self, FutureSource};
use crate::remote::{Owner, RemoteFault, RemoteHandle, depth_here, future, me, owner};
use omp_offload::bytes::Bytes;
use omp_offload::modules;

/// A tray of a task: `ompx_tray_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The task.
    pub task: RemoteHandle,
    /// Which of its trays.
    pub tray: u32,
    /// For later.
    pub reserved: u32,
}

/// An operation for a task.
pub struct TaskLetter<'a> {
    /// Who is asked.
    pub task: RemoteHandle,
    /// For what.
    pub order: PersistentOperation,
    /// The bytes beside it.
    pub bytes: &'a [u8],
}

/// The rank of a task, which is there as far as this rank can tell.
fn known(task: RemoteHandle) -> Result<Owner, RemoteFault> {
    let owner = home_rank(task)?;
    if matches!(owner, Owner::CurrentThread) {
        task::find(task)?;
    }
    Ok(owner)
}

/// Are the tasks there, as far as this rank can tell?
///
/// # Errors
/// A handle names no rank, or no task of this rank.
pub fn check(trays: &[At]) -> Result<(), RemoteFault> {
    trays.iter().try_for_each(|at| known(at.task).map(drop))
}

/// The rank of a task.
fn home_rank(task: RemoteHandle) -> Result<Owner, RemoteFault> {
    match owner(task.rank) {
        Err(RemoteFault::Rank) => Err(RemoteFault::Stale),
        Ok(_) if task.generation == 0 => Err(RemoteFault::Stale),
        known => known,
    }
}

/// Asks all that the letters say.
///
/// # Errors
/// A handle names no rank, or no task of this rank; or the ranks have parted. Then no task is
/// asked. Or there is no memory for a copy.
pub fn ask(letters: &[TaskLetter<'_>]) -> Result<(), RemoteFault> {
    let owners = letters.iter().map(|letter| known(letter.task)).collect::<Result<Vec<_>, _>>()?;
    if let Some(cluster) = cluster() {
        wait_for_copies(cluster).map_err(|_| RemoteFault::Ended)?;
    }
    for letter in letters {
        credit::wait(letter.task.rank as u32);
    }
    let depth = depth_here();
    letters.iter().zip(owners).try_for_each(|(letter, owner)| {
        let (rank, size) = (letter.task.rank as u32, letter.bytes.len());
        credit::ask(rank, size);
        post(letter, owner, depth).inspect_err(|_| credit::operations_ended(rank, 1, size as u64))
    })
}

fn post(letter: &TaskLetter<'_>, owner: Owner, depth: u8) -> Result<(), RemoteFault> {
    match owner {
        Owner::CurrentThread => wire::ask_here(
            letter.task,
            letter.order,
            Bytes::of(letter.bytes).ok_or(RemoteFault::Memory)?,
            depth,
        ),
        Owner::There(cluster, rank) => {
            wire::send(cluster, rank, &letter.order.words(letter.task, depth), Tail::Copied(letter.bytes))
        }
    }
}

/// Asks one task for something without bytes.
pub fn one(task: RemoteHandle, order: PersistentOperation) -> Result<(), RemoteFault> {
    ask(&[TaskLetter { task, order, bytes: &[] }])
}

// ---- what comes back --------------------------------------------------------

/// Something that other ranks will say.
pub struct AwaitedAnswer(RemoteHandle);

impl AwaitedAnswer {
    /// Not said yet; what it comes of.
    pub fn begin(promise: FutureSource) -> Self {
        let future = future::create(true);
        waits::promised(future, promise);
        Self(future)
    }

    /// What names it to them.
    pub fn name(&self) -> AwaitedFuture {
        (self.0.id, self.0.generation)
    }

    /// Waits until it has been said. The calling task is suspended.
    pub fn get(self) -> Result<Arc<Bytes>, RemoteFault> {
        let value = future::wait(self.0);
        let refused = wire::refused(self.name());
        value.and_then(|value| refused.map_or(Ok(value), Err))
    }
}

impl Drop for AwaitedAnswer {
    fn drop(&mut self) {
        // The future is ours alone, and no task waits for it any more.
        let _ = future::free(self.0);
    }
}

// ---- tasks ------------------------------------------------------------------

/// The most tasks that are made at a time.
const MOST: u64 = 1 << 20;

/// Makes tasks, on a rank or, with [`devices::ANY`], in turn on all that are devices.
///
/// # Errors
/// No such rank, no device, too many, no memory.
pub fn create(rank: i32, count: u64) -> Result<Vec<RemoteHandle>, RemoteFault> {
    if count == 0 || count > MOST {
        return Err(RemoteFault::Count);
    }
    let ranks: Vec<i32> =
        if rank == devices::ANY { devices::turns(count)? } else { vec![rank; count as usize] };
    devices::allowed()?;
    let mut each: Vec<(i32, u64)> = Vec::new();
    let mut sorted = ranks.clone();
    sorted.sort_unstable();
    for rank in sorted {
        match each.last_mut().filter(|(last, _)| *last == rank) {
            Some((_, count)) => *count += 1,
            None => each.push((rank, 1)),
        }
    }
    let mut asked = Vec::new();
    for &(rank, count) in &each {
        let awaited = AwaitedAnswer::begin(FutureSource::Answer("ompx_ptask_create", rank));
        match owner(rank)? {
            Owner::CurrentThread => wire::reply(rank as u32, awaited.name(), wire::make(count).map(Some)),
            Owner::There(cluster, to) => wire::create(cluster, to, awaited.name(), count)?,
        }
        asked.push((rank, awaited));
    }
    let mut made = Vec::new();
    for (rank, awaited) in asked {
        made.push((rank, handles(&*awaited.get()?).into_iter()));
    }
    // In the order of the turns.
    let next = |rank: i32| made.iter_mut().find(|(of, _)| *of == rank).and_then(|(_, tasks)| tasks.next());
    ranks.into_iter().map(next).collect::<Option<Vec<_>>>().ok_or(RemoteFault::Memory)
}

fn handles(bytes: &Bytes) -> Vec<RemoteHandle> {
    let count = bytes.size() / size_of::<RemoteHandle>();
    // SAFETY: what `wire::make` has written, aligned to 16.
    (0..count).map(|at| unsafe { bytes.address().cast::<RemoteHandle>().add(at).read() }).collect()
}

/// A function of the program, as other ranks know it.
///
/// # Errors
/// It is in no module.
pub fn place(function: usize) -> Result<RemoteFunction, RemoteFault> {
    if function == 0 {
        return Err(RemoteFault::Argument);
    }
    modules::place(function).ok_or(RemoteFault::Function)
}

/// Waits until the tasks have done all that this rank has asked of them.
///
/// # Errors
/// One of them is gone.
pub fn wait(tasks: &[RemoteHandle]) -> Result<(), RemoteFault> {
    let mut sorted: Vec<RemoteHandle> = tasks.to_vec();
    sorted.sort_unstable_by_key(|task| task.rank);
    let mut waits = Vec::new();
    let mut letters = Vec::new();
    for group in sorted.chunk_by(|a, b| a.rank == b.rank) {
        let awaited = AwaitedAnswer::begin(FutureSource::Tasks(group[0].rank));
        let order = PersistentOperation::Fence(group.len() as u64, awaited.name());
        letters.extend(group.iter().map(|&task| TaskLetter { task, order, bytes: &[] }));
        waits.push(awaited);
    }
    ask(&letters)?;
    // All of them, also where one says that something is wrong.
    let ends: Vec<_> = waits.into_iter().map(AwaitedAnswer::get).collect();
    ends.into_iter().try_for_each(|end| end.map(drop))
}

/// Waits until all tasks of all ranks have done what this rank has asked of them.
///
/// # Errors
/// The ranks have parted.
pub fn wait_all() -> Result<(), RemoteFault> {
    let waits = everywhere(false)?;
    waits.into_iter().try_for_each(|awaited| awaited.get().map(drop))
}

/// Frees all tasks of all ranks, when they have done what they were asked.
///
/// # Errors
/// The ranks have parted.
pub fn free_all() -> Result<(), RemoteFault> {
    everywhere(true).map(drop)
}

fn everywhere(free: bool) -> Result<Vec<AwaitedAnswer>, RemoteFault> {
    let ranks = cluster().map_or(1, |cluster| cluster.ranks as i32);
    if let Some(cluster) = cluster() {
        wait_for_copies(cluster).map_err(|_| RemoteFault::Ended)?;
    }
    let ask = |rank| {
        let awaited = AwaitedAnswer::begin(FutureSource::Tasks(rank));
        match owner(rank)? {
            Owner::CurrentThread => wire::ask_all(me() as u32, awaited.name(), free),
            Owner::There(cluster, to) => wire::all(cluster, to, awaited.name(), free)?,
        }
        Ok(awaited)
    };
    (0..ranks).map(ask).collect()
}

// ---- trays ------------------------------------------------------------------

/// Asks for a tray of so many elements.
///
/// # Errors
/// No such type, or more than there is memory for; as [`ask`].
pub fn allocate(at: At, kind: u64, count: u64) -> Result<(), RemoteFault> {
    let kind = ElementType::new(kind)?;
    kind.bytes(count)?;
    one(at.task, PersistentOperation::Allocate(at.tray, kind, count))
}

/// A tray gets a copy of these bytes, which are elements of the type.
///
/// # Errors
/// As [`allocate`].
pub fn write(at: At, kind: u64, bytes: &[u8]) -> Result<(), RemoteFault> {
    let kind = ElementType::new(kind)?;
    if !bytes.len().is_multiple_of(kind.size()) {
        return Err(RemoteFault::Size);
    }
    ask(&[TaskLetter { task: at.task, order: PersistentOperation::Write(at.tray, kind), bytes }])
}

/// What is in a tray, of so many bytes; without, its size and type as two words.
///
/// # Errors
/// No such tray, or of another size; as [`ask`].
pub fn read(at: At, bytes: Option<u64>) -> Result<Arc<Bytes>, RemoteFault> {
    let awaited = AwaitedAnswer::begin(FutureSource::Tray(at.task, at.tray));
    one(at.task, PersistentOperation::Read(at.tray, bytes, awaited.name()))?;
    awaited.get()
}

/// The size of a tray in bytes, and its type.
///
/// # Errors
/// As [`read`].
pub fn about(at: At) -> Result<[u64; 2], RemoteFault> {
    let words = read(at, None)?;
    // SAFETY: two words, aligned to 16 (`perform::describe`).
    Ok(unsafe { words.address().cast::<[u64; 2]>().read() })
}
