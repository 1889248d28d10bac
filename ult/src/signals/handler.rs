//! The handler that the kernel calls for every signal that the program handles, and who is meant.
//!
//! It runs on the alternate signal stack, where there is one, with all signals blocked. It may find
//! itself on a kernel thread that runs another thread than the addressee, or in the scheduler. It
//! may also be on a donor, whose storage another kernel thread may be using at this moment. So it
//! writes no thread-local storage before it knows that the addressee's code was interrupted, and
//! makes system calls past the C library, which writes `errno`.
//!
//! *Who is meant.* A signal that the running code has sent to itself (`raise`,
//! `pthread_kill(pthread_self())`): the running thread. On a kernel thread of the program, such as
//! the main thread: the thread whose own storage that is. On a donor, or a kernel thread of the
//! pool, a signal that was directed at it: the thread with its storage. All others are for the
//! process, and the kernel gives them to the main thread unless that has another signal waiting,
//! such as the monitor's. So they are for the main thread, unless it blocks them. Then the running
//! thread handles them, as any thread that does not block a signal may.
//!
//! What may not live here: actions ([`super::actions`]), when a queue is emptied
//! ([`super::deliver`]).
use core::ffi::c_void;
use libc::{c_int, siginfo_t, ucontext_t};

use super::actions::{self, SignalAction};
use super::kernel::queue_in_kernel;
use super::mask;
use super::overruns;
use super::queue::Info;
use crate::stall::frame::SignalFrame;
use crate::stall::hooks::SignalHooks;
use crate::stall::signal;
use crate::sys::arch;
use crate::tls_block::record::TlsBlock;
use crate::worker::host::notify_host;
use crate::worker::record::Worker;
use crate::worker::{table, words};

/// `si_code` of signals that `kill` sends, which are for the process. Those of `tgkill`, `sigqueue`
/// and timers have smaller ones, the kernel's own larger ones.
const SI_USER: i32 = 0;

/// In the `errno` of a signal's information, where the kernel writes zero: the running thread has
/// sent it to itself. Another signal of that number may be delivered first, so the system call
/// alone does not tell.
const TO_ITSELF: i32 = 0x5345_4c46;

/// What the stall monitor's handler passes on.
pub(crate) static FOR_MONITOR: SignalHooks = SignalHooks { receive, on_kick };

/// Who a signal is for.
enum Addressee {
    /// The code that was interrupted.
    Interrupted,
    /// The thread that runs with this storage.
    Thread(&'static TlsBlock),
}

/// The calling kernel thread sends itself a signal for the running thread: its handler runs before
/// this returns, if the signal is not blocked. `info`: `siginfo_t` as words, for a signal with
/// information; else it is as of `raise`. An error number, or zero. Any thread, in a signal handler
/// too.
pub(super) fn by_kernel_to_itself(signal: c_int, info: Option<&Info>) -> c_int {
    let [process, thread, number] =
        [crate::sys::thread::process() as usize, crate::sys::thread::number() as usize, signal as usize];
    let result = match info {
        None => {
            note_that_it_sends_itself(signal);
            // SAFETY: no memory.
            let result =
                unsafe { arch::system_call(libc::SYS_tgkill as usize, [process, thread, number, 0]) };
            note_that_it_sends_itself(0);
            result
        }
        Some(info) => {
            let mut marked = *info;
            marked[0] |= (TO_ITSELF as u64) << 32;
            queue_in_kernel(thread as i32, &marked)
        }
    };
    -result as c_int
}

/// `signal`, which cannot carry a mark, is on its way; zero: none is.
fn note_that_it_sends_itself(signal: c_int) {
    if let Some(worker) = words::current() {
        // SAFETY: own kernel thread; a word that no other thread writes.
        unsafe { (*worker.own()).signals.sends_itself = signal };
    }
}

/// See the module.
pub(super) unsafe extern "C" fn on_signal(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let frame = SignalFrame { info, context: context.cast() };
    // SAFETY: the kernel's arguments.
    unsafe { receive(signal, frame) };
}

/// A signal that the program handles has come.
///
/// # Safety
/// In a handler that was called with the contents of `frame`, which has nothing else to do.
pub(crate) unsafe fn receive(signal: c_int, frame: SignalFrame) {
    // SAFETY: as the caller says.
    unsafe {
        match addressee(signal, &frame) {
            Addressee::Interrupted => call_there(signal, frame),
            Addressee::Thread(tls_block) => keep_for(tls_block, signal, frame),
        }
    }
}

/// # Safety
/// As [`receive`].
unsafe fn addressee(signal: c_int, frame: &SignalFrame) -> Addressee {
    let tid = crate::sys::thread::number();
    let Some(tls_block) = words::tls_block_in_force() else { return Addressee::Interrupted };
    // SAFETY: the kernel's information about the signal.
    let (code, errno) = unsafe { ((*frame.info).si_code, &mut (*frame.info).si_errno) };
    if *errno == TO_ITSELF {
        *errno = 0;
        return Addressee::Interrupted;
    }
    if tls_block.is_tls_donor(tid) {
        let directed = code < SI_USER;
        return Addressee::Thread(if directed {
            tls_block
        } else {
            main_thread(signal).unwrap_or(tls_block)
        });
    }
    let Some(worker) = table::of_kernel_thread(tid) else { return Addressee::Interrupted };
    // SAFETY: a word of the calling kernel thread's own, whatever else it is at. A hand-off does not
    // change it.
    let sends_itself = unsafe { (*worker.own()).signals.sends_itself };
    if is_sent_by_itself(signal, frame, tid, sends_itself) {
        return Addressee::Interrupted;
    }
    let native = worker.native_tls_block().unwrap_or(tls_block);
    let is_native = core::ptr::eq(native, tls_block);
    let meant = match code {
        _ if !worker.is_of_the_pool() => native,
        libc::SI_TKILL => native,
        libc::SI_TIMER if native.timer_signals() & mask::bit(signal) != 0 => native,
        // From `sigqueue` and timers it may be either's; the program knows this kernel thread only
        // by a thread with its storage.
        code if code < SI_USER && is_native => native,
        _ => main_thread(signal).unwrap_or(tls_block),
    };
    if core::ptr::eq(meant, tls_block) && !worker.is_in_scheduler() {
        // SAFETY: `siginfo_t` is sixteen words.
        overruns::came_past_queues(unsafe { &*frame.info.cast::<Info>() });
        Addressee::Interrupted
    } else {
        Addressee::Thread(meant)
    }
}

/// The main thread, if it does not block the signal.
fn main_thread(signal: c_int) -> Option<&'static TlsBlock> {
    table::main_thread().filter(|main| main.mask() & mask::bit(signal) == 0)
}

crate::seam! {
    /// Was the code interrupted behind the system call by which it has sent this signal to itself?
    /// `tgkill` and `rt_tgsigqueueinfo` have the process, the kernel thread and the signal as their
    /// first three arguments, which the kernel keeps. The kernel thread may also stand for the
    /// thread whose own storage it has, so the sender says that it means itself
    /// ([`by_kernel_to_itself`]). `abort` does not.
    fn is_sent_by_itself(signal: c_int, frame: &SignalFrame, tid: i32, sends_itself: i32) -> bool {
        (sends_itself == signal || signal == libc::SIGABRT)
            && frame.is_behind_system_call([
                crate::sys::thread::process() as usize,
                tid as usize,
                signal as usize,
            ])
    } or signal_for_running_thread {
        true
    }
}

// ---- the addressee was interrupted ------------------------------------------

/// Calls the program's handler where the kernel would have: on the stack of the code that was
/// interrupted, or on the alternate stack if the program wants that.
///
/// # Safety
/// As [`receive`].
unsafe fn call_there(signal: c_int, frame: SignalFrame) {
    let Some(action) = actions::of_program(signal) else { return actions::take_default(signal) };
    if action.has(libc::SA_RESETHAND) {
        actions::reset(signal);
    }
    // SAFETY: as the caller says; the kernel would have laid its frame down there, whatever lies
    // below.
    let stays = unsafe { !leave_to_its_stack(frame, action.has(libc::SA_ONSTACK), signal as usize) };
    if stays {
        // SAFETY: as the caller says.
        unsafe { call_as_interrupted(signal, action, frame) };
    }
}

/// Goes on with [`call_moved`] where the kernel would have called the handler under one kernel
/// thread per thread. False, with nothing done, if that is here.
///
/// # Safety
/// As [`receive`].
unsafe fn leave_to_its_stack(frame: SignalFrame, wants_alternate: bool, signal: usize) -> bool {
    let own = words::tls_block_in_force()
        .map(|tls_block| tls_block.state.alternate())
        .filter(|stack| wants_alternate && stack.bytes != 0);
    // SAFETY: the kernel's description of the interrupted state.
    let context = unsafe { &*frame.context };
    // SAFETY: passed on.
    unsafe {
        match own {
            // The kernel thread has it.
            Some(stack) if context.uc_stack.ss_sp as usize == stack.start => false,
            Some(stack) if !stack.contains(frame.stack_pointer()) => {
                frame.leave_on(stack.start..stack.start + stack.bytes, call_moved, signal)
            }
            // No alternate stack, none wanted, or on it already: below the interrupted code.
            _ => frame.leave_for(call_moved, signal),
        }
    }
}

/// On the stack of the code that was interrupted.
unsafe extern "C" fn call_moved(signal: usize, context: *mut ucontext_t, info: *mut siginfo_t) {
    let signal = signal as c_int;
    if let Some(action) = actions::of_program(signal) {
        // SAFETY: the frame that the kernel has made, moved here.
        unsafe { call_as_interrupted(signal, action, SignalFrame { info, context }) };
    }
}

type Handler = unsafe extern "C" fn(c_int, *mut siginfo_t, *mut ucontext_t);

/// # Safety
/// As [`call`]: with the mask of the code that was interrupted.
unsafe fn call_as_interrupted(signal: c_int, action: SignalAction, frame: SignalFrame) {
    // SAFETY: the first word of the interrupted code's mask.
    let mask = unsafe { (&raw const (*frame.context).uc_sigmask).cast::<u64>().read() };
    // A thread in `wait_for` or `under_mask` has blocked the monitor's signal. The program's
    // handler must not inherit that.
    // SAFETY: as the caller says.
    unsafe { call(signal, action, frame, mask & !signal::signal_as_set()) };
}

/// # Safety
/// The program's action for the signal that the frame tells about; `mask` is that of its thread.
unsafe fn call(signal: c_int, action: SignalAction, frame: SignalFrame, mask: u64) {
    let own = if action.has(libc::SA_NODEFER) { 0 } else { mask::bit(signal) };
    let handling = words::current().map(|worker| enter_handler(worker, frame.context as usize));
    if let Some(tls_block) = words::tls_block_in_force() {
        tls_block.count_handler();
    }
    mask::set_mask(mask | action.mask | own);
    // SAFETY: the program's handler; one that was set without `SA_SIGINFO` does not look at the
    // others.
    unsafe { core::mem::transmute::<usize, Handler>(action.handler)(signal, frame.info, frame.context) };
    if let Some(before) = handling {
        leave_handler(before);
    }
}

/// The running context is in a handler of the program, whose frame lies at `sp`, until
/// [`leave_handler`], or until it is seen to run above that: handlers may leave by `siglongjmp`.
/// Such a context is not interrupted. Returns what was noted before.
fn enter_handler(worker: &'static Worker, sp: usize) -> usize {
    // SAFETY: own kernel thread; program code runs, so the context stays.
    let noted = unsafe {
        // The call ends, or is left by `siglongjmp`.
        (*worker.own()).signals.in_interruptible_call = false;
        &mut (*(*worker.own()).current).handler
    };
    if *noted != 0 && *noted > sp { *noted } else { core::mem::replace(noted, sp) }
}

fn leave_handler(before: usize) {
    if let Some(worker) = words::current() {
        // SAFETY: as above; the handler may have waited, and be on another worker.
        unsafe { (*(*worker.own()).current).handler = before };
        ask_again(worker);
    }
}

/// Signals that the handler's mask has held are asked for as soon as the handler's return has
/// restored the mask.
fn ask_again(worker: &'static Worker) {
    if let Some(tls_block) = words::tls_block_in_force().filter(|tls_block| !tls_block.signals.is_empty()) {
        mask::set_mask(!mask::faults());
        tls_block.signals.are_news_again();
        signal::kick(worker.watched.tid(), tls_block);
    }
}

// ---- it was not -------------------------------------------------------------

/// # Safety
/// As [`receive`].
unsafe fn keep_for(tls_block: &'static TlsBlock, signal: c_int, frame: SignalFrame) {
    // SAFETY: `siginfo_t` is sixteen words; the frame is as the caller says.
    tls_block.signals.put(signal, unsafe { &*frame.info.cast::<Info>() });
    let tid = crate::sys::thread::number();
    match tls_block.host() {
        Some(host) if host.watched.tid() == tid => {
            host.call_for_signals();
            if !host.is_in_scheduler() {
                // SAFETY: as the caller says.
                unsafe { signal::leave_soon(&host.watched, frame) };
            }
        }
        // SAFETY: as the caller says.
        None if tls_block.is_tls_donor(tid) => unsafe { on_tls_donor(tls_block, frame) },
        _ => notify_host(tls_block),
    }
}

/// Handles a kick: the sender has queued a signal for the thread `about`. If that thread runs on
/// this worker, its handler runs here. If it is suspended here, it is resumed as soon as
/// the interrupted code may be switched out.
///
/// # Safety
/// As [`receive`]. The frame is that of the monitor's signal.
pub(crate) unsafe fn on_kick(about: &'static TlsBlock, frame: SignalFrame) {
    let tid = crate::sys::thread::number();
    if about.is_tls_donor(tid) {
        // SAFETY: as the caller says.
        return unsafe { on_tls_donor(about, frame) };
    }
    let Some(worker) = table::of_kernel_thread(tid) else { return };
    // The thread may have moved or ended since the kick was sent. If this kernel thread has stored
    // the new `host`, it sees it here.
    if about.signals.has_news() && !about.host().is_some_and(|host| core::ptr::eq(host, worker)) {
        notify_host(about);
    }
    if worker.is_in_scheduler() {
        return;
    }
    let tls_block = words::tls_block_in_force().filter(|tls_block| tls_block.signals.has_news());
    // SAFETY: as the caller says; the first word of a set is the kernel's.
    let blocked = unsafe { (&raw const (*frame.context).uc_sigmask).cast::<u64>().read() };
    // Other threads may have been kicked for as well.
    signal::leave_later(&worker.watched);
    // SAFETY: as the caller says.
    unsafe {
        match tls_block.and_then(|tls_block| tls_block.signals.take(blocked)) {
            Some((signal, info)) => handle_here(signal, &info, frame),
            None => {
                if !(*worker.own()).signals.in_interruptible_call {
                    signal::restart_interrupted_call(frame);
                }
                signal::leave_soon(&worker.watched, frame);
            }
        }
    }
}

/// The interrupted code's thread handles a signal from its queue.
///
/// # Safety
/// As [`receive`]. The frame is that of the monitor's signal.
unsafe fn handle_here(signal: c_int, info: &Info, frame: SignalFrame) {
    let Some(action) = actions::of_program(signal) else {
        // By the kernel, as soon as the interrupted code goes on.
        by_kernel_to_itself(signal, Some(info));
        return;
    };
    // SAFETY: `siginfo_t` is sixteen words; the rest is as the caller says.
    unsafe {
        frame.info.cast::<Info>().write(*info);
        if !action.has(libc::SA_RESTART) {
            frame.end_system_call();
        }
        call_there(signal, frame);
    }
}

// ---- the thread is between two regions --------------------------------------

/// A donor was interrupted. Its kernel thread opens the signals that its OpenMP thread has opened.
/// If that thread is between two regions, the donor handles the signals in its queue: the TLS block
/// is the donor's own, and the donor has a stack.
///
/// # Safety
/// As [`receive`], on the donor's kernel thread.
unsafe fn on_tls_donor(tls_block: &'static TlsBlock, frame: SignalFrame) {
    // SAFETY: the first word of a set is the kernel's.
    let blocked = unsafe { &mut *(&raw mut (*frame.context).uc_sigmask).cast::<u64>() };
    let was_blocked = tls_block.tls_donor_mask();
    let still_blocked = was_blocked & tls_block.mask() & !tls_block.timer_signals();
    *blocked &= !(was_blocked & !still_blocked);
    tls_block.set_tls_donor_mask(still_blocked);
    if !tls_block.signals.has_news() {
        return;
    }
    if !tls_block.begin_handling() {
        // The thread is on a worker, or this has interrupted a handler that the donor runs.
        return notify_host(tls_block);
    }
    words::forget_worker();
    while let Some((signal, info)) = tls_block.signals.take(tls_block.mask()) {
        let Some(action) = actions::of_program(signal) else {
            *blocked &= !mask::bit(signal);
            by_kernel_to_itself(signal, Some(&info));
            continue;
        };
        if action.has(libc::SA_RESETHAND) {
            actions::reset(signal);
        }
        // SAFETY: as the caller says; `siginfo_t` is sixteen words. With the monitor's signal
        // blocked no second handler starts inside of this one.
        unsafe {
            frame.info.cast::<Info>().write(info);
            call(signal, action, frame, tls_block.mask() | signal::signal_as_set());
        }
        mask::set_mask(!mask::faults());
    }
    tls_block.end_handling();
    if tls_block.signals.has_news() {
        notify_host(tls_block);
    }
}

const _: () = assert!(size_of::<siginfo_t>() == size_of::<Info>());
