//! Lists workers that stand still, for code that reports them to people: the worker, its region,
//! and the position of its code.
//!
//! This module does nothing by itself, and no decision depends on it. What may not live here:
//! interrupting a worker. A worker that sleeps is not woken for a report.
//!
//! *Where the code is.* If a thread sleeps in the kernel, `/proc` shows its program counter and
//! stack pointer. If it runs, the monitor's last sample is used, provided that it is of this
//! standstill. From the stack pointer on the words of the stack are read. They are read through the
//! kernel, so that unmapped memory causes no fault.
//!
//! A word counts as a return address if it lies in program code, directly behind a call
//! instruction. It may be one that was used earlier. So the list may name a function that has
//! returned already, but as a rule it is the call stack.
//!
//! Rejected: unwinding in a signal handler. It would wake sleeping threads, and with older C
//! libraries the unwinder waits for a lock when it examines the loaded objects.
use core::ffi::c_void;
use core::sync::atomic::Ordering::Relaxed;

use super::watched::Watched;
use super::{objects, watcher};
use crate::sys::thread::{self, KernelThreadState};

/// Bytes of a stack that are searched. Chosen: several calls of usual functions; any value from 8
/// KiB to 64 KiB will do.
const STACK_BYTES_SEARCHED: usize = 16 << 10;

/// A worker whose thread is in the program's code while contexts wait behind it, or after these
/// contexts have been taken over.
#[derive(Clone, Copy)]
pub struct Standing {
    watched: &'static Watched,
    /// Its kernel thread.
    pub tid: i32,
    /// The worker has not come to a switch point as long as this value stays.
    pub switch_count: u32,
    /// The region whose code the worker runs (address of its outlined function), 0 if unknown.
    pub region: usize,
    /// Another worker has taken over the contexts that waited behind this one.
    pub is_stood_in_for: bool,
}

/// All workers that stand still. Any thread may call it.
pub fn standing() -> impl Iterator<Item = Standing> {
    watcher::records().filter_map(|watched| {
        let (tid, switch_count) = (watched.tid(), watched.switch_count());
        let is_stood_in_for = watched.was_handed_off(switch_count);
        let stands = tid != 0 && watched.is_user() && (is_stood_in_for || watched.crowd() != 0);
        stands.then(|| Standing { watched, tid, switch_count, region: watched.region(), is_stood_in_for })
    })
}

impl Standing {
    /// A number that distinguishes workers.
    pub fn worker(&self) -> usize {
        core::ptr::from_ref(self.watched).addr()
    }

    /// Does the worker still stand still, in the same stretch of code?
    pub fn goes_on_standing(&self) -> bool {
        self.watched.tid() == self.tid
            && self.watched.is_user()
            && self.watched.switch_count() == self.switch_count
    }

    /// Does the worker's thread sleep in the kernel?
    pub fn sleeps(&self) -> bool {
        matches!(thread::state(self.tid), KernelThreadState::Asleep | KernelThreadState::Held)
    }

    /// Addresses in the code, the newest first: the present position, then words that look like
    /// return addresses into the program. The list is empty if they cannot be found out. Must not
    /// be called in a signal handler.
    pub fn stack(&self) -> Vec<usize> {
        let found = if self.sleeps() { asleep_at(self.tid) } else { self.sampled_at() };
        let Some((ip, sp)) = found else { return Vec::new() };
        let mut stack = vec![ip];
        stack.extend(
            words_at(sp).into_iter().filter(|&word| objects::is_program_code(word) && follows_a_call(word)),
        );
        stack
    }

    fn sampled_at(&self) -> Option<(usize, usize)> {
        let trap = &self.watched.trap;
        // ORDERING: Relaxed; the three values may be of two samples, and the list is of little use
        // then.
        (trap.sampled.load(Relaxed) == u64::from(self.switch_count) + 1)
            .then(|| (trap.ip.load(Relaxed), trap.sp.load(Relaxed)))
    }
}

/// Program counter and stack pointer of a thread that sleeps in the kernel.
fn asleep_at(tid: i32) -> Option<(usize, usize)> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{tid}/syscall")).ok()?;
    let mut words = text.split_whitespace().rev();
    let mut number = || usize::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    let (ip, sp) = (number()?, number()?);
    Some((ip, sp))
}

/// The words of the stack from `sp` on, as far as the memory is mapped.
fn words_at(sp: usize) -> Vec<usize> {
    let mut words = vec![0_usize; STACK_BYTES_SEARCHED / size_of::<usize>()];
    let start = sp.next_multiple_of(size_of::<usize>());
    // The loop reads page by page: the kernel does not read a piece that is only partly mapped.
    let mut got = 0;
    while got < STACK_BYTES_SEARCHED {
        let wanted = (STACK_BYTES_SEARCHED - got).min(4096 - (start + got) % 4096);
        // SAFETY: the destination lies within the vector's bounds.
        if !unsafe { copy_if_there(words.as_mut_ptr().cast::<u8>().wrapping_add(got), start + got, wanted) } {
            break;
        }
        got += wanted;
    }
    words.truncate(got / size_of::<usize>());
    words
}

/// Copies bytes from `address`, if they are mapped.
///
/// # Safety
/// `into` is writable for as many bytes.
unsafe fn copy_if_there(into: *mut u8, address: usize, bytes: usize) -> bool {
    let here = libc::iovec { iov_base: into.cast(), iov_len: bytes };
    let there = libc::iovec { iov_base: address as *mut c_void, iov_len: bytes };
    // SAFETY: the kernel writes as the caller says, and checks itself whether the other side is
    // mapped.
    unsafe {
        libc::process_vm_readv(libc::getpid(), &raw const here, 1, &raw const there, 1, 0) == bytes as isize
    }
}

/// Is the instruction in front of this address a call? The address was in program code at the last
/// check.
fn follows_a_call(address: usize) -> bool {
    if !objects::is_program_code(address - 8) {
        return false;
    }
    let mut before = [0_u8; 8];
    // SAFETY: the buffer has eight bytes. The object may have been closed since the check.
    if !unsafe { copy_if_there(before.as_mut_ptr(), address - 8, before.len()) } {
        return false;
    }
    if cfg!(target_arch = "x86_64") {
        // `call rel32`, or `call r/m` of any length.
        before[3] == 0xE8 || (1..=6).any(|at| before[at] == 0xFF && before[at + 1] >> 3 & 7 == 2)
    } else {
        let word = u32::from_le_bytes([before[4], before[5], before[6], before[7]]);
        word >> 26 == 0x25 || word & 0xFFFF_FC1F == 0xD63F_0000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleeping_threads_place_and_its_caller_are_found() {
        #[inline(never)]
        fn rests(wait: &std::sync::mpsc::Receiver<()>) -> i32 {
            wait.recv().ok();
            1
        }
        crate::stall::treat_as_program(rests as *const () as usize);
        let (send, receive) = std::sync::mpsc::channel();
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            // SAFETY: no arguments.
            send.send(unsafe { libc::syscall(libc::SYS_gettid) } as i32).ok();
            rests(&wait)
        });
        let tid = receive.recv().expect("it runs");
        while thread::state(tid) != KernelThreadState::Asleep {
            std::thread::sleep(core::time::Duration::from_millis(1));
        }
        let (ip, sp) = asleep_at(tid).expect("the kernel tells");
        let start = rests as *const () as usize;
        let calls =
            words_at(sp).into_iter().filter(|&word| objects::is_program_code(word) && follows_a_call(word));
        assert!(ip != 0 && calls.into_iter().any(|word| (start..start + 256).contains(&word)));
        end.send(()).ok();
        thread.join().ok();
    }

    #[test]
    fn a_stack_that_is_not_there_has_no_words() {
        assert!(words_at(8).is_empty() && asleep_at(i32::MAX - 1).is_none());
    }
}
