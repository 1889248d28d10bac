//! The workers of a fork, as its worker keeps them from fork to fork. The fork is in [`super`].

use crate::worker::record::Worker;

/// The workers of a fork. The forking worker keeps it from fork to fork, so that its memory is used
/// again.
#[derive(Default)]
pub(crate) struct SpawnTargets {
    /// Workers that may run the gang.
    pub(super) workers: Vec<&'static Worker>,
    pub(super) loads: Vec<u32>,
    /// For each ULT, by number: the index in `workers` of the worker that gets it.
    pub(super) chosen: Vec<usize>,
    /// The numbers of the ULTs, grouped by worker.
    pub(super) order: Vec<usize>,
    /// For each worker: where its part of `order` ends.
    pub(super) ends: Vec<usize>,
    /// With two workers: for how many ULTs, and for which forking worker, the choice was made.
    pub(super) pair: Option<(usize, usize)>,
}
