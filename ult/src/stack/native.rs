//! The stack of a kernel thread that the program has made, or of the main thread: its bounds.
//!
//! The main thread's stack grows until the limit. It is taken to reach as far as the limit says, at
//! most [`MOST`]. So far below its beginning the kernel maps nothing else, whatever the limit was
//! when the program was started. That of another thread is the C library's, which is asked for it
//! once, when the thread comes to the runtime first.
//!
//! What may not live here: stacks of ours ([`super`]).
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::Bounds;
use crate::sys::objects::{SymbolName, function_of_others};

/// Bytes. The kernel keeps a gap of 128 MiB at least below the stack when it starts a program.
const MOST: usize = 120 << 20;

/// The bounds of the calling kernel thread's own stack; [`Bounds::UNKNOWN`] where they cannot be
/// had. On that stack. Allocates for a thread that is not the main one, and takes no lock of the
/// loader.
pub(crate) fn of_calling_thread() -> Bounds {
    let is_main = crate::sys::thread::is_main();
    if is_main { of_main_thread() } else { of_thread_of_the_program().unwrap_or(Bounds::UNKNOWN) }
}

fn of_main_thread() -> Bounds {
    // SAFETY: only asks; a valid out pointer. The name of the program lies at the beginning of the
    // stack.
    let (top, limit) = unsafe {
        let mut limit: libc::rlimit = core::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit);
        (libc::getauxval(libc::AT_EXECFN) as usize, limit.rlim_cur)
    };
    let length = usize::try_from(limit).unwrap_or(MOST).min(MOST);
    if top <= length { Bounds::UNKNOWN } else { Bounds { lowest: top - length, end: top } }
}

type GetAttributes = unsafe extern "C" fn(libc::pthread_t, *mut libc::pthread_attr_t) -> i32;

fn of_thread_of_the_program() -> Option<Bounds> {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut lowest, mut length): (*mut c_void, usize) = (ptr::null_mut(), 0);
    // SAFETY: the C library's function, for the calling thread; it initialises the attributes that
    // are then read and destroyed.
    unsafe {
        if c_library_s()?(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let known = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut lowest, &raw mut length) == 0;
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        known.then_some(Bounds { lowest: lowest as usize, end: lowest as usize + length })
    }
}

/// The C library's `pthread_getattr_np`, past the function of that name that the runtime itself may
/// define.
fn c_library_s() -> Option<GetAttributes> {
    static KNOWN: AtomicUsize = AtomicUsize::new(0);
    // ORDERING: Relaxed; the address is complete in itself, and every thread finds the same one.
    let mut known = KNOWN.load(Relaxed);
    if known == 0 {
        known = function_of_others(
            const { SymbolName::new(c"pthread_getattr_np") },
            const { SymbolName::new(c"GOMP_parallel") },
        )?;
        // ORDERING: as above.
        KNOWN.store(known, Relaxed);
    }
    // SAFETY: the function of that name has this signature.
    Some(unsafe { core::mem::transmute::<usize, GetAttributes>(known) })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stands_within_its_bounds() {
        let here = 0_u8;
        let bounds = of_calling_thread();
        assert!(bounds.contains(&raw const here as usize), "{bounds:x?}");
        assert!(bounds.end - bounds.lowest >= 64 << 10);
    }

    #[test]
    fn the_main_thread_s_stack_begins_where_the_program_s_name_is() {
        let bounds = of_main_thread();
        assert!(bounds != Bounds::UNKNOWN && bounds.end - bounds.lowest <= MOST);
    }
}
