//! Where the library is, and the directory of links to it that programs are pointed to.
//!
//! The library lies beside this tool (as cargo leaves both), or in a directory of links:
//! `../lib/gangway/compat`, as packages have it, or `../lib/gangway`, where `cargo xtask
//! install-links` makes one; `GANGWAY_LIB` names another place, a file or a directory. A directory
//! of links is used as it is. For a library alone (a wheel has no links) one is made in the user's
//! cache, for each state of the library, if the cache is the user's alone ([`trust`]).
//!
//! Rejected: preloading the library where it is built. Programs that look for their runtime by its
//! file's name do not know it there, and those that load one later find another.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use links::{install, names};

use crate::failure::CommandFailure;
use crate::trust::{self, Checked};

/// Where the library was found.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LibraryFound {
    /// Alone: this file.
    Library(PathBuf),
    /// In this directory of links.
    Links(PathBuf),
}

impl LibraryFound {
    fn file(&self) -> PathBuf {
        match self {
            LibraryFound::Library(file) => file.clone(),
            LibraryFound::Links(directory) => directory.join(names::FILE),
        }
    }
}

/// Something of the environment.
type Get<'a> = &'a dyn Fn(&str) -> Option<OsString>;

fn in_directory(directory: &Path) -> Option<LibraryFound> {
    let library = directory.join(names::LIBRARY);
    if library.is_file() {
        return Some(LibraryFound::Library(library));
    }
    if install::is_ready(directory) {
        return Some(LibraryFound::Links(directory.to_path_buf()));
    }
    let alone = directory.join(names::FILE);
    alone.is_file().then_some(LibraryFound::Library(alone))
}

fn find(get: Get<'_>, tool: &Path) -> Result<LibraryFound, CommandFailure> {
    if let Some(given) = get("GANGWAY_LIB").map(PathBuf::from) {
        let shown = given.display();
        let found = match (given.is_dir(), given.file_name()) {
            (true, _) => in_directory(&given),
            (false, Some(name)) if given.is_file() && name == names::FILE => {
                given.parent().and_then(in_directory)
            }
            (false, _) => given.is_file().then(|| LibraryFound::Library(given.clone())),
        };
        return found.ok_or_else(|| {
            CommandFailure::own(format!("GANGWAY_LIB={shown}: {} is not there", names::LIBRARY))
        });
    }
    let beside = tool.parent().unwrap_or(Path::new("/"));
    let (package, installed) = (beside.join("../lib/gangway/compat"), beside.join("../lib/gangway"));
    [beside, &package, &installed].into_iter().find_map(in_directory).ok_or_else(|| {
        let (name, beside) = (names::LIBRARY, beside.display());
        CommandFailure::own(format!("{name} is neither in {beside} nor in {beside}/../lib/gangway; GANGWAY_LIB can name it (cargo build --release -p libomp-shim builds it)"))
    })
}

/// The user's cache (XDG Base Directory Specification).
fn cache(get: Get<'_>) -> Result<PathBuf, CommandFailure> {
    let absolute = |name: &str| get(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    base.map(|base| base.join("gangway")).ok_or_else(|| {
        CommandFailure::own(
            "neither XDG_CACHE_HOME nor HOME says where to put links to the library; --links DIR does",
        )
    })
}

/// The directory in the cache for this state of the library. The cache is the user's alone, or is
/// not used.
fn cached(get: Get<'_>, library: &Path) -> Result<PathBuf, CommandFailure> {
    let cache = cache(get)?;
    let failed = |why| CommandFailure::own(format!("{}: {why}", cache.display()));
    trust::create_private(&cache).map_err(failed)?;
    let checked = trust::check(&cache).map_err(failed)?;
    if let Some(problem) = checked.problem {
        return Err(CommandFailure::own(format!(
            "{problem}, so nothing from {} is loaded; --links DIR names another place for links to the library",
            cache.display()
        )));
    }
    let links = install::in_cache(library, &checked.real).map_err(failed)?;
    // A directory that another user made there while its parent was open to all.
    let Checked { real, problem } = trust::check(&links).map_err(failed)?;
    match problem {
        Some(problem) => {
            Err(CommandFailure::own(format!("{problem}, so it is not loaded: remove {}", links.display())))
        }
        None => Ok(real),
    }
}

/// The loader's lists have no way to write these.
fn can_be_listed(directory: PathBuf) -> Result<PathBuf, CommandFailure> {
    match directory.to_str() {
        Some(text) if !text.contains([' ', ':', ';', '\n', '\t']) => Ok(directory),
        _ => Err(CommandFailure::own(format!(
            "{}: the loader takes no directory with blanks, colons or semicolons in its name; --links DIR names another",
            directory.display()
        ))),
    }
}

fn links_by(get: Get<'_>, tool: &Path, given: Option<&Path>) -> Result<PathBuf, CommandFailure> {
    let made = |library: &Path, directory: PathBuf| -> Result<PathBuf, CommandFailure> {
        let library =
            library.canonicalize().map_err(|e| CommandFailure::own(format!("{}: {e}", library.display())))?;
        install::refresh(&library, &directory)
            .map_err(|e| CommandFailure::own(format!("{}: {e}", directory.display())))?;
        Ok(directory)
    };
    let directory = match (given, find(get, tool)) {
        // A directory that was already made for this needs no library.
        (Some(directory), Err(_)) if install::is_ready(directory) => directory.to_path_buf(),
        (Some(directory), found) => made(&found?.file(), directory.to_path_buf())?,
        (None, Ok(LibraryFound::Links(directory))) => directory,
        (None, found) => {
            let library = found?.file();
            let library = library.canonicalize().unwrap_or(library);
            cached(get, &library)?
        }
    };
    can_be_listed(
        directory.canonicalize().map_err(|e| CommandFailure::own(format!("{}: {e}", directory.display())))?,
    )
}

/// A directory of links to the library, which is made where it has to be: the given one, that of an
/// installation, or one in the user's cache.
pub fn links(given: Option<&Path>) -> Result<PathBuf, CommandFailure> {
    let tool = env::current_exe()
        .map_err(|e| CommandFailure::own(format!("this program does not know where it is: {e}")))?;
    links_by(&|name| env::var_os(name).filter(|v| !v.is_empty()), &tool, given)
}

/// The variables of the loader that put the library of `links` under a program, and these before
/// it; what was said before stays, behind.
pub fn loader(
    links: &Path,
    preloaded: &[&OsStr],
    before: &dyn Fn(&str) -> Option<OsString>,
) -> [(&'static str, OsString); 2] {
    let join = |own: &[&OsStr], name: &'static str, ends: &[u8]| (name, in_front(own, before(name), ends));
    [join(&[links.as_os_str()], "LD_LIBRARY_PATH", b":;"), join(preloaded, "LD_PRELOAD", b": ")]
}

/// A list of the loader's with these in front of what was in it, each once; what ends a word of it
/// is given.
pub fn in_front(own: &[&OsStr], old: Option<OsString>, ends: &[u8]) -> OsString {
    let old = old.unwrap_or_default();
    let old = old.as_bytes().split(|b| ends.contains(b)).map(OsStr::from_bytes);
    let more = old.filter(|word| !word.is_empty() && !own.contains(word));
    own.iter().copied().chain(more).collect::<Vec<_>>().join(OsStr::new(":"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn directory(name: &str) -> PathBuf {
        let at = env::temp_dir().join(format!("gangway-home-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&at));
        fs::create_dir_all(at.join("bin")).expect("a directory for the test");
        at
    }

    #[test]
    fn the_library_is_beside_the_tool_or_installed_or_named() {
        let at = directory("found");
        let (tool, nothing) = (at.join("bin/gangway"), |_: &str| None);
        assert!(find(&nothing, &tool).is_err_and(|f| f.status == 125 && f.line.contains("GANGWAY_LIB")));
        fs::write(at.join("built.so"), "library").unwrap();
        install::install(&at.join("built.so"), &at.join("lib/gangway")).unwrap();
        assert_eq!(find(&nothing, &tool), Ok(LibraryFound::Links(at.join("bin/../lib/gangway"))));
        fs::write(at.join("bin/libgangway.so"), "library").unwrap();
        assert_eq!(find(&nothing, &tool), Ok(LibraryFound::Library(at.join("bin/libgangway.so"))));
        install::install(&at.join("built.so"), &at.join("lib/gangway/compat")).unwrap();
        fs::remove_file(at.join("bin/libgangway.so")).unwrap();
        assert_eq!(find(&nothing, &tool), Ok(LibraryFound::Links(at.join("bin/../lib/gangway/compat"))));
        fs::create_dir(at.join("wheel")).unwrap();
        fs::write(at.join("wheel/libomp-libgangway.so"), "library").unwrap();
        let named = |name: &str| {
            let value = at.join(name).into_os_string();
            find(&|variable| (variable == "GANGWAY_LIB").then(|| value.clone()), &tool)
        };
        assert_eq!(named("built.so"), Ok(LibraryFound::Library(at.join("built.so"))));
        assert_eq!(named("lib/gangway"), Ok(LibraryFound::Links(at.join("lib/gangway"))));
        assert_eq!(
            named("lib/gangway/libomp-libgangway.so"),
            Ok(LibraryFound::Links(at.join("lib/gangway")))
        );
        assert_eq!(named("wheel"), Ok(LibraryFound::Library(at.join("wheel/libomp-libgangway.so"))));
        assert!(named("nothing").is_err() && named("lib").is_err());
        fs::remove_dir_all(at).unwrap();
    }

    #[test]
    fn links_are_made_where_they_are_asked_for_or_in_the_cache() {
        let at = directory("links");
        let (tool, library) = (at.join("bin/gangway"), at.join("bin/libgangway.so"));
        let cache = |name: &str| (name == "XDG_CACHE_HOME").then(|| at.join("cache").into_os_string());
        fs::write(&library, "library").unwrap();
        let made = links_by(&cache, &tool, None).unwrap();
        assert!(
            made.starts_with(at.canonicalize().unwrap().join("cache/gangway")) && install::is_ready(&made),
            "{made:?}"
        );
        assert_eq!(links_by(&cache, &tool, None), Ok(made));
        let asked = links_by(&|_| None, &tool, Some(&at.join("here"))).unwrap();
        assert!(install::is_ready(&asked) && asked.ends_with("here"));
        assert!(links_by(&|_| None, &tool, None).is_err_and(|f| f.line.contains("--links")));
        assert!(links_by(&|_| None, &tool, Some(&at.join("a b"))).is_err_and(|f| f.line.contains("blanks")));
        fs::remove_file(&library).unwrap();
        assert_eq!(
            links_by(&|_| None, &tool, Some(&asked)),
            Ok(asked.clone()),
            "somebody's directory needs no library"
        );
        fs::remove_dir_all(at).unwrap();
    }

    #[test]
    fn what_was_preloaded_before_stays() {
        let before = |name: &str| {
            Some(OsString::from(if name == "LD_PRELOAD" {
                "libx.so /l/libomp-libgangway.so:liby.so"
            } else {
                "/a:/l"
            }))
        };
        let own = [OsStr::new("/l/libomp-libgangway.so")];
        let [path, preload] = loader(Path::new("/l"), &own, &before);
        assert_eq!(path, ("LD_LIBRARY_PATH", "/l:/a".into()));
        assert_eq!(preload, ("LD_PRELOAD", "/l/libomp-libgangway.so:libx.so:liby.so".into()));
        assert_eq!(loader(Path::new("/l"), &own, &|_| None)[1].1, "/l/libomp-libgangway.so");
    }
}
