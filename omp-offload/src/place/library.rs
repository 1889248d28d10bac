//! A placement policy from a shared object of the user's: a table of C functions,
//! `ompx_sched_policy_t` of `include/ompx.h`.
//!
//! The object stays loaded. Its functions are called under the policy's lock, one at a time.

use core::ffi::{CStr, c_char, c_int, c_void};
use std::ffi::CString;

use placement::policy::{PlacementPolicy, PlacementRequest, View};

/// The version of the table that this code knows.
const VERSION: u32 = 1;
/// The function that the object has to export. It returns the object's table.
const ENTRY: &CStr = c"ompx_sched_policy";

/// `ompx_sched_device_t`.
#[repr(C)]
#[derive(Debug)]
struct CDevice {
    need: u64,
    room: u64,
    present: u64,
    wait: u64,
    bring: u64,
    running: u32,
    reserved: u32,
}

const _: () = assert!(size_of::<CDevice>() == 48);

impl From<&View> for CDevice {
    fn from(view: &View) -> Self {
        let &View { need, room, present, running, wait, bring, .. } = view;
        Self { need, room, present, wait, bring, running, reserved: 0 }
    }
}

/// `ompx_sched_policy_t`.
#[repr(C)]
struct PolicyTable {
    version: u32,
    reserved: u32,
    name: *const c_char,
    data: *mut c_void,
    choose: Option<unsafe extern "C" fn(*mut c_void, u64, *const CDevice, u32) -> c_int>,
}

/// The policy of a shared object.
struct PolicyLibrary {
    name: String,
    table: *const PolicyTable,
}

// SAFETY: the table is used under the policy's lock only, and the header asks its functions to be
// callable from any thread.
unsafe impl Send for PolicyLibrary {}

/// The last error message of the loader.
fn why() -> String {
    // SAFETY: `dlerror` returns null or a string that stays until this thread's next call.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        "cannot be loaded".into()
    } else {
        // SAFETY: as above.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

/// Loads a policy.
///
/// # Errors
/// The object cannot be loaded, or contains no policy.
pub fn load(file: &str) -> Result<Box<dyn PlacementPolicy>, String> {
    let path = CString::new(file).map_err(|_| "not a file's name")?;
    // SAFETY: a C string; the object's constructors are the user's own code.
    let object = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if object.is_null() {
        return Err(why());
    }
    // SAFETY: the object is loaded.
    let entry = unsafe { libc::dlsym(object, ENTRY.as_ptr()) };
    if entry.is_null() {
        return Err("has no function ompx_sched_policy".into());
    }
    // SAFETY: by its name the function has this type.
    let entry =
        unsafe { core::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const PolicyTable>(entry) };
    // SAFETY: the user's function, with no arguments; it returns null or its table, which stays.
    let table = unsafe { entry() };
    // SAFETY: as above.
    let Some(known) = (unsafe { table.as_ref() }) else {
        return Err("ompx_sched_policy returned no table".into());
    };
    if known.version != VERSION || known.choose.is_none() {
        return Err(format!("its table is not one of version {VERSION} with a function to choose"));
    }
    let name = if known.name.is_null() {
        file.into()
    } else {
        // SAFETY: null, or a C string that stays.
        unsafe { CStr::from_ptr(known.name) }.to_string_lossy().into_owned()
    };
    Ok(Box::new(PolicyLibrary { name, table }))
}

impl PlacementPolicy for PolicyLibrary {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn choose(&mut self, request: PlacementRequest, devices: &[View]) -> Option<usize> {
        // SAFETY: `load` checked it, and the object stays loaded.
        let table = unsafe { &*self.table };
        let devices: Vec<CDevice> = devices.iter().map(CDevice::from).collect();
        let region = request.task.map_or(u64::MAX, |task| task as u64);
        // SAFETY: the function of the table with its own data, and as many devices as are said.
        let choose = || unsafe {
            table.choose.map(|choose| choose(table.data, region, devices.as_ptr(), devices.len() as u32))
        };
        // The caller holds a lock that other contexts of this kernel thread may want.
        let chosen = ult::sched::undisturbed(choose)?;
        usize::try_from(chosen).ok().filter(|&at| at < devices.len())
    }
}
