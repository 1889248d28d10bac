//! The C library's functions about signals that are taken over: actions and masks. What they are
//! taken over for: `ult::signals`.
//!
//! A process that makes no TLS donor has no handler of ours, and these functions do what the C
//! library's do: actions are set by the C library, masks by the system call.
//!
//! Functions that wait are in [`super::signal_waits`]. Not taken over, because what they set in the
//! kernel is right as it is: `siginterrupt`, `sigignore`. Whatever sets a handler past the
//! functions below (the system call itself) has it called where the kernel delivers the signal.
use core::arch::naked_asm;
use core::ffi::{c_int, c_void};
use core::ptr;

use super::next::{LibraryNext, library_next};
use ult::signals::{self, SignalAction, actions};
use ult::sys::objects::{SymbolName, function_of_others};

use omp::storage::{self, Reason};

type SigAction = unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
type Signal = unsafe extern "C" fn(c_int, usize) -> usize;

library_next! {
    SIGACTION = c"sigaction";
    SIGNAL = c"signal";
    SYSV_SIGNAL = c"__sysv_signal";
}

/// Sets `errno` where there is an error; 0 or -1.
pub(super) fn set_errno(error: c_int) -> c_int {
    if error == 0 {
        return 0;
    }
    // SAFETY: the calling thread's errno.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// `sigaction` (POSIX.1-2017): the program's own action, also where the kernel's is ours.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: passed on; the pointers are null or valid.
    unsafe {
        if signal == libc::SIGPWR && !new.is_null() {
            look_for_a_collector();
        }
        if signal == libc::SIGXFSZ && !new.is_null() {
            storage::look_for_a_java_machine(); // which sets a handler for it when it begins
        }
        if !actions::covers(signal) {
            let next = core::mem::transmute::<*const c_void, Option<SigAction>>(SIGACTION.address());
            let Some(next) = next else { return set_errno(libc::ENOSYS) };
            let result = next(signal, new, old);
            if !new.is_null() {
                actions::adopt(signal);
            }
            return result;
        }
        match signals::set_action(signal, new.as_ref().map(kernels).as_ref()) {
            Ok(before) => {
                if !old.is_null() {
                    old.write(c_librarys(&before));
                }
                0
            }
            Err(error) => set_errno(error),
        }
    }
}

/// The collector of Boehm, Demers and Weiser (libgc) stops all registered threads by this signal,
/// and waits until each has answered from its handler. Then it scans each one's stack from there to
/// the bounds that it has registered. Threads that share a worker would answer one after the other,
/// by hand-off, and it gives up before ("Signals delivery fails constantly"). So where it sets its
/// handler, threads of new regions get kernel threads of their own.
fn look_for_a_collector() {
    const OF_A_COLLECTOR: SymbolName = SymbolName::new(c"GC_register_my_thread");
    const OF_A_RUNTIME: SymbolName = SymbolName::new(c"GOMP_parallel");
    if function_of_others(OF_A_COLLECTOR, OF_A_RUNTIME).is_some() {
        storage::share_no_more(Reason::Collector);
    }
}

/// The kernel's form of an action; the C library's way back from the handler is added to it.
fn kernels(action: &libc::sigaction) -> SignalAction {
    // SAFETY: the first word of a set is the kernel's.
    let mask = unsafe { (&raw const action.sa_mask).cast::<u64>().read() };
    SignalAction { handler: action.sa_sigaction, flags: action.sa_flags as u32 as usize, restorer: 0, mask }
}

fn c_librarys(action: &SignalAction) -> libc::sigaction {
    // SAFETY: all zero is a valid action; the first word of a set is the kernel's.
    unsafe {
        let mut result: libc::sigaction = core::mem::zeroed();
        (&raw mut result.sa_mask).cast::<u64>().write(action.mask);
        result.sa_sigaction = action.handler;
        result.sa_flags = action.flags as c_int;
        result
    }
}

/// `signal` and its other names, with `flags` of an action that is set for the signal alone; before
/// handlers are ours, `next`.
unsafe fn set_handler(signal: c_int, handler: usize, flags: c_int, next: &LibraryNext) -> usize {
    // SAFETY: the caller's word.
    unsafe {
        if !actions::covers(signal) {
            let next = core::mem::transmute::<*const c_void, Option<Signal>>(next.address());
            let before = next.map_or(libc::SIG_ERR, |next| next(signal, handler));
            actions::adopt(signal);
            return before;
        }
    }
    let mask = if flags & libc::SA_NODEFER != 0 { 0 } else { 1 << (signal - 1) };
    match signals::set_action(
        signal,
        Some(&SignalAction { handler, flags: flags as u32 as usize, restorer: 0, mask }),
    ) {
        Ok(before) => before.handler,
        Err(error) => {
            set_errno(error);
            libc::SIG_ERR
        }
    }
}

/// `signal` (POSIX.1-2017), as glibc has it: the handler stays, and calls are restarted.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signal(number: c_int, handler: usize) -> usize {
    // SAFETY: passed on.
    unsafe { set_handler(number, handler, libc::SA_RESTART, &SIGNAL) }
}

/// Another name of [`signal`].
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bsd_signal(number: c_int, handler: usize) -> usize {
    // SAFETY: passed on.
    unsafe { signal(number, handler) }
}

/// Another name of [`signal`].
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ssignal(number: c_int, handler: usize) -> usize {
    // SAFETY: passed on.
    unsafe { signal(number, handler) }
}

/// `signal` as System V has it: once, and not blocked in the handler.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __sysv_signal(number: c_int, handler: usize) -> usize {
    // SAFETY: passed on.
    unsafe { set_handler(number, handler, libc::SA_RESETHAND | libc::SA_NODEFER, &SYSV_SIGNAL) }
}

/// Another name of [`__sysv_signal`].
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sysv_signal(number: c_int, handler: usize) -> usize {
    // SAFETY: passed on.
    unsafe { __sysv_signal(number, handler) }
}

// ---- masks ------------------------------------------------------------------

/// Two signals that the C library keeps for itself: no mask holds them.
const KEPT_BY_C_LIBRARY: u64 = 0b11 << 31;

/// Changes the calling thread's mask. An error number, or zero.
///
/// # Safety
/// Null or valid sets.
unsafe fn change_mask(how: c_int, set: *const u64, old: *mut u64) -> c_int {
    // SAFETY: as the caller says.
    let wanted = unsafe { set.as_ref() }
        .map(|&set| if how == libc::SIG_UNBLOCK { set } else { set & !KEPT_BY_C_LIBRARY });
    let mut before = 0_u64;
    let new = wanted.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: two local words, or null.
    let error = unsafe { ult::signals::change_mask(how, new, &raw mut before) };
    if error != 0 {
        return error;
    }
    if let Some(wanted) = wanted {
        ult::sched::note_mask(match how {
            libc::SIG_BLOCK => before | wanted,
            libc::SIG_UNBLOCK => before & !wanted,
            _ => wanted,
        });
        signals::mask_has_changed();
    }
    if !old.is_null() {
        // SAFETY: as the caller says.
        unsafe { old.write(before) };
    }
    0
}

/// The calling thread's mask is `mask` from here on.
pub(super) fn set_mask(mask: u64) {
    // SAFETY: a local word.
    unsafe { change_mask(libc::SIG_SETMASK, &raw const mask, ptr::null_mut()) };
}

/// Calls that wait for others between two changes of the mask make a switch point of the second
/// one, now and then: while signals are blocked the monitor's are, too. `return_address` is the
/// caller's; nothing but the program's own code may be left here.
fn poll_for(return_address: usize, how: c_int) {
    if how != libc::SIG_BLOCK && ult::sched::has_others_here() && ult::stall::is_program_code(return_address)
    {
        ult::sched::poll();
    }
}

/// `pthread_sigmask` (POSIX.1-2017): the mask of the calling OpenMP thread.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    set: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    // The return address becomes the fourth argument.
    #[cfg(target_arch = "x86_64")]
    naked_asm!("mov rcx, [rsp]", "jmp {serve}", serve = sym of_thread);
    #[cfg(target_arch = "aarch64")]
    naked_asm!("mov x3, x30", "b {serve}", serve = sym of_thread);
}

unsafe extern "C" fn of_thread(how: c_int, set: *const u64, old: *mut u64, return_address: usize) -> c_int {
    // SAFETY: passed on; the first word of a set is the kernel's.
    let error = unsafe { change_mask(how, set, old) };
    poll_for(return_address, how);
    error
}

/// `sigprocmask` (POSIX.1-2017), as [`pthread_sigmask`].
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn sigprocmask(
    how: c_int,
    set: *const libc::sigset_t,
    old: *mut libc::sigset_t,
) -> c_int {
    // As above.
    #[cfg(target_arch = "x86_64")]
    naked_asm!("mov rcx, [rsp]", "jmp {serve}", serve = sym of_process);
    #[cfg(target_arch = "aarch64")]
    naked_asm!("mov x3, x30", "b {serve}", serve = sym of_process);
}

unsafe extern "C" fn of_process(how: c_int, set: *const u64, old: *mut u64, return_address: usize) -> c_int {
    // SAFETY: as above.
    set_errno(unsafe { of_thread(how, set, old, return_address) })
}

/// `sigaltstack` (POSIX.1-2017): the alternate stack of the calling OpenMP thread.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    let here = 0_u8;
    // SAFETY: passed on.
    set_errno(unsafe { ult::kernel_state::set_alternate_stack(new, old, (&raw const here) as usize) })
}
