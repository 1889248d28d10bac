//! The entry points that gcc and gfortran emit.
//!
//! | file | constructs |
//! |---|---|
//! | [`parallel`], [`teams`] | `parallel`, barriers, `teams` |
//! | [`worksharing`] | loops, sections, single, ordered, doacross, scope |
//! | [`sync`] | `critical`, `atomic`, `flush` |
//! | [`task`], [`taskloop`], [`task_reduction`] | tasks, taskloop, taskgroup, task reductions |
//! | [`cancel`] | cancellation |
//! | [`target`] | `target` constructs, on the host and on devices |
//! | `target_on_host` | the same in a library without devices |
//! | [`memory`] | allocators, `error` |
//! | [`later`] | what compilers after gcc 12 call |
pub mod cancel;
pub mod later;
pub mod memory;
pub mod parallel;
pub mod sync;
#[cfg(feature = "offload")]
pub mod target;
mod target_arguments;
#[cfg(not(feature = "offload"))]
pub mod target_on_host;
pub mod task;
pub mod task_reduction;
pub mod taskloop;
pub mod teams;
pub mod worksharing;
