//! Development commands: `cargo xtask <command>`.
//!
//! Lives here: what each command calls. Commands are modules of their own; their names and options
//! are in [`commands`].

mod abi_tests;
mod answer;
mod bench;
mod bridge;
mod busy;
mod circles;
mod commands;
mod conform;
mod conformance;
mod debugger;
mod demo;
mod dist;
mod env_cases;
mod examples;
mod exec;
mod factorizations;
mod files;
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

use clap::ArgMatches;
use conformance::Suite;
use factorizations::FactorizationExtent;
use programs::Workspace;
use report::Report;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let matches = commands::command().get_matches();
    let Some((command, options)) = matches.subcommand() else {
        // A reader that has seen enough is no failure.
        let _ = commands::command().print_help();
        return ExitCode::SUCCESS;
    };
    let (places, mut report) = (Workspace::find(), Report::default());
    match dispatch(command, options, &places, &mut report) {
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
    options: &ArgMatches,
    places: &Workspace,
    report: &mut Report,
) -> Result<bool, String> {
    match command {
        "test" => {
            let (install, quick) = (!options.get_flag("no-setup"), options.get_flag("quick"));
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
            let checks = match (options.get_flag("quick"), options.get_flag("check")) {
                (true, _) => dist::Checks::Quick,
                (false, true) => dist::Checks::All,
                (false, false) => dist::Checks::None,
            };
            dist::run(places, checks, report);
            Ok(report.finish() == 0)
        }
        "install-links" => install_links(options, places),
        "symbols" => check_symbols(options, places, report),
        "programs" => real_programs(options, places, report),
        "abi-tests" => abi(options, places),
        "conformance" => conformance_suites(options, places, report),
        "env-cases" => {
            let filter = filter(options).unwrap_or_default();
            let library = library(options, places)?;
            env_cases::run(places, &library, &filter, report);
            Ok(report.finish() == 0)
        }
        "mutants" => find_mutants(options, places, report),
        "factorizations" => factorize(options, places, report),
        "bench" => benchmarks(options, places, report),
        "placement" => {
            let check = options.get_flag("check");
            placement::run(places, check, report);
            Ok(report.finish() == 0)
        }
        "gpu-model" => {
            let check = options.get_flag("check");
            gpu_model::run(places, check, report);
            Ok(report.finish() == 0)
        }
        "gpu-bench" => gpu_benchmarks(options, places, report),
        "gpu-tests" => gpu_tests(options, places),
        "lab" => laboratory(options, places, report),
        "life" => {
            let (quick, table, filter) =
                (options.get_flag("quick"), options.get_flag("table"), filter(options).unwrap_or_default());
            let library = library(options, places)?;
            life::run(places, &life::LifeRequest { library, quick, table, filter }, report);
            Ok(report.finish() == 0)
        }
        "quick" => {
            quick::run(places, report);
            Ok(report.finish() == 0)
        }
        "words" => {
            words::run(places, report);
            Ok(report.finish() == 0)
        }
        "circles" => {
            let (check, arrows) = (options.get_flag("check"), options.get_flag("arrows"));
            let filter = filter(options).unwrap_or_default();
            circles::run(places, &circles::CirclesRequest { check, arrows, filter }, report);
            Ok(report.finish() == 0)
        }
        "format" => {
            let check = options.get_flag("check");
            format::run(places, check, report);
            Ok(report.finish() == 0)
        }
        "pages" => {
            let check = options.get_flag("check");
            pages::run(places, check, report);
            Ok(report.finish() == 0)
        }
        "examples" => {
            let library = library(options, places)?;
            examples::run(places, &library, report);
            Ok(report.finish() == 0)
        }
        "readme" => {
            readme::run(places, report);
            Ok(report.finish() == 0)
        }
        "debugger" => {
            let library = library(options, places)?;
            debugger::run(places, &library, report);
            Ok(report.finish() == 0)
        }
        "soak" => soak_programs(options, places),
        "sanitizers" => {
            let (quick, filter) = (options.get_flag("quick"), filter(options).unwrap_or_default());
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
        _ => Err(format!("nobody has written what {command} does")),
    }
}

fn soak_programs(options: &ArgMatches, places: &Workspace) -> Result<bool, String> {
    let number = |name: &str| options.get_one::<u64>(name).copied();
    let sabotage = match text(options, "sabotage") {
        None => soak::Sabotage::None,
        Some(name) => soak::Sabotage::named(&name).ok_or(format!("--sabotage: {name} is unknown"))?,
    };
    let minutes = number("minutes");
    let request = soak::SoakRequest {
        sanitizer: text(options, "sanitizer"),
        library: library(options, places)?,
        seed: number("seed").unwrap_or(1),
        first: number("first").unwrap_or(0),
        programs: number("programs").unwrap_or(if minutes.is_some() { u64::MAX / 2 } else { 2000 }),
        time: minutes.map(|m| std::time::Duration::from_secs(m * 60)),
        compiler: text(options, "compiler"),
        sabotage,
    };
    let outcome = soak::run(places, &request)?;
    outcome.problems.iter().for_each(|p| println!("FAIL {p}"));
    println!("{} programs, {} runs, {} problems", outcome.programs, outcome.runs, outcome.problems.len());
    Ok(outcome.problems.is_empty())
}

/// The text of the option `--filter`.
fn filter(options: &ArgMatches) -> Option<String> {
    text(options, "filter")
}

fn text(options: &ArgMatches, name: &str) -> Option<String> {
    options.get_one::<String>(name).cloned()
}

fn path(options: &ArgMatches, name: &str) -> Option<PathBuf> {
    options.get_one::<PathBuf>(name).cloned()
}

/// A number above zero.
fn count(options: &ArgMatches, name: &str) -> Option<usize> {
    options.get_one::<usize>(name).copied()
}

/// The library of `--library`, or a release build.
fn library(options: &ArgMatches, places: &Workspace) -> Result<PathBuf, String> {
    let given = path(options, "library");
    if let Some(file) = given {
        return file.canonicalize().map_err(|e| format!("{}: {e}", file.display()));
    }
    println!("building the library (release)");
    let built =
        exec::visible("cargo", &["build", "--quiet", "--release", "-p", "libomp-shim"], &[], &places.root);
    if built { Ok(places.library()) } else { Err("the library does not build".into()) }
}

fn install_links(options: &ArgMatches, places: &Workspace) -> Result<bool, String> {
    let directory = path(options, "directory").ok_or("install-links needs a directory")?;
    let library = library(options, places)?;
    links::install::install(&library, &directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    println!("LD_LIBRARY_PATH={} runs programs on {}", directory.display(), library.display());
    Ok(true)
}

fn gpu_benchmarks(options: &ArgMatches, places: &Workspace, report: &mut Report) -> Result<bool, String> {
    let (check, gpu) = (options.get_flag("check"), text(options, "gpu"));
    let out = path(options, "out").unwrap_or_else(|| places.root.join("docs/gpu-benchmarks.md"));
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
fn gpu_tests(options: &ArgMatches, places: &Workspace) -> Result<bool, String> {
    let (kind, filter, run) = (text(options, "gpu"), filter(options), path(options, "run"));
    let jobs = count(options, "jobs").unwrap_or(2);
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

fn check_symbols(options: &ArgMatches, places: &Workspace, report: &mut Report) -> Result<bool, String> {
    let reference = path(options, "reference");
    let check = options.get_flag("check");
    if options.get_flag("adopt") {
        println!("{} rows changed", symbols::adopt(places)?);
    }
    let library = library(options, places)?;
    symbols::run(&places.root, &symbols::SymbolsRequest { library, reference, check }, report);
    Ok(report.finish() == 0)
}

fn real_programs(options: &ArgMatches, places: &Workspace, report: &mut Report) -> Result<bool, String> {
    let filter = filter(options).unwrap_or_default();
    let (own, quick) = (options.get_flag("own"), options.get_flag("quick"));
    let library = if own { None } else { Some(library(options, places)?) };
    let request = conform::SpecRequest { library: library.as_deref(), filter: &filter, quick };
    conform::run(places, &request, report);
    Ok(report.finish() == 0)
}

fn abi(options: &ArgMatches, places: &Workspace) -> Result<bool, String> {
    let filter = filter(options);
    let jobs = count(options, "jobs").unwrap_or(2);
    let own = options.get_flag("own");
    let (record, list) = (path(options, "record"), options.get_flag("list"));
    let extent = match (options.get_flag("all"), options.get_flag("stress"), options.get_flag("gate")) {
        (true, _, _) => abi_tests::AbiExtent::All,
        (_, true, _) => abi_tests::AbiExtent::Long,
        (_, _, true) => abi_tests::AbiExtent::Gate,
        _ => abi_tests::AbiExtent::Short,
    };
    if options.get_flag("host") {
        let request = abi_tests::Options { filter, jobs, list, record, ..host_options(places)? };
        return Ok(abi_tests::run(&request)?.failures.is_empty());
    }
    let library = if own { None } else { Some(library(options, places)?) };
    let pins = if extent == abi_tests::AbiExtent::Gate { pins::all(places)? } else { Vec::new() };
    let base = abi_tests::Options::new(places, library, extent);
    let request = abi_tests::Options { filter, jobs, pins, list, record, ..base };
    let mut failures = abi_tests::run(&request)?.failures;
    if extent == abi_tests::AbiExtent::All && !own {
        let (filter, list) = (request.filter.clone(), request.list);
        failures.extend(
            abi_tests::run(&abi_tests::Options { filter, jobs, list, ..host_options(places)? })?.failures,
        );
    }
    Ok(failures.is_empty())
}

/// All that the host-only library can run, which is built.
fn host_options(places: &Workspace) -> Result<abi_tests::Options, String> {
    let library = abi_tests::host::build(places)?;
    let base = abi_tests::Options::new(places, Some(library), abi_tests::AbiExtent::Short);
    Ok(abi_tests::Options { host: true, ..base })
}

fn conformance_suites(options: &ArgMatches, places: &Workspace, report: &mut Report) -> Result<bool, String> {
    let named: Vec<&String> = options.get_many("suite").into_iter().flatten().collect();
    let named: Vec<Suite> =
        Suite::ALL.into_iter().filter(|suite| named.iter().any(|name| *name == suite.word())).collect();
    let devices = text(options, "devices");
    let suites = match (named.is_empty(), &devices) {
        (false, _) => named,
        (true, None) => Suite::ALL.to_vec(),
        (true, Some(_)) => Suite::WITH_DEVICES.to_vec(),
    };
    let (filter, full, concurrent) =
        (filter(options), options.get_flag("full"), options.get_flag("concurrent"));
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
    let threads = count(options, "threads").unwrap_or(conformance::SuiteRequest::THREADS);
    let repeat = count(options, "repeat").unwrap_or(1);
    let library = library(options, places)?;
    let request =
        conformance::SuiteRequest { library, suites, filter, full, devices, concurrent, threads, repeat };
    conformance::run(places, &request, report);
    Ok(report.finish() == 0)
}

fn mpi_bridge(options: &ArgMatches, places: &Workspace, report: &mut Report) -> Result<bool, String> {
    let filter = filter(options).unwrap_or_default();
    let (check, measure) = (options.get_flag("check"), options.get_flag("measure"));
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

fn laboratory(options: &ArgMatches, places: &Workspace, report: &mut Report) -> Result<bool, String> {
    let filter = filter(options).unwrap_or_default();
    let quick = options.get_flag("quick");
    let library = library(options, places)?;
    lab::run(places, &lab::LabRequest { library, quick, lenient: false, filter }, report);
    Ok(report.finish() == 0)
}

fn find_mutants(options: &ArgMatches, places: &Workspace, report: &mut Report) -> Result<bool, String> {
    let quick = options.get_flag("quick");
    let filter = filter(options).unwrap_or_default();
    let jobs = count(options, "jobs").unwrap_or(2);
    if quick {
        mutants::gate::run(places, jobs, report);
        return Ok(report.finish() == 0);
    }
    mutants::run(places, &filter, jobs)
}

fn factorize(options: &ArgMatches, places: &Workspace, report: &mut Report) -> Result<bool, String> {
    if options.get_flag("check") {
        factorizations::check(places, &library(options, places)?, report);
        return Ok(report.finish() == 0);
    }
    let extent = match (options.get_flag("quick"), options.get_flag("full"), options.get_flag("ranks")) {
        (true, false, false) => FactorizationExtent::Quick,
        (false, true, false) => FactorizationExtent::Full,
        (false, false, true) => FactorizationExtent::Ranks,
        (false, false, false) => FactorizationExtent::Usual,
        _ => return Err("--quick, --full and --ranks exclude each other".into()),
    };
    let rounds = count(options, "runs").unwrap_or(factorizations::usual_rounds(extent));
    let filter = filter(options).unwrap_or_default();
    let whole = matches!(extent, FactorizationExtent::Usual | FactorizationExtent::Full) && filter.is_empty();
    let out = path(options, "out");
    let out = out.or(whole.then(|| places.root.join("docs/plots")));
    let library = library(options, places)?;
    factorizations::run(
        places,
        &factorizations::FactorizationRequest { library, extent, rounds, filter, out, until: None },
    )
}

fn benchmarks(options: &ArgMatches, places: &Workspace, report: &mut Report) -> Result<bool, String> {
    if options.get_flag("check") {
        bench::check(places, &library(options, places)?, report);
        return Ok(report.finish() == 0);
    }
    if options.get_flag("instructions") {
        return bench::record(places, &library(options, places)?);
    }
    let (quick, rounds) = (options.get_flag("quick"), count(options, "runs"));
    let filter = filter(options).unwrap_or_default();
    let out = path(options, "out");
    if options.get_flag("busy") {
        let out = out.or(filter.is_empty().then(|| places.root.join("docs")));
        let (library, rounds) = (library(options, places)?, rounds.unwrap_or(busy::USUAL_ROUNDS));
        return busy::run(places, &busy::BusyRequest { library, rounds, filter, out });
    }
    let out = out.or((!quick && filter.is_empty()).then(|| places.root.join("docs")));
    let library = library(options, places)?;
    bench::run(places, &bench::BenchRequest { library, quick, rounds, filter, out })
}
