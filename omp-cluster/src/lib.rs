//! MPI ranks.
//!
//! What lives here: ranks as devices, and what runs on other ranks without a target construct. What
//! does not: how messages get from rank to rank (`mpi-bridge`), and what devices have in common
//! ([`omp_offload`]).
//!
//! | module | what lives there |
//! |---|---|
//! | [`rank`] | ranks as devices, their GPUs, stealing between ranks |
//! | [`remote`] | functions invoked on ranks, futures, events, mobile objects |
//! | [`persistent`] | persistent tasks and their trays |
pub mod persistent;
pub mod rank;
pub mod remote;

/// The extensions of this crate's tests.
#[cfg(test)]
#[unsafe(export_name = "gangway_extensions")]
static EXTENSIONS: omp::extension::Extensions = omp::extension::Extensions {
    tools: &omp_tools::tool::hook::ToolHooks,
    check: &omp_tools::check::host::Checks { ranks: &remote::check::CheckedRanks },
    offload: &omp_offload::extension::Devices,
};

/// The ranks of this crate's tests.
#[cfg(test)]
#[unsafe(export_name = "gangway_ranks")]
static RANKS: &dyn omp_offload::ranks::Ranks = &rank::extension::MpiRanks;
