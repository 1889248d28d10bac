//! What devices do at the events of the host's OpenMP ([`crate::omp::extension::offload`]).
//!
//! What lives here: which module of devices each event goes to. What does not: what it does there.

use super::resident;
use crate::omp::env;
use crate::omp::extension::offload::Offload;

/// Devices of all kinds, as an extension.
pub struct Devices;

impl Offload for Devices {
    fn starts(&self) {
        resident::at_start(env::settings().coherence);
    }

    fn host_looks(&self) {
        resident::give_back();
    }
}
