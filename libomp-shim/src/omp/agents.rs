//! Free agents (OpenMP 6.0 §14.8, §14.14): workers that run tasks of a team they are no part of.
//!
//! What lives here: which tasks free agents may take, the records of those a team has had, how one
//! is called and sent away. What may not: where tasks stand and what an agent finds there
//! ([`super::queue`]), which worker becomes one ([`ult::spawn::offers`]).
//!
//! A task with `threadset(omp_pool)`, a *pool task*, stands in the deque of the thread that made
//! it, as any other. Who queues one offers a ULT to workers that have nothing else to do. It runs
//! pool tasks of the team, each with the team of its generating region for scope and under storage
//! of its own, until it finds none; then it ends. Nobody waits for an agent to come: all of its
//! tasks may as well be run by threads of the team, and are, at the latest where these wait. The
//! end of a region takes back the offers that nobody took, and waits for the agents that are about
//! to end.
//!
//! * An agent is no thread of the team: `omp_get_thread_num` gives it [`UNASSIGNED`]. It has a
//!   [`Thread`] all the same, with a deque for the children of its tasks. Children without the
//!   clause are for threads of the team alone, which take them from there.
//! * A thread that is alone in its team defers its pool tasks, and those only. So does an agent
//!   there: others that it makes it runs at once, since thread 0 may be at a lock that the agent's
//!   task holds. (In larger teams such a child waits for a thread of the team that looks for
//!   tasks.)
//! * An untied pool task stays on the thread that began it, which may be an agent or not:
//!   reductions of its taskgroups go by that.
//! * Tasks of a taskgroup or a region with task reductions are left to the team: there is a copy
//!   for each of its threads.
//!
//! Why nobody waits in vain is in `docs/protocols/task.md`.
//!
//! Rejected: agents as further threads of the team (arrays with `omp_get_num_threads()` elements);
//! a queue of its own for pool tasks (a `taskwait` runs its children from one deque); agents that
//! wait for more tasks (who ends makes room for whatever the worker has next).

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};

use ult::pool;
use ult::sched::{Spin, Wait};
use ult::spawn::{SpawnGroup, UltStart, offers};
use ult::worker;

use super::assemble;
use super::group::Group;
use super::queue;
use super::root;
use super::storage::may_share;
use super::task::{Task, TaskFlags};
use super::team::{Padded, Team};
use super::thread::{CurrentThread, Thread};
use super::tool::hook;

/// The thread number of a free agent, as a signed number `omp_unassigned_thread` (6.0 §20.1): less
/// than −1. LLVM's `omp.h` has the same.
pub const UNASSIGNED: u32 = (-2_i32).cast_unsigned();

/// In the place of what stands for a task's data ([`Task::affinity`]): a pool task.
pub(super) const POOL: u32 = u32::MAX - 1;
/// A pool task that stands in a deque, and is counted.
const READY: u32 = POOL - 2; // even, as no hash of an address is

/// Has a record for an agent that is in nobody's hand ([`Thread::note_left`]).
const FREE: u64 = 1;

/// Is the task with this affinity a pool task?
#[inline]
pub const fn is_pool(affinity: u32) -> bool {
    affinity == POOL || affinity == READY
}

/// The free agents of a team. Made with its first pool task, in the process in which the team was
/// made.
pub struct Agents {
    team: *const Team,
    /// Filled as they are needed, kept as long as the team.
    records: Box<[AtomicPtr<Thread>]>,
    /// Pool tasks that stand in deques.
    ready: Padded<AtomicU32>,
    /// Agents that are called or run.
    out: Padded<AtomicU32>,
    /// Those that may touch the team: counted longer. And those that are about to call one.
    present: Padded<AtomicU32>,
    /// Calls since the team was made; a hint where to begin to look for a record.
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

    /// Those that have ever been called.
    pub fn threads(&self) -> impl Iterator<Item = &Thread> {
        // ORDERING: Acquire, pairs with the Release in `claim`.
        // SAFETY: null, or a record that lives as long as this.
        self.records.iter().filter_map(|record| unsafe { record.load(Ordering::Acquire).as_ref() })
    }

    /// Tasks that they have created.
    pub fn created(&self) -> u64 {
        self.threads().map(Thread::created).sum::<u64>()
    }

    /// Tasks that they have completed.
    pub fn completed(&self) -> u64 {
        self.threads().map(Thread::completed).sum::<u64>()
    }

    /// Does a pool task stand in a deque?
    #[inline]
    pub fn have_ready(&self) -> bool {
        // ORDERING: Relaxed; who must not miss one has passed a fence (`leave`).
        self.ready.0.load(Ordering::Relaxed) != 0
    }

    /// Counts one more agent, if there may be one. In one step: a count that is taken back could
    /// hide from an agent that ends that it may be followed.
    fn count(&self, team: &Team) -> bool {
        let most = self.records.len() as u32;
        let more = |out| (out < most).then_some(out + 1);
        // ORDERING: Relaxed; behind the fence of `Team::wake_one`, or that of `leave`.
        group(team).has_room_for_agent(&team.plan().icv)
            && self.out.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// A record that nobody uses, for one agent more.
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
        // SAFETY: new; records are freed before their team.
        unsafe { thread.join_team(team) };
        let fresh = Box::into_raw(thread);
        // ORDERING: Release, pairs with the Acquire in `threads`.
        match record.compare_exchange(ptr::null_mut(), fresh, Ordering::Release, Ordering::Relaxed) {
            // SAFETY: it lives as long as the records.
            Ok(_) => Some(unsafe { &*fresh }),
            Err(_) => {
                // SAFETY: made above, and nobody has seen it.
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
                hook::region::worker_is_freed(unsafe { &*thread });
                // SAFETY: `fill` made it from a Box; nobody uses it any more.
                drop(unsafe { Box::from_raw(thread) });
            }
        }
    }
}

// ---- which tasks are for agents ---------------------------------------------

/// May tasks that the running one makes be pool tasks, and are there workers for them? A pool task
/// in a team of one is not over when its construct is, so somebody has to wait for it: the end of a
/// region or of a taskgroup, or that of the program where `main` runs. What an agent runs is waited
/// for, and its children are. In the child of a fork there are none for the teams of the parent,
/// whose tasks nobody may take from where they stand.
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

/// Are there copies of reduction items for each thread of the team, to which tasks that are made
/// here may add?
fn adds_to_copies(here: CurrentThread) -> bool {
    let mut group = here.task.taskgroup.get();
    // SAFETY: the running task's taskgroup and those around it are open.
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

/// The next task that the running one makes is to be a pool task. False if that is not possible: it
/// will be one of its team.
pub fn wish(here: CurrentThread) -> bool {
    let may = permits(here);
    if may {
        here.team().make_agents();
        here.task.set_flags(here.task.flags().with(TaskFlags::POOLS));
    }
    may
}

/// What the running task has wished for its next one is void.
pub fn forget_wish(here: CurrentThread) {
    here.task.set_flags(here.task.flags().without(TaskFlags::POOLS));
}

/// Has the running task wished so?
pub fn is_wished(here: CurrentThread) -> bool {
    here.task.flags().has(TaskFlags::POOLS)
}

/// Is the next task of the running one, which has wished so, for agents still? A taskgroup with
/// reductions may have been opened since.
#[cold]
pub fn are_wished_for(here: CurrentThread) -> bool {
    permits(here)
}

/// The fresh child, with these properties, of a task that wished: what it is then. An undeferred
/// one is none.
#[cold]
pub fn grant(here: CurrentThread, child: &Task, flags: TaskFlags) -> TaskFlags {
    forget_wish(here);
    if flags.has(TaskFlags::UNDEFERRED) || !permits(here) {
        return flags;
    }
    child.set_affinity(POOL);
    flags.with(TaskFlags::POOL)
}

/// The running task has registered the first reductions with its taskgroup. While a task of a free
/// agent has such a group open, the agent runs all tasks that it makes at once: there is a copy for
/// each thread of the team, and those of this group are the agent's alone, which uses the first
/// ([`Thread::copy`]). So `omp_get_thread_num` gives it 0 meanwhile: gcc's code of a taskloop takes
/// the copy with that number. Counted by the agent, whose tasks may be in the middle of one
/// another.
pub fn reductions_open(here: CurrentThread) {
    if here.thread.is_agent() {
        // SAFETY: own thread only.
        unsafe { here.thread.own() }.reducing += 1;
        heed_reductions(here.thread);
    }
}

/// Such a group of the running task has ended. On the thread that opened it: pool tasks stay where
/// they have begun.
pub fn reductions_end(here: CurrentThread) {
    if here.thread.is_agent() {
        // SAFETY: own thread only.
        let reducing = &mut unsafe { here.thread.own() }.reducing;
        *reducing = reducing.saturating_sub(1); // 0 where the program has begun a worksharing construct, which it must not
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

/// Is the running task's thread an agent that is to run all tasks of a group with reductions? Then
/// also those that have to wait for others, for who ran them when these have ended could add to the
/// same copy.
#[inline]
pub fn adds_alone(here: CurrentThread) -> bool {
    // SAFETY: own thread only.
    here.thread.is_agent() && unsafe { here.thread.own() }.reducing != 0
}

/// For how many threads a taskloop of the running task is to make tasks.
pub fn width(here: CurrentThread, is_for_agents: bool) -> u32 {
    let more = if is_for_agents { pool::limit() as u32 } else { 0 };
    here.team().size().saturating_add(more)
}

// ---- tasks in deques --------------------------------------------------------

/// The ready pool task is about to be put into a deque of its team, by who may [call](AgentCaller)
/// an agent for it.
pub fn enters_deque(team: &Team, task: &Task) {
    if let Some(agents) = team.agents() {
        task.set_affinity(READY);
        // ORDERING: Relaxed; published with the task, and by the fence of `Team::wake_one`.
        agents.ready.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The task, which the caller has taken, stands in no deque any more.
pub fn leaves_deque(task: &Task) {
    if task.affinity() == READY {
        task.set_affinity(POOL);
        if let Some(agents) = task.team().agents() {
            // ORDERING: Relaxed; a count that decides whether to look.
            agents.ready.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// `thread` begins the pool task, or a part of it.
pub fn begins(thread: &Thread, task: &Task) {
    leaves_deque(task);
    // SAFETY: own thread only.
    unsafe { thread.own() }.begun += 1;
}

/// `thread` has ended what it began.
pub fn ends(thread: &Thread) {
    // SAFETY: own thread only.
    unsafe { thread.own() }.begun -= 1;
}

// ---- calling them -----------------------------------------------------------

/// Who is about to publish a pool task, and to call an agent for it. From the moment of publication
/// others may run the task and come to the end of the region: thread 0 waits there until this is
/// dropped, so that nobody is called into the next one.
pub struct AgentCaller<'a> {
    team: &'a Team,
    agents: &'a Agents,
}

/// Made before the task is published, by who has a task of the team that is not complete.
pub fn caller(team: &Team) -> Option<AgentCaller<'_>> {
    let agents = team.agents()?;
    // ORDERING: Relaxed; published with the task.
    agents.present.0.fetch_add(1, Ordering::Relaxed);
    Some(AgentCaller { team, agents })
}

impl AgentCaller<'_> {
    /// The task has been published, and a full fence passed: calls one more agent, if there may be
    /// one.
    pub fn call(self) {
        call(self.team, self.agents);
    }
}

impl Drop for AgentCaller<'_> {
    fn drop(&mut self) {
        // ORDERING: Release, pairs with `dismiss`. The last touch of the team.
        self.agents.present.0.fetch_sub(1, Ordering::Release);
    }
}

/// Calls one more agent, if there may be one. By who is present, after a full fence.
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
    // ORDERING: Relaxed, both; hints.
    if agents.calls.fetch_add(1, Ordering::Relaxed) == 0 {
        prepare();
    }
    pool::prepare(agents.out.0.load(Ordering::Relaxed) as usize);
    let plan = team.plan();
    let spawn_group = SpawnGroup {
        run: agent_main,
        end: agent_end,
        retire: retire_agents,
        data: ptr::from_ref(agents).cast_mut().cast(), // not the team, by which its members are retired
        tag: team.gang(),
        // Outside of all regions, too, an agent's worker hosts somebody.
        region: if plan.body.function as usize == 0 {
            agent_main as *const () as usize
        } else {
            plan.body.function as usize
        },
        group: plan.root_worker.map_or(0, |root_worker| root_worker.group()),
    };
    // SAFETY: `claim` has given us the record alone; its last ULT has ended.
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

/// What has to be known before ULTs of a team run elsewhere, as for its regions.
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
    // What is only called does not count against the limits of the group, for it may never come.
    if group(team).enter_agent(&plan.icv) {
        hook::region::agent_begins(thread);
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

/// Its ULT has ended, and its storage is free.
unsafe fn agent_end(argument: *mut ()) {
    // SAFETY: as in `agent_main`; the agent is present until it is retired.
    unsafe { &*argument.cast::<Thread>() }.note_left(FREE);
}

/// So many agents have ended on this worker. With the last line they do not touch the team any
/// more.
unsafe fn retire_agents(argument: *mut (), count: u32) {
    // SAFETY: `send` passes those of a team that waits for those that are present.
    leave(unsafe { &*argument.cast::<Agents>() }, count);
}

fn leave(agents: &Agents, count: u32) {
    // ORDERING: Relaxed; the fence below.
    agents.out.0.fetch_sub(count, Ordering::Relaxed);
    // ORDERING: SeqCst, pairs with the one in `Team::wake_one`: who queues a task sees that there
    // may be one more agent, or its task is seen here.
    fence(Ordering::SeqCst);
    // SAFETY: the team waits for those that are present.
    let team = unsafe { &*agents.team };
    if agents.have_ready() || !team.team_queue().has_nothing_for_agents() {
        call(team, agents);
    }
    // ORDERING: Release, pairs with `dismiss`.
    agents.present.0.fetch_sub(count, Ordering::Release);
}

/// All tasks of the region are complete: waits until no agent touches the team. By its thread 0.
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
    let spin = Spin::POLLING;
    ult::sched::wait(&Wait { spin, finished: true, ..Wait::until(&ready) });
}

/// Takes back the calls that no worker has followed.
fn take_back(agents: &Agents) {
    offers::withdraw(ptr::from_ref(agents).cast_mut().cast(), |record| {
        // SAFETY: the record of an agent that is present and has not begun.
        unsafe { &*record.cast::<Thread>() }.note_left(FREE);
        leave(agents, 1);
    });
}

/// The team is about to be freed: dismisses the teams that its agents keep.
pub fn end(team: &Team) {
    dismiss(team);
    for thread in team.agents().into_iter().flat_map(Agents::threads) {
        // SAFETY: the agent has left, and nobody calls another one.
        for inner in core::mem::take(&mut unsafe { thread.own() }.teams) {
            assemble::dismiss(inner);
        }
    }
}

// ---- the team's part --------------------------------------------------------

impl Team {
    /// The team's agents, if there have been pool tasks. None in the child of a fork.
    #[inline]
    pub fn agents(&self) -> Option<&Agents> {
        self.agents_of_any_process().filter(|_| self.is_of_this_process())
    }

    /// [`Team::agents`], or those of a parent process, which are not there any more.
    #[inline]
    pub fn agents_of_any_process(&self) -> Option<&Agents> {
        // ORDERING: Acquire, pairs with `make_agents`.
        let agents = self.agents.load(Ordering::Acquire);
        // SAFETY: null, or made below and freed with the team.
        unsafe { agents.as_ref() }
    }

    /// Of a team of the parent process: did agents of it run at the time of the fork? With what
    /// they ran they are gone, but for one that has forked itself.
    pub fn has_lost_agents(&self) -> bool {
        // SAFETY: in this process nobody else has them.
        let were_at_work = |agents: &Agents| agents.threads().any(|thread| unsafe { thread.own() }.at_work);
        !self.is_of_this_process() && self.agents_of_any_process().is_some_and(were_at_work)
    }

    fn make_agents(&self) {
        if self.agents_of_any_process().is_some() {
            return;
        }
        let fresh = Box::into_raw(Box::new(Agents::new(self)));
        // ORDERING: Release, pairs with `agents_of_any_process`; who comes second publishes
        // nothing.
        if self.agents.compare_exchange(ptr::null_mut(), fresh, Ordering::Release, Ordering::Relaxed).is_err()
        {
            // SAFETY: made above, and nobody has seen it.
            drop(unsafe { Box::from_raw(fresh) });
        }
    }

    /// Frees the records of its agents, which have left. Those of a parent process were in the
    /// middle of something, and stay.
    pub(super) fn free_agents(&self) {
        // ORDERING: Acquire, as in `agents_of_any_process`.
        let agents = self.agents.swap(ptr::null_mut(), Ordering::Acquire);
        if !agents.is_null() && self.is_of_this_process() {
            // SAFETY: `make_agents` made it from a Box; nobody uses the team any more.
            drop(unsafe { Box::from_raw(agents) });
        }
    }
}
