//! Whether TLS blocks can be borrowed in this process, and by which means. Decided once, by trying.
//!
//! What lives here: the tests and their remembered answer. What does not: the change of the thread
//! pointer itself ([`super::run_with`]).
//!
//! Tried and rejected:
//! * Asking `cpuid`. The processor may have the instruction while the kernel does not allow it.
//! * Trying the instruction under a handler for SIGILL. This would replace another thread's handler
//!   meanwhile.

use core::sync::atomic::{AtomicU8, Ordering};

/// How the thread pointer of a running kernel thread can be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// By an instruction.
    Direct,
    /// By a system call, which takes some hundred nanoseconds.
    Syscall,
    /// Not at all, or not safely. The text gives the reason, in words for a user.
    None(&'static str),
}

/// The remembered answer: an index into [`ANSWERS`], or [`UNDECIDED`].
static ANSWER: AtomicU8 = AtomicU8::new(UNDECIDED);
const UNDECIDED: u8 = u8::MAX;

const DIRECT: u8 = 0;
const SYSCALL: u8 = 1;
const PROCESSOR: u8 = 2;
const VALGRIND: u8 = 3;
const SANITIZER: u8 = 4;
const LIBRARY: u8 = 5;
const REFUSED: u8 = 6;
const ANSWERS: [Support; 7] = [
    Support::Direct,
    Support::Syscall,
    Support::None("not tried on this processor yet"),
    Support::None("valgrind is running"),
    Support::None("a sanitizer is loaded"),
    Support::None("the C library is not glibc"),
    Support::None("the kernel refuses to set the thread pointer"),
];

/// How TLS blocks are supported in this process. Any thread. The first call examines the process,
/// which takes some microseconds and the loader's lock; later calls are one load.
///
/// The first call should come early, when the first thread is registered. A constructor may hold
/// the loader's lock while it runs, and may wait for threads which would make the first call. The
/// answer never changes. So a sanitizer that is loaded later is not noticed; but none can be loaded
/// later.
pub fn support() -> Support {
    // ORDERING: Acquire, pairs with the Release below: the results of `look_up` are visible.
    // Threads that decide at the same time find the same answer.
    let mut answer = ANSWER.load(Ordering::Acquire);
    if answer == UNDECIDED {
        answer = decide();
        super::restartable::look_up();
        crate::stack::kernel::minimal_stack();
        // ORDERING: Release, pairs with the Acquire above.
        ANSWER.store(answer, Ordering::Release);
    }
    ANSWERS[usize::from(answer)]
}

/// True when it is known that the instruction may be used. One load.
#[inline(always)]
pub(super) fn is_direct() -> bool {
    // ORDERING: Relaxed; the answer alone is used.
    ANSWER.load(Ordering::Relaxed) == DIRECT
}

#[cold]
fn decide() -> u8 {
    if !cfg!(target_arch = "x86_64") {
        return PROCESSOR;
    }
    // First, so that other parts of the runtime know the result from here on.
    if crate::sanitize::is_loaded() {
        return SANITIZER;
    }
    if crate::stack::valgrind::is_running() {
        return VALGRIND;
    }
    if !is_defined(c"gnu_get_libc_version") {
        return LIBRARY;
    }
    if kernel_allows_the_instruction() {
        return DIRECT;
    }
    let same = crate::sys::arch::thread_pointer();
    // SAFETY: sets the value that is in force already.
    if unsafe { crate::sys::arch::set_thread_pointer_by_system_call(same) } { SYSCALL } else { REFUSED }
}

fn is_defined(symbol: &core::ffi::CStr) -> bool {
    // SAFETY: a C string; the result is compared, not used.
    !unsafe { libc::dlsym(libc::RTLD_DEFAULT, symbol.as_ptr()) }.is_null()
}

/// Does the kernel allow the instruction? Linux sets this bit when it has switched the processor's
/// permission on, and saves the register at its own switches
/// (Documentation/arch/x86/x86_64/fsgs.rst, Linux 5.9).
fn kernel_allows_the_instruction() -> bool {
    const HWCAP2_FSGSBASE: libc::c_ulong = 1 << 1;
    // SAFETY: only asks.
    unsafe { libc::getauxval(libc::AT_HWCAP2) & HWCAP2_FSGSBASE != 0 }
}
