//! `gangway mpirun --dry-run`: the command, with launchers and libraries that only look like some.

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{directory, executable, gangway, outcome};

/// A directory of links with these libraries for MPI, and launchers of these names.
fn machine(name: &str, libraries: &[&str], launchers: &[&str]) -> PathBuf {
    let at = directory(name).canonicalize().unwrap();
    fs::create_dir_all(at.join("links")).unwrap();
    fs::create_dir_all(at.join("bin")).unwrap();
    for library in libraries.iter().chain(&["libomp-libgangway.so", "libgangway_start.so"]) {
        fs::write(at.join("links").join(library), "").unwrap();
    }
    for runtime in ["libgomp.so.1", "libomp.so.5", "libiomp5.so"] {
        symlink("libomp-libgangway.so", at.join("links").join(runtime)).unwrap();
    }
    for launcher in launchers {
        executable(&at.join("bin").join(launcher), b"#!/bin/sh\necho \"launched: $@\"\n");
    }
    at
}

fn mpirun(at: &Path, words: &str) -> Command {
    let mut command = gangway(&at.join("links"), at);
    command.env("PATH", at.join("bin")).arg("mpirun").args(words.split_whitespace());
    command
}

#[test]
fn the_command_is_printed_or_run() {
    let at = machine(
        "command",
        &["libgangway_mpi_mpich.so", "libgangway_aware_mpich.so"],
        &["mpirun.openmpi", "mpirun.mpich"],
    );
    let links = at.join("links").display().to_string();
    let said = outcome(&mut mpirun(&at, "-n 4 --dry-run /bin/true x"));
    let wanted = format!(
        "-n 4 env LD_LIBRARY_PATH={links} LD_PRELOAD=libgangway_start.so:libomp.so.5 OMPX_CLUSTER=head /bin/true x\n"
    );
    assert_eq!(said, (Some(0), format!("mpirun.mpich {wanted}"), String::new()), "the one that has a bridge");
    assert_eq!(
        outcome(&mut mpirun(&at, "-n 4 /bin/true x")),
        (Some(0), format!("launched: {wanted}"), String::new())
    );
    let said = outcome(&mut mpirun(
        &at,
        "--host a,b -n 2 --dry-run --mode off --mpi=mpich --threads 3 --env X=y -- /bin/true",
    ));
    let wanted = format!(
        "mpirun.mpich -n 2 --host a,b env LD_LIBRARY_PATH={links} LD_PRELOAD=libgangway_aware_mpich.so:libomp.so.5 OMPX_CLUSTER=off OMP_NUM_THREADS=3 X=y /bin/true\n"
    );
    assert_eq!(said, (Some(0), wanted, String::new()));
    let other = at.join("bin/mpirun.mpich").display().to_string();
    let said = outcome(&mut mpirun(&at, &format!("--launcher {other} --dry-run /bin/true")));
    assert!(said.0 == Some(0) && said.1.starts_with(&format!("{other} env LD_LIBRARY_PATH=")), "{said:?}");
}

#[test]
fn what_is_missing_is_said_in_a_line() {
    let at = machine("missing", &[], &["mpirun.openmpi"]);
    for (words, status, part) in [
        ("-n 2 /bin/true", 125, "libgangway_mpi_openmpi.so is not in"),
        ("-n 2 /bin/true", 125, "cargo xtask bridge builds it"),
        ("-n 2 --mode off --mpi /bin/true", 125, "libgangway_aware_openmpi.so is not in"),
        ("-n 2 --mpi=mpich /bin/true", 127, "no launcher of it is on PATH"),
        ("-n 2 --launcher mpirun.other /bin/true", 127, "mpirun.other is not there"),
        ("-n 2 /nonexistent", 127, "No such file"),
        ("-n 2 true : -n 2 true", 125, "several programs"),
        ("-n 2 --host a /bin/true", 125, "write -- before the program"),
        ("-n 0 /bin/true", 125, "not a number above zero"),
    ] {
        let (code, _, said) = outcome(&mut mpirun(&at, words));
        assert!(
            code == Some(status) && said.lines().count() == 1 && said.contains(part),
            "{words}: {code:?}, {said}"
        );
    }
    let nothing = machine("nothing", &[], &[]);
    let (code, _, said) = outcome(&mut mpirun(&nothing, "-n 2 /bin/true"));
    assert!(code == Some(127) && said.contains("no MPI launcher is on PATH"), "{code:?}, {said}");
}
