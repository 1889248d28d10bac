//! What the judges of texts share ([`libomp_shim::fuzz`]): how long an answer may take. For tests and
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
    Duration::from_nanos(ult::sys::thread::own_processor_time())
}
