//! All records of workers, by index, and what is counted and known of all of them.
//!
//! What may not live here: giving records to kernel threads ([`super::registry`]).
//!
//! The table is a fixed array to which entries are only added, so a thief reads it without a lock;
//! the child of a fork begins anew.

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use crate::debug::DebugEntry;
use crate::sys::thread;
use crate::tls_block::directory;
use crate::tls_block::record::TlsBlock;
use crate::tls_block::support::{Support, support};
use crate::victim;

use super::record::Worker;
use super::words::current;

/// The number of workers that can be found by index. Workers beyond it are never victims and get no
/// gang ULTs.
pub const TABLE: usize = 1024;

#[unsafe(link_section = ".sbss.large")]
pub(super) static WORKERS: [AtomicPtr<Worker>; TABLE] = [const { AtomicPtr::new(ptr::null_mut()) }; TABLE];

pub(super) static TABLE_LEN: AtomicUsize = AtomicUsize::new(0);

/// The number of registered program threads.
pub(crate) static GROUPS: AtomicU32 = AtomicU32::new(0);

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

pub(super) fn enter_table(worker: &'static Worker) {
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
    TLS_BLOCKS.load(Ordering::Relaxed) != 0 && !matches!(support(), Support::None(_))
}

/// Sums of steals and context switches over all workers that ever existed. Other threads go on
/// meanwhile, so the figures are recent ones.
pub fn totals() -> (victim::Totals, u64) {
    let workers = || (0..table_len()).filter_map(at);
    // ORDERING: Relaxed; a statistic.
    let switches = workers().map(|w| w.per_switch.switches.load(Ordering::Relaxed)).sum();
    (workers().map(|w| w.per_switch.steals.read()).sum(), switches)
}

/// How many kernel threads of the program are registered. Others register and end meanwhile.
pub(crate) fn program_threads() -> u32 {
    // ORDERING: Relaxed; a recent number.
    GROUPS.load(Ordering::Relaxed)
}

/// The thread pointer with which the calling kernel thread was started, even while it runs with
/// another TLS block. `None` if the thread is not registered, or beyond the table. Touches no
/// thread-local storage, and may be called in a signal handler.
pub(crate) fn own_thread_pointer() -> Option<usize> {
    let me = of_kernel_thread(thread::number())?;
    // ORDERING: Relaxed; written by this kernel thread.
    Some(me.storage.thread_pointer.load(Ordering::Relaxed))
}

/// The worker of the kernel thread with this number, if it is in the table. Touches no thread-local
/// storage except that of the worker that is looked at first. May be called in a signal handler.
pub(crate) fn of_kernel_thread(tid: i32) -> Option<&'static Worker> {
    let is_its = |worker: &&'static Worker| worker.watched.tid() == tid;
    current().filter(is_its).or_else(|| (0..table_len()).filter_map(at).find(is_its))
}

/// The TLS block of the main thread, if that thread has used the runtime.
pub(crate) static MAIN: AtomicPtr<TlsBlock> = AtomicPtr::new(ptr::null_mut());

/// The TLS block of the process's main thread, if that thread has used the runtime. May be called
/// in a signal handler.
pub(crate) fn main_thread() -> Option<&'static TlsBlock> {
    // ORDERING: Acquire, pairs with the Release in `program_threads::register`.
    // SAFETY: null or a record, and records are never freed.
    unsafe { MAIN.load(Ordering::Acquire).as_ref() }
}

/// The TLS block of the own storage of the kernel thread with this number, if that thread is
/// registered. Any thread, in signal handlers as well.
pub(crate) fn native_tls_block(tid: i32) -> Option<&'static TlsBlock> {
    if tid == thread::process() {
        return main_thread();
    }
    of_kernel_thread(tid).filter(|_| tid != 0)?.native_tls_block()
}

/// The TLS block of the thread that has this number: a donor's, or the own one of a registered
/// kernel thread. Any thread, also in a signal handler.
pub(crate) fn tls_block_of_number(tid: i32) -> Option<&'static TlsBlock> {
    directory::with_number(tid).or_else(|| native_tls_block(tid))
}

/// Does a registered kernel thread run code of the program at this moment? Threads for whose number
/// `is_excused` is true do not count, and neither do threads beyond the table. The answer may be
/// out of date when the caller gets it.
pub fn any_runs_program_code(is_excused: impl Fn(i32) -> bool) -> bool {
    let runs = |worker: &Worker| {
        worker.watched.is_user() && worker.watched.tid() != 0 && !is_excused(worker.watched.tid())
    };
    (0..table_len()).filter_map(at).any(runs)
}

/// Wakes one sleeping worker that may run ULTs of `group`, if there is one. The caller has executed
/// a full fence since it published the ULTs. This fence pairs with the one in `park_unless`: the
/// worker sees the ULTs, or the caller sees that the worker sleeps.
pub(crate) fn wake_idle_behind_fence(group: u32) -> bool {
    (0..table_len())
        .filter_map(at)
        .any(|w| w.accepts(group) && w.is_free_to_help() && w.parker.is_parked() && w.unpark())
}

/// Wakes one sleeping worker that would take an offer, if there is one. The caller has executed a
/// full fence since it made the offer.
pub(crate) fn wake_vacant_behind_fence() -> bool {
    (0..table_len())
        .filter_map(at)
        .filter(|w| w.is_shared() && !w.is_standing_in())
        .any(|w| w.parker.is_parked() && w.is_vacant() && w.unpark())
}
