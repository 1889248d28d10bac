//! The checks' looks at all ranks: rank 0 asks, and every rank answers.
//!
//! An answer is made where the question is handled, in the middle of the bridge, so it does not
//! count itself. While nothing else goes on, all ranks together have handled as many messages as
//! they have sent (`docs/protocols/bridge.md`, the waves).

use core::ffi::c_void;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mpi_bridge::table::BridgeMessage;

use super::wire::{ReceivedReport, written};
use crate::rank::link::opened;
use crate::rank::wire::verb;
use crate::rank::{Cluster, cluster};
use omp::extension::check::is_on;
use omp::thread::CurrentThread;
use omp_tools::check;
use omp_tools::check::rounds::sample;
use omp_tools::check::thing::RankSample;

/// A rank that takes longer to answer is left out: that look says nothing.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);
const GLANCE: Duration = Duration::from_millis(5);

/// What has come of the running look, by rank.
static ANSWERS: Mutex<(u64, Vec<ReceivedReport>)> = Mutex::new((0, Vec::new()));

fn answers() -> std::sync::MutexGuard<'static, (u64, Vec<ReceivedReport>)> {
    ANSWERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The ranks have come together, and the caller runs `main` or serves: rank 0 begins to look, if
/// `GANGWAY_CHECK` says so.
pub fn begin(rank: u32) {
    if !is_on() {
        return;
    }
    // What a thread does is known from its first call on.
    CurrentThread::get();
    if rank == 0 {
        check::rounds::begin();
    }
}

/// Samples of all ranks, if all answer.
pub fn ask_all(cluster: &Cluster, round: u64, own: RankSample) -> Option<Vec<RankSample>> {
    *answers() = (round, (1..cluster.ranks).map(|_| ReceivedReport::default()).collect());
    for rank in 1..cluster.ranks {
        cluster.post(rank, verb::LOOK, &[round], &[], 0).ok()?;
    }
    let asked = Instant::now();
    loop {
        let others: Option<Vec<RankSample>> = answers().1.iter().map(ReceivedReport::whole).collect();
        if let Some(others) = others {
            return Some([vec![own], others].concat());
        }
        if cluster.is_over() || asked.elapsed() > ANSWERED_WITHIN {
            return None;
        }
        std::thread::sleep(GLANCE);
        cluster.progress();
    }
}

// ---- messages ---------------------------------------------------------------

/// [`verb::LOOK`].
///
/// # Safety
/// The bridge's message.
pub unsafe extern "C" fn asked(_: *mut c_void, message: *const BridgeMessage) {
    let Some(cluster) = cluster() else { return };
    // SAFETY: the bridge's message.
    let (mut reader, source) = unsafe { opened(message) };
    for (words, text) in written(reader.word(), &sample()) {
        // A bridge that fails has ended all ranks, or is about to.
        drop(cluster.post(source, verb::LOOKED, &words, text.as_bytes(), 0));
    }
}

/// [`verb::LOOKED`].
///
/// # Safety
/// The bridge's message.
pub unsafe extern "C" fn answered(_: *mut c_void, message: *const BridgeMessage) {
    // SAFETY: the bridge's message.
    let (mut reader, source) = unsafe { opened(message) };
    let round = reader.word();
    let mut answers = answers();
    if answers.0 == round
        && let Some(heard) = (source as usize).checked_sub(1).and_then(|at| answers.1.get_mut(at))
    {
        heard.take(reader);
    }
}
