//! Runs a program under the eyes of the loader: which OpenMP runtimes each of its processes loaded,
//! and whose functions were bound for whom.
//!
//! glibc's loader says so itself (`LD_DEBUG=files,bindings`, ld.so(8)), into a file for each
//! process; also of libraries that are opened later, of those with changed names, and of functions
//! that are asked for by name. The program runs as always, only starts slower: every symbol that is
//! bound is a line.
//!
//! One process may be several programs in turn (`sh -c 'exec ...'`), whose lines follow each other
//! in one file. After control was given to a program, a new one begins where a library is needed by
//! an object that the kernel has loaded, not the loader. A child that goes on without another
//! program belongs to its parent.
//!
//! Rejected: `/proc/PID/maps`. It shows that a runtime is mapped, not that it is called, and a
//! process that ends quickly is missed; `ptrace`, which containers forbid.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::{env, ffi::c_int};

use links::runtime::{self, LinkedRuntime};
use links::unique::UniqueDirectory;

use crate::failure::CommandFailure;
use crate::interrupt::Handlers;

/// A program in a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessImage {
    /// As it was called; nothing if it needs no library.
    pub name: String,
    /// Objects that were loaded, by their paths.
    pub loaded: BTreeSet<PathBuf>,
    /// Functions of OpenMP by where they were found, then by who wanted them; calls of a runtime's
    /// own parts among themselves are left out.
    pub calls: BTreeMap<PathBuf, BTreeMap<String, BTreeSet<String>>>,
}

impl ProcessImage {
    /// The files of runtimes that were loaded.
    pub fn runtimes(&self) -> BTreeSet<&PathBuf> {
        self.loaded.iter().chain(self.calls.keys()).filter(|file| LinkedRuntime::of(file).is_some()).collect()
    }

    /// Where functions were found that are not Gangway's.
    pub fn elsewhere(&self) -> impl Iterator<Item = &PathBuf> {
        self.calls.keys().filter(|file| LinkedRuntime::of(file) != Some(LinkedRuntime::Gangway))
    }

    /// How many functions of Gangway's were bound.
    pub fn of_gangway(&self) -> usize {
        self.calls
            .iter()
            .filter(|(file, _)| LinkedRuntime::of(file) == Some(LinkedRuntime::Gangway))
            .map(|(_, functions)| functions.len())
            .sum()
    }
}

/// What came of a program.
pub struct WatchResult {
    pub status: ExitStatus,
    /// A signal that came meanwhile, which the program has got, too.
    pub signal: Option<c_int>,
    pub images: Vec<ProcessImage>,
}

/// How the program ended, and what was seen.
pub fn run(command: &mut Command) -> Result<WatchResult, CommandFailure> {
    let handlers = Handlers::install();
    let parent = env::temp_dir();
    let directory = UniqueDirectory::new(&parent, "gangway-watch-")
        .map_err(|why| CommandFailure::own(format!("{}: {why}", parent.display())))?;
    command.env("LD_DEBUG", "files,bindings").env("LD_DEBUG_OUTPUT", directory.path().join("of"));
    let status = handlers
        .run(command)
        .map_err(|why| CommandFailure::of_exec(&command.get_program().display().to_string(), &why))?;
    let mut images = Vec::new();
    for entry in fs::read_dir(directory.path()).into_iter().flatten().flatten() {
        images.extend(read(&entry.path()));
    }
    drop(directory);
    Ok(WatchResult { status, signal: handlers.remove(), images })
}

fn read(file: &Path) -> Vec<ProcessImage> {
    let Ok(file) = File::open(file) else { return Vec::new() };
    let mut reader = Reader::default();
    for line in BufReader::new(file).split(b'\n').map_while(Result::ok) {
        reader.line(&String::from_utf8_lossy(&line));
    }
    reader.done
}

#[derive(Default)]
struct Reader {
    done: Vec<ProcessImage>,
    /// Control was given to the image, so it is complete but for what it opens.
    is_running: bool,
    /// Last parts of the names of what was loaded in it.
    names: HashSet<String>,
}

impl Reader {
    fn line(&mut self, line: &str) {
        let Some((_, said)) = line.split_once(":\t") else { return };
        if let Some((file, what)) = said.strip_prefix("file=").and_then(|rest| rest.split_once(" [")) {
            let needed_by = what.split_once("needed by ").and_then(|(_, name)| name.split(" [").next());
            self.begin_if_new(needed_by);
            self.names.insert(last_part(file));
        } else if let Some(file) = said.strip_prefix("calling init: ") {
            self.now().loaded.insert(real(file.trim()));
        } else if said.starts_with("transferring control: ") {
            self.is_running = true;
        } else if let Some((from, to, symbol)) = said.strip_prefix("binding file ").and_then(binding) {
            self.call(from, to, symbol);
        }
    }

    fn now(&mut self) -> &mut ProcessImage {
        if self.done.is_empty() {
            self.done.push(ProcessImage::default());
        }
        self.done.last_mut().expect("one was pushed")
    }

    fn begin_if_new(&mut self, needed_by: Option<&str>) {
        let Some(name) = needed_by.filter(|name| !self.names.contains(&last_part(name))) else { return };
        if self.is_running {
            self.done.push(ProcessImage::default());
            self.names.clear();
            self.is_running = false;
        }
        let now = self.now();
        if now.name.is_empty() {
            now.name = name.to_string();
        }
    }

    fn call(&mut self, from: &str, to: &str, symbol: &str) {
        if !runtime::is_entry(symbol) || LinkedRuntime::of(Path::new(from)).is_some() {
            return;
        }
        let functions = self.now().calls.entry(real(to)).or_default();
        functions.entry(symbol.to_string()).or_default().insert(from.to_string());
    }
}

/// The file itself, whichever way it was found.
fn real(path: &str) -> PathBuf {
    Path::new(path).canonicalize().unwrap_or_else(|_| path.into())
}

fn last_part(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_string()
}

/// Of ``A [0] to B [0]: normal symbol `X' [V]``: A, B, X.
fn binding(text: &str) -> Option<(&str, &str, &str)> {
    let (from, rest) = text.split_once(" [")?;
    let (to, rest) = rest.split_once("] to ")?.1.split_once(" [")?;
    let symbol = rest.split_once('`')?.1.split_once('\'')?.0;
    Some((from, to, symbol))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "
     7:	file=libc.so.6 [0];  needed by sh [0]
     7:	file=libc.so.6 [0];  generating link map
     7:	calling init: /lib/libc.so.6
     7:	transferring control: sh
     7:	file=/l/omp-ext.so [0];  dynamically loaded by sh [0]
     7:	file=libgomp-1234.so.1.0.0 [0];  needed by /l/omp-ext.so [0]
     7:	calling init: /l/libgomp-1234.so.1.0.0
     7:	binding file /l/omp-ext.so [0] to /l/libgomp-1234.so.1.0.0 [0]: normal symbol `GOMP_parallel' [GOMP_4.0]
     7:	binding file /l/libgomp-1234.so.1.0.0 [0] to /l/libgomp-1234.so.1.0.0 [0]: normal symbol `omp_get_num_threads' [OMP_1.0]
     7:	binding file sh [0] to /lib/libc.so.6 [0]: normal symbol `malloc' [GLIBC_2.2.5]
     7:	file=/g/libomp-libgangway.so [0];  needed by ./p [0]
     7:	file=libgomp.so.1 [0];  needed by ./p [0]
     7:	calling init: /g/libomp-libgangway.so
     7:	transferring control: ./p
     7:	binding file ./p [0] to /g/libomp-libgangway.so [0]: normal symbol `GOMP_barrier' [GOMP_1.0]";

    #[test]
    fn what_the_loader_says_is_distinguished_by_program() {
        let mut reader = Reader::default();
        SAID.lines().for_each(|line| reader.line(line));
        let [shell, program] = &reader.done[..] else { panic!("{:?}", reader.done) };
        assert_eq!((shell.name.as_str(), program.name.as_str()), ("sh", "./p"));
        let copy = PathBuf::from("/l/libgomp-1234.so.1.0.0");
        assert_eq!(shell.runtimes(), BTreeSet::from([&copy]));
        assert_eq!(shell.calls[&copy].keys().collect::<Vec<_>>(), ["GOMP_parallel"]);
        assert_eq!((shell.of_gangway(), shell.elsewhere().count()), (0, 1));
        assert_eq!((program.of_gangway(), program.elsewhere().count()), (1, 0));
    }

    #[test]
    fn a_program_is_seen_to_load_the_c_library() {
        let WatchResult { status, images, .. } = run(Command::new("sh").args(["-c", "exec true"])).unwrap();
        assert!(status.success());
        let names: Vec<&str> = images.iter().map(|i| i.name.as_str()).collect();
        assert_eq!(names, ["sh", "true"], "{images:?}");
        assert!(
            images
                .iter()
                .all(|i| i.loaded.iter().any(|f| f.ends_with("libc.so.6")) && i.runtimes().is_empty())
        );
    }
}
