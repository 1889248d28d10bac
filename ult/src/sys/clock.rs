//! The kernel's clocks, as numbers of nanoseconds or microseconds.
//!
//! What may not live here: processor time of OpenMP threads that share kernel threads
//! (`kernel_state::clock`), and clocks of other threads ([`super::thread`]).

use core::time::Duration;

use super::arch::system_call;

/// Nanoseconds of the monotonic clock. Any thread; keeps `errno`.
#[inline]
pub fn nanos() -> u64 {
    let time = monotonic();
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Microseconds of the monotonic clock. Any thread; keeps `errno`.
#[inline]
pub fn micros() -> u64 {
    let time = monotonic();
    time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1000
}

#[inline]
fn monotonic() -> libc::timespec {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for the answer. Every kernel has this clock, so the call does not fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time
}

/// The time since the machine was started, with the time that it was suspended; `None` if the
/// kernel does not say.
pub fn since_boot() -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for the answer.
    if unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) } != 0 {
        return None;
    }
    Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
}

/// Nanoseconds that `clock` shows, which may be another thread's; `None` if there is no such clock.
///
/// Asks the kernel itself: the C library's function, which the layer above defines, answers for
/// threads that share kernel threads.
pub(super) fn by_system_call(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for the answer.
    let result = unsafe {
        system_call(libc::SYS_clock_gettime as usize, [clock as usize, (&raw mut time) as usize, 0, 0])
    };
    (result == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// `duration` for the kernel; the longest one that it takes if `duration` is longer.
pub fn timespec_of(duration: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: libc::time_t::try_from(duration.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(duration.subsec_nanos() as i32),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn both_units_count_the_same_clock() {
        let (before, middle, after) = (nanos(), micros(), nanos());
        assert!(before / 1000 <= middle && middle <= after / 1000);
        assert_eq!(timespec_of(Duration::MAX).tv_sec, libc::time_t::MAX);
    }
}
