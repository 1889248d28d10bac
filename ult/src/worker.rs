//! Workers: one record per kernel thread, the runtime's own and the program's alike.
//!
//! What lives here: the record, how a kernel thread finds its own, the two local words of the running context,
//! and the registration of kernel threads that are not ours. What may not: choosing what to run
//! ([`crate::sched`]), starting and stopping our threads ([`crate::pool`]).
//!
//! A record is never freed: whoever publishes work may wake a worker through a pointer read earlier, at any time
//! later, and at worst wakes it for nothing. Records of program threads that ended are used again.

use core::cell::{Cell, UnsafeCell};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::Mutex;

use crate::arch;
use crate::gang::GangTag;
use crate::park::Parker;
use crate::sched::Waiting;
use crate::ult::Ult;

/// The two words that the layer above keeps for the running context (Gangway: OpenMP thread and task).
/// They are saved when a context is suspended and restored when it continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Locals(pub [usize; 2]);

/// Word of the thread block that holds this kernel thread's [`Worker`].
const WORD_WORKER: usize = 0;
/// First of the two words that hold [`Locals`].
const WORD_LOCALS: usize = 1;

/// A kernel thread as the scheduler sees it.
#[repr(align(128))]
pub struct Worker {
    /// How this kernel thread sleeps and is woken. Any thread may wake it.
    pub parker: Parker,
    /// Small number, unique among live workers.
    index: AtomicU32,
    /// Work for a pool worker that is idle: set by the thread that took it from the pool.
    pub(crate) mailbox: AtomicPtr<crate::pool::Assignment>,
    /// Which jobs it looks for while it sleeps: those announced to the waiters counted here; null for none.
    pub(crate) seeks_for: AtomicPtr<AtomicU32>,
    /// What only the kernel thread itself touches.
    own: UnsafeCell<Own>,
}

/// The part of a worker that belongs to its kernel thread.
pub(crate) struct Own {
    pub(crate) current: *mut Ult,
    pub(crate) native: Ult,
    /// Suspended contexts of this worker, oldest first. A context is put here by itself before its stack is
    /// left and taken out by whoever runs on this kernel thread when its condition holds.
    pub(crate) waiting: Vec<Waiting>,
    /// Runner contexts that stand at the top of their loop with nothing on their stack.
    pub(crate) idle_runners: Vec<*mut Ult>,
    /// The job handed to the next runner.
    pub(crate) job: Option<crate::sched::Job>,
    /// What this worker runs for.
    pub(crate) gang: GangTag,
    /// Counts jobs, to look at the whole waiting list now and then.
    pub(crate) turns: u32,
}

// SAFETY: everything in `Own` is touched by the worker's own kernel thread alone (`Worker::own`); the rest is
// atomic.
unsafe impl Sync for Worker {}
// SAFETY: as above; a record is handed to its kernel thread before that thread uses it.
unsafe impl Send for Worker {}

impl Worker {
    fn new(index: u32) -> Self {
        Self {
            parker: Parker::new(),
            index: AtomicU32::new(index),
            mailbox: AtomicPtr::new(ptr::null_mut()),
            seeks_for: AtomicPtr::new(ptr::null_mut()),
            own: UnsafeCell::new(Own {
                current: ptr::null_mut(),
                native: Ult::native(),
                waiting: Vec::with_capacity(8),
                idle_runners: Vec::with_capacity(4),
                job: None,
                gang: GangTag::NONE,
                turns: 0,
            }),
        }
    }

    /// Small number of this worker, unique among live workers and used again when its kernel thread has ended.
    pub fn index(&self) -> u32 {
        // ORDERING: Relaxed; written before the record is handed to its kernel thread.
        self.index.load(Ordering::Relaxed)
    }

    /// Wakes this worker if it sleeps. True if that was this call's doing and the worker looks for the jobs of those who
    /// wait with `sleepers`; false also when it sleeps for another reason, or takes jobs from elsewhere: then somebody
    /// else has to be woken for a job.
    pub fn unpark_seeker(&self, sleepers: &AtomicU32) -> bool {
        // ORDERING: Relaxed; written before the worker announced its sleep, which `unpark` has acquired.
        self.parker.unpark() && ptr::eq(self.seeks_for.load(Ordering::Relaxed), sleepers)
    }

    /// The owner's part.
    ///
    /// # Safety
    /// Only on the worker's own kernel thread, and the result must not be kept across a switch.
    #[inline(always)]
    pub(crate) unsafe fn own(&self) -> *mut Own {
        self.own.get()
    }

    /// The tag of the gang this worker runs for.
    ///
    /// # Safety
    /// Only on the worker's own kernel thread.
    pub unsafe fn gang(&self) -> GangTag {
        // SAFETY: the caller is the owner.
        unsafe { (*self.own()).gang }
    }

    /// Sets the tag of the gang this worker runs for, and returns the one before.
    ///
    /// # Safety
    /// Only on the worker's own kernel thread.
    pub unsafe fn set_gang(&self, tag: GangTag) -> GangTag {
        // SAFETY: the caller is the owner.
        unsafe {
            let own = self.own();
            if !(*own).current.is_null() {
                (*(*own).current).gang = tag;
            }
            core::mem::replace(&mut (*own).gang, tag)
        }
    }
}

#[inline(always)]
fn word(index: usize) -> &'static Cell<usize> {
    // SAFETY: the block is this kernel thread's own storage and lives as long as the kernel thread, which is
    // the only one that can use the reference before it is dropped (callers do not keep it across a switch).
    unsafe { &(*arch::thread_block()).words[index] }
}

/// The calling kernel thread's worker, or `None` when it has not been registered.
#[inline(always)]
pub fn current() -> Option<&'static Worker> {
    let p = word(WORD_WORKER).get() as *const Worker;
    // SAFETY: the word is null or a worker record, and records are never freed.
    unsafe { p.as_ref() }
}

/// The local words of the running context.
#[inline(always)]
pub fn locals() -> Locals {
    Locals([word(WORD_LOCALS).get(), word(WORD_LOCALS + 1).get()])
}

/// Replaces the local words of the running context.
#[inline(always)]
pub fn set_locals(locals: Locals) {
    word(WORD_LOCALS).set(locals.0[0]);
    word(WORD_LOCALS + 1).set(locals.0[1]);
}

/// Records that no kernel thread uses, and the next index.
struct Registry {
    spare: Vec<&'static Worker>,
    next: u32,
}

static REGISTRY: crate::pool::ForkMutex<Registry> =
    crate::pool::ForkMutex::new(Registry { spare: Vec::new(), next: 0 });

/// Makes `worker`, a record nobody else uses, the calling kernel thread's own.
pub(crate) fn adopt(worker: &'static Worker) {
    // SAFETY: the record is nobody else's; the calling kernel thread is its owner from here on.
    unsafe {
        let own = worker.own();
        (*own).current = &raw mut (*own).native;
    }
    word(WORD_WORKER).set(ptr::from_ref(worker) as usize);
    set_locals(Locals::default());
}

/// A record that no kernel thread uses.
pub(crate) fn take_record() -> &'static Worker {
    let mut registry = REGISTRY.lock();
    if let Some(worker) = registry.spare.pop() {
        return worker;
    }
    let index = registry.next;
    registry.next += 1;
    Box::leak(Box::new(Worker::new(index)))
}

/// Takes the record from the calling kernel thread, which is about to end.
pub(crate) fn abandon_current() {
    let Some(worker) = current() else { return };
    // SAFETY: this kernel thread is the owner; idle runners stand at the top of their loop (see the field), so
    // their stacks hold nothing.
    unsafe {
        let own = worker.own();
        while let Some(runner) = (*own).idle_runners.pop() {
            Ult::retire(runner);
        }
        if !(*own).waiting.is_empty() {
            return; // ends inside a wait (pthread_exit from a handler): the record cannot be used again
        }
        (*own).gang = GangTag::NONE;
    }
    word(WORD_WORKER).set(0);
    set_locals(Locals::default());
    put_back_record(worker);
}

/// Makes a record free for the next kernel thread.
pub(crate) fn put_back_record(worker: &'static Worker) {
    REGISTRY.lock().spare.push(worker);
}

/// In the child of a fork: forgets the spare records and the lock. Indices go on from 1024 times the generation,
/// so that no record of the parent's threads shares one with a record made here.
///
/// # Safety
/// Only in the child of a fork, before it has a second thread.
pub(crate) unsafe fn forget_after_fork() {
    // SAFETY: as the caller says; the registry's vector is leaked.
    unsafe { REGISTRY.forget(Registry { spare: Vec::new(), next: 1024 }) };
}

type ExitHook = fn();
static EXIT_HOOK: Mutex<Option<ExitHook>> = Mutex::new(None);

/// Sets what the layer above does when a registered program thread ends (called once, on that thread, before
/// its worker record is taken from it).
pub fn on_thread_exit(hook: ExitHook) {
    *EXIT_HOOK.lock().unwrap_or_else(|e| e.into_inner()) = Some(hook);
}

/// The calling kernel thread's worker; registers the thread when it is one of the program's own.
///
/// The thread is given an alternate signal stack if it has none, and a destructor that runs when it ends.
pub fn register_current() -> &'static Worker {
    if let Some(worker) = current() {
        return worker;
    }
    crate::pool::initialise();
    let worker = take_record();
    adopt(worker);
    crate::fault::enter_kernel_thread();
    crate::pool::arm_exit_destructor(NonNull::from(worker));
    crate::sched::count_awake(true);
    worker
}

/// What the destructor of a program thread does; see [`register_current`].
pub(crate) fn program_thread_ends() {
    if current().is_none() {
        return;
    }
    let hook = *EXIT_HOOK.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(hook) = hook {
        hook();
    }
    crate::fault::leave_kernel_thread();
    crate::sched::count_awake(false);
    abandon_current();
}
