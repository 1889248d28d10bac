//! What devices ask of MPI ranks, and tell them. Ranks are devices themselves, and have further
//! ones; all that devices know of them is here.
//!
//! What lives here: the trait, and the functions by which devices call it. What does not: ranks
//! (`omp_cluster::rank`, `omp_cluster::remote`, `omp_cluster::persistent`), so that a build can leave
//! them out.

use super::handle::RemoteHandle;
use super::place::region::Section;
use crate::device_slot::{DeviceOwner, DeviceSlot};
use device_trait::{Device, DeviceFailure};
use omp::stats::Counters;
use omp::target::AddressOn;

/// A process among several ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankPlace {
    /// Its rank.
    pub rank: u32,
    /// The rank that is device 0.
    pub first_device: usize,
    /// How many ranks are devices.
    pub devices: usize,
}

impl RankPlace {
    /// The number of a rank as a device, if it is one.
    pub fn device_of(self, rank: usize) -> Option<usize> {
        rank.checked_sub(self.first_device).filter(|&at| at < self.devices)
    }
}

/// The devices that ranks are, and have.
pub struct RankDevices {
    /// The ranks, in the order of their numbers as devices.
    pub ranks: Vec<Box<dyn Device>>,
    /// The GPUs of all ranks, in the order of ranks.
    pub gpus: Vec<(DeviceOwner, Box<dyn Device>)>,
}

/// How much of a section is where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SectionBytes {
    /// Bytes that belong to the rank.
    pub own: u64,
    /// Bytes that do not.
    pub other: u64,
}

/// What devices ask of ranks, and tell them. By default there are none.
pub trait Ranks: Sync {
    /// Returns where this process is among the ranks, once they have been brought together; `None`
    /// without ranks.
    fn place(&self) -> Option<RankPlace> {
        None
    }

    /// Returns the devices of the ranks that there are. Called once.
    fn devices(&self) -> RankDevices {
        RankDevices { ranks: Vec::new(), gpus: Vec::new() }
    }

    /// Regions wait here that other ranks may steal. Called while one of them is not over, and
    /// under no lock of devices.
    fn regions_wait(&self) {}

    /// Copies between two devices where another rank does so better than this one, and waits for
    /// it. `None`: it is for this rank.
    ///
    /// # Safety
    /// Both are that large.
    unsafe fn copy(
        &self,
        _to: AddressOn<&DeviceSlot>,
        _from: AddressOn<&DeviceSlot>,
        _size: usize,
    ) -> Option<Result<(), DeviceFailure>> {
        None
    }

    /// Returns the bytes of a section that belong to a rank, and those that do not.
    fn bytes_of(&self, _section: Section, _rank: u32) -> SectionBytes {
        SectionBytes::default()
    }

    /// A task has ended, `well` or not: sets its future, if that still exists.
    fn set_future(&self, _future: RemoteHandle, _well: bool) {}

    /// Writes what ranks count.
    fn add_counters(&self, _counters: &mut Counters) {}
}

/// Where there are no ranks.
pub struct NoRanks;

impl Ranks for NoRanks {}

unsafe extern "Rust" {
    /// Defined once in each library or test program.
    #[link_name = "gangway_ranks"]
    static LINKED: &'static dyn Ranks;
}

/// Returns the ranks that this library was linked with.
pub(super) fn linked() -> &'static dyn Ranks {
    // SAFETY: the library defines the variable with this type, and never writes it.
    unsafe { LINKED }
}

/// See [`Ranks::place`].
pub(super) fn place() -> Option<RankPlace> {
    linked().place()
}
