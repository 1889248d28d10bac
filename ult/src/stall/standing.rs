//! Workers that stand still, for whoever tells people of it: which, in which region, and where
//! their code is.
//!
//! Nothing here is done by itself, and nothing follows from it. What may not live here:
//! interrupting anybody. A worker that sleeps is not woken to be looked at.
//!
//! *Where the code is.* Of a thread that sleeps in the kernel `/proc` tells the program counter and
//! the stack pointer; of one that runs the monitor's last sample is taken, if it is of this
//! standstill. From there on the stack's words are read (through the kernel, so that what is gone
//! is no fault): those that lie in program code, behind a call, are return addresses, or were once.
//! So a function may be named that has returned already, but as a rule the list is the stack.
//!
//! Rejected: unwinding in a signal handler. It would wake sleepers, and the unwinder's look at the
//! loaded objects waits for a lock with older C libraries.
use core::ffi::c_void;
use core::sync::atomic::Ordering::Relaxed;

use super::clock::{self, KernelThreadState};
use super::objects;
use super::watched::Watched;
use super::watcher;

/// Bytes of a stack that are looked at.
const STACK_BYTES_SEARCHED: usize = 16 << 10;

/// A worker whose thread is in the program's code, with somebody behind it, or from whom those have
/// been taken over.
#[derive(Clone, Copy)]
pub struct Standing {
    watched: &'static Watched,
    /// Its kernel thread.
    pub tid: i32,
    /// It has not come to a switch point as long as this stays.
    pub switch_count: u32,
    /// The region whose code it runs (address of its outlined function), 0 if unknown.
    pub region: usize,
    /// Another worker has taken over what waited behind it.
    pub is_stood_in_for: bool,
}

/// All of them. Any thread.
pub fn standing() -> impl Iterator<Item = Standing> {
    watcher::records().filter_map(|watched| {
        let (tid, switch_count) = (watched.tid(), watched.switch_count());
        let is_stood_in_for = watched.was_handed_off(switch_count);
        let stands = tid != 0 && watched.is_user() && (is_stood_in_for || watched.crowd() != 0);
        stands.then(|| Standing { watched, tid, switch_count, region: watched.region(), is_stood_in_for })
    })
}

impl Standing {
    /// Tells workers apart.
    pub fn worker(&self) -> usize {
        core::ptr::from_ref(self.watched).addr()
    }

    /// Does it still stand there?
    pub fn goes_on_standing(&self) -> bool {
        self.watched.tid() == self.tid
            && self.watched.is_user()
            && self.watched.switch_count() == self.switch_count
    }

    /// Does it sleep in the kernel?
    pub fn sleeps(&self) -> bool {
        matches!(clock::state(self.tid), KernelThreadState::Asleep | KernelThreadState::Held)
    }

    /// Addresses in the code, the newest first: where it is, then what looks like return addresses
    /// into the program. Nothing if that cannot be found out. Not in a signal handler.
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
        // ORDERING: Relaxed; three values that may be of two samples: then the list is of little
        // use.
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

/// The stack's words from `sp` on, as far as they are there.
fn words_at(sp: usize) -> Vec<usize> {
    let mut words = vec![0_usize; STACK_BYTES_SEARCHED / size_of::<usize>()];
    let start = sp.next_multiple_of(size_of::<usize>());
    // Page by page: a piece that is not all there is not read at all.
    let mut got = 0;
    while got < STACK_BYTES_SEARCHED {
        let wanted = (STACK_BYTES_SEARCHED - got).min(4096 - (start + got) % 4096);
        // SAFETY: within the vector's bounds.
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
    // SAFETY: the kernel writes as the caller says, and looks itself whether the other side is
    // there.
    unsafe {
        libc::process_vm_readv(libc::getpid(), &raw const here, 1, &raw const there, 1, 0) == bytes as isize
    }
}

/// Is the instruction in front of this address, which was in program code when that was looked for
/// last, a call?
fn follows_a_call(address: usize) -> bool {
    if !objects::is_program_code(address - 8) {
        return false;
    }
    let mut before = [0_u8; 8];
    // SAFETY: eight bytes. The object may have been closed since it was looked for.
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
        while clock::state(tid) != KernelThreadState::Asleep {
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
