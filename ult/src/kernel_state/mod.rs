//! State that the kernel keeps per thread, kept for each OpenMP thread where threads share kernel
//! threads.
//!
//! A program that binds a thread to a processor, names it, or changes its nice value means the
//! OpenMP thread. The kernel does it to the kernel thread, which runs others too. So the first time
//! a thread asks for such a setting, it is noted with its TLS block. From then on each way back to
//! program code compares the settings of the running thread with those of its kernel thread, and
//! makes the system calls that are needed. Where a thread runs that has asked for nothing, the
//! kernel thread has its own state again.
//!
//! | room | what lives here |
//! |---|---|
//! | `numbers` | the settings that are one number each, and their system calls |
//! | `settings` | what is kept: those numbers, processors, the name |
//! | `alternate` | the alternate signal stack of each thread |
//! | `clock` | the processor time of each thread |
//! | `keys` | the rights of protection keys |
//! | `thread_state`, `alternate_stack` | what a TLS block keeps of its thread |
//! | `host` | what a kernel thread has |
//!
//! What may not live here: the C library's functions that are taken over (the layer above). What is
//! kept, what is not, and what it costs: `docs/kernel-state.md`.
//!
//! A program that asks for none of it pays nothing: the flag is the one that is looked at for
//! signal masks.
use core::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Relaxed};

pub(crate) mod alternate;
pub(crate) mod alternate_stack;
pub(crate) mod clock;
pub(crate) mod host;
pub(crate) mod keys;
pub(crate) mod numbers;
pub(crate) mod settings;
pub(crate) mod thread_state;

pub use alternate::set_alternate_stack;
pub use clock::{of_current as processor_time, of_tls_donor as processor_time_of_tls_donor};
pub use keys::key_was_allocated;
pub use numbers::KernelSetting;
pub use settings::{AFFINITY_WORDS, Affinity, NAME_BYTES, ThreadName};
pub(crate) use thread_state::threads_differ;

use self::host::KernelHost;
use crate::tls_block::record::TlsBlock;
use crate::topology;
use crate::worker::record::Worker;
use crate::worker::words;

/// The calling thread's own TLS block and worker, where it is an OpenMP thread that may share its
/// kernel thread.
fn here() -> Option<(&'static Worker, &'static TlsBlock)> {
    let worker = words::current().filter(|worker| !worker.is_in_scheduler())?;
    Some((worker, words::tls_block_in_force()?))
}

/// Is the caller program code of an OpenMP thread, and not a thread of the runtime's or the
/// program's? Any thread.
pub fn is_of_openmp() -> bool {
    here().is_some()
}

/// Sets `setting` of the calling thread, and keeps it for that thread. Returns zero or an error
/// number. Any thread.
pub fn set(setting: KernelSetting, value: i64) -> i32 {
    -changing(&[setting], || -(setting.set(value) as isize)) as i32
}

/// Makes `call`, which changes `settings` of this kernel thread, then records the new values for
/// the calling thread and, where possible, its donor. A value that is
/// [unrepresentable](KernelSetting::UNREPRESENTABLE) is not recorded. Returns what `call` does: a
/// negative error number, or something else. Any thread.
pub fn changing(settings: &[KernelSetting], call: impl FnOnce() -> isize) -> isize {
    let Some((worker, tls_block)) = here() else { return call() };
    // SAFETY: own kernel thread; program code runs.
    let host = unsafe { &mut (*worker.own()).kernel };
    settings.iter().for_each(|&setting| host.had.learn(setting, setting.get()));
    let result = call();
    if result < 0 {
        return result;
    }
    for &setting in settings {
        // As the kernel has it: it may have bounded the value.
        let value = setting.get();
        if value != KernelSetting::UNREPRESENTABLE {
            host.has.note(setting, value);
            tls_block.state.keep().note(setting, value);
            if let Some(tid) = tls_block.tls_donor_number().filter(|_| setting.is_visible_to_others()) {
                // The donor only answers questions about the thread.
                let _ = setting.set_of(tid, value);
            }
        }
    }
    threads_differ();
    result
}

/// Undoes [`changing`] on this kernel thread, and forgets the recorded value of `setting`: the
/// calling thread is about to set it on a dedicated kernel thread.
pub fn give_up(setting: KernelSetting) {
    let Some((worker, tls_block)) = here() else { return };
    // SAFETY: own kernel thread; program code runs.
    let host = unsafe { &mut (*worker.own()).kernel };
    tls_block.state.keep().forget_one(setting);
    host.set_back(setting);
}

/// Another thread has changed `setting` of the donor of `tls_block`: the thread with that TLS block
/// has the new value from its next way back to program code on.
pub fn take_from_tls_donor(tls_block: &'static TlsBlock, setting: KernelSetting) {
    let value =
        tls_block.tls_donor_number().map_or(KernelSetting::UNREPRESENTABLE, |tid| setting.get_of(tid));
    if value != KernelSetting::UNREPRESENTABLE {
        tls_block.state.keep().note(setting, value);
        tls_block.state.has_been_changed();
    }
}

/// Applies what other threads have set for the calling thread to its kernel thread, before the
/// calling thread queries the kernel. Any thread.
pub fn catch_up() {
    let Some((worker, tls_block)) = here() else { return };
    // ORDERING: Acquire, pairs with the Release in `has_been_changed`.
    if tls_block.state.is_behind.swap(false, Acquire) {
        // SAFETY: own kernel thread; program code runs.
        let host = unsafe { &mut (*worker.own()).kernel };
        settings::change(&mut host.had, &mut host.has, tls_block.state.kept());
    }
}

/// The calling thread makes a new thread, which gets `tls_block`. The new thread starts with the
/// settings of its maker, as a kernel thread does. No thread runs with the TLS block yet.
pub fn inherit(tls_block: &'static TlsBlock) {
    if let Some(maker) = here().and_then(|(_, maker)| maker.state.kept()) {
        tls_block.state.keep().inherit(maker);
    }
    keys::inherit(tls_block);
}

/// Sets the name of another thread, which has `tls_block`. It takes effect when that thread next
/// enters program code or queries the kernel.
pub fn rename_other(tls_block: &'static TlsBlock, name: &ThreadName) {
    tls_block.state.keep().note_name(name);
    tls_block.state.has_been_changed();
}

/// Restricts the calling thread to processors, and keeps that for it. Zero or an error number. Any
/// thread.
///
/// # Safety
/// As for the system call: `bytes` of a mask are at `mask`.
pub unsafe fn bind(bytes: usize, mask: *const u8) -> i32 {
    let Some((worker, tls_block)) = here() else {
        // SAFETY: passed on.
        return unsafe { settings::bind(bytes, mask) };
    };
    // SAFETY: own kernel thread; program code runs.
    let host = unsafe { &mut (*worker.own()).kernel };
    host.had.learn_affinity();
    // SAFETY: passed on.
    let error = unsafe { settings::bind(bytes, mask) };
    if error == 0 {
        let now = settings::affinity();
        host.has.affinity = now;
        tls_block.state.keep().note_affinity(&now);
        threads_differ();
    }
    error
}

/// Restricts the thread with `tls_block`, which is not the calling one, from its next way back to
/// program code on.
pub fn bind_other(tls_block: &'static TlsBlock, affinity: &Affinity) {
    tls_block.state.keep().note_affinity(affinity);
    tls_block.state.has_been_changed();
}

/// What the thread with `tls_block` is restricted to, if it has asked for that.
pub fn affinity_of(tls_block: &'static TlsBlock) -> Option<Affinity> {
    tls_block.state.kept()?.affinity()
}

/// Names the calling thread. Zero or an error number. Any thread.
///
/// # Safety
/// A C string.
pub unsafe fn rename(name: *const u8) -> i32 {
    // SAFETY: passed on.
    let Some((worker, tls_block)) = here() else { return unsafe { settings::rename(name) } };
    // SAFETY: own kernel thread; program code runs.
    let host = unsafe { &mut (*worker.own()).kernel };
    host.had.learn_name();
    // SAFETY: passed on.
    let error = unsafe { settings::rename(name) };
    if error == 0 {
        let now = settings::name();
        host.has.name = Some(now);
        tls_block.state.keep().note_name(&now);
        threads_differ();
    }
    error
}

/// [`topology::bind_current_thread`] for the runtime: what the kernel thread had before is no more.
///
/// # Errors
/// As that function.
pub fn bind_kernel_thread(cpus: &[usize]) -> std::io::Result<()> {
    let result = topology::bind_current_thread(cpus);
    has_been_bound();
    result
}

fn has_been_bound() {
    if let Some(worker) = words::current() {
        // SAFETY: own kernel thread.
        let host = unsafe { &mut (*worker.own()).kernel };
        (host.had.affinity, host.has.affinity) = (Affinity::UNKNOWN, Affinity::UNKNOWN);
    }
}

/// Another thread may run on `worker` now: the kernel thread gets what that wants, if it has
/// something else. In the scheduler, on the worker's kernel thread.
pub(crate) fn take_along(worker: &'static Worker) {
    // SAFETY: own kernel thread, in its scheduler.
    let own = unsafe { &mut *worker.own() };
    let Some(tls_block) = own.role.tls_block else { return };
    change_settings(&mut own.kernel, tls_block);
    clock::change(&mut own.kernel.running, tls_block);
    keys::change(&mut own.kernel.rights, tls_block);
    alternate::change(&mut own.kernel.alternate, tls_block);
}

crate::seam! {
    /// The kernel thread with `host` gets the settings of the thread with `tls_block`.
    fn change_settings(host: &mut KernelHost, tls_block: &'static TlsBlock) {
        settings::change(&mut host.had, &mut host.has, tls_block.state.kept());
    } or settings_stay_with_worker {}
}

/// A thread has asked for the processor time of an OpenMP thread.
static TIMED: AtomicBool = AtomicBool::new(false);

fn is_timed() -> bool {
    // ORDERING: Relaxed; who has asked sees its own store, others at a later switch.
    TIMED.load(Relaxed)
}
