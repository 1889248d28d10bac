//! Threads that wait for signals. Signals for a thread lie in its queue, signals for the process
//! lie in the kernel. A wait covers both: the sender that puts a signal into a queue also sends the
//! monitor's signal ([`super::handler`]), which ends the wait in the kernel.
//!
//! What may not live here: the C library's functions (the layer above).
use core::time::Duration;
use std::time::Instant;

use libc::c_int;

use super::mask;
use super::overruns;
use super::queue::Info;
use crate::sched::yielding;
use crate::signals::deliver::mask_has_changed;
use crate::stall::signal;
use crate::sys::arch;
use crate::tls_block::record::TlsBlock;
use crate::worker::record::Worker;
use crate::worker::words;

/// The longest wait of a kernel thread on which other contexts are suspended. Chosen; from 0.1 to
/// 10 ms any value will do.
const SLICE: Duration = Duration::from_millis(1);

/// The running thread, if it may share its worker: on a worker, in program code, with handlers
/// taken over.
fn current_shared_thread() -> Option<(&'static Worker, &'static TlsBlock)> {
    let worker = words::current().filter(|worker| has_queues(worker))?;
    Some((worker, words::tls_block_in_force()?))
}

crate::seam! {
    /// Do signals for threads of `worker`, the caller's own, lie in queues?
    fn has_queues(worker: &Worker) -> bool {
        super::actions::are_taken_over() && !worker.is_in_scheduler()
    } or queues_are_not_waited_for {
        false
    }
}

/// The mask with the monitor's signal blocked, until it is set again.
fn block_monitor() -> u64 {
    let (set, mut before) = (signal::signal_as_set(), 0_u64);
    // SAFETY: two local words.
    unsafe { crate::signals::mask::change_mask(libc::SIG_BLOCK, &raw const set, &raw mut before) };
    before
}

/// Lets other contexts of this worker run.
fn let_others_run() {
    // SAFETY: a routine of the runtime that holds nothing, called by program code.
    unsafe { yielding::yield_from_program() };
}

/// Signals for the running thread that it blocks, and that wait here; the kernel has others. Any
/// thread.
pub fn pending() -> u64 {
    let Some((_, tls_block)) = current_shared_thread().filter(|(_, tls_block)| !tls_block.signals.is_empty())
    else {
        return 0;
    };
    let before = mask::set_mask(!mask::faults());
    let set = tls_block.signals.pending_set();
    mask::set_mask(before);
    set & before
}

/// The oldest signal of `set` in the queue, whatever the mask says. The others stay, and those that
/// are not blocked stay news.
fn take_from_queue(tls_block: &'static TlsBlock, set: u64) -> Option<(c_int, Info)> {
    if tls_block.signals.is_empty() {
        return None;
    }
    let found = tls_block.signals.take(!set);
    tls_block.signals.are_news_again();
    found
}

/// `sigtimedwait` (POSIX.1-2017): waits for one of `set`, all of which the caller blocks, at most
/// for `limit`. `None` where the thread does not share a worker: the kernel's call does it all
/// then. Any thread.
///
/// # Errors
/// `EAGAIN` at the end of the time; `EINTR` when a handler has run.
pub fn wait_for(set: u64, limit: Option<Duration>) -> Option<Result<(c_int, Info), c_int>> {
    let (_, tls_block) = current_shared_thread()?;
    let end = limit.and_then(|limit| Instant::now().checked_add(limit));
    loop {
        let handled = tls_block.handled();
        let before = block_monitor();
        let queued = take_from_queue(tls_block, set);
        let found = if queued.is_some() { None } else { wait_in_kernel(set, end) };
        mask::set_mask(before);
        mask_has_changed();
        match (queued, found) {
            (Some(queued), _) => return Some(Ok(queued)),
            (_, Some(Ok((signal, info)))) if !forward_if_not_mine(&info) => {
                overruns::came_past_queues(&info);
                return Some(Ok((signal, info)));
            }
            (_, Some(Err(error))) => return Some(Err(error)),
            _ if tls_block.handled() != handled => return Some(Err(libc::EINTR)),
            _ => let_others_run(),
        }
    }
}

/// Waits in the kernel for a signal of `set` or the monitor's. While other contexts are suspended
/// on this worker, the wait lasts at most [`SLICE`]. `None`: the caller checks the queue again.
fn wait_in_kernel(set: u64, end: Option<Instant>) -> Option<Result<(c_int, Info), c_int>> {
    let set = set | signal::signal_as_set();
    let left = end.map(|end| end.saturating_duration_since(Instant::now()));
    let slice =
        if yielding::has_others_here() { Some(left.map_or(SLICE, |left| left.min(SLICE))) } else { left };
    let time = slice.map(|slice| libc::timespec {
        tv_sec: slice.as_secs() as libc::time_t,
        tv_nsec: slice.subsec_nanos().into(),
    });
    let time = time.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
    let mut info: Info = [0; 16];
    let arguments = [(&raw const set) as usize, info.as_mut_ptr() as usize, time as usize, mask::SIZE];
    // SAFETY: valid pointers to the kernel's structures.
    match unsafe { arch::system_call(libc::SYS_rt_sigtimedwait as usize, arguments) as i32 } {
        signal if signal > 0 => Some(Ok((signal, info))),
        error if error == -libc::EAGAIN && left.is_some_and(|left| slice == Some(left)) => {
            Some(Err(libc::EAGAIN))
        }
        error if error == -libc::EAGAIN || error == -libc::EINTR => None,
        error => Some(Err(-error)),
    }
}

/// Forwards a signal that the kernel gave to this wait and that was meant for the monitor's
/// handler, or for the native thread of this kernel thread. True if it was forwarded.
fn forward_if_not_mine(info: &Info) -> bool {
    if signal::send_again(info) {
        return true;
    }
    let Some((worker, tls_block)) = current_shared_thread() else { return false };
    // A hand-off may change the worker's own part at this moment.
    let native = worker.native_tls_block();
    let is_directed = |native: &TlsBlock| match info[1] as i32 {
        libc::SI_TKILL => true,
        libc::SI_TIMER => native.timer_signals() & mask::bit(info[0] as c_int) != 0,
        _ => false,
    };
    let Some(native) = native.filter(|native| !core::ptr::eq(*native, tls_block) && is_directed(native))
    else {
        return false;
    };
    native.signals.put(info[0] as c_int, info);
    crate::worker::host::notify_host(native);
    true
}

/// Makes a system call that waits under another mask: `sigsuspend`, `ppoll` and their like. `call`
/// makes it with the mask that it is given. If only the monitor's signal has ended the call, it is
/// made again. Returns the result of the call. Any thread.
///
/// # Errors
/// `EINTR` when a handler has run; those of `call`.
pub fn under_mask<T>(wanted: u64, mut call: impl FnMut(u64) -> Result<T, c_int>) -> Result<T, c_int> {
    let Some((_, tls_block)) = current_shared_thread() else { return call(wanted) };
    loop {
        let handled = tls_block.handled();
        let before = block_monitor();
        let result = if run_pending_handlers(tls_block, wanted) {
            Err(libc::EINTR)
        } else {
            call_interruptibly(wanted & !signal::signal_as_set(), &mut call)
        };
        mask::set_mask(before);
        if !matches!(result, Err(libc::EINTR)) || tls_block.handled() != handled {
            return result;
        }
        mask_has_changed();
        let_others_run();
    }
}

/// Runs the handlers for the signals in the queue that the mask `wanted` does not block. False if
/// there are none.
fn run_pending_handlers(tls_block: &'static TlsBlock, wanted: u64) -> bool {
    if tls_block.signals.is_empty() {
        return false;
    }
    let everything = mask::set_mask(!mask::faults());
    let found = tls_block.signals.pending_set() & !wanted != 0;
    if found {
        tls_block.signals.are_news_again();
        mask::set_mask(wanted);
        crate::signals::deliver::deliver(tls_block);
    }
    mask::set_mask(everything);
    found
}

/// Makes the call so that the monitor's signal ends it.
fn call_interruptibly<T>(wanted: u64, call: &mut impl FnMut(u64) -> Result<T, c_int>) -> Result<T, c_int> {
    let Some((worker, _)) = current_shared_thread() else { return call(wanted) };
    // SAFETY: own kernel thread, here and below: what blocks in the kernel stays on it.
    unsafe { (*worker.own()).signals.in_interruptible_call = true };
    let result = call(wanted);
    // SAFETY: as above.
    unsafe { (*worker.own()).signals.in_interruptible_call = false };
    result
}
