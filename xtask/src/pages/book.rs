//! The book: docs/ made by mdBook, and looked through for links that lead nowhere.
//!
//! Links that leave docs/ lead somewhere in the repository, but not in a book by itself: mdBook is
//! given a copy in which such a link is its words and the file's name. Rejected: a book of the
//! whole repository. mdBook makes pages of what its list names only, and sources are none.

use crate::exec;
use crate::files;
use crate::programs::Workspace;
use crate::report::Report;
use std::fs;
use std::path::{Path, PathBuf};

/// What installs the program that makes it. It takes minutes to build, so `cargo xtask setup` does
/// not.
const MDBOOK: &str = "cargo install mdbook --version 0.4.52 --locked";

/// What mdBook calls a README.md; links to it have to say so.
const INDEX: &str = "index.md";

/// Makes the book; what mdBook warns of is a problem, and so are links that lead nowhere.
pub fn run(places: &Workspace, report: &mut Report) {
    if !exec::on_path("mdbook") {
        return report.skip("book", &format!("mdBook is not installed ({MDBOOK})"));
    }
    let (source, out) = (places.target.join("book-source"), places.target.join("book"));
    if let Err(why) = staged(&places.root.join("docs"), &source) {
        return report.fail("book", &why);
    }
    let argv = ["mdbook", "build", &source.display().to_string(), "--dest-dir", &out.display().to_string()]
        .map(String::from);
    let ran = exec::run(&argv, &[], &places.root, 120);
    let said = ran.stdout.lines().chain(ran.stderr.lines());
    let mut problems: Vec<String> =
        said.filter(|line| line.contains("WARN") || line.contains("ERROR")).map(String::from).collect();
    problems.extend(ran.problem);
    problems.extend(broken(&out));
    report.check("book", problems);
}

/// Copies docs/, without links that leave it.
fn staged(docs: &Path, to: &Path) -> Result<(), String> {
    if to.exists() {
        fs::remove_dir_all(to).map_err(|e| format!("{}: {e}", to.display()))?;
    }
    let copy = ["cp", "-R", &docs.display().to_string(), &to.display().to_string()].map(String::from);
    exec::run(&copy, &[], docs, 60)
        .problem
        .map_or(Ok(()), |why| Err(format!("docs is not copied: {why}")))?;
    for page in files(to, ".md") {
        let depth = page.strip_prefix(to).map_or(0, |inner| inner.components().count() - 1);
        let text = fs::read_to_string(&page).map_err(|e| format!("{}: {e}", page.display()))?;
        fs::write(&page, inside(&text, depth)).map_err(|e| format!("{}: {e}", page.display()))?;
        if page.ends_with("README.md") {
            fs::rename(&page, page.with_file_name(INDEX)).map_err(|e| format!("{}: {e}", page.display()))?;
        }
    }
    Ok(())
}

/// A page so many directories down, each link that leaves the book as its words, and the file where
/// they do not name it. Code is left alone.
fn inside(text: &str, depth: usize) -> String {
    let parts = text
        .split("```")
        .enumerate()
        .map(|(at, part)| if at % 2 == 0 { without_leaving(part, depth) } else { part.to_string() });
    parts.collect::<Vec<_>>().join("```")
}

fn without_leaving(text: &str, depth: usize) -> String {
    let (mut done, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("](") {
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        done.push_str(before);
        let (target, behind) = after.split_once(')').unwrap_or((after, ""));
        let leaves = target.split('/').take_while(|part| *part == "..").count() > depth;
        match done.rfind('[').filter(|_| leaves) {
            Some(open) => {
                let file = target.trim_start_matches("../").split('#').next().unwrap_or_default();
                let words = done.split_off(open)[1..].to_string();
                let names_it = words.contains(file.rsplit('/').next().unwrap_or(file));
                done.push_str(&if names_it { words } else { format!("{words} (`{file}`)") });
            }
            None => done.push_str(&format!("]({})", target.replace("README.md", INDEX))),
        }
        rest = behind;
    }
    done + rest
}

/// Links of the book's pages to files that are not in it. Those of the page for what is not found
/// are the site's, not the book's.
fn broken(book: &Path) -> Vec<String> {
    let mut problems = Vec::new();
    for page in files(book, ".html").into_iter().filter(|page| !page.ends_with("404.html")) {
        let text = fs::read_to_string(&page).unwrap_or_default();
        let targets = [" href=\"", " src=\""]
            .into_iter()
            .flat_map(|word| text.split(word).skip(1))
            .filter_map(|rest| rest.split_once('"').map(|(target, _)| target));
        let local = targets
            .filter(|target| !target.contains(':'))
            .map(|target| target.split(['#', '?']).next().unwrap_or_default());
        let directory = page.parent().unwrap_or(book);
        let lost = local.filter(|target| !target.is_empty() && !directory.join(target).exists());
        problems.extend(lost.map(|target| {
            format!("{}: {target} is not in the book", page.strip_prefix(book).unwrap_or(&page).display())
        }));
    }
    problems.sort();
    problems.dedup();
    problems
}

/// The files below a directory whose names end so.
fn files(directory: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = files::below(directory, |_| true);
    found.retain(|path| files::ends(path, end));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_leave_the_book_are_words() {
        let text = "[a](p/README.md) and [`x.c`](../e/x.c), [README](../README.md#use) ```\n[c](../d)\n``` [e](../f.md)";
        assert_eq!(
            inside(text, 0),
            "[a](p/index.md) and `x.c`, README (`README.md`) ```\n[c](../d)\n``` e (`f.md`)"
        );
        assert_eq!(inside("[e](../f.md)", 1), "[e](../f.md)");
    }
}
