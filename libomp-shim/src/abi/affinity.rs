//! The C library's functions about the processors of a thread, taken over for threads that share
//! kernel threads ([`ult::kernel_state`]).
//!
//! `pthread_setaffinity_np` is in [`super::process`], with the one call that is left out.
use core::ffi::{c_int, c_void};

use ult::kernel_state::{self, Affinity};
use ult::tls_block::{self, TlsBlock};

use super::next::library_next;
use super::thread::{failed, gettid};

/// The other OpenMP thread that the number `tid` means.
fn other(tid: libc::pid_t) -> Option<&'static TlsBlock> {
    if tid == 0 || tid == gettid() { None } else { tls_block::of_tls_donor(tid) }
}

/// Does the number mean the calling thread?
fn is_me(tid: libc::pid_t) -> bool {
    tid == 0 || tid == gettid()
}

/// `sched_setaffinity(2)`: negative error number or zero.
///
/// # Safety
/// As the system call.
pub(super) unsafe fn set(tid: libc::pid_t, bytes: usize, mask: *const u8) -> isize {
    if is_me(tid) {
        // SAFETY: passed on.
        return -unsafe { kernel_state::bind(bytes, mask) } as isize;
    }
    // SAFETY: passed on. Of another OpenMP thread the donor is bound, too: the kernel judges the
    // mask.
    let result = unsafe {
        ult::sys::arch::system_call(
            libc::SYS_sched_setaffinity as usize,
            [tid as usize, bytes, mask as usize, 0],
        )
    };
    if result == 0
        && let Some(tls_block) = other(tid)
    {
        let mut now = Affinity::UNKNOWN;
        // SAFETY: the kernel writes into the words.
        let known = unsafe { ask(tid, size_of_val(&now.words), now.words.as_mut_ptr().cast()) };
        now.bytes = known.max(0) as usize;
        kernel_state::bind_other(tls_block, &now);
    }
    result
}

/// `sched_getaffinity(2)`: negative error number or bytes.
///
/// # Safety
/// As the system call.
pub(super) unsafe fn get(tid: libc::pid_t, bytes: usize, mask: *mut u8) -> isize {
    let tid = if is_me(tid) { 0 } else { tid };
    kernel_state::catch_up();
    match other(tid).and_then(kernel_state::affinity_of) {
        Some(kept) if bytes >= kept.bytes => {
            // SAFETY: as many bytes are there.
            unsafe { mask.copy_from_nonoverlapping(kept.words.as_ptr().cast(), kept.bytes) };
            kept.bytes as isize
        }
        // SAFETY: passed on.
        _ => unsafe { ask(tid, bytes, mask) },
    }
}

unsafe fn ask(tid: libc::pid_t, bytes: usize, mask: *mut u8) -> isize {
    // SAFETY: passed on.
    unsafe {
        ult::sys::arch::system_call(
            libc::SYS_sched_getaffinity as usize,
            [tid as usize, bytes, mask as usize, 0],
        )
    }
}

/// [`get`] as the C library has it: what the kernel does not write is zero.
///
/// # Safety
/// As the C library's functions.
unsafe fn get_all(tid: libc::pid_t, bytes: usize, mask: *mut u8) -> isize {
    // SAFETY: passed on; the kernel has written no more than `bytes`.
    unsafe {
        let written = get(tid, bytes, mask);
        if written >= 0 {
            mask.add(written as usize).write_bytes(0, bytes - written as usize);
        }
        written.min(0)
    }
}

/// `sched_setaffinity` (Linux): a thread that shares its kernel thread keeps its processors
/// wherever it runs.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_setaffinity(tid: libc::pid_t, bytes: usize, mask: *const c_void) -> c_int {
    // SAFETY: passed on.
    failed(unsafe { set(tid, bytes, mask.cast()) } as _) as c_int
}

/// `sched_getaffinity` (Linux), of OpenMP threads, too.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_getaffinity(tid: libc::pid_t, bytes: usize, mask: *mut c_void) -> c_int {
    // SAFETY: passed on.
    failed(unsafe { get_all(tid, bytes, mask.cast()) } as _) as c_int
}

/// The number by which a thread is found here: zero for the caller, that of a donor; `None`: it is
/// the C library's.
fn number(thread: libc::pthread_t) -> Option<libc::pid_t> {
    // SAFETY: no preconditions.
    if thread == unsafe { libc::pthread_self() } {
        return Some(0);
    }
    tls_block::of_donors_thread_pointer(super::thread_attributes::thread_pointer(thread))
        .and_then(TlsBlock::tls_donor_number)
}

/// `pthread_setaffinity_np`, where the thread is the caller or another OpenMP thread that shares
/// its kernel thread: an error number, or zero.
///
/// # Safety
/// As the C library's function.
pub(super) unsafe fn set_of(thread: libc::pthread_t, bytes: usize, mask: *const c_void) -> Option<c_int> {
    // SAFETY: passed on.
    number(thread).map(|tid| -unsafe { set(tid, bytes, mask.cast()) } as c_int)
}

type GetAffinity = unsafe extern "C" fn(libc::pthread_t, usize, *mut c_void) -> c_int;

/// `pthread_getaffinity_np` (glibc), of OpenMP threads, too.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_getaffinity_np(
    thread: libc::pthread_t,
    bytes: usize,
    mask: *mut c_void,
) -> c_int {
    library_next! { NEXT = c"pthread_getaffinity_np"; }
    // SAFETY: passed on; the next definition is the C library's, with this signature.
    unsafe {
        if let Some(tid) = number(thread) {
            return -get_all(tid, bytes, mask.cast()) as c_int;
        }
        let next = core::mem::transmute::<*const c_void, Option<GetAffinity>>(NEXT.address());
        next.map_or(libc::ENOSYS, |next| next(thread, bytes, mask))
    }
}

/// `sched_getcpu` (glibc). The C library reads the thread block, which the kernel keeps for the
/// donor where the thread runs with one's.
#[unsafe(no_mangle)]
pub extern "C" fn sched_getcpu() -> c_int {
    library_next! { NEXT = c"sched_getcpu"; }
    if ult::worker::tls_block_in_force().is_some_and(TlsBlock::is_of_a_donor) {
        return ult::sys::thread::processor_and_node().0 as c_int;
    }
    // SAFETY: the next definition is the C library's, with this signature.
    unsafe {
        let next = core::mem::transmute::<*const c_void, Option<extern "C" fn() -> c_int>>(NEXT.address());
        next.map_or(-1, |next| next())
    }
}
