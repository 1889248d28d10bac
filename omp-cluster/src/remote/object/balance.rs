//! Balance between ranks: one that has nothing to do asks others for objects for which handlers
//! wait (`OMPX_BALANCE`; PREMA's implicit load balancing, §3).
//!
//! A rank asks when a handler has ended and none is left that could begin. The rules of silence are
//! those of regions that are stolen (`placement::steal::Thief`, `docs/protocols/rank-steal.md`): it
//! asks for a reason only, a few ranks in vain, and then waits until it hears that there is
//! something. Who is asked gives half of the objects for which its own workers have no time, or
//! one, those first for which most handlers wait. They move like any: with what waits for them, and
//! by leave of their homes. Until they have come the rank asks no other rank. The reason: a move
//! can wait for a worker of the victim. A rank that asked again meanwhile got half of the rest each
//! time, until the victim had nothing left and asked others.
//!
//! An object that is being used is not given away, however many handlers wait for it: they would
//! have to wait for the one that runs on either rank.
//!
//! Rejected:
//! * Moving handlers without their objects: the objects are what the handlers are invoked on.
//! * Weights of handlers: they are not known before the handlers have run. The number that waits
//!   for an object is what PREMA's default takes, too.

use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use placement::steal::Thief;

use super::super::{RemoteHandle, me};
use super::local::NextRequest;
use super::{run, table, wire};
use crate::rank::steal::Seeker;
use crate::rank::{Cluster, cluster};
use omp::env::{self, StealAmount};

/// Vain questions in a row after which a rank asks no more. When it is notified of objects, it asks
/// for them at once and does not pass the notice on: the rank that has objects notifies all ranks
/// in need that it knows of.
const TRIES: u32 = 2;

/// Tokens that are left to the team and have not begun.
static TOKENS: AtomicUsize = AtomicUsize::new(0);
/// What the program wants: 0 nothing was said, else 1 and the amount's place in [`AMOUNTS`].
static WANTED: AtomicU8 = AtomicU8::new(0);
const AMOUNTS: [StealAmount; 3] = [StealAmount::Nothing, StealAmount::One, StealAmount::Half];
/// Ranks in [`BalanceState::hungry`]; `usize::MAX` before the list is made.
static HUNGRY: AtomicUsize = AtomicUsize::new(usize::MAX);

struct BalanceState {
    seeker: Seeker,
    /// Objects that were promised and have not come. Those that come because the program wants it
    /// take one off as well, so it may be too few.
    due: usize,
    /// Ranks that got nothing, or never asked, and were not notified of anything since.
    hungry: VecDeque<u32>,
}

static STATE: Mutex<Option<BalanceState>> = Mutex::new(None);

impl BalanceState {
    /// Of this rank of so many.
    fn new(rank: u32, ranks: u32) -> Self {
        let others = (1..ranks).map(|next| (rank + next) % ranks);
        Self {
            seeker: Seeker::new(Thief::with_limits(TRIES, 0), rank, ranks),
            due: 0,
            hungry: others.collect(),
        }
    }

    /// Is nothing on its way that was promised, and may it ask for more?
    fn may_ask(&self) -> bool {
        self.due == 0 && self.seeker.thief.may_ask()
    }

    /// `source` has promised so many objects.
    fn is_answered(&mut self, source: u32, count: usize) {
        self.due += count;
        self.seeker.is_answered(source, count > 0, None);
    }

    /// An object has come.
    fn search_done(&mut self) {
        self.due = self.due.saturating_sub(1);
        self.seeker.thief.region_came(None);
    }

    fn remember(&mut self, thief: u32) {
        if !self.hungry.contains(&thief) {
            self.hungry.push_back(thief);
        }
    }
}

/// Works with the state, under its lock.
fn with<R>(cluster: &Cluster, work: impl FnOnce(&mut BalanceState) -> R) -> R {
    let mut state: MutexGuard<'_, Option<BalanceState>> =
        STATE.lock().unwrap_or_else(PoisonError::into_inner);
    let state = state.get_or_insert_with(|| BalanceState::new(cluster.rank, cluster.ranks));
    let result = work(state);
    // ORDERING: Relaxed; a hint.
    HUNGRY.store(state.hungry.len(), Ordering::Relaxed);
    result
}

/// From here on this rank gives and takes so much.
pub fn set(amount: StealAmount) {
    let place = AMOUNTS.iter().position(|&other| other == amount).unwrap_or(0);
    // ORDERING: Relaxed; a setting that guards nothing.
    WANTED.store(1 + place as u8, Ordering::Relaxed);
}

/// How much this rank gives and takes.
fn amount() -> StealAmount {
    // ORDERING: Relaxed, see `set`.
    match WANTED.load(Ordering::Relaxed) {
        0 => env::settings().ranks.balance,
        place => AMOUNTS[usize::from(place) - 1],
    }
}

/// The other ranks, if there are any and objects are to be balanced.
fn others() -> Option<&'static Cluster> {
    cluster().filter(|cluster| cluster.ranks > 1 && amount() != StealAmount::Nothing)
}

/// A token is left to the team.
pub fn token_begins() {
    // ORDERING: Relaxed; a hint.
    TOKENS.fetch_add(1, Ordering::Relaxed);
}

/// A worker has time for it.
pub fn token_is_over() {
    // ORDERING: Relaxed; a hint.
    TOKENS.fetch_sub(1, Ordering::Relaxed);
}

/// Objects for which handlers wait and no worker has time: as many tokens as there are workers are
/// about to begin.
fn spare() -> usize {
    // ORDERING: Relaxed; a hint.
    let tokens = TOKENS.load(Ordering::Relaxed);
    let about_to = env::settings().scheduling.workers as usize;
    table::loaded().min(tokens.saturating_sub(about_to))
}

/// After a change: if there is more here than workers have time for, a rank that has nothing is
/// notified. Any thread.
pub fn notify() {
    // ORDERING: Relaxed; a hint. A rank that the hint misses is notified at the next change.
    if HUNGRY.load(Ordering::Relaxed) == 0 {
        return;
    }
    let Some(cluster) = others().filter(|_| spare() > 0) else {
        return;
    };
    if let Some(thief) = with(cluster, |state| state.hungry.pop_front()) {
        wire::loaded(thief);
    }
}

/// This rank may have time: if so it asks `first`, or else a victim. While a task of this rank is
/// not over, or by the handler of a message.
pub fn look(first: Option<u32>) {
    let Some(cluster) = others() else { return };
    // ORDERING: Relaxed; a hint.
    if TOKENS.load(Ordering::Relaxed) > 0 || table::loaded() > 0 {
        return;
    }
    let victim = with(cluster, |state| state.may_ask().then(|| state.seeker.asks(cluster, first)));
    if let Some(victim) = victim.flatten() {
        wire::pull(victim);
    }
}

/// `thief` asks. In the handler of its message.
pub fn asked(thief: u32) {
    let most = match amount() {
        StealAmount::Nothing => 0,
        StealAmount::One => spare().min(1),
        StealAmount::Half => spare().div_ceil(2),
    };
    let given = if most == 0 { Vec::new() } else { give(thief, most) };
    if let Some(cluster) = cluster().filter(|_| given.is_empty()) {
        with(cluster, |state| state.remember(thief));
    }
    // Before any of them goes: nothing that is promised comes before the promise.
    wire::pulled(thief, given.len());
    for (object, next) in given {
        run::act(object, next);
    }
}

/// Up to `most` objects that go away as soon as is done what is said.
fn give(thief: u32, most: usize) -> Vec<(RemoteHandle, NextRequest)> {
    let mut loaded = table::all_loaded();
    loaded.sort_unstable_by(|a, b| b.cmp(a));
    let here = me() as u32;
    let send_away = |(_, object): (usize, RemoteHandle)| {
        let next = table::with(object, |entry| {
            let may_go = entry.local.as_ref().is_some_and(|local| local.is_loaded());
            may_go.then(|| entry.send_away(here, thief))
        });
        next.map(|next| (object, next))
    };
    loaded.into_iter().filter_map(send_away).take(most).collect()
}

/// [`asked`] has been answered by `source`.
pub fn answered(source: u32, count: usize) {
    let Some(cluster) = cluster() else { return };
    with(cluster, |state| state.is_answered(source, count));
    if count == 0 {
        look(None);
    }
}

/// `source` says that it has objects to give.
pub fn announced(source: u32) {
    let Some(cluster) = cluster() else { return };
    with(cluster, |state| state.seeker.thief.region_came(None));
    look(Some(source));
}

/// An object has come: there may be more.
pub fn search_done() {
    let Some(cluster) = cluster().filter(|cluster| cluster.ranks > 1) else { return };
    with(cluster, BalanceState::search_done);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_promised_objects_asks_nobody_until_they_have_come() {
        let mut state = BalanceState::new(0, 4);
        assert!(state.may_ask());
        state.seeker.thief.asks();
        state.is_answered(2, 2);
        assert!(!state.may_ask());
        state.search_done();
        assert!(!state.may_ask(), "one is still to come");
        state.search_done();
        assert!(state.may_ask());
        state.search_done();
        state.seeker.thief.asks();
        state.is_answered(2, 1);
        assert!(!state.may_ask(), "one that nobody had promised does not count");
    }
}
