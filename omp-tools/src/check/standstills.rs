//! Standstills: a worker has not come to a switch point for a second although contexts waited
//! behind it.
//!
//! The stall monitor of `ult` helps the waiting contexts within milliseconds. It does not help the
//! code that blocks, and threads that wait for that code in a barrier wait on. So the standstill is
//! reported: where the code is, and which threads wait. A kernel thread looks every half a second,
//! and interrupts no thread.
//!
//! Not reported: code that computes for long with no context behind it, and code that the monitor
//! has switched out (it goes on later).

use std::collections::HashMap;
use std::time::{Duration, Instant};

use ult::stall::{Standing, standing};

use super::reports::{About, report};
use super::{symbols, sync_points};
use crate::tool::code;
use omp::report;

/// Between two looks.
const EVERY: Duration = Duration::from_millis(500);
/// A standstill is reported once it has lasted so long.
const LONG: Duration = Duration::from_secs(1);
/// Functions that a line names.
const NAMED: usize = 6;

/// Looks from now on.
pub fn begin() {
    let thread = std::thread::Builder::new()
        .name("gangway-stills".into())
        .stack_size(1 << 20)
        .spawn(look_again_and_again);
    if let Err(why) = thread {
        report::warn(format_args!(
            "GANGWAY_CHECK: no thread to look with: {why}; standstills are not reported"
        ));
    }
}

fn look_again_and_again() {
    take_no_signals();
    // By worker: since when it stands, and at which switch point.
    let mut since: HashMap<usize, (Instant, u32)> = HashMap::new();
    loop {
        std::thread::sleep(EVERY);
        let now = Instant::now();
        let all: Vec<Standing> = standing().collect();
        since.retain(|worker, (_, switch_count)| {
            all.iter().any(|one| one.worker() == *worker && one.switch_count == *switch_count)
        });
        for one in &all {
            let (began, _) = *since.entry(one.worker()).or_insert((now, one.switch_count));
            if now - began >= LONG {
                report_standstill(one);
            }
        }
    }
}

/// They are for the program's threads.
fn take_no_signals() {
    // SAFETY: a local set, filled here.
    unsafe {
        let mut all: libc::sigset_t = core::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, core::ptr::null_mut());
    }
}

fn report_standstill(one: &Standing) {
    let (stack, sleeps) = (one.stack(), one.sleeps());
    if !one.goes_on_standing() {
        return;
    }
    let program = stack.iter().copied().find(|&address| ult::stall::is_program_code(address)).unwrap_or(0);
    let does = if sleeps { "sleeps in the kernel" } else { "runs" };
    let what = format_args!(
        "code of {} has not come to a switch point for a second, and {does}, at {}; {}",
        if one.region == 0 {
            "no region".into()
        } else {
            format!("the region {}", sync_points::region_name(one.region))
        },
        calls(&stack),
        behind(one),
    );
    report(About::Standstill, one.region, program, what);
}

/// Where the code is, and what has called it.
fn calls(stack: &[usize]) -> String {
    let mut names: Vec<String> = stack
        .iter()
        .filter(|&&address| !code::is_ours(address))
        .map(|&address| symbols::name(address.saturating_sub(1)))
        .collect();
    names.dedup();
    names.truncate(NAMED);
    if names.is_empty() { "a place that is not known".into() } else { names.join(" < ") }
}

fn behind(one: &Standing) -> String {
    let waiting = sync_points::who_waits(one.region);
    let queued = if one.is_stood_in_for {
        "what was queued behind it goes on elsewhere"
    } else {
        "somebody is queued behind it"
    };
    if waiting.is_empty() { queued.into() } else { format!("{queued}; for it wait {}", waiting.join(", ")) }
}
