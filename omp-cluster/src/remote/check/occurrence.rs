//! What ranks bring about, and wait for.

use super::super::RemoteHandle;
use omp_tools::check::thing::Occurrence;

/// Something that comes about once, by what a rank does for another one or for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RankOccurrence {
    /// The value of a future.
    Value(RemoteHandle),
    /// A persistent task ends what it executes now.
    Execution(RemoteHandle),
    /// The parcels of a transfer between trays: the rank that has asked for it, and its number for
    /// it.
    Transfer(u32, u64),
    /// Those who use a mobile object now let go of it.
    Object(RemoteHandle),
    /// An object is at the disposal of an event: its rank, and the number of the event there.
    Hold(u32, u64),
}

impl From<RankOccurrence> for Occurrence {
    fn from(occurrence: RankOccurrence) -> Self {
        let (kind, name) = match occurrence {
            RankOccurrence::Value(handle) => (1, handle.words()),
            RankOccurrence::Execution(handle) => (2, handle.words()),
            RankOccurrence::Transfer(rank, number) => (3, [rank.into(), number]),
            RankOccurrence::Object(handle) => (4, handle.words()),
            RankOccurrence::Hold(rank, number) => (5, [rank.into(), number]),
        };
        Self::OfRanks { kind, name }
    }
}

/// The name of a mobile object.
pub fn object_name(object: RemoteHandle) -> String {
    format!("object {} of rank {}", object.id, object.rank)
}
