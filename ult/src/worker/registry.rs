//! All records of workers: how they are found, given to kernel threads and taken back.
//!
//! What lives here: the table of workers by index, the unused records, the registration of the
//! program's kernel threads, and the child of a fork. What does not: starting the runtime's own
//! kernel threads ([`crate::pool`]), and what the layer above keeps for a program's thread (it sets
//! a hook).
//!
//! The table is a fixed array to which entries are only added, so a thief reads it without a lock;
//! the child of a fork begins anew. The lock is for taking records and putting them back.

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::Mutex;

use crate::debug::{self, DebugEntry};
use crate::sys::arch;
use crate::tls_block::{self, TlsBlock};
use crate::victim;

use super::running::{WORD_WORKER, word};
use super::{Locals, Role, Worker, current, running, set_locals};

/// The number of workers that can be found by index. Workers beyond it are never victims and get no
/// gang ULTs.
pub const TABLE: usize = 1024;

static WORKERS: [AtomicPtr<Worker>; TABLE] = [const { AtomicPtr::new(ptr::null_mut()) }; TABLE];
static TABLE_LEN: AtomicUsize = AtomicUsize::new(0);
/// The number of registered program threads.
pub(super) static GROUPS: AtomicU32 = AtomicU32::new(0);

/// What debuggers find, see [`crate::debug`].
pub(crate) const REGISTRY_ENTRIES: [DebugEntry; 2] = [
    DebugEntry::address("workers", (&raw const WORKERS).cast()),
    DebugEntry::address("workers.len", (&raw const TABLE_LEN).cast()),
];

/// One more than the largest index in the table.
#[inline]
pub(crate) fn table_len() -> usize {
    // ORDERING: Relaxed; the entries are acquired one by one.
    TABLE_LEN.load(Ordering::Relaxed)
}

/// The worker with this index. It may be unused at the moment.
#[inline]
pub(crate) fn at(index: usize) -> Option<&'static Worker> {
    // ORDERING: Acquire, pairs with the Release in `enter_table`.
    let worker = WORKERS.get(index)?.load(Ordering::Acquire);
    // SAFETY: null or a record, and records are never freed.
    unsafe { worker.as_ref() }
}

fn enter_table(worker: &'static Worker) {
    let index = worker.index() as usize;
    if let Some(slot) = WORKERS.get(index) {
        // ORDERING: Release, pairs with the Acquire in `at`: the record is complete.
        slot.store(ptr::from_ref(worker).cast_mut(), Ordering::Release);
        // ORDERING: Relaxed; see `table_len`.
        TABLE_LEN.fetch_max(index + 1, Ordering::Relaxed);
    }
}

/// Whether contexts get TLS blocks of their own; decided before the first worker is registered.
static TLS_BLOCKS: AtomicU32 = AtomicU32::new(1);

/// Switches TLS blocks off: threads that share a kernel thread then share its thread-local storage.
/// Called before the first worker is registered.
pub fn use_tls_blocks(on: bool) {
    // ORDERING: Relaxed; a setting, made before it matters.
    TLS_BLOCKS.store(u32::from(on), Ordering::Relaxed);
}

/// Do contexts get TLS blocks of their own?
pub fn uses_tls_blocks() -> bool {
    // ORDERING: Relaxed; see `use_tls_blocks`.
    TLS_BLOCKS.load(Ordering::Relaxed) != 0 && !matches!(tls_block::support(), tls_block::Support::None(_))
}

/// Sums of steals and context switches over all workers that ever existed. Other threads go on
/// meanwhile, so the figures are recent ones.
pub fn totals() -> (victim::Totals, u64) {
    let workers = || (0..table_len()).filter_map(at);
    // ORDERING: Relaxed; a statistic.
    let switches = workers().map(|w| w.per_switch.switches.load(Ordering::Relaxed)).sum();
    (workers().map(|w| w.per_switch.steals.read()).sum(), switches)
}

/// Records that no kernel thread uses, and the next index.
struct WorkerRegistry {
    spare: Vec<&'static Worker>,
    next: u32,
}

static REGISTRY: crate::sys::fork::ForkMutex<WorkerRegistry> =
    crate::sys::fork::ForkMutex::new(WorkerRegistry { spare: Vec::new(), next: 0 });

/// Gives `worker`, an unused record, to the calling kernel thread, which is one of the pool.
/// Allocates nothing, see [`crate::pool::AssignmentLetter`].
pub(crate) fn adopt_for_pool(worker: &'static Worker) {
    let storage = worker.storage.get_or_init(tls_block::of_pool_thread);
    storage.set_to_calling_thread();
    adopt(worker, || storage);
}

/// The calling kernel thread, one of the pool, leaves its record to another one, which adopts it
/// next. The worker has no suspended contexts.
pub(crate) fn leave_to_successor(worker: &'static Worker) {
    crate::fault::leave_kernel_thread();
    running::give_spare_tls_block_back(worker);
    // SAFETY: own kernel thread, in the scheduler.
    if let Some(substitute) = unsafe { (*worker.own()).substitute.take() } {
        tls_block::give_back(substitute);
    }
    worker.watched.end();
    running::clear_runtime_words();
}

/// How many kernel threads of the program are registered. Others register and end meanwhile.
pub(crate) fn program_threads() -> u32 {
    // ORDERING: Relaxed; a recent number.
    GROUPS.load(Ordering::Relaxed)
}

/// Gives `worker`, an unused record, to the calling kernel thread, whose own storage is
/// `tls_block`.
fn adopt(worker: &'static Worker, tls_block: impl FnOnce() -> &'static TlsBlock) {
    let tls_block = uses_tls_blocks().then(tls_block);
    // SAFETY: no other thread has the record; the calling kernel thread is its owner from here on.
    unsafe {
        let own = worker.own();
        (*own).native.trail.forget_own_stack();
        (*own).current = &raw mut (*own).native;
        (*own).native.native_stack = crate::stack::Bounds::UNKNOWN;
        (*own).native_tls_block = tls_block;
        (*own).block_in_use = tls_block;
        (*own).role = Role::none(worker);
        (*own).mode_in_force = worker.thread();
        (*own).place = None;
        (*own).kernel = crate::kernel_state::KernelHost::NEW;
    }
    worker.site.forget();
    word(WORD_WORKER).set(ptr::from_ref(worker) as usize);
    set_locals(Locals::default());
    worker.note_kernel_mask();
    if let Some(tls_block) = tls_block {
        tls_block.set_host(worker);
        running::note_tls_block(tls_block);
    }
    // ORDERING: Relaxed; for a handler on this same kernel thread (`own_thread_pointer`).
    worker.thread_pointer.store(arch::thread_pointer(), Ordering::Relaxed);
    enter_table(worker);
    worker.watched.begin();
}

/// The thread pointer with which the calling kernel thread was started, even while it runs with
/// another TLS block. `None` if the thread is not registered, or beyond the table. Touches no
/// thread-local storage, and may be called in a signal handler.
pub(crate) fn own_thread_pointer() -> Option<usize> {
    let me = of_kernel_thread(crate::sys::thread::number())?;
    // ORDERING: Relaxed; written by this kernel thread.
    Some(me.thread_pointer.load(Ordering::Relaxed))
}

/// The worker of the kernel thread with this number, if it is in the table. Touches no thread-local
/// storage except that of the worker that is looked at first. May be called in a signal handler.
pub(crate) fn of_kernel_thread(tid: i32) -> Option<&'static Worker> {
    let is_its = |worker: &&'static Worker| worker.watched.tid() == tid;
    current().filter(is_its).or_else(|| (0..table_len()).filter_map(at).find(is_its))
}

/// The TLS block of the main thread, if that thread has used the runtime.
static MAIN: AtomicPtr<TlsBlock> = AtomicPtr::new(ptr::null_mut());

/// The TLS block of the process's main thread, if that thread has used the runtime. May be called
/// in a signal handler.
pub(crate) fn main_thread() -> Option<&'static TlsBlock> {
    // ORDERING: Acquire, pairs with the Release in `register`.
    // SAFETY: null or a record, and records are never freed.
    unsafe { MAIN.load(Ordering::Acquire).as_ref() }
}

/// Is this the TLS block of the program's main thread? Any thread, in signal handlers as well.
pub fn is_main_thread(tls_block: Option<&'static TlsBlock>) -> bool {
    tls_block::is_same(tls_block, main_thread())
}

/// Takes a record that no kernel thread uses.
pub(crate) fn take_record() -> &'static Worker {
    let mut registry = REGISTRY.lock();
    if let Some(worker) = registry.spare.pop() {
        return worker;
    }
    let index = registry.next;
    registry.next += 1;
    Box::leak(Box::new(Worker::new(index)))
}

/// Takes the record away from the calling kernel thread, which is about to end.
fn abandon_current() {
    let Some(worker) = current() else { return };
    // SAFETY: this kernel thread is the owner. Idle runners are at the top of their loop (see the
    // field), so their stacks hold nothing.
    unsafe {
        let own = worker.own();
        while let Some(runner) = (*own).idle_runners.pop() {
            crate::sched::end_runner(runner);
        }
        if !(*own).suspended.is_empty() {
            return; // pthread_exit in a handler, inside a wait: the record cannot be used again
        }
    }
    running::give_spare_tls_block_back(worker);
    worker.watched.end();
    worker.share(false);
    worker.set_dedicated(false);
    word(WORD_WORKER).set(0);
    running::forget_tls_block();
    set_locals(Locals::default());
    put_back_record(worker);
}

/// Makes a record available for the next kernel thread.
pub(crate) fn put_back_record(worker: &'static Worker) {
    REGISTRY.lock().spare.push(worker);
}

/// In the child of a fork: forgets the spare records and the lock. Indices go on from
/// [`FIRST_AFTER_FORK`], so that a record made here never shares an index with a record of the
/// parent's first threads.
///
/// # Safety
/// Only in the child of a fork, before it has a second thread.
pub(crate) unsafe fn forget_after_fork() {
    // SAFETY: as the caller says; the registry's vector is leaked.
    unsafe { REGISTRY.forget(WorkerRegistry { spare: Vec::new(), next: FIRST_AFTER_FORK }) };
    for slot in &WORKERS {
        // ORDERING: Relaxed throughout; single-threaded.
        slot.store(ptr::null_mut(), Ordering::Relaxed);
    }
    TABLE_LEN.store(0, Ordering::Relaxed);
    // The remaining thread is the main one, with any storage.
    let main =
        super::tls_block_in_force().map_or(ptr::null_mut(), |tls_block| ptr::from_ref(tls_block).cast_mut());
    MAIN.store(main, Ordering::Relaxed);
    GROUPS.store(0, Ordering::Relaxed);
    if let Some(worker) = current() {
        enter_table(worker);
        // Contexts on their way here belong to threads that do not exist in this process.
        worker.returning.store(ptr::null_mut(), Ordering::Relaxed);
        worker.handed_off.store(false, Ordering::Relaxed);
        GROUPS.store(1, Ordering::Relaxed);
        worker.watched.begin();
        worker.enter_program();
    }
}

/// The first index given in the child of a fork. Smaller indices, which the parent's records have,
/// are not given again.
const FIRST_AFTER_FORK: u32 = 512;

type ExitHook = fn();
static EXIT_HOOK: Mutex<Option<ExitHook>> = Mutex::new(None);

/// Sets the hook that runs when a registered program thread ends. It is called once, on that
/// thread, before the thread loses its worker record.
pub fn on_thread_exit(hook: ExitHook) {
    *EXIT_HOOK.lock().unwrap_or_else(|e| e.into_inner()) = Some(hook);
}

/// The calling kernel thread's worker; registers the thread when it is one of the program's own.
///
/// The thread then gets an alternate signal stack if it has none, and a destructor that runs when
/// it ends.
#[inline]
pub fn register_current() -> &'static Worker {
    match current() {
        Some(worker) => worker,
        None => register(),
    }
}

#[cold]
#[inline(never)]
fn register() -> &'static Worker {
    crate::pool::initialise();
    // ORDERING: Relaxed; for debuggers, which read it while the process is stopped.
    debug::BLOCK.store(arch::thread_block() as isize - arch::thread_pointer() as isize, Ordering::Relaxed);
    let worker = take_record();
    adopt(worker, tls_block::of_current_thread);
    // SAFETY: own kernel thread.
    unsafe { (*worker.own()).native.native_stack = crate::stack::native::of_calling_thread() };
    if crate::sys::thread::is_main()
        && let Some(tls_block) = super::tls_block_in_force()
    {
        // ORDERING: Release, pairs with the Acquire in `main_thread`.
        MAIN.store(ptr::from_ref(tls_block).cast_mut(), Ordering::Release);
    }
    // ORDERING: Relaxed; see `Worker::accepts` and `may_steal_blindly`.
    worker.serves.store(worker.group(), Ordering::Relaxed);
    // ORDERING: Relaxed; as above.
    GROUPS.fetch_add(1, Ordering::Relaxed);
    if let Some(stack) = crate::fault::enter_kernel_thread().filter(|stack| !crate::fault::is_ours(stack)) {
        crate::kernel_state::found_alternate_stack(worker, &stack);
    }
    crate::pool::arm_exit_destructor(NonNull::from(worker));
    crate::sched::count_awake(true);
    worker.enter_program();
    worker
}

/// Does a registered kernel thread run code of the program at this moment? Threads for whose number
/// `is_excused` is true do not count, and neither do threads beyond the table. The answer may be
/// out of date when the caller gets it.
pub fn somebody_runs(is_excused: impl Fn(i32) -> bool) -> bool {
    let runs = |worker: &Worker| {
        worker.watched.is_user() && worker.watched.tid() != 0 && !is_excused(worker.watched.tid())
    };
    (0..table_len()).filter_map(at).any(runs)
}

/// The work of the destructor of a program thread; see [`register_current`].
pub(crate) fn program_thread_ends() {
    if current().is_none() {
        return;
    }
    let hook = *EXIT_HOOK.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(hook) = hook {
        hook();
    }
    crate::fault::leave_kernel_thread();
    crate::sched::count_awake(false);
    // ORDERING: Relaxed; as in `register_current`.
    GROUPS.fetch_sub(1, Ordering::Relaxed);
    abandon_current();
}
