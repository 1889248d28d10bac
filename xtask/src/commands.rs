//! The commands with their options: everything that can be said, and what `cargo xtask help` says of
//! it.
//!
//! What lives here: names, values and help. What does not: what a command does.

use std::path::PathBuf;

use clap::{Arg, ArgAction, Command, value_parser};

use crate::conformance::{DEVICES, Suite};

/// Everything that can be said.
pub fn command() -> Command {
    Command::new("xtask")
        .bin_name("cargo xtask")
        .about("Development commands")
        .after_help("cargo xtask help COMMAND says the options of one")
        .subcommands(for_each_change())
        .subcommands(for_programs())
        .subcommands(for_figures())
}

/// The gate, and what looks at sources.
fn for_each_change() -> Vec<Command> {
    let check = |help| flag("check", help);
    vec![
        about("demo", "Runs real programs under libgomp, libomp and Gangway side by side (installs what it needs by apt)")
            .arg(library()),
        about("test", "Everything: build, symbols, lints, unit tests, models, ABI programs, real programs").args([
            flag("no-setup", "Installs nothing"),
            flag("quick", "Without models (GPUs' as well), mutants, long programs, suites"),
        ]),
        about("quick", "After each change, in a minute: form, clippy, unit tests of what has changed, some ABI programs"),
        about("setup", "Installs what demo, test and programs use (apt, pip)"),
        about("dist", "Packages in target/dist: tarball, Debian package, wheel (docs/packages.md)").args([
            check("Installs each and tries it, the Debian package in a minimal Debian"),
            flag("quick", "As in test"),
        ]),
        about("install-links", "Makes libgomp.so.1, libomp.so.5, libiomp5.so and libomptarget.so.* links to the library")
            .args([
                Arg::new("directory").value_name("DIR").required(true).value_parser(value_parser!(PathBuf)),
                library(),
            ]),
        about("symbols", "Checks the symbol table against the library; writes docs/status.md").args([
            check("Compares docs/status.md instead"),
            file("reference", "DIR", "More lists of wanted symbols"),
            flag("adopt", "First makes the table say what the sources implement"),
            library(),
        ]),
        about("pages", "Writes the pages that come from the sources, looks at all links, makes the book with mdBook")
            .arg(check("Compares them instead, as in test")),
        about("format", "Runs rustfmt and clang-format over everything (rustfmt.toml, .clang-format)")
            .arg(check("Only says what is not formatted, as in test")),
        about("words", "Names and comments in the words of docs/glossary.md, short sentences (Rust, docs/protocols)"),
        about("circles", "Files of a crate that import each other in a circle, and which crates depend on which").args([
            check("Only whether the bounds hold, as in test"),
            flag("arrows", "Shows the imports inside of each circle"),
            filter(),
        ]),
        about("readme", "What README.md and docs/start.md tell a newcomer to type, and whether what they show comes of it"),
    ]
}

/// What runs programs and judges their answers.
fn for_programs() -> Vec<Command> {
    vec![
        about("programs", "The real programs only, all of them (docs/programs.md)").args([
            flag("quick", "Those of test"),
            flag("own", "On their own runtimes"),
            filter(),
            library(),
        ]),
        about("abi-tests", "The ABI programs only").args([
            filter(),
            flag("own", "On the compilers' own runtimes"),
            jobs(),
            flag("gate", "The runs of test (docs/cells.md)"),
            flag("stress", "Every run"),
            flag("host", "On the host-only library: a run of each program that needs neither tools nor devices nor ranks")
                .conflicts_with_all(["own", "gate", "stress", "library"]),
            flag("all", "Products too"),
            flag("list", "Shows the runs, without making them"),
            file("record", "FILE", "Where to write what each took"),
            library(),
        ]),
        about("conformance", "Test suites of other runtimes").args([
            Arg::new("suite").num_args(0..).value_parser(Suite::ALL.map(Suite::word)).help("All without a word"),
            filter(),
            flag("full", "All tests"),
            count("threads", "Threads of each test; 4 without it"),
            count("repeat", "Times that each test is run; once without it"),
            flag("concurrent", "The most concurrent tests (gcc)"),
            valued("devices", "KIND", "Tests of devices, on one with memory of its own (llvm, gcc)")
                .value_parser(DEVICES),
            library(),
        ]),
        about("env-cases", "Every environment variable with good and bad values (docs/robustness.md)")
            .args([filter(), library()]),
        about("lab", "The deadlock laboratory: programs whose threads wait for one another (docs/robustness.md)")
            .args([flag("quick", "Few numbers of threads"), filter(), library()]),
        about("life", "Fork, ends, plugins, signals, limits, exceptions: under libgomp, libomp and Gangway (docs/robustness.md)")
            .args([
                flag("quick", "Under Gangway alone, as in test"),
                flag("table", "Writes the table of that page"),
                filter(),
                library(),
            ]),
        about("debugger", "What gdb's script shows of threads, teams and tasks, alive and in a core (docs/debugger.md)")
            .arg(library()),
        about("examples", "The programs of examples/, built by all compilers and run").arg(library()),
        about("soak", "Programs by chance, whose answers are known, at random numbers of threads (docs/robustness.md)")
            .args([
                number("seed", "S", "Where the programs come from; 1 without it"),
                number("programs", "N", "How many; 2000 without --minutes"),
                number("minutes", "N", "For how long"),
                number("first", "N", "The first program; 0 without it"),
                valued("compiler", "NAME", "Both without it").value_parser(["gcc", "clang-19"]),
                valued("sanitizer", "NAME", "None without it").value_parser(["thread", "address"]),
                // The generator's own test.
                valued("sabotage", "NAME", "A mistake in the programs").hide(true),
                library(),
            ]),
        about("sanitizers", "ThreadSanitizer, AddressSanitizer and valgrind on programs, and on the crate `ult` (docs/robustness.md)")
            .args([flag("quick", "As in test"), filter(), library()]),
        about("mutants", "Whether the ABI programs notice deliberate mistakes in the library").args([
            filter(),
            jobs(),
            flag("quick", "As in test: the programs of the table alone"),
        ]),
        about("trace", "Traces of programs whose history is known, and reports of traces in a browser (docs/trace.md)")
            .arg(library()),
        about("bridge", "Builds libgangway_mpi_openmpi.so and libgangway_mpi_mpich.so, for the MPIs that are installed (docs/bridge.md)")
            .args([
                flag("check", "Runs the checks with ranks, each with every MPI and compiler"),
                flag("measure", "Latency and rates: messages, aware, pingpong, wave, mesh"),
                filter(),
            ]),
        about("gpu-tests", "The ABI programs with target regions on this machine's GPU (docs/gpu-runs.md)").args([
            filter(),
            jobs(),
            gpu(),
            file("run", "DIR", "Runs what was built elsewhere"),
            library(),
        ]),
    ]
}

/// What measures, and models in virtual time.
fn for_figures() -> Vec<Command> {
    let check = |page: &str| flag("check", &format!("Compares {page} instead"));
    let runs = || count("runs", "Rounds of each measurement");
    vec![
        about("factorizations", "GFlop/s of tiled Cholesky, LU and QR under libgomp, libomp and Gangway").args([
            flag("quick", "Few sizes").conflicts_with_all(["full", "ranks"]),
            flag("full", "All sizes").conflicts_with("ranks"),
            flag("ranks", "On ranks, by MPI"),
            runs(),
            filter(),
            file("out", "DIR", "Where plots go; docs/plots for a whole run without it"),
            flag("check", "Only whether results are right and nothing hangs, as in test"),
            library(),
        ]),
        about("bench", "What each construct costs, and a suite of task programs, under libgomp, libomp and Gangway").args([
            flag("quick", "Five minutes"),
            runs(),
            filter(),
            file("out", "DIR", "Where pages go; docs for a whole run without it"),
            flag("check", "Only what test does"),
            flag("busy", "Whole programs beside other programs; half an hour, writes docs/busy.md"),
            flag("instructions", "Counts instructions and records them"),
            library(),
        ]),
        about("placement", "Placement policies on the graphs of examples and on random ones, in virtual time (docs/placement.md)")
            .arg(check("docs/placement.md")),
        about("gpu-model", "Automatic mapping to GPUs against fixed mappings, in virtual time (docs/gpu-model.md)")
            .arg(check("docs/gpu-model.md")),
        about("gpu-bench", "Launches, a product, graphs of tasks, factorizations on this machine's GPUs (benchmarks/README.md)")
            .args([
                file("out", "FILE", "Where the page goes; docs/gpu-benchmarks.md without it"),
                gpu(),
                flag("check", "Only whether answers are right, on the driver for tests, as in test"),
                library(),
            ]),
    ]
}

fn about(name: &'static str, what: &str) -> Command {
    Command::new(name).about(what.to_owned())
}

fn flag(name: &'static str, help: &str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help.to_owned())
}

fn valued(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

fn file(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    valued(name, value, help).value_parser(value_parser!(PathBuf))
}

fn number(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    valued(name, value, help).value_parser(value_parser!(u64))
}

fn count(name: &'static str, help: &'static str) -> Arg {
    valued(name, "N", help).value_parser(above_zero)
}

fn above_zero(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&n| n > 0).ok_or("not a number above zero".into())
}

fn filter() -> Arg {
    valued("filter", "TEXT", "Only those whose name contains it")
}

fn jobs() -> Arg {
    count("jobs", "How many at a time; 2 without it")
}

fn gpu() -> Arg {
    valued("gpu", "sm_90", "Only builds, for GPUs of that kind")
}

fn library() -> Arg {
    file("library", "FILE", "This library instead of a release build")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_given_once() {
        command().debug_assert();
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let is_understood = |words: &str| {
            command().try_get_matches_from(["xtask"].into_iter().chain(words.split(' '))).is_ok()
        };
        for words in [
            "lab --quick --filter a",
            "conformance llvm gcc --devices host",
            "install-links d",
            "soak --seed 7",
        ] {
            assert!(is_understood(words), "{words}");
        }
        for words in [
            "nothing",
            "lab --slow",
            "lab a",
            "abi-tests --jobs 0",
            "conformance x",
            "install-links",
            "words --library a",
            "factorizations --quick --full",
            "soak --seed x",
            "lab --filter",
        ] {
            assert!(!is_understood(words), "{words}");
        }
    }
}
