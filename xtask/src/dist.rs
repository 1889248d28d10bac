//! `cargo xtask dist`: packages of the release build in target/dist, and whether they work where
//! they are installed (docs/packages.md).
//!
//! | room | what lives there |
//! |---|---|
//! | [`stage`] | the tree that all packages have below a prefix |
//! | [`pack`] | the tarball, the Debian package, the wheel |
//! | [`check`] | each installed by itself and tried: in a directory, in a fresh virtual environment |
//! | [`root`] | the Debian package in a minimal Debian |
//!
//! What they are made of beside what cargo builds is in packages/.
//!
//! Rejected: cargo-deb and maturin. Each knows one of three formats, and the tree is the same for
//! all.

mod check;
mod pack;
mod root;
mod stage;

use crate::exec;
use crate::programs::Workspace;
use crate::report::Report;
use std::path::{Path, PathBuf};

/// Version of the workspace, which is that of the packages.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Which checks follow.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Checks {
    /// None.
    None,
    /// Those of the gate: nothing is downloaded, one compiler.
    Quick,
    /// All, in a minimal Debian too.
    All,
}

/// The packages.
pub struct DistPackages {
    /// The tree below a prefix, as in the tarball.
    tree: PathBuf,
    tarball: PathBuf,
    /// Or why there is none.
    debian: Result<PathBuf, String>,
    wheel: Result<PathBuf, String>,
}

/// Builds, packs and checks.
pub fn run(places: &Workspace, checks: Checks, report: &mut Report) {
    report.step("packages");
    match made(places) {
        Err(why) => report.fail("packages", &why),
        Ok(packages) => {
            let shown = |file: &Path| file.strip_prefix(&places.root).unwrap_or(file).display().to_string();
            let size =
                |file: &Path| std::fs::metadata(file).map_or(0.0, |m| m.len() as f64 / f64::from(1 << 20));
            for file in [Ok(packages.tarball.clone()), packages.debian.clone(), packages.wheel.clone()] {
                match file {
                    Ok(file) => report.row("made", &shown(&file), &format!("{:.1} MiB", size(&file))),
                    Err(why) => report.skip("package", &why),
                }
            }
            if checks != Checks::None {
                check::run(places, &packages, checks, report);
            }
        }
    }
}

fn made(places: &Workspace) -> Result<DistPackages, String> {
    let built = exec::visible(
        "cargo",
        &["build", "--quiet", "--release", "-p", "libomp-shim", "-p", "gangway"],
        &[],
        &places.root,
    );
    if !built {
        return Err("cargo build --release -p libomp-shim -p gangway failed".into());
    }
    let out = places.target.join("dist");
    let tree = stage::tree(places, &out).map_err(|e| e.to_string())?;
    let glibc = stage::glibc(places)?;
    Ok(DistPackages {
        tarball: pack::tarball(places, &out, &tree, glibc)?,
        debian: pack::debian(places, &out, &tree, glibc),
        wheel: pack::wheel(places, &out, &tree, glibc),
        tree,
    })
}

/// Runs a command; its last complaint if it fails.
fn step(argv: &[&str], env: &[(&str, &str)], directory: &Path, limit: u32) -> Result<String, String> {
    let argv: Vec<String> = argv.iter().map(|w| w.to_string()).collect();
    let env: Vec<(String, String)> = env.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let ran = exec::run(&argv, &env, directory, limit);
    match ran.problem {
        None => Ok(ran.stdout),
        Some(problem) => Err(format!("{}: {problem} ({})", argv[0], exec::last_line(&ran.stderr))),
    }
}
