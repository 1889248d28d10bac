//! Which devices persistent tasks may be on: those of the kinds that `OMPX_DEVICES` allows. Each
//! rank that runs target regions has one, its processors; there are no others yet.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::rank::{cluster, first_device};
use crate::remote::{RemoteFault, me};
use omp::env;
use omp::env::DeviceKinds;

/// `OMPX_ANY_RANK`: all that are devices, in turn.
pub const ANY: i32 = -1;

/// `OMPX_CPU` and `OMPX_GPU`.
const CPU: i32 = 1;
const GPU: i32 = 2;

/// May tasks be on processors?
///
/// # Errors
/// Not with `OMPX_DEVICES=gpu`.
pub fn allowed() -> Result<(), RemoteFault> {
    if env::settings().devices.kinds == DeviceKinds::Gpu { Err(RemoteFault::Device) } else { Ok(()) }
}

/// Ranks that are devices: the first one, and how many. Where there is none, rank 0 does it, as for
/// target regions.
pub(super) fn ranks() -> (u64, u64) {
    let all = cluster().map_or((0, 1), |cluster| (first_device(cluster) as u64, u64::from(cluster.ranks)));
    if all.0 < all.1 { (all.0, all.1 - all.0) } else { (0, 1) }
}

/// How many devices there are of these kinds.
///
/// # Errors
/// There is no such kind.
pub fn count(kinds: i32) -> Result<i32, RemoteFault> {
    if kinds & (CPU | GPU) == 0 || kinds & !(CPU | GPU) != 0 {
        return Err(RemoteFault::Device);
    }
    let processors = kinds & CPU != 0 && allowed().is_ok();
    Ok(if processors { ranks().1 as i32 } else { 0 })
}

/// The next ranks in turn, from this one on.
///
/// # Errors
/// There is no device.
pub fn turns(count: u64) -> Result<Vec<i32>, RemoteFault> {
    static TURN: AtomicU64 = AtomicU64::new(0);
    allowed()?;
    let (first, ranks) = ranks();
    // ORDERING: Relaxed; only a turn.
    let turn = TURN.fetch_add(count, Ordering::Relaxed) + (me() as u64).saturating_sub(first);
    Ok((0..count).map(|at| (first + (turn + at) % ranks) as i32).collect())
}
