//! The number of an OpenMP thread as a thread of the system, and signals directed at it.
//!
//! A thread that runs with the storage of a TLS donor has the donor's number: `gettid` is then
//! another one for each thread, fits `pthread_self`, and a signal that is directed at it comes to
//! the thread (`ult::signals`). A thread that runs with a kernel thread's own storage has that
//! kernel thread's number, even while it was handed to another one.
//!
//! `syscall` is taken over for the same question, and for what is about the calling thread
//! ([`super::kernel_state`]): a byte for each number says so. All else that it is asked for is
//! passed to the kernel as it is.
#[cfg(target_arch = "x86_64")]
use core::arch::naked_asm;
use core::ffi::{c_int, c_long, c_void};

use ult::signals::Info;

use super::kernel_state;
use super::next::library_next;
use super::thread_attributes::thread_pointer;

/// `gettid(2)`: the number of the calling OpenMP thread. In a signal handler, too.
#[unsafe(no_mangle)]
pub extern "C" fn gettid() -> libc::pid_t {
    ult::worker::thread_number()
}

/// `syscall(2)`, except that `SYS_gettid` is answered by [`gettid`], and signals that a thread
/// sends to its own number come to it before the call returns.
///
/// # Safety
/// As the C library's function.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn syscall(_: c_long) -> c_long {
    naked_asm!(
        ".cfi_startproc",
        "cmp rdi, {length}",
        "jae 1f",
        "lea rax, [rip + {table}]",
        "cmp byte ptr [rax + rdi], 0",
        "jne {of_threads}",
        "1:",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "mov r10, r8",
        "mov r8, r9",
        "mov r9, [rsp + 8]",
        "syscall",
        "cmp rax, -4095",
        "jae 2f",
        "ret",
        "2:",
        "mov rdi, rax",
        "jmp {fails}",
        ".cfi_endproc",
        length = const kernel_state::LENGTH,
        table = sym kernel_state::TAKEN_OVER,
        of_threads = sym of_threads,
        fails = sym fails,
    )
}

/// The system call past this file: a negative error number, or the result.
///
/// # Safety
/// As the system call.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub(super) unsafe extern "C" fn direct(
    _: c_long,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
    _: usize,
) -> c_long {
    naked_asm!(
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "mov r10, r8",
        "mov r8, r9",
        "syscall",
        "ret"
    )
}

/// As above; the fifth argument is left out, which no call has that comes here.
///
/// # Safety
/// As the system call.
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn direct(
    call: c_long,
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
    _: usize,
) -> c_long {
    // SAFETY: passed on.
    unsafe { ult::sys::arch::system_call(call as usize, [first, second, third, fourth]) as c_long }
}

/// The system calls that name a thread by its number, or are about the calling one.
extern "C" fn of_threads(
    call: c_long,
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
    fifth: usize,
) -> c_long {
    if call == libc::SYS_gettid {
        return c_long::from(gettid());
    }
    if !matches!(call, libc::SYS_tkill | libc::SYS_tgkill | libc::SYS_rt_tgsigqueueinfo) {
        // SAFETY: the caller of the system call answers for its arguments.
        return failed(unsafe { kernel_state::call(call, [first, second, third, fourth, fifth]) });
    }
    let (thread, signal) = if call == libc::SYS_tkill { (first, second) } else { (second, third) };
    if thread as i32 == gettid() {
        let info = if call == libc::SYS_rt_tgsigqueueinfo {
            // SAFETY: the caller of the system call answers for its arguments.
            unsafe { (fourth as *const Info).as_ref() }
        } else {
            None
        };
        return failed(c_long::from(-ult::signals::send_to_itself(signal as c_int, info)));
    }
    if call != libc::SYS_rt_tgsigqueueinfo && ult::signals::send_to_number(thread as i32, signal as c_int) {
        return 0;
    }
    // SAFETY: as above. Donors pass on what is sent to them.
    failed(unsafe { ult::sys::arch::system_call(call as usize, [first, second, third, fourth]) } as c_long)
}

/// Sets `errno` if the result is the negative of an error.
pub(super) fn failed(result: c_long) -> c_long {
    if result < 0 { fails(result) } else { result }
}

/// `tgkill(2)`, as by [`syscall`].
#[unsafe(no_mangle)]
pub extern "C" fn tgkill(process: libc::pid_t, thread: libc::pid_t, signal: c_int) -> c_int {
    of_threads(libc::SYS_tgkill, process as usize, thread as usize, signal as usize, 0, 0) as c_int
}

type SigQueue = unsafe extern "C" fn(libc::pthread_t, c_int, libc::sigval) -> c_int;
type Kill = unsafe extern "C" fn(libc::pthread_t, c_int) -> c_int;

/// `pthread_sigqueue` (glibc), which comes to the calling thread before it returns, if that is
/// meant.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_sigqueue(
    thread: libc::pthread_t,
    signal: c_int,
    value: libc::sigval,
) -> c_int {
    library_next! { NEXT = c"pthread_sigqueue"; }
    // SAFETY: no arguments; then the next definition is the C library's, with this signature.
    unsafe {
        if thread != libc::pthread_self() {
            if ult::signals::send_to_thread(thread_pointer(thread), signal, Some(value.sival_ptr as usize)) {
                return 0;
            }
            let next = core::mem::transmute::<*const c_void, Option<SigQueue>>(NEXT.address());
            return next.map_or(libc::ENOSYS, |next| next(thread, signal, value));
        }
        const SI_QUEUE: u64 = -1_i32 as u32 as u64;
        let owner = ult::sys::thread::process() as u64 | u64::from(libc::getuid()) << 32;
        let mut info: Info = [0; 16];
        info[..4].copy_from_slice(&[signal as u64, SI_QUEUE, owner, value.sival_ptr as u64]);
        ult::signals::send_to_itself(signal, Some(&info))
    }
}

/// `pthread_kill` (POSIX.1-2017), which comes to the calling thread before it returns, if that is
/// meant.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_kill(thread: libc::pthread_t, signal: c_int) -> c_int {
    library_next! { NEXT = c"pthread_kill"; }
    // SAFETY: no arguments; then the next definition is the C library's, with this signature.
    unsafe {
        if thread != libc::pthread_self() || matches!(signal, 32 | 33) {
            if ult::signals::send_to_thread(thread_pointer(thread), signal, None) {
                return 0;
            }
            let next = core::mem::transmute::<*const c_void, Option<Kill>>(NEXT.address());
            return next.map_or(libc::ENOSYS, |next| next(thread, signal));
        }
    }
    ult::signals::send_to_itself(signal, None)
}

/// `raise` (ISO C), by [`pthread_kill`].
#[unsafe(no_mangle)]
pub extern "C" fn raise(signal: c_int) -> c_int {
    let error =
        if matches!(signal, 32 | 33) { libc::EINVAL } else { ult::signals::send_to_itself(signal, None) };
    failed(c_long::from(-error)) as c_int
}

extern "C" fn fails(negative: c_long) -> c_long {
    // SAFETY: the calling thread's errno.
    unsafe { *libc::__errno_location() = -negative as i32 };
    -1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_give_the_same_number() {
        // SAFETY: no arguments.
        assert_eq!(c_long::from(gettid()), unsafe { libc::syscall(libc::SYS_gettid) });
        // SAFETY: a descriptor that is not open.
        assert_eq!(unsafe { libc::syscall(libc::SYS_close, -1) }, -1);
        // SAFETY: this thread's errno.
        assert_eq!(unsafe { *libc::__errno_location() }, libc::EBADF);
    }
}
