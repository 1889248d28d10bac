//! `cargo xtask gpu-model`: the model of GPUs, whose tables are part of docs/gpu-model.md, and the
//! tests of all models in virtual time.
//!
//! Lives here: starting them. Which tables there are stands in `benchmarks/src/gpu/report.rs`. The
//! crate `benchmarks` compares with other crates, which xtask itself must not depend on; so its
//! programs are started by cargo.

use std::process::{Command, Stdio};

use crate::programs::Workspace;
use crate::report::Report;

/// Writes the page's generated part, or with `check` compares it.
pub fn run(places: &Workspace, check: bool, report: &mut Report) {
    report.step("automatic mapping to GPUs in virtual time");
    let what = if check { "--check" } else { "--write" };
    let status = Command::new("cargo")
        .args(["run", "--quiet", "--release", "-p", "benchmarks", "--bin", "gpu", "--", what])
        .current_dir(&places.root)
        .stdin(Stdio::null())
        .status();
    let outcome = match status {
        Ok(status) if status.success() => vec![],
        Ok(_) => vec!["see its message above".into()],
        Err(e) => vec![e.to_string()],
    };
    report.check("GPU model", outcome);
}
