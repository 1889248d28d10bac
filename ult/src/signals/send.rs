//! A signal from one thread of the program to another goes into the addressee's queue, without the
//! kernel. The kernel would apply the mask of the addressee's kernel thread: that runs another
//! thread now, or is a donor with its maker's mask.
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use libc::c_int;

use super::mask;
use super::queue::Info;
use crate::signals::mask::EVERYTHING;
use crate::tls_block::directory;
use crate::tls_block::record::TlsBlock;
use crate::worker::host::notify_host;
use crate::worker::{table, words};

/// The thread of a team that has this thread pointer, if signals for it are kept here.
fn thread_with_pointer(thread_pointer: usize) -> Option<&'static TlsBlock> {
    let main =
        table::main_thread().filter(|main| main.thread_pointer() == thread_pointer && main.host().is_some());
    main.or_else(|| directory::with_thread_pointer(thread_pointer))
}

/// Signals that act when they are sent, and those that no mask blocks: only the kernel can send
/// them.
fn must_go_through_kernel(signal: c_int) -> bool {
    matches!(signal, libc::SIGKILL | libc::SIGSTOP | libc::SIGCONT) || EVERYTHING & mask::bit(signal) == 0
}

/// Sends `signal` to another thread of the process, named by its thread pointer; `value`: that of
/// `pthread_sigqueue`. False if the caller must use the kernel: the thread does not share a worker,
/// the kernel keeps this signal, or there is no such signal. Async-signal-safe.
pub fn send_to_thread(thread_pointer: usize, signal: c_int, value: Option<usize>) -> bool {
    is_queued_by_us(signal)
        && thread_with_pointer(thread_pointer).is_some_and(|tls_block| send(tls_block, signal, value))
}

/// [`send_to_thread`], for the thread with this number.
pub fn send_to_number(tid: i32, signal: c_int) -> bool {
    is_queued_by_us(signal)
        && table::tls_block_of_number(tid).is_some_and(|tls_block| send(tls_block, signal, None))
}

/// The running thread sends a signal to itself: its handler runs before this returns, if the signal
/// is not blocked. `info`: `siginfo_t` as words, for a signal with information; else it is as of
/// `raise`. An error number, or zero. Any thread, in a signal handler too.
pub fn send_to_itself(signal: c_int, info: Option<&Info>) -> c_int {
    // A blocked signal goes into the queue. In the kernel it would wait for this kernel thread,
    // which may run another thread when the mask is opened.
    if is_queued_by_us(signal)
        && crate::signals::mask::current_mask() & mask::bit(signal) != 0
        && let Some(tls_block) = words::current().and_then(|_| words::tls_block_in_force())
    {
        tls_block.signals.put(signal, info.unwrap_or(&information(signal, libc::SI_TKILL, 0)));
        return 0;
    }
    super::handler::by_kernel_to_itself(signal, info)
}

/// Signals that the kernel keeps, as a set.
static IN_KERNEL: AtomicU64 = AtomicU64::new(0);

/// The signals of `set` stay with the kernel from now on, for descriptors that show what it has.
/// Any thread.
pub fn leave_to_kernel(set: u64) {
    // ORDERING: Relaxed; a sender that orders itself behind this call sees the set.
    IN_KERNEL.fetch_or(set, Relaxed);
}

/// May signals of this number be kept here?
fn is_queued_by_us(signal: c_int) -> bool {
    // ORDERING: Relaxed; see `leave_to_kernel`.
    let is_kept = || !must_go_through_kernel(signal) && IN_KERNEL.load(Relaxed) & mask::bit(signal) == 0;
    (1..=libc::SIGRTMAX()).contains(&signal) && is_kept() && super::actions::are_taken_over()
}

fn send(tls_block: &'static TlsBlock, signal: c_int, value: Option<usize>) -> bool {
    let code = if value.is_some() { libc::SI_QUEUE } else { libc::SI_TKILL };
    tls_block.signals.put(signal, &information(signal, code, value.unwrap_or(0)));
    notify_host(tls_block);
    true
}

/// What the kernel would say of a signal that this process sends.
fn information(signal: c_int, code: c_int, value: usize) -> Info {
    // SAFETY: no arguments.
    let owner = unsafe { crate::sys::thread::process() as u64 | u64::from(libc::getuid()) << 32 };
    let mut info: Info = [0; 16];
    info[..4].copy_from_slice(&[signal as u64, u64::from(code as u32), owner, value as u64]);
    info
}
