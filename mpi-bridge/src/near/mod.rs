//! Packets between ranks of one machine, through shared memory, and copies of each other's memory.
//!
//! Each rank has an inbox, a segment of shared memory with a ring for every rank of its machine,
//! itself included. What lives here: the ring ([`ring`]), the segment and how ranks find each
//! other's ([`segment`]), copies from and to the memory of a rank of the machine ([`reach`]). Also
//! the carrier that puts both before another one ([`carrier`]). What may not: what packets mean.
//! `docs/protocols/bridge.md`, *Packets through shared memory*.
//!
//! MPI has shared memory, too, but its calls cost several times the time of the copy (a send 2500
//! instructions with MPICH, a look at nothing 800). Half of the time of an empty region's round
//! trip was theirs.
//!
//! Rejected:
//! * MPI's shared windows (`MPI_Win_allocate_shared`): Debian's Open MPI crashes in one-sided
//!   operations.
//! * One queue per receiver for all senders: an atomic exchange per packet, and a sender that is
//!   preempted holds up the others.
//! * A word that says which rings have something: one more line to move per packet. As many loads
//!   as there are ranks on the machine cost less.
//! * Looking at the rings' next cells before the gate is entered: an empty look then costs 90
//!   instructions instead of 500. An empty region's time is the same, and a stream of regions takes
//!   a third more. A reader that looks more often takes the line away from the writer more often.

pub mod carrier;
pub mod reach;
pub mod ring;
pub mod segment;
