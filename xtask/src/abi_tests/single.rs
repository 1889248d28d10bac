//! Single runs of chosen programs, for other commands: the bench has the compilers and the
//! programs, each run names one.
//!
//! Lives here: finding a program by its title and running it preloaded, once. May not live here:
//! the purpose for which a command makes such a run.

use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use super::AbiExtent;
use super::build::TestBuilder;
use super::compilers::{self, CompilerDriver};
use super::meta::{self, TestSource};
use super::plan::{AbiProgram, AbiVerdict};

/// All programs and compilers of this machine, and a library to run them on.
pub struct Bench {
    sources: Vec<TestSource>,
    compilers: Vec<CompilerDriver>,
    builder: TestBuilder,
    /// Two runs must not build the same program at once.
    building: Mutex<()>,
}

/// One program with one compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProgramChoice {
    source: usize,
    compiler: usize,
}

impl Bench {
    /// Probes the compilers and reads the programs below `root`.
    ///
    /// # Errors
    ///
    /// When the programs cannot be read or the cache cannot be written.
    pub fn new(root: &Path, cache: &Path, library: &Path) -> Result<Self, String> {
        let builder = TestBuilder::new(root, cache, Some(library))?;
        let compilers = compilers::probe(builder.borrowed_headers()).usable;
        let sources = meta::read_all(&root.join("abi-tests"), &cache.join("cases"))?;
        Ok(Self { sources, compilers, builder, building: Mutex::new(()) })
    }

    /// The programs whose path starts with `path`, by compilers whose name starts with `compiler`,
    /// as far as they are meant to be built. Long programs are left out. Programs that run alone
    /// are included only if `path` is all of their name.
    pub fn choose(&self, path: &str, compiler: &str) -> Vec<ProgramChoice> {
        let mut choices = Vec::new();
        for (at, source) in
            self.sources.iter().enumerate().filter(|(_, s)| s.name.starts_with(path) && s.error.is_none())
        {
            for (by, with) in self.compilers.iter().enumerate() {
                let fits = with.language == source.language && with.name.starts_with(compiler);
                if fits
                    && (!source.alone || source.name == path)
                    && self
                        .program(ProgramChoice { source: at, compiler: by })
                        .reason_to_skip(AbiExtent::Short)
                        .is_none()
                {
                    choices.push(ProgramChoice { source: at, compiler: by });
                }
            }
        }
        choices
    }

    /// `path [compiler]`.
    pub fn title(&self, choice: ProgramChoice) -> String {
        self.program(choice).title()
    }

    /// The thread counts that the program asks for.
    pub fn threads(&self, choice: ProgramChoice) -> &[u32] {
        &self.sources[choice.source].threads
    }

    /// Runs a program once with `threads` threads and more environment. Returns the seconds it
    /// took; the error says what was wrong.
    ///
    /// # Errors
    ///
    /// The program failed, hung for `limit` seconds, or could not be built.
    pub fn run(
        &self,
        choice: ProgramChoice,
        threads: u32,
        env: &[(String, String)],
        limit: u32,
    ) -> Result<f64, String> {
        let program = self.program(choice);
        {
            let _one_at_a_time = self.building.lock().expect("no builder panics");
            program.build_once(&self.builder)?;
        }
        let start = Instant::now();
        match program.run_once(&self.builder, threads, env, limit) {
            AbiVerdict::Failed(what, _) => Err(what),
            AbiVerdict::Passed | AbiVerdict::Skipped(_) => Ok(start.elapsed().as_secs_f64()),
        }
    }

    fn program(&self, choice: ProgramChoice) -> AbiProgram<'_> {
        AbiProgram::new(&self.sources[choice.source], &self.compilers[choice.compiler], choice.compiler)
    }
}
