//! Settings that programs change: `kmp_set_blocktime`, `kmp_set_stacksize`, `kmp_set_library`,
//! warnings. What cannot be changed any more once the library runs says so in one line, and says
//! what to do instead.

use core::ffi::c_int;
use core::sync::atomic::{AtomicI32, Ordering};

use ult::sched::Spin;

use crate::abi::api::{no_effect, parallel::change_icv};
use omp::cancel::{self, CancelConstruct};
use omp::env::{self, SpinSetting as Wanted};
use omp::thread::CurrentThread;
use omp::{parallel, report, root};

/// What `kmp_set_blocktime` said last, in milliseconds; negative: nothing.
static BLOCKTIME: AtomicI32 = AtomicI32::new(-1);
/// What `kmp_set_library` said last.
static LIBRARY: AtomicI32 = AtomicI32::new(THROUGHPUT);

/// `KMP_LIBRARY` modes, as `kmp_get_library` counts them.
const SERIAL: c_int = 1;
const TURNAROUND: c_int = 2;
const THROUGHPUT: c_int = 3;

/// Makes the regions that the calling thread forks from here on wait like this. Inside a region it
/// is too late: the way of waiting is part of the region's plan.
fn wait_like(spin: Spin) {
    let team = CurrentThread::get().team();
    if team.plan().nesting.level == 0 {
        // SAFETY: an initial team has one thread, which is here, and forks only when it says so.
        unsafe { team.plan_mut() }.spin = spin;
    }
}

/// Milliseconds of blocking, as the environment set them.
fn initial_blocktime() -> c_int {
    match env::settings().threads.waiting.spin {
        Wanted::None | Wanted::Learnt { .. } | Wanted::Iterations(_) => 0,
        Wanted::Micros(n) => c_int::try_from(n / 1000).unwrap_or(c_int::MAX),
        Wanted::Forever => c_int::MAX,
    }
}

routines! {
    /// `kmp_set_blocktime`: milliseconds for which waiting threads look before they sleep;
    /// `INT_MAX` is for ever. Holds for the regions that the calling thread forks from outside all
    /// regions.
    fn kmp_set_blocktime(milliseconds: c_int) {
        let milliseconds = milliseconds.max(0);
        // ORDERING: Relaxed; a number by itself.
        BLOCKTIME.store(milliseconds, Ordering::Relaxed);
        let micros = if milliseconds == c_int::MAX { u32::MAX } else { (milliseconds as u32).saturating_mul(1000) };
        wait_like(Spin::exactly(micros));
    }

    /// `kmp_get_blocktime`.
    fn kmp_get_blocktime() -> c_int {
        // ORDERING: Relaxed; a number by itself.
        match BLOCKTIME.load(Ordering::Relaxed) {
            set if set >= 0 => set,
            _ => initial_blocktime(),
        }
    }

    /// `kmp_set_stacksize_s`: the size of stacks is read from the environment once, so only the
    /// value that holds already is accepted in silence.
    fn kmp_set_stacksize_s(bytes: usize) {
        if bytes != env::settings().threads.stacksize {
            no_effect("kmp_set_stacksize", "set OMP_STACKSIZE before the program starts");
        }
    }

    /// `kmp_get_stacksize_s`: bytes of a thread's stack.
    fn kmp_get_stacksize_s() -> usize {
        env::settings().threads.stacksize
    }

    /// `kmp_set_stacksize`, see [`kmp_set_stacksize_s`].
    fn kmp_set_stacksize(bytes: c_int) {
        kmp_set_stacksize_s(bytes.max(0) as usize);
    }

    /// `kmp_get_stacksize`: [`kmp_get_stacksize_s`], as far as an `int` goes.
    fn kmp_get_stacksize() -> c_int {
        c_int::try_from(env::settings().threads.stacksize).unwrap_or(c_int::MAX)
    }

    /// `kmp_set_library`: 1 serial (regions of one thread), 2 turnaround (waiting threads never
    /// sleep), 3 throughput (they wait as the environment said).
    fn kmp_set_library(mode: c_int) {
        match mode {
            SERIAL => change_icv(|icv| icv.set_num_threads(1)),
            TURNAROUND => wait_like(Spin::FOREVER),
            THROUGHPUT => wait_like(parallel::spin_for(env::settings())),
            _ => {
                report::warn(format_args!("kmp_set_library got unknown mode {mode}; the mode stays as it was"));
                return;
            }
        }
        // ORDERING: Relaxed; a number by itself.
        LIBRARY.store(mode, Ordering::Relaxed);
    }

    /// `kmp_get_library`.
    fn kmp_get_library() -> c_int {
        // ORDERING: Relaxed; a number by itself.
        LIBRARY.load(Ordering::Relaxed)
    }

    /// `kmp_set_library(1)`.
    fn kmp_set_library_serial() {
        kmp_set_library(SERIAL);
    }

    /// `kmp_set_library(2)`.
    fn kmp_set_library_turnaround() {
        kmp_set_library(TURNAROUND);
    }

    /// `kmp_set_library(3)`.
    fn kmp_set_library_throughput() {
        kmp_set_library(THROUGHPUT);
    }

    /// `kmp_set_disp_num_buffers`: how many `nowait` loops may be open at once is not limited by
    /// buffers of this kind, so there is nothing to set.
    fn kmp_set_disp_num_buffers(_count: c_int) {}

    /// `kmp_set_warnings_on`.
    fn kmp_set_warnings_on() {
        report::set_warnings(true);
    }

    /// `kmp_set_warnings_off`.
    fn kmp_set_warnings_off() {
        report::set_warnings(false);
    }

    /// `kmp_get_cancellation_status`: has the construct around the calling thread been cancelled?
    /// The kinds are those of `__kmpc_cancel`: 1 parallel, 2 loop, 3 sections, 4 taskgroup.
    fn kmp_get_cancellation_status(kind: c_int) -> c_int {
        let construct = match kind {
            1 => CancelConstruct::Parallel,
            2 => CancelConstruct::Loop,
            3 => CancelConstruct::Sections,
            4 => CancelConstruct::Taskgroup,
            _ => return 0,
        };
        c_int::from(cancel::is_cancelled(CurrentThread::get(), construct))
    }

    /// `kmp_get_num_known_threads`: kernel threads that are, or have been made ready to be, OpenMP
    /// threads.
    fn kmp_get_num_known_threads() -> c_int {
        root::count() as c_int + ult::pool::started() as c_int
    }
}

c_aliases! {
    fn kmpc_set_blocktime(milliseconds: c_int) => kmp_set_blocktime;
    fn kmpc_set_stacksize(bytes: c_int) => kmp_set_stacksize;
    fn kmpc_set_stacksize_s(bytes: usize) => kmp_set_stacksize_s;
    fn kmpc_set_library(mode: c_int) => kmp_set_library;
    fn kmpc_set_disp_num_buffers(count: c_int) => kmp_set_disp_num_buffers;
}
