//! Interop objects (OpenMP 5.2 §14): how the program's own calls of a device's interface (CUDA)
//! meet OpenMP's tasks.
//!
//! An object stands for a device, and for a stream of it that the program puts work on, *foreign
//! tasks* to OpenMP. Each `interop` construct stands for an empty task: it begins when its
//! dependences are met and what was put on the stream before is over, and what is put there later
//! begins behind it. The stream does all of that but one thing: it cannot wait for the host. So the
//! thread that meets the construct waits for the dependences, suspended, with `nowait` too. The
//! stream is waited for by that thread, or with `nowait` by a task, on which others can depend.
//!
//! A number stands for an object in the program. No two are the same, so that an object that was
//! destroyed, or never initialised, is distinguished from a live one.
//!
//! Rejected: memory that the stream polls (`cuStreamWaitValue32`) in place of the wait for
//! dependences. Streams share the few queues of the hardware, so that one that waits for the host
//! can hold up the very kernel that the host waits for.

use core::ffi::{CStr, c_void};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::transfer::wait_for;
use crate::device_slot::{DeviceSlot, fail};
use device_trait::{DeviceFailure, DeviceOperation, Handles, Stream};
use omp::depend::{self, Dependence, Node};
use omp::report;
use omp::task::{self, Task, TaskFlags};
use omp::thread::{CurrentThread, Thread};

/// What a property of an object is (5.2 §14.1, table 14.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InteropValue {
    /// A number.
    Number(isize),
    /// A handle.
    Pointer(*mut c_void),
    /// A string.
    Text(&'static CStr),
    /// Not on this device.
    None,
}

/// A property of every object, by its number: -1 is the first one here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// The foreign runtime.
    Runtime,
    /// Its name.
    RuntimeName,
    /// Whose it is.
    Vendor,
    /// The name.
    VendorName,
    /// OpenMP's number of the device.
    DeviceNumber,
    /// The foreign runtime's platform.
    Platform,
    /// Its device.
    Device,
    /// Its context.
    Context,
    /// Its stream.
    Stream,
}

impl Property {
    const ALL: [Self; 9] = [
        Self::Runtime,
        Self::RuntimeName,
        Self::Vendor,
        Self::VendorName,
        Self::DeviceNumber,
        Self::Platform,
        Self::Device,
        Self::Context,
        Self::Stream,
    ];

    /// The property with OpenMP's number (`omp_ipr_*`): they count down from -1.
    pub fn of(number: i32) -> Option<Self> {
        let at = usize::try_from(-1 - i64::from(number)).ok()?;
        Self::ALL.get(at).copied()
    }

    /// Its name, without `omp_ipr_`.
    pub fn name(self) -> &'static CStr {
        match self {
            Self::Runtime => c"fr_id",
            Self::RuntimeName => c"fr_name",
            Self::Vendor => c"vendor",
            Self::VendorName => c"vendor_name",
            Self::DeviceNumber => c"device_num",
            Self::Platform => c"platform",
            Self::Device => c"device",
            Self::Context => c"device_context",
            Self::Stream => c"targetsync",
        }
    }

    /// Its type in CUDA's words.
    pub fn kind(self) -> &'static CStr {
        match self {
            Self::Runtime => c"omp_interop_fr_t",
            Self::RuntimeName | Self::VendorName => c"const char *",
            Self::Vendor | Self::DeviceNumber | Self::Device => c"int",
            Self::Platform => c"N/A",
            Self::Context => c"CUcontext",
            Self::Stream => c"cudaStream_t",
        }
    }
}

/// `omp_ifr_cuda`, and NVIDIA's number among OpenMP's vendors (OpenMP Additional Definitions).
const CUDA: (isize, &CStr) = (1, c"cuda");
const NVIDIA: (isize, &CStr) = (11, c"nvidia");
/// Who answers where there is no foreign runtime. OpenMP has no number for it.
const OURSELVES: &CStr = c"gangway";

/// An interop object.
pub struct Interop {
    slot: &'static DeviceSlot,
    handles: Option<Handles>,
    /// Opened at once for `targetsync`. clang 19 makes `target` of `target, targetsync`; so any
    /// other object gets one when it is asked for.
    stream: Mutex<Option<Stream>>,
}

/// Locks what is held for some steps only.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Interop {
    /// Its stream, opened if need be.
    fn stream(&self) -> Result<Stream, DeviceFailure> {
        let mut stream = lock(&self.stream);
        match *stream {
            Some(open) => Ok(open),
            None => Ok(*stream.insert(self.slot.device.open_stream(0)?)),
        }
    }

    /// An operation that is over when what the program has put on the stream is; `None` if the
    /// program has never seen one.
    fn mark(&self) -> Result<Option<DeviceOperation>, DeviceFailure> {
        let stream = *lock(&self.stream);
        stream.map(|stream| self.slot.device.mark(stream.id, &[])).transpose()
    }

    ult::seam! {
        /// The device, and the operation of [`mark`](Self::mark) that a construct waits for.
        fn foreign_work(&self, what: &'static str) -> Option<(&'static DeviceSlot, DeviceOperation)> {
            Some((self.slot, self.mark().unwrap_or_else(|why| fail(self.slot, what, &why))?))
        } or interop_forgets_stream {
            None
        }
    }

    /// The value of a property.
    pub fn get(&self, property: Property) -> InteropValue {
        let number = InteropValue::Number(self.slot.number as isize);
        let Some(handles) = self.handles else {
            return match property {
                Property::DeviceNumber => number,
                Property::VendorName => InteropValue::Text(OURSELVES),
                _ => InteropValue::None,
            };
        };
        match property {
            Property::Runtime => InteropValue::Number(CUDA.0),
            Property::RuntimeName => InteropValue::Text(CUDA.1),
            Property::Vendor => InteropValue::Number(NVIDIA.0),
            Property::VendorName => InteropValue::Text(NVIDIA.1),
            Property::DeviceNumber => number,
            Property::Platform => InteropValue::None,
            Property::Device => InteropValue::Number(handles.ordinal as isize),
            Property::Context => InteropValue::Pointer(handles.context),
            Property::Stream => {
                self.stream().map_or(InteropValue::None, |stream| InteropValue::Pointer(stream.handle))
            }
        }
    }
}

impl Drop for Interop {
    fn drop(&mut self) {
        if let Some(stream) = lock(&self.stream).take() {
            self.slot.device.close_stream(stream.id);
        }
    }
}

// ---- objects by number ------------------------------------------------------

/// Those that the program has.
static OBJECTS: Mutex<BTreeMap<usize, Arc<Interop>>> = Mutex::new(BTreeMap::new());
/// The last one's number.
static LAST: AtomicUsize = AtomicUsize::new(0);
/// Numbers are multiples of this, as addresses would be.
const STEP: usize = 16;

/// What an `omp_interop_t` stands for.
pub enum InteropObject {
    /// `omp_interop_none`.
    Empty,
    /// An object.
    Live(Arc<Interop>),
    /// One that was destroyed, or never initialised.
    Unknown,
}

/// The object with this number.
pub fn find(object: *const c_void) -> InteropObject {
    if object.is_null() {
        return InteropObject::Empty;
    }
    lock(&OBJECTS)
        .get(&object.addr())
        .map_or(InteropObject::Unknown, |found| InteropObject::Live(found.clone()))
}

/// As [`find`], for a construct: `None` for `omp_interop_none`. Ends the program if there is no
/// such object.
fn find_for(construct: &str, object: *const c_void) -> Option<Arc<Interop>> {
    match find(object) {
        InteropObject::Empty => None,
        InteropObject::Live(found) => Some(found),
        InteropObject::Unknown => report::end(format_args!(
            "interop {construct}: there is no object {object:p}: it was not initialised, or was destroyed before; the program stops"
        )),
    }
}

// ---- constructs -------------------------------------------------------------

/// `init`: an object for the device, with a stream if it is to have one and the device can. Its
/// dependences are met. Null, `omp_interop_none`, with a line if there are no more streams.
pub fn create(slot: &'static DeviceSlot, targetsync: bool) -> *mut c_void {
    let made = Interop { slot, handles: slot.device.handles(), stream: Mutex::new(None) };
    if targetsync
        && made.handles.is_some()
        && let Err(why) = made.stream()
    {
        report::warn(format_args!(
            "interop init on device {}: {why}; the object is omp_interop_none",
            slot.number
        ));
        return core::ptr::null_mut();
    }
    // ORDERING: Relaxed; numbers that differ.
    let number = (LAST.fetch_add(1, Ordering::Relaxed) + 1) * STEP;
    lock(&OBJECTS).insert(number, Arc::new(made));
    core::ptr::without_provenance_mut(number)
}

/// `use`: what is put on the stream from now on begins when the dependences are met; those that
/// depend on this construct wait for what was put there before. Without `nowait` so does the
/// caller.
pub fn synchronise(
    here: CurrentThread,
    object: *const c_void,
    items: impl Iterator<Item = Dependence> + Clone,
    nowait: bool,
) {
    let found = find_for("use", object);
    meet(here, "interop use", found.as_deref(), items, nowait);
}

/// `destroy`: as `use`, and the stream goes back.
pub fn destroy(
    here: CurrentThread,
    object: *const c_void,
    items: impl Iterator<Item = Dependence> + Clone,
    nowait: bool,
) {
    let found = find_for("destroy", object);
    meet(here, "interop destroy", found.as_deref(), items, nowait);
    lock(&OBJECTS).remove(&object.addr());
}

/// What comes before `init`, and all that a construct without an object is: its dependences.
pub fn meet_dependences(here: CurrentThread, items: impl Iterator<Item = Dependence> + Clone) {
    depend::wait_for(here, items);
}

fn meet(
    here: CurrentThread,
    what: &'static str,
    object: Option<&Interop>,
    items: impl Iterator<Item = Dependence> + Clone,
    nowait: bool,
) {
    let held = await_dependences(here, items.clone());
    let marked = object.and_then(|object| object.foreign_work(what));
    if let (Some((slot, operation)), false) = (marked, nowait) {
        wait_for(&*slot.device, operation).unwrap_or_else(|why| fail(slot, what, &why));
    }
    held.into_iter().for_each(|node| depend::leave(here, node));
    if let (Some((slot, operation)), true) = (marked, nowait) {
        defer(here, Foreign { slot, operation, what }, items);
    }
}

ult::seam! {
    /// Waits until the dependences are met. Returns the node, if there is one; the caller leaves it
    /// at the end of the construct.
    fn await_dependences(
        here: CurrentThread,
        items: impl Iterator<Item = Dependence> + Clone,
    ) -> Option<NonNull<Node>> {
        depend::wait_and_hold(here, items)
    } or interop_ignores_depend {
        None
    }
}

/// What a task waits for.
struct Foreign {
    slot: &'static DeviceSlot,
    operation: DeviceOperation,
    what: &'static str,
}

/// Makes a task that waits for the stream.
fn defer(here: CurrentThread, foreign: Foreign, items: impl Iterator<Item = Dependence> + Clone) {
    const { assert!(align_of::<Foreign>() <= align_of::<Task>()) };
    // Untied, as a target task is: while it waits its thread may begin others.
    let task = Task::allocate(here, size_of::<Foreign>(), run, TaskFlags::UNTIED.with(TaskFlags::OFFLOADED));
    // SAFETY: a fresh task with room for it.
    unsafe { task.payload().cast::<Foreign>().write(foreign) };
    if items.clone().next().is_none() {
        task::submit(here, task);
    } else {
        depend::submit(here, task, items);
    }
}

/// Waits also where the task is discarded: the device keeps an operation until its end has been
/// asked for and reported.
unsafe fn run(_: &Thread, task: &Task, _discarded: bool) -> bool {
    // SAFETY: `defer` has written it; nothing in it is to be dropped.
    let foreign = unsafe { &*task.payload().cast::<Foreign>() };
    wait_for(&*foreign.slot.device, foreign.operation)
        .unwrap_or_else(|why| fail(foreign.slot, foreign.what, &why));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_have_openmp_s_numbers() {
        assert_eq!(
            (Property::of(-1), Property::of(-5), Property::of(-9)),
            (Some(Property::Runtime), Some(Property::DeviceNumber), Some(Property::Stream))
        );
        assert_eq!([0, 1, -10, i32::MIN, i32::MAX].map(Property::of), [None; 5]);
    }

    #[test]
    fn what_was_never_made_is_distinguished_from_none() {
        assert!(matches!(find(core::ptr::null()), InteropObject::Empty));
        assert!(matches!(find(core::ptr::without_provenance(STEP / 2)), InteropObject::Unknown));
    }
}
