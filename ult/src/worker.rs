//! Workers: one record for each kernel thread, both the runtime's own and the program's.
//!
//! What lives here: the record, and what each file below does with some of its fields. What does
//! not: choosing what to run ([`crate::sched`]), and starting and stopping the runtime's kernel
//! threads ([`crate::pool`]).
//!
//! Modules of higher layers use the re-exports of this file. Lower layers, and the files of this
//! module, import from the file that defines the item. So operations depend on records, and not the
//! other way round.
//!
//! | file | what lives there |
//! |---|---|
//! | `record` | the record of a worker |
//! | `role`, `thread_mode` | what a context runs for; what is kept for its OpenMP thread |
//! | `words` | the words of the thread block: how a kernel thread finds its record |
//! | `running` | changes of the running context's role and TLS block |
//! | `host` | the worker that hosts the thread of a TLS block |
//! | `mode` | the floating-point mode of each OpenMP thread |
//! | `wake` | waking a worker, or calling it to its scheduler |
//! | `gate` | which thread may touch the owner's part; standing in for a blocked worker |
//! | `set` | workers to wake together |
//! | `urgency` | what the stall monitor reads about the contexts that wait |
//! | `crowd` | which ULTs may run on a worker, and what waits behind its running code |
//! | `table` | all records by index |
//! | `registry` | records given to kernel threads and taken back; the child of a fork |
//!
//! A record is never freed. A thread that publishes work may wake a worker through a pointer that
//! it read long before; at worst it wakes that worker for nothing. The records of program threads
//! that ended are used again.

pub(crate) mod crowd;
pub(crate) mod gate;
pub(crate) mod host;
pub(crate) mod mode;
pub(crate) mod own;
pub(crate) mod record;
pub(crate) mod registry;
pub(crate) mod role;
pub(crate) mod running;
pub(crate) mod set;
pub(crate) mod table;
pub(crate) mod thread_mode;
pub(crate) mod urgency;
pub(crate) mod wake;
pub(crate) mod words;

pub use crate::pool::program_threads::{on_thread_exit, register_current};
pub use crowd::wait_urgency;
pub use record::Worker;
pub use role::Locals;
pub use running::{Duty, duty, note_place, runs_with_own_storage, set_duty};
pub use set::WorkerSet;
pub use table::{TABLE, any_runs_program_code, totals, use_tls_blocks, uses_tls_blocks};
pub use words::{
    current, locals, locals_of_program, replace_locals, set_locals, stack_of_thread, thread_number,
    tls_block_in_force,
};
