//! What the program brings for devices: images, the regions in them, and variables (OpenMP 5.2
//! §7.8, `declare target`).
//!
//! Lives here: what was registered, and loading it on a device that is used for the first time.
//! Plain data: the layouts of the compilers' tables are the fronts' matter. Registering does
//! nothing else, because constructors do it, in every process. What becomes of it at the end:
//! [`leaving`].

use core::ffi::CStr;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::table::{Mapped, Origin};
use super::transfer::wait_for;
use crate::device_slot::DeviceSlot;
use device_trait::{DeviceAddress, DeviceFailure, DeviceImage, DeviceModule, Release};
use loaded::Brought;
use omp::extension::tools;
use omp::report;
use omp::thread::CurrentThread;

pub mod leaving;
pub(crate) mod loaded;

/// What an entry of a program's table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramEntryKind {
    /// The code of a target region; its address on the host names it.
    Region,
    /// A variable that the image has a copy of.
    Variable,
    /// A pointer that a mapping of the variable it stands for fills in (`link`).
    Link,
    /// A function that is called through pointers (`indirect`); the image has a variable with its
    /// address.
    Indirect,
}

/// An entry of a program's table.
#[derive(Clone, Copy, Debug)]
pub struct ProgramEntry {
    /// What it is.
    pub what: ProgramEntryKind,
    /// Its address on the host.
    pub host: usize,
    /// Its name in the image.
    pub name: &'static CStr,
    /// Bytes, for variables.
    pub size: usize,
}

/// A program: an executable or shared object with code for devices.
#[derive(Clone, Debug)]
pub struct DeviceProgram {
    /// What stands for it when it is taken away: the address of its descriptor.
    pub handle: usize,
    /// Its images, any of which will do.
    pub images: Vec<&'static [u8]>,
    /// Whose they are.
    pub release: Release,
    /// Its table.
    pub entries: Vec<ProgramEntry>,
}

#[derive(Default)]
struct ProgramRegistry {
    programs: Vec<(u64, DeviceProgram)>,
    /// Regions by host address: program and entry.
    regions: Option<HashMap<usize, (u64, &'static CStr)>>,
    last: u64,
}

static REGISTRY: Mutex<ProgramRegistry> =
    Mutex::new(ProgramRegistry { programs: Vec::new(), regions: None, last: 0 });
/// Changes with the registry.
static GENERATION: AtomicU64 = AtomicU64::new(1);

fn registry() -> MutexGuard<'static, ProgramRegistry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A program has been loaded. Its images and table stay until it is taken away.
pub fn register(program: DeviceProgram) {
    let mut registry = registry();
    registry.last += 1;
    let number = registry.last;
    let regions = program
        .entries
        .iter()
        .filter(|e| e.what == ProgramEntryKind::Region)
        .map(|e| (e.host, (number, e.name)));
    registry.regions.get_or_insert_default().extend(regions);
    registry.programs.push((number, program));
    // ORDERING: Release, pairs with the Acquire in `bring`; the registry has a lock
    // besides.
    GENERATION.fetch_add(1, Ordering::Release);
}

/// The program with this handle goes away.
pub fn unregister(handle: usize) {
    forget(handle);
    // ORDERING: Release, as in `register`: who finds a device busy now leaves it to the next
    // construct there.
    GENERATION.fetch_add(1, Ordering::Release);
    leaving::unload_everywhere();
}

fn forget(handle: usize) {
    let mut registry = registry();
    let gone: Vec<u64> =
        registry.programs.iter().filter(|(_, p)| p.handle == handle).map(|&(n, _)| n).collect();
    registry.programs.retain(|(n, _)| !gone.contains(n));
    if let Some(regions) = &mut registry.regions {
        regions.retain(|_, (n, _)| !gone.contains(n));
    }
}

/// An image that was registered and is `wanted`.
pub fn image(wanted: impl Fn(&[u8]) -> bool) -> Option<&'static [u8]> {
    registry().programs.iter().flat_map(|(_, p)| &p.images).copied().find(|bytes| wanted(bytes))
}

/// What stands for the programs that were registered.
pub fn handles() -> Vec<usize> {
    registry().programs.iter().map(|(_, p)| p.handle).collect()
}

/// Can the device be used? Loads on it what is new, and enters its variables in the table. Before
/// every construct.
///
/// A device for which no program has an image, or that cannot load it, is not used at all: regions
/// on the host would not see what other constructs map there. Where something is mapped already, by
/// another program of this process, only the regions run on the host.
pub fn bring(slot: &DeviceSlot) -> bool {
    bring_and(slot, &give_up)
}

/// [`bring`], where `fails` learns what could not be loaded.
fn bring_and(slot: &DeviceSlot, fails: &dyn Fn(&DeviceSlot, &DeviceFailure)) -> bool {
    // ORDERING: Acquire, pairs with `register`.
    let generation = GENERATION.load(Ordering::Acquire);
    // ORDERING: Acquire, pairs with the Release below: what was loaded is seen.
    if slot.programs.seen.load(Ordering::Acquire) == generation {
        return slot.programs.may_be_used();
    }
    let me = core::ptr::from_ref(CurrentThread::get().task).addr();
    // ORDERING: Relaxed; only the task itself has stored its own address.
    if slot.programs.by.load(Ordering::Relaxed) == me {
        return slot.programs.may_be_used();
    }
    tools::device::comes_up(slot.number); // here, since the tool's code may wait for others
    slot.programs.lock.lock();
    // ORDERING: Relaxed, here and below; as above.
    slot.programs.by.store(me, Ordering::Relaxed);
    leaving::unload_gone(slot);
    let known = registry().programs.clone();
    let has_programs = !known.is_empty();
    for (number, program) in known {
        if slot.programs.modules().contains_key(&number) {
            continue;
        }
        match load(slot, number, &program) {
            Ok(Some((module, image))) => {
                leaving::note(number);
                tools::device::loads(slot.number, number, image);
                let variables = enter_variables(slot, module, &program);
                slot.programs.modules().insert(number, Brought { module, variables });
            }
            Ok(None) => {}
            Err(why) => fails(slot, &why),
        }
    }
    // ORDERING: Relaxed; `seen` publishes it.
    slot.programs.without_code.store(has_programs && slot.programs.modules().is_empty(), Ordering::Relaxed);
    // ORDERING: Release, pairs with the Acquire above.
    slot.programs.seen.store(generation, Ordering::Release);
    slot.programs.by.store(0, Ordering::Relaxed);
    slot.programs.lock.unlock();
    slot.programs.may_be_used()
}

fn give_up(slot: &DeviceSlot, why: &DeviceFailure) {
    let what = if leave_out(slot, why) {
        "the device is not used, its constructs run on the host"
    } else {
        "its regions run on the host"
    };
    report::warn(format_args!("device {}: {why}; {what}", slot.number));
}

/// An image could not be loaded: is the device left unused from here on?
fn leave_out(slot: &DeviceSlot, why: &DeviceFailure) -> bool {
    let is_unused = slot.lock().is_unused();
    // ORDERING: Relaxed; `seen` and the lock publish it.
    slot.programs.given_up.store(is_unused, Ordering::Relaxed);
    *slot.programs.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.clone());
    is_unused
}

/// The module that the device has made of the program with an image that is `wanted`: for another
/// rank, which says what cannot be loaded.
///
/// # Errors
/// No program has registered such an image here, or the device cannot load it.
pub fn module(slot: &DeviceSlot, wanted: impl Fn(&[u8]) -> bool) -> Result<DeviceModule, DeviceFailure> {
    bring_and(slot, &|slot, why| {
        leave_out(slot, why);
    });
    let known = registry()
        .programs
        .iter()
        .find(|(_, program)| program.images.iter().any(|bytes| wanted(bytes)))
        .map(|&(number, _)| number);
    let number = known.ok_or_else(|| {
        DeviceFailure(
            "that rank has not loaded the module that the image is in, or another version of it".into(),
        )
    })?;
    let module = slot.programs.modules().get(&number).map(|brought| brought.module);
    let why = || slot.programs.failed.lock().unwrap_or_else(PoisonError::into_inner).clone();
    module.ok_or_else(|| why().unwrap_or_else(|| DeviceFailure("the image cannot be loaded".into())))
}

/// Can the device run the region with this host address: has it an image with it, or does it run
/// the host's functions?
pub fn can_run(slot: &DeviceSlot, host: usize) -> bool {
    let has_image = registry().regions.as_ref().is_some_and(|regions| regions.contains_key(&host));
    if has_image { bring(slot) } else { slot.device.runs_host_functions() }
}

/// What the device has made of the first image that it takes, and that.
///
/// # Errors
/// There is one for it, which cannot be loaded.
fn load(
    slot: &DeviceSlot,
    number: u64,
    program: &DeviceProgram,
) -> Result<Option<(DeviceModule, &'static [u8])>, DeviceFailure> {
    let mut failed = None;
    for (at, bytes) in program.images.iter().enumerate() {
        let id = number << 8 | at as u64 & 0xFF;
        match slot.device.load(&DeviceImage { bytes, id, release: program.release }) {
            Ok(Some(module)) => return Ok(Some((module, bytes))),
            Ok(None) => {}
            Err(why) => failed = Some(why),
        }
    }
    failed.map_or(Ok(None), Err)
}

/// Where the device has a function whose address a variable of the image holds.
fn function(slot: &DeviceSlot, variable: DeviceAddress) -> Option<DeviceAddress> {
    let mut function: DeviceAddress = 0;
    // SAFETY: the variable is as large as an address.
    let copy =
        unsafe { slot.device.copy_out((&raw mut function).cast(), variable, size_of::<DeviceAddress>()) };
    copy.and_then(|operation| wait_for(&*slot.device, operation)).ok()?;
    Some(function)
}

/// Enters the variables of the program that the device has; their host addresses. The device is
/// asked before the table is locked: the host's loader has a lock of its own, which [`leaving`] may
/// be called under.
fn enter_variables(slot: &DeviceSlot, module: DeviceModule, program: &DeviceProgram) -> Vec<usize> {
    let found: Vec<_> = program.entries.iter().filter_map(|entry| variable(slot, module, entry)).collect();
    let mut table = slot.lock();
    let mut entered = Vec::new();
    for (range, address) in found {
        if table.overlapping(range.clone()).is_empty() {
            entered.push(range.start);
            table.insert(Mapped::new(range, address, Origin::Variable).forever());
        }
    }
    entered
}

/// What an entry that is no region means: host addresses, and where the device has that.
fn variable(
    slot: &DeviceSlot,
    module: DeviceModule,
    entry: &ProgramEntry,
) -> Option<(Range<usize>, DeviceAddress)> {
    let found = || slot.device.find(module, entry.name);
    match entry.what {
        // So that a pointer to the function that is mapped points to the device's.
        ProgramEntryKind::Indirect => Some((entry.host..entry.host + 1, function(slot, found()?)?)),
        ProgramEntryKind::Variable | ProgramEntryKind::Link if entry.size > 0 => {
            Some((entry.host..entry.host + entry.size, found()?))
        }
        _ => None,
    }
}

/// Where `slot` has the region that is known by the host address `host`; `None` when it has no code
/// for it.
pub fn region(slot: &DeviceSlot, host: usize) -> Option<(DeviceModule, &'static CStr, DeviceAddress)> {
    let (number, name) = *registry().regions.as_ref()?.get(&host)?;
    let module = slot.programs.modules().get(&number)?.module;
    slot.device.find(module, name).map(|address| (module, name, address))
}
