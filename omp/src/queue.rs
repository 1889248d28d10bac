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
//! Other threads take from an inbox only in these cases:
//!
//! * in the last search before they sleep;
//! * in each 64th search in vain of the other thread, or in each 16th if both threads are on one
//!   memory node ([`super::affinity::hint`]); the first search counts as one of these;
//! * in a rare search for tasks without a priority ([`search`]);
//! * in the child of a fork(2).
//!
//! The team queue has a part of its own for the tasks that free agents may run.
//!
//! These tasks go to the team queue:
//!
//! * tasks with a `priority`;
//! * tasks that a thread outside the team has made ready;
//! * tasks that a thread has taken from an inbox, or from the deque of another thread, and may not
//!   start;
//! * the tasks of a thread's own deque that the thread may not start: before it sleeps, at every
//!   1024th search in vain, and when a free agent finds no other task;
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
//! count. If each suspended tied task was started under the constraint, they form a chain of
//! ancestry. So one question is enough: does the candidate descend from the newest of them?
//!
//! There is one exception. A thread is *loose* while one of its tasks waits for a condition that
//! may depend on any other task ([`super::outside`]). A loose thread may start any task, so its
//! suspended tied tasks need not form a chain. A tied task that ends need not be the newest one
//! then. When the thread is no longer loose, it asks the same question again, about the newest tied
//! task that is left.
//!
//! If a thread has stolen a task that it may not start, it puts the task in the team queue. There
//! every thread can check a task before it takes the task. A task that a thread has popped from its
//! own deque, and may not start, goes back to that deque. Before the thread sleeps, such tasks move
//! to the team queue.
//!
//! **Why no deadlock follows.** Let S be the newest suspended explicit tied task of a thread, and
//! let S wait for a descendant D. These are the cases:
//!
//! * D is running.
//! * D is queued. This thread may start D, with two exceptions. First, a thread that is alone in
//!   its team may have to wait until a device has answered one of its tasks (`find::has_its_fill`).
//!   The device's answer ends this. Second, a free agent starts only tasks that free agents may
//!   run. Any other D is started by a member of the team. The second exception does not concern
//!   members. So every wait of a member ends, by this argument without the second exception, and
//!   each member comes to the end of its tied tasks. Then the member may start any task, D as well
//!   (`docs/protocols/task.md`, *Free agents*).
//! * D is tied and suspended on another thread. Let T be the newest suspended tied task of that
//!   thread. If the suspended tied tasks of that thread form a chain of ancestry, T is D or a
//!   descendant of D, hence deeper than S. The argument is repeated with T in the place of S. If
//!   they form no chain, because the thread is or was loose, D is treated as in the next case.
//! * D is untied and suspended, on any thread. If D waits for a descendant E, then E descends from
//!   S, too. The argument is repeated with E, which is deeper than D, in the place of D. If D has
//!   only yielded, its worker resumes it. Compilers divide untied tasks into parts; a task between
//!   two of its parts is queued, not suspended.
//! * D waits for an event from outside. That is a condition that may depend on any other task (see
//!   *loose* above). Or D is detachable, its body has ended, and its own event has not come. Then D
//!   completes only if that event comes. A thread whose
//!   task waits for such a condition is loose as a rule, so it may start each task on which the
//!   condition depends.
//! * D is not ready, because it waits for siblings ([`super::depend`]). The siblings descend from
//!   S, too. The argument is repeated with such a sibling in the place of D.
//!
//! Each repetition reaches a deeper task, or a sibling. The depth of a task is finite, and the
//! waits among siblings form no circle. So the argument ends at a task that is running, that a
//! thread may start, or that waits for an event from outside.
//!
//! A waiting member of the team reaches every queue, unless it may start no task now (the first
//! exception above). It steals from the deques and inboxes of other threads. Before a thread
//! sleeps, it moves tasks of its own deque to the team queue: those that it may not start.
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
//! | `search` | the search for a task that a thread may start, stealing |
//! | `run_next` | the task that a thread starts next |
//! | `find` | tasks for the scheduler, while a thread waits |
//! | `throttle` | when a thread that makes tasks runs some itself |
//! | `grain` | whether a thread's tasks are short |

pub(crate) mod find;
pub(crate) mod grain;
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
    run_all, run_in_place, run_some, throttle, update_saturated,
};
