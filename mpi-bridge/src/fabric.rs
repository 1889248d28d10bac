//! What the engine asks of whatever carries bytes between ranks: MPI (`fabric/mpi.rs`), or a
//! stand-in inside one process (`fabric/loopback.rs`) for tests; before either the ranks' shared
//! memory ([`crate::near`]).
//!
//! Operations are begun with a token and complete in [`Fabric::poll`]. Only the engine calls a
//! fabric, one thread at a time.

use crate::packet::Packet;

pub mod loopback;
pub mod mpi;

/// Packets travel apart from blocks, so that neither is matched with the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FabricLane {
    /// Packets: received from anybody, tag 0.
    Packets = 0,
    /// Blocks: received from a known rank with a known tag.
    Blocks = 1,
}

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FabricOutcome {
    /// As asked.
    Done,
    /// It was cancelled before anything arrived.
    Cancelled,
}

/// An operation that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What it was begun with.
    pub token: u64,
    /// The sending rank, for a reception.
    pub source: u32,
    /// Bytes received, for a reception.
    pub length: usize,
    /// How it ended.
    pub outcome: FabricOutcome,
}

/// Something the carrier could not do, in its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken(pub String);

/// A carrier of bytes between ranks. Messages of one rank to another on one lane with one tag
/// arrive in the order of sending.
pub trait Fabric: Send {
    /// This rank.
    fn rank(&self) -> u32;

    /// Number of ranks.
    fn ranks(&self) -> u32;

    /// The largest tag.
    fn most_tag(&self) -> u32;

    /// Begins to send. `true`: it is done already, and no completion will follow.
    ///
    /// # Safety
    /// `length` bytes at `from` are readable and do not change until the operation completes.
    unsafe fn send(
        &mut self,
        lane: FabricLane,
        to: u32,
        tag: u32,
        from: *const u8,
        length: usize,
        token: u64,
    ) -> Result<bool, Broken>;

    /// Begins to receive at most `length` bytes, from `source` or, without one, from any rank.
    ///
    /// # Safety
    /// `length` bytes at `into` are writable, and no other thread touches them until the
    /// operation completes.
    unsafe fn receive(
        &mut self,
        lane: FabricLane,
        source: Option<u32>,
        tag: u32,
        into: *mut u8,
        length: usize,
        token: u64,
    ) -> Result<(), Broken>;

    /// Adds what has completed to `into`.
    fn poll(&mut self, into: &mut Vec<Completion>) -> Result<(), Broken>;

    /// Adds the packets that have come, and who sent each, where they come without a reception;
    /// `room` gives an empty one. After it [`Fabric::poll`] has the others.
    fn arrivals(
        &mut self,
        room: &mut dyn FnMut() -> Packet,
        into: &mut Vec<(u32, Packet)>,
    ) -> Result<(), Broken> {
        let _ = (room, into);
        Ok(())
    }

    /// Asks that all receptions with this token end; each still completes, as done or cancelled.
    fn cancel(&mut self, token: u64) -> Result<(), Broken>;

    /// Collective, may wait: given how many packets went to each rank, how many come to this one.
    fn complete(&mut self, sent: &[u64]) -> Result<u64, Broken>;

    /// Collective, may wait: the end. Nothing is under way any more.
    fn close(&mut self) -> Result<(), Broken>;

    /// What ends all ranks; any thread may call it, whatever the others do.
    fn aborter(&self) -> fn();
}
