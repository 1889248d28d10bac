//! `target` constructs as gcc emits them, in a library without devices: regions run on the host, and
//! data constructs are their dependences.
//!
//! What lives here: the entry points that `target` has in a library with devices.
//!
//! With `nowait` a region is an explicit task: the code behind it may be what it waits for.

use core::ffi::{c_int, c_uint, c_void};

use super::parallel::{OutlinedFunction, body_of};
use super::target_arguments::{NOWAIT, TargetCopies, extent};
use super::task as front;
use omp::extension::tools;
use omp::extension::tools::device::ToolTarget;
use omp::task::{self, Task, TaskFlags};
use omp::thread::{CurrentThread, Thread};
use omp::{depend, target};

/// Bit of the `flags` argument of `target enter data` and `target exit data`.
const EXIT: c_uint = 2;

/// A region on its way to where it runs.
struct DeferredRegion {
    function: OutlinedFunction,
    thread_limit: u32,
    /// The words that the region gets.
    words: Vec<*mut c_void>,
    /// What firstprivate addresses among the words point to.
    copies: TargetCopies,
}

/// Runs the region that is a task's payload, unless it is discarded.
unsafe fn run(_: &Thread, task: &Task, discarded: bool) -> bool {
    // SAFETY: `defer` wrote the region, and a task is run or discarded once.
    let DeferredRegion { function, thread_limit, mut words, copies } =
        unsafe { task.payload().cast::<DeferredRegion>().read() };
    if !discarded {
        target::run_on_host(CurrentThread::get(), body_of(function, words.as_mut_ptr().cast()), thread_limit);
    }
    drop(copies);
    true
}

/// Makes the region an explicit task. It is untied (5.2 §1.2.5).
///
/// # Safety
/// `depend` is null or the compiler's array.
unsafe fn defer(here: CurrentThread, region: DeferredRegion, depend: *mut *mut c_void) {
    const { assert!(align_of::<DeferredRegion>() <= align_of::<Task>()) };
    let flags = TaskFlags::UNTIED.with(TaskFlags::TARGET);
    let task = Task::allocate(here, size_of::<DeferredRegion>(), run, flags);
    // SAFETY: a fresh task with room for a region; as the caller says.
    unsafe {
        task.payload().cast::<DeferredRegion>().write(region);
        front::notify(here, &task, false, depend);
    }
    if depend.is_null() {
        task::submit(here, task);
    } else {
        // SAFETY: as the caller says.
        depend::submit(here, task, unsafe { front::items(depend) });
    }
    tools::task::made(here);
}

/// `target`.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the ABI's arguments")]
pub unsafe extern "C-unwind" fn GOMP_target_ext(
    device: c_int,
    function: OutlinedFunction,
    count: usize,
    addresses: *mut *mut c_void,
    sizes: *const usize,
    kinds: *const u16,
    flags: c_uint,
    depend: *mut *mut c_void,
    args: *const *const c_void,
) {
    let here = CurrentThread::get();
    target::refuse_if_mandatory(here, device.into());
    let at_once = here.task.flags().has(TaskFlags::FINAL) || here.task.flags().has(TaskFlags::REDUCES);
    // SAFETY: as for this function.
    unsafe {
        let thread_limit = extent(args).thread_limit;
        if flags & NOWAIT != 0 && !at_once {
            let mut words: Vec<*mut c_void> = (0..count).map(|at| addresses.add(at).read()).collect();
            let copies = TargetCopies::make(count, words.as_mut_ptr(), sizes, kinds);
            return defer(here, DeferredRegion { function, thread_limit, words, copies }, depend);
        }
        let held = match depend.is_null() {
            true => None,
            false => depend::wait_and_hold(here, front::items(depend)),
        };
        let copies = TargetCopies::make(count, addresses, sizes, kinds);
        target::run_on_host(CurrentThread::get(), body_of(function, addresses.cast()), thread_limit);
        drop(copies);
        let here = CurrentThread::get();
        here.task.set_flags(here.task.flags().without(TaskFlags::REDUCES));
        if let Some(node) = held {
            depend::leave(here, node);
        }
    }
}

/// `target` of gcc before 5.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_target(
    device: c_int,
    function: OutlinedFunction,
    _unused: *const c_void,
    _count: usize,
    addresses: *mut *mut c_void,
) {
    let here = CurrentThread::get();
    target::refuse_if_mandatory(here, device.into());
    target::run_on_host(here, body_of(function, addresses.cast()), 0);
}

/// A data construct, of which only the dependences matter.
///
/// # Safety
/// `depend` is null or the compiler's array.
unsafe fn change(device: c_int, kind: ToolTarget, flags: c_uint, depend: *mut *mut c_void) {
    let here = CurrentThread::get();
    target::refuse_if_mandatory(here, device.into());
    let deferred = flags & NOWAIT != 0 && !here.task.flags().has(TaskFlags::FINAL);
    // SAFETY: as the caller says.
    unsafe {
        match (depend.is_null(), deferred) {
            (true, _) => {}
            (false, true) => front::GOMP_taskwait_depend_nowait(depend),
            (false, false) => front::GOMP_taskwait_depend(depend),
        }
    }
    tools::device::on_host(kind);
}

macro_rules! without_dependences {
    ($($(#[$doc:meta])* $name:ident = $kind:ident;)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn $name(device: c_int) {
            // SAFETY: there are no dependences.
            unsafe { change(device, ToolTarget::$kind, 0, core::ptr::null_mut()) };
        }
    )*};
}

without_dependences! {
    /// `target data` begins.
    GOMP_target_data_ext = EnterData;
    /// `target data` of gcc before 5 begins.
    GOMP_target_data = EnterData;
    /// `target update` of gcc before 5.
    GOMP_target_update = Update;
}

/// `target data` ends.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_target_end_data() {
    tools::device::on_host(ToolTarget::ExitData);
}

/// `target update`.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_target_update_ext(
    device: c_int,
    _count: usize,
    _addresses: *mut *mut c_void,
    _sizes: *const usize,
    _kinds: *const u16,
    flags: c_uint,
    depend: *mut *mut c_void,
) {
    // SAFETY: as for this function.
    unsafe { change(device, ToolTarget::Update, flags, depend) };
}

/// `target enter data`, `target exit data`.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_target_enter_exit_data(
    device: c_int,
    _count: usize,
    _addresses: *mut *mut c_void,
    _sizes: *const usize,
    _kinds: *const u16,
    flags: c_uint,
    depend: *mut *mut c_void,
) {
    let kind = if flags & EXIT == 0 { ToolTarget::EnterData } else { ToolTarget::ExitData };
    // SAFETY: as for this function.
    unsafe { change(device, kind, flags, depend) };
}

/// An object brings code for a kind of device, which is of no use here.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_offload_register() {}

/// [`GOMP_offload_register`] with a version.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_offload_register_ver() {}
