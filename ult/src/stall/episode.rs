//! The decision about one worker: from the first look that finds it where it was at the last, to
//! the switch point that ends the episode.
//!
//! Per look there is one question, answered by the thread's processor time: did it run through the
//! interval? Who ran is sampled by a signal. Who did not is never signalled; if the kernel says
//! that it sleeps, and goes on saying so, its queues are handed off. Who did neither was kept from
//! a processor, and is looked at again.
//!
//! What may not live here: the pace of the watcher, the handler.
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::observer::{self, SchedulerEvent};

use super::clock::{self, KernelThreadState};
use super::signal::{self, SampleVerdict};
use super::watched::Watched;
use super::watcher::{Aim, LONGEST_NAP_NANOS, QUICK_PERIOD_NANOS};
use super::{TALLY, count, hooks, is_urgent, objects, regions};

/// How long a worker has to sleep, or to stay where it cannot be interrupted, before its queues are
/// handed off, ns.
const STILL_NANOS: u64 = 1_000_000;
/// From this time between looks on, code that may be spinning is taken to be; it has stood still
/// for twice that, ns.
const LONG_PERIOD_NANOS: u64 = 16 * QUICK_PERIOD_NANOS;
/// The first time between looks in a region that was seen computing, and never waiting,
/// nanoseconds.
const COMPUTING_PERIOD_NANOS: u64 = 80 * QUICK_PERIOD_NANOS;
/// Nanoseconds before code is looked at behind which only younger gangs wait, which do not hold it
/// up by the order of gangs.
const YOUNGER_WAIT_NANOS: u64 = 2_000_000;
/// How many looks in a row have to agree about that.
const AGREEING_LOOKS: u32 = 3;
/// Expectations in a row that came to nothing before a region counts no longer as one that spins.
const VAIN_EXPECTATIONS: u32 = 64;

/// What the watcher remembers about one worker, from one look to the next.
pub(super) struct Episode {
    /// The worker's `switch_count` at the last look.
    switch_count: u32,
    /// Time and the thread's processor time at the last look; `at` zero: not looked at.
    at: u64,
    ran: u64,
    /// Nanoseconds between looks.
    period: u64,
    /// The stretch has been counted as a stall.
    counted: bool,
    /// When its queues were handed off; 0: they were not.
    handed: u64,
    /// Nanoseconds from then until they are again, if nobody is seen to have taken them.
    again: u64,
    /// The one that stands in for it, at the last look.
    heir: Heir,
    asleep: Run,
    awkward: Run,
    /// Looks in a row at which it had run.
    busy: u32,
    /// What became of the spins that were expected of code that moves.
    hope: Hope,
    /// The last sample may have been of a loop that waits: the next look comes as soon as may be.
    soon: bool,
    /// The kernel has said that others have the processors: `ran` is the value of an earlier look
    /// then, so that what the thread gets of them adds up.
    deprived: bool,
}

/// Spins that were expected in a region, and not found.
#[derive(Clone, Copy)]
struct Hope {
    region: usize,
    in_vain: u32,
}

impl Hope {
    /// After a sample in `region` whose verdict is `last`. After [`VAIN_EXPECTATIONS`] in vain, in
    /// a row, the region counts no longer as one that spins; it is looked at as soon as others all
    /// the same.
    fn is_lost(&mut self, region: usize, last: SampleVerdict) -> bool {
        if self.region != region {
            *self = Hope { region, in_vain: 0 };
        }
        match last {
            SampleVerdict::Spins | SampleVerdict::Alone | SampleVerdict::Still => self.in_vain = 0,
            SampleVerdict::First | SampleVerdict::Computes | SampleVerdict::Elsewhere => self.in_vain += 1,
            SampleVerdict::None | SampleVerdict::Stale | SampleVerdict::Overdue => {}
        }
        let lost = self.in_vain >= VAIN_EXPECTATIONS;
        if lost {
            regions::remember_waiter(region);
            regions::forget_spinner(region);
            self.in_vain = 0;
        }
        lost
    }
}

/// What one that stands in had done at a look: switch points, and nanoseconds of processor time;
/// and since when, as far as has been seen, it passes no switch point.
#[derive(Clone, Copy)]
struct Heir {
    switch_count: u32,
    ran: u64,
    since: u64,
}

impl Heir {
    const NONE: Heir = Heir { switch_count: 0, ran: u64::MAX, since: 0 };

    /// The same one at a later look.
    fn after(before: Heir, watched: &Watched, tid: i32, now: u64) -> Heir {
        let switch_count = watched.switch_count();
        let stays = before.ran != u64::MAX && before.switch_count == switch_count;
        Heir {
            switch_count,
            ran: clock::processor_time(tid).unwrap_or(0),
            since: if stays { before.since } else { now },
        }
    }
}

/// Looks in a row that agree.
#[derive(Clone, Copy)]
struct Run {
    since: u64,
    looks: u32,
}

impl Run {
    const NONE: Run = Run { since: 0, looks: 0 };

    /// One more; `from` is when the first one's interval began.
    fn another(&mut self, from: u64) {
        if self.looks == 0 {
            self.since = from;
        }
        self.looks += 1;
    }

    fn has_lasted(&self, now: u64) -> bool {
        self.looks >= AGREEING_LOOKS && now - self.since >= STILL_NANOS
    }
}

/// What a look found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// Nobody waits behind it.
    Fine,
    /// It has moved since the last look, or is in the scheduler.
    Moves,
    /// It stands still; look again at this time, ns.
    Still(u64),
}

/// How long code that is not the program's (a library's computation, as a rule), or that of one
/// that stands in, may take before those behind it are handed off, nanoseconds: a kernel thread
/// more costs the others their cores, so what ends soon is waited for.
const LIBRARY_NANOS: u64 = 10_000_000;

/// Nanoseconds after which one standstill is handed off again whatever became of the last time:
/// somebody may have come since.
///
/// Where who stood in is seen to sleep in the program's code as well, it is handed off again at
/// once; where nobody is seen to stand in, after [`STILL_NANOS`], then twice that, and so on up to
/// this time. Rejected: *this time alone.* The threads of a team that wait for one another are not
/// all behind the first one that blocks: those whose jobs are queued there still are, and each of
/// them took one such time.
const LONGEST_REPEAT_NANOS: u64 = 50_000_000;

impl Episode {
    pub(super) const NONE: Episode = Episode {
        switch_count: 0,
        at: 0,
        ran: 0,
        period: QUICK_PERIOD_NANOS,
        counted: false,
        handed: 0,
        again: STILL_NANOS,
        heir: Heir::NONE,
        asleep: Run::NONE,
        awkward: Run::NONE,
        busy: 0,
        hope: Hope { region: 0, in_vain: 0 },
        soon: false,
        deprived: false,
    };

    /// One look at `watched`, whose notes these are.
    pub(super) fn look(&mut self, watched: &'static Watched, aim: &Aim, now: u64) -> Finding {
        let tid = watched.tid();
        if tid == 0 || !watched.is_crowded() {
            self.at = 0;
            return Finding::Fine;
        }
        let switch_count = watched.switch_count();
        if !watched.is_user() || self.at == 0 || switch_count != self.switch_count {
            let before = (self.at, self.ran);
            self.restart(switch_count, tid, now);
            if regions::is_known_computer(watched.region()) {
                self.period = COMPUTING_PERIOD_NANOS;
            }
            self.expect_a_spin(watched, aim, before);
            return Finding::Moves;
        }
        let due = self.at + self.due_after(watched);
        if now < due {
            return Finding::Still(due);
        }
        let Some(ran) = clock::processor_time(tid) else {
            self.at = 0;
            return Finding::Fine;
        };
        self.judge(watched, aim, now, ran);
        Finding::Still(self.at + self.due_after(watched))
    }

    fn due_after(&self, watched: &'static Watched) -> u64 {
        let period = if self.soon { QUICK_PERIOD_NANOS } else { self.period };
        if is_urgent(watched) { period } else { period.max(YOUNGER_WAIT_NANOS) }
    }

    /// In a region that was seen spinning, who has moved since the last look spins again by now,
    /// more often than not: the handler, which knows the loop, is asked at once, provided that
    /// the thread ran through the time since then.
    fn expect_a_spin(&mut self, watched: &'static Watched, aim: &Aim, (at, ran): (u64, u64)) {
        let known = at != 0 && watched.is_user() && watched.expects_a_spin();
        // ORDERING: Acquire pairs with the handler's Release: no signal is on the way.
        if known
            && 2 * self.ran.saturating_sub(ran) >= self.at - at
            && watched.trap.pending.load(Acquire) == 0
        {
            // ORDERING: Relaxed; acquired above.
            let last = SampleVerdict::from(watched.trap.verdict.swap(SampleVerdict::None as u32, Relaxed));
            if self.hope.is_lost(watched.region(), last) {
                return;
            }
            self.counted = true;
            count(&TALLY.stalls);
            observer::notify(|| SchedulerEvent::Stalls { watched: ptr::from_ref(watched) as usize });
            self.interrupt(watched, aim, self.at);
        }
    }

    fn restart(&mut self, switch_count: u32, tid: i32, now: u64) {
        let ran = clock::processor_time(tid).unwrap_or(0);
        *self = Episode { switch_count, at: now, ran, hope: self.hope, ..Episode::NONE };
    }

    /// A whole interval without a switch point.
    fn judge(&mut self, watched: &'static Watched, aim: &Aim, now: u64, ran: u64) {
        let (from, interval, used) = (self.at, now - self.at, ran.saturating_sub(self.ran));
        let enough = if self.deprived { interval.min(self.period) } else { interval };
        self.at = now;
        if !core::mem::replace(&mut self.counted, true) {
            count(&TALLY.stalls);
            observer::notify(|| SchedulerEvent::Stalls { watched: ptr::from_ref(watched) as usize });
        }
        let tid = watched.tid();
        if 2 * used >= enough {
            self.deprived &= 2 * used < interval;
            self.ran = ran;
            self.asleep = Run::NONE;
            self.busy += 1;
            self.consumes(watched, aim, from, now);
        } else {
            self.busy = 0;
            if !self.deprived {
                self.ran = ran;
            }
            self.asleep.another(from);
            self.rests(watched, tid, now);
        }
    }

    /// It ran through the interval, or most of it.
    fn consumes(&mut self, watched: &'static Watched, aim: &Aim, from: u64, now: u64) {
        let trap = &watched.trap;
        let region = watched.region();
        if self.busy < AGREEING_LOOKS
            && regions::is_known_blocker(region)
            && !regions::is_known_spinner(region)
        {
            self.cannot_interrupt(watched, from, now); // it may be about to sleep again
            return;
        }
        // ORDERING: Acquire pairs with the handler's Release: its verdict.
        if trap.pending.load(Acquire) != 0 {
            // ORDERING: Relaxed; written by this thread.
            let sent = trap.sent.load(Relaxed);
            if now - sent >= STILL_NANOS {
                self.cannot_interrupt(watched, from, now); // blocked by the program
            }
            return;
        }
        // ORDERING: Relaxed; acquired above.
        let verdict = SampleVerdict::from(trap.verdict.swap(SampleVerdict::None as u32, Relaxed));
        self.soon = verdict == SampleVerdict::Still;
        match verdict {
            SampleVerdict::Computes => {
                regions::remember_computer(region);
                self.slow_down();
            }
            SampleVerdict::Alone => self.slow_down(),
            SampleVerdict::Elsewhere => self.cannot_interrupt(watched, from, now),
            SampleVerdict::First | SampleVerdict::Still | SampleVerdict::Spins | SampleVerdict::Overdue => {
                self.awkward = Run::NONE
            }
            SampleVerdict::None | SampleVerdict::Stale => {}
        }
        self.interrupt(watched, aim, now);
    }

    /// Long computations are left alone more and more; in the end they are switched out like spins,
    /// so that a loop that waits in a way nobody recognises cannot hold its worker for ever.
    fn slow_down(&mut self) {
        self.awkward = Run::NONE;
        self.period = (2 * self.period).min(LONGEST_NAP_NANOS);
    }

    fn interrupt(&mut self, watched: &'static Watched, aim: &Aim, now: u64) {
        objects::refresh_now_and_then(now);
        let Some(aimed) = aim.at(watched) else { return };
        if !is_running(aimed.tid) {
            return;
        }
        let trap = &watched.trap;
        // ORDERING: Relaxed; released by `pending`.
        trap.switch_count.store(self.switch_count, Relaxed);
        // ORDERING: as above.
        trap.overdue.store(overdue(self.period), Relaxed);
        // ORDERING: Relaxed; this thread's own.
        trap.sent.store(now, Relaxed);
        // ORDERING: Release pairs with the handler's Acquire.
        trap.pending.store(1, Release);
        if signal::send(watched, aimed.tid) {
            count(&TALLY.interrupts);
            observer::notify(|| SchedulerEvent::Interrupts { watched: ptr::from_ref(watched) as usize });
        } else {
            // ORDERING: Relaxed; the handler will not run.
            trap.pending.store(0, Relaxed);
            // ORDERING: as above. A thread that cannot be signalled cannot be interrupted.
            trap.verdict.store(SampleVerdict::Elsewhere as u32, Relaxed);
        }
    }

    /// It did not run, or hardly. The kernel is asked why, which costs, when the answer would lead
    /// to something.
    fn rests(&mut self, watched: &'static Watched, tid: i32, now: u64) {
        let region = watched.region();
        let blocker = regions::is_known_blocker(region);
        if self.handed != 0 && now - self.handed < LONGEST_REPEAT_NANOS && !self.is_nobody_s(watched, now) {
            self.period = (2 * self.period).min(LONG_PERIOD_NANOS);
            return;
        }
        if !blocker && !self.asleep.has_lasted(now) {
            return;
        }
        let state = clock::state(tid);
        if self.has_moved(watched) {
            return; // it may sleep in the scheduler by now
        }
        match state {
            KernelThreadState::Runnable => {
                self.asleep = Run::NONE; // kept from a processor
                self.deprived = true;
            }
            KernelThreadState::Held => self.hand_off(watched),
            KernelThreadState::Asleep | KernelThreadState::Unknown if blocker => self.hand_off(watched),
            KernelThreadState::Asleep | KernelThreadState::Unknown => {
                regions::remember_blocker(region);
                self.hand_off(watched);
            }
        }
    }

    /// Its queues were handed off: does what waits behind it by now wait for somebody who sleeps as
    /// well, who never came, or who runs on and on? The last may be a loop that waits for
    /// somebody still queued here. Nobody sits behind who stands in, so it is not sampled, and has
    /// as long as a library's code.
    fn is_nobody_s(&mut self, watched: &'static Watched, now: u64) -> bool {
        let heir =
            watched.heir().map(|heir| (heir, heir.tid())).filter(|(heir, tid)| *tid != 0 && heir.is_user());
        let Some((heir, tid)) = heir else {
            self.heir = Heir::NONE;
            return now - self.handed >= self.again;
        };
        let seen = Heir::after(self.heir, heir, tid, now);
        let before = core::mem::replace(&mut self.heir, seen);
        let rests = (before.switch_count, before.ran) == (seen.switch_count, seen.ran)
            && clock::state(tid) == KernelThreadState::Asleep;
        (rests || now - seen.since >= LIBRARY_NANOS) && heir.switch_count() == seen.switch_count
    }

    fn cannot_interrupt(&mut self, watched: &'static Watched, from: u64, now: u64) {
        self.awkward.another(from);
        if self.handed != 0 && now - self.handed < LONGEST_REPEAT_NANOS {
            return;
        }
        if self.awkward.has_lasted(now) && now - self.awkward.since >= LIBRARY_NANOS {
            self.hand_off(watched);
        }
    }

    /// Has it come to a switch point since the last look? What was asked of the kernel in between
    /// is then about other code: the watcher may itself have been kept from a processor for any
    /// time.
    fn has_moved(&self, watched: &Watched) -> bool {
        watched.switch_count() != self.switch_count
    }

    fn hand_off(&mut self, watched: &'static Watched) {
        let now = clock::now();
        if self.has_moved(watched) || watched.crowd() == 0 {
            return;
        }
        self.again = if self.handed == 0 { STILL_NANOS } else { (2 * self.again).min(LONGEST_REPEAT_NANOS) };
        self.handed = now;
        self.heir = Heir::NONE;
        self.period = QUICK_PERIOD_NANOS;
        watched.set_heir(None);
        watched.note_hand_off(self.switch_count);
        count(&TALLY.hand_offs);
        observer::notify(|| SchedulerEvent::HandsOff { watched: ptr::from_ref(watched) as usize });
        if let Some(hooks) = hooks() {
            (hooks.hand_off)(watched);
        }
    }
}

/// What a context has earned that was found computing until the time between looks has grown to
/// `period`.
fn overdue(period: u64) -> u32 {
    match period {
        LONGEST_NAP_NANOS.. => signal::OVERDUE,
        LONG_PERIOD_NANOS.. => signal::SUSPECT,
        _ => 0,
    }
}

/// Does the thread hold a processor, or wait for one? Two readings of its processor time within a
/// microsecond differ if it runs now; if they do not, the kernel is asked.
fn is_running(tid: i32) -> bool {
    let before = clock::processor_time(tid);
    let after = clock::processor_time(tid);
    before.is_some() && (before != after || clock::state(tid) == KernelThreadState::Runnable)
}
