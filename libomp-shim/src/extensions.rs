//! The one place where the library's extensions are named ([`omp::extension`]): those of the features
//! that it is built with.

use omp::extension::Extensions;
use omp::extension::check::Check;
use omp::extension::offload::Offload;
use omp::extension::tools::Tools;

/// The extensions of this library.
#[unsafe(export_name = "gangway_extensions")]
static EXTENSIONS: Extensions = Extensions { tools: TOOLS, check: CHECK, offload: OFFLOAD };

#[cfg(feature = "tools")]
const TOOLS: &dyn Tools = &omp_tools::tool::hook::ToolHooks;
#[cfg(not(feature = "tools"))]
const TOOLS: &dyn Tools = Extensions::NONE.tools;

#[cfg(feature = "cluster")]
const CHECK: &dyn Check =
    &omp_tools::check::host::Checks { ranks: &omp_cluster::remote::check::CheckedRanks };
#[cfg(all(feature = "tools", not(feature = "cluster")))]
const CHECK: &dyn Check = &omp_tools::check::host::Checks { ranks: &omp_tools::check::ranks::NoRanks };
#[cfg(not(feature = "tools"))]
const CHECK: &dyn Check = Extensions::NONE.check;

#[cfg(feature = "offload")]
const OFFLOAD: &dyn Offload = &omp_offload::extension::Devices;
#[cfg(not(feature = "offload"))]
const OFFLOAD: &dyn Offload = Extensions::NONE.offload;

/// The ranks that devices of this library know.
#[cfg(feature = "cluster")]
#[unsafe(export_name = "gangway_ranks")]
static RANKS: &dyn omp_offload::ranks::Ranks = &omp_cluster::rank::extension::MpiRanks;
#[cfg(all(feature = "offload", not(feature = "cluster")))]
#[unsafe(export_name = "gangway_ranks")]
static RANKS: &dyn omp_offload::ranks::Ranks = &omp_offload::ranks::NoRanks;

ult::hidden!("gangway_extensions");
#[cfg(feature = "offload")]
ult::hidden!("gangway_ranks");
