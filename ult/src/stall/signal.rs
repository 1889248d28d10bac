//! The signal that samples a worker, and its handler.
//!
//! The signal carries the address of the worker's record, so the handler finds it without
//! thread-local storage. The interrupted context may run with the thread pointer of another thread.
//! The handler reaches only `errno` through the thread pointer, and that is the interrupted
//! context's own.
//!
//! The handler runs on the alternate signal stack, with all signals blocked but those of faults. It
//! only looks: it writes nothing below the interrupted stack pointer, where the program may keep
//! data. If the context is to be left, the frame moves to the context's own stack
//! ([`super::frame`]), and the handler goes on there.
//!
//! Before the handler switches away, it restores the signal mask. The next context must be
//! interruptible too, and `sigreturn` comes only when the interrupted context is resumed. From then
//! on two things exclude re-entry: `pending` (one signal on its way per worker), and the worker's
//! mode.
//!
//! What may not live here: when to send the signal ([`super::watcher`]), which code it has interrupted
//! ([`super::interrupted`]), and what a spin looks like ([`super::spin`]).
//!
//! Tried and rejected:
//! * Timers alone. They signal sleeping threads, whose calls then return early; [`super::alarm`]
//!   says where a timer is used.
//! * The interrupted stack for the handler. It overwrote data below the stack pointer of code that
//!   had taken a block of the heap for its stack: oneDNN's products,
//!   `abi-tests/spin/foreign_stack.c`.
//! * Finding the worker through the thread's TLS block. It ties the handler to the owner of the
//!   thread pointer.
//! * The signal unblocked throughout (`SA_NODEFER`). A handler may take longer than an alarm's
//!   period, in a debugger for instance. Then each tick interrupts the handler of the last, and
//!   their frames fill the stack.
use core::ffi::{c_int, c_void};
use core::sync::atomic::{
    AtomicI32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, Ordering::SeqCst, compiler_fence,
};
use core::{mem, ptr};
use libc::{siginfo_t, ucontext_t};
use std::sync::Once;

use crate::debug::DebugEntry;
use crate::observer::{self, SchedulerEvent};
use crate::signals::{kernel, mask, queue};
use crate::sys::arch;
use crate::tls_block::record::TlsBlock;

use super::frame::{self, SignalFrame, StackLimit};
use super::hooks::{TALLY, count, hooks, lowest_of_stack, signal_hooks};
use super::interrupted::{HANDLER_ROOM_BYTES, InterruptedCode, has_room, place};
use super::spin::{self, Motion, StallSample};
use super::watched::{Watched, WorkerMode};
use super::{alarm, objects, regions, restart};

/// The handler's verdict on a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum SampleVerdict {
    /// There was no sample since the last look.
    None = 0,
    /// The worker had moved on, or was about to sleep.
    Stale = 1,
    /// The sample is the first of a stretch: there is nothing to compare it with.
    First = 2,
    /// Program code that makes progress.
    Computes = 3,
    /// The code spins; the handler switches it out.
    Spins = 4,
    /// The code spins, or has had its time, but there is no context to switch to.
    Alone = 5,
    /// The code is not the program's, or its stack has too little room.
    Elsewhere = 6,
    /// The code is not known to spin, but has had its time; the handler switches it out.
    Overdue = 7,
    /// The program's code stands still: it waits, or has not run since the last sample.
    Still = 8,
}

impl SampleVerdict {
    pub(super) fn from(value: u32) -> SampleVerdict {
        use SampleVerdict::{Alone, Computes, Elsewhere, First, None, Overdue, Spins, Stale, Still};
        [None, Stale, First, Computes, Spins, Alone, Elsewhere, Overdue, Still]
            .get(value as usize)
            .copied()
            .unwrap_or(None)
    }
}

/// A value of [`Trap::overdue`](super::watched::Trap), a level: suspect code is taken for a spin.
/// Derived: below `OVERDUE`, because the handler compares with `>=`.
pub(super) const SUSPECT: u32 = 1;
/// A value of [`Trap::overdue`](super::watched::Trap), a level: the context has had its time,
/// whatever it does. Derived: above `SUSPECT`, because the handler compares with `>=`.
pub(super) const OVERDUE: u32 = 2;
/// The signal's number; zero while none is chosen.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// What debuggers find, see [`crate::debug`]: they stop at each signal that they do not know to
/// pass on.
pub(crate) const SIGNAL_ENTRY: [DebugEntry; 1] =
    [DebugEntry::address("stall.signal", (&raw const SIGNAL).cast())];

/// Uses signal `number` instead of the first free real-time signal. Call it before the monitor
/// starts. A number out of range is ignored.
pub fn set_signal(number: c_int) {
    if (1..=libc::SIGRTMAX()).contains(&number) {
        // ORDERING: Relaxed; the setting is made before the first worker begins.
        SIGNAL.store(number, Relaxed);
    }
}

/// The number of the signal in use; the first call chooses and installs it. The result is `None` if
/// every real-time signal is taken. It is also `None` under ThreadSanitizer, which delivers signals
/// at a time of its own.
pub(super) fn number() -> Option<c_int> {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        // ORDERING: Relaxed; see `set_signal`.
        let wanted = SIGNAL.load(Relaxed);
        let number = if crate::sanitize::sees_races() {
            0
        } else if wanted != 0 {
            wanted
        } else {
            first_free().unwrap_or(0)
        };
        // `SIGNAL` stays 0 during the installation, so that `is_its_signal` does not take this
        // action for the program's.
        // ORDERING: Relaxed, both; ordered by `INSTALL`.
        SIGNAL.store(0, Relaxed);
        if number != 0 {
            install(number);
        }
        // ORDERING: as above.
        SIGNAL.store(number, Relaxed);
    });
    // ORDERING: Relaxed; ordered by `INSTALL`.
    Some(SIGNAL.load(Relaxed)).filter(|&number| number != 0)
}

/// The first real-time signal without a handler. The search begins at the eighth, because programs
/// count from the first and from the last.
fn first_free() -> Option<c_int> {
    let (low, high) = (libc::SIGRTMIN(), libc::SIGRTMAX());
    let mut order = (low + 8..=high).chain(low..low + 8);
    order.find(|&number| {
        // SAFETY: the call only asks; the out pointer is valid.
        unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            libc::sigaction(number, ptr::null(), &raw mut action) == 0 && action.sa_sigaction == libc::SIG_DFL
        }
    })
}

fn install(number: c_int) {
    // SAFETY: the action is fully initialised; the handler is async-signal-safe.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | frame::STACK_FLAG;
        // All signals but those of faults are blocked: a handler of the program would find itself
        // on the alternate stack.
        libc::sigfillset(&raw mut action.sa_mask);
        (&raw mut action.sa_mask).cast::<u64>().write(!mask::faults());
        libc::sigaction(number, &raw const action, ptr::null_mut());
    }
}

/// Unblocks the signal on the calling kernel thread. The first call installs the handler; later
/// calls are async-signal-safe.
pub(super) fn open_on_this_thread() {
    let Some(number) = number() else { return };
    let set = 1_u64 << (number - 1);
    // SAFETY: the set is a local word.
    unsafe { mask::change_mask(libc::SIG_UNBLOCK, &raw const set, ptr::null_mut()) };
}

/// `siginfo_t` of a queued signal, as the kernel reads it. The `libc` crate has these fields as
/// private ones.
#[repr(C)]
struct InterruptedQueued {
    signo: c_int,
    errno: c_int,
    code: c_int,
    pad: c_int,
    pid: libc::pid_t,
    uid: libc::uid_t,
    value: usize,
    rest: [u64; 12],
}

const _: () = assert!(size_of::<InterruptedQueued>() == 128);
/// Mark in `errno` of a signal from [`send`], where `sigqueue` writes zero; `value` is then the
/// record of a worker. Derived: the letters `STAL`.
const MARK: c_int = 0x5354_414c;
/// Mark in `errno` of a signal from [`kick`], which says that a signal lies in the queue of a
/// thread; `value` is then the TLS block of that thread. Derived: the letters `KICK`.
const KICK: c_int = 0x4b49_434b;
/// `SI_QUEUE`, the code of a queued signal. Given: by the kernel.
const QUEUED: c_int = -1;

/// Sends the signal to the kernel thread `tid`, whose record is `watched`. The result is false if
/// the kernel refuses.
pub(super) fn send(watched: &'static Watched, tid: i32) -> bool {
    number().is_some() && queue(ptr::from_ref(watched) as usize, tid, MARK)
}

/// Makes the kernel thread `tid` look at the signals of the thread with this TLS block: `tid` is a
/// worker that the thread is on, or its TLS donor. The function touches no thread-local storage and
/// is async-signal-safe. The monitor's signal is a real-time signal: a second one is queued, not
/// merged.
pub(crate) fn kick(tid: i32, about: &'static TlsBlock) {
    if tid != 0 {
        queue(ptr::from_ref(about) as usize, tid, KICK);
    }
}

/// Sends the monitor's signal once more, to the handler, after the calling kernel thread took it
/// with this information while it waited for signals. The result is false if the signal is not the
/// monitor's.
pub(crate) fn send_again(info: &queue::Info) -> bool {
    // SAFETY: both are structures of plain words of the same size.
    let queued = unsafe { &*ptr::from_ref(info).cast::<InterruptedQueued>() };
    // ORDERING: Relaxed; see `queue`.
    if queued.signo != SIGNAL.load(Relaxed) || !is_ours(queued) {
        return false;
    }
    kernel::queue_in_kernel(crate::sys::thread::number(), info);
    true
}

/// Restarts a sleeping system call that only the monitor's signal has interrupted.
///
/// # Safety
/// Call it in a handler with this frame.
pub(crate) unsafe fn restart_interrupted_call(frame: SignalFrame) {
    // SAFETY: as the caller says.
    let _ = unsafe { restart::restart(&mut *frame.context) };
}

/// Is this the signal that the monitor uses? The answer is no before a signal is chosen.
pub(crate) fn is_its_signal(signal: c_int) -> bool {
    // ORDERING: Relaxed; see `queue`.
    SIGNAL.load(Relaxed) == signal
}

/// The signal set that holds the monitor's signal alone; empty without such a signal.
pub(crate) fn signal_as_set() -> u64 {
    number().map_or(0, |number| 1 << (number - 1))
}

fn queue(value: usize, tid: i32, mark: c_int) -> bool {
    // ORDERING: Relaxed; the signal was installed before the record's kernel thread began.
    let signo = SIGNAL.load(Relaxed);
    // SAFETY: the system calls take no arguments; both structures are plain words of the same size
    // and alignment.
    unsafe {
        let pid = crate::sys::thread::process();
        let uid = arch::system_call(libc::SYS_getuid as usize, [0; 4]) as libc::uid_t;
        let info =
            InterruptedQueued { signo, errno: mark, code: QUEUED, pad: 0, pid, uid, value, rest: [0; 12] };
        signo != 0 && kernel::queue_in_kernel(tid, &*(&raw const info).cast::<queue::Info>()) == 0
    }
}

/// `SI_TIMER`, the code of a timer's signal. `pid` and `uid` of [`InterruptedQueued`] are then the
/// timer's number and the number of missed ticks. Given: by the kernel.
const TIMER: c_int = -2;

unsafe extern "C" fn on_signal(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let frame = SignalFrame { info, context: context.cast() };
    // SAFETY: the kernel passes valid pointers to an SA_SIGINFO handler. The context is the
    // interrupted code's, which stays as it is until the handler returns.
    unsafe {
        let queued = &*info.cast::<InterruptedQueued>();
        if !is_ours(queued) {
            return if let Some(hooks) = signal_hooks() {
                (hooks.receive)(signal, frame)
            };
        }
        if queued.errno == KICK {
            // `kick` has put the address of a record there, and records are never freed.
            let about = &*(queued.value as *const TlsBlock);
            return if let Some(hooks) = signal_hooks() {
                (hooks.on_kick)(about, frame)
            };
        }
        let errno = *libc::__errno_location();
        let left = look(queued, &mut *frame.context);
        *libc::__errno_location() = errno;
        if let Some(left) = left {
            leave(left, frame);
        }
    }
}

/// The address of the handler.
pub(crate) fn handler_address() -> usize {
    on_signal as *const () as usize
}

/// A context that the handler is to leave.
#[derive(Clone, Copy)]
struct Left {
    watched: &'static Watched,
    /// The lowest address of the stack on which the context runs.
    lowest: usize,
}

/// Moves the handler to the stack of the context and switches to another context.
///
/// # Safety
/// Call it at the end of the handler with this frame.
unsafe fn leave(Left { watched, lowest }: Left, frame: SignalFrame) {
    let limit = StackLimit { lowest, room: HANDLER_ROOM_BYTES };
    // SAFETY: as the caller says; the running context's own stack begins at `lowest`.
    let stays = unsafe { !frame.leave(limit, leave_there, ptr::from_ref(watched) as usize) };
    if stays {
        // ORDERING: Relaxed; the watcher's next look may take this verdict or miss it.
        watched.trap.verdict.store(SampleVerdict::Elsewhere as u32, Relaxed);
    }
}

/// The rest of the handler, on the stack of the context that is left; its end is the end of the
/// signal.
unsafe extern "C" fn leave_there(watched: usize, context: *mut ucontext_t, _: *mut siginfo_t) {
    // SAFETY: `leave` passes the address of a record, and records are never freed. The context is
    // the interrupted one, moved here; the handler has nothing else to do.
    unsafe {
        let watched: &'static Watched = &*(watched as *const Watched);
        let errno = *libc::__errno_location();
        if !yield_to_others(watched, &mut *context) && watched.alarm.is_running() {
            alarm::stop(watched);
        }
        // `errno` is located anew: the context may have moved to another kernel thread.
        *libc::__errno_location() = errno;
    }
}

/// A thread that is suspended on `watched`'s worker may have to run there, because it has a signal.
/// An alarm then ticks until the worker has been to its scheduler. Called on the worker's kernel
/// thread, in a handler.
pub(crate) fn leave_later(watched: &'static Watched) {
    if watched.is_wanted() {
        alarm::start_for_others(watched);
    }
}

/// A thread that is suspended on `watched`'s worker has to run there, because it has a signal. The
/// worker goes to its scheduler as soon as its code may be left. Called on the worker's kernel
/// thread, in a handler that has interrupted that code.
///
/// # Safety
/// Call it in the handler with this frame.
pub(crate) unsafe fn leave_soon(watched: &'static Watched, frame: SignalFrame) {
    // SAFETY: as the caller says.
    if let Some(left) = unsafe { look_for_others(watched, &*frame.context) } {
        // SAFETY: as the caller says.
        unsafe { leave(left, frame) };
    }
}

/// Can the interrupted code be left at once, for a thread that has to run? If not, an alarm tries
/// again.
///
/// # Safety
/// Call it in the handler, on the record's kernel thread.
unsafe fn look_for_others(watched: &'static Watched, context: &ucontext_t) -> Option<Left> {
    if !watched.is_user() {
        return None;
    }
    let mut now = spin::sample(context, watched.switch_count());
    // SAFETY: as the caller says.
    if unsafe { place(&|sp| lowest_of_stack(watched, sp), context, &mut now) }.may_be_left() {
        return Some(Left { watched, lowest: lowest_of_stack(watched, spin::stack_pointer(context))? });
    }
    alarm::start_for_others(watched);
    None
}

/// Evaluates the signal. The result is the context that is to be left, if there is one.
///
/// # Safety
/// Call it in the handler with these arguments.
unsafe fn look(queued: &InterruptedQueued, context: &mut ucontext_t) -> Option<Left> {
    // SAFETY: `context` is the interrupted state, in the handler.
    let slept = unsafe { restart::restart(context) };
    if slept {
        count(&TALLY.restarts);
    }
    // SAFETY: `send` and `alarm::make` have put the address of a record there, and records are
    // never freed.
    let watched: &'static Watched = unsafe { &*(queued.value as *const Watched) };
    if watched.tid() != crate::sys::thread::number() {
        return None;
    }
    let leaves = if queued.code == TIMER {
        // SAFETY: in the handler, on the record's kernel thread.
        unsafe { alarm::tick(watched, context, slept, queued.uid) }
    } else {
        // ORDERING: Acquire pairs with the Release in `Episode::interrupt`, which publishes what
        // the signal is about.
        // SAFETY: as above, and the signal is pending.
        watched.trap.pending.load(Acquire) != 0 && unsafe { sample(watched, context, !slept) }
    };
    let lowest = lowest_of_stack(watched, spin::stack_pointer(context)).filter(|_| leaves)?;
    Some(Left { watched, lowest })
}

/// Was the signal sent by [`send`] or [`kick`] of this process, or by a timer? Timers with this
/// signal belong to the monitor: no other code uses its number.
fn is_ours(queued: &InterruptedQueued) -> bool {
    let is_sent =
        || (queued.errno == MARK || queued.errno == KICK) && queued.pid == crate::sys::thread::process();
    queued.value != 0 && (queued.code == TIMER || queued.code == QUEUED && is_sent())
}

/// Takes one sample of `watched`, whose kernel thread this is. The result is true if the context is
/// to be left because it spins or has had its time. If `awake` is false, the thread was in a system
/// call that sleeps.
///
/// # Safety
/// Call it in the handler of the signal, which is pending for this record.
unsafe fn sample(watched: &'static Watched, context: &mut ucontext_t, awake: bool) -> bool {
    let trap = &watched.trap;
    // ORDERING: Relaxed; acquired with `pending`.
    let current = awake && watched.is_user() && trap.switch_count.load(Relaxed) == watched.switch_count();
    // ORDERING: as above.
    let overdue = trap.overdue.load(Relaxed);
    // SAFETY: passed on; `pending` is set.
    let found = if current { unsafe { judge(watched, context, overdue) } } else { SampleVerdict::Stale };
    // ORDERING: Relaxed; released by the next store.
    trap.verdict.store(found as u32, Relaxed);
    // ORDERING: Release pairs with the watcher's Acquire: the verdict is there, and the handler no
    // longer uses the sample.
    trap.pending.store(0, Release);
    if found == SampleVerdict::Spins {
        alarm::start(watched);
    }
    matches!(found, SampleVerdict::Spins | SampleVerdict::Overdue)
}

/// Does a library wait around `sched_yield` or `pthread_spin_lock`? The answer is yes if the last
/// sample was taken in such a call too, with the same stack pointer and switch count. The library
/// then counts as waiting for other threads, like repeated calls of `sched_yield` that reach the
/// layer above (`sched::demands`).
///
/// # Safety
/// As for [`place`]; the samples are of one worker.
unsafe fn demands(now: &StallSample, before: &StallSample) -> bool {
    // SAFETY: the code was being executed.
    let caller = || unsafe { spin::leaf_caller(now) };
    let again = objects::is_wait(now.ip)
        && objects::is_wait(before.ip)
        && now.sp == before.sp
        && now.switch_count == before.switch_count;
    let demands = again && objects::is_of_a_library(caller());
    if demands {
        regions::remember_wait(caller());
    }
    demands
}

/// The verdict on one sample.
///
/// # Safety
/// As for [`sample`].
unsafe fn judge(watched: &'static Watched, context: &ucontext_t, overdue: u32) -> SampleVerdict {
    let mut now = spin::sample(context, watched.switch_count());
    keep_for_people(watched, &now);
    // SAFETY: passed on.
    let place = unsafe { place(&|sp| lowest_of_stack(watched, sp), context, &mut now) };
    // SAFETY: in the handler, with `pending` set, no other code touches the sample.
    let before = now.succeed(unsafe { &mut *trap_sample(watched) });
    let (region, site) = (watched.region(), now.ip);
    // SAFETY: passed on; the stack has room, or the place would not have been examined.
    let demands = place == InterruptedCode::Elsewhere
        && has_room(&|sp| lowest_of_stack(watched, sp), now.sp)
        && unsafe { demands(&now, &before) };
    if place == InterruptedCode::Elsewhere && !demands {
        count(&TALLY.elsewhere);
        return SampleVerdict::Elsewhere;
    }
    if place == InterruptedCode::Yields || demands {
        count(&TALLY.yields);
        regions::remember_waiter(region);
        return SampleVerdict::Spins;
    }
    let motion = now.since(&before);
    if motion == Motion::Spins {
        regions::remember_spinner(region, site);
    }
    if place == InterruptedCode::Allocator {
        return judge_in_allocator(watched, site, motion);
    }
    if regions::is_known_loop(region, site) {
        return SampleVerdict::Spins;
    }
    match motion {
        Motion::Spins => SampleVerdict::Spins,
        Motion::Suspect if overdue >= SUSPECT => SampleVerdict::Overdue,
        _ if overdue >= OVERDUE => SampleVerdict::Overdue,
        Motion::Unknown => SampleVerdict::First,
        Motion::Still => SampleVerdict::Still,
        Motion::Suspect | Motion::Computes => {
            count(&TALLY.computing);
            SampleVerdict::Computes
        }
    }
}

/// The verdict on a sample in the allocator, which is not left. A loop around the allocator that
/// waits is left as soon as it is found outside.
fn judge_in_allocator(watched: &'static Watched, site: usize, motion: Motion) -> SampleVerdict {
    if regions::is_known_loop(watched.region(), site) {
        alarm::start(watched);
    } else if matches!(motion, Motion::Unknown | Motion::Still) {
        return SampleVerdict::First;
    }
    count(&TALLY.elsewhere);
    SampleVerdict::Elsewhere
}

/// Stores where the sample was taken, for [`super::standing`].
fn keep_for_people(watched: &'static Watched, now: &StallSample) {
    let trap = &watched.trap;
    // ORDERING: Relaxed; the value is only reported to people.
    trap.ip.store(now.ip, Relaxed);
    // ORDERING: as above.
    trap.sp.store(now.sp, Relaxed);
    // ORDERING: as above.
    trap.sampled.store(u64::from(now.switch_count) + 1, Relaxed);
}

fn trap_sample(watched: &'static Watched) -> *mut StallSample {
    watched.trap.last.get()
}

/// Switches to another context, and returns when the interrupted context is resumed. The result is
/// false if there was no context to switch to.
///
/// # Safety
/// Call it in the handler that interrupted program code of `watched`, on the stack of that code.
/// The handler has nothing else to do.
unsafe fn yield_to_others(watched: &'static Watched, context: &mut ucontext_t) -> bool {
    watched.set_mode(WorkerMode::Scheduler);
    // The mask becomes that of the interrupted code, which lets the signal through: it has just
    // come.
    // SAFETY: the first word of a set is the kernel's.
    mask::set_mask(unsafe { (&raw const context.uc_sigmask).cast::<u64>().read() });
    observer::notify(|| SchedulerEvent::Preempted);
    // SAFETY: the hook's contract (`Hooks::preempt`); mode and stack are as it requires.
    let went = hooks().is_some_and(|hooks| unsafe { (hooks.preempt)() });
    compiler_fence(SeqCst);
    if went {
        // `watched` may be the record of another kernel thread than this one by now.
        count(&TALLY.preemptions);
        // SAFETY: this is the interrupted context's own description.
        unsafe { keep_alternate_stack(context) };
    } else {
        // ORDERING: Relaxed; the watcher's next look may take this verdict or miss it.
        watched.trap.verdict.store(SampleVerdict::Alone as u32, Relaxed);
        watched.set_mode(WorkerMode::User);
    }
    went
}

/// Stores the alternate signal stack of the present kernel thread in `context`. `sigreturn` also
/// restores the alternate signal stack, which belongs to the kernel thread and not to the context.
///
/// # Safety
/// Call it in the handler whose context this is.
unsafe fn keep_alternate_stack(context: &mut ucontext_t) {
    // SAFETY: the call only asks, and writes into the caller's own structure.
    unsafe { crate::fault::ask_alternate(ptr::null(), &raw mut context.uc_stack) };
}
