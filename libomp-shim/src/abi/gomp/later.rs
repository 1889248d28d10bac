//! What compilers after gcc 12 call. The constructs are old; gcc splits them into begin and end for
//! tools that want to see both, and fetches number and size of a team in one call. There is no
//! tool, so the ends owe nothing.

use core::ffi::{c_int, c_uint, c_void};
use core::ptr;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::cancel::GOMP_barrier_cancel;
use super::parallel::GOMP_barrier;
use super::task::GOMP_taskwait_depend;
use super::worksharing::single::GOMP_single_start;
use omp::extension::tools;
use omp::extension::tools::kinds::{ToolEndpoint, ToolWork};
use omp::thread::CurrentThread;

// ---- static loops -----------------------------------------------------------

/// Two `int` as C's `_Complex int` returns them: in one register.
fn pair(first: u32, second: u32) -> u64 {
    u64::from(first) | u64::from(second) << 32
}

fn threads() -> u64 {
    let here = CurrentThread::get();
    pair(here.team().size(), here.thread.num())
}

fn teams() -> u64 {
    let league = CurrentThread::get().team().plan().league;
    pair(league.teams, league.number)
}

/// A static loop: threads of the team, and the calling one's number.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_loop_static_worksharing(_iterations: u64) -> u64 {
    threads()
}

/// [`GOMP_loop_static_worksharing`], where an end follows.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_loop_static_worksharing_start(iterations: u64) -> u64 {
    tools::work::begins(|| (CurrentThread::get(), ToolWork::LoopStatic, iterations));
    threads()
}

/// A static `distribute`: teams of the league, and the calling one's number.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_distribute_static_worksharing(_iterations: u64) -> u64 {
    teams()
}

/// [`GOMP_distribute_static_worksharing`], where an end follows.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_distribute_static_worksharing_start(iterations: u64) -> u64 {
    tools::work::begins(|| (CurrentThread::get(), ToolWork::Distribute, iterations));
    teams()
}

/// Calls that tell tools something and do nothing else.
macro_rules! for_tools {
    ($($(#[$doc:meta])* $name:ident $notify:block)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn $name() $notify
    )*};
}

for_tools! {
    /// A chunk of a static loop, whose bounds are not said.
    GOMP_loop_static_worksharing_dispatch {}
    /// A static loop ends.
    GOMP_loop_static_worksharing_end { tools::work::ends() }
    /// A chunk of a static `distribute`, as above.
    GOMP_distribute_static_worksharing_dispatch {}
    /// A static `distribute` ends.
    GOMP_distribute_static_worksharing_end { tools::work::ends() }
    /// Values are being combined.
    GOMP_reduction_start { tools::work::reduction(ToolEndpoint::Begin) }
    /// Values have been combined.
    GOMP_reduction_end { tools::work::reduction(ToolEndpoint::End) }
    /// `single` ends.
    GOMP_single_end { tools::work::ends() }
    /// `masked` ends; tools are not notified of its beginning.
    GOMP_masked_end {}
}

// ---- the others -------------------------------------------------------------

/// `single`, where an end follows: true in the thread that runs it.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_single_start_with_end() -> bool {
    GOMP_single_start()
}

/// `masked filter(number)`: true in the thread with that number.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_has_masked_thread_num(number: c_int) -> bool {
    CurrentThread::get().thread.num() as c_int == number
}

/// A barrier of a kind (of a region, of a loop, explicit) that only tools want to know.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_barrier_ext(_kind: c_int) {
    GOMP_barrier();
}

/// [`GOMP_barrier_ext`] in a cancellable region: true when that was cancelled.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_barrier_cancel_ext(_kind: c_int) -> bool {
    GOMP_barrier_cancel()
}

/// `interop`: no object but `omp_interop_none`, whatever the device; the dependences are waited
/// for. No gcc here emits it (gcc 15 does), so that its lists of types could not be tried.
///
/// # Safety
/// `inits` and `destroys` hold as many addresses of objects as said; `depend` is null or the
/// compiler's list.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_interop(
    _device: c_int,
    init_count: c_int,
    inits: *const *mut *mut c_void,
    _synchronous: *const c_void,
    _preferred: *const c_void,
    _use_count: c_int,
    _uses: *const *mut c_void,
    destroy_count: c_int,
    destroys: *const *mut *mut c_void,
    _flags: c_uint,
    depend: *mut *mut c_void,
) {
    if !depend.is_null() {
        // SAFETY: the compiler's list.
        unsafe { GOMP_taskwait_depend(depend) };
    }
    for (count, objects) in [(init_count, inits), (destroy_count, destroys)] {
        for i in 0..count.max(0) as usize {
            // SAFETY: as the caller says.
            unsafe { (*objects.add(i)).write(ptr::null_mut()) };
        }
    }
}

/// The address by which to call a function whose host address is `function`: on the host, that.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_target_map_indirect_ptr(function: *mut c_void) -> *mut c_void {
    function
}

macro_rules! images {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() {}
    )*};
}

images! {
    /// The object leaves.
    GOMP_offload_unregister;
    /// The object leaves.
    GOMP_offload_unregister_ver;
}

// ---- Fortran's allocatable variables ----------------------------------------

/// Blocks that hold allocatable variables with an `allocate` directive, by address.
static ALLOCATED: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// The block came from `GOMP_alloc`, so that it has to go back by `GOMP_free`.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_add_alloc(block: *const c_void) {
    if !block.is_null() {
        ALLOCATED.lock().unwrap_or_else(PoisonError::into_inner).insert(block.addr());
    }
}

/// Did the block come from `GOMP_alloc`? It is about to be freed or moved, so this is forgotten.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_is_alloc(block: *const c_void) -> bool {
    ALLOCATED.lock().unwrap_or_else(PoisonError::into_inner).remove(&block.addr())
}
