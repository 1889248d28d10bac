//! `cargo xtask setup`: installs what the checks and the demo use.
//!
//! Lives here: the calls of apt and pip. The lists are conformance/packages.txt and
//! conformance/programs/requirements.txt; what only the whole `cargo xtask programs` needs, ten
//! times as much, is in conformance/programs/more-*.txt. Asks nothing, says what it does, and does
//! nothing when everything is there. What cannot be installed is named; the checks that need it are
//! then skipped with the same name.

use crate::abi_tests::cubin;
use crate::exec;
use crate::programs::Workspace;
use std::path::Path;
use std::process::Command;
use std::{fs, io};

/// Installs what the gate and the demo use and is missing. Returns whether everything is there
/// afterwards.
pub fn run(places: &Workspace) -> bool {
    let list = places.root.join("conformance");
    let installed = both(places, &list, "packages.txt", "programs/requirements.txt", &places.venv());
    let cuda = cuda(places, &list.join("cuda.txt"))
        .inspect_err(|e| eprintln!("setup: tools for images for GPUs: {e}"));
    installed & cuda.is_ok()
}

/// Unpacks the tools that make images for GPUs, unless those of this list are there. They are
/// programs, not Python.
fn cuda(places: &Workspace, list: &Path) -> io::Result<()> {
    let directory = cubin::tools(&places.target);
    let (python, into, from) =
        (places.venv().join("bin/python"), directory.display().to_string(), list.display().to_string());
    unless_made(list, &directory, || {
        let words = ["-m", "pip", "install", "-q", "--no-deps", "--target", &into, "-r", &from];
        step(&places.root, &python.display().to_string(), &words)
    })
}

/// Installs what only the scheduled job uses. Returns whether everything is there afterwards.
pub fn more(places: &Workspace) -> bool {
    let list = places.root.join("conformance/programs");
    both(places, &list, "more-packages.txt", "more-requirements.txt", &places.large_venv())
}

fn both(places: &Workspace, lists: &Path, debian: &str, pypi: &str, venv_at: &Path) -> bool {
    let packages = packages(places, &lists.join(debian));
    let venv =
        venv(places, &lists.join(pypi), venv_at).inspect_err(|e| eprintln!("setup: Python packages: {e}"));
    packages & venv.is_ok()
}

fn packages(places: &Workspace, list: &Path) -> bool {
    let list = fs::read_to_string(list).unwrap_or_default();
    let wanted = list.lines().filter(|l| !l.starts_with('#') && !l.is_empty());
    let missing: Vec<&str> = wanted.filter(|p| !installed(p)).collect();
    if missing.is_empty() {
        return true;
    }
    println!("setup: installing by apt: {}", missing.join(" "));
    if !exec::on_path("apt-get") {
        eprintln!(
            "setup: this is no Debian machine; install by hand what corresponds to: {}",
            missing.join(" ")
        );
        return false;
    }
    apt(&["update", "-qq"], places);
    let (known, unknown): (Vec<&str>, Vec<&str>) = missing.iter().partition(|p| available(p));
    if !unknown.is_empty() {
        eprintln!("setup: not in the package sources of this machine: {}", unknown.join(" "));
    }
    let install = [&["install", "-y", "-qq", "--no-install-recommends"], &known[..]].concat();
    (known.is_empty() || apt(&install, places)) && unknown.is_empty()
}

fn installed(package: &str) -> bool {
    let query = Command::new("dpkg-query").args(["-W", "-f=${Status}", package]).output();
    query.is_ok_and(|o| String::from_utf8_lossy(&o.stdout).ends_with("ok installed"))
}

fn available(package: &str) -> bool {
    let policy = Command::new("apt-cache").args(["show", "--no-all-versions", package]).output();
    policy.is_ok_and(|o| o.status.success() && !o.stdout.is_empty())
}

fn apt(arguments: &[&str], places: &Workspace) -> bool {
    let env = [("DEBIAN_FRONTEND", "noninteractive")];
    let root = Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout == b"0\n");
    if root {
        return exec::visible("apt-get", arguments, &env, &places.root);
    }
    let words = [&["-n", "DEBIAN_FRONTEND=noninteractive", "apt-get"], arguments].concat();
    exec::visible("sudo", &words, &[], &places.root)
}

/// Makes the virtual environment unless one for these requirements is there.
fn venv(places: &Workspace, requirements: &Path, directory: &Path) -> io::Result<()> {
    unless_made(requirements, directory, || {
        step(&places.root, "/usr/bin/python3", &["-m", "venv", &directory.display().to_string()])?;
        let python = directory.join("bin/python").display().to_string();
        let list = requirements.display().to_string();
        let made = step(&places.root, &python, &["-m", "pip", "install", "-q", "-r", &list]);
        if made.is_err() {
            // An environment without its packages would look like a program that fails.
            fs::remove_dir_all(directory)?;
        }
        made
    })
}

/// Has `make` install into `directory` what the list asks for, unless that has been made from this
/// list.
fn unless_made(list: &Path, directory: &Path, make: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let mark = directory.join("made-from.txt");
    let wanted = fs::read(list)?;
    if fs::read(&mark).is_ok_and(|made| made == wanted) {
        return Ok(());
    }
    println!("setup: installing from PyPI into {}", directory.display());
    if directory.exists() {
        fs::remove_dir_all(directory)?;
    }
    make()?;
    fs::write(&mark, wanted)
}

fn step(root: &Path, program: &str, arguments: &[&str]) -> io::Result<()> {
    if exec::visible(program, arguments, &[], root) {
        return Ok(());
    }
    Err(io::Error::other(format!("`{program} {}` failed", arguments.join(" "))))
}
