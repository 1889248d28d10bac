//! Kernels: what is known of them, what they get, how they begin.

use core::ffi::{CStr, c_void};
use std::collections::HashMap;

use device_trait::{
    self as interface, Convention, Device, DeviceAddress, DeviceCode, DeviceFailure, DeviceOperation, Launch,
};

use super::global_objects::GlobalFunctions;
use super::{Gpu, failed, lock};
use crate::driver::{Function, code};
use crate::geometry::{self, Kernel, RequestedGeometry};
use crate::images::{self, KERNEL_BYTES, LoadedImage};
use crate::streams::{NotBegun, OperationMemory, OperationRemains, StreamLane, StreamUse, StreamWork};

/// What a kernel's first argument points to, in words: two counters, and the buffer of its
/// reduction.
pub(super) const LAUNCH_WORDS: usize = 2;

/// A kernel that was found.
#[derive(Clone, Copy)]
pub(super) struct FoundKernel {
    pub(super) function: Function,
    pub(super) kernel: Kernel,
}

/// What was loaded.
#[derive(Default)]
pub(super) struct LoadedImages {
    pub loaded: Vec<Option<KernelModule>>,
    /// By image and function.
    pub kernels: HashMap<(u64, DeviceAddress), FoundKernel>,
    /// Two words of zeros, for kernels without reductions.
    pub nothing: DeviceAddress,
}

/// An image, and its destructors until they have been called.
pub(super) struct KernelModule {
    pub image: LoadedImage,
    pub destructors: Option<GlobalFunctions>,
}

impl LoadedImages {
    /// One that has not been unloaded.
    pub fn get(&self, number: u64) -> Option<&LoadedImage> {
        self.loaded.get(number as usize)?.as_ref().map(|module| &module.image)
    }
}

/// Room for the launch's words, so that what is behind them is aligned.
const ALIGNED_WORDS: usize = 64;

/// How arguments are handed over: a buffer, its size, the end.
const BUFFER: *const c_void = core::ptr::without_provenance(1);
const BUFFER_SIZE: *const c_void = core::ptr::without_provenance(2);
const END: *const c_void = core::ptr::null();

impl Gpu {
    /// Begins a kernel.
    ///
    /// # Safety
    /// As for the trait's `run`.
    pub(super) unsafe fn begin_kernel(&self, launch: &Launch<'_>) -> Result<DeviceOperation, DeviceFailure> {
        let DeviceCode::Loaded(module, name, address) = launch.code else {
            return Err(DeviceFailure("a GPU cannot run functions of the host".into()));
        };
        let found = self.kernel(module, name, address)?;
        let mut arguments = Vec::with_capacity(1 + launch.arguments.len());
        let mut held = None;
        match launch.convention {
            Convention::Array => {
                return Err(DeviceFailure(
                    "a GPU cannot run code that takes its arguments in an array".into(),
                ));
            }
            Convention::Separate => {}
            Convention::SeparateAfterEnvironment => {
                let (environment, own) = self.environment(&found.kernel)?;
                arguments.push(environment);
                held = own;
            }
        }
        arguments.extend_from_slice(launch.arguments);
        let uses = {
            let memory = self.memory();
            let blocks = launch.arguments.iter().filter_map(|&argument| memory.block_at(argument));
            blocks.map(|range| StreamUse { range, writes: true }).collect()
        };
        let wish = RequestedGeometry {
            teams: launch.teams[0],
            threads: launch.thread_limit[0],
            iterations: launch.iterations,
        };
        self.launch(
            &found,
            wish,
            launch.shared_bytes,
            &arguments,
            StreamWork {
                uses,
                after: launch.after,
                held,
                priority: launch.priority,
                ..StreamWork::default()
            },
        )
    }

    /// What the compiler has left with a kernel.
    fn kernel(
        &self,
        module: interface::DeviceModule,
        name: &CStr,
        address: DeviceAddress,
    ) -> Result<FoundKernel, DeviceFailure> {
        if let Some(found) = lock(&self.images).kernels.get(&(module.0, address)) {
            return Ok(*found);
        }
        let (function, environment) = {
            let images = lock(&self.images);
            let image =
                images.get(module.0).ok_or_else(|| DeviceFailure("the image is not loaded".into()))?;
            let function = image.kernel(name).ok_or_else(|| {
                DeviceFailure(format!("the image has no kernel {}", name.to_string_lossy()).into())
            })?;
            (function, image.kernel_environment(name).map_err(|why| DeviceFailure(why.into()))?)
        };
        let kernel = match environment {
            None => Kernel::UNKNOWN,
            Some(at) => {
                let mut bytes = [0; KERNEL_BYTES];
                // SAFETY: a variable of as many bytes; they are waited for.
                let operation = unsafe { self.copy_out(bytes.as_mut_ptr(), at, KERNEL_BYTES) }?;
                self.complete(operation)?;
                images::kernel(&bytes).map_err(|why| DeviceFailure(why.into()))?
            }
        };
        let found = FoundKernel { function, kernel };
        lock(&self.images).kernels.insert((module.0, address), found);
        Ok(found)
    }

    /// What a kernel's first argument points to: two zeros, unless its teams reduce something
    /// together. Then a block of its own.
    fn environment(
        &self,
        kernel: &Kernel,
    ) -> Result<(DeviceAddress, Option<OperationMemory>), DeviceFailure> {
        let buffer = kernel.reduction.bytes as usize * kernel.reduction.places as usize;
        if buffer == 0 {
            return Ok((lock(&self.images).nothing, None));
        }
        let block = self.allocate(ALIGNED_WORDS + buffer, 64)?;
        let words: Box<[u64]> = Box::new([0, (block + ALIGNED_WORDS) as u64]);
        Ok((block, Some(OperationMemory { block, words })))
    }

    /// Begins a kernel in a stream, its environment before it if it has one of its own.
    pub(super) fn launch(
        &self,
        found: &FoundKernel,
        wish: RequestedGeometry,
        shared: u32,
        arguments: &[usize],
        work: StreamWork<'_>,
    ) -> Result<DeviceOperation, DeviceFailure> {
        let (driver, grid) = (self.driver, geometry::choose(&found.kernel, wish, &self.limits));
        let environment =
            work.held.as_ref().map(|held| (held.block, held.words.as_ptr(), size_of_val(&*held.words)));
        let bytes = size_of_val(arguments);
        let put = |stream| {
            if let Some((to, from, size)) = environment {
                // SAFETY: a block of the operation's own, and words that stay until it is over.
                let copied = unsafe { (driver.copy_in)(to, from.cast(), size, stream) };
                if copied != code::SUCCESS {
                    return copied;
                }
            }
            let extra =
                [BUFFER, arguments.as_ptr().cast::<c_void>(), BUFFER_SIZE, (&raw const bytes).cast(), END];
            // SAFETY: arguments that the caller vouches for, which the driver copies; a grid within
            // the device's limits.
            unsafe {
                (driver.launch)(
                    found.function,
                    grid.teams,
                    1,
                    1,
                    grid.threads,
                    1,
                    1,
                    shared,
                    stream,
                    core::ptr::null(),
                    extra.as_ptr(),
                )
            }
        };
        let _inside = self.enter()?;
        let begun = self.shared.begin(StreamLane::Compute, work, put);
        begun.map(DeviceOperation).map_err(|NotBegun { why, held }| {
            self.release(OperationRemains { held, reads: None });
            failed(&why)
        })
    }
}
