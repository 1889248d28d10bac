//! Worksharing constructs (OpenMP 5.2 §11): what the threads of a team share while they divide work.
//!
//! A construct that needs shared state takes a [`WorkShare`] from the team's [`Ring`]. Threads meet constructs in the
//! same order, so the n-th construct of a region uses entry n modulo the ring's length; a thread that runs ahead by more
//! than that (`nowait`) waits for the slowest. The first thread to arrive initialises the entry, the last to leave
//! frees it for the construct one round later.
//!
//! `static` loops and `single` do not come here: they need no shared state, or one counter.

use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use ult::sched::Wait;

use super::team::{Padded, Team};
use super::thread::{Here, Thread};

/// Constructs of one region that may be in flight at once.
const LENGTH: u64 = 8;

/// The shared descriptors of a team.
pub struct Ring {
    entries: [WorkShare; LENGTH as usize],
}

/// Shared state of one construct.
#[repr(align(128))]
pub struct WorkShare {
    /// `4k` free for construct k, `4k+1` being initialised for it, `4k+2` in use by it.
    turn: AtomicU64,
    /// Threads that have left the construct.
    left: AtomicU32,
    /// `cancel for` or `cancel sections`.
    pub cancelled: AtomicBool,
    /// A block that lives as long as the construct (GCC's `mem`), or null; freed by `free`.
    pub memory: AtomicPtr<u8>,
    /// What the construct is; written by the initialising thread.
    shape: UnsafeCell<Shape>,
    /// Next iteration, section or whatever the construct counts.
    pub next: Padded<AtomicU64>,
    /// Iterations whose `ordered` part is over, or the thread whose turn it is.
    pub ordered: Padded<AtomicU64>,
}

// SAFETY: `shape` is written while the turn is `4k+1`, by the one thread that set it, and read while it is `4k+2`.
unsafe impl Sync for WorkShare {}

impl Ring {
    /// A ring whose entries are free for the first constructs.
    pub fn new() -> Self {
        Self { entries: core::array::from_fn(|i| WorkShare::new(i as u64)) }
    }

    /// The entry of construct `k`.
    pub fn at(&self, k: u64) -> &WorkShare {
        &self.entries[(k % LENGTH) as usize]
    }

    /// All entries free for a region's first constructs again. No thread is in a construct.
    pub fn reset(&self) {
        for (i, entry) in self.entries.iter().enumerate() {
            entry.free_memory();
            // ORDERING: Relaxed throughout; published by the epoch of the next region.
            entry.left.store(0, Ordering::Relaxed);
            entry.turn.store(4 * i as u64, Ordering::Relaxed);
        }
    }
}

impl WorkShare {
    fn new(k: u64) -> Self {
        Self {
            turn: AtomicU64::new(4 * k),
            left: AtomicU32::new(0),
            cancelled: AtomicBool::new(false),
            memory: AtomicPtr::new(ptr::null_mut()),
            shape: UnsafeCell::new(Shape::default()),
            next: Padded(AtomicU64::new(0)),
            ordered: Padded(AtomicU64::new(0)),
        }
    }

    /// What the construct is.
    pub fn shape(&self) -> &Shape {
        // SAFETY: callers have entered the construct, so the turn is `4k+2`.
        unsafe { &*self.shape.get() }
    }

    fn free_memory(&self) {
        // ORDERING: Relaxed; the last thread to leave, ordered by `left`.
        let memory = self.memory.swap(ptr::null_mut(), Ordering::Relaxed);
        if !memory.is_null() {
            // SAFETY: blocks in `memory` come from libc's allocator.
            unsafe { libc::free(memory.cast()) };
        }
    }
}

/// Enters the running thread's next construct with shared state. The first thread to arrive calls `initialise` with the
/// shape to fill in; the others wait until it has. Returns the construct's number and state.
pub fn enter(here: Here, initialise: impl FnOnce(&mut Shape)) -> (u64, &'static WorkShare) {
    // SAFETY: own thread only.
    let own = unsafe { here.thread.own() };
    let k = own.constructs;
    own.constructs += 1;
    let share = here.team().workshare(k);
    // ORDERING: Acquire on success and failure, pairs with the Release stores of `turn`.
    match share.turn.compare_exchange(4 * k, 4 * k + 1, Ordering::Acquire, Ordering::Acquire) {
        Ok(_) => begin(share, k, initialise, here.team()),
        Err(turn) if turn == 4 * k + 2 => {}
        Err(_) => enter_cold(here, share, k, initialise),
    }
    (k, share)
}

#[cold]
fn enter_cold(here: Here, share: &WorkShare, k: u64, initialise: impl FnOnce(&mut Shape)) {
    ult::sched::wait(&Wait {
        // ORDERING: Acquire, pairs with the Release stores of `turn`.
        ready: &|| matches!(share.turn.load(Ordering::Acquire), t if t == 4 * k || t == 4 * k + 2),
        seek: None,
        sleepers: Some(here.team().sleepers()),
        spin: here.team().spin(),
    });
    // ORDERING: Acquire, as in `enter`.
    match share.turn.compare_exchange(4 * k, 4 * k + 1, Ordering::Acquire, Ordering::Acquire) {
        Ok(_) => begin(share, k, initialise, here.team()),
        Err(turn) if turn == 4 * k + 2 => {}
        Err(_) => enter_cold(here, share, k, initialise),
    }
}

fn begin(share: &WorkShare, k: u64, initialise: impl FnOnce(&mut Shape), team: &Team) {
    // ORDERING: Relaxed; published by the turn.
    share.next.0.store(0, Ordering::Relaxed);
    // ORDERING: Relaxed; published by the turn.
    share.ordered.0.store(0, Ordering::Relaxed);
    // ORDERING: Relaxed; published by the turn.
    share.cancelled.store(false, Ordering::Relaxed);
    // SAFETY: the turn is `4k+1` and we set it: nobody else reads or writes the shape.
    let shape = unsafe { &mut *share.shape.get() };
    *shape = Shape::default();
    initialise(shape);
    // ORDERING: Release, pairs with the Acquire in `enter`.
    share.turn.store(4 * k + 2, Ordering::Release);
    team.wake_all();
}

/// Leaves construct `k`, which the thread entered. The last thread frees the entry.
pub fn leave(thread: &Thread, k: u64) {
    let team = thread.team();
    let share = team.workshare(k);
    // ORDERING: AcqRel; the last to leave is ordered after all others' accesses.
    if share.left.fetch_add(1, Ordering::AcqRel) + 1 == team.size() {
        share.free_memory();
        // ORDERING: Relaxed; published by the turn.
        share.left.store(0, Ordering::Relaxed);
        // ORDERING: Release, pairs with the Acquire in `enter`.
        share.turn.store(4 * (k + LENGTH), Ordering::Release);
        team.wake_all();
    }
}

/// `single` (5.2 §11.1): true in the one thread that executes the block.
pub fn single(here: Here) -> bool {
    // SAFETY: own thread only.
    let own = unsafe { here.thread.own() };
    let k = own.singles;
    own.singles += 1;
    // ORDERING: Relaxed; only one thread can move the counter from k to k+1, and it publishes nothing.
    here.team().singles.0.compare_exchange(k, k + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}

/// What a construct with shared state is (filled in by the loops' code).
#[derive(Default)]
pub struct Shape {
    /// Iterations.
    pub trips: u64,
    /// Iterations per chunk.
    pub chunk: u64,
}

/// The loop a thread is in.
#[derive(Default)]
pub struct Dispatch {
    /// Number of the construct.
    pub construct: u64,
}
