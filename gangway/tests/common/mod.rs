//! What the tests of the command share: a directory each, the library if it has been built, and the
//! command itself.

#![allow(dead_code, reason = "each test program uses a part")]

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// An empty directory for one test.
pub fn directory(name: &str) -> PathBuf {
    let at = base().join(name);
    drop(fs::remove_dir_all(&at));
    fs::create_dir_all(&at).expect("a directory for the test");
    at
}

/// Where these are: the build directory, unless other users could change something there. Then the
/// command would refuse a cache in it.
fn base() -> PathBuf {
    let own = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // SAFETY: asks only.
    let user = unsafe { libc::geteuid() };
    let is_safe = |at: &Path| {
        fs::metadata(at).is_ok_and(|data| {
            [0, user].contains(&data.uid()) && (data.mode() & 0o022 == 0 || data.mode() & 0o1000 != 0)
        })
    };
    if own.ancestors().all(is_safe) {
        return own.into();
    }
    let other = std::env::temp_dir().join(format!("gangway-tests-{user}"));
    drop(fs::DirBuilder::new().mode(0o700).create(&other));
    other
}

/// The library: that of `GANGWAY_LIB`, or one that cargo has built; otherwise says why a test is
/// left out.
pub fn library(test: &str) -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_BIN_EXE_gangway")).ancestors().nth(2).expect("target/PROFILE/gangway");
    let built = ["release", "debug"].map(|profile| target.join(profile).join("libgangway.so"));
    let found =
        std::env::var_os("GANGWAY_LIB").map(PathBuf::from).into_iter().chain(built).find(|f| f.is_file());
    if found.is_none() {
        eprintln!(
            "{test} is left out: libgangway.so has not been built (cargo build --release -p libomp-shim)"
        );
    }
    found
}

/// The command, with the library named and a cache of its own.
pub fn gangway(library: &Path, cache: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gangway"));
    command.env("GANGWAY_LIB", library).env("XDG_CACHE_HOME", cache);
    for name in ["LD_PRELOAD", "LD_LIBRARY_PATH", "OMP_NUM_THREADS"] {
        command.env_remove(name);
    }
    command
}

/// Gives a command the environment that another one would have.
pub fn copy_environment(from: &Command, to: &mut Command) {
    for (name, value) in from.get_envs() {
        match value {
            Some(value) => to.env(name, value),
            None => to.env_remove(name),
        };
    }
}

/// Status, standard output and standard error.
pub fn outcome(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().expect("the command starts");
    (
        status.code(),
        String::from_utf8_lossy(&stdout).into_owned(),
        String::from_utf8_lossy(&stderr).into_owned(),
    )
}

/// Writes an executable file.
pub fn executable(file: &Path, bytes: &[u8]) {
    fs::write(file, bytes).expect("the file can be written");
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("and made executable");
}

/// Builds a C source. False where this compiler, or its OpenMP runtime, is not here.
pub fn built(compiler: &str, source: &Path, out: &Path, options: &[&str]) -> bool {
    Command::new(compiler)
        .arg(source)
        .args(["-O1", "-w", "-o"])
        .arg(out)
        .args(options)
        .output()
        .is_ok_and(|o| o.status.success())
}

/// A copy of a file in which one name is another of the same length.
pub fn renamed(from: &Path, to: &Path, old: &str, new: &str) {
    assert_eq!(old.len(), new.len());
    let mut bytes = fs::read(from).expect("it is there");
    let places: Vec<usize> = bytes
        .windows(old.len() + 1)
        .enumerate()
        .filter(|(_, w)| w[..old.len()] == *old.as_bytes() && w[old.len()] == 0)
        .map(|(i, _)| i)
        .collect();
    assert!(!places.is_empty(), "{old} in {}", from.display());
    for place in places {
        bytes[place..place + new.len()].copy_from_slice(new.as_bytes());
    }
    executable(to, &bytes);
}
