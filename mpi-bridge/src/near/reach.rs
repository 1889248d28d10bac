//! Memory of other ranks of this machine, copied from and to by the thread that wants it
//! (`process_vm_readv`, `process_vm_writev`).
//!
//! One copy, without a message and without the other rank: 64 KiB in 7 us where a transfer through
//! MPI takes 25 to 60. The system may forbid it (`ptrace_scope` of Yama, a filter of a container),
//! so each rank tries it on a number that every rank has. Where that fails, and for addresses that
//! the other rank does not have, callers use messages. The reply then names the fault.
//!
//! A rank that ends takes all others along within moments, so that the number of its process is not
//! another's by then.
//!
//! Rejected: asking to be reachable (`PR_SET_PTRACER`) where the system does not allow it by
//! itself: that is the user's decision.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU64, Ordering};

/// What other ranks read to see whether they reach this process: the program's number.
static PROBE: AtomicU64 = AtomicU64::new(0);

/// Which of the ranks are reached, by the numbers of their processes.
#[derive(Debug, Default)]
pub struct Reach(Vec<Option<libc::pid_t>>);

/// How a rank says that it can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Reachability {
    process: u64,
    probe: u64,
}

/// This process's, which shows others the program's number.
pub fn known(program: u64) -> Reachability {
    // ORDERING: Relaxed; ranks read it after they have met.
    PROBE.store(program, Ordering::Relaxed);
    Reachability { process: std::process::id().into(), probe: (&raw const PROBE).addr() as u64 }
}

impl Reach {
    /// `rank` of so many is this one, if it is reached.
    pub fn add(&mut self, rank: u32, ranks: u32, known: Reachability, program: u64) {
        self.0.resize(ranks as usize, None);
        let process = known.process as libc::pid_t;
        let mut found = 0_u64;
        // SAFETY: a word of ours.
        let is_read = unsafe { copy(process, (&raw mut found).cast(), known.probe, 8, false) };
        self.0[rank as usize] = (is_read && found == program).then_some(process);
    }

    /// Copies `bytes` bytes from `there`, memory of `rank`, to `here`, or with `writes` the other
    /// way. `false`: it cannot be reached, or not all of it; then some bytes may have been
    /// copied.
    ///
    /// # Safety
    /// The bytes here are the caller's, to read or to write. No other thread uses the bytes there.
    pub unsafe fn copy(&self, rank: u32, here: *mut u8, there: u64, bytes: u64, writes: bool) -> bool {
        let process = self.0.get(rank as usize).copied().flatten();
        // SAFETY: as the caller says.
        process.is_some_and(|process| unsafe { copy(process, here, there, bytes, writes) })
    }
}

/// The most bytes of a call: the system makes it less than 2 GiB.
const MOST: u64 = 1 << 30;

/// # Safety
/// As [`Reach::copy`].
unsafe fn copy(process: libc::pid_t, here: *mut u8, there: u64, bytes: u64, writes: bool) -> bool {
    let mut done = 0;
    while done < bytes {
        let size = (bytes - done).min(MOST) as usize;
        let local =
            libc::iovec { iov_base: here.wrapping_add(done as usize).cast::<c_void>(), iov_len: size };
        let remote = libc::iovec {
            iov_base: core::ptr::with_exposed_provenance_mut((there + done) as usize),
            iov_len: size,
        };
        let call = if writes { libc::process_vm_writev } else { libc::process_vm_readv };
        // SAFETY: one element each; the memory here is the caller's.
        let copied = unsafe { call(process, &raw const local, 1, &raw const remote, 1, 0) };
        if copied <= 0 {
            return false;
        }
        done += copied as u64;
    }
    true
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn memory_is_reached_both_ways_or_not_at_all() {
        let mut reach = Reach::default();
        reach.add(1, 3, known(77), 77);
        if reach.0[1].is_none() {
            println!("the system does not let a process copy its own memory so");
            return;
        }
        let (mut here, mut there) = ([1_u8; 5000], [2_u8; 5000]);
        let address = there.as_mut_ptr().expose_provenance() as u64;
        // SAFETY: arrays of the test.
        unsafe {
            assert!(reach.copy(1, here.as_mut_ptr(), address, 3000, false));
            assert!(reach.copy(1, here[..].as_mut_ptr(), address + 3000, 2000, true));
            assert!(!reach.copy(1, here.as_mut_ptr(), 8, 100, false), "nobody has this address");
            assert!(
                !reach.copy(0, here.as_mut_ptr(), address, 100, false)
                    && !reach.copy(7, here.as_mut_ptr(), address, 1, true)
            );
            assert!(reach.copy(1, here.as_mut_ptr(), address, 0, false));
        }
        assert!(here[..3000] == [2; 3000] && here[3000..] == [1; 2000] && there == [2; 5000]);
        reach.add(2, 3, known(77), 78);
        assert_eq!(reach.0[2], None, "another program's");
    }
}
