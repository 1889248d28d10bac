//! What the judges of texts share ([`crate::fuzz`]): how long an answer may take. For tests and
//! fuzzers only.

use core::fmt::Debug;
use std::time::Duration;

/// Slower than this is a hang in the making; the tests are built without optimisation.
const SLOW: Duration = Duration::from_secs(5);

/// Asks, and sees to it that the answer did not take long. In the thread's own time: a machine with
/// more to do is no find.
pub fn in_time<T>(what: &(impl Debug + ?Sized), ask: impl FnOnce() -> T) -> T {
    let start = own_time();
    let answer = ask();
    let took = own_time() - start;
    assert!(took < SLOW, "{what:.1000?} took {took:?}");
    answer
}

fn own_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` may be written.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
