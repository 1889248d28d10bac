//! How the members of a team start a region, end it, leave, and come back.
//!
//! What lives here: the epoch, the counts of members that are present and that have joined, and the
//! end of a region and of the team. What does not: how the members' ULTs are queued and what
//! members do between two regions ([`crate::assemble`]), and the barrier (`barrier`). The
//! protocol is in `docs/protocols/team.md`.
//!
//! Rejected:
//! * A barrier at the end of a region. The next wait of the members is for the next region anyway.
//! * ULT members that wait, suspended, until the region is closed. That costs three switches per
//!   thread instead of none.
//! * Counting each member that leaves by itself. The team's cache line would then be written once
//!   per thread instead of once per worker.

use core::ptr;
use core::sync::atomic::{Ordering, fence};

use ult::gang::GangTag;
use ult::sanitize::{after, before};
use ult::worker::Worker;

use super::super::assemble;
use super::waiting::WaitSite;
use crate::agents::calls;
use crate::extension::tools;
use crate::team::plan::TeamKind;
use crate::team::record::Team;
use crate::thread::current::OwnThread;
use crate::thread::record::Thread;

/// One member that is present, in `TeamCounts::ending`. Derived: the count of present members is the low
/// half of the word.
const PRESENT: u64 = 1;
/// One member that is present and has joined, in `TeamCounts::ending`. Derived: the count of joined
/// members is the high half of the word.
const JOINED: u64 = 1 << 32;

impl Team {
    /// Detaches and frees the member records. The members must have left.
    pub fn free_members(&self) {
        for slot in &self.members.slots {
            // ORDERING: Acquire, as in `thread`.
            let thread = slot.swap(ptr::null_mut(), Ordering::Acquire);
            if !thread.is_null() {
                // SAFETY: a member, which has left.
                tools::region::member_is_freed(unsafe { &*thread });
                // SAFETY: `attach` made it from a Box; the member has left.
                drop(unsafe { Box::from_raw(thread) });
            }
        }
        self.members.attached.set(0);
        self.free_agents();
    }

    /// The gang of the region.
    #[inline(always)]
    pub fn gang(&self) -> GangTag {
        self.start.0.gang.get()
    }

    /// Is this an outermost team? If its region has a gang, no other team has the gang's tag. A nested
    /// team may run for the gang of the outer one.
    pub fn is_outermost(&self) -> bool {
        self.plan().nesting.active_around <= 1
    }

    /// Sets the gang for which the next region runs. For the forking thread, between regions.
    pub fn set_gang(&self, gang: GangTag) {
        self.start.0.gang.set(gang);
    }

    /// Fetches the cache lines that the forking thread of a team of ULTs writes at the start of a
    /// region. The members' processors have these lines; they arrive while the forking thread does
    /// other work.
    pub fn expect_start(&self) {
        ult::sys::arch::fetch_to_write(ptr::from_ref(&self.start).cast());
        ult::sys::arch::fetch_to_write(ptr::from_ref(&self.counts.ending).cast());
    }

    /// As [`Team::expect_start`], for a member of a team of ULTs that has started. Fetches the line
    /// in which the member is counted when it has left.
    pub fn expect_end(&self) {
        ult::sys::arch::fetch_to_write(ptr::from_ref(&self.counts.ending).cast());
    }

    /// The event for a race detector that orders the work of the members before the code of thread
    /// 0 after the join.
    pub(crate) fn join_event(&self) -> *const u8 {
        (&raw const self.counts.ending.0).cast()
    }

    /// Tells a race detector that the calling member begins its share of a region.
    #[inline(always)]
    pub(crate) fn share_begins(&self) {
        after(&raw const self.start);
    }

    /// Tells a race detector that the calling member has ended its share of a region.
    #[inline(always)]
    pub(crate) fn share_ends(&self) {
        before(self.join_event());
    }

    /// Starts the region that the plan describes: one store, and a wake-up for each member that
    /// sleeps.
    pub fn start_region(&self) {
        let size = self.size();
        before(&raw const self.start);
        // ORDERING: Relaxed; only the forking thread writes the epoch.
        let next = (self.start.0.epoch.load(Ordering::Relaxed) >> 16) + 1;
        // ORDERING: Release, pairs with the Acquire in `next_region`: the plan is complete.
        self.start.0.epoch.store(next << 16 | u64::from(size), Ordering::Release);
        // The members of a team of ULTs have left. They start anew when their starts have been
        // queued.
        if self.kind != TeamKind::Ults {
            self.wake_members(size);
        }
    }

    /// The epoch, for a member that knows `seen`: `Some` if a region has started in which member
    /// `num` takes part.
    #[inline(always)]
    pub fn next_region(&self, seen: u64, num: u32) -> Option<u64> {
        // ORDERING: Acquire, pairs with `start_region`.
        let epoch = self.start.0.epoch.load(Ordering::Acquire);
        (epoch != seen && u64::from(num) < (epoch & 0xFFFF)).then_some(epoch)
    }

    /// The present epoch.
    pub fn epoch(&self) -> u64 {
        // ORDERING: Acquire, pairs with `start_region`.
        self.start.0.epoch.load(Ordering::Acquire)
    }

    /// The end of a region for a member. The member arrives and does not wait here; it waits for
    /// the next region, or for the end of this one.
    pub fn arrive_at_join(&self) {
        let primary_worker = self.thread(0).and_then(Thread::host);
        // ORDERING: Release, pairs with the Acquire in `is_joined`. AcqRel, because this count also
        // passes on the writes of members that arrived earlier.
        let ending = self.counts.ending.0.fetch_add(JOINED, Ordering::AcqRel) + JOINED;
        if self.is_joined_at(ending)
            && let Some(worker) = primary_worker
        {
            worker.wake_other();
        }
    }

    /// Have all members ended their share of the region, by this value of `ending`? In a team of
    /// ULTs, a member that has left has ended its share.
    fn is_joined_at(&self, ending: u64) -> bool {
        let joined = (ending / JOINED) as u32;
        joined == if self.kind == TeamKind::Ults { ending as u32 } else { self.size() - 1 }
    }

    /// The end of a region for its thread 0: waits for all members and all tasks.
    pub fn await_join(&self, thread: OwnThread) {
        let size = self.size();
        if size > 1 {
            // ORDERING: Acquire, pairs with `arrive_at_join` and `leave_for_good`: thread 0 sees
            // the members' writes.
            let joined = || self.is_joined_at(self.counts.ending.0.load(Ordering::Acquire));
            self.help_while(thread, &joined, &|| true, self.spin(), WaitSite::Join);
        }
        self.await_quiet(thread);
        if self.has_used_tasks() {
            calls::dismiss(self);
        }
        self.has_joined();
        if size == 1 {
            return;
        }
        if self.kind != TeamKind::Ults {
            // ORDERING: Relaxed; published by the epoch of the next region.
            self.counts.ending.0.fetch_and(JOINED - 1, Ordering::Relaxed);
        }
        self.close();
    }

    /// Closes the last region, so that its members, which have arrived at the join, may leave. For
    /// thread 0.
    fn close(&self) {
        let has_none_to_release = if self.kind == TeamKind::Ults {
            self.present() == 0
        } else {
            !self.plan().uses_kept_tls_blocks && !self.plan().notified
        };
        if has_none_to_release {
            return; // the members have left, or wait for the next region
        }
        // ORDERING: Relaxed; only the forking thread writes the epoch.
        let epoch = self.start.0.epoch.load(Ordering::Relaxed);
        // ORDERING: Release, pairs with the Acquire in `is_closed`.
        self.end.closed.store(epoch, Ordering::Release);
        // ORDERING: SeqCst, pairs with the fence in `hold_again`: a member that switches to its
        // kept TLS block is counted here, or sees that the region is closed.
        fence(Ordering::SeqCst);
        if !self.is_clear() || self.plan().notified {
            self.wake_members(self.size());
        }
    }

    /// Is every member done with all that the next region needs? A member of a team of ULTs must
    /// have left; one on a kernel thread must have released its TLS block. Thread 0 asks when all
    /// have joined.
    pub fn is_clear(&self) -> bool {
        if self.kind == TeamKind::Ults {
            self.present() == 0
        } else {
            // ORDERING: Acquire, pairs with `let_go_of_block`: the members' kept TLS blocks are
            // free.
            self.end.holding.load(Ordering::Acquire) == 0
        }
    }

    /// Counts a member that keeps running with its kept TLS block after it joins, until
    /// [`Team::let_go_of_block`]. Called before the member arrives at the join.
    pub fn keep_holding(&self) {
        // ORDERING: Relaxed; published by the arrival.
        self.end.holding.fetch_add(1, Ordering::Relaxed);
    }

    /// Lets a member that has joined and switched back run with its kept TLS block again, for tasks
    /// of the region with this epoch, until [`Team::let_go_of_block`]. False if the region is
    /// closed: another team may have the TLS block by now.
    #[must_use]
    pub fn hold_again(&self, epoch: u64) -> bool {
        self.keep_holding();
        // ORDERING: SeqCst, pairs with the fence in `close`.
        fence(Ordering::SeqCst);
        let open = !self.is_closed(epoch);
        if !open {
            self.let_go_of_block();
        }
        open
    }

    /// Does the region with this epoch have ready tasks for a member that has taken part in it and
    /// joined?
    pub fn calls_back(&self, epoch: u64) -> bool {
        self.has_used_tasks() && !self.is_closed(epoch) && self.has_ready_tasks()
    }

    /// The member has switched back from its kept TLS block.
    pub fn let_go_of_block(&self) {
        let primary_worker = self.thread(0).and_then(Thread::host);
        // ORDERING: Release, pairs with `is_clear`; AcqRel, because this count also passes on what
        // earlier members have released.
        if self.end.holding.fetch_sub(1, Ordering::AcqRel) == 1
            && let Some(worker) = primary_worker
        {
            worker.wake();
        }
    }

    /// Is the region with this epoch over?
    #[inline]
    pub fn is_closed(&self, epoch: u64) -> bool {
        // ORDERING: Acquire, pairs with `close`.
        self.end.closed.load(Ordering::Acquire) >= epoch
    }

    /// Counts a member that has been sent to this team.
    pub fn count_present(&self) {
        // ORDERING: Relaxed; the forking thread counts before the member can leave.
        self.counts.ending.0.fetch_add(PRESENT, Ordering::Relaxed);
    }

    /// Counts all members of the next region of a team of ULTs. All members of the last region have
    /// left.
    pub fn count_all_present(&self) {
        // ORDERING: Relaxed; published by the queue that holds the members' starts.
        self.counts.ending.0.store(u64::from(self.size() - 1) * PRESENT, Ordering::Relaxed);
    }

    /// Number of members that have not left for good.
    pub fn present(&self) -> u32 {
        // ORDERING: Acquire, pairs with `leave_for_good`: the team may be freed after the last one
        // has left.
        self.counts.ending.0.load(Ordering::Acquire) as u32
    }

    /// `count` members leave, and must not touch the team afterwards. A member that had not joined
    /// has joined by this.
    pub fn leave_for_good(&self, count: u32) {
        // ORDERING: Acquire, pairs with `end_runner`. Read first: the team may be gone after the
        // count.
        let dismisser = self.end.dismisser.load(Ordering::Acquire);
        let primary_worker = self.thread(0).and_then(Thread::host);
        // ORDERING: AcqRel; Release, pairs with `present` and `is_joined`; Acquire, because this
        // count also passes on what other members have released.
        let before = self.counts.ending.0.fetch_sub(u64::from(count) * PRESENT, Ordering::AcqRel);
        let ending = before - u64::from(count) * PRESENT;
        if u64::from(ending as u32) == ending / JOINED
            && let Some(worker) = primary_worker
        {
            worker.wake_other();
        }
        // SAFETY: worker records are never freed.
        if let Some(worker) = unsafe { dismisser.as_ref() } {
            worker.wake();
        }
    }

    /// Do members that have ended their share stay, to help with tasks?
    pub fn lingers(&self) -> bool {
        // ORDERING: Relaxed; published by the epoch.
        self.has_used_tasks() || self.flags.lingering.load(Ordering::Relaxed) || self.plan().notified
    }

    /// `count` members of a team of ULTs have left, on the calling worker, which is in its
    /// scheduler.
    pub fn retire_members(&self, count: u32) {
        // ORDERING: SeqCst, pairs with the fence in `begin_to_use_tasks`.
        fence(Ordering::SeqCst);
        if self.has_used_tasks() {
            self.revive_members();
        }
        self.leave_for_good(count);
    }

    /// Brings back members that left the region before it used tasks, so that they help with the
    /// tasks. The caller is a thread of the team, or a worker on which members have left that are
    /// not yet counted. The region cannot end meanwhile.
    #[cold]
    pub(super) fn revive_members(&self) {
        let epoch = self.epoch();
        if self.is_closed(epoch) || self.is_lost() || self.plan().notified {
            return; // or no member has left
        }
        let members = (1..self.size()).filter_map(|num| self.thread(num));
        for thread in members.filter(|thread| thread.comes_back(epoch)) {
            // ORDERING: Relaxed; later counts of the caller order the end of the region.
            self.counts.ending.0.fetch_add(PRESENT + JOINED, Ordering::Relaxed);
            assemble::start_helper(thread);
        }
    }

    /// Asks the members to leave for good. They wake `dismisser` when they do.
    pub fn end_runner(&self, dismisser: &'static Worker) {
        // ORDERING: Release, pairs with the Acquire in `leave_for_good`. Either the member sees the
        // worker, or, by the fence of the parker, the worker sees that the member has left.
        self.end.dismisser.store(ptr::from_ref(dismisser).cast_mut(), Ordering::Release);
        // ORDERING: Release, pairs with `is_retired`.
        self.end.retired.store(true, Ordering::Release);
        self.wake_members(self.members.attached.get());
    }

    /// Have the members been asked to leave?
    pub fn is_retired(&self) -> bool {
        // ORDERING: Acquire, pairs with `end_runner`.
        self.end.retired.load(Ordering::Acquire)
    }
}
