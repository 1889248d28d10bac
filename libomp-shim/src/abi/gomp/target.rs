//! `target` constructs as gcc emits them, run on the host: there is no device yet.

use core::ffi::{c_int, c_uint, c_void};
use core::{ptr, slice};

use super::parallel::{Function, body_of};
use super::task;
use crate::omp::thread::Here;
use crate::omp::{depend, icv, target};

/// Map kind: a copy of the variable for the region.
const FIRSTPRIVATE: u16 = 12;
/// Identifier of the optional argument.
const THREAD_LIMIT: usize = 2;

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

/// # Safety
/// `depend` is null or the compiler's array.
unsafe fn wait_for(depend: *mut *mut c_void) {
    if !depend.is_null() {
        // SAFETY: as the caller says.
        depend::wait_for(Here::get(), unsafe { task::items(depend) }.into_iter());
    }
}

/// `target`. With `nowait` the region is run before this returns, which the standard allows.
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
    _flags: c_uint,
    depend: *mut *mut c_void,
    args: *const *const c_void,
) {
    // SAFETY: as for this function.
    unsafe {
        wait_for(depend);
        let copies = Copies::make(count, addresses, sizes, kinds);
        target::run_on_host(Here::get(), body_of(function, addresses.cast()), device.into(), thread_limit(args));
        drop(copies);
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
    _flags: c_uint,
    depend: *mut *mut c_void,
) {
    target::refuse_if_mandatory(Here::get(), device.into());
    // SAFETY: as for this function.
    unsafe { wait_for(depend) };
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
    _flags: c_uint,
    depend: *mut *mut c_void,
) {
    target::refuse_if_mandatory(Here::get(), device.into());
    // SAFETY: as for this function.
    unsafe { wait_for(depend) };
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
    if first && thread_limit != 0 {
        let mut icv = here.task.icv.get();
        icv.thread_limit = icv.thread_limit.min(thread_limit);
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
    let limit = [thread_limit, icv::teams_thread_limit()].into_iter().find(|&n| n != 0).unwrap_or(0);
    crate::omp::parallel::league(Here::get(), body_of(function, data), league_size(0, num_teams), limit);
}
