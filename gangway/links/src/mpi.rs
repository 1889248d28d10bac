//! The MPIs that are known, and which of them a program is linked with.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::object::{self, Object};

/// An MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mpi {
    /// Open MPI.
    OpenMpi,
    /// MPICH, and those that share its binary interface.
    Mpich,
}

impl Mpi {
    /// All of them.
    pub const ALL: [Mpi; 2] = [Mpi::OpenMpi, Mpi::Mpich];

    /// As in the names of libraries.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Mpi::OpenMpi => "openmpi",
            Mpi::Mpich => "mpich",
        }
    }

    /// As its makers call it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Mpi::OpenMpi => "Open MPI",
            Mpi::Mpich => "MPICH",
        }
    }

    /// Names of its launcher, those first that no other MPI's has.
    #[must_use]
    pub fn launchers(self) -> &'static [&'static str] {
        match self {
            Mpi::OpenMpi => &["mpirun.openmpi", "mpiexec.openmpi", "orterun", "prterun", "mpirun", "mpiexec"],
            Mpi::Mpich => &["mpirun.mpich", "mpiexec.mpich", "mpiexec.hydra", "mpirun", "mpiexec"],
        }
    }

    /// The library that carries messages between ranks.
    #[must_use]
    pub fn bridge(self) -> String {
        format!("libgangway_mpi_{}.so", self.name())
    }

    /// The library that lets threads wait in MPI calls without their worker.
    #[must_use]
    pub fn aware(self) -> String {
        format!("libgangway_aware_{}.so", self.name())
    }

    /// The MPI with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Mpi> {
        Mpi::ALL.into_iter().find(|mpi| mpi.name() == name)
    }

    /// Whose library that is, by its name.
    #[must_use]
    pub fn of_library(name: &str) -> Option<Mpi> {
        const OPEN: [&str; 7] = ["libmpi.so.20", "libmpi.so.40", "libmpi_mpifh.so", "libmpi_usempi", "libmpi_cxx.so", "libopen-rte.so", "libopen-pal.so"];
        const MPICH: [&str; 5] = ["libmpich", "libmpi.so.12", "libmpi.so.0", "libmpifort.so", "libmpicxx.so"];
        let begins = |list: &[&str]| list.iter().any(|known| name.starts_with(known));
        if begins(&OPEN) { Some(Mpi::OpenMpi) } else { begins(&MPICH).then_some(Mpi::Mpich) }
    }
}

/// Objects beyond this many are not looked at.
const MOST_OBJECTS: usize = 512;

/// The MPI that a program is linked with, itself or by libraries that it needs, as far as these are found where the loader looks first: the
/// paths in the object and in the program, `LD_LIBRARY_PATH`, the directories of `/etc/ld.so.conf.d` and the usual ones.
#[must_use]
pub fn linked(program: &Path) -> Option<Mpi> {
    let usual = usual_directories();
    let mut waiting = VecDeque::from([program.to_path_buf()]);
    let (mut known, mut first): (Vec<String>, Option<Vec<PathBuf>>) = (Vec::new(), None);
    while let Some(path) = waiting.pop_front() {
        let Ok(Some(object)) = object::read(&path) else { continue };
        let own = wanted(&object, &path);
        let of_program = &*first.get_or_insert_with(|| own.clone());
        let directories: Vec<&PathBuf> = own.iter().chain(of_program).chain(&usual).collect();
        for name in object.needed {
            if let Some(mpi) = Mpi::of_library(&name) {
                return Some(mpi);
            }
            if known.len() == MOST_OBJECTS || known.contains(&name) {
                continue;
            }
            waiting.extend(directories.iter().map(|d| d.join(&name)).find(|p| p.is_file()));
            known.push(name);
        }
    }
    None
}

/// Where an object wants its libraries looked for.
fn wanted(object: &Object, path: &Path) -> Vec<PathBuf> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let origin = real.parent().unwrap_or(Path::new("/")).display().to_string();
    object.paths.iter().map(|p| PathBuf::from(p.replace("$ORIGIN", &origin).replace("${ORIGIN}", &origin))).collect()
}

fn usual_directories() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = env::var_os("LD_LIBRARY_PATH").iter().flat_map(env::split_paths).collect();
    let files = fs::read_dir("/etc/ld.so.conf.d").into_iter().flatten().flatten();
    for text in files.filter_map(|file| fs::read_to_string(file.path()).ok()) {
        all.extend(text.lines().map(str::trim).filter(|l| l.starts_with('/')).map(PathBuf::from));
    }
    all.extend(["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"].map(PathBuf::from));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_known_by_their_names() {
        for (name, whose) in [
            ("libmpi.so.40", Some(Mpi::OpenMpi)),
            ("libmpi_mpifh.so.40", Some(Mpi::OpenMpi)),
            ("libmpich.so.12", Some(Mpi::Mpich)),
            ("libmpichfort.so.12", Some(Mpi::Mpich)),
            ("libmpi.so.12", Some(Mpi::Mpich)),
            ("libmpfr.so.6", None),
            ("libc.so.6", None),
        ] {
            assert_eq!(Mpi::of_library(name), whose, "{name}");
        }
        assert_eq!((Mpi::named("mpich"), Mpi::named("other")), (Some(Mpi::Mpich), None));
        assert_eq!(Mpi::OpenMpi.bridge(), "libgangway_mpi_openmpi.so");
        assert!(Mpi::ALL.iter().all(|mpi| crate::names::BESIDE.contains(&mpi.bridge().as_str()) && crate::names::BESIDE.contains(&mpi.aware().as_str())));
    }

    #[test]
    fn this_program_is_linked_with_none() {
        assert_eq!(linked(&env::current_exe().unwrap()), None);
        assert_eq!(linked(Path::new("/nonexistent")), None);
    }
}
