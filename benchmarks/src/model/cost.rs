//! What things cost in the model. All parameters are here, each with where it comes from; times are
//! in microseconds.
//!
//! The orders of magnitude are those of the paper's machine (two 20-core Skylake 6148, double
//! precision, one-threaded BLAS) and of this runtime on the machine it is developed on. None was
//! fitted to a result; `docs/models/victim.md` says what happens when the ones that matter most are
//! changed.

use super::Factorization;

/// Rows and columns of a tile, unless a run says otherwise: what the paper's library takes by
/// default on processors.
pub const TILE: f64 = 256.0;

/// Floating-point operations per microsecond of one core in large matrix products: 40 Gflop/s, two
/// thirds of the peak at AVX-512 base clock.
const PRODUCT_RATE: f64 = 40e3;
/// The same in triangular solves and symmetric updates of one tile.
const SOLVE_RATE: f64 = 30e3;
/// In the factorization of one diagonal tile.
const DIAGONAL_RATE: f64 = 15e3;
/// In a panel of LU or QR, whose columns are factored one by one by matrix-vector operations that
/// miss the cache.
const PANEL_RATE: f64 = 8e3;

/// Between the ranks: bytes per microsecond of one pair of ranks (6 GB/s).
const BANDWIDTH: f64 = 6e3;
/// Until the first byte of a message is there.
pub const LATENCY: f64 = 5.0;
/// Receiving a message that has already arrived.
pub const COPY: f64 = 1.0;

/// Making a task and pushing it.
pub const SPAWN: f64 = 0.5;
/// Looking at a victim that has nothing: two cache misses.
pub const ATTEMPT: f64 = 0.2;
/// Taking something from a victim, and starting it with cold caches.
pub const STEAL: f64 = 1.0;
/// Starting a task of the own deque.
pub const START: f64 = 0.1;
/// Forking a gang: the lock, the reservation, and each push.
pub const FORK: f64 = 2.0;
/// One barrier of a panel's threads, when all are there.
pub const BARRIER: f64 = 1.0;
/// Blocks of columns of a panel, with a barrier after each: 256 columns in blocks of 16.
pub const PANEL_STEPS: f64 = 16.0;
/// Ready tasks in a deque from which on its owner runs a new task at once: what libomp and this
/// runtime do.
pub const DEQUE_LIMIT: usize = 256;
/// Every compute time is multiplied by a random factor within this distance of one: caches, clocks,
/// interrupts.
pub const NOISE: f64 = 0.1;

/// Cholesky's diagonal tile of `n` rows: n³/3.
#[must_use]
pub fn diagonal(n: f64) -> f64 {
    n.powi(3) / 3.0 / DIAGONAL_RATE
}

/// A triangular solve with one tile (n³), or a symmetric update of one (n³).
#[must_use]
pub fn solve(n: f64) -> f64 {
    n.powi(3) / SOLVE_RATE
}

/// The update of one tile by a panel: 2n³, for QR 4n³ (two products with the reflectors).
#[must_use]
pub fn update(what: Factorization, n: f64) -> f64 {
    match what {
        Factorization::Cholesky | Factorization::Lu => 2.0 * n.powi(3) / PRODUCT_RATE,
        Factorization::Qr => 4.0 * n.powi(3) / PRODUCT_RATE,
    }
}

/// One tile's share of a panel: n³ for LU (m n² of a panel of m rows), twice that for QR.
#[must_use]
pub fn panel_tile(what: Factorization, n: f64) -> f64 {
    match what {
        Factorization::Cholesky => 0.0,
        Factorization::Lu => n.powi(3) / PANEL_RATE,
        Factorization::Qr => 2.0 * n.powi(3) / PANEL_RATE,
    }
}

/// The time `tiles` tiles of eight-byte numbers occupy the wire.
#[must_use]
pub fn transfer(tiles: usize, n: f64) -> f64 {
    tiles as f64 * n * n * 8.0 / BANDWIDTH
}
