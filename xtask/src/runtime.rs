//! The OpenMP runtimes a program can be put on, and the environment that does it.
//!
//! Lives here: LD_PRELOAD, and where Debian keeps libomp. The directory of links is made by the
//! crate `links`.

use crate::programs::{RealProgram, Workspace};
use links::{install, names};
use std::io;
use std::path::{Path, PathBuf};

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
    pub fn env(&self, program: &RealProgram, threads: u32) -> Vec<(String, String)> {
        let mut env = vec![("OMP_NUM_THREADS".to_string(), threads.to_string())];
        let mut path: Vec<String> = program.libraries.iter().cloned().collect();
        match self {
            Runtime::Own => {}
            Runtime::Preload(library) => env.push(("LD_PRELOAD".into(), library.display().to_string())),
            Runtime::Links(directory) => {
                path.insert(0, directory.display().to_string());
                // A private copy has a name of its own; preloading by name takes the link from the
                // directory.
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

    /// How the loader is instructed, in two words.
    pub fn words(&self) -> &'static str {
        match self {
            Runtime::Own => "own runtime",
            Runtime::Preload(_) => "LD_PRELOAD",
            Runtime::Links(_) => "symlinks",
        }
    }
}

/// The two ways in which Gangway is put under a program, with the directory of links made. What is
/// preloaded is the copy there, whose name programs know.
///
/// # Errors
/// As [`install::install`].
pub fn gangway(places: &Workspace, library: &Path) -> io::Result<[Runtime; 2]> {
    let links = places.target.join("programs/links");
    install::install(library, &links)?;
    Ok([Runtime::Preload(links.canonicalize()?.join(names::FILE)), Runtime::Links(links)])
}

/// Debian's libomp, the newest one that is installed.
pub fn libomp() -> Option<PathBuf> {
    let versions = (14..30).rev().map(|v| PathBuf::from(format!("/usr/lib/llvm-{v}/lib/libomp.so.5")));
    versions.into_iter().find(|f| f.exists())
}
