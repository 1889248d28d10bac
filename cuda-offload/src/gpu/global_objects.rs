//! Constructors and destructors of an image's global objects. For each of the two kinds clang
//! leaves a kernel that calls them, in the order of a list. The code that loads the image has to
//! write the list.
//!
//! As LLVM 19 does it: a variable for each function, whose name ends with its priority; the list's
//! ends in two variables. The kernel for constructors goes through its list from the first to the
//! last one, that for destructors from the last to the first one.
//!
//! Both lists are written when the image is loaded, so that what does not fit is known then, and
//! the end of the process needs no memory. Destructors are called once: when the image is unloaded,
//! or when the process ends ([`Device::unload`], [`Device::end`]).

use core::ffi::CStr;
use std::ffi::CString;

use device_trait::{Device, DeviceAddress, DeviceFailure};

use super::Gpu;
use super::launch::FoundKernel;
use crate::driver::Function;
use crate::elf;
use crate::geometry::{Kernel, RequestedGeometry};
use crate::images::LoadedImage;
use crate::streams::StreamWork;

/// What a kind of function is called in the image.
struct Names {
    kernel: &'static CStr,
    each: &'static str,
    ends: [&'static CStr; 2],
    what: &'static str,
}

const CONSTRUCTORS: Names = Names {
    kernel: c"nvptx$device$init",
    each: "__init_array_object_",
    ends: [c"__init_array_start", c"__init_array_end"],
    what: "constructors",
};
const DESTRUCTORS: Names = Names {
    kernel: c"nvptx$device$fini",
    each: "__fini_array_object_",
    ends: [c"__fini_array_start", c"__fini_array_end"],
    what: "destructors",
};

const POINTER: usize = size_of::<u64>();

/// Functions in a list on the device, and the kernel that calls them.
pub(super) struct GlobalFunctions {
    kernel: Function,
    block: DeviceAddress,
}

/// The names of the variables by the priorities of their functions: small ones first.
fn in_order<'a>(image: &'a [u8], each: &str) -> Vec<&'a str> {
    let mut names = elf::variables(image, each);
    names.sort_by_key(|name| {
        name.rsplit('_').next().and_then(|priority| priority.parse::<u32>().ok()).unwrap_or(u32::MAX)
    });
    names
}

/// The beginning of the list that the kernel for destructors gets. LLVM 19's kernel calls nothing
/// if the last function is not behind this beginning, so a single function would not be called. For
/// a single function the beginning is therefore half a word earlier. The kernel goes down by words
/// as long as it is not before the beginning, so it calls as many functions as there are.
fn destructor_list_begin(first: DeviceAddress, count: usize) -> DeviceAddress {
    if count == 1 { first - POINTER / 2 } else { first }
}

impl Gpu {
    /// Calls the constructors of an image that was loaded just now, and waits for them.
    pub(super) fn construct(&self, loaded: &LoadedImage, image: &[u8]) -> Result<(), DeviceFailure> {
        let list = self.list(loaded, image, &CONSTRUCTORS, |first, _| first)?;
        list.map_or(Ok(()), |list| self.call(list))
    }

    /// The destructors of an image, to be called later.
    pub(super) fn destructors(
        &self,
        loaded: &LoadedImage,
        image: &[u8],
    ) -> Result<Option<GlobalFunctions>, DeviceFailure> {
        self.list(loaded, image, &DESTRUCTORS, destructor_list_begin)
    }

    /// Calls destructors, and waits for them.
    pub(super) fn destroy(&self, list: GlobalFunctions) -> Result<(), DeviceFailure> {
        self.call(list).map_err(|why| DeviceFailure(format!("destructors of an image: {why}").into()))
    }

    /// The list of the functions that are called so; `None` without any.
    fn list(
        &self,
        loaded: &LoadedImage,
        image: &[u8],
        names: &Names,
        begin: fn(DeviceAddress, usize) -> DeviceAddress,
    ) -> Result<Option<GlobalFunctions>, DeviceFailure> {
        let each = in_order(image, names.each);
        let kernel = {
            let _inside = self.enter()?;
            loaded.kernel(names.kernel)
        };
        let Some(kernel) = kernel.filter(|_| !each.is_empty()) else { return Ok(None) };
        let variable = |name: &CStr| {
            let _inside = self.enter()?;
            loaded.variable(name).map(|found| found.address).ok_or_else(|| {
                DeviceFailure(format!("its {} are not where LLVM 19 has them", names.what).into())
            })
        };
        let mut functions = Vec::with_capacity(1 + each.len());
        functions.push(0); // not in the list
        for name in &each {
            let name = CString::new(*name).map_err(|_| DeviceFailure("a name has a zero byte".into()))?;
            functions.push(self.read(variable(&name)?)?);
        }
        let ends = [variable(names.ends[0])?, variable(names.ends[1])?];
        let block = self.allocate(functions.len() * POINTER, POINTER)?;
        let first = block + POINTER;
        self.write(block, &functions)?;
        self.write(ends[0], &[begin(first, each.len()) as u64])?;
        self.write(ends[1], &[(first + each.len() * POINTER) as u64])?;
        Ok(Some(GlobalFunctions { kernel, block }))
    }

    fn call(&self, list: GlobalFunctions) -> Result<(), DeviceFailure> {
        let found = FoundKernel { function: list.kernel, kernel: Kernel::UNKNOWN };
        let one = RequestedGeometry { teams: 1, threads: 1, iterations: 0 };
        let called = self
            .launch(&found, one, 0, &[], StreamWork::default())
            .and_then(|operation| self.complete(operation));
        // SAFETY: `list` allocated it; the kernel is over.
        unsafe { self.free(list.block) };
        called
    }

    /// Reads a word of the device, and waits.
    fn read(&self, from: DeviceAddress) -> Result<u64, DeviceFailure> {
        let mut word = 0_u64;
        // SAFETY: a variable of this size; the word stays until it is there.
        let operation = unsafe { self.copy_out((&raw mut word).cast(), from, POINTER) }?;
        self.complete(operation)?;
        Ok(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What LLVM 19's kernel for destructors calls, as its code says: from the last word to the
    /// first one.
    fn called(begin: DeviceAddress, end: DeviceAddress) -> Vec<DeviceAddress> {
        let last = end - POINTER;
        if last <= begin {
            return Vec::new();
        }
        (0..).map(|at| last - at * POINTER).take_while(|&at| at >= begin).collect()
    }

    #[test]
    fn the_kernel_for_destructors_calls_all_once_and_nothing_else() {
        assert!(called(1000, 1008).is_empty(), "why the beginning is reported so");
        for count in 1..5 {
            let first = 1000;
            let want: Vec<_> = (0..count).rev().map(|at| first + at * POINTER).collect();
            assert_eq!(called(destructor_list_begin(first, count), first + count * POINTER), want);
        }
    }
}
