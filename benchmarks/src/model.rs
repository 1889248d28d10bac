//! A model of the scheduler in virtual time: ranks of virtual workers factor a matrix of tiles.
//!
//! What is real: victim selection ([`ult::victim::Selector`]), the queue of gang ULTs
//! ([`ult::gang::deque::GangDeque`]), which workers a gang gets ([`ult::gang::reserve`]) and who
//! may take what ([`ult::gang::eligible`]). What is modelled: time, kernels, messages, and task
//! deques (newest for the owner, oldest for thieves). `docs/models/victim.md` describes it.
//!
//! | file | what lives there |
//! |---|---|
//! | `cost` | all parameters |
//! | `graph` | the outer tasks of a factorization and what they do |
//! | `world` | the queue of events, messages, queues of a rank |
//! | `worker` | what a worker does at an event: the phases of a task, taking work |
//! | `gang` | fork and end of a panel's threads |
//! | `account` | where the time went |
//! | `report` | tables and plots |
//!
//! Rejected:
//! * Timing real threads: two processors show two workers, and victims begin to matter with eight.
//! * Idle workers that poll in virtual time while there is nothing to take: these would be nearly
//!   all events, and none changes anything. Such a worker is woken by the next push, and its
//!   history has then forgotten what so many failures make it forget.

pub mod account;
pub mod cost;
mod gang;
pub mod graph;
pub mod report;
#[cfg(test)]
mod tests;
mod worker;
mod world;

use account::{AccountPath, Shares};
use ult::victim::{self, Totals};

/// Virtual nanoseconds.
pub type ModelTime = u64;

/// Which factorization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factorization {
    /// Light panels, made of independent tasks.
    Cholesky,
    /// Heavy panels with barriers.
    Lu,
    /// Heavier panels with barriers, and heavier updates.
    Qr,
}

impl Factorization {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Cholesky, Self::Lu, Self::Qr];

    /// Its name in tables and plots.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cholesky => "Cholesky",
            Self::Lu => "LU",
            Self::Qr => "QR",
        }
    }
}

/// One run.
#[derive(Clone, Copy, Debug)]
pub struct ModelConfig {
    /// What is computed.
    pub what: Factorization,
    /// Rows and columns of tiles, at least 3.
    pub tiles: usize,
    /// Rows and columns of numbers in a tile.
    pub tile: f64,
    /// Ranks, each with its own workers and its share of the columns.
    pub ranks: usize,
    /// Workers of each rank, at least 2.
    pub workers: usize,
    /// How they choose victims.
    pub policy: victim::VictimKind,
    /// How often hybrid looks elsewhere after a success; 1 in the paper.
    pub looks: usize,
    /// Threads of a panel of LU or QR; 1 is a sequential panel.
    pub panel_threads: usize,
    /// Whether those threads are a gang, or wait on the forking worker's task deque.
    pub gangs: bool,
    /// In which order an ended task pushes those that become ready with it. Youngest first means
    /// that its worker goes on with the oldest, and that thieves find the youngest: libomp's
    /// order.
    pub youngest_first: bool,
    /// Factor on the time of messages; 0 for none.
    pub messages: f64,
    /// Seed of victims and noise.
    pub seed: u64,
}

impl ModelConfig {
    /// The paper's shape: two ranks; 20 workers for Cholesky, 10 for the others with half of them
    /// in a panel; hybrid.
    #[must_use]
    pub fn new(what: Factorization) -> Self {
        let workers = if what == Factorization::Cholesky { 20 } else { 10 };
        Self {
            what,
            tiles: 40,
            tile: cost::TILE,
            ranks: 2,
            workers,
            policy: victim::VictimKind::Hybrid,
            looks: 1,
            panel_threads: workers / 2,
            gangs: true,
            youngest_first: true,
            messages: 1.0,
            seed: 1,
        }
    }
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct ModelOutcome {
    /// The whole time.
    pub time: ModelTime,
    /// Its causes along the critical path.
    pub path: AccountPath,
    /// The mean of all workers.
    pub shares: Shares,
    /// Attempts to steal, of all workers.
    pub steals: Totals,
    /// Of the time in which a worker of a rank was blocked in a message: the mean share of its
    /// other workers that computed.
    pub overlap: f64,
    /// When each panel was begun by its owner.
    pub panel_start: Vec<ModelTime>,
    /// When each panel had been factored, before it was sent.
    pub panel_ready: Vec<ModelTime>,
}

/// Runs it. The same configuration gives the same outcome.
///
/// # Panics
/// If the configuration is out of range, or if the run stops before its end. It stops at a deadlock
/// of the modelled program, or when workers look for ever for a task that none of them may take.
#[must_use]
pub fn run(config: &ModelConfig) -> ModelOutcome {
    assert!(config.tiles >= 3 && config.workers >= 2 && config.ranks >= 1);
    world::World::new(config).run()
}
