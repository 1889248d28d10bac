//! What the monitor knows about one worker.
//!
//! Cache lines by writer: the worker itself (every switch), the watcher, the signal handler (two).
//! The owner's operations are single relaxed stores without read-modify-write, about a nanosecond
//! each.
//!
//! What may not live here: any decision. The watcher decides ([`super::watcher`]), the handler
//! judges ([`super::signal`]).
use core::cell::UnsafeCell;
use core::mem::offset_of;
use core::ptr;
use core::sync::atomic::{
    AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
    compiler_fence, fence,
};

use super::alarm::Alarm;
use super::episode::Episode;
use super::spin::StallSample;
use super::{is_urgent, regions, signal, watcher};
use crate::sync::CachePadded;

/// What a worker is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum WorkerMode {
    /// Asleep in the scheduler, or not a worker at all.
    Idle = 0,
    /// In the scheduler, or in another part of the runtime that will come to a switch point by
    /// itself.
    Scheduler = 1,
    /// In the program's code.
    User = 2,
}

/// One per worker, never freed. Written by its kernel thread unless said otherwise; read by the
/// watcher and, in the signal handler, by the kernel thread itself.
#[repr(C, align(128))]
pub struct Watched {
    /// Switch points passed.
    switch_count: AtomicU32,
    mode: AtomicU32,
    /// The kernel thread; zero while no kernel thread uses the record.
    tid: AtomicI32,
    /// Code address of the parallel region that the running context belongs to; zero: unknown.
    region: AtomicUsize,
    /// Contexts of other threads that are suspended on this worker or queued at it. Away from the
    /// turns: who queues something here looks at it.
    crowd: CachePadded<AtomicU32>,
    /// Behind this record in the watcher's list; written once, before the record is in the list.
    pub(super) next: AtomicPtr<Watched>,
    /// The process (counted by forks) in whose list this record is, plus one; zero: in none.
    listed: AtomicU32,
    /// A thread that is suspended on this worker has a signal to handle.
    wanted: AtomicU32,
    /// The record of who took over what waits behind this worker, which blocks; null: nobody since
    /// the watcher last asked for it.
    heir: AtomicPtr<Watched>,
    /// The value of `switch_count` for which it was handed off last, plus one; 0: never. Written by
    /// the watcher.
    handed_off: AtomicU64,
    pub(super) notes: Notes,
    pub(super) trap: Trap,
    pub(super) alarm: Alarm,
}

/// The watcher's own notes; no other thread reads or writes them.
#[repr(align(64))]
pub(super) struct Notes {
    cell: UnsafeCell<Episode>,
}

/// Between the watcher and the signal handler.
#[repr(align(64))]
pub(super) struct Trap {
    /// One from before the signal is sent until the handler has judged: never two signals on the
    /// way to one worker.
    pub(super) pending: AtomicU32,
    /// The value of `switch_count` for which the signal was sent.
    pub(super) switch_count: AtomicU32,
    /// How long the context has been left alone: zero, [`signal::SUSPECT`] or [`signal::OVERDUE`].
    pub(super) overdue: AtomicU32,
    /// What the handler found last, a [`signal::SampleVerdict`].
    pub(super) verdict: AtomicU32,
    /// When the signal was sent, nanoseconds.
    pub(super) sent: AtomicU64,
    /// For people ([`super::standing`]): program counter and stack pointer at the last sample, and
    /// the value of `switch_count` then, plus one.
    pub(super) ip: AtomicUsize,
    pub(super) sp: AtomicUsize,
    pub(super) sampled: AtomicU64,
    /// The interrupted state at the last sample; the handler's, on the worker's kernel thread.
    pub(super) last: UnsafeCell<StallSample>,
}

// SAFETY: `notes` is touched by the watcher thread alone (`Watched::notes`), `trap.last` and
// `alarm.last` by the worker's kernel thread alone, in the handler, between an observed and a
// cleared `pending` or `busy`; the rest is atomic.
unsafe impl Sync for Watched {}
// SAFETY: as above.
unsafe impl Send for Watched {}

impl Default for Watched {
    fn default() -> Self {
        Self::new()
    }
}

impl Watched {
    /// Where the kernel thread's number is, for [`crate::debug`].
    pub(crate) const TID: usize = offset_of!(Self, tid);

    /// A record that no kernel thread uses yet.
    pub const fn new() -> Self {
        Self {
            switch_count: AtomicU32::new(0),
            mode: AtomicU32::new(WorkerMode::Idle as u32),
            tid: AtomicI32::new(0),
            region: AtomicUsize::new(0),
            crowd: CachePadded(AtomicU32::new(0)),
            next: AtomicPtr::new(ptr::null_mut()),
            listed: AtomicU32::new(0),
            wanted: AtomicU32::new(0),
            heir: AtomicPtr::new(ptr::null_mut()),
            handed_off: AtomicU64::new(0),
            notes: Notes { cell: UnsafeCell::new(Episode::NONE) },
            trap: Trap {
                pending: AtomicU32::new(0),
                switch_count: AtomicU32::new(0),
                overdue: AtomicU32::new(0),
                verdict: AtomicU32::new(0),
                sent: AtomicU64::new(0),
                ip: AtomicUsize::new(0),
                sp: AtomicUsize::new(0),
                sampled: AtomicU64::new(0),
                last: UnsafeCell::new(StallSample::NONE),
            },
            alarm: Alarm::new(),
        }
    }

    /// Makes this record the calling kernel thread's, opens the signal there, and has the watcher
    /// look at it from now on. In mode `Scheduler` afterwards. Again in the child of a fork,
    /// for the record of the thread that forked.
    pub fn begin(&'static self) {
        signal::open_on_this_thread();
        // ORDERING: the thread's own; a signal that was on its way to the record's last thread has
        // been dealt with.
        self.trap.pending.store(0, Relaxed);
        // ORDERING: the owner's; the watcher takes any value.
        self.crowd.store(0, Relaxed);
        self.set_region(0);
        self.enter_scheduler();
        let tid = crate::worker::kernel_thread();
        // ORDERING: Release pairs with the Acquire in `tid`: the fields above are reset before the
        // watcher looks.
        self.tid.store(tid, Release);
        watcher::enlist(self, &self.listed);
    }

    /// Lets the monitor's signal through on the calling kernel thread, whose record this is.
    pub(crate) fn open_signal(&self) {
        signal::open_on_this_thread();
    }

    /// The calling kernel thread, whose record this is, ends or stops being a worker. Waits out a
    /// signal that is just being sent (microseconds), so that no other kernel thread ever gets
    /// it.
    pub fn end(&self) {
        self.set_mode(WorkerMode::Idle);
        self.alarm.discard();
        // ORDERING: SeqCst with the fence below; pairs with `watcher::Aim::at`.
        self.tid.store(0, SeqCst);
        // ORDERING: pairs with the fence in `watcher::Aim::at`: either the watcher sees zero, or we
        // see its aim.
        fence(SeqCst);
        while watcher::aims_at(self) {
            std::thread::yield_now();
        }
    }

    /// A switch point: what ran until now was making progress. Owner only.
    #[inline(always)]
    pub fn pass(&self) {
        // ORDERING: Relaxed; the owner alone writes, the watcher only compares values.
        let switch_count = self.switch_count.load(Relaxed);
        // ORDERING: as above.
        self.switch_count.store(switch_count.wrapping_add(1), Relaxed);
    }

    /// The program's code runs from here on. A switch point. Owner only.
    #[inline(always)]
    pub fn enter_user(&self) {
        self.pass();
        self.set_mode(WorkerMode::User);
    }

    /// The runtime's code runs from here on; the handler does nothing until
    /// [`enter_user`](Self::enter_user). A switch point. Owner only, from a signal handler
    /// also.
    #[inline(always)]
    pub fn enter_scheduler(&self) {
        self.set_mode(WorkerMode::Scheduler);
        self.pass();
    }

    /// The worker is about to sleep in the scheduler, and will come back by one of the two above.
    /// Owner only.
    #[inline(always)]
    pub fn enter_idle(&self) {
        self.set_mode(WorkerMode::Idle);
    }

    #[inline(always)]
    pub(super) fn set_mode(&self, mode: WorkerMode) {
        // ORDERING: Relaxed; the owner alone writes.
        let before = self.mode.load(Relaxed);
        compiler_fence(SeqCst);
        // ORDERING: Relaxed, between compiler fences: the handler on this same kernel thread sees
        // program order. The watcher takes any value, the handler checks again.
        self.mode.store(mode as u32, Relaxed);
        compiler_fence(SeqCst);
        if before == WorkerMode::Idle as u32 && self.crowd() != 0 {
            watcher::crowded(self);
        }
    }

    /// Is anybody queued behind this worker while it runs? A worker that sleeps in the scheduler
    /// holds nobody up.
    pub(super) fn is_crowded(&self) -> bool {
        // ORDERING: Relaxed; ordered by the barrier in `watcher::lie_down` where that matters.
        self.crowd() != 0 && self.mode.load(Relaxed) != WorkerMode::Idle as u32
    }

    /// How many contexts of other threads wait behind this worker, when one thread at a time says
    /// so. One load when the number stays; a load of the watcher's state when it ceases to be
    /// zero. Where several threads queue contexts here, see [`recount`](Self::recount).
    #[inline(always)]
    pub fn set_crowd(&self, crowd: u32) {
        // ORDERING: Relaxed; only decides whether to look at the watcher.
        let before = self.crowd.load(Relaxed);
        if before == crowd {
            return;
        }
        // ORDERING: Relaxed; ordered before the look at the watcher's state by the watcher's own
        // barrier on all processors of the process (`watcher::lie_down`), hence the compiler fence
        // only.
        self.crowd.store(crowd, Relaxed);
        if before == 0 {
            compiler_fence(SeqCst);
            watcher::crowded(self);
        }
    }

    /// As [`set_crowd`](Self::set_crowd), where the owner and others change at the same time who
    /// waits: a "nobody" that was seen early must not overwrite a later "somebody", or the
    /// watcher would rest while somebody waits. Call after each change, with relaxed loads in
    /// `waits`, which says whether anybody does; the number is kept as one or zero. A load and a
    /// comparison when nobody waits and nobody did, else also a fence.
    ///
    /// When all calls have returned, the number is zero only if nobody waits.
    #[inline]
    pub fn recount(&self, waits: impl Fn() -> bool) {
        loop {
            let crowd = waits();
            if crowd {
                // ORDERING: pairs with the fence below, in the call of another thread: the change
                // that this call is for is seen by its look, or its number is seen here.
                fence(SeqCst);
            }
            // ORDERING: Relaxed; ordered by the fence above.
            let before = self.crowd.load(Relaxed);
            if (before != 0) == crowd {
                return;
            }
            // ORDERING: Relaxed, and the fence behind it: pairs with the fence above.
            self.crowd.store(u32::from(crowd), Relaxed);
            fence(SeqCst);
            if before == 0 {
                watcher::crowded(self);
            }
        }
    }

    /// [`recount`](Self::recount) comes soon, and may write.
    #[inline]
    pub fn expect_crowd(&self) {
        crate::arch::fetch_to_write(core::ptr::from_ref(&self.crowd).cast());
    }

    /// [`recount`](Self::recount) by who has passed a full fence since it last made somebody wait
    /// here, or never has: two loads and a comparison while the answer stays.
    #[inline]
    pub fn recount_behind_fence(&self, waits: impl Fn() -> bool) {
        // ORDERING: Relaxed; ordered by the fence of the caller.
        if waits() != (self.crowd.load(Relaxed) != 0) {
            self.recount(waits);
        }
    }

    /// The parallel region (address of its outlined function) whose code runs next; zero if
    /// unknown. Owner only.
    #[inline(always)]
    pub fn set_region(&self, address: usize) {
        // ORDERING: Relaxed; a name for statistics and memory, any recent value is right.
        if self.region.load(Relaxed) == address {
            return;
        }
        // ORDERING: as above.
        self.region.store(address, Relaxed);
        // ORDERING: as above.
        if self.crowd.load(Relaxed) != 0 {
            watcher::crowded(self);
        }
    }

    /// Switch points passed so far, modulo 2^32.
    pub fn switch_count(&self) -> u32 {
        // ORDERING: Relaxed; compared only.
        self.switch_count.load(Relaxed)
    }

    /// Contexts of other threads that wait behind this worker.
    pub fn crowd(&self) -> u32 {
        // ORDERING: Relaxed; a number.
        self.crowd.load(Relaxed)
    }

    /// Whether the program's code runs.
    pub fn is_user(&self) -> bool {
        // ORDERING: Relaxed; see `set_mode`.
        self.mode.load(Relaxed) == WorkerMode::User as u32
    }

    /// The region whose code runs; zero if unknown.
    pub fn region(&self) -> usize {
        // ORDERING: Relaxed; see `set_region`.
        self.region.load(Relaxed)
    }

    /// The kernel thread, zero if none.
    pub fn tid(&self) -> i32 {
        // ORDERING: Acquire pairs with the Release in `begin`.
        self.tid.load(Acquire)
    }

    /// `heir` stands in for this worker, which blocks: what waits here is its business, until it
    /// blocks as well. By `heir`'s kernel thread, from
    /// [`Hooks::hand_off`](super::Hooks::hand_off) on. None: by the watcher, before it asks for
    /// another one.
    pub fn set_heir(&self, heir: Option<&'static Watched>) {
        let heir = heir.map_or(ptr::null_mut(), |heir| ptr::from_ref(heir).cast_mut());
        // ORDERING: Relaxed; records are never freed, and all the watcher reads of them is atomic.
        self.heir.store(heir, Relaxed);
    }

    /// What waits behind this worker has been handed off, since it came to the switch point
    /// `switch_count`. By the watcher.
    pub(super) fn note_hand_off(&self, switch_count: u32) {
        // ORDERING: Relaxed; only notified.
        self.handed_off.store(u64::from(switch_count) + 1, Relaxed);
    }

    /// Has that been done since the switch point `switch_count`?
    pub(super) fn was_handed_off(&self, switch_count: u32) -> bool {
        // ORDERING: Relaxed; only notified.
        self.handed_off.load(Relaxed) == u64::from(switch_count) + 1
    }

    /// Who stands in for this worker, if anybody does.
    pub(super) fn heir(&self) -> Option<&'static Watched> {
        // ORDERING: Relaxed; see `set_heir`.
        let heir = self.heir.load(Relaxed);
        // SAFETY: null, or a record that `set_heir` was given for good.
        unsafe { heir.as_ref() }
    }

    /// A thread that is suspended on this worker has a signal to handle, or all of those have been
    /// looked for. Any thread, in a signal handler too.
    pub fn set_wanted(&self, wanted: bool) {
        // ORDERING: Relaxed; the message is elsewhere, this makes the alarm impatient.
        self.wanted.store(u32::from(wanted), Relaxed);
    }

    /// Has a suspended thread a signal to handle?
    pub(super) fn is_wanted(&self) -> bool {
        // ORDERING: Relaxed; see `set_wanted`.
        self.wanted.load(Relaxed) != 0
    }

    /// Was the running region seen spinning or blocking?
    pub(super) fn in_known_region(&self) -> bool {
        let region = self.region();
        regions::is_known_to_wait(region)
    }

    /// Does the running code spin by now, more likely than not, with somebody behind it who should
    /// not wait for long?
    pub(super) fn expects_a_spin(&'static self) -> bool {
        regions::is_known_spinner(self.region()) && !self.alarm.is_running() && is_urgent(self)
    }

    /// The watcher's notes.
    ///
    /// # Safety
    /// On the watcher thread, one reference at a time.
    #[allow(clippy::mut_from_ref)]
    pub(super) unsafe fn notes(&self) -> &mut Episode {
        // SAFETY: as the caller says.
        unsafe { &mut *self.notes.cell.get() }
    }

    /// For tests: a record whose kernel thread `tid` runs the program's code for all that the
    /// watcher knows.
    #[cfg(test)]
    pub(super) fn seem_to_run(&'static self, tid: i32) -> &'static Watched {
        // ORDERING: Relaxed; read by the calling thread.
        self.tid.store(tid, Relaxed);
        // ORDERING: as above.
        self.mode.store(WorkerMode::User as u32, Relaxed);
        self
    }

    /// In the child of a fork: nobody's record.
    pub(super) fn forget(&self) {
        // ORDERING: the only thread.
        self.tid.store(0, Relaxed);
        // ORDERING: the only thread.
        self.listed.store(0, Relaxed);
        // ORDERING: the only thread.
        self.trap.pending.store(0, Relaxed);
        self.set_heir(None);
        self.alarm.forget();
    }
}
