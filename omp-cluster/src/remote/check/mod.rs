//! What ranks tell the checks of the program (`GANGWAY_CHECK`), and each other for them.
//!
//! | room | what lives there |
//! |---|---|
//! | [`occurrence`] | what ranks bring about, and wait for |
//! | [`waits`] | code that runs for other ranks, and its waits for futures and for ranks |
//! | [`rounds`], [`wire`] | looks at all ranks; their messages |
//!
//! What may not live here: what follows from all this ([`omp_tools::check`]). Persistent tasks and
//! objects report the requests that they cannot begin themselves (`persistent::stuck`,
//! `object::stuck`).

use super::object;
use super::server::SERVER;
use crate::persistent;
use crate::rank::{Cluster, cluster};
use omp_tools::check::ranks::Ranks;
use omp_tools::check::thing::RankSample;

pub mod occurrence;
pub mod rounds;
pub mod waits;
pub mod wire;

/// The ranks of the program, if there are any. A process without ranks may invoke functions on
/// itself.
pub struct CheckedRanks;

impl Ranks for CheckedRanks {
    fn number(&self) -> u32 {
        cluster().map_or(0, |cluster| cluster.rank)
    }

    fn are_together(&self) -> bool {
        cluster().is_some()
    }

    fn are_lost(&self) -> bool {
        SERVER.is_lost()
    }

    fn are_over(&self) -> bool {
        cluster().is_some_and(Cluster::is_over)
    }

    fn has_run_main(&self) -> bool {
        cluster().is_some_and(Cluster::has_run_main)
    }

    fn complete(&self, own: &mut RankSample) {
        (own.sent, own.handled, own.transfers) = cluster().map_or((0, 0, 0), Cluster::traffic);
        own.waits.extend(persistent::stuck::waits());
        own.waits.extend(object::stuck::waits());
        own.taken = SERVER.taken();
    }

    fn ask_all(&self, round: u64, own: RankSample) -> Option<Vec<RankSample>> {
        match cluster() {
            Some(cluster) => rounds::ask_all(cluster, round, own),
            None => Some(vec![own]),
        }
    }
}
