//! One program (a source and a compiler): its runs and their verdicts.
//!
//! Every thread count goes through `LD_PRELOAD`; the other ways of loading run with one thread
//! count that is not 1 where the program allows it, since they differ from preload before `main`
//! only.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::AbiExtent;
use super::build::{TestBuilder, TestRecipe};
use super::choose::{TestCell, name_hash};
use super::compilers::{CompilerDriver, CompilerFamily, OFFLOAD};
use super::cubin;
use super::exec::{ProgramEnd, ProgramRun, contains};
use super::meta::{TestEnding, TestLanguage, TestMode, TestSource};

/// A source with a compiler.
pub struct AbiProgram<'a> {
    /// The source.
    pub source: &'a TestSource,
    /// The compiler.
    pub compiler: &'a CompilerDriver,
    opt: &'a str,
    /// The runs to make; none: all of them.
    chosen: Option<Vec<TestCell>>,
}

/// One run and what came of it.
pub struct AbiRecord {
    /// How the library was loaded.
    pub mode: TestMode,
    /// `OMP_NUM_THREADS`.
    pub threads: u32,
    /// Devices of a run with `devices`.
    pub devices: Option<u32>,
    /// Seconds that it took; the first run of a program builds it, too.
    pub seconds: f64,
    /// The verdict.
    pub verdict: AbiVerdict,
}

/// What came of a run.
pub enum AbiVerdict {
    /// Right.
    Passed,
    /// Wrong: what was seen, and the command that shows it again.
    Failed(String, String),
    /// Left out, with the reason.
    Skipped(String),
}

impl<'a> AbiProgram<'a> {
    /// `index` is the compiler's place in the list: levels alternate so that every source meets
    /// both.
    pub fn new(source: &'a TestSource, compiler: &'a CompilerDriver, index: usize) -> Self {
        let odd = (source.name.bytes().map(usize::from).sum::<usize>() + index) % 2 == 1;
        let opt = source.opt.as_deref().unwrap_or(if odd { "-O2" } else { "-O0" });
        Self { source, compiler, opt, chosen: None }
    }

    /// Without optimisation, unless the source asks for a level.
    pub fn unoptimised(self) -> Self {
        Self { opt: self.source.opt.as_deref().unwrap_or("-O0"), ..self }
    }

    /// With these runs alone.
    pub fn with_cells(self, cells: Vec<TestCell>) -> Self {
        Self { chosen: Some(cells), ..self }
    }

    /// All runs of the program. Symlinks and linking run with one number of threads: `hash` selects
    /// it, or the usual one is taken.
    pub fn cells(&self, with_library: bool, hash: Option<usize>) -> Vec<TestCell> {
        let devices: Vec<Option<u32>> = match &self.source.devices[..] {
            [] => vec![None],
            counts => counts.iter().copied().map(Some).collect(),
        };
        let counts = &self.source.threads;
        let chosen = |mode, threads| match hash {
            Some(hash)
                if matches!(mode, TestMode::Symlink | TestMode::Link) && self.source.modes.len() > 1 =>
            {
                counts[hash / 5 % counts.len()]
            }
            _ => threads,
        };
        let cases = self.cases(with_library).into_iter();
        let cells = cases.flat_map(|(mode, threads)| {
            devices.iter().map(move |&devices| (mode, chosen(mode, threads), devices))
        });
        cells
            .filter(|(mode, _, devices)| {
                !matches!(mode, TestMode::Gpu | TestMode::Cubin) || devices.is_some_and(|count| count > 0)
            })
            .collect()
    }

    /// `path [compiler]`, as filters and failures name it.
    pub fn title(&self) -> String {
        format!("{} [{}]", self.source.name, self.compiler.name)
    }

    /// Why this pair is not built, if it is not.
    pub fn reason_to_skip(&self, extent: AbiExtent) -> Option<String> {
        if let Some(reason) = &self.source.why_skip {
            return Some(reason.clone());
        }
        if self.source.all && extent < AbiExtent::All {
            return Some("a product; asked for with `--all`".into());
        }
        if self.source.stress && extent < AbiExtent::Gate {
            return Some("long; asked for with `--stress`".into());
        }
        let named = |term: &String| self.compiler.matches(term);
        if let Some((_, reason)) = self.source.skips.iter().find(|(term, _)| named(term)) {
            return Some(reason.clone());
        }
        if self.makes_images() && !self.compiler.offloads {
            return Some(format!(
                "{} makes no images for this machine (clang-tools-19 has what it needs)",
                self.compiler.name
            ));
        }
        let taken = self.source.compilers.iter().any(named);
        (!taken).then(|| format!("written for {}", self.source.compilers.join(", ")))
    }

    /// The runs to make with a library.
    pub fn chosen_cells(&self) -> Vec<TestCell> {
        self.chosen.clone().unwrap_or_else(|| self.cells(true, None))
    }

    /// Prints a line for each run with a library: program, compiler, way of loading, threads,
    /// devices, separated by tabs.
    pub fn print_cells(&self) {
        for (mode, threads, devices) in self.chosen_cells() {
            println!("{}", cell_name(self, mode, threads, devices));
        }
    }

    /// Builds and runs it in every way it asks for.
    pub fn run(&self, builder: &TestBuilder) -> Vec<AbiRecord> {
        let mut records = Vec::new();
        let cells = self.chosen.clone().unwrap_or_else(|| self.cells(builder.library().is_some(), None));
        for (mode, threads, devices) in cells {
            let left_out = match mode {
                TestMode::Cubin => self.cubin_options(builder).err(),
                _ => self.left_out(builder),
            };
            let start = Instant::now();
            let verdict = match left_out {
                Some(reason) => AbiVerdict::Skipped(reason),
                None => self.run_case(builder, mode, threads, devices),
            };
            let built =
                !matches!(&verdict, AbiVerdict::Failed(what, _) if what.starts_with("does not build"));
            records.push(AbiRecord {
                mode,
                threads,
                devices,
                seconds: start.elapsed().as_secs_f64(),
                verdict,
            });
            if !built {
                break;
            }
        }
        records
    }

    /// Builds what [`AbiProgram::run_once`] runs. The error is the first line of the compiler's.
    pub fn build_once(&self, builder: &TestBuilder) -> Result<(), String> {
        let mode = self.mode_of_one();
        match builder.binary(&self.recipe(builder, mode), mode).map_err(|message| does_not_build(&message)) {
            Err(AbiVerdict::Failed(what, _)) => Err(what),
            _ => Ok(()),
        }
    }

    /// How a single run is loaded: with images for devices on GPUs, if the program may.
    pub fn mode_of_one(&self) -> TestMode {
        match self.makes_images() && self.runs_on_gpus() {
            true => TestMode::Gpu,
            false if self.source.is_shared() => TestMode::Python,
            false => TestMode::Preload,
        }
    }

    /// Builds it and runs it once, preloaded or on GPUs, with most of its devices, with more
    /// environment and at most `limit` seconds.
    pub fn run_once(
        &self,
        builder: &TestBuilder,
        threads: u32,
        more: &[(String, String)],
        limit: u32,
    ) -> AbiVerdict {
        let mode = self.mode_of_one();
        let binary = match builder.binary(&self.recipe(builder, mode), mode) {
            Ok(binary) => binary,
            Err(message) => return does_not_build(&message),
        };
        let mut run = self.prepare(builder, mode, threads, binary);
        if let Err(message) =
            self.add_devices(&mut run, builder, mode, self.source.devices.iter().max().copied())
        {
            return does_not_build(&message);
        }
        run.env.extend_from_slice(more);
        run.timeout = run.timeout.min(limit);
        let limit = run.timeout;
        match run.start() {
            Err(message) => AbiVerdict::Failed(message, run.line()),
            Ok(ended) if ended.hung => AbiVerdict::Failed(format!("no end within {limit} s"), run.line()),
            Ok(ended) => fault(self.source, &ended, true)
                .map_or(AbiVerdict::Passed, |what| AbiVerdict::Failed(what, run.line())),
        }
    }

    fn cases(&self, with_library: bool) -> Vec<(TestMode, u32)> {
        if with_library && self.makes_images() {
            // The runtime that such a binary asks for by name is found on the loader's path only.
            let count = self.one_count(TestMode::Symlink);
            let gpu = (self.runs_on_gpus()).then_some((TestMode::Gpu, count));
            let others = self.source.only_gpu.is_none().then_some((TestMode::Symlink, count));
            let cubin = self.runs_on_gpus().then_some((TestMode::Cubin, count));
            return [others, gpu, cubin].into_iter().flatten().collect();
        }
        let all = |mode| self.source.threads.iter().map(move |threads| (mode, *threads));
        if !with_library {
            let mode = if self.source.is_shared() { TestMode::Python } else { TestMode::Own };
            return all(mode).collect();
        }
        let mut cases: Vec<_> = Vec::new();
        for mode in &self.source.modes {
            match mode {
                TestMode::Preload | TestMode::Python => cases.extend(all(*mode)),
                _ if self.source.modes.len() == 1 => cases.extend(all(*mode)),
                _ => cases.push((*mode, self.one_count(*mode))),
            }
        }
        cases
    }

    /// The thread count for the modes that run once: the last for symlinks, else the middle one.
    fn one_count(&self, mode: TestMode) -> u32 {
        let counts = &self.source.threads;
        let index = if mode == TestMode::Symlink { counts.len() * 2 / 3 } else { counts.len() / 2 };
        counts[index.min(counts.len() - 1)]
    }

    /// Does the compiler put images for devices into the program?
    fn makes_images(&self) -> bool {
        self.source.offload && matches!(self.compiler.family, CompilerFamily::Clang | CompilerFamily::Flang)
    }

    /// On those of the driver for tests: its kernels are the image's functions for this machine.
    fn runs_on_gpus(&self) -> bool {
        self.compiler.family == CompilerFamily::Clang
            && !self.source.devices.is_empty()
            && self.source.no_gpu.is_none()
    }

    /// What makes a real image for GPUs of it, or why there is none.
    fn cubin_options(&self, builder: &TestBuilder) -> Result<Vec<String>, String> {
        match &self.source.no_cubin {
            Some(reason) => Err(reason.clone()),
            None => cubin::options(builder.target(), self.compiler),
        }
    }

    /// The reason not to run on a peer's runtime.
    fn left_out(&self, builder: &TestBuilder) -> Option<String> {
        if builder.library().is_some() {
            return None;
        }
        let runtime = self.compiler.runtime();
        let peer = self.source.peers.iter().find(|(name, _)| name == runtime);
        let peer = peer.map(|(name, reason)| format!("{name} fails, because {reason}"));
        peer.or_else(|| self.source.ours.clone())
    }

    fn run_case(
        &self,
        builder: &TestBuilder,
        mode: TestMode,
        threads: u32,
        devices: Option<u32>,
    ) -> AbiVerdict {
        let binary = match builder.binary(&self.recipe(builder, mode), mode) {
            Ok(binary) => binary,
            Err(message) => return does_not_build(&message),
        };
        if let Some(reason) = builder.lacks(&binary) {
            return AbiVerdict::Skipped(reason);
        }
        let mut run = self.prepare(builder, mode, threads, binary);
        if let Err(message) = self.add_devices(&mut run, builder, mode, devices) {
            return does_not_build(&message);
        }
        self.judge(&run, builder.library().is_some())
    }

    /// Starts a run and compares how it ended with what the header wants. An `alone` program whose
    /// check fails runs twice more and fails if either run fails: other load can disturb
    /// measurements.
    fn judge(&self, run: &ProgramRun, ours: bool) -> AbiVerdict {
        let Some((what, was_ended)) = self.once(run, ours) else { return AbiVerdict::Passed };
        if !self.source.alone || was_ended {
            return AbiVerdict::Failed(what, run.line());
        }
        println!("note: {} measures and was wrong once, so it runs twice more: {what}", self.title());
        match (0..2).find_map(|_| self.once(run, ours)) {
            Some((what, _)) => AbiVerdict::Failed(format!("{what} (again)"), run.line()),
            None => AbiVerdict::Passed,
        }
    }

    /// Runs once. Returns what was wrong, and true if the program did not start or did not end
    /// itself (crash, hang).
    fn once(&self, run: &ProgramRun, ours: bool) -> Option<(String, bool)> {
        match run.start() {
            Err(message) => Some((message, true)),
            Ok(ended) => fault(self.source, &ended, ours).map(|what| (what, ended.was_ended())),
        }
    }

    /// So many devices for a run. The error is a compiler's message.
    fn add_devices(
        &self,
        run: &mut ProgramRun,
        builder: &TestBuilder,
        mode: TestMode,
        devices: Option<u32>,
    ) -> Result<(), String> {
        match mode {
            TestMode::Gpu | TestMode::Cubin => run.env.extend(gpus(
                builder.fake_cuda()?,
                devices.unwrap_or(1),
                name_hash(&self.source.name),
                self.source.gpus.as_deref(),
            )),
            _ => run.env.extend(devices.map(|count| ("GANGWAY_HOST_DEVICES".to_owned(), count.to_string()))),
        }
        Ok(())
    }

    fn recipe(&self, builder: &TestBuilder, mode: TestMode) -> TestRecipe<'_> {
        self.recipe_for(match (self.makes_images(), mode) {
            (false, _) => Vec::new(),
            (true, TestMode::Cubin) => self.cubin_options(builder).unwrap_or_default(),
            (true, _) => vec![OFFLOAD.into()],
        })
    }

    /// With these options for images.
    pub fn recipe_for(&self, offload: Vec<String>) -> TestRecipe<'_> {
        let mut flags = vec![self.opt.to_owned()];
        if self.source.is_shared() {
            flags.push("-fPIC".into());
        }
        if self.compiler.language == TestLanguage::C {
            flags.push("-D_GNU_SOURCE".into());
        }
        let asked = self.source.flags.iter().filter(|(term, _)| self.compiler.matches(term));
        flags.extend(asked.flat_map(|(_, text)| text.split_whitespace().map(str::to_owned)));
        let unmarked = self.source.unmarked.is_some();
        TestRecipe {
            name: &self.source.name,
            source: &self.source.path,
            compiler: self.compiler,
            flags,
            offload,
            unmarked,
            shared: self.source.is_shared(),
            needs_object: self.chosen_cells().iter().any(|(mode, _, _)| *mode == TestMode::Link),
        }
    }

    fn prepare(&self, builder: &TestBuilder, mode: TestMode, threads: u32, binary: PathBuf) -> ProgramRun {
        let mut env = vec![("OMP_NUM_THREADS".to_owned(), threads.to_string())];
        env.retain(|(key, _)| !self.source.env.iter().any(|(other, _)| other == key));
        env.extend(self.source.env.iter().cloned());
        match (mode, builder.library(), builder.symlinks()) {
            // Peers spin by default, which with 17 threads on two cores takes minutes.
            (_, None, _) => env.push(("OMP_WAIT_POLICY".into(), "passive".into())),
            (TestMode::Preload, Some(library), _) => {
                env.push(("LD_PRELOAD".into(), library.display().to_string()))
            }
            (TestMode::Symlink | TestMode::Python | TestMode::Gpu | TestMode::Cubin, _, Some(directory)) => {
                env.push(("LD_LIBRARY_PATH".into(), directory.display().to_string()));
            }
            _ => {}
        }
        if let Some(library) = builder.library() {
            // For the program that checks that no other runtime serves the calls.
            env.push(("ABI_TESTS_LIBRARY".into(), library.display().to_string()));
        }
        let arguments = match mode {
            TestMode::Python => vec!["python3".into(), builder.driver().to_owned(), binary],
            _ => vec![binary],
        };
        ProgramRun { arguments, env, timeout: self.source.timeout }
    }
}

/// A run as lists of them name it.
pub fn cell_name(program: &AbiProgram, mode: TestMode, threads: u32, devices: Option<u32>) -> String {
    let devices = devices.map_or("-".into(), |count| count.to_string());
    let mode = format!("{mode:?}").to_lowercase();
    format!("{}\t{}\t{mode}\t{threads}\t{devices}", program.source.name, program.compiler.name)
}

/// The difference between how a run ended and what the program's header wants. Texts are checked
/// for our library only, not for its peers.
pub fn fault(source: &TestSource, ended: &ProgramEnd, ours: bool) -> Option<String> {
    if ended.hung {
        return Some(format!("no end within {} s", source.timeout));
    }
    let right = match source.ending {
        TestEnding::Status(status) => ended.status == status,
        TestEnding::Failure => ended.status != 0,
    };
    if !right {
        return Some(format!("ended with {}: {}", ended.status, excerpt(ended)));
    }
    if ours { text_fault(source, ended) } else { None }
}

fn text_fault(source: &TestSource, ended: &ProgramEnd) -> Option<String> {
    let missing =
        |wanted: &[String], text: &str| wanted.iter().find(|pattern| !contains(text, pattern)).cloned();
    if let Some(pattern) = missing(&source.stderr, &ended.stderr) {
        return Some(format!("stderr lacks `{pattern}`: {}", excerpt(ended)));
    }
    if let Some(pattern) = missing(&source.stdout, &ended.stdout) {
        return Some(format!("stdout lacks `{pattern}`: {}", excerpt(ended)));
    }
    // Preloaded, the compiler's own libgomp is still mapped behind us and complains in its
    // constructor.
    let lines = ended.stderr.lines().filter(|l| !l.is_empty() && !l.starts_with("libgomp: ")).count();
    match source.stderr_lines {
        Some(wanted) if wanted != lines => {
            Some(format!("stderr has {lines} lines, not {wanted}: {}", excerpt(ended)))
        }
        None if lines > 0 && source.stderr.is_empty() => {
            Some(format!("stderr is not empty: {}", excerpt(ended)))
        }
        _ => None,
    }
}

/// So many GPUs of the driver for tests. Half of the programs meet slow ones. A third of them meet
/// ways between all GPUs, a third between none, and a third between pairs. Half of them meet a
/// driver that keeps copying threads waiting. A program may say `more`, which counts.
fn gpus(driver: &Path, count: u32, hash: usize, more: Option<&str>) -> [(String, String); 2] {
    let delay = if hash.is_multiple_of(2) { 200 } else { 0 };
    let (peers, pageable) = (hash / 2 % 3, hash / 6 % 2);
    let more = more.map_or(String::new(), |more| format!(",{more}"));
    let settings = format!(
        "devices={count},delay={delay},peers={peers},pageable={pageable},seed={}{more}",
        1 + hash % 1000
    );
    [("OMPX_CUDA".into(), driver.display().to_string()), ("GANGWAY_FAKE_CUDA".into(), settings)]
}

fn does_not_build(message: &str) -> AbiVerdict {
    let (command, text) = message.split_once('\n').unwrap_or(("", message));
    let line = text.lines().find(|line| line.contains("error") || line.contains("undefined")).unwrap_or(text);
    AbiVerdict::Failed(format!("does not build: {}", line.trim()), command.into())
}

/// The first lines a failing program wrote.
fn excerpt(ended: &ProgramEnd) -> String {
    let lines = ended.stderr.lines().chain(ended.stdout.lines());
    let text: Vec<&str> = lines.filter(|line| !line.trim().is_empty()).take(4).collect();
    if text.is_empty() { "it wrote nothing".into() } else { text.join(" | ") }
}
