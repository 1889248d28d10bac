//! The rights of protection keys of each thread.
//!
//! A program changes them with an instruction, which the runtime does not see. From the first key
//! on, a worker therefore saves the register when it leaves a thread's TLS block, and loads the
//! saved rights of the thread that runs next. A thread without saved rights gets the rights that
//! the maker of the last key had.
//!
//! In a signal handler the register holds values of the kernel. The interrupted code gets its own
//! back from the signal frame, so nothing is saved there.
//!
//! Source: `pkeys(7)`.
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::sys::arch;
use crate::tls_block::record::TlsBlock;
use crate::worker::record::Worker;

use super::here;
use super::host::KeyHolder;
use super::thread_state::{KNOWN, threads_differ};

/// Rights for threads without saved ones, with [`KNOWN`]: those of the thread that allocated the
/// last key. Zero: there is no key.
static INITIAL_RIGHTS: AtomicU64 = AtomicU64::new(0);

fn initial_rights() -> Option<u64> {
    // ORDERING: Relaxed; who makes a key sees its own store, others see it at a later switch.
    Some(INITIAL_RIGHTS.load(Relaxed)).filter(|&initial_rights| initial_rights != 0)
}

/// Notes that the calling thread has allocated a key. From here on each thread has rights of its
/// own. Any thread.
pub fn key_was_allocated() {
    // ORDERING: Relaxed; see `initial_rights`.
    INITIAL_RIGHTS.store(KNOWN | u64::from(arch::key_rights()), Relaxed);
    if let Some((worker, tls_block)) = here() {
        // SAFETY: own kernel thread; program code runs.
        unsafe { (*worker.own()).kernel.rights = KeyHolder::Thread(tls_block) };
    }
    threads_differ();
}

crate::seam! {
    /// The rights of a thread that has saved none. `None` if the process has no key; rights then
    /// stay as they are.
    fn default_rights() -> Option<u64> {
        initial_rights()
    } or settings_stay_with_worker {
        None
    }
}

/// Loads the rights of the thread with `tls_block`, which runs next.
pub(super) fn change(holder: &mut KeyHolder, tls_block: &'static TlsBlock) {
    let Some(initial_rights) = default_rights() else { return };
    let before = core::mem::replace(holder, KeyHolder::Thread(tls_block));
    match (tls_block.state.rights.get(), before) {
        (_, KeyHolder::Thread(same)) if ptr::eq(same, tls_block) => {}
        (Some(kept), _) => arch::set_key_rights(kept),
        // The thread ran here before the first key: the rights are its own.
        (None, KeyHolder::Unknown) => {}
        (None, _) => arch::set_key_rights(initial_rights as u32),
    }
}

/// Notes that the running code of `worker` is left in a signal handler, where the register does not
/// hold its rights. On the worker's kernel thread.
pub(crate) fn rights_are_in_frame(worker: &'static Worker) {
    // SAFETY: own kernel thread.
    unsafe { (*worker.own()).kernel.rights = KeyHolder::NoThread };
}

/// A new thread begins with the rights of the calling thread, which makes it.
pub(super) fn inherit(tls_block: &'static TlsBlock) {
    if initial_rights().is_some() {
        tls_block.state.rights.set(arch::key_rights());
    }
}
