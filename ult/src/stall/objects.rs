//! Which code is the program's: the executable parts of loaded objects that contain OpenMP regions.
//!
//! An object contains regions if it uses a function of an OpenMP runtime and does not define it. An
//! object that *is* such a runtime (this one, or another one that is loaded besides) is not the
//! program's, whatever it uses.
//!
//! Only code of the program may be left at any instruction. A library that is no OpenMP object may
//! hold locks of its own there. An object that brings an allocator of its own may not be left
//! either. The scheduler allocates, and would wait for a lock whose holder it has suspended itself.
//!
//! This module also knows the functions of the C library that only wait (`sched_yield`,
//! `pthread_spin_lock`), and the functions that may be left ([`super::leaf`]).
//!
//! Signal handlers read the map. So it is an immutable sorted table behind one pointer. [`refresh`]
//! replaces the table when the loader has loaded or unloaded an object that matters. The old table
//! is leaked, because a handler may be reading it. Loads of other objects leave the table as it is.
//!
//! Not seen: code that was compiled at run time, and objects that reach the runtime by `dlsym`
//! alone. Workers that run such code are handed off instead of interrupted.
//!
//! What may not live here: the decision to leave ([`super::signal`]).
use core::ptr;
use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

use libc::ucontext_t;

use super::leaf::{LeafCall, LeafCalls};
use crate::sys::objects::{self, LoadedObject, SymbolName};

/// First letters of the functions of OpenMP runtimes.
const REGION_CALLS: [&[u8]; 3] = [b"GOMP_", b"__kmpc_", b"omp_"];
/// An object that defines one of these functions is a runtime.
const RUNTIME_MARKS: [SymbolName; 2] = SymbolName::all([c"GOMP_parallel", c"__kmpc_fork_call"]);
/// An object that defines this function is an allocator.
const ALLOCATOR_MARK: SymbolName = SymbolName::new(c"malloc");
/// An object that defines this function is the C library.
const C_LIBRARY_MARK: SymbolName = SymbolName::new(c"__libc_start_main");
/// An object that defines this function is the kernel's own object.
const KERNEL_MARK: SymbolName = SymbolName::new(if cfg!(target_arch = "aarch64") {
    c"__kernel_clock_gettime"
} else {
    c"__vdso_clock_gettime"
});
/// Functions of the C library that only wait, without a stack frame of their own.
const WAITS: [SymbolName; 2] = SymbolName::all([c"sched_yield", c"pthread_spin_lock"]);
/// Bytes from the beginning of such a function within which it waits. Derived: `pthread_spin_lock`
/// of glibc on x86-64 takes 25 bytes, and functions begin at multiples of 16.
const WAIT_LENGTH: usize = 32;

#[derive(Default, PartialEq, Eq)]
struct Map {
    /// The program's code, sorted and not overlapping: first address, and the address behind the
    /// last.
    program: Vec<(usize, usize)>,
    /// The start addresses of [`WAITS`]; zero if not found.
    waits: [usize; WAITS.len()],
    /// Does an object that uses OpenMP define an allocator? The object that [`treat_as_program`]
    /// chose does not count.
    openmp_object_has_allocator: bool,
    /// The C library's own code.
    c_library: Vec<(usize, usize)>,
    calls: LeafCalls,
}

static MAP: AtomicPtr<Map> = AtomicPtr::new(ptr::null_mut());
/// The loader's counts at the last scan, or [`NEVER`].
static SCANNED: AtomicU64 = AtomicU64::new(NEVER);
/// No scan has been made. Derived: the loader's counts do not reach this value.
const NEVER: u64 = u64::MAX;
/// A scan is under way.
static SCANNING: AtomicBool = AtomicBool::new(false);
/// An address whose object counts as the program's; zero if there is none.
static ALSO: AtomicUsize = AtomicUsize::new(0);

/// Is `address` in the code of an object that contains OpenMP regions, the runtime itself excluded?
/// The answer is as of the last [`refresh`]. Any thread may call it; it is async-signal-safe and
/// takes about 10 ns.
pub fn is_program_code(address: usize) -> bool {
    map().is_some_and(|map| {
        let after = map.program.partition_point(|&(start, _)| start <= address);
        after > 0 && address < map.program[after - 1].1
    })
}

/// Is `address` in one of the C library's functions that only wait? None of them makes a stack
/// frame.
pub(super) fn is_wait(address: usize) -> bool {
    map().is_some_and(|map| {
        map.waits.iter().any(|&start| start != 0 && address.wrapping_sub(start) < WAIT_LENGTH)
    })
}

/// The program's call that was interrupted, if `context` lies in a function of the C library that
/// the program has called. `is_own`: does an address lie in the stack on which the code runs?
///
/// # Safety
/// Call it in the handler that interrupted the code with this state.
pub(super) unsafe fn call(context: &ucontext_t, is_own: impl Fn(usize) -> bool) -> Option<LeafCall> {
    // SAFETY: passed on.
    map().and_then(|map| unsafe { map.calls.interrupted(context, is_own, is_program_code) })
}

/// Is `address` in code outside of the C library? (The C library may hold locks that no thread can
/// do without.) The answer is as of the last [`refresh`]. Any thread may call it; it is
/// async-signal-safe.
pub(super) fn is_of_a_library(address: usize) -> bool {
    map().is_some_and(|map| !map.c_library.iter().any(|&(start, end)| (start..end).contains(&address)))
}

/// Examines objects that were loaded or unloaded since the last call. If another thread is doing
/// so, it returns without waiting. If there were no changes, it takes tens of nanoseconds. Any
/// thread may call it, but not in a signal handler.
pub fn refresh() {
    // ORDERING: Acquire pairs with the Release below: one scan at a time.
    if SCANNING.swap(true, Acquire) {
        return;
    }
    let mut found = Map::default();
    // ORDERING: Relaxed; ordered by `SCANNING`.
    if let Some(now) = objects::for_each_since(SCANNED.load(Relaxed), |object| found.add(object)) {
        found.program.sort_unstable();
        publish(found);
        // ORDERING: Relaxed; ordered by `SCANNING`.
        SCANNED.store(now, Relaxed);
    }
    // ORDERING: Release pairs with the Acquire above.
    SCANNING.store(false, Release);
}

/// Calls [`refresh`] if a thread has seen a change since the last one: `exceptions::refresh` asks
/// the loader at each outermost fork. Otherwise it costs two loads, so nested regions that several
/// threads fork at once do not contend for the loader's lock. The first scan is the watcher's.
pub fn keep_up() {
    // ORDERING: Relaxed; a thread that is refreshing has seen the change.
    let scanned = SCANNED.load(Relaxed);
    if scanned != NEVER && objects::has_been_seen_to_change(scanned) {
        refresh();
    }
}

/// Calls [`refresh`] unless that was done within the last 10 ms. It takes the loader's lock, which
/// `fork` does not repair in the child, so it must not run thousands of times a second. Only the
/// watcher calls it.
pub(super) fn refresh_now_and_then(now: u64) {
    /// Nanoseconds between two scans by the watcher. Chosen: at most a hundred scans a second; any
    /// value from 5 ms to 50 ms will do.
    const REFRESH_NANOS: u64 = 10_000_000;
    static LAST: AtomicU64 = AtomicU64::new(0);
    // ORDERING: Relaxed; the watcher alone uses the value.
    if now.wrapping_sub(LAST.load(Relaxed)) >= REFRESH_NANOS {
        // ORDERING: as above.
        LAST.store(now, Relaxed);
        refresh();
    }
}

/// From this call on the object that holds `address` counts as one that contains OpenMP regions.
/// This is for programs that bring threads to the library without a compiler's help, such as tests.
/// The last call counts.
pub fn treat_as_program(address: usize) {
    // ORDERING: Relaxed; the scan below reads it on this thread. A scan that is under way on
    // another thread is repeated.
    ALSO.store(address, Relaxed);
    while !is_program_code(address) {
        // ORDERING: Relaxed; at worst there is one scan too many.
        SCANNED.store(NEVER, Relaxed);
        refresh();
    }
}

/// Resets the scan in the child of a fork: a scan by another thread will not end.
pub(super) fn reset_after_fork() {
    // ORDERING: the only thread.
    SCANNING.store(false, Relaxed);
}

impl Map {
    fn add(&mut self, object: &LoadedObject) {
        if RUNTIME_MARKS.into_iter().any(|mark| object.function(mark).is_some()) {
            self.calls.add_runtime(object);
            return;
        }
        if object.function(C_LIBRARY_MARK).is_some() {
            self.waits = WAITS.map(|name| object.function(name).unwrap_or(0));
            self.c_library = object.code().collect();
            self.calls.add_library(object);
        } else if object.function(KERNEL_MARK).is_some() {
            self.calls.add_kernel(object);
        }
        // ORDERING: Relaxed; see `treat_as_program`.
        let also = ALSO.load(Relaxed);
        let chosen = object.code().any(|(start, end)| (start..end).contains(&also));
        if chosen || object.refers_to(&REGION_CALLS) {
            match object.function(ALLOCATOR_MARK) {
                Some(_) if !chosen => self.openmp_object_has_allocator = true,
                _ => self.program.extend(object.code()),
            }
        }
    }
}

/// Does an object that uses OpenMP define an allocator, which may therefore call the runtime? Before
/// the first scan one may. Any thread may call it; it is async-signal-safe.
pub fn openmp_object_has_allocator() -> bool {
    map().is_none_or(|map| map.openmp_object_has_allocator)
}

fn map() -> Option<&'static Map> {
    // ORDERING: Acquire pairs with the Release in `publish`.
    let map = MAP.load(Acquire);
    // SAFETY: the pointer is null, or was published by `publish`; the table is never changed and
    // never freed.
    unsafe { map.as_ref() }
}

fn publish(found: Map) {
    if map() != Some(&found) {
        // ORDERING: Release pairs with the Acquire in `map`: readers see a finished table.
        MAP.store(Box::into_raw(Box::new(found)), Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_code_is_the_programs_only_when_reported() {
        let here = own_code_is_the_programs_only_when_reported as *const () as usize;
        treat_as_program(here);
        assert!(is_program_code(here));
        let libc = libc::sched_yield as *const () as usize;
        let heap = Box::new(0_u8);
        assert!(!is_program_code(&raw const *heap as usize));
        assert!(!is_program_code(0) && !is_program_code(usize::MAX));
        // The address may be a stub of this object; the address in the table is the C library's.
        let known = map().unwrap().waits[0];
        assert!(known != 0 && is_wait(known) && is_wait(known + 9) && !is_wait(known + WAIT_LENGTH));
        assert!(!is_program_code(known), "{libc:#x}");
        assert!(is_of_a_library(here) && !is_of_a_library(known));
    }
}
