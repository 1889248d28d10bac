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
//! What lives here: the pool of donors, and the change of the thread pointer. These
//! files in `tls_block/` hold parts of it:
//!
//! * `record`: the record.
//! * `donor`: making a donor.
//! * `restartable`: the area for restartable sequences.
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
use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::BTreeMap;

use crate::stack::promised::SpaceBesideStack;
use crate::sys::arch;
use crate::sys::fork::ForkMutex;

pub(crate) mod directory;
mod donor;
pub(crate) mod record;
pub(crate) mod restartable;
mod setxid;
pub(crate) mod support;
#[cfg(all(test, not(loom), target_arch = "x86_64"))]
mod tests;

pub use record::TlsBlock;
pub use support::{Support, support};

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
/// Any thread, once one was registered; under any TLS block, but not in a signal handler. Takes a
/// lock for a few instructions. Making a donor takes some tens of microseconds, without the lock.
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
    NewTlsDonors::start(1).finish().pop()
}

/// [`borrow`] for several contexts at once, in two steps. Donors that have to be made start together
/// in the first one, and the caller does something else meanwhile.
pub struct BorrowedSoon {
    borrowed: Vec<&'static TlsBlock>,
    new: Option<NewTlsDonors>,
}

/// Begins to borrow `count` TLS blocks.
pub fn begin_borrowing(count: usize) -> BorrowedSoon {
    if let Support::None(_) = support() {
        return BorrowedSoon { borrowed: Vec::new(), new: None };
    }
    let borrowed = {
        let mut pool = POOL.lock();
        let kept = pool.free.len().saturating_sub(count);
        pool.free.split_off(kept)
    };
    let missing = count - borrowed.len();
    BorrowedSoon { borrowed, new: (missing > 0).then(|| NewTlsDonors::start(missing)) }
}

impl BorrowedSoon {
    /// The TLS blocks. Waits for new donors. There are fewer than were asked for where [`borrow`]
    /// would have returned `None`.
    pub fn finish(mut self) -> Vec<&'static TlsBlock> {
        self.borrowed.extend(self.new.into_iter().flat_map(NewTlsDonors::finish));
        self.borrowed
    }
}

/// Donors that are being made.
struct NewTlsDonors {
    records: Vec<&'static TlsBlock>,
    started: donor::StartedDonors,
}

impl NewTlsDonors {
    /// Only after [`support`] has said that this is possible, and after the first thread was
    /// registered: the hook at fork must be installed before there is a donor to forget.
    fn start(count: usize) -> Self {
        // A donor passes signals on, so the program's handlers are not called on it.
        crate::signals::actions::take_over();
        let records: Vec<_> = (0..count).map(|_| TlsBlock::new(0, true)).collect();
        let started = donor::start_all(&records);
        Self { records, started }
    }

    /// Waits for them. They are borrowed; fewer if the system refuses more.
    fn finish(self) -> Vec<&'static TlsBlock> {
        enter_tls_donors(self.records, self.started.wait())
    }
}

/// The first `count` of `made` have donors.
fn enter_tls_donors(mut made: Vec<&'static TlsBlock>, count: usize) -> Vec<&'static TlsBlock> {
    for refused in made.split_off(count) {
        // SAFETY: leaked just now, and no other thread has it.
        drop(unsafe { Box::from_raw(ptr::from_ref(refused).cast_mut()) });
    }
    if !made.is_empty() {
        setxid::take_over();
    }
    // ORDERING: Relaxed; a statistic.
    TLS_DONORS.fetch_add(made.len(), Ordering::Relaxed);
    let mut pool = POOL.lock();
    made.iter().for_each(|tls_block| pool.enter_tls_donor(tls_block));
    drop(pool);
    made.iter().for_each(|tls_block| directory::insert(tls_block));
    made
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
pub(crate) fn space_per_donor() -> SpaceBesideStack {
    SpaceBesideStack { bytes: donor::address_space(), existing: count() }
}

/// The number of donors that exist in this process; a child of a fork starts at zero. Any thread.
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
