//! Images for GPUs: ELF files that clang has put into the program, their functions and variables,
//! and what LLVM's device code has to be given.
//!
//! The structures are LLVM 19's. They have no version of their own. An image whose structures have
//! other sizes is of a release that was never tried, and is refused. What may not live here:
//! launching, memory.

use core::ffi::CStr;
use std::ffi::CString;

use crate::driver::{CuModule, Driver, DriverAddress, DriverError, Function, code};
use crate::geometry::{ExecutionMode, Kernel, KnownBounds, ReductionSpace};

/// Machine of an ELF file with code for a GPU (`EM_CUDA`).
const MACHINE: u16 = 190;

/// Is that an image for GPUs?
#[must_use]
pub fn is_ours(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF") && bytes.get(18..20).is_some_and(|machine| machine == MACHINE.to_le_bytes())
}

/// The variable of the device code that says on which device it runs, and its size.
const DEVICE_ENVIRONMENT: (&CStr, usize) = (c"__omp_rtl_device_environment", 48);
/// What is behind a kernel's name in the name of the variable with what the compiler knows of it,
/// and that variable's size.
const KERNEL_ENVIRONMENT: (&str, usize) = ("_kernel_environment", 48);

/// What a device tells its code.
#[derive(Clone, Copy, Debug)]
pub struct DeviceEnvironment {
    /// How many devices there are.
    pub devices: u32,
    /// Which one it is.
    pub number: u32,
    /// How many threads it runs at the same time.
    pub parallelism: u64,
}

impl DeviceEnvironment {
    /// As LLVM's device code reads it: no debugging, no memory that is asked for at the launch, a
    /// clock of 1 GHz, no table of functions.
    fn words(&self) -> [u64; 6] {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        [pair(0, self.devices), pair(self.number, 0), 1_000_000_000, 0, 0, self.parallelism]
    }
}

/// A variable of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageVariable {
    /// Where it is.
    pub address: DriverAddress,
    /// Its bytes.
    pub size: usize,
}

/// An image that was loaded into a context.
pub struct LoadedImage {
    driver: &'static Driver,
    module: CuModule,
}

impl LoadedImage {
    /// Loads it.
    ///
    /// # Errors
    /// The driver's.
    pub fn new(driver: &'static Driver, bytes: &[u8]) -> Result<Self, DriverError> {
        let mut module = CuModule::NULL;
        // SAFETY: a valid out pointer; the image says itself how long it is.
        driver.check(unsafe { (driver.module_load)(&raw mut module, bytes.as_ptr()) })?;
        Ok(Self { driver, module })
    }

    /// Takes it out of the current context. What the driver says changes nothing any more; one that
    /// has no such function keeps the image.
    pub fn unload(self) {
        if let Some(unload) = self.driver.module_unload {
            // SAFETY: a module that is loaded, of which nothing is in use any more.
            unsafe { unload(self.module) };
        }
    }

    /// Its kernel of that name.
    #[must_use]
    pub fn kernel(&self, name: &CStr) -> Option<Function> {
        let mut function = Function(core::ptr::null_mut());
        // SAFETY: a valid out pointer, a string, a module that stays loaded.
        let found = unsafe { (self.driver.module_function)(&raw mut function, self.module, name.as_ptr()) };
        (found == code::SUCCESS).then_some(function)
    }

    /// Its variable of that name.
    #[must_use]
    pub fn variable(&self, name: &CStr) -> Option<ImageVariable> {
        let (mut address, mut size) = (0, 0);
        // SAFETY: valid out pointers, a string, a module that stays loaded.
        let found = unsafe {
            (self.driver.module_global)(&raw mut address, &raw mut size, self.module, name.as_ptr())
        };
        (found == code::SUCCESS).then_some(ImageVariable { address, size })
    }

    /// The words that tell its code where it runs, and where they go; `None`: it does not ask.
    ///
    /// # Errors
    /// They are of another release's size.
    pub fn environment(
        &self,
        place: &DeviceEnvironment,
    ) -> Result<Option<(DriverAddress, [u64; 6])>, String> {
        let (name, size) = DEVICE_ENVIRONMENT;
        match self.variable(name) {
            None => Ok(None),
            Some(found) if found.size == size => Ok(Some((found.address, place.words()))),
            Some(found) => Err(format!(
                "its device code is of an LLVM release that is not known ({} bytes of environment, where LLVM 19 has {size})",
                found.size
            )),
        }
    }

    /// Where what the compiler knows of a kernel lies; `None`: it is no kernel of clang's.
    ///
    /// # Errors
    /// It is of another release's size.
    pub fn kernel_environment(&self, name: &CStr) -> Result<Option<DriverAddress>, String> {
        let (behind, size) = KERNEL_ENVIRONMENT;
        let Ok(name) = CString::new([name.to_bytes(), behind.as_bytes()].concat()) else { return Ok(None) };
        match self.variable(&name) {
            None => Ok(None),
            Some(found) if found.size == size => Ok(Some(found.address)),
            Some(found) => Err(format!(
                "its kernels are of an LLVM release that is not known ({} bytes of environment, where LLVM 19 has {size})",
                found.size
            )),
        }
    }
}

/// Bytes of what the compiler knows of a kernel.
pub const KERNEL_BYTES: usize = KERNEL_ENVIRONMENT.1;

/// What they say.
///
/// # Errors
/// There is no such mode.
pub fn kernel(bytes: &[u8; KERNEL_BYTES]) -> Result<Kernel, String> {
    let mode = match bytes[2] {
        1 => ExecutionMode::Generic,
        2 => ExecutionMode::Spmd,
        3 => ExecutionMode::GenericSpmd,
        other => return Err(format!("a kernel begins in a way that is not known ({other})")),
    };
    let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    // They are signed there; less than 0 stands for nothing known.
    let known = |at: usize| if number(at) > i32::MAX as u32 { 0 } else { number(at) };
    Ok(Kernel {
        mode,
        threads: KnownBounds { least: known(4), most: known(8) },
        teams: KnownBounds { least: known(12), most: known(16) },
        reduction: ReductionSpace { bytes: known(20), places: known(24) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_recognized_by_their_machine() {
        let mut image = vec![0; 64];
        image[..4].copy_from_slice(b"\x7fELF");
        assert!(!is_ours(&image));
        image[18] = 190;
        assert!(is_ours(&image) && !is_ours(&image[..19]) && !is_ours(b""));
    }

    #[test]
    fn a_kernel_s_environment_is_read() {
        let mut bytes = [0; KERNEL_BYTES];
        bytes[2] = 1;
        for (at, value) in [(4, 1), (8, 128), (12, -1), (16, 1), (20, 8), (24, 1024)] {
            bytes[at..at + 4].copy_from_slice(&i32::to_le_bytes(value));
        }
        assert_eq!(
            kernel(&bytes),
            Ok(Kernel {
                mode: ExecutionMode::Generic,
                threads: KnownBounds { least: 1, most: 128 },
                teams: KnownBounds { least: 0, most: 1 },
                reduction: ReductionSpace { bytes: 8, places: 1024 }
            })
        );
        bytes[2] = 0;
        assert!(kernel(&bytes).is_err_and(|why| why.contains("(0)")));
    }

    #[test]
    fn the_device_s_environment_has_llvm_s_layout() {
        let words = DeviceEnvironment { devices: 3, number: 2, parallelism: 4096 }.words();
        assert_eq!(words, [3 << 32, 2, 1_000_000_000, 0, 0, 4096]);
        assert_eq!(size_of_val(&words), DEVICE_ENVIRONMENT.1);
    }
}
