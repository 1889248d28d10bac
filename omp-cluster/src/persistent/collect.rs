//! Transfers between trays: to one task, to many, from many.
//!
//! All of them are sends and receptions of parcels that have a key in common. What comes from many
//! is joined or combined by the one who receives it, in the order of the list: the answer does not
//! depend on where tasks are, nor on who was first.

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;

use super::calls::{At, TaskLetter, ask, place};
use super::kind::{CombineRule, ElementType};
use super::order::{Delivery, Key, NO_FUNCTION, PersistentOperation, TrayRule};
use crate::remote::{RemoteFault, me};

/// The most trays of a list.
const MOST: usize = 1 << 24;

static SERIAL: AtomicU64 = AtomicU64::new(0);

fn key() -> Key {
    // ORDERING: Relaxed; only unique.
    Key { rank: me() as u32, serial: SERIAL.fetch_add(1, Ordering::Relaxed), part: 0 }
}

fn listed(list: &[At]) -> Result<(), RemoteFault> {
    if list.is_empty() || list.len() > MOST { Err(RemoteFault::Count) } else { Ok(()) }
}

fn send<'a>(from: At, key: Key, parts: u32, to: &'a [Delivery]) -> TaskLetter<'a> {
    TaskLetter {
        task: from.task,
        order: PersistentOperation::Send(from.tray, key, parts),
        bytes: Delivery::bytes(to),
    }
}

fn take(into: At, key: Key, parcels: u32, how: TrayRule) -> TaskLetter<'static> {
    TaskLetter { task: into.task, order: PersistentOperation::Take(into.tray, key, parcels, how), bytes: &[] }
}

/// One tray becomes a copy of another.
///
/// # Errors
/// As [`ask`].
pub fn send_recv(from: At, into: At) -> Result<(), RemoteFault> {
    broadcast(from, &[into])
}

/// Trays become copies of one. It may be among them.
///
/// # Errors
/// The list is empty; as [`ask`].
pub fn broadcast(from: At, into: &[At]) -> Result<(), RemoteFault> {
    listed(into)?;
    let key = key();
    let others: Vec<&At> = into.iter().filter(|&&at| at != from).collect();
    let mut takers: BTreeMap<i32, u32> = BTreeMap::new();
    for at in &others {
        *takers.entry(at.task.rank).or_default() += 1;
    }
    let to: Vec<Delivery> = takers
        .iter()
        .map(|(&rank, &takers)| Delivery { rank: rank as u32, part: 0, takers, slice: 0 })
        .collect();
    let mut letters = vec![send(from, key, 0, &to)];
    letters.extend(others.iter().map(|&&at| take(at, key, 1, TrayRule::Whole)));
    ask(&letters)
}

/// Trays become parts of one, in order.
///
/// # Errors
/// As [`broadcast`].
pub fn scatter(from: At, into: &[At]) -> Result<(), RemoteFault> {
    listed(into)?;
    let key = key();
    let part = |(at, tray): (usize, &At)| Delivery {
        rank: tray.task.rank as u32,
        part: at as u32,
        takers: 1,
        slice: at as u32,
    };
    let to: Vec<Delivery> = into.iter().enumerate().map(part).collect();
    let mut letters = vec![send(from, key, into.len() as u32, &to)];
    letters.extend(
        into.iter()
            .enumerate()
            .map(|(at, &tray)| take(tray, Key { part: at as u32, ..key }, 1, TrayRule::Whole)),
    );
    ask(&letters)
}

/// A tray becomes all of the list's, one behind the other.
///
/// # Errors
/// As [`broadcast`].
pub fn gather(from: &[At], into: At) -> Result<(), RemoteFault> {
    collect(from, into, TrayRule::Joined)
}

fn collect(from: &[At], into: At, how: TrayRule) -> Result<(), RemoteFault> {
    listed(from)?;
    let key = key();
    let part = |at: usize| Delivery { rank: into.task.rank as u32, part: at as u32, takers: 1, slice: 0 };
    let to: Vec<Delivery> = (0..from.len()).map(part).collect();
    let mut letters: Vec<TaskLetter<'_>> =
        from.iter().zip(to.chunks(1)).map(|(&tray, to)| send(tray, key, 0, to)).collect();
    letters.push(take(into, key, from.len() as u32, how));
    ask(&letters)
}

/// How a program wants elements combined.
pub fn how(kind: u64, rule: i32, function: usize) -> Result<TrayRule, RemoteFault> {
    let kind = ElementType::new(kind)?;
    let rule = CombineRule::new(rule, kind)?;
    let place = if rule == CombineRule::User { place(function)? } else { NO_FUNCTION };
    Ok(TrayRule::Combined(kind, rule, place))
}

/// A tray becomes what the list's are when combined.
///
/// # Errors
/// As [`broadcast`].
pub fn reduce(from: &[At], into: At, how: TrayRule) -> Result<(), RemoteFault> {
    collect(from, into, how)
}

/// So do all of a list.
///
/// # Errors
/// As [`broadcast`].
pub fn reduce_to_all(from: &[At], into: &[At], how: TrayRule) -> Result<(), RemoteFault> {
    listed(into)?;
    collect(from, into[0], how)?;
    if into.len() == 1 { Ok(()) } else { broadcast(into[0], &into[1..]) }
}
