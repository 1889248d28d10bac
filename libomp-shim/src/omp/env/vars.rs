//! The variables as they came, and the reader that parses one and complains about it at most once.

use core::ffi::{CStr, c_char};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Prefixes of the variables that are the runtime's business.
const PREFIXES: [&str; 5] = ["OMP_", "KMP_", "GOMP_", "GANGWAY_", "OMPX_"];

/// What the program has set by [`set_default`].
static DEFAULTS: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

fn defaults() -> MutexGuard<'static, Vec<(String, String)>> {
    // A panic aborts the process, so the lock is never poisoned where it matters.
    DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From here on `name` counts as set to `value` in the process's environment, over what is there.
pub fn set_default(name: &str, value: &str) {
    defaults().push((name.to_owned(), value.to_owned()));
}

/// A snapshot of the runtime's environment variables; blank ones count as not set, values are trimmed.
#[derive(Debug, Default, Clone)]
pub struct Vars(BTreeMap<String, String>);

impl Vars {
    /// The process's environment, now.
    pub fn of_process() -> Vars {
        Vars(
            environment()
                .filter_map(|entry| {
                    let (name, value) = entry.split_at(entry.iter().position(|&byte| byte == b'=')?);
                    let name = core::str::from_utf8(name).ok()?.to_owned();
                    Some((name, String::from_utf8_lossy(&value[1..]).into_owned()))
                })
                .chain(defaults().iter().cloned())
                .filter_map(relevant)
                .collect(),
        )
    }

    /// Given pairs.
    pub fn of(pairs: &[(&str, &str)]) -> Vars {
        Vars(
            pairs
                .iter()
                .map(|&(k, v)| (k.to_owned(), v.to_owned()))
                .filter_map(relevant)
                .collect(),
        )
    }

    /// The value of exactly this variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All of them, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }
}

/// What stands in the process's environment under one of our prefixes. Not by `std::env::vars_os`, which copies all of it first: most
/// processes have many variables, and none of ours.
fn environment() -> impl Iterator<Item = &'static [u8]> {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    // SAFETY: the C library's variable.
    let mut next = unsafe { environ };
    let entries = core::iter::from_fn(move || {
        // SAFETY: null, or an array of C strings that ends with null. Who changes the environment while another thread reads it breaks the
        // C library's rule.
        unsafe {
            let entry = next.as_ref().filter(|entry| !entry.is_null())?;
            next = next.add(1);
            Some(CStr::from_ptr(*entry).to_bytes())
        }
    });
    entries.filter(|entry| PREFIXES.iter().any(|prefix| entry.starts_with(prefix.as_bytes())))
}

fn relevant((name, value): (String, String)) -> Option<(String, String)> {
    let ours = PREFIXES.iter().any(|p| name.starts_with(p));
    let value = value.trim();
    (ours && !value.is_empty()).then(|| (name, value.to_owned()))
}

/// Reads variables; what is wrong with one is kept as a line for the error reporter.
pub(super) struct Reader<'a> {
    /// The snapshot that is read.
    pub vars: &'a Vars,
    /// One line per wrong value, in the order of reading.
    pub complaints: Vec<String>,
}

impl<'a> Reader<'a> {
    pub fn new(vars: &'a Vars) -> Reader<'a> {
        Reader {
            vars,
            complaints: Vec::new(),
        }
    }

    /// Parses `name`. Not set: `None`. Wrong: a complaint `<name>='<value>': <why>; <instead>` and `None`.
    pub fn read<T>(
        &mut self,
        name: &str,
        instead: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.vars.get(name)?;
        match parse(value) {
            Ok(parsed) => Some(parsed),
            Err(why) => {
                self.complaints
                    .push(format!("{name}='{value}': {why}; {instead}"));
                None
            }
        }
    }

    /// As [`Reader::read`] for a variable that also has a `_ALL` form (host and devices); the plain name wins.
    pub fn read_all<T>(
        &mut self,
        name: &str,
        instead: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        match self.vars.get(name) {
            Some(_) => self.read(name, instead, parse),
            None => self.read(&format!("{name}_ALL"), instead, parse),
        }
    }

    /// Adds a complaint that is not about a syntax error.
    pub fn complain(&mut self, line: String) {
        self.complaints.push(line);
    }
}
