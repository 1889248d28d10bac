//! How an agent is called, what it does, and how agents are dismissed.
//!
//! What does not live here: which tasks an agent may take ([`super::rules`]), and what it finds
//! ([`crate::queue`]).

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};

use ult::pool;
use ult::sched::{Spin, Wait};
use ult::spawn::{SpawnGroup, UltStart, offers};
use ult::worker;

use super::marks::{POOL, READY, UNASSIGNED};
use super::record::Agents;
use super::rules::heed_reductions;
use crate::exit;
use crate::extension::tools;
use crate::group::Group;
use crate::queue::throttle;
use crate::task::record::Task;
use crate::team::padded::Padded;
use crate::team::record::Team;
use crate::thread::current::{CurrentThread, OwnThread};
use crate::thread::record::Thread;

/// The epoch in [`Thread::note_left`] of an agent's record that is free for use.
const FREE: u64 = 1;

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
                tools::region::member_is_freed(unsafe { &*thread });
                // SAFETY: `fill` made it from a Box, and no thread uses it any more.
                drop(unsafe { Box::from_raw(thread) });
            }
        }
    }
}

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
pub fn begins(thread: OwnThread, task: &Task) {
    leaves_deque(task);
    thread.own().agent.begun.update(|begun| begun + 1);
}

/// Notes that `thread` has ended what it began.
pub fn ends(thread: OwnThread) {
    thread.own().agent.begun.update(|begun| begun - 1);
}

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
        group: plan.origin.root_worker.map_or(0, |root_worker| root_worker.group()),
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

unsafe fn agent_main(argument: *mut ()) {
    // SAFETY: `send` passes a record that stays until the agent has left; this is the agent.
    let thread = unsafe { OwnThread::assume(&*argument.cast()) };
    let team = thread.team();
    thread.move_in(worker::register_current());
    let own = thread.own();
    own.agent.reducing.set(0);
    own.agent.at_work.set(true);
    heed_reductions(thread);
    let plan = team.plan();
    // SAFETY: the plan names the forking task, which is suspended in the region.
    unsafe { thread.implicit.begin_implicit(team, &thread, plan.origin.parent_task, plan.icv) };
    let here = CurrentThread { thread, task: &thread.thread().implicit };
    // SAFETY: the record stays until the agent has left; this kernel thread hosts it.
    unsafe { here.enter() };
    // A called agent counts against the limits of the group only now, because a worker may never
    // start it.
    if group(team).enter_agent(&plan.icv) {
        tools::region::agent_begins(&thread);
        throttle::run_all(here);
        if team.is_lost() {
            exit::end_lost_process(thread); // a task has forked, and this is the child
        }
        throttle::leave_nothing(thread);
        group(team).leave_agent(&plan.icv);
    }
    own.agent.at_work.set(false);
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
    let none_present = || agents.present.0.load(Ordering::Acquire) == 0;
    if none_present() {
        return;
    }
    let ready = || {
        take_back(agents);
        none_present()
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
        let agents = self.tasks.agents.load(Ordering::Acquire);
        // SAFETY: null, or made below and freed with the team.
        unsafe { agents.as_ref() }
    }

    /// Did agents of this team of the parent process run at the time of the fork(2)? They and the
    /// tasks that they ran do not exist here, except for an agent that forked itself.
    pub fn has_lost_agents(&self) -> bool {
        let is_at_work =
            // SAFETY: in this process no other thread uses them.
            |thread: &Thread| unsafe { thread.own_at_rest() }.agent.at_work.get();
        let were_at_work = |agents: &Agents| agents.threads().any(is_at_work);
        !self.is_of_this_process() && self.agents_of_any_process().is_some_and(were_at_work)
    }

    pub(super) fn make_agents(&self) {
        if self.agents_of_any_process().is_some() {
            return;
        }
        let fresh = Box::into_raw(Box::new(Agents::new(self)));
        // ORDERING: Release, pairs with `agents_of_any_process`; a thread that comes second
        // publishes nothing.
        if self
            .tasks
            .agents
            .compare_exchange(ptr::null_mut(), fresh, Ordering::Release, Ordering::Relaxed)
            .is_err()
        {
            // SAFETY: made above, and no other thread has seen it.
            drop(unsafe { Box::from_raw(fresh) });
        }
    }

    /// Frees the records of the team's agents, which have left. Agents of a parent process may have
    /// been running at the fork(2), so their records stay.
    pub(crate) fn free_agents(&self) {
        // ORDERING: Acquire, as in `agents_of_any_process`.
        let agents = self.tasks.agents.swap(ptr::null_mut(), Ordering::Acquire);
        if !agents.is_null() && self.is_of_this_process() {
            // SAFETY: `make_agents` made it from a Box, and no thread uses the team any more.
            drop(unsafe { Box::from_raw(agents) });
        }
    }
}
