//! Benchmarks of the runtime's building blocks, and models of its scheduler and of stealing between ranks.
pub mod model;
pub mod ranks;
