//! The processors that places are made of, as `ult` finds them.
pub use ult::topology::{Cpu, bind_current_thread, quota, usable, worker_target};
