//! `gangway compare`, `info`, `completions` and `man` as their users see them.

mod common;

use std::fs;
use std::process::Command;

use common::{directory, gangway, library, outcome};

#[test]
fn outputs_are_compared_and_the_first_difference_is_shown() {
    let Some(library) = library("outputs_are_compared_and_the_first_difference_is_shown") else { return };
    let at = directory("compare");
    let compare = |words: &[&str]| outcome(gangway(&library, &at).arg("compare").args(words));
    let (status, said, complaints) =
        compare(&["--runs", "2", "--threads", "2", "sh", "-c", "echo 1.5 $OMP_NUM_THREADS; exit 3"]);
    assert_eq!(status, Some(0), "{said}{complaints}");
    assert!(
        said.starts_with(
            "sh -c 'echo 1.5 $OMP_NUM_THREADS; exit 3': 2 runs under each in turns, OMP_NUM_THREADS=2"
        ),
        "{said}"
    );
    let row = said.lines().find(|line| line.starts_with("Gangway ")).expect("a row");
    assert!(row.ends_with("3       agrees") && !said.contains('\x1b'), "{said}");
    // What it prints depends on the runtime.
    let script = "case $LD_PRELOAD in *gangway*) echo same; echo 1.0001;; *) echo same; echo 1.0000;; esac";
    let (status, said, _) = compare(&["--runs", "1", "sh", "-c", script]);
    assert!(
        status == Some(1) && said.contains("Gangway: line 2: '1.0001' instead of '1.0000'"),
        "{status:?}\n{said}"
    );
    assert_eq!(compare(&["--runs", "1", "--tolerance", "1e-3", "sh", "-c", script]).0, Some(0));
    let (status, said, _) = compare(&[
        "--runs",
        "1",
        "--limit",
        "1",
        "sh",
        "-c",
        "case $LD_PRELOAD in *gangway*) exec sleep 60;; esac",
    ]);
    assert!(status == Some(1) && said.contains("too late"), "{status:?}\n{said}");
    let (status, said, _) = compare(&["--runs", "1", "--json", "true"]);
    assert!(
        status == Some(0)
            && said.starts_with("{\"command\":\"true\"")
            && said.contains("\"runtime\":\"Gangway\""),
        "{said}"
    );
    assert_eq!(compare(&["there-is-no-such-program"]).0, Some(127));
    assert_eq!(compare(&["--libomp", "/nonexistent", "true"]).0, Some(125));
}

#[test]
fn the_library_says_what_it_sees() {
    let Some(library) = library("the_library_says_what_it_sees") else { return };
    let at = directory("info");
    let (status, said, complaints) = outcome(
        gangway(&library, &at).arg("info").envs([("GANGWAY_TLS", "kernel"), ("GANGWAY_HOST_DEVICES", "1")]),
    );
    let value = |name: &str| said.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    assert_eq!((status, complaints.as_str()), (Some(0), ""), "{said}");
    assert_eq!(
        (value("thread storage"), value("devices"), value("GANGWAY_TLS")),
        (Some("kernel (GANGWAY_TLS says so)"), Some("0: CPU of rank 0"), Some("KERNEL"))
    );
    assert!(
        value("processors").is_some_and(|v| v.contains("cores")) && value("OMP_SCHEDULE").is_none(),
        "{said}"
    );
    let (status, said, _) = outcome(gangway(&library, &at).args(["info", "--json"]));
    assert!(
        status == Some(0) && said.contains("\"OMP_SCHEDULE\":") && said.contains("\"openmp\":"),
        "{said}"
    );
    // A library that answers nothing.
    let other = at.join("libgangway.so");
    fs::write(&other, "no library").unwrap();
    let (status, _, complaints) = outcome(gangway(&other, &at).arg("info"));
    assert!(status == Some(125) && complaints.contains("cannot be loaded"), "{complaints}");
}

#[test]
fn it_ends_with_who_reads_it() {
    let tool = env!("CARGO_BIN_EXE_gangway");
    let (_, _, complaints) =
        outcome(Command::new("sh").args(["-c", &format!("(sleep 0.3; {tool} --help; echo $? >&2) | true")]));
    assert_eq!(complaints, "141\n", "the signal and no word");
}

#[test]
fn pages_and_completions_are_what_their_readers_take() {
    let at = directory("pages");
    let said = |words: &[&str]| outcome(gangway(&at, &at).args(words));
    let (status, bash, _) = said(&["completions", "bash"]);
    assert!(status == Some(0) && bash.contains("complete -F _gangway"), "{bash}");
    let checked = Command::new("bash").arg("-n").arg("-c").arg(&bash).output().expect("every machine has it");
    assert!(checked.status.success());
    assert!(
        said(&["completions", "zsh"]).1.starts_with("#compdef gangway")
            && said(&["completions", "fish"]).1.contains("complete -c gangway")
    );
    assert_eq!(said(&["man", &at.join("man1").display().to_string()]).0, Some(0));
    for page in
        ["gangway", "gangway-run", "gangway-compare", "gangway-doctor", "gangway-info", "gangway-mpirun"]
    {
        assert!(
            fs::read_to_string(at.join(format!("man1/{page}.1"))).is_ok_and(|text| text.contains(".SH NAME")),
            "{page}"
        );
    }
    assert!(
        fs::read_dir(at.join("man1")).unwrap().count() == 10 && said(&["man"]).1.contains(".TH gangway 1")
    );
}
