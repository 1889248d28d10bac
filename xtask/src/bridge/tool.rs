//! The command `gangway mpirun` under each launcher: it has to find what the checks of `ranks` are told.

use super::{Mpi, environment, ranks, words};
use crate::exec;
use crate::programs::Places;
use crate::report::Report;

/// Seconds that a run may take on a busy machine.
const LIMIT: u32 = 60;

/// One run with two ranks under each MPI.
pub fn run(places: &Places, mpis: &[Mpi], filter: &str, report: &mut Report) {
    if !"gangway mpirun".contains(filter) || !places.library().exists() {
        return;
    }
    let program = match ranks::known_program(places) {
        Ok(program) => program.display().to_string(),
        Err(why) => return report.skip("gangway mpirun", &format!("gcc builds no target regions here: {why}")),
    };
    if !exec::visible("cargo", &["build", "--quiet", "-p", "gangway"], &[], &places.root) {
        return report.fail("gangway mpirun", "cargo build -p gangway failed");
    }
    for mpi in mpis.iter().filter(|m| !m.launch.is_empty()) {
        let mut line = vec![places.target.join("debug/gangway").display().to_string()];
        line.extend(words(&["mpirun", "-n", "2", "--threads", "2", "--launcher", &mpi.launch[0]]));
        // The launcher's own options, without the one for the number of ranks.
        line.extend_from_slice(&mpi.launch[1..mpi.launch.len() - 1]);
        line.extend(["--".into(), program.clone()]);
        let (library, cache) = (places.library().display().to_string(), places.target.join("bridge/cache").display().to_string());
        let ran = exec::run(&line, &environment(&[("GANGWAY_LIB", &library), ("XDG_CACHE_HOME", &cache)]), &places.root, LIMIT);
        let said = exec::last_line(&ran.stderr).to_string();
        let problem = ran.problem.map(|p| format!("{p}: {said}"));
        let line = ran.stderr.lines().find(|l| l.contains("gangway: ")).map(|l| format!("says: {l}"));
        report.check(&format!("ranks [{}, 2 ranks]: by gangway mpirun", mpi.name), problem.or(line).into_iter().collect());
    }
}
