//! The variables as they came, and the reader that parses one and complains about it at most once.

use std::collections::BTreeMap;

/// Prefixes of the variables that are the runtime's business.
pub(super) const PREFIXES: [&str; 5] = ["OMP_", "KMP_", "GOMP_", "GANGWAY_", "OMPX_"];

/// Longest piece of a value, and of what is wrong with it, that a line repeats, in bytes: the line
/// has to end with what is used instead.
const LONGEST: (usize, usize) = (160, 400);

/// A snapshot of the runtime's environment variables; blank ones count as not set, values are
/// trimmed.
#[derive(Debug, Default, Clone)]
pub struct Vars {
    pub(super) values: BTreeMap<String, String>,
    /// Names of those that are set and not read ([`super::rights`]).
    pub(super) refused: Vec<String>,
}

impl Vars {
    /// Given pairs.
    pub fn of(pairs: &[(&str, &str)]) -> Vars {
        Vars::from(pairs.iter().filter_map(|&(k, v)| relevant(k.to_owned(), v.to_owned())).collect())
    }

    pub(super) fn from(values: BTreeMap<String, String>) -> Vars {
        Vars { values, refused: Vec::new() }
    }

    /// The value of exactly this variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        #[cfg(test)]
        tests::asked_for(name);
        self.values.get(name).map(String::as_str)
    }

    /// The name of the `_ALL` form of `name`, if that is set.
    fn set_for_all(&self, name: &str) -> Option<&str> {
        #[cfg(test)]
        tests::asked_for(&format!("{name}_ALL"));
        self.values.keys().find(|key| key.strip_suffix("_ALL") == Some(name)).map(String::as_str)
    }

    /// All of them, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }
}

/// The entry as it is read, if it is the runtime's business.
pub(super) fn relevant(name: String, value: String) -> Option<(String, String)> {
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
    #[cold]
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
    #[cold]
    pub fn spelling(&self, name: &str) -> String {
        let for_all = self.vars.set_for_all(name).filter(|_| self.vars.get(name).is_none());
        for_all.unwrap_or(name).to_owned()
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
