//! What is known of a region when its device is to be chosen, and what its `device` clause leaves
//! open: records and numbers, without the choice.

/// The number that stands for any GPU.
pub const ANY_GPU: i32 = 0x4000_0001;

/// The number that stands for any device.
pub const ANY: i32 = 0x4000_0000;

/// The number that stands for any other rank.
pub const ANY_RANK: i32 = 0x4000_0002;

/// The number that stands for the devices that have what is at an address, and that for the one
/// where it was written last. The address is [noted](super::hints::set_address).
pub const NEAR: i32 = 0x4000_0003;
/// See [`NEAR`].
pub const BEHIND: i32 = 0x4000_0004;

/// How many sections of distributed memory the program may name for a region.
pub const SECTIONS: usize = 4;

/// Elements of some distributed memory (`omp_cluster::persistent::dist`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// Where the memory is.
    pub address: u64,
    /// The first element.
    pub index: u64,
    /// How many.
    pub count: u64,
}

/// A region whose device is to be chosen.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnnouncedRegion {
    /// The number of the region; the first region has number 0.
    pub number: u32,
    /// Bytes of device memory that the region needs besides its mapped storage.
    pub scratch: u64,
    /// The distributed memory that the region works on, as far as the program has declared it.
    pub data: [Option<Section>; SECTIONS],
    /// Its mapped storage stays on its device as resident copies, if its list suits
    /// ([`super::resident`]).
    pub stays_resident: bool,
    /// The code of the region's task if a compiler made the task; else 0.
    pub entry: usize,
    /// The devices that may run the region.
    pub among: DeviceChoice,
}

/// Devices that the runtime may choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// All devices.
    #[default]
    All,
    /// GPUs.
    Gpus,
    /// Other ranks.
    Ranks,
    /// The devices of a set that the program has made.
    Set(u32),
    /// The devices that have a copy of the byte at this address.
    Near(usize),
    /// The device where the data that begin at this address were written last.
    Behind(usize),
}
