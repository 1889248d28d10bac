//! The record of a TLS block.
//!
//! What lives here: the words, and how they are read and written. What does not: the pool of donors
//! ([`super`]), and the worker that hosts the block's thread. `worker::host` has the methods that
//! know a worker, so that this file stays below the records of workers.

use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::kernel_state::thread_state::ThreadState;
use crate::signals::queue::SignalQueue;
use crate::sys::{arch, fork, thread};

/// Stands in place of a worker while the donor runs a handler of the program.
pub(crate) const TLS_DONOR_HANDLES: *mut () = ptr::without_provenance_mut(1);

/// The thread-local storage that a context runs with: a thread pointer, and the memory that it
/// leads to. A record is never freed.
///
/// At most one kernel thread at a time runs with a block; it may be another one each time.
#[derive(Debug)]
pub struct TlsBlock {
    /// The thread pointer, not zero. A donor writes it once, before any other thread has the
    /// record.
    pub(super) fs: AtomicUsize,
    /// The number of the kernel thread whose own storage this is; zero: it ends, or has none yet.
    pub(super) number: AtomicI32,
    /// The worker that hosts the thread with this block, running or suspended. Null: no thread runs
    /// with the block. It may also be [`TLS_DONOR_HANDLES`]. `worker::host` knows the type.
    pub(crate) host: AtomicPtr<()>,
    /// The next record in the same bucket of the [directory](super::directory).
    pub(super) next_tls_donor: AtomicPtr<TlsBlock>,
    /// The signal mask that the thread runs with, see `sched::note_mask`.
    pub(super) mask: AtomicU64,
    /// The signals that the donor's kernel thread blocks. They are the signals that its maker
    /// blocked, without those that its thread has unblocked since.
    pub(super) tls_donor_mask: AtomicU64,
    /// Signals of the thread's timers: the kernel thread whose storage this is lets them through
    /// while the thread runs elsewhere, although the thread may block them.
    pub(super) timer_signals: AtomicU64,
    /// The number of handlers of the program that have run in the thread.
    pub(super) handled: AtomicU32,
    /// Signals for the thread that arrived while another thread ran.
    pub(crate) signals: SignalQueue,
    /// The state that the kernel keeps for the thread.
    pub(crate) state: ThreadState,
    /// The worker whose kernel thread is dedicated to this thread. Null if there is none, or if a
    /// team has taken it. See `sched::dedicated`.
    pub(crate) dedicated_worker: AtomicPtr<()>,
    /// The [`fork::generation`] in which the record was made: a donor's kernel thread exists
    /// in that process only.
    pub(super) generation: u32,
    /// True for the storage of a donor, false for that of a thread that runs by itself.
    pub(super) is_of_a_donor: bool,
    /// The donor's `pthread_t`. The donor writes it once, before any other thread has the record.
    pub(super) tls_donor_thread: AtomicUsize,
    /// False: the donor is about to end, or has ended, and the [directory](super::directory) does
    /// not find it any more.
    pub(super) listed: AtomicBool,
    /// Not zero: the donor is to end. This is the futex on which it sleeps.
    pub(super) end_requested: AtomicU32,
}

impl TlsBlock {
    pub(super) fn new(fs: usize, is_of_a_donor: bool) -> &'static Self {
        Box::leak(Box::new(Self::of(fs, is_of_a_donor)))
    }

    pub(super) fn of(fs: usize, is_of_a_donor: bool) -> Self {
        Self {
            fs: AtomicUsize::new(fs),
            number: AtomicI32::new(0),
            host: AtomicPtr::new(ptr::null_mut()),
            next_tls_donor: AtomicPtr::new(ptr::null_mut()),
            mask: AtomicU64::new(0),
            tls_donor_mask: AtomicU64::new(0),
            timer_signals: AtomicU64::new(0),
            handled: AtomicU32::new(0),
            signals: SignalQueue::new(),
            state: ThreadState::new(),
            dedicated_worker: AtomicPtr::new(ptr::null_mut()),
            generation: fork::generation(),
            is_of_a_donor,
            tls_donor_thread: AtomicUsize::new(0),
            listed: AtomicBool::new(true),
            end_requested: AtomicU32::new(0),
        }
    }

    /// From here on the record stands for the storage of the calling kernel thread, which runs with
    /// it. It may have replaced another kernel thread of the pool ([`crate::pool::renew`]).
    pub(crate) fn set_to_calling_thread(&self) {
        // ORDERING: Relaxed; other kernel threads get the record from this one, through a queue or
        // a lock.
        self.fs.store(arch::thread_pointer(), Ordering::Relaxed);
        self.note_number();
    }

    /// Notes the number of the calling kernel thread, whose own storage this is.
    pub(crate) fn note_number(&self) {
        // ORDERING: Relaxed; as in `set_to_calling_thread`.
        self.number.store(thread::number(), Ordering::Relaxed);
    }

    /// The number that the thread with this storage takes for its own: that of the kernel thread
    /// whose own storage it is. `None` for a donor of a parent process.
    pub(crate) fn number(&self) -> Option<i32> {
        let is_here = !self.is_of_a_donor || self.is_of_this_process();
        // ORDERING: Relaxed; rewritten only while no context runs with this storage.
        Some(self.number.load(Ordering::Relaxed)).filter(|&tid| tid != 0 && is_here)
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
        self.tls_donor_number() == Some(tid)
    }

    /// The number of the kernel thread with this storage, if it is a donor's. The thread with this
    /// storage takes this number for its own.
    pub fn tls_donor_number(&self) -> Option<i32> {
        self.number().filter(|_| self.is_of_a_donor)
    }

    /// Takes the TLS block for `user`: a worker, or [`TLS_DONOR_HANDLES`]. False if another user
    /// has it.
    pub(crate) fn take(&self, user: *mut ()) -> bool {
        // ORDERING: Acquire, pairs with the Release in `release` and `end_handling`: the storage is
        // as its last user has left it.
        self.host.compare_exchange(ptr::null_mut(), user, Ordering::Acquire, Ordering::Relaxed).is_ok()
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

    /// The thread's kernel thread lets the signals of `set` through from now on: a donor from its
    /// next `stall::signal::kick` on, a worker while its own thread runs elsewhere.
    pub(crate) fn add_timer_signals(&self, set: u64) {
        // ORDERING: Relaxed; the signal that follows orders it before the donor's handler.
        self.timer_signals.fetch_or(set, Ordering::Relaxed);
    }

    /// The thread with this storage has ended, and its timers with it.
    pub(crate) fn forget_timer_signals(&self) {
        // ORDERING: Relaxed, as above.
        self.timer_signals.store(0, Ordering::Relaxed);
    }

    /// The signals of the thread's timers.
    pub(crate) fn timer_signals(&self) -> u64 {
        // ORDERING: Relaxed, as above.
        self.timer_signals.load(Ordering::Relaxed)
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
        self.generation == fork::generation()
    }

    /// True for a TLS block that came from [`super::borrow`].
    #[inline]
    pub fn is_of_a_donor(&self) -> bool {
        self.is_of_a_donor
    }
}

/// Are both the same TLS block? False where one of them is none.
pub(crate) fn is_same(a: Option<&'static TlsBlock>, b: Option<&'static TlsBlock>) -> bool {
    matches!((a, b), (Some(a), Some(b)) if ptr::eq(a, b))
}
