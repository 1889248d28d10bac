//! The alarm: a timer that interrupts a worker again and again while spins follow each other there.
//!
//! Threads of a gang that does not fit on the pool spin in turn. At every barrier each worker must
//! be interrupted once per thread that waits. The watcher would need a processor for that, which
//! the spinning threads hold. It would also need two system calls and a signal across processors
//! for each worker. So the handler that finds a spin sets the worker's own timer. From then on the
//! kernel interrupts the worker where it runs, and the watcher looks at the usual pace.
//!
//! *No sleeping thread may be signalled* (`docs/protocols/stall.md`). A timer goes on while its
//! thread sleeps, so there are three rules:
//!
//! * The alarm is set only when a loop of the program was just found spinning. The first tick that
//!   finds a system call stops it.
//! * If a tick interrupts a sleeping call, the call is made again ([`super::restart`]). The region
//!   is remembered and gets no alarm any more.
//! * Where the interrupted state does not allow the call to be made again, there are no alarms.
//!
//! The alarm also ends after a few ticks in a row that find code which makes progress, and at a
//! tick that finds no waiting context. If ticks keep coming late (the kernel counts missed ticks),
//! the period doubles: the cost of a signal differs by a factor of ten between machines.
//!
//! What may not live here: what a spin looks like ([`super::spin`]), and when the watcher looks
//! ([`super::watcher`]).
//!
//! Tried and rejected:
//! * One shot per stretch of code, set at each switch. Setting a near timer costs as much as the
//!   tick.
//! * A shorter period, because the signals take up the time. On a virtual machine a tick costs 13
//!   us: 30 and 50 us do about as well, and 20 us are three times slower. A period of 10 us where
//!   the allocator is in the way made loops around `malloc` wait twice as long.
//! * Time slices by this timer for all code with calls. A tick costs most of its period on a
//!   virtual machine, and code that computes with calls to a library took up to twice the time.
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicI32, AtomicU32, Ordering::Relaxed, Ordering::SeqCst, compiler_fence};
use core::{mem, ptr};

use libc::{c_int, ucontext_t};

use super::hooks::{TALLY, count, lowest_of_stack, may_wait_for_others};
use super::interrupted::{self, InterruptedCode};
use super::signal;
use super::spin::{self, Motion, StallSample};
use super::watched::Watched;
use super::{regions, restart, watcher};

/// Nanoseconds between ticks. Measured: on a virtual machine where a tick costs 13 us; 30 and 50 us
/// do about as well, 20 us are three times slower.
const PERIOD_NANOS: u32 = 40_000;
/// Nanoseconds of the longest period; late ticks that stretch it further end the alarm. Derived:
/// the period of 40 us after four doublings.
const SLOWEST_PERIOD_NANOS: u32 = 16 * PERIOD_NANOS;
/// Number of ticks in a row without a spin after which the alarm stops. Chosen: a short computation
/// between two spins must not stop it; any value from 3 to 8 will do.
const TICKS_WITHOUT_SPIN: u32 = 4;
/// Number of ticks in a row that find a known waiting loop inside the allocator, where it may not
/// be left. After so many ticks the region gets no alarm any more. Chosen: some 5 ms at 40 us per
/// tick; any value from 64 to 256 will do.
const TICKS_IN_ALLOCATOR: u32 = 128;
/// Number of ticks that find a known waiting loop, per tick that leaves the loop to the next one
/// for comparison. Chosen: the comparisons cost a thirtieth of the ticks; any value from 16 to 64
/// will do.
const TICKS_PER_CHECK: u32 = 32;
/// The worker has no timer. Derived: a negative number, because the kernel numbers timers from 0.
const NONE: i32 = -1;
/// The worker gets no timer. Derived: a negative number other than `NONE`.
const REFUSED: i32 = -2;

/// A worker's timer. The worker's kernel thread alone touches it, mostly in the signal handler; the
/// watcher reads `running`.
pub(super) struct Alarm {
    timer: AtomicI32,
    running: AtomicU32,
    misses: AtomicU32,
    /// Number of ticks in a row that found a known waiting loop in the allocator.
    hunted: AtomicU32,
    /// Number of ticks that were missed before the last one.
    late: AtomicU32,
    period: AtomicU32,
    /// Number of ticks that found a known waiting loop.
    trusted: AtomicU32,
    /// A tick is being handled: another tick that interrupts it does nothing.
    busy: AtomicU32,
    last: UnsafeCell<StallSample>,
}

impl Alarm {
    pub(super) const fn new() -> Self {
        Self {
            timer: AtomicI32::new(NONE),
            running: AtomicU32::new(0),
            misses: AtomicU32::new(0),
            hunted: AtomicU32::new(0),
            late: AtomicU32::new(0),
            period: AtomicU32::new(PERIOD_NANOS),
            trusted: AtomicU32::new(0),
            busy: AtomicU32::new(0),
            last: UnsafeCell::new(StallSample::NONE),
        }
    }

    /// Does the alarm tick? Any thread may call it; the answer is recent.
    pub(super) fn is_running(&self) -> bool {
        // ORDERING: Relaxed; the watcher takes any recent value.
        self.running.load(Relaxed) != 0
    }

    /// Resets the alarm in the child of a fork: timers stay with the parent.
    pub(super) fn forget(&self) {
        // ORDERING: the only thread.
        self.timer.store(NONE, Relaxed);
        // ORDERING: as above.
        self.running.store(0, Relaxed);
        // ORDERING: as above.
        self.busy.store(0, Relaxed);
    }

    /// Deletes the timer when the kernel thread gives the record up. Called by the owner only.
    pub(super) fn discard(&self) {
        // ORDERING: Relaxed; the owner alone uses the field.
        let timer = self.timer.swap(NONE, Relaxed);
        // ORDERING: as above.
        self.running.store(0, Relaxed);
        if timer >= 0 {
            // SAFETY: this is a timer of this process, made by `make`; its last signal finds no
            // record of its kernel thread.
            unsafe { libc::syscall(libc::SYS_timer_delete, timer) };
        }
    }

    fn set(&self, timer: i32, period: u32) {
        let time = libc::timespec { tv_sec: 0, tv_nsec: i64::from(period) };
        let spec = libc::itimerspec { it_interval: time, it_value: time };
        // SAFETY: the timer is one of this process, and the specification is valid.
        unsafe {
            libc::syscall(
                libc::SYS_timer_settime,
                timer,
                0,
                &raw const spec,
                ptr::null_mut::<libc::itimerspec>(),
            )
        };
    }
}

/// Starts the alarm, because a loop of `watched`'s region was found spinning. Called on the
/// record's kernel thread, in the handler.
pub(super) fn start(watched: &'static Watched) {
    // ORDERING: Relaxed; the owner's field, in program order on its kernel thread.
    watched.alarm.misses.store(0, Relaxed);
    if is_allowed(watched.region()) {
        set_off(watched);
    }
}

/// Starts the alarm, because the running code is to be left for a thread that has a signal, as soon
/// as possible. Called in the handler, on the record's kernel thread.
pub(super) fn start_for_others(watched: &'static Watched) {
    set_off(watched);
}

fn set_off(watched: &'static Watched) {
    let alarm = &watched.alarm;
    if alarm.is_running() {
        return;
    }
    // ORDERING: Relaxed; the owner alone uses the field.
    let mut timer = alarm.timer.load(Relaxed);
    if timer == NONE {
        timer = make(watched).unwrap_or(REFUSED);
        // ORDERING: as above.
        alarm.timer.store(timer, Relaxed);
    }
    if timer >= 0 {
        // ORDERING: as above.
        alarm.period.store(PERIOD_NANOS, Relaxed);
        // ORDERING: Relaxed; the watcher takes any recent value.
        alarm.running.store(1, Relaxed);
        alarm.set(timer, PERIOD_NANOS);
    }
}

fn is_allowed(region: usize) -> bool {
    cfg!(target_arch = "x86_64")
        && regions::is_known_spinner(region)
        && !regions::is_known_sleeper(region)
        && !regions::is_known_blocker(region)
}

fn make(watched: &'static Watched) -> Option<i32> {
    let number = signal::number()?;
    let mut timer: c_int = NONE;
    // SAFETY: all zero is a valid `sigevent`; the kernel copies it, and writes one `int`.
    let result = unsafe {
        let mut event: libc::sigevent = mem::zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = number;
        event.sigev_value.sival_ptr = ptr::from_ref(watched).cast_mut().cast();
        event.sigev_notify_thread_id = watched.tid();
        libc::syscall(libc::SYS_timer_create, libc::CLOCK_MONOTONIC, &raw const event, &raw mut timer)
    };
    (result == 0).then_some(timer)
}

pub(super) fn stop(watched: &'static Watched) {
    let alarm = &watched.alarm;
    // ORDERING: Relaxed; the owner alone uses the field.
    let timer = alarm.timer.load(Relaxed);
    if timer >= 0 {
        alarm.set(timer, 0);
    }
    // ORDERING: Relaxed; the watcher takes any recent value.
    alarm.running.store(0, Relaxed);
    if watched.crowd() != 0 {
        watcher::crowded(watched);
    }
}

/// Handles one tick; the kernel has missed `missed` ticks before it. If `slept` is true, the tick
/// interrupted a system call that sleeps, and that call is made again. The result is true if the
/// context is to be left.
///
/// # Safety
/// Call it in the handler, on the kernel thread of the record; `context` is the interrupted state.
pub(super) unsafe fn tick(
    watched: &'static Watched,
    context: &mut ucontext_t,
    slept: bool,
    missed: u32,
) -> bool {
    let alarm = &watched.alarm;
    // ORDERING: Relaxed with compiler fences: only a handler on this same kernel thread can come in
    // between.
    if !alarm.is_running() || alarm.busy.swap(1, Relaxed) != 0 {
        return false;
    }
    compiler_fence(SeqCst);
    count(&TALLY.interrupts);
    count(&TALLY.ticks);
    if slept {
        regions::remember_sleeper(watched.region());
    }
    // SAFETY: passed on; `busy` is set.
    let found = unsafe { look(watched, context, slept) };
    match found {
        AlarmFinding::Spin => heard(watched, missed),
        AlarmFinding::Perhaps => {}
        AlarmFinding::Hunted => hunt(watched),
        AlarmFinding::Nothing => miss(watched),
        AlarmFinding::Foreign => stop(watched),
    }
    compiler_fence(SeqCst);
    // ORDERING: as above. The store precedes leaving the context, because the next context gets
    // ticks too.
    alarm.busy.store(0, Relaxed);
    if found == AlarmFinding::Spin {
        count(&TALLY.stalls);
    }
    found == AlarmFinding::Spin
}

/// The result of a tick.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AlarmFinding {
    /// Program code in a loop that waits, with a context waiting behind it.
    Spin,
    /// Program code that may be in a loop that waits: the next tick knows more.
    Perhaps,
    /// A loop that waits, at a position where it may not be left.
    Hunted,
    /// Code that makes progress.
    Nothing,
    /// Code that must not be interrupted.
    Foreign,
}

/// Classifies the interrupted code.
///
/// # Safety
/// As for [`tick`], with `busy` set.
unsafe fn look(watched: &'static Watched, context: &ucontext_t, slept: bool) -> AlarmFinding {
    if slept || !watched.is_crowded() {
        return AlarmFinding::Foreign;
    }
    if watched.is_user() && watched.is_wanted() {
        // SAFETY: passed on.
        return unsafe { look_for_others(watched, context) };
    }
    if !watched.is_user() || !may_wait_for_others(watched) {
        return AlarmFinding::Nothing;
    }
    let mut now = spin::sample(context, watched.switch_count());
    let region = watched.region();
    // SAFETY: passed on.
    match unsafe { interrupted::place(&|sp| lowest_of_stack(watched, sp), context, &mut now) } {
        // The runtime on its way into or out of the program, or a library that computes, perhaps
        // between two barriers.
        InterruptedCode::Elsewhere if !restart::is_at_system_call(now.ip) => return AlarmFinding::Nothing,
        InterruptedCode::Elsewhere => return AlarmFinding::Foreign,
        InterruptedCode::Yields => {
            count(&TALLY.yields);
            return AlarmFinding::Spin;
        }
        InterruptedCode::Allocator if regions::is_known_loop(region, now.ip) => return AlarmFinding::Hunted,
        InterruptedCode::Allocator => return AlarmFinding::Nothing,
        InterruptedCode::Program | InterruptedCode::Leaf => {}
    }
    // SAFETY: `busy` keeps other handlers away.
    let before = now.succeed(unsafe { &mut *watched.alarm.last.get() });
    let motion = now.since(&before);
    if regions::is_known_loop(region, now.ip) {
        return ask_again(watched, &now, &before, motion);
    }
    match motion {
        // Between two ticks the code may have run for an instant only, all of it in one call. The
        // watcher finds out.
        Motion::Spins if now.is_in_call() || before.is_in_call() => AlarmFinding::Nothing,
        Motion::Spins => {
            regions::remember_spinner(region, now.ip);
            AlarmFinding::Spin
        }
        Motion::Still => AlarmFinding::Perhaps,
        _ => AlarmFinding::Nothing,
    }
}

/// Classifies the interrupted code when a suspended thread has a signal: the code is left wherever
/// it may be left, whatever it does.
///
/// # Safety
/// As for [`tick`].
unsafe fn look_for_others(watched: &'static Watched, context: &ucontext_t) -> AlarmFinding {
    let mut now = spin::sample(context, watched.switch_count());
    // SAFETY: passed on.
    match unsafe { interrupted::place(&|sp| lowest_of_stack(watched, sp), context, &mut now) } {
        InterruptedCode::Elsewhere if restart::is_at_system_call(now.ip) => AlarmFinding::Nothing,
        InterruptedCode::Elsewhere | InterruptedCode::Allocator => AlarmFinding::Perhaps,
        InterruptedCode::Program | InterruptedCode::Leaf | InterruptedCode::Yields => AlarmFinding::Spin,
    }
}

/// The result in a loop that is known to wait. One tick in [`TICKS_PER_CHECK`] leaves the
/// comparison to the next tick. A loop that makes progress there is forgotten.
fn ask_again(
    watched: &'static Watched,
    now: &StallSample,
    before: &StallSample,
    motion: Motion,
) -> AlarmFinding {
    if motion == Motion::Computes && regions::is_one_loop(now.ip, before.ip) && now.sp == before.sp {
        regions::forget_spin(watched.region(), now.ip);
        return AlarmFinding::Nothing;
    }
    // ORDERING: Relaxed; the owner alone uses the field.
    let trusted = watched.alarm.trusted.fetch_add(1, Relaxed) % TICKS_PER_CHECK;
    if motion == Motion::Unknown && trusted == TICKS_PER_CHECK - 1 {
        AlarmFinding::Perhaps
    } else {
        AlarmFinding::Spin
    }
}

fn heard(watched: &'static Watched, missed: u32) {
    let alarm = &watched.alarm;
    // ORDERING: Relaxed; the owner alone uses the field.
    alarm.misses.store(0, Relaxed);
    // ORDERING: as above.
    alarm.hunted.store(0, Relaxed);
    // ORDERING: as above.
    let late_again = alarm.late.swap(missed, Relaxed) != 0 && missed != 0;
    if late_again {
        slow_down(watched);
    }
}

fn slow_down(watched: &'static Watched) {
    let alarm = &watched.alarm;
    // ORDERING: Relaxed; the owner alone uses the field.
    let period = 2 * alarm.period.load(Relaxed);
    if period > SLOWEST_PERIOD_NANOS {
        stop(watched);
        return;
    }
    // ORDERING: as above.
    alarm.period.store(period, Relaxed);
    // ORDERING: as above.
    alarm.set(alarm.timer.load(Relaxed), period);
}

fn miss(watched: &'static Watched) {
    // ORDERING: Relaxed; the owner alone uses the field.
    if watched.alarm.misses.fetch_add(1, Relaxed) + 1 >= TICKS_WITHOUT_SPIN {
        stop(watched);
    }
}

fn hunt(watched: &'static Watched) {
    // ORDERING: Relaxed; the owner alone uses the field.
    if watched.alarm.hunted.fetch_add(1, Relaxed) + 1 >= TICKS_IN_ALLOCATOR {
        // ORDERING: as above.
        watched.alarm.hunted.store(0, Relaxed);
        regions::remember_sleeper(watched.region());
        stop(watched);
    }
}
