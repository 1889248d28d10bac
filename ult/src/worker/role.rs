//! What a context runs for, and the two words that the layer above keeps for it.

use crate::gang::GangTag;
use crate::tls_block::record::TlsBlock;

use super::thread_mode::ThreadMode;

/// The two words that the layer above keeps for the running context (Gangway: OpenMP thread and
/// task). They are saved when a context is suspended, and restored when it is resumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Locals(pub [usize; 2]);

/// What a context runs for.
#[derive(Clone, Copy)]
pub(crate) struct Role {
    /// Its gang.
    pub(crate) tag: GangTag,
    /// Code address of its parallel region; zero for none.
    pub(crate) region: usize,
    /// The thread of the context. Contexts of one thread share its mode, see `sched::suspended`.
    pub(crate) thread: *const ThreadMode,
    /// The TLS block that the context runs with; `None` where TLS blocks are not used.
    pub(crate) tls_block: Option<&'static TlsBlock>,
    /// The thread may be suspended on another worker than the one that its waker wakes, see
    /// `sched::handoff`.
    pub(crate) away: bool,
}

impl Role {
    /// Is this the role of a thread in a region? It is not for an idle worker, nor for a thread
    /// between two regions.
    pub(crate) fn is_of_a_region(&self) -> bool {
        self.tag != GangTag::NONE || self.region != 0
    }
}
