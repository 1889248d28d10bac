//! Stacks for the threads of a team before it starts, where the address space is limited
//! (`RLIMIT_AS`).
//!
//! Without a limit a stack is mapped when a thread first needs it, and that never fails. With one
//! it may, and by then the team has started and counts on all of its threads. So a region asks
//! beforehand, and its team is as large as there are stacks for.
//!
//! Jobs (tasks, as a rule) get stacks beyond those that regions were promised, as long as there is
//! room ([`reserve_for_job`]). A job that finds none runs on the stack of the context that waits
//! for it ([`crate::sched`]). The depth of such nesting is bounded by that stack's size, as under
//! other runtimes. A runner that has nothing to run gives its stack back.
//!
//! What may not live here: the choice of the code that runs on a stack; reports to the program (the
//! layer above).
//!
//! Tried and rejected: mapping as many stacks for every region on every machine (a system call per
//! thread and 16 KiB of page tables where no limit is set).
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use super::Stack;

/// Address space that is left for everything else when stacks are mapped ahead, bytes: what a team
/// of that size, its tasks and the program's next allocations need to go on.
const LEFT_OVER: usize = 4 << 20;

/// The most threads that a region has asked for without a limit; teams up to that size ask no more.
///
/// Stays at zero under a limit. A limit that the program sets later counts from its first larger
/// region on.
static UNLIMITED: AtomicUsize = AtomicUsize::new(0);
/// A region has met a limit.
static LIMITED: AtomicBool = AtomicBool::new(false);
/// Stacks that were in use when the limit was met: regions cannot count on them, even later, so
/// teams may be smaller than they could be.
static IN_USE_AT_LIMIT: AtomicUsize = AtomicUsize::new(0);
/// Stacks that jobs have.
static FOR_JOBS: AtomicUsize = AtomicUsize::new(0);
/// Stacks that exist.
static MAPPED: AtomicUsize = AtomicUsize::new(0);
/// The size of runner stacks in bytes, known once a limit was met: from then on [`MAPPED`] counts
/// only these.
static RUNNER_SIZE: AtomicUsize = AtomicUsize::new(0);
/// Stacks that running regions have been promised.
static PROMISED: AtomicUsize = AtomicUsize::new(0);

fn counts(size: usize) -> bool {
    // ORDERING: Relaxed; a setting.
    let runner_size = RUNNER_SIZE.load(Relaxed);
    runner_size == 0 || runner_size == size
}

/// A stack of `size` bytes was mapped.
pub(super) fn count_mapped(size: usize) {
    if !counts(size) {
        return;
    }
    // ORDERING: Relaxed, here and below; counts by themselves. Two threads that ask at once map a
    // few stacks more than they need.
    MAPPED.fetch_add(1, Relaxed);
}

/// A stack of `size` bytes is gone.
pub(super) fn count_unmapped(size: usize) {
    if counts(size) {
        subtract(&MAPPED, 1);
    }
}

/// Clears the counts of stacks in the child of a fork. No thread there owns the parent's stacks,
/// and the parent's regions go on without a promise.
pub(super) fn forget_after_fork() {
    // ORDERING: the only thread.
    MAPPED.store(0, Relaxed);
    // ORDERING: as above.
    PROMISED.store(0, Relaxed);
    // ORDERING: as above.
    IN_USE_AT_LIMIT.store(0, Relaxed);
    // ORDERING: as above.
    FOR_JOBS.store(0, Relaxed);
}

/// Whether a region of `threads` further threads has to ask [`promise`]. One load.
#[inline]
pub fn is_scarce(threads: usize) -> bool {
    // ORDERING: Relaxed; a setting that only saves a question.
    threads > UNLIMITED.load(Relaxed)
}

/// Has a region met a limit of the address space? It stays so.
#[inline]
pub fn is_limited() -> bool {
    // ORDERING: Relaxed; whether a job gets a stack of its own is right either way as long as there
    // are some.
    LIMITED.load(Relaxed)
}

/// Sees to stacks of at least `size` usable bytes for `threads` threads of a region. Returns two
/// numbers: the threads for which there is room, and the count to pass to [`release`] at the
/// region's end (zero where the address space has no limit).
///
/// Any thread. Maps what is missing, and pools it.
#[cold]
pub fn promise(threads: usize, size: usize) -> (usize, usize) {
    if limit().is_none() {
        // ORDERING: Relaxed; see `is_scarce`.
        UNLIMITED.fetch_max(threads, Relaxed);
        return (threads, 0);
    }
    // ORDERING: Relaxed; see `is_limited`, and `count_mapped`.
    if !is_limited() && !LIMITED.swap(true, Relaxed) {
        // ORDERING: as above.
        RUNNER_SIZE.store(super::round(size).unwrap_or(0), Relaxed);
        // ORDERING: as above.
        IN_USE_AT_LIMIT.store(MAPPED.load(Relaxed).saturating_sub(super::pooled()), Relaxed);
    }
    // ORDERING: Relaxed; a count by itself, see `count_mapped`.
    let promised = PROMISED.fetch_add(threads, Relaxed) + threads;
    // ORDERING: as above.
    let missing = missing(promised).min(threads);
    let refused = missing - map(missing, size);
    subtract(&PROMISED, refused);
    (threads - refused, threads - refused)
}

/// The stacks that must be mapped, so that `promised` threads, jobs and what was in use before all
/// have one.
fn missing(promised: usize) -> usize {
    // ORDERING: Relaxed, all; counts by themselves, see `count_mapped`.
    let wanted = promised + IN_USE_AT_LIMIT.load(Relaxed) + FOR_JOBS.load(Relaxed);
    wanted.saturating_sub(MAPPED.load(Relaxed))
}

/// Reserves a stack of `size` bytes for a job. If all stacks are promised, this function maps one
/// more. False if the address space has no room. After true the caller calls [`release_job_stack`]
/// when the stack goes back. Allocates nothing: a thread that is suspended may hold the lock of the
/// program's allocator.
pub(crate) fn reserve_for_job(size: usize) -> bool {
    // ORDERING: Relaxed, both; counts by themselves, see `count_mapped`.
    FOR_JOBS.fetch_add(1, Relaxed);
    let missing = missing(PROMISED.load(Relaxed));
    let has_room = missing == 0 || map_one(size);
    if !has_room {
        subtract(&FOR_JOBS, 1);
    }
    has_room
}

/// A stack that [`reserve_for_job`] has seen to goes back.
pub(crate) fn release_job_stack() {
    subtract(&FOR_JOBS, 1);
}

/// The region that was promised `threads` stacks ended.
#[inline]
pub fn release(threads: usize) {
    if threads != 0 {
        subtract(&PROMISED, threads);
    }
}

/// The bytes of address space that the process may have (`RLIMIT_AS`); `None`: as many as there
/// are.
pub fn limit() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: `limit` may be written.
    let is_known = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) } == 0;
    (is_known && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Maps a stack with [`LEFT_OVER`] to spare, and pools it.
fn map_one(size: usize) -> bool {
    let (Some(size), Some(_spare)) = (super::round(size), Spare::map()) else { return false };
    Stack::map(size).map(super::give).is_ok()
}

/// Maps up to `count` stacks at once, with [`LEFT_OVER`] to spare, and pools them. Returns how many
/// could be mapped.
fn map(count: usize, size: usize) -> usize {
    if count == 0 {
        return 0;
    }
    let Some(size) = super::round(size) else { return 0 };
    let Some(_spare) = Spare::map() else { return 0 };
    let mut stacks = Vec::with_capacity(count);
    while stacks.len() < count {
        match Stack::map(size) {
            Ok(stack) => stacks.push(stack),
            Err(_) => break,
        }
    }
    let mapped = stacks.len();
    stacks.into_iter().for_each(super::give);
    mapped
}

/// Address space that no other mapping can take while this value lives.
struct Spare(*mut libc::c_void);

impl Spare {
    fn map() -> Option<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let base = unsafe { libc::mmap(ptr::null_mut(), LEFT_OVER, libc::PROT_NONE, flags, -1, 0) };
        (base != libc::MAP_FAILED).then_some(Self(base))
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        // SAFETY: the mapping made by `map`; no other code knows it.
        unsafe { libc::munmap(self.0, LEFT_OVER) };
    }
}

/// Subtracts, not below zero: a child of a fork may end what its parent began.
fn subtract(count: &AtomicUsize, number: usize) {
    // ORDERING: Relaxed; a count by itself, see `count_mapped`.
    let _ = count.fetch_update(Relaxed, Relaxed, |old| Some(old.saturating_sub(number)));
}
