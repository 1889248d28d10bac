//! Events for tools, the trace and detectors of races.

/// What the host's OpenMP tells, and asks, tools, the trace and detectors of races. By default nothing is done.
pub trait Tools: Sync {}

/// Where there is no such extension.
pub struct NoTools;

impl Tools for NoTools {}
