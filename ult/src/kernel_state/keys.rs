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

use crate::sched;
use crate::sys::arch;
use crate::tls_block::TlsBlock;
use crate::worker::Worker;

use super::here;

/// Beside the rights in a word: they are known.
const KNOWN: u64 = 1 << 32;

/// Rights for threads without saved ones, with [`KNOWN`]: those of the thread that allocated the
/// last key. Zero: there is no key.
static INITIAL_RIGHTS: AtomicU64 = AtomicU64::new(0);

/// The rights that are kept for a thread.
pub(super) struct Rights(AtomicU64);

impl Rights {
    pub(super) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    fn set(&self, rights: u32) {
        // ORDERING: Relaxed; handed on with the thread.
        self.0.store(KNOWN | u64::from(rights), Relaxed);
    }

    fn get(&self) -> Option<u32> {
        // ORDERING: as above.
        let kept = self.0.load(Relaxed);
        (kept & KNOWN != 0).then_some(kept as u32)
    }

    pub(super) fn forget(&self) {
        // ORDERING: as above.
        self.0.store(0, Relaxed);
    }
}

/// Whose rights a kernel thread's register holds.
#[derive(Clone, Copy)]
pub(super) enum KeyHolder {
    /// No change of threads since the first key: the register belongs to the thread that has been
    /// running here.
    Unknown,
    /// Of no thread: its rights are saved, or in a signal frame.
    NoThread,
    /// This thread's.
    Thread(&'static TlsBlock),
}

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
    sched::threads_differ();
}

/// Loads the rights of the thread with `tls_block`, which runs next.
pub(super) fn change(holder: &mut KeyHolder, tls_block: &'static TlsBlock) {
    let Some(initial_rights) = initial_rights().filter(|_| !crate::mutant!(settings_stay_with_worker)) else {
        return;
    };
    let before = core::mem::replace(holder, KeyHolder::Thread(tls_block));
    match (tls_block.state.rights.get(), before) {
        (_, KeyHolder::Thread(same)) if ptr::eq(same, tls_block) => {}
        (Some(kept), _) => arch::set_key_rights(kept),
        // The thread ran here before the first key: the rights are its own.
        (None, KeyHolder::Unknown) => {}
        (None, _) => arch::set_key_rights(initial_rights as u32),
    }
}

/// Saves the rights of the thread whose TLS block `worker` leaves. On the worker's kernel thread,
/// in its scheduler.
#[cold]
pub(crate) fn save_rights(worker: &'static Worker) {
    // SAFETY: own kernel thread.
    let holder = unsafe { &mut (*worker.own()).kernel.rights };
    if let KeyHolder::Thread(tls_block) = *holder {
        tls_block.state.rights.set(arch::key_rights());
        *holder = KeyHolder::NoThread;
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
