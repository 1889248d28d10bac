//! What a worker does next, and what it notes about ULTs that have ended.
//!
//! What may not live here: how the worker finds out ([`super::idle`], [`super::look`]).

use crate::gang::GangTag;
use crate::spawn::start::UltStart;
use crate::worker::role::Role;

use super::request::Job;
use super::suspended::context::SuspendedContext;

/// What a worker should do next.
pub(crate) enum Next {
    /// Resume a context that was removed from the suspended contexts.
    Resume(SuspendedContext),
    /// Run a job in a role.
    Run(Job, Role),
    /// Start a ULT.
    Start(&'static UltStart, GangTag),
}

/// What a runner receives.
#[derive(Clone, Copy)]
pub(crate) enum RunnerTask {
    /// A job, in a role.
    Job(Job, Role),
    /// A ULT to start.
    Ult(&'static UltStart, GangTag),
}

/// The type of [`crate::spawn::start::SpawnGroup::retire`].
pub(super) type Retire = unsafe fn(*mut (), u32);

/// ULTs of one spawn group that have ended on a worker, and whose ends have not been reported to
/// the spawn group.
pub(crate) struct EndedUlts {
    pub(super) spawn_group: Option<(Retire, *mut ())>,
    pub(super) count: u32,
    /// How many of these ULTs are gang ULTs that this worker's `gang_load` counts.
    pub(super) ganged: i32,
}

impl EndedUlts {
    pub(crate) const NONE: Self = Self { spawn_group: None, count: 0, ganged: 0 };
}
