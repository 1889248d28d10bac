//! Benchmarks of the runtime's building blocks, and models of its scheduler, of stealing between
//! ranks, of copies of data, and of objects that move.
pub mod data;
pub mod gpu;
pub mod mesh;
pub mod model;
pub mod ranks;
pub mod share;
