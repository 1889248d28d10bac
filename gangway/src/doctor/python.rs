//! The packages of a Python: copies of OpenMP runtimes in them, and which modules use them.
//!
//! Wheels bring their libraries along, renamed by a piece of a hash so that two packages' copies do
//! not meet (`scikit_learn.libs/libgomp-a34b3233.so.1.0.0`), or under the usual names in a
//! directory of their own (`torch/lib/libgomp-*.so.1`, `lib/libiomp5.so`). All files below the
//! directories on the interpreter's path are looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use links::closure;
use links::object;
use links::runtime::LinkedRuntime;

use super::{said, short};
use crate::failure::CommandFailure;
use crate::program::StartedProgram;
use crate::terminal::Look;

/// Prints the directories that packages are in, a line each.
const PATHS: &str = "import os, site, sys, sysconfig\n\
    own = [sysconfig.get_path('purelib'), sysconfig.get_path('platlib')]\n\
    more = [p for p in sys.path if os.path.basename(p) in ('site-packages', 'dist-packages')]\n\
    print('\\n'.join(dict.fromkeys(os.path.realpath(p) for p in own + more if os.path.isdir(p))))";

/// Imports the modules that it is given, each for itself.
const IMPORTS: &str = "import importlib, sys\n\
    for name in sys.argv[1:]:\n    \
        try: importlib.import_module(name)\n    \
        except Exception as why: print(f'import {name}: {why}', file=sys.stderr)";

/// A library of a package that needs a runtime, or is one.
struct PythonLibrary {
    file: PathBuf,
    base: PathBuf,
}

impl PythonLibrary {
    /// The package that it belongs to.
    fn package(&self) -> String {
        let inner = self.file.strip_prefix(&self.base).unwrap_or(&self.file);
        inner.components().next().map_or_else(String::new, |part| part.as_os_str().display().to_string())
    }

    /// What to import to have it loaded: the module itself, or the package around a library.
    fn module(&self) -> Option<String> {
        let inner = self.file.strip_prefix(&self.base).ok()?.to_str()?;
        let stem = inner.split_once(".cpython-").or_else(|| inner.split_once(".abi3.")).map(|(stem, _)| stem);
        let package = self.package();
        let has_code = self.base.join(&package).join("__init__.py").is_file();
        stem.map(|stem| stem.replace('/', ".")).or_else(|| has_code.then_some(package))
    }
}

/// What was found in the packages.
#[derive(Default)]
pub struct PythonPackages {
    /// Copies of runtimes.
    copies: BTreeMap<PathBuf, LinkedRuntime>,
    bases: Vec<PathBuf>,
    /// The libraries that ask for a runtime, by the name they ask for.
    users: BTreeMap<String, Vec<PythonLibrary>>,
    /// Libraries with a runtime linked in.
    linked_in: Vec<(PathBuf, &'static str)>,
}

/// Looks through the packages of an interpreter.
pub fn look(python: &StartedProgram) -> Result<PythonPackages, CommandFailure> {
    let word = python.word.display();
    let output = Command::new(&python.file)
        .args(["-c", PATHS])
        .output()
        .map_err(|why| CommandFailure::of_exec(&word.to_string(), &why))?;
    if !output.status.success() {
        return Err(CommandFailure::own(format!("{word} is not a Python that tells where its packages are")));
    }
    let mut packages = PythonPackages::default();
    for base in String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from) {
        for file in closure::libraries_below(&base) {
            packages.add(file, &base);
        }
        packages.bases.push(base);
    }
    Ok(packages)
}

impl PythonPackages {
    fn add(&mut self, file: PathBuf, base: &Path) {
        let Ok(Some(object)) = object::read(&file) else { return };
        if let Some(runtime) = LinkedRuntime::of(&file) {
            self.copies.insert(file, runtime);
            return;
        }
        if let Some(function) = object.own_runtime {
            self.linked_in.push((file.clone(), function));
        }
        for name in object.needed {
            if LinkedRuntime::of(Path::new(&name)).is_some() {
                self.users
                    .entry(name)
                    .or_default()
                    .push(PythonLibrary { file: file.clone(), base: base.to_path_buf() });
            }
        }
    }

    /// The files of all runtimes; one of the machine's stands under its name. Gangway in a wheel is
    /// none: it is not loaded unless a program is started on it.
    pub fn runtimes(&self) -> BTreeSet<PathBuf> {
        let system = self.users.keys().filter(|name| self.copy(name).is_none()).map(PathBuf::from);
        let copies = self.copies.iter().filter(|(_, runtime)| **runtime != LinkedRuntime::Gangway);
        copies.map(|(file, _)| file.clone()).chain(system).collect()
    }

    fn copy(&self, name: &str) -> Option<&PathBuf> {
        self.copies.keys().find(|file| file.file_name().is_some_and(|n| n == name))
    }

    /// A line for each copy, and for each runtime of the machine that modules ask for.
    pub fn print(&self) {
        for base in &self.bases {
            said(&format!("packages in {}", base.display()), Look::Plain);
        }
        for (file, runtime) in &self.copies {
            if *runtime == LinkedRuntime::Gangway {
                said(
                    &format!("  {}: Gangway, for programs that are started on it", self.shown(file)),
                    Look::Plain,
                );
                continue;
            }
            let name = file.file_name().map_or_else(String::new, |n| n.display().to_string());
            said(
                &format!("  {}: a copy of {}, for {}", self.shown(file), runtime.title(), self.whose(&name)),
                Look::Plain,
            );
        }
        for name in self.users.keys().filter(|name| self.copy(name).is_none()) {
            said(&format!("  {name} of this machine, for {}", self.whose(name)), Look::Plain);
        }
        for (file, function) in &self.linked_in {
            said(
                &format!(
                    "  {} has an OpenMP runtime linked in ({function} is defined in it)",
                    self.shown(file)
                ),
                Look::Bad,
            );
        }
        if self.copies.is_empty() && self.users.is_empty() {
            said("  no copy of an OpenMP runtime, and nobody needs one", Look::Plain);
        }
    }

    fn shown(&self, file: &Path) -> String {
        self.bases
            .iter()
            .find(|base| file.starts_with(base))
            .map_or_else(|| file.display().to_string(), |base| short(file, base))
    }

    fn whose(&self, name: &str) -> String {
        let users = self.users.get(name).map_or(&[][..], Vec::as_slice);
        let packages: BTreeSet<String> = users.iter().map(PythonLibrary::package).collect();
        let list = packages.into_iter().collect::<Vec<_>>().join(", ");
        match users.len() {
            0 => "whoever opens it by name".into(),
            1 => format!("a library of {list}"),
            n => format!("{n} libraries of {list}"),
        }
    }

    /// The arguments and variables of a run of the interpreter that imports a module for each
    /// runtime. All symbols are bound at once, so that what is called is seen without calling it.
    pub fn imports(&self) -> (Vec<OsString>, Vec<(String, String)>) {
        let modules: BTreeSet<String> =
            self.users.values().filter_map(|users| users.iter().find_map(PythonLibrary::module)).collect();
        let mut words: Vec<OsString> = vec!["-c".into(), IMPORTS.into()];
        words.extend(modules.into_iter().map(OsString::from));
        (words, vec![("LD_BIND_NOW".into(), "1".into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gangway_s_own_wheel_is_no_other_runtime() {
        let copies = [
            ("/s/gangway/lib/gangway/libomp-libgangway.so", LinkedRuntime::Gangway),
            ("/s/a.libs/libgomp-1.so", LinkedRuntime::Libgomp),
        ];
        let copies = copies.map(|(file, runtime)| (PathBuf::from(file), runtime)).into();
        let packages = PythonPackages { copies, ..PythonPackages::default() };
        assert_eq!(packages.runtimes(), BTreeSet::from(["/s/a.libs/libgomp-1.so".into()]));
    }

    #[test]
    fn modules_are_named_as_python_does() {
        let module = |file: &str| PythonLibrary { file: PathBuf::from(file), base: "/s".into() }.module();
        assert_eq!(module("/s/a/b/_c.cpython-311-x86_64-linux-gnu.so"), Some("a.b._c".into()));
        assert_eq!(module("/s/a/_d.abi3.so"), Some("a._d".into()));
        assert_eq!(module("/s/a/lib/libx.so.1"), None, "no package is there");
        assert_eq!(PythonLibrary { file: "/s/a.libs/libx.so".into(), base: "/s".into() }.package(), "a.libs");
    }
}
