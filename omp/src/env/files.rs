//! Values that name files: which do, and their names from the root.
//!
//! Names become absolute when the environment is read, because a daemon changes its directory later.
//! Which tables have such values, their rows say (`file(names => anchor)`).

use super::hooks;
use super::types::{CudaDriver, PolicyFile, PolicyName, VerboseInit};
use crate::user_files::absolute;

/// Every value is a name.
pub fn always(_: &str) -> bool {
    true
}

/// A file's name, if there is one.
pub fn anchor(file: &mut Option<String>) {
    if let Some(file) = file {
        *file = absolute(file);
    }
}

/// The name of a trace, with placeholders. `%` in the directory is none, so it is doubled.
pub fn anchor_pattern(file: &mut Option<String>) {
    if let Some(file) = file {
        let from_root = absolute(file);
        let directory = from_root[..from_root.len() - file.len()].replace('%', "%%");
        file.insert_str(0, &directory);
    }
}

/// Whether rates come from a file.
pub fn names_rates(value: &str) -> bool {
    value != "off"
}

/// The file of rates.
pub fn anchor_rates(file: &mut Option<String>) {
    if file.as_deref().is_some_and(names_rates) {
        anchor(file);
    }
}

/// Whether the search for tools is logged to a file.
pub fn names_log(value: &str) -> bool {
    !["disabled", "stdout", "stderr"].iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// The file that the search for tools is logged to.
pub fn anchor_log(log: &mut VerboseInit) {
    if let VerboseInit::File(file) = log {
        *file = absolute(file);
    }
}

/// A library. The loader looks for a name without a slash where it looks for libraries.
fn anchor_library(file: &mut String) {
    if file.contains('/') {
        *file = absolute(file);
    }
}

/// Libraries.
pub fn anchor_libraries(files: &mut [String]) {
    files.iter_mut().for_each(anchor_library);
}

/// Whether a placement policy comes from a file.
pub fn names_policy(value: &str) -> bool {
    hooks::policy(value).is_ok_and(|policy| policy.file.is_some())
}

/// The file of a placement policy.
pub fn anchor_policy(policy: &mut PolicyName) {
    match &mut policy.file {
        Some(PolicyFile::Text(file)) => *file = absolute(file),
        Some(PolicyFile::Library(file)) => anchor_library(file),
        None => {}
    }
}

/// Whether a driver is a file: all names have a slash.
pub fn names_driver(value: &str) -> bool {
    value.contains('/')
}

/// The file of a driver.
pub fn anchor_driver(driver: &mut Option<CudaDriver>) {
    if let Some(CudaDriver::File(file)) = driver {
        anchor_library(file);
    }
}
