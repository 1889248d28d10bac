//! The command `gangway` under each launcher: `mpirun` has to find what the checks of `ranks` are
//! given, `autotune` has to measure, and policies have to believe what is written down.

use super::{MpiInstall, environment, ranks, words};
use crate::exec;
use crate::programs::Workspace;
use crate::report::Report;
use placement::rates::Rates;
use std::fs;
use std::path::PathBuf;

/// Seconds that a run may take on a busy machine.
const LIMIT: u32 = 60;

/// Rank 1 can be reached soon, rank 2 late; and the other way round.
const WRITTEN: [&str; 2] = [
    "gangway-rates 1\nrank 0 100 10 1 a\nrank 1 1000 10 1 a\nrank 2 1000000 0.001 1 a\n",
    "gangway-rates 1\nrank 0 100 10 1 a\nrank 1 1000000 0.001 1 a\nrank 2 1000 10 1 a\n",
];

/// Some runs under each MPI.
pub fn run(places: &Workspace, mpis: &[MpiInstall], filter: &str, report: &mut Report) {
    if !"gangway mpirun autotune".contains(filter) || !places.library().exists() {
        return;
    }
    let programs = match ["where", "rates"]
        .into_iter()
        .map(|name| ranks::known_program(places, name))
        .collect::<Result<Vec<_>, String>>()
    {
        Ok(programs) => programs.iter().map(|p| p.display().to_string()).collect::<Vec<_>>(),
        Err(why) => {
            return report.skip("gangway mpirun", &format!("gcc builds no target regions here: {why}"));
        }
    };
    if !exec::visible("cargo", &["build", "--quiet", "-p", "gangway"], &[], &places.root) {
        return report.fail("gangway mpirun", "cargo build -p gangway failed");
    }
    for (at, mpi) in mpis.iter().filter(|m| !m.launch.is_empty()).enumerate() {
        let tool = Tool { places, mpi };
        let problem = tool.run("mpirun", "2", &["--threads", "2"], &["--", &programs[0]]);
        report.check(
            &format!("ranks [{}, 2 ranks]: by gangway mpirun", mpi.name),
            problem.into_iter().collect(),
        );
        report.check(
            &format!("ranks [{}, 3 ranks]: gangway autotune", mpi.name),
            tool.measured().into_iter().collect(),
        );
        report.check(
            &format!("ranks [{}, 3 ranks]: regions go where data arrive soonest", mpi.name),
            tool.believed(at % WRITTEN.len(), &programs[1]).into_iter().collect(),
        );
    }
}

struct Tool<'a> {
    places: &'a Workspace,
    mpi: &'a MpiInstall,
}

impl Tool<'_> {
    fn file(&self, name: &str) -> PathBuf {
        self.places.target.join("bridge").join(name)
    }

    /// Runs a command with so many ranks; what is wrong with the run.
    fn run(&self, command: &str, ranks: &str, options: &[&str], program: &[&str]) -> Option<String> {
        let launch = &self.mpi.launch;
        let mut line = vec![self.places.target.join("debug/gangway").display().to_string()];
        line.extend(words(&[command, "-n", ranks, "--launcher", &launch[0]]));
        line.extend(words(options));
        // The launcher's own options, without the one for the number of ranks.
        line.extend_from_slice(&launch[1..launch.len() - 1]);
        line.extend(words(program));
        let (library, cache) =
            (self.places.library().display().to_string(), self.file("cache").display().to_string());
        let ran = exec::run(
            &line,
            &environment(&[("GANGWAY_LIB", &library), ("XDG_CACHE_HOME", &cache)]),
            &self.places.root,
            LIMIT,
        );
        let said = ran
            .stderr
            .lines()
            .find(|l| l.contains("gangway: "))
            .or(ran.stderr.lines().next())
            .unwrap_or_default();
        let ours = said.contains("gangway: ").then(|| format!("says: {said}"));
        ran.problem.map(|p| format!("{p}: {said}")).or(ours)
    }

    fn measured(&self) -> Option<String> {
        let file = self.file(&format!("rates-{}", self.mpi.name));
        let problem = self.run("autotune", "3", &["--out", &file.display().to_string()], &[]);
        problem.or_else(|| {
            match fs::read_to_string(&file).map_err(|e| e.to_string()).and_then(|text| Rates::read(&text)) {
                Ok(rates) if rates.ranks().count() == 3 && rates.ways().len() == 1 => None,
                Ok(rates) => Some(format!(
                    "{} ranks and {} pairs are in the file",
                    rates.ranks().count(),
                    rates.ways().len()
                )),
                Err(why) => Some(format!("{}: {why}", file.display())),
            }
        })
    }

    /// Device 0 with one MPI, device 1 with the next: four regions in a row say enough.
    fn believed(&self, device: usize, program: &str) -> Option<String> {
        let file = self.file("rates-written");
        if let Err(why) = fs::write(&file, WRITTEN[device]) {
            return Some(format!("{}: {why}", file.display()));
        }
        let rates = format!("OMPX_RATES={}", file.display());
        self.run(
            "mpirun",
            "3",
            &["--env", &rates, "--env", "OMPX_SCHED=estmc"],
            &["--", program, &device.to_string()],
        )
    }
}
