//! CUDA GPUs as OpenMP devices, through the driver API opened with `dlopen` on first use.
//!
//! | file | what lives there |
//! |---|---|
//! | [`driver`] | the driver's library and its functions; results in words |
//! | [`context`] | a device's primary context, current on a thread while it is needed |
//! | [`memory`] | memory of a device: blocks that are kept for the next ones |
//! | [`streams`] | what was begun, on which stream, and what has to wait for what |
//! | [`priorities`] | tasks' priorities on the driver's range |
//! | [`peers`] | copies between devices |
//! | [`staging`] | copies from and to the host's memory that the driver would keep their caller waiting for |
//! | [`images`] | images of clang's, their functions and variables, and what its device code wants to know |
//! | [`elf`] | names of variables in an image |
//! | [`geometry`] | how many teams and threads a kernel gets |
//! | [`gpu`] | [`Gpu`], which is a [`Device`](device_trait::Device) |
//!
//! May not live here: a link-time dependency on CUDA, mapping, which device runs what. A machine
//! without a driver has zero devices.
//!
//! Why functions of our own making and no crate for the driver: `docs/dependencies.md`.

use core::ffi::CStr;

pub mod context;
pub mod driver;
pub mod elf;
pub mod geometry;
pub mod gpu;
pub mod images;
pub mod memory;
pub mod peers;
pub mod priorities;
pub mod staging;
pub mod streams;

pub use driver::Driver;
pub use gpu::Gpu;

/// The driver's file, as the system finds it.
pub const DRIVER: &CStr = c"libcuda.so.1";

/// The GPUs of a driver, in its order; see [`Driver::open`].
///
/// # Errors
/// A line that says why there are none. Those that cannot be used are left out, and said so with
/// the others.
pub fn gpus(driver: &'static Driver) -> Result<(Vec<Gpu>, Vec<String>), String> {
    let count = driver.count().map_err(|why| format!("the CUDA driver counts no devices: {why}"))?;
    let (mut found, mut lines) = (Vec::new(), Vec::new());
    for ordinal in 0..count {
        match Gpu::new(driver, ordinal) {
            Ok(gpu) => found.push(gpu),
            Err(why) => lines.push(format!("CUDA device {ordinal} is left out: {why}")),
        }
    }
    let all: Vec<_> = found.iter().map(Gpu::shared).collect();
    found.iter_mut().for_each(|gpu| gpu.meet(&all));
    if found.is_empty() {
        Err(lines.pop().unwrap_or_else(|| "the CUDA driver has no devices".into()))
    } else {
        Ok((found, lines))
    }
}
