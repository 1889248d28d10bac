//! The shared descriptors of worksharing constructs.
//!
//! What does not live here: entering and leaving a construct ([`super`]).

use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use ult::worker::WorkerSet;

use super::reserve::ChunkReserve;
use super::schedule::Schedule;
use crate::team::padded::Padded;

/// Number of constructs of one region that may be in use at once. Chosen: threads seldom run so
/// many `nowait` constructs ahead, and batches count constructs in 8 bits; any value from 4 to 128
/// will do.
pub(super) const RING_LENGTH: u64 = 8;

/// What the threads of a team share in worksharing constructs and reductions: they write it in the
/// constructs, and the forking thread resets it between regions.
pub struct TeamWorksharing {
    ring: WorkShareRing,
    /// Number of `single` constructs that have begun.
    pub singles: Padded<AtomicU64>,
    /// The data that a `copyprivate` broadcasts.
    pub broadcast: AtomicPtr<()>,
    /// One slot per thread for tree reductions.
    pub contributions: Box<[Padded<AtomicPtr<()>>]>,
    /// Reductions registered with the region (`reduction(task, …)` on `parallel`).
    pub reductions: AtomicPtr<()>,
}

impl TeamWorksharing {
    /// The state of a team of at most `threads` threads before its first construct.
    pub fn new(threads: u32) -> Self {
        Self {
            ring: WorkShareRing::new(threads),
            singles: Padded::default(),
            broadcast: AtomicPtr::default(),
            contributions: (0..threads).map(|_| Padded::default()).collect(),
            reductions: AtomicPtr::default(),
        }
    }

    /// The shared descriptor of the worksharing construct with number `construct`, see
    /// [`WorkShareRing`].
    pub fn workshare(&self, construct: u64) -> &WorkShare {
        self.ring.at(construct)
    }

    /// The chunks that thread `num` has reserved of its present worksharing loop.
    #[inline(always)]
    pub fn reserve(&self, num: u32) -> &ChunkReserve {
        self.ring.reserve(num)
    }

    /// Makes the shared descriptors free for the next region's first constructs. No thread is in a
    /// construct.
    pub fn reset_workshares(&self) {
        self.ring.reset();
    }
}

/// The shared descriptors of a team.
pub struct WorkShareRing {
    pub(super) entries: [WorkShare; RING_LENGTH as usize],
    /// The entry for a thread of a region that is cancelled, or lost by a fork(2). It would
    /// otherwise wait for its own entry, perhaps in vain: the threads that use that one may never
    /// leave it.
    pub(super) dead: WorkShare,
    /// The chunks that each thread has reserved of its present loop.
    pub(super) reserves: Box<[Padded<ChunkReserve>]>,
}

/// Number of the construct whose entry is `dead`. Derived: the largest number of its type, which no
/// real construct reaches.
pub(super) const DEAD_NUMBER: u64 = u64::MAX;

/// Shared state of one construct.
#[repr(align(128))]
pub struct WorkShare {
    /// `4k`: free for construct k; `4k+1`: being initialised for it; `4k+2`: in use by it.
    pub(super) sequence: AtomicU64,
    /// Number of threads that have left the construct.
    pub(super) left: AtomicU32,
    /// The construct was cancelled (`cancel for` or `cancel sections`).
    pub cancelled: AtomicBool,
    /// Some threads have reserved chunks of the loop.
    pub(super) reserves: AtomicBool,
    /// The last chunk of a loop with batches has been taken.
    pub(super) last: AtomicBool,
    /// A block that lives as long as the construct (GCC's `mem`), or null. `free_memory` frees it.
    pub memory: AtomicPtr<u8>,
    /// The front's data for the construct's task reductions, shared by all threads. Null when the
    /// construct begins.
    pub reductions: AtomicPtr<usize>,
    /// The table of a doacross loop, or null. Freed together with `memory`.
    pub(crate) table: AtomicPtr<u64>,
    /// Workers that host threads which wait for an iteration of the construct.
    pub(super) waiting_workers: WorkerSet,
    /// The properties that are the same for all threads of the construct. The initialising thread
    /// writes them.
    pub(super) shape: UnsafeCell<Shape>,
    /// Next iteration, section, chunk, or other unit that the construct counts.
    pub next: Padded<AtomicU64>,
    /// Number of iterations whose `ordered` part is over.
    pub ordered: Padded<AtomicU64>,
}

// SAFETY: `shape` is written while the sequence number is `4k+1`, by the one thread that set it,
// and read while it is `4k+2`.
unsafe impl Sync for WorkShare {}

impl WorkShareRing {
    /// A ring whose entries are free for the first constructs, for at most `threads` threads.
    pub fn new(threads: u32) -> Self {
        let dead = WorkShare::new(0);
        // ORDERING: Relaxed; not shared yet.
        dead.cancelled.store(true, Ordering::Relaxed);
        let reserves = (0..threads).map(|_| Padded(ChunkReserve::default())).collect();
        Self { entries: core::array::from_fn(|i| WorkShare::new(i as u64)), dead, reserves }
    }

    /// The chunks that thread `num` has reserved of its present loop.
    #[inline(always)]
    pub fn reserve(&self, num: u32) -> &ChunkReserve {
        &self.reserves[num as usize].0
    }

    /// The entry of construct `k`.
    pub fn at(&self, k: u64) -> &WorkShare {
        if k == DEAD_NUMBER {
            return &self.dead;
        }
        &self.entries[(k % RING_LENGTH) as usize]
    }

    /// Makes all entries free for a region's first constructs. No thread is in a construct.
    pub fn reset(&self) {
        // A thread that left a cancelled loop may not have taken all its reserved chunks.
        if self.entries.iter().any(WorkShare::has_reserves) {
            self.reserves.iter().for_each(|reserve| reserve.0.clear());
        }
        for (i, entry) in self.entries.iter().enumerate() {
            entry.free_memory();
            // ORDERING: Relaxed in all of this loop; the epoch of the next region publishes the
            // values.
            entry.left.store(0, Ordering::Relaxed);
            entry.reserves.store(false, Ordering::Relaxed);
            entry.sequence.store(4 * i as u64, Ordering::Relaxed);
        }
    }
}

impl WorkShare {
    pub(super) fn new(k: u64) -> Self {
        Self {
            sequence: AtomicU64::new(4 * k),
            left: AtomicU32::new(0),
            cancelled: AtomicBool::new(false),
            reserves: AtomicBool::new(false),
            last: AtomicBool::new(false),
            memory: AtomicPtr::new(ptr::null_mut()),
            reductions: AtomicPtr::new(ptr::null_mut()),
            table: AtomicPtr::new(ptr::null_mut()),
            waiting_workers: WorkerSet::default(),
            shape: UnsafeCell::new(Shape::default()),
            next: Padded(AtomicU64::new(0)),
            ordered: Padded(AtomicU64::new(0)),
        }
    }

    /// The properties that are the same for all threads of the construct.
    pub fn shape(&self) -> &Shape {
        // SAFETY: callers have entered the construct, so the sequence number is `4k+2`.
        unsafe { &*self.shape.get() }
    }

    /// Notes that chunks have been reserved. Each thread writes the flag at most once.
    #[inline]
    pub(super) fn note_reserves(&self) {
        if !self.has_reserves() {
            // ORDERING: Relaxed; a thread that does not see the flag in time leaves the chunks to
            // the threads that have reserved them.
            self.reserves.store(true, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(super) fn has_reserves(&self) -> bool {
        // ORDERING: Relaxed, as above.
        self.reserves.load(Ordering::Relaxed)
    }

    /// Takes the last chunk of a loop with batches: true for one thread of the team.
    #[inline]
    pub(super) fn take_last(&self) -> bool {
        // ORDERING: Relaxed, as for the counter. The load comes first so that late threads do not
        // pull the cache line away from each other.
        !self.last.load(Ordering::Relaxed) && !self.last.swap(true, Ordering::Relaxed)
    }

    pub(super) fn free_memory(&self) {
        // ORDERING: Relaxed; the last thread to leave, ordered by `left`.
        let blocks = [
            self.memory.swap(ptr::null_mut(), Ordering::Relaxed),
            self.table.swap(ptr::null_mut(), Ordering::Relaxed).cast(),
        ];
        for block in blocks.into_iter().filter(|b| !b.is_null()) {
            // SAFETY: blocks in `memory` and `table` come from libc's allocator.
            ult::sanitize::unnoticed(|| unsafe { libc::free(block.cast()) });
        }
    }

    /// Is the entry free for construct `k`, or in use by it? A thread then need not wait for the
    /// entry any longer.
    pub(super) fn is_open_for(&self, k: u64) -> bool {
        // ORDERING: Acquire, pairs with the Release stores of `sequence`.
        matches!(self.sequence.load(Ordering::Acquire), t if t == 4 * k || t == 4 * k + 2)
    }
}

/// The properties of a construct with shared state that are the same for all its threads.
#[derive(Default)]
pub struct Shape {
    /// How a loop is divided. The bounds are not here: each thread brings them, and they are the
    /// same.
    pub schedule: Schedule,
}
