//! How far a rank may be ahead of those that do what it asks.
//!
//! An operation costs memory where it waits. So each rank counts the operations that it has asked
//! of every other rank and does not know to be over. A rank that is too far ahead waits. Ends are
//! reported in bundles, so that a report costs next to nothing.
//!
//! Functions that run for the team never wait here: what they are ahead of may be waiting for their
//! own end.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

use super::wire;
use crate::rank::{Cluster, cluster};
use crate::remote::check::waits;
use crate::remote::me;
use crate::remote::server::SERVER;
use omp::outside;

/// Operations that a rank may be ahead of another one.
const MOST: u64 = 4096;
/// Bytes beside them, when the next operation begins.
const MOST_BYTES: u64 = 64 << 20;
/// Ends are reported in bundles of so many operations, or of so many bytes.
const BUNDLE: u64 = 256;
const BUNDLE_BYTES: u64 = 1 << 20;

/// What is between this rank and another.
#[derive(Default)]
struct Account {
    /// Asked of it, and not known to be over.
    ahead: AtomicU64,
    ahead_bytes: AtomicU64,
    /// Over here, and not yet reported to the other rank.
    over: AtomicU64,
    over_bytes: AtomicU64,
}

static ACCOUNTS: OnceLock<Box<[Account]>> = OnceLock::new();

fn account(rank: u32) -> &'static Account {
    let all =
        ACCOUNTS.get_or_init(|| (0..cluster().map_or(1, |c| c.ranks)).map(|_| Account::default()).collect());
    &all[rank as usize % all.len()]
}

impl Account {
    // ORDERING: Relaxed everywhere: sums that say how much there is, nothing is read through them.

    fn is_full(&self) -> bool {
        self.ahead.load(Ordering::Relaxed) >= MOST || self.ahead_bytes.load(Ordering::Relaxed) >= MOST_BYTES
    }

    fn less(&self, operations: u64, bytes: u64) {
        self.ahead.fetch_sub(operations, Ordering::Relaxed);
        self.ahead_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Counts an operation that is over. Takes what is to be reported, if it fills a bundle.
    fn bundle(&self, bytes: u64) -> Option<(u64, u64)> {
        let operations = self.over.fetch_add(1, Ordering::Relaxed) + 1;
        let bytes = self.over_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if operations < BUNDLE && bytes < BUNDLE_BYTES {
            return None;
        }
        Some((self.over.swap(0, Ordering::Relaxed), self.over_bytes.swap(0, Ordering::Relaxed)))
    }
}

/// Waits while this rank is too far ahead of another one.
pub fn wait(rank: u32) {
    let account = account(rank);
    if account.is_full() && !SERVER.is_inside() {
        let ready = || {
            cluster().inspect(|cluster| Cluster::progress(cluster));
            !account.is_full() || SERVER.is_lost()
        };
        let _noted = waits::waits_for_rank(rank);
        outside::help_with_anything(&ready, None);
    }
}

/// An operation with so many bytes is asked of a rank.
pub fn ask(rank: u32, bytes: usize) {
    let account = account(rank);
    // ORDERING: Relaxed; see `Account`.
    account.ahead.fetch_add(1, Ordering::Relaxed);
    account.ahead_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
}

/// An operation that a rank has asked for is over, here.
pub fn done(source: u32, bytes: usize) {
    if source == me() as u32 {
        account(source).less(1, bytes as u64);
    } else if let Some((operations, bytes)) = account(source).bundle(bytes as u64) {
        wire::over(source, operations, bytes);
    }
}

/// Operations that were asked of a rank are over there.
pub fn operations_ended(rank: u32, operations: u64, bytes: u64) {
    account(rank).less(operations, bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundles_lose_nothing() {
        let account = Account::default();
        let notified: u64 =
            (0..10 * BUNDLE + 7).filter_map(|_| account.bundle(1)).map(|(operations, _)| operations).sum();
        // ORDERING: Relaxed; one thread.
        assert_eq!(notified + account.over.load(Ordering::Relaxed), 10 * BUNDLE + 7);
        assert_eq!(account.bundle(BUNDLE_BYTES).map(|(n, _)| n), Some(8));
    }

    #[test]
    fn full_is_by_number_or_by_bytes() {
        let account = Account::default();
        // ORDERING: Relaxed; one thread.
        account.ahead.store(MOST, Ordering::Relaxed);
        assert!(account.is_full());
        account.less(1, 0);
        assert!(!account.is_full());
        // ORDERING: as above.
        account.ahead_bytes.store(MOST_BYTES, Ordering::Relaxed);
        assert!(account.is_full());
    }
}
