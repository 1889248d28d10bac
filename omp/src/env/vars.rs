//! The variables as they came, and the reader that parses one and complains about it at most once.

use core::ffi::{CStr, c_char};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};
use std::collections::BTreeMap;

use super::rights;

/// Prefixes of the variables that are the runtime's business.
pub(super) const PREFIXES: [&str; 5] = ["OMP_", "KMP_", "GOMP_", "GANGWAY_", "OMPX_"];

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

/// Longest piece of a value, and of what is wrong with it, that a line repeats, in bytes: the line
/// has to end with what is used instead.
const LONGEST: (usize, usize) = (160, 400);

/// A snapshot of the runtime's environment variables; blank ones count as not set, values are
/// trimmed.
#[derive(Debug, Default, Clone)]
pub struct Vars {
    values: BTreeMap<String, String>,
    /// Names of those that are set and not read ([`rights`]).
    refused: Vec<String>,
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
        let mut vars = Vars::from(entries.filter_map(relevant).collect());
        if rights::gained() {
            vars.refuse_files();
        }
        let defaults: Vec<&VariableEntry> =
            core::iter::successors(newest_default(), |entry| entry.older).collect();
        vars.values.extend(
            defaults.iter().rev().map(|entry| (entry.name.clone(), entry.value.clone())).filter_map(relevant),
        );
        vars
    }

    /// Given pairs.
    pub fn of(pairs: &[(&str, &str)]) -> Vars {
        Vars::from(pairs.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).filter_map(relevant).collect())
    }

    fn from(values: BTreeMap<String, String>) -> Vars {
        Vars { values, refused: Vec::new() }
    }

    /// Forgets the variables that name files or libraries.
    fn refuse_files(&mut self) {
        self.refused = self
            .values
            .extract_if(.., |name, value| rights::names_file(name, value))
            .map(|(name, _)| name)
            .collect();
    }

    /// A line for each variable that is set and not read.
    pub fn refusals(&self) -> Vec<String> {
        self.refused.iter().map(|name| rights::refusal(name)).collect()
    }

    /// The value of exactly this variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        #[cfg(test)]
        tests::asked_for(name);
        self.values.get(name).map(String::as_str)
    }

    /// All of them, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }
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

fn relevant((name, value): (String, String)) -> Option<(String, String)> {
    let ours = PREFIXES.iter().any(|p| name.starts_with(p));
    let value = value.trim();
    (ours && !value.is_empty()).then(|| (name, value.to_owned()))
}

/// Reads variables; what is wrong with one is kept as a line for the error reporter.
pub(super) struct VariableReader<'a> {
    /// The snapshot that is read.
    pub vars: &'a Vars,
    /// One line per wrong value, in the order of reading.
    pub complaints: Vec<String>,
}

impl<'a> VariableReader<'a> {
    pub fn new(vars: &'a Vars) -> VariableReader<'a> {
        VariableReader { vars, complaints: Vec::new() }
    }

    /// Parses `name`. Not set: `None`. Wrong: a complaint `<name>='<value>': <why>; <instead>` and
    /// `None`.
    pub fn read<T>(
        &mut self,
        name: &str,
        instead: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.vars.get(name)?;
        // What was not UTF-8 has become this character: no file's name, and nothing to print.
        let readable = !value.contains(char::REPLACEMENT_CHARACTER);
        match if readable { parse(value) } else { Err("not UTF-8".into()) } {
            Ok(parsed) => Some(parsed),
            Err(why) => {
                self.complain(name, &why, instead);
                None
            }
        }
    }

    /// As [`VariableReader::read`] for a variable that also has a `_ALL` form (host and devices);
    /// the plain name wins.
    pub fn read_all<T>(
        &mut self,
        name: &str,
        instead: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        self.read(&self.spelling(name), instead, parse)
    }

    /// Which form of a variable with a `_ALL` form counts.
    pub fn spelling(&self, name: &str) -> String {
        let all = format!("{name}_ALL");
        if self.vars.get(name).is_none() && self.vars.get(&all).is_some() { all } else { name.to_owned() }
    }

    /// Adds the line `<name>='<value>': <why>; <instead>`, with long values cut.
    pub fn complain(&mut self, name: &str, why: &str, instead: &str) {
        let value = cut(self.vars.get(name).unwrap_or_default(), LONGEST.0);
        let why = cut(why, LONGEST.1);
        self.complaints.push(format!("{name}='{value}': {why}; {instead}"));
    }

    /// Says that `name` does not count because `winner`, which comes before it, says something
    /// else.
    pub fn overruled(&mut self, name: &str, winner: &str) {
        let value = cut(self.vars.get(winner).unwrap_or_default(), LONGEST.0);
        self.complain(name, &format!("{winner} says something else"), &format!("using {winner}='{value}'"));
    }
}

/// The beginning of a text that is too long.
fn cut(text: &str, longest: usize) -> String {
    match text.len() <= longest {
        true => text.to_owned(),
        false => format!("{}...", &text[..text.floor_char_boundary(longest)]),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    use super::*;
    use crate::env::value::text;

    thread_local! {
        /// The names that this thread has asked for.
        static ASKED: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
    }

    pub(super) fn asked_for(name: &str) {
        ASKED.with_borrow_mut(|asked| asked.insert(name.to_owned()));
    }

    /// The names that `read` asks for.
    pub(in crate::env) fn asked_by(read: impl FnOnce()) -> BTreeSet<String> {
        ASKED.take();
        read();
        ASKED.take()
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

    #[test]
    fn long_values_leave_room_for_what_is_used_instead() {
        for long in ["x".repeat(100_000), "\u{1F600}".repeat(30_000)] {
            let vars = Vars::of(&[("OMP_TOOL", &long)]);
            let mut r = VariableReader::new(&vars);
            assert_eq!(
                r.read("OMP_TOOL", "using enabled", |text| Err::<(), _>(format!("'{text}' is wrong"))),
                None
            );
            let line = &r.complaints[0];
            assert!(line.len() < 700 && line.ends_with("...; using enabled"), "{line}");
        }
    }

    #[test]
    fn what_is_not_utf_8_is_refused() {
        let vars = Vars::of(&[("OMPX_TASKS", "a\u{FFFD}")]);
        let mut r = VariableReader::new(&vars);
        assert_eq!(r.read("OMPX_TASKS", "there is none", text), None);
        assert_eq!(r.complaints, ["OMPX_TASKS='a\u{FFFD}': not UTF-8; there is none"]);
    }
}
