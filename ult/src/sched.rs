//! What a worker does when the context it runs has to wait: the heart of the crate, to be read top to bottom.
//!
//! A *context* is a stack with something unfinished on it: the program's own stack, a ULT, or a runner that is in the
//! middle of a job. Exactly one context of a worker runs; the others stand on its waiting list, each with a
//! condition. A context that must wait calls [`wait`], which
//!
//! 1. puts the context on the list and asks [`next`] what this worker should do;
//! 2. if the answer is *resume* somebody (often the very context that asked), switches there, directly;
//! 3. if the answer is a *job*, leaves the stack for a runner, which runs the job by a plain call, and the next one,
//!    until somebody on the list can go on.
//!
//! So a job that never waits costs no switch of its own, and a job that waits takes its runner's stack with it: the
//! worker goes on with a fresh one, and no blocked job ever buries another context.
//!
//! Conditions are *polled* by the worker that owns the context, and whoever makes a condition true wakes that
//! worker. A context is therefore never touched by two workers, and there is no moment at which a half-left stack
//! could be resumed by somebody else. Tried and rejected: pushing resumable contexts into the owner's inbox (one
//! more lock-free list and one more allocation per wait, for a list that is hardly ever longer than two).
//!
//! # How a worker sleeps without losing a wake-up
//!
//! The waker makes the condition true, then calls [`crate::park::Parker::unpark`] (full fence, then a look at the
//! parked flag). The sleeper sets the flag, then (full fence) evaluates all conditions once more. One of the two
//! sees the other. Where many workers may wait for one event, a counter of sleepers, incremented before the last look,
//! saves the waker from visiting them: see `docs/protocols/park.md`.

use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use core::time::Duration;

use crate::arch;
use crate::gang::GangTag;
use crate::ult::{self, Ult};
use crate::worker::{self, Own, Worker};

/// Something to run by a plain call: `run(data)`.
#[derive(Clone, Copy)]
pub struct Job {
    /// The function; it may wait.
    pub run: unsafe fn(*mut ()),
    /// Its argument.
    pub data: *mut (),
}

/// How a context waits.
pub struct Wait<'a> {
    /// The condition. Called on this kernel thread, from any of its stacks; must not wait itself.
    pub ready: &'a dyn Fn() -> bool,
    /// Looks for a job that may run while this context waits. The argument is true for the last look before the
    /// worker sleeps. Must not wait itself.
    pub seek: Option<&'a dyn Fn(bool) -> Option<Job>>,
    /// A counter that is at least one while the worker sleeps with this context on its list.
    pub sleepers: Option<&'a AtomicU32>,
    /// How long to look before sleeping.
    pub spin: Spin,
    /// The context waits for nothing, it only lets others go first: it may continue as soon as another context of this
    /// worker waits in its turn.
    pub yields: bool,
}

/// How long to look before sleeping, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spin {
    /// Microseconds of looking; `u32::MAX` means for ever.
    pub micros: u32,
}

/// An entry of the waiting list. The references of a [`Wait`] with their lifetime erased: they point into the
/// suspended context's own stack, which stays as it is while the entry is on the list.
#[derive(Clone, Copy)]
pub(crate) struct Waiting {
    ult: *mut Ult,
    ready: Ready,
    seek: Option<Seek>,
    sleepers: Option<*const AtomicU32>,
    gang: GangTag,
    spin: Spin,
    yields: bool,
}

/// What a worker should do next.
enum Next {
    Resume(Waiting),
    Run(Job),
}

/// Waits until `wait.ready()` holds. Meanwhile this worker continues other contexts of its own or runs jobs.
///
/// The calling kernel thread must be registered. Returns on the same kernel thread; `errno` survives.
#[inline]
pub fn wait(wait: &Wait<'_>) {
    if (wait.ready)() {
        return;
    }
    wait_cold(wait);
}

#[cold]
#[inline(never)]
fn wait_cold(wait: &Wait<'_>) {
    let worker = worker::register_current();
    let errno = errno();
    // SAFETY: `worker` is this kernel thread's; the pointers are not kept across a switch.
    let me = unsafe {
        let own = worker.own();
        let me = (*own).current;
        (*own).waiting.push(Waiting::of(me, (*own).gang, wait));
        me
    };
    match next(worker) {
        Next::Resume(entry) if entry.ult == me => restore_gang(worker, &entry),
        Next::Resume(entry) => switch_to(worker, entry),
        Next::Run(job) => run_on_runner(worker, job),
    }
    set_errno(errno);
}

/// The closures of a [`Wait`] with the lifetime erased.
type Ready = *const (dyn Fn() -> bool + 'static);
type Seek = *const (dyn Fn(bool) -> Option<Job> + 'static);

impl Waiting {
    fn of(ult: *mut Ult, gang: GangTag, wait: &Wait<'_>) -> Self {
        let erase = |seek: &dyn Fn(bool) -> Option<Job>| {
            // SAFETY: only the lifetime is erased; see below.
            unsafe { core::mem::transmute::<*const (dyn Fn(bool) -> Option<Job> + '_), Seek>(seek) }
        };
        Self {
            ult,
            // SAFETY: only the lifetime is erased. The entry is removed before `wait_cold` returns on the context that
            // made it, so the closures outlive the entry.
            ready: unsafe { core::mem::transmute::<*const (dyn Fn() -> bool + '_), Ready>(wait.ready) },
            seek: wait.seek.map(erase),
            sleepers: wait.sleepers.map(core::ptr::from_ref),
            gang,
            spin: wait.spin,
            yields: wait.yields,
        }
    }

    /// `newest`: is this the newest entry of its list?
    fn is_ready(&self, newest: bool) -> bool {
        // SAFETY: the entry is on the list, so the closure is alive (see the type).
        (self.yields && !newest) || unsafe { (*self.ready)() }
    }

    fn seek(&self, last: bool) -> Option<Job> {
        // SAFETY: as in `is_ready`.
        self.seek.and_then(|s| unsafe { (*s)(last) })
    }
}

/// Every so many turns the whole waiting list is looked at, not only its newest entry, so that an old context does
/// not wait for the last job of a long queue.
const LOOK_AT_ALL_EVERY: u32 = 16;

/// Decides what this worker does: finish what was started before starting something new. The list is not empty.
fn next(worker: &'static Worker) -> Next {
    if let Some(found) = look(worker) {
        return found;
    }
    // SAFETY: own kernel thread; the entry is copied.
    let newest = unsafe { newest(worker) };
    let mut patience = Patience::new(newest.spin);
    loop {
        if let Some(entry) = take_ready(worker, true) {
            return Next::Resume(entry);
        }
        if let Some(job) = newest.seek(false) {
            return Next::Run(job);
        }
        if !patience.go_on() {
            if let Some(found) = sleep(worker, &newest) {
                return found;
            }
            patience = Patience::new(newest.spin);
        }
    }
}

/// One look, without spinning: the path between two jobs.
fn look(worker: &'static Worker) -> Option<Next> {
    // SAFETY: own kernel thread.
    let (all, newest) = unsafe {
        let own = worker.own();
        (*own).turns = (*own).turns.wrapping_add(1);
        ((*own).turns.is_multiple_of(LOOK_AT_ALL_EVERY), newest(worker))
    };
    if let Some(entry) = take_ready(worker, all) {
        return Some(Next::Resume(entry));
    }
    newest.seek(false).map(Next::Run)
}

/// The newest entry of the waiting list.
///
/// # Safety
/// Own kernel thread, list not empty.
unsafe fn newest(worker: &'static Worker) -> Waiting {
    // SAFETY: as the caller says.
    unsafe {
        let waiting = &(*worker.own()).waiting;
        waiting[waiting.len() - 1]
    }
}

/// Takes the newest entry whose condition holds, looking at all of them or only at the newest.
fn take_ready(worker: &'static Worker, all: bool) -> Option<Waiting> {
    // SAFETY: own kernel thread; conditions do not wait, so nobody changes the list meanwhile.
    unsafe {
        let waiting: *mut Vec<Waiting> = &raw mut (*worker.own()).waiting;
        let count = (*waiting).len();
        let lowest = if all { 0 } else { count.saturating_sub(1) };
        for i in (lowest..count).rev() {
            let entry = (&(*waiting))[i];
            if entry.is_ready(i + 1 == count) {
                (*waiting).remove(i);
                return Some(entry);
            }
        }
    }
    None
}

/// Sleeps until somebody wakes this worker, unless a last look finds something to do.
fn sleep(worker: &'static Worker, newest: &Waiting) -> Option<Next> {
    // SAFETY: own kernel thread; the list does not change while this function runs.
    let entries: &[Waiting] = unsafe {
        let waiting: *const Vec<Waiting> = &raw const (*worker.own()).waiting;
        &*waiting
    };
    let seeks_for = newest.seek.and(newest.sleepers).unwrap_or(core::ptr::null());
    // ORDERING: Relaxed; published by the parker's announcement, see `Worker::unpark_seeker`.
    worker.seeks_for.store(seeks_for.cast_mut(), Ordering::Relaxed);
    for_each_counter(entries, |counter| {
        // ORDERING: SeqCst increment before the last look; pairs with the fence of a waker that publishes, then
        // reads the counter. `park_unless` adds the full fence between this and the look.
        counter.fetch_add(1, Ordering::SeqCst);
    });
    AWAKE.fetch_sub_awake();
    let mut job = None;
    let awake = || {
        let is_ready = |(i, e): (usize, &Waiting)| e.is_ready(i + 1 == entries.len());
        if entries.iter().enumerate().any(is_ready) {
            return true;
        }
        job = newest.seek(true);
        job.is_some()
    };
    worker.parker.park_unless(awake, None);
    AWAKE.fetch_add_awake();
    for_each_counter(entries, |counter| {
        // ORDERING: Relaxed; a waker that still sees the old count wakes for nothing.
        counter.fetch_sub(1, Ordering::Relaxed);
    });
    job.map(Next::Run)
}

fn for_each_counter(entries: &[Waiting], act: impl Fn(&AtomicU32)) {
    for counter in entries.iter().filter_map(|e| e.sleepers) {
        // SAFETY: as in `Waiting::is_ready`.
        act(unsafe { &*counter });
    }
}

// ---- switching ------------------------------------------------------------------------------------------------

fn restore_gang(worker: &'static Worker, entry: &Waiting) {
    // SAFETY: own kernel thread.
    unsafe { (*worker.own()).gang = entry.gang };
}

/// Leaves the running context (which is on the waiting list, or a runner with nothing on its stack) for `entry`.
fn switch_to(worker: &'static Worker, entry: Waiting) {
    restore_gang(worker, &entry);
    // SAFETY: own kernel thread; `entry.ult` was taken off the waiting list, so it is suspended and ours.
    unsafe { switch_context(worker, entry.ult) };
}

/// # Safety
/// `to` is a suspended context owned by this worker.
unsafe fn switch_context(worker: &'static Worker, to: *mut Ult) {
    // SAFETY: as the caller says; `current` is the running context.
    unsafe {
        let own = worker.own();
        let from = (*own).current;
        (*own).current = to;
        ult::switch(from, to);
    }
}

/// Hands `job` to a runner and leaves for it. Returns when the calling context's condition holds.
fn run_on_runner(worker: &'static Worker, job: Job) {
    // SAFETY: own kernel thread; a cached runner stands at the top of its loop, a new one at its entry.
    unsafe {
        let own: *mut Own = worker.own();
        (*own).job = Some(job);
        let runner = match (*own).idle_runners.pop() {
            Some(runner) => runner,
            None => new_runner(),
        };
        switch_context(worker, runner);
    }
}

/// Runners kept per worker; more are given back when they become idle.
const IDLE_RUNNERS: usize = 2;

fn new_runner() -> *mut Ult {
    match Ult::new(runner_stack_size(), runner_main) {
        Ok(ult) => Box::into_raw(ult),
        Err(error) => crate::fatal(&format!(
            "cannot map a stack of {} KiB for tasks: {error}",
            runner_stack_size() >> 10
        )),
    }
}

/// The loop of a runner: run the job that was handed over, then whatever is found, until a context on the waiting
/// list can go on; then stand idle until a job is handed over again.
unsafe extern "C" fn runner_main(_: usize) -> ! {
    let worker = worker::current().unwrap_or_else(|| crate::fatal("a runner runs on an unregistered thread"));
    loop {
        // SAFETY: own kernel thread; `job` is taken before anything can wait.
        let handed = unsafe { (*worker.own()).job.take() };
        if let Some(job) = handed {
            // SAFETY: whoever made the job vouches for it.
            unsafe { (job.run)(job.data) };
        }
        match next(worker) {
            Next::Run(job) => {
                // SAFETY: own kernel thread.
                unsafe { (*worker.own()).job = Some(job) };
            }
            Next::Resume(entry) => stand_idle(worker, entry),
        }
    }
}

/// Caches the running runner, retires one that is too many, and switches to `entry`.
fn stand_idle(worker: &'static Worker, entry: Waiting) {
    // SAFETY: own kernel thread; the running runner has nothing on its stack, those in the cache neither.
    unsafe {
        let own = worker.own();
        if (*own).idle_runners.len() >= IDLE_RUNNERS {
            let oldest = (*own).idle_runners.remove(0);
            Ult::retire(oldest);
        }
        let me = (*own).current;
        (*own).idle_runners.push(me);
    }
    switch_to(worker, entry);
}

static RUNNER_STACK: AtomicUsize = AtomicUsize::new(1 << 20);

/// Sets the usable size of runner stacks, in bytes, for runners made from now on.
pub fn set_runner_stack_size(bytes: usize) {
    // ORDERING: Relaxed; a setting, made before the first runner.
    RUNNER_STACK.store(bytes, Ordering::Relaxed);
}

fn runner_stack_size() -> usize {
    // ORDERING: Relaxed; see `set_runner_stack_size`.
    RUNNER_STACK.load(Ordering::Relaxed)
}

// ---- patience -------------------------------------------------------------------------------------------------

/// How many registered kernel threads are not asleep, and how many may run at once.
struct Census {
    awake: AtomicUsize,
    cores: AtomicUsize,
}

static AWAKE: Census = Census { awake: AtomicUsize::new(0), cores: AtomicUsize::new(1) };

impl Census {
    fn fetch_sub_awake(&self) {
        // ORDERING: Relaxed; a heuristic for spinning.
        self.awake.fetch_sub(1, Ordering::Relaxed);
    }
    fn fetch_add_awake(&self) {
        // ORDERING: Relaxed; a heuristic for spinning.
        self.awake.fetch_add(1, Ordering::Relaxed);
    }
    fn crowded(&self) -> bool {
        // ORDERING: Relaxed; a heuristic for spinning.
        let awake = self.awake.load(Ordering::Relaxed) as isize;
        // ORDERING: Relaxed; a setting.
        awake > self.cores.load(Ordering::Relaxed) as isize
    }
}

/// Counts a kernel thread that starts (`true`) or stops (`false`) taking part in regions, for the choice between
/// spinning and sleeping.
pub(crate) fn count_awake(starts: bool) {
    if starts { AWAKE.fetch_add_awake() } else { AWAKE.fetch_sub_awake() }
}

/// Sets how many kernel threads can run at once: with more awake, waiting gives way at once instead of spinning.
pub fn set_cores(cores: usize) {
    // ORDERING: Relaxed; a setting.
    AWAKE.cores.store(cores.max(1), Ordering::Relaxed);
}

/// The decision to look once more or to sleep. Looks are cheap at first; the clock is read every 64 of them. When
/// more threads are awake than can run, each look yields the processor instead, for a tenth of the time.
struct Patience {
    spin: Spin,
    looks: u32,
    since: u64,
}

impl Patience {
    fn new(spin: Spin) -> Self {
        Self { spin, looks: 0, since: 0 }
    }

    fn go_on(&mut self) -> bool {
        if self.spin.micros == 0 {
            return false;
        }
        self.looks += 1;
        if AWAKE.crowded() {
            return self.give_way();
        }
        arch::pause();
        !self.looks.is_multiple_of(64) || self.spin.micros == u32::MAX || self.elapsed_micros() < u64::from(self.spin.micros)
    }

    fn give_way(&mut self) -> bool {
        // SAFETY: no arguments, no memory.
        unsafe { libc::sched_yield() };
        self.spin.micros == u32::MAX || self.looks < YIELDS
    }

    fn elapsed_micros(&mut self) -> u64 {
        let now = micros();
        if self.since == 0 {
            self.since = now;
        }
        now - self.since
    }
}

/// Yields before sleeping on a crowded machine.
const YIELDS: u32 = 16;

fn micros() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid out pointer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32).as_micros() as u64
}

fn errno() -> i32 {
    // SAFETY: the address is this kernel thread's errno.
    unsafe { *libc::__errno_location() }
}

fn set_errno(value: i32) {
    // SAFETY: as in `errno`; the address is asked for anew after the switches.
    unsafe { *libc::__errno_location() = value };
}

/// In the child of a fork one kernel thread is left.
pub(crate) fn reset_after_fork() {
    // ORDERING: Relaxed; single-threaded.
    AWAKE.awake.store(1, Ordering::Relaxed);
}
