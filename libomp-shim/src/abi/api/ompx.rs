//! The `ompx_*` routines: what goes beyond the standard (`include/ompx.h`, `include/ompx_lib.f90`).

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;

use crate::abi::api::parallel::change_icv;
use omp::extension::check::{self, AwaitedMessage, MessageEnd, WaitTarget};
use omp::stats::{self, Counters};
use omp::{describe, env, outside};

routines! {
    /// `ompx_set_gang_sched`: gang-schedule all regions that the calling task and its descendants
    /// encounter from here on.
    fn ompx_set_gang_sched() {
        change_icv(|icv| icv.set_gang_sched());
    }

    /// `ompx_reset_gang_sched`: back to what `OMP_GANG_SCHED` said.
    fn ompx_reset_gang_sched() {
        change_icv(|icv| icv.reset_gang_sched(env::settings()));
    }
}

/// `ompx_get_counters`: writes the first `size` bytes of [`Counters`], at most as many as there
/// are, and returns how many there are. May be called before the first OpenMP construct and at
/// exit; makes no thread an initial thread.
///
/// # Safety
/// `out` is valid for writes of `size` bytes, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompx_get_counters(out: *mut Counters, size: usize) -> usize {
    let counters = stats::read();
    let known = size_of::<Counters>();
    if !out.is_null() {
        let from: *const u8 = (&raw const counters).cast();
        // SAFETY: `out` as the caller says, and no more than `counters` has. Bytes need no
        // alignment.
        unsafe { ptr::copy_nonoverlapping(from, out.cast(), size.min(known)) };
    }
    known
}

/// `ompx_describe`: writes what the library knows about itself and the machine as lines
/// `name=value`, at most `size` bytes of them with the zero byte behind, and returns how many bytes
/// there are without it. Makes no thread an initial thread.
///
/// # Safety
/// `out` is valid for writes of `size` bytes, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompx_describe(out: *mut c_char, size: usize) -> usize {
    let text = describe::lines();
    if let Some(room) = size.checked_sub(1).filter(|_| !out.is_null()) {
        let count = text.len().min(room);
        // SAFETY: `out` as the caller says; `count` bytes and one more are no more than `size`.
        unsafe {
            ptr::copy_nonoverlapping(text.as_ptr().cast(), out, count);
            out.add(count).write(0);
        }
    }
    text.len()
}

/// `ompx_may_suspend`: 1 if [`ompx_suspend_until`] would suspend the calling code, where it has to
/// wait: it is in a parallel region.
#[unsafe(no_mangle)]
pub extern "C" fn ompx_may_suspend() -> c_int {
    c_int::from(outside::may_suspend())
}

/// `ompx_suspend_until`: waits until `ready(argument)` is not 0. The calling OpenMP thread is
/// suspended; with `OMPX_TASK_AWARE_MPI` it runs other tasks.
///
/// # Safety
/// `ready` may be called with `argument` on any kernel thread until it has answered, waits for
/// nothing, and calls no routine of the runtime.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_suspend_until(
    ready: unsafe extern "C" fn(*mut c_void) -> c_int,
    argument: *mut c_void,
) {
    // SAFETY: as the caller says.
    suspend_until(&|| unsafe { ready(argument) } != 0, WaitTarget::Library);
}

/// What `ompx_suspend_for` waits for: `ompx_message_t`.
#[repr(C)]
#[derive(Debug)]
pub struct OmpxMessage {
    call: *const c_char,
    rank: c_int,
    tag: c_int,
    end: c_int,
}

/// `ompx_checks`: 1 under `GANGWAY_CHECK`, which names the message that [`ompx_suspend_for`] gets.
#[unsafe(no_mangle)]
pub extern "C" fn ompx_checks() -> c_int {
    c_int::from(check::is_on())
}

/// `ompx_suspend_for`: as [`ompx_suspend_until`], for a message.
///
/// # Safety
/// As there; `message` is null or valid, its call null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_suspend_for(
    ready: unsafe extern "C" fn(*mut c_void) -> c_int,
    argument: *mut c_void,
    message: *const OmpxMessage,
) {
    // SAFETY: as the caller says.
    let message = unsafe { message.as_ref() }.filter(|_| check::is_on());
    let what = message.map_or(WaitTarget::Library, |&OmpxMessage { call, rank, tag, end }| {
        let call = if call.is_null() {
            "a library".into()
        } else {
            // SAFETY: as the caller says.
            unsafe { CStr::from_ptr(call) }.to_string_lossy()
        };
        WaitTarget::Message(
            call.into_owned(),
            AwaitedMessage { rank, tag, end: MessageEnd::from_number(end) },
        )
    });
    // SAFETY: as the caller says.
    suspend_until(&|| unsafe { ready(argument) } != 0, what);
}

fn suspend_until(ready: &dyn Fn() -> bool, what: WaitTarget) {
    let _noted = check::code_wait_begins(|| what);
    if outside::may_suspend() {
        outside::suspend_until(ready);
    } else {
        while !ready() {
            std::thread::yield_now();
        }
    }
}

/// `ompx_blocks`: the calling thread is about to wait in a library for some time. Other threads of
/// its worker that can go on do so elsewhere.
#[unsafe(no_mangle)]
pub extern "C" fn ompx_blocks() {
    if outside::may_suspend() {
        ult::sched::blocks();
    }
}

/// [`ompx_get_counters`] for Fortran.
///
/// # Safety
/// As there; `size` is valid for reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompx_get_counters_(out: *mut Counters, size: *const usize) -> usize {
    // SAFETY: the same promise.
    unsafe { ompx_get_counters(out, *size) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_written_than_asked_for_or_known() {
        let known = size_of::<Counters>();
        stats::count_region();
        let mut words = [u64::MAX; 64];
        // SAFETY: 8, then 512 bytes of `words`, then none.
        unsafe {
            assert_eq!(ompx_get_counters(words.as_mut_ptr().cast(), 8), known);
            assert!(words[0] >= 1 && words[0] < u64::MAX && words[1] == u64::MAX);
            assert_eq!(ompx_get_counters(words.as_mut_ptr().cast(), 512), known);
            assert_eq!(ompx_get_counters(ptr::null_mut(), 512), known);
        }
        assert!(words[..known / 8].iter().all(|&w| w != u64::MAX));
        assert!(words[known / 8..].iter().all(|&w| w == u64::MAX));
    }
}
