//! The signal that samples a worker, and its handler.
//!
//! The signal carries the address of the worker's record, so the handler needs no thread-local
//! storage to find it: the interrupted context may run with the thread pointer of another thread.
//! Only `errno` is reached through the thread pointer, and that is the interrupted context's own.
//!
//! The handler runs on the alternate signal stack, with all signals blocked, and only looks:
//! nothing is written below the interrupted stack pointer, where the program may keep data. If the
//! context is to be left, the frame is moved to the context's own stack ([`super::frame`]), and the
//! handler goes on there. It restores the signal mask before it switches away: the next context
//! must be interruptible too, and `sigreturn` comes only when this one is resumed. Then re-entry is
//! excluded by `pending` (one signal on the way per worker) and by the worker's mode.
//!
//! What may not live here: when to send ([`super::watcher`]), what a spin looks like
//! ([`super::spin`]).
//!
//! Tried and rejected: timers alone (they signal sleeping threads, whose calls then return early;
//! see [`super::alarm`] for where there is one); the interrupted stack for the handler (it
//! overwrote data below the stack pointer of code that had taken a block of the heap for its stack:
//! oneDNN's products, `abi-tests/spin/foreign_stack.c`); finding the worker through the thread's
//! block (ties the handler to whoever owns the thread pointer); the signal open throughout
//! (`SA_NODEFER`: where a handler takes longer than an alarm's period, in a debugger for one, each
//! tick interrupts the handler of the last, and their frames fill the stack).
use core::ffi::{c_int, c_void};
use core::mem;
use core::ptr;
use core::sync::atomic::{
    AtomicI32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, Ordering::SeqCst, compiler_fence,
};
use libc::{siginfo_t, ucontext_t};
use std::sync::Once;

use crate::arch;
use crate::observer::{self, SchedulerEvent};
use crate::signals;
use crate::tls_block::TlsBlock;

use super::frame::{self, SignalFrame};
use super::leaf::{CalledFunction, LeafCall};
use super::spin::{self, FRAME_WORDS, Motion, StallSample};
use super::unwind::{Point, RBP};
use super::watched::{Watched, WorkerMode};
use super::{TALLY, alarm, count, hooks, objects, regions, restart};

/// What the handler made of a sample. Zero: nothing yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum SampleVerdict {
    /// No sample since the last look.
    None = 0,
    /// The worker had moved on, or was about to sleep.
    Stale = 1,
    /// The first sample of a stretch: nothing to compare with.
    First = 2,
    /// Program code that gets on.
    Computes = 3,
    /// Spins; switched out.
    Spins = 4,
    /// Spins, or has had its time, but there is nobody to switch to.
    Alone = 5,
    /// Not the program's code, or no room on its stack.
    Elsewhere = 6,
    /// Not known to spin, but has had its time; switched out.
    Overdue = 7,
    /// Program code that stands still: it waits, or has not run since the last sample.
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

/// Bytes that must be free below the moved frame for the switch and for a handler of the program on
/// top of it.
const HANDLER_ROOM_BYTES: usize = 16 << 10;
/// The same with the frame itself.
const ROOM_WITH_FRAME: usize = 2 * HANDLER_ROOM_BYTES;
/// Values of [`Trap::overdue`](super::watched::Trap): what may be a spin is to be taken for one.
pub(super) const SUSPECT: u32 = 1;
/// The context has had its time, whatever it does.
pub(super) const OVERDUE: u32 = 2;
/// The signal's number; zero while none is chosen.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// Uses signal `number` instead of the first free real-time one. Before the monitor starts; out of
/// range: ignored.
pub fn set_signal(number: c_int) {
    if (1..=libc::SIGRTMAX()).contains(&number) {
        // ORDERING: Relaxed; a setting, made before the first worker begins.
        SIGNAL.store(number, Relaxed);
    }
}

/// The signal in use; chosen and installed at the first call. `None` if every real-time signal is
/// taken, and under ThreadSanitizer, which hands signals on at a time of its own.
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

/// The first real-time signal that nobody handles, from the eighth on: programs count from the
/// first and the last.
fn first_free() -> Option<c_int> {
    let (low, high) = (libc::SIGRTMIN(), libc::SIGRTMAX());
    let mut order = (low + 8..=high).chain(low..low + 8);
    order.find(|&number| {
        // SAFETY: only asks; a valid out pointer.
        unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            libc::sigaction(number, ptr::null(), &raw mut action) == 0 && action.sa_sigaction == libc::SIG_DFL
        }
    })
}

fn install(number: c_int) {
    // SAFETY: a fully initialised action; the handler is async-signal-safe.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | frame::STACK_FLAG;
        // A handler of the program would find itself on the alternate stack.
        libc::sigfillset(&raw mut action.sa_mask);
        (&raw mut action.sa_mask).cast::<u64>().write(!signals::faults());
        libc::sigaction(number, &raw const action, ptr::null_mut());
    }
}

/// Lets the signal through on the calling kernel thread. Installs the handler at the first call;
/// async-signal-safe afterwards.
pub(super) fn open_on_this_thread() {
    let Some(number) = number() else { return };
    let set = 1_u64 << (number - 1);
    // SAFETY: a local word.
    unsafe { signals::change_mask(libc::SIG_UNBLOCK, &raw const set, ptr::null_mut()) };
}

/// `siginfo_t` of a queued signal, as the kernel reads it: the `libc` crate keeps these fields to
/// itself.
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
/// In `errno` of our signals, where `sigqueue` writes zero: `value` is the record of a worker.
const MARK: c_int = 0x5354_414c;
/// The same, where a signal lies in a queue ([`kick`]): `value` is the record of a thread's
/// storage.
const KICK: c_int = 0x4b49_434b;
/// `SI_QUEUE`.
const QUEUED: c_int = -1;

/// Sends the signal to the kernel thread `tid`, whose record is `watched`. False if the kernel
/// refuses.
pub(super) fn send(watched: &'static Watched, tid: i32) -> bool {
    number().is_some() && queue(ptr::from_ref(watched) as usize, tid, MARK)
}

/// The kernel thread `tid` looks at the signals of the thread with this storage: a worker that it
/// is on, or its donor. Async-signal-safe; touches no thread-local storage. The monitor's signal is
/// a real-time signal: a second one is queued, not merged.
pub(crate) fn kick(tid: i32, about: &'static TlsBlock) {
    if tid != 0 {
        queue(ptr::from_ref(about) as usize, tid, KICK);
    }
}

/// The monitor's signal with this information was taken from the calling kernel thread while it
/// waited for signals: sends it once more, to the handler. False if it is not the monitor's.
pub(crate) fn send_again(info: &signals::Info) -> bool {
    // SAFETY: a structure of plain words of the same size.
    let queued = unsafe { &*ptr::from_ref(info).cast::<InterruptedQueued>() };
    // ORDERING: Relaxed; see `queue`.
    if queued.signo != SIGNAL.load(Relaxed) || !is_ours(queued) {
        return false;
    }
    signals::queue_in_kernel(crate::worker::kernel_thread(), info);
    true
}

/// Restarts a sleeping system call that only the monitor's signal has interrupted.
///
/// # Safety
/// In a handler with this frame.
pub(crate) unsafe fn restart_interrupted_call(frame: SignalFrame) {
    // SAFETY: as the caller says.
    let _ = unsafe { restart::restart(&mut *frame.context) };
}

/// Is this the signal that the monitor uses? No before it is chosen.
pub(crate) fn is_its_signal(signal: c_int) -> bool {
    // ORDERING: Relaxed; see `queue`.
    SIGNAL.load(Relaxed) == signal
}

/// The set of the monitor's signal alone; empty without one.
pub(crate) fn signal_as_set() -> u64 {
    number().map_or(0, |number| 1 << (number - 1))
}

fn queue(value: usize, tid: i32, mark: c_int) -> bool {
    // ORDERING: Relaxed; installed before the record's kernel thread began.
    let signo = SIGNAL.load(Relaxed);
    // SAFETY: no arguments; plain words of the same size and alignment.
    unsafe {
        let pid = arch::system_call(libc::SYS_getpid as usize, [0; 4]) as libc::pid_t;
        let uid = arch::system_call(libc::SYS_getuid as usize, [0; 4]) as libc::uid_t;
        let info =
            InterruptedQueued { signo, errno: mark, code: QUEUED, pad: 0, pid, uid, value, rest: [0; 12] };
        signo != 0 && signals::queue_in_kernel(tid, &*(&raw const info).cast::<signals::Info>()) == 0
    }
}

/// `SI_TIMER`. `pid` and `uid` of [`InterruptedQueued`] are then the timer's number and the ticks
/// that were missed.
const TIMER: c_int = -2;

unsafe extern "C" fn on_signal(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let frame = SignalFrame { info, context: context.cast() };
    // SAFETY: the kernel passes valid pointers to an SA_SIGINFO handler; the context is the
    // interrupted code's, which stays as it is until we return.
    unsafe {
        let queued = &*info.cast::<InterruptedQueued>();
        if !is_ours(queued) {
            return signals::receive(signal, frame);
        }
        if queued.errno == KICK {
            // `kick` has put the address of a record there, and records are never freed.
            return signals::on_kick(&*(queued.value as *const TlsBlock), frame);
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
    /// The lowest address of the stack that it stands on.
    lowest: usize,
}

/// Moves the handler to the stack of the context and switches to another one.
///
/// # Safety
/// At the end of the handler with this frame.
unsafe fn leave(Left { watched, lowest }: Left, frame: SignalFrame) {
    // SAFETY: as the caller says; the running context's own stack begins at `lowest`.
    let stays =
        unsafe { !frame.leave((lowest, HANDLER_ROOM_BYTES), leave_there, ptr::from_ref(watched) as usize) };
    if stays {
        // ORDERING: Relaxed; the watcher's next look takes it or not.
        watched.trap.verdict.store(SampleVerdict::Elsewhere as u32, Relaxed);
    }
}

/// On the stack of the context that is left; its end is the end of the signal.
unsafe extern "C" fn leave_there(watched: usize, context: *mut ucontext_t, _: *mut siginfo_t) {
    // SAFETY: `leave` passes the address of a record, and records are never freed. The context is
    // the interrupted one, moved here; nothing of the handler is left to do.
    unsafe {
        let watched: &'static Watched = &*(watched as *const Watched);
        let errno = *libc::__errno_location();
        if !yield_to_others(watched, &mut *context) && watched.alarm.is_running() {
            alarm::stop(watched);
        }
        // Asked for anew: the context may have been away.
        *libc::__errno_location() = errno;
    }
}

/// A thread that is suspended on `watched`'s worker may have to run there, for a signal: an alarm
/// asks for it until the worker has been to its scheduler. On its kernel thread, in a handler.
pub(crate) fn leave_later(watched: &'static Watched) {
    if watched.is_wanted() {
        alarm::start_for_others(watched);
    }
}

/// A thread that is suspended on `watched`'s worker has to run there, for a signal: the worker
/// comes to its scheduler as soon as its code may be left. On its kernel thread, in a handler that
/// has interrupted that code.
///
/// # Safety
/// In the handler with this frame.
pub(crate) unsafe fn leave_soon(watched: &'static Watched, frame: SignalFrame) {
    // SAFETY: as the caller says.
    if let Some(left) = unsafe { look_for_others(watched, &*frame.context) } {
        // SAFETY: as the caller says.
        unsafe { leave(left, frame) };
    }
}

/// Can the interrupted code be left at once, for a thread that has to run? If not, an alarm asks
/// again.
///
/// # Safety
/// In the handler, on the record's kernel thread.
unsafe fn look_for_others(watched: &'static Watched, context: &ucontext_t) -> Option<Left> {
    if !watched.is_user() {
        return None;
    }
    let mut now = spin::sample(context, watched.switch_count());
    // SAFETY: as the caller says.
    if unsafe { place(watched, context, &mut now) }.may_be_left() {
        return Some(Left { watched, lowest: lowest_of_stack(watched, spin::stack_pointer(context))? });
    }
    alarm::start_for_others(watched);
    None
}

/// What the signal is about: a context that is to be left, or nothing.
///
/// # Safety
/// In the handler with these arguments.
unsafe fn look(queued: &InterruptedQueued, context: &mut ucontext_t) -> Option<Left> {
    // SAFETY: `context` is the interrupted state, in the handler.
    let slept = unsafe { restart::restart(context) };
    if slept {
        count(&TALLY.restarts);
    }
    // SAFETY: `send` and `alarm::make` have put the address of a record there, and records are
    // never freed.
    let watched: &'static Watched = unsafe { &*(queued.value as *const Watched) };
    if watched.tid() != crate::worker::kernel_thread() {
        return None;
    }
    let leaves = if queued.code == TIMER {
        // SAFETY: in the handler, on the record's kernel thread.
        unsafe { alarm::tick(watched, context, slept, queued.uid) }
    } else {
        // ORDERING: Acquire pairs with the Release in `Episode::interrupt`: what the signal is
        // about.
        // SAFETY: as above, and the signal is pending.
        watched.trap.pending.load(Acquire) != 0 && unsafe { sample(watched, context, !slept) }
    };
    let lowest = lowest_of_stack(watched, spin::stack_pointer(context)).filter(|_| leaves)?;
    Some(Left { watched, lowest })
}

/// Did [`send`] of this process send it, or a timer? Timers with this signal are ours: nobody else
/// uses its number.
fn is_ours(queued: &InterruptedQueued) -> bool {
    // SAFETY: only asks.
    let is_sent =
        || (queued.errno == MARK || queued.errno == KICK) && queued.pid == unsafe { libc::getpid() };
    queued.value != 0 && (queued.code == TIMER || queued.code == QUEUED && is_sent())
}

/// One sample of what `watched`, this kernel thread, was doing. True if the context is to be left,
/// because it spins or has had its time. Not `awake`: it was in a system call that sleeps.
///
/// # Safety
/// In the handler of the signal, which is pending for this record.
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
    // ORDERING: Release pairs with the watcher's Acquire: the verdict is there, the sample is left.
    trap.pending.store(0, Release);
    if found == SampleVerdict::Spins {
        alarm::start(watched);
    }
    matches!(found, SampleVerdict::Spins | SampleVerdict::Overdue)
}

/// What kind of code was interrupted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InterruptedCode {
    /// The program's own.
    Program,
    /// A function of the C library that the program has called, and that may be left.
    Leaf,
    /// The allocator, called by the program.
    Allocator,
    /// The C library's `sched_yield` or `pthread_spin_lock`, called by the program or where a
    /// library was seen waiting.
    Yields,
    /// Any other, or no room on its stack.
    Elsewhere,
}

impl InterruptedCode {
    pub(super) fn may_be_left(self) -> bool {
        matches!(self, InterruptedCode::Program | InterruptedCode::Leaf | InterruptedCode::Yields)
    }
}

/// Where the code was interrupted. What was interrupted in a call of the C library is made a sample
/// of the code that called it.
///
/// # Safety
/// In the handler; `context` is the state of `watched` that it interrupted, and `now` a sample of
/// it.
pub(super) unsafe fn place(
    watched: &'static Watched,
    context: &ucontext_t,
    now: &mut StallSample,
) -> InterruptedCode {
    if !has_room(watched, now.sp) {
        return InterruptedCode::Elsewhere;
    }
    if objects::is_wait(now.ip) {
        // SAFETY: the code was being executed.
        let caller = unsafe { spin::leaf_caller(now) };
        let known = objects::is_program_code(caller) || regions::is_known_wait(caller);
        return if known { InterruptedCode::Yields } else { InterruptedCode::Elsewhere };
    }
    let (at, place) = if objects::is_program_code(now.ip) {
        (Point::of(context), InterruptedCode::Program)
    } else {
        // SAFETY: passed on.
        unsafe { called(watched, context, now) }
    };
    if place != InterruptedCode::Elsewhere {
        // SAFETY: the code that is interrupted, or the one that has called it.
        let frame = unsafe { frame_of(watched, &at) };
        now.keeps(&at.saved, &frame);
    }
    place
}

/// [`place`] in code that is not the program's: the caller, and what it has called.
///
/// # Safety
/// As [`place`].
unsafe fn called(
    watched: &'static Watched,
    context: &ucontext_t,
    now: &mut StallSample,
) -> (Point, InterruptedCode) {
    let elsewhere = (Point::of(context), InterruptedCode::Elsewhere);
    if crate::mutant!(calls_not_left) {
        return elsewhere;
    }
    let Some(lowest) = lowest_of_stack(watched, now.sp) else { return elsewhere };
    // SAFETY: passed on.
    let call = unsafe { objects::call(context, |address| lowest_of_stack(watched, address) == Some(lowest)) };
    let Some(LeafCall { caller, kind, gets_on }) = call.filter(|call| call.kind != CalledFunction::Other)
    else {
        return elsewhere;
    };
    now.is_of_caller((caller.ip, caller.sp), gets_on);
    (caller, if kind == CalledFunction::Leaf { InterruptedCode::Leaf } else { InterruptedCode::Allocator })
}

/// Bytes of a frame that are looked at.
const FRAME_BYTES: usize = FRAME_WORDS * size_of::<usize>();
/// Words at the stack pointer that are looked at in a larger frame; the others lie below the frame
/// pointer.
const LOWEST_WORDS: usize = 8;
/// A frame that is larger has no frame pointer, as far as can be reported.
const LARGEST_FRAME: usize = 16 << 10;

/// Words of the frame of code that stands at `at`: those at the stack pointer, and those below the
/// frame pointer, if that seems to be one.
///
/// # Safety
/// The code stands there, on this kernel thread.
unsafe fn frame_of(watched: &'static Watched, at: &Point) -> [usize; FRAME_WORDS] {
    let mut frame = [0; FRAME_WORDS];
    let start = at.sp.next_multiple_of(size_of::<usize>());
    let pointer = at.saved[RBP];
    let has_pointer = (start + FRAME_BYTES..start + LARGEST_FRAME).contains(&pointer)
        && pointer.is_multiple_of(size_of::<usize>());
    let end = if has_pointer { pointer } else { start + FRAME_BYTES };
    let lowest = lowest_of_stack(watched, at.sp);
    if lowest.is_none() || lowest_of_stack(watched, end) != lowest {
        return frame;
    }
    for (index, word) in frame.iter_mut().enumerate() {
        let is_low = index < LOWEST_WORDS || !has_pointer;
        let address = if is_low {
            start + index * size_of::<usize>()
        } else {
            pointer - (index + 1 - LOWEST_WORDS) * size_of::<usize>()
        };
        // SAFETY: within the stack that the code stands on, above its stack pointer.
        *word = unsafe { (address as *const usize).read() };
    }
    frame
}

/// Does a library wait around `sched_yield` or `pthread_spin_lock`, called from where the last
/// sample found it? As calls in a row of `sched_yield` that come to the layer above
/// (`sched::demands`), it is taken for waiting on other threads then.
///
/// # Safety
/// As [`place`]; the samples are of one worker.
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

/// # Safety
/// As [`sample`].
unsafe fn judge(watched: &'static Watched, context: &ucontext_t, overdue: u32) -> SampleVerdict {
    let mut now = spin::sample(context, watched.switch_count());
    keep_for_people(watched, &now);
    // SAFETY: passed on.
    let place = unsafe { place(watched, context, &mut now) };
    // SAFETY: in the handler, with `pending` set: nobody else touches the sample.
    let before = now.succeed(unsafe { &mut *trap_sample(watched) });
    let (region, site) = (watched.region(), now.ip);
    // SAFETY: passed on; there is room on the stack, or the place would not have been looked at.
    let demands =
        place == InterruptedCode::Elsewhere && has_room(watched, now.sp) && unsafe { demands(&now, &before) };
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

/// A sample that was taken in the allocator, which is not left: a loop around it that waits is left
/// as soon as it is found outside.
fn judge_in_allocator(watched: &'static Watched, site: usize, motion: Motion) -> SampleVerdict {
    if regions::is_known_loop(watched.region(), site) {
        alarm::start(watched);
    } else if matches!(motion, Motion::Unknown | Motion::Still) {
        return SampleVerdict::First;
    }
    count(&TALLY.elsewhere);
    SampleVerdict::Elsewhere
}

/// Keeps where the sample was taken for [`super::standing`].
fn keep_for_people(watched: &'static Watched, now: &StallSample) {
    let trap = &watched.trap;
    // ORDERING: Relaxed; only notified.
    trap.ip.store(now.ip, Relaxed);
    // ORDERING: as above.
    trap.sp.store(now.sp, Relaxed);
    // ORDERING: as above.
    trap.sampled.store(u64::from(now.switch_count) + 1, Relaxed);
}

fn trap_sample(watched: &'static Watched) -> *mut StallSample {
    watched.trap.last.get()
}

/// The lowest address of the running context's own stack, if `sp` lies in it. The program's code
/// may stand on any other memory: a coroutine's stack, a block of the heap, an alternate signal
/// stack.
fn lowest_of_stack(watched: &'static Watched, sp: usize) -> Option<usize> {
    // SAFETY: in the handler, on the kernel thread of the record.
    let known = hooks().and_then(|hooks| unsafe { (hooks.lowest_of_stack)(watched, sp) });
    if crate::mutant!(unknown_stacks_are_left) { known.or(Some(0)) } else { known }
}

/// May the interrupted stack be left and used a little more?
fn has_room(watched: &'static Watched, sp: usize) -> bool {
    if crate::mutant!(unknown_stacks_are_left) {
        return true;
    }
    lowest_of_stack(watched, sp).is_some_and(|lowest| sp - lowest >= ROOM_WITH_FRAME)
}

/// Switches to another context; back when this one is resumed. False if there was nobody to switch
/// to.
///
/// # Safety
/// In the handler that interrupted program code of `watched`, with nothing of it left to do, on the
/// stack of that code.
unsafe fn yield_to_others(watched: &'static Watched, context: &mut ucontext_t) -> bool {
    watched.set_mode(WorkerMode::Scheduler);
    // The mask of the interrupted code, which lets the signal through: it has just come.
    // SAFETY: the first word of a set is the kernel's.
    signals::set_mask(unsafe { (&raw const context.uc_sigmask).cast::<u64>().read() });
    observer::notify(|| SchedulerEvent::Preempted);
    // SAFETY: the hook's promise (`Hooks::preempt`); mode and place are as it asks.
    let went = hooks().is_some_and(|hooks| unsafe { (hooks.preempt)() });
    compiler_fence(SeqCst);
    if went {
        // `watched` may be another kernel thread's by now.
        count(&TALLY.preemptions);
        // SAFETY: the interrupted context's own description.
        unsafe { keep_alternate_stack(context) };
    } else {
        // ORDERING: Relaxed; the watcher's next look takes it or not.
        watched.trap.verdict.store(SampleVerdict::Alone as u32, Relaxed);
        watched.set_mode(WorkerMode::User);
    }
    went
}

/// `sigreturn` also restores the alternate signal stack, a property of the kernel thread: it must
/// be the one that the kernel thread on which we now are has.
///
/// # Safety
/// In the handler whose context this is.
unsafe fn keep_alternate_stack(context: &mut ucontext_t) {
    // SAFETY: only asks, into the caller's own structure.
    unsafe { crate::fault::ask_alternate(ptr::null(), &raw mut context.uc_stack) };
}
