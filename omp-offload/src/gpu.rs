//! GPUs: which driver is opened, and what is said about it. The devices themselves are
//! `cuda-offload`'s.
//!
//! Only with `OMPX_CUDA`: the device has passed its tests on a driver made for tests, and has not
//! yet met a GPU.

use std::ffi::CString;

use cuda_offload::driver::Driver;

use device_trait::Device;
use omp::env::CudaDriver;
use omp::report;

/// The GPUs of the driver that the user has named; none without one. What goes wrong is said in a
/// line, behind `who`.
pub fn devices(named: Option<&CudaDriver>, who: &str) -> Vec<Box<dyn Device>> {
    let Some(named) = named else { return Vec::new() };
    let (gpus, lines) =
        open(named).unwrap_or_else(|why| (Vec::new(), vec![format!("OMPX_CUDA: {why}; there are no GPUs")]));
    lines.iter().for_each(|line| report::warn(format_args!("{who}{line}")));
    gpus.into_iter().map(|gpu| Box::new(gpu) as Box<dyn Device>).collect()
}

fn open(named: &CudaDriver) -> Result<(Vec<cuda_offload::Gpu>, Vec<String>), String> {
    let path = match named {
        CudaDriver::System => cuda_offload::DRIVER.to_owned(),
        CudaDriver::File(name) => {
            CString::new(name.as_str()).map_err(|_| "a file's name has no zero byte")?
        }
    };
    let driver = Driver::open(&path).map_err(|why| why.to_string())?;
    // It stays open: devices are never taken down.
    cuda_offload::gpus(Box::leak(Box::new(driver)))
}
