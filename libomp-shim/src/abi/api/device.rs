//! Device routines (OpenMP 5.2 §18.7). The number of the initial device is the number of other
//! devices.
//!
//! | file | what lives there |
//! |---|---|
//! | [`memory`], `rectangle` | §18.8, memory of devices |
//! | [`properties`] | names, distances and kinds |
//! | `memory_of_host` | what memory these have in a library without devices |

use core::ffi::c_int;

use super::parallel::{change_icv, icv};
use omp::extension::offload;
use omp::team::ON_HOST;
use omp::thread::CurrentThread;

pub mod memory;
#[cfg(not(feature = "offload"))]
mod memory_of_host;
pub mod properties;
mod rectangle;

/// The devices that have memory, and what is done with it.
mod memory_of {
    #[cfg(not(feature = "offload"))]
    pub use super::memory_of_host::{HostSide as Side, *};
    #[cfg(feature = "offload")]
    pub use omp_offload::interface::DeviceFailure as CopyFailure;
    #[cfg(feature = "offload")]
    pub use omp_offload::memory::*;
}

/// The device whose target region the calling code is inside of; [`ON_HOST`] for none.
fn running_on() -> c_int {
    CurrentThread::if_known().map_or(ON_HOST, |here| here.team().plan().nesting.device)
}

routines! {
    /// `omp_set_default_device` (18.7.2).
    fn omp_set_default_device(device: c_int) {
        change_icv(|icv| icv.default_device = device);
    }

    /// `omp_get_default_device` (18.7.3).
    fn omp_get_default_device() -> c_int {
        icv().default_device
    }

    /// `omp_get_num_devices` (18.7.4): devices other than the host.
    fn omp_get_num_devices() -> c_int {
        offload::count()
    }

    /// `omp_get_device_num` (18.7.5): the device the calling code runs on.
    fn omp_get_device_num() -> c_int {
        match running_on() {
            ON_HOST => offload::count(),
            number => number,
        }
    }

    /// `omp_is_initial_device` (18.7.6).
    fn omp_is_initial_device() -> c_int {
        c_int::from(running_on() == ON_HOST)
    }

    /// `omp_get_initial_device` (18.7.7).
    fn omp_get_initial_device() -> c_int {
        offload::count()
    }
}

wide_routines! {
    fn omp_set_default_device(device);
}
