//! Asks the library, which this process loads: prints its `ompx_describe`, and what only calls of
//! OpenMP's tell, as lines `name=value`.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use clap::ArgMatches;

use crate::failure::CommandFailure;

/// A library that is loaded.
struct LoadedLibrary(*mut c_void);

impl LoadedLibrary {
    fn open(file: &Path) -> Result<LoadedLibrary, CommandFailure> {
        let shown = file.display();
        let path = CString::new(file.as_os_str().as_bytes())
            .map_err(|_| CommandFailure::own(format!("{shown}: no such name")))?;
        // SAFETY: a C string. The library's constructors run, which do nothing but what a program's
        // start does.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
        if !handle.is_null() {
            return Ok(LoadedLibrary(handle));
        }
        // SAFETY: the loader's text, which stays until this thread's next call of it.
        let why = unsafe { libc::dlerror().as_ref() }
            .map_or(String::new(), |text| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
        Err(CommandFailure::own(format!("{shown} cannot be loaded: {why}")))
    }

    fn address(&self, name: &CStr) -> Result<*mut c_void, CommandFailure> {
        // SAFETY: the handle is open, and a C string.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        if address.is_null() {
            Err(CommandFailure::own(format!(
                "the library has no {}: it is older than this command",
                name.to_string_lossy()
            )))
        } else {
            Ok(address)
        }
    }

    /// Calls a function that takes nothing and returns a number.
    fn number(&self, name: &CStr) -> Result<c_int, CommandFailure> {
        let address = self.address(name)?;
        // SAFETY: callers name functions of this type (`omp.h`).
        Ok(unsafe { core::mem::transmute::<*mut c_void, extern "C" fn() -> c_int>(address)() })
    }

    fn describe(&self) -> Result<String, CommandFailure> {
        type Describe = unsafe extern "C" fn(*mut c_char, usize) -> usize;
        let address = self.address(c"ompx_describe")?;
        // SAFETY: the function's type, by `ompx.h`.
        let describe = unsafe { core::mem::transmute::<*mut c_void, Describe>(address) };
        // SAFETY: null asks for the size alone.
        let size = unsafe { describe(core::ptr::null_mut(), 0) };
        let mut bytes = vec![0_u8; size + 1];
        // SAFETY: so much room is there.
        unsafe { describe(bytes.as_mut_ptr().cast(), bytes.len()) };
        bytes.truncate(size);
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn device(&self, number: c_int) -> Result<String, CommandFailure> {
        let call = |name: &CStr| -> Result<c_int, CommandFailure> {
            let address = self.address(name)?;
            // SAFETY: both functions take the number of a device and return a number (`ompx.h`).
            Ok(unsafe { core::mem::transmute::<*mut c_void, extern "C" fn(c_int) -> c_int>(address)(number) })
        };
        // OMPX_CPU is 1.
        let kind = if call(c"ompx_device_kind")? == 1 { "CPU" } else { "GPU" };
        Ok(format!("{number}: {kind} of rank {}", call(c"ompx_device_rank")?))
    }
}

/// Prints the answers of the library that the options name.
pub fn run(options: &ArgMatches) -> Result<(), CommandFailure> {
    let file = options.get_one::<PathBuf>("library").expect("it is required");
    let library = LoadedLibrary::open(file)?;
    print!("{}", library.describe()?);
    println!("max_threads={}", library.number(c"omp_get_max_threads")?);
    for number in 0..library.number(c"omp_get_num_devices")? {
        println!("device={}", library.device(number)?);
    }
    Ok(())
}
