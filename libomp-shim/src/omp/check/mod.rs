//! `GANGWAY_CHECK`: programs that cannot go on, told by name.
//!
//! | room | what lives there |
//! |---|---|
//! | [`waits`] | who waits for what in this process |
//! | [`thing`] | what can be waited for, as ranks tell each other |
//! | [`words`] | the same for people |
//! | [`rounds`], [`wire`] | looks at all ranks; their messages |
//! | [`stuck`], [`verdict`] | what follows from that |
//!
//! What may not live here: anything that waits or wakes. Whoever waits says so here before, and goes on without asking; without the variable that costs a load. What persistent tasks
//! and objects have been asked and cannot begin they say themselves (`persistent::stuck`, `remote::object::stuck`).
//!
//! *What is found.* A **cycle**: waits each of which needs something that comes about only when the next one is over, and the code that waits has ended: values of functions, trays,
//! objects that others use. So none of them ever goes on, whatever else runs. Where MPI's messages are among what is needed any code of the other rank might send them; such a cycle is told
//! when both ranks have been still for some looks. And **nobody**: no rank runs any code of the program, no message and no copy is under way, and somebody waits, in three
//! looks half a second apart. Kernel threads that have nothing to do with OpenMP are not seen: one of them may set a future, or make a condition true, so the
//! line says what the runtime knows, and the program is not ended.
//!
//! *Who looks.* A kernel thread of rank 0 asks all ranks every half a second. A process without ranks asks itself.
//!
//! Rejected: probes that travel along the edges (Chandy, Misra and Haas 1983), which find cycles without a rank that knows all, but nothing where a future
//! is simply forgotten, the usual mistake; a watch in each rank that tells of long waits (most are no mistake).

pub mod rounds;
pub mod stuck;
pub mod thing;
pub mod verdict;
pub mod waits;
pub mod wire;
pub mod words;

use super::env;

/// Is `GANGWAY_CHECK` set?
pub fn is_on() -> bool {
    env::settings().check
}
