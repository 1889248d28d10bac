//! The work of an assigned worker, on its way there.

use crate::ult::Ult;

/// The work of an assigned worker: it runs `entry(argument)` as a ULT of `stack_size` bytes, and
/// then returns to the pool.
pub struct Assignment {
    /// The first function of the ULT. When it returns, the ULT ends and the worker is idle again.
    pub entry: unsafe fn(*mut ()),
    /// The argument of `entry`.
    pub argument: *mut (),
    /// The usable bytes of the ULT's stack.
    pub stack_size: usize,
    /// The group of the program's kernel thread whose team gets the worker
    /// ([`Worker::group`](crate::worker::Worker::group)); 0 if the worker is not for
    /// a team: it stands in for another worker, or is dedicated to one thread.
    pub group: u32,
}

/// An assignment on its way, with the descriptor of its ULT. The sender allocates both. At a
/// worker's first allocation the C library would set up a heap for it. This takes longer than all
/// else that the worker does before its first region.
pub(crate) struct AssignmentLetter {
    pub(super) assignment: Assignment,
    pub(super) ult: Option<Box<Ult>>,
}
