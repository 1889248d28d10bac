//! ULTs that have not started, and where a forking context puts them (ICS '21, Algorithm 1).
//!
//! A [`UltStart`] lies in the forker's memory; a fork hands out pointers. Stacks are taken when a
//! ULT first runs.
//!
//! *Gang* ([`gang()`]): one lock is held while the next id is taken and all ULTs of the gang are
//! pushed, as in the paper. The model shows that it must be so: with ids taken first and pushes
//! interleaved two gangs of one level can each find a place behind the other's spinning thread
//! (`docs/models/gang.md`). What is not under the lock: reading the loads, choosing workers, waking
//! them. A team that stays on workers of its own takes its id without the lock as long as no gang
//! has ever been queued in the process.
//!
//! *Without a gang* ([`plain`]): onto the forking worker's own deque, newest first for itself,
//! oldest first for thieves.
//!
//! *For whoever is idle* ([`offers`]): on a list of the process.
//!
//! Rejected: a ticket by which gangs become visible in the order of their ids (correct in the model
//! too, but a forker that loses its core between ticket and push stops all forks, as a lock does,
//! without being one that waiters can sleep on).

pub mod offers;

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, Ordering, fence};

use crate::gang::reserve::{prefer, reserve};
use crate::gang::{self, GangTag};
use crate::observer::{self, SchedulerEvent};
use crate::pool::{self, ForkMutex};
use crate::sched::wake_idle_behind_fence;
use crate::tls_block::TlsBlock;
use crate::topology::distance;
use crate::worker::{self, Worker};

/// In the group of a queued gang ULT: it runs where it was put.
pub(crate) const PLACED: u32 = 1 << 31;

/// What ULTs that are forked together, a *spawn group*, have in common: written once for all of
/// them.
///
/// It is not moved or changed between a fork and the last call of `retire`. Where several of a
/// spawn group end on a worker one after the other, they are retired together: what they all have
/// to tell one place costs one write there.
#[derive(Clone, Copy, Debug)]
pub struct SpawnGroup {
    /// The first function of each.
    pub run: unsafe fn(*mut ()),
    /// Called with the ULT's argument when it has ended and runs with its TLS block no more. Must
    /// not wait.
    pub end: unsafe fn(*mut ()),
    /// Called with `data` when so many ULTs of the spawn group have ended on the calling worker and
    /// were not counted before: their last use of the spawn group. On a worker in its scheduler,
    /// before it looks for anything but another one of the spawn group. Must not wait.
    pub retire: unsafe fn(*mut (), u32),
    /// The argument of `retire`. Spawn groups with the same one are retired together, and have the
    /// same `retire`.
    pub data: *mut (),
    /// The gang of the context that forked them, which a ULT without a gang of its own runs for.
    pub tag: GangTag,
    /// Code address of their parallel region.
    pub region: usize,
    /// Whose they are: [`Worker::group`] of the program's kernel thread at the root.
    pub group: u32,
}

impl PartialEq for SpawnGroup {
    fn eq(&self, other: &Self) -> bool {
        let words = |c: &Self| [c.run as usize, c.end as usize, c.retire as usize, c.data as usize, c.region];
        self.tag == other.tag && self.group == other.group && words(self) == words(other)
    }
}

/// A ULT that has not started. It is not moved or changed between a fork and the call of
/// [`SpawnGroup::end`].
#[derive(Clone, Copy, Debug)]
pub struct UltStart {
    /// What it has in common with the others.
    pub spawn_group: NonNull<SpawnGroup>,
    /// The argument of `run` and `end`.
    pub data: *mut (),
    /// The storage it runs with; `None`: one is borrowed from its start to its end.
    pub tls_block: Option<&'static TlsBlock>,
}

impl PartialEq for UltStart {
    fn eq(&self, other: &Self) -> bool {
        let tls_block = |s: &Self| s.tls_block.map_or(ptr::null(), ptr::from_ref);
        self.spawn_group == other.spawn_group
            && self.data == other.data
            && tls_block(self) == tls_block(other)
    }
}

// SAFETY: a start is read by the forker before the fork and by the one worker that takes it
// afterwards.
unsafe impl Sync for UltStart {}
// SAFETY: as above.
unsafe impl Send for UltStart {}

/// The TLS block of a ULT while it runs.
#[derive(Clone, Copy)]
pub(crate) enum UltTlsBlock {
    /// Its thread's own.
    Kept(&'static TlsBlock),
    /// Borrowed for the ULT.
    Borrowed(&'static TlsBlock),
    /// TLS blocks are not used, or none could be borrowed: the worker's.
    Shared,
}

impl UltStart {
    /// What it has in common with the others. Not used after the ULT has been retired.
    #[inline]
    pub(crate) fn spawn_group(&self) -> &'static SpawnGroup {
        // SAFETY: a spawn group stays as it is until its last ULT has been retired (`SpawnGroup`).
        unsafe { self.spawn_group.as_ref() }
    }

    /// What a ULT that starts on `worker`, the calling kernel thread's, runs with.
    pub(crate) fn tls_block(&self, worker: &'static Worker) -> UltTlsBlock {
        match self.tls_block {
            Some(tls_block) => {
                tls_block.claim(worker);
                UltTlsBlock::Kept(tls_block)
            }
            None if worker::uses_tls_blocks() => {
                worker::borrow_tls_block(worker).map_or(UltTlsBlock::Shared, UltTlsBlock::Borrowed)
            }
            None => UltTlsBlock::Shared,
        }
    }
}

impl UltTlsBlock {
    /// The storage, unless it is the worker's.
    #[inline]
    pub(crate) fn tls_block(self) -> Option<&'static TlsBlock> {
        match self {
            Self::Kept(tls_block) | Self::Borrowed(tls_block) => Some(tls_block),
            Self::Shared => None,
        }
    }

    pub(crate) fn or_native(self, worker: &'static Worker) -> Option<&'static TlsBlock> {
        match self {
            Self::Kept(tls_block) | Self::Borrowed(tls_block) => Some(tls_block),
            // SAFETY: own kernel thread (the runner that starts the ULT).
            Self::Shared => unsafe { (*worker.own()).native_tls_block },
        }
    }

    /// The TLS block of a ULT that follows the one that runs with this. The same if it is a
    /// borrowed one and borrowed is what the next needs.
    pub(crate) fn pass_on(self, next: &UltStart, worker: &'static Worker) -> Self {
        match (self, next.tls_block) {
            (Self::Borrowed(_), None) => self,
            _ => next.tls_block(worker),
        }
    }

    /// The ULT has ended on `worker` and nobody runs with its TLS block; `next` follows it.
    pub(crate) fn end_before(self, next: Self, worker: &'static Worker) {
        match (self, next) {
            (Self::Borrowed(mine), Self::Borrowed(other)) if ptr::eq(mine, other) => {}
            _ => self.end(worker),
        }
    }

    /// The ULT has ended on `worker` and nobody runs with its TLS block.
    pub(crate) fn end(self, worker: &'static Worker) {
        match self {
            Self::Borrowed(tls_block) => worker::give_tls_block_back(worker, tls_block),
            Self::Kept(tls_block) => tls_block.release(),
            Self::Shared => {}
        }
    }
}

static FORK: ForkMutex<()> = ForkMutex::new(());
static EVER_QUEUED: AtomicBool = AtomicBool::new(false);

/// A gang id for a team that stays on workers of its own; `publish` starts the team.
pub fn assigned_gang(level: i32, publish: impl FnOnce(GangTag)) {
    // ORDERING: Relaxed; who queued the first gang and who comes here are ordered by nothing, and
    // need not be: see the module.
    let _lock = EVER_QUEUED.load(Ordering::Relaxed).then(|| FORK.lock());
    publish(GangTag { id: gang::next_id(), level });
}

/// Forks a gang: takes its id, `publish`es the tag to whoever needs it before the first ULT runs,
/// and queues the starts, which are called for by number, at the least loaded workers that may run
/// them, nearest first. `place` names the worker for a ULT that must run there, `near` processors
/// where a ULT should rather run than elsewhere. The calling context runs for the gang afterwards
/// at the caller's hands.
///
/// The starts are of one spawn group. `root_worker` is the program's kernel thread at their root.
pub fn gang<'a>(
    count: usize,
    level: i32,
    root_worker: &'static Worker,
    ult_start: impl Fn(usize) -> &'a UltStart,
    place: Option<&dyn Fn(usize) -> Option<&'static Worker>>,
    near: Option<&dyn Fn(usize) -> &'static [usize]>,
    publish: impl FnOnce(GangTag),
) -> GangTag {
    let me = worker::register_current();
    let group = root_worker.group();
    // SAFETY: own kernel thread; taken out, because `ult_start` and the others are the caller's.
    let mut targets = core::mem::take(unsafe { &mut (*me.own()).targets });
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
    // SAFETY: own kernel thread: a fork does not wait.
    unsafe { (*me.own()).targets = targets };
    tag
}

/// The workers of a fork. Kept by the forking worker from fork to fork, for its memory.
#[derive(Default)]
pub(crate) struct SpawnTargets {
    /// Those that may run the gang.
    workers: Vec<&'static Worker>,
    loads: Vec<u32>,
    /// By number of the ULT, which of them gets it.
    chosen: Vec<usize>,
    /// The numbers of the ULTs, those of one worker together.
    order: Vec<usize>,
    /// By worker, where its part of `order` ends.
    ends: Vec<usize>,
    /// Where there are two workers: for how many ULTs, and which of them forked, this was chosen.
    pair: Option<(usize, usize)>,
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
        let all = (0..worker::table_len()).filter_map(worker::at);
        self.workers.extend(all.filter(|w| w.accepts(group) && !w.is_standing_in()));
        let workers = &mut self.workers;
        let at = workers.iter().position(|w| ptr::eq(*w, me)).unwrap_or_else(|| {
            workers.push(me);
            workers.len() - 1
        });
        let at = share_out(workers, at);
        let pair = (workers.len() == 2).then_some((count, at));
        if pair.is_some() && pair == self.pair {
            return; // of two, whatever their loads are, the other one and the forking one take turns
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

    /// Each worker that gets some, and which.
    fn shares(&self) -> impl Iterator<Item = (&'static Worker, &[usize])> {
        let begins = core::iter::once(0).chain(self.ends.iter().copied());
        let parts = self.workers.iter().zip(begins.zip(&self.ends));
        parts
            .map(|(worker, (begin, &end))| (*worker, &self.order[begin..end]))
            .filter(|(_, part)| !part.is_empty())
    }

    /// Under the fork lock: the lines that are written soon come from those workers all at once.
    fn expect(&self, level: i32) {
        for (target, _) in self.shares() {
            // SAFETY: under the lock.
            unsafe { target.gang_deque.expect(level) };
            target.watched.expect_crowd();
        }
    }

    /// Under the fork lock: what a worker gets is counted there once.
    fn push<'a>(&self, group: u32, tag: GangTag, ult_start: &impl Fn(usize) -> &'a UltStart) {
        for (target, part) in self.shares() {
            target.count_gang_load(part.len() as i32);
            // SAFETY: under the lock, so one at a time; starts may go to any worker (`UltStart`).
            unsafe {
                target.gang_deque.push_all(part.iter().map(|&i| NonNull::from(ult_start(i))), tag, group)
            };
        }
    }

    /// Wakes those that have something to start; where one is busy, others who may steal from it.
    fn wake(&self, group: u32) {
        // ORDERING: SeqCst, one for all looks below: pairs with the fences in `park_unless` and
        // `recount`. What was queued, or who sleeps, is seen.
        fence(Ordering::SeqCst);
        for (target, part) in self.shares() {
            target.publish_crowd_behind_fence();
            if !target.unpark_behind_fence() {
                let mut thieves = 0..part.len();
                while self.workers.len() > 1 && thieves.next().is_some() && wake_idle_behind_fence(group) {}
            }
        }
    }

    /// Under the fork lock, with places.
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

    /// As [`SpawnTargets::wake`], with places.
    fn wake_placed(&self, count: usize, group: u32, place: &dyn Fn(usize) -> Option<&'static Worker>) {
        for i in 0..count {
            let placed = place(i);
            let target = placed.unwrap_or(self.of(i));
            target.publish_crowd();
            if !target.unpark() && placed.is_none() && self.workers.len() > 1 {
                wake_idle_behind_fence(group); // that of `unpark`
            }
        }
    }

    fn of(&self, i: usize) -> &'static Worker {
        self.workers[self.chosen[i]]
    }
}

/// Leaves as many workers as have a processor beside the program's other kernel threads in regions:
/// the least loaded. `me`, the index of the forking one, stays. Returns its index.
fn share_out(workers: &mut Vec<&'static Worker>, me: usize) -> usize {
    let share = pool::share();
    if workers.len() <= share {
        return me;
    }
    workers.swap(0, me);
    workers[1..].sort_by_key(|w| w.gang_load());
    workers.truncate(share);
    0
}

/// By processor, the index of a worker that was last seen there.
fn by_processor(workers: &[&Worker]) -> Vec<Option<usize>> {
    let sites = || workers.iter().enumerate().filter_map(|(at, worker)| Some((at, worker.site.get()?)));
    let mut found = vec![None; sites().map(|(_, cpu)| cpu + 1).max().unwrap_or(0)];
    sites().for_each(|(at, cpu)| found[cpu] = Some(at));
    found
}

/// How near the workers are to the forking one, in the words of `reserve`; empty where all are
/// alike.
fn seats(me: &Worker, workers: &[&Worker]) -> Vec<u8> {
    if workers.len() <= 2 {
        return Vec::new(); // one other
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
    let me = worker::register_current();
    if count == 0 {
        return;
    }
    let group = ult_start(0).spawn_group().group; // from here on others may have started, ended and changed them
    for i in (0..count).rev() {
        // SAFETY: own kernel thread: the deque's owner; starts may go to any worker.
        unsafe { me.ults.push(NonNull::from(ult_start(i))) };
    }
    // ORDERING: SeqCst, one for all looks below, as in `SpawnTargets::wake`.
    fence(Ordering::SeqCst);
    me.publish_crowd_behind_fence();
    let mut thieves = 0..count;
    while thieves.next().is_some() && wake_idle_behind_fence(group) {}
}

/// The switch point at a fork, after the queueing: older gangs' ULTs in the forking worker's own
/// deque run before the forking context goes on. Without it two gangs can each wait behind the
/// other's thread 0.
pub fn yield_to_older() {
    crate::sched::yield_to_others();
}

/// In the child of a fork.
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
