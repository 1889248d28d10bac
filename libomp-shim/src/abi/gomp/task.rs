//! Tasks, taskwait, taskgroup and dependences as gcc emits them.
//!
//! What lives here: the entry points, and the arguments of gcc's tasks. What does not: taskloops
//! ([`super::taskloop`]) and reductions ([`super::task_reduction`]).

use core::ffi::{c_int, c_long, c_uint, c_void};
use core::ptr;

use ult::debug::DebugEntry;

use super::parallel::OutlinedFunction;
use omp::depend::{self, Dependence, DependenceKind};
use omp::extension::check;
use omp::extension::tools::{self, frame};
use omp::task::{self, OwnedTask, Task, TaskFlags};
use omp::thread::{CurrentThread, Thread};
use omp::{taskgraph, taskgroup};

/// Builds a task's argument block from the generating task's data.
pub type ArgumentBuilder = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);

/// Bits of the `flags` argument.
const UNTIED: c_uint = 1;
const FINAL: c_uint = 2;
const DEPEND: c_uint = 8;
const PRIORITY: c_uint = 16;
const DETACH: c_uint = 1 << 13;

/// First front word of a task: its function. Second front word: the address of its arguments.
const FUNCTION: usize = 0;
const ARGUMENTS: usize = 1;

/// The source of a task's arguments.
#[derive(Clone, Copy)]
pub struct TaskArguments {
    /// The generating task's data.
    pub data: *mut c_void,
    /// Builds the block; without this function the block is a plain copy.
    pub copy: Option<ArgumentBuilder>,
    /// Size of the block in bytes.
    pub size: usize,
    /// Alignment of the block in bytes.
    pub align: usize,
}

unsafe fn run(_: &Thread, task: &Task, discarded: bool) -> bool {
    if discarded && !task.flags().has(TaskFlags::CONSTRUCTED) {
        return true;
    }
    // SAFETY: `create` stored a function and its arguments.
    unsafe {
        call(task, task.front[FUNCTION].get(), task.front[ARGUMENTS].get() as *mut c_void);
    }
    true
}

/// Calls the function at the address `function` as the code of `task`.
///
/// # Safety
/// `function` is the compiler's function, and `data` its data.
#[inline(always)]
unsafe fn call(task: &Task, function: usize, data: *mut c_void) {
    // SAFETY: as the caller promises.
    unsafe {
        match tools::task::exit_frame(task) {
            Some(exit) => _ = frame::call(function as *const (), data as usize, 0, exit),
            None => core::mem::transmute::<usize, OutlinedFunction>(function)(data),
        }
    }
}

/// Entries for the debugger ([`ult::debug`]): the function that runs this front's tasks, and the
/// front word that has the code.
pub const ENTRIES: [DebugEntry; 2] =
    [DebugEntry::address("gomp.run", run as *const ()), DebugEntry::number("gomp.function", FUNCTION)];

/// Returns the properties that a `flags` argument names.
pub fn properties(flags: c_uint) -> TaskFlags {
    TaskFlags::default()
        .with_if(flags & UNTIED != 0, TaskFlags::UNTIED)
        .with_if(flags & FINAL != 0, TaskFlags::FINAL)
        .with_if(flags & DETACH != 0, TaskFlags::DETACH)
}

/// Allocates a task that runs `function` on a block built from `arguments`.
///
/// # Safety
/// `function` and `arguments` come from the compiler.
pub unsafe fn create(
    here: CurrentThread,
    function: OutlinedFunction,
    arguments: TaskArguments,
    flags: TaskFlags,
) -> OwnedTask {
    let align = arguments.align.max(1);
    let slack = if align > align_of::<Task>() { align } else { 0 };
    let task = Task::generate(here, arguments.size.saturating_add(slack), run, flags);
    // SAFETY: the payload has room for the block at that alignment.
    unsafe {
        let block = task.payload().map_addr(|a| a.wrapping_add(align - 1) & !(align - 1));
        match arguments.copy {
            Some(copy) => copy(block.cast(), arguments.data),
            None if copies_bytes() => {
                ptr::copy_nonoverlapping(arguments.data.cast(), block, arguments.size);
            }
            None => block.write_bytes(0, arguments.size),
        }
        set_code(&task, function, data_of_task(block.cast(), arguments.data));
    }
    task
}

ult::seam! {
    /// Without a copy function, the task's block is a byte copy of the generating task's data.
    fn copies_bytes() -> bool {
        true
    } or firstprivate_not_copied {
        false
    }
}

ult::seam! {
    /// What the task works on: its own `block`, and not the data of the `generating` task.
    fn data_of_task(block: *mut c_void, generating: *mut c_void) -> *mut c_void {
        block
    } or firstprivate_copied_late {
        generating
    }
}

fn set_code(task: &Task, function: OutlinedFunction, block: *mut c_void) {
    task.front[FUNCTION].set(function as usize);
    task.front[ARGUMENTS].set(block as usize);
    tools::task::note_source(task, ptr::null(), function as usize);
}

/// Returns the argument block of a task that [`create`] made.
pub fn block_of(task: &Task) -> *mut c_void {
    task.front[ARGUMENTS].get() as *mut c_void
}

/// Makes a task that is run at once. It works on the generating task's own data, if the compiler
/// allows that.
///
/// # Safety
/// As [`create`].
pub unsafe fn create_undeferred(
    here: CurrentThread,
    function: OutlinedFunction,
    arguments: TaskArguments,
    flags: TaskFlags,
) -> OwnedTask {
    if arguments.copy.is_some() {
        // SAFETY: as for this function.
        return unsafe { create(here, function, arguments, flags) };
    }
    let notified = tools::task::is_wanted(here);
    let task = if notified {
        Task::included::<true>(here, run, flags)
    } else {
        Task::included::<false>(here, run, flags)
    };
    set_code(&task, function, arguments.data);
    task
}

ult::seam! {
    /// May the task be deferred, as far as the value of its `if` clause says?
    fn may_defer(condition: bool) -> bool {
        condition
    } or if_0_deferred {
        true
    }
}

/// `task`.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the ABI's arguments")]
pub unsafe extern "C-unwind" fn GOMP_task(
    function: OutlinedFunction,
    data: *mut c_void,
    copy: Option<ArgumentBuilder>,
    size: c_long,
    align: c_long,
    deferred: bool,
    flags: c_uint,
    depend: *mut *mut c_void,
    priority: c_int,
    detach: *mut c_void,
) {
    let here = CurrentThread::get();
    let deferred = may_defer(deferred) && !here.task.flags().has(TaskFlags::FINAL);
    let properties = properties(flags).with_if(!deferred, TaskFlags::UNDEFERRED);
    let priority = if flags & PRIORITY != 0 { priority } else { 0 };
    let records = here.task.flags().has(TaskFlags::RECORDS);
    let now =
        !deferred || task::is_included(here) || !records && task::has_enough(here, properties, priority);
    if now && copy.is_none() && flags & !UNTIED == 0 {
        // The common case of tasks that are run at once. The rest of this function would have the
        // same effect.
        // SAFETY: as for this function.
        return unsafe { run_on_own_data(here, function, data, properties, ptr::null_mut()) };
    }
    let properties = properties.with_if(copy.is_some(), TaskFlags::CONSTRUCTED);
    let depend = if flags & DEPEND != 0 { depend } else { ptr::null_mut() };
    // A task that is run here and now can work on the generating task's data. A task with
    // dependences may have to be deferred even in a team of one thread, because of an event.
    // SAFETY: as for this function.
    unsafe {
        let now = now
            && flags & DETACH == 0
            && !records
            && (depend.is_null() || depend::is_satisfied(here, items(depend)));
        if now && copy.is_none() && priority == 0 {
            return run_on_own_data(here, function, data, properties, depend);
        }
        let arguments = TaskArguments { data, copy, size: size as usize, align: align as usize };
        match now {
            true => run_copy(here, function, arguments, properties, depend, priority),
            false => {
                let clauses = LaunchClauses { deferred, flags, depend, priority, detach };
                launch_new(here, function, arguments, properties, clauses)
            }
        }
    }
}

/// Runs a task at once that works on the generating task's own data. `depend` is for tools.
///
/// # Safety
/// As [`create`]; the compiler has passed no function that copies the data. `depend` is null or the
/// compiler's array.
#[inline(never)]
pub unsafe fn run_on_own_data(
    here: CurrentThread,
    function: OutlinedFunction,
    data: *mut c_void,
    flags: TaskFlags,
    depend: *mut *mut c_void,
) {
    if tools::task::is_heard_of(here) {
        // SAFETY: as the caller promises.
        return unsafe { run_on_own_data_reported(here, function, data, flags, depend) };
    }
    let task = Task::included::<false>(here, run, flags);
    // SAFETY: the compiler's function is called on its data.
    task::run_included::<false>(here, task, || unsafe { function(data) });
}

/// [`run_on_own_data`] if a tool is attached.
///
/// # Safety
/// As [`run_on_own_data`].
#[cold]
#[inline(never)]
unsafe fn run_on_own_data_reported(
    here: CurrentThread,
    function: OutlinedFunction,
    data: *mut c_void,
    flags: TaskFlags,
    depend: *mut *mut c_void,
) {
    if !tools::task::is_wanted(here) {
        // This task is left out, but not the task that runs it.
        let task = Task::included::<false>(here, run, flags);
        tools::task::created(here, &task, true);
        // SAFETY: the compiler's function is called on its data.
        return task::run_included::<true>(here, task, || unsafe { function(data) });
    }
    let task = Task::included::<true>(here, run, flags);
    tools::task::note_source(&task, ptr::null(), function as usize);
    // SAFETY: `depend` is the compiler's array.
    unsafe { notify(here, &task, true, depend) };
    // SAFETY: the compiler's function is called on its data, by the task that is the running one.
    let body = || unsafe { call(CurrentThread::get().task, function as usize, data) };
    task::run_included::<true>(here, task, body);
    tools::task::made(here);
}

/// Runs a task at once for which the compiler has passed a function that builds its block, or that
/// has a priority. Work that the task gives to a device has the same priority.
///
/// # Safety
/// As [`create`].
#[inline(never)]
unsafe fn run_copy(
    here: CurrentThread,
    function: OutlinedFunction,
    arguments: TaskArguments,
    flags: TaskFlags,
    depend: *mut *mut c_void,
    priority: c_int,
) {
    // SAFETY: as the caller promises.
    let task = unsafe { create(here, function, arguments, flags) };
    task.set_priority(priority);
    if tools::is_on() {
        // SAFETY: `depend` is the compiler's array.
        unsafe { notify(here, &task, true, depend) };
    }
    task::run_at_once(here, task);
    tools::task::made(here);
}

/// What [`launch_new`] takes from the clauses of the construct.
struct LaunchClauses {
    /// May the task be deferred?
    deferred: bool,
    /// The `flags` argument of [`GOMP_task`].
    flags: c_uint,
    /// The compiler's array of dependences, or null.
    depend: *mut *mut c_void,
    /// The priority; 0 if the clause is absent.
    priority: c_int,
    /// The address for the event handle. Undefined unless `flags` has [`DETACH`].
    detach: *mut c_void,
}

/// Makes and launches the task of [`GOMP_task`] if it is not run at once there.
///
/// # Safety
/// As [`GOMP_task`].
#[inline(never)]
unsafe fn launch_new(
    here: CurrentThread,
    function: OutlinedFunction,
    arguments: TaskArguments,
    properties: TaskFlags,
    clauses: LaunchClauses,
) {
    let LaunchClauses { deferred, flags, depend, priority, detach } = clauses;
    // Compilers before gcc 11 do not pass the last argument; the value in its place is undefined.
    let detach = if flags & DETACH != 0 { detach } else { ptr::null_mut() };
    // SAFETY: as for this function.
    unsafe {
        let task = if detach.is_null() {
            create(here, function, arguments, properties)
        } else {
            create_detachable(here, function, arguments, properties, detach)
        };
        if priority != 0 {
            task.set_priority(priority);
        }
        if arguments.align > align_of::<Task>() && here.task.flags().has(TaskFlags::RECORDS) {
            taskgraph::spoil(here.task); // copies of the task would not have this alignment
        }
        launch(here, task, deferred, depend);
    }
}

/// Makes a detachable task. The event handle is the task's address. It is written to the address in
/// `detach`, and into the first word of the data before the data are copied.
///
/// # Safety
/// As [`create`]; `detach` points to a handle.
unsafe fn create_detachable(
    here: CurrentThread,
    function: OutlinedFunction,
    arguments: TaskArguments,
    flags: TaskFlags,
    detach: *mut c_void,
) -> OwnedTask {
    let align = arguments.align.max(1);
    let slack = if align > align_of::<Task>() { align } else { 0 };
    let task = Task::generate(here, arguments.size.saturating_add(slack), run, flags);
    // SAFETY: as for this function; the payload has room for the block.
    unsafe {
        detach.cast::<*mut Task>().write(task.pointer().as_ptr());
        if !arguments.data.is_null() {
            arguments.data.cast::<*mut Task>().write(task.pointer().as_ptr());
        }
        let block = task.payload().map_addr(|a| a.next_multiple_of(align));
        match arguments.copy {
            Some(copy) => copy(block.cast(), arguments.data),
            None => ptr::copy_nonoverlapping(arguments.data.cast(), block, arguments.size),
        }
        set_code(&task, function, block.cast());
    }
    check::event_made(task.pointer(), ptr::null());
    task
}

/// Submits a task, or runs it at once, after its dependences are satisfied.
///
/// # Safety
/// `depend` is null or the compiler's array; the task is fresh.
unsafe fn launch(here: CurrentThread, task: OwnedTask, deferred: bool, depend: *mut *mut c_void) {
    // SAFETY: as for this function.
    unsafe {
        notify(here, &task, !deferred, depend);
        write_down(here, &task, deferred, depend);
    }
    match (deferred, depend.is_null()) {
        // Tasks that could be run at once have been run, except detachable ones.
        (true, true) if task.flags().has(TaskFlags::DETACH) => task::submit(here, task),
        (true, true) => task::defer(here, task),
        // SAFETY: `depend` is the compiler's array.
        (true, false) => depend::submit(here, task, unsafe { items(depend) }),
        (false, no_depend) => {
            if !no_depend {
                // SAFETY: `depend` is the compiler's array.
                depend::wait_to_run(here, &task, unsafe { items(depend) });
            }
            task::run_at_once(here, task);
        }
    }
    tools::task::made(here);
}

/// Records a task, if a graph is being recorded.
///
/// # Safety
/// As [`launch`].
#[inline(always)]
unsafe fn write_down(here: CurrentThread, task: &Task, deferred: bool, depend: *mut *mut c_void) {
    let is_fit = deferred && task.front[ARGUMENTS].get() == task.payload() as usize;
    if depend.is_null() {
        taskgraph::record(here, task, is_fit, relocate, core::iter::empty());
    } else {
        // SAFETY: `depend` is the compiler's array.
        taskgraph::record(here, task, is_fit, relocate, unsafe { items(depend) });
    }
}

/// Corrects the address of the argument block in a copy of a task, see [`taskgraph::Relocate`].
unsafe fn relocate(copy: &Task, _: usize, _: usize) {
    copy.front[ARGUMENTS].set(copy.payload() as usize);
}

/// Notifies tools of a new task.
///
/// # Safety
/// `depend` is null or the compiler's array.
pub(super) unsafe fn notify(here: CurrentThread, task: &Task, at_once: bool, depend: *mut *mut c_void) {
    if depend.is_null() {
        tools::task::created(here, task, at_once);
    } else {
        // SAFETY: as the caller promises.
        tools::task::created_with(here, task, at_once, unsafe { items(depend) });
    }
}

/// Reads the compiler's dependence array, in either of its two formats.
///
/// Both formats begin with numbers of items. The first format has the number of all items and of
/// `out`. The second has a zero, then the numbers of all items, `out`, `mutexinoutset` and `in`;
/// its other items are dependence objects.
///
/// # Safety
/// `array` is such an array.
pub unsafe fn items(array: *mut *mut c_void) -> impl Iterator<Item = Dependence> + Clone {
    // SAFETY: the array has the header words, and as many addresses as they say.
    let word = move |i: usize| unsafe { *array.add(i) } as usize;
    let (first, total, out, mutex) =
        if word(0) != 0 { (2, word(0), word(1), word(1)) } else { (5, word(1), word(2), word(2) + word(3)) };
    let input = if word(0) != 0 { total } else { mutex + word(4) };
    (0..total).map(move |i| {
        let kind = match i {
            i if i < out => DependenceKind::Out,
            i if i < mutex => DependenceKind::MutexInOutSet,
            i if i < input => DependenceKind::In,
            // SAFETY: such an item is the address of a dependence object.
            _ => return unsafe { depend_object(word(first + i) as *const usize) },
        };
        Dependence { address: Some(word(first + i)).filter(|&a| a != 0), kind }
    })
}

/// Reads an `omp_depend_t`: an address and a kind.
///
/// # Safety
/// `object` points to an initialised dependence object of GCC.
unsafe fn depend_object(object: *const usize) -> Dependence {
    // SAFETY: as the caller promises.
    let (address, kind) = unsafe { (*object, *object.add(1)) };
    let kind = match kind {
        1 => DependenceKind::In,
        4 => DependenceKind::MutexInOutSet,
        5 => DependenceKind::InOutSet,
        _ => DependenceKind::Out,
    };
    Dependence { address: Some(address).filter(|&a| a != 0), kind }
}

/// `taskwait`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_taskwait() {
    task::taskwait(CurrentThread::get());
}

/// `taskwait depend(…)`.
///
/// # Safety
/// `depend` is the compiler's array.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_taskwait_depend(depend: *mut *mut c_void) {
    // SAFETY: as for this function.
    depend::wait_for(CurrentThread::get(), unsafe { items(depend) });
}

/// `taskwait depend(…) nowait`: a task without code that carries the dependences.
///
/// # Safety
/// `depend` is the compiler's array.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_taskwait_depend_nowait(depend: *mut *mut c_void) {
    unsafe extern "C-unwind" fn nothing(_: *mut c_void) {}
    let here = CurrentThread::get();
    let arguments = TaskArguments { data: ptr::null_mut(), copy: None, size: 0, align: 1 };
    // SAFETY: a task without arguments; the array is the compiler's.
    unsafe {
        let task = create_undeferred(here, nothing, arguments, TaskFlags::default());
        notify(here, &task, false, depend);
        depend::submit(here, task, items(depend));
        tools::task::made(here);
    }
}

/// `taskyield`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_taskyield() {
    task::taskyield(CurrentThread::get());
}

/// `taskgroup` begins.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskgroup_start() {
    super::task_reduction::start_group(CurrentThread::get());
}

/// `taskgroup` ends. GCC's code combines reductions itself, afterwards.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_taskgroup_end() {
    taskgroup::end(CurrentThread::get(), |_| {});
}
