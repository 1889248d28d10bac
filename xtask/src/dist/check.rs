//! Packages where they are installed: the tarball in a directory, the Debian package's files, the
//! wheel in a fresh virtual environment.
//!
//! What is tried where a prefix has a package is packages/check/check.sh, the same in a minimal
//! Debian ([`super::root`]).

use super::{Checks, DistPackages, root, stage, step};
use crate::programs::Workspace;
use crate::report::Report;
use std::fs;
use std::path::{Path, PathBuf};

/// Checks all packages that were made.
pub fn run(places: &Workspace, packages: &DistPackages, checks: Checks, report: &mut Report) {
    let at = places.target.join("dist/check");
    drop(fs::remove_dir_all(&at));
    if let Err(why) = fs::create_dir_all(&at) {
        return report.fail("packages", &format!("{}: {why}", at.display()));
    }
    let is_quick = checks == Checks::Quick;
    match unpacked(packages, &at) {
        Ok(prefix) => tried(places, "tarball", &prefix, &at.join("tarball-work"), is_quick, report),
        Err(why) => report.fail("tarball", &why),
    }
    if let Ok(package) = &packages.debian {
        report.check("Debian package: files", files(package, packages, &at).unwrap_or_else(|why| vec![why]));
    }
    if let Ok(wheel) = &packages.wheel {
        const NAME: &str = "wheel: in a fresh environment";
        match installer(places, is_quick) {
            Ok(pip) => {
                report.check(NAME, in_environment(places, wheel, &pip, &at).unwrap_or_else(|why| vec![why]))
            }
            Err(why) => report.skip(NAME, &why),
        }
    }
    match (&packages.debian, checks) {
        (Ok(package), Checks::All) => root::run(places, package, report),
        (Err(why), Checks::All) => report.skip("Debian package in a minimal Debian", why),
        _ => {}
    }
}

/// Unpacks the tarball and moves its tree to a path at which it was not made. Returns that path.
fn unpacked(packages: &DistPackages, at: &Path) -> Result<PathBuf, String> {
    let place = at.join("some where");
    fs::create_dir_all(&place).map_err(|e| e.to_string())?;
    step(&["tar", "-xzf", &packages.tarball.display().to_string()], &[], &place, 60)?;
    // The loader's lists have no blanks.
    let prefix = at.join("anywhere");
    fs::rename(place.join(packages.tree.file_name().expect("a name")), &prefix).map_err(|e| e.to_string())?;
    Ok(prefix)
}

/// Puts what check.sh needs into a directory.
pub fn prepared(places: &Workspace, work: &Path) -> Result<(), String> {
    for name in ["program.c", "CMakeLists.txt", "check.sh"] {
        stage::file(&places.root.join("packages/check").join(name), &work.join(name), &[])
            .map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn tried(places: &Workspace, what: &str, prefix: &Path, work: &Path, is_quick: bool, report: &mut Report) {
    let ran = prepared(places, work).and_then(|()| {
        let quick = if is_quick { "quick" } else { "" };
        step(&["sh", "check.sh", &prefix.display().to_string(), quick], &[], work, 300)
    });
    match ran {
        Ok(said) => judge(what, &said, report),
        Err(why) => report.fail(what, &why),
    }
}

/// Counts the lines of check.sh.
pub fn judge(what: &str, said: &str, report: &mut Report) {
    let mut problems = Vec::new();
    let mut passed = 0;
    for line in said.lines() {
        match line.split_once(' ') {
            Some(("ok", _)) => passed += 1,
            Some(("skip", rest)) => report.skip(
                &format!("{what}: {}", rest.split(':').next().unwrap_or(rest)),
                rest.split_once(": ").map_or("", |(_, why)| why),
            ),
            _ => problems.push(line.to_string()),
        }
    }
    if passed == 0 && problems.is_empty() {
        problems.push("nothing was checked".into());
    }
    report.check(&format!("{what}: {passed} checks"), problems);
}

/// The package's files are those of the tree, and each thing is where Debian looks for it.
fn files(package: &Path, packages: &DistPackages, at: &Path) -> Result<Vec<String>, String> {
    let root = at.join("deb");
    step(&["dpkg-deb", "-x", &package.display().to_string(), &root.display().to_string()], &[], at, 60)?;
    let mut wanted: Vec<String> = [
        "bin/gangway",
        "include/gangway/ompx.h",
        "lib/pkgconfig/gangway.pc",
        "lib/cmake/Gangway/GangwayConfig.cmake",
        "share/man/man1/gangway-run.1.gz",
        "share/gangway/gdb/gangway.py",
        "share/bash-completion/completions/gangway",
        "share/doc/gangway/copyright",
        "lib/gangway/libgangway.so",
    ]
    .map(String::from)
    .to_vec();
    wanted.extend(
        links::names::RUNTIMES
            .iter()
            .chain(&links::names::OFFLOAD)
            .map(|name| format!("{}/{name}", stage::COMPAT)),
    );
    let mut problems: Vec<String> = wanted
        .iter()
        .filter(|name| !root.join("usr").join(name).is_file())
        .map(|name| format!("usr/{name} is not in it"))
        .collect();
    let same =
        |name: &str| fs::read(root.join("usr").join(name)).ok() == fs::read(packages.tree.join(name)).ok();
    problems.extend(
        ["bin/gangway", "lib/gangway/libgangway.so"]
            .iter()
            .filter(|name| !same(name))
            .map(|name| format!("usr/{name} is another file than in the tree")),
    );
    let said = step(&[&root.join("usr/bin/gangway").display().to_string(), "info"], &[], at, 60)?;
    if !said.contains(&root.join("usr/lib/gangway").display().to_string()) {
        problems.push("gangway info does not find the library of the package".into());
    }
    Ok(problems)
}

/// The Python whose pip installs into the environment: that of the environment for checks; making
/// one with a pip of its own takes long, so not in the gate.
fn installer(places: &Workspace, is_quick: bool) -> Result<Option<String>, String> {
    let other = places.venv().join("bin/python");
    match (other.exists(), is_quick) {
        (true, _) => Ok(Some(other.display().to_string())),
        (false, true) => Err(format!("{} is not there; `cargo xtask setup` makes it", other.display())),
        (false, false) => Ok(None),
    }
}

/// A virtual environment with the wheel alone.
fn environment(places: &Workspace, wheel: &Path, pip: &Option<String>, venv: &Path) -> Result<(), String> {
    let (directory, wheel, python) = (
        venv.display().to_string(),
        wheel.display().to_string(),
        venv.join("bin/python").display().to_string(),
    );
    let install = ["install", "-q", "--no-index", "--no-deps", &wheel];
    let make = ["/usr/bin/python3", "-m", "venv", &directory];
    let install = match pip {
        Some(other) => {
            step(&[&make[..], &["--without-pip"]].concat(), &[], &places.root, 120)?;
            [&[other.as_str(), "-m", "pip", "--python", &python], &install[..]].concat()
        }
        None => {
            step(&make, &[], &places.root, 120)?;
            [&[python.as_str(), "-m", "pip"], &install[..]].concat()
        }
    };
    step(&install, &[], &places.root, 120).map(drop)
}

/// What a script sees when it is run on Gangway, by each of the ways that the package offers.
fn in_environment(
    places: &Workspace,
    wheel: &Path,
    pip: &Option<String>,
    at: &Path,
) -> Result<Vec<String>, String> {
    environment(places, wheel, pip, &at.join("venv"))?;
    let script = at.join("script.py");
    fs::write(
        &script,
        "import gangway, sys\nprint(gangway.is_active(), gangway.__version__, *sys.argv[1:])\n",
    )
    .map_err(|e| e.to_string())?;
    let (python, tool, script) = (
        at.join("venv/bin/python").display().to_string(),
        at.join("venv/bin/gangway").display().to_string(),
        script.display().to_string(),
    );
    let cache = at.join("cache").display().to_string();
    let run = |argv: &[&str], env: &[(&str, &str)]| {
        step(argv, &[env, &[("XDG_CACHE_HOME", cache.as_str())]].concat(), &places.root, 120)
    };
    let library = run(&[&python, "-m", "gangway", "preload-path"], &[])?;
    let version = super::VERSION;
    let mut problems = Vec::new();
    for (what, said, wanted) in [
        ("script alone", run(&[&python, &script, "a"], &[])?, format!("False {version} a\n")),
        (
            "python -m gangway run script.py",
            run(&[&python, "-m", "gangway", "run", "--threads", "2", &script, "a", "b"], &[])?,
            format!("True {version} a b\n"),
        ),
        (
            "gangway run python script.py",
            run(&[&tool, "run", "--", &python, &script], &[])?,
            format!("True {version}\n"),
        ),
        (
            "LD_PRELOAD",
            run(&[&python, &script], &[("LD_PRELOAD", library.trim())])?,
            format!("True {version}\n"),
        ),
        ("gangway --version", run(&[&tool, "--version"], &[])?, format!("gangway {version}\n")),
    ] {
        if said != wanted {
            problems.push(format!("{what}: {said:?} instead of {wanted:?}"));
        }
    }
    Ok(problems)
}
