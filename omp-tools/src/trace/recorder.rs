//! The events of OpenMP, as [`crate::tool`] reports them.
//!
//! An explicit task is named by the number of its record, an implicit one by its address, a region
//! by its team's address. What a task's or region's place in the source is, fronts note in the
//! words that are the trace's ([`note_task`], [`note_region`]).

use core::ffi::c_char;

use crate::tool::event::{Consumer, EventSite};
use crate::tool::{ConsumerSlot, is_attached, record};
use omp::extension::tools::TaskMark;
use omp::extension::tools::device::{DeviceCopy, ToolTarget};
use omp::extension::tools::kinds::{SyncKind, TaskStatus, ToolEndpoint, ToolMutex};
use omp::task::{Task, TaskFlags};
use omp::team::Team;
use omp::thread::{CurrentThread, Thread};

use super::kind::{Cause, TraceKind};
use super::{names, record as put};

/// Hears what happens while a trace is recorded.
pub struct Recorder;

/// Where the code of a task is, which has not been submitted. `location`: as compilers pass it, or
/// null.
pub fn note_task(task: &Task, location: *const c_char, code: usize) {
    if is_attached(ConsumerSlot::Trace)
        && let Some(record) = record::of(task)
    {
        record.trace.set(names::place(location, code));
    }
}

/// Where the region is that the running thread is about to fork.
pub fn note_region(location: *const c_char) {
    if is_attached(ConsumerSlot::Trace)
        && let Some(here) = CurrentThread::if_known()
    {
        record::of_thread(&here.thread).trace.set(names::place(location, 0));
    }
}

/// A task has been stolen from `victim`, by the calling thread.
pub fn note_steal(victim: &Thread) {
    if is_attached(ConsumerSlot::Trace)
        && let Some(worker) = victim.host()
    {
        put(TraceKind::StealTask, worker.index(), 0, 0);
    }
}

/// The calling thread begins to wait for something outside of the runtime, or goes on.
pub fn note_outside(end: ToolEndpoint) {
    if is_attached(ConsumerSlot::Trace) {
        wait(end, Cause::Mpi);
    }
}

/// A copy of so many bytes is begun.
pub fn note_copy(kind: DeviceCopy, bytes: usize) {
    let cause = match kind {
        DeviceCopy::To => Cause::CopyTo,
        DeviceCopy::From => Cause::CopyFrom,
        DeviceCopy::Between => Cause::CopyBetween,
    };
    if is_attached(ConsumerSlot::Trace) {
        put(TraceKind::Copy, cause as u32, bytes as u64, 0);
    }
}

/// A region of this rank begins or ends here.
pub fn note_served(end: ToolEndpoint, rank: i64) {
    if is_attached(ConsumerSlot::Trace) {
        span(end, Cause::Served, rank);
    }
}

/// Something that is no wait begins or ends, on `whose` device or rank.
fn span(end: ToolEndpoint, cause: Cause, whose: i64) {
    match end {
        ToolEndpoint::Begin => put(TraceKind::SpanBegin, cause as u32, 0, whose as u64),
        ToolEndpoint::End => put(TraceKind::SpanEnd, cause as u32, 0, whose as u64),
    }
}

fn address<T>(of: &T) -> u64 {
    core::ptr::from_ref(of) as u64
}

/// The number of an explicit task; `None`: it is an implicit one, or was made before a consumer was
/// attached.
fn number(task: &Task) -> Option<u64> {
    record::of(task).filter(|_| task.is_explicit()).map(|record| record.id.get())
}

fn cause_of(kind: SyncKind) -> Cause {
    match kind {
        SyncKind::Taskwait => Cause::Taskwait,
        SyncKind::Taskgroup => Cause::Taskgroup,
        SyncKind::Reduction => Cause::Reduction,
        _ => Cause::Barrier,
    }
}

fn cause_of_mutex(kind: ToolMutex) -> Option<Cause> {
    match kind {
        ToolMutex::TestLock | ToolMutex::TestNestLock => None,
        ToolMutex::Lock | ToolMutex::NestLock | ToolMutex::Atomic => Some(Cause::Lock),
        ToolMutex::Critical => Some(Cause::Critical),
        ToolMutex::Ordered => Some(Cause::Ordered),
    }
}

fn wait(end: ToolEndpoint, cause: Cause) {
    put(
        if end == ToolEndpoint::Begin { TraceKind::WaitBegin } else { TraceKind::WaitEnd },
        cause as u32,
        0,
        0,
    );
}

impl Consumer for Recorder {
    fn parallel_begin(&self, site: &EventSite, team: &Team, _: u32) {
        record::of_thread(site.thread).thin.flush(); // what it has left out was before the region
        let location = record::of_thread(site.thread).trace.take();
        let place = if location != 0 { location } else { team.plan().body.function as u64 };
        let place = if place != 0 { place } else { site.code() as u64 };
        put(TraceKind::RegionBegin, team.size(), address(team), place);
    }

    fn parallel_end(&self, _: &EventSite, team: &Team) {
        put(TraceKind::RegionEnd, 0, address(team), 0);
    }

    fn implicit_task(&self, thread: &Thread, end: ToolEndpoint, _: bool) {
        record::of_thread(thread).thin.flush();
        let task = address(&thread.implicit);
        match end {
            ToolEndpoint::Begin => put(TraceKind::ImplicitBegin, thread.num(), task, address(thread.team())),
            ToolEndpoint::End => put(TraceKind::ImplicitEnd, 0, task, 0),
        }
    }

    fn task_create(&self, site: &EventSite, task: &Task, _: bool) {
        match record::of(task) {
            Some(record) if task.flags().has(record::WAITS) => {
                put(TraceKind::TaskCreate, 0, record.id.get(), record.trace.get())
            }
            Some(record) => record::of_thread(site.thread).thin.write(record.id.get(), record.trace.get()),
            None => {}
        }
    }

    fn task_dependence(&self, _: &EventSite, first: TaskMark, second: &Task) {
        if let Some(second) = number(second) {
            put(TraceKind::Depend, 0, first.number, second);
        }
    }

    fn task_schedule(&self, _: &Thread, prior: &Task, status: TaskStatus, next: Option<&Task>) {
        let is_over = matches!(status, TaskStatus::Complete | TaskStatus::Cancel | TaskStatus::Detach);
        match number(prior) {
            Some(prior) if is_over => return put(TraceKind::TaskEnd, 0, prior, 0),
            Some(number) if status == TaskStatus::Switch && prior.flags().has(TaskFlags::UNTIED) => {
                put(TraceKind::TaskLeave, 0, number, 0)
            }
            _ => {}
        }
        if let Some(next) = next.and_then(number) {
            put(TraceKind::TaskBegin, 0, next, 0);
        }
    }

    fn sync_wait(&self, site: &EventSite, kind: SyncKind, end: ToolEndpoint, _: bool) {
        if !site.task.is_explicit() {
            record::of_thread(site.thread).thin.flush();
        }
        wait(end, cause_of(kind));
    }

    fn mutex_acquire(&self, site: &EventSite, kind: ToolMutex, _: u32, _: u64) {
        if let Some(cause) = cause_of_mutex(kind).filter(|_| site.task.is_reported()) {
            wait(ToolEndpoint::Begin, cause);
        }
    }

    fn mutex_acquired(&self, site: &EventSite, kind: ToolMutex, _: u64) {
        if let Some(cause) = cause_of_mutex(kind).filter(|_| site.task.is_reported()) {
            wait(ToolEndpoint::End, cause);
        }
    }

    fn nest_lock(&self, site: &EventSite, end: ToolEndpoint, _: u64) {
        if end == ToolEndpoint::Begin && site.task.is_reported() {
            wait(ToolEndpoint::End, Cause::Lock);
        }
    }

    fn target(&self, _: &EventSite, kind: ToolTarget, end: ToolEndpoint, device: i32) {
        let cause = match kind {
            ToolTarget::Region => Cause::Target,
            ToolTarget::EnterData => Cause::EnterData,
            ToolTarget::ExitData => Cause::ExitData,
            ToolTarget::Update => Cause::Update,
        };
        span(end, cause, device.into());
    }
}
