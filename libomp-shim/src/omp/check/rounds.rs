//! Looks at all ranks: rank 0 asks, every rank answers, and half a second later rank 0 asks again.
//!
//! An answer is made where the question is handled, in the middle of the bridge, so it does not
//! count itself. While nothing else goes on, all ranks together have handled as many messages as
//! they have sent (`docs/protocols/bridge.md`, the waves).

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mpi_bridge::table::BridgeMessage;

use super::thing::RankSample;
use super::verdict::CheckVerdict;
use super::wire::{ReceivedReport, written};
use super::{circles, waits, words};
use crate::omp::device::rank::link::opened;
use crate::omp::device::rank::wire::verb;
use crate::omp::device::rank::{Cluster, cluster};
use crate::omp::persistent;
use crate::omp::remote::object;
use crate::omp::remote::server::SERVER;
use crate::omp::report;
use crate::omp::thread::CurrentThread;

/// Between two looks.
const EVERY: Duration = Duration::from_millis(500);
/// A rank that takes longer to answer is left out: that look says nothing.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);
const GLANCE: Duration = Duration::from_millis(5);
/// Waits in one answer.
const MOST_WAITS: usize = 2048;

/// The thread that asks has been started.
static BEGUN: AtomicBool = AtomicBool::new(false);

/// What has come of the running look, by rank.
static ANSWERS: Mutex<(u64, Vec<ReceivedReport>)> = Mutex::new((0, Vec::new()));

fn answers() -> std::sync::MutexGuard<'static, (u64, Vec<ReceivedReport>)> {
    ANSWERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The ranks have come together, and the caller runs `main` or serves: rank 0 begins to look, if
/// `GANGWAY_CHECK` says so.
pub fn begin(rank: u32) {
    if !super::is_on() {
        return;
    }
    // What a thread does is known from its first call on.
    CurrentThread::get();
    if rank == 0 {
        start();
    }
}

/// A task begins to wait: a process without ranks begins to look.
pub fn begin_alone() {
    if cluster().is_none() {
        start();
    }
}

fn start() {
    // ORDERING: Relaxed; only who is first matters.
    if BEGUN.swap(true, Ordering::Relaxed) {
        return;
    }
    let thread = std::thread::Builder::new()
        .name("gangway-check".into())
        .stack_size(1 << 20)
        .spawn(look_again_and_again);
    if let Err(why) = thread {
        report::warn(format_args!("GANGWAY_CHECK: no thread to look with: {why}; nothing is checked"));
    }
}

fn look_again_and_again() {
    let mut verdict = CheckVerdict::default();
    for round in 1.. {
        std::thread::sleep(EVERY);
        if cluster().is_some_and(Cluster::is_over) || SERVER.is_lost() {
            return;
        }
        for line in look(round).map(|ranks| verdict.look(ranks)).unwrap_or_default() {
            report::warn(line);
        }
    }
}

/// Samples of all ranks, if all answer.
fn look(round: u64) -> Option<Vec<RankSample>> {
    let own = sample();
    let Some(cluster) = cluster() else { return Some(vec![own]) };
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

// ---- what a rank says of itself ---------------------------------------------

fn sample() -> RankSample {
    let all = waits::all();
    let held: Vec<i32> = all.iter().map(|(waiting, _)| waiting.holds).collect();
    let (sent, handled, transfers) = cluster().map_or((0, 0, 0), Cluster::traffic);
    let leaving = cluster().is_some_and(Cluster::has_run_main).then(std::process::id);
    let is_idle = |thread: i32| held.contains(&thread) || leaving == Some(thread as u32);
    let code = all.into_iter().map(|(waiting, promise)| words::of_code(waiting, promise));
    let mut waits: Vec<_> =
        code.chain(persistent::stuck::waits()).chain(object::stuck::waits()).chain(circles::all()).collect();
    let more = waits.len().saturating_sub(MOST_WAITS) as u64;
    waits.truncate(MOST_WAITS);
    RankSample {
        runs: ult::worker::somebody_runs(is_idle),
        sent,
        handled,
        transfers,
        taken: SERVER.taken(),
        waits,
        more,
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
