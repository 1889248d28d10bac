//! TLS blocks: the thread-local storage that a context runs with.
//!
//! The ELF ABI gives thread-local storage to kernel threads: `errno`, `thread_local`, the caches of
//! `malloc`, `pthread_self()` and the owners of mutexes are found through one register, the thread
//! pointer. When several threads of a program share a kernel thread, each needs storage of its own.
//! It borrows that of a *donor*: an ordinary pthread, made once, that sleeps ([`borrow`],
//! [`give_back`]). A donor that no thread borrows ends when the program relinquishes its resources
//! ([`end_unused`]). A context *runs with* a TLS block while the thread pointer is
//! the TLS block's ([`run_with`]).
//!
//! What lives here: the records, the pool of donors, and running with. In `tls_block/`: making a
//! donor (`tls_donor`), finding out whether it can work in this process (`support`), and the C
//! library's broadcasts to all threads (`setxid`). What may not: who runs with what when, and
//! carrying the scheduler's words of the thread block over; that is the scheduler's, by the rules
//! of `docs/protocols/tls-block.md`.
//!
//! Cost (AMD EPYC of the Zen 5 generation, virtual machine with 2 processors, kernel 6.18, glibc
//! 2.36; test `measure`): running with takes 12 ns by the instruction and 145 ns by the system
//! call; making a donor 26 us of the maker's time and 8 KiB of resident memory besides the kernel's
//! own; borrowing and returning a pooled one 9 ns.
//!
//! Tried and rejected:
//! * copying the static thread-local storage at each change (addresses stay those of the kernel
//!   thread, so what a compiler kept goes wrong when a context moves; the dynamic blocks and
//!   glibc's own fields cannot be copied);
//! * making thread blocks without a pthread (`_dl_allocate_tls` is private, and the layout around
//!   it changes);
//! * donors on stacks that the C library allocates: in the child of a fork it takes the stacks of
//!   all other threads back, thread blocks included, and gives them to the next thread that is
//!   made;
//! * going back to the kernel thread's own TLS block to make a donor: `pthread_create` works under
//!   any TLS block, and the records of the kernel threads would have to be found from under a donor
//!   first.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::collections::BTreeMap;

use crate::arch;
use crate::kernel_state::ThreadState;
use crate::pool::ForkMutex;
use crate::signals::queue::SignalQueue;
use crate::worker::Worker;

mod directory;
mod donor;
mod setxid;
mod support;
#[cfg(all(test, not(loom), target_arch = "x86_64"))]
mod tests;

pub use support::{Support, support};

/// The thread-local storage a context runs with: a thread pointer, and what is behind it. Never
/// freed.
///
/// At most one kernel thread runs with it at a time; it may be another one each time.
#[derive(Debug)]
pub struct TlsBlock {
    /// The thread pointer. Not zero. Of a donor: written by it once, before anybody has the record.
    fs: AtomicUsize,
    /// The number of the donor's kernel thread; zero for storage of a thread that runs by itself.
    tls_donor: AtomicI32,
    /// The worker that the thread with this storage is on, running or suspended; null: no thread
    /// runs with it; [`TLS_DONOR_HANDLES`].
    host: AtomicPtr<Worker>,
    /// The next one in the [`directory`].
    next_tls_donor: AtomicPtr<TlsBlock>,
    /// The signal mask that the thread runs with, see `sched::note_mask`.
    mask: AtomicU64,
    /// The signals that the donor's kernel thread blocks: those that its maker blocked, without
    /// those that its thread has opened since.
    tls_donor_mask: AtomicU64,
    /// Signals that the donor's kernel thread lets through although its thread may block them.
    timer_signals: AtomicU64,
    /// Handlers of the program that have run in the thread.
    handled: AtomicU32,
    /// Signals for the thread that came while another one ran.
    pub(crate) signals: SignalQueue,
    /// What the kernel keeps for the thread.
    pub(crate) state: ThreadState,
    /// The worker whose kernel thread is dedicated to this thread; null if none, or if a team has
    /// taken it. See `sched::dedicated`.
    dedicated_worker: AtomicPtr<Worker>,
    /// [`crate::pool::generation`] in which the record was made: a donor's kernel thread exists in
    /// that process only.
    generation: u32,
    /// The storage of a donor, not of a thread that runs by itself.
    is_of_a_donor: bool,
    /// The donor's `pthread_t`. Written by it once, before anybody has the record.
    tls_donor_thread: AtomicUsize,
    /// False: the donor is about to end, or has ended, and the [`directory`] does not find it any
    /// more.
    listed: AtomicBool,
    /// Not zero: the donor is to end. The futex it sleeps on.
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
            generation: crate::pool::generation(),
            is_of_a_donor,
            tls_donor_thread: AtomicUsize::new(0),
            listed: AtomicBool::new(true),
            end_requested: AtomicU32::new(0),
        }
    }

    /// From here on the record stands for the storage of the calling kernel thread, which has taken
    /// the place of another one of the pool ([`crate::pool::renew`]).
    pub(crate) fn set_to_calling_thread(&self) {
        // ORDERING: Relaxed; other kernel threads get the record from this one, by way of a queue
        // or a lock.
        self.fs.store(arch::thread_pointer(), Ordering::Relaxed);
    }

    /// The thread pointer, a number that no other TLS block in use in this process has.
    #[inline]
    pub fn thread_pointer(&self) -> usize {
        // ORDERING: Relaxed; rewritten only while no context runs with this storage.
        self.fs.load(Ordering::Relaxed)
    }

    /// Is this the storage of the donor whose kernel thread has the number `tid`? In a signal
    /// handler, too.
    pub(crate) fn is_tls_donor(&self, tid: i32) -> bool {
        // ORDERING: Relaxed; rewritten only while no context runs with this storage.
        tid != 0 && self.tls_donor.load(Ordering::Relaxed) == tid && self.is_of_this_process()
    }

    /// The number of the kernel thread whose storage this is, if that is a donor's: what the thread
    /// with this storage takes for its own.
    pub fn tls_donor_number(&self) -> Option<i32> {
        // ORDERING: Relaxed; as above.
        Some(self.tls_donor.load(Ordering::Relaxed)).filter(|&tid| tid != 0 && self.is_of_this_process())
    }

    /// The worker that a thread with this storage is on. A recent answer; any thread, in a signal
    /// handler too.
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
        // Only DONOR_HANDLES makes the caller wait. A donor of a parent process handles nothing,
        // and any other user is the caller itself.
        // ORDERING: Relaxed; `take` acquires.
        while self.is_of_this_process() && self.host.load(Ordering::Relaxed) == TLS_DONOR_HANDLES {
            crate::park::give_core();
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

    /// Notes it.
    pub(crate) fn set_mask(&self, mask: u64) {
        // ORDERING: Relaxed, as above.
        self.mask.store(mask, Ordering::Relaxed);
    }

    /// What the donor's kernel thread blocks.
    pub(crate) fn tls_donor_mask(&self) -> u64 {
        // ORDERING: Relaxed; the donor's kernel thread writes it, others see a recent one.
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

    /// What the donor lets through although its thread may block it.
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
    /// team that houses the thread. Any thread.
    pub fn take_dedicated_worker(&self) -> Option<&'static Worker> {
        // ORDERING: Acquire, pairs with the Release in `set_dedicated_worker`.
        // SAFETY: null or a record, and records are never freed.
        let worker = unsafe { self.dedicated_worker.swap(ptr::null_mut(), Ordering::Acquire).as_ref() };
        worker.filter(|_| self.is_of_this_process())
    }

    /// The thread with this TLS block has ended: the next one has asked for nothing.
    pub(crate) fn forget_thread(&self) {
        self.state.forget();
        // ORDERING: Relaxed; the TLS block is unused. The kernel thread stays unused, too.
        self.dedicated_worker.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// How many handlers of the program have run in the thread, modulo 2^32.
    pub(crate) fn handled(&self) -> u32 {
        // ORDERING: Relaxed; asked by the thread itself.
        self.handled.load(Ordering::Relaxed)
    }

    /// A handler of the program begins in the thread.
    pub(crate) fn count_handler(&self) {
        // ORDERING: Relaxed; the thread itself, one handler at a time or inside of another.
        self.handled.fetch_add(1, Ordering::Relaxed);
    }

    /// Was the record made in this process, and not before a fork? A donor's kernel thread exists
    /// only where it was.
    #[inline]
    pub(crate) fn is_of_this_process(&self) -> bool {
        self.generation == crate::pool::generation()
    }

    /// True for a TLS block that came from [`borrow`].
    #[inline]
    pub fn is_of_a_donor(&self) -> bool {
        self.is_of_a_donor
    }
}

/// In place of a worker: the donor runs a handler of the program's.
const TLS_DONOR_HANDLES: *mut Worker = ptr::without_provenance_mut(1);

/// The records, and which donors nobody has borrowed.
struct Pool {
    /// Last returned first: its storage is the likeliest to be in a cache.
    free: Vec<&'static TlsBlock>,
    /// One record per thread pointer that was ever asked for. A thread that is made where an ended
    /// one was gets the ended one's.
    records: BTreeMap<usize, &'static TlsBlock>,
}

impl Pool {
    const fn new() -> Self {
        Self { free: Vec::new(), records: BTreeMap::new() }
    }

    /// The record of the storage behind `fs`, made now if there is none.
    fn record(&mut self, fs: usize) -> &'static TlsBlock {
        self.records.entry(fs).or_insert_with(|| TlsBlock::new(fs, false))
    }

    /// The record of a new donor. Replaces that of a thread that ended and had its storage in the
    /// same place.
    fn enter_tls_donor(&mut self, tls_block: &'static TlsBlock) {
        self.records.insert(tls_block.thread_pointer(), tls_block);
    }
}

static POOL: ForkMutex<Pool> = ForkMutex::new(Pool::new());
static TLS_DONORS: AtomicUsize = AtomicUsize::new(0);

/// a TLS block that nobody runs with: a returned one, else a new donor's. `None` when TLS blocks
/// cannot be borrowed here ([`support`]) or the system refuses another thread or its memory.
///
/// Any thread, under any TLS block, not in a signal handler. Takes a lock for a few instructions;
/// making a donor takes some ten microseconds, without the lock.
///
/// The storage is as its last wearer left it: thread-local variables keep their values, `errno` and
/// the locale too. The words of its [`arch::ThreadBlock`] are stale as well; the caller writes the
/// scheduler's after running with it.
pub fn borrow() -> Option<&'static TlsBlock> {
    if let Support::None(_) = support() {
        return None;
    }
    if let Some(tls_block) = POOL.lock().free.pop() {
        return Some(tls_block);
    }
    make_tls_donor()
}

/// A new donor, borrowed at once. Only after [`support`] has said yes.
fn make_tls_donor() -> Option<&'static TlsBlock> {
    // The hook at fork has to stand before there is something to forget.
    crate::pool::initialise();
    // A donor passes signals on, so the handlers of the program are not called on it.
    crate::signals::actions::take_over();
    let tls_block = TlsBlock::new(0, true);
    if !donor::make(tls_block) {
        // SAFETY: leaked just now, and nobody has it.
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

/// Returns what [`borrow`] borrowed, for the next borrower. Nobody runs with it, and nobody will
/// through the caller's reference.
///
/// A TLS block that was borrowed before a fork is not borrowed again in the child: its kernel
/// thread, and with it the claim to its number, is in the parent. Any thread, not in a signal
/// handler. An TLS block that was not borrowed ends the process.
pub fn give_back(tls_block: &'static TlsBlock) {
    if !tls_block.is_of_a_donor {
        crate::fatal("a kernel thread's own storage was given to the pool of donors");
    }
    tls_block.forget_thread();
    tls_block.release();
    if tls_block.is_of_this_process() {
        POOL.lock().free.push(tls_block);
    }
}

/// Ends all donors that are not borrowed, and waits until the destructors of their thread-local
/// variables have run. Any thread, under its own TLS block, not in a signal handler.
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

/// The donor of this number, borrowed or not. Any thread, in a signal handler too; looks at all of
/// them.
pub fn of_tls_donor(tid: i32) -> Option<&'static TlsBlock> {
    directory::with_number(tid)
}

/// The TLS block with this thread pointer, if it is a donor's. Any thread, in a signal handler too.
pub fn of_donors_thread_pointer(fs: usize) -> Option<&'static TlsBlock> {
    directory::with_thread_pointer(fs)
}

/// The TLS block in force on the calling kernel thread: its own storage's, unless it runs with
/// another.
///
/// Called once per kernel thread, when it is registered; takes a lock and, the first time, makes
/// the record. Not in a signal handler.
pub fn of_current_thread() -> &'static TlsBlock {
    POOL.lock().record(arch::thread_pointer())
}

/// The TLS block of the calling kernel thread, one of the pool, which runs with its own storage and
/// leaves its record to another one before it ends ([`crate::pool::renew`]): so no other thread's
/// is found behind the same thread pointer, and the record need not be. Takes no lock and allocates
/// nothing.
pub(crate) fn of_pool_thread() -> TlsBlock {
    TlsBlock::of(arch::thread_pointer(), false)
}

/// Makes the calling kernel thread run with the storage of `tls_block` from here on. Changes the
/// thread pointer and nothing else: one load, one comparison and one instruction where the
/// processor has it, else a system call.
///
/// # Safety
/// * Nobody else runs with `tls_block`, and it was obtained in this process or a parent (see the
///   page on forks).
/// * No address of thread-local storage, `errno`'s included, is live across the call: the compiler
///   may keep one over any inlined code, so callers are not inlined into code that has some.
/// * The scheduler's words of the thread block are carried over before anybody reads them, a signal
///   handler included.
/// * [`support`] is not `None`, unless `tls_block` is in force already.
#[inline]
pub unsafe fn run_with(tls_block: &TlsBlock) {
    if support::is_direct() {
        // SAFETY: `is_direct` says that the kernel allows the instruction; the rest is the caller's
        // word.
        unsafe { arch::set_thread_pointer(tls_block.thread_pointer()) };
    } else {
        // SAFETY: passed on.
        unsafe { run_with_by_other_means(tls_block.thread_pointer()) };
    }
}

/// The system call, or nobody has asked [`support`] yet.
#[cold]
unsafe fn run_with_by_other_means(fs: usize) {
    if fs == arch::thread_pointer() {
        return;
    }
    // SAFETY: the caller of `run_with` answers for the TLS block; the variant says which way is
    // allowed.
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
        crate::fatal("the thread pointer cannot be set");
    }
}

/// Number of donors made in this process; a child of a fork starts at zero. Any thread.
pub fn count() -> usize {
    // ORDERING: Relaxed; a statistic.
    TLS_DONORS.load(Ordering::Relaxed)
}

/// In the child of a fork: the donors' kernel threads do not exist. The pool and the records are
/// leaked, the lock is new. What is in use or held by suspended contexts stays valid storage (see
/// the page).
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
