//! Where a tool is looked for (5.2 §19.2.2), and the log of that (`OMP_TOOL_VERBOSE_INIT`, 5.2
//! §21.6.3).
//!
//! First in what the program has mapped: its own binary, preloaded libraries, those it is linked
//! with; then in `OMP_TOOL_LIBRARIES`, in order. A program that was linked against LLVM's library
//! exports its own `ompt_start_tool` because that library has one, too; so has this one.
//!
//! The log has the words and lines of LLVM's runtime: scripts look for them. It goes through the C
//! library's streams, since what tools print meanwhile does.

use core::ffi::{CStr, c_char, c_uint, c_void};
use core::ptr;
use core::sync::atomic::{AtomicU8, Ordering};
use std::ffi::CString;
use std::io;

use super::types::{StartResult, StartTool};
use omp::env::{self, VerboseInit};
use omp::{report, user_files};
use ult::sys::loader::LoadedAddress;
use ult::sys::objects::{SymbolName, function_of_others};

/// `_OPENMP`.
const VERSION: c_uint = 202_111;
const NAME: &CStr = c"ompt_start_tool";

/// As tools see it.
fn runtime() -> CString {
    CString::new(concat!("Gangway ", env!("CARGO_PKG_VERSION"))).unwrap_or_default()
}

unsafe extern "C" {
    static stdout: *mut libc::FILE;
    static stderr: *mut libc::FILE;
}

/// The log; null: none.
struct Log(*mut libc::FILE);

impl Log {
    fn open() -> Self {
        // SAFETY: the C library's streams, and a name that lives for the call.
        Self(unsafe {
            match &env::settings().tools.verbose_init {
                VerboseInit::Disabled => ptr::null_mut(),
                VerboseInit::Stdout => stdout,
                VerboseInit::Stderr => stderr,
                VerboseInit::File(name) => return Self::in_file(name),
            }
        })
    }

    fn in_file(name: &str) -> Self {
        let made = user_files::may_be_written(name).and_then(|()| {
            let name = CString::new(name)?;
            // SAFETY: a path and a mode.
            let file = unsafe { libc::fopen(name.as_ptr(), c"we".as_ptr()) };
            if file.is_null() { Err(io::Error::last_os_error()) } else { Ok(file) }
        });
        Self(made.unwrap_or_else(|why| {
            report::warn_environment(env::complaint(
                "OMP_TOOL_VERBOSE_INIT",
                &why.to_string(),
                "using disabled",
            ));
            ptr::null_mut()
        }))
    }

    fn put(&self, text: &str) {
        if !self.0.is_null()
            && let Ok(text) = CString::new(text)
        {
            // SAFETY: an open stream.
            unsafe { libc::fputs(text.as_ptr(), self.0) };
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if matches!(env::settings().tools.verbose_init, VerboseInit::File(_)) && !self.0.is_null() {
            // SAFETY: opened by `open`.
            unsafe { libc::fclose(self.0) };
        }
    }
}

/// May a tool be found? True if tools are allowed, and an object that is not an OpenMP runtime
/// defines `ompt_start_tool`, or `OMP_TOOL_LIBRARIES` names a library. Decided once. Does not
/// allocate; the first call takes the loader's lock.
pub fn may_find_tool() -> bool {
    const UNKNOWN: u8 = 2;
    static KNOWN: AtomicU8 = AtomicU8::new(UNKNOWN);
    // ORDERING: Relaxed; each thread that looks finds the same.
    let known = KNOWN.load(Ordering::Relaxed);
    if known != UNKNOWN {
        return known == 1;
    }
    let Some(tool) = env::settings_for_query().map(|settings| &settings.tools) else { return false };
    let found = tool.enabled && (!tool.libraries.is_empty() || of_process().is_some());
    // ORDERING: as above.
    KNOWN.store(u8::from(found), Ordering::Relaxed);
    found
}

/// The address of the first `ompt_start_tool` in the process that is not an OpenMP runtime's.
///
/// Not by `dlsym`: it takes the lock that a thread in `dlopen` holds while it runs constructors,
/// and one of those may be waiting here; and it leaves a message for the program's `dlerror`.
fn of_process() -> Option<usize> {
    const OF_A_TOOL: SymbolName = SymbolName::new(NAME);
    const OF_A_RUNTIME: SymbolName = SymbolName::new(c"__kmpc_fork_call");
    function_of_others(OF_A_TOOL, OF_A_RUNTIME)
}

/// Looks for a tool: what its `ompt_start_tool` has returned, null if there is none.
pub fn find() -> *mut StartResult {
    let log = Log::open();
    log.put("----- START LOGGING OF TOOL REGISTRATION -----\n");
    log.put("Search for OMP tool in current address space... ");
    let found = in_process();
    log.put(if found.is_null() { "Failed.\n" } else { "Success.\n" });
    let found = if found.is_null() { in_libraries(&log) } else { found };
    log.put(if found.is_null() {
        "No OMP tool loaded.\n"
    } else {
        "Tool was started and is using the OMPT interface.\n"
    });
    log.put("----- END LOGGING OF TOOL REGISTRATION -----\n");
    found
}

/// Asks the function at `address`, null or an `ompt_start_tool`.
fn ask(address: *mut c_void) -> *mut StartResult {
    if address.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: a function of the standard's, by its name.
    unsafe { core::mem::transmute::<*mut c_void, StartTool>(address)(VERSION, runtime().into_raw()) }
}

/// What that function returns.
fn in_process() -> *mut StartResult {
    ask(of_process().map_or(ptr::null_mut(), ptr::with_exposed_provenance_mut))
}

/// `ompt_start_tool` of this library (5.2 §19.2.1): what the next library in the order of the
/// loader says, if there is one.
///
/// # Safety
/// `runtime` is a C string.
pub unsafe fn start_next(version: c_uint, runtime: *const c_char) -> *mut c_void {
    // SAFETY: as the caller says; what is found is a function of the standard's.
    unsafe {
        let next = libc::dlsym(libc::RTLD_NEXT, NAME.as_ptr());
        if next.is_null() {
            libc::dlerror(); // the program did not ask
            return ptr::null_mut();
        }
        core::mem::transmute::<*mut c_void, StartTool>(next)(version, runtime).cast()
    }
}

fn in_libraries(log: &Log) -> *mut StartResult {
    let libraries = &env::settings().tools.libraries;
    if libraries.is_empty() {
        log.put("No OMP_TOOL_LIBRARIES defined.\n...searching tool libraries failed.\n");
        return ptr::null_mut();
    }
    log.put("Searching tool libraries...\n");
    log.put(&format!("OMP_TOOL_LIBRARIES = {}\n", libraries.join(":")));
    if let Some(found) =
        libraries.iter().map(|library| in_library(library, log)).find(|found| !found.is_null())
    {
        return found;
    }
    log.put("...searching tool libraries failed.\n");
    ptr::null_mut()
}

fn in_library(library: &str, log: &Log) -> *mut StartResult {
    let Ok(name) = CString::new(library) else { return ptr::null_mut() };
    log.put(&format!("Opening {library}... "));
    // SAFETY: the program's user named it as a tool to be loaded.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY) };
    if handle.is_null() {
        log.put(&format!("Failed: {}\n", error()));
        return ptr::null_mut();
    }
    log.put("Success.\n");
    log.put(&format!("Searching for ompt_start_tool in {library}... "));
    // SAFETY: an open library.
    let start = unsafe { libc::dlsym(handle, NAME.as_ptr()) };
    if start.is_null() || is_own(start) {
        log.put(&format!(
            "Failed: {}\n",
            if start.is_null() { error() } else { format!("{library}: undefined symbol: ompt_start_tool") }
        ));
        // SAFETY: opened above.
        unsafe { libc::dlclose(handle) };
        return ptr::null_mut();
    }
    let found = ask(start);
    if found.is_null() {
        log.put("Found but not using the OMPT interface.\nContinuing search...\n");
        // SAFETY: opened above.
        unsafe { libc::dlclose(handle) };
    } else {
        log.put("Success.\n");
    }
    found
}

/// What the loader says of its last failure.
fn error() -> String {
    // SAFETY: null or a string that lives until the next call.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            "unknown error".into()
        } else {
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }
}

/// Is the function at `address` in this library? `ompt_start_tool` of the library itself is found in a
/// tool that has none, since the tool may be linked with this library.
fn is_own(address: *mut c_void) -> bool {
    let base = |address: *const c_void| LoadedAddress::of(address.addr()).map(|object| object.base());
    base(address) == base(is_own as *const c_void)
}
