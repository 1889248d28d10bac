//! How long a worker searches for work before it sleeps.
//!
//! The search lives in [`super::look`], and sleeping itself lives in [`crate::park`]. The worker
//! reads the clock at every 64th search, so that the clock costs each search little. The machine is
//! *crowded* while more kernel threads are awake than can run. Then the worker searches only a few
//! times, because other threads want the processor.
//!
//! A *pause* here is a call of [`crate::sys::thread::nap`]: the kernel thread gives up its
//! processor for 20 to 100 µs. A worker that must not sleep pauses between searches instead.
//!
//! Tried and rejected:
//! * A fixed 50 µs. Where a thread waited for the panel of a factorization (0.5 ms), each wait
//!   ended in a sleep. The wake-ups cost 4 % of a QR factorization of order 500.
//! * A fixed millisecond or more, the choice of libgomp and libomp. It costs processor time in
//!   programs that fork a region now and then.
//! * Yielding the processor. One version yielded at each reading of the clock, after the least time
//!   that [`Spin`] asks for. Another one yielded 16 times before the sleep, on a crowded machine.
//!   In Linux 6.18 and later, a thread that yields loses the rest of its time slice. Next to a
//!   thread that spins, 16 yields cost 50 ms, while a thread that sleeps and is woken runs soon.
//! * Counting a woken thread as awake only when it runs. If it shares a processor with its waker,
//!   it runs only when the waker sleeps. Until then the waker did not count it. So the waker polled
//!   for its full time, and kept the processor from the woken thread.

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::allotment::attention::{note_competition, note_shortage};
use crate::sys::clock::micros;
use crate::sys::sync::CachePadded;
use crate::sys::{arch, proc_file};

/// How long to poll before sleeping, in microseconds: at least `least`, and up to `most` on a
/// worker that has seen short waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spin {
    least: u32,
    most: u32,
    /// No waker wakes the waiting context, so the worker pauses instead of sleeping.
    polls: bool,
}

impl Spin {
    /// Sleep at once.
    pub const NONE: Self = Self::exactly(0);
    /// Never sleep.
    pub const FOREVER: Self = Self::exactly(u32::MAX);
    /// For events that cause no wake-up: poll without limit, soon with pauses in between.
    pub const POLLING: Self = Self { least: u32::MAX, most: u32::MAX, polls: true };
    /// As [`Spin::POLLING`], for answers from other processes: the pauses begin after a
    /// millisecond, or on a crowded machine after [`CROWDED_LOOKS`] searches. If both sides paused
    /// soon, each would find the other one in a pause, and every message would take as long as a
    /// pause.
    pub const ANSWERS: Self = Self { least: 1000, most: 1000, polls: true };

    /// Exactly `micros` microseconds. `u32::MAX` means without limit.
    pub const fn exactly(micros: u32) -> Self {
        Self { least: micros, most: micros, polls: false }
    }

    /// From `least` to `most` microseconds, by the worker's last waits ([`SpinHistory`]).
    pub const fn between(least: u32, most: u32) -> Self {
        Self { least, most, polls: false }
    }

    /// The longer of both.
    pub(super) fn or_longer(self, other: Self) -> Self {
        Self {
            least: self.least.max(other.least),
            most: self.most.max(other.most),
            polls: self.polls || other.polls,
        }
    }

    /// The same, but at most `micros` microseconds.
    #[must_use]
    pub fn capped(self, micros: u32) -> Self {
        Self { least: self.least.min(micros), most: self.most.min(micros), ..self }
    }

    /// Does the context that waits like this have no waker?
    pub(super) const fn polls(self) -> bool {
        self.polls
    }

    /// Does a worker never sleep while it hosts a context that waits like this?
    pub(super) const fn is_endless(self) -> bool {
        self.polls || self.least == u32::MAX
    }

    /// `least` and `most`, in microseconds.
    pub(crate) const fn bounds(self) -> (u32, u32) {
        (self.least, self.most)
    }
}

/// How long this worker polls before it sleeps, between the bounds of [`Spin`], and what earlier
/// waits have shown.
///
/// *Short and long waits.* Polling is right for waits between the two bounds. A sleep would cost a
/// wake-up: 20 to 100 µs until the sleeper runs. A wait between the bounds sets the limit to the
/// upper bound. A longer wait shows that polling was in vain. Each such wait halves the limit, down
/// to the lower bound. So a program that sleeps between its regions soon polls for the lower bound
/// only. A program whose threads wait a millisecond for a task rarely sleeps in between. Before the
/// first wait the limit is the lower bound. In a young process a worker that polls for long takes
/// the processor from threads that are just starting. Many processes end before it has work.
///
/// *Other programs.* The count of awake kernel threads knows nothing of other programs. If they
/// want the processors too, polling uses up this worker's own share, which the worker misses when
/// it has work. A worker *backs off* in two cases:
///
/// * At its first reading of the clock in a wait, the worker compares this reading with an earlier
///   one ([`SpinHistory::awake`]). The worker has not slept in between. Preemption has cost it at
///   least 100 µs of that time, and at least an eighth.
/// * The worker was preempted while it polled, and more than 100 µs passed between two readings of
///   the clock.
///
/// The worker then searches [`LEAST_CROWDED_LOOKS`] times in each of its next
/// [`LEAST_PENALTY_WAITS`] waits. If the first wait after these is preempted again, the worker
/// backs off for twice as many waits, up to [`MOST_PENALTY_WAITS`].
///
/// *No other program.* In two cases time was lost, but not to another program, and the worker does
/// not back off:
///
/// * The kernel has not preempted the worker. The hypervisor then gave the time to other machines.
///   Sleeping saves nothing there, and each wake-up is expensive.
/// * The kernel has preempted the worker, but this process has processors for all kernel threads of
///   the machine that want to run ([`others_may_run`]).
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpinHistory {
    micros: u32,
    /// For how many more waits the worker backs off.
    backs_off: u32,
    /// For how many waits it backs off the next time.
    penalty: u32,
    /// A reading of the clock and of the kernel's counts ([`Awake`]). The worker has not slept
    /// since this reading was made. The first reading in a wait is compared with the reading stored
    /// here. The comparison shows how much time the worker has lost in between. After a sleep, a
    /// new reading is stored here. After a wait without a sleep, the first reading of that wait is
    /// stored here. If such a wait made no reading, or the two bounds of its [`Spin`] are equal,
    /// the stored reading stays.
    awake: Awake,
    /// The most searches that the worker makes before it sleeps, on a crowded machine.
    crowded: u32,
}

/// A reading of the clock, and of the kernel's counts for one kernel thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Awake {
    /// On the monotonic clock, in microseconds; 0 if unknown.
    since: u64,
    /// Processor time used until then, in microseconds.
    used: u64,
    /// How often the kernel had preempted the thread while it wanted to run.
    pushed: u64,
}

impl Awake {
    const UNKNOWN: Self = Self { since: 0, used: 0, pushed: 0 };

    fn now() -> Self {
        let mut usage = core::mem::MaybeUninit::<libc::rusage>::zeroed();
        // The layer above may define `getrusage` for the program, with an answer for the OpenMP
        // thread. So this function asks the kernel directly.
        // SAFETY: a valid out pointer. If the call fails, all zeros stay, which are a valid value.
        let usage = unsafe {
            crate::sys::arch::system_call(
                libc::SYS_getrusage as usize,
                [libc::RUSAGE_THREAD as usize, usage.as_mut_ptr() as usize, 0, 0],
            );
            usage.assume_init()
        };
        let micros_of = |t: libc::timeval| t.tv_sec as u64 * 1_000_000 + t.tv_usec as u64;
        Self {
            since: micros(),
            used: micros_of(usage.ru_utime) + micros_of(usage.ru_stime),
            pushed: usage.ru_nivcsw as u64,
        }
    }

    /// Did other threads of this machine keep the thread from a processor for at least
    /// [`PREEMPTED_MICROS`], and for an eighth of the time from `self` to `now`? The thread has not
    /// slept in that time.
    fn has_lost(self, now: Self) -> bool {
        let interval = now.since.saturating_sub(self.since);
        let lost = interval.saturating_sub(now.used.saturating_sub(self.used));
        self != Self::UNKNOWN && self.was_pushed(now) && lost >= PREEMPTED_MICROS && lost >= interval / 8
    }

    fn was_pushed(self, now: Self) -> bool {
        self.pushed != now.pushed
    }
}

/// For how many waits a worker backs off the first time. After these waits the worker polls again,
/// to find out whether the other program is still there. Chosen: if it is still there, one such
/// test per 64 waits costs little; any value from 32 to 128 will do.
const LEAST_PENALTY_WAITS: u32 = 64;
/// For how many waits a worker backs off at most. Derived: five doublings of
/// [`LEAST_PENALTY_WAITS`].
const MOST_PENALTY_WAITS: u32 = 2048;

impl SpinHistory {
    /// The history of a worker that has not waited yet.
    pub(crate) const NEW: Self = Self {
        micros: 0,
        backs_off: 0,
        penalty: LEAST_PENALTY_WAITS,
        awake: Awake::UNKNOWN,
        crowded: CROWDED_LOOKS,
    };

    fn limit(self, spin: Spin) -> u32 {
        self.micros.clamp(spin.least, spin.most)
    }

    fn learn(&mut self, spin: Spin, waited: u64) {
        self.micros = match waited {
            short if short < u64::from(spin.least) => self.micros,
            worth if worth < u64::from(spin.most) => spin.most,
            _ => (self.micros.min(spin.most) / 2).max(spin.least),
        };
    }

    /// A wait has shown whether another program wants the processor.
    fn know_others(&mut self, there: bool) {
        if there {
            self.backs_off = self.penalty;
            self.penalty = (2 * self.penalty).min(MOST_PENALTY_WAITS);
        } else {
            self.penalty = LEAST_PENALTY_WAITS.max(self.penalty / 2);
        }
    }

    /// A wait on a crowded machine has ended after `looks` searches.
    fn know_crowd(&mut self, looks: u32) {
        let few = self.crowded;
        self.crowded =
            if looks < few { (2 * few).min(CROWDED_LOOKS) } else { (few / 2).max(LEAST_CROWDED_LOOKS) };
    }

    /// Notes that the worker has slept.
    pub(super) fn awakes(&mut self) {
        self.awake = Awake::now();
    }
}

/// How many registered kernel threads are awake, and how many may run at once.
struct Census {
    awake: AtomicUsize,
    cores: AtomicUsize,
}

/// Each sleep writes it, so it has cache lines of its own.
static AWAKE: CachePadded<Census> =
    CachePadded(Census { awake: AtomicUsize::new(0), cores: AtomicUsize::new(1) });

impl Census {
    fn crowded(&self) -> bool {
        // ORDERING: Relaxed; a heuristic for spinning.
        let awake = self.awake.load(Ordering::Relaxed) as isize;
        // ORDERING: Relaxed; a setting.
        awake > self.cores.load(Ordering::Relaxed) as isize
    }
}

pub(super) fn falls_asleep() {
    // ORDERING: Relaxed; a heuristic for spinning.
    AWAKE.awake.fetch_sub(1, Ordering::Relaxed);
}

pub(super) fn wakes_up() {
    // ORDERING: Relaxed; a heuristic for spinning.
    AWAKE.awake.fetch_add(1, Ordering::Relaxed);
}

/// Counts a kernel thread as awake from here on (`true`), or no longer (`false`). The choice
/// between polling and sleeping depends on the count.
pub(crate) fn count_awake(starts: bool) {
    if starts { wakes_up() } else { falls_asleep() }
}

/// A kernel thread of the pool that has been made and has not run yet counts as so many awake ones: the
/// machine is crowded. The kernel may have queued it behind the thread that waits for it, or behind
/// another program. It starts when a processor becomes idle, so the waiting thread soon sleeps.
/// Derived: more than there can be processors, and few enough of them to count in one word.
const STARTING: usize = 1 << 20;

/// Counts a kernel thread of the pool as starting (`true`), or no longer (`false`).
pub(crate) fn count_starting(begins: bool) {
    if begins {
        // ORDERING: Relaxed; a heuristic for spinning.
        AWAKE.awake.fetch_add(STARTING, Ordering::Relaxed);
    } else {
        // ORDERING: as above.
        AWAKE.awake.fetch_sub(STARTING, Ordering::Relaxed);
    }
}

/// Is the machine crowded: are more kernel threads awake than can run at once?
pub(super) fn is_crowded() -> bool {
    AWAKE.crowded()
}

/// Sets how many kernel threads can run at once. While more are awake, a waiting worker sleeps
/// after a few searches instead of polling.
pub fn set_cores(cores: usize) {
    // ORDERING: Relaxed; a setting.
    AWAKE.cores.store(cores.max(1), Ordering::Relaxed);
}

/// The value that [`set_cores`] has set, and 1 before.
pub fn cores() -> usize {
    // ORDERING: Relaxed; a setting.
    AWAKE.cores.load(Ordering::Relaxed)
}

/// The decision to search once more or to sleep.
pub(super) struct SpinPolicy {
    spin: Spin,
    limit: u32,
    backs_off: bool,
    /// The limit of searches on a crowded machine.
    few: u32,
    /// The machine was crowded at one of the searches of this wait.
    crowded: bool,
    /// The machine was crowded while several kernel threads of the program were in regions.
    competes: bool,
    looks: u32,
    /// `SpinHistory::awake` as it was when this wait began.
    awake: Awake,
    /// The first reading of the clock in this wait; unknown before that.
    first: Awake,
    /// When the clock was last read.
    seen: u64,
    /// When the next question about woken workers is due, in microseconds; `u64::MAX` before the
    /// first reading of the clock.
    question_due: u64,
    /// When a wait for an answer began.
    began: u64,
    pushed_away: bool,
    /// The worker paused at the last search.
    napped: bool,
}

/// The most searches that a worker makes before it sleeps, on a crowded machine. They take about
/// 40 µs. Some of the awake threads may sleep in system calls of the program, which the runtime
/// cannot see. So a worker begins with this limit, halves it after each vain wait, and doubles it
/// after each successful one. Chosen: the time of about one wake-up; any value from 64 to 256 will
/// do.
const CROWDED_LOOKS: u32 = 128;

/// The lowest limit of searches before a sleep, on a crowded machine; [`CROWDED_LOOKS`] is the
/// highest. So many searches take about 3 µs. The worker also uses this limit while it backs off,
/// and if the program has as many kernel threads in regions as there are processors. The work that
/// the worker waits for then certainly needs the processor. Chosen: a few searches find work that
/// is just being queued; any value from 4 to 16 will do.
const LEAST_CROWDED_LOOKS: u32 = 8;

/// The longest limit, in microseconds, for which the worker does not read the clock. It makes
/// [`LEAST_CROWDED_LOOKS`] searches instead. Chosen: these searches take about as long; any value
/// from 3 to 10 will do.
const BRIEF_LIMIT_MICROS: u32 = 5;

/// Searches per reading of the clock. Chosen: the clock then costs each search little; any value
/// from 32 to 128 will do.
const LOOKS_PER_CLOCK_READ: u32 = 64;

/// How many microseconds between two readings of the clock show that another thread has run here
/// meanwhile. Chosen: longer than 64 searches take, and shorter than a time slice; any value from
/// 50 to 200 will do.
const PREEMPTED_MICROS: u64 = 100;

/// How many microseconds a worker polls before it asks the kernel whether a woken worker is queued on its
/// processor. Chosen: a woken worker runs after 20 to 100 µs if its processor is free, and after
/// milliseconds if it is queued behind a worker that polls; any value from 100 to 300 will do.
const LATE_MICROS: u64 = 150;

impl SpinPolicy {
    pub(super) fn new(spin: Spin, spin_history: SpinHistory) -> Self {
        let (limit, learns) = (spin_history.limit(spin), spin.least < spin.most);
        let backs_off = learns && spin_history.backs_off != 0;
        let (awake, first) = (spin_history.awake, Awake::UNKNOWN);
        Self {
            spin,
            limit,
            backs_off,
            few: spin_history.crowded,
            crowded: false,
            competes: false,
            looks: 0,
            awake,
            first,
            seen: 0,
            question_due: u64::MAX,
            began: 0,
            pushed_away: false,
            napped: false,
        }
    }

    /// Is it time to ask whether the kernel has queued a woken worker behind this one? True at the
    /// first call after the wait has lasted [`LATE_MICROS`], and again whenever the wait has become
    /// twice as long. Never true for a worker that polls without limit.
    pub(super) fn is_question_due(&mut self) -> bool {
        let is_due = self.seen >= self.question_due;
        if is_due {
            self.question_due = self.seen + (self.seen - self.first.since);
        }
        is_due
    }

    pub(super) fn go_on(&mut self) -> bool {
        if self.limit == 0 {
            return false;
        }
        self.looks += 1;
        self.napped = false;
        arch::pause();
        if self.spin.polls {
            return self.is_early() || self.nap();
        }
        if self.backs_off || self.limit <= BRIEF_LIMIT_MICROS {
            return self.looks < LEAST_CROWDED_LOOKS;
        }
        if AWAKE.crowded() {
            return self.go_on_crowded();
        }
        !self.looks.is_multiple_of(LOOKS_PER_CLOCK_READ) || self.limit == u32::MAX || self.has_time_left()
    }

    fn go_on_crowded(&mut self) -> bool {
        self.crowded = true;
        self.competes |= crate::pool::share::several_are_in_regions();
        let few = if crate::pool::share::has_room() { self.few } else { LEAST_CROWDED_LOOKS };
        if self.limit == u32::MAX { self.nap() } else { self.looks < few }
    }

    /// Is it too early for pauses, in a wait for an answer?
    fn is_early(&mut self) -> bool {
        if self.limit == u32::MAX || AWAKE.crowded() {
            return false;
        }
        if self.looks % LOOKS_PER_CLOCK_READ == 1 {
            self.seen = micros();
            self.began = if self.looks == 1 { self.seen } else { self.began };
        }
        self.seen - self.began < u64::from(self.limit)
    }

    /// Pauses between two searches, instead of a sleep. The first [`CROWDED_LOOKS`] searches follow
    /// each other without a pause.
    fn nap(&mut self) -> bool {
        self.napped = self.looks > CROWDED_LOOKS;
        if self.napped {
            crate::sys::thread::nap();
        }
        true
    }

    /// For a worker that never sleeps, the time in microseconds: after every
    /// [`LOOKS_PER_CLOCK_READ`]th search, and after every pause. Else `None`.
    pub(super) fn time_awake(&self) -> Option<u64> {
        let never_sleeps = self.spin.polls || self.limit == u32::MAX;
        let is_due = self.napped || self.looks.is_multiple_of(LOOKS_PER_CLOCK_READ);
        (never_sleeps && is_due).then(micros)
    }

    fn has_time_left(&mut self) -> bool {
        if self.first == Awake::UNKNOWN {
            self.first = Awake::now();
            self.seen = self.first.since;
            self.question_due = self.seen + LATE_MICROS;
            self.pushed_away = self.awake.has_lost(self.first) && others_may_run();
        } else {
            let now = micros();
            let away = now - self.seen > PREEMPTED_MICROS && self.first.was_pushed(Awake::now());
            self.pushed_away |= away && others_may_run();
            self.seen = now;
        }
        !self.pushed_away && self.seen - self.first.since < u64::from(self.limit)
    }

    /// Records a wait that is over, or in which the worker has slept.
    pub(super) fn teach(&self, spin_history: &mut SpinHistory) {
        if self.crowded {
            spin_history.know_crowd(self.looks);
        }
        if self.competes {
            note_competition();
        }
        if self.spin.least >= self.spin.most {
            return;
        }
        spin_history.backs_off = spin_history.backs_off.saturating_sub(1);
        if self.first != Awake::UNKNOWN {
            spin_history.learn(self.spin, micros() - self.first.since);
            spin_history.know_others(self.pushed_away);
            if self.pushed_away {
                note_shortage();
            }
            spin_history.awake =
                if spin_history.awake == self.awake { self.first } else { spin_history.awake };
        }
    }
}

/// Do more kernel threads of this machine want to run than this process has processors? If not, no
/// other program competes with this worker. The lost time went to a kernel thread that has another
/// processor by now, or that belongs to this process. For example, the kernel often wakes a
/// sleeping thread on the processor of its waker. The waker then loses time, although soon each of
/// the two has a processor. The answer is true if the system does not say.
#[cold]
fn others_may_run() -> bool {
    runnable_threads().is_none_or(|count| count > cores())
}

/// The number of kernel threads of this machine that want to run; `None` if the system does not say.
pub(crate) fn runnable_threads() -> Option<usize> {
    proc_file::parse_start(c"/proc/loadavg", runnable)
}

/// The number of kernel threads that want to run, from the text of `/proc/loadavg`: the first
/// number of the fourth field, after three averages.
fn runnable(text: &str) -> Option<usize> {
    text.split(' ').nth(3)?.split('/').next()?.parse().ok()
}

/// In the child process of `fork(2)`, which has only one kernel thread: counts this one as awake.
pub(crate) fn reset_after_fork() {
    // ORDERING: Relaxed; single-threaded.
    AWAKE.awake.store(1, Ordering::Relaxed);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const SPIN: Spin = Spin::between(50, 2000);

    const fn spin_history(micros: u32) -> SpinHistory {
        SpinHistory { micros, ..SpinHistory::NEW }
    }

    #[test]
    fn short_waits_lengthen_the_limit_and_long_ones_halve_it() {
        let mut spin_history = spin_history(50);
        spin_history.learn(SPIN, 40);
        assert_eq!(SpinPolicy::new(SPIN, spin_history).limit, 50);
        spin_history.learn(SPIN, 700);
        assert_eq!(SpinPolicy::new(SPIN, spin_history).limit, 2000);
        assert_eq!(SpinPolicy::new(SPIN, SpinHistory::NEW).limit, 50);
        for left in [1000, 500, 250, 125, 62, 50, 50] {
            spin_history.learn(SPIN, 9000);
            assert_eq!(SpinPolicy::new(SPIN, spin_history).limit, left);
        }
    }

    #[test]
    fn a_worker_that_loses_its_processor_backs_off_longer_and_longer() {
        let mut spin_history = spin_history(2000);
        for length in [64, 128, 256, 512, 1024, 2048, 2048] {
            spin_history.know_others(true);
            for _ in 0..length {
                let mut spin_policy = SpinPolicy::new(SPIN, spin_history);
                assert!(spin_policy.backs_off);
                assert_eq!(
                    (0..100).take_while(|_| spin_policy.go_on()).count() as u32,
                    LEAST_CROWDED_LOOKS - 1
                );
                spin_policy.teach(&mut spin_history);
            }
            assert!(!SpinPolicy::new(SPIN, spin_history).backs_off);
        }
        for _ in 0..8 {
            spin_history.know_others(false);
        }
        assert_eq!((spin_history.backs_off, spin_history.penalty), (0, LEAST_PENALTY_WAITS));
    }

    #[test]
    fn looks_in_vain_on_a_crowded_machine_become_few() {
        let mut spin_history = SpinHistory::NEW;
        for left in [64, 32, 16, 8, 8] {
            spin_history.know_crowd(spin_history.crowded);
            assert_eq!(spin_history.crowded, left);
        }
        for more in [16, 32, 64, 128, 128] {
            spin_history.know_crowd(3);
            assert_eq!(spin_history.crowded, more);
        }
    }

    #[test]
    fn time_without_a_processor_is_lost_and_sleep_is_not() {
        let before = Awake { since: 1000, used: 500, pushed: 3 };
        let later = |since: u64, used: u64| Awake { since: 1000 + since, used: 500 + used, pushed: 4 };
        assert!(!before.has_lost(later(5000, 4900)), "a fiftieth");
        assert!(before.has_lost(later(5000, 4000)));
        assert!(!before.has_lost(later(150, 60)), "too short to tell");
        assert!(!Awake::UNKNOWN.has_lost(later(5000, 0)));
        assert!(!before.has_lost(Awake { pushed: 3, ..later(5000, 0) }), "the hypervisor's");
        let mut spin_history = spin_history(2000);
        std::thread::sleep(core::time::Duration::from_millis(2));
        spin_history.awakes();
        assert!(
            !spin_history.awake.has_lost(Awake::now())
                || micros() - spin_history.awake.since > PREEMPTED_MICROS
        );
    }

    #[test]
    fn those_who_want_to_run_are_the_fourth_field() {
        assert_eq!(runnable("0.49 1.12 1.73 3/188 26338\n"), Some(3));
        assert_eq!(runnable("0.49 1.12 1.73"), None);
        assert_eq!(runnable(""), None);
        assert_eq!(runnable("0.49 1.12 1.73 many/188 1"), None);
    }

    #[test]
    fn who_waits_for_an_answer_naps_late_and_never_sleeps() {
        let mut spin_policy = SpinPolicy::new(Spin::ANSWERS, SpinHistory::NEW);
        let begin = micros();
        while spin_policy.is_early() && micros() - begin < 10_000_000 {
            spin_policy.looks += 1;
        }
        assert!(AWAKE.crowded() || micros() - begin >= 1000);
        assert!((0..300).all(|_| spin_policy.go_on()));
        assert!(spin_policy.time_awake().is_some(), "behind a nap");
        assert_eq!(Spin::ANSWERS.or_longer(SPIN), Spin { least: 1000, most: 2000, polls: true });
    }

    #[test]
    fn questions_about_woken_workers_come_at_each_doubling() {
        let mut spin_policy = SpinPolicy::new(SPIN, SpinHistory::NEW);
        assert!(!spin_policy.is_question_due(), "the clock was not read");
        assert!(spin_policy.has_time_left());
        let times = (0..4 * LATE_MICROS).filter(|waited| {
            spin_policy.seen = spin_policy.first.since + waited;
            spin_policy.is_question_due()
        });
        assert_eq!(times.collect::<Vec<_>>(), [LATE_MICROS, 2 * LATE_MICROS]);
    }

    #[test]
    fn a_fixed_time_is_not_learnt() {
        let mut spin_history = spin_history(2000);
        let exact = Spin::exactly(7);
        assert_eq!(SpinPolicy::new(exact, spin_history).limit, 7);
        let spin_policy = SpinPolicy {
            first: Awake { since: 1, used: 1, pushed: 0 },
            ..SpinPolicy::new(exact, spin_history)
        };
        spin_policy.teach(&mut spin_history);
        assert_eq!((spin_history.micros, spin_history.backs_off), (2000, 0));
        assert!(!SpinPolicy::new(Spin::NONE, spin_history).go_on());
        let glance = |spin| {
            SpinPolicy { looks: LOOKS_PER_CLOCK_READ, ..SpinPolicy::new(spin, spin_history) }
                .time_awake()
                .is_some()
        };
        assert_eq!(
            [Spin::FOREVER, Spin::POLLING, exact].map(glance),
            [true, true, false],
            "who sleeps in the end needs no clock"
        );
    }
}
