//! Kernels: what is known of them, what they get, how they begin.

use core::ffi::{CStr, c_void};
use std::collections::HashMap;

use device_trait::{self as interface, Address, Code, Convention, Device, Failure, Launch, Operation};

use super::global_objects::List;
use super::{Gpu, failed, lock};
use crate::driver::{Function, code};
use crate::geometry::{self, Kernel, Wish};
use crate::images::{self, KERNEL_BYTES, Loaded};
use crate::streams::{Held, Lane, Left, Use, Work};

/// What a kernel's first argument points to, in words: two counters, and the buffer of its
/// reduction.
pub(super) const LAUNCH_WORDS: usize = 2;

/// A kernel that was found.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) function: Function,
    pub(super) kernel: Kernel,
}

/// What was loaded.
#[derive(Default)]
pub(super) struct Images {
    pub loaded: Vec<Option<Module>>,
    /// By image and function.
    pub kernels: HashMap<(u64, Address), Found>,
    /// Two words of zeros, for kernels without reductions.
    pub nothing: Address,
}

/// An image, and its destructors until they have been called.
pub(super) struct Module {
    pub image: Loaded,
    pub destructors: Option<List>,
}

impl Images {
    /// One that has not been unloaded.
    pub fn get(&self, number: u64) -> Option<&Loaded> {
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
    pub(super) unsafe fn begin_kernel(&self, launch: &Launch<'_>) -> Result<Operation, Failure> {
        let Code::Loaded(module, name, address) = launch.code else {
            return Err(Failure("a GPU cannot run functions of the host".into()));
        };
        let found = self.kernel(module, name, address)?;
        let mut arguments = Vec::with_capacity(1 + launch.arguments.len());
        let mut held = None;
        match launch.convention {
            Convention::Array => {
                return Err(Failure("a GPU cannot run code that takes its arguments in an array".into()));
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
            blocks.map(|range| Use { range, writes: true }).collect()
        };
        let wish =
            Wish { teams: launch.teams[0], threads: launch.thread_limit[0], iterations: launch.iterations };
        self.launch(
            &found,
            wish,
            launch.shared_bytes,
            &arguments,
            Work { uses, after: launch.after, held, priority: launch.priority, ..Work::default() },
        )
    }

    /// What the compiler has left with a kernel.
    fn kernel(&self, module: interface::Module, name: &CStr, address: Address) -> Result<Found, Failure> {
        if let Some(found) = lock(&self.images).kernels.get(&(module.0, address)) {
            return Ok(*found);
        }
        let (function, environment) = {
            let images = lock(&self.images);
            let image = images.get(module.0).ok_or_else(|| Failure("the image is not loaded".into()))?;
            let function = image.kernel(name).ok_or_else(|| {
                Failure(format!("the image has no kernel {}", name.to_string_lossy()).into())
            })?;
            (function, image.kernel_environment(name).map_err(|why| Failure(why.into()))?)
        };
        let kernel = match environment {
            None => Kernel::UNKNOWN,
            Some(at) => {
                let mut bytes = [0; KERNEL_BYTES];
                // SAFETY: a variable of as many bytes; they are waited for.
                let operation = unsafe { self.copy_out(bytes.as_mut_ptr(), at, KERNEL_BYTES) }?;
                self.complete(operation)?;
                images::kernel(&bytes).map_err(|why| Failure(why.into()))?
            }
        };
        let found = Found { function, kernel };
        lock(&self.images).kernels.insert((module.0, address), found);
        Ok(found)
    }

    /// What a kernel's first argument points to: two zeros, unless its teams reduce something
    /// together. Then a block of its own.
    fn environment(&self, kernel: &Kernel) -> Result<(Address, Option<Held>), Failure> {
        let buffer = kernel.reduction.0 as usize * kernel.reduction.1 as usize;
        if buffer == 0 {
            return Ok((lock(&self.images).nothing, None));
        }
        let block = self.allocate(ALIGNED_WORDS + buffer, 64)?;
        let words: Box<[u64]> = Box::new([0, (block + ALIGNED_WORDS) as u64]);
        Ok((block, Some(Held { block, words })))
    }

    /// Begins a kernel in a stream, its environment before it if it has one of its own.
    pub(super) fn launch(
        &self,
        found: &Found,
        wish: Wish,
        shared: u32,
        arguments: &[usize],
        work: Work<'_>,
    ) -> Result<Operation, Failure> {
        let (driver, (teams, threads)) = (self.driver, geometry::choose(&found.kernel, wish, &self.limits));
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
                    teams,
                    1,
                    1,
                    threads,
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
        let begun = self.shared.begin(Lane::Compute, work, put);
        begun.map(Operation).map_err(|(why, held)| {
            self.release(Left { held, reads: None });
            failed(&why)
        })
    }
}
