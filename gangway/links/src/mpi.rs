//! The MPIs that are known, and which of them a program is linked with.

use std::path::Path;

use crate::closure::{self, Surroundings};

/// An MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkedMpi {
    /// Open MPI.
    OpenMpi,
    /// MPICH, and those that share its binary interface.
    Mpich,
}

impl LinkedMpi {
    /// All of them.
    pub const ALL: [LinkedMpi; 2] = [LinkedMpi::OpenMpi, LinkedMpi::Mpich];

    /// As in the names of libraries.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LinkedMpi::OpenMpi => "openmpi",
            LinkedMpi::Mpich => "mpich",
        }
    }

    /// As its makers call it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            LinkedMpi::OpenMpi => "Open MPI",
            LinkedMpi::Mpich => "MPICH",
        }
    }

    /// Names of its launcher, those first that no other MPI's has.
    #[must_use]
    pub fn launchers(self) -> &'static [&'static str] {
        match self {
            LinkedMpi::OpenMpi => {
                &["mpirun.openmpi", "mpiexec.openmpi", "orterun", "prterun", "mpirun", "mpiexec"]
            }
            LinkedMpi::Mpich => &["mpirun.mpich", "mpiexec.mpich", "mpiexec.hydra", "mpirun", "mpiexec"],
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
    pub fn named(name: &str) -> Option<LinkedMpi> {
        LinkedMpi::ALL.into_iter().find(|mpi| mpi.name() == name)
    }

    /// Whose library that is, by its name.
    #[must_use]
    pub fn of_library(name: &str) -> Option<LinkedMpi> {
        const OPEN: [&str; 7] = [
            "libmpi.so.20",
            "libmpi.so.40",
            "libmpi_mpifh.so",
            "libmpi_usempi",
            "libmpi_cxx.so",
            "libopen-rte.so",
            "libopen-pal.so",
        ];
        const MPICH: [&str; 5] = ["libmpich", "libmpi.so.12", "libmpi.so.0", "libmpifort.so", "libmpicxx.so"];
        let begins = |list: &[&str]| list.iter().any(|known| name.starts_with(known));
        if begins(&OPEN) { Some(LinkedMpi::OpenMpi) } else { begins(&MPICH).then_some(LinkedMpi::Mpich) }
    }
}

/// The MPI that a program is linked with, itself or by libraries that it needs, as far as the
/// loader would find these.
#[must_use]
pub fn linked(program: &Path) -> Option<LinkedMpi> {
    let closure = closure::of(program, &Surroundings::here());
    closure.loaded.iter().flat_map(|one| &one.object.needed).find_map(|name| LinkedMpi::of_library(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_known_by_their_names() {
        for (name, whose) in [
            ("libmpi.so.40", Some(LinkedMpi::OpenMpi)),
            ("libmpi_mpifh.so.40", Some(LinkedMpi::OpenMpi)),
            ("libmpich.so.12", Some(LinkedMpi::Mpich)),
            ("libmpichfort.so.12", Some(LinkedMpi::Mpich)),
            ("libmpi.so.12", Some(LinkedMpi::Mpich)),
            ("libmpfr.so.6", None),
            ("libc.so.6", None),
        ] {
            assert_eq!(LinkedMpi::of_library(name), whose, "{name}");
        }
        assert_eq!((LinkedMpi::named("mpich"), LinkedMpi::named("other")), (Some(LinkedMpi::Mpich), None));
        assert_eq!(LinkedMpi::OpenMpi.bridge(), "libgangway_mpi_openmpi.so");
        assert!(LinkedMpi::ALL.iter().all(|mpi| crate::names::BESIDE.contains(&mpi.bridge().as_str())
            && crate::names::BESIDE.contains(&mpi.aware().as_str())));
    }

    #[test]
    fn this_program_is_linked_with_none() {
        assert_eq!(linked(&std::env::current_exe().unwrap()), None);
        assert_eq!(linked(Path::new("/nonexistent")), None);
    }
}
