//! The worksharing loop that a thread is in: data that only the thread itself touches.
//!
//! What does not live here: how the thread gets its chunks ([`super::dispatch`], [`super::batch`]).

use core::cell::Cell;
use core::ops::Range;
use core::ptr;

use super::record::WorkShare;
use super::reserve::ChunkReserve;
use super::schedule::Schedule;
use super::space::IterationSpace;

/// How the `ordered` regions of a loop learn that earlier iterations are over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ordered {
    /// No `ordered` clause.
    #[default]
    No,
    /// Each iteration reports its end (LLVM's compilers).
    PerIteration,
    /// A chunk is over when its thread asks for the next one (GCC).
    PerChunk,
}

/// The worksharing loop that a thread is in.
pub struct Dispatch {
    /// The team's state of the loop; null if the thread is in no loop. It may outlive the ring that
    /// it points into, if a cancelled loop is not closed.
    pub(super) share: Cell<*const WorkShare>,
    /// Number of the construct.
    pub(super) construct: Cell<u64>,
    /// Number of barriers that the team had passed when the thread entered.
    pub(super) phase: Cell<u64>,
    /// The loop's iterations.
    pub space: Cell<IterationSpace>,
    pub(super) schedule: Cell<Schedule>,
    /// Number of chunks taken so far, in static schedules.
    pub(super) round: Cell<u64>,
    /// The batches of a nonmonotonic loop.
    pub(super) batch: Batch,
    /// In a team of one: the first iteration that the thread has not taken.
    pub(super) alone: Cell<u64>,
    /// The chunk being executed, in an ordered loop.
    pub(super) chunk: LoopChunk,
    pub(super) ordered: Cell<Ordered>,
    /// In an ordered loop: the `ordered` region of the present iteration is over.
    pub(super) bumped: Cell<bool>,
    /// Cross-iteration dependences of the loop.
    pub(super) doacross: Doacross,
}

impl Default for Dispatch {
    fn default() -> Self {
        Self {
            share: Cell::new(ptr::null()),
            construct: Cell::new(0),
            phase: Cell::new(0),
            space: Cell::default(),
            schedule: Cell::default(),
            round: Cell::new(0),
            batch: Batch::default(),
            alone: Cell::new(u64::MAX),
            chunk: LoopChunk::default(),
            ordered: Cell::new(Ordered::No),
            bumped: Cell::new(false),
            doacross: Doacross::default(),
        }
    }
}

/// A chunk of a loop, by iteration numbers.
#[derive(Default)]
pub(super) struct LoopChunk {
    start: Cell<u64>,
    end: Cell<u64>,
}

impl LoopChunk {
    #[inline(always)]
    pub(super) fn get(&self) -> Range<u64> {
        self.start.get()..self.end.get()
    }

    #[inline(always)]
    pub(super) fn set(&self, iterations: Range<u64>) {
        self.start.set(iterations.start);
        self.end.set(iterations.end);
    }
}

/// How a thread takes the chunks of its present loop.
pub(super) struct Batch {
    /// Null if the loop has no batches, or the thread is in no loop.
    pub(super) reserve: Cell<*const ChunkReserve>,
    pub(super) construct: Cell<u64>,
    /// Number of chunks of the loop; 0 if they are taken one by one.
    pub(super) chunks: Cell<u64>,
    /// Number of chunks in the next batch.
    pub(super) size: Cell<u64>,
    /// Number of chunks in the last batch.
    pub(super) taken: Cell<u64>,
    /// When the thread took the last batch; 0 if the clock was not read.
    pub(super) since: Cell<u64>,
    /// Number of chunks to come for which the clock is not read.
    pub(super) pause: Cell<u32>,
    /// The last chunk that came from the counter.
    pub(super) seen: Cell<u64>,
    /// The thread from which a chunk was stolen last.
    pub(super) victim: Cell<u32>,
    /// The thread has taken the loop's last chunk, and takes no other chunk.
    pub(super) ends: Cell<bool>,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            reserve: Cell::new(ptr::null()),
            construct: Cell::new(0),
            chunks: Cell::new(0),
            size: Cell::new(1),
            taken: Cell::new(0),
            since: Cell::new(0),
            pause: Cell::new(0),
            seen: Cell::new(0),
            victim: Cell::new(0),
            ends: Cell::new(false),
        }
    }
}

/// The doacross loop that a thread is in.
pub struct Doacross {
    pub(super) table: Cell<*const u64>,
    pub(super) share: Cell<*const WorkShare>,
    /// Number of the construct, if the table has a construct of its own.
    pub(super) construct: Cell<u64>,
}

impl Default for Doacross {
    fn default() -> Self {
        Self { table: Cell::new(ptr::null()), share: Cell::new(ptr::null()), construct: Cell::new(0) }
    }
}
