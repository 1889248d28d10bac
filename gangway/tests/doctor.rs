//! `gangway doctor` and `gangway run --verify`: which runtimes are loaded, conflicts, and whether
//! Gangway takes their place. Programs of both compilers in one process, and copies under other
//! names. Python's packages are in `python.rs`.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{built, directory, executable, gangway, library, outcome, renamed};

const SUM: &str = "int NAME(void)\n{\n    int sum = 0;\n#pragma omp parallel num_threads(3) reduction(+ : sum)\n    sum++;\n    return sum;\n}\n";
const MAIN: &str = "#include <stdio.h>\nint main(void) { printf(\"%d\\n\", one() + two()); return 0; }\n";

/// Two libraries, each for its compiler's runtime, and a program that calls both.
fn mixed(at: &Path) -> Option<PathBuf> {
    let write = |name: &str, text: &str| {
        fs::write(at.join(name), text).expect("the file can be written");
        at.join(name)
    };
    let (one, two) =
        (write("one.c", &SUM.replace("NAME", "one")), write("two.c", &SUM.replace("NAME", "two")));
    let main = write("main.c", &format!("int one(void), two(void);\n{MAIN}"));
    let library = ["-shared", "-fPIC", "-fopenmp"];
    let (l, r) = (format!("-L{}", at.display()), format!("-Wl,-rpath,{}", at.display()));
    let made = built("gcc", &one, &at.join("libone.so"), &library)
        && built("clang-19", &two, &at.join("libtwo.so"), &library)
        && built("gcc", &main, &at.join("mixed"), &[&l, "-lone", "-ltwo", &r]);
    made.then(|| at.join("mixed"))
}

#[test]
fn two_runtimes_in_a_process_are_a_conflict_that_gangway_ends() {
    let Some(library) = library("two_runtimes_in_a_process_are_a_conflict_that_gangway_ends") else { return };
    let at = directory("mixed");
    let Some(program) = mixed(&at) else {
        return eprintln!(
            "two_runtimes_in_a_process_are_a_conflict_that_gangway_ends is left out: it needs gcc and clang-19 with their runtimes"
        );
    };
    let doctor = |words: &[&str]| outcome(gangway(&library, &at).arg("doctor").args(words).arg(&program));
    let (status, said, complaints) = doctor(&["--static"]);
    assert!(
        status == Some(1)
            && said.contains("libgomp for ")
            && said.contains("libomp for ")
            && said.contains("/gangway run -- "),
        "{said}{complaints}"
    );
    let (status, said, _) = doctor(&[]);
    assert!(
        status == Some(1) && said.contains("conflict: 2 OpenMP runtimes in one process (libgomp and libomp)"),
        "{said}"
    );
    let (status, said, _) = doctor(&["--fix-check"]);
    assert!(
        status == Some(0)
            && said.contains("fix check: on Gangway")
            && said.contains("none to another runtime"),
        "{said}"
    );
    let (status, said, complaints) = outcome(gangway(&library, &at).args(["run", "--verify"]).arg(&program));
    assert!(
        status == Some(0) && said == "6\n" && complaints.contains("OpenMP functions were bound to it"),
        "{said}{complaints}"
    );
}

#[test]
fn what_is_not_on_gangway_is_said() {
    let Some(library) = library("what_is_not_on_gangway_is_said") else { return };
    let at = directory("elsewhere");
    let run = |words: &[&str]| outcome(gangway(&library, &at).args(words));
    let (status, _, complaints) = run(&["run", "--verify", "true"]);
    assert!(status == Some(126) && complaints.contains("no OpenMP function was bound"), "{complaints}");
    assert_eq!(run(&["run", "--verify", "sh", "-c", "exit 5"]).0, Some(5));
    let (status, said, _) = run(&["doctor", "true"]);
    assert!(
        status == Some(0)
            && said.contains("loads no OpenMP runtime before main")
            && said.contains("no OpenMP runtime was loaded"),
        "{said}"
    );
    assert_eq!((run(&["doctor"]).0, run(&["doctor", "there-is-no-such-program"]).0), (Some(125), Some(127)));
    executable(&at.join("text"), b"no program\n");
    assert_eq!(run(&["doctor", &at.join("text").display().to_string()]).0, Some(126));
    // A library whose copy of the runtime is its own affair.
    let source = at.join("own.c");
    fs::write(
        &source,
        format!(
            "{}#include <stdio.h>\nint main(void) {{ printf(\"%d\\n\", own()); return 0; }}\n",
            SUM.replace("NAME", "own")
        ),
    )
    .unwrap();
    let program = at.join("own");
    if built("gcc", &source, &program, &["-fopenmp", "-Wl,-Bstatic", "-lgomp", "-Wl,-Bdynamic"]) {
        let word = program.display().to_string();
        let (status, said, _) = run(&["doctor", "--fix-check", &word]);
        assert!(status == Some(2) && said.contains("has an OpenMP runtime linked in"), "{said}");
        assert_eq!(run(&["run", "--verify", &word]).0, Some(126));
    }
}

#[test]
fn a_copy_that_binds_to_itself_is_noticed() {
    const NAME: &str = "a_copy_that_binds_to_itself_is_noticed";
    let Some(library) = library(NAME) else { return };
    let at = directory("deep");
    let write = |name: &str, text: &str| {
        fs::write(at.join(name), text).expect("the file can be written");
        at.join(name)
    };
    let sum = write("sum.c", &SUM.replace("NAME", "sum"));
    let main = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\nint main(int n, char **words)\n{\n    void *library = dlopen(words[1], RTLD_NOW | RTLD_DEEPBIND);\n    \
                int (*sum)(void) = library ? (int (*)(void))dlsym(library, \"sum\") : 0;\n    return sum ? sum() != 3 : 9;\n}\n";
    let main = write("main.c", main);
    let runtime = Command::new("gcc")
        .arg("-print-file-name=libgomp.so.1")
        .output()
        .ok()
        .and_then(|o| fs::canonicalize(String::from_utf8_lossy(&o.stdout).trim()).ok());
    let made =
        built("gcc", &sum, &at.join("built.so"), &["-shared", "-fPIC", "-fopenmp", "-Wl,-rpath,$ORIGIN"])
            && built("gcc", &main, &at.join("program"), &["-ldl"]);
    let Some(runtime) = runtime.filter(|_| made) else {
        return eprintln!("{NAME} is left out: it needs gcc with its runtime");
    };
    renamed(&at.join("built.so"), &at.join("libsum.so"), "libgomp.so.1", "libgomp-x.so");
    renamed(&runtime, &at.join("libgomp-x.so"), "libgomp.so.1", "libgomp-x.so");
    let (program, argument) = (at.join("program"), at.join("libsum.so"));
    let run = |words: &[&str]| outcome(gangway(&library, &at).args(words).arg(&program).arg(&argument));
    let (status, _, complaints) = run(&["run", "--verify"]);
    assert!(
        status == Some(126)
            && complaints.contains("OpenMP functions were bound to ")
            && complaints.contains("libgomp-x.so, not to Gangway"),
        "{status:?} {complaints}"
    );
    let (status, said, _) = run(&["doctor", "--fix-check"]);
    assert!(status == Some(2) && said.contains("fix check: OpenMP functions were bound to "), "{said}");
}
