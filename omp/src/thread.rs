//! An OpenMP thread: one member of one team, and how running code finds its thread and task.
//!
//! What lives here: [`Thread`], and [`CurrentThread`], the pair (thread, task) of the running
//! context. What does not: forking and joining ([`super::parallel`]), and tasks ([`super::task`]).
//!
//! When regions nest, a kernel thread hosts several `Thread`s at once. For example, thread 3 of the
//! outer team is also thread 0 of the inner team that it forked. The first local word of the
//! running context points to the thread that is running.
//!
//! Invariant **own thread only**: the data in [`ThreadOwn`] are touched only by code that runs in the
//! name of that thread. All such code runs on the one kernel thread that hosts it. The token
//! [`OwnThread`] stands for it.
//!
//! Other crates use the names that this file exports. Code of this crate names the file that it
//! means.
//!
//! | file | what lives there |
//! |---|---|
//! | `record` | the record of a thread |
//! | `own` | the part of it that only the thread itself touches |
//! | `current` | the thread and the task of the running code |

pub(crate) mod current;
pub(crate) mod own;
pub(crate) mod record;

pub use current::{CurrentThread, OwnThread};
pub use own::{Pushed, ThreadOwn};
pub use record::{ENTRIES, Thread};
