//! Records of workers: how they are given to kernel threads and taken back.
//!
//! What lives here: the unused records, a record's way to a kernel thread and back, and the child of
//! a fork. What does not: the table ([`super::table`]), starting the runtime's own kernel threads
//! ([`crate::pool`]), and the program's threads (`pool::program_threads`).

use core::ptr;
use core::sync::atomic::Ordering;

use crate::sys::arch;
use crate::tls_block;
use crate::tls_block::record::TlsBlock;

use super::record::Worker;
use super::role::{Locals, Role};
use super::running;
use super::table::{GROUPS, MAIN, TABLE_LEN, WORKERS, enter_table, uses_tls_blocks};
use super::words::{self, WORD_WORKER, current, set_locals, tls_block_in_force, word};

/// Records that no kernel thread uses, and the indices of new ones.
struct WorkerRegistry {
    spare: Vec<&'static Worker>,
    /// The lowest index that has not been given.
    next: u32,
    /// The index of the worker that forked this process.
    forked_by: Option<u32>,
}

impl WorkerRegistry {
    const fn new(next: u32, forked_by: Option<u32>) -> Self {
        Self { spare: Vec::new(), next, forked_by }
    }

    /// An index that no other record of this process has.
    fn take_index(&mut self) -> u32 {
        if self.forked_by == Some(self.next) {
            self.next += 1;
        }
        self.next += 1;
        self.next - 1
    }
}

static REGISTRY: crate::sys::fork::ForkMutex<WorkerRegistry> =
    crate::sys::fork::ForkMutex::new(WorkerRegistry::new(0, None));

/// Gives `worker`, an unused record, to the calling kernel thread, which is one of the pool.
/// Allocates nothing, see `AssignmentLetter`.
pub(crate) fn adopt_for_pool(worker: &'static Worker) {
    adopt(worker, || worker.storage.pool_tls_block.get_or_init(tls_block::of_pool_thread));
}

/// The calling kernel thread, one of the pool, leaves its record to another one, which adopts it
/// next. The worker has no suspended contexts.
pub(crate) fn leave_to_successor(worker: &'static Worker) {
    crate::fault::leave_kernel_thread();
    running::give_spare_tls_block_back(worker);
    // SAFETY: own kernel thread, in the scheduler.
    if let Some(substitute) = unsafe { (*worker.own()).tls.substitute.take() } {
        tls_block::give_back(substitute);
    }
    worker.watched.end();
    words::clear_runtime_words();
}

/// Gives `worker`, an unused record, to the calling kernel thread, whose own storage is
/// `tls_block`.
pub(crate) fn adopt(worker: &'static Worker, tls_block: impl FnOnce() -> &'static TlsBlock) {
    let tls_block = uses_tls_blocks().then(tls_block);
    // SAFETY: no other thread has the record; the calling kernel thread is its owner from here on.
    unsafe {
        let own = worker.own();
        (*own).native.trail.forget_own_stack();
        (*own).current = &raw mut (*own).native;
        (*own).native.native_stack = crate::stack::Bounds::UNKNOWN;
        (*own).tls.native = tls_block;
        (*own).tls.in_use = tls_block;
        (*own).role = Role::none(worker);
        (*own).mode_in_force = worker.thread();
        (*own).place = None;
        (*own).kernel = crate::kernel_state::host::KernelHost::NEW;
    }
    worker.site.forget();
    word(WORD_WORKER).set(ptr::from_ref(worker) as usize);
    set_locals(Locals::default());
    worker.note_kernel_mask();
    if let Some(tls_block) = tls_block {
        tls_block.set_to_calling_thread();
        // ORDERING: Release, pairs with the Acquire in `native_tls_block`: the record is complete.
        worker.storage.native_tls_block.store(ptr::from_ref(tls_block).cast_mut(), Ordering::Release);
        tls_block.set_host(worker);
        words::note_tls_block(tls_block);
    }
    // ORDERING: Relaxed; for a handler on this same kernel thread (`own_thread_pointer`).
    worker.storage.thread_pointer.store(arch::thread_pointer(), Ordering::Relaxed);
    enter_table(worker);
    worker.watched.begin();
}

/// Takes a record that no kernel thread uses.
#[cold]
pub(crate) fn take_record() -> &'static Worker {
    let mut registry = REGISTRY.lock();
    if let Some(worker) = registry.spare.pop() {
        return worker;
    }
    let index = registry.take_index();
    Box::leak(Box::new(Worker::new(index)))
}

/// Makes a record available for the next kernel thread.
pub(crate) fn put_back_record(worker: &'static Worker) {
    REGISTRY.lock().spare.push(worker);
}

/// In the child of a fork: forgets the spare records and the lock. New
/// records get indices from [`FIRST_AFTER_FORK`] on, except that of the forking worker. Its index is
/// in this range if the parent is itself the child of a fork.
///
/// # Safety
/// Only in the child of a fork, before it has a second thread.
pub(crate) unsafe fn forget_after_fork() {
    // SAFETY: as the caller says; the registry's vector is leaked.
    unsafe { REGISTRY.forget(WorkerRegistry::new(FIRST_AFTER_FORK, current().map(Worker::index))) };
    for slot in &WORKERS {
        // ORDERING: Relaxed throughout; single-threaded.
        slot.store(ptr::null_mut(), Ordering::Relaxed);
    }
    TABLE_LEN.store(0, Ordering::Relaxed);
    // The remaining thread is the main one, with any storage.
    let main = tls_block_in_force().map_or(ptr::null_mut(), |tls_block| ptr::from_ref(tls_block).cast_mut());
    MAIN.store(main, Ordering::Relaxed);
    if let Some(tls_block) = tls_block_in_force().filter(|tls_block| !tls_block.is_of_a_donor()) {
        tls_block.note_number();
    }
    GROUPS.store(0, Ordering::Relaxed);
    if let Some(worker) = current() {
        enter_table(worker);
        // SAFETY: own kernel thread.
        if let Some(tls_block) = unsafe { (*worker.own()).tls.original() } {
            tls_block.note_number();
        }
        // Contexts on their way here belong to threads that do not exist in this process.
        worker.stand_in.returning.store(ptr::null_mut(), Ordering::Relaxed);
        worker.stand_in.handed_off.store(false, Ordering::Relaxed);
        // The worker that it stood in for has no kernel thread here, so no context may go back there.
        worker.stand_in.stands_for.store(ptr::null_mut(), Ordering::Relaxed);
        GROUPS.store(1, Ordering::Relaxed);
        worker.watched.begin();
        worker.enter_program();
    }
}

/// The first index given in the child of a fork. Smaller indices, which the first process's records
/// have, are not given again. Going on from the forking worker's index was rejected: in a chain of
/// forks the indices would leave the table.
const FIRST_AFTER_FORK: u32 = 512;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::WorkerRegistry;

    #[test]
    fn the_index_of_the_forking_worker_is_not_given_again() {
        let taken = |forked_by| {
            let mut registry = WorkerRegistry::new(512, forked_by);
            [(); 3].map(|()| registry.take_index())
        };
        assert_eq!(taken(None), [512, 513, 514]);
        assert_eq!(taken(Some(3)), [512, 513, 514]);
        assert_eq!(taken(Some(512)), [513, 514, 515]);
        assert_eq!(taken(Some(513)), [512, 514, 515]);
    }
}
