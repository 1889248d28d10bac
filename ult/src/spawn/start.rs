//! ULTs that have not started, as a fork describes them.
//!
//! What may not live here: the fork ([`super`]), and how such a ULT gets its TLS block
//! ([`super::ult_tls_block`]).

use core::ptr::{self, NonNull};

use crate::gang::GangTag;
use crate::tls_block::record::TlsBlock;

/// A mark in the group of a queued gang ULT: the ULT runs on the worker at which it was queued. It
/// may leave that worker only if the worker is dedicated or blocked.
pub(crate) const PLACED: u32 = 1 << 31;

/// What all ULTs of one fork, a *spawn group*, have in common. It is written once for all of them.
///
/// It is neither moved nor changed between the fork and the last call of `retire`. If several ULTs
/// of a spawn group end on one worker one after the other, they are retired together. So the
/// counter that `retire` writes is written once for all of them.
#[derive(Clone, Copy, Debug)]
pub struct SpawnGroup {
    /// The first function of each ULT.
    pub run: unsafe fn(*mut ()),
    /// Called with the ULT's argument when the ULT has ended and no longer runs with its TLS block.
    /// Must not wait.
    pub end: unsafe fn(*mut ()),
    /// Called with `data` and a number: so many ULTs of the spawn group have ended on the calling
    /// worker since the last call. This is their last use of the spawn group. The worker calls it
    /// in its scheduler, before it looks for anything except another ULT of the spawn group. Must
    /// not wait.
    pub retire: unsafe fn(*mut (), u32),
    /// The argument of `retire`. Spawn groups with equal `data` are retired together, and have the
    /// same `retire`.
    pub data: *mut (),
    /// The gang of the forking context. A ULT without a gang of its own runs for this one.
    pub tag: GangTag,
    /// Code address of their parallel region.
    pub region: usize,
    /// The group that the ULTs belong to: `Worker::group` of the program's kernel thread at their
    /// root.
    pub group: u32,
}

impl PartialEq for SpawnGroup {
    fn eq(&self, other: &Self) -> bool {
        let words = |c: &Self| [c.run as usize, c.end as usize, c.retire as usize, c.data as usize, c.region];
        self.tag == other.tag && self.group == other.group && words(self) == words(other)
    }
}

/// A ULT that has not started. It is neither moved nor changed between the fork and the call of
/// [`SpawnGroup::end`].
#[derive(Clone, Copy, Debug)]
pub struct UltStart {
    /// What the ULT has in common with the others of its fork.
    pub spawn_group: NonNull<SpawnGroup>,
    /// The argument of `run` and `end`.
    pub data: *mut (),
    /// The TLS block that the ULT runs with. `None`: a TLS block is borrowed from its start to its
    /// end.
    pub tls_block: Option<&'static TlsBlock>,
}

impl PartialEq for UltStart {
    fn eq(&self, other: &Self) -> bool {
        let tls_block = |s: &Self| s.tls_block.map_or(ptr::null(), ptr::from_ref);
        self.spawn_group == other.spawn_group
            && self.data == other.data
            && tls_block(self) == tls_block(other)
    }
}

// SAFETY: the forking thread reads a start before the fork, and only the worker that takes it reads
// it afterwards.
unsafe impl Sync for UltStart {}

// SAFETY: as above.
unsafe impl Send for UltStart {}

impl UltStart {
    /// What the ULT has in common with the others. Must not be used after the ULT has been retired.
    #[inline]
    pub(crate) fn spawn_group(&self) -> &'static SpawnGroup {
        // SAFETY: a spawn group does not change until its last ULT has been retired (`SpawnGroup`).
        unsafe { self.spawn_group.as_ref() }
    }
}
