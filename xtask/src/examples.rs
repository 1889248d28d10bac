//! `cargo xtask examples`: the programs of `examples/` are built by every compiler that is here,
//! and end well under the library.
//!
//! Lives here: which compilers a language has, and one run each. Each program checks itself and
//! tells by its status. Those of `examples/distributed` are run on ranks by [`crate::bridge`].

use crate::exec;
use crate::programs::Workspace;
use crate::report::Report;
use std::fs;
use std::path::{Path, PathBuf};

/// Seconds for one run; the longest takes one on an idle machine.
const LIMIT: u32 = 60;

/// Builds and runs all of them.
pub fn run(places: &Workspace, library: &Path, report: &mut Report) {
    report.step("examples");
    let Ok(library) = fs::canonicalize(library) else {
        return report.fail("examples", &format!("{} is not there", library.display()));
    };
    let directory = places.target.join("examples");
    if let Err(e) = fs::create_dir_all(&directory) {
        return report.fail("examples", &format!("{}: {e}", directory.display()));
    }
    for source in sources(&places.root.join("examples")) {
        let extension = source.extension().unwrap_or_default().to_string_lossy().into_owned();
        for compiler in compilers(&extension) {
            let name =
                format!("examples/{} [{compiler}]", source.file_name().unwrap_or_default().to_string_lossy());
            if !exec::on_path(compiler) {
                report.skip(&name, "not installed");
                continue;
            }
            report.check(
                &name,
                one(places, &directory, &source, compiler, &library).err().into_iter().collect(),
            );
        }
    }
}

/// The compilers of a language.
fn compilers(extension: &str) -> &'static [&'static str] {
    match extension {
        "c" => &["gcc", "clang-19"],
        "cpp" => &["g++", "clang++-19"],
        _ => &["gfortran"],
    }
}

fn sources(directory: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|e| e == "c" || e == "cpp" || e == "f90")).collect();
    found.sort();
    found
}

fn one(
    places: &Workspace,
    directory: &Path,
    source: &Path,
    compiler: &str,
    library: &Path,
) -> Result<(), String> {
    let stem = source.file_stem().unwrap_or_default().to_string_lossy();
    let program = directory.join(format!("{stem}-{compiler}")).display().to_string();
    let source = source.display().to_string();
    let words = [compiler, "-O2", "-fopenmp", "-pthread", "-Iinclude", &source, "-o", &program, "-lm"]
        .map(str::to_owned);
    if let Some(why) = exec::run(&words, &[], &places.root, 60).problem {
        return Err(format!("does not build: {why}"));
    }
    for (name, value) in [("GANGWAY_HOST_DEVICES", "0"), ("GANGWAY_HOST_DEVICES", "2")] {
        let env = [
            ("LD_PRELOAD", library.display().to_string().as_str()),
            ("OMP_NUM_THREADS", "4"),
            ("OMP_MAX_ACTIVE_LEVELS", "2"),
            (name, value),
        ]
        .map(|(k, v)| (k.to_owned(), v.to_owned()));
        let ran = exec::run(std::slice::from_ref(&program), &env, directory, LIMIT);
        if let Some(why) = ran.problem {
            return Err(format!(
                "{why} with {name}={value}: {} {}",
                exec::last_line(&ran.stdout),
                exec::last_line(&ran.stderr)
            ));
        }
        if ran.stdout.trim().is_empty() {
            return Err(format!("prints nothing with {name}={value}"));
        }
    }
    Ok(())
}
