//! The record that the monitor keeps of one worker.
//!
//! The fields are grouped into cache lines by writer: the worker itself (at every switch), the
//! watcher, and the signal handler (two lines). The owner's operations are single relaxed stores
//! without read-modify-write; each takes about a nanosecond.
//!
//! *Owner* means the worker's kernel thread.
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
use super::hooks::may_wait_for_others;
use super::spin::StallSample;
use super::{regions, signal, watcher};
use crate::sys::sync::CachePadded;

/// What a worker does at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum WorkerMode {
    /// The worker sleeps in the scheduler, or the kernel thread is no worker.
    Idle = 0,
    /// The worker is in the scheduler, or in another part of the runtime that will come to a switch
    /// point by itself.
    Scheduler = 1,
    /// The worker runs the program's code.
    User = 2,
}

/// The record of one worker, never freed. The worker's kernel thread writes it unless said
/// otherwise. The watcher reads it, and so does the kernel thread itself in the signal handler.
#[repr(C, align(128))]
pub struct Watched {
    /// Number of switch points passed.
    switch_count: AtomicU32,
    /// The [`WorkerMode`].
    mode: AtomicU32,
    /// The kernel thread; zero while no kernel thread uses the record.
    tid: AtomicI32,
    /// Code address of the parallel region that the running context belongs to; zero if unknown.
    region: AtomicUsize,
    /// Number of contexts of other threads that are suspended on this worker or queued at it. It is
    /// in another cache line than the switch count, because a thread that queues a context here
    /// reads it.
    crowd: CachePadded<AtomicU32>,
    /// The next record in the watcher's list; written once, before this record is in the list.
    pub(super) next: AtomicPtr<Watched>,
    /// One while this record is in the watcher's list; zero otherwise.
    listed: AtomicU32,
    /// One if a thread that is suspended on this worker has a signal to handle.
    wanted: AtomicU32,
    /// The record of the worker that took over the contexts behind this blocked worker. Null: no
    /// worker has since the watcher last asked.
    heir: AtomicPtr<Watched>,
    /// The value of `switch_count` at the last hand-off, plus one; 0 if there was none. Written by
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

/// State that the watcher and the signal handler share.
#[repr(align(64))]
pub(super) struct Trap {
    /// One from before the signal is sent until the handler has judged, so that there are never two
    /// signals on their way to one worker.
    pub(super) pending: AtomicU32,
    /// The value of `switch_count` for which the signal was sent.
    pub(super) switch_count: AtomicU32,
    /// How long the context has been left alone: zero, [`signal::SUSPECT`] or [`signal::OVERDUE`].
    pub(super) overdue: AtomicU32,
    /// The handler's last verdict, a [`signal::SampleVerdict`].
    pub(super) verdict: AtomicU32,
    /// When the signal was sent, in nanoseconds.
    pub(super) sent: AtomicU64,
    /// For reports to people ([`super::standing`]): program counter and stack pointer at the last
    /// sample, and the value of `switch_count` then, plus one.
    pub(super) ip: AtomicUsize,
    pub(super) sp: AtomicUsize,
    pub(super) sampled: AtomicU64,
    /// The interrupted state at the last sample. The handler alone uses it, on the worker's kernel
    /// thread.
    pub(super) last: UnsafeCell<StallSample>,
}

// SAFETY: the watcher thread alone touches `notes` (`Watched::notes`). The worker's kernel thread
// alone touches `trap.last` and `alarm.last`: in the handler, between an observed and a cleared
// `pending` or `busy`. All other fields are atomic.
unsafe impl Sync for Watched {}
// SAFETY: as above.
unsafe impl Send for Watched {}

impl Default for Watched {
    fn default() -> Self {
        Self::new()
    }
}

impl Watched {
    /// Offset of the kernel thread's number in the record, in bytes, for [`crate::debug`]. Derived:
    /// from the layout of the record.
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

    /// Assigns this record to the calling kernel thread, unblocks the signal there, and puts the
    /// record on the watcher's list. The mode is `Scheduler` afterwards. In the child of a fork the
    /// thread that forked calls it again on its record.
    #[cold]
    pub fn begin(&'static self) {
        signal::open_on_this_thread();
        // ORDERING: the thread's own field; a signal that was on its way to the record's last
        // thread has been handled.
        self.trap.pending.store(0, Relaxed);
        // ORDERING: the owner's field; the watcher takes any value.
        self.crowd.store(0, Relaxed);
        self.set_region(0);
        self.enter_scheduler();
        let tid = crate::sys::thread::number();
        // ORDERING: Release pairs with the Acquire in `tid`: the fields above are reset before the
        // watcher looks.
        self.tid.store(tid, Release);
        watcher::enlist(self, &self.listed);
    }

    /// Unblocks the monitor's signal on the calling kernel thread, whose record this is.
    pub(crate) fn open_signal(&self) {
        signal::open_on_this_thread();
    }

    /// Called when the calling kernel thread, whose record this is, ends or stops being a worker.
    /// It waits until a signal that is being sent has been sent (microseconds), so that no other
    /// kernel thread ever gets it.
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

    /// Counts a switch point: the code that ran until now was making progress. Called by the owner
    /// only.
    #[inline(always)]
    pub fn pass(&self) {
        // ORDERING: Relaxed; the owner alone writes, the watcher only compares values.
        let switch_count = self.switch_count.load(Relaxed);
        // ORDERING: as above.
        self.switch_count.store(switch_count.wrapping_add(1), Relaxed);
    }

    /// Says that the program's code runs from here on. This is a switch point. Called by the owner
    /// only.
    #[inline(always)]
    pub fn enter_user(&self) {
        self.pass();
        self.set_mode(WorkerMode::User);
    }

    /// Says that the runtime's code runs from here on; the handler does nothing until
    /// [`enter_user`](Self::enter_user). This is a switch point. Called by the owner only, also
    /// from a signal handler.
    #[inline(always)]
    pub fn enter_scheduler(&self) {
        self.set_mode(WorkerMode::Scheduler);
        self.pass();
    }

    /// Says that the worker is about to sleep in the scheduler. The worker comes back by
    /// [`enter_user`](Self::enter_user) or [`enter_scheduler`](Self::enter_scheduler). Called by
    /// the owner only.
    #[inline(always)]
    pub fn enter_idle(&self) {
        self.set_mode(WorkerMode::Idle);
    }

    /// Sets the mode. If the worker ceases to be idle while contexts wait behind it, the watcher is
    /// notified.
    #[inline(always)]
    pub(super) fn set_mode(&self, mode: WorkerMode) {
        // ORDERING: Relaxed; the owner alone writes.
        let before = self.mode.load(Relaxed);
        compiler_fence(SeqCst);
        // ORDERING: Relaxed, between compiler fences: the handler on this same kernel thread sees
        // program order. The watcher takes any value, and the handler checks again.
        self.mode.store(mode as u32, Relaxed);
        compiler_fence(SeqCst);
        if before == WorkerMode::Idle as u32 && self.crowd() != 0 {
            watcher::crowded(self);
        }
    }

    /// Do contexts wait behind this worker while it runs? A worker that sleeps in the scheduler
    /// holds no context up.
    pub(super) fn is_crowded(&self) -> bool {
        // ORDERING: Relaxed; ordered by the barrier in `watcher::Bed::lie_down` where that matters.
        self.crowd() != 0 && self.mode.load(Relaxed) != WorkerMode::Idle as u32
    }

    /// Sets the number of contexts of other threads that wait behind this worker. One thread at a
    /// time may call it; where several threads queue contexts here, [`recount`](Self::recount) is
    /// used. It costs one load when the number stays, and a load of the watcher's state when the
    /// number ceases to be zero.
    #[inline(always)]
    pub fn set_crowd(&self, crowd: u32) {
        // ORDERING: Relaxed; the value only decides whether to read the watcher's state.
        let before = self.crowd.load(Relaxed);
        if before == crowd {
            return;
        }
        // ORDERING: Relaxed. The watcher's own barrier on all processors of the process
        // (`watcher::Bed::lie_down`) orders this store before the load of the watcher's state,
        // hence the compiler fence only.
        self.crowd.store(crowd, Relaxed);
        if before == 0 {
            compiler_fence(SeqCst);
            watcher::crowded(self);
        }
    }

    /// Like [`set_crowd`](Self::set_crowd), where the owner and other threads queue or remove
    /// contexts at the same time. An early "no context waits" must not overwrite a later "a context
    /// waits", or the watcher would rest while a context waits.
    ///
    /// Call it after each change. The function `waits`, which uses relaxed loads, says whether a
    /// context waits; the number is stored as one or zero. If no context waits or waited, it costs
    /// a load and a comparison, otherwise also a fence.
    ///
    /// When all calls have returned, the number is zero only if no context waits.
    #[inline]
    pub fn recount(&self, waits: impl Fn() -> bool) {
        loop {
            let crowd = waits();
            if crowd {
                // ORDERING: pairs with the fence below, in the call of another thread. Either the
                // `waits` of that call sees the change that this call is for, or this call sees the
                // number of that call.
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

    /// Prefetches the number for writing, because [`recount`](Self::recount) comes soon and may
    /// write it.
    #[inline]
    pub fn expect_crowd(&self) {
        crate::sys::arch::fetch_to_write(core::ptr::from_ref(&self.crowd).cast());
    }

    /// Like [`recount`](Self::recount), for a thread that has passed a full fence since it last
    /// made a context wait here, or never has. It costs two loads and a comparison while the answer
    /// stays.
    #[inline]
    pub fn recount_behind_fence(&self, waits: impl Fn() -> bool) {
        // ORDERING: Relaxed; ordered by the fence of the caller.
        if waits() != (self.crowd.load(Relaxed) != 0) {
            self.recount(waits);
        }
    }

    /// Sets the parallel region (address of its outlined function) whose code runs next; zero if
    /// unknown. Called by the owner only.
    #[inline(always)]
    pub fn set_region(&self, address: usize) {
        // ORDERING: Relaxed; the address is a name for statistics and for `regions`, and any recent
        // value is right.
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

    /// Number of switch points passed so far, modulo 2^32.
    pub fn switch_count(&self) -> u32 {
        // ORDERING: Relaxed; the value is only compared.
        self.switch_count.load(Relaxed)
    }

    /// Number of contexts of other threads that wait behind this worker.
    pub fn crowd(&self) -> u32 {
        // ORDERING: Relaxed; it is a number only.
        self.crowd.load(Relaxed)
    }

    /// Does the program's code run?
    pub fn is_user(&self) -> bool {
        // ORDERING: Relaxed; see `set_mode`.
        self.mode.load(Relaxed) == WorkerMode::User as u32
    }

    /// The region whose code runs; zero if unknown.
    pub fn region(&self) -> usize {
        // ORDERING: Relaxed; see `set_region`.
        self.region.load(Relaxed)
    }

    /// The kernel thread; zero if there is none.
    pub fn tid(&self) -> i32 {
        // ORDERING: Acquire pairs with the Release in `begin`.
        self.tid.load(Acquire)
    }

    /// Says that `heir` stands in for this worker, which blocks: `heir` serves the contexts that
    /// wait here until it blocks as well. `heir`'s kernel thread calls it, from
    /// [`Hooks::hand_off`](super::Hooks::hand_off) on. The watcher calls it with `None`, before it
    /// asks for another worker.
    pub fn set_heir(&self, heir: Option<&'static Watched>) {
        let heir = heir.map_or(ptr::null_mut(), |heir| ptr::from_ref(heir).cast_mut());
        // ORDERING: Relaxed; records are never freed, and all fields that the watcher reads of them
        // are atomic.
        self.heir.store(heir, Relaxed);
    }

    /// Says that the contexts behind this worker have been handed off since the worker came to the
    /// switch point `switch_count`. Called by the watcher.
    pub(super) fn note_hand_off(&self, switch_count: u32) {
        // ORDERING: Relaxed; the value is only reported to people.
        self.handed_off.store(u64::from(switch_count) + 1, Relaxed);
    }

    /// Have the contexts been handed off since the switch point `switch_count`?
    pub(super) fn was_handed_off(&self, switch_count: u32) -> bool {
        // ORDERING: Relaxed; the value is only reported to people.
        self.handed_off.load(Relaxed) == u64::from(switch_count) + 1
    }

    /// The worker that stands in for this one, if there is one.
    pub(super) fn heir(&self) -> Option<&'static Watched> {
        // ORDERING: Relaxed; see `set_heir`.
        let heir = self.heir.load(Relaxed);
        // SAFETY: the pointer is null, or points to a record with a static lifetime that `set_heir`
        // was given.
        unsafe { heir.as_ref() }
    }

    /// Says whether a thread that is suspended on this worker has a signal to handle; false when
    /// all such threads have been searched for. Any thread may call it, also in a signal handler.
    pub fn set_wanted(&self, wanted: bool) {
        // ORDERING: Relaxed; the signal itself is stored elsewhere, this flag only makes the alarm
        // tick.
        self.wanted.store(u32::from(wanted), Relaxed);
    }

    /// Does a suspended thread have a signal to handle?
    pub(crate) fn is_wanted(&self) -> bool {
        // ORDERING: Relaxed; see `set_wanted`.
        self.wanted.load(Relaxed) != 0
    }

    /// Was the running region seen spinning or blocking?
    pub(super) fn in_known_region(&self) -> bool {
        let region = self.region();
        regions::is_known_to_wait(region)
    }

    /// Is a spin of the running code more likely than not by now, while a context waits behind it
    /// that should not wait for long?
    pub(super) fn expects_a_spin(&'static self) -> bool {
        regions::is_known_spinner(self.region()) && !self.alarm.is_running() && may_wait_for_others(self)
    }

    /// The watcher's notes.
    ///
    /// # Safety
    /// Call it on the watcher thread, with one reference at a time.
    #[allow(clippy::mut_from_ref)]
    pub(super) unsafe fn notes(&self) -> &mut Episode {
        // SAFETY: as the caller says.
        unsafe { &mut *self.notes.cell.get() }
    }

    /// For tests: a record whose kernel thread `tid` runs the program's code, as far as the watcher
    /// can see.
    #[cfg(test)]
    pub(super) fn seem_to_run(&'static self, tid: i32) -> &'static Watched {
        // ORDERING: Relaxed; read by the calling thread.
        self.tid.store(tid, Relaxed);
        // ORDERING: as above.
        self.mode.store(WorkerMode::User as u32, Relaxed);
        self
    }

    /// Resets the record in the child of a fork: no kernel thread uses it.
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
