//! The C library's functions about the scheduling policy of a thread, taken over for threads that
//! share kernel threads ([`ult::kernel_state`]).
//!
//! The donor of a thread gets what the thread gets. So questions about a thread by its number, and
//! the C library's notes in its thread block, are answered right. `SCHED_DEADLINE` and bounds of
//! utilization are not kept.
use core::ffi::{c_int, c_long, c_void};

use ult::kernel_state::{self, KernelSetting};
use ult::tls_block;

use super::kernel_state::{change_kept, is_me, not_kept, of_other};
use super::next::library_next;
use super::thread::{direct, failed};
use super::thread_attributes::thread_pointer;

const SETTINGS: [KernelSetting; 2] = [KernelSetting::Scheduling, KernelSetting::Nice];

/// `SCHED_FLAG_UTIL_CLAMP_MIN` and `_MAX` in the third word of `struct sched_attr`.
const CLAMPS: u64 = 0x60;

/// `sched_setscheduler`, `sched_setparam` or `sched_setattr`: negative error number, or the result.
///
/// # Safety
/// As the system call.
pub(super) unsafe fn call(number: c_long, [tid, second, third]: [usize; 3]) -> c_long {
    // SAFETY: passed on. Zero is the kernel thread itself; the thread's number may be its donor's.
    let pass_on = |tid: usize| unsafe { direct(number, tid, second, third, 0, 0) };
    if !is_me(tid) {
        return of_other(tid, &SETTINGS, || pass_on(tid));
    }
    let clamps = || {
        number == libc::SYS_sched_setattr
            // SAFETY: the kernel reads 48 bytes at least; asked only after it has.
            && unsafe { (second as *const u64).add(1).read_unaligned() } & CLAMPS != 0
    };
    let result = change_kept(&SETTINGS, || pass_on(0));
    if result >= 0 && clamps() {
        not_kept();
    }
    result
}

/// `sched_setscheduler` (POSIX.1-2017), of a thread as Linux has it.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_setscheduler(
    tid: libc::pid_t,
    policy: c_int,
    parameters: *const c_void,
) -> c_int {
    // SAFETY: passed on.
    failed(unsafe {
        call(libc::SYS_sched_setscheduler, [tid as usize, policy as usize, parameters as usize])
    }) as c_int
}

/// `sched_getscheduler` (POSIX.1-2017), of a thread as Linux has it.
#[unsafe(no_mangle)]
pub extern "C" fn sched_getscheduler(tid: libc::pid_t) -> c_int {
    kernel_state::catch_up();
    // SAFETY: no memory is passed.
    failed(unsafe { direct(libc::SYS_sched_getscheduler, tid as usize, 0, 0, 0, 0) }) as c_int
}

/// `sched_getparam` (POSIX.1-2017), of a thread as Linux has it.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_getparam(tid: libc::pid_t, parameters: *mut c_void) -> c_int {
    kernel_state::catch_up();
    // SAFETY: passed on.
    failed(unsafe { direct(libc::SYS_sched_getparam, tid as usize, parameters as usize, 0, 0, 0) }) as c_int
}

/// `sched_setparam` (POSIX.1-2017), of a thread as Linux has it.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_setparam(tid: libc::pid_t, parameters: *const c_void) -> c_int {
    // SAFETY: passed on.
    failed(unsafe { call(libc::SYS_sched_setparam, [tid as usize, parameters as usize, 0]) }) as c_int
}

/// Calls `c_library` for `thread`. If that is the calling thread on a donor's TLS block,
/// `set_kernel_thread` also sets its kernel thread. Zero or an error number.
unsafe fn set_of(
    thread: libc::pthread_t,
    c_library: impl Fn() -> c_int,
    set_kernel_thread: impl Fn() -> c_long,
) -> c_int {
    // SAFETY: no preconditions.
    if thread != unsafe { libc::pthread_self() } {
        let error = c_library();
        if error == 0
            && let Some(tls_block) = tls_block::of_donors_thread_pointer(thread_pointer(thread))
        {
            kernel_state::take_from_tls_donor(tls_block, KernelSetting::Scheduling);
        }
        return error;
    }
    let is_of_a_donor = ult::worker::tls_block_in_force().is_some_and(tls_block::TlsBlock::is_of_a_donor);
    let both = || match c_library() {
        0 if is_of_a_donor => set_kernel_thread(),
        error => -c_long::from(error),
    };
    -change_kept(&[KernelSetting::Scheduling], both) as c_int
}

/// `pthread_setschedparam` (POSIX.1-2017), of OpenMP threads, too.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_setschedparam(
    thread: libc::pthread_t,
    policy: c_int,
    parameters: *const c_void,
) -> c_int {
    library_next! { NEXT = c"pthread_setschedparam"; }
    type Function = unsafe extern "C" fn(libc::pthread_t, c_int, *const c_void) -> c_int;
    // SAFETY: passed on; the next definition is the C library's, with this signature.
    unsafe {
        let next = core::mem::transmute::<*const c_void, Option<Function>>(NEXT.address());
        let c_library = || next.map_or(libc::ENOSYS, |next| next(thread, policy, parameters));
        set_of(thread, c_library, || {
            direct(libc::SYS_sched_setscheduler, 0, policy as usize, parameters as usize, 0, 0)
        })
    }
}

/// `pthread_setschedprio` (POSIX.1-2017), of OpenMP threads, too.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_setschedprio(thread: libc::pthread_t, priority: c_int) -> c_int {
    library_next! { NEXT = c"pthread_setschedprio"; }
    type Function = unsafe extern "C" fn(libc::pthread_t, c_int) -> c_int;
    // SAFETY: passed on; the next definition is the C library's, with this signature. The kernel
    // reads the one number.
    unsafe {
        let next = core::mem::transmute::<*const c_void, Option<Function>>(NEXT.address());
        let c_library = || next.map_or(libc::ENOSYS, |next| next(thread, priority));
        set_of(thread, c_library, || {
            direct(libc::SYS_sched_setparam, 0, (&raw const priority) as usize, 0, 0, 0)
        })
    }
}
