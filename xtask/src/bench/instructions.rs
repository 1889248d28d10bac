//! Instructions of single-thread paths, counted by callgrind: the figure that no other load
//! disturbs.
//!
//! A probe runs N and 3 N times in a team of one; the difference leaves out start-up and warm-up.
//! The counts on record are in benchmarks/instructions.tsv: those of Gangway are compared in `cargo
//! xtask test`, those of the peers are for information. Rejected: teams of two on one worker. They
//! wait, and how long they spin is not the same twice.

use crate::exec;
use crate::lanes::show::{digits, markdown};
use crate::lanes::{self, BenchLane};
use crate::parallel;
use crate::programs::Workspace;
use crate::report::Report;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Where the counts are, in the repository.
const FILE: &str = "benchmarks/instructions.tsv";

/// The counts on record as they were built with this program.
const RECORD: &str = include_str!("../../../benchmarks/instructions.tsv");

const HEADER: &str = "\
# Instructions of one construct in a team of one thread, counted by callgrind. Written by `cargo xtask bench --instructions`;
# `cargo xtask test` fails when a count of gangway is more than a tenth above its own here.
probe\tcompiler\truntime\tinstructions
";

/// More than this share above the record fails, and so many instructions are nothing.
const TOLERANCE: f64 = 0.10;
const SLACK: f64 = 2.0;

/// Seconds after which a run hangs; callgrind makes a program fifty times slower.
const LIMIT: u32 = 120;

/// Probes, and how often each is run the first time.
const PROBES: [(&str, u32); 20] = [
    ("parallel", 200),
    ("parallel_shared", 200),
    ("barrier", 500),
    ("reduction", 200),
    ("single", 500),
    ("for", 500),
    ("for_dynamic", 500),
    ("parallel_for", 200),
    ("sections", 500),
    ("dynamic", 2),
    ("tasks", 1),
    ("task_taskwait", 2),
    ("task_if0", 2),
    ("taskgroup", 2),
    ("fib", 1),
    ("taskloop", 1),
    ("chain", 2),
    ("wavefront", 2),
    ("own_lock", 5),
    ("critical", 5),
];

/// Counts by probe, compiler and runtime.
type Counts = BTreeMap<(String, String, String), f64>;

/// Why nothing can be counted here, if so.
fn obstacle() -> Option<&'static str> {
    (!exec::on_path("valgrind")).then_some("valgrind is not there (Debian: valgrind)")
}

/// Counts on all lanes and writes the record.
///
/// # Errors
/// Without valgrind, or when a probe cannot be counted.
pub fn record(places: &Workspace, library: &Path) -> Result<bool, String> {
    if let Some(why) = obstacle() {
        return Err(why.into());
    }
    let builds = super::build::all(places);
    let lanes = lanes::lanes(&builds.ready, library);
    let (counts, problems) = count(&lanes.iter().collect::<Vec<_>>());
    if let Some(problem) = problems.first() {
        return Err(problem.clone());
    }
    fs::write(places.root.join(FILE), written(&counts)).map_err(|e| format!("{FILE}: {e}"))?;
    println!("{}", table(&counts));
    Ok(!counts.is_empty())
}

/// Compares the counts of Gangway with the record.
pub fn check(places: &Workspace, lanes: &[&BenchLane], report: &mut Report) {
    const NAME: &str = "instructions of single-thread paths";
    if let Some(why) = obstacle() {
        return report.skip(NAME, why);
    }
    let text = fs::read_to_string(places.root.join(FILE)).unwrap_or_default();
    let on_record = read(&text);
    let known = |lane: &&&BenchLane| {
        on_record.keys().any(|key| key.1 == lane.built.compiler && key.2 == runtime(lane))
    };
    for lane in lanes.iter().filter(|lane| !known(lane)) {
        report.skip(NAME, &format!("{FILE} has no counts for {}", lane.built.compiler));
    }
    let lanes: Vec<&BenchLane> = lanes.iter().filter(known).copied().collect();
    if lanes.is_empty() {
        return;
    }
    let (counts, mut problems) = count(&lanes);
    let (more, fewer) = compare(&counts, &on_record);
    if !more.is_empty() {
        problems.extend(more);
        problems.push("find the cause with `valgrind --tool=callgrind`; if it is worth it, `cargo xtask bench --instructions` records it".into());
    }
    if !fewer.is_empty() {
        let words = format!("{}; `cargo xtask bench --instructions` records them", fewer.join(", "));
        report.row("note", NAME, &words);
    }
    report.check(NAME, problems);
}

/// What is more than the record allows, and what is so much less that the record should follow.
fn compare(counts: &Counts, on_record: &Counts) -> (Vec<String>, Vec<String>) {
    let (mut more, mut fewer) = (vec![], vec![]);
    for (key, now) in counts {
        let name = format!("{} [{}]", key.0, key.1);
        match on_record.get(key) {
            None => more.push(format!("{name}: {} instructions, none on record", digits(*now))),
            Some(then) if *now > then * (1.0 + TOLERANCE) + SLACK => {
                more.push(format!("{name}: {} instructions, {} on record", digits(*now), digits(*then)));
            }
            Some(then) if *now < then * (1.0 - TOLERANCE) - SLACK => {
                fewer.push(format!("{name}: {} instead of {}", digits(*now), digits(*then)));
            }
            Some(_) => {}
        }
    }
    (more, fewer)
}

/// Counts all probes on `lanes`, on several processors. Returns what could be counted, and a line
/// for each that could not.
fn count(lanes: &[&BenchLane]) -> (Counts, Vec<String>) {
    let jobs: Vec<(&BenchLane, &str, u32)> =
        lanes.iter().flat_map(|lane| PROBES.map(|(probe, times)| (*lane, probe, times))).collect();
    let counted =
        parallel::map(&jobs, parallel::jobs().min(4), |&(lane, probe, times)| one(lane, probe, times));
    let (mut counts, mut problems) = (Counts::new(), vec![]);
    for ((lane, probe, _), value) in jobs.iter().zip(counted) {
        match value {
            Ok(value) => {
                counts.insert((probe.to_string(), lane.built.compiler.clone(), runtime(lane)), value);
            }
            Err(why) => problems.push(format!("{probe} [{}, {}]: {why}", lane.built.compiler, runtime(lane))),
        }
    }
    (counts, problems)
}

fn runtime(lane: &BenchLane) -> String {
    if lane.is_peer() { lane.built.runtime.into() } else { "gangway".into() }
}

/// Instructions of one construct.
fn one(lane: &BenchLane, probe: &str, times: u32) -> Result<f64, String> {
    let (few, many) = (run(lane, probe, times)?, run(lane, probe, 3 * times)?);
    Ok((many.0 - few.0) / (many.1 - few.1))
}

/// Instructions of a process, and how many constructs it ran.
fn run(lane: &BenchLane, probe: &str, times: u32) -> Result<(f64, f64), String> {
    let mut words = lanes::environment(lane, &[]);
    let program = lane.built.directory.join(super::build::OVERHEADS);
    words.extend(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"].map(str::to_string));
    words.push(program.display().to_string());
    words.extend(["--probe", probe, "--threads", "1", "--count", &times.to_string()].map(str::to_string));
    let ran = exec::run(&words, &[], Path::new("/"), LIMIT);
    if let Some(problem) = ran.problem {
        return Err(format!("{problem}: {}", words.join(" ")));
    }
    let constructs = lanes::process::figures(&ran.stdout)
        .and_then(|figures| lanes::process::number(&figures, "constructs"));
    collected(&ran.stderr).zip(constructs).ok_or_else(|| format!("no counts: {}", words.join(" ")))
}

/// The number in callgrind's last line, such as `==123== Collected : 4567`.
fn collected(stderr: &str) -> Option<f64> {
    let line = stderr.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(' ').next()?.parse().ok()
}

fn written(counts: &Counts) -> String {
    let mut text = HEADER.to_string();
    for ((probe, compiler, runtime), value) in counts {
        let _ = writeln!(text, "{probe}\t{compiler}\t{runtime}\t{value:.1}");
    }
    text
}

fn read(text: &str) -> Counts {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let row = |line: &str| {
        let columns: Vec<&str> = line.split('\t').collect();
        let [probe, compiler, runtime, value] = columns[..] else { return None };
        Some(((probe.to_string(), compiler.to_string(), runtime.to_string()), value.parse().ok()?))
    };
    lines.filter_map(row).collect()
}

/// The section of the page.
pub fn page() -> String {
    format!(
        "## Instructions in a team of one\n\nOf one construct, counted by callgrind (`cargo xtask bench --instructions`); \
         `cargo xtask test` fails when a count of Gangway grows by a tenth.\n\n{}",
        table(&read(RECORD))
    )
}

fn table(counts: &Counts) -> String {
    let mut columns: Vec<(&str, &str)> = counts.keys().map(|key| (key.1.as_str(), key.2.as_str())).collect();
    columns.sort_unstable_by_key(|column| (column.0 != "gcc", column.1 == "gangway"));
    columns.dedup();
    let mut lines = vec![vec!["probe".to_string()]];
    lines[0].extend(columns.iter().map(|(compiler, runtime)| format!("{runtime}, {compiler}")));
    for (probe, _) in PROBES {
        let value = |(compiler, runtime): &(&str, &str)| {
            let key = (probe.to_string(), compiler.to_string(), runtime.to_string());
            counts.get(&key).map_or("-".into(), |value| digits(*value))
        };
        lines.push([probe.to_string()].into_iter().chain(columns.iter().map(value)).collect());
    }
    markdown(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(value: f64) -> Counts {
        [(["tasks", "gcc", "gangway"].map(str::to_string).into(), value)].into()
    }

    #[test]
    fn a_tenth_more_fails_and_a_tenth_less_is_reported() {
        let sizes = |now| {
            let (more, fewer) = compare(&counts(now), &counts(100.0));
            (more.len(), fewer.len())
        };
        assert_eq!([112.1, 111.9, 88.1, 87.0].map(sizes), [(1, 0), (0, 0), (0, 0), (0, 1)]);
        assert_eq!(compare(&counts(1.0), &Counts::new()).0.len(), 1, "a count that nobody recorded");
    }

    #[test]
    fn what_is_written_can_be_read() {
        assert_eq!(read(&written(&counts(568.1))), counts(568.1));
    }

    #[test]
    fn the_record_has_all_probes_of_gangway() {
        let on_record = read(RECORD);
        for (probe, _) in PROBES {
            assert!(on_record.keys().any(|key| key.0 == probe && key.2 == "gangway"), "{probe}");
        }
    }

    #[test]
    fn callgrind_s_last_line_is_read() {
        assert_eq!(collected("==7== Events    : Ir\n==7== Collected : 4567\n"), Some(4567.0));
        assert_eq!(collected("valgrind: no such file"), None);
    }
}
