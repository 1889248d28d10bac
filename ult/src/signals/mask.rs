//! Signal masks as the kernel has them: one word, bit `n - 1` for signal `n`. Past the C library,
//! which keeps two signals out of every mask.
use crate::sys::arch;

/// Bytes of a mask, as the kernel's calls want them.
pub(super) const SIZE: usize = size_of::<u64>();

/// The bit of a signal.
pub(super) fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// All signals but the two that the C library keeps for itself (32 and 33). A thread that blocks
/// those, and waits for a lock of the C library, may wait for ever. The change of a user holds the
/// locks of threads, and waits until each thread has answered a signal
/// (`abi-tests/process/change_of_user.c`).
pub(crate) const EVERYTHING: u64 = !(0b11 << 31);

/// Signals that faults raise: a blocked one ends the program without its handler.
const FAULTS: [i32; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];

/// The set of the signals that faults raise.
pub(crate) fn faults() -> u64 {
    FAULTS.iter().fold(0, |set, &signal| set | bit(signal))
}

/// Signals that no thread can block, as a set.
pub(crate) fn never_blocked() -> u64 {
    bit(libc::SIGKILL) | bit(libc::SIGSTOP)
}

/// The system call: an error number, or zero. Async-signal-safe; touches no thread-local storage.
///
/// # Safety
/// Null or valid pointers.
pub unsafe fn change_mask(how: i32, set: *const u64, old: *mut u64) -> i32 {
    let arguments = [how as usize, set as usize, old as usize, SIZE];
    // SAFETY: passed on.
    unsafe { -arch::system_call(libc::SYS_rt_sigprocmask as usize, arguments) as i32 }
}

/// The calling kernel thread's mask. Async-signal-safe; touches no thread-local storage.
pub(crate) fn current_mask() -> u64 {
    let mut mask = 0_u64;
    // SAFETY: only asks, into a local word.
    unsafe { change_mask(libc::SIG_BLOCK, core::ptr::null(), &raw mut mask) };
    mask
}

/// Sets it, and returns the one before. Signals that wait and are blocked no more are delivered
/// before this returns. As [`current_mask`].
pub(crate) fn set_mask(mask: u64) -> u64 {
    let mut before = 0_u64;
    // SAFETY: two local words.
    unsafe { change_mask(libc::SIG_SETMASK, &raw const mask, &raw mut before) };
    before
}

/// Blocks all signals, calls `action` with the previous mask, and restores that. Uses the system
/// call: our `pthread_sigmask` would record this mask as the program's.
pub(crate) fn with_all_blocked<T>(action: impl FnOnce(u64) -> T) -> T {
    let before = set_mask(EVERYTHING);
    let result = action(before);
    set_mask(before);
    result
}
