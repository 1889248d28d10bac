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
//!   has a [`Thread`], with a deque for the children of its tasks. Only threads of the team may
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

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};

use ult::pool;
use ult::sched::{Spin, Wait};
use ult::spawn::{SpawnGroup, UltStart, offers};
use ult::worker;

use super::assemble;
use super::extension::tools;
use super::group::Group;
use super::queue;
use super::root;
use super::storage::may_share;
use super::task::{Task, TaskFlags};
use super::team::{Padded, Team};
use super::thread::{CurrentThread, Thread};

/// The thread number of a free agent; as a signed number `omp_unassigned_thread` (6.0 §20.1).
/// Given: by the specification, less than −1; by LLVM's `omp.h`, this value.
pub const UNASSIGNED: u32 = (-2_i32).cast_unsigned();

/// Marks a pool task in the field for the hash of a task's data ([`Task::affinity`]).
pub(super) const POOL: u32 = u32::MAX - 1;
/// Marks a pool task that lies in a deque and is counted.
const READY: u32 = POOL - 2; // even, while a hash of an address is odd

/// The epoch in [`Thread::note_left`] of an agent's record that is free for use.
const FREE: u64 = 1;

/// Is the task with this affinity a pool task?
#[inline]
pub const fn is_pool(affinity: u32) -> bool {
    affinity == POOL || affinity == READY
}

/// The free agents of a team. Made with the team's first pool task, in the process in which the
/// team was made.
pub struct Agents {
    team: *const Team,
    /// Records of agents. They are added on demand, and live as long as the team.
    records: Box<[AtomicPtr<Thread>]>,
    /// Number of pool tasks that lie in deques.
    ready: Padded<AtomicU32>,
    /// Number of agents that are called or run.
    out: Padded<AtomicU32>,
    /// Number of agents that may touch the team, and of callers that are about to call an agent. An
    /// agent counts here longer than in `out`.
    present: Padded<AtomicU32>,
    /// Number of calls since the team was made. The first call prepares the process.
    calls: AtomicU64,
}

impl Agents {
    fn new(team: &Team) -> Self {
        Self {
            team,
            records: (0..pool::limit()).map(|_| AtomicPtr::new(ptr::null_mut())).collect(),
            ready: Padded(AtomicU32::new(0)),
            out: Padded(AtomicU32::new(0)),
            present: Padded(AtomicU32::new(0)),
            calls: AtomicU64::new(0),
        }
    }

    /// All agents that have ever been called.
    pub fn threads(&self) -> impl Iterator<Item = &Thread> {
        // ORDERING: Acquire, pairs with the Release in `claim`.
        // SAFETY: null, or a record that lives as long as this.
        self.records.iter().filter_map(|record| unsafe { record.load(Ordering::Acquire).as_ref() })
    }

    /// Number of tasks that the agents have created.
    pub fn created(&self) -> u64 {
        self.threads().map(Thread::created).sum::<u64>()
    }

    /// Number of tasks that the agents have completed.
    pub fn completed(&self) -> u64 {
        self.threads().map(Thread::completed).sum::<u64>()
    }

    /// Does a pool task lie in a deque?
    #[inline]
    pub fn have_ready(&self) -> bool {
        // ORDERING: Relaxed; a caller that must not miss a task has passed a fence (`leave`).
        self.ready.0.load(Ordering::Relaxed) != 0
    }

    /// Counts one more agent, if the limits permit one. The check and the count are one step. A
    /// count that is taken back later could hide from an ending agent that another agent may follow
    /// it.
    fn count(&self, team: &Team) -> bool {
        let most = self.records.len() as u32;
        let more = |out| (out < most).then_some(out + 1);
        // ORDERING: Relaxed; behind the fence of `Team::wake_one`, or that of `leave`.
        group(team).has_room_for_agent(&team.plan().icv)
            && self.out.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// A free record for one more agent.
    fn claim(&self, team: &Team) -> Option<&Thread> {
        self.records.iter().find_map(|record| {
            // ORDERING: Acquire, as in `threads`.
            let known = record.load(Ordering::Acquire);
            if known.is_null() {
                return Self::fill(record, team);
            }
            // SAFETY: as in `threads`.
            let thread = unsafe { &*known };
            thread.comes_back(FREE).then_some(thread)
        })
    }

    fn fill<'a>(record: &'a AtomicPtr<Thread>, team: &Team) -> Option<&'a Thread> {
        let thread = Thread::new(UNASSIGNED);
        // SAFETY: the thread is new, and records are freed before their team.
        unsafe { thread.join_team(team) };
        let fresh = Box::into_raw(thread);
        // ORDERING: Release, pairs with the Acquire in `threads`.
        match record.compare_exchange(ptr::null_mut(), fresh, Ordering::Release, Ordering::Relaxed) {
            // SAFETY: it lives as long as the records.
            Ok(_) => Some(unsafe { &*fresh }),
            Err(_) => {
                // SAFETY: made above, and no other thread has seen it.
                drop(unsafe { Box::from_raw(fresh) });
                None
            }
        }
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        for record in &mut self.records {
            let thread = *record.get_mut();
            if !thread.is_null() {
                // SAFETY: an agent that has left.
                tools::region::worker_is_freed(unsafe { &*thread });
                // SAFETY: `fill` made it from a Box, and no thread uses it any more.
                drop(unsafe { Box::from_raw(thread) });
            }
        }
    }
}

// ---- which tasks are for agents ---------------------------------------------

/// May the tasks that the running task makes be pool tasks, and are there workers for them?
///
/// In a team of one a pool task may outlive its construct. Then the end of a region or of a
/// taskgroup must wait for it, or the end of the program where `main` runs. Tasks that an agent
/// runs are waited for, and so are their children. In the child of a fork(2) the teams of the
/// parent have no pool tasks: no thread may take their tasks from where they lie.
pub fn permits(here: CurrentThread) -> bool {
    let team = here.team();
    let is_waited_for = || {
        let alone = team.size() == 1 && !here.thread.is_agent();
        !alone
            || !team.plan().parent_thread.is_null()
            || !here.task.taskgroup.get().is_null()
            || root::finish_at_exit()
    };
    let is_possible = pool::limit() != 0 && may_share() && team.is_of_this_process();
    is_possible
        && !here.task.flags().has_any(TaskFlags::FINAL.with(TaskFlags::RECORDS))
        && !adds_to_copies(here)
        && is_waited_for()
}

/// Is there a copy of reduction items for each thread of the team, to which tasks made here may
/// add?
fn adds_to_copies(here: CurrentThread) -> bool {
    let mut group = here.task.taskgroup.get();
    // SAFETY: the running task's taskgroup and the taskgroups around it are open.
    while let Some(open) = unsafe { group.as_ref() } {
        if open.reductions.get().is_some() {
            return true;
        }
        group = open.outer;
    }
    // ORDERING: Relaxed; set before the region's tasks are made.
    !here.team().reductions.load(Ordering::Relaxed).is_null()
}

/// Makes a task that has not been submitted a pool task, if that is possible.
#[cold]
pub fn open(here: CurrentThread, task: &Task) {
    if permits(here) {
        here.team().make_agents();
        task.set_flags(task.flags().with(TaskFlags::POOL));
        task.set_affinity(POOL);
    }
}

/// Requests that the next task of the running task be a pool task. False if that is not possible:
/// the next task will be for its team only.
pub fn wish(here: CurrentThread) -> bool {
    let may = permits(here);
    if may {
        here.team().make_agents();
        here.task.set_flags(here.task.flags().with(TaskFlags::POOLS));
    }
    may
}

/// Cancels the request of the running task for its next task.
pub fn forget_wish(here: CurrentThread) {
    here.task.set_flags(here.task.flags().without(TaskFlags::POOLS));
}

/// Has the running task requested a pool task?
pub fn is_wished(here: CurrentThread) -> bool {
    here.task.flags().has(TaskFlags::POOLS)
}

/// May the next task of the running task, which has requested a pool task, still be one? A
/// taskgroup with reductions may have been opened since the request.
#[cold]
pub fn are_wished_for(here: CurrentThread) -> bool {
    permits(here)
}

/// Grants the request of the running task to its fresh child with these flags. Returns the child's
/// flags. An undeferred child does not become a pool task.
#[cold]
pub fn grant(here: CurrentThread, child: &Task, flags: TaskFlags) -> TaskFlags {
    forget_wish(here);
    if flags.has(TaskFlags::UNDEFERRED) || !permits(here) {
        return flags;
    }
    child.set_affinity(POOL);
    flags.with(TaskFlags::POOL)
}

/// Notes that the running task has registered the first reductions with its taskgroup.
///
/// While a task of a free agent has such a group open, the agent runs all tasks that it makes at
/// once. There is a copy for each thread of the team; in this group the agent has them to itself
/// and uses the first ([`Thread::copy`]). Meanwhile `omp_get_thread_num` gives the agent 0, because
/// gcc's code of a taskloop takes the copy with that number. The agent counts such groups, because
/// its tasks may be in the middle of one another.
pub fn reductions_open(here: CurrentThread) {
    if here.thread.is_agent() {
        // SAFETY: own thread only.
        unsafe { here.thread.own() }.reducing += 1;
        heed_reductions(here.thread);
    }
}

/// Notes that such a group of the running task has ended. This runs on the thread that opened the
/// group, because pool tasks stay on the thread that began them.
pub fn reductions_end(here: CurrentThread) {
    if here.thread.is_agent() {
        // SAFETY: own thread only.
        let reducing = &mut unsafe { here.thread.own() }.reducing;
        *reducing = reducing.saturating_sub(1); // 0 if the program has begun a worksharing construct, which it must not
        heed_reductions(here.thread);
    }
}

fn heed_reductions(agent: &Thread) {
    agent.note_inclusion();
    // SAFETY: own thread only.
    let reduces = unsafe { agent.own() }.reducing != 0;
    if reduces {
        agent.includes.set(true);
    }
    agent.tid.set(if reduces { agent.copy() } else { agent.num() } as i32);
}

/// Is the running task's thread an agent that must run all tasks of a group with reductions? It
/// then also runs the tasks that have to wait for others. A thread that ran them after those have
/// ended could add to the same copy.
#[inline]
pub fn adds_alone(here: CurrentThread) -> bool {
    // SAFETY: own thread only.
    here.thread.is_agent() && unsafe { here.thread.own() }.reducing != 0
}

/// The number of threads for which a taskloop of the running task makes tasks.
pub fn width(here: CurrentThread, is_for_agents: bool) -> u32 {
    let more = if is_for_agents { pool::limit() as u32 } else { 0 };
    here.team().size().saturating_add(more)
}

// ---- tasks in deques --------------------------------------------------------

/// Counts a ready pool task that is about to enter a deque of its team. The caller may
/// [call](AgentCaller) an agent for it.
pub fn enters_deque(team: &Team, task: &Task) {
    if let Some(agents) = team.agents() {
        task.set_affinity(READY);
        // ORDERING: Relaxed; published with the task, and by the fence of `Team::wake_one`.
        agents.ready.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Notes that the task, which the caller has taken, has left its deque.
pub fn leaves_deque(task: &Task) {
    if task.affinity() == READY {
        task.set_affinity(POOL);
        if let Some(agents) = task.team().agents() {
            // ORDERING: Relaxed; a count that decides only whether to search.
            agents.ready.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Notes that `thread` begins the pool task, or a part of it.
pub fn begins(thread: &Thread, task: &Task) {
    leaves_deque(task);
    // SAFETY: own thread only.
    unsafe { thread.own() }.begun += 1;
}

/// Notes that `thread` has ended what it began.
pub fn ends(thread: &Thread) {
    // SAFETY: own thread only.
    unsafe { thread.own() }.begun -= 1;
}

// ---- calling them -----------------------------------------------------------

/// The right to call an agent, held by a thread that is about to publish a pool task. Once the task
/// is published, other threads may run it and reach the end of the region. Thread 0 waits there
/// until this value is dropped, so that no agent is called into the next region.
pub struct AgentCaller<'a> {
    team: &'a Team,
    agents: &'a Agents,
}

/// Makes an [`AgentCaller`], before the task is published. The caller has a task of the team that
/// is not complete.
pub fn caller(team: &Team) -> Option<AgentCaller<'_>> {
    let agents = team.agents()?;
    // ORDERING: Relaxed; published with the task.
    agents.present.0.fetch_add(1, Ordering::Relaxed);
    Some(AgentCaller { team, agents })
}

impl AgentCaller<'_> {
    /// Calls one more agent, if the limits permit one. The task has been published, and a full
    /// fence passed.
    pub fn call(self) {
        call(self.team, self.agents);
    }
}

impl Drop for AgentCaller<'_> {
    fn drop(&mut self) {
        // ORDERING: Release, pairs with `dismiss`. This is the last access to the team.
        self.agents.present.0.fetch_sub(1, Ordering::Release);
    }
}

/// Calls one more agent, if the limits permit one. The caller counts as present, and has passed a
/// full fence.
fn call(team: &Team, agents: &Agents) {
    if !agents.count(team) {
        return;
    }
    // ORDERING: Relaxed; the caller is counted there, too.
    agents.present.0.fetch_add(1, Ordering::Relaxed);
    match agents.claim(team) {
        Some(thread) => send(team, agents, thread),
        None => leave(agents, 1),
    }
}

fn send(team: &Team, agents: &Agents, thread: &Thread) {
    // ORDERING: Relaxed, both; hints only.
    if agents.calls.fetch_add(1, Ordering::Relaxed) == 0 {
        prepare();
    }
    pool::prepare(agents.out.0.load(Ordering::Relaxed) as usize);
    let plan = team.plan();
    let spawn_group = SpawnGroup {
        run: agent_main,
        end: agent_end,
        retire: retire_agents,
        data: ptr::from_ref(agents).cast_mut().cast(), // not the team, under which its members are retired
        tag: team.gang(),
        // An agent's worker hosts a context outside of all regions, too.
        region: if plan.body.function as usize == 0 {
            agent_main as *const () as usize
        } else {
            plan.body.function as usize
        },
        group: plan.root_worker.map_or(0, |root_worker| root_worker.group()),
    };
    // SAFETY: `claim` has given this record to the caller alone, and its last ULT has ended.
    unsafe {
        let spawn_group = thread.set_helper(spawn_group);
        thread.set_ult_start(UltStart {
            spawn_group,
            data: ptr::from_ref(thread).cast_mut().cast(),
            tls_block: None,
        });
        offers::offer(thread.ult_start());
    }
}

/// Prepares the process for ULTs of a team on other workers, as for its regions.
#[cold]
fn prepare() {
    ult::exceptions::refresh();
    ult::stall::start_if_needed();
    ult::stall::keep_up_with_objects();
}

/// The team's contention group, whose limits agents count against.
fn group(team: &Team) -> &Group {
    // SAFETY: the initial team of the group outlives every region in it.
    unsafe { &*team.plan().group }
}

// ---- the life of an agent ---------------------------------------------------

unsafe fn agent_main(argument: *mut ()) {
    // SAFETY: `send` passes a record that stays until the agent has left.
    let thread: &'static Thread = unsafe { &*argument.cast() };
    let team = thread.team();
    thread.move_in(worker::register_current());
    // SAFETY: own thread only.
    let own = unsafe { thread.own() };
    (own.reducing, own.at_work) = (0, true);
    heed_reductions(thread);
    let plan = team.plan();
    // SAFETY: the plan names the forking task, which is suspended in the region.
    unsafe { thread.implicit.begin_implicit(team, thread, plan.parent_task, plan.icv) };
    let here = CurrentThread { thread, task: &thread.implicit };
    // SAFETY: the record stays until the agent has left; this kernel thread hosts it.
    unsafe { here.enter() };
    // A called agent counts against the limits of the group only now, because a worker may never
    // start it.
    if group(team).enter_agent(&plan.icv) {
        tools::region::agent_begins(thread);
        queue::run_all(here);
        if team.is_lost() {
            assemble::end_lost_process(); // a task has forked, and this is the child
        }
        queue::leave_nothing(thread);
        group(team).leave_agent(&plan.icv);
    }
    // SAFETY: own thread only.
    unsafe { thread.own() }.at_work = false;
    thread.implicit.end_implicit();
}

/// Called when the agent's ULT has ended and its storage is free.
unsafe fn agent_end(argument: *mut ()) {
    // SAFETY: as in `agent_main`; the agent is present until it is retired.
    unsafe { &*argument.cast::<Thread>() }.note_left(FREE);
}

/// Called when `count` agents have ended on this worker. After the last line they do not touch the
/// team any more.
unsafe fn retire_agents(argument: *mut (), count: u32) {
    // SAFETY: `send` passes the agents of a team, which waits for the agents that are present.
    leave(unsafe { &*argument.cast::<Agents>() }, count);
}

fn leave(agents: &Agents, count: u32) {
    // ORDERING: Relaxed; the fence below orders it.
    agents.out.0.fetch_sub(count, Ordering::Relaxed);
    // ORDERING: SeqCst, pairs with the fence in `Team::wake_one`: a thread that queues a task sees
    // that one more agent is permitted, or its task is seen here.
    fence(Ordering::SeqCst);
    // SAFETY: the team waits for the agents that are present.
    let team = unsafe { &*agents.team };
    if agents.have_ready() || !team.team_queue().has_nothing_for_agents() {
        call(team, agents);
    }
    // ORDERING: Release, pairs with `dismiss`.
    agents.present.0.fetch_sub(count, Ordering::Release);
}

/// Waits until no agent touches the team. Thread 0 calls it when all tasks of the region are
/// complete.
#[cold]
pub fn dismiss(team: &Team) {
    let Some(agents) = team.agents() else { return };
    // ORDERING: Acquire, pairs with `leave` and `AgentCaller`.
    let has_nobody = || agents.present.0.load(Ordering::Acquire) == 0;
    if has_nobody() {
        return;
    }
    let ready = || {
        take_back(agents);
        has_nobody()
    };
    ult::sched::wait(&Wait::until(&ready).spinning(Spin::POLLING).finished());
}

/// Takes back the calls that no worker has followed.
fn take_back(agents: &Agents) {
    offers::withdraw(ptr::from_ref(agents).cast_mut().cast(), |record| {
        // SAFETY: the record of an agent that is present and has not begun.
        unsafe { &*record.cast::<Thread>() }.note_left(FREE);
        leave(agents, 1);
    });
}

/// Dismisses the teams that the team's agents keep. The team is about to be freed.
pub fn end(team: &Team) {
    dismiss(team);
    for thread in team.agents().into_iter().flat_map(Agents::threads) {
        // SAFETY: the agent has left, and no thread calls another one.
        for inner in core::mem::take(&mut unsafe { thread.own() }.teams) {
            assemble::dismiss(inner);
        }
    }
}

// ---- the team's part --------------------------------------------------------

impl Team {
    /// The team's agents, if there have been pool tasks. `None` in the child of a fork(2).
    #[inline]
    pub fn agents(&self) -> Option<&Agents> {
        self.agents_of_any_process().filter(|_| self.is_of_this_process())
    }

    /// As [`Team::agents`], but also the agents of a parent process, which no longer exist.
    #[inline]
    pub fn agents_of_any_process(&self) -> Option<&Agents> {
        // ORDERING: Acquire, pairs with `make_agents`.
        let agents = self.agents.load(Ordering::Acquire);
        // SAFETY: null, or made below and freed with the team.
        unsafe { agents.as_ref() }
    }

    /// Did agents of this team of the parent process run at the time of the fork(2)? They and the
    /// tasks that they ran do not exist here, except for an agent that forked itself.
    pub fn has_lost_agents(&self) -> bool {
        // SAFETY: in this process no other thread uses them.
        let were_at_work = |agents: &Agents| agents.threads().any(|thread| unsafe { thread.own() }.at_work);
        !self.is_of_this_process() && self.agents_of_any_process().is_some_and(were_at_work)
    }

    fn make_agents(&self) {
        if self.agents_of_any_process().is_some() {
            return;
        }
        let fresh = Box::into_raw(Box::new(Agents::new(self)));
        // ORDERING: Release, pairs with `agents_of_any_process`; a thread that comes second
        // publishes nothing.
        if self.agents.compare_exchange(ptr::null_mut(), fresh, Ordering::Release, Ordering::Relaxed).is_err()
        {
            // SAFETY: made above, and no other thread has seen it.
            drop(unsafe { Box::from_raw(fresh) });
        }
    }

    /// Frees the records of the team's agents, which have left. Agents of a parent process may have
    /// been running at the fork(2), so their records stay.
    pub(super) fn free_agents(&self) {
        // ORDERING: Acquire, as in `agents_of_any_process`.
        let agents = self.agents.swap(ptr::null_mut(), Ordering::Acquire);
        if !agents.is_null() && self.is_of_this_process() {
            // SAFETY: `make_agents` made it from a Box, and no thread uses the team any more.
            drop(unsafe { Box::from_raw(agents) });
        }
    }
}
