//! Benchmarks of the runtime's building blocks.
