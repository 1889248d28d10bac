//! `sched_yield` of the whole process: a switch to another OpenMP thread where [`yielding`] says
//! so, else the kernel's.
//!
//! The library defines the C library's symbol, so that calls of the program come here under
//! `LD_PRELOAD` and when it is linked before the C library. Nothing is looked up by `dlsym`: the
//! kernel is asked directly.

use core::arch::naked_asm;
use core::ffi::c_int;

use omp::yielding;

/// `sched_yield(2)`. Returns 0 and keeps `errno`.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub extern "C" fn sched_yield() -> c_int {
    // The return address becomes the argument.
    #[cfg(target_arch = "x86_64")]
    naked_asm!("mov rdi, [rsp]", "jmp {serve}", serve = sym serve);
    #[cfg(target_arch = "aarch64")]
    naked_asm!("mov x0, x30", "b {serve}", serve = sym serve);
}

extern "C" fn serve(return_address: usize) -> c_int {
    if !yielding::yield_thread(return_address) {
        ult::sys::thread::give_core();
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_returns_zero_and_keeps_errno() {
        // SAFETY: the address is this thread's errno.
        unsafe { *libc::__errno_location() = 77 };
        assert_eq!(sched_yield(), 0);
        // SAFETY: as above.
        assert_eq!(unsafe { *libc::__errno_location() }, 77);
    }
}
