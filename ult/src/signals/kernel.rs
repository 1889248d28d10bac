//! Signals that this process sends itself by the kernel.
//!
//! What may not live here: those that go from one thread to another past the kernel ([`super::send`]).

use crate::sys::{arch, thread};

use super::queue::Info;

/// Has the kernel send the signal that `info` describes to the kernel thread `tid` of this process:
/// zero, or the negative of an error. Async-signal-safe; touches no thread-local storage. The
/// kernel lets a process send itself whatever it likes.
pub(crate) fn queue_in_kernel(tid: i32, info: &Info) -> isize {
    let arguments =
        [thread::process() as usize, tid as usize, info[0] as u32 as usize, info.as_ptr() as usize];
    // SAFETY: the kernel's structure.
    unsafe { arch::system_call(libc::SYS_rt_tgsigqueueinfo as usize, arguments) }
}
