//! The one place where the library's extensions are named ([`omp::extension`]).

use omp::extension::Extensions;
use omp_cluster::rank::extension::MpiRanks;
use omp_cluster::remote::check::CheckedRanks;
use omp_offload::extension::Devices;
use omp_offload::ranks::Ranks;
use omp_tools::check::host::Checks;
use omp_tools::tool::hook::ToolHooks;

/// The extensions of this library.
#[unsafe(export_name = "gangway_extensions")]
static EXTENSIONS: Extensions =
    Extensions { tools: &ToolHooks, check: &Checks { ranks: &CheckedRanks }, offload: &Devices };

/// The ranks that devices of this library know.
#[unsafe(export_name = "gangway_ranks")]
static RANKS: &dyn Ranks = &MpiRanks;
