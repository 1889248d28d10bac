//! What the files say: the runtimes that the loader loads before `main`, who needs them, and
//! libraries that have one linked in.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use links::closure::{self, Closure, Surroundings};
use links::runtime::LinkedRuntime;

use super::said;
use crate::terminal::Look;

/// Prints what is loaded for the program, and gives the files of the runtimes.
pub fn look(program: &Path) -> BTreeSet<PathBuf> {
    let closure = closure::of(program, &Surroundings::here());
    let mut found = BTreeSet::new();
    for one in &closure.loaded {
        if let Some(runtime) = LinkedRuntime::of(&one.file) {
            let real = one.file.canonicalize().unwrap_or_else(|_| one.file.clone());
            said(
                &format!(
                    "loads {}: {} for {}",
                    one.file.display(),
                    runtime.title(),
                    users(&closure, &one.file)
                ),
                Look::Plain,
            );
            found.insert(real);
        } else if let Some(function) = one.object.own_runtime.filter(|_| one.by.is_some()) {
            let file = one.file.display();
            said(&format!("{file} has an OpenMP runtime linked in ({function} is defined in it)"), Look::Bad);
        }
    }
    for (name, by) in &closure.missing {
        said(&format!("{name} is not found, which {} needs", closure.loaded[*by].file.display()), Look::Bad);
    }
    if found.is_empty() {
        said("loads no OpenMP runtime before main", Look::Plain);
    }
    found
}

/// The objects that ask for a library by a name that it has.
fn users(closure: &Closure, file: &Path) -> String {
    let loaded = closure.loaded.iter().find(|one| one.file == file);
    let soname = loaded.and_then(|one| one.object.soname.as_deref());
    let name = file.file_name().and_then(|n| n.to_str());
    let asks =
        |needed: &[String]| needed.iter().any(|n| Some(n.as_str()) == soname || n.rsplit('/').next() == name);
    let users: Vec<String> = closure
        .loaded
        .iter()
        .filter(|one| asks(&one.object.needed))
        .map(|one| one.file.display().to_string())
        .collect();
    if users.is_empty() { "LD_PRELOAD".into() } else { users.join(", ") }
}
