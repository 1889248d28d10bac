//! Constructors of an image's global objects: clang leaves a kernel that calls them, in the order of a list that whoever loads the image has to write.
//!
//! As LLVM 19 does it: a variable for each function, whose name ends with its priority; the list's ends in two variables.

use core::ffi::CStr;
use std::ffi::CString;

use device_trait::{Address, Device, Failure};

use super::Gpu;
use super::launch::Found;
use crate::elf;
use crate::geometry::{Kernel, Wish};
use crate::images::Loaded;
use crate::streams::Work;

const KERNEL: &CStr = c"nvptx$device$init";
const EACH: &str = "__init_array_object_";
const ENDS: [&CStr; 2] = [c"__init_array_start", c"__init_array_end"];
const POINTER: usize = size_of::<u64>();

/// The names of the variables in the order in which their functions are called: small priorities first.
fn in_order(image: &[u8]) -> Vec<&str> {
    let mut names = elf::variables(image, EACH);
    names.sort_by_key(|name| name.rsplit('_').next().and_then(|priority| priority.parse::<u32>().ok()).unwrap_or(u32::MAX));
    names
}

impl Gpu {
    /// Calls the constructors of an image that was loaded just now, and waits for them.
    pub(super) fn construct(&self, loaded: &Loaded, image: &[u8]) -> Result<(), Failure> {
        let names = in_order(image);
        let kernel = {
            let _inside = self.enter()?;
            loaded.kernel(KERNEL)
        };
        let Some(function) = kernel.filter(|_| !names.is_empty()) else { return Ok(()) };
        let variable = |name: &CStr| {
            let _inside = self.enter()?;
            loaded.variable(name).map(|found| found.address).ok_or_else(|| Failure("its constructors are not where LLVM 19 has them".into()))
        };
        let mut functions = Vec::with_capacity(names.len());
        for name in names {
            let name = CString::new(name).map_err(|_| Failure("a name has a zero byte".into()))?;
            functions.push(self.read(variable(&name)?)?);
        }
        let list = self.allocate(functions.len() * POINTER, POINTER)?;
        self.write(list, &functions)?;
        let ends = [list, list + functions.len() * POINTER];
        for (name, end) in ENDS.iter().zip(ends) {
            self.write(variable(name)?, &[end as u64])?;
        }
        let found = Found { function, kernel: Kernel::UNKNOWN };
        let one = Wish { teams: 1, threads: 1, iterations: 0 };
        let called = self.launch(&found, one, 0, &[], Work::default()).and_then(|operation| self.settle(operation));
        // SAFETY: allocated above; the kernel is over.
        unsafe { self.free(list) };
        called
    }

    /// Reads a word of the device, and waits.
    fn read(&self, from: Address) -> Result<u64, Failure> {
        let mut word = 0_u64;
        // SAFETY: a variable of this size; the word stays until it is there.
        let operation = unsafe { self.copy_out((&raw mut word).cast(), from, POINTER) }?;
        self.settle(operation)?;
        Ok(word)
    }
}
