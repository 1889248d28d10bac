//! Every line that the library can print, found in the sources.
//!
//! Lives here: finding the calls of the reporters and the text in them, and the lines that are
//! written without them. Where no reporter may be called (a signal's handler, code below the
//! reporters, the libraries for MPI) lines begin with `gangway: ` in the source. A message whose
//! text is made elsewhere (a `why` that is passed on) shows as the part that is known. Tried and
//! rejected: a table of messages with numbers from which the code takes its text; each would be
//! read far from the place that knows why it is said.

use super::{ROOMS, sources, text_of};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// The calls, and what comes of them.
const REPORTERS: [(&str, &str); 5] = [
    ("report::warn(", "goes on"),
    ("report::warn_environment(", "goes on"),
    ("report::end(", "ends with status 1"),
    ("report::fatal(", "aborts"),
    ("crate::fatal(", "aborts"),
];

/// What lines begin with that are written without a reporter.
const DIRECT: &str = "\"gangway: ";
/// What comes of those, by what they begin with behind it; the program goes on after all others.
const ENDS: [(&str, &str); 4] = [
    ("stack overflow", "ends by the signal"),
    ("rank ", "ends by the signal"),
    ("{line}; all ranks stop", "ends"),
    ("libgangway_start.so finds", "ends with status 127"),
];

const HEAD: &str = "\
<!-- Written by `cargo xtask pages` from the sources. -->

# Messages

Every line that the library prints itself, on standard error, `gangway: ` before it (lines about variables: `OMP: Warning #42: gangway: `).
What stands in angle brackets is filled in; where a whole reason is filled in, the line says it. *Goes on* means that the program runs as the line says; *ends with status 1* that the
program asked for it, or cannot be right any more; *aborts* leaves a core for a debugger. `KMP_WARNINGS=off` silences most of those after which the program goes on. What `GANGWAY_CHECK` says of misuse is in
[robustness.md](robustness.md#misuse), and of waits in [remote.md](remote.md#who-waits-in-vain). What to do about the usual ones is in
[troubleshooting.md](troubleshooting.md); what wrong values of variables give, in [environment.md](environment.md).
";

/// The page.
pub fn page(root: &Path) -> String {
    let mut page = HEAD.to_owned();
    for (room, words) in ROOMS {
        let rows = rows(root, room);
        // The command is no part of the library.
        if rows.is_empty() || room == "gangway/src" {
            continue;
        }
        write!(page, "\n## From {words}\n\n| line | the program |\n|---|---|\n").expect("a String takes all");
        for (message, what) in rows {
            writeln!(page, "| {} | {what} |", message.replace('|', "\\|")).expect("a String takes all");
        }
    }
    page
}

fn rows(root: &Path, room: &str) -> BTreeMap<String, &'static str> {
    let mut rows = BTreeMap::new();
    for path in sources(&root.join(room)) {
        let text = text_of(&path);
        for (call, what) in REPORTERS {
            for (at, _) in text.match_indices(call) {
                if let Some(message) = literal(arguments(&text[at + call.len()..])) {
                    rows.insert(shown(&message), what);
                }
            }
        }
        rows.extend(direct(&text));
    }
    rows
}

/// What is written without a reporter.
fn direct(text: &str) -> Vec<(String, &'static str)> {
    let is_code =
        |at: &usize| !text[..*at].rsplit('\n').next().unwrap_or_default().trim_start().starts_with("//");
    let literals =
        text.match_indices(DIRECT).map(|(at, _)| at).filter(is_code).filter_map(|at| literal(&text[at..]));
    let messages = literals.filter_map(|message| {
        let message = message.strip_prefix(&DIRECT[1..])?.replace("%d", "{}");
        let what =
            ENDS.iter().find(|(begin, _)| message.starts_with(begin)).map_or("goes on", |(_, what)| what);
        // Where a reason follows from elsewhere.
        let more = if message.ends_with("; ") { "{why}" } else { "" };
        has_words(&message).then(|| (shown(&(message + more)), what))
    });
    messages.collect()
}

/// Calls of a reporter by its name alone, which the page would miss.
pub fn unqualified(root: &Path) -> Vec<String> {
    let mut problems = Vec::new();
    for path in ROOMS.iter().flat_map(|(room, _)| sources(&root.join(room))) {
        let text = text_of(&path);
        for import in ["report::fatal;", "report::warn;", "report::end;", "report::{", "report::*;"] {
            if text.lines().any(|line| line.contains("use ") && line.contains(import)) {
                problems.push(format!(
                    "{}: `use ...{import}`: reporters are called with their module's name",
                    path.strip_prefix(root).unwrap_or(&path).display()
                ));
            }
        }
    }
    problems
}

/// What stands between the parentheses of a call, whose opening one is before `text`.
fn arguments(text: &str) -> &str {
    let (mut depth, mut quoted, mut escaped) = (1, false, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

/// The first string in `arguments`, its escapes resolved; none where it has no letters of its own.
fn literal(arguments: &str) -> Option<String> {
    let (_, rest) = arguments.split_once('"')?;
    let (mut message, mut letters) = (String::new(), rest.chars().peekable());
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => match letters.next()? {
                '\n' => while letters.next_if(|c| c.is_whitespace()).is_some() {},
                'n' => message.push(' '),
                other => message.push(other),
            },
            other => message.push(other),
        }
    }
    has_words(&message).then_some(message)
}

/// Whether it says something by itself.
fn has_words(message: &str) -> bool {
    let outside = pieces(message).filter(|(_, is_hole)| !is_hole);
    outside.flat_map(|(text, _)| text.matches(char::is_alphabetic)).count() > 2
}

/// The parts of a format string: text, or a place that is filled in.
fn pieces(message: &str) -> impl Iterator<Item = (&str, bool)> {
    message.split('{').enumerate().flat_map(|(at, part)| match part.split_once('}') {
        Some((hole, text)) if at > 0 => [(hole, true), (text, false)],
        _ => [("", false), (part, false)],
    })
}

/// As the page shows it: `{why}` as `<why>`, `{}` as `<...>`.
fn shown(message: &str) -> String {
    let mut text = String::new();
    for (part, is_hole) in pieces(message) {
        let name = part.split(':').next().unwrap_or("");
        match (is_hole, name) {
            (false, _) => text.push_str(part),
            (true, "") => text.push_str("<...>"),
            (true, name) => write!(text, "<{}>", name.to_lowercase()).expect("a String takes all"),
        }
    }
    format!("`{}`", text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_found_with_its_holes() {
        let call =
            "format_args!(\"task {name}: {why}; \\\n        it has {} (of {MOST:?})\", f(\")\"))); rest(";
        let message = literal(arguments(call)).expect("there is one");
        assert_eq!(shown(&message), "`task <name>: <why>; it has <...> (of <most>)`");
    }

    #[test]
    fn lines_without_a_reporter_are_found() {
        let text = "/// \"gangway: not this\"\nwrite(b\"gangway: stack overflow of {x}; \"); say(\"gangway: level %d\\n\"); format!(\"gangway: {what}\\n\")";
        assert_eq!(
            direct(text),
            [
                ("`stack overflow of <x>; <why>`".to_string(), "ends by the signal"),
                ("`level <...>`".to_string(), "goes on")
            ]
        );
    }

    #[test]
    fn what_is_all_filled_in_is_no_message() {
        assert_eq!(literal("format_args!(\"{who}{line}\")"), None);
        assert_eq!(literal("line"), None);
    }
}
