//! The team that does what others ask of this process: target regions that another rank has launched, functions that were invoked.
//!
//! A serving process is a parallel region each of whose threads takes work, makes it an explicit task, and runs tasks. So work is a task of the
//! process's own pool, may fork, make tasks, and is suspended while it waits.
//!
//! Tasks run on stacks of their own, so a thread's loop stays on its worker's bench while a task of it waits: new work is
//! taken as long as one worker is not computing. Rejected: one thread that takes it all (it runs tasks, too, and while it
//! computed nobody else would get any).
//!
//! *Nobody is passed over.* Of the contexts of one thread only the newest is asked for tasks (`docs/protocols/wait.md`). A task that waits inside of a
//! region of its own, a target region among them, is asked for that region's tasks, not for the team's; with one such task per thread, what stands in the
//! deques would never begin. So the loop also goes on when it finds tasks in its deque and has not been asked for them for some looks: it sits
//! down anew, as the newest, and is asked.
//!
//! *When there is one.* A rank that does not run `main` is the team, and in spmd mode each rank has it from the start. Everywhere else (rank 0 in head
//! mode, a process without ranks) a kernel thread begins it when the first function is invoked there; who invokes nothing pays nothing.
//!
//! *The end.* Who has ranks leaves with all of them, when nobody has anything to do (`device::rank::start`). A process without ranks does, as its
//! first exit handler, wait until its work is done.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::thread::JoinHandle;
use std::time::Duration;

use ult::pool;
use ult::sched::{Spin, Wait};
use ult::worker::Worker;

use super::super::device::rank::remote::lock;
use super::super::device::rank::{Cluster, cluster};
use super::super::parallel::{self, Request};
use super::super::queue;
use super::super::task::{self, Flags, Task};
use super::super::team::{Body, Team};
use super::super::thread::{Here, Thread};
use super::super::{env, exit, report};

/// Something to be done, by a task of the team.
pub type Work = Box<dyn FnOnce() + Send>;

/// The team, and what it is to do.
pub struct Server {
    queue: Mutex<VecDeque<Work>>,
    /// Work that is not over.
    open: AtomicU64,
    /// Work that has come so far.
    taken: AtomicU64,
    /// Those who host the threads that take work.
    workers: Mutex<Vec<&'static Worker>>,
    /// The team, once it runs.
    team: AtomicPtr<Team>,
    /// 0: there is none; else the process that has it, as [`pool::generation`] counts them, and one.
    begun: AtomicU32,
    /// The kernel thread that was made for it.
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// This process's.
pub static SERVER: Server = Server {
    queue: Mutex::new(VecDeque::new()),
    open: AtomicU64::new(0),
    taken: AtomicU64::new(0),
    workers: Mutex::new(Vec::new()),
    team: AtomicPtr::new(ptr::null_mut()),
    begun: AtomicU32::new(0),
    thread: Mutex::new(None),
};

impl Server {
    /// Is there nothing to do?
    pub fn is_idle(&self) -> bool {
        // ORDERING: Acquire, pairs with the Release in `run_work`.
        self.open.load(Ordering::Acquire) == 0
    }

    /// How much work has come so far?
    pub fn taken(&self) -> u64 {
        // ORDERING: Relaxed; a sum.
        self.taken.load(Ordering::Relaxed)
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
        begun != 0 && begun != pool::generation() + 1
    }

    /// Takes work, which a task begins soon. Any thread, also inside of the bridge.
    pub fn leave(&self, work: Work) {
        // ORDERING: Relaxed; taken off by who has taken the work from the queue.
        self.open.fetch_add(1, Ordering::Relaxed);
        // ORDERING: Relaxed; a sum.
        self.taken.fetch_add(1, Ordering::Relaxed);
        lock(&self.queue).push_back(work);
        self.begin();
        self.wake_one();
    }

    /// Something is to be done here later, which keeps the process from being idle until [`Server::let_go`].
    pub fn keep(&self) {
        // ORDERING: Relaxed; taken off by who has got what was kept.
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    /// So many of those are over, or somewhere else.
    pub fn let_go(&self, count: u32) {
        // ORDERING: Release, pairs with the Acquire in `is_idle`: what was sent for them has been sent.
        self.open.fetch_sub(count.into(), Ordering::Release);
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
        self.begun.compare_exchange(0, pool::generation() + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok()
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
        let mut task = Here::if_known().map(|here| here.task);
        while let Some(its) = task {
            if ptr::eq(its.team(), team) {
                return true;
            }
            task = its.parent();
        }
        false
    }
}

/// A process without ranks ends: what was invoked is done first. Unless it ends by what was invoked.
unsafe extern "C" fn at_exit(_: c_int, _: *mut c_void) {
    if SERVER.is_lost() || SERVER.is_inside() {
        return;
    }
    while !SERVER.is_idle() {
        std::thread::sleep(Duration::from_micros(50));
    }
}

// ---- the team -----------------------------------------------------------------------------------------------------------

/// Does what is asked until all ranks are through; without ranks for ever. The calling kernel thread becomes an initial thread.
pub fn serve() {
    let body = Body { call: take_part, function: ptr::null(), data: ptr::null_mut(), count: 0 };
    // A second thread, so that there is a team: on one worker it shares it.
    let threads = env::settings().workers.max(2);
    parallel::parallel(Here::get(), body, Request { num_threads: threads, ..Request::default() });
}

/// A thread of the team: takes work until all ranks are through, then goes to the end of the region, where it runs the last tasks.
unsafe fn take_part(_: &Thread, _: &Body) {
    let here = Here::get();
    // ORDERING: Release, pairs with the Acquire in `is_inside`; all threads store the same.
    SERVER.team.store(ptr::from_ref(here.team()).cast_mut(), Ordering::Release);
    let worker: *const Worker = ptr::from_ref(here.thread.worker());
    // SAFETY: workers are never freed.
    lock(&SERVER.workers).push(unsafe { &*worker });
    loop {
        let over = is_over();
        let next = lock(&SERVER.queue).pop_front();
        match next {
            Some(work) => defer(Here::get(), work),
            None if over => return,
            None => await_work(),
        }
    }
}

/// Are all ranks through, so that nothing comes any more?
fn is_over() -> bool {
    cluster().is_some_and(Cluster::is_over)
}

/// Looks at the condition of a thread's loop, with tasks in its deque and without a question for a task, before the thread is passed over.
const PASSED_OVER: u32 = 2;

/// Waits for work, and runs tasks meanwhile. Also over when the thread is passed over, see the module's header.
fn await_work() {
    let here = Here::get();
    let here_is_some = || !lock(&SERVER.queue).is_empty() || is_over();
    let (asked, looks) = (Cell::new(true), Cell::new(0));
    let is_passed_over = || {
        let looked_at = here.thread.deque.is_empty() || asked.replace(false);
        looks.set(if looked_at { 0 } else { looks.get() + 1 });
        looks.get() > PASSED_OVER
    };
    let has_come = || {
        cluster().is_some_and(|cluster| {
            cluster.progress();
            here_is_some()
        })
    };
    let seek = |look| {
        asked.set(true);
        queue::find(here.thread, look, &|| !here_is_some())
    };
    ult::sched::wait(&Wait {
        ready: &|| here_is_some() || is_passed_over() || has_come(),
        seek: Some(&seek),
        sleepers: Some(here.team().sleepers()),
        spin: if cluster().is_none_or(Cluster::is_dedicated) { here.team().spin() } else { Spin::POLLING },
        yields: false,
        finished: false,
        alone: false,
    });
    queue::end_help(here.thread);
    here.team().pass_wake_up_on();
}

/// Makes the work an explicit task.
fn defer(here: Here, work: Work) {
    const { assert!(align_of::<Work>() <= align_of::<Task>() && size_of::<Work>() == 16) };
    let task: NonNull<Task> = Task::allocate(here, size_of::<Work>(), run_work, Flags::UNTIED);
    // SAFETY: a fresh task with room for the work.
    unsafe { task.as_ref().payload().cast::<Work>().write(work) };
    task::defer(here, task);
}

unsafe fn run_work(_: &Thread, task: &Task, _: bool) -> bool {
    // SAFETY: `defer` wrote the work, and a task is run once.
    let work = unsafe { task.payload().cast::<Work>().read() };
    work();
    // ORDERING: Release, pairs with the Acquire in `is_idle`: what it has sent has been sent.
    SERVER.open.fetch_sub(1, Ordering::Release);
    true
}
