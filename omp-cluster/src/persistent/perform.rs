//! Carrying operations out, when they may begin.

use std::sync::Arc;

use super::kind::{CombineRule, Combiner, ElementType};
use super::order::{AwaitedFuture, Delivery, Key, PersistentOperation, RemoteFunction, TrayRule};
use super::run::PersistentRun;
use super::task::{PersistentJob, PersistentTask, forget};
use super::tray::{Tray, TrayParcel};
use super::{fences, numbered, parcels, wire};
use crate::rank::cluster;
use crate::rank::remote::wait_for_copies;
use crate::rank::wire::bytes as words_as_bytes;
use crate::remote::check::occurrence::RankOccurrence;
use crate::remote::check::waits;
use crate::remote::wire::lost;
use crate::remote::{RemoteFault, begin_function, me};
use omp::report;
use omp_offload::bytes::Bytes;

/// Does what is asked, and says so if it cannot be done.
pub fn perform(task: &Arc<PersistentTask>, job: PersistentJob) {
    let (order, source) = (job.order, job.source.rank);
    match carry_out(task, job) {
        Ok(()) => {}
        Err(RemoteFault::Memory) => lost(format_args!(
            "out of memory: rank {source} asked task {} of rank {} {order}",
            task.name.id,
            me()
        )),
        Err(why) => complain(source, task.name.id, order, why),
    }
}

/// Who has asked has gone on: a line here says what was wrong.
pub fn complain(source: u32, task: u32, order: PersistentOperation, why: RemoteFault) {
    report::warn(format_args!(
        "rank {source} asked task {task} of rank {} {order}: {why}; nothing is changed",
        me()
    ));
}

fn carry_out(task: &Arc<PersistentTask>, job: PersistentJob) -> Result<(), RemoteFault> {
    match job.order {
        PersistentOperation::Set(place) => task.state().procedure = Some(place),
        PersistentOperation::Execute => return execute(task, &job.bytes, job.source.depth),
        PersistentOperation::Free => {
            numbered::ends_here(task.name);
            forget(task.name);
            let trays = core::mem::take(&mut task.state().trays);
            drop(trays);
        }
        PersistentOperation::Allocate(tray, kind, count) => put(task, tray, Tray::zeroed(kind, count)?),
        PersistentOperation::Drop(tray) => {
            let gone = task.state().trays.remove(&tray);
            return gone.map(drop).ok_or(RemoteFault::Tray);
        }
        PersistentOperation::DropAll => {
            let gone = core::mem::take(&mut task.state().trays);
            drop(gone);
        }
        PersistentOperation::Write(tray, kind) => put(task, tray, Tray::of(kind, job.bytes)),
        PersistentOperation::Read(tray, bytes, wanted) => read(task, tray, bytes, job.source.rank, wanted),
        PersistentOperation::Fence(of, wanted) => fences::reached(job.source.rank, wanted, of, None),
        PersistentOperation::Send(tray, key, parts) => {
            return send(task, tray, key, parts, job.bytes.as_slice());
        }
        PersistentOperation::Take(tray, _, _, how) => {
            return take(task, tray, job.parcels, how, job.source.depth);
        }
    }
    Ok(())
}

fn put(task: &PersistentTask, tray: u32, content: Tray) {
    let before = task.state().trays.insert(tray, content);
    drop(before);
}

/// Where a function of the program lies here.
fn function(place: RemoteFunction) -> usize {
    place.here().unwrap_or_else(|| {
        lost(format_args!(
            "a function of a module that is not loaded here, or another version of it, was asked for"
        ))
    })
}

/// A procedure: `ompx_procedure`.
type Procedure = unsafe extern "C-unwind" fn(run: *const PersistentRun, args: *const u8, bytes: usize);

fn execute(task: &Arc<PersistentTask>, args: &Bytes, depth: u8) -> Result<(), RemoteFault> {
    let place = task.state().procedure.ok_or(RemoteFault::Procedure)?;
    let run = PersistentRun::new(Arc::clone(task));
    begin_function(depth);
    let function = function(place);
    let noted = waits::runs(function, || vec![RankOccurrence::Execution(task.name)]);
    // SAFETY: the promise of who has set it, for the same function of the same module.
    unsafe {
        let procedure = core::mem::transmute::<usize, Procedure>(function);
        procedure(&raw const run, args.address(), args.size());
    }
    drop(noted);
    // Who hears of the end may rely on what it has copied elsewhere.
    if let Some(cluster) = cluster() {
        drop(wait_for_copies(cluster));
    }
    Ok(())
}

fn read(task: &PersistentTask, tray: u32, bytes: Option<u64>, source: u32, wanted: AwaitedFuture) {
    let found = task.state().trays.get(&tray).cloned();
    let answer = match (found, bytes) {
        (None, _) => Err(RemoteFault::Tray),
        (Some(tray), None) => describe(&tray),
        (Some(tray), Some(bytes)) if tray.data.size() as u64 == bytes => Ok(tray),
        (Some(_), Some(_)) => Err(RemoteFault::Size),
    };
    wire::reply(source, wanted, answer.map(Some));
}

/// Size and type, as two words.
fn describe(tray: &Tray) -> Result<Tray, RemoteFault> {
    Bytes::of(words_as_bytes(&[tray.data.size() as u64, tray.kind.0]))
        .map(|bytes| Tray::of(ElementType::BYTE, bytes))
        .ok_or(RemoteFault::Memory)
}

/// Sends a tray. If there is none, the tasks that wait for it are notified.
fn send(
    task: &PersistentTask,
    tray: u32,
    key: Key,
    parts: u32,
    deliveries: &[u8],
) -> Result<(), RemoteFault> {
    let found = task.state().trays.get(&tray).cloned();
    deliver(found.as_ref(), key, parts, deliveries)?;
    found.map(drop).ok_or(RemoteFault::Tray)
}

/// Sends what there is to all that take it.
///
/// # Errors
/// There is no memory for a part.
pub fn deliver(tray: Option<&Tray>, key: Key, parts: u32, deliveries: &[u8]) -> Result<(), RemoteFault> {
    for to in Delivery::read(deliveries) {
        let key = Key { part: to.part, ..key };
        let range = tray.map_or(0..0, |tray| {
            if parts == 0 { 0..tray.data.size() } else { tray.part(to.slice as usize, parts as usize) }
        });
        match cluster().filter(|cluster| cluster.rank != to.rank) {
            Some(cluster) => wire::parcel(cluster, to.rank, key, to.takers, tray, range),
            None => {
                let parcel = match tray {
                    Some(tray) if range.len() != tray.data.size() => {
                        let copy = Bytes::of(tray.bytes(&range));
                        Some(Tray::of(tray.kind, copy.ok_or(RemoteFault::Memory)?))
                    }
                    whole => whole.cloned(),
                };
                parcels::came(key, to.takers as usize, &parcel);
            }
        }
    }
    Ok(())
}

/// A tray becomes what has come; so many target regions are around who has asked for it.
fn take(
    task: &PersistentTask,
    tray: u32,
    parcels: Vec<TrayParcel>,
    how: TrayRule,
    depth: u8,
) -> Result<(), RemoteFault> {
    // Where one had nothing to send, its rank has said so.
    let Some(all) = parcels.into_iter().collect::<Option<Vec<Tray>>>() else {
        return Ok(());
    };
    let result = match how {
        TrayRule::Whole => all.into_iter().next().ok_or(RemoteFault::Tray)?,
        TrayRule::Joined => joined(&all)?,
        TrayRule::Combined(kind, rule, place) => combined(all, kind, rule, place, depth)?,
    };
    put(task, tray, result);
    Ok(())
}

fn joined(all: &[Tray]) -> Result<Tray, RemoteFault> {
    let kind = all.first().ok_or(RemoteFault::Tray)?.kind;
    if all.iter().any(|tray| tray.kind != kind) {
        return Err(RemoteFault::Type);
    }
    let total = all.iter().map(|tray| tray.data.size()).sum();
    let result = Bytes::zeroed(total).ok_or(RemoteFault::Memory)?;
    let mut at = result.address();
    for part in all.iter().filter(|part| part.data.size() != 0) {
        // SAFETY: room for all of them was made, and no other thread knows of it.
        unsafe {
            core::ptr::copy_nonoverlapping(part.data.address(), at, part.data.size());
            at = at.add(part.data.size());
        }
    }
    Ok(Tray::of(kind, result))
}

fn combined(
    all: Vec<Tray>,
    kind: ElementType,
    rule: CombineRule,
    place: RemoteFunction,
    depth: u8,
) -> Result<Tray, RemoteFault> {
    let size = all.first().map_or(0, |tray| tray.data.size());
    if all.iter().any(|tray| tray.kind != kind) {
        return Err(RemoteFault::Type);
    }
    if all.iter().any(|tray| tray.data.size() != size) {
        return Err(RemoteFault::Size);
    }
    let mut parts = all.into_iter();
    let mut result = parts.next().ok_or(RemoteFault::Tray)?;
    let into = result.own()?;
    if rule == CombineRule::User {
        begin_function(depth);
    }
    for part in parts.filter(|_| size != 0) {
        let (from, count) = (part.data.address().cast_const(), part.count());
        if rule == CombineRule::User {
            // SAFETY: the promise of who has named it; our own elements, and those of the part.
            unsafe { core::mem::transmute::<usize, Combiner>(function(place))(into, from, count) };
        } else {
            // SAFETY: as many elements of that type in both, aligned as `Bytes` are; `into` is ours
            // alone.
            unsafe { rule.combine(kind, into, from, count) };
        }
    }
    Ok(result)
}
