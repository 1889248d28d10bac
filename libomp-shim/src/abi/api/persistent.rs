//! The `ompx_*` routines for persistent tasks and trays (`include/ompx.h`, `docs/persistent.md`).
//!
//! Each returns 0, or what [`RemoteFault::code`] says, with a line on standard error that names the
//! routine and the mistake.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;

use omp::report;
use omp_cluster::persistent::calls::{self, At, TaskLetter};
use omp_cluster::persistent::kind::ElementType;
use omp_cluster::persistent::order::PersistentOperation;
use omp_cluster::persistent::run::PersistentRun;
use omp_cluster::persistent::{collect, devices, files, numbered};
use omp_cluster::remote::{RemoteFault, RemoteHandle};

/// The result of a routine; mistakes are reported.
pub(super) fn result(routine: &str, result: Result<(), RemoteFault>) -> c_int {
    number(routine, result.map(|()| 0))
}

/// As [`result`], for a routine that returns a number.
pub(super) fn number(routine: &str, result: Result<c_int, RemoteFault>) -> c_int {
    result.unwrap_or_else(|why| {
        // Of a file it was said what is wrong with it.
        if why != RemoteFault::File {
            report::warn(format_args!("{routine}: {why}; this call changes nothing"));
        }
        why.code()
    })
}

/// # Safety
/// `bytes` bytes at `from` are readable, or there are none.
unsafe fn bytes_at<'a>(from: *const c_void, bytes: usize) -> Result<&'a [u8], RemoteFault> {
    // SAFETY: as the caller says.
    unsafe { list_at(from.cast(), bytes) }
}

/// # Safety
/// `count` things at `from` are readable, or there are none.
unsafe fn list_at<'a, T>(from: *const T, count: usize) -> Result<&'a [T], RemoteFault> {
    match (from.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(RemoteFault::Argument),
        // SAFETY: as the caller says.
        (false, _) => Ok(unsafe { core::slice::from_raw_parts(from, count) }),
    }
}

/// # Safety
/// `count` things at `from` are readable, or there are none.
unsafe fn list<'a, T>(from: *const T, count: c_int) -> Result<&'a [T], RemoteFault> {
    // SAFETY: as the caller says.
    unsafe { list_at(from, usize::try_from(count).map_err(|_| RemoteFault::Count)?) }
}

/// # Safety
/// A C string, or null.
unsafe fn text<'a>(from: *const c_char) -> Result<&'a str, RemoteFault> {
    if from.is_null() {
        return Err(RemoteFault::Argument);
    }
    // SAFETY: as the caller says.
    unsafe { CStr::from_ptr(from) }.to_str().map_err(|_| RemoteFault::Argument)
}

// ---- devices, and tasks -----------------------------------------------------

/// `ompx_count_devices`: how many devices of these kinds persistent tasks may be on. Any thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_count_devices(kinds: c_int) -> c_int {
    number("ompx_count_devices", devices::count(kinds))
}

/// `ompx_ptask_create`: makes tasks on a rank, or on all in turn. Waits for the ranks. Any thread.
///
/// # Safety
/// `tasks` has room for `count` handles, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_ptask_create(
    rank: c_int,
    count: c_int,
    tasks: *mut RemoteHandle,
) -> c_int {
    let create = || {
        if tasks.is_null() {
            return Err(RemoteFault::Argument);
        }
        let made = calls::create(rank, u64::try_from(count).map_err(|_| RemoteFault::Count)?)?;
        // SAFETY: as the caller says.
        unsafe { ptr::copy_nonoverlapping(made.as_ptr(), tasks, made.len()) };
        Ok(())
    };
    result("ompx_ptask_create", create())
}

/// `ompx_ptask_count`: one more than the largest number in the file of `OMPX_TASKS`; 0 without one.
/// Any thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_ptask_count() -> c_int {
    number("ompx_ptask_count", numbered::count().map(|count| count as c_int))
}

/// `ompx_ptask_numbered`: the handle of a task that the file of `OMPX_TASKS` names. Any thread.
///
/// # Safety
/// `task` is writable, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_ptask_numbered(at: c_int, task: *mut RemoteHandle) -> c_int {
    let find = || {
        if task.is_null() {
            return Err(RemoteFault::Argument);
        }
        let found = numbered::task(u32::try_from(at).map_err(|_| RemoteFault::Number)?)?;
        // SAFETY: as the caller says.
        unsafe { task.write(found) };
        Ok(())
    };
    result("ompx_ptask_numbered", find())
}

/// `ompx_ptask_set`: the procedure of a task. Any thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_ptask_set(task: RemoteHandle, procedure: usize) -> c_int {
    let set = || calls::one(task, PersistentOperation::Set(calls::place(procedure)?));
    result("ompx_ptask_set", set())
}

/// `ompx_ptask_execute`: the task runs its procedure, with a copy of these bytes. Any thread.
///
/// # Safety
/// `bytes` bytes at `args` are readable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_ptask_execute(
    task: RemoteHandle,
    args: *const c_void,
    bytes: usize,
) -> c_int {
    // SAFETY: as the caller says.
    let args = unsafe { bytes_at(args, bytes) };
    let execute = |bytes| calls::ask(&[TaskLetter { task, order: PersistentOperation::Execute, bytes }]);
    result("ompx_ptask_execute", args.and_then(execute))
}

/// `ompx_ptask_wait`: returns when the tasks have done what this rank has asked of them; the
/// calling task is suspended. Any thread.
///
/// # Safety
/// `count` handles at `tasks` are readable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_ptask_wait(tasks: *const RemoteHandle, count: c_int) -> c_int {
    // SAFETY: as the caller says.
    result("ompx_ptask_wait", unsafe { list(tasks, count) }.and_then(calls::wait))
}

/// `ompx_ptask_wait_all`: the same for all tasks there are. Any thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_ptask_wait_all() -> c_int {
    result("ompx_ptask_wait_all", calls::wait_all())
}

/// `ompx_ptask_free`: the task goes, with its trays, when it has done what it was asked. Any
/// thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_ptask_free(task: RemoteHandle) -> c_int {
    result("ompx_ptask_free", calls::one(task, PersistentOperation::Free))
}

/// `ompx_ptask_free_all`: the same for all tasks there are. Any thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_ptask_free_all() -> c_int {
    result("ompx_ptask_free_all", calls::free_all())
}

// ---- trays ------------------------------------------------------------------

/// `ompx_tray_alloc`: a tray of `count` elements, all zero. Any thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_tray_alloc(tray: At, kind: u64, count: u64) -> c_int {
    result("ompx_tray_alloc", calls::allocate(tray, kind, count))
}

/// `ompx_tray_free`: a tray goes, when the task has done what it was asked. Any thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_tray_free(tray: At) -> c_int {
    result("ompx_tray_free", calls::one(tray.task, PersistentOperation::Drop(tray.tray)))
}

/// `ompx_tray_free_all`: all trays of a task go. Any thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_tray_free_all(task: RemoteHandle) -> c_int {
    result("ompx_tray_free_all", calls::one(task, PersistentOperation::DropAll))
}

/// `ompx_tray_write`: a tray gets a copy of `count` elements. Any thread.
///
/// # Safety
/// As many elements are readable at `from`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_tray_write(
    tray: At,
    kind: u64,
    count: u64,
    from: *const c_void,
) -> c_int {
    let write = || {
        let bytes = ElementType::new(kind)?.bytes(count)?;
        // SAFETY: as the caller says.
        calls::write(tray, kind, unsafe { bytes_at(from, bytes) }?)
    };
    result("ompx_tray_write", write())
}

/// `ompx_tray_read`: waits, then copies a tray's bytes, of which there have to be as many. Any
/// thread.
///
/// # Safety
/// `bytes` bytes at `into` are writable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_tray_read(tray: At, into: *mut c_void, bytes: usize) -> c_int {
    let read = || {
        if into.is_null() && bytes != 0 {
            return Err(RemoteFault::Argument);
        }
        let content = calls::read(tray, Some(bytes as u64))?;
        if bytes != 0 {
            // SAFETY: as the caller says; the answer has the size that was asked for.
            unsafe { ptr::copy_nonoverlapping(content.address(), into.cast(), bytes) };
        }
        Ok(())
    };
    result("ompx_tray_read", read())
}

/// `ompx_tray_size`: waits, then says how many bytes a tray has, and the type of its elements. Any
/// thread.
///
/// # Safety
/// `bytes` is writable, `kind` is writable or null.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_tray_size(tray: At, bytes: *mut usize, kind: *mut u64) -> c_int {
    let size = || {
        if bytes.is_null() {
            return Err(RemoteFault::Argument);
        }
        let [size, type_of] = calls::about(tray)?;
        // SAFETY: as the caller says.
        unsafe { bytes.write(size as usize) };
        if !kind.is_null() {
            // SAFETY: as the caller says.
            unsafe { kind.write(type_of) };
        }
        Ok(())
    };
    result("ompx_tray_size", size())
}

/// `ompx_tray_send_recv`: a tray becomes a copy of another one. Any thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_tray_send_recv(from: At, into: At) -> c_int {
    result("ompx_tray_send_recv", collect::send_recv(from, into))
}

/// `ompx_tray_bcast`: trays become copies of one. Any thread.
///
/// # Safety
/// `count` trays at `into` are readable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_tray_bcast(from: At, into: *const At, count: c_int) -> c_int {
    // SAFETY: as the caller says.
    result("ompx_tray_bcast", unsafe { list(into, count) }.and_then(|into| collect::broadcast(from, into)))
}

/// `ompx_tray_scatter`: trays become parts of one. Any thread.
///
/// # Safety
/// `count` trays at `into` are readable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_tray_scatter(from: At, into: *const At, count: c_int) -> c_int {
    // SAFETY: as the caller says.
    result("ompx_tray_scatter", unsafe { list(into, count) }.and_then(|into| collect::scatter(from, into)))
}

/// `ompx_tray_gather`: a tray becomes all of the list's. Any thread.
///
/// # Safety
/// `count` trays at `from` are readable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_tray_gather(from: *const At, count: c_int, into: At) -> c_int {
    // SAFETY: as the caller says.
    result("ompx_tray_gather", unsafe { list(from, count) }.and_then(|from| collect::gather(from, into)))
}

/// `ompx_tray_reduce`: a tray becomes what the list's are when combined. Any thread.
///
/// # Safety
/// `count` trays at `from` are readable; `function` is an `ompx_combiner` of the program where
/// `rule` asks for one.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_tray_reduce(
    from: *const At,
    count: c_int,
    into: At,
    kind: u64,
    rule: c_int,
    function: usize,
) -> c_int {
    // SAFETY: as the caller says.
    let reduce = || collect::reduce(unsafe { list(from, count) }?, into, collect::how(kind, rule, function)?);
    result("ompx_tray_reduce", reduce())
}

/// `ompx_tray_allreduce`: so do all of a second list. Any thread.
///
/// # Safety
/// As `ompx_tray_reduce`, for both lists.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_tray_allreduce(
    from: *const At,
    into: *const At,
    count: c_int,
    kind: u64,
    rule: c_int,
    function: usize,
) -> c_int {
    let reduce = || {
        // SAFETY: as the caller says.
        let (from, into) = unsafe { (list(from, count)?, list(into, count)?) };
        collect::reduce_to_all(from, into, collect::how(kind, rule, function)?)
    };
    result("ompx_tray_allreduce", reduce())
}

/// `ompx_tray_scatter_file`: trays get the elements of a file. Any thread.
///
/// # Safety
/// `path` is a C string, `count` trays at `into` are readable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_tray_scatter_file(
    path: *const c_char,
    kind: u64,
    into: *const At,
    count: c_int,
) -> c_int {
    // SAFETY: as the caller says.
    let scatter = || files::scatter(unsafe { text(path) }?, kind, unsafe { list(into, count) }?);
    result("ompx_tray_scatter_file", scatter())
}

/// `ompx_tray_gather_file`: a file gets the elements of trays. Waits for them. Any thread.
///
/// # Safety
/// `path` is a C string, `count` trays at `from` are readable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_tray_gather_file(
    from: *const At,
    count: c_int,
    kind: u64,
    path: *const c_char,
) -> c_int {
    // SAFETY: as the caller says.
    let gather = || files::gather(unsafe { list(from, count) }?, kind, unsafe { text(path) }?);
    result("ompx_tray_gather_file", gather())
}

// ---- in procedures ----------------------------------------------------------

/// # Safety
/// What a procedure was given and has not returned, or null.
unsafe fn running<'a>(run: *const PersistentRun) -> Result<&'a PersistentRun, RemoteFault> {
    // SAFETY: as the caller says.
    unsafe { run.as_ref() }.ok_or(RemoteFault::Argument)
}

/// The address, and how many bytes there are; null with a line where there is none.
///
/// # Safety
/// `bytes` is writable, or null.
unsafe fn found<T>(
    routine: &str,
    tray: u32,
    found: Result<(*mut T, usize), RemoteFault>,
    bytes: *mut usize,
) -> *mut T {
    let (at, size) = found.unwrap_or_else(|why| {
        report::warn(format_args!("{routine}, tray {tray}: {why}; it returns null"));
        (ptr::null_mut(), 0)
    });
    if !bytes.is_null() {
        // SAFETY: as the caller says.
        unsafe { bytes.write(size) };
    }
    at
}

/// `ompx_run_in`: a tray of the task, to be read. By the procedure and what it waits for.
///
/// # Safety
/// `run` is what the procedure was given, or null; `bytes` is writable, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_run_in(
    run: *const PersistentRun,
    tray: u32,
    bytes: *mut usize,
) -> *const c_void {
    // SAFETY: as the caller says.
    let look = unsafe { running(run) }.and_then(|run| run.look(tray)).map(|(at, size)| (at.cast_mut(), size));
    // SAFETY: as the caller says.
    unsafe { found("ompx_run_in", tray, look, bytes) }.cast()
}

/// `ompx_run_inout`: the same, to be read and written.
///
/// # Safety
/// As `ompx_run_in`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_run_inout(
    run: *const PersistentRun,
    tray: u32,
    bytes: *mut usize,
) -> *mut c_void {
    // SAFETY: as the caller says.
    let edit = unsafe { running(run) }.and_then(|run| run.edit(tray));
    // SAFETY: as the caller says.
    unsafe { found("ompx_run_inout", tray, edit, bytes) }.cast()
}

/// `ompx_run_out`: a tray of the task is made anew, of `count` elements, all zero.
///
/// # Safety
/// As `ompx_run_in`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_run_out(
    run: *const PersistentRun,
    tray: u32,
    kind: u64,
    count: u64,
) -> *mut c_void {
    // SAFETY: as the caller says.
    let make = || unsafe { running(run) }?.make(tray, ElementType::new(kind)?, count).map(|at| (at, 0));
    // SAFETY: as the caller says.
    unsafe { found("ompx_run_out", tray, make(), ptr::null_mut()) }.cast()
}

/// `ompx_run_task`: the task whose procedure it is.
///
/// # Safety
/// `run` is what the procedure was given, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_run_task(run: *const PersistentRun) -> RemoteHandle {
    // SAFETY: as the caller says.
    unsafe { running(run) }.map_or(RemoteHandle { rank: 0, id: 0, generation: 0 }, PersistentRun::task)
}
