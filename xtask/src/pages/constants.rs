//! The tuning constants: where each number comes from, from the doc comments of the constants.
//!
//! What lives here: which constants are listed, and what their comments have to say. What does not:
//! the numbers themselves.

use super::rejected::plain;
use super::{sources, text_of};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const HEAD: &str = "\
<!-- Written by `cargo xtask pages` from the comments of the constants. -->

# Tuning constants

The numbers by which the scheduler, the stall monitor, the queues of tasks and the loops decide. Each says where it comes from:

* *Measured*: where, and in which range results stay within 2 %.
* *Derived*: from which other number, or from what it costs.
* *Chosen*: any value near it will do, for the reason given.

Numbers that the processor, the kernel or a file format gives are not listed.
";

/// Where the constants are, each with the words a reader knows it by.
const ROOMS: [(&str, &str); 4] = [
    ("ult/src/sched", "The scheduler"),
    ("ult/src/stall", "The stall monitor"),
    ("omp/src/queue", "Queues of tasks"),
    ("omp/src/worksharing", "Worksharing loops"),
];

/// What a comment says a number's origin is.
const ORIGINS: [&str; 4] = ["Measured:", "Derived:", "Chosen:", GIVEN];
/// The origin of a number that is not listed.
const GIVEN: &str = "Given:";

/// A constant with its comment, as one line.
#[derive(Debug, PartialEq, Eq)]
struct Constant {
    name: String,
    value: String,
    comment: String,
}

impl Constant {
    /// Where the origin of the number begins in the comment.
    fn origin(&self) -> Option<usize> {
        ORIGINS.iter().filter_map(|word| self.comment.find(word)).min()
    }

    /// Is the number given by the processor, the kernel or a format?
    fn is_given(&self) -> bool {
        self.origin().is_some_and(|at| self.comment[at..].starts_with(GIVEN))
    }
}

/// The page.
pub fn page(root: &Path) -> String {
    let mut page = HEAD.to_owned();
    for (room, title) in ROOMS {
        let found: Vec<Constant> =
            files(root, room).iter().flat_map(|path| constants(&text_of(path))).collect();
        let mut rows = found.iter().filter(|c| c.origin().is_some() && !c.is_given()).peekable();
        if rows.peek().is_none() {
            continue;
        }
        write!(
            page,
            "\n## {title}\n\n| constant | value | what it counts | where it comes from |\n|---|---|---|---|\n"
        )
        .expect("a String takes all");
        for constant in rows {
            let (what, origin) = constant.comment.split_at(constant.origin().unwrap_or_default());
            let Constant { name, value, .. } = constant;
            writeln!(page, "| `{name}` | `{value}` | {} | {} |", cell(what), cell(origin))
                .expect("a String takes all");
        }
    }
    page
}

/// Numeric constants whose comments do not say where the numbers come from.
pub fn unexplained(root: &Path) -> Vec<String> {
    let all = ROOMS.iter().flat_map(|(room, _)| files(root, room));
    all.flat_map(|path| {
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let lacking = constants(&text_of(&path)).into_iter().filter(|constant| constant.origin().is_none());
        lacking.map(|c| format!("{name}: {} says none of {}", c.name, ORIGINS.join(" "))).collect::<Vec<_>>()
    })
    .collect()
}

fn files(root: &Path, room: &str) -> Vec<PathBuf> {
    let path = root.join(room);
    if path.is_file() { vec![path] } else { sources(&path) }
}

/// The numeric constants of a source with numbers of their own.
fn constants(text: &str) -> Vec<Constant> {
    let mut found = Vec::new();
    let mut comment = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("///") {
            comment.push_str(words);
            continue;
        }
        if let Some((name, value)) = numeric(line) {
            let comment = comment.trim().to_owned();
            found.push(Constant { name: name.to_owned(), value: value.to_owned(), comment });
        }
        if !line.starts_with("#[") {
            comment.clear();
        }
    }
    found
}

/// Name and value of the constant that a line declares, if its value has a digit of its own.
fn numeric(line: &str) -> Option<(&str, &str)> {
    let declared = line.strip_prefix("pub ").unwrap_or(line);
    let declared = if declared.starts_with("pub(") { declared.split_once(") ")?.1 } else { declared };
    let (name, rest) = declared.strip_prefix("const ")?.split_once(": ")?;
    let (ty, value) = rest.split_once(" = ")?;
    let value = value.trim_end_matches(';');
    let numbers = ["u8", "u16", "u32", "u64", "usize", "i32", "i64", "f64", "Duration"];
    let has_digit = value
        .split(|c: char| !c.is_alphanumeric())
        .any(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let of_element = ty.strip_prefix('[').and_then(|rest| rest.split_once(';')).map_or(ty, |(one, _)| one);
    (numbers.contains(&of_element) && has_digit).then_some((name, value))
}

/// A cell of a table: no links to items of the code, no bars.
fn cell(text: &str) -> String {
    plain(text).replace('|', "\\|").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Constant, constants, numeric};

    #[test]
    fn constants_with_numbers_are_found() {
        let text = "/// Looks.\n/// Chosen: any.\n#[cfg(x)]\npub(super) const LOOKS: u32 = 8;\nconst A: usize = size_of::<B>();\n";
        let found = constants(text);
        let looks =
            Constant { name: "LOOKS".into(), value: "8".into(), comment: "Looks. Chosen: any.".into() };
        assert_eq!(found, [looks]);
        assert_eq!(found[0].origin(), Some(7));
        assert_eq!(numeric("const STACK: usize = 64 << 10;"), Some(("STACK", "64 << 10")));
        assert_eq!(numeric("const LIMITS: [u32; 2] = [64, 4];"), Some(("LIMITS", "[64, 4]")));
        assert_eq!(numeric("const NAME: &str = \"8\";"), None);
    }

    #[test]
    fn a_given_number_is_not_listed() {
        let text = "/// The red zone. Given: System V ABI.\nconst RED_ZONE: usize = 128;\n";
        assert!(constants(text)[0].is_given());
    }
}
