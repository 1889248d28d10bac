//! Puts a thread that the signal has woken from a system call back to sleep.
//!
//! The watcher signals only who holds a processor, but between its look and the arrival of the
//! signal the thread may enter a call that sleeps. The kernel restarts some calls by itself
//! (`SA_RESTART`); those with a time limit return `EINTR` instead, which programs rarely expect.
//! The handler sees where it interrupted: behind a system call that has just failed with `EINTR`.
//! It then winds the instruction pointer back, so that the call is made again.
//!
//! The number of the call is not in the interrupted state; it is read from the instruction that
//! loaded it, right in front of the call in most C libraries. Where that is not found (C libraries
//! that make all such calls from one place), the call returns `EINTR`. A relative time limit starts
//! anew, so that the call may last longer by what it had slept, which is the time the signal took
//! to arrive. A call that waits for no time at all has found nothing, and returns that.
//!
//! A call that was interrupted by a signal of the program's too is not made again: the handler of
//! that signal is entered first, and ours interrupts it at its first instruction.
use libc::ucontext_t;

/// Makes the interrupted system call again if our signal has cut it short. True if so.
///
/// # Safety
/// `context` is the interrupted state, in the handler.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn restart(context: &mut ucontext_t) -> bool {
    use libc::{REG_RAX, REG_RIP};
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    const MOV_EAX: u8 = 0xb8;
    let registers = &mut context.uc_mcontext.gregs;
    let rip = registers[REG_RIP as usize] as usize;
    if registers[REG_RAX as usize] != -i64::from(libc::EINTR) {
        return false;
    }
    // SAFETY: code that was being executed, and what lies right in front of it: a system call is
    // not the first instruction of a mapping.
    let code: [u8; 7] = unsafe { core::ptr::read((rip - 7) as *const [u8; 7]) };
    let [MOV_EAX, a, b, c, d, call @ ..] = code else { return false };
    let number = i64::from(i32::from_le_bytes([a, b, c, d]));
    if call != SYSCALL || !RESTARTABLE.contains(&number) {
        return false;
    }
    if is_a_look(number, registers) {
        registers[REG_RAX as usize] = 0;
        return false;
    }
    registers[REG_RAX as usize] = number;
    registers[REG_RIP as usize] = rip as i64 - 2;
    true
}

/// Does the call only look whether something has happened, without waiting? The kernel fails it for
/// a signal only where nothing has, and has said so already in what the call writes.
#[cfg(target_arch = "x86_64")]
fn is_a_look(number: i64, registers: &[libc::greg_t]) -> bool {
    let limit = match number {
        libc::SYS_poll => libc::REG_RDX,
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait => libc::REG_R10,
        _ => return false,
    };
    registers[limit as usize] as i32 == 0
}

/// Was the code interrupted in a system call, which has returned or is about to be made again? As
/// far as can be reported from the instructions around `ip`, where code was being executed; also
/// just before a call, and just behind one.
#[cfg(target_arch = "x86_64")]
pub(super) fn is_at_system_call(ip: usize) -> bool {
    is_behind_system_call(ip) || is_behind_system_call(ip + 2)
}

/// Is the instruction in front of `ip`, where code was being executed, a system call?
#[cfg(target_arch = "x86_64")]
pub(super) fn is_behind_system_call(ip: usize) -> bool {
    // SAFETY: code that is being executed, and what lies right in front of it, as above.
    unsafe { core::ptr::read_unaligned((ip - 2) as *const [u8; 2]) == [0x0f, 0x05] }
}

/// Elsewhere it is not known.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn is_at_system_call(_: usize) -> bool {
    true
}

/// As above.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn is_behind_system_call(_: usize) -> bool {
    true
}

/// Elsewhere the interrupted state lacks what is needed: the kernel has overwritten the first
/// argument.
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn restart(_: &mut ucontext_t) -> bool {
    false
}

/// Calls that sleep, return `EINTR` although the handler was installed with `SA_RESTART`, and may
/// simply be made again.
#[cfg(target_arch = "x86_64")]
const RESTARTABLE: [i64; 22] = [
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_select,
    libc::SYS_pselect6,
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_futex,
    libc::SYS_pause,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_msgrcv,
    libc::SYS_msgsnd,
    libc::SYS_io_getevents,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
];
