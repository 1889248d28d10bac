//! The callbacks that a tool has registered, and the events that it is notified of.

use core::cell::Cell;
use core::ffi::{c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::devices;
use super::types::{ChunkOf, Data, OmptDependence, OmptFunction, PARKING, parallel_flag, set, task_flag};
use crate::tool::event::{Consumer, EventSite, ThreadKind, Words};
use crate::tool::record::{self, TaskFrame, TaskRecord};
use omp::depend::{Dependence, DependenceKind};
use omp::extension::tools::TaskMark;
use omp::extension::tools::device::{DeviceOp, ToolDevice, ToolMapping, ToolTarget};
use omp::extension::tools::kinds::{
    Chunk, RegionKind, SyncKind, TaskStatus, ToolEndpoint, ToolMutex, ToolWork,
};
use omp::task::{Task, TaskFlags};
use omp::team::Team;
use omp::thread::Thread;

/// `ompt_callbacks_t`.
pub mod number {
    pub const THREAD_BEGIN: usize = 1;
    pub const THREAD_END: usize = 2;
    pub const PARALLEL_BEGIN: usize = 3;
    pub const PARALLEL_END: usize = 4;
    pub const TASK_CREATE: usize = 5;
    pub const TASK_SCHEDULE: usize = 6;
    pub const IMPLICIT_TASK: usize = 7;
    pub const TARGET: usize = 8;
    pub const TARGET_DATA_OP: usize = 9;
    pub const TARGET_SUBMIT: usize = 10;
    pub const CONTROL_TOOL: usize = 11;
    pub const DEVICE_INITIALIZE: usize = 12;
    pub const DEVICE_FINALIZE: usize = 13;
    pub const DEVICE_LOAD: usize = 14;
    pub const DEVICE_UNLOAD: usize = 15;
    pub const SYNC_WAIT: usize = 16;
    pub const MUTEX_RELEASED: usize = 17;
    pub const DEPENDENCES: usize = 18;
    pub const TASK_DEPENDENCE: usize = 19;
    pub const WORK: usize = 20;
    pub const MASKED: usize = 21;
    pub const TARGET_MAP: usize = 22;
    pub const SYNC_REGION: usize = 23;
    pub const LOCK_INIT: usize = 24;
    pub const LOCK_DESTROY: usize = 25;
    pub const MUTEX_ACQUIRE: usize = 26;
    pub const MUTEX_ACQUIRED: usize = 27;
    pub const NEST_LOCK: usize = 28;
    pub const FLUSH: usize = 29;
    pub const CANCEL: usize = 30;
    pub const REDUCTION: usize = 31;
    pub const DISPATCH: usize = 32;
    pub const TARGET_EMI: usize = 33;
    pub const TARGET_DATA_OP_EMI: usize = 34;
    pub const TARGET_SUBMIT_EMI: usize = 35;
    pub const TARGET_MAP_EMI: usize = 36;
    pub const ERROR: usize = 37;
    /// One more than the last.
    pub const COUNT: usize = 38;
}

static CALLBACKS: [AtomicPtr<()>; number::COUNT] = [const { AtomicPtr::new(ptr::null_mut()) }; number::COUNT];

/// `ompt_set_callback`.
pub fn register(event: usize, function: Option<OmptFunction>) -> i32 {
    if event == 0 || event >= number::COUNT {
        return set::ERROR;
    }
    let function = function.map_or(ptr::null_mut(), |function| function as *mut ());
    // ORDERING: Release, pairs with `of`: what the tool has prepared for it.
    CALLBACKS[event].store(function, Ordering::Release);
    set::ALWAYS
}

/// What is registered for an event, null for nothing.
pub fn registered(event: usize) -> *mut () {
    // ORDERING: Acquire, pairs with `register`.
    CALLBACKS.get(event).map_or(ptr::null_mut(), |slot| slot.load(Ordering::Acquire))
}

/// The callback of an event as a function of the type that belongs to it.
macro_rules! callback {
    ($event:ident: $type:ident) => {{
        let function =
            $crate::tool::ompt::callbacks::registered($crate::tool::ompt::callbacks::number::$event);
        // SAFETY: a tool registers functions of the type that the standard gives an event; null is
        // none.
        unsafe {
            core::mem::transmute::<*mut (), Option<$crate::tool::ompt::types::callback::$type>>(function)
        }
    }};
}

pub(super) use callback;

/// A word for tasks that have none of their own, because they were made before the tool began.
static NO_WORD: core::sync::atomic::AtomicU64 = core::sync::atomic::AtomicU64::new(0);

/// The tool's word of a task.
pub fn data_of(task: &Task) -> *mut Data {
    record::of(task).map_or(NO_WORD.as_ptr(), |record| record.data.as_ptr())
}

/// The tool's word of a region.
pub fn region_of(team: &Team) -> *mut Data {
    record::of_team(team).data.as_ptr()
}

fn frame_of(task: &Task) -> *const TaskFrame {
    record::of(task).map_or(ptr::null(), |record: &TaskRecord| &raw const record.frame)
}

fn region_unless(over: bool, thread: &Thread) -> *mut Data {
    if over { ptr::null_mut() } else { region_of(thread.team()) }
}

/// Behind which call of the program something happens.
pub fn code(site: &EventSite) -> *const c_void {
    ptr::without_provenance(site.code())
}

/// The kind of a task, as the flags that tools get.
pub fn flags_of(task: &Task) -> u32 {
    if !task.is_explicit() {
        let initial =
            record::is_root(task.team()) || record::of_team(task.team()).kind.get() != RegionKind::Parallel;
        let alone = if task.team().size() == 1 { task_flag::UNDEFERRED } else { 0 };
        return if initial { task_flag::INITIAL } else { task_flag::IMPLICIT | alone };
    }
    let flags = task.flags();
    if flags.has(record::WAITS) {
        return task_flag::TASKWAIT | task_flag::UNDEFERRED | task_flag::MERGEABLE;
    }
    let bit = |is: bool, bit: u32| if is { bit } else { 0 };
    let kind = if flags.has(TaskFlags::TARGET) { task_flag::TARGET } else { task_flag::EXPLICIT };
    kind | bit(flags.has(TaskFlags::UNDEFERRED) || flags.has(record::INCLUDED), task_flag::UNDEFERRED)
        | bit(flags.has(TaskFlags::UNTIED), task_flag::UNTIED)
        | bit(flags.has(TaskFlags::FINAL), task_flag::FINAL)
        | bit(flags.has(TaskFlags::MERGED), task_flag::MERGED)
}

fn parallel_flags(team: &Team) -> u32 {
    let by_program = team.plan().body.function.is_null();
    parallel_flag::TEAM | if by_program { parallel_flag::BY_PROGRAM } else { parallel_flag::BY_RUNTIME }
}

fn kind_of(item: &Dependence) -> u32 {
    match (item.address, item.kind) {
        (None, DependenceKind::Out) => 34,
        (_, DependenceKind::In) => 1,
        (_, DependenceKind::Out) => 3,
        (_, DependenceKind::MutexInOutSet) => 4,
        (_, DependenceKind::InOutSet) => 7,
    }
}

/// The consumer that calls a tool's callbacks.
pub struct Ompt;

// *Word and type*, the invariant of all calls below: `callback!` gives a function of the type that
// belongs to the event; words and frames live as long as what they are kept with, which lives
// during the event.
impl Consumer for Ompt {
    fn thread_begin(&self, thread: &Thread, kind: ThreadKind) {
        if let Some(call) = callback!(THREAD_BEGIN: ThreadBegin) {
            // SAFETY: *word and type*.
            unsafe { call(kind as u32, record::of_thread(thread).data.as_ptr()) };
        }
    }

    fn thread_end(&self, thread: &Thread) {
        if let Some(call) = callback!(THREAD_END: ThreadEnd) {
            // SAFETY: *word and type*.
            unsafe { call(record::of_thread(thread).data.as_ptr()) };
        }
    }

    fn parallel_begin(&self, site: &EventSite, team: &Team, wanted: u32) {
        if let Some(call) = callback!(PARALLEL_BEGIN: ParallelBegin) {
            // SAFETY: *word and type*.
            unsafe {
                call(
                    data_of(site.task),
                    frame_of(site.task),
                    region_of(team),
                    wanted,
                    parallel_flags(team),
                    code(site),
                )
            };
        }
    }

    fn parallel_end(&self, site: &EventSite, team: &Team) {
        if let Some(call) = callback!(PARALLEL_END: ParallelEnd) {
            // SAFETY: *word and type*.
            unsafe { call(region_of(team), data_of(site.task), parallel_flags(team), code(site)) };
        }
    }

    fn league_begin(&self, site: &EventSite, word: *mut u64, teams: u32) {
        if let Some(call) = callback!(PARALLEL_BEGIN: ParallelBegin) {
            let flags = parallel_flag::LEAGUE | parallel_flag::BY_RUNTIME;
            // SAFETY: *word and type*.
            unsafe { call(data_of(site.task), frame_of(site.task), word, teams, flags, code(site)) };
        }
    }

    fn league_end(&self, site: &EventSite, word: *mut u64) {
        if let Some(call) = callback!(PARALLEL_END: ParallelEnd) {
            // SAFETY: *word and type*.
            unsafe {
                call(word, data_of(site.task), parallel_flag::LEAGUE | parallel_flag::BY_RUNTIME, code(site))
            };
        }
    }

    fn implicit_task(&self, thread: &Thread, end: ToolEndpoint, over: bool) {
        let Some(call) = callback!(IMPLICIT_TASK: ImplicitTask) else { return };
        let team = thread.team();
        let flags = flags_of(&thread.implicit);
        let (size, index) = match (flags, record::is_root(team)) {
            (task_flag::INITIAL, true) => (1, 1),
            (task_flag::INITIAL, false) => (team.plan().league.teams, team.plan().league.number),
            _ => (team.size(), thread.num()),
        };
        let size = if end == ToolEndpoint::Begin { size } else { 0 };
        // SAFETY: *word and type*.
        unsafe {
            call(end as u32, region_unless(over, thread), data_of(&thread.implicit), size, index, flags)
        };
    }

    fn task_create(&self, site: &EventSite, task: &Task, has_dependences: bool) {
        if let Some(call) = callback!(TASK_CREATE: TaskCreate) {
            let has = c_int::from(has_dependences);
            // SAFETY: *word and type*.
            unsafe {
                call(data_of(site.task), frame_of(site.task), data_of(task), flags_of(task), has, code(site))
            };
        }
    }

    fn dependences(&self, _: &EventSite, task: &Task, items: &[Dependence]) {
        if let Some(call) = callback!(DEPENDENCES: Dependences) {
            let items: Vec<OmptDependence> = items
                .iter()
                .map(|item| OmptDependence { variable: item.address.unwrap_or(0), kind: kind_of(item) })
                .collect();
            // SAFETY: *word and type*.
            unsafe { call(data_of(task), items.as_ptr(), items.len() as c_int) };
        }
    }

    fn iteration(&self, site: &EventSite, source: bool, values: &[i64]) {
        if let Some(call) = callback!(DEPENDENCES: Dependences) {
            let kind = if source { 5 } else { 6 };
            let items: Vec<OmptDependence> =
                values.iter().map(|&value| OmptDependence { variable: value as usize, kind }).collect();
            // SAFETY: *word and type*.
            unsafe { call(data_of(site.task), items.as_ptr(), items.len() as c_int) };
        }
    }

    fn task_dependence(&self, _: &EventSite, first: TaskMark, second: &Task) {
        if let Some(call) = callback!(TASK_DEPENDENCE: TaskDependence) {
            let mut word = first.word;
            // SAFETY: *word and type*.
            unsafe { call(&raw mut word, data_of(second)) };
        }
    }

    fn task_schedule(&self, _: &Thread, prior: &Task, status: TaskStatus, next: Option<&Task>) {
        if let Some(call) = callback!(TASK_SCHEDULE: TaskSchedule) {
            // SAFETY: *word and type*.
            unsafe { call(data_of(prior), status as u32, next.map_or(ptr::null_mut(), data_of)) };
        }
    }

    fn sync_region(&self, site: &EventSite, kind: SyncKind, end: ToolEndpoint, over: bool) {
        if let Some(call) = callback!(SYNC_REGION: SyncRegion) {
            // SAFETY: *word and type*.
            unsafe {
                call(
                    kind as u32,
                    end as u32,
                    region_unless(over, site.thread),
                    data_of(site.task),
                    code(site),
                )
            };
        }
    }

    fn sync_wait(&self, site: &EventSite, kind: SyncKind, end: ToolEndpoint, over: bool) {
        if let Some(call) = callback!(SYNC_WAIT: SyncRegion) {
            // SAFETY: *word and type*.
            unsafe {
                call(
                    kind as u32,
                    end as u32,
                    region_unless(over, site.thread),
                    data_of(site.task),
                    code(site),
                )
            };
        }
    }

    fn work(&self, site: &EventSite, kind: ToolWork, end: ToolEndpoint, count: u64) {
        if let Some(call) = callback!(WORK: OmptWork) {
            // SAFETY: *word and type*.
            unsafe {
                call(
                    kind as u32,
                    end as u32,
                    region_of(site.thread.team()),
                    data_of(site.task),
                    count,
                    code(site),
                )
            };
        }
    }

    fn dispatch(&self, site: &EventSite, chunk: Chunk) {
        let Some(call) = callback!(DISPATCH: OmptDispatch) else { return };
        let (region, task) = (region_of(site.thread.team()), data_of(site.task));
        let (kind, start, iterations) = match chunk {
            // SAFETY: *word and type*.
            Chunk::Section(code) => return unsafe { call(region, task, 2, code as u64) },
            Chunk::Loop(start, count) => (3, start, count),
            Chunk::Taskloop(start, count) => (4, start, count),
            Chunk::Distribute(start, count) => (5, start, count),
        };
        let chunk = ChunkOf { start, iterations };
        // SAFETY: *word and type*.
        unsafe { call(region, task, kind, (&raw const chunk).addr() as u64) };
    }

    fn masked(&self, site: &EventSite, end: ToolEndpoint) {
        if let Some(call) = callback!(MASKED: Masked) {
            // SAFETY: *word and type*.
            unsafe { call(end as u32, region_of(site.thread.team()), data_of(site.task), code(site)) };
        }
    }

    fn reduction(&self, site: &EventSite, end: ToolEndpoint) {
        if let Some(call) = callback!(REDUCTION: SyncRegion) {
            let kind = SyncKind::Reduction as u32;
            // SAFETY: *word and type*.
            unsafe { call(kind, end as u32, region_of(site.thread.team()), data_of(site.task), code(site)) };
        }
    }

    fn mutex_acquire(&self, site: &EventSite, kind: ToolMutex, hint: u32, id: u64) {
        if let Some(call) = callback!(MUTEX_ACQUIRE: MutexAcquire) {
            // SAFETY: *word and type*.
            unsafe { call(kind as u32, hint, PARKING, id, code(site)) };
        }
    }

    fn mutex_acquired(&self, site: &EventSite, kind: ToolMutex, id: u64) {
        if let Some(call) = callback!(MUTEX_ACQUIRED: OmptMutex) {
            // SAFETY: *word and type*.
            unsafe { call(kind as u32, id, code(site)) };
        }
    }

    fn mutex_released(&self, site: &EventSite, kind: ToolMutex, id: u64) {
        if let Some(call) = callback!(MUTEX_RELEASED: OmptMutex) {
            // SAFETY: *word and type*.
            unsafe { call(kind as u32, id, code(site)) };
        }
    }

    fn nest_lock(&self, site: &EventSite, end: ToolEndpoint, id: u64) {
        if let Some(call) = callback!(NEST_LOCK: OmptNestLock) {
            // SAFETY: *word and type*.
            unsafe { call(end as u32, id, code(site)) };
        }
    }

    fn lock_init(&self, site: &EventSite, kind: ToolMutex, hint: u32, id: u64) {
        if let Some(call) = callback!(LOCK_INIT: MutexAcquire) {
            // SAFETY: *word and type*.
            unsafe { call(kind as u32, hint, PARKING, id, code(site)) };
        }
    }

    fn lock_destroy(&self, site: &EventSite, kind: ToolMutex, id: u64) {
        if let Some(call) = callback!(LOCK_DESTROY: OmptMutex) {
            // SAFETY: *word and type*.
            unsafe { call(kind as u32, id, code(site)) };
        }
    }

    fn flush(&self, site: &EventSite) {
        if let Some(call) = callback!(FLUSH: Flush) {
            // SAFETY: *word and type*.
            unsafe {
                call(record::of_thread(record::thread_for_tools(site.thread)).data.as_ptr(), code(site))
            };
        }
    }

    fn cancel(&self, site: &EventSite, task: &Task, flags: u32) {
        if let Some(call) = callback!(CANCEL: Cancel) {
            // SAFETY: *word and type*.
            unsafe { call(data_of(task), flags, code(site)) };
        }
    }

    fn error(&self, site: &EventSite, fatal: bool, message: &[u8]) {
        if let Some(call) = callback!(ERROR: OmptError) {
            let text: Vec<u8> = message.iter().copied().chain([0]).collect();
            // SAFETY: *word and type*.
            unsafe {
                call(if fatal { 2 } else { 1 }, text.as_ptr().cast::<c_char>(), message.len(), code(site))
            };
        }
    }

    fn control_tool(&self, site: &EventSite, command: u64, modifier: u64, argument: usize) -> Option<i32> {
        // A tool without a callback: `omp_control_tool_nocallback`.
        Some(callback!(CONTROL_TOOL: ControlTool).map_or(-1, |call| {
            let argument = ptr::without_provenance_mut(argument);
            // SAFETY: *word and type*.
            unsafe { call(command, modifier, argument, code(site)) }
        }))
    }

    fn target(&self, site: &EventSite, kind: ToolTarget, end: ToolEndpoint, device: i32) {
        devices::target(site, kind, end, device);
    }

    fn device_op(&self, site: &EventSite, op: &DeviceOp, end: Option<ToolEndpoint>, words: &Words) {
        devices::device_op(site, op, end, words);
    }

    fn submit(&self, end: ToolEndpoint, teams: u32, words: &Words) {
        devices::submit(end, teams, words);
    }

    fn maps(&self, site: &EventSite, construct: &Cell<u64>, items: &[ToolMapping]) {
        devices::maps(site, construct, items);
    }

    fn device_opens(&self, device: &ToolDevice) {
        devices::opens(device);
    }

    fn device_closes(&self, device: &ToolDevice) {
        devices::closes(device);
    }

    fn device_loads(&self, device: &ToolDevice, module: u64, image: &[u8]) {
        devices::loads(device, module, image);
    }

    fn device_unloads(&self, device: &ToolDevice, module: u64) {
        devices::unloads(device, module);
    }
}
