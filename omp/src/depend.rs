//! Task dependences (OpenMP 5.2 §15.9): the order among the children of one task.
//!
//! What lives here: entering a task with dependences, waiting for dependences, and completing a
//! task. What does not: the queues of ready tasks ([`super::queue`]).
//!
//! **Sets.** Each generating task has a [`DependTable`], which maps an address to *sets*. The tasks
//! of a set name the address with the same kind and need not wait for each other (`in`, `inoutset`,
//! `mutexinoutset`). A task with `out` is a set of its own.
//!
//! A new task joins the current set if both have the same kind and the kind is not `out`. Otherwise
//! the task waits for every member of the current set and begins a new set. If later tasks may join
//! the new set, the set before it becomes its *previous* set. Each task that joins later waits for
//! the previous set, too. The members of a `mutexinoutset` set exclude each other by the mutex of
//! the address.
//!
//! **Nodes.** Only the generating task touches its table, so the table has no lock. A task that
//! completes touches its [`Node`], which has a count of predecessors and a list of successors, both
//! atomic. A node outlives its task as long as the table refers to the node. The time that
//! dependences take grows with the number of edges. Before the storage of a set with eight or more
//! members grows, the set forgets its completed members.
//!
//! **The next task.** The completion of a task can make other tasks ready. The last of these goes
//! to the *run-next slot* of the thread. The others are pushed. First, successors become ready,
//! from the newest to the oldest. After that, the mutexes are handed on, and tasks that get their
//! last mutex become ready. If no task gets its last mutex, the last task to become ready is, as a
//! rule, the successor that was entered first. So that successor goes to the slot. The thread
//! usually starts the task of the slot next, without the deque ([`super::queue::follow`]).
//!
//! Other crates use the names that this file exports. Code of this crate names the file that it
//! means.
//!
//! | file | what lives there |
//! |---|---|
//! | `dependence` | one item of a clause |
//! | `record` | nodes, edges and references |
//! | `entering` | entering a task, waiting for dependences |
//! | `completing` | the completion of a task, and questions about its predecessors |
//! | `table` | sets, and the choice of a new task's predecessors |
//! | `members` | the tasks of a set |
//! | `slots` | where the table keeps the sets of an address, and which addresses it forgets |
//! | `node` | edges, the count of predecessors, completion; tasks that queue work on devices |
//! | `replay` | tasks of a graph that runs again; the graph stores the predecessors of each |
//! | `mutexes` | mutual exclusion among the members of a `mutexinoutset` |

pub(crate) mod completing;
pub(crate) mod dependence;
pub(crate) mod entering;
mod members;
mod mutexes;
mod node;
pub(crate) mod record;
pub(crate) mod replay;
mod slots;
pub(crate) mod table;

pub use completing::{
    before_are_complete, complete, forget_before, have_queued_before, offload_mark, queued, queued_before,
};
pub use dependence::{Dependence, DependenceKind};
pub use entering::{
    has_live_children, is_clear, is_satisfied, leave, submit, wait_and_hold, wait_for, wait_to_run,
};
pub use record::{Edge, Node};
pub use replay::{Links, replay};
pub use table::DependTable;
