//! `target` constructs as gcc emits them, run on the host: there is no device yet.
//!
//! With `nowait` the region, or the mere end of its dependences, is an explicit task: the code behind the construct may be
//! what the region waits for.

use core::ffi::{c_int, c_uint, c_void};
use core::{ptr, slice};

use super::parallel::{Function, body_of};
use super::task as front;
use crate::omp::task::{self, Flags, Task};
use crate::omp::thread::{Here, Thread};
use crate::omp::{depend, icv, target};

/// Map kind: a copy of the variable for the region.
const FIRSTPRIVATE: u16 = 12;
/// Identifier of the optional argument.
const THREAD_LIMIT: usize = 2;
/// Bit of the `flags` argument.
const NOWAIT: c_uint = 1;

/// The `thread_limit` among the optional arguments, 0 when not given.
///
/// # Safety
/// `args` is null or the compiler's null-terminated list.
unsafe fn thread_limit(mut args: *const *const c_void) -> u32 {
    if args.is_null() {
        return 0;
    }
    // SAFETY: as the caller says; a set bit 7 means that the value is the next word.
    unsafe {
        while !(*args).is_null() {
            let word = *args as usize;
            let mut value = (word as isize >> 16) as usize;
            if word & 0x80 != 0 {
                args = args.add(1);
                value = *args as usize;
            }
            if word >> 8 & 0xFF == THREAD_LIMIT {
                return value as u32;
            }
            args = args.add(1);
        }
    }
    0
}

/// The variables that the region has copies of: their bytes, aligned as the kinds say, in one block.
struct Copies(Vec<u64>);

impl Copies {
    /// Copies every firstprivate variable and stores its copy's address in place of the original's.
    ///
    /// # Safety
    /// The compiler's arrays of `count` entries.
    unsafe fn make(count: usize, addresses: *mut *mut c_void, sizes: *const usize, kinds: *const u16) -> Self {
        if count == 0 {
            return Self(Vec::new());
        }
        // SAFETY: as the caller says.
        let (addresses, sizes, kinds) = unsafe {
            (
                slice::from_raw_parts_mut(addresses, count),
                slice::from_raw_parts(sizes, count),
                slice::from_raw_parts(kinds, count),
            )
        };
        let copied: Vec<usize> =
            (0..count).filter(|&i| kinds[i] & 0xFF == FIRSTPRIVATE && !addresses[i].is_null()).collect();
        let room: usize = copied.iter().map(|&i| sizes[i] + (1 << (kinds[i] >> 8))).sum();
        let mut block = Self(vec![0; room.div_ceil(8)]);
        let mut at = block.0.as_mut_ptr().cast::<u8>();
        for i in copied {
            // SAFETY: the block has room for every copy and its alignment.
            unsafe {
                at = at.map_addr(|a| a.next_multiple_of(1 << (kinds[i] >> 8)));
                ptr::copy_nonoverlapping(addresses[i].cast(), at, sizes[i]);
                addresses[i] = at.cast();
                at = at.add(sizes[i]);
            }
        }
        block
    }
}

/// A region on its way to where it runs.
struct Region {
    function: Function,
    device: i64,
    thread_limit: u32,
    addresses: Vec<*mut c_void>,
    copies: Copies,
}

/// Runs the region that is a task's payload, unless it is discarded.
unsafe fn run(_: &Thread, task: &Task, discarded: bool) -> bool {
    // SAFETY: `defer` wrote the region, and a task is run or discarded once.
    let mut region = unsafe { task.payload().cast::<Region>().read() };
    if !discarded {
        let body = body_of(region.function, region.addresses.as_mut_ptr().cast());
        target::run_on_host(Here::get(), body, region.device, region.thread_limit);
    }
    drop(region.copies);
    true
}

/// Makes the region an explicit task.
///
/// # Safety
/// `depend` is null or the compiler's array.
unsafe fn defer(here: Here, region: Region, depend: *mut *mut c_void) {
    const { assert!(align_of::<Region>() <= align_of::<Task>()) };
    let task = Task::allocate(here, size_of::<Region>(), run, Flags::default());
    // SAFETY: a fresh task with room for a region.
    unsafe { task.as_ref().payload().cast::<Region>().write(region) };
    if depend.is_null() {
        task::submit(here, task);
    } else {
        // SAFETY: as the caller says.
        depend::submit(here, task, unsafe { front::items(depend) }.into_iter());
    }
}

/// The dependences of a construct that has nothing to do on the host.
///
/// # Safety
/// `depend` is null or the compiler's array.
unsafe fn pass(flags: c_uint, depend: *mut *mut c_void) {
    if depend.is_null() {
        return;
    }
    // SAFETY: as the caller says.
    unsafe {
        match flags & NOWAIT {
            0 => front::GOMP_taskwait_depend(depend),
            _ => front::GOMP_taskwait_depend_nowait(depend),
        }
    }
}

/// `target`.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the ABI's arguments")]
pub unsafe extern "C-unwind" fn GOMP_target_ext(
    device: c_int,
    function: Function,
    count: usize,
    addresses: *mut *mut c_void,
    sizes: *const usize,
    kinds: *const u16,
    flags: c_uint,
    depend: *mut *mut c_void,
    args: *const *const c_void,
) {
    let here = Here::get();
    // SAFETY: as for this function.
    unsafe {
        if flags & NOWAIT != 0 && !here.task.flags().has(Flags::FINAL) {
            target::refuse_if_mandatory(here, device.into());
            let mut own = if count == 0 { Vec::new() } else { slice::from_raw_parts(addresses, count).to_vec() };
            let copies = Copies::make(count, own.as_mut_ptr(), sizes, kinds);
            let thread_limit = thread_limit(args);
            return defer(here, Region { function, device: device.into(), thread_limit, addresses: own, copies }, depend);
        }
        let held = match depend.is_null() {
            true => None,
            false => depend::wait_and_hold(here, front::items(depend).into_iter()),
        };
        let copies = Copies::make(count, addresses, sizes, kinds);
        target::run_on_host(here, body_of(function, addresses.cast()), device.into(), thread_limit(args));
        drop(copies);
        if let Some(node) = held {
            depend::leave(Here::get(), node);
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
    function: Function,
    _unused: *const c_void,
    _count: usize,
    addresses: *mut *mut c_void,
    _sizes: *const usize,
    _kinds: *const u8,
) {
    target::run_on_host(Here::get(), body_of(function, addresses.cast()), device.into(), 0);
}

/// `target data` begins: on the host the data are where they are.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_target_data_ext(
    device: c_int,
    _count: usize,
    _addresses: *mut *mut c_void,
    _sizes: *const usize,
    _kinds: *const u16,
) {
    target::refuse_if_mandatory(Here::get(), device.into());
}

/// `target data` of gcc before 5.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_target_data(
    device: c_int,
    _unused: *const c_void,
    _count: usize,
    _addresses: *mut *mut c_void,
    _sizes: *const usize,
    _kinds: *const u8,
) {
    target::refuse_if_mandatory(Here::get(), device.into());
}

/// `target data` ends.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_target_end_data() {}

/// `target update`: only its dependences matter on the host.
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
    target::refuse_if_mandatory(Here::get(), device.into());
    // SAFETY: as for this function.
    unsafe { pass(flags, depend) };
}

/// `target update` of gcc before 5.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_target_update(
    device: c_int,
    _unused: *const c_void,
    _count: usize,
    _addresses: *mut *mut c_void,
    _sizes: *const usize,
    _kinds: *const u8,
) {
    target::refuse_if_mandatory(Here::get(), device.into());
}

/// `target enter data`, `target exit data`: only their dependences matter on the host.
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
    target::refuse_if_mandatory(Here::get(), device.into());
    // SAFETY: as for this function.
    unsafe { pass(flags, depend) };
}

/// `teams` inside `target`, called in a loop: true as long as the calling code is to run another team.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_teams4(low: c_uint, high: c_uint, thread_limit: c_uint, first: bool) -> bool {
    let here = Here::get();
    let team = here.team();
    let (count, number) = team.plan().league;
    let league = if first {
        (league_size(low, high), 0)
    } else if number + 1 < count {
        (count, number + 1)
    } else {
        (1, 0)
    };
    let limit = limit_of(thread_limit);
    if first && limit != 0 {
        let mut icv = here.task.icv.get();
        icv.thread_limit = icv.thread_limit.min(limit);
        here.task.icv.set(icv);
    }
    // SAFETY: the team of a target region has one thread, this one, so nobody else reads its plan.
    unsafe { team.plan_mut() }.league = league;
    first || number + 1 < count
}

/// `teams` inside `target`, as gcc 11 and older emit it: one team.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_teams(_num_teams: c_uint, thread_limit: c_uint) {
    GOMP_teams4(1, 1, thread_limit, true);
}

fn league_size(low: c_uint, high: c_uint) -> u32 {
    [high, low, icv::nteams()].into_iter().find(|&n| n != 0).unwrap_or(1)
}

/// The limit of each team's contention group: what the clause said, or `teams-thread-limit-var`; 0 for none.
fn limit_of(thread_limit: c_uint) -> u32 {
    if thread_limit != 0 { thread_limit } else { icv::teams_thread_limit() }
}

/// `teams` on the host: runs `function(data)` once per team.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_teams_reg(
    function: Function,
    data: *mut c_void,
    num_teams: c_uint,
    thread_limit: c_uint,
    _flags: c_uint,
) {
    let teams = league_size(0, num_teams);
    crate::omp::parallel::league(Here::get(), body_of(function, data), teams, limit_of(thread_limit));
}
