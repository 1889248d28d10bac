//! `GANGWAY_CHECK`: programs that cannot go on, told by name.
//!
//! What lives here: who waits for what in this process ([`waits`]), what ranks tell each other of it ([`rounds`]), and what follows from that
//! ([`verdict`]). What may not: anything that waits or wakes. Whoever waits says so here before, and goes on without asking; without the variable that costs a load.
//!
//! *What is found.* A **cycle**: functions each of which waits for the value of the next; only a function's end sets its value, so none of them ever
//! goes on, whatever else runs. And **nobody**: no rank runs any code of the program, no message and no copy is under way, and somebody waits, in three
//! looks half a second apart. Kernel threads that have nothing to do with OpenMP are not seen: one of them may set a future, or make a condition true, so the
//! line says what the runtime knows, and the program is not ended.
//!
//! *Who looks.* A kernel thread of rank 0 asks all ranks every half a second. A process without ranks asks itself.
//!
//! Rejected: probes that travel along the edges (Chandy, Misra and Haas 1983), which find cycles without a rank that knows all, but nothing where a future
//! is simply forgotten, the usual mistake; a watch in each rank that tells of long waits (most are no mistake).

pub mod rounds;
pub mod verdict;
pub mod waits;

use super::env;

/// Is `GANGWAY_CHECK` set?
pub fn is_on() -> bool {
    env::settings().check
}
