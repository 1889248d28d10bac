//! Which MPI launcher starts the ranks: that of the MPI that the program is linked with, else one
//! that is installed and has a bridge.
//!
//! Names such as `mpirun.mpich` tell whose they are. `mpirun` and `mpiexec` are asked, by
//! `--version`.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

use links::mpi::LinkedMpi;

use crate::failure::CommandFailure;

/// A launcher, with the MPI whose ranks it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// What to run: a name on `PATH`, or a path.
    pub word: OsString,
    pub mpi: LinkedMpi,
}

/// What a machine has.
pub trait LauncherMachine {
    /// Is there such a program?
    fn has(&self, word: &OsStr) -> bool;
    /// Whose launcher that is.
    fn owner(&self, word: &OsStr) -> Option<LinkedMpi>;
}

/// This one.
pub struct Here;

impl LauncherMachine for Here {
    fn has(&self, word: &OsStr) -> bool {
        crate::program::find(word, std::env::var_os("PATH").as_deref()).is_ok()
    }

    fn owner(&self, word: &OsStr) -> Option<LinkedMpi> {
        by_name(word).or_else(|| {
            let said = Command::new(word)
                .arg("--version")
                .stdin(Stdio::null())
                .stderr(Stdio::null())
                .output()
                .ok()?;
            by_version(&String::from_utf8_lossy(&said.stdout))
        })
    }
}

/// By a name that only one MPI's launcher has.
fn by_name(word: &OsStr) -> Option<LinkedMpi> {
    let name = Path::new(word).file_name()?.to_str()?;
    let has = |mpi: &LinkedMpi| mpi.launchers().contains(&name);
    let mut all = LinkedMpi::ALL.into_iter().filter(has);
    all.next().filter(|_| all.next().is_none())
}

/// By what `--version` says. Those that speak of Hydra (Intel's, MVAPICH's) start ranks of MPICH's
/// binary interface.
fn by_version(text: &str) -> Option<LinkedMpi> {
    let says = |words: &[&str]| words.iter().any(|w| text.contains(w));
    if says(&["Open MPI", "OpenRTE", "PRRTE"]) {
        Some(LinkedMpi::OpenMpi)
    } else {
        says(&["HYDRA", "MPICH", "Intel(R) MPI"]).then_some(LinkedMpi::Mpich)
    }
}

/// What is known before a launcher is chosen.
pub struct LauncherRequest<'a> {
    /// `--launcher`.
    pub given: Option<&'a OsStr>,
    /// The MPI that the program is linked with, or loads by its user's word.
    pub program: Option<LinkedMpi>,
    /// Whether the libraries that the ranks need are there for an MPI.
    pub is_served: &'a dyn Fn(LinkedMpi) -> bool,
}

/// The launcher.
pub fn choose(wish: &LauncherRequest<'_>, machine: &dyn LauncherMachine) -> Result<Launcher, CommandFailure> {
    if let Some(word) = wish.given {
        return given(word, wish, machine);
    }
    let of = |mpi: LinkedMpi| {
        let fits =
            |word: &&&str| machine.has(OsStr::new(word)) && machine.owner(OsStr::new(word)) == Some(mpi);
        mpi.launchers().iter().find(fits).map(|word| Launcher { word: word.into(), mpi })
    };
    if let Some(mpi) = wish.program {
        return of(mpi).ok_or_else(|| {
            let (title, names) = (mpi.title(), mpi.launchers().join(", "));
            CommandFailure::not_found(format!("the program's MPI is {title}, and no launcher of it is on PATH ({names}); --launcher names one"))
        });
    }
    // What the machine's owner made the plain name mean comes first.
    let usual = ["mpirun", "mpiexec"]
        .into_iter()
        .map(OsStr::new)
        .find(|w| machine.has(w))
        .and_then(|w| machine.owner(w));
    let others = LinkedMpi::ALL.into_iter().filter(|mpi| Some(*mpi) != usual);
    let mut found: Vec<Launcher> = usual.into_iter().chain(others).filter_map(of).collect();
    let served = found.iter().position(|l| (wish.is_served)(l.mpi)).unwrap_or(0);
    if found.is_empty() {
        return Err(CommandFailure::not_found(
            "no MPI launcher is on PATH (mpirun of Open MPI or MPICH); --launcher names one",
        ));
    }
    Ok(found.swap_remove(served))
}

/// The launcher that the user named.
fn given(
    word: &OsStr,
    wish: &LauncherRequest<'_>,
    machine: &dyn LauncherMachine,
) -> Result<Launcher, CommandFailure> {
    let shown = word.display();
    if !machine.has(word) {
        return Err(CommandFailure::not_found(format!("the launcher {shown} is not there")));
    }
    let launcher = |mpi| Launcher { word: word.to_os_string(), mpi };
    match (machine.owner(word), wish.program) {
        (Some(owner), Some(mpi)) if owner != mpi => Err(CommandFailure::own(format!(
            "the program's MPI is {}, and {shown} starts ranks of {}",
            mpi.title(),
            owner.title()
        ))),
        (Some(owner), _) => Ok(launcher(owner)),
        // A launcher of every MPI (srun): what the program has, or the only one that can be meant.
        (None, Some(mpi)) => Ok(launcher(mpi)),
        (None, None) => {
            match LinkedMpi::ALL.into_iter().filter(|m| (wish.is_served)(*m)).collect::<Vec<_>>()[..] {
                [only] => Ok(launcher(only)),
                _ => Err(CommandFailure::own(format!(
                    "{shown} does not say whose ranks it starts; --mpi=openmpi or --mpi=mpich does"
                ))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Launchers with their owners.
    struct Described(&'static [(&'static str, Option<LinkedMpi>)]);

    impl LauncherMachine for Described {
        fn has(&self, word: &OsStr) -> bool {
            self.0.iter().any(|(name, _)| word == *name)
        }
        fn owner(&self, word: &OsStr) -> Option<LinkedMpi> {
            self.0.iter().find(|(name, _)| word == *name).and_then(|(_, owner)| *owner)
        }
    }

    const OPEN: Option<LinkedMpi> = Some(LinkedMpi::OpenMpi);
    const MPICH: Option<LinkedMpi> = Some(LinkedMpi::Mpich);
    const DEBIAN: Described =
        Described(&[("mpirun", OPEN), ("mpirun.openmpi", OPEN), ("mpirun.mpich", MPICH), ("srun", None)]);

    fn chosen(
        given: Option<&str>,
        program: Option<LinkedMpi>,
        served: &[LinkedMpi],
        machine: &Described,
    ) -> Result<(String, LinkedMpi), CommandFailure> {
        let wish = LauncherRequest {
            given: given.map(OsStr::new),
            program,
            is_served: &|mpi| served.contains(&mpi),
        };
        choose(&wish, machine).map(|l| (l.word.display().to_string(), l.mpi))
    }

    #[test]
    fn the_program_s_mpi_decides_and_else_what_is_served() {
        let both = LinkedMpi::ALL;
        assert_eq!(chosen(None, MPICH, &both, &DEBIAN), Ok(("mpirun.mpich".into(), LinkedMpi::Mpich)));
        assert_eq!(chosen(None, None, &both, &DEBIAN), Ok(("mpirun.openmpi".into(), LinkedMpi::OpenMpi)));
        assert_eq!(
            chosen(None, None, &[LinkedMpi::Mpich], &DEBIAN),
            Ok(("mpirun.mpich".into(), LinkedMpi::Mpich))
        );
        assert_eq!(
            chosen(None, None, &[], &DEBIAN).unwrap().1,
            LinkedMpi::OpenMpi,
            "whoever asks says that nothing serves it"
        );
        let plain = Described(&[("mpirun", MPICH)]);
        assert_eq!(chosen(None, None, &both, &plain), Ok(("mpirun".into(), LinkedMpi::Mpich)));
        assert_eq!(chosen(None, OPEN, &both, &plain).unwrap_err().status, 127);
        assert_eq!(chosen(None, None, &both, &Described(&[])).unwrap_err().status, 127);
        assert_eq!(chosen(None, None, &both, &Described(&[("mpirun", None)])).unwrap_err().status, 127);
    }

    #[test]
    fn the_user_s_launcher_is_taken_if_it_fits() {
        let both = LinkedMpi::ALL;
        assert_eq!(chosen(Some("mpirun"), None, &both, &DEBIAN), Ok(("mpirun".into(), LinkedMpi::OpenMpi)));
        assert!(
            chosen(Some("mpirun"), MPICH, &both, &DEBIAN)
                .is_err_and(|f| f.line.contains("MPICH, and mpirun starts ranks of Open MPI"))
        );
        assert_eq!(chosen(Some("srun"), MPICH, &both, &DEBIAN), Ok(("srun".into(), LinkedMpi::Mpich)));
        assert_eq!(
            chosen(Some("srun"), None, &[LinkedMpi::OpenMpi], &DEBIAN),
            Ok(("srun".into(), LinkedMpi::OpenMpi))
        );
        assert!(chosen(Some("srun"), None, &both, &DEBIAN).is_err_and(|f| f.line.contains("--mpi=")));
        assert_eq!(chosen(Some("mpirun.other"), None, &both, &DEBIAN).unwrap_err().status, 127);
    }

    #[test]
    fn launchers_are_known_by_name_or_by_what_they_say() {
        assert_eq!(
            [by_name(OsStr::new("/opt/bin/mpirun.openmpi")), by_name(OsStr::new("mpiexec.hydra"))],
            [OPEN, MPICH]
        );
        assert_eq!([by_name(OsStr::new("mpirun")), by_name(OsStr::new("srun"))], [None, None]);
        assert_eq!(
            [
                by_version("mpirun (Open MPI) 4.1.4\n"),
                by_version("HYDRA build details:\n    Version: 4.0.2\n")
            ],
            [OPEN, MPICH]
        );
        assert_eq!([by_version("prterun (PRRTE) 3.0.2"), by_version("slurm 22.05.8")], [OPEN, None]);
    }
}
