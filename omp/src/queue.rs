//! Queues of ready tasks, and the search for a task that a waiting thread may start.
//!
//! What lives here: pushing a ready task, searching, stealing, and throttling. What does not: the
//! order of the tasks in the team queue ([`super::team_queue`]), and how a task runs
//! ([`super::task`]).
//!
//! | queue | owner | order |
//! |---|---|---|
//! | deque | one thread; other threads steal | newest first for the owner, oldest first for thieves |
//! | inbox ([`super::affinity::hint`]) | one thread; other threads seldom take | oldest first |
//! | team queue | the team, under a lock | by priority, then oldest first |
//!
//! A thread's inbox holds tasks whose `affinity` clause names data that this thread used last.
//! Other threads take from an inbox only in these cases: before they sleep, after many searches in
//! vain, in a rare search for tasks without a priority ([`search`]), and in the child of a fork(2).
//! The team queue has a part of its own for the tasks that free agents may run.
//!
//! These tasks go to the team queue:
//!
//! * tasks with a `priority`;
//! * tasks that a thread outside the team has made ready;
//! * tasks that a thread has taken from an inbox, or from the deque of another thread, and may not
//!   start;
//! * the tasks of a thread's own deque that the thread may not start: before it sleeps, after many
//!   searches in vain, and when a free agent finds no other task;
//! * a task that a waiting member takes at the end of a region, if the task belongs to a newer
//!   region ([`find_after`]);
//! * the tasks in the deque of a free agent that ends.
//!
//! **The order of a search.** A member of the team searches in this order: tasks with a priority,
//! its own inbox, its own deque, the rest of the team queue, other deques, other inboxes. A free
//! agent searches its own deque, the agents' part of the team queue, and other deques.
//!
//! **The task scheduling constraint** (5.2 §12.9). A thread may start a new tied task only if the
//! task descends from every explicit tied task that the thread has suspended. Implicit tasks never
//! count. The suspended tied tasks form a chain of ancestry, because each one was started under the
//! constraint. So one question is enough: does the candidate descend from the newest of them? There
//! is one exception: a task of the thread may wait for a condition that may depend on any other
//! task. Meanwhile the constraint does not bind the thread ([`super::outside`]).
//!
//! If a thread has stolen a task that it may not start, it puts the task in the team queue. There
//! every thread can check a task before it takes the task. A task that a thread has popped from its
//! own deque, and may not start, goes back to that deque. Before the thread sleeps, such tasks move
//! to the team queue.
//!
//! **Why no deadlock follows.** Let S be the newest suspended explicit tied task of a thread, and
//! let S wait for a descendant D. There are five cases:
//!
//! * D is running.
//! * D is queued. This thread may start D, with one exception: a free agent starts only tasks that
//!   free agents may run. A D that free agents may not run is started by a member of the team. The
//!   exception does not concern members, so every wait of a member ends, and each member comes to
//!   the end of its tied tasks. Then it may start any task (`docs/protocols/task.md`, *Free
//!   agents*).
//! * D is tied and suspended on another thread. Let T be the newest suspended tied task of that
//!   thread. The suspended tied tasks of that thread form a chain of ancestry, and D is one of
//!   them. So T is D or a descendant of D, hence deeper than S. The argument is repeated with T in
//!   the place of S.
//! * D is untied and suspended, on any thread. If D waits for a descendant E, then E descends from
//!   S, too. The argument is repeated with E, which is deeper than D, in the place of D. If D has
//!   only yielded, its worker resumes it. Compilers divide untied tasks into parts; a task between
//!   two of its parts is queued, not suspended.
//! * D is not ready, because it waits for siblings ([`super::depend`]). These descend from S, too.
//!   The argument is repeated with such a sibling in the place of D.
//!
//! Each repetition reaches a deeper task, or a sibling. The depth of a task is finite, and the
//! waits among siblings form no circle. So the argument ends at a task that is running, or that a
//! thread may start.
//!
//! Every waiting member of the team reaches every queue. It steals from the deques and inboxes of
//! other threads. Before a thread sleeps, it moves tasks of its own deque to the team queue: those
//! that it may not start.
//!
//! Sleeping threads are woken for each task in the team queue. The thread that puts a task there
//! wakes one sleeper or all of them. If the one woken sleeper may not start the task, that sleeper
//! wakes all others.
//!
//! Other crates use the names that this file exports. Code of this crate names the file that it
//! means.
//!
//! | file | what lives there |
//! |---|---|
//! | `push` | making a ready task available |
//! | `rules` | which tasks a thread may start |
//! | `search` | the search for one, stealing |
//! | `run_next` | the task that a thread starts next |
//! | `find` | tasks for the scheduler, while a thread waits |
//! | `throttle` | when a thread that makes tasks runs some itself |

pub(crate) mod find;
pub(crate) mod push;
pub(crate) mod rules;
pub(crate) mod run_next;
pub(crate) mod search;
pub(crate) mod throttle;

pub use super::team_queue::TeamQueue;
pub use find::{begin, find, find_after};
pub use push::{push, push_foreign};
pub use run_next::{follow, follow_late, push_ready};
pub use search::{end_help, help_number, next_in_place};
pub use throttle::{
    CHILDREN_IN_SMALL_TEAM, CHILDREN_PER_THREAD, DEQUE_TASKS, is_saturated, leave_nothing, make_room,
    run_all, run_in_place, run_some, stays_saturated, throttle,
};
