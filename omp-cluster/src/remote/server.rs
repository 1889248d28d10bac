//! The team that does what others ask of this process: target regions that another rank has
//! launched, functions that were invoked.
//!
//! A serving process is a parallel region each of whose threads waits for work, makes it an
//! explicit task, and runs tasks. So work is a task of the process's own pool, may fork, make
//! tasks, and is suspended while it waits.
//!
//! Tasks run on stacks of their own, so a thread's wait stays among the suspended contexts of its
//! worker while one of its tasks waits. New work is taken as long as one worker is not computing.
//!
//! Rejected: one thread that takes all work. It runs tasks, too, and while it computed no other
//! thread would get any.
//!
//! *From the message to the task.* A worker with nothing to do asks its contexts for jobs, on the
//! stack on which jobs run. There the thread looks for messages, and what one has brought is its
//! job: a task that was never in a deque. Nothing is switched for it. When the thread's own code
//! took it, two switches and two more looks lay between the message and the task, 0.3 us of what
//! was 1.25 for an empty region.
//!
//! *No work is passed over.* Of the contexts of one thread only the newest is asked for jobs
//! (`docs/protocols/wait.md`). A task that waits inside of a region of its own, a target region
//! among them, is asked for that region's tasks, not for the team's. With one such task per thread,
//! work that has come, and tasks in the deques, would never begin. So the thread's wait is also
//! over in two more cases. In the first there is work, and the thread has not been asked for it
//! since the last look. In the second, tasks have been in its deque for some looks. Then the thread
//! takes the work, is suspended anew, as the newest, and is asked.
//!
//! *No work is slept over.* A thread that leaves work puts it into the queue, then wakes another
//! one. A thread that falls asleep looks into the queue for the last time behind the parker's fence
//! (`docs/protocols/park.md`). It does so by its condition or, where that leaves it to the question
//! for jobs, by [`SearchScope::BeforeSleep`].
//!
//! *When there is one.* A rank that does not run `main` is the team, and in spmd mode each rank has
//! it from the start. Everywhere else (rank 0 in head mode, a process without ranks) a kernel
//! thread begins it when the first function is invoked there. A program that invokes nothing pays
//! nothing.
//!
//! *The end.* A process with ranks leaves with all of them, when no rank has anything to do
//! (`device::rank::start`). A process without ranks does, as its first exit handler, wait until its
//! work is done.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::thread::JoinHandle;
use std::time::Duration;

use ult::sched::{Job, SearchScope, Spin, Wait};
use ult::sys::fork;
use ult::worker::Worker;

use crate::rank::remote::lock;
use crate::rank::{Cluster, cluster};
use omp::parallel::{self, ParallelRequest};
use omp::queue;
use omp::task::{self, OwnedTask, Task, TaskFlags};
use omp::team::{Body, Team};
use omp::thread::{CurrentThread, Thread};
use omp::{env, exit, report};

/// Something to be done, by a task of the team.
pub type ServerWork = Box<dyn FnOnce() + Send>;

/// The team, and what it is to do.
pub struct Server {
    queue: Mutex<VecDeque<ServerWork>>,
    /// How much stands there; changed under its lock.
    waiting: AtomicUsize,
    /// Work that has come, and what was kept.
    came: AtomicU64,
    /// What of it is over.
    over: AtomicU64,
    /// Those who host the threads that take work.
    workers: Mutex<Vec<&'static Worker>>,
    /// The team, once it runs.
    team: AtomicPtr<Team>,
    /// 0: there is none; else the process that has it, as [`fork::generation`] counts them, and
    /// one.
    begun: AtomicU32,
    /// The kernel thread that was made for it.
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// This process's.
pub static SERVER: Server = Server {
    queue: Mutex::new(VecDeque::new()),
    waiting: AtomicUsize::new(0),
    came: AtomicU64::new(0),
    over: AtomicU64::new(0),
    workers: Mutex::new(Vec::new()),
    team: AtomicPtr::new(ptr::null_mut()),
    begun: AtomicU32::new(0),
    thread: Mutex::new(None),
};

impl Server {
    /// Is there nothing to do?
    pub fn is_idle(&self) -> bool {
        // ORDERING: Acquire, pairs with the Release in `run_work` and `let_go`. Read first: no more
        // is over than has come, so where both are equal nothing was open when the second was read.
        let over = self.over.load(Ordering::Acquire);
        // ORDERING: Relaxed; not before the load above, which acquires.
        over == self.came.load(Ordering::Relaxed)
    }

    /// How much has come so far?
    pub fn taken(&self) -> u64 {
        // ORDERING: Relaxed; a sum.
        self.came.load(Ordering::Relaxed)
    }

    /// Has it begun?
    pub fn has_begun(&self) -> bool {
        // ORDERING: Relaxed; nothing is read through it.
        self.begun.load(Ordering::Relaxed) != 0
    }

    /// Is this the child of a fork, in which the team that its parent had does not exist?
    pub fn is_lost(&self) -> bool {
        // ORDERING: Relaxed; a forked child sees what its parent wrote before.
        let begun = self.begun.load(Ordering::Relaxed);
        begun != 0 && begun != fork::generation() + 1
    }

    /// Takes work, which a task begins soon. Any thread, also inside of the bridge.
    pub fn leave(&self, work: ServerWork) {
        // ORDERING: Relaxed; ended by who has taken the work.
        self.came.fetch_add(1, Ordering::Relaxed);
        let Some(work) = hand_over(work) else { return };
        {
            let mut queue = lock(&self.queue);
            queue.push_back(work);
            // ORDERING: Relaxed; `has_work` says why.
            self.waiting.store(queue.len(), Ordering::Relaxed);
        }
        self.begin();
        self.wake_one();
    }

    /// Does work wait?
    fn has_work(&self) -> bool {
        // ORDERING: Relaxed; only the lock publishes. Who has to see it is woken for it: the
        // waker's fence comes after the store, the sleeper's before its last look.
        self.waiting.load(Ordering::Relaxed) != 0
    }

    /// The oldest work that waits.
    fn take(&self) -> Option<ServerWork> {
        if !self.has_work() {
            return None;
        }
        let mut queue = lock(&self.queue);
        let work = queue.pop_front();
        // ORDERING: as in `leave`.
        self.waiting.store(queue.len(), Ordering::Relaxed);
        work
    }

    /// Something is to be done here later, which keeps the process from being idle until
    /// [`Server::let_go`].
    pub fn keep(&self) {
        // ORDERING: Relaxed; ended by who has got what was kept.
        self.came.fetch_add(1, Ordering::Relaxed);
    }

    /// So many of those are over, or somewhere else.
    pub fn let_go(&self, count: u32) {
        // ORDERING: Release, pairs with the Acquire in `is_idle`: what was sent for them has been
        // sent.
        self.over.fetch_add(count.into(), Ordering::Release);
    }

    /// Wakes one of those who take work, if none is awake who would find it by himself.
    fn wake_one(&self) {
        let workers = lock(&self.workers);
        let _ = workers.iter().any(|worker| worker.wake());
    }

    /// Wakes them all.
    pub fn wake_all(&self) {
        for worker in lock(&self.workers).iter() {
            worker.wake();
        }
    }

    /// Says that the team will begin without further ado; the first to say so gets true.
    pub fn announce(&self) -> bool {
        // ORDERING: Relaxed; only who is first matters.
        self.begun.compare_exchange(0, fork::generation() + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Sees to it that there is a team, on a kernel thread of its own if there is none yet.
    pub fn begin(&self) {
        if !self.has_begun() && self.announce() {
            if cluster().is_none() {
                exit::call(at_exit);
            }
            self.start();
        }
    }

    /// Starts the team that was announced on a kernel thread of its own.
    pub fn start(&self) {
        match std::thread::Builder::new().name("gangway-serve".into()).spawn(serve) {
            Ok(thread) => *lock(&self.thread) = Some(thread),
            Err(why) => report::fatal(format_args!("no thread to serve with: {why}")),
        }
    }

    /// Waits for the end of that kernel thread, if there is one.
    pub fn join(&self) {
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread {
            drop(thread.join());
        }
    }

    /// Does the calling code run for the team, or in a region below it?
    pub fn is_inside(&self) -> bool {
        // ORDERING: Acquire, pairs with the Release in `take_part`; only the address matters.
        let team = self.team.load(Ordering::Acquire).cast_const();
        let mut task = CurrentThread::if_known().map(|here| here.task);
        while let Some(its) = task {
            if ptr::eq(its.team(), team) {
                return true;
            }
            task = its.parent();
        }
        false
    }
}

/// A process without ranks ends: what was invoked is done first. Unless it ends by what was
/// invoked.
unsafe extern "C" fn at_exit(_: c_int, _: *mut c_void) {
    if SERVER.is_lost() || SERVER.is_inside() {
        return;
    }
    while !SERVER.is_idle() {
        std::thread::sleep(Duration::from_micros(50));
    }
}

// ---- from hand to hand ------------------------------------------------------

thread_local! {
    /// Where the calling kernel thread takes work from its own handlers; null: it does not.
    static HAND: Cell<*mut Option<ServerWork>> = const { Cell::new(ptr::null_mut()) };
}

/// Looks for messages one after the other: a look costs half of a turn of the scheduler, which has
/// nothing else to do.
const IN_A_ROW: u32 = 3;

/// If [`work_by_message`] runs on this kernel thread and has no work yet, gives it the work, which
/// begins at once: no worker has to be woken. Otherwise returns the work.
fn hand_over(work: ServerWork) -> Option<ServerWork> {
    let hand = HAND.get();
    // SAFETY: null or the variable of `work_by_message`, which is further up on this stack.
    match unsafe { hand.as_mut() } {
        Some(empty @ None) => {
            *empty = Some(work);
            None
        }
        _ => Some(work),
    }
}

/// Looks for messages; the first work that they bring goes to the caller.
fn work_by_message() -> Option<ServerWork> {
    let mut work = None;
    HAND.set(&raw mut work);
    for _ in 0..IN_A_ROW {
        look_for_messages();
        if work.is_some() {
            break;
        }
    }
    HAND.set(ptr::null_mut());
    work
}

fn look_for_messages() {
    if let Some(cluster) = cluster() {
        cluster.progress();
    }
}

// ---- the team ---------------------------------------------------------------

/// Does what is asked until all ranks are through; without ranks for ever. The calling kernel
/// thread becomes an initial thread.
pub fn serve() {
    let body = Body { call: take_part, function: ptr::null(), data: ptr::null_mut(), count: 0 };
    // A second thread, so that there is a team: on one worker it shares it.
    let threads = env::settings().scheduling.workers.max(2);
    parallel::parallel(
        CurrentThread::get(),
        body,
        ParallelRequest { num_threads: threads, ..ParallelRequest::default() },
    );
}

/// A thread of the team: takes work until all ranks are through, then goes to the end of the
/// region, where it runs the last tasks.
unsafe fn take_part(_: &Thread, _: &Body) {
    let here = CurrentThread::get();
    // ORDERING: Release, pairs with the Acquire in `is_inside`; all threads store the same.
    SERVER.team.store(ptr::from_ref(here.team()).cast_mut(), Ordering::Release);
    let worker: *const Worker = ptr::from_ref(here.thread.worker());
    // SAFETY: workers are never freed.
    lock(&SERVER.workers).push(unsafe { &*worker });
    loop {
        let over = is_over();
        let next = SERVER.take();
        match next {
            Some(work) => task::defer(CurrentThread::get(), task_of(CurrentThread::get(), work)),
            None if over => return,
            None => await_work(),
        }
    }
}

/// Are all ranks through, so that nothing comes any more?
fn is_over() -> bool {
    cluster().is_some_and(Cluster::is_over)
}

/// Looks at the condition of a thread's wait, with tasks in its deque and without a question for a
/// job, before the thread is passed over.
const PASSED_OVER: u32 = 2;

/// Waits until all ranks are through, and runs what comes, and tasks, meanwhile. Also over when the
/// thread is passed over, see the module's header.
fn await_work() {
    let here = CurrentThread::get();
    // Since the last look at the condition; and looks without.
    let (asked, looks) = (Cell::new(true), Cell::new(0));
    let ready = || {
        if is_over() {
            return true;
        }
        if asked.replace(false) {
            looks.set(0);
            return false; // and is asked again, or the condition is
        }
        look_for_messages();
        looks.set(looks.get() + 1);
        SERVER.has_work() || looks.get() > PASSED_OVER && !here.thread.deque.is_empty()
    };
    let more = || !SERVER.has_work() && !is_over();
    let seek = |scope| {
        asked.set(true);
        let work = match scope {
            SearchScope::Own | SearchScope::BeforeSleep => SERVER.take().or_else(work_by_message),
            SearchScope::Steal | SearchScope::Peek => None,
        };
        match work {
            Some(work) => Some(job_of(here, work, &more)),
            None => queue::find(here.thread, scope, &more),
        }
    };
    let spin = if cluster().is_none_or(Cluster::is_dedicated) { here.team().spin() } else { Spin::POLLING };
    let sleepers = here.team().sleepers();
    ult::sched::wait(&Wait::until(&ready).seeking(&seek).counted_by(sleepers).spinning(spin));
    queue::end_help(here.thread);
    here.team().pass_wake_up_on();
}

/// Makes the work an explicit task of the running thread `here`.
fn task_of(here: CurrentThread, work: ServerWork) -> OwnedTask {
    const { assert!(align_of::<ServerWork>() <= align_of::<Task>() && size_of::<ServerWork>() == 16) };
    let task = Task::allocate(here, size_of::<ServerWork>(), run_work, TaskFlags::UNTIED);
    // SAFETY: a fresh task with room for the work.
    unsafe { task.payload().cast::<ServerWork>().write(work) };
    task
}

/// The work as what the thread, which waits and is asked for a job, does next.
fn job_of(here: CurrentThread, work: ServerWork, more: &dyn Fn() -> bool) -> Job {
    let task = task_of(here, work);
    task::announce(here, &task);
    if SERVER.has_work() {
        SERVER.wake_one(); // one has been woken for the first
    }
    queue::begin(here.thread, task, more)
}

unsafe fn run_work(_: &Thread, task: &Task, _: bool) -> bool {
    // SAFETY: `defer` wrote the work, and a task is run once.
    let work = unsafe { task.payload().cast::<ServerWork>().read() };
    work();
    // ORDERING: Release, pairs with the Acquire in `is_idle`: what it has sent has been sent.
    SERVER.over.fetch_add(1, Ordering::Release);
    true
}
