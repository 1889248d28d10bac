//! Workers: one record per kernel thread, the runtime's own and the program's alike.
//!
//! What lives here: the record, how a kernel thread finds its own, the two local words of the running context,
//! and the registration of kernel threads that are not ours. What may not: choosing what to run
//! ([`crate::sched`]), starting and stopping our threads ([`crate::pool`]).
//!
//! A record is never freed: whoever publishes work may wake a worker through a pointer read earlier, at any time
//! later, and at worst wakes it for nothing. Records of program threads that ended are used again.

use core::cell::{Cell, UnsafeCell};
use core::ptr::{self, NonNull};
use core::mem::offset_of;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::Mutex;

use crate::arch;
use crate::deque::Deque;
use crate::fork::Seed;
use crate::gang::GangTag;
use crate::gang::deque::GangDeque;
use crate::identity::{self, Identity};
use crate::park::Parker;
use crate::sched::{Bench, Parcel, SOUGHT, Task, Urgency};
use crate::stall::Watched;
use crate::ult::Ult;
use crate::victim::{self, Selector};

/// The two words that the layer above keeps for the running context (Gangway: OpenMP thread and task).
/// They are saved when a context is suspended and restored when it continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Locals(pub [usize; 2]);

/// Word of the thread block that holds this kernel thread's [`Worker`].
const WORD_WORKER: usize = 0;
/// First of the two words that hold [`Locals`].
const WORD_LOCALS: usize = 1;

/// A kernel thread as the scheduler sees it.
#[repr(align(128))]
pub struct Worker {
    /// How this kernel thread sleeps and is woken. Any thread may wake it.
    pub parker: Parker,
    /// Small number, unique among live workers.
    index: AtomicU32,
    /// Work for a pool worker that is idle: set by the thread that took it from the pool.
    pub(crate) mailbox: AtomicPtr<crate::pool::Assignment>,
    /// Which jobs it looks for while it sleeps: those announced to the waiters counted here; null for none.
    sought: [AtomicPtr<AtomicU32>; SOUGHT],
    /// ULTs of gangs that are to start here, or wherever one is eligible first.
    pub(crate) gang_deque: GangDeque<Seed>,
    /// ULTs that contexts of this worker forked without a gang.
    pub(crate) ults: Deque<Seed>,
    /// ULTs of gangs queued here or started here and not ended.
    gang_load: AtomicU32,
    /// ULTs that were started here, or adopted, and have not ended.
    hosting: AtomicI32,
    /// Whose ULTs it runs, see [`Worker::accepts`].
    serves: AtomicU32,
    /// A thread waits here for its next region, behind other code.
    resting: AtomicBool,
    /// It was woken meanwhile.
    summoned: AtomicBool,
    /// Threads suspended here beside the running one, as of the last switch.
    suspended: AtomicU32,
    /// Who may touch the owner's part: [`PROGRAM`], [`SCHEDULER`] or [`THIEF`].
    gate: AtomicU32,
    /// Stands in for this worker, which was blocked: takes what others queued, and is given nothing itself. Null: for nobody.
    stands_for: AtomicPtr<Worker>,
    /// Another one stands in for this worker, and has not been told that it has moved again.
    handed_off: AtomicBool,
    /// Contexts that come to this worker from those that stood in for it.
    pub(crate) returning: AtomicPtr<Parcel>,
    /// Who waits behind it, for the stall monitor.
    pub(crate) urgency: Urgency,
    /// What the stall monitor knows.
    pub(crate) watched: Watched,
    /// Attempts to steal ULTs.
    pub(crate) steals: victim::Counters,
    /// Context switches; written by the owner alone.
    switches: AtomicU64,
    /// What only the kernel thread itself touches.
    own: UnsafeCell<Own>,
}

/// A worker that runs nobody's ULTs: a kernel thread that belongs to one thread of a team.
const NOBODY: u32 = 0;
/// A worker that runs everybody's.
const EVERYBODY: u32 = u32::MAX;

/// The worker runs program code (or has no kernel thread); its suspended contexts may be adopted.
const PROGRAM: u32 = 0;
/// The worker is in the scheduler, asleep there included.
const SCHEDULER: u32 = 1;
/// Another kernel thread is taking contexts away; for a few hundred instructions.
const THIEF: u32 = 2;

/// What a context runs for.
#[derive(Clone, Copy)]
pub(crate) struct Role {
    /// Its gang.
    pub(crate) tag: GangTag,
    /// Code address of its parallel region; zero for none.
    pub(crate) region: usize,
    /// Which contexts belong to the same thread, see `sched::bench`.
    pub(crate) strand: usize,
    /// The thread-local storage it runs with; `None` where identities are not used.
    pub(crate) identity: Option<&'static Identity>,
    /// Who wakes the thread may wake another worker than the one it is on, see `sched::handoff`.
    pub(crate) away: bool,
}

impl Role {
    /// Not that of an idle worker, nor of a thread between two regions.
    pub(crate) fn is_of_a_region(&self) -> bool {
        self.tag != GangTag::NONE || self.region != 0
    }

    /// That of a kernel thread which runs for nobody.
    pub(crate) fn none(worker: &'static Worker) -> Self {
        // SAFETY: written once, before the kernel thread runs anything.
        let identity = unsafe { (*worker.own()).native_identity };
        Self { tag: GangTag::NONE, region: 0, strand: ptr::from_ref(worker) as usize, identity, away: false }
    }
}

/// The part of a worker that belongs to its kernel thread.
pub(crate) struct Own {
    pub(crate) current: *mut Ult,
    pub(crate) native: Ult,
    /// What the running context runs for.
    pub(crate) role: Role,
    /// Suspended contexts of this worker.
    pub(crate) bench: Bench,
    /// Runner contexts that stand at the top of their loop with nothing on their stack.
    pub(crate) idle_runners: Vec<*mut Ult>,
    /// What was handed to the next runner.
    pub(crate) handed: Option<Task>,
    /// The job of the ULT that an assignment starts.
    pub(crate) assigned: Option<crate::sched::Job>,
    /// The identity of the kernel thread's own storage; `None` where identities are not used.
    pub(crate) native_identity: Option<&'static Identity>,
    /// The kernel thread's own identity while adopted contexts wear it elsewhere; the one above is a substitute then.
    pub(crate) lent: Option<&'static Identity>,
    /// A substitute for the next time.
    pub(crate) substitute: Option<&'static Identity>,
    /// The turn in which the worker was blocked that this one stands in for.
    pub(crate) stands_since: u32,
    /// The identity that is worn now.
    worn: Option<&'static Identity>,
    /// Chooses whom to steal from.
    pub(crate) selector: Selector,
    /// Counts jobs, to look at the whole bench now and then.
    pub(crate) turns: u32,
    /// Where a thread that waits for its next region is counted while other code runs, see `sched::look`.
    pub(crate) rested: *const AtomicU32,
    /// Calls of `sched::yielding::poll` with others waiting.
    pub(crate) polls: u32,
    /// Times that a gang ULT was passed over, see `sched::yielding`.
    pub(crate) held_back: u32,
    /// Times that a context gave way to another one, see `sched::yielding`.
    pub(crate) circles: u32,
    /// The place it is bound to, see [`move_to_place`].
    place: Option<u32>,
}

// SAFETY: everything in `Own` is touched by the worker's own kernel thread alone (`Worker::own`); the rest is
// atomic.
unsafe impl Sync for Worker {}
// SAFETY: as above; a record is handed to its kernel thread before that thread uses it.
unsafe impl Send for Worker {}

impl Worker {
    fn new(index: u32) -> Self {
        Self {
            parker: Parker::new(),
            index: AtomicU32::new(index),
            mailbox: AtomicPtr::new(ptr::null_mut()),
            sought: [const { AtomicPtr::new(ptr::null_mut()) }; SOUGHT],
            gang_deque: GangDeque::new(),
            ults: Deque::new(32),
            gang_load: AtomicU32::new(0),
            hosting: AtomicI32::new(0),
            serves: AtomicU32::new(NOBODY),
            resting: AtomicBool::new(false),
            summoned: AtomicBool::new(false),
            suspended: AtomicU32::new(0),
            gate: AtomicU32::new(PROGRAM),
            stands_for: AtomicPtr::new(ptr::null_mut()),
            handed_off: AtomicBool::new(false),
            returning: AtomicPtr::new(ptr::null_mut()),
            urgency: Urgency::new(),
            watched: Watched::new(),
            steals: victim::Counters::new(),
            switches: AtomicU64::new(0),
            own: UnsafeCell::new(Own {
                current: ptr::null_mut(),
                native: Ult::native(),
                role: Role { tag: GangTag::NONE, region: 0, strand: 0, identity: None, away: false },
                bench: Bench::new(),
                idle_runners: Vec::with_capacity(16),
                handed: None,
                assigned: None,
                native_identity: None,
                lent: None,
                substitute: None,
                stands_since: 0,
                worn: None,
                selector: Selector::new(victim::default_kind(), u64::from(index) + 1),
                turns: 0,
                rested: ptr::null(),
                polls: 0,
                held_back: 0,
                circles: 0,
                place: None,
            }),
        }
    }

    /// Small number of this worker, unique among live workers and used again when its kernel thread has ended.
    pub fn index(&self) -> u32 {
        // ORDERING: Relaxed; written before the record is handed to its kernel thread.
        self.index.load(Ordering::Relaxed)
    }

    /// Wakes this worker if it sleeps: something that a context of it waits for has happened. True if this call is the
    /// one that woke it. Any thread.
    #[inline]
    pub fn wake(&self) -> bool {
        if crate::mutant!(wake_up_lost) { return false }
        let woken = self.parker.unpark();
        // ORDERING: Relaxed; behind the full fence of `unpark`, see `set_resting`.
        if !woken && self.resting.load(Ordering::Relaxed) {
            self.summon();
        }
        woken
    }

    /// A thread that waits here for its next region may have to go on, while other code runs.
    #[cold]
    fn summon(&self) {
        // ORDERING: Relaxed, both; `publish_crowd` has the fences. The owner takes it back at a later switch point, and then looks.
        if !self.summoned.load(Ordering::Relaxed) {
            // ORDERING: as above.
            self.summoned.store(true, Ordering::Relaxed);
            self.publish_crowd();
        }
    }

    /// Notes whether a thread waits here for its next region while other code runs; the owner, before it looks once more
    /// whether that thread can go on.
    ///
    /// Whoever makes its condition true fences, reads `resting` and sets `summoned`. With the fences here either the owner's
    /// look sees the condition, or the other one sees `resting` and its mark is not taken back.
    pub(crate) fn set_resting(&self, resting: bool) {
        // ORDERING: Relaxed, all four; the fence is what the text above is about.
        let changes = self.resting.load(Ordering::Relaxed) != resting;
        if changes || self.summoned.load(Ordering::Relaxed) {
            self.resting.store(resting, Ordering::Relaxed);
            self.summoned.store(false, Ordering::Relaxed);
            // ORDERING: SeqCst, pairs with the fence in `unpark`.
            fence(Ordering::SeqCst);
        }
    }

    /// A context has been sent to this worker, which has to come to its scheduler for it.
    pub(crate) fn call(&self) {
        if !self.parker.unpark() {
            self.publish_crowd();
        }
    }

    /// [`Worker::wake`] for a new job. True if that was this call's doing and the worker looks for the jobs of those who
    /// wait with `sleepers`; false also when it sleeps for another reason, or takes jobs from elsewhere: then somebody
    /// else has to be woken for a job.
    pub fn wake_seeker(&self, sleepers: &AtomicU32) -> bool {
        // ORDERING: Relaxed; written before the worker announced its sleep, which `unpark` has acquired.
        self.parker.unpark() && self.sought.iter().any(|s| ptr::eq(s.load(Ordering::Relaxed), sleepers))
    }

    /// The calling kernel thread leaves program code for the scheduler: from here on the owner's part is its alone.
    #[inline]
    pub(crate) fn enter_scheduler(&self) {
        // ORDERING: Acquire, pairs with the Release in `let_go`: what a thief left. A failure publishes nothing.
        while self.gate.compare_exchange_weak(PROGRAM, SCHEDULER, Ordering::Acquire, Ordering::Relaxed).is_err() {
            arch::pause();
        }
        self.watched.enter_scheduler();
    }

    /// It goes back to program code.
    #[inline]
    pub(crate) fn enter_program(&self) {
        self.watched.enter_user();
        // ORDERING: Release, pairs with the Acquire in `seize`: the owner's part is as it stays while program code runs.
        self.gate.store(PROGRAM, Ordering::Release);
    }

    /// For another kernel thread: the owner's part, if the owner runs program code; until [`Worker::let_go`].
    pub(crate) fn seize(&self) -> bool {
        // ORDERING: Acquire, pairs with the Release in `enter_program`; a failure publishes nothing.
        self.gate.compare_exchange(PROGRAM, THIEF, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Ends what [`Worker::seize`] began.
    pub(crate) fn let_go(&self) {
        // ORDERING: Release, pairs with the Acquire in `enter_scheduler`.
        self.gate.store(PROGRAM, Ordering::Release);
    }

    /// The worker that this is a part of.
    pub(crate) fn of(watched: &'static Watched) -> &'static Worker {
        // SAFETY: every record that is announced to the monitor is this field of a worker (`adopt`).
        unsafe { &*ptr::from_ref(watched).byte_sub(offset_of!(Worker, watched)).cast() }
    }

    /// Begins to stand in for `blocked`, runs what that one may run, and is told when it moves again.
    pub(crate) fn begin_standing_in(&self, blocked: &'static Worker) {
        // ORDERING: Relaxed, all three; a forker that sees the first late queues a ULT that this worker takes, or others steal.
        self.stands_for.store(ptr::from_ref(blocked).cast_mut(), Ordering::Relaxed);
        let serves = blocked.serves.load(Ordering::Relaxed);
        // A kernel thread that belongs to one thread has queued for nobody else either.
        self.serves.store(if serves == NOBODY { EVERYBODY } else { serves }, Ordering::Relaxed);
        // ORDERING: Release, pairs with the Acquire in `recall`.
        blocked.handed_off.store(true, Ordering::Release);
    }

    /// Ends it.
    pub(crate) fn end_standing_in(&self) {
        self.share(false);
        // ORDERING: Relaxed; as in `begin_standing_in`.
        self.stands_for.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// The worker that this one stands in for.
    #[inline]
    pub(crate) fn stands_for(&self) -> Option<&'static Worker> {
        // ORDERING: Relaxed; as in `begin_standing_in`.
        // SAFETY: null or a record, and records are never freed.
        unsafe { self.stands_for.load(Ordering::Relaxed).as_ref() }
    }

    /// Does it stand in for a blocked worker?
    #[inline]
    pub(crate) fn is_standing_in(&self) -> bool {
        self.stands_for().is_some()
    }

    /// The owner moves again: tells those that stand in for it, once.
    #[inline]
    pub(crate) fn recall(&self) {
        // ORDERING: Relaxed; the owner asks at each entry to its scheduler, see below.
        if self.handed_off.load(Ordering::Relaxed) {
            self.recall_cold();
        }
    }

    #[cold]
    fn recall_cold(&self) {
        // ORDERING: Acquire, pairs with `begin_standing_in`: who is said to stand in can be found.
        self.handed_off.swap(false, Ordering::Acquire);
        let heirs = (0..table_len()).filter_map(at).filter(|w| w.stands_for().is_some_and(|b| ptr::eq(b, self)));
        for heir in heirs {
            heir.wake();
        }
    }

    /// Notes what the worker looks for while it sleeps.
    pub(crate) fn note_what_is_sought(&self, counters: [*const AtomicU32; SOUGHT]) {
        for (slot, counter) in self.sought.iter().zip(counters) {
            // ORDERING: Relaxed; published by the parker's announcement, see `wake_seeker`.
            slot.store(counter.cast_mut(), Ordering::Relaxed);
        }
    }

    /// May ULTs of `group` run here? Pool workers that are shared run everybody's, a program's kernel thread its own
    /// group's, a kernel thread that belongs to one thread nobody's.
    #[inline]
    pub(crate) fn accepts(&self, group: u32) -> bool {
        // ORDERING: Relaxed; changed only while no ULT that could be affected exists (`serve`).
        let serves = self.serves.load(Ordering::Relaxed);
        serves == EVERYBODY || serves == group
    }

    /// Is this one of the pool's shared workers?
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.accepts(EVERYBODY)
    }

    /// May it take a ULT without having seen its group?
    pub(crate) fn may_steal_blindly(&self) -> bool {
        // ORDERING: Relaxed; as in `accepts`. A new group's first fork comes after it was counted.
        self.is_shared() || (GROUPS.load(Ordering::Relaxed) == 1 && self.serves.load(Ordering::Relaxed) != NOBODY)
    }

    /// Makes it a shared worker of the pool (`true`) or one that belongs to a single thread.
    pub(crate) fn share(&self, shared: bool) {
        // ORDERING: Relaxed; see `accepts`.
        self.serves.store(if shared { EVERYBODY } else { NOBODY }, Ordering::Relaxed);
    }

    /// The group of a program's kernel thread: ULTs that it and its descendants fork.
    pub fn group(&self) -> u32 {
        self.index() + 1
    }

    /// Gang ULTs queued here or started here and not ended.
    pub(crate) fn gang_load(&self) -> u32 {
        // ORDERING: Relaxed; a hint for placing.
        self.gang_load.load(Ordering::Relaxed)
    }

    pub(crate) fn count_gang_load(&self, change: i32) {
        // ORDERING: Relaxed; a hint for placing.
        self.gang_load.fetch_add(change as u32, Ordering::Relaxed);
    }

    /// Counts a ULT that starts here or is adopted (1), ends or is adopted by another worker (−1).
    pub(crate) fn count_hosted(&self, change: i32) {
        // ORDERING: Relaxed; a hint for who lends the worker, see `is_unused`.
        self.hosting.fetch_add(change, Ordering::Relaxed);
    }

    /// Does it run nobody's ULTs, as far as can be seen from here?
    pub(crate) fn is_unused(&self) -> bool {
        // ORDERING: Relaxed; as above.
        self.hosting.load(Ordering::Relaxed) == 0 && self.gang_deque.is_empty()
    }

    /// Counts a context switch; the owner.
    #[inline]
    pub(crate) fn count_switch(&self) {
        // ORDERING: Relaxed, both; a statistic with one writer.
        self.switches.store(self.switches.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Notes how many other threads are suspended here; the owner.
    pub(crate) fn set_suspended(&self, threads: u32) {
        // ORDERING: Relaxed; the monitor takes any recent value.
        if self.suspended.load(Ordering::Relaxed) != threads {
            // ORDERING: as above.
            self.suspended.store(threads, Ordering::Relaxed);
        }
        self.publish_crowd();
    }

    /// Nobody is suspended here any more; whoever has seized the worker.
    pub(crate) fn set_suspended_to_none(&self) {
        // ORDERING: Relaxed; the monitor takes any recent value.
        self.suspended.store(0, Ordering::Relaxed);
    }

    /// Tells the monitor how many threads wait behind this worker. After something was queued, by whoever queued it.
    pub(crate) fn publish_crowd(&self) {
        self.watched.recount(|| {
            // ORDERING: Relaxed; `recount` has the fences.
            let suspended = self.suspended.load(Ordering::Relaxed) + self.calls();
            suspended + self.gang_deque.len() as u32 + self.ults.len() as u32
        });
    }

    /// Reasons to come to the scheduler beside what was there at the last switch point.
    fn calls(&self) -> u32 {
        // ORDERING: Relaxed, both; `publish_crowd` has the fences.
        let returning = !self.returning.load(Ordering::Relaxed).is_null();
        u32::from(returning) + u32::from(self.summoned.load(Ordering::Relaxed))
    }

    /// May ULTs on the own deque of `victim` be taken without having seen their group? Both serve one group alone, and the same.
    pub(crate) fn is_of_one_group_with(&self, victim: &Worker) -> bool {
        // ORDERING: Relaxed; as in `accepts`.
        let (mine, theirs) = (self.serves.load(Ordering::Relaxed), victim.serves.load(Ordering::Relaxed));
        mine == theirs && mine != NOBODY && mine != EVERYBODY
    }

    /// Does anybody wait behind the running code, as far as its owner knows?
    pub(crate) fn has_others(&self) -> bool {
        // ORDERING: Relaxed; the owner asks, and what is queued meanwhile is seen next time.
        self.suspended.load(Ordering::Relaxed) + self.calls() != 0 || !self.gang_deque.is_empty() || !self.ults.is_empty()
    }

    /// The owner's part.
    ///
    /// # Safety
    /// Only on the worker's own kernel thread, and the result must not be kept across a switch.
    #[inline(always)]
    pub(crate) unsafe fn own(&self) -> *mut Own {
        self.own.get()
    }
}

#[inline(always)]
fn word(index: usize) -> &'static Cell<usize> {
    // SAFETY: the block is this kernel thread's own storage and lives as long as the kernel thread, which is
    // the only one that can use the reference before it is dropped (callers do not keep it across a switch).
    unsafe { &(*arch::thread_block()).words[index] }
}

/// The calling kernel thread's worker, or `None` when it has not been registered.
#[inline(always)]
pub fn current() -> Option<&'static Worker> {
    let p = word(WORD_WORKER).get() as *const Worker;
    // SAFETY: the word is null or a worker record, and records are never freed.
    unsafe { p.as_ref() }
}

/// The local words of the running context.
#[inline(always)]
pub fn locals() -> Locals {
    Locals([word(WORD_LOCALS).get(), word(WORD_LOCALS + 1).get()])
}

/// Replaces the local words of the running context.
#[inline(always)]
pub fn set_locals(locals: Locals) {
    word(WORD_LOCALS).set(locals.0[0]);
    word(WORD_LOCALS + 1).set(locals.0[1]);
}

/// The gang and the region that the running context runs for.
pub fn duty() -> (GangTag, usize) {
    let worker = register_current();
    // SAFETY: own kernel thread.
    let role = unsafe { (*worker.own()).role };
    (role.tag, role.region)
}

/// Changes the gang and the region that the running context runs for; a switch point for the stall monitor.
pub fn set_duty((tag, region): (GangTag, usize)) {
    let worker = register_current();
    // SAFETY: own kernel thread.
    unsafe {
        let role = &mut (*worker.own()).role;
        role.tag = tag;
        role.region = region;
    }
    worker.urgency.set_running(tag);
    worker.watched.pass();
    worker.watched.set_region(region);
}

/// Does the running code wear its kernel thread's own storage, not a borrowed one?
pub fn wears_own_storage() -> bool {
    let worker = register_current();
    // SAFETY: own kernel thread.
    let worn = unsafe { (*worker.own()).worn };
    worn.is_none_or(|identity| !identity.is_donated())
}

/// Notes that the calling kernel thread is bound to `place`, a number of the caller's. False if it is already.
pub fn move_to_place(place: u32) -> bool {
    let worker = register_current();
    // SAFETY: own kernel thread.
    unsafe { (*worker.own()).place.replace(place) != Some(place) }
}

/// Makes the running context run in `role`, on the same stack.
///
/// # Safety
/// Own kernel thread; no address of thread-local storage is live in the caller, and nobody else wears the identity.
#[inline(never)]
pub(crate) unsafe fn play(worker: &'static Worker, role: Role) {
    // SAFETY: as the caller says.
    unsafe {
        (*worker.own()).role = role;
        if let Some(identity) = role.identity {
            wear(worker, identity);
        }
    }
}

/// Wears `identity` and carries the worker's word over to its thread block.
///
/// # Safety
/// As [`play`].
#[inline]
pub(crate) unsafe fn wear(worker: &'static Worker, identity: &'static Identity) {
    // SAFETY: as the caller says; `identity::wear` has the same contract. The stall monitor's handler runs only in program
    // code, so it does not see the moment between the two steps.
    unsafe {
        let own = worker.own();
        if (*own).worn.is_some_and(|worn| ptr::eq(worn, identity)) {
            return;
        }
        identity::wear(identity);
        word(WORD_WORKER).set(ptr::from_ref(worker) as usize);
        (*own).worn = Some(identity);
    }
}

// ---- all workers ----------------------------------------------------------------------------------------------

/// Workers that can be found by index; those beyond are nobody's victims and get no gang ULTs.
pub const TABLE: usize = 1024;

static WORKERS: [AtomicPtr<Worker>; TABLE] = [const { AtomicPtr::new(ptr::null_mut()) }; TABLE];
static TABLE_LEN: AtomicUsize = AtomicUsize::new(0);
/// Program threads that are registered.
static GROUPS: AtomicU32 = AtomicU32::new(0);

/// One more than the largest index in the table.
#[inline]
pub(crate) fn table_len() -> usize {
    // ORDERING: Relaxed; the entries are acquired one by one.
    TABLE_LEN.load(Ordering::Relaxed)
}

/// The worker with this index. It may be unused at the moment.
#[inline]
pub(crate) fn at(index: usize) -> Option<&'static Worker> {
    // ORDERING: Acquire, pairs with the Release in `enter_table`.
    let worker = WORKERS.get(index)?.load(Ordering::Acquire);
    // SAFETY: null or a record, and records are never freed.
    unsafe { worker.as_ref() }
}

fn enter_table(worker: &'static Worker) {
    let index = worker.index() as usize;
    if let Some(slot) = WORKERS.get(index) {
        // ORDERING: Release, pairs with the Acquire in `at`: the record is complete.
        slot.store(ptr::from_ref(worker).cast_mut(), Ordering::Release);
        // ORDERING: Relaxed; see `table_len`.
        TABLE_LEN.fetch_max(index + 1, Ordering::Relaxed);
    }
}

/// Whether contexts get identities of their own; decided before the first worker is registered.
static IDENTITIES: AtomicU32 = AtomicU32::new(1);

/// Switches identities off: threads that share a kernel thread share its thread-local storage. Before the first worker.
pub fn use_identities(on: bool) {
    // ORDERING: Relaxed; a setting, made before it matters.
    IDENTITIES.store(u32::from(on), Ordering::Relaxed);
}

/// Do contexts get identities of their own?
pub fn uses_identities() -> bool {
    // ORDERING: Relaxed; see `use_identities`.
    IDENTITIES.load(Ordering::Relaxed) != 0 && !matches!(identity::support(), identity::Support::None(_))
}

/// Sums over all workers that ever were: steals, context switches. Others go on meanwhile, so the figures are recent.
pub fn totals() -> (victim::Totals, u64) {
    let workers = || (0..table_len()).filter_map(at);
    // ORDERING: Relaxed; a statistic.
    let switches = workers().map(|w| w.switches.load(Ordering::Relaxed)).sum();
    (workers().map(|w| w.steals.read()).sum(), switches)
}

/// Records that no kernel thread uses, and the next index.
struct Registry {
    spare: Vec<&'static Worker>,
    next: u32,
}

static REGISTRY: crate::pool::ForkMutex<Registry> =
    crate::pool::ForkMutex::new(Registry { spare: Vec::new(), next: 0 });

/// Makes `worker`, a record nobody else uses, the calling kernel thread's own.
pub(crate) fn adopt(worker: &'static Worker) {
    let identity = uses_identities().then(identity::of_current_thread);
    // SAFETY: the record is nobody else's; the calling kernel thread is its owner from here on.
    unsafe {
        let own = worker.own();
        (*own).current = &raw mut (*own).native;
        (*own).native_identity = identity;
        (*own).worn = identity;
        (*own).role = Role::none(worker);
        (*own).place = None;
    }
    word(WORD_WORKER).set(ptr::from_ref(worker) as usize);
    set_locals(Locals::default());
    enter_table(worker);
    worker.watched.begin();
}

/// A record that no kernel thread uses.
pub(crate) fn take_record() -> &'static Worker {
    let mut registry = REGISTRY.lock();
    if let Some(worker) = registry.spare.pop() {
        return worker;
    }
    let index = registry.next;
    registry.next += 1;
    Box::leak(Box::new(Worker::new(index)))
}

/// Takes the record from the calling kernel thread, which is about to end.
pub(crate) fn abandon_current() {
    let Some(worker) = current() else { return };
    // SAFETY: this kernel thread is the owner; idle runners stand at the top of their loop (see the field), so
    // their stacks hold nothing.
    unsafe {
        let own = worker.own();
        while let Some(runner) = (*own).idle_runners.pop() {
            Ult::retire(runner);
        }
        if !(*own).bench.is_empty() {
            return; // ends inside a wait (pthread_exit from a handler): the record cannot be used again
        }
    }
    worker.watched.end();
    worker.share(false);
    word(WORD_WORKER).set(0);
    set_locals(Locals::default());
    put_back_record(worker);
}

/// Makes a record free for the next kernel thread.
pub(crate) fn put_back_record(worker: &'static Worker) {
    REGISTRY.lock().spare.push(worker);
}

/// In the child of a fork: forgets the spare records and the lock. Indices go on from
/// [`FIRST_AFTER_FORK`], so that no record of the parent's first threads shares one with a record made here.
///
/// # Safety
/// Only in the child of a fork, before it has a second thread.
pub(crate) unsafe fn forget_after_fork() {
    // SAFETY: as the caller says; the registry's vector is leaked.
    unsafe { REGISTRY.forget(Registry { spare: Vec::new(), next: FIRST_AFTER_FORK }) };
    for slot in &WORKERS {
        // ORDERING: Relaxed throughout; single-threaded.
        slot.store(ptr::null_mut(), Ordering::Relaxed);
    }
    TABLE_LEN.store(0, Ordering::Relaxed);
    GROUPS.store(0, Ordering::Relaxed);
    if let Some(worker) = current() {
        enter_table(worker);
        // What was on its way here belongs to threads that do not exist in this process.
        worker.returning.store(ptr::null_mut(), Ordering::Relaxed);
        worker.handed_off.store(false, Ordering::Relaxed);
        GROUPS.store(1, Ordering::Relaxed);
        worker.watched.begin();
        worker.enter_program();
    }
}

/// The first index given in the child of a fork: indices of the parent's records are not given again, up to here.
const FIRST_AFTER_FORK: u32 = 512;

type ExitHook = fn();
static EXIT_HOOK: Mutex<Option<ExitHook>> = Mutex::new(None);

/// Sets what the layer above does when a registered program thread ends (called once, on that thread, before
/// its worker record is taken from it).
pub fn on_thread_exit(hook: ExitHook) {
    *EXIT_HOOK.lock().unwrap_or_else(|e| e.into_inner()) = Some(hook);
}

/// The calling kernel thread's worker; registers the thread when it is one of the program's own.
///
/// The thread is given an alternate signal stack if it has none, and a destructor that runs when it ends.
pub fn register_current() -> &'static Worker {
    if let Some(worker) = current() {
        return worker;
    }
    crate::pool::initialise();
    let worker = take_record();
    adopt(worker);
    // ORDERING: Relaxed; see `Worker::accepts` and `may_steal_blindly`.
    worker.serves.store(worker.group(), Ordering::Relaxed);
    // ORDERING: Relaxed; as above.
    GROUPS.fetch_add(1, Ordering::Relaxed);
    crate::fault::enter_kernel_thread();
    crate::pool::arm_exit_destructor(NonNull::from(worker));
    crate::sched::count_awake(true);
    worker.enter_program();
    worker
}

/// What the destructor of a program thread does; see [`register_current`].
pub(crate) fn program_thread_ends() {
    if current().is_none() {
        return;
    }
    let hook = *EXIT_HOOK.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(hook) = hook {
        hook();
    }
    crate::fault::leave_kernel_thread();
    crate::sched::count_awake(false);
    // ORDERING: Relaxed; as in `register_current`.
    GROUPS.fetch_sub(1, Ordering::Relaxed);
    abandon_current();
}

