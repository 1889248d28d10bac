//! Kernel threads, as the kernel knows them: number, name, processor, processor time, state.
//!
//! What may not live here: workers and OpenMP threads, and conclusions from these facts. Functions
//! about another thread of this process do not promise to be async-signal-safe.
use core::ffi::CStr;

use super::arch::system_call;
use super::{clock, proc_file};

/// The number of the calling kernel thread, whichever storage is in force. May be called in a
/// signal handler.
pub fn number() -> i32 {
    // SAFETY: no arguments.
    unsafe { system_call(libc::SYS_gettid as usize, [0; 4]) as i32 }
}

/// The number of this process, as the kernel has it. May be called in a signal handler.
pub fn process() -> i32 {
    // SAFETY: no arguments.
    unsafe { system_call(libc::SYS_getpid as usize, [0; 4]) as i32 }
}

/// Is the calling kernel thread the main one of the process? May be called in a signal handler.
pub fn is_main() -> bool {
    number() == process()
}

/// Names the calling kernel thread for debuggers and `/proc`: at most 15 characters. Calls the
/// kernel directly. This library replaces the C library's function, and the replacement stores the
/// name for the OpenMP thread, in memory from the program's allocator.
pub fn set_name(name: &CStr) {
    // SAFETY: a valid C string; the kernel copies what fits.
    unsafe {
        system_call(libc::SYS_prctl as usize, [libc::PR_SET_NAME as usize, name.as_ptr() as usize, 0, 0])
    };
}

/// The calling kernel thread's `errno`.
#[inline]
pub fn errno() -> i32 {
    // SAFETY: the address is this kernel thread's errno.
    unsafe { *libc::__errno_location() }
}

/// Sets it.
#[inline]
pub fn set_errno(value: i32) {
    // SAFETY: as in `errno`; the address is asked for anew at each call, because storage changes.
    unsafe { *libc::__errno_location() = value };
}

/// Lets other kernel threads have the core for a moment. Any thread; keeps `errno`.
///
/// The function asks the kernel directly. `libc::sched_yield` and `std::thread::yield_now` would
/// call the symbol `sched_yield`, which the layer above may define for the program, to switch
/// between ULTs.
#[inline]
pub fn give_core() {
    // SAFETY: no arguments, no memory.
    unsafe { system_call(libc::SYS_sched_yield as usize, [0; 4]) };
}

/// Lets other kernel threads have the core for some 20 to 100 µs. Any thread; keeps `errno`.
///
/// Why not a yield: suppose that a thread shares its core with a spinning thread. Since Linux 6.18
/// a yield then costs it the rest of a time slice, which is milliseconds. A thread that sleeps and
/// is woken runs at once.
pub fn nap() {
    let time = libc::timespec { tv_sec: 0, tv_nsec: 20_000 };
    // SAFETY: a valid time; the time left after a signal is not asked for.
    unsafe {
        system_call(
            libc::SYS_clock_nanosleep as usize,
            [libc::CLOCK_MONOTONIC as usize, 0, (&raw const time).addr(), 0],
        )
    };
}

/// The processor that the caller runs on at this moment, and its memory node; 0 where the kernel
/// does not tell.
///
/// Asks the kernel directly: the C library's `sched_getcpu` reads the thread block, which is
/// another thread's while the caller runs with a borrowed one. Costs a system call.
pub fn processor_and_node() -> (usize, usize) {
    let (mut cpu, mut node): (libc::c_uint, libc::c_uint) = (0, 0);
    let (into_cpu, into_node) = ((&raw mut cpu).expose_provenance(), (&raw mut node).expose_provenance());
    // SAFETY: both may be written; the third argument may be null.
    let refused = unsafe { system_call(libc::SYS_getcpu as usize, [into_cpu, into_node, 0, 0]) };
    if refused == 0 { (cpu as usize, node as usize) } else { (0, 0) }
}

/// Nanoseconds of processor time that the calling kernel thread has consumed. Async-signal-safe.
pub fn own_processor_time() -> u64 {
    clock::by_system_call(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// Nanoseconds of processor time that the thread `tid` of this process has consumed, in user and
/// kernel mode. The value is up to date even while the thread runs. The result is `None` when the
/// thread has ended.
pub fn processor_time(tid: i32) -> Option<u64> {
    // The kernel's own encoding, which pthread_getcpuclockid uses too: the complement of the id,
    // per thread (4), in nanoseconds as the scheduler counts (2).
    clock::by_system_call(!tid << 3 | 6)
}

/// The state of a thread, as far as the kernel shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelThreadState {
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
pub fn state(tid: i32) -> KernelThreadState {
    match stat_field(tid, 3, |text| text.first().copied()) {
        Some(b'R') => KernelThreadState::Runnable,
        Some(b'S') => KernelThreadState::Asleep,
        Some(_) => KernelThreadState::Held,
        None => KernelThreadState::Unknown,
    }
}

/// The processor on which the thread `tid` of this process runs, ran last, or is queued. `None` if
/// the kernel does not show it. Takes as long as [`state`].
pub fn processor_of(tid: i32) -> Option<usize> {
    stat_field(tid, 39, |text| core::str::from_utf8(text).ok()?.parse().ok())
}

/// Field `number` of the file `stat` of the thread `tid`; `number` is at least 3. As in proc(5), the
/// first field has number 1.
fn stat_field<R>(tid: i32, number: usize, parse: impl FnOnce(&[u8]) -> Option<R>) -> Option<R> {
    proc_file::parse_of_thread(tid, "stat", |text| {
        // The second field is the name in parentheses. It may hold any character, so the last
        // parenthesis is searched for. No later field holds one.
        let end = text.iter().rposition(|&byte| byte == b')')?;
        parse(text[end..].split(|&byte| byte == b' ').nth(number - 2)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_the_one_on_which_the_thread_runs() {
        // The kernel may move the thread between the two questions.
        assert!((0..100).any(|_| processor_of(number()) == Some(processor_and_node().0)));
        assert_eq!(processor_of(i32::MAX - 1), None);
    }

    #[test]
    fn own_time_advances_while_running() {
        let tid = number();
        let before = processor_time(tid).unwrap();
        // On a busy machine the thread may have to wait for a processor first.
        let until = clock::nanos() + 10_000_000_000;
        while processor_time(tid).unwrap() - before <= 200_000 {
            assert!(clock::nanos() < until, "10 s without 200 us of processor time");
        }
        assert_eq!(state(tid), KernelThreadState::Runnable);
    }

    #[test]
    fn a_sleeping_thread_is_seen_asleep() {
        let (send, receive) = std::sync::mpsc::channel();
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            send.send(number()).unwrap();
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
