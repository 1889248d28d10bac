//! The worker that hosts the thread of a TLS block, and interrupting that worker for the thread.
//!
//! What lives here: the methods of [`TlsBlock`] that know a worker. What does not: the record, which
//! stays below the records of workers, and the pool of donors ([`crate::tls_block`]).

use core::ptr;
use core::sync::atomic::Ordering;

use crate::stall::signal;
use crate::tls_block::record::{TLS_DONOR_HANDLES, TlsBlock};

use crate::worker::record::Worker;

/// The word that names `worker` in the record of a TLS block.
fn word_of(worker: &'static Worker) -> *mut () {
    ptr::from_ref(worker).cast_mut().cast()
}

impl TlsBlock {
    /// The worker that hosts the thread with this storage. The answer is recent. Any thread, also
    /// in a signal handler.
    pub(crate) fn host(&self) -> Option<&'static Worker> {
        // ORDERING: Acquire, pairs with the Release in `set_host`.
        let host = self.host.load(Ordering::Acquire);
        // SAFETY: null or a record, and records are never freed.
        if host == TLS_DONOR_HANDLES { None } else { unsafe { host.cast::<Worker>().as_ref() } }
    }

    /// The thread with this TLS block is on `worker` from here on. The caller has
    /// [claimed](Self::claim) the block, or moves its thread.
    #[inline]
    pub(crate) fn set_host(&self, worker: &'static Worker) {
        // ORDERING: Release, pairs with the Acquire in `host`.
        self.host.store(word_of(worker), Ordering::Release);
    }

    /// Claims the TLS block for a thread that is about to start on `worker`. Waits until the donor
    /// has returned from a handler of the program.
    #[inline]
    pub(crate) fn claim(&self, worker: &'static Worker) {
        if self.is_of_a_donor() && !self.take(word_of(worker)) {
            self.claim_contended(worker);
        }
    }

    #[cold]
    fn claim_contended(&self, worker: &'static Worker) {
        // Only TLS_DONOR_HANDLES makes the caller wait. A donor of a parent process handles
        // nothing, and any other user is the caller itself.
        while self.is_of_this_process() && self.host.load(Ordering::Relaxed) == TLS_DONOR_HANDLES {
            crate::sys::thread::give_core();
            if self.take(word_of(worker)) {
                return;
            }
        }
    }

    /// The thread with this TLS block has ended, and no worker runs with the block. The donor
    /// handles the signals that are left in the queue. No effect if no worker has the block.
    pub(crate) fn release(&'static self) {
        // ORDERING: Relaxed; the caller has stored the worker, or has received the block from the
        // worker that did.
        if matches!(self.host.load(Ordering::Relaxed), at if at.is_null() || at == TLS_DONOR_HANDLES) {
            return;
        }
        // ORDERING: Release, pairs with the Acquire in `take`.
        self.host.store(ptr::null_mut(), Ordering::Release);
        // A sender whose signal this load misses has read the old host. It interrupts this kernel
        // thread, whose handler checks again (`signals::handler::on_kick`).
        if self.signals.has_news() {
            notify_host(self);
        }
    }

    /// The kernel thread of `worker` is dedicated to the thread with this TLS block.
    pub(crate) fn set_dedicated_worker(&self, worker: &'static Worker) {
        // ORDERING: Release, pairs with the Acquire in `take_dedicated_worker`: the worker is
        // dedicated.
        self.dedicated_worker.store(word_of(worker), Ordering::Release);
    }

    /// Takes the worker whose kernel thread is dedicated to the thread with this TLS block, for a
    /// team that contains the thread. Any thread.
    pub fn take_dedicated_worker(&self) -> Option<&'static Worker> {
        // ORDERING: Acquire, pairs with the Release in `set_dedicated_worker`.
        // SAFETY: null or a record, and records are never freed.
        let worker = unsafe {
            self.dedicated_worker.swap(ptr::null_mut(), Ordering::Acquire).cast::<Worker>().as_ref()
        };
        worker.filter(|_| self.is_of_this_process())
    }
}

/// Interrupts the kernel thread that has to look at the thread's queue: the worker that the thread
/// is on, or the donor between two regions. Any kernel thread, in a signal handler too; touches no
/// thread-local storage.
pub(crate) fn notify_host(tls_block: &'static TlsBlock) {
    match tls_block.host() {
        Some(host) => {
            host.call_for_signals();
            signal::kick(host.watched.tid(), tls_block);
        }
        None => notify_donor(tls_block),
    }
}

crate::seam! {
    /// Interrupts the donor of a thread between two regions.
    fn notify_donor(tls_block: &'static TlsBlock) {
        signal::kick(tls_block.tls_donor_number().unwrap_or(0), tls_block)
    } or idle_threads_handle_nothing {}
}
