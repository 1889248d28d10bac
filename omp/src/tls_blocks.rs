//! The TLS blocks of an initial thread's outermost teams: thread *n* of each of them runs with the
//! same TLS block, except in teams with assigned workers. So threadprivate variables persist
//! between regions, as OpenMP 5.2 §5.2 asks.

use core::cell::{Cell, RefCell};

use ult::tls_block::{self, BorrowedSoon, TlsBlock};

/// By thread number less one.
#[derive(Default)]
pub struct TlsBlocks {
    borrowed: RefCell<Vec<&'static TlsBlock>>,
    /// The process they were borrowed in.
    generation: Cell<u32>,
}

impl TlsBlocks {
    /// Borrows the TLS blocks of the threads 1 to `last` that are not borrowed yet, all at once. If
    /// the system refuses some, fewer are borrowed.
    pub fn prepare(&self, last: u32) {
        if let Some(more) = self.begin(last) {
            self.finish(more);
        }
    }

    /// The first step of [`TlsBlocks::prepare`]: donors that have to be made start. `None` if no
    /// block is missing.
    ///
    /// Not inlined: this code runs rarely, and inlining it would cost registers in every fork.
    #[inline(never)]
    pub fn begin(&self, last: u32) -> Option<BorrowedSoon> {
        if self.generation.get() != ult::sys::fork::generation() {
            // TLS blocks that were borrowed before a fork belong to threads that do not exist here.
            self.borrowed.borrow_mut().clear();
            self.generation.set(ult::sys::fork::generation());
        }
        let missing = (last as usize).saturating_sub(self.borrowed.borrow().len());
        (missing != 0).then(|| tls_block::begin_borrowing(missing))
    }

    /// The second step: waits for the donors.
    #[inline(never)]
    pub fn finish(&self, more: BorrowedSoon) {
        // The list is free meanwhile: this waits, and a signal handler may fork a region.
        let more = more.finish();
        more.iter().for_each(|tls_block| ult::kernel_state::inherit(tls_block));
        self.borrowed.borrow_mut().extend(more);
    }

    /// The TLS block of thread `num` (1 and up); `None` if none is borrowed for it.
    #[inline(never)]
    pub fn of(&self, num: u32) -> Option<&'static TlsBlock> {
        let at = num as usize - 1;
        own_block(&mut self.borrowed.borrow_mut(), at)
    }

    /// Gives all of them back. No thread runs with them any more.
    pub fn give_back(&self) {
        for tls_block in self.borrowed.take() {
            tls_block::give_back(tls_block);
        }
    }
}

ult::seam! {
    /// The TLS block at index `at`: the same one in every region.
    fn own_block(borrowed: &mut [&'static TlsBlock], at: usize) -> Option<&'static TlsBlock> {
        borrowed.get(at).copied()
    } or tls_blocks_swapped {
        if at == 1 {
            borrowed.swap(0, 1);
        }
        borrowed.get(at).copied()
    }
}
