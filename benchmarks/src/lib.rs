//! Benchmarks of the runtime's building blocks, and a model of its scheduler.
pub mod model;
