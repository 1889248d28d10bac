//! Which libraries the loader loads for a program before `main`, and from where, without loading
//! any.
//!
//! As `ld.so(8)` has it, breadth first: the program, what is preloaded, then what each of them
//! needs. A name with a slash is a path. Others are looked for in this order: `DT_RPATH` of the
//! object that needs it and of those that loaded that object (void where there is a `DT_RUNPATH`),
//! `LD_LIBRARY_PATH`, `DT_RUNPATH` of the object alone, the loader's cache, the usual directories.
//! A library whose name or `DT_SONAME` has been asked for before, or whose file is loaded already,
//! is not loaded again.
//!
//! What is left out: subdirectories for newer processors (`glibc-hwcaps`), which hold the same
//! libraries, and audit modules. What a program opens later is not in its file.
//!
//! Rejected: `ld.so --list`. It maps the libraries, and says nothing of objects that are no
//! programs.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::cache;
use crate::object::{self, ElfObject, MAX_PATH_BYTES};

/// Objects beyond this many are not looked at.
const MOST_OBJECTS: usize = 1024;

/// The settings that the loader gets beside the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Directories of `LD_LIBRARY_PATH`.
    pub directories: Vec<PathBuf>,
    /// Libraries of `LD_PRELOAD`.
    pub preloaded: Vec<OsString>,
}

impl Surroundings {
    /// Those of this process.
    #[must_use]
    pub fn here() -> Self {
        Self::of(&|name| env::var_os(name))
    }

    /// From the values of the loader's variables.
    #[must_use]
    pub fn of(value: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let words = |name: &str, ends: &[u8]| -> Vec<OsString> {
            let text = value(name).unwrap_or_default();
            text.as_bytes()
                .split(|b| ends.contains(b))
                .filter(|w| !w.is_empty())
                .map(|w| OsStr::from_bytes(w).to_os_string())
                .collect()
        };
        Self {
            directories: words("LD_LIBRARY_PATH", b":;").into_iter().map(PathBuf::from).collect(),
            preloaded: words("LD_PRELOAD", b": "),
        }
    }
}

/// An object that is loaded.
#[derive(Clone, Debug)]
pub struct ClosureObject {
    /// Where it was found, links not followed.
    pub file: PathBuf,
    /// What is in it.
    pub object: ElfObject,
    /// Who needs it first: a place in the list. None for the program and what is preloaded.
    pub by: Option<usize>,
}

/// What is loaded, in the loader's order.
#[derive(Clone, Debug, Default)]
pub struct Closure {
    /// The objects, the program first.
    pub loaded: Vec<ClosureObject>,
    /// Names that are not found, and the place of who needs them.
    pub missing: Vec<(String, usize)>,
}

/// What is loaded for `program`, which may be a library as well; nothing if it is no ELF file.
#[must_use]
pub fn of(program: &Path, surroundings: &Surroundings) -> Closure {
    let mut search = Search {
        surroundings,
        cache: cache::read(),
        closure: Closure::default(),
        names: HashMap::new(),
        files: HashMap::new(),
        missing: HashSet::new(),
    };
    let Some(object) = object::read(program).ok().flatten() else { return search.closure };
    search.add(program.to_path_buf(), object, None);
    let directories = search.directories(0);
    for name in &surroundings.preloaded {
        search.want(&name.to_string_lossy(), 0, true, &directories);
    }
    let mut next = 0;
    while next < search.closure.loaded.len() && search.closure.loaded.len() < MOST_OBJECTS {
        let directories = search.directories(next);
        for name in search.closure.loaded[next].object.needed.clone() {
            search.want(&name, next, false, &directories);
        }
        next += 1;
    }
    search.closure
}

/// A file for a name.
enum Candidate {
    /// An object that is loaded already, by its place in the list.
    AlreadyLoaded(usize),
    New(PathBuf, ElfObject),
}

struct Search<'a> {
    surroundings: &'a Surroundings,
    cache: HashMap<String, PathBuf>,
    closure: Closure,
    /// What has been asked for, or is called so.
    names: HashMap<String, usize>,
    /// By the real path.
    files: HashMap<PathBuf, usize>,
    missing: HashSet<String>,
}

impl Search<'_> {
    fn add(&mut self, file: PathBuf, object: ElfObject, by: Option<usize>) -> usize {
        let index = self.closure.loaded.len();
        self.files.insert(file.canonicalize().unwrap_or_else(|_| file.clone()), index);
        if let Some(name) = &object.soname {
            self.names.entry(name.clone()).or_insert(index);
        }
        self.closure.loaded.push(ClosureObject { file, object, by });
        index
    }

    /// Loads what `by` asks for under this name, unless it is there. `directories`: of `by`, before
    /// the cache.
    fn want(&mut self, name: &str, by: usize, is_preloaded: bool, directories: &[PathBuf]) {
        if self.names.contains_key(name) || self.missing.contains(name) {
            return;
        }
        let index = match self.find(name, by, directories) {
            Some(Candidate::AlreadyLoaded(index)) => index,
            Some(Candidate::New(file, object)) => self.add(file, object, (!is_preloaded).then_some(by)),
            None => {
                // The loader goes on without what it cannot preload.
                if !is_preloaded {
                    self.missing.insert(name.to_string());
                    self.closure.missing.push((name.to_string(), by));
                }
                return;
            }
        };
        self.names.insert(name.to_string(), index);
    }

    fn find(&self, name: &str, by: usize, directories: &[PathBuf]) -> Option<Candidate> {
        let machine = self.closure.loaded[0].object.machine;
        let fits = |file: PathBuf| {
            // A file is read once, however many names for it there are.
            if let Some(&known) = self.files.get(&file.canonicalize().ok()?) {
                return Some(Candidate::AlreadyLoaded(known));
            }
            let object = object::read(&file).ok().flatten()?;
            (object.machine == machine && object.is_wide).then_some(Candidate::New(file, object))
        };
        if name.contains('/') {
            return fits(PathBuf::from(self.expanded(name, by)?));
        }
        let in_directories = directories.iter().map(|d| d.join(name)).find_map(fits);
        let in_cache = || self.cache.get(name).cloned().and_then(fits);
        let usual = || {
            ["/lib64", "/usr/lib64", "/lib", "/usr/lib"]
                .iter()
                .map(|d| Path::new(d).join(name))
                .find_map(fits)
        };
        in_directories.or_else(in_cache).or_else(usual)
    }

    /// Directories before the cache.
    fn directories(&self, by: usize) -> Vec<PathBuf> {
        let mut all = Vec::new();
        let runpath = &self.closure.loaded[by].object.runpath;
        if runpath.is_empty() {
            let chain = std::iter::successors(Some(by), |&index| {
                self.closure.loaded[index].by.or((index != 0).then_some(0))
            });
            for index in chain.filter(|&index| self.closure.loaded[index].object.runpath.is_empty()) {
                all.extend(
                    self.closure.loaded[index]
                        .object
                        .rpath
                        .iter()
                        .filter_map(|p| self.expanded(p, index).map(PathBuf::from)),
                );
            }
        }
        all.extend(self.surroundings.directories.iter().cloned());
        all.extend(runpath.iter().filter_map(|p| self.expanded(p, by).map(PathBuf::from)));
        all
    }

    /// Nothing if it is longer than a path may be.
    fn expanded(&self, path: &str, of: usize) -> Option<String> {
        let file = &self.closure.loaded[of].file;
        let real = file.canonicalize().unwrap_or_else(|_| file.clone());
        let origin = real.parent().unwrap_or(Path::new("/")).display().to_string();
        let path = path.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin);
        (path.len() <= MAX_PATH_BYTES).then_some(path)
    }
}

/// Shared objects below a directory, links not followed; sorted.
#[must_use]
pub fn libraries_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_path_buf()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                waiting.push(entry.path());
            } else if kind.is_file() && is_library(&entry.file_name()) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

fn is_library(name: &OsStr) -> bool {
    name.to_str().is_some_and(|n| n.ends_with(".so") || n.contains(".so."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_loads_the_c_library_once() {
        let program = env::current_exe().unwrap();
        let closure = of(&program, &Surroundings::default());
        let libraries = closure.loaded.iter().filter(|one| one.file.ends_with("libc.so.6")).count();
        assert!(libraries == 1 && closure.missing.is_empty(), "{closure:?}");
        assert!(closure.loaded[0].by.is_none() && closure.loaded[1].by == Some(0), "{closure:?}");
        assert!(of(Path::new("/etc/passwd"), &Surroundings::default()).loaded.is_empty());
    }

    #[test]
    fn what_is_preloaded_comes_first_and_stands_for_its_name() {
        let program = env::current_exe().unwrap();
        let library = of(&program, &Surroundings::default())
            .loaded
            .into_iter()
            .find(|one| one.file.ends_with("libc.so.6"))
            .unwrap();
        let at = env::temp_dir().join(format!("gangway-closure-{}", std::process::id()));
        fs::create_dir_all(&at).unwrap();
        let copy = at.join("another-name.so");
        fs::copy(library.file, &copy).unwrap();
        let value = |name: &str| {
            (name == "LD_PRELOAD").then(|| OsString::from(format!("/nonexistent.so {}", copy.display())))
        };
        let closure = of(&program, &Surroundings::of(&value));
        assert_eq!(closure.loaded[1].file, copy);
        assert!(!closure.loaded.iter().any(|one| one.file.ends_with("libc.so.6")), "{closure:?}");
        assert_eq!(libraries_below(&at), [copy]);
        fs::remove_dir_all(at).unwrap();
    }
}
