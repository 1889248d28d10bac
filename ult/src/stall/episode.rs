//! The decision about one worker. An episode begins with the first look that finds the worker where
//! it was at the last look. It ends at the worker's next switch point.
//!
//! A *look* is one check of a worker by the watcher. Each look asks one question, and the thread's
//! processor time answers it: did the thread run through the interval since the last look?
//!
//! * A thread that ran is sampled by a signal.
//! * A thread that did not run is never signalled. If the kernel says repeatedly that it sleeps,
//!   the worker's queues are handed off.
//! * A thread that neither ran nor sleeps was kept from a processor, and the watcher looks at it
//!   again.
//!
//! What may not live here: the pace of the watcher, and the signal handler.
//!
//! Tried and rejected: repeating a hand-off after [`LONGEST_REPEAT_NANOS`] alone. The threads of a
//! team that wait for one another are not all behind the first one that blocks. Threads whose jobs
//! are still queued there took one such time each.
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::observer::{self, SchedulerEvent};

use super::hooks::{TALLY, WaitUrgency, count, hooks, urgency};
use super::signal::{self, SampleVerdict};
use super::watched::Watched;
use super::watcher::{Aim, LONGEST_NAP_NANOS, QUICK_PERIOD_NANOS};
use super::{objects, regions};
use crate::sys::clock;
use crate::sys::thread::{self, KernelThreadState};

/// Nanoseconds that a worker must sleep before its queues are handed off. A signal that stays
/// pending as long counts as blocked by the program, and the first repetition of a hand-off comes
/// after as long. Chosen: long against a short system call, short against a time slice; any value
/// from 0.5 ms to 2 ms will do.
const STILL_NANOS: u64 = 1_000_000;
/// Nanoseconds between looks from which on code that may be spinning counts as a spin. The worker
/// has stood still for twice that time then. Derived: 16 short periods, that is four doublings.
const LONG_PERIOD_NANOS: u64 = 16 * QUICK_PERIOD_NANOS;
/// Nanoseconds between the first looks in a region that was seen computing, and never waiting.
/// Derived: 80 short periods, so that such a region gets few signals.
const COMPUTING_PERIOD_NANOS: u64 = 80 * QUICK_PERIOD_NANOS;
/// Nanoseconds before the first look at code behind which only younger gangs or helpers wait. By the
/// order of gangs this code does not wait for younger gangs, and it seldom waits for a task. Chosen:
/// long against a spin within a gang; any value from 1 ms to 4 ms will do.
const NOT_URGENT_WAIT_NANOS: u64 = 2_000_000;
/// Nanoseconds between looks from which on code that computes is switched out for helpers. The worker
/// has stood still for some 0.13 s then. Chosen: a task of a tenth of a second ends on its worker. A
/// task that waits for one that no thread has started is not stuck for long. Any value from 40 ms to
/// 200 ms will do.
const HELPERS_PERIOD_NANOS: u64 = 80_000_000;
/// Number of looks in a row that must agree before the queues are handed off. Chosen: one look may
/// hit a short pause of the thread; any value from 2 to 4 will do.
const AGREEING_LOOKS: u32 = 3;
/// By how much the expected spins that did not come must outnumber those that came, before the
/// region no longer counts as one that spins. The first number holds until the region was given up
/// once, the second one until it was given up twice, the third one from then on. Chosen: where
/// threads spin at nearly every barrier, the difference stays near zero, and a region that seldom
/// spins is given up sooner each time; half or twice of each number will do.
const VAIN_EXPECTATIONS: [u32; 3] = [64, 16, 4];

/// What the watcher remembers about one worker, from one look to the next.
pub(super) struct Episode {
    /// The worker's `switch_count` at the last look.
    switch_count: u32,
    /// Time of the last look, in nanoseconds; zero if there was none.
    at: u64,
    /// The thread's processor time at that look, in nanoseconds.
    ran: u64,
    /// Nanoseconds between looks.
    period: u64,
    /// This stretch has been counted as a stall.
    counted: bool,
    /// When the worker's queues were handed off, in nanoseconds; 0 if they were not.
    handed: u64,
    /// Nanoseconds from then until they are handed off again, if no worker is seen to have taken
    /// over.
    again: u64,
    /// The worker that stands in for this one, at the last look.
    heir: Heir,
    /// Looks in a row at which the thread had not run.
    asleep: Run,
    /// Looks in a row at which the worker could not be interrupted.
    awkward: Run,
    /// Number of looks in a row at which the thread had run.
    busy: u32,
    /// Results of the spins that were expected of code that moves.
    expected_spins: ExpectedSpins,
    /// The last sample may have been of a loop that waits: the next look comes as soon as possible.
    soon: bool,
    /// The kernel has said that other threads have the processors. `ran` is then the value of an
    /// earlier look, so that the short times that the thread gets add up.
    deprived: bool,
}

/// Counts the spins that were expected in a region.
#[derive(Clone, Copy)]
struct ExpectedSpins {
    region: usize,
    /// How often the region had been given up when the count began.
    times_given_up: usize,
    /// Expected spins that did not come, less those that came; at least 0.
    in_vain: u32,
}

impl ExpectedSpins {
    const NONE: Self = Self { region: 0, times_given_up: 0, in_vain: 0 };

    /// Counts a sample in `region` whose verdict is `last`. True once `in_vain` reaches its limit
    /// ([`VAIN_EXPECTATIONS`]): the region then no longer counts as one that spins. The watcher still
    /// looks at it as soon as at a region that may wait.
    fn must_give_up(&mut self, region: usize, last: SampleVerdict) -> bool {
        let times_given_up = regions::times_given_up(region);
        if (self.region, self.times_given_up) != (region, times_given_up) {
            *self = Self { region, times_given_up, in_vain: 0 };
        }
        match last {
            SampleVerdict::Spins | SampleVerdict::Alone | SampleVerdict::Still => {
                self.in_vain = self.in_vain.saturating_sub(1);
            }
            SampleVerdict::First | SampleVerdict::Computes | SampleVerdict::Elsewhere => self.in_vain += 1,
            SampleVerdict::None | SampleVerdict::Stale | SampleVerdict::Overdue => {}
        }
        let lost = self.in_vain >= VAIN_EXPECTATIONS[times_given_up];
        if lost {
            regions::remember_waiter(region);
            regions::give_up(region);
            self.in_vain = 0;
        }
        lost
    }
}

/// What the worker that stands in had done at a look.
#[derive(Clone, Copy)]
struct Heir {
    /// Switch points that it has passed.
    switch_count: u32,
    /// Its processor time, in nanoseconds.
    ran: u64,
    /// Time since which it has passed no switch point, as far as looks have shown, in nanoseconds.
    since: u64,
}

impl Heir {
    const NONE: Heir = Heir { switch_count: 0, ran: u64::MAX, since: 0 };

    /// The record of the same worker at a later look.
    fn after(before: Heir, watched: &Watched, tid: i32, now: u64) -> Heir {
        let switch_count = watched.switch_count();
        let stays = before.ran != u64::MAX && before.switch_count == switch_count;
        Heir {
            switch_count,
            ran: thread::processor_time(tid).unwrap_or(0),
            since: if stays { before.since } else { now },
        }
    }
}

/// The times of a look, before the notes begin anew.
#[derive(Clone, Copy)]
struct PastLook {
    /// Time of the look, in nanoseconds; zero if there was none.
    at: u64,
    /// The thread's processor time at the look, in nanoseconds.
    ran: u64,
}

/// Looks in a row that agree.
#[derive(Clone, Copy)]
struct Run {
    since: u64,
    looks: u32,
}

impl Run {
    const NONE: Run = Run { since: 0, looks: 0 };

    /// Counts one more look. `from` is the beginning of the first look's interval.
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

/// The result of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// No context waits behind the worker.
    Fine,
    /// The worker has moved since the last look, or is in the scheduler.
    Moves,
    /// The worker stands still; the next look is due at this time, in nanoseconds.
    Still(u64),
}

/// Nanoseconds that code outside of the program (a library's computation, as a rule) may take
/// before the contexts behind it are handed off. The code of a worker that stands in has the same
/// time. Chosen: one more kernel thread costs the others their cores, so short calls are waited
/// for; any value from 5 ms to 20 ms will do.
const LIBRARY_NANOS: u64 = 10_000_000;

/// Nanoseconds after which a standstill is handed off again in any case, because more contexts may
/// wait by then. The repetition comes at once if the worker that stood in sleeps in the program's
/// code as well. If no worker is seen to stand in, it comes after [`STILL_NANOS`], then after twice
/// that, and so on up to this time. Chosen: seldom enough that repeated hand-offs cost little; any
/// value from 25 ms to 100 ms will do.
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
        expected_spins: ExpectedSpins::NONE,
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
            let before = PastLook { at: self.at, ran: self.ran };
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
        let Some(ran) = thread::processor_time(tid) else {
            self.at = 0;
            return Finding::Fine;
        };
        self.judge(watched, aim, now, ran);
        Finding::Still(self.at + self.due_after(watched))
    }

    fn due_after(&self, watched: &'static Watched) -> u64 {
        let urgency = urgency(watched);
        let period = if self.soon { QUICK_PERIOD_NANOS } else { self.period };
        // Other contexts may wait than at the last look.
        let period = period.min(time_limits(urgency).overdue);
        let may_come_soon = match urgency {
            WaitUrgency::Urgent => true,
            WaitUrgency::Helpers => self.soon || watched.in_known_region(),
            WaitUrgency::NotUrgent => false,
        };
        if may_come_soon { period } else { period.max(NOT_URGENT_WAIT_NANOS) }
    }

    /// Asks the handler at once about a worker that has moved in a region that was seen spinning.
    /// More often than not, such a worker spins again by now, and the handler knows the loop. The
    /// thread must have run through the time since the look `before`.
    fn expect_a_spin(&mut self, watched: &'static Watched, aim: &Aim, before: PastLook) {
        let known = before.at != 0 && watched.is_user() && watched.expects_a_spin();
        // ORDERING: Acquire pairs with the handler's Release: no signal is on its way.
        if known
            && 2 * self.ran.saturating_sub(before.ran) >= self.at - before.at
            && watched.trap.pending.load(Acquire) == 0
        {
            // ORDERING: Relaxed; acquired above.
            let last = SampleVerdict::from(watched.trap.verdict.swap(SampleVerdict::None as u32, Relaxed));
            if self.expected_spins.must_give_up(watched.region(), last) {
                return;
            }
            self.counted = true;
            count(&TALLY.stalls);
            observer::notify(|| SchedulerEvent::Stalls { watched: ptr::from_ref(watched) as usize });
            self.interrupt(watched, aim, self.at);
        }
    }

    fn restart(&mut self, switch_count: u32, tid: i32, now: u64) {
        let ran = thread::processor_time(tid).unwrap_or(0);
        *self = Episode { switch_count, at: now, ran, expected_spins: self.expected_spins, ..Episode::NONE };
    }

    /// Acts on a whole interval without a switch point.
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
            self.end_longer_period();
            if !self.deprived {
                self.ran = ran;
            }
            self.asleep.another(from);
            self.rests(watched, tid, now);
        }
    }

    /// Acts on a thread that ran through the interval, or through most of it.
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
                self.slow_down(watched);
            }
            SampleVerdict::Alone => {
                self.slow_down(watched);
                self.end_longer_period();
            }
            SampleVerdict::Elsewhere => {
                if self.period < LONG_PERIOD_NANOS {
                    self.period *= 2;
                }
                self.end_longer_period();
                self.cannot_interrupt(watched, from, now);
                if self.awkward.looks == AGREEING_LOOKS {
                    // A library computes, as a rule; if it waits, the hand-off comes little later.
                    regions::remember_computer(region);
                }
            }
            SampleVerdict::First | SampleVerdict::Still | SampleVerdict::Spins | SampleVerdict::Overdue => {
                self.awkward = Run::NONE
            }
            SampleVerdict::None | SampleVerdict::Stale => {}
        }
        self.interrupt(watched, aim, now);
    }

    /// Doubles the time between looks, so that long computations are interrupted less and less. In
    /// the end they are switched out like spins: a loop that waits in an unknown way cannot hold
    /// its worker for ever.
    fn slow_down(&mut self, watched: &'static Watched) {
        self.awkward = Run::NONE;
        let urgency = urgency(watched);
        let waited = if urgency == WaitUrgency::Helpers { self.due_after(watched) } else { self.period };
        self.period = (2 * waited).min(time_limits(urgency).overdue);
    }

    /// Ends the longer time between looks that helpers allow. That time is only for program code that
    /// computed at the last look.
    fn end_longer_period(&mut self) {
        self.period = self.period.min(LONGEST_NAP_NANOS);
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
        trap.overdue.store(time_limits(urgency(watched)).passed_after(self.period), Relaxed);
        // ORDERING: Relaxed; this thread alone uses the field.
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

    /// Acts on a thread that hardly ran, or not at all. The kernel is asked for the reason only
    /// when the answer can lead to an action, because the question is costly.
    fn rests(&mut self, watched: &'static Watched, tid: i32, now: u64) {
        let region = watched.region();
        let blocker = regions::is_known_blocker(region);
        if self.handed != 0
            && now - self.handed < LONGEST_REPEAT_NANOS
            && !self.needs_another_hand_off(watched, now)
        {
            self.period = (2 * self.period).min(LONG_PERIOD_NANOS);
            return;
        }
        if !blocker && !self.asleep.has_lasted(now) {
            return;
        }
        let state = thread::state(tid);
        if self.has_moved(watched) {
            return; // it may sleep in the scheduler by now
        }
        match state {
            KernelThreadState::Runnable => {
                self.asleep = Run::NONE; // kept from a processor
                self.deprived = true;
            }
            KernelThreadState::Held => self.hand_off(watched),
            KernelThreadState::Asleep | KernelThreadState::Unknown => {
                // A known blocker counts once in an episode, not at each repeated hand-off.
                if !blocker || self.handed == 0 {
                    regions::remember_blocker(region);
                }
                self.hand_off(watched);
            }
        }
    }

    /// Must the contexts behind this worker be handed off again, after a first hand-off? The result
    /// is true in three cases:
    ///
    /// * No worker took over in time.
    /// * The worker that took over sleeps as well.
    /// * That worker has passed no switch point for [`LIBRARY_NANOS`].
    ///
    /// In the third case that worker may run a loop that waits for a context still queued here. No
    /// context waits behind it, so it is not sampled.
    fn needs_another_hand_off(&mut self, watched: &'static Watched, now: u64) -> bool {
        let heir =
            watched.heir().map(|heir| (heir, heir.tid())).filter(|(heir, tid)| *tid != 0 && heir.is_user());
        let Some((heir, tid)) = heir else {
            self.heir = Heir::NONE;
            return now - self.handed >= self.again;
        };
        let seen = Heir::after(self.heir, heir, tid, now);
        let before = core::mem::replace(&mut self.heir, seen);
        let rests = (before.switch_count, before.ran) == (seen.switch_count, seen.ran)
            && thread::state(tid) == KernelThreadState::Asleep;
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

    /// Has the worker come to a switch point since the last look? If so, the kernel's answer is
    /// about other code: the watcher itself may have been kept from a processor for any time.
    fn has_moved(&self, watched: &Watched) -> bool {
        watched.switch_count() != self.switch_count
    }

    fn hand_off(&mut self, watched: &'static Watched) {
        let now = clock::nanos();
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

/// Times between looks, in nanoseconds, from which on code that computes is switched out.
struct TimeLimits {
    /// For suspect code.
    suspect: u64,
    /// For all code.
    overdue: u64,
}

impl TimeLimits {
    /// Which limit the code has passed once the time between looks has grown to `period`.
    fn passed_after(&self, period: u64) -> u32 {
        if period >= self.overdue {
            signal::OVERDUE
        } else if period >= self.suspect {
            signal::SUSPECT
        } else {
            0
        }
    }
}

/// The time limits of code behind which contexts of this urgency wait.
fn time_limits(urgency: WaitUrgency) -> TimeLimits {
    match urgency {
        WaitUrgency::Helpers => TimeLimits { suspect: LONGEST_NAP_NANOS, overdue: HELPERS_PERIOD_NANOS },
        _ => TimeLimits { suspect: LONG_PERIOD_NANOS, overdue: LONGEST_NAP_NANOS },
    }
}

/// Does the thread hold a processor, or wait for one? Two readings of its processor time within a
/// microsecond differ if it runs now. If they are equal, the kernel is asked.
fn is_running(tid: i32) -> bool {
    let before = thread::processor_time(tid);
    let after = thread::processor_time(tid);
    before.is_some() && (before != after || thread::state(tid) == KernelThreadState::Runnable)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_given_up_once_vain_expectations_outnumber_spins() {
        const REGION: usize = 0x6a90;
        let mut expected = ExpectedSpins::NONE;
        let expectations_until_lost = |expected: &mut ExpectedSpins, verdicts: &[SampleVerdict]| {
            regions::remember_spinner(REGION, 0x6a98);
            (1..1000).find(|&at| expected.must_give_up(REGION, verdicts[at % verdicts.len()]))
        };
        let (spins, computes) = (SampleVerdict::Spins, SampleVerdict::Computes);
        assert_eq!(expectations_until_lost(&mut expected, &[computes, spins]), None, "every second one");
        expected.in_vain = 0;
        for limit in [64, 16, 4, 4] {
            assert_eq!(expectations_until_lost(&mut expected, &[computes]), Some(limit));
            assert!(!regions::is_known_spinner(REGION));
        }
        assert_eq!(expectations_until_lost(&mut expected, &[SampleVerdict::Stale]), None, "no answer");
        assert_eq!(expectations_until_lost(&mut expected, &[computes, computes, spins]), Some(10));
    }
}
