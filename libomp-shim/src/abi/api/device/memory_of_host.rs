//! The memory of a library without devices: the host's alone.
//!
//! What lives here: the names of `omp_offload::memory` that routines use, for the one device that
//! there is.

use core::convert::Infallible;
use core::ffi::CStr;
use core::ops::Range;
use core::ptr::{copy as copy_bytes, with_exposed_provenance, with_exposed_provenance_mut, write_bytes};

use omp::target;
pub use omp::target::AddressOn;
use omp::team::ON_HOST;

/// An address in memory.
pub type Address = usize;
/// Copies do not fail.
pub type CopyFailure = Infallible;

/// Where memory is: on the host.
#[derive(Clone, Copy)]
pub struct HostSide;

impl HostSide {
    /// The host is no numbered device.
    pub fn number(self) -> i32 {
        ON_HOST
    }

    /// The host has no name of a device.
    pub fn name(self) -> Option<&'static CStr> {
        None
    }

    /// The host is no GPU.
    pub fn is_gpu(self) -> bool {
        false
    }

    /// The process is alone.
    pub fn rank(self) -> u32 {
        0
    }

    /// The host uses its own memory.
    pub fn reaches_host_memory(self) -> bool {
        true
    }

    /// On the host every address has its own copy.
    pub fn associate(self, _host: Range<usize>, _device: Address) -> bool {
        false
    }

    /// There is no association.
    pub fn disassociate(self, _host: usize) -> bool {
        false
    }
}

/// The host, if it is meant.
pub fn side(number: i32) -> Option<HostSide> {
    target::is_host(number).then_some(HostSide)
}

/// `size` bytes of memory, 0 when there are none.
pub fn allocate(_: HostSide, size: usize) -> Address {
    // SAFETY: malloc has no precondition.
    unsafe { libc::malloc(size) }.expose_provenance()
}

/// Gives it back.
///
/// # Safety
/// It came from [`allocate`], and is not used any more.
pub unsafe fn free(_: HostSide, block: Address) {
    // SAFETY: as the caller says.
    unsafe { libc::free(with_exposed_provenance_mut(block)) };
}

/// Copies `size` bytes.
///
/// # Errors
/// None.
/// # Safety
/// Both are that large.
pub unsafe fn copy(
    to: AddressOn<HostSide>,
    from: AddressOn<HostSide>,
    size: usize,
) -> Result<(), CopyFailure> {
    // SAFETY: as the caller says.
    unsafe {
        copy_bytes(with_exposed_provenance::<u8>(from.address), with_exposed_provenance_mut(to.address), size)
    };
    Ok(())
}

/// Sets `size` bytes.
///
/// # Errors
/// None.
/// # Safety
/// The block is that large.
pub unsafe fn set(_: HostSide, to: Address, value: u8, size: usize) -> Result<(), CopyFailure> {
    // SAFETY: as the caller says.
    unsafe { write_bytes(with_exposed_provenance_mut::<u8>(to), value, size) };
    Ok(())
}

/// Everything is present on the host.
pub fn is_present(_: HostSide, _address: usize) -> bool {
    true
}

/// Everything is where it is.
pub fn mapped(_: HostSide, address: usize) -> Option<Address> {
    Some(address)
}
