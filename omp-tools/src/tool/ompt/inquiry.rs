//! What a tool may ask (5.2 §19.6). Any thread may ask, also one that has never met OpenMP: it does
//! not become an initial thread by that.
//!
//! *From signal handlers*, at any instruction, as the standard has it: the call only reads, and
//! neither waits nor allocates. The data that it reads belong to the thread, or to tasks that the
//! thread's own task keeps alive. In the scheduler no task runs. A member that has arrived at the
//! join keeps no task of the forking thread alive ([`is_between`]). Exceptions: what needs the
//! thread's place may bind an initial thread to it first (`ompt_get_place_num`,
//! `ompt_get_partition_place_nums`), and `ompt_set_callback`.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;

use super::callbacks::{self, data_of, flags_of, region_of};
use super::devices::number_of;
use super::types::{Data, MUTEX_IMPLS, OmptFunction};
use crate::tool::hook::state;
use crate::tool::record::{self, TaskFrame, TaskRecord};
use crate::tool::{ConsumerSlot, is_attached, unique_id};
use omp::binding;
use omp::env;
use omp::extension::offload;
use omp::task::{Task, TaskFlags};
use omp::thread::{CurrentThread, OwnThread, Thread};

/// A function as tools get it.
macro_rules! function {
    ($function:ident: $($type:ty),*; $result:ty) => {
        // SAFETY: the tool casts it back to the type that the name stands for.
        unsafe { core::mem::transmute::<unsafe extern "C" fn($($type),*) -> $result, OmptFunction>($function) }
    };
}

/// `ompt_function_lookup_t`: the function with this name, null for none.
///
/// # Safety
/// `name` is a C string.
pub unsafe extern "C" fn lookup(name: *const c_char) -> Option<OmptFunction> {
    // SAFETY: as the caller says.
    let name = unsafe { CStr::from_ptr(name) };
    Some(match name.to_bytes() {
        b"ompt_enumerate_states" => function!(enumerate_states: c_int, *mut c_int, *mut *const c_char; c_int),
        b"ompt_enumerate_mutex_impls" => {
            function!(enumerate_mutex_impls: c_int, *mut c_int, *mut *const c_char; c_int)
        }
        b"ompt_set_callback" => function!(set_callback: c_int, Option<OmptFunction>; c_int),
        b"ompt_get_callback" => function!(get_callback: c_int, *mut *mut (); c_int),
        b"ompt_get_thread_data" => function!(get_thread_data: ; *mut Data),
        b"ompt_get_num_procs" => function!(get_num_procs: ; c_int),
        b"ompt_get_num_places" => function!(get_num_places: ; c_int),
        b"ompt_get_place_proc_ids" => function!(get_place_proc_ids: c_int, c_int, *mut c_int; c_int),
        b"ompt_get_place_num" => function!(get_place_num: ; c_int),
        b"ompt_get_partition_place_nums" => function!(get_partition_place_nums: c_int, *mut c_int; c_int),
        b"ompt_get_proc_id" => function!(get_proc_id: ; c_int),
        b"ompt_get_state" => function!(get_state: *mut u64; c_int),
        b"ompt_get_parallel_info" => function!(get_parallel_info: c_int, *mut *mut Data, *mut c_int; c_int),
        b"ompt_get_task_info" => {
            function!(get_task_info: c_int, *mut c_int, *mut *mut Data, *mut *const TaskFrame, *mut *mut Data, *mut c_int; c_int)
        }
        b"ompt_get_task_memory" => function!(get_task_memory: *mut *mut c_void, *mut usize, c_int; c_int),
        b"ompt_get_target_info" => function!(get_target_info: *mut u64, *mut u64, *mut u64; c_int),
        b"ompt_get_num_devices" => function!(get_num_devices: ; c_int),
        b"ompt_get_unique_id" => function!(get_unique_id: ; u64),
        b"ompt_finalize_tool" => finalize_tool,
        _ => return None,
    })
}

/// Writes to where the asker wants it; null: it does not.
///
/// # Safety
/// `to` is null or may be written.
unsafe fn give<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: as the caller says.
        unsafe { to.write(value) };
    }
}

/// States that threads have here, by number and name (`ompt_state_t`).
const STATES: [(c_int, &CStr); 16] = [
    (0x102, c"ompt_state_undefined"),
    (0x000, c"ompt_state_work_serial"),
    (0x001, c"ompt_state_work_parallel"),
    (0x002, c"ompt_state_work_reduction"),
    (0x011, c"ompt_state_wait_barrier_implicit_parallel"),
    (0x012, c"ompt_state_wait_barrier_implicit_workshare"),
    (0x014, c"ompt_state_wait_barrier_explicit"),
    (0x015, c"ompt_state_wait_barrier_implementation"),
    (0x020, c"ompt_state_wait_taskwait"),
    (0x021, c"ompt_state_wait_taskgroup"),
    (0x041, c"ompt_state_wait_lock"),
    (0x042, c"ompt_state_wait_critical"),
    (0x043, c"ompt_state_wait_atomic"),
    (0x044, c"ompt_state_wait_ordered"),
    (0x100, c"ompt_state_idle"),
    (0x101, c"ompt_state_overhead"),
];

/// What follows `current` in `list`.
///
/// # Safety
/// `next` and `name` are null or may be written.
unsafe fn follow(
    list: &[(c_int, &'static CStr)],
    current: c_int,
    next: *mut c_int,
    name: *mut *const c_char,
) -> c_int {
    let at = list.iter().position(|&(number, _)| number == current);
    let Some(&(number, text)) = at.and_then(|at| list.get(at + 1)) else { return 0 };
    // SAFETY: as the caller says.
    unsafe {
        give(next, number);
        give(name, text.as_ptr());
    }
    1
}

unsafe extern "C" fn enumerate_states(current: c_int, next: *mut c_int, name: *mut *const c_char) -> c_int {
    // SAFETY: the tool's variables.
    unsafe { follow(&STATES, current, next, name) }
}

unsafe extern "C" fn enumerate_mutex_impls(
    current: c_int,
    next: *mut c_int,
    name: *mut *const c_char,
) -> c_int {
    // SAFETY: the tool's variables.
    unsafe { follow(&MUTEX_IMPLS, current, next, name) }
}

unsafe extern "C" fn set_callback(event: c_int, function: Option<OmptFunction>) -> c_int {
    callbacks::register(usize::try_from(event).unwrap_or(0), function)
}

unsafe extern "C" fn get_callback(event: c_int, function: *mut *mut ()) -> c_int {
    let registered = callbacks::registered(usize::try_from(event).unwrap_or(0));
    if registered.is_null() {
        return 0;
    }
    // SAFETY: the tool's variable.
    unsafe { give(function, registered) };
    1
}

/// The thread and the task of the running code, if it belongs to an OpenMP thread and the tool is
/// notified of events.
fn running() -> Option<CurrentThread> {
    if is_attached(ConsumerSlot::Ompt) { CurrentThread::in_program() } else { None }
}

/// Is that a member whose share of its region is over, or which waits for the next one? The thread
/// that forked the region may have gone on, and ended.
fn is_between(here: CurrentThread) -> bool {
    !here.task.is_explicit() && record::of_thread(&here.thread).joined.get()
}

/// Does the thread wait for its next region? Then it runs no task.
fn is_idle(thread: &Thread) -> bool {
    record::of_thread(thread).state.get().state == state::IDLE
}

/// The running thread, if it is one for tools.
fn thread() -> Option<&'static Thread> {
    running().map(|here| record::thread_for_tools(here.thread.thread()))
}

unsafe extern "C" fn get_thread_data() -> *mut Data {
    thread().map_or(ptr::null_mut(), |thread| record::of_thread(thread).data.as_ptr())
}

unsafe extern "C" fn get_num_procs() -> c_int {
    env::settings().num_procs as c_int
}

unsafe extern "C" fn get_num_places() -> c_int {
    env::settings().binding.bound.places.as_ref().map_or(0, |places| places.len() as c_int)
}

unsafe extern "C" fn get_place_proc_ids(place: c_int, size: c_int, ids: *mut c_int) -> c_int {
    let places = env::settings().binding.bound.places.as_ref();
    let Some((places, place)) =
        places.zip(usize::try_from(place).ok()).filter(|(places, place)| *place < places.len())
    else {
        return 0;
    };
    let procs = places.procs(place);
    for (i, &id) in procs.iter().enumerate().take(usize::try_from(size).unwrap_or(0)) {
        // SAFETY: the tool's array has room for `size` numbers.
        unsafe { ids.add(i).write(id as c_int) };
    }
    procs.len() as c_int
}

unsafe extern "C" fn get_place_num() -> c_int {
    running().map_or(-1, |here| {
        binding::bind_if_initial(here);
        here.thread.own().binding.place.get()
    })
}

unsafe extern "C" fn get_partition_place_nums(size: c_int, nums: *mut c_int) -> c_int {
    let Some(here) = running().filter(|_| env::settings().binding.bound.places.is_some()) else { return 0 };
    binding::bind_if_initial(here);
    let partition = here.thread.own().binding.partition.get();
    for (i, place) in partition.clone().enumerate().take(usize::try_from(size).unwrap_or(0)) {
        // SAFETY: the tool's array has room for `size` numbers.
        unsafe { nums.add(i).write(place as c_int) };
    }
    partition.len() as c_int
}

unsafe extern "C" fn get_proc_id() -> c_int {
    match running() {
        // SAFETY: no preconditions.
        Some(_) => unsafe { libc::sched_getcpu() },
        None => -1,
    }
}

unsafe extern "C" fn get_state(wait: *mut u64) -> c_int {
    let Some(here) = running() else { return 0 };
    let record::ThreadState { state, wait_id: id } = record::of_thread(&here.thread).state.get();
    // SAFETY: the tool's variable.
    unsafe { give(wait, id) };
    state as c_int
}

unsafe extern "C" fn get_parallel_info(level: c_int, data: *mut *mut Data, size: *mut c_int) -> c_int {
    let Some(here) = running() else { return 0 };
    let mut thread: &Thread = &here.thread;
    if level > 0 && is_between(here) || is_idle(thread) {
        return 0;
    }
    for _ in 0..level {
        match thread.team().plan().parent() {
            Some(parent) => thread = parent,
            None => return 0,
        }
    }
    // SAFETY: the tool's variables.
    unsafe {
        give(data, region_of(thread.team()));
        give(size, thread.team().size() as c_int);
    }
    2
}

/// A task that the asker stands on.
#[derive(Clone, Copy)]
struct InquiryLevel<'a> {
    task: &'a Task,
    /// In whose name it runs, or is suspended. Not asked of the task: a part of an untied one may
    /// begin elsewhere at any moment.
    thread: &'a Thread,
    /// `thread` is the asking thread, or one that has forked the regions which the asking thread is
    /// thread 0 of. For tools all these are one thread, so no other thread changes their tasks
    /// meanwhile.
    own: bool,
    /// Of the tied tasks that it has begun those that are still to come: tasks without a tie are in
    /// no order with them, and none may come twice.
    tied: usize,
}

impl InquiryLevel<'_> {
    /// The one below: what the thread goes on with when the task has ended or waits. Of an implicit
    /// task: the one that has forked the region.
    fn below(self) -> Option<Self> {
        let Self { task, thread, own, .. } = self;
        if !task.is_explicit() {
            let thread = thread.team().plan().parent()?;
            return Some(Self {
                task: task.parent()?,
                thread,
                own: own && self.thread.num() == 0,
                tied: usize::MAX,
            });
        }
        let parent = task.parent().filter(|parent| {
            record::of(task).is_some_and(|record| record.is_on_parent.get())
                || own && rests_at(parent, thread)
        });
        // SAFETY: for tools, `thread` and the asking thread are one thread. Explicit tasks of another
        // thread may end meanwhile, but not its implicit task.
        let begun = || unsafe { OwnThread::assume(thread) }.own().tied.below(task, self.tied);
        let (tied, newest) = if own { begun() } else { (0, None) };
        // SAFETY: a task that has begun and not ended is alive.
        let below = parent.unwrap_or_else(|| newest.map_or(&thread.implicit, |newest| unsafe { &*newest }));
        Some(Self { task: below, tied, ..self })
    }
}

/// Does `task` wait in the name of `thread`, which is the asker's? Then it does so until the asker
/// has gone on. Of those that are not on the thread's stack of tied ones.
fn rests_at(task: &Task, thread: &Thread) -> bool {
    task.is_explicit()
        && task.flags().has(TaskFlags::UNTIED)
        && record::of(task).is_some_and(TaskRecord::rests)
        && ptr::eq(task.thread(), thread)
}

unsafe extern "C" fn get_task_info(
    level: c_int,
    flags: *mut c_int,
    data: *mut *mut Data,
    frame: *mut *const TaskFrame,
    region: *mut *mut Data,
    num: *mut c_int,
) -> c_int {
    let Some(here) = running() else { return 0 };
    let mut found = InquiryLevel { task: here.task, thread: &here.thread, own: true, tied: usize::MAX };
    if level > 0 && is_between(here) || !here.task.is_explicit() && is_idle(&here.thread) {
        return 0;
    }
    for _ in 0..level {
        match found.below() {
            Some(next) => found = next,
            None => return 0,
        }
    }
    let task = found.task;
    // SAFETY: the tool's variables.
    unsafe {
        give(flags, flags_of(task) as c_int);
        give(data, data_of(task));
        give(frame, record::of(task).map_or(ptr::null(), |record| &raw const record.frame));
        give(region, region_of(task.team()));
        give(num, found.thread.num() as c_int);
    }
    2
}

unsafe extern "C" fn get_task_memory(address: *mut *mut c_void, size: *mut usize, block: c_int) -> c_int {
    let task = running().map(|here| here.task).filter(|task| task.is_explicit() && block == 0);
    // SAFETY: the tool's variables.
    unsafe {
        give(address, task.map_or(ptr::null_mut(), |task| task.payload().cast()));
        give(size, task.map_or(0, Task::data_size));
    }
    c_int::from(task.is_some())
}

unsafe extern "C" fn get_target_info(device: *mut u64, target: *mut u64, op: *mut u64) -> c_int {
    let around =
        running().filter(|here| !is_between(*here)).and_then(|here| record::construct_around(here.task));
    let Some(construct) = around else { return 0 };
    // SAFETY: the tool's variables.
    unsafe {
        give(device, number_of(construct.device) as u64);
        give(target, construct.data.get());
        give(op, construct.op.get());
    }
    1
}

unsafe extern "C" fn get_num_devices() -> c_int {
    offload::count() as c_int
}

/// What tools' numbers begin behind: all have as many digits, so that lines that begin with them
/// can be sorted as text, in the order in which they were given.
const BASE: u64 = 1 << 48;

unsafe extern "C" fn get_unique_id() -> u64 {
    BASE + unique_id()
}

unsafe extern "C" fn finalize_tool() {
    super::finish();
}
