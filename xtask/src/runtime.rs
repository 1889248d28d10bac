//! The OpenMP runtimes a program can be put on, and the environment that does it.
//!
//! Lives here: LD_PRELOAD, the directory of symlinks, and where Debian keeps libomp.

use crate::programs::{Places, Program};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The names under which programs ask for their OpenMP runtime.
const NAMES: [&str; 3] = ["libgomp.so.1", "libomp.so.5", "libiomp5.so"];

/// The file they are links to. Programs that set numbers of threads from outside (threadpoolctl, and through it joblib and
/// scikit-learn) follow the links and know a runtime by how that name begins.
const FILE: &str = "libomp-libgangway.so";

/// A runtime and the way it is put under a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Runtime {
    /// What the program was linked against.
    Own,
    /// A library by LD_PRELOAD.
    Preload(PathBuf),
    /// A directory of symlinks on LD_LIBRARY_PATH.
    Links(PathBuf),
}

impl Runtime {
    /// The environment that runs `program` on this runtime with `threads` OpenMP threads.
    pub fn env(&self, program: &Program, threads: u32) -> Vec<(String, String)> {
        let mut env = vec![("OMP_NUM_THREADS".to_string(), threads.to_string())];
        let mut path: Vec<String> = program.libraries.iter().cloned().collect();
        match self {
            Runtime::Own => {}
            Runtime::Preload(library) => {
                env.push(("LD_PRELOAD".into(), library.display().to_string()))
            }
            Runtime::Links(directory) => {
                path.insert(0, directory.display().to_string());
                // A private copy has a name of its own; preloading by name takes the link from the directory.
                if program.bundled {
                    env.push(("LD_PRELOAD".into(), program.bundled_as.into()));
                }
            }
        }
        if !path.is_empty() {
            env.push(("LD_LIBRARY_PATH".into(), path.join(":")));
        }
        env
    }

    /// How the loader is told, in two words.
    pub fn words(&self) -> &'static str {
        match self {
            Runtime::Own => "own runtime",
            Runtime::Preload(_) => "LD_PRELOAD",
            Runtime::Links(_) => "symlinks",
        }
    }
}

/// Makes `directory` hold a copy of `library`, and the names of all OpenMP runtimes as links to it. Programs that run on an
/// older copy keep it.
///
/// # Errors
/// A library that is not there, or a directory, a copy or a link that cannot be made. Links that exist are replaced; a file
/// of such a name that is not a link is an error, for it may be a real runtime.
pub fn install_links(library: &Path, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let fresh = directory.join(format!("{FILE}.{}", std::process::id()));
    fs::copy(library, &fresh)?;
    fs::rename(&fresh, directory.join(FILE))?;
    for name in NAMES {
        let link = directory.join(name);
        if link.is_symlink() {
            fs::remove_file(&link)?;
        }
        symlink(FILE, &link)?;
    }
    Ok(())
}

/// The two ways in which Gangway is put under a program, with the directory of links made. What is preloaded is the copy
/// there, whose name programs know.
///
/// # Errors
/// As [`install_links`].
pub fn gangway(places: &Places, library: &Path) -> io::Result<[Runtime; 2]> {
    let links = places.target.join("programs/links");
    install_links(library, &links)?;
    Ok([
        Runtime::Preload(links.canonicalize()?.join(FILE)),
        Runtime::Links(links),
    ])
}

/// Debian's libomp, the newest one that is installed.
pub fn libomp() -> Option<PathBuf> {
    let versions = (14..30)
        .rev()
        .map(|v| PathBuf::from(format!("/usr/lib/llvm-{v}/lib/libomp.so.5")));
    versions.into_iter().find(|f| f.exists())
}
