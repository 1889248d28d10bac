//! The pool: the runtime's own kernel threads. They are started on demand, stay when they are idle,
//! and are started anew in the child of a fork.
//!
//! What lives here: starting and counting workers, assigning them to teams and taking them back,
//! and the process-wide hooks (fork, end of a program's thread). What does not: scheduling
//! ([`crate::sched`]) and meaning (the layer above decides how many workers a team gets).
//!
//! The pool never shrinks and is never torn down. At exit the operating system takes the threads,
//! because program code may still enter regions from `atexit` handlers and destructors. The pool's
//! kernel threads may be replaced ([`renew`]).
//!
//! Tried and rejected: joining the workers in a library destructor. This deadlocks when `exit` is
//! called from inside a region.

use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::Once;

use crate::observer::{self, SchedulerEvent};
use crate::sched::border::enter_program;
use crate::sched::request::{Job, Wait};
use crate::sched::spin_policy::{self, Spin};
use crate::sched::stacks::jobs_run_on_own_stacks;
use crate::sched::wait::wait;
use crate::signals::mask;
use crate::stack::kernel;
use crate::stack::promised;
use crate::switch::switch;
use crate::sys::fork::{self, ForkMutex};
use crate::sys::sync::CachePadded;
use crate::sys::thread;
use crate::ult::Ult;
use crate::worker::record::Worker;
use crate::worker::{registry, role, table, words};

pub(crate) mod assignment;
pub mod program_threads;
pub mod renew;
pub(crate) mod share;
pub(crate) mod space;

pub use assignment::Assignment;
pub use share::{enter_region, leave_region, limit, set_limit};
pub use space::started;

use assignment::AssignmentLetter;
use share::FORKERS;
use space::{STARTED, address_space, kernel_stack, program_stack};

/// Workers that wait for an assignment. Shared workers run ULTs of any team meanwhile.
struct Idle {
    shared: Vec<&'static Worker>,
    /// Kernel threads that belong to one thread of a team while they are assigned. Now they belong
    /// to no thread.
    single: Vec<&'static Worker>,
}

static IDLE: CachePadded<ForkMutex<Idle>> =
    CachePadded(ForkMutex::new(Idle { shared: Vec::new(), single: Vec::new() }));

static SHARED: AtomicUsize = AtomicUsize::new(0);

/// The number of threads that share workers, in regions that were forked while the pool could still
/// grow.
static RESERVED: AtomicUsize = AtomicUsize::new(0);

/// The signals that the program's first thread in the runtime blocked.
static SIGNALS: Signals = Signals(UnsafeCell::new(NO_SIGNALS));
// SAFETY: a set of signals is plain words; all zero is the empty set.
const NO_SIGNALS: libc::sigset_t = unsafe { core::mem::zeroed() };

struct Signals(UnsafeCell<libc::sigset_t>);

// SAFETY: written once, under `INITIALISE`; read in the child of a fork, which has one thread.
unsafe impl Sync for Signals {}

static INITIALISE: Once = Once::new();

/// Starts shared workers until there are `count`, at most [`limit`]. Returns whether it has started
/// one.
pub fn prepare(count: usize) -> bool {
    let wanted = count.min(limit());
    let mut has_started = false;
    // ORDERING: Relaxed; taken back below if two threads add one at the same time.
    while SHARED.load(Ordering::Relaxed) < wanted {
        // ORDERING: Relaxed; a count by itself.
        if SHARED.fetch_add(1, Ordering::Relaxed) >= wanted {
            // ORDERING: as above.
            SHARED.fetch_sub(1, Ordering::Relaxed);
            break;
        }
        match start_worker(true) {
            Ok(worker) => {
                IDLE.lock().shared.push(worker);
                has_started = true;
            }
            Err(_) => {
                // ORDERING: as above.
                SHARED.fetch_sub(1, Ordering::Relaxed);
                break;
            }
        }
    }
    has_started
}

/// Begins a region whose `count` further threads share workers. Starts workers until all such
/// threads of the process could have one each, in addition to the assigned workers, but at most
/// [`limit`].
///
/// Returns the number that [`unreserve`] gets when the region ends. It is 0 once the pool is full,
/// so that regions of a process at its limit share no counter.
pub fn reserve(count: usize) -> usize {
    // ORDERING: Relaxed; as in `prepare`.
    if SHARED.load(Ordering::Relaxed) >= limit() {
        return 0;
    }
    // ORDERING: Relaxed; a count by itself.
    let reserved = RESERVED.fetch_add(count, Ordering::Relaxed) + count;
    prepare(assigned() + reserved);
    count
}

/// Ends a region that was counted by [`reserve`].
pub fn unreserve(counted: usize) {
    if counted != 0 {
        // The child of a fork has forgotten the counts of other threads.
        let less = |reserved: usize| Some(reserved.saturating_sub(counted));
        // ORDERING: Relaxed, both; a count by itself.
        let _ = RESERVED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

/// The number of shared workers that are assigned to teams.
fn assigned() -> usize {
    let idle = IDLE.lock().shared.len();
    // ORDERING: Relaxed; as in `prepare`.
    SHARED.load(Ordering::Relaxed).saturating_sub(idle)
}

/// Shared worker number `n` of the pool in the order of their indices. Numbers beyond the last
/// worker begin at the first one again.
pub fn shared_worker(n: usize) -> Option<&'static Worker> {
    // ORDERING: Relaxed; as in `prepare`.
    let count = SHARED.load(Ordering::Relaxed);
    let mut shared =
        (0..table::table_len()).filter_map(table::at).filter(|w| w.is_shared() && !w.is_standing_in());
    shared.nth(n % count.max(1))
}

/// Takes `count` idle shared workers for threads that stay on them, and starts some within the
/// [`limit`]. Takes all or none.
pub fn lease(count: usize, into: &mut Vec<&'static Worker>) -> bool {
    if count > limit() {
        return false;
    }
    prepare(assigned() + count);
    let _away = crate::sanitize::look_away();
    let mut idle = IDLE.lock();
    // A worker that runs a ULT might block in it before it sees its assignment.
    if idle.shared.iter().filter(|w| w.is_unused()).count() < count {
        return false;
    }
    for _ in 0..count {
        if let Some(at) = idle.shared.iter().rposition(|w| w.is_unused()) {
            into.push(idle.shared.remove(at));
        }
    }
    if into.len() < count {
        idle.shared.append(into);
        return false;
    }
    true
}

/// Takes a worker that [`lease`] returned out of the shared ones, if no ULT runs on it now: then no
/// other thread runs on it. The pool may start another worker in its place.
pub fn isolate(worker: &'static Worker) {
    if worker.is_shared() && worker.is_unused() {
        worker.share(false);
        // ORDERING: Relaxed; a count by itself.
        SHARED.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Takes `count` kernel threads on which no other thread runs. The limit does not count for them.
/// Takes fewer when the system refuses more threads.
pub fn acquire(count: usize, into: &mut Vec<&'static Worker>) {
    {
        let mut idle = IDLE.lock();
        // If jobs run on the threads' own stacks, kernel threads from before that setting have too
        // little stack.
        let needs_stack = jobs_run_on_own_stacks();
        for at in (0..idle.single.len()).rev() {
            if into.len() < count && (!needs_stack || idle.single[at].runs_on_kernel_stack()) {
                into.push(idle.single.remove(at));
            }
        }
    }
    while into.len() < count {
        match start_worker(false) {
            Ok(worker) => into.push(worker),
            Err(_) => break,
        }
    }
}

/// Takes one kernel thread as [`acquire`] does, if there is a stack of `stack_size` bytes for its
/// assignment. An idle worker and a pooled stack need no further address space; for others there
/// has to be room (`RLIMIT_AS`, `RLIMIT_DATA`).
pub(crate) fn acquire_with_stack(stack_size: usize) -> Option<&'static Worker> {
    let mut found = Vec::with_capacity(1);
    acquire(1, &mut found);
    let worker = found.pop()?;
    if worker.runs_on_kernel_stack() || promised::pool_one(stack_size) {
        return Some(worker);
    }
    IDLE.lock().single.push(worker);
    None
}

/// Assigns work to a worker that [`lease`] or [`acquire`] returned.
pub fn assign(worker: &'static Worker, assignment: Assignment) {
    worker.note_assigned(assignment.group);
    let boxed = Box::into_raw(Box::new(AssignmentLetter { assignment, ult: Some(Box::new(Ult::native())) }));
    // ORDERING: Release, pairs with the Acquire in `await_assignment`: the assignment is complete
    // before it is seen.
    worker.pool.mailbox.store(boxed, Ordering::Release);
    worker.wake();
}

/// A shared worker in place of `dedicated`, for the threads that leave it. It is a new worker
/// beyond the limit, or an existing one if there has been a new one before. `None` if the system
/// refuses.
pub(crate) fn replacement_of(dedicated: &Worker) -> Option<&'static Worker> {
    // ORDERING: Relaxed; a count by itself.
    if SHARED.load(Ordering::Relaxed) > limit() {
        let mut others =
            (0..table::table_len()).filter_map(table::at).filter(|&w| !core::ptr::eq(w, dedicated));
        return others.find(|w| w.is_shared() && !w.is_standing_in() && !w.is_dedicated());
    }
    // ORDERING: as above.
    SHARED.fetch_add(1, Ordering::Relaxed);
    match start_worker(true) {
        Ok(worker) => {
            IDLE.lock().shared.push(worker);
            Some(worker)
        }
        Err(_) => {
            // ORDERING: as above.
            SHARED.fetch_sub(1, Ordering::Relaxed);
            None
        }
    }
}

/// The worker's assignment has ended. A dedicated worker does not return to the pool, because its
/// kernel thread was changed for good.
fn give_back(worker: &'static Worker) {
    // SAFETY: own kernel thread.
    if let Some(tls_block) = unsafe { (*worker.own()).tls.original() } {
        tls_block.forget_timer_signals();
    }
    if worker.is_dedicated() {
        return worker.note_assignment_ended();
    }
    let mut idle = IDLE.lock();
    // Under the lock: no thread can have taken the worker and assigned new work to it yet.
    worker.note_assignment_ended();
    if worker.is_shared() { idle.shared.push(worker) } else { idle.single.push(worker) }
}

/// Installs the process-wide hooks, once.
pub(crate) fn initialise() {
    INITIALISE.call_once(|| {
        crate::fault::install();
        program_threads::prepare();
        // SAFETY: once, before the hook that reads it is installed; a valid out pointer.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, core::ptr::null(), SIGNALS.0.get()) };
        register_fork_handlers();
    });
}

/// Registers the pool's fork handlers, once. Prepare handlers that are registered later run
/// earlier, and may use the pool. Any thread.
pub fn register_fork_handlers() {
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    // ORDERING: Relaxed; a flag by itself. It is set first, because the function that registers may
    // call this one.
    if !REGISTERED.load(Ordering::Relaxed) && !REGISTERED.swap(true, Ordering::Relaxed) {
        // SAFETY: the handlers are async-signal-safe, see `after_fork_in_child`.
        unsafe {
            libc::pthread_atfork(Some(before_fork), Some(after_fork_in_parent), Some(after_fork_in_child))
        };
    }
}

fn start_worker(shared: bool) -> std::io::Result<&'static Worker> {
    initialise();
    let record = registry::take_record();
    record.share(shared);
    record.set_runs_on_kernel_stack(!shared && jobs_run_on_own_stacks());
    if let Err(error) = spawn_kernel_thread(record, first_mask) {
        registry::put_back_record(record);
        return Err(error);
    }
    // ORDERING: Relaxed; a statistic.
    STARTED.fetch_add(1, Ordering::Relaxed);
    Ok(record)
}

/// Starts a kernel thread for `record`. The thread opens its signal mask when it is registered.
/// `mask` computes that mask from the mask of the calling thread.
fn spawn_kernel_thread(record: &'static Worker, mask: impl FnOnce(u64) -> u64) -> std::io::Result<()> {
    let program = program_stack(record);
    let bytes = address_space(program);
    if !promised::reserve_room(bytes) {
        return Err(std::io::ErrorKind::OutOfMemory.into());
    }
    spin_policy::count_starting(true);
    let started = kernel::start_thread(
        kernel_stack(program),
        kernel_thread_main,
        core::ptr::from_ref(record).cast_mut().cast(),
        |before| {
            // ORDERING: Relaxed; creating the thread publishes it.
            record.pool.first_mask.store(mask(before), Ordering::Relaxed);
        },
    );
    started.inspect_err(|_| {
        spin_policy::count_starting(false);
        promised::release_room(bytes);
    })
}

/// The signal mask of a new kernel thread: the mask of the thread that makes the team. The stall
/// monitor blocks all signals; a worker that it starts to stand in for another gets the mask of the
/// first thread in the runtime.
fn first_mask(makers: u64) -> u64 {
    // The kernel never lets a thread block two signals, and never shows them as blocked.
    let blocks_all = (makers | !mask::EVERYTHING | mask::never_blocked()) == !0;
    // SAFETY: written before any kernel thread of the pool is started; the first word is the
    // kernel's mask.
    let inherited = if blocks_all { unsafe { SIGNALS.0.get().cast::<u64>().read() } } else { makers };
    inherited & mask::EVERYTHING & !mask::faults()
}

extern "C" fn kernel_thread_main(argument: *mut libc::c_void) -> *mut libc::c_void {
    // SAFETY: `spawn_kernel_thread` passes a worker's record, and records are never freed.
    let worker: &'static Worker = unsafe { &*argument.cast() };
    become_worker(worker);
    spin_policy::count_starting(false);
    promised::release_room(address_space(program_stack(worker)));
    crate::stall::watcher::start_if_due();
    idle_loop(worker);
    core::ptr::null_mut()
}

/// The calling kernel thread adopts the record of a worker of the pool, and returns to program
/// code. A kernel thread that had the record before has left it in the scheduler ([`renew`]).
fn become_worker(worker: &'static Worker) {
    if !worker.is_in_scheduler() {
        worker.enter_scheduler();
    }
    adopt(worker);
    worker.enter_program();
}

/// [`become_worker`] for a record that is, and stays, in the scheduler.
fn adopt(worker: &'static Worker) {
    registry::adopt_for_pool(worker);
    crate::fault::enter_kernel_thread();
    // ORDERING: Relaxed; written before this thread was made.
    mask::set_mask(worker.pool.first_mask.load(Ordering::Relaxed));
    worker.watched.open_signal();
    worker.note_kernel_mask();
    name_thread(worker.index());
    spin_policy::count_awake(true);
}

/// The prefix of the names of the pool's kernel threads.
pub const THREAD_NAME_PREFIX: &str = "gangway-";

fn name_thread(index: u32) {
    use std::io::Write;
    let mut name = [0_u8; 16];
    // Characters that do not fit are left out; the last byte stays zero.
    let _ = write!(&mut name[..15], "{THREAD_NAME_PREFIX}{index}");
    if let Ok(name) = CStr::from_bytes_until_nul(&name) {
        thread::set_name(name);
    }
}

/// The loop of a pool worker on its kernel stack: wait for an assignment, run it, be idle again.
/// Returns when the kernel thread has left the worker to another one.
fn idle_loop(worker: &'static Worker) {
    loop {
        match await_assignment(worker) {
            Some(mut letter) => {
                run_assignment(worker, &mut letter);
                drop(letter);
                give_back(worker);
            }
            None if renew::answer_request(worker) => return,
            None => {}
        }
    }
}

/// The bounds of [`Spin`] for idle workers.
static IDLE_SPIN: [AtomicU32; 2] = [AtomicU32::new(0), AtomicU32::new(0)];

/// Sets how long an idle worker looks for ULTs before it sleeps; at most `MOST_IDLE_SPIN`.
pub fn set_idle_spin(spin: Spin) {
    let (least, most) = spin.capped(MOST_IDLE_SPIN).bounds();
    // ORDERING: Relaxed, both; settings.
    IDLE_SPIN[0].store(least, Ordering::Relaxed);
    // ORDERING: as above.
    IDLE_SPIN[1].store(most, Ordering::Relaxed);
}

fn idle_spin() -> Spin {
    // ORDERING: Relaxed, both; settings.
    Spin::between(IDLE_SPIN[0].load(Ordering::Relaxed), IDLE_SPIN[1].load(Ordering::Relaxed))
}

/// The longest time, in microseconds, for which an idle worker polls. A worker that belongs to no
/// team sleeps in the end, whatever the program sets for its threads.
const MOST_IDLE_SPIN: u32 = 10_000;

/// Waits on the native stack. A shared worker runs ULTs meanwhile. `None`: the kernel thread is
/// asked to end.
fn await_assignment(worker: &'static Worker) -> Option<Box<AssignmentLetter>> {
    loop {
        // ORDERING: Acquire, pairs with the Release in `assign`.
        let p = worker.pool.mailbox.swap(core::ptr::null_mut(), Ordering::Acquire);
        if !p.is_null() {
            // SAFETY: `assign` made it with Box::into_raw, and the swap gave it to this call alone.
            return Some(unsafe { Box::from_raw(p) });
        }
        if renew::is_asked(worker) {
            return None;
        }
        // ORDERING: Relaxed; the swap above synchronises, this only decides whether to go on.
        let ready = || !worker.pool.mailbox.load(Ordering::Relaxed).is_null() || renew::is_asked(worker);
        wait(&Wait::until(&ready).spinning(idle_spin()));
    }
}

fn run_assignment(worker: &'static Worker, AssignmentLetter { assignment, ult }: &mut AssignmentLetter) {
    if worker.runs_on_kernel_stack() {
        // SAFETY: the code that made the assignment guarantees this; the worker's own kernel
        // thread.
        unsafe {
            (assignment.entry)(assignment.argument);
            (*worker.own()).role = role::Role::none(worker);
        }
        return words::set_locals(role::Locals::default());
    }
    let mut ult = ult.take().unwrap_or_else(|| Box::new(Ult::native()));
    if let Err(error) = ult.attach_new_stack(assignment.stack_size, ult_main) {
        crate::sys::fatal(&format!(
            "cannot map a stack of {} KiB for a thread: {error}",
            assignment.stack_size >> 10
        ));
    }
    let ult = Box::into_raw(ult);
    // SAFETY: this is the worker's own kernel thread, on its native stack. Only this call uses the
    // new ULT.
    unsafe {
        let own = worker.own();
        (*own).starts.assigned = Some(Job { run: assignment.entry, data: assignment.argument });
        let native = &raw mut (*own).native;
        (*own).current = ult;
        observer::notify(|| SchedulerEvent::Switches { from: native as usize, to: ult as usize });
        switch(native, ult, worker, None);
        (*worker.own()).current = native;
        (*worker.own()).role = role::Role::none(worker);
        words::note_stack(worker);
        Ult::retire(ult);
    }
    words::set_locals(role::Locals::default());
}

/// The first function of an assigned ULT.
unsafe extern "C" fn ult_main(_: usize) -> ! {
    crate::sanitize::begin();
    let worker =
        words::current().unwrap_or_else(|| crate::sys::fatal("a ULT runs on an unregistered thread"));
    words::note_stack(worker);
    // SAFETY: this is the worker's own kernel thread; `run_assignment` has put the job there.
    unsafe {
        if let Some(job) = (*worker.own()).starts.assigned.take() {
            (job.run)(job.data);
        }
        let own = worker.own();
        let current = (*own).current;
        let native = &raw mut (*own).native;
        crate::sanitize::leaves_nothing(&mut (*current).trail);
        observer::notify(|| SchedulerEvent::Switches { from: current as usize, to: native as usize });
        switch(current, native, worker, (*own).tls.native);
    }
    crate::sys::fatal("an ended ULT was resumed")
}

// ---- fork -------------------------------------------------------------------

/// During a fork the forking kernel thread counts as in its scheduler. So no other kernel thread
/// moves its contexts meanwhile (the child would inherit half of the move), and the stall monitor
/// does not interrupt it.
unsafe extern "C" fn before_fork() {
    if let Some(worker) = words::current().filter(|worker| !worker.is_in_scheduler()) {
        worker.enter_scheduler();
        // SAFETY: own kernel thread.
        unsafe { (*worker.own()).forks = true };
    }
    crate::sys::loader::before_fork();
}

/// Ends what [`before_fork`] has begun.
unsafe extern "C" fn after_fork_in_parent() {
    crate::sys::loader::after_fork();
    // SAFETY: own kernel thread.
    if words::current().is_some_and(|worker| unsafe { core::mem::take(&mut (*worker.own()).forks) }) {
        enter_program();
    }
}

/// In the child of a fork only the forking thread exists. All shared structures are forgotten, not
/// freed. This function neither allocates nor locks.
unsafe extern "C" fn after_fork_in_child() {
    crate::sys::loader::after_fork();
    // SAFETY: the child has only this thread until user code makes another one.
    unsafe {
        IDLE.forget(Idle { shared: Vec::new(), single: Vec::new() });
        // ORDERING: Relaxed; no other thread exists.
        RESERVED.store(0, Ordering::Relaxed);
        // ORDERING: as above.
        FORKERS.store(0, Ordering::Relaxed);
        crate::signals::deliver::forget_after_fork();
        crate::spawn::forget_after_fork();
        crate::allotment::active::reset_after_fork();
        crate::stall::watcher::reset_after_fork();
        registry::forget_after_fork();
        crate::stack::reset_after_fork();
        kernel::forget_after_fork();
        renew::forget_after_fork();
        crate::blocks::forget_after_fork();
        crate::tls_block::forget_after_fork();
        if let Some(worker) = words::current() {
            worker.parker.reset_after_fork();
            let own = worker.own();
            (*own).forks = false;
            (*own).suspended.forget_others((*own).role.thread);
        }
    }
    // ORDERING: Relaxed; single-threaded.
    STARTED.store(0, Ordering::Relaxed);
    // ORDERING: Relaxed; single-threaded.
    SHARED.store(0, Ordering::Relaxed);
    fork::count();
    spin_policy::reset_after_fork();
    observer::notify(|| SchedulerEvent::Forked);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{IDLE, acquire_with_stack};
    use crate::stack;
    use crate::stack::promised::tests::{in_child, limit_space};

    #[test]
    fn an_idle_worker_and_a_pooled_stack_need_no_room() {
        const STACK_BYTES: usize = 256 << 10;
        in_child(|| {
            let Some(worker) = acquire_with_stack(STACK_BYTES) else { return false };
            let pooled = stack::take(STACK_BYTES).map(stack::give);
            IDLE.lock().single.push(worker);
            let is_limited = pooled.is_ok() && limit_space(1 << 20);
            is_limited
                && acquire_with_stack(STACK_BYTES).is_some_and(|found| core::ptr::eq(found, worker))
                && acquire_with_stack(STACK_BYTES).is_none()
        });
    }
}
