//! The OpenMP runtimes a program can be put on, and the environment that does it.
//!
//! Lives here: LD_PRELOAD, the directory of symlinks, and where Debian keeps libomp.

use crate::programs::{Places, Program};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The names under which programs ask for their OpenMP runtime.
const NAMES: [&str; 3] = ["libgomp.so.1", "libomp.so.5", "libiomp5.so"];

/// The names under which programs with images for devices ask for LLVM's offloading library, which Gangway is, too.
pub const OFFLOAD_NAMES: [&str; 5] = [
    "libomptarget.so.19.1",
    "libomptarget.so.20.1",
    "libomptarget.so.21.1",
    "libomptarget.so.22.1",
    "libomptarget.so.22",
];

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

/// What belongs beside the library where MPI ranks are devices: `cargo xtask bridge` builds them.
const BESIDE: [&str; 5] = [
    "libgangway_mpi_openmpi.so",
    "libgangway_mpi_mpich.so",
    "libgangway_aware_openmpi.so",
    "libgangway_aware_mpich.so",
    "libgangway_start.so",
];

/// Puts a copy of a file there, whole at any moment.
fn place(file: &Path, directory: &Path, name: &str) -> io::Result<()> {
    let fresh = directory.join(format!("{name}.{}", std::process::id()));
    fs::copy(file, &fresh)?;
    fs::rename(&fresh, directory.join(name))
}

/// Makes `directory` hold a copy of `library`, of the bridges to MPI that lie beside it, and the names of all OpenMP runtimes as links to it. Programs that run on an
/// older copy keep it.
///
/// # Errors
/// A library that is not there, or a directory, a copy or a link that cannot be made. Links that exist are replaced; a file
/// of such a name that is not a link is an error, for it may be a real runtime.
pub fn install_links(library: &Path, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    place(library, directory, FILE)?;
    for name in BESIDE {
        let file = library.with_file_name(name);
        if file.exists() {
            place(&file, directory, name)?;
        }
    }
    for name in NAMES.into_iter().chain(OFFLOAD_NAMES) {
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
