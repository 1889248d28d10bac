//! Parallel region support routines (OpenMP 5.2 §18.2).

use core::ffi::{c_int, c_uint};

use omp::binding;
use omp::env;
use omp::extension::tools;
use omp::icv::{Icv, SUPPORTED_ACTIVE_LEVELS, Sched};
use omp::report;
use omp::team::Plan;
use omp::thread::{CurrentThread, Thread};

/// The control variables of the running task, or those of the process on a thread that has not met
/// OpenMP. Neither starts the runtime nor allocates, so an allocator and a signal handler may call
/// it.
#[inline]
pub(super) fn icv() -> Icv {
    CurrentThread::if_known().map_or_else(Icv::of_process, |here| here.task.own.icv.get())
}

/// `ask` of the plan of the running team; `outside` on a thread that has not met OpenMP.
#[inline(always)]
pub(super) fn plan_value(outside: u32, ask: impl FnOnce(&Plan) -> u32) -> c_int {
    int(CurrentThread::if_known().map_or(outside, |here| ask(here.team().plan())))
}

/// Changes the control variables of the running task.
pub(super) fn change_icv(change: impl FnOnce(&mut Icv)) {
    let cell = &CurrentThread::get().task.own.icv;
    let mut icv = cell.get();
    change(&mut icv);
    cell.set(icv);
}

/// A count or limit as C has it.
pub(super) fn int(value: u32) -> c_int {
    c_int::try_from(value).unwrap_or(c_int::MAX)
}

/// The running thread's ancestor at nesting `level` (itself at the present level); `None` outside 0
/// to that.
pub(super) fn ancestor(level: c_int) -> Option<&'static Thread> {
    let mut thread = CurrentThread::if_known()?.thread.thread();
    let level = u32::try_from(level).ok()?;
    if level > thread.team().plan().nesting.level {
        return None;
    }
    while thread.team().plan().nesting.level > level {
        thread = thread.team().plan().parent()?; // only the initial team, of level 0, has none
    }
    Some(thread)
}

/// `ask` of the ancestor at `level`. On a thread that has not met OpenMP: `outside` for level 0. −1
/// for a level that does not exist.
fn ancestor_value(level: c_int, outside: c_int, ask: impl FnOnce(&Thread) -> c_int) -> c_int {
    match ancestor(level) {
        Some(thread) => ask(thread),
        None if level == 0 => outside,
        None => -1,
    }
}

ult::seam! {
    /// The number of the running thread in its team, for programs.
    fn thread_num(here: CurrentThread) -> c_int {
        here.thread.tid.get()
    } or thread_num_wrong_nested {
        here.thread.tid.get().wrapping_add(c_int::from(here.team().plan().nesting.level > 1))
    }
}

routines! {
    /// `omp_set_num_threads` (18.2.1): threads of the next `parallel` without `num_threads`.
    fn omp_set_num_threads(n: c_int) {
        change_icv(|icv| icv.set_num_threads(n));
    }

    /// `omp_get_num_threads` (18.2.2): threads of the running team. Starts the runtime if a tool
    /// may be found: LLVM's tests and tools are initialized by this call.
    fn omp_get_num_threads() -> c_int {
        int(CurrentThread::if_known().or_else(|| tools::may_find_tool().then(CurrentThread::get)).map_or(1, |here| here.team().size()))
    }

    /// `omp_get_max_threads` (18.2.3): most threads that a `parallel` without `num_threads` would
    /// have.
    fn omp_get_max_threads() -> c_int {
        int(icv().nthreads)
    }

    /// `omp_get_thread_num` (18.2.4): `omp_unassigned_thread`, −2, for a free agent, which is no
    /// thread of the team (6.0 §21.3).
    fn omp_get_thread_num() -> c_int {
        let Some(here) = CurrentThread::if_known() else { return 0 };
        thread_num(here)
    }

    /// `omp_get_num_procs` (18.7.1): processors that the calling thread may use now, see
    /// [`binding::num_procs`].
    fn omp_get_num_procs() -> c_int {
        int(binding::num_procs(CurrentThread::if_known().map(|here| here.thread)))
    }

    /// `omp_in_parallel` (18.2.5): is there an active region around?
    fn omp_in_parallel() -> c_int {
        c_int::from(plan_value(0, |plan| plan.nesting.active_level) > 0)
    }

    /// `omp_set_dynamic` (18.2.6): may teams be smaller than asked for?
    fn omp_set_dynamic(on: c_int) {
        change_icv(|icv| icv.dynamic = on != 0);
    }

    /// `omp_get_dynamic` (18.2.7).
    fn omp_get_dynamic() -> c_int {
        c_int::from(icv().dynamic)
    }

    /// `omp_get_cancellation` (18.2.8).
    fn omp_get_cancellation() -> c_int {
        c_int::from(env::settings_for_query().is_some_and(|settings| settings.cancellation))
    }

    /// `omp_set_nested` (18.2.9, deprecated).
    fn omp_set_nested(on: c_int) {
        change_icv(|icv| icv.set_nested(on != 0));
    }

    /// `omp_get_nested` (18.2.10, deprecated): would a `parallel` inside a `parallel` be active?
    fn omp_get_nested() -> c_int {
        let most = icv().max_active_levels;
        c_int::from(most > 1 && int(most) > plan_value(0, |plan| plan.nesting.active_level))
    }

    /// `omp_set_schedule` (18.2.11): what `schedule(runtime)` means. A kind that does not exist
    /// changes nothing.
    fn omp_set_schedule(kind: c_uint, chunk: c_int) {
        match Sched::from_omp(kind, chunk) {
            Some(sched) => change_icv(|icv| icv.run_sched = sched),
            None => report::warn(format_args!("omp_set_schedule got unknown kind {kind}; the schedule stays as it was")),
        }
    }

    /// `omp_get_thread_limit` (18.2.13): most threads of the contention group.
    fn omp_get_thread_limit() -> c_int {
        int(icv().thread_limit)
    }

    /// `omp_get_supported_active_levels` (18.2.14).
    fn omp_get_supported_active_levels() -> c_int {
        int(SUPPORTED_ACTIVE_LEVELS)
    }

    /// `omp_set_max_active_levels` (18.2.15). A negative value changes nothing.
    fn omp_set_max_active_levels(levels: c_int) {
        change_icv(|icv| {
            if !icv.set_max_active_levels(levels) {
                report::warn(format_args!("omp_set_max_active_levels got {levels}; the value stays as it was"));
            }
        });
    }

    /// `omp_get_max_active_levels` (18.2.16).
    fn omp_get_max_active_levels() -> c_int {
        int(icv().max_active_levels)
    }

    /// `omp_get_level` (18.2.17): nested regions around, active or not.
    fn omp_get_level() -> c_int {
        plan_value(0, |plan| plan.nesting.level)
    }

    /// `omp_get_ancestor_thread_num` (18.2.18): −1 for a level that does not exist.
    fn omp_get_ancestor_thread_num(level: c_int) -> c_int {
        ancestor_value(level, 0, |thread| thread.num() as c_int)
    }

    /// `omp_get_team_size` (18.2.19): −1 for a level that does not exist.
    fn omp_get_team_size(level: c_int) -> c_int {
        ancestor_value(level, 1, |thread| int(thread.team().size()))
    }

    /// `omp_get_active_level` (18.2.20): nested active regions around.
    fn omp_get_active_level() -> c_int {
        plan_value(0, |plan| plan.nesting.active_level)
    }
}

c_aliases! {
    fn ompc_set_num_threads(n: c_int) => omp_set_num_threads;
    fn ompc_set_dynamic(on: c_int) => omp_set_dynamic;
    fn ompc_set_nested(on: c_int) => omp_set_nested;
    fn ompc_set_max_active_levels(levels: c_int) => omp_set_max_active_levels;
    fn ompc_set_schedule(kind: c_uint, chunk: c_int) => omp_set_schedule;
    fn ompc_get_ancestor_thread_num(level: c_int) -> c_int => omp_get_ancestor_thread_num;
    fn ompc_get_team_size(level: c_int) -> c_int => omp_get_team_size;
}

wide_routines! {
    fn omp_set_num_threads(n);
    fn omp_set_dynamic(on);
    fn omp_set_nested(on);
    fn omp_set_schedule(kind, chunk);
    fn omp_set_max_active_levels(levels);
    fn omp_get_ancestor_thread_num(level) -> c_int;
    fn omp_get_team_size(level) -> c_int;
}

address_routines! {
    /// `omp_get_schedule` (18.2.12).
    fn omp_get_schedule(kind: *mut c_uint, chunk: *mut c_int) {
        let (k, c) = icv().run_sched.to_omp();
        // SAFETY: as the caller says.
        unsafe {
            kind.write(k);
            chunk.write(c);
        }
    }
}

/// `omp_get_schedule` for gfortran's 64-bit integers: the kind is an enumerator of four bytes all
/// the same.
///
/// # Safety
/// Both addresses are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_get_schedule_8_(kind: *mut c_uint, chunk: *mut i64) {
    let (k, c) = icv().run_sched.to_omp();
    // SAFETY: as the caller says.
    unsafe {
        kind.write(k);
        chunk.write(i64::from(c));
    }
}
