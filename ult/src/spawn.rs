//! ULTs that have not started, and the queues in which a forking context puts them (ICS '21,
//! Algorithm 1).
//!
//! An [`UltStart`] lies in the memory of the forking context; a fork hands out pointers to it. A
//! ULT gets its stack when it first runs. What does not live here: the choice of the start that
//! runs next ([`crate::sched`]).
//!
//! *Gang* ([`gang()`]): one lock is held while the gang gets its id and all its ULTs are pushed, as
//! in the paper. The model shows that this is necessary. Suppose that ids are taken first and
//! pushes interleave: then each of two gangs of one level can be queued behind the other's spinning
//! thread (`docs/models/gang.md`). The loads are read, and the workers are chosen and woken,
//! outside of the lock. A team with assigned workers takes its id without the lock, as long as no
//! gang has ever been queued in the process.
//!
//! *Without a gang* ([`plain`]): the ULTs go to the forking worker's own deque. The worker takes
//! the newest one first, thieves take the oldest one first.
//!
//! *For idle workers* ([`offers`]): the ULTs go to one list of the process.
//!
//! Rejected: a ticket by which gangs become visible in the order of their ids. It is correct in the
//! model too. But a forking thread that loses its core between ticket and push stops all forks. A
//! lock does the same, and waiting threads can sleep on it.

pub mod offers;
pub(crate) mod start;
pub(crate) mod targets;
pub(crate) mod ult_tls_block;

pub use start::{SpawnGroup, UltStart};

use start::PLACED;
use targets::SpawnTargets;

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, Ordering, fence};

use crate::gang::reserve::{prefer, reserve};
use crate::gang::{self, GangTag};
use crate::observer::{self, SchedulerEvent};
use crate::pool::share;
use crate::sys::fork::ForkMutex;
use crate::topology::distance;
use crate::worker::record::Worker;
use crate::worker::table::{self, wake_idle_behind_fence};
use crate::worker::words::here;

static FORK: ForkMutex<()> = ForkMutex::new(());
static EVER_QUEUED: AtomicBool = AtomicBool::new(false);

/// Takes a gang id for a team with assigned workers; `publish` starts the team.
pub fn assigned_gang(level: i32, publish: impl FnOnce(GangTag)) {
    // ORDERING: Relaxed; no order exists between the thread that queued the first gang and the
    // calling thread, and none is needed: see the module.
    let _lock = EVER_QUEUED.load(Ordering::Relaxed).then(|| FORK.lock());
    publish(GangTag { id: gang::next_id(), level });
}

/// Forks a gang and returns its tag. The steps are:
///
/// 1. It takes the gang's id.
/// 2. It calls `publish` with the tag, for all code that needs the tag before the first ULT runs.
/// 3. It queues the starts at the least loaded workers that may run them, nearest first.
///
/// `ult_start` returns the start with a given number. `place` names the worker of a ULT that must
/// run there. `near` names the processors near which a ULT should run, if possible. The caller
/// makes the calling context run for the gang afterwards.
///
/// The starts are of one spawn group. `root_worker` is the worker of the program's kernel thread at
/// their root.
pub fn gang<'a>(
    count: usize,
    level: i32,
    root_worker: &'static Worker,
    ult_start: impl Fn(usize) -> &'a UltStart,
    place: Option<&dyn Fn(usize) -> Option<&'static Worker>>,
    near: Option<&dyn Fn(usize) -> &'static [usize]>,
    publish: impl FnOnce(GangTag),
) -> GangTag {
    let me = here();
    let group = root_worker.group();
    // SAFETY: own kernel thread. The field is taken out, because `ult_start` and the other closures
    // are the caller's code.
    let mut targets = core::mem::take(unsafe { &mut (*me.own()).starts.targets });
    targets.choose(me, count, group, near);
    // ORDERING: Relaxed, both; see `assigned_gang`.
    if !EVER_QUEUED.load(Ordering::Relaxed) {
        // ORDERING: as above.
        EVER_QUEUED.store(true, Ordering::Relaxed);
    }
    let tag;
    {
        let _lock = FORK.lock();
        targets.expect(level);
        tag = GangTag { id: gang::next_id(), level };
        publish(tag);
        match place {
            Some(place) => targets.push_placed(count, group, tag, &ult_start, place),
            None => targets.push(group, tag, &ult_start),
        }
    }
    observer::notify(|| SchedulerEvent::Gang { id: tag.id, level, size: count as u32 });
    match place {
        Some(place) => targets.wake_placed(count, group, place),
        None => targets.wake(group),
    }
    // SAFETY: own kernel thread, because a fork does not wait.
    unsafe { (*me.own()).starts.targets = targets };
    tag
}

impl SpawnTargets {
    fn choose(
        &mut self,
        me: &'static Worker,
        count: usize,
        group: u32,
        near: Option<&dyn Fn(usize) -> &'static [usize]>,
    ) {
        self.workers.clear();
        let all = (0..table::table_len()).filter_map(table::at);
        self.workers.extend(all.filter(|w| w.accepts(group) && !w.is_standing_in() && !w.is_withdrawn()));
        let workers = &mut self.workers;
        let at = workers.iter().position(|w| ptr::eq(*w, me)).unwrap_or_else(|| {
            workers.push(me);
            workers.len() - 1
        });
        let at = share_out(workers, at);
        let pair = (workers.len() == 2).then_some((count, at));
        if pair.is_some() && pair == self.pair {
            return; // with two workers the loads decide nothing: the other and the forking one alternate
        }
        self.pair = pair;
        self.loads.clear();
        self.loads.extend(workers.iter().map(|w| w.gang_load()));
        let (loads, in_flight) = (&self.loads, self.loads.iter().sum());
        reserve(count, at, loads, in_flight, &seats(me, workers), &mut self.chosen);
        if let Some(near) = near {
            let at_processor = by_processor(workers);
            let wanted = |i: usize, free: &dyn Fn(usize) -> bool| {
                near(i)
                    .iter()
                    .find_map(|&cpu| at_processor.get(cpu).copied().flatten().filter(|&worker| free(worker)))
            };
            prefer(at, loads, in_flight, wanted, &mut self.chosen);
        }
        self.sort();
    }

    /// Writes `order` and `ends`: a counting sort.
    fn sort(&mut self) {
        self.ends.clear();
        self.ends.resize(self.workers.len(), 0);
        self.chosen.iter().for_each(|&worker| self.ends[worker] += 1);
        let mut total = 0;
        for end in &mut self.ends {
            total += *end;
            *end = total - *end;
        }
        self.order.clear();
        self.order.resize(total, 0);
        for (i, &worker) in self.chosen.iter().enumerate() {
            self.order[self.ends[worker]] = i;
            self.ends[worker] += 1;
        }
    }

    /// Each worker that gets ULTs, with the numbers of these ULTs.
    fn shares(&self) -> impl Iterator<Item = (&'static Worker, &[usize])> {
        let begins = core::iter::once(0).chain(self.ends.iter().copied());
        let parts = self.workers.iter().zip(begins.zip(&self.ends));
        parts
            .map(|(worker, (begin, &end))| (*worker, &self.order[begin..end]))
            .filter(|(_, part)| !part.is_empty())
    }

    /// Under the fork lock: prefetches the cache lines that `push` writes soon, from all workers at
    /// once.
    fn expect(&self, level: i32) {
        for (target, _) in self.shares() {
            // SAFETY: under the lock.
            unsafe { target.gang_deque.expect(level) };
            target.watched.expect_crowd();
        }
    }

    /// Under the fork lock: pushes the ULTs. The ULTs of one worker are counted there with one
    /// write.
    fn push<'a>(&self, group: u32, tag: GangTag, ult_start: &impl Fn(usize) -> &'a UltStart) {
        for (target, part) in self.shares() {
            target.count_gang_load(part.len() as i32);
            // SAFETY: under the lock, so only one thread pushes; starts may go to any worker
            // (`UltStart`).
            unsafe {
                target.gang_deque.push_all(part.iter().map(|&i| NonNull::from(ult_start(i))), tag, group)
            };
        }
    }

    /// Wakes the workers that have something to start. If such a worker is busy, idle workers are
    /// woken that may steal from it.
    fn wake(&self, group: u32) {
        // ORDERING: SeqCst, one fence for all looks below: pairs with the fences in `park_unless`
        // and `recount`. Either the worker sees the queued ULTs, or this thread sees that the
        // worker sleeps.
        fence(Ordering::SeqCst);
        for (target, part) in self.shares() {
            target.publish_crowd_behind_fence();
            if !target.unpark_behind_fence() {
                let mut thieves = 0..part.len();
                while self.workers.len() > 1 && thieves.next().is_some() && wake_idle_behind_fence(group) {}
            }
        }
    }

    /// [`SpawnTargets::push`] for ULTs with places, under the fork lock.
    fn push_placed<'a>(
        &self,
        count: usize,
        group: u32,
        tag: GangTag,
        ult_start: &impl Fn(usize) -> &'a UltStart,
        place: &dyn Fn(usize) -> Option<&'static Worker>,
    ) {
        for i in 0..count {
            let placed = place(i);
            let target = placed.unwrap_or(self.of(i));
            target.count_gang_load(1);
            let mark = if placed.is_some() { PLACED } else { 0 };
            // SAFETY: as in `push`.
            unsafe { target.gang_deque.push(NonNull::from(ult_start(i)), tag, group | mark) };
        }
    }

    /// [`SpawnTargets::wake`] for ULTs with places.
    fn wake_placed(&self, count: usize, group: u32, place: &dyn Fn(usize) -> Option<&'static Worker>) {
        for i in 0..count {
            let placed = place(i);
            let target = placed.unwrap_or(self.of(i));
            target.publish_crowd();
            if !target.unpark() && placed.is_none() && self.workers.len() > 1 {
                wake_idle_behind_fence(group); // after the fence of `unpark`
            }
        }
    }

    fn of(&self, i: usize) -> &'static Worker {
        self.workers[self.chosen[i]]
    }
}

/// Cuts `workers` down to the number that have a processor beside the program's other kernel
/// threads in regions. The least loaded workers stay, and so does the forking one, whose index is
/// `me`. Returns its new index.
fn share_out(workers: &mut Vec<&'static Worker>, me: usize) -> usize {
    let share = share::share();
    if workers.len() <= share {
        return me;
    }
    workers.swap(0, me);
    // The loads change meanwhile; each is read once, because a sort may panic if they do.
    workers[1..].sort_by_cached_key(|w| w.gang_load());
    workers.truncate(share);
    0
}

/// For each processor: the index of a worker that was last seen there.
fn by_processor(workers: &[&Worker]) -> Vec<Option<usize>> {
    let sites = || workers.iter().enumerate().filter_map(|(at, worker)| Some((at, worker.site.get()?)));
    let mut found = vec![None; sites().map(|(_, cpu)| cpu + 1).max().unwrap_or(0)];
    sites().for_each(|(at, cpu)| found[cpu] = Some(at));
    found
}

/// How near each worker is to the forking one: the `classes` of `reserve`. Empty where all are
/// equally near.
fn seats(me: &Worker, workers: &[&Worker]) -> Vec<u8> {
    if workers.len() <= 2 {
        return Vec::new(); // there is one other worker
    }
    let Some(distances) = distance::distances() else { return Vec::new() };
    let Some(here) = me.site.note() else { return Vec::new() };
    workers
        .iter()
        .map(|worker| worker.site.get().map_or(u8::MAX, |there| distances.preference(here, there)))
        .collect()
}

/// Queues `count` starts of one spawn group at the calling worker and wakes workers that may take
/// them.
pub fn plain<'a>(count: usize, ult_start: impl Fn(usize) -> &'a UltStart) {
    let me = here();
    if count == 0 {
        return;
    }
    let group = ult_start(0).spawn_group().group; // read before the push: then the starts may change
    for i in (0..count).rev() {
        // SAFETY: own kernel thread, the owner of the deque; starts may go to any worker.
        unsafe { me.ults.push(NonNull::from(ult_start(i))) };
    }
    // ORDERING: SeqCst, one fence for all looks below, as in `SpawnTargets::wake`.
    fence(Ordering::SeqCst);
    me.publish_crowd_behind_fence();
    let mut thieves = 0..count;
    while thieves.next().is_some() && wake_idle_behind_fence(group) {}
}

/// The switch point of a fork, after the ULTs have been queued: older gangs' ULTs in the forking
/// worker's own deque run before the forking context continues. Without it each of two gangs can
/// wait behind the other's thread 0.
pub fn yield_to_older() {
    crate::sched::yielding::yield_to_others();
}

/// Makes the queues usable in the child of a fork.
///
/// # Safety
/// Only in the child of a fork, before it has a second thread.
pub(crate) unsafe fn forget_after_fork() {
    // SAFETY: as the caller says.
    unsafe {
        FORK.forget(());
        offers::forget_after_fork();
    }
}
