//! Events for devices of all kinds.

/// What the host's OpenMP tells, and asks, devices of all kinds. By default nothing is done.
pub trait Offload: Sync {}

/// Where there is no such extension.
pub struct NoOffload;

impl Offload for NoOffload {}
