//! Tasks: the descriptor of implicit and explicit tasks.
//!
//! What lives here: [`Task`], and all that happens to one. What does not: the queues of ready tasks
//! and the choice among them ([`super::queue`]), dependences ([`super::depend`]), and the layout of
//! a front's descriptor (the fronts).
//!
//! Other crates use the names that this file exports. Code of this crate names the file that it
//! means.
//!
//! | file | what lives there |
//! |---|---|
//! | `record` | the descriptor and its properties |
//! | `making` | a new task, up to its submission |
//! | `constructs` | `task`, `taskwait`, `taskyield`: what the running task does |
//! | `life` | the life of a task from the moment when it is taken to its completion |
//! | `counts` | incomplete children and references, and which thread frees a task |
//! | `spares` | descriptors for tasks that are run at once |
//! | `tied` | the tied tasks that a thread has begun |
//!
//! An explicit task is one block: the descriptor, then the front's payload (LLVM's `kmp_task_t`,
//! GCC's argument block). The thread that drops the last reference on the task frees it. The task
//! itself holds one reference until it has completed. Each child holds one on its parent until the
//! child is freed, so that the chain of parents can be walked.

pub(crate) mod constructs;
pub(crate) mod counts;
pub(crate) mod life;
mod making;
pub(crate) mod owned;
pub(crate) mod record;
pub(crate) mod spares;
pub(crate) mod tied;

pub use constructs::{
    announce, defer, defer_as, has_enough, includes, is_deep, is_included, set_off, submit, submit_as,
    taskwait, taskyield,
};
pub use life::{
    begin, body_done, end, end_included, fulfill, job, late_job, notify_end, run_at_once, run_included,
    run_taken, run_undeferred, run_unwatched,
};
pub use owned::OwnedTask;
pub use record::{ENTRIES, RunFn, Spares, Task, TaskFlags};
pub use tied::Tied;
