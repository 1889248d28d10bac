//! Free agents (OpenMP 6.0 §14.8, §14.14): workers that run tasks of a team without being its
//! threads.
//!
//! What lives here: which tasks free agents may take, the records of a team's agents, and how an
//! agent is called and dismissed. What does not: where ready tasks wait and what an agent finds
//! there ([`super::queue`]), and which worker becomes an agent ([`ult::spawn::offers`]).
//!
//! A task with `threadset(omp_pool)`, a *pool task*, goes into the deque of the thread that made
//! it, like any other task. The thread that queues it offers a ULT to workers that are otherwise
//! idle. This ULT, the agent, runs pool tasks of the team until it finds none; then it ends. Each
//! task has the team of its generating region as its scope. The agent has thread-local storage of
//! its own.
//!
//! No thread waits for an agent to come: threads of the team may run all of these tasks. At the
//! latest they do so where they wait. The end of a region takes back the offers that no worker
//! took, and waits for the agents that are about to end.
//!
//! * An agent is not a thread of the team: `omp_get_thread_num` gives it [`UNASSIGNED`]. It still
//!   has a `Thread`, with a deque for the children of its tasks. Only threads of the team may
//!   take children without the clause; they take them from this deque.
//! * A thread that is alone in its team defers its pool tasks, and no others. An agent of such a
//!   team does the same. It runs other tasks that it makes at once, because thread 0 may wait for a
//!   lock that the agent's task holds. In larger teams such a child waits for a thread of the team
//!   that searches for tasks.
//! * An untied pool task stays on the thread that began it, whether or not that thread is an agent.
//!   The reductions of the task's taskgroups depend on this.
//! * In a taskgroup or region with task reductions no task is a pool task: there is one copy for
//!   each thread of the team.
//!
//! `docs/protocols/task.md` shows why no wait is in vain.
//!
//! Rejected:
//! * Agents as further threads of the team. Programs have arrays with `omp_get_num_threads()`
//!   elements.
//! * A queue of its own for pool tasks. A `taskwait` runs its children from one deque.
//! * Agents that wait for more tasks. An agent that ends makes room for the worker's next work.
//!
//! Other crates use the names that this file exports. Code of this crate names the file that it
//! means.
//!
//! | file | what lives there |
//! |---|---|
//! | `marks` | the marks of agents and of their tasks |
//! | `record` | the record of a team's agents |
//! | `rules` | which tasks are for agents, and reductions in them |
//! | `calls` | how an agent is called, what it does, how agents are dismissed |

pub(crate) mod calls;
pub(crate) mod marks;
pub(crate) mod record;
pub(crate) mod rules;

pub use calls::{AgentCaller, begins, caller, dismiss, ends, enters_deque, leaves_deque};
pub use marks::{UNASSIGNED, is_pool};
pub use record::Agents;
pub use rules::{
    adds_alone, are_wished_for, forget_wish, grant, is_wished, open, permits, reductions_end,
    reductions_open, width, wish,
};
