//! The entry points that clang, flang and icx emit. `gtid` arguments are ignored: the running
//! thread is found from the kernel thread, which is as fast and cannot be wrong.
//!
//! | file | constructs |
//! |---|---|
//! | [`parallel`], [`num_threads`] | `parallel`, barriers, `master`, `masked`, `teams`, pushed clauses |
//! | [`worksharing`] | loops, sections, single, copyprivate, ordered, doacross |
//! | [`sync`] | `critical`, locks, `flush` |
//! | `atomic` | the atomics that Intel's compilers call |
//! | [`reduction`] | `reduction` on parallel and worksharing constructs |
//! | [`task`], [`taskloop`], [`task_reduction`] | tasks, taskloop, taskgroup, task reductions |
//! | [`graph`] | looking at the dependence graph |
//! | [`threadprivate`] | threadprivate data without compiler TLS |
//! | [`cancel`] | cancellation |
//! | [`internal`] | what parts of LLVM's runtime ask each other |
//! | [`memory`] | allocators, `error` |
#[cfg(target_arch = "x86_64")]
pub mod atomic;
pub mod cancel;
pub mod graph;
pub mod internal;
pub mod memory;
pub mod num_threads;
pub mod parallel;
pub mod reduction;
pub mod sync;
pub mod task;
pub mod task_reduction;
pub mod taskloop;
pub mod threadprivate;
pub mod worksharing;
