//! One process: its command line, its end, and the figures it prints.
//!
//! The environment is cleaned of every variable that an OpenMP runtime or OpenBLAS reads, so that a figure does not
//! depend on the shell. The same words, typed into a shell, repeat the run: they are what a failure shows.

use super::build::Built;
use super::plan::{Barriers, Cell, IB};
use crate::exec;
use std::fs;
use std::path::{Path, PathBuf};

/// One program on one runtime.
#[derive(Clone, Debug)]
pub struct Lane {
    /// What the tables call it.
    pub name: String,
    /// The programs.
    pub built: Built,
    /// Gangway, to be preloaded; nothing for the runtime that the compiler links.
    pub library: Option<PathBuf>,
}

impl Lane {
    /// Whether it is another runtime than ours.
    pub fn is_peer(&self) -> bool {
        self.library.is_none()
    }
}

/// For each compiler its own runtime and Gangway, next to each other.
pub fn lanes(builds: &[Built], library: &Path) -> Vec<Lane> {
    let pair = |built: &Built| {
        let own = Lane {
            name: built.runtime.into(),
            built: built.clone(),
            library: None,
        };
        let ours = Lane {
            name: format!("Gangway, {}", built.compiler),
            library: Some(library.to_path_buf()),
            ..own.clone()
        };
        [own, ours]
    };
    builds.iter().flat_map(pair).collect()
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// It printed its figures; their names stand beside them.
    Figures(Vec<(String, String)>),
    /// It had not ended after this many seconds.
    Stopped(u32),
    /// Anything else: how, and what it said last.
    Failed(String),
}

/// The words that run `cell` on `lane`.
pub fn factorize(lane: &Lane, cell: &Cell, (warmup, runs): (u32, u32), check: bool) -> Vec<String> {
    let mut words = mpirun(cell.ranks);
    words.extend(environment(lane, cell.pinned));
    words.push(program(lane, "factorize"));
    words.extend(["--routine".into(), cell.routine.name().into()]);
    let numbers = [
        ("--n", cell.n),
        ("--nb", cell.nb),
        ("--ib", IB),
        ("--threads", cell.threads),
        ("--panel-threads", cell.panel),
        ("--warmup", warmup),
        ("--runs", runs),
        ("--p", cell.ranks.0),
        ("--q", cell.ranks.1),
    ];
    words.extend(
        numbers
            .iter()
            .flat_map(|(n, v)| [(*n).into(), v.to_string()]),
    );
    words.extend(["--check".into(), if check { "yes" } else { "no" }.into()]);
    words.push("--tsv".into());
    words
}

/// What starts so many ranks on this machine, however few cores it has; nothing for one. Gangway is preloaded into the ranks
/// alone.
fn mpirun((p, q): (u32, u32)) -> Vec<String> {
    if (p, q) == (1, 1) {
        return vec![];
    }
    let count = (p * q).to_string();
    let may_be_root = ["env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"];
    let words = may_be_root.into_iter().chain(["mpirun", "--oversubscribe", "--bind-to", "none", "-np", &count]);
    words.map(str::to_string).collect()
}

/// The words that run a row of spin barriers on `lane`, with `threads` threads in the outer region.
pub fn barriers(lane: &Lane, row: &Barriers, threads: u32, repetitions: u32) -> Vec<String> {
    let mut words = environment(lane, false);
    words.push(program(lane, "spin_barriers"));
    let numbers = [
        ("--teams", row.teams),
        ("--panel-threads", row.panel),
        ("--threads", threads),
        ("--repetitions", repetitions),
    ];
    words.extend(
        numbers
            .iter()
            .flat_map(|(n, v)| [(*n).into(), v.to_string()]),
    );
    words.extend(row.yields.then(|| "--yield".into()));
    words
}

fn program(lane: &Lane, name: &str) -> String {
    lane.built.directory.join(name).display().to_string()
}

/// `env` with what is taken away and what is set.
fn environment(lane: &Lane, pinned: bool) -> Vec<String> {
    let mut words = vec!["env".to_string()];
    let foreign = std::env::vars()
        .map(|(key, _)| key)
        .filter(|k| is_foreign(k));
    words.extend(foreign.flat_map(|key| ["-u".to_string(), key]));
    words.push("OPENBLAS_NUM_THREADS=1".into());
    // OpenBLAS 0.3.21 takes AMD processors with AVX-512 for ones without.
    words.extend(has_avx512().then(|| "OPENBLAS_CORETYPE=SkylakeX".into()));
    if pinned {
        words.extend(["OMP_PROC_BIND=close".into(), "OMP_PLACES=cores".into()]);
    }
    let preload = |library: &PathBuf| format!("LD_PRELOAD={}", library.display());
    words.extend(lane.library.as_ref().map(preload));
    words
}

fn is_foreign(key: &str) -> bool {
    let prefixes = ["OMP_", "KMP_", "GOMP_", "LIBOMP", "OPENBLAS_", "LD_PRELOAD"];
    prefixes.iter().any(|prefix| key.starts_with(prefix))
}

fn has_avx512() -> bool {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = text.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|line| {
        ["avx512f", "avx512dq", "avx512bw", "avx512vl"]
            .iter()
            .all(|wanted| line.split_whitespace().any(|flag| flag == *wanted))
    })
}

/// Runs `words`, at most `limit` seconds.
pub fn start(words: &[String], limit: u32) -> Ended {
    let ran = exec::run(words, &[], Path::new("/"), limit);
    match ran.problem {
        None => figures(&ran.stdout).map_or(
            Ended::Failed(format!(
                "printed no figures: {}",
                exec::last_line(&ran.stdout)
            )),
            Ended::Figures,
        ),
        Some(_) if ran.seconds >= f64::from(limit) => Ended::Stopped(limit),
        Some(problem) => Ended::Failed(reason(&problem, &ran.stdout, &ran.stderr)),
    }
}

/// A program that found its own result wrong has printed its figures all the same.
fn reason(problem: &str, stdout: &str, stderr: &str) -> String {
    let residual = figures(stdout).filter(|f| text(f, "pass") == Some("no"));
    match residual.as_ref().and_then(|f| text(f, "residual")) {
        Some(residual) => format!("wrong result, residual {residual}"),
        None => format!("{problem} {}", exec::last_line(stderr))
            .trim()
            .into(),
    }
}

/// The last line, with the names that the last comment gives its columns. Nothing if they do not fit together.
pub fn figures(stdout: &str) -> Option<Vec<(String, String)>> {
    let (comments, lines): (Vec<&str>, Vec<&str>) = stdout
        .lines()
        .filter(|line| !line.trim().is_empty())
        .partition(|line| line.starts_with('#'));
    let names: Vec<&str> = comments
        .last()?
        .trim_start_matches(['#', ' '])
        .split('\t')
        .collect();
    let values: Vec<&str> = lines.last()?.split('\t').collect();
    (names.len() == values.len() && names.len() > 1).then(|| {
        let pairs = names.iter().zip(&values);
        pairs.map(|(n, v)| (n.to_string(), v.to_string())).collect()
    })
}

/// The column of this name.
pub fn text<'a>(figures: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = figures.iter().find(|(column, _)| column == name);
    found.map(|(_, value)| value.as_str())
}

/// The number in the column of this name; only finite numbers above zero are figures.
pub fn number(figures: &[(String, String)], name: &str) -> Option<f64> {
    let value: f64 = text(figures, name)?.parse().ok()?;
    (value.is_finite() && value > 0.0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str =
        "# routine\tn\tgflops_median\tresidual\tpass\ngetrf\t500\t12.5\t0.05\tyes\n";

    #[test]
    fn columns_are_found_by_name() {
        let figures = figures(PRINTED).unwrap();
        assert_eq!(number(&figures, "gflops_median"), Some(12.5));
        assert_eq!(text(&figures, "pass"), Some("yes"));
        assert_eq!(number(&figures, "gflops"), None);
    }

    #[test]
    fn what_is_no_table_is_refused() {
        assert_eq!(figures(""), None);
        assert_eq!(figures("# a\tb\n"), None, "no values");
        assert_eq!(figures("1\t2\n"), None, "no names");
        assert_eq!(figures("# a\tb\n1\t2\t3\n"), None, "too many values");
        assert_eq!(figures("# a\nhello\n"), None, "one word is no table");
    }

    #[test]
    fn figures_are_finite_and_positive() {
        for value in ["nan", "inf", "0", "-1", "-"] {
            let figures = figures(&format!("# a\tb\nx\t{value}\n")).unwrap();
            assert_eq!(number(&figures, "b"), None, "{value}");
        }
    }

    #[test]
    fn a_wrong_result_is_told_from_a_crash() {
        let wrong = PRINTED.replace("0.05\tyes", "1e9\tno");
        assert_eq!(reason("exit 1", &wrong, ""), "wrong result, residual 1e9");
        assert_eq!(reason("crashes", "", "a\nb\n"), "crashes b");
    }

    #[test]
    fn processes_are_stopped_and_failures_told() {
        let words = |text: &str| ["sh", "-c", text].map(str::to_string);
        assert_eq!(start(&words("sleep 9"), 1), Ended::Stopped(1));
        assert_eq!(
            start(&words("echo why >&2; exit 3"), 9),
            Ended::Failed("exit 3 why".into())
        );
        let table = start(&words("printf '# a\\tb\\n1\\t2\\n'"), 9);
        assert!(matches!(table, Ended::Figures(f) if number(&f, "b") == Some(2.0)));
    }
}
