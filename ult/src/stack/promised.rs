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
//! thread and 16 KiB of page tables where no limit is set). Finding out by a mapping whether there
//! is room: while it exists, another thread's `malloc` fails, and the program ends.
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::Once;

use super::Stack;
use crate::pool::ForkMutex;
use crate::proc_file;

/// Address space that is left for everything else when stacks are mapped ahead, bytes: what a team
/// of that size, its tasks and the program's next allocations need to go on. Chosen: twice
/// [`LEFT_BY_WORKERS`], so that two more workers of 1.9 MiB find room.
const LEFT_OVER: usize = 8 << 20;

/// Address space that is left when a kernel thread is started, bytes. Chosen: the C library asks
/// for memory by the megabyte once its heap cannot grow, and tasks take theirs by 64 KiB.
const LEFT_BY_WORKERS: usize = 4 << 20;

/// Address space that the C library reserves for the heap of a thread, bytes (glibc,
/// `HEAP_MAX_SIZE`). A thread that finds less gets a page for each of its allocations.
const ARENA: usize = 64 << 20;

/// The TLS blocks of a region's threads, which take address space as the stacks do.
#[derive(Clone, Copy)]
pub struct BlockSpace {
    /// Address space of one, bytes; 0 where threads have none of their own.
    pub bytes: usize,
    /// How many exist.
    pub existing: usize,
}

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
    // SAFETY: the child of a fork, with one thread.
    unsafe { COUNTING.forget(()) };
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

/// Sees to stacks of at least `size` usable bytes, and to room for `blocks`, for `threads` threads
/// of a region. Returns two numbers: the threads for which there is room, and the count to pass to
/// [`release`] at the region's end (zero where the address space has no limit).
///
/// Any thread. Maps the stacks that are missing, and pools them. TLS blocks are made later, by the
/// threads' own start: here their room is only left.
#[cold]
pub fn promise(threads: usize, size: usize, blocks: BlockSpace) -> (usize, usize) {
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
    let missing_blocks =
        if blocks.bytes == 0 { 0 } else { promised.saturating_sub(blocks.existing).min(threads) };
    let lacking = missing.max(missing_blocks);
    let refused = lacking - map(missing, size, missing_blocks, blocks.bytes);
    if lacking != 0 && free_space() < ARENA {
        share_heap();
    }
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

/// Held while address space is counted and stacks are mapped: a thread that counted at the same
/// time would count on the same space. Whoever holds it neither allocates nor switches.
static COUNTING: ForkMutex<()> = ForkMutex::new(());

/// Is there room for a kernel thread that takes `bytes` of address space? Any thread. The answer
/// may be old when it comes: what several threads take at once is small.
pub(crate) fn has_room(bytes: usize) -> bool {
    limit().is_none() || free_space().checked_sub(LEFT_BY_WORKERS).is_some_and(|spare| bytes <= spare)
}

/// Has threads that have no heap yet share the C library's first one: there is no room for theirs,
/// and a page for each allocation would soon take what is left.
fn share_heap() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: a setting of the C library's allocator, which any thread may change at any time.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    });
}

/// The bytes of address space that the process may still map; 0 where the kernel does not say.
///
/// Counted, not tried out: a mapping made as a trial takes the space for a moment, and another
/// thread's `malloc` that asks for memory then gets none.
fn free_space() -> usize {
    let size =
        proc_file::parse_start(c"/proc/self/statm", |text| text.split(' ').next()?.parse::<u64>().ok());
    let (Some(limit), Some(pages)) = (limit(), size) else { return 0 };
    let free = limit.saturating_sub(pages.saturating_mul(super::page_size() as u64));
    usize::try_from(free).unwrap_or(usize::MAX)
}

/// Maps a stack with [`LEFT_OVER`] to spare, and pools it.
fn map_one(size: usize) -> bool {
    map(1, size, 0, 0) == 1
}

/// Makes room for threads that lack `stacks` stacks and `blocks` TLS blocks between them, with
/// [`LEFT_OVER`] to spare. Returns for how many there was room. Their stacks are mapped and pooled;
/// the room for their blocks is left free.
fn map(stacks: usize, size: usize, blocks: usize, block_bytes: usize) -> usize {
    let threads = stacks.max(blocks);
    let Some(size) = super::round(size).filter(|_| threads != 0) else { return 0 };
    let _one_at_a_time = COUNTING.lock();
    let mut spare = free_space().saturating_sub(LEFT_OVER);
    for thread in 0..threads {
        // Those that lack only one of the two come first.
        let (lacks_block, lacks_stack) = (thread >= threads - blocks, thread >= threads - stacks);
        let stack_bytes = if lacks_stack { super::mapping(size) } else { 0 };
        let needed = stack_bytes + if lacks_block { block_bytes } else { 0 };
        match spare.checked_sub(needed) {
            Some(rest) => spare = rest,
            None => return thread,
        }
        if lacks_stack && Stack::map(size).map(super::give).is_err() {
            return thread;
        }
    }
    threads
}

/// Subtracts, not below zero: a child of a fork may end what its parent began.
fn subtract(count: &AtomicUsize, number: usize) {
    // ORDERING: Relaxed; a count by itself, see `count_mapped`.
    let _ = count.fetch_update(Relaxed, Relaxed, |old| Some(old.saturating_sub(number)));
}
