//! What is measured: the configurations, fixed before anything was measured, and how long a run may
//! take.
//!
//! May not live here: how a run is started (`run`) and what becomes of its figures (`measure`).

use std::fmt;

/// What is factorized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactorizationRoutine {
    /// Cholesky.
    Potrf,
    /// LU with partial pivoting.
    Getrf,
    /// QR.
    Geqrf,
}

impl FactorizationRoutine {
    /// All of them, in the order of the tables.
    pub const ALL: [FactorizationRoutine; 3] =
        [FactorizationRoutine::Potrf, FactorizationRoutine::Getrf, FactorizationRoutine::Geqrf];

    /// LAPACK's name, which is also the program's word for it.
    pub const fn name(self) -> &'static str {
        match self {
            FactorizationRoutine::Potrf => "potrf",
            FactorizationRoutine::Getrf => "getrf",
            FactorizationRoutine::Geqrf => "geqrf",
        }
    }

    /// Billions of operations for a matrix of order `n`, as the program counts them (LAPACK Working
    /// Note 41).
    pub fn work(self, n: u32) -> f64 {
        let n = f64::from(n);
        let operations = match self {
            FactorizationRoutine::Potrf => n * n * n / 3.0 + n * n / 2.0 + n / 6.0,
            FactorizationRoutine::Getrf => 2.0 * n * n * n / 3.0 - n * n / 2.0 + 5.0 * n / 6.0,
            FactorizationRoutine::Geqrf => 4.0 * n * n * n / 3.0 + 2.0 * n * n + 14.0 * n / 3.0,
        };
        operations * 1e-9
    }
}

/// The grid of MPI ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankGrid {
    /// Its rows.
    pub rows: u32,
    /// Its columns.
    pub columns: u32,
}

impl RankGrid {
    /// The program without MPI.
    pub const ONE: Self = Self { rows: 1, columns: 1 };
}

/// How many factorizations a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FactorizationRuns {
    /// Before those that count.
    pub warmup: u32,
    /// Those that count.
    pub counted: u32,
}

/// One row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FactorizationCell {
    /// What is factorized.
    pub routine: FactorizationRoutine,
    /// Order of the matrix.
    pub n: u32,
    /// Order of a tile.
    pub nb: u32,
    /// T: threads of the outer region.
    pub threads: u32,
    /// P: threads of a panel's nested region; 1 means no region.
    pub panel: u32,
    /// Whether threads are bound to cores.
    pub pinned: bool,
    /// The ranks of MPI.
    pub ranks: RankGrid,
}

impl fmt::Display for FactorizationCell {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (routine, pinned) = (self.routine.name(), if self.pinned { " pinned" } else { "" });
        let FactorizationCell { n, nb, threads, panel, .. } = self;
        write!(f, "{routine} n={n} nb={nb} T={threads} P={panel}{pinned}")?;
        match self.ranks {
            RankGrid::ONE => Ok(()),
            RankGrid { rows, columns } => write!(f, " ranks={rows}x{columns}"),
        }
    }
}

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactorizationExtent {
    /// Three configurations, for the demo.
    Quick,
    /// Orders up to 2000.
    Usual,
    /// Orders up to 4000.
    Full,
    /// Ranks of MPI, each with threads of its own.
    Ranks,
}

/// Factorizations within one process, of which the median counts, after one that does not.
pub const RUNS: u32 = 3;

/// Columns of a stripe inside a panel, everywhere.
pub const IB: u32 = 16;

impl FactorizationCell {
    /// Whether the peers crawl in this configuration, so that they get one factorization only.
    pub const fn is_crowded(&self) -> bool {
        self.threads >= 8 && self.panel > 1
    }

    /// How many factorizations, for a peer or for Gangway.
    pub const fn runs(&self, peer: bool) -> FactorizationRuns {
        if peer && self.is_crowded() {
            FactorizationRuns { warmup: 0, counted: 1 }
        } else {
            FactorizationRuns { warmup: 1, counted: RUNS }
        }
    }

    /// Seconds after which a process is ended. Gangway's limit allows for the check of the results.
    pub fn limit(&self, extent: FactorizationExtent, peer: bool) -> u32 {
        let check = (self.routine.work(self.n) * 3.0) as u32;
        match (extent, peer) {
            (FactorizationExtent::Quick, true) => 3,
            (FactorizationExtent::Quick, false) => 60,
            (FactorizationExtent::Ranks, _) => 120,
            (FactorizationExtent::Usual, true) if self.is_crowded() => 20,
            (FactorizationExtent::Usual, true) if self.panel > 1 => 8 + check / 4,
            (FactorizationExtent::Full, true) if self.panel > 1 => 60 + check,
            _ => 20 + check,
        }
    }

    /// The ratio to the better peer that we aim at.
    pub fn target(&self) -> Option<f64> {
        match (self.threads, self.panel) {
            _ if self.ranks != RankGrid::ONE => Some(1.0),
            (2, 1) => Some(0.98),
            (2, 2) => Some(5.0),
            (4, 2) => Some(3.0),
            (8, 4) => Some(40.0),
            _ => None,
        }
    }
}

/// All rows in the order in which they are measured.
pub fn cells(extent: FactorizationExtent) -> Vec<FactorizationCell> {
    if extent == FactorizationExtent::Ranks {
        return with_ranks();
    }
    let mut all = Vec::new();
    for routine in FactorizationRoutine::ALL {
        for (n, nb, threads, panel) in shapes(extent) {
            // Cholesky's panels have no region: P says nothing there.
            if routine == FactorizationRoutine::Potrf && panel > 1 {
                continue;
            }
            let bindings: &[bool] =
                if extent == FactorizationExtent::Quick { &[false] } else { &[false, true] };
            all.extend(bindings.iter().map(|&pinned| FactorizationCell {
                routine,
                n,
                nb,
                threads,
                panel,
                pinned,
                ranks: RankGrid::ONE,
            }));
        }
    }
    all
}

/// Two, four and eight ranks of two threads. The order is a multiple of nb, which QR on several
/// rows of ranks asks for.
fn with_ranks() -> Vec<FactorizationCell> {
    let grids = [1, 2, 4].map(|rows| RankGrid { rows, columns: 2 });
    let cell = |routine, ranks| FactorizationCell {
        routine,
        n: 1024,
        nb: 128,
        threads: 2,
        panel: 1,
        pinned: false,
        ranks,
    };
    FactorizationRoutine::ALL
        .into_iter()
        .flat_map(|routine| grids.map(|ranks| cell(routine, ranks)))
        .collect()
}

/// n, nb, T, P.
fn shapes(extent: FactorizationExtent) -> Vec<(u32, u32, u32, u32)> {
    let orders: &[u32] = match extent {
        FactorizationExtent::Quick => return vec![(1000, 128, 2, 1), (1000, 128, 2, 2), (500, 128, 4, 2)],
        FactorizationExtent::Usual => &[500, 1000, 2000],
        FactorizationExtent::Full | FactorizationExtent::Ranks => &[500, 1000, 2000, 4000],
    };
    let mut shapes = Vec::new();
    for &n in orders {
        for nb in [64, 128, 256] {
            shapes.extend([(2, 1), (2, 2), (4, 2)].map(|(t, p)| (n, nb, t, p)));
        }
    }
    shapes.push((500, 64, 8, 4));
    shapes
}

/// A row of the table of spin barriers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Barriers {
    /// Nested regions at once.
    pub teams: u32,
    /// Threads of each.
    pub panel: u32,
    /// Whether the loop calls `sched_yield`.
    pub yields: bool,
    /// Milliseconds that we aim at.
    pub target: Option<f64>,
}

/// The rows of the table of spin barriers.
pub fn barriers(extent: FactorizationExtent) -> Vec<Barriers> {
    // Teams, P, and what we aim at without and with `sched_yield`. On two cores the work alone is
    // 1, 2 and 2 ms.
    let shapes = [(2, 4, [Some(8.0), Some(1.6)]), (4, 4, [Some(25.0), None]), (2, 8, [Some(40.0), None])];
    let count = match extent {
        FactorizationExtent::Quick => 1,
        FactorizationExtent::Ranks => 0,
        FactorizationExtent::Usual | FactorizationExtent::Full => shapes.len(),
    };
    let row = |(teams, panel, targets): (u32, u32, [Option<f64>; 2])| {
        [false, true].map(|yields| Barriers { teams, panel, yields, target: targets[usize::from(yields)] })
    };
    shapes[..count].iter().copied().flat_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cholesky_has_no_panel_threads_and_the_others_have() {
        for extent in [FactorizationExtent::Quick, FactorizationExtent::Usual, FactorizationExtent::Full] {
            let all = cells(extent);
            assert!(all.iter().all(|c| c.routine != FactorizationRoutine::Potrf || c.panel == 1));
            for routine in [FactorizationRoutine::Getrf, FactorizationRoutine::Geqrf] {
                assert!(all.iter().any(|c| c.routine == routine && c.panel > 1));
            }
        }
    }

    #[test]
    fn no_row_is_measured_twice() {
        let all = cells(FactorizationExtent::Full);
        for (at, cell) in all.iter().enumerate() {
            assert!(!all[..at].contains(cell), "{cell}");
        }
    }

    #[test]
    fn quick_rows_end_within_a_minute_even_if_both_peers_are_stopped_wherever_they_may_crawl() {
        let crawls = cells(FactorizationExtent::Quick)
            .into_iter()
            .filter(|c| c.panel > 1)
            .map(|c| 2 * c.limit(FactorizationExtent::Quick, true));
        assert!(crawls.sum::<u32>() <= 30);
    }
}
