//! The levels of the machine that an abstract place may name (`OMP_PLACES=cores`).
//!
//! What does not live here: the places of a level ([`super::places`]).

/// What an abstract place is made of, smallest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A hardware thread.
    Thread,
    /// A core.
    Core,
    /// The cores that share a last-level cache.
    LastCache,
    /// A NUMA node.
    Numa,
    /// A socket.
    Socket,
}
