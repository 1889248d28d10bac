//! The variables of this process, as they are when they are read.
//!
//! What lives here: the process's environment, what the program has set by [`set_default`], and which
//! variables are not read at all ([`rights`]). What does not: reading a value ([`super::vars`]).

use core::ffi::{CStr, c_char};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::build::Settings;
use super::rights;
use super::vars::{PREFIXES, Vars, relevant};

/// What the program has set by [`set_default`], newest first. A list without a lock: the program's
/// allocator may read the environment while an entry is made.
static DEFAULTS: AtomicPtr<VariableEntry> = AtomicPtr::new(ptr::null_mut());

/// Never freed or changed once it is in the list.
struct VariableEntry {
    name: String,
    value: String,
    older: Option<&'static VariableEntry>,
}

fn newest_default() -> Option<&'static VariableEntry> {
    // ORDERING: Acquire, pairs with the Release in `set_default`.
    // SAFETY: null or an entry that was leaked.
    unsafe { DEFAULTS.load(Ordering::Acquire).as_ref() }
}

/// From here on `name` counts as set to `value` in the process's environment, over what is there.
pub fn set_default(name: &str, value: &str) {
    let entry =
        Box::leak(Box::new(VariableEntry { name: name.to_owned(), value: value.to_owned(), older: None }));
    loop {
        entry.older = newest_default();
        let before = entry.older.map_or(ptr::null_mut(), |older| ptr::from_ref(older).cast_mut());
        // ORDERING: Release, pairs with the Acquire in `newest_default`: the entry is complete.
        // Relaxed: it is read again.
        if DEFAULTS.compare_exchange(before, entry, Ordering::Release, Ordering::Relaxed).is_ok() {
            return;
        }
    }
}

impl Vars {
    /// The process's environment, now. Of two entries with one name the first counts, as for
    /// `getenv`.
    pub fn of_process() -> Vars {
        let entries: Vec<&[u8]> = environment().collect();
        let entries = entries.into_iter().rev().filter_map(|entry| {
            let (name, value) = entry.split_at(entry.iter().position(|&byte| byte == b'=')?);
            let name = core::str::from_utf8(name).ok()?.to_owned();
            Some((name, String::from_utf8_lossy(&value[1..]).into_owned()))
        });
        let mut vars = Vars::from(entries.filter_map(|(name, value)| relevant(name, value)).collect());
        if rights::gained() {
            vars.refuse_files();
        }
        let defaults: Vec<&VariableEntry> =
            core::iter::successors(newest_default(), |entry| entry.older).collect();
        vars.values.extend(
            defaults.iter().rev().filter_map(|entry| relevant(entry.name.clone(), entry.value.clone())),
        );
        vars
    }

    /// Forgets the variables that name files or libraries.
    fn refuse_files(&mut self) {
        self.refused =
            self.values.extract_if(.., |name, value| names_file(name, value)).map(|(name, _)| name).collect();
    }

    /// A line for each variable that is set and not read.
    pub fn refusals(&self) -> Vec<String> {
        self.refused.iter().map(|name| rights::refusal(name)).collect()
    }
}

/// Does this value of the variable name a file or a library?
pub fn names_file(variable: &str, value: &str) -> bool {
    let plain = variable.strip_suffix("_ALL").unwrap_or(variable);
    Settings::names_file(plain, value)
}

/// What stands in the process's environment under one of our prefixes. Not by `std::env::vars_os`,
/// which copies all of it first: most processes have many variables, and none of ours.
fn environment() -> impl Iterator<Item = &'static [u8]> {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    // SAFETY: the C library's variable.
    let mut next = unsafe { environ };
    let entries = core::iter::from_fn(move || {
        // SAFETY: null, or an array of C strings that ends with null. Who changes the environment
        // while another thread reads it breaks the C library's rule.
        unsafe {
            let entry = next.as_ref().filter(|entry| !entry.is_null())?;
            next = next.add(1);
            Some(CStr::from_ptr(*entry).to_bytes())
        }
    });
    entries.filter(|entry| PREFIXES.iter().any(|prefix| entry.starts_with(prefix.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_words_are_read() {
        let words = [
            ("OMP_TOOL_VERBOSE_INIT", "STDERR"),
            ("OMPX_SCHED", "heftmc:lambda=0.5"),
            ("OMPX_SCHED", "least"),
            ("OMPX_CUDA", "on"),
            ("OMPX_RATES", "off"),
            ("OMP_NUM_THREADS", "/etc/passwd"),
        ];
        assert!(words.iter().all(|(name, value)| !names_file(name, value)));
        let files = [
            ("OMP_TOOL_VERBOSE_INIT", "log"),
            ("OMPX_SCHED", "library:./x.so"),
            ("OMPX_SCHED", "library:./x:lambda=.so"),
            ("OMPX_SCHED", "manual:lambda"),
            ("OMPX_CUDA", "./libcuda.so"),
            ("OMPX_RATES", "rates"),
            ("OMPX_RATES", "OFF"),
            ("GANGWAY_TRACE", "t"),
            ("GANGWAY_TRACE_ALL", "t"),
        ];
        assert!(files.iter().all(|(name, value)| names_file(name, value)));
    }

    #[test]
    fn variables_that_name_files_can_be_refused() {
        let mut vars = Vars::of(&[("GANGWAY_TRACE", "t"), ("OMP_NUM_THREADS", "3"), ("OMPX_CUDA", "on")]);
        assert!(vars.refusals().is_empty());
        vars.refuse_files();
        assert_eq!(
            (vars.get("GANGWAY_TRACE"), vars.get("OMP_NUM_THREADS"), vars.get("OMPX_CUDA")),
            (None, Some("3"), Some("on"))
        );
        assert!(matches!(&vars.refusals()[..], [line] if line.starts_with("GANGWAY_TRACE: names a file")));
    }
}
