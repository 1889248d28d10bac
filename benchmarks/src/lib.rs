//! Benchmarks of the runtime's building blocks, a model of its scheduler, and what draws their results.
pub mod model;
pub mod svg;
