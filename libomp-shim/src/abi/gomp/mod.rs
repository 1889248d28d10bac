//! The entry points that gcc and gfortran emit.
//!
//! | file | constructs |
//! |---|---|
//! | [`parallel`] | `parallel`, barriers, `teams` |
//! | [`worksharing`] | loops, sections, single, ordered, doacross, scope |
//! | [`sync`] | `critical`, `atomic`, `flush` |
//! | [`task`], [`taskloop`], [`task_reduction`] | tasks, taskloop, taskgroup, task reductions |
//! | [`cancel`] | cancellation |
//! | [`target`] | `target` constructs, run on the host |
//! | [`memory`] | allocators, `error` |
//! | [`later`] | what compilers after gcc 12 call |
pub mod cancel;
pub mod later;
pub mod memory;
pub mod parallel;
pub mod sync;
pub mod target;
pub mod task;
pub mod task_reduction;
pub mod taskloop;
pub mod worksharing;
