//! A trace, or those of several ranks, as one page of HTML, which needs nothing else to be looked
//! at.
//!
//! | file | what lives there |
//! |---|---|
//! | `members`, `trace` | the file, and whether it is one |
//! | `workers` | times in which fewer than all workers ran |
//! | `ranks` | several files as one |
//! | `timeline` | what each lane does at each time |
//! | `path` | the critical path |
//! | `summary` | sums |
//! | `advice` | what they mean, in words |
//! | `page` | the page |
//! | `chance` | tests by chance: damaged traces |
//!
//! All that is computed is computed here; the page draws. What may not live here: how traces are
//! recorded (the library's `omp-tools/src/trace`), files (the command's `report`). No `unsafe`.

#![forbid(unsafe_code)]

mod advice;
#[cfg(any(test, feature = "fuzz"))]
pub mod chance;
mod members;
mod page;
mod path;
mod ranks;
mod summary;
mod timeline;
mod trace;
mod workers;

use ranks::MergedTraces;
pub use ranks::{in_order, names};
use summary::Summary;
pub use trace::{Trace, read};

/// What comes of traces.
#[derive(Debug)]
pub struct TraceReport {
    /// Sentences, the gravest first.
    pub advice: Vec<String>,
    /// The page.
    pub page: String,
}

/// The report of these traces, each with the name of its rank; there is at least one.
#[must_use]
pub fn of(traces: Vec<(String, Trace)>) -> TraceReport {
    compute(traces).report
}

struct Computed {
    #[cfg_attr(
        not(any(test, feature = "fuzz")),
        expect(dead_code, reason = "read by the judge of damaged traces")
    )]
    summary: Summary,
    report: TraceReport,
}

fn compute(traces: Vec<(String, Trace)>) -> Computed {
    let count = traces.len();
    let MergedTraces { trace, timeline, one_clock } = MergedTraces::of(traces);
    let path = if count == 1 { path::find(&trace, &timeline) } else { path::CriticalPath::default() };
    let summary = Summary { ranks: count, one_clock, ..Summary::of(&trace, &timeline, &path) };
    let advice = advice::of(&summary);
    let page = page::of(&trace, &timeline, &path, &summary, &advice);
    let report = TraceReport { advice: advice.into_iter().map(|line| line.text).collect(), page };
    Computed { summary, report }
}
