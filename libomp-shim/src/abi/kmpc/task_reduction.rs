//! Task reductions as clang emits them: `task_reduction` on a taskgroup, `reduction(task, …)` on
//! parallel and worksharing constructs, and the look-up of a thread's private copy.
//!
//! A private copy is made when a thread first asks for it and combined at the end of the taskgroup.
//! For the `task` modifier every thread has a taskgroup of its own. The threads share one set of
//! copies, which they find through a descriptor of the team's worksharing ring. The last thread to
//! end combines the copies into its own item.

use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::Arc;

use super::parallel::Location;
use omp::agents;
use omp::report;
use omp::taskgroup::{self, Reductions, Taskgroup};
use omp::thread::CurrentThread;
use omp::worksharing;

type Initialise = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);
type Finish = unsafe extern "C-unwind" fn(*mut c_void);
type Combine = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);

/// `kmp_taskred_input_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Input {
    shared: *mut c_void,
    original: *mut c_void,
    size: usize,
    initialise: Option<Initialise>,
    finish: Option<Finish>,
    combine: Option<Combine>,
    flags: u32,
}

/// `kmp_task_red_input_t`, the older format without the original item.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OldInput {
    shared: *mut c_void,
    size: usize,
    initialise: Option<Initialise>,
    finish: Option<Finish>,
    combine: Option<Combine>,
    flags: u32,
}

const _: () = assert!(size_of::<Input>() == 56 && size_of::<OldInput>() == 48);

/// The private copies of all items, `threads` of each, made on demand.
struct TaskReductionCopies {
    threads: u32,
    /// Item by item, thread by thread.
    slots: Box<[AtomicPtr<c_void>]>,
    /// Threads that have ended the construct (`task` modifier).
    ended: AtomicU32,
}

/// What a taskgroup has registered.
struct Registered {
    items: Vec<Input>,
    copies: Arc<TaskReductionCopies>,
    /// Number of the construct whose descriptor leads to the copies, for the `task` modifier.
    construct: Option<u64>,
}

impl TaskReductionCopies {
    fn new(threads: u32, items: usize) -> Arc<Self> {
        let slots = (0..threads as usize * items).map(|_| AtomicPtr::new(ptr::null_mut())).collect();
        Arc::new(Self { threads, slots, ended: AtomicU32::new(0) })
    }

    fn of_item(&self, item: usize) -> &[AtomicPtr<c_void>] {
        let threads = self.threads as usize;
        &self.slots[item * threads..(item + 1) * threads]
    }

    ult::seam! {
        /// The copies of an item that are combined: one of each thread.
        fn combined(&self, item: usize) -> &[AtomicPtr<c_void>] {
            self.of_item(item)
        } or task_reduction_loses_copy {
            &self.of_item(item)[1..]
        }
    }
}

impl Registered {
    /// The item that `address` belongs to: its shared or original address, or that of any thread's
    /// copy.
    fn item_at(&self, address: *mut c_void) -> Option<usize> {
        (0..self.items.len()).find(|&i| {
            let item = &self.items[i];
            // ORDERING: Acquire, pairs with the Release in `copy_of`.
            let mut copies = self.copies.of_item(i).iter();
            address == item.shared
                || address == item.original
                // ORDERING: Acquire, as above.
                || copies.any(|c| c.load(Ordering::Acquire) == address)
        })
    }

    /// The copy of item `i` for thread `num`, made now if there is none.
    fn copy_of(&self, i: usize, num: u32) -> *mut c_void {
        let slot = &self.copies.of_item(i)[num as usize];
        // ORDERING: Relaxed; only the thread itself makes its copy.
        let copy = slot.load(Ordering::Relaxed);
        if !copy.is_null() {
            return copy;
        }
        let item = &self.items[i];
        // SAFETY: plain allocation; the compiler's initialiser on fresh, zeroed memory of the
        // item's size.
        let copy = unsafe {
            let copy = libc::calloc(1, item.size.max(1));
            if copy.is_null() {
                report::fatal("out of memory for a task reduction");
            }
            if let Some(initialise) = item.initialise {
                initialise(copy, if item.original.is_null() { item.shared } else { item.original });
            }
            copy
        };
        // ORDERING: Release, pairs with the Acquire in `item_at` and `combine`.
        slot.store(copy, Ordering::Release);
        copy
    }

    /// Combines all copies into the shared items and frees them.
    fn combine(&self) {
        for (i, item) in self.items.iter().enumerate() {
            for slot in self.copies.combined(i) {
                // ORDERING: Acquire, pairs with the Release in `copy_of`; all tasks are complete.
                let copy = slot.swap(ptr::null_mut(), Ordering::Acquire);
                if copy.is_null() {
                    continue;
                }
                // SAFETY: the compiler's functions on items of its own; the copy came from calloc.
                unsafe {
                    if let Some(combine) = item.combine {
                        combine(item.shared, copy);
                    }
                    if let Some(finish) = item.finish {
                        finish(copy);
                    }
                    libc::free(copy);
                }
            }
        }
    }
}

/// Ends the innermost taskgroup and combines its reductions.
pub fn end_taskgroup(here: CurrentThread) {
    taskgroup::end(here, |group| {
        if let Some(Reductions::Kmpc(registered)) = group.reductions.take() {
            // SAFETY: `register` made it with Box::into_raw, and the group gave it up.
            let registered = unsafe { Box::from_raw(registered.cast::<Registered>()) };
            match registered.construct {
                None => registered.combine(),
                Some(construct) => end_shared(here, &registered, construct),
            }
        }
    });
}

/// One thread's end of a construct with the `task` modifier.
fn end_shared(here: CurrentThread, registered: &Registered, construct: u64) {
    // ORDERING: AcqRel; the last thread sees what the tasks of all others wrote.
    let ended = registered.copies.ended.fetch_add(1, Ordering::AcqRel) + 1;
    if ended == registered.copies.threads {
        registered.combine();
        // SAFETY: the reference that `shared_copies` left in the descriptor; no thread looks there
        // any more.
        drop(unsafe { Arc::from_raw(Arc::as_ptr(&registered.copies)) });
    }
    worksharing::leave(&here.thread, construct);
}

fn register(
    here: CurrentThread,
    items: Vec<Input>,
    copies: Arc<TaskReductionCopies>,
    construct: Option<u64>,
) -> *mut c_void {
    let group = here.task.own.taskgroup.get();
    // SAFETY: the compiler opens a taskgroup first; it is open while its task runs.
    let Some(open) = (unsafe { group.as_ref() }) else {
        report::fatal("a task reduction was registered outside a taskgroup")
    };
    if construct.is_some() {
        open.set_implied();
    }
    let registered = Box::into_raw(Box::new(Registered { items, copies, construct }));
    if open.reductions.replace(Some(Reductions::Kmpc(registered.cast()))).is_none() {
        agents::reductions_open(here);
    }
    group.cast_mut().cast()
}

/// The copies that the threads of the team share for one construct; the first to arrive makes them.
fn shared_copies(here: CurrentThread, items: usize) -> (Arc<TaskReductionCopies>, u64) {
    let (construct, share) = worksharing::enter(here, |_, _| {});
    let fresh = Arc::into_raw(TaskReductionCopies::new(here.team().size(), items));
    // ORDERING: AcqRel; Release publishes the fresh copies, Acquire shows another thread's.
    match share.next.0.compare_exchange(0, fresh as u64, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: the raw reference stays in the descriptor; this one is ours in addition.
        Ok(_) => unsafe {
            Arc::increment_strong_count(fresh);
            (Arc::from_raw(fresh), construct)
        },
        // SAFETY: ours is dropped; the other is alive until the last thread ends the construct.
        Err(other) => unsafe {
            drop(Arc::from_raw(fresh));
            let other = other as *const TaskReductionCopies;
            Arc::increment_strong_count(other);
            (Arc::from_raw(other), construct)
        },
    }
}

/// # Safety
/// `data` points to `count` items.
unsafe fn new_items(count: c_int, data: *const Input) -> Vec<Input> {
    // SAFETY: as the caller says.
    unsafe { core::slice::from_raw_parts(data, count.max(0) as usize) }.to_vec()
}

/// # Safety
/// `data` points to `count` items.
unsafe fn old_items(count: c_int, data: *const OldInput) -> Vec<Input> {
    // SAFETY: as the caller says.
    let old = unsafe { core::slice::from_raw_parts(data, count.max(0) as usize) };
    let convert = |o: &OldInput| Input {
        shared: o.shared,
        original: ptr::null_mut(),
        size: o.size,
        initialise: o.initialise,
        finish: o.finish,
        combine: o.combine,
        flags: o.flags,
    };
    old.iter().map(convert).collect()
}

fn register_group(items: Vec<Input>) -> *mut c_void {
    let here = CurrentThread::get();
    let copies = TaskReductionCopies::new(here.team().size(), items.len());
    register(here, items, copies, None)
}

fn register_modifier(items: Vec<Input>) -> *mut c_void {
    let here = CurrentThread::get();
    taskgroup::start(here);
    let (copies, construct) = shared_copies(here, items.len());
    register(here, items, copies, Some(construct))
}

/// `task_reduction` on the innermost taskgroup. Returns a handle for the look-up.
///
/// # Safety
/// `data` points to `count` items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_taskred_init(_gtid: c_int, count: c_int, data: *const Input) -> *mut c_void {
    // SAFETY: as for this function.
    register_group(unsafe { new_items(count, data) })
}

/// [`__kmpc_taskred_init`] with the older format of items.
///
/// # Safety
/// `data` points to `count` items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_task_reduction_init(
    _gtid: c_int,
    count: c_int,
    data: *const OldInput,
) -> *mut c_void {
    // SAFETY: as for this function.
    register_group(unsafe { old_items(count, data) })
}

/// `reduction(task, …)` on a parallel (`worksharing` 0) or worksharing construct: called by every
/// thread.
///
/// # Safety
/// `data` points to `count` items.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_taskred_modifier_init(
    _: Location,
    _gtid: c_int,
    _worksharing: c_int,
    count: c_int,
    data: *const Input,
) -> *mut c_void {
    // SAFETY: as for this function.
    register_modifier(unsafe { new_items(count, data) })
}

/// [`__kmpc_taskred_modifier_init`] with the older format of items.
///
/// # Safety
/// `data` points to `count` items.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_task_reduction_modifier_init(
    _: Location,
    _gtid: c_int,
    _worksharing: c_int,
    count: c_int,
    data: *const OldInput,
) -> *mut c_void {
    // SAFETY: as for this function.
    register_modifier(unsafe { old_items(count, data) })
}

/// End of a construct with `reduction(task, …)`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_task_reduction_modifier_fini(_: Location, _gtid: c_int, _worksharing: c_int) {
    end_taskgroup(CurrentThread::get());
}

/// The running thread's private copy of a reduction item, in the taskgroup `group` or, if null, the
/// innermost one that has the item.
///
/// # Safety
/// `group` is null or a handle from a registration whose taskgroup is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_task_reduction_get_th_data(
    _gtid: c_int,
    group: *mut c_void,
    item: *mut c_void,
) -> *mut c_void {
    let here = CurrentThread::get();
    let mut group =
        if group.is_null() { here.task.own.taskgroup.get() } else { group.cast_const().cast::<Taskgroup>() };
    // SAFETY: the running task's taskgroup and those around it are open.
    while let Some(open) = unsafe { group.as_ref() } {
        if let Some(Reductions::Kmpc(registered)) = open.reductions.get() {
            // SAFETY: the descriptor lives as long as the group.
            let registered = unsafe { &*registered.cast::<Registered>() };
            if let Some(i) = registered.item_at(item) {
                return registered.copy_of(i, here.thread.copy());
            }
        }
        group = open.outer;
    }
    report::fatal("a task asked for a reduction item that no open taskgroup has")
}
