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
//! Other threads take from an inbox only before they sleep, after many searches in vain, or in the
//! child of a fork(2). The team queue has a part of its own for the tasks that free agents may run.
//!
//! Five kinds of tasks go to the team queue:
//!
//! * tasks with a `priority`;
//! * tasks that a thread outside the team has made ready;
//! * tasks that a thread has taken from an inbox, or from the deque of another thread, and may not
//!   start;
//! * before a thread sleeps, and after many searches in vain: the tasks of its own deque that it
//!   may not start;
//! * the tasks in the deque of a free agent that ends.
//!
//! **The order of a search.** A member of the team searches in this order: tasks with a priority,
//! its own inbox, its own deque, the rest of the team queue, other deques, other inboxes. A free
//! agent searches its own deque, the agents' part of the team queue, and other deques.
//!
//! **The task scheduling constraint** (5.2 §12.9). A thread may start a new tied task only if the
//! task descends from every tied task that the thread has suspended. (Tasks suspended in a barrier
//! do not count.) The suspended tied tasks form a chain of ancestry, because each one was started
//! under the constraint. So one question is enough: does the candidate descend from the newest of
//! them? There is one exception: a task of the thread may wait for a condition that may depend on
//! any other task. Meanwhile the constraint does not bind the thread ([`super::outside`]).
//!
//! If a thread has stolen a task that it may not start, it puts the task in the team queue. There
//! every thread can check a task before it takes the task. A task that a thread has popped from its
//! own deque, and may not start, goes back to that deque. Before the thread sleeps, such tasks move
//! to the team queue.
//!
//! **Why no deadlock follows.** Let S be the newest suspended tied task of a thread, and let S wait
//! for a descendant D. There are five cases:
//!
//! * D is running.
//! * D is queued. This thread may start D.
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
//! Every waiting thread reaches every queue. It steals from the deques of other threads. Before a
//! thread sleeps, it moves those tasks of its own deque that it may not start to the team queue.
//!
//! Sleeping threads are woken for each task in the team queue. The thread that puts a task there
//! wakes one sleeper or all of them. If the one woken sleeper may not start the task, that sleeper
//! wakes all others.
//!
//! *Own thread only* in a SAFETY comment means: the code acts for `thread`, and runs on the kernel
//! thread that hosts `thread`. So no other code touches the thread's own fields at the same time
//! ([`super::thread`]).

use core::ptr::NonNull;

use ult::deque::Steal;
use ult::sched::{Job, SearchScope, Wait};

use super::affinity::hint;
use super::agents::{self, AgentCaller};
use super::env;
use super::extension::offload;
use super::extension::tools;
use super::outside;
use super::stats;
use super::task::{self, Task, TaskFlags};
use super::team::Team;
use super::team_queue::TeamQueueSearch;
use super::thread::{CurrentThread, Thread};

mod run_next;

pub use super::team_queue::TeamQueue;
pub use run_next::{follow, follows_late, push_ready};

/// Number of ready tasks in a thread's deque at which throttling begins ([`throttle`]). The thread
/// then runs each new task at once, or it runs some of the queued tasks. Chosen: such a deque keeps
/// many thieves busy, and its tasks take little memory; any value from 128 to 512 will do.
pub const DEQUE_TASKS: usize = 256;

/// Makes a ready task available to the team of `thread`, which is the running thread.
pub fn push(thread: &Thread, task: NonNull<Task>) {
    let team = thread.team();
    // SAFETY: the task belongs to the caller until it is pushed.
    let (priority, affinity) = unsafe { (task.as_ref().priority(), task.as_ref().affinity()) };
    if priority > 0 {
        team.team_queue().put(task, false);
    } else if affinity != 0 && push_specially(thread, task, affinity) {
        return;
    } else {
        // SAFETY: own thread only: code that acts for the thread is the owner of the deque.
        unsafe { thread.deque.push(task) };
    }
    team.wake_one();
}

/// Pushes a ready task that free agents may run, or that names data in an `affinity` clause.
/// Returns false, and does nothing, if the task is to be pushed like any other task.
#[cold]
fn push_specially(thread: &Thread, task: NonNull<Task>, affinity: u32) -> bool {
    let team = thread.team();
    if !agents::is_pool(affinity) {
        return hint::offer(team, task);
    }
    let caller = agents::caller(team);
    // SAFETY: the task belongs to the caller until it is pushed; own thread only, as in `push`.
    unsafe {
        agents::enters_deque(team, task.as_ref());
        thread.deque.push(task);
    }
    team.wake_one();
    if let Some(caller) = caller {
        caller.call();
    }
    true
}

/// Puts a ready task into the team queue, and wakes all sleeping threads. The task either became
/// ready through a thread outside the team, or the calling thread has taken it and may not start
/// it.
pub fn push_foreign(team: &Team, task: NonNull<Task>) {
    let mut moving = Moving::to_team_queue_of(team);
    moving.put(task);
    moving.notify();
}

/// Ready tasks that move to the team queue together. All sleeping threads are woken once for them.
struct Moving<'a> {
    team: &'a Team,
    any: bool,
    /// Calls a free agent, if free agents may run some of the tasks.
    caller: Option<AgentCaller<'a>>,
}

impl<'a> Moving<'a> {
    #[inline]
    fn to_team_queue_of(team: &'a Team) -> Self {
        Self { team, any: false, caller: None }
    }

    /// Moves one task, which belongs to the caller.
    fn put(&mut self, task: NonNull<Task>) {
        // SAFETY: the task belongs to the caller.
        let its = unsafe { task.as_ref() };
        if agents::is_pool(its.affinity()) && its.priority() == 0 {
            agents::leaves_deque(its);
            self.caller = self.caller.take().or_else(|| agents::caller(self.team));
        }
        self.team.team_queue().put(task, true);
        self.any = true;
    }

    #[inline]
    fn notify(self) {
        if self.any {
            self.team.wake_all();
        }
        if let Some(caller) = self.caller {
            caller.call();
        }
    }
}

/// Returns the newest tied task that `thread` has begun and not ended. Returns `None` if there is
/// none. Also returns `None` while a task of the thread waits for a condition that may depend on
/// any other task ([`outside::is_loose`]). Then the task scheduling constraint does not bind the
/// thread.
fn newest_tied(thread: &Thread) -> Option<&Task> {
    if outside::is_loose(thread) {
        return None;
    }
    // SAFETY: own thread only: `find` acts for the thread, on the thread's kernel thread.
    let newest = unsafe { thread.own() }.tied.last().copied();
    // SAFETY: a tied task that has begun is alive.
    newest.map(|t| unsafe { &*t })
}

/// Returns true if `thread` may start `task` now. A free agent starts only tasks that free agents
/// may run.
fn allowed(thread: &Thread, task: &Task) -> bool {
    if thread.is_agent() && !task.flags().has(TaskFlags::POOL) && !ult::mutant!(agents_take_any) {
        return false;
    }
    ult::mutant!(tied_constraint_ignored)
        || task.flags().has(TaskFlags::UNTIED)
        || newest_tied(thread).is_none_or(|newest| task.descends_from(newest))
}

/// Finds a task that `thread`, which waits at a task scheduling point, may start. When that task
/// has ended, the thread may take further tasks for the same wait without a new call
/// ([`next_in_place`]). Each of them requires that `more` returns true. After [`end_help`] the
/// thread takes no more.
pub fn find(thread: &Thread, scope: SearchScope, more: &dyn Fn() -> bool) -> Option<Job> {
    if has_its_fill(thread) {
        return None;
    }
    find_task(thread, scope).map(|task| begin(thread, task, more))
}

/// Makes a job of `task`, which `thread` has taken and may start while it waits. `more` has the
/// same meaning as in [`find`].
pub fn begin(thread: &Thread, task: NonNull<Task>, more: &dyn Fn() -> bool) -> Job {
    // SAFETY: only the lifetime is erased; `end_help` forgets the pointer before the closure ends.
    let more = unsafe {
        core::mem::transmute::<*const (dyn Fn() -> bool + '_), *const (dyn Fn() -> bool + 'static)>(more)
    };
    // SAFETY: own thread only.
    let helping = unsafe { &mut thread.own().helping };
    *helping = (helping.0.wrapping_add(1), Some(more));
    task::job(thread, task)
}

/// Returns true if `thread` is alone in its team and must start no task now. There are two such
/// cases:
///
/// * A task of the thread waits for a device, and the limit on such tasks is reached. The limit
///   counts the tasks of all teams. It does not bind a thread that has no task waiting for a
///   device. If it bound such a thread, too, a deadlock could follow: an operation in a device's
///   queue may wait for a task that only this thread can start.
/// * A target construct of the thread adds to the thread's copies of reduction items. These are
///   copied to the device and back. A task that started meanwhile could add to the same copies on
///   the host.
fn has_its_fill(thread: &Thread) -> bool {
    if thread.team().size() != 1 {
        return false;
    }
    // SAFETY: own thread only.
    let own = unsafe { thread.own() };
    own.reduces != 0 || own.at_devices != 0 && !offload::has_room()
}

/// Ends the wait for which [`find`] has found tasks.
pub fn end_help(thread: &Thread) {
    // SAFETY: own thread only.
    let helping = unsafe { &mut thread.own().helping };
    *helping = (helping.0.wrapping_add(1), None);
}

/// Returns the number of the latest [`find`]. The number changes with each task that [`find`]
/// finds, and when a wait ends. So if two calls return the same number, the wait that lasted at the
/// first call still lasts at the second.
pub fn help_number(thread: &Thread) -> u32 {
    // SAFETY: own thread only.
    unsafe { thread.own().helping.0 }
}

/// Takes one more task for a wait, after a task that was found for this wait has ended. `number` is
/// the [`help_number`] of that find. This avoids the way through the scheduler, which costs several
/// times as much as a small task.
///
/// Returns `None` if the wait is over, another context waits for this worker, a pass through the
/// scheduler is due ([`ult::sched::may_go_on_in_place`]), or no task is found.
///
/// The number changes when [`find`] finds a task, and when a wait ends. So if `number` is still the
/// current number, neither has happened since. Hence the waiting context is still suspended on this
/// worker, and its closure is alive.
pub fn next_in_place(thread: &Thread, number: u32) -> Option<NonNull<Task>> {
    // SAFETY: own thread only.
    let helping = unsafe { thread.own().helping };
    let more = helping.1.filter(|_| helping.0 == number)?;
    if !ult::sched::may_go_on_in_place(thread.team().sleepers()) {
        return None;
    }
    // SAFETY: the closure is alive, as the comment of this function says.
    if !unsafe { (*more)() } {
        return None;
    }
    near(thread).or_else(|| steal(thread, true))
}

/// [`find`] for a member that has done its part of a region, and waits for the end of that region
/// or for the team's next one. `epoch` is the number of that region in this team. The member may
/// run tasks of that region only, because its thread number may not exist in the next one.
pub fn find_after(thread: &Thread, scope: SearchScope, epoch: u64) -> Option<Job> {
    if thread.team().epoch() != epoch {
        return None; // the team runs another region, of which this thread may be no part
    }
    if scope == SearchScope::Peek {
        let is_any = thread.team().has_used_tasks() && thread.team().has_ready_tasks();
        return is_any.then_some(Job { run: no_job, data: core::ptr::null_mut() });
    }
    let task = find_task(thread, scope)?;
    // The forking thread stores the epoch of a region before a task of that region becomes visible.
    // So if `task` belongs to a newer region, this load does not return `epoch`.
    if thread.team().epoch() == epoch {
        return Some(task::late_job(thread, task));
    }
    push_foreign(thread.team(), task);
    None
}

unsafe fn no_job(_: *mut ()) {}

fn find_task(thread: &Thread, scope: SearchScope) -> Option<NonNull<Task>> {
    if !thread.team().has_used_tasks() {
        return None;
    }
    match scope {
        SearchScope::Own => near(thread),
        SearchScope::Steal => far(thread, true),
        SearchScope::BeforeSleep => near(thread).or_else(|| far(thread, false)).or_else(|| clear_out(thread)),
        SearchScope::Peek => None,
    }
}

/// Takes a task from the thread's own deque or inbox, or from the team queue.
fn near(thread: &Thread) -> Option<NonNull<Task>> {
    if thread.is_agent() {
        return own(thread).or_else(|| for_agents(thread));
    }
    if !thread.team().team_queue().has_nothing_urgent()
        && let Some(task) = instead_of_the_same(thread).or_else(|| urgent(thread))
    {
        return Some(task);
    }
    near_without_priority(thread)
}

fn near_without_priority(thread: &Thread) -> Option<NonNull<Task>> {
    let hint = hint::own(thread).and_then(|task| hinted(thread, task));
    hint.or_else(|| own(thread))
        .or_else(|| taken(thread, thread.team().team_queue().take_rest(newest_tied(thread))))
        .or_else(|| for_agents(thread))
}

/// Takes from the team queue a task that free agents may run.
#[inline]
fn for_agents(thread: &Thread) -> Option<NonNull<Task>> {
    let team_queue = thread.team().team_queue();
    if team_queue.has_nothing_for_agents() {
        return None;
    }
    let newest = newest_tied(thread);
    // SAFETY: own thread only; `take_pool` calls nothing that waits.
    taken(thread, team_queue.take_pool(newest, &mut unsafe { thread.own() }.seen))
}

/// Number of resumed tasks after which one search of the thread prefers tasks without a priority. A
/// task counts as resumed if it has a priority, and had already begun when the thread took it from
/// the team queue. Chosen: one such search costs little beside 16 resumed tasks; any value from 8
/// to 32 will do.
const RESUMED_TASKS_PER_SEARCH: u32 = 16;

fn urgent(thread: &Thread) -> Option<NonNull<Task>> {
    let task = taken(thread, thread.team().team_queue().take_urgent(newest_tied(thread)))?;
    // SAFETY: a task taken from the team queue belongs to this thread.
    if unsafe { task.as_ref() }.flags().has(TaskFlags::BEGUN) {
        // SAFETY: own thread only.
        unsafe { thread.own() }.resumed += 1;
    }
    Some(task)
}

/// Searches for a task without a priority, if the thread has resumed [`RESUMED_TASKS_PER_SEARCH`]
/// tasks since this function searched last. Otherwise returns `None`.
///
/// clang divides untied tasks into parts. An untied task with a priority is put into the team queue
/// again after each part. If such a task polls for the result of a task without a priority, each
/// search would take the polling task again. The task without a priority would never start.
fn instead_of_the_same(thread: &Thread) -> Option<NonNull<Task>> {
    // SAFETY: own thread only.
    let resumed = &mut unsafe { thread.own() }.resumed;
    if *resumed < RESUMED_TASKS_PER_SEARCH {
        return None;
    }
    *resumed = 0;
    near_without_priority(thread).or_else(|| far(thread, false))
}

/// Returns the task that a search of the team queue found, and wakes sleepers if necessary. A new
/// task wakes one sleeper. If that thread may not start the task and passes over it, the other
/// sleepers have to search.
fn taken(thread: &Thread, found: TeamQueueSearch) -> Option<NonNull<Task>> {
    if found.passed_over {
        thread.team().wake_all();
    }
    found.task
}

/// Takes a task from the deques and inboxes of other threads. `patient` has the same meaning as in
/// [`steal`].
fn far(thread: &Thread, patient: bool) -> Option<NonNull<Task>> {
    if thread.is_agent() {
        let in_vain = || clear_out(thread).or_else(|| steal_as_agent(thread, false));
        return steal_as_agent(thread, patient)
            .or_else(|| if looks_in_vain(thread) { in_vain() } else { None });
    }
    steal(thread, patient)
        // SAFETY: own thread only.
        .or_else(|| hinted(thread, hint::steal(thread, unsafe { thread.own() }.looks, !patient)?))
        .or_else(|| {
            if looks_in_vain(thread) { clear_out(thread).or_else(|| steal(thread, false)) } else { None }
        })
}

/// Returns a task from an inbox if the thread may start it; otherwise moves the task to the team
/// queue.
fn hinted(thread: &Thread, task: NonNull<Task>) -> Option<NonNull<Task>> {
    // SAFETY: a task taken from an inbox belongs to this thread.
    if allowed(thread, unsafe { task.as_ref() }) {
        return Some(task);
    }
    push_foreign(thread.team(), task);
    None
}

/// Number of searches in vain after which a thread clears out its deque and searches all other
/// deques. A thread that never sleeps (an active wait policy) needs this. Chosen: such a search is
/// rare enough to cost little; any value from 256 to 4096 will do.
const LOOKS_BEFORE_CLEAR_OUT: u32 = 1024;

/// Counts one more search in vain. Returns true at every [`LOOKS_BEFORE_CLEAR_OUT`]th one. Then the
/// thread clears out its deque ([`clear_out`]), as before a sleep.
fn looks_in_vain(thread: &Thread) -> bool {
    // SAFETY: own thread only.
    let own = unsafe { thread.own() };
    own.looks = own.looks.wrapping_add(1);
    own.looks.is_multiple_of(LOOKS_BEFORE_CLEAR_OUT)
}

/// Takes the newest task of the thread's own deque, if the thread may start it. Otherwise the task
/// stays in the deque.
fn own(thread: &Thread) -> Option<NonNull<Task>> {
    // For the owner, `is_empty` is true only if the deque has no task: the owner sees all its
    // pushes. While it does not see the latest steals, the deque seems longer than it is, never
    // shorter.
    if thread.deque.is_empty() {
        return None;
    }
    // SAFETY: own thread only; a popped task belongs to this thread.
    unsafe {
        let task = thread.deque.pop()?;
        if allowed(thread, task.as_ref()) {
            return Some(task);
        }
        put_back(thread, task);
    }
    None
}

/// Runs the newest ready tasks of the thread's own deque by plain calls, while the running task
/// waits for the tasks that satisfy `mine`. `done` returns true when all these tasks are complete.
/// The function returns in the following cases, so the caller must check `done` again:
///
/// * `done` returns true;
/// * the newest task does not satisfy `mine`, or this thread may not start it, or the deque is
///   empty;
/// * tasks with a priority are ready;
/// * another context waits for this worker, or a pass through the scheduler is due
///   ([`ult::sched::may_go_on_in_place`]);
/// * nested tasks have used much of the stack.
///
/// A task that runs here may block this stack. That does no harm: the waiting task needs that task
/// anyway.
pub fn run_in_place(here: CurrentThread, done: impl Fn() -> bool, mine: impl Fn(&Task) -> bool) {
    let team = here.thread.team();
    while !done()
        && !task::is_deep(here)
        && team.team_queue().has_nothing_urgent()
        && ult::sched::may_go_on_in_place(team.sleepers())
    {
        // SAFETY: own thread only; a popped task belongs to this thread.
        let Some(task) = (unsafe { here.thread.deque.pop() }) else { return };
        // SAFETY: as above.
        let its = unsafe { task.as_ref() };
        if !mine(its) || !allowed(here.thread, its) {
            put_back(here.thread, task);
            return;
        }
        // SAFETY: as above, only this thread has the task. A task in a deque is ready and belongs
        // to the team, and `allowed` says that this thread may start it.
        unsafe { task::run_taken(here, task) };
    }
}

/// Undoes a `pop` of the thread's own deque.
fn put_back(thread: &Thread, task: NonNull<Task>) {
    // SAFETY: own thread only; the task belongs to the caller.
    unsafe { thread.deque.push(task) };
    // Between the pop and the push, another thread may have made the last search before its sleep.
    // That thread saw an empty deque.
    thread.team().wake_one();
}

/// A lone task is the only task of a deque. A thief that finds only lone tasks leaves them to their
/// owners at first. The thief counts the searches in a row that find only lone tasks. When this
/// count reaches the constant, the present search takes a lone task, and the count begins anew.
/// The owner usually starts a lone task sooner than a thief could: for example, the owner
/// makes one task and then reaches a `taskwait`. Chosen: within so many searches the owner usually
/// starts the task; any value from 3 to 8 will do.
const LOOKS_AT_LONE_TASK: u32 = 4;

/// Number of threads above which a team is large. In a large team a thread searches
/// [`VICTIMS_IN_LARGE_TEAM`] deques between two jobs, and all deques before it sleeps. Chosen: a
/// large machine has about this number of processors; any value from 128 to 512 will do.
const LARGE_TEAM_THREADS: u32 = 256;

/// Number of deques that one search between two jobs looks at in a large team. Chosen: to look at
/// 64 deques takes about half a microsecond, the time of a short task; any value from 32 to 128
/// will do.
const VICTIMS_IN_LARGE_TEAM: u32 = 64;

/// Takes the oldest task of another thread's deque. A `patient` search leaves a lone task to its
/// owner. If several searches in a row have left a lone task, the next search takes such a task
/// ([`LOOKS_AT_LONE_TASK`]).
///
/// In a large team, a `patient` search looks at some deques only, and begins at another deque each
/// time. It also takes lone tasks, because the thread would not come back to the same task soon.
fn steal(thread: &Thread, patient: bool) -> Option<NonNull<Task>> {
    let team = thread.team();
    let size = team.size();
    if thread.is_agent() {
        return steal_as_agent(thread, patient);
    }
    if size < 2 {
        return steal_from_agents(thread);
    }
    let start = first_victim(thread, team, size);
    // SAFETY: own thread only.
    let looks = unsafe { thread.own() }.spared + 1;
    let samples_deques = patient && size > LARGE_TEAM_THREADS;
    let spares = patient && !samples_deques && looks < LOOKS_AT_LONE_TASK;
    let mut has_spared = false;
    let victims = if samples_deques { VICTIMS_IN_LARGE_TEAM } else { size };
    for i in 0..victims {
        let num = (start + i) % size;
        let Some(victim) = team.thread(num).filter(|_| num != thread.num()) else { continue };
        let ready = victim.deque.len();
        if ready == 0 {
            // This check is sufficient in the last search before a sleep, too. A thread that has
            // pushed a task passes a full fence, and wakes a sleeper if it sees one. A worker
            // announces its sleep, passes a full fence, and makes the last search. So the pushing
            // thread sees the announced sleep and wakes a sleeper, or this call of `len` counts the
            // task.
            continue;
        }
        if spares && ready == 1 {
            has_spared = true;
        } else if let Some(task) = steal_from(thread, team, victim) {
            // SAFETY: own thread only.
            unsafe { thread.own() }.spared = 0;
            return Some(task);
        }
    }
    // SAFETY: own thread only.
    unsafe { thread.own() }.spared = if has_spared { looks } else { 0 };
    steal_from_agents(thread)
}

/// Takes the oldest task of a free agent's deque. Each task there is a child of a task that the
/// agent has run.
fn steal_from_agents(thread: &Thread) -> Option<NonNull<Task>> {
    let team = thread.team();
    let others = team.agents()?.threads().filter(|other| !core::ptr::eq(*other, thread));
    others.filter(|other| !other.deque.is_empty()).find_map(|victim| steal_from(thread, team, victim))
}

/// Number of tasks that a `patient` agent moves out of one deque in one search, to reach the tasks
/// behind them. Chosen: the search stays short in a long deque; any value from 4 to 32 will do.
const TASKS_MOVED_PER_DEQUE: u32 = 8;

/// Takes a task that `thread`, a free agent, may start: from the members of the team, then from
/// other agents.
///
/// The agent takes the oldest tasks of a deque, one after the other, until it may start one of
/// them. The tasks that it may not start move to the team queue; as a rule only threads of the team
/// may run them. A `patient` agent leaves a deque after [`TASKS_MOVED_PER_DEQUE`] moved tasks. For
/// one kind of task it leaves the deque at once: a task that free agents may run, but that the task
/// scheduling constraint keeps from this agent. The agent moves this task, too, so that another
/// agent may start it.
///
/// If an agent finds no task in this way, it ends as a rule, and the next agent continues with the
/// remaining tasks. An agent that waits in a tied task does not end. Its search before it sleeps is
/// not `patient` and looks at all tasks.
#[cold]
fn steal_as_agent(thread: &Thread, patient: bool) -> Option<NonNull<Task>> {
    let team = thread.team();
    let agents = team.agents()?;
    let others = agents.threads().filter(|other| !core::ptr::eq(*other, thread));
    let mut victims = (0..team.size()).filter_map(|num| team.thread(num)).chain(others);
    victims.find_map(|victim| {
        let mut moving = Moving::to_team_queue_of(team);
        let mut found = None;
        let mut left = if patient { TASKS_MOVED_PER_DEQUE } else { u32::MAX };
        while left != 0 && agents.have_ready() && !victim.deque.is_empty() {
            let Some(task) = steal_any(victim) else { break };
            // SAFETY: a stolen task belongs to this thread.
            if allowed(thread, unsafe { task.as_ref() }) {
                found = Some(stolen(team, victim, task));
                break;
            }
            // SAFETY: as above.
            left =
                if patient && unsafe { task.as_ref() }.flags().has(TaskFlags::POOL) { 0 } else { left - 1 };
            moving.put(task);
        }
        moving.notify();
        found
    })
}

fn steal_from(thread: &Thread, team: &Team, victim: &Thread) -> Option<NonNull<Task>> {
    let task = steal_any(victim)?;
    // SAFETY: a stolen task belongs to this thread.
    if allowed(thread, unsafe { task.as_ref() }) {
        return Some(stolen(team, victim, task));
    }
    push_foreign(team, task);
    None
}

/// Takes the oldest task of the victim's deque, whether the thief may start it or not.
fn steal_any(victim: &Thread) -> Option<NonNull<Task>> {
    stats::count_steal_attempt();
    loop {
        match victim.deque.steal() {
            Steal::Empty => return None,
            Steal::Retry => {
                stats::count_steal_aborted();
                core::hint::spin_loop();
            }
            Steal::Success(_) if ult::mutant!(stolen_task_lost) => return None,
            Steal::Success(task) => {
                stats::count_steal_success();
                return Some(task);
            }
        }
    }
}

/// Does what is due when the thief is about to start a stolen task.
fn stolen(team: &Team, victim: &Thread, task: NonNull<Task>) -> NonNull<Task> {
    // SAFETY: a stolen task belongs to this thread.
    let its = unsafe { task.as_ref() };
    agents::leaves_deque(its);
    tools::task::stolen(victim, its);
    if !victim.deque.is_empty() {
        team.wake_one(); // wake-ups spread from thief to thief
    }
    task
}

/// Pops tasks off the thread's own deque until the thread may start one, and returns that task. The
/// popped tasks that the thread may not start move to the team queue. Called before a sleep, and
/// after many searches in vain.
fn clear_out(thread: &Thread) -> Option<NonNull<Task>> {
    let mut moving = Moving::to_team_queue_of(thread.team());
    let mut found = None;
    // SAFETY: own thread only; popped tasks belong to this thread.
    while let Some(task) = unsafe { thread.deque.pop() } {
        // SAFETY: as above.
        if allowed(thread, unsafe { task.as_ref() }) {
            found = Some(task);
            break;
        }
        moving.put(task);
    }
    moving.notify();
    found
}

/// Returns the number of the thread whose deque is searched first. If the distances between the
/// processors differ, near threads are chosen more often than far ones.
fn first_victim(thread: &Thread, team: &Team, size: u32) -> u32 {
    // SAFETY: own thread only.
    let draw = &mut unsafe { thread.own() }.draw;
    let (me, count) = (thread.num() as usize, size as usize);
    draw.keep_up(&thread.worker().site, me, count, |num| team.thread(num as u32)?.host()?.site.get());
    draw.victim(me, count) as u32
}

/// Throttling ([`throttle`]) limits the incomplete children of a producer. The limit is this number
/// times the number of threads in the team, but at least [`CHILDREN_IN_SMALL_TEAM`]. Children that
/// wait for dependences count, too. The limit bounds the memory of a producer that is faster than
/// its tasks. Chosen: with so many incomplete tasks of a task graph, every thread has work; any
/// value from 128 to 512 will do.
pub const CHILDREN_PER_THREAD: u64 = 256;
/// Number of incomplete children that a task may have in a small team, whatever the number of its
/// threads. Derived: what [`CHILDREN_PER_THREAD`] allows in a team of four threads.
pub const CHILDREN_IN_SMALL_TEAM: u64 = 1024;

/// Slows a producer down, if `task_throttling` is on in [`env::settings`].
///
/// If the deque of the producer is full ([`DEQUE_TASKS`]), the producer as a rule runs each new
/// task at once ([`is_saturated`]). It runs some queued tasks instead in three cases: tasks with a
/// priority are ready, task-aware MPI is on, or the producer runs on a free agent.
///
/// If the producer has too many incomplete children, it runs some queued tasks. Then it yields
/// until there are fewer, at most [`PRODUCER_YIELDS`] times. It is never held back for good,
/// because a task may depend on an event that only the producer can fulfil.
#[inline]
pub fn throttle(here: CurrentThread) {
    let pending = here.task.pending();
    if pending.is_multiple_of(CHILDREN_PER_CHECK) && pending != 0 {
        look_how_many(here);
    }
}

/// [`throttle`] checks the limits when `Task::pending` is a multiple of this. `Task::pending` is a
/// rough measure of the number of incomplete children. It is cheap to read, because only the thread
/// that runs the task writes it. A check of the limits reads words that other threads write.
/// Chosen: a check costs little beside 32 tasks, and the deque grows little between two checks; any
/// value from 16 to 64 will do.
const CHILDREN_PER_CHECK: u32 = 32;

#[cold]
fn look_how_many(here: CurrentThread) {
    if here.thread.deque.len() >= DEQUE_TASKS {
        let at_once =
            !env::settings().ranks.task_aware_mpi && here.thread.team().team_queue().has_nothing_urgent();
        if env::settings().scheduling.task_throttling && at_once && !here.thread.is_agent() {
            // SAFETY: own thread only.
            unsafe { here.thread.own() }.saturated = true;
        } else if env::settings().scheduling.task_throttling {
            run_some(here, DEQUE_TASKS / 4);
            if here.thread.is_agent() && here.thread.deque.len() >= DEQUE_TASKS {
                // The agent cannot empty its deque: as a rule, only members of the team may run the
                // tasks that are left. So the agent is held back like a producer with too many
                // children.
                hold_back(here);
            }
        }
    } else if has_too_many_children(here) {
        hold_back(here);
    }
}

/// Returns true if [`throttle`] has found the deque of the thread full, and [`stays_saturated`] has
/// not returned false since. Then the other threads have enough to do, and the thread runs each new
/// task at once.
#[inline(always)]
pub fn is_saturated(thread: &Thread) -> bool {
    // SAFETY: own thread only.
    unsafe { thread.own() }.saturated
}

/// Checks again whether [`is_saturated`] holds, and remembers the answer. It holds until the deque
/// is half empty, or until a task with a priority is ready.
pub fn stays_saturated(thread: &Thread) -> bool {
    let stays = thread.deque.len() >= DEQUE_TASKS / 2 && thread.team().team_queue().has_nothing_urgent();
    // SAFETY: own thread only.
    unsafe { thread.own() }.saturated = stays;
    stays
}

/// Runs some queued tasks if the thread is saturated. The caller calls this before it queues a task
/// that it cannot run at once. Otherwise a producer of such tasks would run ahead of the other
/// threads without bounds.
pub fn make_room(here: CurrentThread) {
    if stays_saturated(here.thread) {
        run_some(here, DEQUE_TASKS / 4);
    }
}

fn has_too_many_children(here: CurrentThread) -> bool {
    let children = here.task.children();
    children >= CHILDREN_IN_SMALL_TEAM && children >= CHILDREN_PER_THREAD * u64::from(here.team().size())
}

/// Number of `sched_yield` calls that a producer with too many children makes before it makes the
/// next task all the same. Chosen: other threads get time to complete tasks, and the producer is
/// not held back for good; any value from 30 to 300 will do.
const PRODUCER_YIELDS: usize = 100;

#[cold]
fn hold_back(here: CurrentThread) {
    if !env::settings().scheduling.task_throttling {
        return;
    }
    run_some(here, DEQUE_TASKS / 4);
    for _ in 0..PRODUCER_YIELDS {
        if !has_too_many_children(here) {
            return;
        }
        ult::sys::thread::give_core();
    }
}

/// Runs up to `count` ready tasks while the running task is suspended.
#[cold]
pub fn run_some(here: CurrentThread, count: usize) {
    let left = core::cell::Cell::new(count);
    let dry = core::cell::Cell::new(false);
    let one_more = || {
        let more = left.get() != 0;
        left.set(left.get().saturating_sub(1));
        more
    };
    let seek = |scope| {
        if left.get() == 0 {
            return None;
        }
        let job = find(here.thread, scope, &one_more);
        if job.is_some() {
            left.set(left.get() - 1);
        }
        dry.set(job.is_none() && scope != SearchScope::Own);
        job
    };
    let (ready, team) = (|| left.get() == 0 || dry.get(), here.thread.team());
    let wait = Wait::until(&ready).seeking(&seek).counted_by(team.sleepers()).spinning(team.spin());
    ult::sched::wait(&wait.yielding().alone_if(team.size() == 1));
    end_help(here.thread);
}

/// Runs the tasks that the free agent `here.thread` may start, by plain calls on its own stack.
/// Starts no more tasks when none is left, when another context waits for this worker, or when a
/// task of the agent was suspended. Then it waits until every task that the agent has begun has
/// ended.
pub fn run_all(here: CurrentThread) {
    let (thread, team) = (here.thread, here.team());
    team.adopt_floating_point();
    let next = || {
        find_task(thread, SearchScope::Own)
            .or_else(|| find_task(thread, SearchScope::Steal))
            .or_else(|| clear_out(thread))
    };
    while let Some(task) = next() {
        // SAFETY: this thread has taken the task and may start it.
        unsafe { task::run_taken(here, task) };
        team.notify_closer();
        if !ult::sched::may_go_on_in_place(team.sleepers()) {
            // The result false has two possible reasons, and a second call distinguishes them:
            // * Another context waits for this worker. Then the second call returns false, too, and
            //   the agent leaves the loop. When the agent ends, the tasks of its deque move to the
            //   team queue.
            // * Every 32nd call (`CALLS_IN_PLACE` in `ult::sched`) returns false, even if no
            //   context waits. Then the second call returns true. The agent makes one pass through
            //   the scheduler and continues, and the tasks stay in its deque.
            if thread.deque.is_empty() || !ult::sched::may_go_on_in_place(team.sleepers()) {
                break;
            }
            run_some(here, 1);
            // SAFETY: own thread only.
            if unsafe { thread.own() }.begun != 0 {
                break; // a task of the agent waits; `help_until` below runs other tasks meanwhile
            }
        }
    }
    // SAFETY: own thread only; the condition is called on the thread's worker.
    team.help_until(thread, &|| unsafe { thread.own() }.begun == 0);
}

/// Moves the tasks of a free agent's deque to the team queue when the agent ends.
pub fn leave_nothing(thread: &Thread) {
    let mut moving = Moving::to_team_queue_of(thread.team());
    // SAFETY: own thread only; popped tasks belong to this thread.
    while let Some(task) = unsafe { thread.deque.pop() } {
        moving.put(task);
    }
    moving.notify();
}
