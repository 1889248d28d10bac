//! Tasks, taskwait, taskgroup and dependences as gcc emits them. Taskloops are in [`super::taskloop`], reductions in
//! [`super::task_reduction`].

use core::ffi::{c_int, c_long, c_uint, c_void};
use core::ptr::{self, NonNull};

use super::parallel::Function;
use crate::omp::depend::{self, Dependence, Kind};
use crate::omp::task::{self, Flags, Task};
use crate::omp::taskgroup;
use crate::omp::thread::{Here, Thread};

/// Builds a task's argument block from the generating task's data.
pub type Copy = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);

/// Bits of the `flags` argument.
const UNTIED: c_uint = 1;
const FINAL: c_uint = 2;
const DEPEND: c_uint = 8;
const PRIORITY: c_uint = 16;
const DETACH: c_uint = 1 << 13;

/// First front word of a task: its function. Second: the address of its arguments.
const FUNCTION: usize = 0;
const ARGUMENTS: usize = 1;

/// Where a task's arguments come from.
#[derive(Clone, Copy)]
pub struct Arguments {
    /// The generating task's data.
    pub data: *mut c_void,
    /// Builds the block; a plain copy when absent.
    pub copy: Option<Copy>,
    /// Bytes of the block.
    pub size: usize,
    /// Alignment of the block.
    pub align: usize,
}

unsafe fn run(_: &Thread, task: &Task, discarded: bool) -> bool {
    if discarded && !task.flags().has(Flags::CONSTRUCTED) {
        return true;
    }
    // SAFETY: `create` stored a function and its arguments.
    unsafe {
        let function = core::mem::transmute::<usize, Function>(task.front[FUNCTION].get());
        function(task.front[ARGUMENTS].get() as *mut c_void);
    }
    true
}

/// The properties that a `flags` argument names.
pub fn properties(flags: c_uint) -> Flags {
    Flags::default()
        .with_if(flags & UNTIED != 0, Flags::UNTIED)
        .with_if(flags & FINAL != 0, Flags::FINAL)
        .with_if(flags & DETACH != 0, Flags::DETACH)
}

/// Allocates a task that runs `function` on a block built from `arguments`.
///
/// # Safety
/// Function and arguments are the compiler's.
pub unsafe fn create(here: Here, function: Function, arguments: Arguments, flags: Flags) -> NonNull<Task> {
    let align = arguments.align.max(1);
    let slack = if align > align_of::<Task>() { align } else { 0 };
    let task = Task::allocate(here, arguments.size + slack, run, flags);
    // SAFETY: the payload has room for the block at that alignment.
    unsafe {
        let block = task.as_ref().payload().map_addr(|a| a.next_multiple_of(align));
        match arguments.copy {
            Some(copy) => copy(block.cast(), arguments.data),
            None if ult::mutant!(firstprivate_not_copied) => block.write_bytes(0, arguments.size),
            None => ptr::copy_nonoverlapping(arguments.data.cast(), block, arguments.size),
        }
        set_code(task.as_ref(), function, if ult::mutant!(firstprivate_copied_late) { arguments.data } else { block.cast() });
    }
    task
}

fn set_code(task: &Task, function: Function, block: *mut c_void) {
    task.front[FUNCTION].set(function as usize);
    task.front[ARGUMENTS].set(block as usize);
}

/// The argument block of a task that [`create`] made.
pub fn block_of(task: &Task) -> *mut c_void {
    task.front[ARGUMENTS].get() as *mut c_void
}

/// A task that is run at once on the generating task's own data, where the compiler allows that.
///
/// # Safety
/// As [`create`].
unsafe fn create_undeferred(here: Here, function: Function, arguments: Arguments, flags: Flags) -> NonNull<Task> {
    if arguments.copy.is_some() {
        // SAFETY: as for this function.
        return unsafe { create(here, function, arguments, flags) };
    }
    let task = Task::allocate(here, 0, run, flags);
    // SAFETY: a fresh task.
    set_code(unsafe { task.as_ref() }, function, arguments.data);
    task
}

/// `task`.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the ABI's arguments")]
pub unsafe extern "C-unwind" fn GOMP_task(
    function: Function,
    data: *mut c_void,
    copy: Option<Copy>,
    size: c_long,
    align: c_long,
    deferred: bool,
    flags: c_uint,
    depend: *mut *mut c_void,
    priority: c_int,
    detach: *mut c_void,
) {
    let here = Here::get();
    // Compilers before gcc 11 do not pass the last argument; what stands in its place is anything.
    let detach = if flags & DETACH != 0 { detach } else { ptr::null_mut() };
    let deferred = (deferred || ult::mutant!(if_0_deferred)) && !here.task.flags().has(Flags::FINAL);
    // A task that is run here and now can work on the generating task's data. One with dependences may have to stand
    // back even in a team of one, for an event.
    let kept = flags & (DETACH | DEPEND) != 0 || (deferred && !task::is_included(here));
    let arguments = Arguments { data, copy, size: size as usize, align: align as usize };
    let properties = properties(flags)
        .with_if(!deferred, Flags::UNDEFERRED)
        .with_if(copy.is_some(), Flags::CONSTRUCTED);
    // SAFETY: as for this function.
    unsafe {
        let task = if kept && detach.is_null() {
            create(here, function, arguments, properties)
        } else if kept {
            create_detachable(here, function, arguments, properties, detach)
        } else {
            create_undeferred(here, function, arguments, properties)
        };
        if flags & PRIORITY != 0 {
            task.as_ref().set_priority(priority);
        }
        let depend = if flags & DEPEND != 0 { depend } else { ptr::null_mut() };
        launch(here, task, deferred, depend);
    }
}

/// The event handle is the task's address. It goes where `detach` points and into the first word of the data, before
/// that is copied.
///
/// # Safety
/// As [`create`]; `detach` points to a handle.
unsafe fn create_detachable(
    here: Here,
    function: Function,
    arguments: Arguments,
    flags: Flags,
    detach: *mut c_void,
) -> NonNull<Task> {
    let align = arguments.align.max(1);
    let slack = if align > align_of::<Task>() { align } else { 0 };
    let task = Task::allocate(here, arguments.size + slack, run, flags);
    // SAFETY: as for this function; the block has room.
    unsafe {
        detach.cast::<*mut Task>().write(task.as_ptr());
        if !arguments.data.is_null() {
            arguments.data.cast::<*mut Task>().write(task.as_ptr());
        }
        let block = task.as_ref().payload().map_addr(|a| a.next_multiple_of(align));
        match arguments.copy {
            Some(copy) => copy(block.cast(), arguments.data),
            None => ptr::copy_nonoverlapping(arguments.data.cast(), block, arguments.size),
        }
        set_code(task.as_ref(), function, block.cast());
    }
    task
}

/// Submits a task, or runs it at once, after its dependences.
///
/// # Safety
/// `depend` is null or the compiler's array; the task is fresh.
unsafe fn launch(here: Here, task: NonNull<Task>, deferred: bool, depend: *mut *mut c_void) {
    match (deferred, depend.is_null()) {
        (true, true) => task::submit(here, task),
        // SAFETY: the compiler's array.
        (true, false) => depend::submit(here, task, unsafe { items(depend) }.into_iter()),
        (false, no_depend) => {
            // SAFETY: the task is ours.
            task::announce(here, unsafe { task.as_ref() });
            if !no_depend {
                // SAFETY: the compiler's array.
                depend::wait_to_run(here, task, unsafe { items(depend) }.into_iter());
            }
            task::run_undeferred(here, task);
        }
    }
}

/// Reads the compiler's dependence array, in either of its formats.
///
/// # Safety
/// `array` is such an array.
pub unsafe fn items(array: *mut *mut c_void) -> Vec<Dependence> {
    // SAFETY: the header words and as many addresses as they say.
    unsafe {
        let word = |i: usize| *array.add(i) as usize;
        let item = |i: usize, kind: Kind| Dependence { address: Some(word(i)).filter(|&a| a != 0), kind };
        if word(0) != 0 {
            let (total, out) = (word(0), word(1));
            return (0..total).map(|i| item(2 + i, if i < out { Kind::Out } else { Kind::In })).collect();
        }
        let (total, out, mutex, input) = (word(1), word(2), word(3), word(4));
        let kind = |i: usize| match i {
            i if i < out => Some(Kind::Out),
            i if i < out + mutex => Some(Kind::MutexInOutSet),
            i if i < out + mutex + input => Some(Kind::In),
            _ => None,
        };
        (0..total)
            .map(|i| match kind(i) {
                Some(kind) => item(5 + i, kind),
                None => depend_object(word(5 + i) as *const usize),
            })
            .collect()
    }
}

/// Reads a `omp_depend_t`: an address and a kind.
///
/// # Safety
/// `object` points to an initialised dependence object of GCC's.
unsafe fn depend_object(object: *const usize) -> Dependence {
    // SAFETY: as the caller says.
    let (address, kind) = unsafe { (*object, *object.add(1)) };
    let kind = match kind {
        1 => Kind::In,
        4 => Kind::MutexInOutSet,
        5 => Kind::InOutSet,
        _ => Kind::Out,
    };
    Dependence { address: Some(address).filter(|&a| a != 0), kind }
}

/// `taskwait`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_taskwait() {
    task::taskwait(Here::get());
}

/// `taskwait depend(…)`.
///
/// # Safety
/// `depend` is the compiler's array.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_taskwait_depend(depend: *mut *mut c_void) {
    // SAFETY: as for this function.
    depend::wait_for(Here::get(), unsafe { items(depend) }.into_iter());
}

/// `taskwait depend(…) nowait`: a task without code that carries the dependences.
///
/// # Safety
/// `depend` is the compiler's array.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_taskwait_depend_nowait(depend: *mut *mut c_void) {
    unsafe extern "C-unwind" fn nothing(_: *mut c_void) {}
    let here = Here::get();
    let arguments = Arguments { data: ptr::null_mut(), copy: None, size: 0, align: 1 };
    // SAFETY: a task without arguments; the array is the compiler's.
    unsafe {
        let task = create_undeferred(here, nothing, arguments, Flags::default());
        depend::submit(here, task, items(depend).into_iter());
    }
}

/// `taskyield`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_taskyield() {
    task::taskyield(Here::get());
}

/// `taskgroup` begins.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_taskgroup_start() {
    super::task_reduction::start_group(Here::get());
}

/// `taskgroup` ends. GCC's code combines reductions itself, afterwards.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_taskgroup_end() {
    taskgroup::end(Here::get(), |_| {});
}
