//! `cargo xtask format`: the form of the sources. Rust by rustfmt (`rustfmt.toml`), C and C++ by
//! clang-format (`.clang-format`). Comments in Rust end at column 100; they are wrapped by hand.
//!
//! What lives here: which files, and what is compared. What may not: other lints.

use std::fs;
use std::path::PathBuf;

use crate::exec;
use crate::programs::Workspace;
use crate::report::Report;

/// Where comments in Rust end.
const COMMENT_WIDTH: usize = 100;

/// Files that one call of clang-format is given.
const FILES_PER_CALL: usize = 50;

/// Seconds for each tool.
const LIMIT: u32 = 300;

/// Formats everything, or with `check` says what is not formatted.
pub fn run(places: &Workspace, check: bool, report: &mut Report) {
    rust(places, check, report);
    if tracked(places, &["Cargo.toml"]).is_empty() {
        return report.skip("comments and C", "no version control here, which says what the sources are");
    }
    comments(places, report);
    c(places, check, report);
}

fn rust(places: &Workspace, check: bool, report: &mut Report) {
    if !exec::on_path("cargo-fmt") {
        return report.skip("rustfmt", "not installed with this toolchain");
    }
    let mut problems = Vec::new();
    // `fuzz` is a workspace of its own.
    for manifest in ["Cargo.toml", "fuzz/Cargo.toml"] {
        let words = ["cargo", "fmt", "--all", "--manifest-path", manifest]
            .into_iter()
            .chain(check.then_some("--check"));
        let ran = exec::run(&words.map(str::to_owned).collect::<Vec<_>>(), &[], &places.root, LIMIT);
        if ran.problem.is_some() {
            let first = ran
                .stdout
                .lines()
                .chain(ran.stderr.lines())
                .find(|line| !line.is_empty())
                .unwrap_or_default();
            problems.push(format!("{first} (cargo fmt --all)"));
        }
    }
    report.check("rustfmt", problems);
}

/// Not by rustfmt: its stable version does not wrap comments.
fn comments(places: &Workspace, report: &mut Report) {
    let mut problems = Vec::new();
    for file in tracked(places, &["*.rs"]) {
        let text = fs::read_to_string(places.root.join(&file)).unwrap_or_default();
        let long = text.lines().enumerate().filter(|(_, line)| is_long_comment(line));
        problems.extend(long.map(|(at, _)| {
            format!("{}:{}: a comment beyond column {COMMENT_WIDTH}", file.display(), at + 1)
        }));
    }
    report.check("width of comments", problems);
}

/// Is the line a comment that is too wide, and could be narrower? Tables and single long words
/// could not.
fn is_long_comment(line: &str) -> bool {
    let Some(text) = line.trim_start().strip_prefix("//") else { return false };
    let text = text.trim_start_matches(['/', '!']).trim();
    line.chars().count() > COMMENT_WIDTH + SLACK && !text.starts_with('|') && text.contains(' ')
}

/// What rustfmt lets pass: it counts otherwise where characters are wide, and leaves what follows
/// code.
const SLACK: usize = 10;

fn c(places: &Workspace, check: bool, report: &mut Report) {
    let Some(tool) = [places.venv().join("bin/clang-format")].into_iter().find(|tool| tool.exists()) else {
        return report.skip("clang-format", "not installed (cargo xtask setup)");
    };
    let files = tracked(places, &["*.c", "*.cpp", "*.h", "*.hpp"]);
    let mut problems = Vec::new();
    for batch in files.chunks(FILES_PER_CALL) {
        let mut words = vec![tool.display().to_string()];
        words.extend(
            if check { ["--dry-run", "-Werror"].as_slice() } else { &["-i"] }
                .iter()
                .map(|word| (*word).to_owned()),
        );
        words.extend(batch.iter().map(|file| file.display().to_string()));
        let ran = exec::run(&words, &[], &places.root, LIMIT);
        let wrong = ran.stderr.lines().filter(|line| line.contains("error:")).map(str::to_owned);
        let found = problems.len();
        problems.extend(wrong);
        if let Some(problem) = ran.problem.filter(|_| problems.len() == found) {
            problems.push(format!("clang-format: {problem} {}", exec::last_line(&ran.stderr)));
        }
    }
    report.check("clang-format", problems);
}

/// Files of the sources whose names match, new ones included.
pub fn tracked(places: &Workspace, patterns: &[&str]) -> Vec<PathBuf> {
    let words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--"]
        .iter()
        .chain(patterns)
        .map(|word| (*word).to_owned());
    let ran = exec::run(&words.collect::<Vec<_>>(), &[], &places.root, LIMIT);
    ran.stdout.lines().map(PathBuf::from).filter(|file| places.root.join(file).exists()).collect()
}

#[cfg(test)]
mod tests {
    use super::is_long_comment;

    #[test]
    fn tables_and_addresses_may_be_wide() {
        let wide = "word ".repeat(30);
        assert!(is_long_comment(&format!("    /// {wide}")));
        assert!(is_long_comment(&format!("// {wide}")));
        assert!(!is_long_comment(&format!("//! | {wide} |")));
        assert!(!is_long_comment(&format!("// https://{}", "a".repeat(150))));
        assert!(!is_long_comment(&format!("let text = \"{wide}\";")));
        assert!(!is_long_comment("/// short"));
    }
}
