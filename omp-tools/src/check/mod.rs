//! `GANGWAY_CHECK`: reports by name which tasks and calls cannot go on, and reports misuse.
//!
//! | room | what lives there |
//! |---|---|
//! | [`host`] | what the host's OpenMP tells |
//! | [`waits`] | who waits for what in this process |
//! | [`circles`] | tasks that wait for each other: by locks, `mutexinoutset`, `taskwait` and taskgroups |
//! | [`locks`] | who has set which lock: locks unset, set again or destroyed by mistake |
//! | [`sync_points`] | threads of one team that wait in different places |
//! | [`events`] | events of detachable tasks that are never fulfilled |
//! | [`standstills`] | workers that stand still for long, and threads that wait for them |
//! | [`reports`] | lines about misuse, each once per place |
//! | [`place`], [`symbols`] | where in the program a call stands, and names of functions |
//! | [`thing`] | what can be waited for, and what a rank says of itself |
//! | [`words`] | the same for people |
//! | [`rounds`] | looks at all ranks |
//! | [`ranks`] | what the ranks are asked |
//! | [`stuck`], [`verdict`] | what follows from that |
//!
//! What may not live here: anything that waits or wakes. Code that is about to wait says so here
//! first, and goes on without asking; without the variable that costs a load. Nor anything that
//! knows how ranks talk to each other: that is `remote::check`, by way of [`ranks`].
//!
//! *What is found.* A **cycle**: waits each of which needs something that comes about only when the
//! next one is over, and the code that waits has ended: values of functions, trays, objects that
//! others use. So none of them ever goes on, whatever else runs. Where the waits need MPI's
//! messages, any code of the other rank might send them. Such a cycle is reported when both ranks
//! have been still for some looks. And a **stop of all ranks**: no rank runs any code of the
//! program, no message and no copy is under way, and code waits. Three looks half a second apart
//! must find this. Kernel threads that have nothing to do with OpenMP are not seen. One of them may
//! set a future, or make a condition true. So the line says what the runtime knows, and the program
//! is not ended.
//!
//! *Who looks.* A kernel thread of rank 0 asks all ranks every half a second. A process without
//! ranks asks itself.
//!
//! Rejected:
//! * Probes that travel along the edges (Chandy, Misra and Haas 1983): they find cycles without a
//!   rank that knows all. They find nothing where a future is simply forgotten, the usual mistake.
//! * A watch in each rank that reports long waits: most are no mistake.

pub mod circles;
pub mod events;
pub mod host;
pub mod locks;
pub mod place;
pub mod ranks;
pub mod reports;
pub mod rounds;
pub mod standstills;
pub mod stuck;
pub mod symbols;
pub mod sync_points;
pub mod thing;
pub mod verdict;
pub mod waits;
pub mod words;

use omp::extension::check::{is_active, is_on};

/// Is misuse noted? Not in the child of a fork: it has the notes of threads that do not exist
/// there, and perhaps a lock that one of them held.
pub fn is_noted() -> bool {
    is_active() && ult::sys::fork::generation() == 0
}
