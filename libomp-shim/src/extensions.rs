//! The one place where the library's extensions are named ([`crate::omp::extension`]).

use crate::omp::check::host::Checks;
use crate::omp::device::extension::Devices;
use crate::omp::device::rank::extension::MpiRanks;
use crate::omp::device::ranks::Ranks;
use crate::omp::extension::Extensions;
use crate::omp::remote::check::CheckedRanks;
use crate::omp::tool::hook::ToolHooks;

/// The extensions of this library.
#[unsafe(export_name = "gangway_extensions")]
static EXTENSIONS: Extensions =
    Extensions { tools: &ToolHooks, check: &Checks { ranks: &CheckedRanks }, offload: &Devices };

/// The ranks that devices of this library know.
#[unsafe(export_name = "gangway_ranks")]
static RANKS: &dyn Ranks = &MpiRanks;
