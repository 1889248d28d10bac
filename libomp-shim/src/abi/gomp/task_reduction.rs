//! Task reductions as gcc emits them. The array is memory shared with compiled code:
//!
//! | word | content |
//! |---|---|
//! | 0 | number of items |
//! | 1 | bytes of one thread's chunk of private copies |
//! | 2 | in: alignment; out: the chunks, zeroed, one per thread |
//! | 3 | allocator, −1 for malloc |
//! | 4 | next array of the same construct, at last the array of the taskgroup around it |
//! | 5 | ours: 1 in the first array of a construct, 0 in its others |
//! | 6 | out: end of the chunks |
//! | 7… | per item: original address, offset in a chunk, unused |
//!
//! Compiled code combines the copies after the taskgroup, then unregisters the array.

use core::ffi::{c_uint, c_void};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use core::{ptr, slice};
use std::sync::Mutex;

use super::parallel::{self, OutlinedFunction};
use omp::agents;
use omp::extension::check::BarrierKind;
use omp::extension::tools::kinds::SyncKind;
use omp::parallel as omp_parallel;
use omp::report;
use omp::task::TaskFlags;
use omp::taskgroup::{self, Reductions, Taskgroup};
use omp::team::{self, Body};
use omp::thread::{CurrentThread, Thread};

const COUNT: usize = 0;
const CHUNK: usize = 1;
const STORAGE: usize = 2;
const NEXT: usize = 4;
const FIRST: usize = 5;
const END: usize = 6;
const ITEMS: usize = 7;

/// One array, read-only.
#[derive(Clone, Copy)]
struct Array(*mut usize);

impl Array {
    fn word(self, i: usize) -> usize {
        // SAFETY: every array has the words of the header and the items it counts.
        unsafe { *self.0.add(i) }
    }

    fn set(self, i: usize, value: usize) {
        // SAFETY: as in `word`; registered arrays belong to the runtime's words until unregistered.
        unsafe { *self.0.add(i) = value };
    }

    fn next(self) -> Option<Self> {
        let next = self.word(NEXT) as *mut usize;
        (!next.is_null()).then_some(Self(next))
    }

    /// Offset in a chunk that `address`, an original or a private one, stands for.
    fn offset_of(self, address: usize) -> Option<usize> {
        if (self.word(STORAGE)..self.word(END)).contains(&address) {
            return Some((address - self.word(STORAGE)) % self.word(CHUNK));
        }
        self.items().find(|&(original, _)| original == address).map(|(_, offset)| offset)
    }

    fn items(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.word(COUNT)).map(move |i| (self.word(ITEMS + 3 * i), self.word(ITEMS + 3 * i + 1)))
    }
}

/// The reductions registered with a taskgroup or, where it has none of its own, the one around it.
fn registered(group: *const Taskgroup) -> Option<Array> {
    // SAFETY: an open taskgroup and those around it.
    let mut group = unsafe { group.as_ref() };
    while let Some(open) = group {
        if let Some(Reductions::Gomp(array)) = open.reductions.get() {
            return Some(Array(array));
        }
        group = open.outer();
    }
    None
}

/// Opens a taskgroup in the running task.
pub fn start_group(here: CurrentThread) {
    taskgroup::start(here);
}

/// Allocates the copies of a chain of arrays, or takes over those of `shared`, a chain of the same
/// shape, and appends `outer` to it.
///
/// # Safety
/// The compiler's arrays.
unsafe fn prepare(array: *mut usize, outer: Option<Array>, mut shared: Option<Array>, threads: u32) {
    let mut current = Array(array);
    loop {
        match shared {
            Some(other) => {
                current.set(STORAGE, other.word(STORAGE));
                current.set(END, other.word(END));
                shared = other.next();
            }
            None => allocate(current, threads),
        }
        current.set(FIRST, usize::from(ptr::eq(current.0, array)));
        match current.next() {
            Some(next) => current = next,
            None => break,
        }
    }
    current.set(NEXT, outer.map_or(0, |o| o.0 as usize));
}

fn allocate(array: Array, threads: u32) {
    let size = array.word(CHUNK) * threads as usize;
    let align = array.word(STORAGE).max(size_of::<usize>()).next_power_of_two();
    let mut block: *mut c_void = ptr::null_mut();
    // SAFETY: a valid out pointer and alignment; the block is zeroed before anybody else sees it.
    unsafe {
        if libc::posix_memalign(&mut block, align, size.max(1)) != 0 {
            report::fatal("out of memory for a task reduction");
        }
        ptr::write_bytes(block.cast::<u8>(), 0, size);
    }
    array.set(STORAGE, block as usize);
    array.set(END, block as usize + size);
}

/// Registers a chain of arrays with the running task's innermost taskgroup.
///
/// # Safety
/// The compiler's array; the taskgroup has just been opened.
pub unsafe fn register(here: CurrentThread, array: *mut usize) {
    let group = here.task.own.taskgroup.get();
    // SAFETY: the compiler has opened a taskgroup.
    let Some(open) = (unsafe { group.as_ref() }) else {
        report::fatal("a task reduction was registered outside a taskgroup")
    };
    // SAFETY: as for this function.
    unsafe { prepare(array, registered(open.outer), None, here.team().size()) };
    if open.reductions.replace(Some(Reductions::Gomp(array))).is_none() {
        agents::reductions_open(here);
    }
}

/// Makes an array such that combining and unregistering it does nothing.
///
/// # Safety
/// The compiler's array.
pub unsafe fn make_empty(array: *mut usize) {
    let array = Array(array);
    array.set(STORAGE, 0);
    array.set(END, 0);
    array.set(COUNT, 0);
}

/// `task_reduction` on the innermost taskgroup.
///
/// # Safety
/// `array` is the compiler's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_taskgroup_reduction_register(array: *mut usize) {
    // SAFETY: as for this function.
    unsafe { register(CurrentThread::get(), array) };
}

/// Frees the copies of a construct's arrays.
///
/// # Safety
/// `array` was registered, and its taskgroup has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_taskgroup_reduction_unregister(array: *mut usize) {
    let mut current = Some(Array(array));
    while let Some(array) = current {
        // SAFETY: `allocate` made it, or it is null.
        unsafe { libc::free(array.word(STORAGE) as *mut c_void) };
        current = array.next().filter(|next| next.word(FIRST) == 0);
    }
}

/// Replaces each of `count` addresses, an original item or anybody's private copy of it, by the
/// running thread's copy; for the first `originals` of them the original address is stored `count`
/// places later.
///
/// # Safety
/// `addresses` has room for `count` + `originals` words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GOMP_task_reduction_remap(count: usize, originals: usize, addresses: *mut usize) {
    let here = CurrentThread::get();
    // What follows may be a target construct with `in_reduction`.
    here.task.set_flags(here.task.flags().with(TaskFlags::REDUCES));
    // SAFETY: as for this function.
    let addresses = unsafe { slice::from_raw_parts_mut(addresses, count + originals) };
    for i in 0..count {
        let (copy, original) = copy_of(here, addresses[i]);
        addresses[i] = copy;
        if i < originals {
            addresses[count + i] = original;
        }
    }
}

/// The running thread's copy of the item at `address`, and the item's original address.
fn copy_of(here: CurrentThread, address: usize) -> (usize, usize) {
    let mut current = registered(here.task.own.taskgroup.get());
    while let Some(array) = current {
        if let Some(offset) = array.offset_of(address) {
            let original =
                array.items().find(|&(_, o)| o == offset).map_or(address, |(original, _)| original);
            let copy = array.word(STORAGE) + here.thread.copy() as usize * array.word(CHUNK) + offset;
            return (copy, original);
        }
        current = array.next();
    }
    report::fatal("a task asked for a reduction item that no open taskgroup has")
}

// ---- reduction(task, …) on worksharing constructs and parallel --------------

/// Each thread of a worksharing construct with `reduction(task, …)` opens a taskgroup; the first
/// one's copies, found through `slot` of the construct's descriptor, serve all.
///
/// # Safety
/// `array` is the compiler's; `slot` is null when the construct begins.
pub unsafe fn start_worksharing(here: CurrentThread, slot: &AtomicPtr<usize>, array: *mut usize) {
    // SAFETY: an open taskgroup of the running task, or null.
    let outer = registered(here.task.own.taskgroup.get());
    start_group(here);
    let Some(open) = here.task.open_group() else { return };
    open.set_implied();
    // ORDERING: Acquire, pairs with the Release below: the first thread's array is complete.
    let mut first = slot.load(Ordering::Acquire);
    if first.is_null() {
        // SAFETY: as for this function.
        first = unsafe { offer(here, slot, array, outer) };
    }
    if first != array {
        // SAFETY: the first thread's arrays have the same shape, and outlive the construct.
        unsafe { prepare(array, outer, Some(Array(first)), here.team().size()) };
    }
    open.reductions.set(Some(Reductions::Gomp(array)));
}

/// Prepares our array and offers it as the first; returns the array that is the first.
///
/// # Safety
/// As [`start_worksharing`].
unsafe fn offer(
    here: CurrentThread,
    slot: &AtomicPtr<usize>,
    array: *mut usize,
    outer: Option<Array>,
) -> *mut usize {
    static FIRST_COMES: Mutex<()> = Mutex::new(());
    let _guard = FIRST_COMES.lock().unwrap_or_else(|e| e.into_inner());
    // ORDERING: Relaxed; under the lock.
    let first = slot.load(Ordering::Relaxed);
    if !first.is_null() {
        return first;
    }
    // SAFETY: as for this function.
    unsafe { prepare(array, outer, None, here.team().size()) };
    // ORDERING: Release, pairs with the Acquire in `start_worksharing`.
    slot.store(array, Ordering::Release);
    array
}

/// End of a worksharing construct with `reduction(task, …)`: called by every thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_workshare_task_reduction_unregister(cancelled: bool) {
    let here = CurrentThread::get();
    let array = registered(here.task.own.taskgroup.get());
    taskgroup::end(here, |_| {});
    if let Some(array) = array.filter(|_| here.thread.num() == 0) {
        // SAFETY: the compiler's code has combined behind a barrier of its own.
        unsafe { GOMP_taskgroup_reduction_unregister(array.0) };
    }
    if !cancelled {
        team::barrier(here, (BarrierKind::Other, ptr::null()), || SyncKind::Workshare);
    }
}

/// What the threads of `parallel reduction(task, …)` share.
struct TaskReductionShared {
    function: OutlinedFunction,
    data: *mut c_void,
    array: *mut usize,
    group: AtomicPtr<Taskgroup>,
    threads: AtomicU32,
    lock: Mutex<()>,
}

unsafe fn call(thread: &Thread, body: &Body) {
    // SAFETY: `GOMP_parallel_reductions` made the body; its frame outlives the region.
    let shared = unsafe { &*body.data.cast::<TaskReductionShared>() };
    let here = CurrentThread::get();
    {
        let _guard = shared.lock.lock().unwrap_or_else(|e| e.into_inner());
        // ORDERING: Relaxed; under the lock.
        if shared.group.load(Ordering::Relaxed).is_null() {
            start_group(here);
            // SAFETY: the compiler's array.
            unsafe { register(here, shared.array) };
            // ORDERING: Relaxed; under the lock.
            shared.group.store(here.task.own.taskgroup.get().cast_mut(), Ordering::Relaxed);
            // ORDERING: Relaxed; read after the join.
            shared.threads.store(thread.team().size(), Ordering::Relaxed);
        }
        // ORDERING: Relaxed; under the lock.
        here.task.own.taskgroup.set(shared.group.load(Ordering::Relaxed));
    }
    // SAFETY: the compiler's function and data.
    unsafe { (shared.function)(shared.data) };
}

/// `parallel reduction(task, …)`: as `GOMP_parallel`; the first word of `data` is the reduction
/// array. Returns the number of threads.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_parallel_reductions(
    function: OutlinedFunction,
    data: *mut c_void,
    num_threads: c_uint,
    flags: c_uint,
) -> c_uint {
    let here = CurrentThread::get();
    let shared = TaskReductionShared {
        function,
        data,
        // SAFETY: the first word of the data.
        array: unsafe { *data.cast::<*mut usize>() },
        group: AtomicPtr::new(ptr::null_mut()),
        threads: AtomicU32::new(0),
        lock: Mutex::new(()),
    };
    let body = Body { call, function: ptr::null(), data: ptr::from_ref(&shared).cast_mut().cast(), count: 0 };
    omp_parallel::parallel(here, body, parallel::request_of(num_threads, flags));
    // ORDERING: Relaxed; the join ordered it.
    let group = shared.group.load(Ordering::Relaxed);
    // SAFETY: `taskgroup::start` made it; the region and all of its tasks have ended.
    drop(unsafe { Box::from_raw(group) });
    // ORDERING: Relaxed; the join ordered it.
    shared.threads.load(Ordering::Relaxed)
}
