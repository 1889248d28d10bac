//! TLS donors by their thread pointers, for signal handlers: no lock is taken, and entered records
//! stay.
//!
//! What does not live here: which donors are borrowed ([`super`]).
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::tls_block::record::TlsBlock;

/// Number of hash buckets. Chosen: with 20,000 donors a bucket holds 20.
const BUCKETS: usize = 1024;
/// Two TLS blocks never share a page, so the low 12 bits do not distinguish them.
const PAGE_BITS: u32 = 12;

#[unsafe(link_section = ".sbss.large")]
static HEADS: [AtomicPtr<TlsBlock>; BUCKETS] = [const { AtomicPtr::new(ptr::null_mut()) }; BUCKETS];

fn head(thread_pointer: usize) -> &'static AtomicPtr<TlsBlock> {
    &HEADS[(thread_pointer >> PAGE_BITS ^ thread_pointer >> (2 * PAGE_BITS)) % BUCKETS]
}

/// Enters a donor whose record is complete. Called once for each donor; any thread.
pub(super) fn insert(tls_block: &'static TlsBlock) {
    let head = head(tls_block.thread_pointer());
    // ORDERING: Relaxed; the exchange decides.
    let mut first = head.load(Ordering::Relaxed);
    loop {
        // ORDERING: Relaxed; published by the exchange.
        tls_block.next_tls_donor.store(first, Ordering::Relaxed);
        // ORDERING: Release, pairs with the Acquire in `iter_bucket`: the record and its link.
        match head.compare_exchange_weak(
            first,
            ptr::from_ref(tls_block).cast_mut(),
            Ordering::Release,
            Ordering::Relaxed,
        ) {
            Ok(_) => return,
            Err(now) => first = now,
        }
    }
}

/// A donor is about to end: the directory does not find it any more. Its record stays in the
/// bucket, for handlers that are searching.
pub(super) fn remove(tls_block: &'static TlsBlock) {
    // ORDERING: Relaxed; a handler may find the donor or not.
    tls_block.listed.store(false, Ordering::Relaxed);
}

fn iter_bucket(head: &AtomicPtr<TlsBlock>) -> impl Iterator<Item = &'static TlsBlock> {
    // ORDERING: Acquire, pairs with the Release in `insert`.
    // SAFETY: null or a record, and records are never freed.
    let first = unsafe { head.load(Ordering::Acquire).as_ref() };
    core::iter::successors(first, |tls_block| {
        // ORDERING: Relaxed; written before the record was published.
        // SAFETY: as above.
        unsafe { tls_block.next_tls_donor.load(Ordering::Relaxed).as_ref() }
    })
}

/// The donor with this thread pointer in this process. Any thread, also in a signal handler.
pub(crate) fn with_thread_pointer(fs: usize) -> Option<&'static TlsBlock> {
    // ORDERING: Relaxed; as in `remove`.
    let is_it = |tls_block: &&TlsBlock| {
        tls_block.thread_pointer() == fs
            && tls_block.listed.load(Ordering::Relaxed)
            && tls_block.is_of_this_process()
    };
    iter_bucket(head(fs)).find(is_it)
}

/// The donor whose kernel thread has this number. Any thread, also in a signal handler; looks at
/// all donors.
pub(crate) fn with_number(tid: i32) -> Option<&'static TlsBlock> {
    HEADS.iter().flat_map(iter_bucket).find(|tls_block| tls_block.is_tls_donor(tid))
}

/// In the child of a fork: the donors do not exist there.
pub(super) fn clear_after_fork() {
    for head in &HEADS {
        // ORDERING: Relaxed; single-threaded.
        head.store(ptr::null_mut(), Ordering::Relaxed);
    }
}
