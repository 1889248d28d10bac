//! The fronts: one thin layer per caller. A front translates arguments and calls [`omp`]; it
//! holds no policy and no scheduling state.
//!
//! | room | caller |
//! |---|---|
//! | [`gomp`] | code compiled by gcc and gfortran |
//! | [`kmpc`] | code compiled by clang, flang, icx |
//! | [`tgt`] | target constructs compiled by clang, flang, icx |
//! | [`process`] | the libgomp that stays mapped behind a preloaded library |
//! | [`debugger`] | a debugger that looks at a process or a core |
//! | [`sched_yield`] | code that waits in a loop of its own |
//! | [`signals`] | code that sets signal handlers and masks |
//! | [`thread`] | code that asks for the number of its thread |
//! | [`affinity`], [`thread_name`], [`thread_clock`], [`kernel_state`] | code that changes, or asks for, what the kernel keeps per thread |
//! | [`fork_handlers`] | code that has something done at each fork |
//! | [`thread_attributes`] | code that asks which stack a thread has |
//! | [`tool`] | tools (OMPT) |
//! | [`api`] | the `omp_*` routines, C and Fortran names |
pub mod affinity;
pub mod api;
pub mod debugger;
pub mod fork_handlers;
pub mod gomp;
pub mod jumps;
pub mod kernel_state;
pub mod kmpc;
mod missing;
pub mod mutexes;
mod next;
pub mod process;
pub mod sched_yield;
pub mod scheduling;
pub mod signal_waits;
pub mod signals;
pub mod tgt;
pub mod thread;
pub mod thread_attributes;
pub mod thread_clock;
pub mod thread_name;
pub mod timers;
pub mod tool;
