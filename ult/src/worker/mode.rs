//! The floating-point mode of each OpenMP thread: MXCSR and the x87 control word, or FPCR.
//!
//! A mode belongs to the OpenMP thread and not to a stack. All contexts of a thread compute in one
//! mode, as if each task were a plain call. So the registers change only where a kernel thread goes
//! from one OpenMP thread to another. `WorkerOwn::mode_in_force` names the OpenMP thread whose
//! mode the registers hold. The mode of every other thread is in its [`ThreadMode`].
//!
//! * *A job or a resumed context*: [`switch_mode`]. It does nothing if the contexts before and
//!   after are of one thread.
//! * *A ULT starts*: [`begin_mode`]. The mode in force stays, and the layer above sets the one that
//!   it wants.
//! * *A ULT has ended*: [`end_mode`].
//!
//! In between the scheduler runs in the mode of the thread that ran last. A context leaves a worker
//! only after another thread's mode has been put in force there. For the kernel thread that hands
//! the context over runs program code, or a job, of another thread. So one kernel thread at a time
//! uses a `ThreadMode`, and the hand-over of the context orders the accesses.
//!
//! *Interrupted code.* The kernel starts a signal handler in the initial mode. If the stall monitor
//! leaves a thread in the middle of its code, the initial mode is saved for that thread. No other
//! context of the thread runs before this one is resumed, and `sigreturn` restores the right mode.
//!
//! Rejected: the words in the frame of each suspended stack. A context then continued in the mode
//! in which it had waited, although its thread had changed the mode meanwhile. A job got the mode
//! of an idle runner.

use core::ptr;

use crate::sys::arch::{load_fp_words, store_fp_words};

use super::record::Worker;
use super::thread_mode::ThreadMode;

/// The code that runs next belongs to `thread`: it computes in the mode of that thread.
///
/// # Safety
/// Own kernel thread. `thread` has a context here, or is the worker's own.
#[inline]
pub(crate) unsafe fn switch_mode(worker: &'static Worker, thread: *const ThreadMode) {
    // SAFETY: as the caller says. The mode of a thread with a context here is used by no other
    // kernel thread (see the module).
    unsafe {
        if mode_has_to_change((*worker.own()).mode_in_force, thread) {
            put_away(worker);
            load_fp_words((*thread).words.get());
            (*worker.own()).mode_in_force = thread;
        }
    }
}

crate::seam! {
    /// Is the mode `in_force` another one than that of `next`, whose code runs next?
    fn mode_has_to_change(in_force: *const ThreadMode, next: *const ThreadMode) -> bool {
        !ptr::eq(in_force, next)
    } or mode_stays_with_worker {
        false
    }
}

/// A ULT starts for `thread`. The mode in force becomes the mode of this thread.
///
/// # Safety
/// Own kernel thread. No other kernel thread uses `thread`, which stays until [`end_mode`].
pub(crate) unsafe fn begin_mode(worker: &'static Worker, thread: *const ThreadMode) {
    // SAFETY: as the caller says.
    unsafe {
        put_away(worker);
        (*worker.own()).mode_in_force = thread;
    }
}

/// The ULT that ran last here has ended. Its mode belongs to no thread any more.
///
/// # Safety
/// Own kernel thread.
pub(crate) unsafe fn end_mode(worker: &'static Worker) {
    // SAFETY: as the caller says.
    unsafe { (*worker.own()).mode_in_force = ptr::null() };
}

/// Saves the mode in force for the thread that it belongs to.
///
/// # Safety
/// Own kernel thread.
#[inline]
unsafe fn put_away(worker: &'static Worker) {
    // SAFETY: as the caller says. The pointer is null, or names a thread that has not ended, whose
    // mode is used here alone (see the module).
    unsafe {
        if let Some(before) = (*worker.own()).mode_in_force.as_ref() {
            store_fp_words(before.words.get());
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use core::arch::asm;
    use core::cell::Cell;
    use core::ptr::NonNull;

    use crate::gang::GangTag;
    use crate::sched::{Job, SearchScope, Wait, wait};
    use crate::spawn::{SpawnGroup, UltStart, plain};
    use crate::sys::arch::{FpState, fp_state, set_fp_state};
    use crate::worker;

    /// Flush to zero.
    #[cfg(target_arch = "x86_64")]
    fn flush_to_zero() {
        let mut word = 0_u32;
        // SAFETY: changes a control bit of a kernel thread that ends with its test.
        unsafe {
            asm!("stmxcsr [{}]", in(reg) &raw mut word);
            word |= 0x8000;
            asm!("ldmxcsr [{}]", in(reg) &raw const word);
        }
    }

    #[cfg(target_arch = "aarch64")]
    fn flush_to_zero() {
        // SAFETY: as above.
        unsafe { asm!("mrs {0}, fpcr", "orr {0}, {0}, #0x1000000", "msr fpcr, {0}", out(reg) _) };
    }

    fn set(mode: FpState) {
        // SAFETY: the mode was read before; the tests have no floating-point arithmetic.
        unsafe { set_fp_state(mode) };
    }

    fn wait_for(ready: &dyn Fn() -> bool, seek: Option<&dyn Fn(SearchScope) -> Option<Job>>) {
        let plain = Wait::until(ready);
        wait(&seek.map_or(plain, |seek| plain.seeking(seek)));
    }

    /// What the parts of a test share. All run on one kernel thread.
    struct Stage {
        initial: FpState,
        flushing: FpState,
        steps: Cell<u32>,
    }

    impl Stage {
        /// Calls `act` on a kernel thread of its own, which flushes to zero.
        fn enter(act: fn(&Stage)) {
            let alone = std::thread::spawn(move || {
                let initial = fp_state();
                worker::register_current();
                flush_to_zero();
                act(&Stage { initial, flushing: fp_state(), steps: Cell::new(0) });
            });
            alone.join().unwrap();
        }

        fn step(&self) {
            self.steps.set(self.steps.get() + 1);
        }

        fn wait_for_step(&self, step: u32) {
            wait_for(&|| self.steps.get() >= step, None);
        }
    }

    fn stage(data: *mut ()) -> &'static Stage {
        // SAFETY: every test passes its own, which stays until it has waited for all steps.
        unsafe { &*data.cast() }
    }

    /// A job that waits in the middle, and changes the mode before and after.
    unsafe fn changing_job(data: *mut ()) {
        let stage = stage(data);
        assert_eq!(fp_state(), stage.flushing, "the mode of the thread that it runs for");
        set(stage.initial);
        stage.step();
        stage.wait_for_step(2);
        assert_eq!(fp_state(), stage.flushing, "what the thread has changed meanwhile");
        set(stage.initial);
        stage.step();
    }

    #[test]
    fn contexts_of_a_thread_share_its_mode() {
        Stage::enter(|stage| {
            let begun = Cell::new(false);
            let seek = |_: SearchScope| {
                (!begun.replace(true))
                    .then_some(Job { run: changing_job, data: (&raw const *stage).cast_mut().cast() })
            };
            wait_for(&|| stage.steps.get() >= 1, Some(&seek));
            assert_eq!(fp_state(), stage.initial, "what the job has changed");
            set(stage.flushing);
            stage.step();
            stage.wait_for_step(3);
            assert_eq!(fp_state(), stage.initial);
        });
    }

    /// Another thread, with a mode of its own.
    unsafe fn other_thread(data: *mut ()) {
        let stage = stage(data);
        set(stage.initial);
        stage.step();
        stage.wait_for_step(2);
        assert_eq!(fp_state(), stage.initial);
        stage.step();
    }

    unsafe fn nothing(_: *mut ()) {}

    unsafe fn retired(_: *mut (), _: u32) {}

    #[test]
    fn threads_keep_their_modes_apart() {
        Stage::enter(|stage| {
            let data = (&raw const *stage).cast_mut().cast();
            let me = worker::register_current();
            let spawn_group = SpawnGroup {
                run: other_thread,
                end: nothing,
                retire: retired,
                data,
                tag: GangTag::NONE,
                region: 1,
                group: me.group(),
            };
            let ult_start = UltStart { spawn_group: NonNull::from(&spawn_group), data, tls_block: None };
            plain(1, |_| &ult_start);
            for step in [1, 3] {
                stage.wait_for_step(step);
                assert_eq!(fp_state(), stage.flushing);
                stage.step();
            }
        });
    }
}
