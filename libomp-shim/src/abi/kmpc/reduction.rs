//! `reduction` on parallel and worksharing constructs. The compiler asks which of three ways to
//! take:
//!
//! | way | answer | what follows |
//! |---|---|---|
//! | alone, critical | 1 | the thread combines, then calls the end; critical holds a lock meanwhile |
//! | atomic | 2 | the thread combines with atomic operations |
//! | tree | 1 in thread 0, 0 elsewhere | the runtime has combined into thread 0's copy, which combines that |
//!
//! In a tree the others stay in the call until thread 0 has ended the construct, `nowait` or not:
//! their private copies stand on their stacks. Thread 0 combines the copies in the order of thread
//! numbers, so that the result of a floating-point reduction is the same in every run with the same
//! number of threads.

use core::ffi::{c_int, c_void};
use core::ops::Range;
use core::ptr;
use core::sync::atomic::Ordering;

use super::parallel::{Location, flags_of};
use omp::extension::check::BarrierKind;
use omp::extension::tools;
use omp::extension::tools::kinds::{SyncKind, ToolEndpoint};
use omp::lock::Lock;
use omp::reduction::{ReductionPath, choose};
use omp::team;
use omp::thread::CurrentThread;

/// Combines the second argument's items into the first's.
type Combine = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);

/// `ident_t` flag: the compiler has generated an atomic variant.
const ATOMIC_AVAILABLE: i32 = 0x10;

/// # Safety
/// As the entry points below.
unsafe fn begin(location: Location, data: *mut c_void, combine: Option<Combine>, lock: *mut Lock) -> c_int {
    let here = CurrentThread::get();
    // SAFETY: the compiler's location.
    let atomic = unsafe { flags_of(location) } & ATOMIC_AVAILABLE != 0;
    let way = choose(here, atomic, combine.is_some());
    here.thread.own().work.reduction.set(way);
    match way {
        ReductionPath::Alone => {
            tools::work::reduction(ToolEndpoint::Begin);
            1
        }
        ReductionPath::Atomic => 2,
        ReductionPath::Critical => {
            // SAFETY: the compiler's lock for this construct.
            unsafe { super::sync::__kmpc_critical(location, 0, lock) };
            tools::work::reduction(ToolEndpoint::Begin);
            1
        }
        // SAFETY: `choose` takes the tree only with a combiner.
        ReductionPath::Tree => unsafe { tree(here, location, data, combine) },
    }
}

/// # Safety
/// Every thread of the team calls this with its own copies.
unsafe fn tree(
    here: CurrentThread,
    location: Location,
    data: *mut c_void,
    combine: Option<Combine>,
) -> c_int {
    let slots = &here.team().work.contributions;
    // ORDERING: Relaxed; published by the barrier.
    slots[here.thread.num() as usize].0.store(data.cast(), Ordering::Relaxed);
    // In a cancelled region not all threads come. A thread that cancels does not come here
    // afterwards, so when all have arrived none will leave before thread 0 has ended the construct.
    if team::cancellable_barrier(here, (BarrierKind::KmpcReduce, location), || SyncKind::Implementation) {
        return 0;
    }
    if here.thread.num() != 0 {
        team::barrier(here, (BarrierKind::KmpcReduce, location), || SyncKind::Implementation); // thread 0 ends the construct
        return 0;
    }
    let Some(combine) = combine else {
        tools::work::reduction(ToolEndpoint::Begin);
        return 1;
    };
    for slot in &slots[other_threads(here.team().size() as usize)] {
        // ORDERING: Relaxed; published by the barrier.
        let other = slot.0.swap(ptr::null_mut(), Ordering::Relaxed);
        // Null: a thread that a fork has left behind.
        if !other.is_null() {
            tools::work::reduction(ToolEndpoint::Begin);
            // SAFETY: the compiler's combiner on two threads' copies; the other thread waits.
            unsafe { combine(data, other.cast()) };
            tools::work::reduction(ToolEndpoint::End);
        }
    }
    tools::work::reduction(ToolEndpoint::Begin);
    1
}

ult::seam! {
    /// The numbers of the threads whose copies thread 0 of a team of `size` combines into its own.
    fn other_threads(size: usize) -> Range<usize> {
        1..size
    } or reduction_loses_thread {
        2..size
    }
}

/// # Safety
/// As the entry points below.
unsafe fn end(location: Location, lock: *mut Lock) -> ReductionPath {
    let way = CurrentThread::get().thread.own().work.reduction.take();
    if way == ReductionPath::Alone || way == ReductionPath::Critical || way == ReductionPath::Tree {
        tools::work::reduction(ToolEndpoint::End);
    }
    match way {
        // SAFETY: taken in `begin`.
        ReductionPath::Critical => unsafe { super::sync::__kmpc_end_critical(location, 0, lock) },
        ReductionPath::Tree => {
            team::barrier(CurrentThread::get(), (BarrierKind::KmpcReduce, location), || {
                SyncKind::Implementation
            });
        }
        ReductionPath::Alone | ReductionPath::Atomic => {}
    }
    way
}

/// A reduction that ends with a barrier: asks for the way.
///
/// # Safety
/// Called by compiled code: `data` is an array of `num` pointers to the thread's copies, `lock` 32
/// zeroed bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_reduce(
    location: Location,
    _gtid: c_int,
    _num: c_int,
    _size: usize,
    data: *mut c_void,
    combine: Option<Combine>,
    lock: *mut Lock,
) -> c_int {
    // SAFETY: as for this function.
    unsafe { begin(location, data, combine, lock) }
}

/// A reduction without a barrier at its end: asks for the way.
///
/// # Safety
/// As [`__kmpc_reduce`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_reduce_nowait(
    location: Location,
    _gtid: c_int,
    _num: c_int,
    _size: usize,
    data: *mut c_void,
    combine: Option<Combine>,
    lock: *mut Lock,
) -> c_int {
    // SAFETY: as for this function.
    unsafe { begin(location, data, combine, lock) }
}

/// End of [`__kmpc_reduce`], with the construct's barrier.
///
/// # Safety
/// As [`__kmpc_reduce`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_end_reduce(location: Location, _gtid: c_int, lock: *mut Lock) {
    // SAFETY: as for this function. In a tree the others' barrier is the construct's.
    if unsafe { end(location, lock) } != ReductionPath::Tree {
        let here = CurrentThread::get();
        team::cancellable_barrier(here, (BarrierKind::KmpcReduce, location), || SyncKind::Workshare);
    }
}

/// End of [`__kmpc_reduce_nowait`].
///
/// # Safety
/// As [`__kmpc_reduce`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_end_reduce_nowait(location: Location, _gtid: c_int, lock: *mut Lock) {
    // SAFETY: as for this function.
    unsafe { end(location, lock) };
}
