//! What a test program says about itself in the comment at its top.
//!
//! The block is the run of comment lines (`//`, `!`, `#`) at the start of the file. A line
//! `key: value` in it is metadata; an unknown key is an error, so that a typing mistake cannot
//! silently widen or narrow what is tested. `abi-tests/README.md` documents the keys.

use std::fs;
use std::path::{Path, PathBuf};

use super::{compilers, expand};
use crate::files;

/// The source language, which decides the compiler driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TestLanguage {
    /// C.
    C,
    /// C++.
    Cxx,
    /// Free-form Fortran.
    Fortran,
}

impl TestLanguage {
    /// What its files' names end in.
    pub fn extension(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Cxx => "cpp",
            Self::Fortran => "f90",
        }
    }
}

/// How the library gets under a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TestMode {
    /// The compiler's own runtime; no library of ours.
    Own,
    /// `LD_PRELOAD`.
    Preload,
    /// A directory of symlinks named like the other runtimes, on `LD_LIBRARY_PATH`.
    Symlink,
    /// Linked by path.
    Link,
    /// A shared object loaded into Python with `RTLD_LOCAL`, on the symlink directory.
    Python,
    /// As with the symlinks, with the images marked as a GPU's and the CUDA driver for tests.
    Gpu,
    /// With real images for GPUs beside those for this machine, which that driver runs in their
    /// place.
    Cubin,
    /// With such images alone, on the GPU of a machine.
    RealGpu,
}

/// How a run has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestEnding {
    /// This exit status.
    Status(i32),
    /// Anything but success: a status or a signal (a time-out is always a failure).
    Failure,
}

/// One test source with its metadata.
#[derive(Debug, Clone)]
pub struct TestSource {
    /// Path below `abi-tests/`.
    pub name: String,
    /// Absolute path.
    pub path: PathBuf,
    /// Language by file extension.
    pub language: TestLanguage,
    /// Compiler terms that take it (`all`, `gcc`, `clang>=19`).
    pub compilers: Vec<String>,
    /// Compiler terms left out, with the reason.
    pub skips: Vec<(String, String)>,
    /// Values of `OMP_NUM_THREADS`.
    pub threads: Vec<u32>,
    /// Further environment.
    pub env: Vec<(String, String)>,
    /// Ways to load the library.
    pub modes: Vec<TestMode>,
    /// Seconds before a run counts as hung.
    pub timeout: u32,
    /// How it has to end.
    pub ending: TestEnding,
    /// Texts (`*` matches anything) that stderr must contain, on our library.
    pub stderr: Vec<String>,
    /// Lines stderr must have, on our library.
    pub stderr_lines: Option<usize>,
    /// Texts that stdout must contain, on our library.
    pub stdout: Vec<String>,
    /// Fixed optimisation level, else it alternates.
    pub opt: Option<String>,
    /// Further compiler flags: (term, flag).
    pub flags: Vec<(String, String)>,
    /// Runs alone on the machine: it measures.
    pub alone: bool,
    /// Long.
    pub stress: bool,
    /// A product of programs and modes: run with [`super::AbiExtent::All`] only. `cargo xtask test`
    /// runs a selection, from other files.
    pub all: bool,
    /// Checks a promise other runtimes do not make; the reason to leave it out there.
    pub ours: Option<String>,
    /// Runtimes (`libgomp`, `libomp`) that fail it, with the reason.
    pub peers: Vec<(String, String)>,
    /// Unconditional reason to skip.
    pub why_skip: Option<String>,
    /// Programs that are many and alike: each meets one compiler of each runtime, one way of
    /// loading and one thread count, which change from program to program.
    pub rotates: bool,
    /// False for a template program outside the pair cover (`expand::cover_pairs`): the gate leaves
    /// it out.
    pub is_in_pair_cover: bool,
    /// Target constructs: LLVM's compilers are to make images for this machine.
    pub offload: bool,
    /// Numbers of host devices to run with; empty when it is not about devices.
    pub devices: Vec<u32>,
    /// Why it does not run on the GPUs of the driver for tests, if it does not.
    pub no_gpu: Option<String>,
    /// Why its images are not marked as a GPU's: the GPUs find none that they can use.
    pub unmarked: Option<String>,
    /// Why it has no real images for GPUs.
    pub no_cubin: Option<String>,
    /// Why it runs on those only, if it does.
    pub only_gpu: Option<String>,
    /// More settings of the driver for tests.
    pub gpus: Option<String>,
    /// What is wrong with the header.
    pub error: Option<String>,
}

/// Thread counts of a program that names none.
pub const THREADS: [u32; 6] = [1, 2, 3, 4, 8, 17];

/// Thread counts that programs which rotate share among them.
const ROTATING: [u32; 4] = [2, 3, 4, 8];

/// Reads every program below `root`, sorted by name. Programs of templates are written below
/// `cases`.
pub fn read_all(root: &Path, cases: &Path) -> Result<Vec<TestSource>, String> {
    // Layout programs are compared with a table, includes and the driver for tests are no programs.
    let is_apart =
        |folder: &Path| ["layout", "include", "fake-cuda"].iter().any(|name| folder.ends_with(name));
    let paths = files::below(root, |folder| !is_apart(folder));
    if paths.is_empty() {
        return Err(format!("{}: no files", root.display()));
    }
    fs::create_dir_all(cases).map_err(|error| format!("{}: {error}", cases.display()))?;
    Ok(paths.iter().flat_map(|path| read(root, path, cases)).collect())
}

fn read(root: &Path, path: &Path, cases: &Path) -> Vec<TestSource> {
    let language = match path.extension().and_then(|extension| extension.to_str()) {
        Some("c") => TestLanguage::C,
        Some("cpp") => TestLanguage::Cxx,
        Some("f90") => TestLanguage::Fortran,
        _ => return Vec::new(),
    };
    let name = path.strip_prefix(root).unwrap_or(path).display().to_string();
    let source = TestSource::new(name, path.to_owned(), language);
    let programs =
        fs::read_to_string(path).map_err(|error| error.to_string()).and_then(|text| expand::expand(&text));
    match programs {
        Ok(programs) => {
            let shared = language == TestLanguage::C
                && programs[0].text.lines().map_while(comment).any(|line| line == SHARED);
            let of = |at: usize| {
                if shared { languages(at, programs.len(), &programs[at].label) } else { vec![language] }
            };
            let source = &source;
            let each =
                |(at, case)| of(at).into_iter().map(move |language| source.with(case, language, cases));
            programs.iter().enumerate().flat_map(each).collect()
        }
        Err(error) => vec![TestSource { error: Some(error), ..source }],
    }
}

/// The header line of C programs that are C++ as well.
const SHARED: &str = "languages: c, c++";

/// The languages of the program `at` of the `count` of a shared template: the first is C, the
/// second C++, the others are shared out by name. A file that is a single program is built as both.
fn languages(at: usize, count: usize, label: &str) -> Vec<TestLanguage> {
    match (count, at) {
        (1, _) => vec![TestLanguage::C, TestLanguage::Cxx],
        (_, 0) => vec![TestLanguage::C],
        (_, 1) => vec![TestLanguage::Cxx],
        _ if label.bytes().map(usize::from).sum::<usize>() % 2 == 0 => vec![TestLanguage::C],
        _ => vec![TestLanguage::Cxx],
    }
}

impl TestSource {
    fn new(name: String, path: PathBuf, language: TestLanguage) -> Self {
        let modes = if name.starts_with("python/") {
            vec![TestMode::Python]
        } else {
            vec![TestMode::Preload, TestMode::Symlink, TestMode::Link]
        };
        let rotates = name.starts_with("spec/");
        Self {
            name,
            path,
            language,
            compilers: vec!["all".into()],
            skips: Vec::new(),
            threads: if rotates { ROTATING.to_vec() } else { THREADS.to_vec() },
            env: Vec::new(),
            modes,
            timeout: 30,
            ending: TestEnding::Status(0),
            stderr: Vec::new(),
            stderr_lines: None,
            stdout: Vec::new(),
            opt: None,
            flags: Vec::new(),
            alone: false,
            stress: false,
            all: false,
            ours: None,
            peers: Vec::new(),
            why_skip: None,
            rotates,
            is_in_pair_cover: true,
            offload: false,
            devices: Vec::new(),
            no_gpu: None,
            unmarked: None,
            no_cubin: None,
            only_gpu: None,
            gpus: None,
            error: None,
        }
    }

    /// Is it a shared object, for Python?
    pub fn is_shared(&self) -> bool {
        self.modes.contains(&TestMode::Python)
    }

    /// Whether it is one program of a template.
    pub fn is_case(&self) -> bool {
        self.name.contains(": ")
    }

    /// Whether the text stands in a C file, whatever it is built as.
    fn is_c_text(&self) -> bool {
        self.name.split(": ").next().is_some_and(|file| file.ends_with(".c"))
    }

    /// The program `case` of this file in `language`.
    fn with(&self, case: &expand::TemplateCase, language: TestLanguage, cases: &Path) -> Self {
        let mut source = Self { language, is_in_pair_cover: case.is_in_pair_cover, ..self.clone() };
        let other = if language == self.language { "" } else { "as C++" };
        let label = [case.label.as_str(), other].join(" ");
        if !label.trim().is_empty() {
            source.name = format!("{}: {}", self.name, label.trim());
            source.path = cases.join(format!("{}.{}", file_stem(&source.name), language.extension()));
            let old = fs::read_to_string(&source.path).unwrap_or_default();
            if old != case.text {
                source.error = fs::write(&source.path, &case.text).err().map(|error| error.to_string());
            }
        }
        source.parse(&case.text);
        source
    }

    fn parse(&mut self, text: &str) {
        let mut described = false;
        for line in text.lines() {
            let Some(comment) = comment(line) else { break };
            let Some((key, value)) = comment.split_once(": ") else { continue };
            if !key.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') {
                continue;
            }
            described |= key == "what";
            if let Err(problem) = self.set(key, value.trim()) {
                self.error = Some(format!("{key}: {problem}"));
            }
        }
        if !described && self.error.is_none() {
            self.error = Some("no `what:` line at the top".into());
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "what" | "each" => {}
            "languages" if SHARED == format!("languages: {value}") && self.is_c_text() => {}
            "compilers" => {
                self.compilers =
                    list(value).into_iter().map(compilers::known_term).collect::<Result<_, _>>()?
            }
            "skip" => {
                let (term, reason) = term_and_text(value)?;
                self.skips.push((compilers::known_term(term)?, reason));
            }
            "threads" => self.threads = numbers(value)?,
            "env" => self.env.extend(assignments(value)?),
            "mode" => self.modes = list(value).iter().map(|m| mode(m)).collect::<Result<_, _>>()?,
            "timeout" => self.timeout = number(value)?,
            "expect-exit" if value == "failure" => self.ending = TestEnding::Failure,
            "expect-exit" => self.ending = TestEnding::Status(number(value)? as i32),
            "expect-stderr" => self.stderr.push(value.into()),
            "expect-stderr-lines" => self.stderr_lines = Some(number(value)? as usize),
            "expect-stdout" => self.stdout.push(value.into()),
            "opt" => self.opt = Some(value.into()),
            "flags" => self.flags.push(term_and_text(value)?),
            "offload" => self.offload = value == "yes",
            "devices" => self.devices = numbers(value)?,
            "no-gpu" => self.no_gpu = Some(value.into()),
            "unmarked" => self.unmarked = Some(value.into()),
            "no-cubin" => self.no_cubin = Some(value.into()),
            "only-gpu" => self.only_gpu = Some(value.into()),
            "gpus" => self.gpus = Some(value.into()),
            "alone" => self.alone = value == "yes",
            "stress" => self.stress = value == "yes",
            "all" => self.all = value == "yes",
            "ours" => self.ours = Some(value.into()),
            "peers" => self.peers.push(peer(value)?),
            "why-skip" => self.why_skip = Some(value.into()),
            _ => return Err("unknown key".into()),
        }
        Ok(())
    }
}

/// The text of a comment line, or `None` where the comment block ends.
pub fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    ["//", "!", "#"].iter().find_map(|mark| line.strip_prefix(mark)).map(str::trim)
}

/// A program's name as part of a file's. Signs are spelt as numbers, so that no two operators meet.
pub fn file_stem(name: &str) -> String {
    name.chars().fold(String::new(), |stem, c| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => stem + &c.to_string(),
        '/' | '.' | ' ' | ':' => stem + "-",
        _ => format!("{stem}x{:x}", c as u32),
    })
}

fn list(value: &str) -> Vec<String> {
    value.split(',').map(|item| item.trim().to_owned()).collect()
}

fn number(value: &str) -> Result<u32, String> {
    value.parse().map_err(|_| format!("`{value}` is not a number"))
}

fn numbers(value: &str) -> Result<Vec<u32>, String> {
    value.split(',').map(|item| number(item.trim())).collect()
}

fn assignments(value: &str) -> Result<Vec<(String, String)>, String> {
    let pair = |word: &str| word.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned()));
    value.split_whitespace().map(|word| pair(word).ok_or(format!("`{word}` has no `=`"))).collect()
}

fn term_and_text(value: &str) -> Result<(String, String), String> {
    let (term, text) = value.split_once(' ').ok_or("wants a compiler and a text")?;
    Ok((term.to_owned(), text.trim().to_owned()))
}

fn peer(value: &str) -> Result<(String, String), String> {
    let (runtime, rest) =
        value.split_once(" fails, because ").ok_or("wants `<runtime> fails, because <reason>`")?;
    Ok((runtime.to_owned(), rest.to_owned()))
}

fn mode(word: &str) -> Result<TestMode, String> {
    match word {
        "preload" => Ok(TestMode::Preload),
        "symlink" => Ok(TestMode::Symlink),
        "link" => Ok(TestMode::Link),
        "python" => Ok(TestMode::Python),
        _ => Err(format!("`{word}` is no mode")),
    }
}
