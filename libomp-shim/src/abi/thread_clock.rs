//! The C library's functions about the processor time of a thread, taken over for threads that
//! share kernel threads ([`ult::kernel_state`]).
//!
//! `clock_gettime` goes on to the C library by a jump for all other clocks: three instructions.
#[cfg(target_arch = "x86_64")]
use core::arch::naked_asm;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use ult::kernel_state;

use super::next::library_next;
use super::thread::failed;

type GetTime = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int;

/// The C library's function; at first, who looks for it.
#[cfg(target_arch = "x86_64")]
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// `clock_gettime` (POSIX.1-2017): `CLOCK_THREAD_CPUTIME_ID` counts for the OpenMP thread.
///
/// # Safety
/// As the C library's function.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn clock_gettime(_: libc::clockid_t, _: *mut libc::timespec) -> c_int {
    naked_asm!(
        "cmp edi, {thread}",
        "je {ours}",
        "mov rax, [rip + {next}]",
        "test rax, rax",
        "jz {ours}",
        "test edi, edi",
        "js {ours}",
        "jmp rax",
        thread = const libc::CLOCK_THREAD_CPUTIME_ID,
        ours = sym of_thread,
        next = sym NEXT,
    )
}

/// Clocks of threads, and the first call.
#[cfg(target_arch = "x86_64")]
unsafe extern "C" fn of_thread(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int {
    library_next! { LOOKED_UP = c"clock_gettime"; }
    let next = LOOKED_UP.address();
    // ORDERING: Relaxed; the address is complete in itself.
    NEXT.store(next as usize, Ordering::Relaxed);
    if let Some(ns) = nanoseconds(clock)
        && !time.is_null()
    {
        // SAFETY: the caller's word.
        unsafe {
            time.write(libc::timespec {
                tv_sec: (ns / 1_000_000_000) as _,
                tv_nsec: (ns % 1_000_000_000) as _,
            })
        };
        return 0;
    }
    // SAFETY: the next definition is the C library's, with this signature.
    unsafe {
        let next = core::mem::transmute::<*const c_void, Option<GetTime>>(next);
        next.map_or_else(
            || {
                failed(ult::sys::arch::system_call(
                    libc::SYS_clock_gettime as usize,
                    [clock as usize, time as usize, 0, 0],
                ) as _) as c_int
            },
            |next| next(clock, time),
        )
    }
}

/// What the clock of an OpenMP thread shows; `None`: it is another clock, or the kernel's is right.
pub(super) fn nanoseconds(clock: libc::clockid_t) -> Option<u64> {
    if clock == libc::CLOCK_THREAD_CPUTIME_ID {
        return kernel_state::processor_time();
    }
    // The kernel's encoding of a thread's clock: the complement of its number, then 4 for a thread
    // and 2 for the scheduler's count.
    if clock < 0 && clock & 7 == 6 { kernel_state::processor_time_of_tls_donor(!(clock >> 3)) } else { None }
}

type ClockId = unsafe extern "C" fn(libc::pthread_t, *mut libc::clockid_t) -> c_int;

/// `pthread_getcpuclockid` (POSIX.1-2017): of the caller the clock that counts for it.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_getcpuclockid(
    thread: libc::pthread_t,
    clock: *mut libc::clockid_t,
) -> c_int {
    library_next! { NEXT_ID = c"pthread_getcpuclockid"; }
    // SAFETY: passed on; the next definition is the C library's, with this signature.
    unsafe {
        if thread == libc::pthread_self() && kernel_state::processor_time().is_some() {
            clock.write(libc::CLOCK_THREAD_CPUTIME_ID);
            return 0;
        }
        let next = core::mem::transmute::<*const c_void, Option<ClockId>>(NEXT_ID.address());
        next.map_or(libc::ENOSYS, |next| next(thread, clock))
    }
}

/// `getrusage(2)`: negative error number or zero. `RUSAGE_THREAD` has the processor time of the
/// OpenMP thread, in the shares that its kernel thread has used for the program and in the kernel;
/// the other numbers are the kernel thread's.
///
/// # Safety
/// As the system call.
pub(super) unsafe fn usage(who: c_int, usage: *mut libc::rusage) -> isize {
    // SAFETY: passed on.
    let result = unsafe {
        ult::sys::arch::system_call(libc::SYS_getrusage as usize, [who as usize, usage as usize, 0, 0])
    };
    if result == 0
        && who == libc::RUSAGE_THREAD
        && let Some(ns) = kernel_state::processor_time()
    {
        // SAFETY: the kernel has written it.
        let usage = unsafe { &mut *usage };
        let micros = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
        let (user, system) = (micros(usage.ru_utime), micros(usage.ru_stime));
        let total = ns / 1000;
        let system = (u128::from(total) * u128::from(system) / u128::from((user + system).max(1))) as u64;
        let time = |micros: u64| libc::timeval {
            tv_sec: (micros / 1_000_000) as _,
            tv_usec: (micros % 1_000_000) as _,
        };
        (usage.ru_utime, usage.ru_stime) = (time(total - system), time(system));
    }
    result
}

/// `getrusage` (Linux): `RUSAGE_THREAD` is about the OpenMP thread.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrusage(who: c_int, into: *mut libc::rusage) -> c_int {
    // SAFETY: passed on.
    failed(unsafe { usage(who, into) } as _) as c_int
}
