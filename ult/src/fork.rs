//! ULTs that have not started, and where a forking context puts them (ICS '21, Algorithm 1).
//!
//! A [`Seed`] lies in the forker's memory; a fork hands out pointers. Stacks are taken when a ULT first runs.
//!
//! *Gang* ([`gang()`]): one lock is held while the next id is taken and all ULTs of the gang are pushed, as in the paper.
//! The model shows that it must be so: with ids taken first and pushes interleaved two gangs of one level can each find
//! a place behind the other's spinning thread (`docs/models/gang.md`). What is not under the lock: reading the loads,
//! choosing workers, waking them. A team that stays on workers of its own takes its id without the lock as long as no gang has
//! ever been queued in the process.
//!
//! *Without a gang* ([`plain`]): onto the forking worker's own deque, newest first for itself, oldest first for thieves.
//!
//! Rejected: a ticket by which gangs become visible in the order of their ids (correct in the model too, but a forker that
//! loses its core between ticket and push stops all forks, as a lock does, without being one that waiters can sleep on).

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, Ordering};

use crate::gang::reserve::reserve;
use crate::gang::{self, GangTag};
use crate::identity::{self, Identity};
use crate::pool::ForkMutex;
use crate::sched::wake_idle;
use crate::worker::{self, Worker};

/// In the group of a queued gang ULT: it runs where it was put.
pub(crate) const PLACED: u32 = 1 << 31;

/// A ULT that has not started. It is not moved or changed between a fork and the call of `end`, which may free it.
pub struct Seed {
    /// Its first function.
    pub run: unsafe fn(*mut ()),
    /// Called with the argument when the ULT has ended and wears its identity no more: the last use of the seed. Must not wait.
    pub end: unsafe fn(*mut ()),
    /// The argument.
    pub data: *mut (),
    /// The gang of the context that forked it, which a ULT without a gang of its own runs for.
    pub tag: GangTag,
    /// Code address of its parallel region.
    pub region: usize,
    /// Whose it is: [`Worker::group`] of the program's kernel thread at the root.
    pub group: u32,
    /// The storage it runs with; `None`: one is borrowed from its start to its end.
    pub identity: Option<&'static Identity>,
}

// SAFETY: a seed is read by the forker before the fork and by the one worker that takes it afterwards.
unsafe impl Sync for Seed {}
// SAFETY: as above.
unsafe impl Send for Seed {}

/// The identity of a ULT while it runs.
#[derive(Clone, Copy)]
pub(crate) enum Dress {
    /// Its thread's own.
    Kept(&'static Identity),
    /// Borrowed for the ULT.
    Borrowed(&'static Identity),
    /// Identities are not used, or none could be borrowed: the worker's.
    Shared,
}

impl Seed {
    pub(crate) fn identity(&self) -> Dress {
        match self.identity {
            Some(identity) => Dress::Kept(identity),
            None if worker::uses_identities() => identity::borrow().map_or(Dress::Shared, Dress::Borrowed),
            None => Dress::Shared,
        }
    }
}

impl Dress {
    pub(crate) fn or_native(self, worker: &'static Worker) -> Option<&'static Identity> {
        match self {
            Self::Kept(identity) | Self::Borrowed(identity) => Some(identity),
            // SAFETY: own kernel thread (the runner that starts the ULT).
            Self::Shared => unsafe { (*worker.own()).native_identity },
        }
    }

    /// The ULT has ended and nobody wears its identity.
    pub(crate) fn end(self) {
        if let Self::Borrowed(identity) = self {
            identity::give_back(identity);
        }
    }
}

static FORK: ForkMutex<()> = ForkMutex::new(());
static EVER_QUEUED: AtomicBool = AtomicBool::new(false);

/// A gang id for a team that stays on workers of its own; `publish` starts the team.
pub fn resident_gang(level: i32, publish: impl FnOnce(GangTag)) {
    // ORDERING: Relaxed; who queued the first gang and who comes here are ordered by nothing, and need not be: see the
    // module.
    let _lock = EVER_QUEUED.load(Ordering::Relaxed).then(|| FORK.lock());
    publish(GangTag { id: gang::next_id(), level });
}

/// Forks a gang: takes its id, `publish`es the tag to whoever needs it before the first ULT runs, and queues the seeds, which
/// are called for by number, at the least loaded workers that may run them, nearest first. `place` names the worker for a
/// ULT that must run there. The calling context runs for the gang afterwards at the caller's hands.
///
/// The seeds' `group`s are the same. `home` is the program's kernel thread at their root.
pub fn gang<'a>(
    count: usize,
    level: i32,
    home: &'static Worker,
    seed: impl Fn(usize) -> &'a Seed,
    place: Option<&dyn Fn(usize) -> Option<&'static Worker>>,
    publish: impl FnOnce(GangTag),
) -> GangTag {
    let group = home.group();
    let targets = Targets::choose(count, group);
    // ORDERING: Relaxed; see `resident_gang`.
    EVER_QUEUED.store(true, Ordering::Relaxed);
    let tag;
    {
        let _lock = FORK.lock();
        tag = GangTag { id: gang::next_id(), level };
        publish(tag);
        for i in 0..count {
            let placed = place.and_then(|place| place(i));
            let target = placed.unwrap_or(targets.of(i));
            target.count_gang_load(1);
            let mark = if placed.is_some() { PLACED } else { 0 };
            // SAFETY: under the lock, so one at a time; seeds may go to any worker (`Seed`).
            unsafe { target.gang_deque.push(NonNull::from(seed(i)), tag, group | mark) };
        }
    }
    targets.wake(count, group, place);
    tag
}

/// The workers of a fork, by number of the ULT.
struct Targets {
    workers: Vec<&'static Worker>,
    chosen: Vec<usize>,
}

impl Targets {
    fn choose(count: usize, group: u32) -> Self {
        let me = worker::register_current();
        let mut workers: Vec<&'static Worker> =
            (0..worker::table_len()).filter_map(worker::at).filter(|w| w.accepts(group) && !w.is_standing_in()).collect();
        let at = workers.iter().position(|w| ptr::eq(*w, me)).unwrap_or_else(|| {
            workers.push(me);
            workers.len() - 1
        });
        let loads: Vec<u32> = workers.iter().map(|w| w.gang_load()).collect();
        let in_flight = loads.iter().sum();
        let mut chosen = Vec::new();
        reserve(count, at, &loads, in_flight, &|_| 0, &mut chosen);
        Self { workers, chosen }
    }

    fn of(&self, i: usize) -> &'static Worker {
        self.workers[self.chosen[i]]
    }

    /// Wakes those that have something to start; where one is busy, somebody who may steal it.
    fn wake(&self, count: usize, group: u32, place: Option<&dyn Fn(usize) -> Option<&'static Worker>>) {
        for i in 0..count {
            let placed = place.and_then(|place| place(i));
            let target = placed.unwrap_or(self.of(i));
            target.publish_crowd();
            if !target.wake() && placed.is_none() {
                wake_idle(group);
            }
        }
    }
}

/// Queues `count` seeds at the calling worker and wakes workers that may take them.
pub fn plain<'a>(count: usize, seed: impl Fn(usize) -> &'a Seed) {
    let me = worker::register_current();
    for i in (0..count).rev() {
        // SAFETY: own kernel thread: the deque's owner; seeds may go to any worker.
        unsafe { me.ults.push(NonNull::from(seed(i))) };
    }
    me.publish_crowd();
    for i in 0..count {
        if !wake_idle(seed(i).group) {
            break;
        }
    }
}

/// The switch point at a fork, after the queueing: older gangs' ULTs in the forking worker's own deque run before the
/// forking context goes on. Without it two gangs can each wait behind the other's thread 0.
pub fn give_way_to_older() {
    crate::sched::give_way();
}

/// In the child of a fork.
///
/// # Safety
/// Only in the child of a fork, before it has a second thread.
pub(crate) unsafe fn forget_after_fork() {
    // SAFETY: as the caller says.
    unsafe { FORK.forget(()) };
}
