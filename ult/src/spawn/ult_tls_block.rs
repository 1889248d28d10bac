//! The TLS block of a ULT: borrowed for it, its thread's, or its worker's.

use core::ptr;

use crate::tls_block::record::TlsBlock;
use crate::worker::record::Worker;
use crate::worker::running::{borrow_tls_block, give_tls_block_back};
use crate::worker::table::uses_tls_blocks;

use super::start::UltStart;

/// The TLS block of a ULT while it runs.
#[derive(Clone, Copy)]
pub(crate) enum UltTlsBlock {
    /// The block of the ULT's own thread.
    Kept(&'static TlsBlock),
    /// A block that is borrowed for the ULT.
    Borrowed(&'static TlsBlock),
    /// The worker's block: TLS blocks are not used, or none could be borrowed.
    Shared,
}

impl UltStart {
    /// The TLS block of a ULT that starts on `worker`, the worker of the calling kernel thread.
    pub(crate) fn tls_block(&self, worker: &'static Worker) -> UltTlsBlock {
        match self.tls_block {
            Some(tls_block) => {
                tls_block.claim(worker);
                UltTlsBlock::Kept(tls_block)
            }
            None if uses_tls_blocks() => {
                borrow_tls_block(worker).map_or(UltTlsBlock::Shared, UltTlsBlock::Borrowed)
            }
            None => UltTlsBlock::Shared,
        }
    }
}

impl UltTlsBlock {
    /// The block, unless it is the worker's.
    #[inline]
    pub(crate) fn tls_block(self) -> Option<&'static TlsBlock> {
        match self {
            Self::Kept(tls_block) | Self::Borrowed(tls_block) => Some(tls_block),
            Self::Shared => None,
        }
    }

    pub(crate) fn or_native(self, worker: &'static Worker) -> Option<&'static TlsBlock> {
        match self {
            Self::Kept(tls_block) | Self::Borrowed(tls_block) => Some(tls_block),
            // SAFETY: own kernel thread (the runner that starts the ULT).
            Self::Shared => unsafe { (*worker.own()).tls.native },
        }
    }

    /// The TLS block of the ULT that follows the one with this block. It is the same block if this
    /// one is borrowed and the next ULT needs a borrowed one.
    pub(crate) fn pass_on(self, next: &UltStart, worker: &'static Worker) -> Self {
        match (self, next.tls_block) {
            (Self::Borrowed(_), None) => self,
            _ => next.tls_block(worker),
        }
    }

    /// The ULT has ended on `worker`, and no context runs with its TLS block; a ULT with the block
    /// `next` follows it.
    pub(crate) fn end_before(self, next: Self, worker: &'static Worker) {
        match (self, next) {
            (Self::Borrowed(mine), Self::Borrowed(other)) if ptr::eq(mine, other) => {}
            _ => self.end(worker),
        }
    }

    /// The ULT has ended on `worker`, and no context runs with its TLS block.
    pub(crate) fn end(self, worker: &'static Worker) {
        match self {
            Self::Borrowed(tls_block) => give_tls_block_back(worker, tls_block),
            Self::Kept(tls_block) => tls_block.release(),
            Self::Shared => {}
        }
    }
}
