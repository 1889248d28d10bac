//! Looks at all ranks, half a second apart. A process without ranks looks at itself.
//!
//! What lives here: the thread that looks, and what this process says of itself. What may not: how
//! the other ranks are asked ([`super::ranks`]).

use core::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::ranks::ranks;
use super::thing::RankSample;
use super::verdict::CheckVerdict;
use super::{circles, waits, words};
use omp::report;

/// Between two looks.
const EVERY: Duration = Duration::from_millis(500);
/// Waits in one answer.
const MOST_WAITS: usize = 2048;

/// The thread that asks has been started.
static BEGUN: AtomicBool = AtomicBool::new(false);

/// A task begins to wait: a process without ranks begins to look.
pub fn begin_alone() {
    if !ranks().are_together() {
        begin();
    }
}

/// This process looks from here on.
pub fn begin() {
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
        if ranks().are_over() || ranks().are_lost() {
            return;
        }
        let samples = ranks().ask_all(round, sample());
        for line in samples.map(|samples| verdict.look(samples)).unwrap_or_default() {
            report::warn(line);
        }
    }
}

/// What this rank says of itself. Also called in the middle of a message.
pub fn sample() -> RankSample {
    let all = waits::all();
    let held: Vec<i32> = all.iter().map(|waiting| waiting.holds).collect();
    let mut own =
        RankSample { waits: all.into_iter().map(words::of_code).collect(), ..RankSample::default() };
    ranks().complete(&mut own);
    own.waits.extend(circles::all());
    own.more = own.waits.len().saturating_sub(MOST_WAITS) as u64;
    own.waits.truncate(MOST_WAITS);
    let leaving = ranks().has_run_main().then(std::process::id);
    let is_idle = |thread: i32| held.contains(&thread) || leaving == Some(thread as u32);
    own.runs = ult::worker::any_runs_program_code(is_idle);
    own
}
