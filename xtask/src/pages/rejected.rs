//! Designs that were tried or weighed and left. They come from the heads of modules, where an
//! engineer reads them before changing the module.

use super::{ROOMS, sources, text_of};
use std::fmt::Write as _;
use std::path::Path;

const HEAD: &str = "\
<!-- Written by `cargo xtask pages` from the heads of modules. -->

# Rejected designs

What was tried, or thought through, and left, each with the reason. The heads of the modules say it where it matters; this page is for those who are about
to propose one of them. Protocols have a section of their own: [protocols](protocols/README.md).
";

/// The page.
pub fn page(root: &Path) -> String {
    let mut page = HEAD.to_owned();
    for (room, words) in ROOMS {
        let found: Vec<(String, String)> = sources(&root.join(room))
            .iter()
            .flat_map(|path| {
                let name = path.strip_prefix(root).unwrap_or(path).display().to_string();
                paragraphs(&text_of(path)).into_iter().map(move |p| (name.clone(), p))
            })
            .collect();
        if found.is_empty() {
            continue;
        }
        write!(page, "\n## {}\n\n", capital(words)).expect("a String takes all");
        for (name, text) in found {
            writeln!(page, "* `{name}`: {text}").expect("a String takes all");
        }
    }
    page
}

fn capital(words: &str) -> String {
    words.chars().take(1).flat_map(char::to_uppercase).chain(words.chars().skip(1)).collect()
}

/// The paragraphs of a module's head that tell of something rejected, from that word on, each as
/// one line.
fn paragraphs(text: &str) -> Vec<String> {
    let head: Vec<&str> =
        text.lines().take_while(|line| line.starts_with("//!")).map(|line| line[3..].trim()).collect();
    let mut found = Vec::new();
    for paragraph in head.split(|line| line.is_empty()) {
        let joined = paragraph.join(" ");
        let begin = ["Tried and rejected", "Rejected:", "Rejected,"]
            .iter()
            .filter_map(|word| joined.find(word))
            .min();
        if let Some(begin) = begin {
            let rest = joined[begin..].split_once([':', ',']).map_or("", |(_, rest)| rest).trim();
            found.push(plain(rest));
        }
    }
    found
}

/// Without links to items of the code, which a book cannot follow, and with lists as sentences.
pub(super) fn plain(text: &str) -> String {
    let text = text.replace(" * ", " ").replace("[`", "`").replace("`]", "`");
    let mut out = String::new();
    let mut rest = text.trim_start_matches("* ");
    while let Some((before, after)) = rest.split_once("`(") {
        out.push_str(before);
        out.push('`');
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paragraph_from_the_word_on() {
        let text = "//! Head.\n//!\n//! Lives here. Tried and rejected: a [`lock`](super::Lock) (slow),\n//! two locks.\n//!\n//! Other.\nuse x;\n//! Rejected: no.";
        assert_eq!(paragraphs(text), ["a `lock` (slow), two locks."]);
        assert_eq!(paragraphs("//! Nothing.\n"), Vec::<String>::new());
    }
}
