//! `target` constructs without a device: the region runs on the host (OpenMP 5.2 §13.8), as the initial thread of a
//! contention group of its own.

use super::env::{self, TargetOffload};
use super::parallel::Region;
use super::report;
use super::team::Body;
use super::thread::Here;

/// Runs a target region on the host. `thread_limit` 0 when not given.
pub fn run_on_host(here: Here, body: Body, thread_limit: u32) {
    refuse_if_mandatory();
    let region = Region::begin_target(here, body, thread_limit);
    region.run_primary();
    region.end();
}

/// With `OMP_TARGET_OFFLOAD=MANDATORY` a region that cannot run on a device ends the program.
pub fn refuse_if_mandatory() {
    if env::settings().target_offload == TargetOffload::Mandatory {
        report::fatal("a target region found no device, and OMP_TARGET_OFFLOAD is MANDATORY; the program stops");
    }
}
