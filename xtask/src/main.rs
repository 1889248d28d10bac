//! Development commands: `cargo xtask <command>`.
//!
//! Lives here: the list of commands and their options. Each command is a module of its own. No
//! dependencies: this program must build in seconds on a fresh machine.

mod abi_tests;
mod answer;
mod bench;
mod bridge;
mod circles;
mod conform;
mod conformance;
mod debugger;
mod demo;
mod dist;
mod env_cases;
mod examples;
mod exec;
mod factorizations;
mod format;
mod gpu_bench;
mod gpu_model;
mod lab;
mod lanes;
mod lex;
mod life;
mod mutants;
mod pages;
mod parallel;
mod pins;
mod placement;
mod programs;
mod quick;
mod readme;
mod report;
mod runtime;
mod sanitizers;
mod setup;
mod soak;
mod status;
mod suite;
mod symbols;
mod table;
mod trace;
mod words;

use conformance::Suite;
use factorizations::FactorizationExtent;
use programs::Workspace;
use report::Report;
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask <command>

  demo                 real programs under libgomp, libomp and Gangway side by side (installs what it needs by apt)
  test                 everything: build, symbols, lints, unit tests, models, ABI programs, real programs
                         --no-setup  install nothing      --quick  without models (GPUs' as well), mutants, long programs, suites
  quick                after each change, in a minute: form, clippy, unit tests of what has changed, some ABI programs
  setup                install what demo, test and programs use (apt, pip)
  dist                 packages in target/dist: tarball, Debian package, wheel (docs/packages.md)
                         --check  install each and try it, the Debian package in a minimal Debian   --quick  as in test
  install-links DIR    make libgomp.so.1, libomp.so.5, libiomp5.so and libomptarget.so.* in DIR links to the library
  symbols              check the symbol table against the library; write docs/status.md
                         --check  compare docs/status.md instead     --reference DIR  more lists of wanted symbols
                         --adopt  first make the table say what the sources implement
  pages                write the pages that come from the sources, look at all links, make the book with mdBook
                         --check  compare them instead, as in test
  format               rustfmt and clang-format over everything (rustfmt.toml, .clang-format)
                         --check  only say what is not formatted, as in test
  words                names and comments in the words of docs/glossary.md, short sentences (Rust, docs/protocols)
  circles              files of a crate that import each other in a circle, and which crates depend on which
                         --check  only whether the bounds hold, as in test   --arrows  the imports inside   --filter TEXT
  programs             the real programs only, all of them (docs/programs.md)
                         --quick  those of test   --filter TEXT   --own  on their own runtimes
  abi-tests            the ABI programs only
                         --filter TEXT  --own  --jobs N  --gate (the runs of test, docs/cells.md)
                         --stress (every run)  --all (products too)
                         --list  the runs, without making them   --record FILE  what each took
  conformance [SUITE]  test suites of other runtimes: llvm, gcc, ours; all without a word
                         --filter TEXT  --full  --threads N (4)  --repeat N  --concurrent (gcc: the most concurrent tests)
                         --devices host|openmpi|mpich  (llvm, gcc) tests of devices, on one with memory of its own
  env-cases            every environment variable with good and bad values (docs/robustness.md)
                         --filter TEXT
  lab                  the deadlock laboratory: programs whose threads wait for one another, against libgomp (docs/robustness.md)
                         --quick  few numbers of threads   --filter TEXT  --library FILE
  life                 fork, ends, plugins, signals, limits, exceptions: under libgomp, libomp and Gangway (docs/robustness.md)
                         --quick  under Gangway alone, as in test   --table  write the table of that page   --filter TEXT
  debugger             what gdb's script shows of threads, teams and tasks, alive and in a core (docs/debugger.md)
  examples             the programs of examples/, built by all compilers and run
  readme               what README.md and docs/start.md tell a newcomer to type, and whether what they show comes of it
  soak                 programs by chance, whose answers are known, at random numbers of threads (docs/robustness.md)
                         --seed S (1)  --programs N (2000)  --minutes N  --first N  --compiler gcc|clang-19  --sanitizer thread|address
  sanitizers           ThreadSanitizer, AddressSanitizer and valgrind on programs, and on the crate `ult` (docs/robustness.md)
                         --quick  as in test   --filter TEXT  --library FILE
  mutants              whether the ABI programs notice deliberate mistakes in the library
                         --filter TEXT  --jobs N  --quick  as in test: the programs of the table alone
  factorizations       GFlop/s of tiled Cholesky, LU and QR under libgomp, libomp and Gangway
                         --quick  --full  --ranks (by MPI)  --runs N  --filter TEXT  --out DIR (default: docs/plots for a whole run)
                         --check  only whether results are right and nothing hangs, as in test
  bench                what each construct costs, and a suite of task programs, under libgomp, libomp and Gangway
                         --quick (five minutes)  --runs N  --filter TEXT  --out DIR (default: docs for a whole run)
                         --check  only what test does   --instructions  count instructions and record them
  trace                traces of programs whose history is known, and reports of traces in a browser (docs/trace.md)
  bridge               build libgangway_mpi_openmpi.so and libgangway_mpi_mpich.so, for the MPIs that are installed (docs/bridge.md)
                         --check [--filter TEXT]  run the checks with ranks, each with every MPI and compiler
                         --measure [--filter TEXT]  latency and rates: messages, aware, pingpong, wave, mesh

  placement            placement policies on the graphs of examples and on random ones, in virtual time (docs/placement.md)
                         --check  compare docs/placement.md instead
  gpu-model            automatic mapping to GPUs against fixed mappings, in virtual time (docs/gpu-model.md)
                         --check  compare docs/gpu-model.md instead
  gpu-bench            launches, a product, graphs of tasks, factorizations on this machine's GPUs (benchmarks/README.md)
                         --out FILE (docs/gpu-benchmarks.md)   --gpu sm_90  only build, for GPUs of that kind
                         --check  only whether answers are right, on the driver for tests, as in test
  gpu-tests            the ABI programs with target regions on this machine's GPU (docs/gpu-runs.md)
                         --filter TEXT  --jobs N   --gpu sm_90  only build, for GPUs of that kind   --run DIR  run what was built elsewhere

  --library FILE       with all commands: this library instead of a release build";

/// The words after the command.
struct Options {
    words: Vec<String>,
}

impl Options {
    /// Takes `--name` and says whether it was there.
    fn flag(&mut self, name: &str) -> bool {
        let at = self.words.iter().position(|w| w == name);
        at.map(|i| self.words.remove(i)).is_some()
    }

    /// Takes `--name VALUE`.
    fn value(&mut self, name: &str) -> Option<String> {
        let at = self.words.iter().position(|w| w == name).filter(|i| i + 1 < self.words.len())?;
        self.words.remove(at);
        Some(self.words.remove(at))
    }
}

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let command = if words.is_empty() { "help".into() } else { words.remove(0) };
    let mut options = Options { words };
    let (places, mut report) = (Workspace::find(), Report::default());
    let outcome = dispatch(&command, &mut options, &places, &mut report);
    match outcome {
        Ok(fine) => ExitCode::from(u8::from(!fine)),
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::from(2)
        }
    }
}

/// Runs `command`. Says whether what it checks is well, or why it could not be run.
fn dispatch(
    command: &str,
    options: &mut Options,
    places: &Workspace,
    report: &mut Report,
) -> Result<bool, String> {
    match command {
        "test" => {
            let (install, quick) = (!options.flag("--no-setup"), options.flag("--quick"));
            nothing_left(options)?;
            suite::run(places, install, quick, report);
            Ok(report.finish() == 0)
        }
        "demo" => {
            println!("demo: installs first what is missing, by apt and pip (minutes, the first time)");
            setup::run(places);
            Ok(demo::run(places, &library(options, places)?))
        }
        "setup" => Ok(setup::run(places) & setup::more(places)),
        "dist" => {
            let checks = match (options.flag("--quick"), options.flag("--check")) {
                (true, _) => dist::Checks::Quick,
                (false, true) => dist::Checks::All,
                (false, false) => dist::Checks::None,
            };
            nothing_left(options)?;
            dist::run(places, checks, report);
            Ok(report.finish() == 0)
        }
        "install-links" => install_links(options, places),
        "symbols" => check_symbols(options, places, report),
        "programs" => real_programs(options, places, report),
        "abi-tests" => abi(options, places),
        "conformance" => conformance_suites(options, places, report),
        "env-cases" => {
            let filter = options.value("--filter").unwrap_or_default();
            let library = library(options, places)?;
            env_cases::run(places, &library, &filter, report);
            Ok(report.finish() == 0)
        }
        "mutants" => find_mutants(options, places, report),
        "factorizations" => factorize(options, places, report),
        "bench" => benchmarks(options, places, report),
        "placement" => {
            let check = options.flag("--check");
            nothing_left(options)?;
            placement::run(places, check, report);
            Ok(report.finish() == 0)
        }
        "gpu-model" => {
            let check = options.flag("--check");
            nothing_left(options)?;
            gpu_model::run(places, check, report);
            Ok(report.finish() == 0)
        }
        "gpu-bench" => gpu_benchmarks(options, places, report),
        "gpu-tests" => gpu_tests(options, places),
        "lab" => laboratory(options, places, report),
        "life" => {
            let (quick, table, filter) = (
                options.flag("--quick"),
                options.flag("--table"),
                options.value("--filter").unwrap_or_default(),
            );
            let library = library(options, places)?;
            life::run(places, &life::LifeRequest { library, quick, table, filter }, report);
            Ok(report.finish() == 0)
        }
        "quick" => {
            nothing_left(options)?;
            quick::run(places, report);
            Ok(report.finish() == 0)
        }
        "words" => {
            nothing_left(options)?;
            words::run(places, report);
            Ok(report.finish() == 0)
        }
        "circles" => {
            let (check, arrows) = (options.flag("--check"), options.flag("--arrows"));
            let filter = options.value("--filter").unwrap_or_default();
            nothing_left(options)?;
            circles::run(places, &circles::CirclesRequest { check, arrows, filter }, report);
            Ok(report.finish() == 0)
        }
        "format" => {
            let check = options.flag("--check");
            nothing_left(options)?;
            format::run(places, check, report);
            Ok(report.finish() == 0)
        }
        "pages" => {
            let check = options.flag("--check");
            nothing_left(options)?;
            pages::run(places, check, report);
            Ok(report.finish() == 0)
        }
        "examples" => {
            let library = library(options, places)?;
            nothing_left(options)?;
            examples::run(places, &library, report);
            Ok(report.finish() == 0)
        }
        "readme" => {
            nothing_left(options)?;
            readme::run(places, report);
            Ok(report.finish() == 0)
        }
        "debugger" => {
            let library = library(options, places)?;
            nothing_left(options)?;
            debugger::run(places, &library, report);
            Ok(report.finish() == 0)
        }
        "soak" => soak_programs(options, places),
        "sanitizers" => {
            let (quick, filter) = (options.flag("--quick"), options.value("--filter").unwrap_or_default());
            let library = library(options, places)?;
            sanitizers::run(places, &sanitizers::SanitizerRequest { library, quick, filter }, report);
            Ok(report.finish() == 0)
        }
        "trace" => {
            let library = library(options, places)?;
            trace::run(places, &library, report);
            Ok(report.finish() == 0)
        }
        "bridge" => mpi_bridge(options, places, report),
        "help" | "--help" | "-h" => {
            println!("{HELP}");
            Ok(true)
        }
        _ => Err(format!("there is no command {command}; `cargo xtask help` lists them")),
    }
}

fn nothing_left(options: &Options) -> Result<(), String> {
    options
        .words
        .first()
        .map_or(Ok(()), |w| Err(format!("{w} is not understood; `cargo xtask help` lists the options")))
}

fn soak_programs(options: &mut Options, places: &Workspace) -> Result<bool, String> {
    let mut number = |name: &str| match options.value(name) {
        None => Ok(None),
        Some(text) => text.parse::<u64>().map(Some).map_err(|_| format!("{name}: {text} is not a number")),
    };
    let (seed, first, programs, minutes) =
        (number("--seed")?, number("--first")?, number("--programs")?, number("--minutes")?);
    let compiler = options.value("--compiler");
    if compiler.as_ref().is_some_and(|c| c != "gcc" && c != "clang-19") {
        return Err("--compiler is gcc or clang-19".into());
    }
    // Not in the help: the generator's own test.
    let sabotage = match options.value("--sabotage") {
        None => soak::Sabotage::None,
        Some(name) => soak::Sabotage::named(&name).ok_or(format!("--sabotage: {name} is unknown"))?,
    };
    let sanitizer = options.value("--sanitizer");
    if sanitizer.as_ref().is_some_and(|name| name != "thread" && name != "address") {
        return Err("--sanitizer is thread or address".into());
    }
    let library = library(options, places)?;
    nothing_left(options)?;
    let request = soak::SoakRequest {
        sanitizer,
        library,
        seed: seed.unwrap_or(1),
        first: first.unwrap_or(0),
        programs: programs.unwrap_or(if minutes.is_some() { u64::MAX / 2 } else { 2000 }),
        time: minutes.map(|m| std::time::Duration::from_secs(m * 60)),
        compiler,
        sabotage,
    };
    let outcome = soak::run(places, &request)?;
    outcome.problems.iter().for_each(|p| println!("FAIL {p}"));
    println!("{} programs, {} runs, {} problems", outcome.programs, outcome.runs, outcome.problems.len());
    Ok(outcome.problems.is_empty())
}

/// The library of `--library`, or a release build.
fn library(options: &mut Options, places: &Workspace) -> Result<PathBuf, String> {
    let given = options.value("--library").map(PathBuf::from);
    nothing_left(options)?;
    if let Some(file) = given {
        return file.canonicalize().map_err(|e| format!("{}: {e}", file.display()));
    }
    println!("building the library (release)");
    let built =
        exec::visible("cargo", &["build", "--quiet", "--release", "-p", "libomp-shim"], &[], &places.root);
    if built { Ok(places.library()) } else { Err("the library does not build".into()) }
}

fn install_links(options: &mut Options, places: &Workspace) -> Result<bool, String> {
    let at =
        options.words.iter().position(|w| !w.starts_with("--")).ok_or("install-links needs a directory")?;
    let directory = PathBuf::from(options.words.remove(at));
    let library = library(options, places)?;
    links::install::install(&library, &directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    println!("LD_LIBRARY_PATH={} runs programs on {}", directory.display(), library.display());
    Ok(true)
}

fn gpu_benchmarks(options: &mut Options, places: &Workspace, report: &mut Report) -> Result<bool, String> {
    let (check, gpu) = (options.flag("--check"), options.value("--gpu"));
    let out =
        options.value("--out").map_or_else(|| places.root.join("docs/gpu-benchmarks.md"), PathBuf::from);
    let library = library(options, places)?;
    if check {
        gpu_bench::check(places, &library, true, report);
    } else {
        gpu_bench::measure(places, &library, gpu, &out, report);
    }
    Ok(report.finish() == 0)
}

/// Without a directory: builds the programs, and runs them if a GPU is here. With one: runs what is
/// in it.
fn gpu_tests(options: &mut Options, places: &Workspace) -> Result<bool, String> {
    let (kind, filter, run) =
        (options.value("--gpu"), options.value("--filter"), options.value("--run").map(PathBuf::from));
    let jobs = jobs(options)?;
    if let Some(directory) = run {
        return Ok(abi_tests::gpus::run(&directory, filter.as_deref(), jobs)?.failures.is_empty());
    }
    let here = gpu_bench::kind_here();
    let kind = kind
        .or_else(|| here.clone())
        .ok_or("nvidia-smi shows no GPU here; --gpu sm_90 builds for another machine")?;
    let into = places.target.join("gpu-tests").join(&kind);
    let library = Some(library(options, places)?);
    let base = abi_tests::Options::new(places, library, abi_tests::AbiExtent::Short);
    let request = abi_tests::Options { filter, jobs, ..base };
    println!("{} programs in {}", abi_tests::gpus::build(&request, &kind, &into)?, into.display());
    if here.as_ref() != Some(&kind) {
        println!("on the machine with the GPU: xtask gpu-tests --run {}", into.display());
        return Ok(true);
    }
    Ok(abi_tests::gpus::run(&into, None, jobs)?.failures.is_empty())
}

fn check_symbols(options: &mut Options, places: &Workspace, report: &mut Report) -> Result<bool, String> {
    let reference = options.value("--reference").map(PathBuf::from);
    let check = options.flag("--check");
    if options.flag("--adopt") {
        println!("{} rows changed", symbols::adopt(places)?);
    }
    let library = library(options, places)?;
    symbols::run(&places.root, &symbols::SymbolsRequest { library, reference, check }, report);
    Ok(report.finish() == 0)
}

fn real_programs(options: &mut Options, places: &Workspace, report: &mut Report) -> Result<bool, String> {
    let filter = options.value("--filter").unwrap_or_default();
    let (own, quick) = (options.flag("--own"), options.flag("--quick"));
    let library = if own { None } else { Some(library(options, places)?) };
    let request = conform::SpecRequest { library: library.as_deref(), filter: &filter, quick };
    conform::run(places, &request, report);
    Ok(report.finish() == 0)
}

fn abi(options: &mut Options, places: &Workspace) -> Result<bool, String> {
    let filter = options.value("--filter");
    let jobs = jobs(options)?;
    let own = options.flag("--own");
    let (record, list) = (options.value("--record").map(PathBuf::from), options.flag("--list"));
    let extent = match (options.flag("--all"), options.flag("--stress"), options.flag("--gate")) {
        (true, _, _) => abi_tests::AbiExtent::All,
        (_, true, _) => abi_tests::AbiExtent::Long,
        (_, _, true) => abi_tests::AbiExtent::Gate,
        _ => abi_tests::AbiExtent::Short,
    };
    let library = if own { None } else { Some(library(options, places)?) };
    let pins = if extent == abi_tests::AbiExtent::Gate { pins::all(places)? } else { Vec::new() };
    let base = abi_tests::Options::new(places, library, extent);
    let outcome = abi_tests::run(&abi_tests::Options { filter, jobs, pins, list, record, ..base })?;
    Ok(outcome.failures.is_empty())
}

fn conformance_suites(
    options: &mut Options,
    places: &Workspace,
    report: &mut Report,
) -> Result<bool, String> {
    let named: Vec<Suite> = Suite::ALL.into_iter().filter(|s| options.flag(s.word())).collect();
    let devices = options.value("--devices");
    let suites = match (named.is_empty(), &devices) {
        (false, _) => named,
        (true, None) => Suite::ALL.to_vec(),
        (true, Some(_)) => Suite::WITH_DEVICES.to_vec(),
    };
    let (filter, full, concurrent) =
        (options.value("--filter"), options.flag("--full"), options.flag("--concurrent"));
    if concurrent && suites != [Suite::Gcc] {
        return Err("--concurrent goes with gcc alone".into());
    }
    let devices = match devices {
        None => None,
        Some(_) if suites.contains(&Suite::Ours) => return Err("--devices goes with llvm and gcc".into()),
        Some(kind) => Some(
            *conformance::DEVICES
                .iter()
                .find(|k| **k == kind)
                .ok_or_else(|| format!("--devices: {}", conformance::DEVICES.join(", ")))?,
        ),
    };
    let threads = count(options, "--threads", conformance::SuiteRequest::THREADS)?;
    let repeat = count(options, "--repeat", 1)?;
    let library = library(options, places)?;
    let request =
        conformance::SuiteRequest { library, suites, filter, full, devices, concurrent, threads, repeat };
    conformance::run(places, &request, report);
    Ok(report.finish() == 0)
}

fn mpi_bridge(options: &mut Options, places: &Workspace, report: &mut Report) -> Result<bool, String> {
    let filter = options.value("--filter").unwrap_or_default();
    let (check, measure) = (options.flag("--check"), options.flag("--measure"));
    nothing_left(options)?;
    match (measure, check || !filter.is_empty()) {
        (true, _) => bridge::measure(places, &filter, report),
        (false, true) => {
            let selection =
                bridge::Selection { filter: &filter, all_pairs: true, timing: bridge::Timing::Both };
            bridge::check(places, selection, report);
        }
        (false, false) => bridge::build_only(places, report),
    }
    Ok(report.finish() == 0)
}

fn laboratory(options: &mut Options, places: &Workspace, report: &mut Report) -> Result<bool, String> {
    let filter = options.value("--filter").unwrap_or_default();
    let quick = options.flag("--quick");
    let library = library(options, places)?;
    lab::run(places, &lab::LabRequest { library, quick, lenient: false, filter }, report);
    Ok(report.finish() == 0)
}

fn find_mutants(options: &mut Options, places: &Workspace, report: &mut Report) -> Result<bool, String> {
    let quick = options.flag("--quick");
    let filter = options.value("--filter").unwrap_or_default();
    let jobs = jobs(options)?;
    nothing_left(options)?;
    if quick {
        mutants::gate::run(places, jobs, report);
        return Ok(report.finish() == 0);
    }
    mutants::run(places, &filter, jobs)
}

/// The number of `--jobs`, 2 without it.
fn jobs(options: &mut Options) -> Result<usize, String> {
    count(options, "--jobs", 2)
}

/// The number above zero behind the option `name`, `usual` without it.
fn count(options: &mut Options, name: &str, usual: usize) -> Result<usize, String> {
    let Some(text) = options.value(name) else { return Ok(usual) };
    text.parse().ok().filter(|&n| n > 0).ok_or(format!("{name} {text}: not a number above zero"))
}

fn factorize(options: &mut Options, places: &Workspace, report: &mut Report) -> Result<bool, String> {
    if options.flag("--check") {
        factorizations::check(places, &library(options, places)?, report);
        return Ok(report.finish() == 0);
    }
    let extent = match (options.flag("--quick"), options.flag("--full"), options.flag("--ranks")) {
        (true, false, false) => FactorizationExtent::Quick,
        (false, true, false) => FactorizationExtent::Full,
        (false, false, true) => FactorizationExtent::Ranks,
        (false, false, false) => FactorizationExtent::Usual,
        _ => return Err("--quick, --full and --ranks exclude each other".into()),
    };
    let rounds = rounds(options)?.unwrap_or(factorizations::usual_rounds(extent));
    let filter = options.value("--filter").unwrap_or_default();
    let whole = matches!(extent, FactorizationExtent::Usual | FactorizationExtent::Full) && filter.is_empty();
    let out = options.value("--out").map(PathBuf::from);
    let out = out.or(whole.then(|| places.root.join("docs/plots")));
    let library = library(options, places)?;
    factorizations::run(
        places,
        &factorizations::FactorizationRequest { library, extent, rounds, filter, out, until: None },
    )
}

/// The number of `--runs`.
fn rounds(options: &mut Options) -> Result<Option<usize>, String> {
    let Some(text) = options.value("--runs") else { return Ok(None) };
    match text.parse() {
        Ok(rounds) if rounds > 0 => Ok(Some(rounds)),
        _ => Err(format!("--runs {text}: not a number above zero")),
    }
}

fn benchmarks(options: &mut Options, places: &Workspace, report: &mut Report) -> Result<bool, String> {
    if options.flag("--check") {
        bench::check(places, &library(options, places)?, report);
        return Ok(report.finish() == 0);
    }
    if options.flag("--instructions") {
        return bench::record(places, &library(options, places)?);
    }
    let (quick, rounds) = (options.flag("--quick"), rounds(options)?);
    let filter = options.value("--filter").unwrap_or_default();
    let out = options.value("--out").map(PathBuf::from);
    let out = out.or((!quick && filter.is_empty()).then(|| places.root.join("docs")));
    let library = library(options, places)?;
    bench::run(places, &bench::BenchRequest { library, quick, rounds, filter, out })
}
