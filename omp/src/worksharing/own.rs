//! The worksharing loop that a thread is in: data that only the thread itself touches.
//!
//! What does not live here: how the thread gets its chunks ([`super::dispatch`], [`super::batch`]).

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
    /// The team's state of the loop; null if the thread is in no loop.
    pub(super) share: *const WorkShare,
    /// Number of the construct.
    pub(super) construct: u64,
    /// Number of barriers that the team had passed when the thread entered.
    pub(super) phase: u64,
    /// The loop's iterations.
    pub space: IterationSpace,
    pub(super) schedule: Schedule,
    /// Number of chunks taken so far, in static schedules.
    pub(super) round: u64,
    /// The batches of a nonmonotonic loop.
    pub(super) batch: Batch,
    /// In a team of one: the first iteration that the thread has not taken.
    pub(super) alone: u64,
    /// The chunk being executed, in an ordered loop.
    pub(super) chunk: Range<u64>,
    pub(super) ordered: Ordered,
    /// In an ordered loop: the `ordered` region of the present iteration is over.
    pub(super) bumped: bool,
    /// Cross-iteration dependences of the loop.
    pub(super) doacross: Doacross,
}

impl Default for Dispatch {
    fn default() -> Self {
        Self {
            share: ptr::null(),
            construct: 0,
            phase: 0,
            space: IterationSpace::default(),
            schedule: Schedule::default(),
            round: 0,
            batch: Batch::default(),
            alone: u64::MAX,
            chunk: 0..0,
            ordered: Ordered::No,
            bumped: false,
            doacross: Doacross::default(),
        }
    }
}

/// How a thread takes the chunks of its present loop.
pub(super) struct Batch {
    /// Null if the loop has no batches, or the thread is in no loop.
    pub(super) reserve: *const ChunkReserve,
    pub(super) construct: u64,
    /// Number of chunks of the loop; 0 if they are taken one by one.
    pub(super) chunks: u64,
    /// Number of chunks in the next batch.
    pub(super) size: u64,
    /// Number of chunks in the last batch, and when the thread took it; 0 if the clock was not
    /// read.
    pub(super) taken: u64,
    pub(super) since: u64,
    /// Number of chunks to come for which the clock is not read.
    pub(super) pause: u32,
    /// The last chunk that came from the counter.
    pub(super) seen: u64,
    /// The thread from which a chunk was stolen last.
    pub(super) victim: u32,
    /// The thread has taken the loop's last chunk, and takes no other chunk.
    pub(super) ends: bool,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            reserve: ptr::null(),
            construct: 0,
            chunks: 0,
            size: 1,
            taken: 0,
            since: 0,
            pause: 0,
            seen: 0,
            victim: 0,
            ends: false,
        }
    }
}

/// The doacross loop that a thread is in.
pub struct Doacross {
    pub(super) table: *const u64,
    pub(super) share: *const WorkShare,
    /// Number of the construct, if the table has a construct of its own.
    pub(super) construct: u64,
}

impl Default for Doacross {
    fn default() -> Self {
        Self { table: ptr::null(), share: ptr::null(), construct: 0 }
    }
}
