//! The cases: variables times values, and combinations, from tables that say what their columns are:
//! `libomp-shim/variables.tsv` and `conformance/environment/*.tsv`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// How much of a value a line has to repeat, in bytes.
const REPEATED: usize = 100;

/// The lines that are expected: variable, beginning of the value as it is shown, beginning of what
/// is used instead.
pub type Lines = Vec<(String, String, String)>;

/// What the program must see of one control variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// This.
    Is(String),
    /// Whatever it is.
    Any,
}

/// One run.
pub struct EnvCase {
    /// The environment.
    pub settings: Vec<(String, Vec<u8>)>,
    /// The lines about it.
    pub lines: Lines,
    /// Whether other text may be there, too.
    pub talks: bool,
    /// What the program sees.
    pub seen: BTreeMap<String, Expected>,
}

impl EnvCase {
    /// The settings, cut to what fits a line.
    pub fn title(&self) -> String {
        let one = |(name, value): &(String, Vec<u8>)| format!("{name}='{}'", shown(value));
        self.settings.iter().map(one).collect::<Vec<_>>().join(" ")
    }
}

/// What a row of `variables.tsv` or `forms.tsv` says about cases.
struct EnvVariable<'a> {
    name: &'a str,
    groups: &'a str,
    instead: String,
    key: &'a str,
    touches: &'a str,
    /// The names that its values have, if all have names.
    names: Vec<&'a str>,
}

/// Reads the tables of the workspace at `root`.
///
/// # Errors
///
/// A table is missing, or has a row that is not understood.
pub fn read(root: &Path) -> Result<Vec<EnvCase>, String> {
    let directory = root.join("conformance/environment");
    let text = |name: &str| fs::read_to_string(directory.join(name)).map_err(|e| format!("{name}: {e}"));
    let (forms, values, combined) = (text("forms.tsv")?, text("values.tsv")?, text("cases.tsv")?);
    let variables = crate::table::records(&root.join("libomp-shim/variables.tsv"))?;
    let machine = Machine::this()?;
    let mut cases = Vec::new();
    for [settings, lines, seen] in rows::<3>(&combined)? {
        let default = cases.first().map(|first: &EnvCase| &first.seen);
        cases.push(combination(settings, lines, seen, default, &machine)?);
    }
    let default = cases.first().map(|first| first.seen.clone()).ok_or("cases.tsv is empty")?;
    let values = rows::<3>(&values)?;
    let mut all = Vec::new();
    for record in &variables {
        let cell = |name: &str| record.get(name).map(String::as_str).ok_or(format!("{record:?}: no {name}"));
        all.push(EnvVariable {
            name: cell("variable")?,
            groups: cell("cases")?,
            instead: machine.fill(cell("instead")?),
            key: cell("seen")?,
            touches: cell("touches")?,
            names: names(cell("values")?),
        });
    }
    for [name, groups, instead, key, touches] in rows::<5>(&forms)? {
        let instead = machine.fill(instead);
        all.push(EnvVariable { name, groups, instead, key, touches, names: Vec::new() });
    }
    for variable in &all {
        for group in variable.groups.split(',') {
            let before = cases.len();
            if group == "names" {
                for (outcome, value) in of_names(&variable.names) {
                    cases.push(single(variable, outcome, &value, &default)?);
                }
            }
            for [_, outcome, value] in values.iter().filter(|[g, _, _]| *g == group) {
                cases.push(single(variable, outcome, value, &default)?);
            }
            if cases.len() == before {
                return Err(format!("{}: no value is in group {group}", variable.name));
            }
        }
    }
    Ok(cases)
}

/// The names in a cell such as "`auto`, `donor`"; none if it has other words as well.
fn names(cell: &str) -> Vec<&str> {
    let name = |word| str::strip_prefix(word, '`')?.strip_suffix('`').filter(|name| !name.contains('`'));
    cell.split(", ").map(name).collect::<Option<_>>().unwrap_or_default()
}

/// Outcomes and values for names: each of them in several spellings, and what is none.
fn of_names(names: &[&str]) -> Vec<(&'static str, String)> {
    let [first, .., last] = names else { return Vec::new() };
    let spellings = |name: &&str| {
        let capital = name[..1].to_ascii_uppercase() + &name[1..];
        [name.to_string(), name.to_ascii_uppercase(), capital, format!(" {name} ")]
    };
    let short = first[..first.len() - 1].to_owned();
    let wrong = [format!("{first},{last}"), short, format!("{last}x"), "0".into(), "1".into(), "true".into()];
    let good = names.iter().flat_map(spellings).map(|value| ("ok", value));
    good.chain(wrong.map(|value| ("refused", value))).collect()
}

/// The rows of a table that are no comments, each of `N` columns.
fn rows<const N: usize>(text: &str) -> Result<Vec<[&str; N]>, String> {
    let row = |line| {
        <[&str; N]>::try_from(str::split(line, '\t').collect::<Vec<_>>())
            .map_err(|_| format!("'{line}' has not {N} columns"))
    };
    text.lines().filter(|line| !line.starts_with('#')).map(row).collect()
}

/// A variable with one value.
fn single(
    variable: &EnvVariable<'_>,
    outcome: &str,
    value: &str,
    default: &BTreeMap<String, Expected>,
) -> Result<EnvCase, String> {
    let bytes = bytes(value)?;
    let line = |instead: &str| vec![(variable.name.to_owned(), shown(&bytes), instead.to_owned())];
    let mut seen = default.clone();
    let mut own = |expected| {
        if variable.key != "-" {
            seen.insert(variable.key.to_owned(), expected);
        }
    };
    let lines = match outcome {
        "refused" => line(&variable.instead),
        "lost" => line("it is ignored"),
        "left" => line("they are left out"),
        "small" => {
            own(Expected::Is("65536".into()));
            line("using 64 KiB")
        }
        "unset" => Vec::new(),
        "ok" | "talk" => {
            own(Expected::Any);
            Vec::new()
        }
        _ => {
            own(Expected::Is(
                outcome
                    .strip_prefix('=')
                    .ok_or_else(|| format!("no outcome is called {outcome}"))?
                    .to_owned(),
            ));
            Vec::new()
        }
    };
    let is_default = ["refused", "lost", "unset"].contains(&outcome);
    for touched in variable.touches.split(',').filter(|&name| name != "-") {
        let always = touched.strip_suffix('!');
        if outcome != "unset" && (always.is_some() || !is_default) {
            seen.insert(always.unwrap_or(touched).to_owned(), Expected::Any);
        }
    }
    Ok(EnvCase { settings: vec![(variable.name.to_owned(), bytes)], lines, talks: outcome == "talk", seen })
}

/// A row of `cases.tsv`. What it does not name may be anything, in the first row only what is named
/// is seen.
fn combination(
    settings: &str,
    lines: &str,
    seen: &str,
    default: Option<&BTreeMap<String, Expected>>,
    machine: &Machine,
) -> Result<EnvCase, String> {
    let pairs = |text: &str| -> Result<Vec<(String, String)>, String> {
        let pair = |word: &str| {
            word.split_once('=')
                .map(|(a, b)| (a.to_owned(), b.to_owned()))
                .ok_or_else(|| format!("{word} has no ="))
        };
        text.split(' ').filter(|word| !word.is_empty()).map(pair).collect()
    };
    let settings = pairs(settings)?.into_iter().map(|(name, value)| Ok((name, bytes(&value)?)));
    let settings = settings.collect::<Result<Vec<_>, String>>()?;
    let line = |text: &str| {
        let (name, instead) = text.split_once(' ').ok_or_else(|| format!("'{text}' names no variable"))?;
        let value =
            settings.iter().find(|(set, _)| set == name).ok_or_else(|| format!("{name} is not set"))?;
        Ok::<_, String>((name.to_owned(), shown(&value.1), machine.fill(instead)))
    };
    let lines = lines.split(';').filter(|text| !text.is_empty()).map(line).collect::<Result<_, _>>()?;
    let mut expected: BTreeMap<String, Expected> =
        default.into_iter().flat_map(|all| all.keys()).map(|name| (name.clone(), Expected::Any)).collect();
    expected.extend(pairs(seen)?.into_iter().map(|(name, value)| (name, Expected::Is(machine.fill(&value)))));
    Ok(EnvCase { settings, lines, talks: false, seen: expected })
}

/// The beginning of a value as a line shows it: trimmed, without control characters.
fn shown(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    let text: String = text.trim().chars().map(|c| if c.is_ascii_control() { '?' } else { c }).collect();
    text[..text.floor_char_boundary(REPEATED)].to_owned()
}

/// The bytes that a value stands for: `\xNN`, `\t`, `\n`, `\\`, `[[TEXT*N]]`.
fn bytes(text: &str) -> Result<Vec<u8>, String> {
    let wrong = || format!("'{text}' is not understood");
    if let Some((before, rest)) = text.split_once("[[") {
        let (inside, after) = rest.split_once("]]").ok_or_else(wrong)?;
        let (piece, times) = inside.rsplit_once('*').ok_or_else(wrong)?;
        let repeated = bytes(piece)?.repeat(times.parse().map_err(|_| wrong())?);
        return Ok([bytes(before)?, repeated, bytes(after)?].concat());
    }
    let Some((before, rest)) = text.split_once('\\') else { return Ok(text.as_bytes().to_vec()) };
    let (byte, length) = match rest.as_bytes() {
        [b't', ..] => (b'\t', 1),
        [b'n', ..] => (b'\n', 1),
        [b'\\', ..] => (b'\\', 1),
        [b'x', _, _, ..] => {
            (u8::from_str_radix(rest.get(1..3).ok_or_else(wrong)?, 16).map_err(|_| wrong())?, 3)
        }
        _ => return Err(wrong()),
    };
    Ok([before.as_bytes(), &[byte], &bytes(&rest[length..])?].concat())
}

/// What of the expected values depends on the machine.
struct Machine {
    processors: usize,
    stack: u64,
}

impl Machine {
    fn this() -> Result<Self, String> {
        let limits =
            fs::read_to_string("/proc/self/limits").map_err(|e| format!("/proc/self/limits: {e}"))?;
        let soft =
            limits.lines().find_map(|line| line.strip_prefix("Max stack size")?.split_whitespace().next());
        // Without a limit it is 8 MiB.
        let stack = soft.and_then(|soft| soft.parse().ok()).unwrap_or(8 << 20);
        Ok(Self { processors: std::thread::available_parallelism().map_err(|e| e.to_string())?.get(), stack })
    }

    fn fill(&self, text: &str) -> String {
        let text = text
            .replace("@PROCS@", &self.processors.to_string())
            .replace("@KIB@", &(self.stack >> 10).to_string());
        text.replace("@BYTES@", &self.stack.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_spelled_out() {
        assert_eq!(bytes("a\\x41\\xff\\t\\\\b").unwrap(), b"aA\xff\t\\b");
        assert_eq!(bytes("0[[,1*3]]x").unwrap(), b"0,1,1,1x");
        assert!(bytes("\\q").is_err() && bytes("[[a]]").is_err() && bytes("\\x4").is_err());
    }

    #[test]
    fn names_of_values_are_tried() {
        assert_eq!(names("`a`, `bc`"), ["a", "bc"]);
        assert!(names("`a`, *n*").is_empty() && names("*bool*").is_empty());
        let cases = of_names(&["auto", "all"]);
        let is_there = |outcome, value: &str| cases.iter().any(|(o, v)| *o == outcome && v == value);
        assert!(is_there("ok", "AUTO") && is_there("ok", "All") && is_there("refused", "auto,all"));
    }

    #[test]
    fn there_are_cases_for_every_row() {
        let cases = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap();
        assert!(cases.len() >= 600, "{}", cases.len());
        let refused = cases.iter().filter(|case| !case.lines.is_empty()).count();
        assert!(refused >= 500, "{refused}");
    }
}
