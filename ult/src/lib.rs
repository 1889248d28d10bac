//! User-level threads on kernel-thread workers.
//!
//! `ult` knows stacks, context switches, workers, parking, deques and machine topology. It knows
//! nothing about OpenMP and has no C interface; the `libomp-shim` crate gives OpenMP's meaning to
//! what is here.
//!
//! | room | what lives there |
//! |---|---|
//! | [`sys`] | the processor, the kernel and the C library, one of each; below everything else |
//! | [`stack`] | mapped and pooled stacks with a guard area |
//! | [`fault`] | the handler that turns a stack overflow into a message |
//! | [`exceptions`] | the C++ exception globals that travel with a suspended stack |
//! | [`tls_block`] | the thread-local storage a context runs with: its kernel thread's, or one borrowed from a parked thread |
//! | [`kernel_state`] | what the kernel keeps per thread, kept for each OpenMP thread: processors, name, nice value, processor time |
//! | [`sanitize`] | reports to the program's sanitizers: stacks, and which action comes before which |
//! | [`park`] | how a kernel thread sleeps and is woken |
//! | [`blocks`] | small memory blocks, recycled by the worker that frees them |
//! | [`deque`] | the work-stealing deque |
//! | [`topology`] | which processors may be used, and how they are grouped |
//! | [`worker`] | the record of a kernel thread, ours or the program's
//! | [`pool`] | our own kernel threads, and the hooks at fork and thread end
//! | [`sched`] | what a worker does when the context it runs must wait
//! | [`spawn`] | ULTs that have not started: how a forking context places them
//! | [`gang`] | the tag (gang id, nest level) that workers and ULTs carry, and the order of gangs |
//! | [`victim`] | which worker an idle one steals from |
//! | [`watch`] | which watchers the program has: a sanitizer, a tool, the trace, checks
//! | [`signals`] | signals of the program: each handler runs in the thread that it is meant for |
//! | [`stall`] | the monitor that finds workers which reach no switch point while others wait behind them
//! | [`observer`] | the observer that is notified of the scheduler's events
//! | [`debug`] | where a debugger finds workers and suspended contexts |
//! | [`debug_table`] | all that there is for it |
//! | [`mutants`] | deliberate mistakes for the tests to find; nothing in an ordinary build
pub mod allotment;
pub mod blocks;
pub mod debug;
pub mod debug_table;
pub mod deque;
pub mod exceptions;
pub mod fault;
pub mod gang;
pub mod kernel_state;
pub mod mutants;
pub mod observer;
pub mod park;
pub mod pool;
pub mod sanitize;
pub mod sched;
pub mod signals;
pub mod spawn;
pub mod stack;
pub mod stall;
mod switch;
pub mod sys;
pub mod tls_block;
pub mod topology;
mod ult;
pub mod victim;
pub mod watch;
pub mod worker;
