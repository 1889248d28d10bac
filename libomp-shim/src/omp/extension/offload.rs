//! Events for devices of all kinds.
//!
//! What lives here: the trait, and the functions by which the host's OpenMP calls it. What does not:
//! any device.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::linked;

/// What the host's OpenMP tells, and asks, devices of all kinds. By default nothing is done.
pub trait Offload: Sync {
    /// The runtime starts: the first OpenMP call of the process. The environment has been read. The
    /// calling thread is no OpenMP thread yet, and other threads wait for it.
    fn starts(&self) {}

    /// See [`host_looks`]. Some device has a copy ([`COPIES`]). The running thread may wait here.
    fn host_looks(&self) {}
}

/// Where there is no such extension.
pub struct NoOffload;

impl Offload for NoOffload {}

/// How many data of the program have copies on devices that only [`Offload::host_looks`] brings
/// back. Devices write it.
pub static COPIES: AtomicUsize = AtomicUsize::new(0);

/// The runtime starts.
pub fn starts() {
    linked().offload.starts();
}

/// The running thread goes on because tasks have ended: it may read what they have written, and
/// change what they have read. While no device has such data, this costs one load.
#[inline(always)]
pub fn host_looks() {
    // ORDERING: Acquire, pairs with the Release by devices: a thread that finds no data finds the
    // host's bytes written. The caller knows of the end, so it also sees the copies that were kept
    // before that end.
    if COPIES.load(Ordering::Acquire) != 0 {
        looks();
    }
}

#[cold]
#[inline(never)]
fn looks() {
    linked().offload.host_looks();
}
