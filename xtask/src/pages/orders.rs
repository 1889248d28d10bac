//! The orders in which a worker searches for work, and the intervals of their exceptions: lists in
//! `docs/protocols/wait.md`, from the tables of the scheduler.
//!
//! What lives here: reading the tables, and the lists. What does not: the tables themselves.

use super::rejected::plain;
use super::text_of;
use std::fmt::Write as _;
use std::path::Path;

/// The page.
pub const PAGE: &str = "docs/protocols/wait.md";
const ORDER: &str = "ult/src/sched/order.rs";
const FAIRNESS: &str = "ult/src/sched/fairness.rs";

/// The page, with its lists written anew.
pub fn page(root: &Path) -> String {
    let (order, fairness) = (text_of(&root.join(ORDER)), text_of(&root.join(FAIRNESS)));
    let page = text_of(&root.join(PAGE));
    let page = replaced(&page, "sources", &sources(&order));
    let page = replaced(&page, "orders", &orders(&order));
    replaced(&page, "intervals", &intervals(&fairness))
}

/// The page with `list` between the two marks of this name. A page without marks stays as it is.
fn replaced(page: &str, name: &str, list: &str) -> String {
    let (begin, end) =
        (format!("<!-- {name}: written by `cargo xtask pages` -->\n"), format!("<!-- end of {name} -->"));
    match (page.split_once(&begin), page.split_once(&end)) {
        (Some((before, _)), Some((_, after))) => format!("{before}{begin}\n{list}\n{end}{after}"),
        _ => page.to_owned(),
    }
}

/// One item for each source: its name, and its comment.
fn sources(text: &str) -> String {
    let body = text.split_once("pub enum Source {\n").and_then(|(_, rest)| rest.split_once("\n}"));
    let mut list = String::new();
    for (comment, line) in commented(body.map_or("", |(body, _)| body)) {
        writeln!(list, "* `{}`: {comment}", line.trim_end_matches(',')).expect("a String takes all");
    }
    list
}

/// One row for each order: its name, its comment, and its sources.
fn orders(text: &str) -> String {
    let mut list = "| order | when | sources |\n|---|---|---|\n".to_owned();
    for (comment, line) in commented(text) {
        let declared = line.strip_prefix("pub const ").and_then(|rest| rest.split_once(": [Source;"));
        let Some((name, rest)) = declared else { continue };
        let asked = rest.split_once("= [").map_or("", |(_, rest)| rest).trim_end_matches("];");
        writeln!(list, "| `{name}` | {comment} | {asked} |").expect("a String takes all");
    }
    list
}

/// One row for each interval.
fn intervals(text: &str) -> String {
    let mut list = "| constant | interval | would do as well | what would starve without it | it arises in | seen to fail |\n\
                    |---|---|---|---|---|---|\n"
        .to_owned();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    for (at, line) in lines.iter().enumerate() {
        let field = |name: &str| {
            let rest = lines[at..].iter().take(5).find_map(|line| line.strip_prefix(name));
            rest.map(|rest| rest.trim_end_matches(';').trim_matches('"'))
        };
        let declared = line.strip_prefix("const ").and_then(|rest| rest.split_once(": "));
        let (Some((name, rest)), Some(good), Some(starves), Some(test)) =
            (declared, field("good: "), field("starves: "), field("arises_in: "))
        else {
            continue;
        };
        let interval = rest.split_once(" = ").map_or("", |(_, value)| value).trim_end_matches(';');
        let good = good.replace("..=", " to ");
        let seen = if field("seen_to_fail: ") == Some("true") { "yes" } else { "" };
        writeln!(list, "| `{name}` | {interval} | {good} | {starves} | `{test}` | {seen} |")
            .expect("a String takes all");
    }
    list
}

/// What stands under comments in a source, up to the end of the statement, each with its comment.
fn commented(text: &str) -> Vec<(String, String)> {
    let (mut found, mut comment, mut statement) = (Vec::new(), String::new(), String::new());
    for line in text.lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("///") {
            comment.push_str(words);
        } else if !comment.is_empty() && !line.starts_with('#') {
            statement = format!("{statement} {line}").trim().to_owned();
            if line.ends_with([';', ',', '{']) {
                found.push((plain(comment.trim()).replace("Self::", ""), core::mem::take(&mut statement)));
                comment.clear();
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{FAIRNESS, ORDER, intervals, orders, replaced, sources};
    use crate::pages::text_of;
    use std::path::Path;

    #[test]
    fn sources_and_orders_are_read() {
        let text = "/// What is asked.\npub enum Source {\n    /// A\n    /// context.\n    Newest,\n}\n\n/// A search.\npub const NORMAL: [Source; 2] =\n    [Newest, Victim];\n";
        assert_eq!(sources(text), "* `Newest`: A context.\n");
        assert!(orders(text).ends_with("| `NORMAL` | A search. | Newest, Victim |\n"), "{}", orders(text));
    }

    #[test]
    fn intervals_are_read() {
        let text = "    /// Chosen: any.\n    const TICKS: u32 = 16;\n        good: 8..=32;\n        starves: \"a task\";\n        arises_in: \"a.c\";\n        seen_to_fail: true;\n";
        assert!(intervals(text).ends_with("| `TICKS` | 16 | 8 to 32 | a task | `a.c` | yes |\n"));
    }

    #[test]
    fn each_row_of_the_scheduler_is_read() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let text = text_of(&root.join(FAIRNESS));
        let rows = text.matches(" starves: \"").count();
        assert!(rows > 10, "{rows}");
        assert_eq!(intervals(&text).lines().count(), 2 + rows);
        assert!(orders(&text_of(&root.join(ORDER))).lines().count() > 2 + 6);
    }

    #[test]
    fn only_what_is_between_the_marks_is_replaced() {
        let page = "a\n<!-- x: written by `cargo xtask pages` -->\nold\n<!-- end of x -->\nb\n";
        let new = "a\n<!-- x: written by `cargo xtask pages` -->\n\nnew\n<!-- end of x -->\nb\n";
        assert_eq!(replaced(page, "x", "new"), new);
        assert_eq!(replaced(page, "y", "new"), page);
    }
}
