//! `cargo xtask pages`: the documentation as a book, and its pages that are written from the
//! sources.
//!
//! | file | what lives there |
//! |---|---|
//! | `environment` | the environment variables: docs/environment.md |
//! | `messages` | every line that the library can print: docs/messages.md |
//! | `rejected` | designs that were tried or weighed and left: docs/rejected.md |
//! | `constants` | the tuning constants: docs/tuning-constants.md |
//! | `orders` | the orders of a worker's search: lists in docs/protocols/wait.md |
//! | `links` | whether the links of all pages lead somewhere, and the book has all pages |
//! | `book` | the book, made by mdBook where that is installed; everything else needs nothing |

mod book;
mod constants;
mod environment;
mod links;
mod messages;
mod orders;
mod rejected;

use crate::files;
use crate::programs::Workspace;
use crate::report::Report;
use crate::{bench, busy};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Crates whose sources the pages are written from, each with the words a reader knows it by.
const ROOMS: [(&str, &str); 11] = [
    ("ult/src", "user-level threads"),
    ("omp/src", "OpenMP on the host"),
    ("omp-tools/src", "tools, traces and checks"),
    ("omp-offload/src", "devices"),
    ("omp-cluster/src", "MPI ranks"),
    ("libomp-shim/src/abi", "the fronts"),
    ("omp-offload/placement/src", "placement"),
    ("mpi-bridge/src", "the MPI bridge"),
    ("mpi-bridge/shim", "the libraries for MPI"),
    ("cuda-offload/src", "GPUs"),
    ("gangway/src", "the command"),
];

/// Writes the pages, or with `check` compares them, and looks at the links; then makes the book.
pub fn run(places: &Workspace, check: bool, report: &mut Report) {
    report.step("pages");
    let root = &places.root;
    let environment = environment::page(root)
        .map_or_else(|why| vec![why], |page| update(root, "docs/environment.md", &page, check));
    report.check("docs/environment.md is what the table says", environment);
    report.check("libomp-shim/variables.tsv: others agree", environment::disagreements(root));
    report.check(
        "docs/messages.md is what the sources say",
        update(root, "docs/messages.md", &messages::page(root), check),
    );
    report.check("messages: reporters are called by their whole names", messages::unqualified(root));
    report.check(
        "docs/rejected.md is what the sources say",
        update(root, "docs/rejected.md", &rejected::page(root), check),
    );
    report.check(
        "docs/tuning-constants.md is what the sources say",
        update(root, "docs/tuning-constants.md", &constants::page(root), check),
    );
    report.check("tuning constants say where they come from", constants::unexplained(root));
    report.check(
        "docs/protocols/wait.md: orders and intervals are what the sources say",
        update(root, orders::PAGE, &orders::page(root), check),
    );
    report.check(
        "docs/benchmarks.md is what the figures say",
        of_figures(root, bench::pages(&root.join("docs")), check),
    );
    report.check(
        "docs/busy.md is what the figures say",
        of_figures(root, busy::pages(&root.join("docs")), check),
    );
    report.check("pages: links lead somewhere", links::broken(root));
    report.check("pages: the book has all of them", links::forgotten(root));
    book::run(places, report);
}

/// A page of benchmarks and its plots, from the figures of the last run.
fn of_figures(root: &Path, pages: io::Result<Vec<(String, String)>>, check: bool) -> Vec<String> {
    match pages {
        Ok(pages) => pages
            .iter()
            .flat_map(|(name, text)| {
                update(root, &format!("docs/{name}"), text, check)
                    .into_iter()
                    .map(move |why| format!("{name}: {why}"))
            })
            .collect(),
        Err(why) => vec![format!("the figures in docs/plots: {why}")],
    }
}

fn update(root: &Path, name: &str, page: &str, check: bool) -> Vec<String> {
    let file = root.join(name);
    if fs::read_to_string(&file).is_ok_and(|now| now == page) {
        return vec![];
    }
    if check {
        return vec!["it differs; run `cargo xtask pages` and commit the file".into()];
    }
    fs::write(&file, page).err().map(|e| format!("{}: {e}", file.display())).into_iter().collect()
}

/// The files of Rust and C below `directory` that are no tests, sorted.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut found = files::below(directory, |folder| !folder.ends_with("tests"));
    found.retain(|path| {
        let is_test = path.ends_with("tests.rs") || path.ends_with("fuzz.rs");
        files::ends(path, ".rs") && !is_test || files::ends(path, ".c")
    });
    found
}

/// A source file up to its tests.
fn text_of(path: &Path) -> String {
    without_tests(&fs::read_to_string(path).unwrap_or_default()).to_owned()
}

/// The text of a source file up to the module with its tests. Other items for tests may stand
/// anywhere.
pub fn without_tests(text: &str) -> &str {
    let is_of_tests = |at: usize| {
        let mut lines = text[at..].lines();
        let attribute = lines.next().unwrap_or_default();
        attribute.contains("test") && lines.next().is_some_and(|line| line.starts_with("mod "))
    };
    let mut marks = text.match_indices("#[cfg(").map(|(at, _)| at);
    &text[..marks.find(|&at| is_of_tests(at)).unwrap_or(text.len())]
}
