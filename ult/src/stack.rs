//! Stacks for user-level threads: mapped under a guard area, pooled, trimmed.
//!
//! ```text
//!   mapping            bottom                                  top
//!   | guard (1 MiB)     | usable, grows downwards  <---          | header |
//! ```
//!
//! * A stack is mapped when the pool has none to spare, and costs 10 to 20 us then; a pooled one
//!   costs tens of nanoseconds.
//! * The pool is a handful of lists, chosen by kernel thread so that workers rarely meet; the links
//!   lie in the free stacks' own headers, so neither [`take`] nor [`give`] allocates. The head of a
//!   list is its lock too: the thread that swaps it out owns the list until the new head is stored,
//!   and all other threads go to the next list.
//! * Touched memory: a stack that was used deeper than [`KEEP_TOUCHED`] gives the deeper pages back
//!   when it is pooled. More than [`POOLED_MAX`] free stacks are really unmapped.
//! * The guard is 1 MiB because Fortran's automatic arrays jump over a page. Where the kernel has
//!   light guards (Linux 6.13) neighbouring stacks share one memory area and their number is not
//!   bounded by `vm.max_map_count`; elsewhere each stack is two areas, about 32,000 stacks at the
//!   usual limit. A light guard writes a table entry for each of its pages, so the first
//!   [`GUARDS_WITH_OWN_AREA`] stacks have guards that are areas of their own.
//!
//! What may not live here: who runs on a stack, and when; messages about overflow
//! ([`crate::fault`]).
//!
//! Tried and rejected: a lock-free list (free stacks are unmapped, so a popping thread could read a
//! link in memory that is gone); one global list under a lock (every worker's task switch meets
//! there); `mincore` to learn how deep a stack was used (microseconds per give).
use core::mem::ManuallyDrop;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::io;

use crate::sanitize::StackMark;
use crate::sys::memory::page_size;

pub(crate) mod bounds;
pub(crate) mod guards;
pub(crate) mod kernel;
pub(crate) mod native;
pub mod promised;
pub(crate) mod valgrind;

/// Bytes of inaccessible memory below each stack.
pub const GUARD: usize = 1 << 20;
/// No stack is smaller than this many bytes.
pub const MIN_SIZE: usize = 64 << 10;
/// A pooled stack keeps at most this many touched bytes.
pub const KEEP_TOUCHED: usize = 64 << 10;
/// The same where the pool holds more than [`LARGE_POOL`] stacks, which a team of thousands has
/// left there. Chosen: a thread of such a team rarely touches more.
const KEEP_TOUCHED_IN_LARGE_POOL: usize = 16 << 10;
/// Chosen: 64 MiB of stacks that are kept.
const LARGE_POOL: usize = 1024;
/// Free stacks kept for reuse; further ones are unmapped.
pub const POOLED_MAX: usize = 8192;

/// Every so often a stack is trimmed even if it does not look as if it had been used deeply.
const TRIM_EVERY: u32 = 32;
/// How many stacks of another size to pass over in one list.
const LOOK_AT: usize = 8;
const LISTS: usize = 16;
const HEADER: usize = size_of::<Header>();
const LIST_MAX: usize = POOLED_MAX / LISTS;
/// A list's head while a thread is at work on the list; no address has this value.
const BUSY: usize = 1;
/// `MADV_GUARD_INSTALL`, Linux 6.13; not in the `libc` crate of every version.
const MADV_GUARD_INSTALL: libc::c_int = 102;
/// Until so many stacks have been mapped at one time, each new stack gets a guard that is a memory area of
/// its own. From then on new stacks get light guards, where the kernel has them. Making a guard with an
/// area of its own takes 1 µs, and a light guard of 1 MiB takes 8 µs (AMD EPYC,
/// Linux 6.18). Chosen: the teams of most programs, and few areas beside the usual limit of 65,530;
/// any value from 32 to 4096 will do.
const GUARDS_WITH_OWN_AREA: usize = 256;

/// One list of free stacks. On a pair of cache lines of its own.
#[repr(align(128))]
struct StackList {
    /// The first node, zero, or [`BUSY`].
    head: AtomicUsize,
    /// Its length; written only by the thread that swapped the head out.
    length: AtomicUsize,
}

#[unsafe(link_section = ".sbss.large")]
static POOL: [StackList; LISTS] =
    [const { StackList { head: AtomicUsize::new(0), length: AtomicUsize::new(0) } }; LISTS];

/// Where a stack lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// The lowest address that may be used.
    pub(crate) lowest: usize,
    /// The one behind the highest.
    pub(crate) end: usize,
}

impl Bounds {
    /// No stack.
    pub(crate) const UNKNOWN: Self = Self { lowest: 0, end: 0 };

    /// Is a stack pointer with this value on it?
    pub(crate) fn contains(self, sp: usize) -> bool {
        self.lowest < sp && sp <= self.end
    }
}

/// A mapped stack, owned. Dropping it unmaps it; [`give`] keeps it for the next [`take`]. One word.
pub struct Stack(ptr::NonNull<Header>);

/// What is known about a stack, in its own topmost bytes: moving a `Stack` or linking a free one
/// copies one word.
#[repr(align(64))]
struct Header {
    /// The next free stack, while this one is in a list.
    next: usize,
    bottom: *mut u8,
    size: usize,
    /// Its entry in the table of guard areas.
    slot: usize,
    /// Valgrind's number for it; zero when not under valgrind.
    valgrind: usize,
    mark: StackMark,
    gives: u32,
}

// SAFETY: a `Stack` owns its mapping; nothing about it is tied to the kernel thread that mapped it.
unsafe impl Send for Stack {}
// SAFETY: a shared `Stack` only tells its bounds, which do not change while it is owned.
unsafe impl Sync for Stack {}

impl Stack {
    /// The end of the usable bytes, where the first frame goes (64-byte aligned).
    pub fn top(&self) -> *mut u8 {
        self.0.as_ptr().cast()
    }

    /// The lowest usable byte; the guard area ends here.
    pub fn bottom(&self) -> *mut u8 {
        self.header().bottom
    }

    /// Usable bytes: at least what was asked for.
    pub fn size(&self) -> usize {
        self.header().size
    }

    /// Both of them.
    pub(crate) fn bounds(&self) -> Bounds {
        let lowest = self.bottom() as usize;
        Bounds { lowest, end: lowest + self.size() }
    }

    /// What sanitizers know it by.
    pub(crate) fn mark(&self) -> &StackMark {
        &self.header().mark
    }

    fn header(&self) -> &Header {
        // SAFETY: written by `map`; changed only through `&mut self` and, for `next`, by the list
        // that owns the stack.
        unsafe { self.0.as_ref() }
    }

    fn map(size: usize) -> io::Result<Stack> {
        let bottom = map_guarded(size)?;
        let Some(slot) = guards::add(bottom as usize - GUARD) else {
            // SAFETY: the mapping was made above and no other thread knows of it yet.
            unsafe { libc::munmap(bottom.sub(GUARD).cast(), mapping(size)) };
            return Err(io::Error::other(format!("{} stacks are in use", guards::CAPACITY)));
        };
        let valgrind = valgrind::register_stack(bottom as usize, bottom as usize + size - 1);
        let header = bottom.wrapping_add(size).cast::<Header>();
        // SAFETY: `map_guarded` left room for a header at the end of the mapping, aligned like the
        // mapping's end.
        unsafe {
            header.write(Header {
                next: 0,
                bottom,
                size,
                slot,
                valgrind,
                mark: StackMark::new(bottom, size),
                gives: 0,
            })
        };
        promised::count_mapped(size);
        ptr::NonNull::new(header).map(Stack).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// Gives the pages below the topmost `keep` bytes, which are worth keeping, back to the kernel,
    /// if they seem to have been used.
    fn trim(&mut self, keep: usize) {
        // Whole pages: `madvise` rounds the length up, and would free the page in which `keep`
        // ends. Both are powers of two.
        let keep = keep.max(page_size());
        // SAFETY: the stack is ours alone.
        let header = unsafe { self.0.as_mut() };
        header.gives = header.gives.wrapping_add(1);
        let (bottom, size, due) = (header.bottom, header.size, header.gives.is_multiple_of(TRIM_EVERY));
        if size > keep + page_size() && (due || self.was_deep(keep)) {
            // The header's page is the topmost of the pages that stay.
            let length = mapping(size) - GUARD - keep;
            // SAFETY: the range lies in this free stack, whose contents no thread needs.
            unsafe { libc::madvise(bottom.cast(), length, libc::MADV_DONTNEED) };
        }
    }

    /// Looks at the cache line just below the part to keep: fresh memory is zero, and few call
    /// chains pass it without a trace. Those that do are caught by the regular trim.
    fn was_deep(&self, keep: usize) -> bool {
        if self.header().valgrind != 0 {
            return true; // Memory below the stack pointer must not be looked at there.
        }
        let line = self.top().wrapping_sub(keep + 64).cast::<u64>();
        // SAFETY: the caller checked that the stack is larger than `keep` by at least a page, so
        // the line lies in it; no thread runs on a free stack.
        (0..8).any(|word| unsafe { line.add(word).read_volatile() } != 0)
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        let &Header { bottom, size, slot, valgrind, ref mark, .. } = self.header();
        mark.end();
        valgrind::deregister_stack(valgrind);
        guards::remove(slot);
        promised::count_unmapped(size);
        // SAFETY: the mapping is ours, made by `map_guarded` with this length; the owner says that
        // no thread runs on it.
        unsafe { libc::munmap(bottom.sub(GUARD).cast(), mapping(size)) };
    }
}

/// A stack of at least `size` usable bytes (rounded up to whole pages and [`MIN_SIZE`]) over a
/// guard area of [`GUARD`].
///
/// Pooled if one of that size is free, else freshly mapped. Any thread; no lock is waited for,
/// nothing is allocated.
///
/// # Errors
/// The kernel's, when it refuses the memory (`RLIMIT_AS`, `vm.max_map_count`), or more than 262,144
/// stacks in use.
pub fn take(size: usize) -> io::Result<Stack> {
    let size = round(size).ok_or(io::ErrorKind::InvalidInput)?;
    match take_pooled(size) {
        Some(stack) => Ok(stack),
        None => Stack::map(size),
    }
}

/// Gives the stack back to the pool, or to the kernel above [`POOLED_MAX`]. No thread runs on the
/// stack any more, the caller included.
///
/// Any thread. Waits for no lock and allocates nothing; about 10 ns.
pub fn give(mut stack: Stack) {
    let first_list = first_list();
    // The home list is checked first, because the sum reads all lists. In a large pool it is long,
    // as a rule. ORDERING: Relaxed; a recent length.
    let is_large = POOL[first_list].length.load(Relaxed) > LARGE_POOL / LISTS && pooled() > LARGE_POOL;
    stack.trim(if is_large { KEEP_TOUCHED_IN_LARGE_POOL } else { KEEP_TOUCHED });
    loop {
        let mut busy = false;
        for step in 0..LISTS {
            match POOL[(first_list + step) % LISTS].push(stack) {
                Push::Done => return,
                Push::Full(back) => stack = back,
                Push::Busy(back) => (stack, busy) = (back, true),
            }
        }
        if !busy {
            return; // dropped: unmapped
        }
        // A thread at work on one of the last lists with room may have lost its processor.
        crate::sys::thread::give_core();
    }
}

/// Forgets the pool, in the child of a `fork`: other threads may have been at work on it.
/// Async-signal-safe.
///
/// The forgotten stacks stay mapped (they share the parent's pages until written to); the table of
/// guard areas stays right because it has no lock.
///
/// # Safety
/// Called in the child, before any other thread exists there.
pub unsafe fn reset_after_fork() {
    for list in &POOL {
        // ORDERING: the only thread.
        list.head.store(0, Relaxed);
        // ORDERING: the only thread.
        list.length.store(0, Relaxed);
    }
    promised::forget_after_fork();
}

/// How many stacks are in the pool, roughly while other threads use it.
fn pooled() -> usize {
    // ORDERING: Relaxed; a count by itself.
    POOL.iter().map(|list| list.length.load(Relaxed)).sum()
}

fn take_pooled(size: usize) -> Option<Stack> {
    let first_list = first_list();
    (0..LISTS).find_map(|step| POOL[(first_list + step) % LISTS].pop(size))
}

/// What became of a stack that was to go into a list.
enum Push {
    Done,
    Full(Stack),
    Busy(Stack),
}

impl StackList {
    fn push(&self, stack: Stack) -> Push {
        // ORDERING: a look before taking the line; the length changes only while the head is
        // swapped out.
        if self.length.load(Relaxed) >= LIST_MAX {
            return Push::Full(stack);
        }
        // ORDERING: Acquire pairs with the Release store that ended the last turn at this list
        // (here or in `pop`).
        let head = self.head.swap(BUSY, Acquire);
        if head == BUSY {
            return Push::Busy(stack);
        }
        let node = ManuallyDrop::new(stack).0.as_ptr();
        // SAFETY: the header of a stack that the list owns from here on.
        unsafe { (*node).next = head };
        // ORDERING: ours until the head is back.
        self.length.store(self.length.load(Relaxed) + 1, Relaxed);
        // ORDERING: Release publishes node and length to the next Acquire swap.
        self.head.store(node as usize, Release);
        Push::Done
    }

    /// Takes the first stack of exactly `size` bytes; `None` also if another thread is at work on
    /// the list.
    fn pop(&self, size: usize) -> Option<Stack> {
        // ORDERING: a look without taking the line; the swap below decides.
        if matches!(self.head.load(Relaxed), 0 | BUSY) {
            return None;
        }
        // ORDERING: Acquire pairs with the Release store that ended the last turn at this list.
        let mut head = self.head.swap(BUSY, Acquire);
        if head == BUSY {
            return None;
        }
        let found = unlink(&mut head, size);
        // ORDERING: ours until the head is back.
        self.length.store(self.length.load(Relaxed) - usize::from(found.is_some()), Relaxed);
        // ORDERING: Release publishes the changed links and the length to the next Acquire swap.
        self.head.store(head, Release);
        found
    }
}

/// Removes the first node of exactly `size` bytes among the first few behind `link`, which the
/// caller owns.
fn unlink(mut link: &mut usize, size: usize) -> Option<Stack> {
    for _ in 0..LOOK_AT {
        let mut node = ptr::NonNull::new(*link as *mut Header)?;
        // SAFETY: a free stack of a list that we own (its head is swapped out).
        let header = unsafe { node.as_mut() };
        if header.size == size {
            *link = header.next;
            return Some(Stack(node));
        }
        link = &mut header.next;
    }
    None
}

/// The list this kernel thread looks at first.
fn first_list() -> usize {
    // Thread blocks are at least a thread's stack apart or neighbours in one arena: fold the middle
    // bits.
    let address = crate::sys::arch::thread_block() as usize;
    (address >> 6 ^ address >> 12 ^ address >> 20 ^ address >> 23) % LISTS
}

/// The least number of usable bytes from `size` on that fills whole pages together with the header;
/// at least [`MIN_SIZE`]. `None` if no address space could hold it.
fn round(size: usize) -> Option<usize> {
    let page = page_size();
    let whole = size.max(MIN_SIZE).checked_add(HEADER + page - 1)? & !(page - 1);
    whole.checked_add(GUARD).filter(|total| isize::try_from(*total).is_ok()).map(|_| whole - HEADER)
}

/// Bytes of the whole mapping of a stack with `size` usable bytes.
fn mapping(size: usize) -> usize {
    GUARD + size + HEADER
}

/// Makes fresh pages inaccessible. After `mlockall(MCL_FUTURE)` the kernel has filled and locked
/// them when they were mapped: they are unlocked and freed. False if the kernel refuses.
///
/// # Safety
/// Whole pages of a private mapping that no thread uses.
pub(crate) unsafe fn make_inaccessible(base: *mut libc::c_void, length: usize) -> bool {
    // SAFETY: as the caller says.
    unsafe {
        let is_inaccessible = libc::mprotect(base, length, libc::PROT_NONE) == 0;
        // `madvise` refuses locked pages. They are then unlocked and freed.
        if is_inaccessible
            && libc::madvise(base, length, libc::MADV_DONTNEED) != 0
            && libc::munlock(base, length) == 0
        {
            libc::madvise(base, length, libc::MADV_DONTNEED);
        }
        is_inaccessible
    }
}

/// Maps guard and stack; returns the lowest usable byte.
fn map_guarded(size: usize) -> io::Result<*mut u8> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address that the kernel chooses.
    let base = unsafe { libc::mmap(ptr::null_mut(), mapping(size), access, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: all three calls change the mapping made above, which no thread uses yet. Huge pages
    // would make every stack cost 2 MiB of memory; a kernel without them answers with an error that
    // does not matter.
    let guarded = unsafe {
        libc::madvise(base, mapping(size), libc::MADV_NOHUGEPAGE);
        let light =
            guards::used() >= GUARDS_WITH_OWN_AREA && libc::madvise(base, GUARD, MADV_GUARD_INSTALL) == 0;
        light || make_inaccessible(base, GUARD)
    };
    if !guarded {
        let error = io::Error::last_os_error();
        // SAFETY: the mapping made above.
        unsafe { libc::munmap(base, mapping(size)) };
        return Err(error);
    }
    Ok(base.cast::<u8>().wrapping_add(GUARD))
}
