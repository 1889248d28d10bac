//! The one façade through which the model replaces atomics: `loom` under `--cfg loom`, `core` otherwise.

#[cfg(not(loom))]
pub use core::sync::atomic::{AtomicU32, Ordering};
#[cfg(loom)]
pub use loom::sync::atomic::{AtomicU32, Ordering};
