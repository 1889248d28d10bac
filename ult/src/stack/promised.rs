//! Stacks for the threads of a team before it starts, where the address space or the memory for
//! data is limited (`RLIMIT_AS`, `RLIMIT_DATA`).
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
use core::time::Duration;
use std::io;
use std::time::Instant;

use super::Stack;
use crate::sys::fork::ForkMutex;
use crate::sys::memory::page_size;
use crate::sys::proc_file;

/// Address space that is left for everything else when stacks are mapped ahead, bytes: what the
/// team's tasks and the program's next allocations need to go on. Chosen: twice
/// [`LEFT_WITHOUT_PROMISE`], so that two more workers of 1.9 MiB find room.
const LEFT_BY_PROMISES: usize = 8 << 20;

/// Address space that stays free when a kernel thread is started, or when a context maps a stack
/// that no promise provided, bytes. Chosen: the C library asks for memory by the megabyte once its
/// heap cannot grow, and tasks take theirs by 64 KiB.
const LEFT_WITHOUT_PROMISE: usize = 4 << 20;

/// Address space that the C library reserves for the heap of a thread, bytes (glibc,
/// `HEAP_MAX_SIZE`). A thread that finds less gets a page for each of its allocations.
const HEAP_RESERVATION: usize = 64 << 20;

/// What each thread of a region takes beside its stack: a TLS block, or else a kernel thread.
#[derive(Clone, Copy)]
pub struct SpaceBesideStack {
    /// Address space of one, bytes.
    pub bytes: usize,
    /// How many exist.
    pub existing: usize,
}

/// The most threads that a region has asked for without a limit; teams up to that size ask no more.
///
/// Zero if a limit holds from the start. If the program sets a limit later, the runtime notices it
/// at the first region with more threads than this.
static MOST_WITHOUT_LIMIT: AtomicUsize = AtomicUsize::new(0);
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
/// The largest number of promised threads that had room beside their stacks. Up to this number
/// `promise` does not count again: counting takes some microseconds, and not every thread takes a
/// TLS block.
static THREADS_WITH_ROOM: AtomicUsize = AtomicUsize::new(0);

fn is_counted_size(size: usize) -> bool {
    // ORDERING: Relaxed; a setting.
    let runner_size = RUNNER_SIZE.load(Relaxed);
    runner_size == 0 || runner_size == size
}

/// A stack of `size` bytes was mapped.
pub(super) fn count_mapped(size: usize) {
    if !is_counted_size(size) {
        return;
    }
    // ORDERING: Relaxed, here and below; counts by themselves. Two threads that ask at once map a
    // few stacks more than they need.
    MAPPED.fetch_add(1, Relaxed);
}

/// A stack of `size` bytes is gone.
pub(super) fn count_unmapped(size: usize) {
    if is_counted_size(size) {
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
    // ORDERING: as above.
    STARTING_BYTES.store(0, Relaxed);
    // ORDERING: as above.
    THREADS_WITH_ROOM.store(0, Relaxed);
    // SAFETY: the child of a fork, with one thread.
    unsafe { MAPPING_LOCK.forget(()) };
}

/// Whether a region of `threads` further threads has to ask [`promise`]. One load.
#[inline]
pub fn is_scarce(threads: usize) -> bool {
    // ORDERING: Relaxed; a setting that only saves a question.
    threads > MOST_WITHOUT_LIMIT.load(Relaxed)
}

/// Has a region met a limit (`RLIMIT_AS`, `RLIMIT_DATA`)? It stays so.
#[inline]
pub fn is_limited() -> bool {
    // ORDERING: Relaxed; whether a job gets a stack of its own is right either way as long as there
    // are some.
    LIMITED.load(Relaxed)
}

/// Promises `threads` threads of a region a stack of at least `size` usable bytes each, and room
/// for what each takes `beside` it. Returns two numbers: the threads for which there is room, and
/// the count to pass to [`release`] at the region's end (zero where no limit holds). `beside` is
/// called under a limit alone.
///
/// Any thread. Maps the stacks that are missing, and pools them. TLS blocks and kernel threads are
/// made when the threads start: this function only keeps room for them free.
#[cold]
pub fn promise(threads: usize, size: usize, beside: impl FnOnce() -> SpaceBesideStack) -> (usize, usize) {
    if !is_limited() && !has_limit() {
        // ORDERING: Relaxed; see `is_scarce`.
        MOST_WITHOUT_LIMIT.fetch_max(threads, Relaxed);
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
    let missing_stacks = missing_stacks(promised).min(threads);
    let beside = beside();
    // ORDERING: as above.
    let with_room = beside.existing.max(THREADS_WITH_ROOM.load(Relaxed));
    let missing_beside = promised.saturating_sub(with_room).min(threads);
    let threads_lacking = missing_stacks.max(missing_beside);
    let (threads_served, address_space) = map(missing_stacks, size, missing_beside, beside.bytes);
    let threads_without = threads_lacking - threads_served;
    if address_space < HEAP_RESERVATION {
        share_heap();
    }
    if threads_without == 0 {
        // ORDERING: as above.
        THREADS_WITH_ROOM.fetch_max(promised, Relaxed);
    }
    subtract(&PROMISED, threads_without);
    (threads - threads_without, threads - threads_without)
}

/// The stacks that must be mapped, so that `promised` threads, jobs and what was in use before all
/// have one.
fn missing_stacks(promised: usize) -> usize {
    // ORDERING: Relaxed, all; counts by themselves, see `count_mapped`.
    let wanted = promised + IN_USE_AT_LIMIT.load(Relaxed) + FOR_JOBS.load(Relaxed);
    wanted.saturating_sub(MAPPED.load(Relaxed))
}

/// Reserves a stack of `size` bytes for a job. If all stacks are promised, this function maps one
/// more. False if a limit leaves no room. After true the caller calls [`release_job_stack`]
/// when the stack goes back. Allocates nothing: a thread that is suspended may hold the lock of the
/// program's allocator.
pub(crate) fn reserve_for_job(size: usize) -> bool {
    // ORDERING: Relaxed, both; counts by themselves, see `count_mapped`.
    FOR_JOBS.fetch_add(1, Relaxed);
    let missing_stacks = missing_stacks(PROMISED.load(Relaxed));
    let has_room = missing_stacks == 0 || map_with_room(size, LEFT_BY_PROMISES).map(super::give).is_ok();
    if !has_room {
        subtract(&FOR_JOBS, 1);
    }
    has_room
}

/// A stack that [`reserve_for_job`] has seen to goes back.
pub(crate) fn release_job_stack() {
    subtract(&FOR_JOBS, 1);
}

/// How long a worker waits at most for a promised stack, which another worker may be about to
/// leave. Chosen: longer than any time slice; any value from 100 ms to 10 s will do.
const PROMISED_STACK_TIMEOUT: Duration = Duration::from_secs(1);

/// [`super::take`] for a context that needs its stack now. Under a limit, a stack is mapped only if
/// address space is left for everything else. Else the caller waits until another worker has given
/// one back. After [`PROMISED_STACK_TIMEOUT`] a stack is mapped without this check.
///
/// # Errors
/// As [`super::take`], at once where waiting does not help.
pub(crate) fn take(size: usize) -> io::Result<Stack> {
    if !is_limited() {
        return super::take(size);
    }
    let mut since = None;
    loop {
        match take_with_room(size) {
            Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {}
            stack_or_error => return stack_or_error,
        }
        if since.get_or_insert_with(Instant::now).elapsed() >= PROMISED_STACK_TIMEOUT {
            return super::take(size);
        }
        crate::sys::thread::nap();
    }
}

/// Makes sure that the pool has a stack of at least `size` bytes, for a worker that is about to
/// [`take`] it. False if there is no room for one. Always true without a limit. Any thread.
pub(crate) fn pool_one(size: usize) -> bool {
    !is_limited() && !has_limit() || take_with_room(size).map(super::give).is_ok()
}

/// A pooled stack, or else a new one, if [`LEFT_WITHOUT_PROMISE`] stay free.
fn take_with_room(size: usize) -> io::Result<Stack> {
    match super::round(size).and_then(super::take_pooled) {
        Some(stack) => Ok(stack),
        None => map_with_room(size, LEFT_WITHOUT_PROMISE),
    }
}

/// The region that was promised `threads` stacks ended.
#[inline]
pub fn release(threads: usize) {
    if threads != 0 {
        subtract(&PROMISED, threads);
    }
}

/// A limit of the kernel on how much a process may map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappingLimit {
    /// Its name for users.
    pub name: &'static str,
    /// Its value, bytes.
    pub bytes: u64,
    which: libc::__rlimit_resource_t,
    /// The field of `/proc/self/statm`, counted from 0, with the number of pages under this limit.
    field: usize,
}

/// The limits that are set: on the address space, and on memory that only this process may write,
/// which stacks are (`getrlimit(2)`; `statm` in `proc(5)`). The second one's field has the pages of
/// the main thread's stack as well, so a little less counts as free than is.
pub fn limits() -> impl Iterator<Item = MappingLimit> {
    const LIMITS: [(libc::__rlimit_resource_t, &str, usize); 2] =
        [(libc::RLIMIT_AS, "RLIMIT_AS", 0), (libc::RLIMIT_DATA, "RLIMIT_DATA", 5)];
    LIMITS.into_iter().filter_map(|(which, name, field)| {
        let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: `limit` may be written.
        let is_known = unsafe { libc::getrlimit(which, &raw mut limit) } == 0;
        let bytes = limit.rlim_cur;
        (is_known && bytes != libc::RLIM_INFINITY).then_some(MappingLimit { name, bytes, which, field })
    })
}

/// Does a limit hold?
fn has_limit() -> bool {
    limits().next().is_some()
}

/// Held while address space is counted and stacks are mapped: otherwise two threads could both use
/// the same free space. The holder neither allocates nor switches.
static MAPPING_LOCK: ForkMutex<()> = ForkMutex::new(());

/// Address space, in bytes, of kernel threads that are being started, which have not mapped all of
/// it.
static STARTING_BYTES: AtomicUsize = AtomicUsize::new(0);

/// The bytes of address space that may be mapped so that `left` bytes stay free, and room for the
/// kernel threads that are being started. `None`: less is free. Any thread.
fn spare(left: usize) -> Option<usize> {
    free_space().spare(left)
}

/// Reserves room for a kernel thread that takes `bytes` of address space. False if there is none.
/// After true, the new thread calls [`release_room`] when it has mapped what it needs. Any thread.
pub(crate) fn reserve_room(bytes: usize) -> bool {
    let _one_at_a_time = MAPPING_LOCK.lock();
    // ORDERING: Relaxed, as above.
    STARTING_BYTES.fetch_add(bytes, Relaxed);
    let has_room = spare(LEFT_WITHOUT_PROMISE).is_some();
    if !has_room {
        release_room(bytes);
    }
    has_room
}

/// The kernel thread for which room was reserved has mapped its memory, or could not be started.
pub(crate) fn release_room(bytes: usize) {
    subtract(&STARTING_BYTES, bytes);
}

/// Threads share the C library's first heap.
static HEAP_IS_SHARED: AtomicBool = AtomicBool::new(false);

/// Makes threads that have no heap yet use the C library's first one: there is no room for theirs,
/// and a page for each allocation would soon take what is left.
///
/// Called under `RLIMIT_AS` alone. Under `RLIMIT_DATA` a heap is no larger than what is used of it:
/// the kernel does not count the reserved rest, which cannot be written.
fn share_heap() {
    // ORDERING: Relaxed; to do it twice does no harm.
    if !HEAP_IS_SHARED.swap(true, Relaxed) {
        // SAFETY: a setting of the C library's allocator, which any thread may change at any time.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
}

/// What the process may still map, bytes. 0 where the kernel does not say.
#[derive(Clone, Copy)]
struct FreeSpace {
    /// Under all limits.
    bytes: usize,
    /// Under `RLIMIT_AS`.
    address_space: usize,
}

impl FreeSpace {
    /// See [`spare`].
    fn spare(self, left: usize) -> Option<usize> {
        // ORDERING: Relaxed; a count by itself.
        self.bytes.checked_sub(left)?.checked_sub(STARTING_BYTES.load(Relaxed))
    }
}

/// What the process may still map.
///
/// Counted, not tried out: a mapping made as a trial takes the space for a moment, and another
/// thread's `malloc` that asks for memory then gets none.
fn free_space() -> FreeSpace {
    let mut free = FreeSpace { bytes: usize::MAX, address_space: usize::MAX };
    let mut pages = None;
    for limit in limits() {
        let used = pages.get_or_insert_with(used_pages).map(|used| used[limit.field]);
        let bytes = used.and_then(|used| used.checked_mul(page_size() as u64));
        let left = bytes.map_or(0, |used| limit.bytes.saturating_sub(used));
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        free.bytes = free.bytes.min(left);
        if limit.which == libc::RLIMIT_AS {
            free.address_space = left;
        }
    }
    free
}

/// The first fields of `/proc/self/statm`: numbers of pages.
fn used_pages() -> Option<[u64; 6]> {
    proc_file::parse_start(c"/proc/self/statm", |text| {
        let mut fields = text.split(' ').map(|field| field.parse::<u64>().ok());
        let mut pages = [0; 6];
        for page in &mut pages {
            *page = fields.next()??;
        }
        Some(pages)
    })
}

/// Maps a stack of at least `size` bytes, if `left` bytes of address space stay free.
///
/// # Errors
/// As [`super::take`], and where there is no room.
fn map_with_room(size: usize, left: usize) -> io::Result<Stack> {
    let size = super::round(size).ok_or(io::ErrorKind::InvalidInput)?;
    let _one_at_a_time = MAPPING_LOCK.lock();
    match spare(left) {
        Some(spare) if super::mapping(size) <= spare => Stack::map(size),
        _ => Err(io::ErrorKind::OutOfMemory.into()),
    }
}

/// Makes room for threads that lack `stacks` stacks, and `beside` times `beside_bytes` bytes beside
/// them, with [`LEFT_BY_PROMISES`] to spare. Returns for how many there was room, and how many bytes
/// of address space they leave. Their stacks are mapped and pooled; the other room is left free.
fn map(stacks: usize, size: usize, beside: usize, beside_bytes: usize) -> (usize, usize) {
    let threads = stacks.max(beside);
    let Some(size) = super::round(size).filter(|_| threads != 0) else { return (0, usize::MAX) };
    let _one_at_a_time = MAPPING_LOCK.lock();
    let free = free_space();
    let Some(spare) = free.spare(LEFT_BY_PROMISES) else { return (0, free.address_space) };
    let mut taken = 0;
    for thread in 0..threads {
        // Threads that lack only a stack, or only the space beside it, come first.
        let lacks_stack = thread >= threads - stacks;
        let stack_bytes = if lacks_stack { super::mapping(size) } else { 0 };
        let needed = stack_bytes + if thread >= threads - beside { beside_bytes } else { 0 };
        let is_mapped =
            taken + needed <= spare && (!lacks_stack || Stack::map(size).map(super::give).is_ok());
        if !is_mapped {
            return (thread, free.address_space - taken);
        }
        taken += needed;
    }
    (threads, free.address_space - taken)
}

/// Subtracts, not below zero: a child of a fork may end what its parent began.
fn subtract(count: &AtomicUsize, number: usize) {
    // ORDERING: Relaxed; a count by itself, see `count_mapped`.
    let _ = count.fetch_update(Relaxed, Relaxed, |old| Some(old.saturating_sub(number)));
}

#[cfg(all(test, not(loom)))]
pub(crate) mod tests {
    use super::{HEAP_IS_SHARED, PROMISED_STACK_TIMEOUT, SpaceBesideStack, used_pages};
    use super::{promise, release_room, reserve_room, take};
    use core::sync::atomic::Ordering::Relaxed;
    use std::time::Instant;

    const MIB: usize = 1 << 20;
    const BESIDE: fn() -> SpaceBesideStack = || SpaceBesideStack { bytes: 0, existing: 0 };

    /// From here on this process may map `bytes` more bytes. False if it cannot be set.
    pub(crate) fn limit_space(bytes: usize) -> bool {
        limit(libc::RLIMIT_AS, 0, bytes)
    }

    fn limit(which: libc::__rlimit_resource_t, field: usize, bytes: usize) -> bool {
        let used = used_pages().map_or(0, |pages| pages[field]);
        let most = used * crate::sys::memory::page_size() as u64 + bytes as u64;
        let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
        // SAFETY: a valid limit, which concerns this process alone.
        used != 0 && unsafe { libc::setrlimit(which, &raw const limit) } == 0
    }

    /// Calls `test` in a child process, in which it has to return true.
    pub(crate) fn in_child(test: fn() -> bool) {
        // SAFETY: the child calls `test`, which takes no lock of another test, and ends.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::_exit(i32::from(!test()));
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
            assert_eq!(status, 0);
        }
    }

    #[test]
    fn stacks_leave_room_for_kernel_threads_that_start() {
        in_child(|| {
            let is_reserved = limit_space(64 * MIB) && reserve_room(40 * MIB);
            let (few, _) = promise(10, 4 * MIB, BESIDE);
            release_room(40 * MIB);
            let (more, _) = promise(5, 4 * MIB, BESIDE);
            is_reserved && few == 3 && more == 5
        });
    }

    #[test]
    fn threads_share_a_heap_where_no_other_can_be_reserved() {
        // ORDERING: Relaxed, both; read by the thread that wrote it.
        in_child(|| limit_space(60 * MIB) && promise(1, MIB, BESIDE).0 == 1 && HEAP_IS_SHARED.load(Relaxed));
        in_child(|| {
            let has_promised = limit(libc::RLIMIT_DATA, 5, 60 * MIB) && promise(1, MIB, BESIDE).0 == 1;
            // ORDERING: as above.
            has_promised && !HEAP_IS_SHARED.load(Relaxed)
        });
    }

    #[test]
    fn a_stack_that_cannot_be_is_refused_at_once() {
        in_child(|| {
            let is_limited = limit_space(64 * MIB) && promise(1, MIB, BESIDE).0 == 1;
            let begin = Instant::now();
            is_limited && take(usize::MAX).is_err() && begin.elapsed() < PROMISED_STACK_TIMEOUT / 2
        });
    }

    #[test]
    fn what_is_beside_a_stack_is_asked_for_under_a_limit_alone() {
        in_child(|| promise(3, MIB, || std::process::abort()) == (3, 0));
    }
}
