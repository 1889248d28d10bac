//! Where ready tasks stand, and which of them a waiting thread may take.
//!
//! | queue | owner | order |
//! |---|---|---|
//! | the thread's deque | one thread, others steal | newest first for the owner, oldest first for thieves |
//! | the team queue | the team, under a lock | by priority, then oldest first; those that free agents may run apart |
//!
//! In the team queue ([`super::team_queue`]) stand tasks with a `priority`, tasks that became ready
//! where no thread of the team runs, and tasks that somebody took and was not allowed to run. A
//! thread that may start something looks at the tasks with a priority first, then at its own deque,
//! the rest of the team queue, and the deques of others.
//!
//! **The task scheduling constraint** (5.2 §12.9): a thread may start a new tied task only if it is
//! a descendant of every tied task the thread has suspended (barriers aside). Those tasks always
//! form a chain of ancestry, because each one was itself started under the constraint; so it is
//! enough to ask whether the candidate descends from the newest. A thread that takes a task it may
//! not run puts it in the team queue, where everybody can look before taking.
//!
//! Why no deadlock follows: a waiting tied task S, the newest of its thread, waits for a
//! descendant. If that is queued, it is allowed here; if it is suspended elsewhere, it is newer
//! than the suspended task of that thread which is an ancestor of S, and the argument repeats with
//! a strictly deeper task. Every queue is visible to every waiter: deques by stealing, and before a
//! thread sleeps it moves what its own deque holds but it may not run to the team queue. And who
//! sleeps is woken: for a task in the team queue by whoever puts it there or, if that wakes one who
//! may not start it, by that one.

use core::ptr::NonNull;

use ult::deque::Steal;
use ult::sched::{Job, SearchScope, Wait};

use super::affinity::hint;
use super::agents::{self, AgentCaller};
use super::device::transfer;
use super::env;
use super::outside;
use super::stats;
use super::task::{self, Task, TaskFlags};
use super::team::Team;
use super::team_queue::TeamQueueSearch;
use super::thread::{CurrentThread, Thread};
use super::trace;

mod run_next;

pub use super::team_queue::TeamQueue;
pub use run_next::{follow, follows_late, push_ready};

/// Ready tasks a thread may have in its deque before it runs some of them itself.
pub const DEQUE_TASKS: usize = 256;

/// Makes a ready task available to the team of `thread`, which is the running one.
pub fn push(thread: &Thread, task: NonNull<Task>) {
    let team = thread.team();
    // SAFETY: the task is the caller's until it is pushed.
    let (priority, affinity) = unsafe { (task.as_ref().priority(), task.as_ref().affinity()) };
    if priority > 0 {
        team.team_queue().put(task, false);
    } else if affinity != 0 && push_specially(thread, task, affinity) {
        return;
    } else {
        // SAFETY: own thread only: code that runs in the thread's name is the deque's owner.
        unsafe { thread.deque.push(task) };
    }
    team.wake_one();
}

/// A ready task for free agents, too, or one that names data. False, with nothing done, if it is to
/// be pushed as any other.
#[cold]
fn push_specially(thread: &Thread, task: NonNull<Task>, affinity: u32) -> bool {
    let team = thread.team();
    if !agents::is_pool(affinity) {
        return hint::offer(team, task);
    }
    let caller = agents::caller(team);
    // SAFETY: the task is the caller's until it is pushed; own thread only, as in `push`.
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

/// Makes a ready task available to `team` from a kernel thread that runs for none of its threads.
pub fn push_foreign(team: &Team, task: NonNull<Task>) {
    let mut moving = Moving::to_team_queue_of(team);
    moving.put(task);
    moving.notify();
}

/// Ready tasks that move to the team queue together. All who sleep are notified of them once.
struct Moving<'a> {
    team: &'a Team,
    any: bool,
    /// Of some that free agents may run.
    caller: Option<AgentCaller<'a>>,
}

impl<'a> Moving<'a> {
    #[inline]
    fn to_team_queue_of(team: &'a Team) -> Self {
        Self { team, any: false, caller: None }
    }

    /// The task is the caller's.
    fn put(&mut self, task: NonNull<Task>) {
        // SAFETY: as said.
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

/// The newest tied task that `thread` has begun and not ended; none while the constraint does not
/// bind it.
fn newest_tied(thread: &Thread) -> Option<&Task> {
    if outside::is_loose(thread) {
        return None;
    }
    // SAFETY: own thread only: `find` runs on the thread's kernel thread in its name.
    let newest = unsafe { thread.own() }.tied.last().copied();
    // SAFETY: a started tied task is alive.
    newest.map(|t| unsafe { &*t })
}

/// May `thread` start `task` now? A free agent runs what is for such alone.
fn allowed(thread: &Thread, task: &Task) -> bool {
    if thread.is_agent() && !task.flags().has(TaskFlags::POOL) && !ult::mutant!(agents_take_any) {
        return false;
    }
    ult::mutant!(tied_constraint_ignored)
        || task.flags().has(TaskFlags::UNTIED)
        || newest_tied(thread).is_none_or(|newest| task.descends_from(newest))
}

/// Finds a task that `thread`, which waits at a task scheduling point, may start. As long as the
/// wait lasts, and until [`end_help`] at the latest, others may follow the task at once if `more`
/// says so.
pub fn find(thread: &Thread, scope: SearchScope, more: &dyn Fn() -> bool) -> Option<Job> {
    if has_its_fill(thread) {
        return None;
    }
    find_task(thread, scope).map(|task| begin(thread, task, more))
}

/// The job that is `task`, which `thread` has taken and may start, for a wait as in [`find`].
pub fn begin(thread: &Thread, task: NonNull<Task>, more: &dyn Fn() -> bool) -> Job {
    // SAFETY: only the lifetime is erased; the pointer is forgotten by `end_help`, before the
    // closure ends.
    let more = unsafe {
        core::mem::transmute::<*const (dyn Fn() -> bool + '_), *const (dyn Fn() -> bool + 'static)>(more)
    };
    // SAFETY: own thread only.
    let helping = unsafe { &mut thread.own().helping };
    *helping = (helping.0.wrapping_add(1), Some(more));
    task::job(thread, task)
}

/// Is `thread` alone, and waits for a device already while there is room for no more who do? Then
/// it begins nothing until that has answered. Who does not wait for one yet begins a task all the
/// same: what the device does may depend on the region that the thread is in. Nor does it while a
/// target construct adds to its copies of reduction items.
fn has_its_fill(thread: &Thread) -> bool {
    if thread.team().size() != 1 {
        return false;
    }
    // SAFETY: own thread only.
    let own = unsafe { thread.own() };
    own.reduces != 0 || own.at_devices != 0 && !transfer::has_room()
}

/// The wait for which [`find`] has found tasks is over.
pub fn end_help(thread: &Thread) {
    // SAFETY: own thread only.
    let helping = unsafe { &mut thread.own().helping };
    *helping = (helping.0.wrapping_add(1), None);
}

/// Which wait of the thread a task runs for that [`find`] has just found.
pub fn help_number(thread: &Thread) -> u32 {
    // SAFETY: own thread only.
    unsafe { thread.own().helping.0 }
}

/// After a task that was found for the wait `number`: another one for the same wait, unless it is
/// over, somebody else waits for this worker, or the scheduler should be asked once more. Spares
/// the way through the scheduler, which costs several times what a small task does.
///
/// The number is that of the last find, so no other wait of the thread has begun to run tasks or
/// ended since: the one that is meant still is among suspended contexts of this worker, and its
/// closure lives.
pub fn next_in_place(thread: &Thread, number: u32) -> Option<NonNull<Task>> {
    // SAFETY: own thread only.
    let helping = unsafe { thread.own().helping };
    let more = helping.1.filter(|_| helping.0 == number)?;
    if !ult::sched::may_go_on_in_place(thread.team().sleepers()) {
        return None;
    }
    // SAFETY: as said above.
    if !unsafe { (*more)() } {
        return None;
    }
    near(thread).or_else(|| steal(thread, true))
}

/// [`find`] for a member that waits for its next region and has seen `epoch`: it may help with the
/// region that ends, but not with the next one before it has begun it (its number may not even
/// exist there).
pub fn find_after(thread: &Thread, scope: SearchScope, epoch: u64) -> Option<Job> {
    if thread.team().epoch() != epoch {
        return None; // a region without this member: its tasks are for others
    }
    if scope == SearchScope::Peek {
        let is_any = thread.team().has_used_tasks() && thread.team().has_ready_tasks();
        return is_any.then_some(Job { run: no_job, data: core::ptr::null_mut() });
    }
    let task = find_task(thread, scope)?;
    // What made the task visible came after the epoch of its region, so a new epoch is seen here.
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

/// What stands in the thread's own deque or in the team queue.
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

/// What free agents may run, and stands in the team queue.
#[inline]
fn for_agents(thread: &Thread) -> Option<NonNull<Task>> {
    let team_queue = thread.team().team_queue();
    if team_queue.has_nothing_for_agents() {
        return None;
    }
    let newest = newest_tied(thread);
    // SAFETY: own thread only; nothing is called that waits.
    taken(thread, team_queue.take_pool(newest, &mut unsafe { thread.own() }.seen))
}

/// Tasks with a priority that have begun before and are gone on with, per look at all others
/// instead.
const RESUMED_TASKS_PER_SEARCH: u32 = 16;

fn urgent(thread: &Thread) -> Option<NonNull<Task>> {
    let task = taken(thread, thread.team().team_queue().take_urgent(newest_tied(thread)))?;
    // SAFETY: a task taken from the team queue is ours.
    if unsafe { task.as_ref() }.flags().has(TaskFlags::BEGUN) {
        // SAFETY: own thread only.
        unsafe { thread.own() }.resumed += 1;
    }
    Some(task)
}

/// Untied tasks that come in parts (clang's) stand in the team queue again after each. Those that
/// poll would be taken again and again, and what they wait for, a task of lower priority, never: so
/// now and then a thread looks for that first.
fn instead_of_the_same(thread: &Thread) -> Option<NonNull<Task>> {
    // SAFETY: own thread only.
    let resumed = &mut unsafe { thread.own() }.resumed;
    if *resumed < RESUMED_TASKS_PER_SEARCH {
        return None;
    }
    *resumed = 0;
    near_without_priority(thread).or_else(|| far(thread, false))
}

/// What a look at the team queue gave. A new task wakes one sleeper; if it was not allowed to start
/// it, and passes over it, the others have to look.
fn taken(thread: &Thread, found: TeamQueueSearch) -> Option<NonNull<Task>> {
    if found.passed_over {
        thread.team().wake_all();
    }
    found.task
}

/// What stands in the deques and inboxes of others.
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

/// A task from an inbox, if it may be started; otherwise the team queue's.
fn hinted(thread: &Thread, task: NonNull<Task>) -> Option<NonNull<Task>> {
    // SAFETY: what was taken from an inbox is ours.
    if allowed(thread, unsafe { task.as_ref() }) {
        return Some(task);
    }
    push_foreign(thread.team(), task);
    None
}

/// Looks without success after which a thread that never sleeps (an active wait policy) clears its
/// deque out all the same, and looks into those of all others.
const LOOKS_BEFORE_CLEAR_OUT: u32 = 1024;

/// Is it time to [`clear_out`] although the thread is not about to sleep?
fn looks_in_vain(thread: &Thread) -> bool {
    // SAFETY: own thread only.
    let own = unsafe { thread.own() };
    own.looks = own.looks.wrapping_add(1);
    own.looks.is_multiple_of(LOOKS_BEFORE_CLEAR_OUT)
}

/// The newest task of the thread's own deque, if it may be started.
fn own(thread: &Thread) -> Option<NonNull<Task>> {
    // Its owner sees no fewer than there are.
    if thread.deque.is_empty() {
        return None;
    }
    // SAFETY: own thread only; a popped task is ours.
    unsafe {
        let task = thread.deque.pop()?;
        if allowed(thread, task.as_ref()) {
            return Some(task);
        }
        put_back(thread, task);
    }
    None
}

/// The running task waits until it is `done`, which is when `mine` holds for no incomplete task:
/// runs the newest ready tasks by plain calls as long as it holds for them and nobody else waits
/// for this worker. They may wait in turn: nothing on this stack can go on without them.
pub fn run_in_place(here: CurrentThread, done: impl Fn() -> bool, mine: impl Fn(&Task) -> bool) {
    let team = here.thread.team();
    while !done()
        && !task::is_deep(here)
        && team.team_queue().has_nothing_urgent()
        && ult::sched::may_go_on_in_place(team.sleepers())
    {
        // SAFETY: own thread only; a popped task is ours.
        let Some(task) = (unsafe { here.thread.deque.pop() }) else { return };
        // SAFETY: as above.
        let its = unsafe { task.as_ref() };
        if !mine(its) || !allowed(here.thread, its) {
            put_back(here.thread, task);
            return;
        }
        // SAFETY: as above; a ready task of the running thread's team, allowed as a child of what
        // it waits in.
        unsafe { task::run_taken(here, task) };
    }
}

/// Undoes a `pop` of the thread's own deque.
fn put_back(thread: &Thread, task: NonNull<Task>) {
    // SAFETY: own thread only; the task is the caller's.
    unsafe { thread.deque.push(task) };
    // A thief whose last look fell between the two saw an empty deque.
    thread.team().wake_one();
}

/// Looks at lone tasks, the only ones of their deques, before one is taken: the owner is about to
/// run it more often than not (a task, then `taskwait`), sooner than it could be brought here.
const LOOKS_AT_LONE_TASK: u32 = 4;

/// In a team with more threads a thread looks at [`VICTIMS_IN_LARGE_TEAM`] deques between two jobs,
/// and at all before it sleeps. Chosen: the processors of a large machine.
const LARGE_TEAM_THREADS: u32 = 256;

/// Chosen: takes as long as a task of half a microsecond.
const VICTIMS_IN_LARGE_TEAM: u32 = 64;

/// The oldest task of another thread's deque. A `patient` thread leaves lone tasks to their owners
/// for some looks. One of a large team looks at some deques only, other ones each time, and takes
/// what it finds: it would not meet the same task again soon.
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
            continue; // before a sleep, too: behind the parker's fence the length shows each task that nobody was woken for
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

/// The oldest task of a free agent's deque: a child of what it has run.
fn steal_from_agents(thread: &Thread) -> Option<NonNull<Task>> {
    let team = thread.team();
    let others = team.agents()?.threads().filter(|other| !core::ptr::eq(*other, thread));
    others.filter(|other| !other.deque.is_empty()).find_map(|victim| steal_from(thread, team, victim))
}

/// How many tasks that are for the team alone an agent moves away from one deque in a look, to come
/// to what is behind them.
const TASKS_MOVED_PER_DEQUE: u32 = 8;

/// A task that `thread`, a free agent, may take: from members of the team, then from other agents.
/// Tasks that stand before it and are for the team alone move to the team queue: of a long queue
/// some, by who is patient. Who comes to nothing so ends, and the next agent goes on with that; or
/// it waits in a tied task, and looks at all before it sleeps. As long as it does not, it leaves a
/// deque with the first task that others of its kind may start.
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
            // SAFETY: a stolen task is ours.
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
    // SAFETY: a stolen task is ours.
    if allowed(thread, unsafe { task.as_ref() }) {
        return Some(stolen(team, victim, task));
    }
    push_foreign(team, task);
    None
}

/// The oldest task of the victim's deque, for the thief whether it may start it or not.
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

/// The thief is about to start what it has stolen.
fn stolen(team: &Team, victim: &Thread, task: NonNull<Task>) -> NonNull<Task> {
    // SAFETY: a stolen task is ours.
    let its = unsafe { task.as_ref() };
    agents::leaves_deque(its);
    trace::note_steal(victim, its);
    if !victim.deque.is_empty() {
        team.wake_one(); // wake-ups spread from thief to thief
    }
    task
}

/// Before the thread sleeps: moves what it may not run from its own deque to the team queue, and
/// returns the first task that it may run after all.
fn clear_out(thread: &Thread) -> Option<NonNull<Task>> {
    let mut moving = Moving::to_team_queue_of(thread.team());
    let mut found = None;
    // SAFETY: own thread only; popped tasks are ours.
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

/// The thread whose deque is looked at first: a near one more often than others, where the machine
/// has any.
fn first_victim(thread: &Thread, team: &Team, size: u32) -> u32 {
    // SAFETY: own thread only.
    let draw = &mut unsafe { thread.own() }.draw;
    let (me, count) = (thread.num() as usize, size as usize);
    draw.keep_up(&thread.worker().site, me, count, |num| team.thread(num as u32)?.host()?.site.get());
    draw.victim(me, count) as u32
}

/// Incomplete children, ready or waiting for dependences, that a task may have per thread of its
/// team before it runs some itself: bounds the memory of a producer that is faster than its tasks.
/// Large enough that a window of a task graph this wide keeps every thread busy.
pub const CHILDREN_PER_THREAD: u64 = 256;
/// The same bound for small teams.
pub const CHILDREN_IN_SMALL_TEAM: u64 = 1024;

/// A producer that has filled its deque, or has too many incomplete children, runs tasks before it
/// goes on. It leaves its stack to do so and returns as soon as there is room again. When it may
/// run none of them it gives the others some time, but is never held back for good: a task may
/// depend on an event that only the producer can fulfil.
#[inline]
pub fn throttle(here: CurrentThread) {
    let pending = here.task.pending();
    if pending.is_multiple_of(CHILDREN_PER_CHECK) && pending != 0 {
        look_how_many(here);
    }
}

/// Pending children between two looks at what the other threads write.
const CHILDREN_PER_CHECK: u32 = 32;

#[cold]
fn look_how_many(here: CurrentThread) {
    if here.thread.deque.len() >= DEQUE_TASKS {
        let at_once = !env::settings().task_aware_mpi && here.thread.team().team_queue().has_nothing_urgent();
        if env::settings().task_throttling && at_once && !here.thread.is_agent() {
            // SAFETY: own thread only.
            unsafe { here.thread.own() }.saturated = true;
        } else if env::settings().task_throttling {
            run_some(here, DEQUE_TASKS / 4);
            if here.thread.is_agent() && here.thread.deque.len() >= DEQUE_TASKS {
                hold_back(here); // they are for the team
            }
        }
    } else if has_too_many_children(here) {
        hold_back(here);
    }
}

/// Had the thread so many tasks in its deque lately that the others have enough to do, and it can
/// run what it makes itself?
#[inline(always)]
pub fn is_saturated(thread: &Thread) -> bool {
    // SAFETY: own thread only.
    unsafe { thread.own() }.saturated
}

/// Is that so still? Until the deque is half empty.
pub fn stays_saturated(thread: &Thread) -> bool {
    let stays = thread.deque.len() >= DEQUE_TASKS / 2 && thread.team().team_queue().has_nothing_urgent();
    // SAFETY: own thread only.
    unsafe { thread.own() }.saturated = stays;
    stays
}

/// Before a task that has to be queued although the thread has enough of them: runs some, so that a
/// producer of such tasks does not run ahead of the others without bounds.
pub fn make_room(here: CurrentThread) {
    if stays_saturated(here.thread) {
        run_some(here, DEQUE_TASKS / 4);
    }
}

fn has_too_many_children(here: CurrentThread) -> bool {
    let children = here.task.children();
    children >= CHILDREN_IN_SMALL_TEAM && children >= CHILDREN_PER_THREAD * u64::from(here.team().size())
}

/// How often a producer with too many children gives up the processor before it makes the next task
/// after all.
const PRODUCER_YIELDS: usize = 100;

#[cold]
fn hold_back(here: CurrentThread) {
    if !env::settings().task_throttling {
        return;
    }
    run_some(here, DEQUE_TASKS / 4);
    for _ in 0..PRODUCER_YIELDS {
        if !has_too_many_children(here) {
            return;
        }
        ult::park::give_core();
    }
}

/// Runs up to `count` ready tasks while the running task stands suspended.
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
    ult::sched::wait(&Wait {
        seek: Some(&seek),
        sleepers: Some(here.thread.team().sleepers()),
        spin: here.thread.team().spin(),
        yields: true,
        alone: here.thread.team().size() == 1,
        ..Wait::until(&|| left.get() == 0 || dry.get())
    });
    end_help(here.thread);
}

/// Runs what there is for the free agent `here.thread` by plain calls on its own stack, until there
/// is nothing more, or somebody else waits for this worker. Tasks that it has begun while others of
/// its own waited end before this returns, too.
pub fn run_all(here: CurrentThread) {
    let (thread, team) = (here.thread, here.team());
    team.adopt_floating_point();
    let next = || {
        find_task(thread, SearchScope::Own)
            .or_else(|| find_task(thread, SearchScope::Steal))
            .or_else(|| clear_out(thread))
    };
    while let Some(task) = next() {
        // SAFETY: taken by this thread, which may start it.
        unsafe { task::run_taken(here, task) };
        team.notify_closer();
        if !ult::sched::may_go_on_in_place(team.sleepers()) {
            // Once in a while the answer is no where nobody waits: then the scheduler is asked, and
            // what the deque holds is not for the team queue.
            if thread.deque.is_empty() || !ult::sched::may_go_on_in_place(team.sleepers()) {
                break;
            }
            run_some(here, 1);
            // SAFETY: own thread only.
            if unsafe { thread.own() }.begun != 0 {
                break; // it waits, and what may run meanwhile is found as in any wait
            }
        }
    }
    // SAFETY: own thread only; conditions are asked on its worker.
    team.help_until(thread, &|| unsafe { thread.own() }.begun == 0);
}

/// A free agent ends: moves what its deque holds to the team queue.
pub fn leave_nothing(thread: &Thread) {
    let mut moving = Moving::to_team_queue_of(thread.team());
    // SAFETY: own thread only; popped tasks are ours.
    while let Some(task) = unsafe { thread.deque.pop() } {
        moving.put(task);
    }
    moving.notify();
}
