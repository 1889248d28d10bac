//! A call of the C library's that is taken over for the process (others: [`super::mutexes`],
//! [`super::thread_attributes`]), because the runtime we replace would get in the way.
//!
//! Preloaded under a program that was linked with libgomp, we serve every OpenMP call. But libgomp
//! is still mapped behind us, and its constructor reads the environment. With `OMP_PROC_BIND`,
//! `OMP_PLACES` or `GOMP_CPU_AFFINITY` it binds the main thread to its first place before we are
//! called at all. Then the processors that the process may use cannot be found out any more. That
//! one call, from that one caller, is left out; every other caller gets the C library's.
//!
//! Tried and rejected: widening the mask again (it would also undo `taskset`), and a constructor of
//! our own that runs first (the loader gives no such promise, and loading the library is to run
//! nothing).

use core::arch::naked_asm;
use core::ffi::{c_int, c_void};

use ult::sys::loader::{ObjectRecord, find_object};

use super::next::library_next;

type SetAffinity = unsafe extern "C" fn(libc::pthread_t, usize, *const c_void) -> c_int;

/// `pthread_setaffinity_np`, except that a call from the libgomp behind us does nothing and
/// succeeds.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn pthread_setaffinity_np(_: libc::pthread_t, _: usize, _: *const c_void) -> c_int {
    // The return address becomes the fourth argument.
    #[cfg(target_arch = "x86_64")]
    naked_asm!("mov rcx, [rsp]", "jmp {serve}", serve = sym serve);
    #[cfg(target_arch = "aarch64")]
    naked_asm!("mov x3, x30", "b {serve}", serve = sym serve);
}

/// # Safety
/// As the C library's function.
unsafe extern "C" fn serve(
    thread: libc::pthread_t,
    size: usize,
    mask: *const c_void,
    caller: *const c_void,
) -> c_int {
    library_next! { NEXT = c"pthread_setaffinity_np"; }
    if is_replaced_runtime(caller) {
        return 0;
    }
    // SAFETY: the next definition is the C library's, with this signature; arguments are passed on.
    unsafe {
        if let Some(result) = super::affinity::set_of(thread, size, mask) {
            return result;
        }
        let next = NEXT.address();
        if next.is_null() {
            return libc::ENOSYS;
        }
        core::mem::transmute::<*const c_void, SetAffinity>(next)(thread, size, mask)
    }
}

/// Does `address` lie in a library called libgomp (wheels rename theirs to libgomp-<hash>)?
fn is_replaced_runtime(address: *const c_void) -> bool {
    let of_libgomp = |object: &ObjectRecord<'_>| {
        let name = object.path.to_bytes().rsplit(|&byte| byte == b'/').next();
        object.contains(address.addr()).then(|| name.is_some_and(|name| name.starts_with(b"libgomp")))
    };
    find_object(of_libgomp).unwrap_or(false)
}
