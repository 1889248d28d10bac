//! `GOMP_sections_*`: a `dynamic` loop over the numbers of the sections, from 1; 0 means none is
//! left.

use core::ffi::{c_uint, c_void};

use super::combined::sections_of;
use super::loops::{GOMP_loop_end_nowait, end, end_cancellable};
use super::shared;
use omp::extension::check::BarrierKind;
use omp::extension::tools;
use omp::extension::tools::kinds::Chunk;
use omp::thread::CurrentThread;
use omp::worksharing::dispatch;

/// Enters `sections` with `count` sections and takes the first.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_sections_start(count: c_uint) -> c_uint {
    let here = CurrentThread::get();
    dispatch::begin(here, &sections_of(count));
    next(here)
}

/// As `GOMP_sections_start`, with task reductions and shared memory.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_sections2_start(
    count: c_uint,
    reductions: *mut usize,
    mem: *mut *mut c_void,
) -> c_uint {
    let here = CurrentThread::get();
    // SAFETY: as the compiler promises.
    let share =
        dispatch::begin_with(here, &sections_of(count), |share| unsafe { shared::allocate(share, mem) });
    // SAFETY: as the compiler promises.
    unsafe {
        shared::hand_out(share, mem);
        shared::register_reductions(here, share, reductions);
    }
    next(here)
}

/// The next section's number, 0 when there is none.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_sections_next() -> c_uint {
    next(CurrentThread::get())
}

#[inline]
fn next(here: CurrentThread) -> c_uint {
    let chunk = dispatch::next(here);
    if chunk.is_empty() {
        return 0;
    }
    tools::work::chunk(|| Chunk::Section(0));
    dispatch::space(here).at(chunk.start) as c_uint
}

/// The end of `sections`: a barrier.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_sections_end() {
    end(BarrierKind::GompSections);
}

/// The end of `sections` in a region that may be cancelled; true when it has been.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_sections_end_cancel() -> bool {
    end_cancellable(BarrierKind::GompSections)
}

/// The end of `sections` with `nowait`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_sections_end_nowait() {
    GOMP_loop_end_nowait();
}
