//! `cargo xtask readme`: whether what README.md and docs/start.md tell a newcomer to type works as
//! it stands, and whether README.md shows what comes of it.
//!
//! Lives here: finding the commands in the pages, and running them where a newcomer would. The
//! first of them builds, in the workspace; the others run in a directory of their own that has
//! the workspace's target/, a program, and examples/nested.c compiled. What is shown is compared in
//! its form: words, columns and rows, not numbers.
//!
//! Rejected: a fresh clone each time. It would be built for minutes; `git clone . /tmp/x && cd
//! /tmp/x && cargo xtask readme` does that by hand.

use crate::exec;
use crate::programs::Workspace;
use crate::report::Report;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A page, the beginning of the heading of the part that has the commands (nothing: its first
/// block), and how many there are.
const PAGES: [(&str, &str, usize); 2] =
    [("README.md", "## Use it with your own program", 3), ("docs/start.md", "# Start", 4)];

/// LLVM's runtime, whose row is shown where that is installed.
const LIBOMP: &str = "/usr/lib/llvm-19/lib/libomp.so.5";

/// The program of a newcomer.
const PROGRAM: &str = "#include <stdio.h>
int main(void)
{
    long sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 1000000; i++)
        sum += i % 7;
    return printf(\"%ld\\n\", sum) < 0;
}
";

/// Runs the commands, and compares what is shown.
pub fn run(places: &Workspace, report: &mut Report) {
    report.step("what a newcomer types");
    let work = match prepared(places) {
        Ok(work) => work,
        Err(why) => return report.skip("newcomer's commands", &why),
    };
    for (page, heading, count) in PAGES {
        let text = fs::read_to_string(places.root.join(page)).unwrap_or_default();
        let blocks = blocks(part(&text, heading));
        let commands = blocks.first().map_or(&[][..], Vec::as_slice);
        let mut problems = Vec::new();
        if commands.len() != count {
            problems.push(format!(
                "{count} commands are expected below `{heading}`, and there are {}",
                commands.len()
            ));
        }
        problems.extend(commands.iter().filter_map(|command| said(places, &work, command).err()));
        report.check(&format!("{page}: {count} commands"), problems);
        for shown in blocks.iter().skip(1).filter(|block| block[0].starts_with("$ ")) {
            report.check(&format!("{page}: what is shown"), differences(places, &work, shown));
        }
    }
}

/// A directory with the programs and the workspace's target/.
fn prepared(places: &Workspace) -> Result<PathBuf, String> {
    let work = places.target.join("readme");
    let failed = |e: io::Error| format!("{}: {e}", work.display());
    drop(fs::remove_dir_all(&work));
    fs::create_dir_all(&work).map_err(failed)?;
    symlink(&places.target, work.join("target")).map_err(failed)?;
    fs::write(work.join("program.c"), PROGRAM).map_err(failed)?;
    for (source, program) in
        [(work.join("program.c"), "program"), (places.root.join("examples/nested.c"), "nested")]
    {
        let (source, program) = (source.display().to_string(), work.join(program).display().to_string());
        let ran = exec::run(
            &["gcc", "-O2", "-fopenmp", &source, "-o", &program].map(String::from),
            &[],
            &places.root,
            60,
        );
        ran.problem.map_or(Ok(()), |why| Err(format!("gcc builds no program here: {why}")))?;
    }
    Ok(work)
}

/// What a command prints, without its complaints.
fn said(places: &Workspace, work: &Path, command: &str) -> Result<String, String> {
    let directory = if command.starts_with("cargo ") { &places.root } else { work };
    let env = [("XDG_CACHE_HOME".to_string(), work.join("cache").display().to_string())];
    let ran = exec::run(&["sh", "-c", command].map(String::from), &env, directory, 600);
    ran.problem
        .map_or(Ok(ran.stdout), |why| Err(format!("{command}: {why} ({})", exec::last_line(&ran.stderr))))
}

/// Whether a command prints today what is shown below it.
fn differences(places: &Workspace, work: &Path, block: &[String]) -> Vec<String> {
    let command = block[0].trim_start_matches("$ ");
    let has_row = |line: &&str| Path::new(LIBOMP).exists() || !line.starts_with("libomp ");
    let shown: Vec<String> = block[1..].iter().map(String::as_str).filter(has_row).map(form).collect();
    match said(places, work, command) {
        Err(why) => vec![why],
        Ok(now) => {
            let now: Vec<String> = now.lines().map(form).collect();
            if now == shown {
                vec![]
            } else {
                vec![
                    format!("`{command}` prints in this form: {}", now.join(" / ")),
                    format!("shown is: {}", shown.join(" / ")),
                ]
            }
        }
    }
}

/// A line without its numbers and units of time: each number is `#`.
fn form(line: &str) -> String {
    let is_number = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.chars().all(|c| c.is_ascii_digit() || ".+".contains(c))
    };
    let plain = |word| match word {
        "s" | "ms" | "µs" => "time".to_string(),
        word if is_number(word) => "#".into(),
        word => word.to_string(),
    };
    line.split_whitespace().map(plain).collect::<Vec<_>>().join(" ")
}

/// The lines from a heading to the next one of its kind.
fn part<'a>(text: &'a str, heading: &str) -> &'a str {
    let from = text.find(heading).map_or(text.len(), |at| at + heading.len());
    let rest = &text[from..];
    &rest[..rest.find("\n## ").unwrap_or(rest.len())]
}

/// The indented blocks of a page, without what a `#` says behind a command.
fn blocks(text: &str) -> Vec<Vec<String>> {
    let mut blocks = vec![vec![]];
    for line in text.lines() {
        match line.strip_prefix("    ") {
            Some(code) => blocks
                .last_mut()
                .expect("one is there")
                .push(code.split("  #").next().unwrap_or(code).trim_end().to_string()),
            None if blocks.last().is_some_and(|block| !block.is_empty()) => blocks.push(vec![]),
            None => {}
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_what_is_shown_are_found() {
        let page = "# A\n\n## B\n\ntext\n\n    one x    # why\n    two\n\nthen\n\n    $ three\n    1  a\n\n## C\n\n    four\n";
        assert_eq!(blocks(part(page, "## B")), [vec!["one x", "two"], vec!["$ three", "1  a"]]);
        assert!(blocks(part(page, "## D")).is_empty());
    }

    #[test]
    fn numbers_and_units_of_time_do_not_count() {
        assert_eq!(form("its own (libgomp)  13.8 ms  2435+32  -"), form("its own (libgomp)  1.2 s  1+0  -"));
        assert_ne!(form("libomp  1  agrees"), form("libomp  1  differs"));
    }
}
