//! Puts a thread that the signal has woken from a system call back to sleep.
//!
//! The watcher signals only threads that hold a processor, but between its check and the arrival of
//! the signal the thread may enter a call that sleeps. The kernel restarts some calls by itself
//! (`SA_RESTART`). Calls with a time limit return `EINTR` instead, which programs rarely expect. So
//! the handler checks whether it interrupted the code behind a system call that has just failed
//! with `EINTR`. If so, it winds the instruction pointer back, and the call is made again.
//!
//! The number of the call is not in the interrupted state. The handler reads it from the
//! instruction that loaded it, which lies directly in front of the call in most C libraries. If
//! that instruction is not found (some C libraries make all such calls from one place), the call
//! returns `EINTR`.
//!
//! A relative time limit starts anew, so the call may last longer by the time that it had slept.
//! That is the time the signal took to arrive. A call without any time to wait has found nothing,
//! and returns that.
//!
//! If a signal of the program interrupted the call too, the call is not made again. The handler of
//! that signal is entered first, and the monitor's handler interrupts it at its first instruction.
//!
//! What may not live here: when a signal is sent ([`super::watcher`]).
use libc::ucontext_t;

/// Makes the interrupted system call again if the monitor's signal has cut it short. The result is
/// true in that case.
///
/// # Safety
/// `context` is the interrupted state, and the caller is the handler.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn restart(context: &mut ucontext_t) -> bool {
    use libc::{REG_RAX, REG_RIP};
    /// The instruction `syscall`. Given: by the processor.
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    /// First byte of `mov eax, imm32`. Given: by the processor.
    const MOV_EAX: u8 = 0xb8;
    let registers = &mut context.uc_mcontext.gregs;
    let rip = registers[REG_RIP as usize] as usize;
    if registers[REG_RAX as usize] != -i64::from(libc::EINTR) {
        return false;
    }
    // SAFETY: this is code that was being executed, and the bytes directly in front of it are
    // mapped: a system call is not the first instruction of a mapping.
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

/// Does the call only check whether an event has happened, without waiting? The kernel fails it for
/// a signal only if no event has happened, and has already said so in the memory that the call
/// writes.
#[cfg(target_arch = "x86_64")]
fn is_a_look(number: i64, registers: &[libc::greg_t]) -> bool {
    let limit = match number {
        libc::SYS_poll => libc::REG_RDX,
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait => libc::REG_R10,
        _ => return false,
    };
    registers[limit as usize] as i32 == 0
}

/// Was the code interrupted at a system call, which has returned or is about to be made again? The
/// instructions around `ip`, where code was being executed, give the answer. It is also yes just
/// before a call, and just behind one.
#[cfg(target_arch = "x86_64")]
pub(super) fn is_at_system_call(ip: usize) -> bool {
    is_behind_system_call(ip) || is_behind_system_call(ip + 2)
}

/// Is the instruction in front of `ip`, where code was being executed, a system call?
#[cfg(target_arch = "x86_64")]
pub(super) fn is_behind_system_call(ip: usize) -> bool {
    // SAFETY: this is code that is being executed, and the bytes directly in front of it are
    // mapped, as above.
    unsafe { core::ptr::read_unaligned((ip - 2) as *const [u8; 2]) == [0x0f, 0x05] }
}

/// On other processors the answer is not known.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn is_at_system_call(_: usize) -> bool {
    true
}

/// On other processors the answer is not known.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn is_behind_system_call(_: usize) -> bool {
    true
}

/// Does nothing. On other processors the interrupted state lacks the first argument, which the
/// kernel has overwritten.
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn restart(_: &mut ucontext_t) -> bool {
    false
}

/// Numbers of calls that sleep, return `EINTR` although the handler was installed with
/// `SA_RESTART`, and may simply be made again. Given: by the kernel.
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
