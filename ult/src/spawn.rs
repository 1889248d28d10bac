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

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, Ordering, fence};

use crate::gang::reserve::{prefer, reserve};
use crate::gang::{self, GangTag};
use crate::observer::{self, SchedulerEvent};
use crate::pool;
use crate::sched::wake_idle_behind_fence;
use crate::sys::fork::ForkMutex;
use crate::tls_block::TlsBlock;
use crate::topology::distance;
use crate::worker::{self, Worker};

/// A mark in the group of a queued gang ULT: the ULT runs on the worker at which it was queued. It
/// may leave that worker only if the worker is dedicated or blocked.
pub(crate) const PLACED: u32 = 1 << 31;

/// What all ULTs of one fork, a *spawn group*, have in common. It is written once for all of them.
///
/// It is neither moved nor changed between the fork and the last call of `retire`. If several ULTs
/// of a spawn group end on one worker one after the other, they are retired together. So the
/// counter that `retire` writes is written once for all of them.
#[derive(Clone, Copy, Debug)]
pub struct SpawnGroup {
    /// The first function of each ULT.
    pub run: unsafe fn(*mut ()),
    /// Called with the ULT's argument when the ULT has ended and no longer runs with its TLS block.
    /// Must not wait.
    pub end: unsafe fn(*mut ()),
    /// Called with `data` and a number: so many ULTs of the spawn group have ended on the calling
    /// worker since the last call. This is their last use of the spawn group. The worker calls it
    /// in its scheduler, before it looks for anything except another ULT of the spawn group. Must
    /// not wait.
    pub retire: unsafe fn(*mut (), u32),
    /// The argument of `retire`. Spawn groups with equal `data` are retired together, and have the
    /// same `retire`.
    pub data: *mut (),
    /// The gang of the forking context. A ULT without a gang of its own runs for this one.
    pub tag: GangTag,
    /// Code address of their parallel region.
    pub region: usize,
    /// The group that the ULTs belong to: [`Worker::group`] of the program's kernel thread at their
    /// root.
    pub group: u32,
}

impl PartialEq for SpawnGroup {
    fn eq(&self, other: &Self) -> bool {
        let words = |c: &Self| [c.run as usize, c.end as usize, c.retire as usize, c.data as usize, c.region];
        self.tag == other.tag && self.group == other.group && words(self) == words(other)
    }
}

/// A ULT that has not started. It is neither moved nor changed between the fork and the call of
/// [`SpawnGroup::end`].
#[derive(Clone, Copy, Debug)]
pub struct UltStart {
    /// What the ULT has in common with the others of its fork.
    pub spawn_group: NonNull<SpawnGroup>,
    /// The argument of `run` and `end`.
    pub data: *mut (),
    /// The TLS block that the ULT runs with. `None`: a TLS block is borrowed from its start to its
    /// end.
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

// SAFETY: the forking thread reads a start before the fork, and only the worker that takes it reads
// it afterwards.
unsafe impl Sync for UltStart {}
// SAFETY: as above.
unsafe impl Send for UltStart {}

/// The TLS block of a ULT while it runs.
#[derive(Clone, Copy)]
pub(crate) enum UltTlsBlock {
    /// The block of the ULT's own thread.
    Kept(&'static TlsBlock),
    /// A block that is borrowed for the ULT.
    Borrowed(&'static TlsBlock),
    /// The worker's block: TLS blocks are not used, or none could be borrowed.
    Shared,
}

impl UltStart {
    /// What the ULT has in common with the others. Must not be used after the ULT has been retired.
    #[inline]
    pub(crate) fn spawn_group(&self) -> &'static SpawnGroup {
        // SAFETY: a spawn group does not change until its last ULT has been retired (`SpawnGroup`).
        unsafe { self.spawn_group.as_ref() }
    }

    /// The TLS block of a ULT that starts on `worker`, the worker of the calling kernel thread.
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
    /// The block, unless it is the worker's.
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

    /// The TLS block of the ULT that follows the one with this block. It is the same block if this
    /// one is borrowed and the next ULT needs a borrowed one.
    pub(crate) fn pass_on(self, next: &UltStart, worker: &'static Worker) -> Self {
        match (self, next.tls_block) {
            (Self::Borrowed(_), None) => self,
            _ => next.tls_block(worker),
        }
    }

    /// The ULT has ended on `worker`, and no context runs with its TLS block; a ULT with the block
    /// `next` follows it.
    pub(crate) fn end_before(self, next: Self, worker: &'static Worker) {
        match (self, next) {
            (Self::Borrowed(mine), Self::Borrowed(other)) if ptr::eq(mine, other) => {}
            _ => self.end(worker),
        }
    }

    /// The ULT has ended on `worker`, and no context runs with its TLS block.
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
    let me = worker::register_current();
    let group = root_worker.group();
    // SAFETY: own kernel thread. The field is taken out, because `ult_start` and the other closures
    // are the caller's code.
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
    // SAFETY: own kernel thread, because a fork does not wait.
    unsafe { (*me.own()).targets = targets };
    tag
}

/// The workers of a fork. The forking worker keeps it from fork to fork, so that its memory is used
/// again.
#[derive(Default)]
pub(crate) struct SpawnTargets {
    /// Workers that may run the gang.
    workers: Vec<&'static Worker>,
    loads: Vec<u32>,
    /// For each ULT, by number: the index in `workers` of the worker that gets it.
    chosen: Vec<usize>,
    /// The numbers of the ULTs, grouped by worker.
    order: Vec<usize>,
    /// For each worker: where its part of `order` ends.
    ends: Vec<usize>,
    /// With two workers: for how many ULTs, and for which forking worker, the choice was made.
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
    let share = pool::share();
    if workers.len() <= share {
        return me;
    }
    workers.swap(0, me);
    workers[1..].sort_by_key(|w| w.gang_load());
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
    let me = worker::register_current();
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
    crate::sched::yield_to_others();
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
