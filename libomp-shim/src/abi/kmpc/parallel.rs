//! `parallel`, barriers, `master` and `masked`, `teams`, and the clauses that are pushed before a
//! region. Those of `num_threads` are in [`super::num_threads`].

use core::arch::naked_asm;
use core::ffi::{c_char, c_int, c_void};

use omp::extension::check::{self, BarrierKind};
use omp::extension::tools;
use omp::extension::tools::kinds::{SyncKind, ToolEndpoint};
use omp::icv::{self, ProcBind};
use omp::parallel::{self, ForkedRegion, ParallelRequest};
use omp::report;
use omp::task::Task;
use omp::team::{self, Body};
use omp::thread::{CurrentThread, Pushed, Thread};

/// Source location that the compiler passes first (`ident_t`); not looked into here.
pub type Location = *const c_void;

/// Bytes before the text of a location (`ident_t::psource`).
const SOURCE: usize = 16;

/// The text of a location, null for none.
///
/// # Safety
/// `location` is null or comes from compiled code.
#[inline(always)]
unsafe fn source(location: Location) -> *const c_char {
    if location.is_null() {
        core::ptr::null()
    } else {
        // SAFETY: as the caller says.
        unsafe { location.byte_add(SOURCE).cast::<*const c_char>().read() }
    }
}

/// The trace learns where the task is in the program's source.
///
/// # Safety
/// As [`source`].
#[inline(always)]
pub unsafe fn note_task(location: Location, task: &Task, code: usize) {
    if tools::is_on() {
        // SAFETY: as the caller says.
        tools::task::note_source(task, unsafe { source(location) }, code);
    }
}

/// The trace learns where the region is that is forked next.
#[inline(always)]
fn note_region(location: Location) {
    if tools::is_on() {
        // SAFETY: compiled code passes its own location.
        tools::region::note_source(unsafe { source(location) });
    }
}

// ---- calling outlined functions ---------------------------------------------

/// Calls `function(gtid, tid, arguments[0], …)` with `count` arguments, however many there are:
/// four go in registers, the rest on the stack, right to left, with padding that keeps the stack
/// aligned to 16. Writes the base of its frame to `exit`.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C-unwind" fn invoke(
    function: *const (),
    gtid: *const i32,
    tid: *const i32,
    arguments: *const *mut c_void,
    count: usize,
    exit: *mut usize,
) {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov [r9], rbp", // where tools find the frame
        "mov rax, rdi",  // function
        "mov rdi, rsi",  // gtid
        "mov rsi, rdx",  // tid
        "mov r10, rcx",  // arguments
        "mov r11, r8",   // count
        "cmp r11, 4",
        "jbe 3f",
        "test r11, 1", // an odd number on the stack needs 8 bytes of padding
        "jz 2f",
        "sub rsp, 8",
        "2:",
        "push qword ptr [r10 + 8*r11 - 8]",
        "dec r11",
        "cmp r11, 4",
        "ja 2b",
        "3:",
        "cmp r11, 1",
        "jb 4f",
        "mov rdx, [r10]",
        "je 4f",
        "mov rcx, [r10 + 8]",
        "cmp r11, 3",
        "jb 4f",
        "mov r8, [r10 + 16]",
        "je 4f",
        "mov r9, [r10 + 24]",
        "4:",
        "call rax",
        "mov rsp, rbp",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

unsafe fn call(thread: &Thread, body: &Body) {
    // SAFETY: the body was made by `body_of` from what the compiler passed.
    unsafe {
        invoke(
            body.function,
            thread.gtid.as_ptr(),
            thread.tid.as_ptr(),
            body.data.cast(),
            body.count,
            thread.tools.task.first_word(),
        )
    };
}

fn body_of(function: *const (), arguments: *const *mut c_void, count: usize) -> Body {
    Body { call, function, data: arguments.cast_mut().cast(), count }
}

/// Takes the clauses that were pushed for the next region.
fn pushed(here: CurrentThread) -> Pushed {
    here.thread.own().forks.pushed.take()
}

fn fork(function: *const (), arguments: *const *mut c_void, count: usize) {
    let here = CurrentThread::get();
    let clauses = pushed(here);
    let request = ParallelRequest {
        num_threads: clauses.num_threads,
        counts: clauses.counts,
        strict: clauses.strict,
        bind: ProcBind::from_omp(clauses.proc_bind).filter(|b| *b != ProcBind::False),
        bind_lasts: false,
    };
    parallel::parallel(here, body_of(function, arguments, count), request);
}

/// The arguments of a variadic entry point, gathered from registers and stack.
///
/// # Safety
/// `registers` holds three arguments and `stack` the others, `count` in all.
unsafe fn gather(count: usize, registers: *const *mut c_void, stack: *const *mut c_void) -> Vec<*mut c_void> {
    let in_registers = count.min(3);
    // SAFETY: as the caller says.
    let (first, rest) = unsafe {
        (
            core::slice::from_raw_parts(registers, in_registers),
            core::slice::from_raw_parts(stack, count - in_registers),
        )
    };
    [first, rest].concat()
}

macro_rules! variadic_entry {
    ($(#[$doc:meta])* $name:ident => $target:path) => {
        $(#[$doc])*
        #[cfg(target_arch = "x86_64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "sub rsp, 24",
                ".cfi_adjust_cfa_offset 24",
                "mov [rsp], rcx",      // variadic arguments 0 to 2 came in registers
                "mov [rsp + 8], r8",
                "mov [rsp + 16], r9",
                "mov rcx, rsp",
                "lea r8, [rsp + 32]",  // the others stand above the return address
                "call {target}",
                "add rsp, 24",
                ".cfi_adjust_cfa_offset -24",
                "ret",
                ".cfi_endproc",
                target = sym $target,
            )
        }
    };
}

variadic_entry! {
    /// `parallel`: `(location, count, function, arguments…)`.
    ///
    /// # Safety
    /// Called by compiled code, with `count` arguments.
    __kmpc_fork_call => fork_call
}
variadic_entry! {
    /// `teams`: `(location, count, function, arguments…)`.
    ///
    /// # Safety
    /// Called by compiled code, with `count` arguments.
    __kmpc_fork_teams => fork_teams
}

/// # Safety
/// Called by the entry above.
unsafe extern "C-unwind" fn fork_call(
    location: Location,
    count: c_int,
    function: *const (),
    registers: *const *mut c_void,
    stack: *const *mut c_void,
) {
    check::region_named(function, location);
    note_region(location);
    let count = count.max(0) as usize;
    if count <= 3 {
        fork(function, registers, count);
    } else {
        // SAFETY: the entry passes both areas.
        let arguments = unsafe { gather(count, registers, stack) };
        fork(function, arguments.as_ptr(), count);
    }
}

/// # Safety
/// Called by the entry above.
unsafe extern "C-unwind" fn fork_teams(
    _: Location,
    count: c_int,
    function: *const (),
    registers: *const *mut c_void,
    stack: *const *mut c_void,
) {
    // SAFETY: the entry passes both areas.
    let arguments = unsafe { gather(count.max(0) as usize, registers, stack) };
    let here = CurrentThread::get();
    let clauses = pushed(here);
    let (lower, upper) = clauses.num_teams;
    let teams = [upper, lower, icv::nteams()].into_iter().find(|&n| n != 0).unwrap_or(1);
    let limit = [clauses.thread_limit, icv::teams_thread_limit()].into_iter().find(|&n| n != 0).unwrap_or(0);
    parallel::league(here, body_of(function, arguments.as_ptr(), arguments.len()), teams, limit);
}

/// `parallel if(condition)` as flang emits it: one argument pointer.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_fork_call_if(
    location: Location,
    count: c_int,
    function: *const (),
    condition: c_int,
    argument: *mut c_void,
) {
    check::region_named(function, location);
    note_region(location);
    if condition == 0 {
        push(|p| p.num_threads = 1);
    }
    fork(function, &raw const argument, usize::from(count > 0));
}

/// `parallel if(false)`: the compiler calls the outlined function itself, between this and its end.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_serialized_parallel(location: Location, _gtid: c_int) {
    note_region(location);
    let here = CurrentThread::get();
    pushed(here);
    let region = ForkedRegion::begin(
        here,
        Body::EMPTY,
        ParallelRequest { num_threads: 1, ..ParallelRequest::default() },
    );
    let inner = CurrentThread::get();
    tools::region::called_by_program(inner);
    inner.thread.own().forks.region.set(Some(Box::new(region)));
}

/// End of what [`__kmpc_serialized_parallel`] began.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_end_serialized_parallel(_: Location, _gtid: c_int) {
    let region = CurrentThread::get().thread.own().forks.region.take();
    match region {
        Some(region) => region.end(),
        None => report::fatal("__kmpc_end_serialized_parallel without its beginning"),
    }
}

// ---- clauses ----------------------------------------------------------------

/// Notes a clause of the next region.
pub(super) fn push(set: impl FnOnce(&mut Pushed)) {
    let pushed = &CurrentThread::get().thread.own().forks.pushed;
    let mut clauses = pushed.get();
    set(&mut clauses);
    pushed.set(clauses);
}

/// `proc_bind(policy)` of the next region.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_proc_bind(_: Location, _gtid: c_int, policy: c_int) {
    push(|p| p.proc_bind = policy.max(0) as u32);
}

/// `num_teams(n) thread_limit(limit)` of the next `teams`.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_num_teams(_: Location, _gtid: c_int, n: c_int, limit: c_int) {
    push(|p| {
        p.num_teams = (0, n.max(0) as u32);
        p.thread_limit = limit.max(0) as u32;
    });
}

/// `num_teams(lower: upper) thread_limit(limit)` of the next `teams`.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_num_teams_51(
    _: Location,
    _gtid: c_int,
    lower: c_int,
    upper: c_int,
    limit: c_int,
) {
    push(|p| {
        p.num_teams = (lower.max(0) as u32, upper.max(0) as u32);
        p.thread_limit = limit.max(0) as u32;
    });
}

/// `thread_limit(limit)` on `target`: the limit of the running task's contention group.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_set_thread_limit(_: Location, _gtid: c_int, limit: c_int) {
    if limit > 0 {
        let here = CurrentThread::get();
        let mut icv = here.task.own.icv.get();
        icv.thread_limit = limit as u32;
        here.task.own.icv.set(icv);
    }
}

// ---- who and where ----------------------------------------------------------

/// A small number that no other live thread of the process has.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_global_thread_num(_: Location) -> c_int {
    CurrentThread::get().thread.gtid.get()
}

/// Number of threads that the runtime has in the process.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_global_num_threads(_: Location) -> c_int {
    CurrentThread::get();
    ult::pool::started() as c_int + omp::root::count() as c_int
}

/// Thread number in the team.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_bound_thread_num(_: Location) -> c_int {
    CurrentThread::get().thread.num() as c_int
}

/// Number of threads of the team.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_bound_num_threads(_: Location) -> c_int {
    CurrentThread::get().team().size() as c_int
}

/// Inside an active region?
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_in_parallel(_: Location) -> c_int {
    c_int::from(CurrentThread::get().team().plan().nesting.active_level > 0)
}

/// Always true: regions may be forked anywhere.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_ok_to_fork(_: Location) -> c_int {
    1
}

/// Optional start of the library: nothing is owed, everything starts at the first use.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_begin(_: Location, _flags: c_int) {}

/// Optional end of the library: nothing is owed, regions may still follow.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_end(_: Location) {}

/// Bits of the flags of an `ident_t` that say which barrier a call stands for.
const BARRIER_EXPLICIT: i32 = 0x20;
const BARRIER_IMPLICIT: i32 = 0x40;
const BARRIER_OF_WORK: i32 = 0x180;

/// Which barrier the call at `location` is, for tools.
pub(super) fn barrier_kind(location: Location) -> SyncKind {
    // SAFETY: the compiler's location.
    let flags = unsafe { flags_of(location) };
    match flags {
        f if f & BARRIER_EXPLICIT != 0 => SyncKind::Explicit,
        f if f & (BARRIER_IMPLICIT | BARRIER_OF_WORK) != 0 => SyncKind::Workshare,
        _ => SyncKind::Implementation,
    }
}

/// The flags of a location, 0 of none.
///
/// # Safety
/// `location` is null or the compiler's `ident_t`.
pub(super) unsafe fn flags_of(location: Location) -> i32 {
    if location.is_null() {
        return 0;
    }
    // SAFETY: flags are the second i32 of an ident_t.
    unsafe { location.cast::<i32>().add(1).read() }
}

/// `barrier`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_barrier(location: Location, _gtid: c_int) {
    let here = CurrentThread::get();
    team::barrier(here, (BarrierKind::Kmpc, location), || barrier_kind(location));
}

/// A barrier whose primary thread goes on alone (true there) until `__kmpc_end_barrier_master`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_barrier_master(location: Location, _gtid: c_int) -> c_int {
    let here = CurrentThread::get();
    team::barrier(here, (BarrierKind::Other, location), || SyncKind::Implementation);
    if here.thread.num() == 0 {
        return 1;
    }
    team::barrier(here, (BarrierKind::Other, location), || SyncKind::Implementation);
    0
}

/// Lets the other threads of `__kmpc_barrier_master` go on.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_end_barrier_master(location: Location, _gtid: c_int) {
    let here = CurrentThread::get();
    team::barrier(here, (BarrierKind::Other, location), || SyncKind::Implementation);
}

/// A barrier after which the primary thread (true there) does something while the others go on.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_barrier_master_nowait(location: Location, _gtid: c_int) -> c_int {
    let here = CurrentThread::get();
    team::barrier(here, (BarrierKind::Other, location), || SyncKind::Implementation);
    c_int::from(here.thread.num() == 0)
}

/// `master`: true in the primary thread.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_master(_: Location, _gtid: c_int) -> c_int {
    executes(CurrentThread::get().thread.num() == 0)
}

fn executes(masked: bool) -> c_int {
    if masked {
        tools::work::masked(ToolEndpoint::Begin);
    }
    c_int::from(masked)
}

/// End of `master`.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_end_master(_: Location, _gtid: c_int) {
    tools::work::masked(ToolEndpoint::End);
}

/// `masked filter(number)`: true in the thread with that number.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_masked(_: Location, _gtid: c_int, filter: c_int) -> c_int {
    executes(CurrentThread::get().thread.num() as c_int == filter)
}

/// End of `masked`.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_end_masked(_: Location, _gtid: c_int) {
    tools::work::masked(ToolEndpoint::End);
}
