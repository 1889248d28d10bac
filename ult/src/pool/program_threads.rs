//! Kernel threads of the program: how they become workers, and how they end.
//!
//! What lives here: the registration, and the destructor that runs when a thread ends. What does
//! not: the runtime's own kernel threads ([`super`]), and what the layer above keeps for a program's
//! thread (it sets a hook).

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::Mutex;

use crate::sched::runner::end_runner;
use crate::sched::spin_policy::count_awake;
use crate::signals::handler::FOR_MONITOR;
use crate::stall::hooks::install_signal_hooks;
use crate::sys::{arch, thread};
use crate::worker::record::Worker;
use crate::worker::registry::{adopt, put_back_record, take_record};
use crate::worker::role::Locals;
use crate::worker::running;
use crate::worker::table::{GROUPS, MAIN};
use crate::worker::words::{self, WORD_WORKER, current, set_locals, tls_block_in_force, word};
use crate::{debug, tls_block};

/// Makes it possible to register threads, once: before the first one.
pub(super) fn prepare() {
    install_signal_hooks(&FOR_MONITOR);
    create_exit_key();
}

type ExitHook = fn();

static EXIT_HOOK: Mutex<Option<ExitHook>> = Mutex::new(None);

/// Sets the hook that runs when a registered program thread ends. It is called once, on that
/// thread, before the thread loses its worker record.
pub fn on_thread_exit(hook: ExitHook) {
    *EXIT_HOOK.lock().unwrap_or_else(|e| e.into_inner()) = Some(hook);
}

/// The calling kernel thread's worker; registers the thread when it is one of the program's own.
///
/// The thread then gets an alternate signal stack if it has none, and a destructor that runs when
/// it ends.
#[inline]
pub fn register_current() -> &'static Worker {
    match current() {
        Some(worker) => worker,
        None => register(),
    }
}

crate::hidden!("gangway_register_thread");

#[cold]
#[inline(never)]
#[unsafe(export_name = "gangway_register_thread")]
fn register() -> &'static Worker {
    super::initialise();
    // ORDERING: Relaxed; for debuggers, which read it while the process is stopped.
    debug::BLOCK.store(arch::thread_block() as isize - arch::thread_pointer() as isize, Ordering::Relaxed);
    let worker = take_record();
    adopt(worker, tls_block::of_current_thread);
    // SAFETY: own kernel thread.
    unsafe { (*worker.own()).native.native_stack = crate::stack::native::of_calling_thread() };
    if thread::is_main()
        && let Some(tls_block) = tls_block_in_force()
    {
        // ORDERING: Release, pairs with the Acquire in `main_thread`.
        MAIN.store(ptr::from_ref(tls_block).cast_mut(), Ordering::Release);
    }
    // ORDERING: Relaxed; see `Worker::accepts` and `may_steal_blindly`.
    worker.serve_own_group();
    // ORDERING: Relaxed; as above.
    GROUPS.fetch_add(1, Ordering::Relaxed);
    if let Some(stack) = crate::fault::enter_kernel_thread().filter(|stack| !crate::fault::is_ours(stack)) {
        crate::kernel_state::alternate::found(worker, &stack);
    }
    arm_exit_destructor(NonNull::from(worker));
    count_awake(true);
    worker.enter_program();
    worker
}

/// The work of the destructor of a program thread; see [`register_current`].
pub(crate) fn program_thread_ends() {
    if current().is_none() {
        return;
    }
    let hook = *EXIT_HOOK.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(hook) = hook {
        hook();
    }
    crate::fault::leave_kernel_thread();
    count_awake(false);
    // ORDERING: Relaxed; as in `register_current`.
    GROUPS.fetch_sub(1, Ordering::Relaxed);
    abandon_current();
}

/// Takes the record away from the calling kernel thread, which is about to end.
fn abandon_current() {
    let Some(worker) = current() else { return };
    // SAFETY: this kernel thread is the owner. Idle runners are at the top of their loop (see the
    // field), so their stacks hold nothing.
    unsafe {
        let own = worker.own();
        while let Some(runner) = (*own).starts.idle_runners.pop() {
            end_runner(runner);
        }
        if !(*own).suspended.is_empty() {
            return; // pthread_exit in a handler, inside a wait: the record cannot be used again
        }
    }
    running::give_spare_tls_block_back(worker);
    worker.watched.end();
    worker.share(false);
    worker.set_dedicated(false);
    word(WORD_WORKER).set(0);
    words::forget_tls_block();
    set_locals(Locals::default());
    put_back_record(worker);
}

static EXIT_KEY: AtomicU32 = AtomicU32::new(u32::MAX);

fn create_exit_key() {
    let mut key: libc::pthread_key_t = 0;
    // SAFETY: a valid out pointer and a destructor with the C calling convention.
    if unsafe { libc::pthread_key_create(&mut key, Some(exit_destructor)) } == 0 {
        // ORDERING: Relaxed; `INITIALISE` orders it before every use.
        EXIT_KEY.store(key, Ordering::Relaxed);
    }
}

pub(crate) fn arm_exit_destructor(worker: NonNull<Worker>) {
    // ORDERING: Relaxed, see `create_exit_key`.
    let key = EXIT_KEY.load(Ordering::Relaxed);
    if key != u32::MAX {
        // SAFETY: the key was created and is never deleted.
        unsafe { libc::pthread_setspecific(key, worker.as_ptr().cast()) };
    }
}

unsafe extern "C" fn exit_destructor(_: *mut libc::c_void) {
    program_thread_ends();
}
