//! `gangway run` as its users see it: the program on the library, its status, and one line for what
//! cannot be.

mod common;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{directory, executable, gangway, library, outcome};

/// One line of ours, with this status, that says this.
fn refused(command: &mut Command, status: i32, part: &str) {
    let (code, _, said) = outcome(command);
    assert!(
        code == Some(status)
            && said.lines().count() == 1
            && said.starts_with("gangway: ")
            && said.contains(part),
        "{part}: {code:?}, {said}"
    );
}

#[test]
fn a_program_runs_on_the_library_and_its_status_comes_out() {
    let Some(library) = library("a_program_runs_on_the_library_and_its_status_comes_out") else { return };
    let at = directory("runs");
    let run = |words: &[&str]| outcome(gangway(&library, &at).arg("run").args(words));
    assert_eq!(run(&["/bin/true"]), (Some(0), String::new(), String::new()));
    assert_eq!(run(&["--", "sh", "-c", "exit 7"]), (Some(7), String::new(), String::new()));
    let (status, said, complaints) = run(&[
        "--threads",
        "3",
        "--env",
        "A=b c",
        "sh",
        "-c",
        "echo $OMP_NUM_THREADS $A; grep -c libomp-libgangway /proc/self/maps",
    ]);
    let lines: Vec<&str> = said.lines().collect();
    assert!(
        status == Some(0) && lines[0] == "3 b c" && lines[1].parse::<u32>().is_ok_and(|n| n > 0),
        "{said}{complaints}"
    );
    executable(&at.join("script"), b"#!/bin/sh\necho \"$1\"\n");
    assert_eq!(run(&[&at.join("script").display().to_string(), "--threads"]).1, "--threads\n");
}

#[test]
fn links_are_made_once() {
    let Some(library) = library("links_are_made_once") else { return };
    let at = directory("once");
    let made = || {
        outcome(gangway(&library, &at).args(["run", "true"]));
        let directories: Vec<PathBuf> =
            fs::read_dir(at.join("gangway")).unwrap().map(|e| e.unwrap().path()).collect();
        assert_eq!(directories.len(), 1, "{directories:?}");
        fs::metadata(directories[0].join("libomp-libgangway.so")).unwrap().modified().unwrap()
    };
    assert_eq!(made(), made());
    let own = at.join("own");
    assert_eq!(outcome(gangway(&library, &at).args(["run", "--links"]).arg(&own).arg("true")).0, Some(0));
    assert!(own.join("libgomp.so.1").is_symlink() && own.join("libomptarget.so.19.1").is_symlink());
}

const PROGRAM: &str = r#"
#include <omp.h>
#include <stdio.h>
int ompx_cluster_size(void) __attribute__((weak));
int main(void)
{
    int sum = 0;
#pragma omp parallel reduction(+ : sum)
    sum += omp_get_num_threads();
    printf("%d %s\n", sum, ompx_cluster_size ? "gangway" : "another runtime");
    return 0;
}
"#;

#[test]
fn an_openmp_program_of_gcc_binds_to_the_library() {
    let Some(library) = library("an_openmp_program_of_gcc_binds_to_the_library") else { return };
    let at = directory("gcc");
    let (source, program) = (at.join("program.c"), at.join("program"));
    fs::write(&source, PROGRAM).unwrap();
    let compile = |options: &[&str]| {
        Command::new("gcc")
            .arg(&source)
            .arg("-fopenmp")
            .args(options)
            .arg("-o")
            .arg(&program)
            .output()
            .is_ok_and(|o| o.status.success())
    };
    if !compile(&[]) {
        return eprintln!(
            "an_openmp_program_of_gcc_binds_to_the_library is left out: gcc builds no OpenMP program here"
        );
    }
    let run = |options: &[&str]| outcome(gangway(&library, &at).arg("run").args(options).arg(&program));
    assert_eq!(run(&["--threads", "4"]), (Some(0), "16 gangway\n".into(), String::new()));
    let own = outcome(Command::new(&program).env("OMP_NUM_THREADS", "4"));
    assert_eq!(own.1, "16 another runtime\n");
    // A copy of libgomp that is linked in, and a program that is static altogether.
    if compile(&["-Wl,-Bstatic", "-lgomp", "-Wl,-Bdynamic"]) {
        let (status, said, complaint) = run(&["--threads", "2"]);
        assert!(
            status == Some(0) && said.starts_with("4 ") && complaint.contains("an OpenMP runtime linked in"),
            "{said}{complaint}"
        );
    }
    if compile(&["-static"]) {
        refused(gangway(&library, &at).arg("run").arg(&program), 126, "linked statically");
        let (status, said, complaint) = run(&["--anyway", "--threads", "2"]);
        assert!(
            status == Some(0) && said == "4 another runtime\n" && complaint.contains("linked statically"),
            "{said}{complaint}"
        );
    }
}

/// `/bin/true` with other bytes at a place.
fn changed(file: &Path, at: usize, to: &[u8]) {
    let mut bytes = fs::read("/bin/true").expect("every machine has it");
    bytes[at..at + to.len()].copy_from_slice(to);
    executable(file, &bytes);
}

#[test]
fn what_cannot_run_on_the_library_is_refused_in_a_line() {
    let at = directory("refused");
    let nowhere = at.join("nowhere.so");
    let run = |word: &str| {
        let mut command = gangway(&nowhere, &at);
        command.args(["run", word]);
        command
    };
    refused(&mut run("there-is-no-such-program"), 127, "there-is-no-such-program is not on PATH");
    refused(&mut run("./there-is-no-such-program"), 127, "No such file");
    refused(&mut run("/etc/passwd"), 126, "/etc/passwd is not executable");
    refused(&mut run("/bin"), 126, "/bin is a directory");
    refused(&mut run("/bin/true"), 125, "GANGWAY_LIB");
    refused(gangway(&nowhere, &at).args(["run", "--no-such-option", "true"]), 125, "--no-such-option");
    let file = at.join("program");
    let word = file.display().to_string();
    executable(&file, b"no program\n");
    refused(&mut run(&word), 126, "neither an ELF program nor a script");
    executable(&file, b"#!/nonexistent/interpreter\n");
    refused(&mut run(&word), 127, "/nonexistent/interpreter is not there");
    changed(&file, 18, &[183, 0]);
    refused(&mut run(&word), 126, "is built for aarch64");
    let loader = b"/lib64/ld-linux-x86-64.so.2\0";
    let bytes = fs::read("/bin/true").unwrap();
    if let Some(at) = bytes.windows(loader.len()).position(|w| w == loader) {
        changed(&file, at, b"/lib/ld-musl-x86_64.so.1\0");
        refused(&mut run(&word), 126, "musl's loader");
    }
}

#[test]
fn programs_that_gain_rights_are_refused() {
    let at = directory("rights");
    let file = at.join("program");
    executable(&file, &fs::read("/bin/true").unwrap());
    if chown(&file, Some(65534), None).is_err() {
        return eprintln!(
            "programs_that_gain_rights_are_refused is left out: only root may give a file away"
        );
    }
    fs::set_permissions(&file, fs::Permissions::from_mode(0o4755)).unwrap();
    refused(gangway(&at, &at).arg("run").arg(&file), 126, "is setuid");
}
