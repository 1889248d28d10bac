//! The CUDA driver: its library, opened on first use, and its functions by name.
//!
//! Names are those of the driver API with the versions that CUDA 11 and later have. Without one of
//! the first list there are no devices; each of the second may be missing in an old driver, and
//! then something is slower or declined. What may not live here: anything about devices, streams or
//! images.
//!
//! Rejected: `cust` (its build needs a CUDA toolkit), `cudarc` (it binds all functions of one
//! release at once and panics when the driver lacks one).

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::fmt;
use core::mem::transmute_copy;

/// What a call of the driver's says; 0 is success.
pub type DriverCode = c_int;
/// A device, by the driver's number.
pub type CuDevice = c_int;
/// Memory of a device.
pub type DriverAddress = usize;

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub struct $name(pub *mut c_void);

        // SAFETY: a handle is a number to us; the driver may be called with it from any thread.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}

        impl $name {
            /// None.
            pub const NULL: Self = Self(core::ptr::null_mut());
        }
    )*};
}

handles! {
    /// A context: a device's memory, streams and modules.
    Context;
    /// What is put on it happens in order.
    Stream;
    /// A place in a stream.
    Event;
    /// A loaded image.
    CuModule;
    /// A kernel.
    Function;
}

macro_rules! functions {
    (needed { $($need:ident = $need_name:literal ($($need_arg:ty),*);)* } optional { $($may:ident = $may_name:literal ($($may_arg:ty),*);)* }) => {
        /// The functions of the driver.
        #[allow(missing_docs, reason = "named as in the driver API")]
        pub struct Driver {
            $(pub $need: unsafe extern "C" fn($($need_arg),*) -> DriverCode,)*
            $(pub $may: Option<unsafe extern "C" fn($($may_arg),*) -> DriverCode>,)*
        }

        impl Driver {
            /// # Safety
            /// `library` is a CUDA driver.
            unsafe fn bind(library: *mut c_void) -> Result<Self, Absent> {
                Ok(Self {
                    // SAFETY: as the caller says: these functions have these types.
                    $($need: unsafe { find(library, $need_name) }.ok_or(Absent::Function($need_name))?,)*
                    // SAFETY: as above.
                    $($may: unsafe { find(library, $may_name) },)*
                })
            }
        }
    };
}

functions! {
    needed {
        init = c"cuInit" (c_uint);
        driver_version = c"cuDriverGetVersion" (*mut c_int);
        device_count = c"cuDeviceGetCount" (*mut c_int);
        device_get = c"cuDeviceGet" (*mut CuDevice, c_int);
        device_name = c"cuDeviceGetName" (*mut c_char, c_int, CuDevice);
        device_attribute = c"cuDeviceGetAttribute" (*mut c_int, c_int, CuDevice);
        context_retain = c"cuDevicePrimaryCtxRetain" (*mut Context, CuDevice);
        context_release = c"cuDevicePrimaryCtxRelease_v2" (CuDevice);
        context_current = c"cuCtxGetCurrent" (*mut Context);
        context_set = c"cuCtxSetCurrent" (Context);
        memory_allocate = c"cuMemAlloc_v2" (*mut DriverAddress, usize);
        memory_free = c"cuMemFree_v2" (DriverAddress);
        copy_in = c"cuMemcpyHtoDAsync_v2" (DriverAddress, *const u8, usize, Stream);
        copy_out = c"cuMemcpyDtoHAsync_v2" (*mut u8, DriverAddress, usize, Stream);
        copy_within = c"cuMemcpyDtoDAsync_v2" (DriverAddress, DriverAddress, usize, Stream);
        stream_create = c"cuStreamCreate" (*mut Stream, c_uint);
        stream_destroy = c"cuStreamDestroy_v2" (Stream);
        stream_synchronise = c"cuStreamSynchronize" (Stream);
        stream_wait = c"cuStreamWaitEvent" (Stream, Event, c_uint);
        event_create = c"cuEventCreate" (*mut Event, c_uint);
        event_destroy = c"cuEventDestroy_v2" (Event);
        event_record = c"cuEventRecord" (Event, Stream);
        event_query = c"cuEventQuery" (Event);
        module_load = c"cuModuleLoadData" (*mut CuModule, *const u8);
        module_function = c"cuModuleGetFunction" (*mut Function, CuModule, *const c_char);
        module_global = c"cuModuleGetGlobal_v2" (*mut DriverAddress, *mut usize, CuModule, *const c_char);
        launch = c"cuLaunchKernel" (Function, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Stream, *const *mut c_void, *const *const c_void);
    }
    optional {
        error_name = c"cuGetErrorName" (DriverCode, *mut *const c_char);
        module_unload = c"cuModuleUnload" (CuModule);
        host_allocate = c"cuMemHostAlloc" (*mut *mut c_void, usize, c_uint);
        host_free = c"cuMemFreeHost" (*mut c_void);
        pointer_attribute = c"cuPointerGetAttribute" (*mut c_void, c_int, DriverAddress);
        peer_can = c"cuDeviceCanAccessPeer" (*mut c_int, CuDevice, CuDevice);
        peer_enable = c"cuCtxEnablePeerAccess" (Context, c_uint);
        peer_copy = c"cuMemcpyPeerAsync" (DriverAddress, Context, DriverAddress, Context, usize, Stream);
        priority_range = c"cuCtxGetStreamPriorityRange" (*mut c_int, *mut c_int);
        stream_create_with_priority = c"cuStreamCreateWithPriority" (*mut Stream, c_uint, c_int);
    }
}

/// # Safety
/// The library has a function of this type under this name, or none of the name. `F` is a pointer
/// to a function.
unsafe fn find<F>(library: *mut c_void, name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: an open library and a string.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    // SAFETY: as the caller says; as large, see above.
    (!found.is_null()).then(|| unsafe { transmute_copy(&found) })
}

/// Why there is no driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absent {
    /// The library cannot be opened: the usual case on a machine without a GPU.
    Library(String),
    /// It is too old, or no driver.
    Function(&'static CStr),
    /// It does not start: there is no device, or one that no process may use.
    Start(DriverError),
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(why) => write!(f, "no CUDA driver: {why}"),
            Self::Function(name) => {
                write!(f, "the CUDA driver has no function {}: it is too old", name.to_string_lossy())
            }
            Self::Start(why) => write!(f, "the CUDA driver does not start: {why}"),
        }
    }
}

/// A call of the driver's that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverError {
    /// As the driver says it.
    pub code: DriverCode,
    name: Option<&'static CStr>,
}

/// Codes that mean something here.
pub mod code {
    use super::DriverCode;

    /// It has worked.
    pub const SUCCESS: DriverCode = 0;
    /// No memory.
    pub const OUT_OF_MEMORY: DriverCode = 2;
    /// A device has access to another's memory already.
    pub const PEER_ALREADY: DriverCode = 704;
    /// Not yet over.
    pub const NOT_READY: DriverCode = 600;
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => f.write_str(&name.to_string_lossy()),
            None => write!(f, "error {} of the CUDA driver", self.code),
        }
    }
}

impl Driver {
    /// Opens the driver at `path` ([`crate::DRIVER`] for the system's) and starts it. It stays
    /// open.
    ///
    /// # Errors
    /// Why there is none.
    pub fn open(path: &CStr) -> Result<Self, Absent> {
        // SAFETY: a string. The driver's constructors are as trusted as the driver.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            return Err(Absent::Library(why_not_opened()));
        }
        // SAFETY: the caller, who names the library, says that it is a CUDA driver.
        let driver = unsafe { Self::bind(library) }?;
        // SAFETY: 0 is the only value there is.
        driver.check(unsafe { (driver.init)(0) }).map_err(Absent::Start)?;
        Ok(driver)
    }

    /// What a call has said.
    ///
    /// # Errors
    /// Anything but success.
    pub fn check(&self, code: DriverCode) -> Result<(), DriverError> {
        if code == code::SUCCESS { Ok(()) } else { Err(DriverError { code, name: self.name_of(code) }) }
    }

    fn name_of(&self, code: DriverCode) -> Option<&'static CStr> {
        let mut name = core::ptr::null();
        // SAFETY: a valid out pointer.
        let found =
            self.error_name.is_some_and(|name_of| unsafe { name_of(code, &raw mut name) } == code::SUCCESS);
        // SAFETY: the driver's names are constants.
        (found && !name.is_null()).then(|| unsafe { CStr::from_ptr(name) })
    }

    /// The version of CUDA that the driver is for: 1000 times the major number and 10 times the
    /// minor one.
    ///
    /// # Errors
    /// The driver's.
    pub fn version(&self) -> Result<i32, DriverError> {
        let mut version = 0;
        // SAFETY: a valid out pointer.
        self.check(unsafe { (self.driver_version)(&raw mut version) })?;
        Ok(version)
    }

    /// How many devices there are.
    ///
    /// # Errors
    /// The driver's.
    pub fn count(&self) -> Result<i32, DriverError> {
        let mut count = 0;
        // SAFETY: a valid out pointer.
        self.check(unsafe { (self.device_count)(&raw mut count) })?;
        Ok(count)
    }
}

fn why_not_opened() -> String {
    // SAFETY: the text is this thread's until its next call of `dlopen` and the like.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        "it cannot be opened".into()
    } else {
        // SAFETY: a string, if not null.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}
