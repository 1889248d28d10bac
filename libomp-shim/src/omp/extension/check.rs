//! Events for checks of the program (`GANGWAY_CHECK`).

/// What the host's OpenMP tells, and asks, checks of the program (`GANGWAY_CHECK`). By default nothing is done.
pub trait Check: Sync {}

/// Where there is no such extension.
pub struct NoCheck;

impl Check for NoCheck {}
