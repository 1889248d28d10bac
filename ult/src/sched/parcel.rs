//! Contexts on their way to another worker, as a type.

use super::suspended::context::SuspendedContext;

/// Contexts on their way to another worker.
pub(crate) struct Parcel {
    pub(super) contexts: Vec<SuspendedContext>,
    pub(super) next: *mut Parcel,
}
