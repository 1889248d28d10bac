//! `gangway doctor` and `gangway run --verify`: which runtimes are loaded, conflicts, and whether Gangway takes their place. Programs of both compilers in
//! one process, and wheels with copies of their own under other names.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{directory, executable, gangway, library, outcome};

const SUM: &str = "int NAME(void)\n{\n    int sum = 0;\n#pragma omp parallel num_threads(3) reduction(+ : sum)\n    sum++;\n    return sum;\n}\n";
const MAIN: &str = "#include <stdio.h>\nint main(void) { printf(\"%d\\n\", one() + two()); return 0; }\n";

fn built(compiler: &str, source: &Path, out: &Path, options: &[&str]) -> bool {
    Command::new(compiler).arg(source).args(["-O1", "-w", "-o"]).arg(out).args(options).output().is_ok_and(|o| o.status.success())
}

/// Two libraries, each for its compiler's runtime, and a program that calls both.
fn mixed(at: &Path) -> Option<PathBuf> {
    let write = |name: &str, text: &str| {
        fs::write(at.join(name), text).expect("the file can be written");
        at.join(name)
    };
    let (one, two) = (write("one.c", &SUM.replace("NAME", "one")), write("two.c", &SUM.replace("NAME", "two")));
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
        return eprintln!("two_runtimes_in_a_process_are_a_conflict_that_gangway_ends is left out: it needs gcc and clang-19 with their runtimes");
    };
    let doctor = |words: &[&str]| outcome(gangway(&library, &at).arg("doctor").args(words).arg(&program));
    let (status, said, complaints) = doctor(&["--static"]);
    assert!(status == Some(1) && said.contains("libgomp for ") && said.contains("libomp for ") && said.contains("gangway run -- "), "{said}{complaints}");
    let (status, said, _) = doctor(&[]);
    assert!(status == Some(1) && said.contains("conflict: 2 OpenMP runtimes in one process (libgomp and libomp)"), "{said}");
    let (status, said, _) = doctor(&["--fix-check"]);
    assert!(status == Some(0) && said.contains("fix check: on Gangway") && said.contains("none to another runtime"), "{said}");
    let (status, said, complaints) = outcome(gangway(&library, &at).args(["run", "--verify"]).arg(&program));
    assert!(status == Some(0) && said == "6\n" && complaints.contains("OpenMP functions were bound to it"), "{said}{complaints}");
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
    assert!(status == Some(0) && said.contains("loads no OpenMP runtime before main") && said.contains("no OpenMP runtime was loaded"), "{said}");
    assert_eq!((run(&["doctor"]).0, run(&["doctor", "there-is-no-such-program"]).0), (Some(125), Some(127)));
    executable(&at.join("text"), b"no program\n");
    assert_eq!(run(&["doctor", &at.join("text").display().to_string()]).0, Some(126));
    // A library whose copy of the runtime is its own affair.
    let source = at.join("own.c");
    fs::write(&source, format!("{}#include <stdio.h>\nint main(void) {{ printf(\"%d\\n\", own()); return 0; }}\n", SUM.replace("NAME", "own"))).unwrap();
    let program = at.join("own");
    if built("gcc", &source, &program, &["-fopenmp", "-Wl,-Bstatic", "-lgomp", "-Wl,-Bdynamic"]) {
        let word = program.display().to_string();
        let (status, said, _) = run(&["doctor", "--fix-check", &word]);
        assert!(status == Some(2) && said.contains("has an OpenMP runtime linked in"), "{said}");
        assert_eq!(run(&["run", "--verify", &word]).0, Some(126));
    }
}

/// A copy of a file in which one name is another of the same length.
fn renamed(from: &Path, to: &Path, old: &str, new: &str) {
    assert_eq!(old.len(), new.len());
    let mut bytes = fs::read(from).expect("it is there");
    let places: Vec<usize> = bytes.windows(old.len() + 1).enumerate().filter(|(_, w)| w[..old.len()] == *old.as_bytes() && w[old.len()] == 0).map(|(i, _)| i).collect();
    assert!(!places.is_empty(), "{old} in {}", from.display());
    for place in places {
        bytes[place..place + new.len()].copy_from_slice(new.as_bytes());
    }
    executable(to, &bytes);
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
    let runtime = Command::new("gcc").arg("-print-file-name=libgomp.so.1").output().ok().and_then(|o| fs::canonicalize(String::from_utf8_lossy(&o.stdout).trim()).ok());
    let made = built("gcc", &sum, &at.join("built.so"), &["-shared", "-fPIC", "-fopenmp", "-Wl,-rpath,$ORIGIN"]) && built("gcc", &main, &at.join("program"), &["-ldl"]);
    let Some(runtime) = runtime.filter(|_| made) else { return eprintln!("{NAME} is left out: it needs gcc with its runtime") };
    renamed(&at.join("built.so"), &at.join("libsum.so"), "libgomp.so.1", "libgomp-x.so");
    renamed(&runtime, &at.join("libgomp-x.so"), "libgomp.so.1", "libgomp-x.so");
    let (program, argument) = (at.join("program"), at.join("libsum.so"));
    let run = |words: &[&str]| outcome(gangway(&library, &at).args(words).arg(&program).arg(&argument));
    let (status, _, complaints) = run(&["run", "--verify"]);
    assert!(status == Some(126) && complaints.contains("OpenMP functions were bound to ") && complaints.contains("libgomp-x.so, not to Gangway"), "{status:?} {complaints}");
    let (status, said, _) = run(&["doctor", "--fix-check"]);
    assert!(status == Some(2) && said.contains("fix check: OpenMP functions were bound to "), "{said}");
}

/// A wheel with an extension of clang's, and its runtime beside it under another name; installed below `at`. Says why that cannot be.
fn wheel(at: &Path, python: &Path) -> Result<PathBuf, String> {
    let runtime = ["/usr/lib/llvm-19/lib/libomp.so.5"].map(PathBuf::from).into_iter().find(|f| f.is_file()).ok_or("LLVM's libomp is not installed")?;
    let rooms = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/doctor");
    let (package, libraries) = (at.join("wheel/tensors"), at.join("wheel/tensors.libs"));
    [&package, &libraries].iter().for_each(|d| fs::create_dir_all(d).expect("a directory"));
    fs::write(package.join("__init__.py"), "").expect("a file");
    if !built("clang-19", &rooms.join("extension.c"), &at.join("built.so"), &["-shared", "-fPIC", "-fopenmp", "-Wl,-rpath,$ORIGIN/../tensors.libs"]) {
        return Err("clang-19 builds no OpenMP library here".into());
    }
    renamed(&at.join("built.so"), &package.join("_sum.abi3.so"), "libomp.so.5", "libomp-1.so");
    renamed(&runtime, &libraries.join("libomp-1.so"), "libomp.so.5", "libomp-1.so");
    let run = |words: &[&str]| {
        let done = Command::new(python).args(words).output().map_err(|e| e.to_string())?;
        if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).into_owned()) }
    };
    let text = |path: PathBuf| path.display().to_string();
    run(&[&text(rooms.join("wheel.py")), &text(at.join("wheel")), "tensors", &text(at.to_path_buf())])?;
    let made = fs::read_dir(at).expect("it is there").flatten().map(|e| e.path()).find(|p| p.extension().is_some_and(|e| e == "whl")).ok_or("no wheel")?;
    let packages = at.join("site-packages");
    run(&["-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", &text(packages.clone()), &text(made)])?;
    Ok(packages)
}

#[test]
fn copies_in_wheels_are_named_and_gangway_takes_their_place() {
    const NAME: &str = "copies_in_wheels_are_named_and_gangway_takes_their_place";
    let Some(library) = library(NAME) else { return };
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("target");
    let python = target.join("programs/venv/bin/python");
    if !python.is_file() {
        return eprintln!("{NAME} is left out: {} is not there (cargo xtask setup makes it)", python.display());
    }
    let at = directory("wheels");
    let packages = match wheel(&at, &python) {
        Ok(packages) => packages,
        Err(why) => return eprintln!("{NAME} is left out: {why}"),
    };
    let doctor = |words: &[&str], rest: &[&str]| {
        let mut command = gangway(&library, &at);
        outcome(command.env("PYTHONPATH", &packages).arg("doctor").args(words).arg(&python).args(rest))
    };
    let (status, said, complaints) = doctor(&["--python", "--fix-check"], &[]);
    assert_eq!((status, complaints.as_str()), (Some(0), ""), "{said}");
    assert!(said.contains("scikit_learn.libs/libgomp-") && said.contains("tensors.libs/libomp-1.so: a copy of libomp, for a library of tensors"), "{said}");
    assert!(said.contains("conflict: 2 OpenMP runtimes in one process (libgomp and libomp)") && said.contains("fix: one runtime in place of all: gangway run -- "), "{said}");
    assert!(said.contains("fix check: on Gangway"), "{said}");
    let program = "import sklearn.utils._openmp_helpers as h, tensors._sum\nassert h._openmp_effective_n_threads() > 0";
    let (status, said, complaints) = doctor(&["--fix-check"], &["-c", program]);
    assert!(status == Some(0) && said.contains("libomp-1.so: ") && said.contains("fix check: on Gangway"), "{said}{complaints}");
}
