//! TLS blocks: the thread-local storage that a context runs with.
//!
//! The ELF ABI gives thread-local storage to kernel threads. `errno`, `thread_local`, the caches of
//! `malloc`, `pthread_self()` and the owners of mutexes are found through one register, the thread
//! pointer. If several threads of a program share a kernel thread, each of them needs storage of
//! its own. Such a thread borrows the storage of a *TLS donor*: an ordinary pthread, made once,
//! that sleeps ([`borrow`], [`give_back`]). A donor that no thread borrows ends when the program
//! relinquishes its resources ([`end_unused`]). A context *runs with* a TLS block while the thread
//! pointer is the block's ([`run_with`]).
//!
//! What lives here: the records, the pool of donors, and the change of the thread pointer. Three
//! files in `tls_block/` hold parts of it:
//!
//! * `donor`: making a donor.
//! * `support`: finding out whether donors can work in this process.
//! * `setxid`: the C library's broadcasts to all threads.
//!
//! What does not: the choice of the context that runs with a block, and carrying over the
//! scheduler's words of the thread block. The scheduler does both, by the rules of
//! `docs/protocols/tls-block.md`.
//!
//! Costs, measured by the test `measure` (AMD EPYC of the Zen 5 generation, virtual machine with 2
//! processors, kernel 6.18, glibc 2.36):
//!
//! * A change of the thread pointer takes 12 ns by the instruction and 145 ns by the system call.
//! * Making a donor takes 26 µs of the maker's time, and 8 KiB of resident memory besides the
//!   kernel's own.
//! * Borrowing and returning a pooled donor takes 9 ns.
//!
//! Tried and rejected:
//! * Copying the static thread-local storage at each change. Addresses stay those of the kernel
//!   thread, so an address that a compiler kept is wrong after a context has moved. Also, the
//!   dynamic blocks and glibc's own fields cannot be copied.
//! * Making thread blocks without a pthread. `_dl_allocate_tls` is private, and the layout around
//!   it changes.
//! * Donors on stacks that the C library allocates. In the child of a fork the library takes back
//!   the stacks of all other threads, thread blocks included, and gives them to the next new
//!   thread.
//! * Returning to the kernel thread's own TLS block to make a donor. `pthread_create` works under
//!   any TLS block, and under a donor's block the kernel thread's own record would have to be found
//!   first.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::collections::BTreeMap;

use crate::kernel_state::ThreadState;
use crate::signals::queue::SignalQueue;
use crate::stack::promised::SpaceBesideStack;
use crate::sys::arch;
use crate::sys::fork::ForkMutex;
use crate::worker::Worker;

mod directory;
mod donor;
mod setxid;
mod support;
#[cfg(all(test, not(loom), target_arch = "x86_64"))]
mod tests;

pub use support::{Support, support};

/// The thread-local storage that a context runs with: a thread pointer, and the memory that it
/// leads to. A record is never freed.
///
/// At most one kernel thread at a time runs with a block; it may be another one each time.
#[derive(Debug)]
pub struct TlsBlock {
    /// The thread pointer, not zero. A donor writes it once, before any other thread has the
    /// record.
    fs: AtomicUsize,
    /// The number of the donor's kernel thread; zero for the storage of a thread that runs by
    /// itself.
    tls_donor: AtomicI32,
    /// The worker that hosts the thread with this block, running or suspended. Null: no thread runs
    /// with the block. It may also be [`TLS_DONOR_HANDLES`].
    host: AtomicPtr<Worker>,
    /// The next record in the same bucket of the [`directory`].
    next_tls_donor: AtomicPtr<TlsBlock>,
    /// The signal mask that the thread runs with, see `sched::note_mask`.
    mask: AtomicU64,
    /// The signals that the donor's kernel thread blocks. They are the signals that its maker
    /// blocked, without those that its thread has unblocked since.
    tls_donor_mask: AtomicU64,
    /// Signals that the donor's kernel thread lets through although its thread may block them.
    timer_signals: AtomicU64,
    /// The number of handlers of the program that have run in the thread.
    handled: AtomicU32,
    /// Signals for the thread that arrived while another thread ran.
    pub(crate) signals: SignalQueue,
    /// The state that the kernel keeps for the thread.
    pub(crate) state: ThreadState,
    /// The worker whose kernel thread is dedicated to this thread. Null if there is none, or if a
    /// team has taken it. See `sched::dedicated`.
    dedicated_worker: AtomicPtr<Worker>,
    /// The [`crate::sys::fork::generation`] in which the record was made: a donor's kernel thread exists
    /// in that process only.
    generation: u32,
    /// True for the storage of a donor, false for that of a thread that runs by itself.
    is_of_a_donor: bool,
    /// The donor's `pthread_t`. The donor writes it once, before any other thread has the record.
    tls_donor_thread: AtomicUsize,
    /// False: the donor is about to end, or has ended, and the [`directory`] does not find it any
    /// more.
    listed: AtomicBool,
    /// Not zero: the donor is to end. This is the futex on which it sleeps.
    end_requested: AtomicU32,
}

impl TlsBlock {
    fn new(fs: usize, is_of_a_donor: bool) -> &'static Self {
        Box::leak(Box::new(Self::of(fs, is_of_a_donor)))
    }

    fn of(fs: usize, is_of_a_donor: bool) -> Self {
        Self {
            fs: AtomicUsize::new(fs),
            tls_donor: AtomicI32::new(0),
            host: AtomicPtr::new(ptr::null_mut()),
            next_tls_donor: AtomicPtr::new(ptr::null_mut()),
            mask: AtomicU64::new(0),
            tls_donor_mask: AtomicU64::new(0),
            timer_signals: AtomicU64::new(0),
            handled: AtomicU32::new(0),
            signals: SignalQueue::new(),
            state: ThreadState::new(),
            dedicated_worker: AtomicPtr::new(ptr::null_mut()),
            generation: crate::sys::fork::generation(),
            is_of_a_donor,
            tls_donor_thread: AtomicUsize::new(0),
            listed: AtomicBool::new(true),
            end_requested: AtomicU32::new(0),
        }
    }

    /// From here on the record stands for the storage of the calling kernel thread, which has
    /// replaced another one of the pool ([`crate::pool::renew`]).
    pub(crate) fn set_to_calling_thread(&self) {
        // ORDERING: Relaxed; other kernel threads get the record from this one, through a queue or
        // a lock.
        self.fs.store(arch::thread_pointer(), Ordering::Relaxed);
    }

    /// The thread pointer: a number that no other TLS block in use in this process has.
    #[inline]
    pub fn thread_pointer(&self) -> usize {
        // ORDERING: Relaxed; rewritten only while no context runs with this storage.
        self.fs.load(Ordering::Relaxed)
    }

    /// Is this the storage of the donor whose kernel thread has the number `tid`? May be called in
    /// a signal handler.
    pub(crate) fn is_tls_donor(&self, tid: i32) -> bool {
        // ORDERING: Relaxed; rewritten only while no context runs with this storage.
        tid != 0 && self.tls_donor.load(Ordering::Relaxed) == tid && self.is_of_this_process()
    }

    /// The number of the kernel thread with this storage, if it is a donor's. The thread with this
    /// storage takes this number for its own.
    pub fn tls_donor_number(&self) -> Option<i32> {
        // ORDERING: Relaxed; as above.
        Some(self.tls_donor.load(Ordering::Relaxed)).filter(|&tid| tid != 0 && self.is_of_this_process())
    }

    /// The worker that hosts the thread with this storage. The answer is recent. Any thread, also
    /// in a signal handler.
    pub(crate) fn host(&self) -> Option<&'static Worker> {
        // ORDERING: Acquire, pairs with the Release in `set_host`.
        let host = self.host.load(Ordering::Acquire);
        // SAFETY: null or a record, and records are never freed.
        if host == TLS_DONOR_HANDLES { None } else { unsafe { host.as_ref() } }
    }

    /// The thread with this TLS block is on `worker` from here on. The caller has
    /// [claimed](Self::claim) the block, or moves its thread.
    #[inline]
    pub(crate) fn set_host(&self, worker: &'static Worker) {
        // ORDERING: Release, pairs with the Acquire in `host`.
        self.host.store(ptr::from_ref(worker).cast_mut(), Ordering::Release);
    }

    /// Claims the TLS block for a thread that is about to start on `worker`. Waits until the donor
    /// has returned from a handler of the program.
    #[inline]
    pub(crate) fn claim(&self, worker: &'static Worker) {
        if self.is_of_a_donor && !self.take(ptr::from_ref(worker).cast_mut()) {
            self.claim_contended(worker);
        }
    }

    #[cold]
    fn claim_contended(&self, worker: &'static Worker) {
        // Only TLS_DONOR_HANDLES makes the caller wait. A donor of a parent process handles
        // nothing, and any other user is the caller itself.
        while self.is_of_this_process() && self.host.load(Ordering::Relaxed) == TLS_DONOR_HANDLES {
            crate::sys::thread::give_core();
            if self.take(ptr::from_ref(worker).cast_mut()) {
                return;
            }
        }
    }

    /// Takes the TLS block for `user`: a worker, or [`TLS_DONOR_HANDLES`]. False if another user
    /// has it.
    fn take(&self, user: *mut Worker) -> bool {
        // ORDERING: Acquire, pairs with the Release in `release` and `end_handling`: the storage is
        // as its last user has left it.
        self.host.compare_exchange(ptr::null_mut(), user, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// The thread with this TLS block has ended, and no worker runs with the block. The donor
    /// handles the signals that are left in the queue. No effect if no worker has the block.
    pub(crate) fn release(&'static self) {
        // ORDERING: Relaxed; the caller has stored the worker, or has received the block from the
        // worker that did.
        if matches!(self.host.load(Ordering::Relaxed), at if at.is_null() || at == TLS_DONOR_HANDLES) {
            return;
        }
        // ORDERING: Release, pairs with the Acquire in `take`.
        self.host.store(ptr::null_mut(), Ordering::Release);
        // A sender whose signal this load misses has read the old host. It interrupts this kernel
        // thread, whose handler checks again (`signals::on_kick`).
        if self.signals.has_news() {
            crate::signals::notify_host(self);
        }
    }

    /// The donor starts to handle signals of its thread. False if the thread is in a region, or the
    /// donor handles a signal already.
    pub(crate) fn begin_handling(&self) -> bool {
        self.take(TLS_DONOR_HANDLES)
    }

    /// The donor has handled them.
    pub(crate) fn end_handling(&self) {
        // ORDERING: Release, pairs with the Acquire in `take`.
        self.host.store(ptr::null_mut(), Ordering::Release);
    }

    /// The signal mask of the thread.
    pub(crate) fn mask(&self) -> u64 {
        // ORDERING: Relaxed; handed on with the thread.
        self.mask.load(Ordering::Relaxed)
    }

    /// Notes the signal mask of the thread.
    pub(crate) fn set_mask(&self, mask: u64) {
        // ORDERING: Relaxed, as above.
        self.mask.store(mask, Ordering::Relaxed);
    }

    /// The signals that the donor's kernel thread blocks.
    pub(crate) fn tls_donor_mask(&self) -> u64 {
        // ORDERING: Relaxed; the donor's kernel thread writes it, and other threads see a recent
        // value.
        self.tls_donor_mask.load(Ordering::Relaxed)
    }

    /// Notes what the donor's kernel thread blocks. Called by that kernel thread.
    pub(crate) fn set_tls_donor_mask(&self, mask: u64) {
        // ORDERING: Relaxed, as above.
        self.tls_donor_mask.store(mask, Ordering::Relaxed);
    }

    /// The donor lets the signals of `set` through from its next [`crate::stall::kick`] on.
    pub(crate) fn add_timer_signals(&self, set: u64) {
        // ORDERING: Relaxed; the signal that follows orders it before the donor's handler.
        self.timer_signals.fetch_or(set, Ordering::Relaxed);
    }

    /// The signals that the donor lets through although its thread may block them.
    pub(crate) fn timer_signals(&self) -> u64 {
        // ORDERING: Relaxed, as above.
        self.timer_signals.load(Ordering::Relaxed)
    }

    /// The kernel thread of `worker` is dedicated to the thread with this TLS block.
    pub(crate) fn set_dedicated_worker(&self, worker: &'static Worker) {
        // ORDERING: Release, pairs with the Acquire in `take_dedicated_worker`: the worker is
        // dedicated.
        self.dedicated_worker.store(ptr::from_ref(worker).cast_mut(), Ordering::Release);
    }

    /// Takes the worker whose kernel thread is dedicated to the thread with this TLS block, for a
    /// team that contains the thread. Any thread.
    pub fn take_dedicated_worker(&self) -> Option<&'static Worker> {
        // ORDERING: Acquire, pairs with the Release in `set_dedicated_worker`.
        // SAFETY: null or a record, and records are never freed.
        let worker = unsafe { self.dedicated_worker.swap(ptr::null_mut(), Ordering::Acquire).as_ref() };
        worker.filter(|_| self.is_of_this_process())
    }

    /// The thread with this TLS block has ended. The next thread with it has requested nothing yet.
    pub(crate) fn forget_thread(&self) {
        self.state.forget();
        // ORDERING: Relaxed; the TLS block is unused. The dedicated kernel thread stays unused,
        // too.
        self.dedicated_worker.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// How many handlers of the program have run in the thread, modulo 2^32.
    pub(crate) fn handled(&self) -> u32 {
        // ORDERING: Relaxed; only the thread itself asks.
        self.handled.load(Ordering::Relaxed)
    }

    /// A handler of the program begins in the thread.
    pub(crate) fn count_handler(&self) {
        // ORDERING: Relaxed; only the thread itself writes it, from one handler at a time or from
        // nested ones.
        self.handled.fetch_add(1, Ordering::Relaxed);
    }

    /// Was the record made in this process, and not before a fork? A donor's kernel thread exists
    /// only in the process that made it.
    #[inline]
    pub(crate) fn is_of_this_process(&self) -> bool {
        self.generation == crate::sys::fork::generation()
    }

    /// True for a TLS block that came from [`borrow`].
    #[inline]
    pub fn is_of_a_donor(&self) -> bool {
        self.is_of_a_donor
    }
}

/// Are both the same TLS block? False where one of them is none.
pub(crate) fn is_same(a: Option<&'static TlsBlock>, b: Option<&'static TlsBlock>) -> bool {
    matches!((a, b), (Some(a), Some(b)) if ptr::eq(a, b))
}

/// Stands in place of a worker while the donor runs a handler of the program.
const TLS_DONOR_HANDLES: *mut Worker = ptr::without_provenance_mut(1);

/// The records, and the donors that no thread has borrowed.
struct Pool {
    /// The last returned block is borrowed first: its storage is most likely to be in a cache.
    free: Vec<&'static TlsBlock>,
    /// One record for each thread pointer that was ever looked up. If a new thread has the thread
    /// pointer of an ended one, it gets the same record.
    records: BTreeMap<usize, &'static TlsBlock>,
}

impl Pool {
    const fn new() -> Self {
        Self { free: Vec::new(), records: BTreeMap::new() }
    }

    /// The record of the storage behind `fs`. It is made now if there is none.
    fn record(&mut self, fs: usize) -> &'static TlsBlock {
        self.records.entry(fs).or_insert_with(|| TlsBlock::new(fs, false))
    }

    /// Enters the record of a new donor. It replaces the record of an ended thread that had its
    /// storage in the same place.
    fn enter_tls_donor(&mut self, tls_block: &'static TlsBlock) {
        self.records.insert(tls_block.thread_pointer(), tls_block);
    }
}

static POOL: ForkMutex<Pool> = ForkMutex::new(Pool::new());
static TLS_DONORS: AtomicUsize = AtomicUsize::new(0);

/// A TLS block that no context runs with: a returned one, else the block of a new donor. `None` if
/// TLS blocks cannot be borrowed here ([`support`]), or if the system refuses another thread or its
/// memory.
///
/// Any thread, under any TLS block, but not in a signal handler. Takes a lock for a few
/// instructions. Making a donor takes some tens of microseconds, without the lock.
///
/// The storage is as its last user left it: thread-local variables keep their values, and so do
/// `errno` and the locale. The words of its [`arch::ThreadBlock`] are stale as well. The caller
/// writes the scheduler's words after it runs with the block.
pub fn borrow() -> Option<&'static TlsBlock> {
    if let Support::None(_) = support() {
        return None;
    }
    if let Some(tls_block) = POOL.lock().free.pop() {
        return Some(tls_block);
    }
    make_tls_donor()
}

/// Makes a donor that is borrowed at once. Only after [`support`] has said that this is possible.
fn make_tls_donor() -> Option<&'static TlsBlock> {
    // The hook at fork must be installed before there is a donor to forget.
    crate::pool::initialise();
    // A donor passes signals on, so the program's handlers are not called on it.
    crate::signals::actions::take_over();
    let tls_block = TlsBlock::new(0, true);
    if !donor::make(tls_block) {
        // SAFETY: leaked just now, and no other thread has it.
        drop(unsafe { Box::from_raw(ptr::from_ref(tls_block).cast_mut()) });
        return None;
    }
    setxid::take_over();
    // ORDERING: Relaxed; a statistic.
    TLS_DONORS.fetch_add(1, Ordering::Relaxed);
    POOL.lock().enter_tls_donor(tls_block);
    directory::insert(tls_block);
    Some(tls_block)
}

/// Returns a block from [`borrow`], for the next borrower. No context runs with it, and none will
/// run with it through the caller's reference.
///
/// A TLS block that was borrowed before a fork is not borrowed again in the child. Its kernel
/// thread is in the parent, and with it the claim to the thread's number. A TLS block that was not
/// borrowed ends the process. Any thread, but not in a signal handler.
pub fn give_back(tls_block: &'static TlsBlock) {
    if !tls_block.is_of_a_donor {
        crate::sys::fatal("a kernel thread's own storage was given to the pool of donors");
    }
    tls_block.forget_thread();
    tls_block.release();
    if tls_block.is_of_this_process() {
        POOL.lock().free.push(tls_block);
    }
}

/// Ends all donors that are not borrowed, and waits until the destructors of their thread-local
/// variables have run. Any thread, under its own TLS block, but not in a signal handler.
pub fn end_unused() {
    let mut unused = core::mem::take(&mut POOL.lock().free);
    unused.retain(|tls_block| tls_block.is_of_this_process());
    for tls_block in &unused {
        directory::remove(tls_block);
        POOL.lock().records.remove(&tls_block.thread_pointer());
        donor::end(tls_block);
        // ORDERING: Relaxed; a statistic.
        TLS_DONORS.fetch_sub(1, Ordering::Relaxed);
    }
    unused.into_iter().for_each(donor::join);
}

/// The donor with this number, borrowed or not. Any thread, also in a signal handler; looks at all
/// donors.
pub fn of_tls_donor(tid: i32) -> Option<&'static TlsBlock> {
    directory::with_number(tid)
}

/// The TLS block with this thread pointer, if it is a donor's. Any thread, also in a signal
/// handler.
pub fn of_donors_thread_pointer(fs: usize) -> Option<&'static TlsBlock> {
    directory::with_thread_pointer(fs)
}

/// The TLS block in force on the calling kernel thread: that of its own storage, unless it runs
/// with another one.
///
/// It is called once per kernel thread, when the thread is registered. It takes a lock and, the
/// first time, makes the record. Not in a signal handler.
pub fn of_current_thread() -> &'static TlsBlock {
    POOL.lock().record(arch::thread_pointer())
}

/// Makes the TLS block of the calling kernel thread, which is one of the pool and runs with its own
/// storage. Takes no lock and allocates nothing.
///
/// Such a thread leaves its record to another kernel thread before it ends
/// ([`crate::pool::renew`]). So no other thread's storage is found behind the same thread pointer,
/// and the pool of TLS blocks needs no entry for the record.
pub(crate) fn of_pool_thread() -> TlsBlock {
    TlsBlock::of(arch::thread_pointer(), false)
}

/// Makes the calling kernel thread run with the storage of `tls_block` from here on. It changes the
/// thread pointer and nothing else. The cost is one load, one comparison and one instruction where
/// the processor has it, else a system call.
///
/// # Safety
/// * No other kernel thread runs with `tls_block`, and it was obtained in this process or a parent
///   (see the page on forks).
/// * No address of thread-local storage, `errno`'s included, is live across the call. The compiler
///   may keep one over any inlined code, so callers are not inlined into code that has such an
///   address.
/// * The scheduler's words of the thread block are carried over before any code reads them, signal
///   handlers included.
/// * [`support`] is not `None`, unless `tls_block` is in force already.
#[inline]
pub unsafe fn run_with(tls_block: &TlsBlock) {
    if support::is_direct() {
        // SAFETY: `is_direct` says that the kernel allows the instruction; the caller guarantees
        // the rest.
        unsafe { arch::set_thread_pointer(tls_block.thread_pointer()) };
    } else {
        // SAFETY: passed on.
        unsafe { run_with_by_other_means(tls_block.thread_pointer()) };
    }
}

/// For the system call, and for the case that no thread has called [`support`] yet.
#[cold]
unsafe fn run_with_by_other_means(fs: usize) {
    if fs == arch::thread_pointer() {
        return;
    }
    // SAFETY: the caller of `run_with` guarantees the conditions on the TLS block; the variant says
    // which means is allowed.
    let done = unsafe {
        match support() {
            Support::Direct => {
                arch::set_thread_pointer(fs);
                true
            }
            Support::Syscall => arch::set_thread_pointer_by_system_call(fs),
            Support::None(_) => false,
        }
    };
    if !done {
        crate::sys::fatal("the thread pointer cannot be set");
    }
}

/// The address space that a donor takes, and how many there are: for a region that asks whether
/// there is room. Any thread.
pub(crate) fn space() -> SpaceBesideStack {
    SpaceBesideStack { bytes: donor::address_space(), existing: count() }
}

/// The number of donors made in this process; a child of a fork starts at zero. Any thread.
pub fn count() -> usize {
    // ORDERING: Relaxed; a statistic.
    TLS_DONORS.load(Ordering::Relaxed)
}

/// In the child of a fork the donors' kernel threads do not exist. The pool and the records are
/// leaked, and the lock is new. Blocks that are in use, or that suspended contexts hold, stay valid
/// storage (see the page).
///
/// # Safety
/// Only in the child of a fork, before it has a second thread. Neither allocates nor locks.
pub(crate) unsafe fn forget_after_fork() {
    // SAFETY: as the caller says.
    unsafe { POOL.forget(Pool::new()) };
    directory::clear_after_fork();
    // ORDERING: Relaxed; single-threaded.
    TLS_DONORS.store(0, Ordering::Relaxed);
}
