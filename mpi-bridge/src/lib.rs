//! Active messages and large blocks of memory between the MPI ranks of a program: what carries
//! OpenMP's remote tasks.
//!
//! What lives here, from the bottom up:
//! * [`fabric`]: the calls to MPI, and a stand-in for tests;
//! * [`packet`]: the meaning of the bytes;
//! * [`near`]: packets between ranks of one machine;
//! * [`pair`]: batches and credits between two ranks;
//! * [`wave`]: barrier and quiescence;
//! * [`engine`]: one look at everything;
//! * [`bridge`]: the functions for callers, and [`table`], the same for C;
//! * [`load`]: for programs that open the library.
//!
//! `shim/mpi.c` holds all calls to MPI; it is compiled once per MPI and linked with this crate into
//! a shared library by `cargo xtask bridge`. What may not: OpenMP's meaning, scheduling, and any
//! dependency on the core library. `docs/protocols/bridge.md` is the agreement between ranks and
//! threads.
//!
//! Rejected: a table of plain MPI calls with the protocol in the core (the core would carry it on
//! machines without MPI, and each small message would cost several calls through the table); MPI's
//! one-sided operations (Debian's Open MPI crashes in them, MPICH's wait for the target to enter
//! MPI); an MPI binding from crates.io (needs libclang to build).

pub mod bridge;
pub mod engine;
#[cfg(feature = "entry")]
mod entry;
pub mod fabric;
pub mod gate;
pub mod load;
pub mod near;
pub mod packet;
pub mod pair;
mod progress;
mod slots;
pub mod start;
pub mod sync;
pub mod table;
pub mod wave;
