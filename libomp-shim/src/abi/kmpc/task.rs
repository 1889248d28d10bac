//! Tasks, taskwait, taskgroup and dependences as clang emits them.
//!
//! What lives here: the entry points, and the payload of clang's tasks. What does not: taskloops
//! ([`super::taskloop`]) and reductions ([`super::task_reduction`]).

use core::ffi::{c_int, c_void};
use core::ptr::{self, NonNull};

use ult::debug::DebugEntry;
use ult::watch;

use super::parallel::{Location, note_task};
use omp::affinity::hint;
use omp::agents;
use omp::depend::{self, Dependence, DependenceKind};
use omp::extension::check;
use omp::extension::tools::{self, frame};
use omp::task::{self, OwnedTask, Task, TaskFlags};
use omp::thread::{CurrentThread, Thread};
use omp::{taskgraph, taskgroup};

/// `kmp_task_t`: what the compiler knows about a task. The task's private variables follow.
#[repr(C)]
pub struct KmpTask {
    /// The captured variables, behind the private variables.
    pub shareds: *mut c_void,
    /// The outlined function.
    pub routine: Option<TaskRoutine>,
    /// The part of an untied task that runs next; the compiled code maintains it.
    pub part: i32,
    /// With `destructors`: destroys the private variables when the task has ended.
    pub destructors: Option<TaskRoutine>,
    /// With `priority`: the priority, an i32.
    pub priority: i32,
}

/// An outlined task function: `(gtid, task)`.
pub type TaskRoutine = unsafe extern "C-unwind" fn(c_int, *mut KmpTask) -> c_int;

/// `kmp_depend_info`: one item of a `depend` clause.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct DependInfo {
    base: usize,
    length: usize,
    flags: u8,
}

const _: () = assert!(size_of::<KmpTask>() == 40 && size_of::<DependInfo>() == 24);

/// The task is tied, in the compiler's flags.
pub const TIED: i32 = 1;
const FINAL: i32 = 2;
const DESTRUCTORS: i32 = 8;
const PROXY: i32 = 16;
const PRIORITY: i32 = 32;
const DETACHABLE: i32 = 64;
/// The task has `threadset(omp_pool)`; clang 22 passes this flag.
const POOL: i32 = 128;

/// First front word of a task: the flags that the compiler passed. Second front word: its state.
const FLAGS: usize = 0;
/// State: the task has been submitted. Another submission queues the next part of an untied task.
const STATE: usize = 1;
const SUBMITTED: usize = 1;
const NEXT_PART: usize = 2;

/// Returns the task whose `kmp_task_t` this is.
///
/// # Safety
/// `task` came from [`__kmpc_omp_task_alloc`], and the task is alive while the result is used.
pub unsafe fn record_of<'a>(task: *mut KmpTask) -> &'a Task {
    // SAFETY: the kmp_task_t is the payload.
    unsafe { Task::of_payload(task.cast()) }
}

/// [`record_of`] for a task that the caller has to itself.
///
/// # Safety
/// `task` came from [`__kmpc_omp_task_alloc`] and has not been submitted.
pub unsafe fn task_of(task: *mut KmpTask) -> OwnedTask {
    // SAFETY: as the caller promises.
    unsafe { OwnedTask::assume(NonNull::from(record_of(task))) }
}

/// Runs a task, or the next part of an untied task. Returns false if another part is to follow. For
/// a discarded task, this only destroys the private variables.
unsafe fn run(thread: &Thread, task: &Task, discarded: bool) -> bool {
    let kmp = task.payload().cast::<KmpTask>();
    // SAFETY: the compiler's routine is called on its own task.
    unsafe {
        if let Some(routine) = (*kmp).routine.filter(|_| !discarded) {
            match tools::task::exit_frame(task) {
                Some(exit) => {
                    _ = frame::call(routine as *const (), thread.gtid.get() as usize, kmp as usize, exit)
                }
                None => _ = routine(thread.gtid.get(), kmp),
            }
        }
        part_done(thread, task)
    }
}

/// Entries for the debugger ([`ult::debug`]): the function that runs this front's tasks, and the
/// offset of the routine in the payload.
pub const ENTRIES: [DebugEntry; 2] = [
    DebugEntry::address("kmpc.run", run as *const ()),
    DebugEntry::number("kmpc.routine", core::mem::offset_of!(KmpTask, routine)),
];

/// Ends a call of the compiler's routine. Returns true if the task has ended, and false if it has
/// asked for another part.
///
/// # Safety
/// `task` is a task of this front that runs in the name of `thread`.
unsafe fn part_done(thread: &Thread, task: &Task) -> bool {
    if task.flags().has(TaskFlags::UNTIED) && task.front[STATE].get() & NEXT_PART != 0 {
        task.front[STATE].set(SUBMITTED);
        return false;
    }
    let kmp = task.payload().cast::<KmpTask>();
    // SAFETY: the payload is a kmp_task_t, and the destructors are the compiler's.
    unsafe {
        if task.front[FLAGS].get() as i32 & DESTRUCTORS != 0
            && let Some(destroy) = (*kmp).destructors
        {
            destroy(thread.gtid.get(), kmp);
        }
    }
    true
}

/// Allocates a task: `size` bytes of `kmp_task_t` with privates, then `shareds` bytes.
#[unsafe(no_mangle)]
#[allow(clippy::not_unsafe_ptr_arg_deref, reason = "called by compiled code, with its own location")]
pub extern "C" fn __kmpc_omp_task_alloc(
    location: Location,
    _gtid: c_int,
    flags: c_int,
    size: usize,
    shareds: usize,
    routine: Option<TaskRoutine>,
) -> *mut KmpTask {
    if flags & POOL != 0 {
        allocate_for_agents(location, flags, size, shareds, routine)
    } else {
        allocate(location, flags, size, shareds, routine)
    }
}

/// [`__kmpc_omp_task_alloc`] with `threadset(omp_pool)`.
#[cold]
#[inline(never)]
fn allocate_for_agents(
    location: Location,
    flags: c_int,
    size: usize,
    shareds: usize,
    routine: Option<TaskRoutine>,
) -> *mut KmpTask {
    let made = allocate(location, flags, size, shareds, routine);
    // SAFETY: the task was made here.
    agents::open(CurrentThread::get(), unsafe { record_of(made) });
    made
}

#[inline(always)]
fn allocate(
    location: Location,
    flags: c_int,
    size: usize,
    shareds: usize,
    routine: Option<TaskRoutine>,
) -> *mut KmpTask {
    let here = CurrentThread::get();
    // A sum that does not fit is larger than all memory.
    let offset = size.checked_next_multiple_of(16).unwrap_or(usize::MAX);
    let properties = TaskFlags::default()
        .with_if(flags & TIED == 0, TaskFlags::UNTIED.with(TaskFlags::IN_PARTS))
        .with_if(flags & FINAL != 0, TaskFlags::FINAL)
        .with_if(flags & (DETACHABLE | PROXY) != 0, TaskFlags::DETACH);
    let task = Task::generate(here, offset.saturating_add(shareds), run, properties);
    // SAFETY: the task is fresh, and its payload is large enough.
    unsafe {
        task.front[FLAGS].set(flags as usize);
        let kmp = task.payload().cast::<KmpTask>();
        kmp.write(KmpTask {
            shareds: if shareds == 0 { ptr::null_mut() } else { task.payload().add(offset).cast() },
            routine,
            part: 0,
            destructors: None,
            priority: 0,
        });
        note_task(location, &task, routine.map_or(0, |routine| routine as usize));
        kmp
    }
}

/// Returns the code of a task of this front (0 for none), or `None` for a task of another front.
pub fn entry(task: &Task) -> Option<usize> {
    let ours = task.runs(run);
    // SAFETY: the payload is a kmp_task_t.
    ours.then(|| unsafe { (*task.payload().cast::<KmpTask>()).routine }.map_or(0, |routine| routine as usize))
}

/// Reads the values that the compiler stored in the task after its allocation.
fn prepare(task: &Task) {
    if task.front[FLAGS].get() as i32 & PRIORITY != 0 {
        // SAFETY: the payload is a kmp_task_t.
        task.set_priority(unsafe { (*task.payload().cast::<KmpTask>()).priority });
    }
    task.front[STATE].set(SUBMITTED);
}

/// Submits a task. Called from inside an untied task, submits its next part.
///
/// # Safety
/// `task` came from [`__kmpc_omp_task_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_omp_task(_: Location, _gtid: c_int, task: *mut KmpTask) -> c_int {
    // SAFETY: the task is alive: not submitted, or running here.
    let known = unsafe { record_of(task) };
    if known.front[STATE].get() & SUBMITTED != 0 {
        known.front[STATE].set(SUBMITTED | NEXT_PART);
        return 0;
    }
    // SAFETY: as for this function; it has not been submitted.
    let task = unsafe { task_of(task) };
    prepare(&task);
    let here = CurrentThread::get();
    taskgraph::record(here, &task, is_plain(&task), relocate, core::iter::empty());
    if watch::any_watcher() {
        submit_watched(here, task)
    } else {
        submit_unwatched(here, task);
    }
    0
}

/// [`task::submit`] if no tool or sanitizer watches.
#[inline(always)]
fn submit_unwatched(here: CurrentThread, task: OwnedTask) {
    const WAYS_OF_THEIR_OWN: TaskFlags =
        TaskFlags::UNTIED.with(TaskFlags::DETACH).with(TaskFlags::LOOKS).with(TaskFlags::POOL);
    let (flags, priority) = (task.flags(), task.priority());
    if !task::includes(here, flags) && !task::has_enough(here, flags, priority) {
        task::defer_as::<false>(here, task);
        task::set_off(here, flags);
    } else if flags.has_any(WAYS_OF_THEIR_OWN) {
        task::run_at_once(here, task);
    } else {
        let kmp = task.payload().cast::<KmpTask>();
        task::run_unwatched(here, task, |discarded| {
            // SAFETY: the compiler's routine is called on its own task, which lives until its end.
            unsafe {
                if let Some(routine) = (*kmp).routine.filter(|_| !discarded) {
                    _ = routine(here.thread.gtid.get(), kmp);
                }
                part_done(&here.thread, record_of(kmp));
            }
        });
    }
}

#[cold]
#[inline(never)]
fn submit_watched(here: CurrentThread, task: OwnedTask) {
    tools::task::created(here, &task, false);
    task::submit(here, task);
    tools::task::made(here);
}

/// [`__kmpc_omp_task`] under the name that compilers use for parts of untied tasks.
///
/// # Safety
/// As [`__kmpc_omp_task`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_omp_task_parts(
    location: Location,
    gtid: c_int,
    task: *mut KmpTask,
) -> c_int {
    // SAFETY: as for this function.
    unsafe { __kmpc_omp_task(location, gtid, task) }
}

/// Runs a task at once, to its end, before the caller continues.
///
/// # Safety
/// As [`__kmpc_omp_task`].
pub unsafe fn run_at_once(here: CurrentThread, task: *mut KmpTask) {
    // SAFETY: as for this function; the task is not shared yet.
    let task = unsafe { task_of(task) };
    prepare(&task);
    tools::task::created(here, &task, true);
    task::run_at_once(here, task);
    tools::task::made(here);
}

/// Returns the items of a compiler's dependence list.
///
/// # Safety
/// `list` points to `count` items, or `count` is 0.
pub unsafe fn items(list: *const DependInfo, count: c_int) -> impl Iterator<Item = Dependence> + Clone {
    let count = if list.is_null() { 0 } else { count.max(0) as usize };
    // SAFETY: as the caller promises; a null list is replaced by an empty one.
    let list = if count == 0 { &[] } else { unsafe { core::slice::from_raw_parts(list, count) } };
    list.iter().map(|item| item.decode())
}

impl DependInfo {
    fn decode(self) -> Dependence {
        // `omp_all_memory` is a flag, or an address that no object has.
        let all_memory = self.flags & 0x80 != 0 || self.base == usize::MAX;
        Dependence {
            address: (!all_memory).then_some(self.base),
            kind: kind(self.flags & 0xF).unwrap_or(DependenceKind::Out),
        }
    }
}

/// Returns the kind for which a number stands.
pub fn kind(number: u8) -> Option<DependenceKind> {
    match number {
        1 => Some(DependenceKind::In),
        2 | 3 => Some(DependenceKind::Out),
        4 => Some(DependenceKind::MutexInOutSet),
        8 => Some(DependenceKind::InOutSet),
        _ => None,
    }
}

/// Submits a task with dependences.
///
/// # Safety
/// As [`__kmpc_omp_task`]; both lists have as many items as their counts say.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_omp_task_with_deps(
    location: Location,
    gtid: c_int,
    task: *mut KmpTask,
    count: c_int,
    list: *const DependInfo,
    count_noalias: c_int,
    noalias: *const DependInfo,
) -> c_int {
    let here = CurrentThread::get();
    if count <= 0 && count_noalias <= 0 {
        // SAFETY: as for this function.
        return unsafe { __kmpc_omp_task(location, gtid, task) };
    }
    // SAFETY: as for this function.
    unsafe {
        let task = task_of(task);
        prepare(&task);
        tools::task::created_with(
            here,
            &task,
            false,
            items(list, count).chain(items(noalias, count_noalias)),
        );
        let all = items(list, count).chain(items(noalias, count_noalias));
        taskgraph::record(here, &task, is_plain(&task), relocate, all.clone());
        depend::submit(here, task, all);
        tools::task::made(here);
    }
    0
}

/// Returns true if the data of a task may be copied: they have no destructors.
fn is_plain(task: &Task) -> bool {
    task.front[FLAGS].get() as i32 & DESTRUCTORS == 0
}

/// Corrects the address of the captured variables in a copy of a task's data, see
/// [`taskgraph::Relocate`].
unsafe fn relocate(copy: &Task, from: usize, bytes: usize) {
    let kmp = copy.payload().cast::<KmpTask>();
    // SAFETY: the payload is a kmp_task_t.
    let shareds = unsafe { &mut (*kmp).shareds };
    let offset = (*shareds as usize).wrapping_sub(from);
    if !shareds.is_null() && offset < bytes {
        *shareds = copy.payload().wrapping_add(offset).cast();
    }
}

/// Waits for the dependences of an undeferred task, or of a `taskwait`. The compiler's next call
/// begins the undeferred task. Only an undeferred task may name `mutexinoutset` (5.2 §15.5); it
/// begins with the mutexes held.
///
/// # Safety
/// Both lists have as many items as their counts say.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_omp_wait_deps(
    _: Location,
    _gtid: c_int,
    count: c_int,
    list: *const DependInfo,
    count_noalias: c_int,
    noalias: *const DependInfo,
) {
    let here = CurrentThread::get();
    // SAFETY: as for this function.
    let node =
        depend::wait_and_hold(here, unsafe { items(list, count).chain(items(noalias, count_noalias)) });
    let unused = here.thread.own().undeferred_node.replace(node);
    if let Some(unused) = unused {
        depend::leave(here, unused);
    }
}

/// `taskwait depend(…) [nowait]`. With `nowait` the wait is a task without code: such a task enters
/// the dependences, and completes in their order.
///
/// # Safety
/// Both lists have as many items as their counts say.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_omp_taskwait_deps_51(
    location: Location,
    gtid: c_int,
    count: c_int,
    list: *const DependInfo,
    count_noalias: c_int,
    noalias: *const DependInfo,
    nowait: c_int,
) {
    if nowait == 0 {
        // SAFETY: as for this function.
        return unsafe { __kmpc_omp_wait_deps(location, gtid, count, list, count_noalias, noalias) };
    }
    let empty = __kmpc_omp_task_alloc(location, gtid, TIED, size_of::<KmpTask>(), 0, None);
    // SAFETY: the task is fresh; the lists are the caller's.
    unsafe { __kmpc_omp_task_with_deps(location, gtid, empty, count, list, count_noalias, noalias) };
}

/// Begins an undeferred task. Between this call and the completion the compiler's code calls the
/// task's function.
///
/// # Safety
/// As [`__kmpc_omp_task`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_omp_task_begin_if0(_: Location, _gtid: c_int, task: *mut KmpTask) {
    let here = CurrentThread::get();
    // SAFETY: as for this function.
    let task = unsafe { record_of(task) };
    prepare(task);
    task.set_flags(task.flags().with(TaskFlags::UNDEFERRED)); // the creator continues only after the end of the task
    if let Some(node) = here.thread.own().undeferred_node.take() {
        task.set_node(node);
    }
    if task.flags().has(TaskFlags::DETACH) {
        task::announce(here, task);
    }
    tools::task::created(here, task, true);
    tools::task::begun(&here.thread, task);
    task::begin(here.thread, task);
    task.inherits_stack_base(here.task);
    tools::task::called_by_program(task);
    // SAFETY: the task is alive until its completion, which restores the running task.
    unsafe { CurrentThread::set(&here.thread, task) };
}

/// Completes an undeferred task.
///
/// # Safety
/// The task is the running one, and [`__kmpc_omp_task_begin_if0`] began it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_omp_task_complete_if0(_: Location, _gtid: c_int, task: *mut KmpTask) {
    let here = CurrentThread::get();
    // SAFETY: as for this function; the task is alive until its end below.
    let task_ref = unsafe { record_of(task) };
    // The compiler's code calls the function once. The other parts of an untied task run here,
    // before the generating task continues. So do the destructors of the private variables.
    // SAFETY: as for this function.
    unsafe {
        let mut ended = part_done(&here.thread, task_ref);
        while !ended {
            ended = run(&here.thread, task_ref, false);
        }
    }
    task::end(here.thread, task_ref);
    task::notify_end(here.thread, task_ref);
    if let Some(generating) = task_ref.parent() {
        // SAFETY: the generating task is suspended in this construct on the same thread.
        unsafe { CurrentThread::set(&here.thread, generating) };
    }
    // SAFETY: the body has ended, and this is called once.
    unsafe {
        if task_ref.flags().has(TaskFlags::DETACH) {
            task::body_done(here.thread, NonNull::from(task_ref));
        } else {
            task::end_included(here.thread, NonNull::from(task_ref));
        }
    }
    if tools::is_on() {
        tools::task::made(CurrentThread::get());
    }
}

/// `taskwait`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_omp_taskwait(_: Location, _gtid: c_int) -> c_int {
    task::taskwait(CurrentThread::get());
    0
}

/// `taskyield`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_omp_taskyield(_: Location, _gtid: c_int, _end_part: c_int) -> c_int {
    task::taskyield(CurrentThread::get());
    0
}

/// `taskgroup` begins.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_taskgroup(_: Location, _gtid: c_int) {
    taskgroup::start(CurrentThread::get());
}

/// `taskgroup` ends.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_end_taskgroup(_: Location, _gtid: c_int) {
    super::task_reduction::end_taskgroup(CurrentThread::get());
}

/// Makes the event of a detachable task: the task itself, opaque to the program.
///
/// # Safety
/// As [`__kmpc_omp_task`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_task_allow_completion_event(
    location: Location,
    _gtid: c_int,
    task: *mut KmpTask,
) -> *mut c_void {
    // SAFETY: as for this function.
    let task = NonNull::from(unsafe { record_of(task) });
    check::event_made(task, location);
    task.as_ptr().cast()
}

/// `kmp_task_affinity_info_t`: one item of an `affinity` clause.
#[repr(C)]
pub struct AffinityInfo {
    base: usize,
    length: usize,
    flags: i32,
}

const _: () = assert!(size_of::<AffinityInfo>() == 24);

/// Handles the `affinity` clause of a task that is about to be submitted, see [`hint`].
///
/// # Safety
/// As [`__kmpc_omp_task`]; `list` has `count` items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_omp_reg_task_with_affinity(
    _: Location,
    _gtid: c_int,
    task: *mut KmpTask,
    count: c_int,
    list: *const AffinityInfo,
) -> c_int {
    let Ok(count) = usize::try_from(count) else { return 0 };
    // SAFETY: as for this function; an empty list may be null.
    let items = if list.is_null() { &[] } else { unsafe { core::slice::from_raw_parts(list, count) } };
    if let Some(item) = items.iter().rev().max_by_key(|item| item.length) {
        // SAFETY: as for this function.
        hint::name(CurrentThread::get().team(), unsafe { record_of(task) }, item.base);
    }
    0
}

/// Returns a number that distinguishes task regions.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_get_taskid() -> u64 {
    CurrentThread::if_known().map_or(0, |h| ptr::from_ref(h.task) as u64)
}

/// Returns the number of the generating task's region.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_get_parent_taskid() -> u64 {
    CurrentThread::if_known().and_then(|h| h.task.parent()).map_or(0, |p| ptr::from_ref(p) as u64)
}

/// Returns true if the thread's team has used tasks.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_omp_has_task_team(_gtid: c_int) -> bool {
    CurrentThread::get().team().has_used_tasks()
}
