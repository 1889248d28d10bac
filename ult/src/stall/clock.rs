//! Facts from the kernel about another thread of this process: its processor time, and whether it
//! sleeps.
//!
//! What may not live here: conclusions from these facts. The watcher calls these functions; none of
//! them promises to be async-signal-safe.
use core::ffi::c_int;

/// The time of the monotonic clock, in nanoseconds.
pub(super) fn now() -> u64 {
    read(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// Nanoseconds of processor time that the thread `tid` of this process has consumed, in user and
/// kernel mode. The value is up to date even while the thread runs. The result is `None` when the
/// thread has ended.
pub(super) fn processor_time(tid: i32) -> Option<u64> {
    // The kernel's own encoding, which pthread_getcpuclockid uses too: the complement of the id,
    // per thread (4), in nanoseconds as the scheduler counts (2).
    read(!tid << 3 | 6)
}

fn read(clock: libc::clockid_t) -> Option<u64> {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the out pointer is valid.
    let result = if clock < 0 {
        // SAFETY: as above. The call bypasses the C library, whose function answers for threads
        // that share kernel threads.
        unsafe {
            crate::sys::arch::system_call(
                libc::SYS_clock_gettime as usize,
                [clock as usize, (&raw mut t) as usize, 0, 0],
            ) as c_int
        }
    } else {
        // SAFETY: as above.
        unsafe { libc::clock_gettime(clock, &raw mut t) }
    };
    (result == 0).then(|| t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// The state of a thread, as far as the kernel shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KernelThreadState {
    /// The thread runs, or only waits for a processor.
    Runnable,
    /// The thread sleeps in a system call.
    Asleep,
    /// The thread sleeps for the kernel's own reasons (a page from disk), was stopped by a
    /// debugger, or is ending.
    Held,
    /// The kernel does not show the state (no `/proc`).
    Unknown,
}

/// Reads the state of the thread `tid` of this process from `/proc`. This takes 5 to 10
/// microseconds.
pub(super) fn state(tid: i32) -> KernelThreadState {
    let mut text = [0_u8; 256];
    let length = read_stat(tid, &mut text);
    // The text is "pid (name) S ...". The name may hold any character, so the last parenthesis is
    // searched for. The name has at most 15 bytes.
    let head = &text[..length.min(48)];
    let letter = head.iter().rposition(|&b| b == b')').and_then(|end| head.get(end + 2));
    match letter {
        Some(b'R') => KernelThreadState::Runnable,
        Some(b'S') => KernelThreadState::Asleep,
        Some(_) => KernelThreadState::Held,
        None => KernelThreadState::Unknown,
    }
}

/// Reads the thread's `stat` file. The descriptor is open for this one read: the program could
/// close a descriptor that stays open.
fn read_stat(tid: i32, into: &mut [u8]) -> usize {
    let mut path = [0_u8; 40];
    let length = write_path(tid, &mut path);
    debug_assert!(path[length] == 0, "the path ends with a zero byte");
    let flags: c_int = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: a path that ends with a zero byte, and a buffer of the length given.
    unsafe {
        let file = libc::open(path.as_ptr().cast(), flags);
        if file < 0 {
            return 0;
        }
        let got = libc::read(file, into.as_mut_ptr().cast(), into.len());
        libc::close(file);
        usize::try_from(got).unwrap_or(0)
    }
}

/// Writes `/proc/self/task/<tid>/stat` without allocating. Returns its length.
fn write_path(tid: i32, path: &mut [u8; 40]) -> usize {
    use std::io::Write;
    let mut rest = &mut path[..39];
    let before = rest.len();
    // A tid has at most ten digits, so the path always fits.
    let _ = write!(rest, "/proc/self/task/{tid}/stat");
    before - rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own_tid() -> i32 {
        // SAFETY: no arguments.
        unsafe { libc::syscall(libc::SYS_gettid) as i32 }
    }

    #[test]
    fn own_time_advances_while_running() {
        let tid = own_tid();
        let before = processor_time(tid).unwrap();
        // On a busy machine the thread may have to wait for a processor first.
        let until = now() + 10_000_000_000;
        while processor_time(tid).unwrap() - before <= 200_000 {
            assert!(now() < until, "10 s without 200 us of processor time");
        }
        assert_eq!(state(tid), KernelThreadState::Runnable);
    }

    #[test]
    fn a_sleeping_thread_is_seen_asleep() {
        let (send, receive) = std::sync::mpsc::channel();
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            send.send(own_tid()).unwrap();
            wait.recv().ok();
        });
        let tid = receive.recv().unwrap();
        let asleep = (0..1000).any(|_| {
            std::thread::sleep(core::time::Duration::from_millis(1));
            state(tid) == KernelThreadState::Asleep
        });
        assert!(asleep);
        let before = processor_time(tid).unwrap();
        std::thread::sleep(core::time::Duration::from_millis(5));
        assert_eq!(processor_time(tid).unwrap(), before);
        end.send(()).unwrap();
        thread.join().unwrap();
    }

    #[test]
    fn nobody_has_no_time() {
        assert_eq!(processor_time(i32::MAX - 1), None);
        assert_eq!(state(i32::MAX - 1), KernelThreadState::Unknown);
    }
}
