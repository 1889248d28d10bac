//! `gangway doctor` on Pythons whose packages bring runtimes of their own. It checks the copies
//! that the doctor names, and the conflict. The lines that it prints as the fix are run as they
//! stand: they must put one runtime under the script and leave its results alone.
//!
//! Wheels are made here: an extension of gcc's and one of clang's, each with a copy of its runtime
//! under another name, as PyTorch's and others' have. The packages scikit-learn and numpy come from
//! the environment for checks (`cargo xtask setup`), or from PyPI into a fresh one. PyTorch itself,
//! where it is asked for, comes from Debian:
//!
//! ```text
//! apt install python3-torch && cargo test -p gangway --test python -- --ignored
//! ```
//!
//! Rejected: PyTorch from PyPI. It comes with CUDA's libraries, which are gigabytes.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{built, directory, gangway, library, outcome, renamed};

/// A wheel with a copy of a runtime.
struct Wheel {
    name: &'static str,
    compiler: &'static str,
    runtime: PathBuf,
    /// What the runtime is called, and its copy: as many letters.
    names: [&'static str; 2],
}

/// A wheel of each compiler whose runtime is here.
fn wheels() -> Vec<Wheel> {
    let libgomp = Command::new("gcc")
        .arg("-print-file-name=libgomp.so.1")
        .output()
        .map(|o| String::from_utf8_lossy(&o.stdout).trim().to_string())
        .unwrap_or_default();
    let llvm = Wheel {
        name: "tensors",
        compiler: "clang-19",
        runtime: "/usr/lib/llvm-19/lib/libomp.so.5".into(),
        names: ["libomp.so.5", "libomp-1.so"],
    };
    let gcc = Wheel {
        name: "gradients",
        compiler: "gcc",
        runtime: libgomp.into(),
        names: ["libgomp.so.1", "libgomp-7.so"],
    };
    vec![llvm, gcc]
}

/// Ends well, or says what it complained of.
fn done(command: &mut Command) -> Result<(), String> {
    let (status, _, complaints) = outcome(command);
    if status == Some(0) { Ok(()) } else { Err(format!("{:?}: {complaints}", command.get_program())) }
}

impl Wheel {
    /// Packs it below `at`, by `python`; or says why that cannot be.
    fn packed(&self, at: &Path, python: &Path) -> Result<PathBuf, String> {
        let [old, new] = self.names;
        let runtime =
            self.runtime.canonicalize().map_err(|_| format!("{} has no {old} here", self.compiler))?;
        let rooms = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/doctor");
        let (root, name) = (at.join(self.name), self.name);
        let (package, libraries) = (root.join(name), root.join(format!("{name}.libs")));
        [&package, &libraries].iter().for_each(|d| fs::create_dir_all(d).expect("a directory"));
        fs::write(package.join("__init__.py"), "").expect("a file");
        let (object, path) = (at.join("built.so"), format!("-Wl,-rpath,$ORIGIN/../{name}.libs"));
        if !built(
            self.compiler,
            &rooms.join("extension.c"),
            &object,
            &["-shared", "-fPIC", "-fopenmp", &path],
        ) {
            return Err(format!("{} builds no OpenMP library here", self.compiler));
        }
        renamed(&object, &package.join("_sum.abi3.so"), old, new);
        renamed(&runtime, &libraries.join(new), old, new);
        done(Command::new(python).arg(rooms.join("wheel.py")).arg(&root).arg(name).arg(at))?;
        let begins =
            |p: &PathBuf| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&format!("{name}-")));
        fs::read_dir(at)
            .expect("it is there")
            .flatten()
            .map(|e| e.path())
            .find(|p| begins(p) && p.extension().is_some_and(|e| e == "whl"))
            .ok_or_else(|| "no wheel".into())
    }

    /// How doctor names the copy.
    fn copy(&self) -> String {
        let title = self.names[0].split('.').next().expect("a name");
        format!("{0}.libs/{1}: a copy of {title}, for a library of {0}", self.name, self.names[1])
    }
}

/// The Python of the environment for checks; otherwise says why a test is left out.
fn installed(test: &str) -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("target");
    let python = target.join("programs/venv/bin/python");
    if !python.is_file() {
        eprintln!("{test} is left out: {} is not there (cargo xtask setup makes it)", python.display());
    }
    python.is_file().then_some(python)
}

/// What an environment's packages are taken from.
enum Packages<'a> {
    /// Those of another Python, which also installs.
    Other(&'a Path),
    /// PyPI, and Debian for what is not named.
    Pypi(&'a [&'a str]),
}

/// A fresh environment `at/venv` with these packages, and with wheels of each compiler.
fn environment(at: &Path, from: &Packages) -> Result<Vec<Wheel>, String> {
    let venv = at.join("venv");
    let python = venv.join("bin/python");
    let mut make = Command::new("/usr/bin/python3");
    make.args(["-m", "venv"]).arg(&venv);
    match from {
        Packages::Other(other) => {
            done(make.arg("--without-pip"))?;
            let (_, packages, _) = outcome(
                Command::new(other).args(["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]),
            );
            let (_, own, _) = outcome(
                Command::new(&python).args(["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]),
            );
            fs::write(Path::new(own.trim()).join("more.pth"), packages).map_err(|e| format!("{own}: {e}"))?;
        }
        Packages::Pypi(names) => {
            done(make.arg("--system-site-packages"))?;
            done(Command::new(&python).args(["-m", "pip", "install", "-q"]).args(*names))?;
        }
    }
    let installer = if let Packages::Other(other) = from { other.to_path_buf() } else { python.clone() };
    let wheels = wheels();
    for wheel in &wheels {
        let file = wheel.packed(at, &python)?;
        done(
            Command::new(&installer)
                .args(["-m", "pip", "--python"])
                .arg(&python)
                .args(["install", "-q", "--no-index", "--no-deps"])
                .arg(file),
        )?;
    }
    Ok(wheels)
}

/// The lines that doctor prints as the fix, as commands.
fn fixes(said: &str) -> Vec<&str> {
    let fix = |line: &'static str| said.lines().find_map(|l| l.trim().strip_prefix(line));
    ["fix: one runtime in place of all: ", "or: "].into_iter().filter_map(fix).collect()
}

/// Doctor looks at the script; then each fix is run as it stands, by a shell where doctor was: it
/// prints what the script prints alone, and functions are bound to Gangway only.
fn doctor_and_fixes(library: &Path, at: &Path, script: &str, named: &[String]) {
    fs::write(at.join("script.py"), script).expect("a file");
    let here = |command: &mut Command| {
        outcome(command.current_dir(at).env("GANGWAY_LIB", library).env("XDG_CACHE_HOME", at))
    };
    let (status, alone, complaints) = here(Command::new("venv/bin/python").arg("script.py"));
    assert_eq!(status, Some(0), "{complaints}");
    let (status, said, complaints) =
        here(gangway(library, at).args(["doctor", "--python", "--", "venv/bin/python", "script.py"]));
    assert_eq!(status, Some(1), "{said}{complaints}");
    for name in named {
        assert!(said.contains(name.as_str()), "{name} is not in\n{said}");
    }
    let fixes = fixes(&said);
    assert_eq!(fixes.len(), 2, "{said}");
    for fix in &fixes {
        let (status, printed, complaints) = here(Command::new("sh").args(["-c", fix]));
        assert_eq!((status, printed.as_str()), (Some(0), alone.as_str()), "{fix}: {complaints}");
    }
    let verified = fixes[0].replacen(" run ", " run --verify ", 1);
    let (status, _, complaints) = here(Command::new("sh").args(["-c", &verified]));
    assert!(
        status == Some(0)
            && complaints.contains("OpenMP functions were bound to it, none to another runtime"),
        "{verified}: {complaints}"
    );
}

/// Regions of scikit-learn, and answers that do not depend on the order of sums.
const SKLEARN: &str = "import numpy as np
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier
x = np.random.default_rng(1).normal(size=(4000, 8))
x[::2] += 4
print(np.bincount(KMeans(2, n_init=1, random_state=1).fit(x).labels_))
print(HistGradientBoostingClassifier(max_iter=5, random_state=1).fit(x, x[:, 0] > 2).predict(x).sum())
";

#[test]
fn a_fresh_environment_with_three_copies_is_put_on_one_runtime() {
    const NAME: &str = "a_fresh_environment_with_three_copies_is_put_on_one_runtime";
    let (Some(library), Some(other)) = (library(NAME), installed(NAME)) else { return };
    let at = directory("python");
    let wheels = match environment(&at, &Packages::Other(&other)) {
        Ok(wheels) => wheels,
        Err(why) => return eprintln!("{NAME} is left out: {why}"),
    };
    let mut named: Vec<String> = wheels.iter().map(Wheel::copy).collect();
    named.extend([
        "scikit_learn.libs/libgomp-".into(),
        "conflict: 3 OpenMP runtimes in one process (libgomp and libomp)".into(),
    ]);
    let (status, said, complaints) = outcome(
        gangway(&library, &at)
            .args(["doctor", "--python", "--fix-check", "venv/bin/python"])
            .current_dir(&at),
    );
    assert_eq!((status, complaints.as_str()), (Some(0), ""), "{said}");
    assert!(named.iter().all(|name| said.contains(name)), "{said}");
    assert!(
        said.contains("fix: one runtime in place of all: ") && said.contains("fix check: on Gangway"),
        "{said}"
    );
    doctor_and_fixes(&library, &at, &format!("import tensors._sum, gradients._sum\n{SKLEARN}"), &named);
}

/// PyTorch's regions beside those of scikit-learn.
const TORCH: &str = "import torch
torch.manual_seed(1)
a = torch.randint(0, 9, (600, 600)).float()
print(torch.get_num_threads(), int((a @ a).sum()), int(torch.relu(a - 4).sum()))
";

#[test]
#[ignore = "installs from PyPI, and needs python3-torch: see the head of this file"]
fn scikit_learn_numpy_and_pytorch_are_put_on_one_runtime() {
    const NAME: &str = "scikit_learn_numpy_and_pytorch_are_put_on_one_runtime";
    let library = library(NAME).expect("asked for");
    let at = directory("pytorch");
    let wheels =
        environment(&at, &Packages::Pypi(&["numpy==1.26.4", "scikit-learn==1.5.2"])).expect("asked for");
    let mut named: Vec<String> = wheels.iter().map(Wheel::copy).collect();
    named.extend(
        [
            "scikit_learn.libs/libgomp-",
            "/libgomp.so.1.0.0: ",
            "conflict: 4 OpenMP runtimes in one process (libgomp and libomp)",
        ]
        .map(String::from),
    );
    doctor_and_fixes(
        &library,
        &at,
        &format!("import tensors._sum, gradients._sum\n{SKLEARN}{TORCH}"),
        &named,
    );
}
