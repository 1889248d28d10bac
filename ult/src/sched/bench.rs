//! The suspended contexts of one worker, oldest first: who can go on, who may look for work, which gang binds the worker.
//!
//! A context is put here by itself before its stack is left and taken out by whoever runs on the worker when its
//! condition holds. All of a bench is touched by the worker that owns it alone.
//!
//! **Strands.** Contexts that belong to one OpenMP thread (its implicit task, the tasks it has started, the inner teams it
//! is thread 0 of) form a strand: they share an identity, and only one of them is at a place where the thread may start
//! something new, namely the newest. So only the newest context of a strand is asked for jobs, and while the newest was
//! interrupted in the middle of program code, no older one of its strand goes on.
//!
//! **Alone.** An older context of a strand may go on and sit down anew, above the threads of regions inside of it. Their jobs are then for others of their
//! teams to find. Where there are no others, in a team of one, the thread itself is asked, wherever it sits ([`Wait::alone`]).
//!
//! **Who goes first.** Of several contexts that can go on, the one of the deepest gang, then of the oldest gang, then, of those that a
//! barrier has released, the thread with the lowest number, because the others wait for thread 0, or for the one before them, if they spin;
//! then the one that has sat here longest: what yields in turn does so in a circle. Who was left in the middle of its code or yields comes behind
//! those that were released. Now and then numbers do not count, so that nobody is passed over for ever (`look`, `yielding`).
//!
//! **Meetings.** A thread at a barrier or a join waits for all threads and tasks of its team: as long as a thread of the team runs or has tasks to run
//! it has no use for the worker. Where the threads that are suspended here wait at one meeting ([`Bench::others`]), tasks of that team follow each
//! other without a look at them ([`super::may_go_on_in_place`]). Of those at one meeting one is enough to look into the queues of others.

use core::mem::offset_of;
use core::sync::atomic::AtomicU32;

use super::{Job, Look, Spin, Wait};
use crate::debug::Entry;
use crate::gang::{GangTag, eligible};
use crate::ult::Ult;
use crate::worker::{Locals, Role, ThreadMode};

type Ready = *const (dyn Fn() -> bool + 'static);
type Seek = *const (dyn Fn(Look) -> Option<Job> + 'static);

/// An entry of the bench. The references of a [`Wait`] with their lifetime erased: they point into the suspended
/// context's own stack, which stays as it is while the entry is on the bench.
#[derive(Clone, Copy)]
pub(crate) struct Waiting {
    pub(super) ult: *mut Ult,
    pub(super) role: Role,
    ready: Ready,
    seek: Option<Seek>,
    pub(super) sleepers: Option<*const AtomicU32>,
    spin: Spin,
    /// Of those of one gang that can go on the lowest goes first: the thread's number at a barrier, 0 in other waits, and [`GIVES_WAY`].
    rank: u32,
    yields: bool,
    finished: bool,
    /// See [`Wait::alone`].
    alone: bool,
    /// It waits for all threads and tasks of a team, see [`Waiting::meeting`].
    meets: bool,
    /// Left in the middle of program code, not at a place where it waits.
    interrupted: bool,
}

/// The rank of a context that could go on and lets others go first.
const GIVES_WAY: u32 = u32::MAX;

impl Waiting {
    pub(super) fn of(ult: *mut Ult, role: Role, wait: &Wait<'_>, (rank, meets): (u32, bool)) -> Self {
        let erase = |seek: &dyn Fn(Look) -> Option<Job>| {
            // SAFETY: only the lifetime is erased; see below.
            unsafe { core::mem::transmute::<*const (dyn Fn(Look) -> Option<Job> + '_), Seek>(seek) }
        };
        Self {
            ult,
            role,
            // SAFETY: only the lifetime is erased. The entry is removed before `wait` returns on the context that made it,
            // so the closures outlive the entry.
            ready: unsafe { core::mem::transmute::<*const (dyn Fn() -> bool + '_), Ready>(wait.ready) },
            seek: wait.seek.map(erase),
            sleepers: wait.sleepers.map(core::ptr::from_ref),
            spin: wait.spin,
            rank: if wait.yields { GIVES_WAY } else { rank },
            yields: wait.yields,
            finished: wait.finished,
            alone: wait.alone,
            meets,
            interrupted: false,
        }
    }

    /// A context that could go on at any time and was left for others in the middle of its code.
    pub(super) fn interrupted(ult: *mut Ult, role: Role) -> Self {
        let (ready, spin, rank): (Ready, _, _) = (&|| true, Spin::NONE, GIVES_WAY);
        let (yields, finished, alone, meets, interrupted) = (false, false, false, false, true);
        Self { ult, role, ready, seek: None, sleepers: None, spin, rank, yields, finished, alone, meets, interrupted }
    }

    /// Not the loop of a kernel thread of the pool: a thread between regions, or code that runs for one.
    pub(super) fn runs_for_a_thread(&self) -> bool {
        // SAFETY: the entry is on a bench, so its context is suspended and the words are those it left.
        self.sleepers.is_some() || unsafe { (*self.ult).locals } != Locals::default()
    }

    /// `newest`: is this the newest entry of its bench?
    pub(super) fn is_ready(&self, newest: bool) -> bool {
        // SAFETY: the entry is on the bench, so the closure is alive (see the type).
        (self.yields && !newest) || unsafe { (*self.ready)() }
    }

    fn seek(&self, look: Look) -> Option<Job> {
        // SAFETY: as in `is_ready`.
        self.seek.and_then(|s| unsafe { (*s)(look) })
    }

    /// The team, named by its counter of sleepers, for all of whose threads and tasks it waits; null: it waits for something else.
    fn meeting(&self) -> *const AtomicU32 {
        self.sleepers.filter(|_| self.meets).unwrap_or(core::ptr::null())
    }
}

/// What [`Bench::others`] tells.
pub(super) struct Others {
    /// How many strands.
    pub(super) strands: u32,
    /// The meeting that all of them wait at, and which is not over; null if they do not, or there are none.
    pub(super) meeting: *const AtomicU32,
}

/// What sits on a bench before it has to grow: deep nesting with many threads per worker.
const ROOM: usize = 64;

/// Counters of [`Bench::sought`].
pub(crate) const SOUGHT: usize = 4;

/// See the module.
pub(crate) struct Bench {
    entries: Vec<Waiting>,
    interrupted: u32,
    /// Those that run for no region now.
    resting: u32,
    /// Counts what sits down and gets up.
    changes: u32,
}

/// For [`crate::debug`].
pub(crate) const ENTRIES: [Entry; 6] = [
    Entry::number("list.pointer", pointer_word()),
    Entry::number("waiting.size", size_of::<Waiting>()),
    Entry::number("waiting.ult", offset_of!(Waiting, ult)),
    Entry::number("waiting.region", offset_of!(Waiting, role.region)),
    Entry::number("waiting.gang", offset_of!(Waiting, role.tag.id)),
    Entry::number("waiting.interrupted", offset_of!(Waiting, interrupted)),
];

/// Which of the three words of a `Vec` is its pointer. The smaller one of the others is the length: it is never above the capacity.
const fn pointer_word() -> usize {
    // SAFETY: a vector is three words here, or this does not compile; an empty one owns nothing, and its pointer is a mere number.
    let words: [usize; 3] = unsafe { core::mem::transmute(Vec::<Waiting>::new()) };
    match words {
        [_, 0, 0] => 0,
        [0, _, 0] => 1,
        [0, 0, _] => 2,
        _ => panic!("an empty vector is a pointer and two zeros"),
    }
}

impl Bench {
    /// Where the list is in it, for [`crate::debug`].
    pub(crate) const LIST: usize = offset_of!(Self, entries);

    pub(crate) fn new() -> Self {
        Self { entries: Vec::with_capacity(ROOM), interrupted: 0, resting: 0, changes: 0 }
    }

    pub(super) fn sit(&mut self, entry: Waiting) {
        self.interrupted += u32::from(entry.interrupted);
        self.resting += u32::from(!entry.role.is_of_a_region());
        self.changes = self.changes.wrapping_add(1);
        self.entries.push(entry);
    }

    /// Could one more sit down without an allocation?
    pub(super) fn has_room(&self) -> bool {
        self.entries.len() < self.entries.capacity()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Is a thread of a region suspended here?
    pub(super) fn hosts_a_region(&self) -> bool {
        self.entries.iter().any(|entry| entry.role.is_of_a_region())
    }

    /// Does the newest context wait for nothing, and let what it finds by its seek go first?
    pub(super) fn newest_asks(&self) -> bool {
        self.entries.last().is_some_and(|entry| entry.yields && entry.seek.is_some())
    }

    /// More than one context?
    pub(super) fn is_shared(&self) -> bool {
        self.entries.len() > 1
    }

    /// Different after each change.
    pub(super) fn changes(&self) -> u32 {
        self.changes
    }

    /// Does everything here run for a region?
    pub(super) fn has_nobody_resting(&self) -> bool {
        self.resting == 0
    }

    pub(super) fn spin(&self) -> Spin {
        self.entries.iter().fold(Spin::NONE, |longest, entry| longest.or_longer(entry.spin))
    }

    fn take(&mut self, at: usize) -> Waiting {
        let entry = self.entries.remove(at);
        self.interrupted -= u32::from(entry.interrupted);
        self.resting -= u32::from(!entry.role.is_of_a_region());
        self.changes = self.changes.wrapping_add(1);
        entry
    }

    /// Takes the entry of `ult`, if it is here.
    pub(super) fn get_up(&mut self, ult: *mut Ult) {
        if let Some(at) = self.entries.iter().rposition(|entry| entry.ult == ult) {
            self.take(at);
        }
    }

    /// Takes the newest context of a thread that has a signal to handle, whatever it waits for; not of the strand `except`.
    pub(super) fn take_signalled(&mut self, except: *const ThreadMode) -> Option<Waiting> {
        let at = self.signalled(except)?;
        let entry = self.take(at);
        // SAFETY: suspended here, so its descriptor is this worker's.
        unsafe { (*entry.ult).resumed_early = true };
        Some(entry)
    }

    /// Is there one that [`Bench::take_signalled`] would take?
    pub(super) fn has_signalled(&self, except: *const ThreadMode) -> bool {
        self.signalled(except).is_some()
    }

    fn signalled(&self, except: *const ThreadMode) -> Option<usize> {
        let has_signal = |at: usize| {
            let role = &self.entries[at].role;
            role.strand != except && role.identity.is_some_and(|identity| identity.signals.has_news()) && self.is_top(at)
        };
        (0..self.entries.len()).rev().find(|&at| has_signal(at))
    }

    /// Takes the newest entry if it can go on: the look between two jobs.
    pub(super) fn take_newest(&mut self) -> Option<Waiting> {
        let last = self.entries.len().checked_sub(1)?;
        let entry = &self.entries[last];
        let may = self.may_go_on(entry, self.strictest());
        (may && entry.is_ready(true)).then(|| self.take(last))
    }

    /// The entry that should go on, by the order of the module, and its gang. `strict`: none that would go before an unfinished
    /// context of a deeper or older gang, which is suspended here and may be needed as soon as it can go on. `ranked`: ranks count.
    pub(super) fn best_ready(&self, strict: bool, ranked: bool) -> Option<(usize, GangTag)> {
        let count = self.entries.len();
        let bound = if strict { self.strictest() } else { GangTag::NONE };
        let mut best: Option<(usize, GangTag)> = None;
        for (at, entry) in self.entries.iter().enumerate() {
            let tag = entry.role.tag;
            let better = best.is_none_or(|(b, other)| {
                if tag == other { ranked && entry.rank < self.entries[b].rank } else { eligible(tag, other) }
            });
            if better && self.may_go_on(entry, bound) && !self.is_buried(at) && entry.is_ready(at + 1 == count) {
                best = Some((at, tag));
            }
        }
        best
    }

    /// Does the entry only let others go first?
    pub(super) fn gives_way(&self, at: usize) -> bool {
        self.entries[at].rank == GIVES_WAY
    }

    /// Does the gang of an unfinished context here let `entry` go on?
    fn may_go_on(&self, entry: &Waiting, bound: GangTag) -> bool {
        entry.finished || entry.role.tag == GangTag::NONE || eligible(entry.role.tag, bound)
    }

    /// Takes the newest context, unless it was left in the middle of its code.
    pub(super) fn take_newest_waiting(&mut self) -> Option<Waiting> {
        let last = self.entries.len().checked_sub(1)?;
        (!self.entries[last].interrupted).then(|| self.take(last))
    }

    /// Takes the newest context with this role that looks for jobs.
    pub(super) fn take_newest_seeker(&mut self, role: &Role) -> Option<Waiting> {
        let waits = |entry: &Waiting| entry.role.strand == role.strand && entry.role.region == role.region && entry.seek.is_some();
        let at = self.entries.iter().rposition(waits)?;
        Some(self.take(at))
    }

    pub(super) fn take_at(&mut self, at: usize) -> Waiting {
        self.take(at)
    }

    /// Forgets the contexts of all other strands, in the child of a fork: their threads do not exist there.
    pub(crate) fn forget_others(&mut self, strand: *const ThreadMode) {
        self.entries.retain(|e| e.role.strand == strand);
        self.count_again();
    }

    fn count_again(&mut self) {
        let count = |wanted: fn(&Waiting) -> bool| self.entries.iter().filter(|e| wanted(e)).count() as u32;
        (self.interrupted, self.resting) = (count(|e| e.interrupted), count(|e| !e.role.is_of_a_region()));
        self.changes = self.changes.wrapping_add(1);
    }

    pub(super) fn has(&self, wanted: impl Fn(&Waiting) -> bool) -> bool {
        self.entries.iter().any(wanted)
    }

    /// Takes all entries for which `wanted` says so, oldest first.
    pub(super) fn take_all(&mut self, wanted: impl Fn(&Waiting) -> bool) -> Vec<Waiting> {
        let taken: Vec<Waiting> = self.entries.iter().copied().filter(|e| wanted(e)).collect();
        self.entries.retain(|e| !wanted(e));
        self.count_again();
        taken
    }

    /// The entry of the strand that has sat longest, if it can go on.
    pub(super) fn take_ready_of(&mut self, strand: *const ThreadMode) -> Option<Waiting> {
        let at = self.entries.iter().position(|e| e.role.strand == strand)?;
        self.entries[at].is_ready(false).then(|| self.take(at))
    }

    /// The entry with a role that is `wanted` which has sat longest and can go on.
    pub(super) fn take_other(&mut self, wanted: impl Fn(&Role) -> bool) -> Option<Waiting> {
        let found = (0..self.entries.len()).find(|&at| wanted(&self.entries[at].role) && self.may_be_taken(at));
        found.map(|at| self.take(at))
    }

    /// The same among those of the lowest rank that can go on.
    pub(super) fn take_lowest(&mut self, wanted: impl Fn(&Role) -> bool) -> Option<Waiting> {
        if self.entries.len() == self.interrupted as usize {
            return self.take_other(wanted);
        }
        let mut lowest: Option<usize> = None;
        for (at, entry) in self.entries.iter().enumerate() {
            let lower = lowest.is_none_or(|b| entry.rank < self.entries[b].rank);
            if lower && wanted(&entry.role) && self.may_be_taken(at) {
                lowest = Some(at);
            }
        }
        lowest.map(|at| self.take(at))
    }

    fn may_be_taken(&self, at: usize) -> bool {
        !self.is_buried(at) && self.entries[at].is_ready(false)
    }

    /// Is a newer context of the same strand in the middle of its code?
    fn is_buried(&self, at: usize) -> bool {
        self.interrupted != 0
            && self.entries[at + 1..].iter().any(|e| e.interrupted && e.role.strand == self.entries[at].role.strand)
    }

    /// Is this the newest context of its strand?
    fn is_top(&self, at: usize) -> bool {
        self.entries[at + 1..].iter().all(|e| e.role.strand != self.entries[at].role.strand)
    }

    /// Those that may start something, newest first: the newest of each strand, and who is alone, unless a newer one is in the middle of its code.
    fn seekers(&self) -> impl Iterator<Item = &Waiting> {
        let may_start = |at: usize| self.is_top(at) || self.entries[at].alone && !self.is_buried(at);
        let all = self.entries.iter().enumerate().rev();
        all.filter(move |(at, entry)| entry.seek.is_some() && may_start(*at)).map(|(_, entry)| entry)
    }

    /// A job for one of the contexts that may start something, but for the strand `except`.
    pub(super) fn seek(&self, look: Look, except: *const ThreadMode) -> Option<(Job, Role)> {
        let mut seekers = self.seekers().filter(|entry| entry.role.strand != except);
        seekers.find_map(|entry| Some((entry.seek(look)?, entry.role)))
    }

    /// A job for a context whose gang may go before `gang` and all that is suspended here, or is that one.
    pub(super) fn seek_before(&self, gang: GangTag) -> Option<(Job, Role)> {
        let bound = self.strictest().strictest(gang);
        let may = |entry: &&Waiting| entry.role.tag == gang || self.may_go_on(entry, bound);
        let own = self.seekers().filter(may).find_map(|entry| Some((entry.seek(Look::Own)?, entry.role)));
        own.or_else(|| self.seek_elsewhere_for(may))
    }

    /// A job from the queues of others. Of those at one meeting one is asked: they would look at the same queues.
    pub(super) fn seek_elsewhere(&self) -> Option<(Job, Role)> {
        self.seek_elsewhere_for(|_| true)
    }

    fn seek_elsewhere_for(&self, may: impl Fn(&&Waiting) -> bool) -> Option<(Job, Role)> {
        let mut asked = core::ptr::null();
        self.seekers().filter(may).find_map(|entry| {
            let meeting = entry.meeting();
            if !meeting.is_null() && core::mem::replace(&mut asked, meeting) == meeting {
                return None;
            }
            Some((entry.seek(Look::Others)?, entry.role))
        })
    }

    /// A job for the newest context, quickly.
    pub(super) fn seek_newest(&self, look: Look) -> Option<(Job, Role)> {
        let entry = self.entries.last()?;
        entry.seek(look).map(|job| (job, entry.role))
    }

    /// The strictest gang among the suspended contexts that have not finished: what the worker may start is eligible for this.
    pub(super) fn strictest(&self) -> GangTag {
        let unfinished = self.entries.iter().filter(|e| !e.finished);
        unfinished.fold(GangTag::NONE, |strict, e| strict.strictest(e.role.tag))
    }

    /// Has another strand than `strand` a context here? One that waits for its next region, or an idle worker's own, counts
    /// when there is something for it to do; `all`, or one that is away: in any case, for its waker may not come here.
    pub(super) fn others(&self, strand: *const ThreadMode, all: bool) -> Others {
        let mut others = Others { strands: 0, meeting: core::ptr::null() };
        let mut first = true;
        for (at, entry) in self.entries.iter().enumerate().filter(|(_, entry)| entry.role.strand != strand) {
            let unseen = entry.role.away || (all && entry.sleepers.is_some());
            if entry.role.is_of_a_region() || unseen || entry.is_ready(false) {
                others.strands += u32::from(self.is_top(at));
                let meeting = entry.meeting();
                let waits = !meeting.is_null() && (first || others.meeting == meeting) && !entry.is_ready(false);
                others.meeting = if waits { meeting } else { core::ptr::null() };
                first = false;
            }
        }
        others
    }

    /// Can a context of another strand go on?
    pub(super) fn has_ready_of_others(&self, strand: *const ThreadMode) -> bool {
        self.has(|e| e.role.strand != strand && e.is_ready(false))
    }

    /// Can a context of another strand go on for which something has happened, and that is not held back?
    pub(super) fn has_released(&self, strand: *const ThreadMode) -> bool {
        let bound = self.strictest();
        let waited = |e: &Waiting| !e.yields && !e.interrupted && self.may_go_on(e, bound);
        self.has(|e| e.role.strand != strand && waited(e) && e.is_ready(false))
    }

    /// Is there an unfinished context of another strand that goes before `running`, or is its mate?
    pub(super) fn has_urgent(&self, running: &Role) -> bool {
        self.has(|e| e.role.strand != running.strand && !e.finished && eligible(e.role.tag, running.tag))
    }

    /// A context of another strand that runs for no region now: a thread between two of them, or an idle worker's own; and the
    /// counter that makes its waker come. The thread rather than the worker, where both are here.
    pub(super) fn resting(&self, strand: *const ThreadMode) -> Option<Option<&AtomicU32>> {
        if self.resting == 0 {
            return None;
        }
        let rests = |e: &&Waiting| e.role.strand != strand && !e.role.is_of_a_region();
        let entry = self.entries.iter().filter(rests).max_by_key(|e| e.sleepers.is_some())?;
        // SAFETY: as in `Waiting::is_ready`.
        Some(entry.sleepers.map(|counter| unsafe { &*counter }))
    }

    /// Is there a job for the context that [`Bench::resting`] means?
    pub(super) fn rests_beside_a_job(&self, strand: *const ThreadMode) -> bool {
        let rests = |e: &&Waiting| e.role.strand != strand && !e.role.is_of_a_region() && e.sleepers.is_some();
        self.entries.iter().rfind(rests).is_some_and(|entry| entry.seek(Look::Glance).is_some())
    }

    /// The counters of those whose jobs this bench looks for.
    pub(super) fn sought(&self) -> [*const AtomicU32; SOUGHT] {
        let mut counters = [core::ptr::null(); SOUGHT];
        let seekers = self.entries.iter().rev().filter(|e| e.seek.is_some());
        for (slot, entry) in counters.iter_mut().zip(seekers) {
            *slot = entry.sleepers.unwrap_or(core::ptr::null());
        }
        counters
    }

    pub(super) fn for_each_counter(&self, act: impl Fn(&AtomicU32)) {
        for counter in self.entries.iter().filter_map(|e| e.sleepers) {
            // SAFETY: as in `Waiting::is_ready`.
            act(unsafe { &*counter });
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use core::cell::RefCell;
    use core::ptr;

    /// Somebody who waits: a strand, whose counter of sleepers, at a meeting or not.
    type Seat<'a> = (usize, &'a AtomicU32, bool);

    /// A strand with this number.
    fn strand(number: usize) -> *const ThreadMode {
        ptr::without_provenance(number)
    }

    fn role(number: usize) -> Role {
        Role { tag: GangTag::NONE, region: 1, strand: strand(number), identity: None, away: false }
    }

    /// Calls `f` with a bench of these, all of whom ask `ready` and `seek`.
    fn with_bench<R>(seats: &[Seat<'_>], ready: &dyn Fn() -> bool, seek: &dyn Fn(usize) -> Option<Job>, f: impl FnOnce(&mut Bench) -> R) -> R {
        let seeks: Vec<_> = seats.iter().map(|&(number, ..)| move |_: Look| seek(number)).collect();
        let mut bench = Bench::new();
        for (&(number, sleepers, meets), seek) in seats.iter().zip(&seeks) {
            let (spin, yields, finished) = (Spin::NONE, false, false);
            let wait = Wait { ready, seek: Some(seek), sleepers: Some(sleepers), spin, yields, finished, alone: false };
            bench.sit(Waiting::of(ptr::null_mut(), role(number), &wait, (0, meets)));
        }
        f(&mut bench)
    }

    #[test]
    fn a_meeting_is_told_where_all_others_wait_at_it() {
        let (a, b) = (AtomicU32::new(0), AtomicU32::new(0));
        let others = |seats: &[Seat<'_>], ready: bool| {
            let told = with_bench(seats, &|| ready, &|_| None, |bench| bench.others(strand(1), false));
            (told.strands, told.meeting)
        };
        assert_eq!(others(&[], false), (0, ptr::null()));
        assert_eq!(others(&[(1, &a, false)], false), (0, ptr::null()));
        assert_eq!(others(&[(2, &a, true), (1, &b, false), (3, &a, true)], false), (2, &raw const a));
        assert_eq!(others(&[(2, &a, true), (3, &a, true)], true), (2, ptr::null()), "it is over");
        assert_eq!(others(&[(2, &a, true), (2, &a, false)], false), (1, ptr::null()), "in a task");
        for seats in [[(2, &a, true), (3, &b, true), (4, &a, true)], [(2, &a, true), (3, &a, true), (4, &a, false)]] {
            assert_eq!(others(&seats, false), (3, ptr::null()));
        }
    }

    #[test]
    fn one_of_each_meeting_looks_elsewhere() {
        let (a, b) = (AtomicU32::new(0), AtomicU32::new(0));
        let asked = RefCell::new(Vec::new());
        let seek = |number| {
            asked.borrow_mut().push(number);
            None
        };
        let seats = [(1, &a, true), (2, &a, true), (3, &a, false), (4, &b, true), (5, &b, true), (5, &b, false)];
        with_bench(&seats, &|| false, &seek, |bench| assert!(bench.seek_elsewhere().is_none()));
        assert_eq!(asked.take(), [5, 4, 3, 2]);
        with_bench(&seats, &|| false, &seek, |bench| assert!(bench.seek(Look::Last, strand(3)).is_none()));
        assert_eq!(asked.take(), [5, 4, 2, 1]);
    }

    #[test]
    fn who_is_alone_is_asked_below_newer_ones_unless_these_are_in_the_middle_of_their_code() {
        let counters: [AtomicU32; 4] = core::array::from_fn(|_| AtomicU32::new(0));
        let asked = RefCell::new(0);
        let seek = |_| {
            *asked.borrow_mut() += 1;
            None
        };
        let times = |bench: &Bench| {
            assert!(bench.seek(Look::Own, ptr::null()).is_none());
            asked.take()
        };
        let seats = [(1, &counters[0], false), (1, &counters[1], false), (2, &counters[2], false), (1, &counters[3], false)];
        with_bench(&seats, &|| false, &seek, |bench| {
            assert_eq!(times(bench), 2, "the newest of each strand");
            bench.entries[1].alone = true;
            assert_eq!(times(bench), 3);
            assert!(bench.seek(Look::Own, strand(1)).is_none());
            assert_eq!(asked.take(), 1, "the strand is excepted");
            bench.sit(Waiting::interrupted(ptr::null_mut(), role(2)));
            assert_eq!(times(bench), 2);
            bench.sit(Waiting::interrupted(ptr::null_mut(), role(1)));
            assert_eq!(times(bench), 0);
        });
    }
}
