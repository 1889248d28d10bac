//! Devices (OpenMP 5.2 §13): what target constructs and the `omp_target_*` routines do.
//!
//! What lives here: devices of all kinds, mapping, target constructs, data on devices, and where
//! regions run. What does not: the operations of a kind (`device-trait`), GPUs (`cuda-offload`), the
//! placement policies (`placement`), and MPI ranks, which are devices of a crate above this one.
//!
//! | module | what lives there |
//! |---|---|
//! | [`interface`] | the trait that every kind of device implements |
//! | [`device_slot`], [`devices`] | the record of a device; the devices that there are |
//! | `room` | memory for copies, by dropping copies that are not used |
//! | [`table`], [`map`] | the mapping table of a device, and the effect of a list of map items |
//! | [`transfer`] | copies, and waiting for a device |
//! | [`pipeline`] | copies in pieces by way of the host |
//! | [`choose`] | where a region runs, if its construct leaves the choice to the runtime |
//! | [`chain`] | regions that follow each other on a device without the host |
//! | [`borrowed`] | streams that tasks of the program put their own work on |
//! | [`work`] | tasks of functions that use such a stream |
//! | [`avoided`] | GPUs that have failed such tasks |
//! | [`version`] | tasks that have a function for the host and one for GPUs |
//! | [`mod@place`] | the placement policy, and the figures that it needs |
//! | [`construct`] | `target`, `target data`, `target update` |
//! | [`extension`] | what devices do at the events of the host's OpenMP |
//! | [`flags`] | properties of tasks that only devices know |
//! | [`mandatory`] | what `OMP_TARGET_OFFLOAD=MANDATORY` refuses |
//! | [`program`] | code and variables that the program brings for devices |
//! | [`memory`] | the device memory routines |
//! | [`interop`] | interop objects, and the program's own streams |
//! | [`spaces`] | memory of devices by allocators |
//! | [`host`], [`image`] | the host device |
//! | [`resident`] | copies that regions leave on devices for the next regions |
//! | [`mod@array`] | arrays of the program whose blocks lie where they are used |
//! | [`gpu`] | GPUs; the crate `cuda-offload` drives them |
//! | [`ranks`] | what devices ask of MPI ranks |
//! | [`modules`] | executables and shared objects, by something that is the same on every rank |
//! | [`handle`], [`bytes`] | handles and faults of calls; copies of bytes that are passed on |
//! | [`statics`] | which storage of the program is static |
//!
//! Two fronts call this crate: `abi::tgt` (clang) and `abi::gomp` (gcc). Both make a list of
//! [`map::MapItem`]s and a [`construct::TargetRegion`]. A region passes through the crate twice:
//! [`choose::region_device`] finds where it runs, and [`construct::run`] does there what it says.
//!
//! Files name the file that they mean, not this one, and records have files of their own below what
//! is done with them. So the files of this crate form no large circle.

pub use device_slot::{DeviceOwner, DeviceSlot, RunningRegion, TableGuard, fail};
pub use device_trait as interface;
pub use devices::{ConstructDevice, any, are_counted, count, get, number, opened, place, usable};

pub mod array;
pub mod avoided;
pub mod borrowed;
pub mod bytes;
pub mod chain;
pub mod choose;
pub mod construct;
pub mod device_slot;
pub mod devices;
pub mod extension;
pub mod flags;
pub mod gpu;
pub mod handle;
pub mod host;
pub mod image;
pub mod interop;
pub mod mandatory;
pub mod map;
pub mod memory;
pub mod modules;
pub mod pipeline;
pub mod place;
pub mod program;
pub mod ranks;
mod reported;
pub mod resident;
mod room;
pub mod spaces;
pub mod statics;
pub mod table;
pub mod transfer;
pub mod version;
pub mod work;

/// The extensions of this crate's tests.
#[cfg(test)]
#[unsafe(export_name = "gangway_extensions")]
static EXTENSIONS: omp::extension::Extensions =
    omp::extension::Extensions { offload: &extension::Devices, ..omp::extension::Extensions::NONE };

/// The ranks of this crate's tests: there are none.
#[cfg(test)]
#[unsafe(export_name = "gangway_ranks")]
static RANKS: &dyn ranks::Ranks = &ranks::NoRanks;
