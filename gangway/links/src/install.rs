//! The directory of links: a copy of the library under a name that programs know, the names of all OpenMP runtimes as links to it, and the
//! libraries for MPI.
//!
//! [`install`] makes one where somebody asked for it. [`keep`] looks after one that nobody looks at: it is made when it is not there, and again when
//! the library has changed since, which a file in it ([`STAMP`]) tells. Several processes may do so at a time: every file and link is whole at any moment.

use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::{fs, io};

use crate::names::{BESIDE, FILE, OFFLOAD, RUNTIMES};

/// In a directory that [`keep`] looks after: from what it was made.
pub const STAMP: &str = "made-from";

/// Puts a file or link there that `make` makes under another name, in one step.
fn place(directory: &Path, name: &str, make: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let fresh = directory.join(format!("{name}.{}", std::process::id()));
    let made = make(&fresh).and_then(|()| fs::rename(&fresh, directory.join(name)));
    if made.is_err() {
        // What was made half is of no use; the error is what the caller has to hear of.
        let _ = fs::remove_file(&fresh);
    }
    made
}

fn copy(file: &Path, directory: &Path, name: &str) -> io::Result<()> {
    place(directory, name, |fresh| fs::copy(file, fresh).map(drop))
}

/// Makes `name` a link to [`FILE`].
fn link(directory: &Path, name: &str) -> io::Result<()> {
    let there = directory.join(name);
    if there.exists() && !there.is_symlink() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{name} is there and is no link")));
    }
    if fs::read_link(&there).is_ok_and(|to| to == Path::new(FILE)) {
        return Ok(());
    }
    place(directory, name, |fresh| symlink(FILE, fresh))
}

/// Makes `directory` hold a copy of `library`, of the libraries for MPI that lie beside it, and the names of all OpenMP runtimes as links to it. Programs that run on an
/// older copy keep it.
///
/// # Errors
/// A library that is not there, or a directory, a copy or a link that cannot be made. Links that exist are replaced; a file
/// of such a name that is not a link is an error, for it may be a real runtime.
pub fn install(library: &Path, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    copy(library, directory, FILE)?;
    for name in BESIDE {
        let file = library.with_file_name(name);
        if file.exists() {
            copy(&file, directory, name)?;
        }
    }
    RUNTIMES.iter().chain(&OFFLOAD).try_for_each(|name| link(directory, name))
}

/// Does the directory hold the library and the names of the runtimes?
#[must_use]
pub fn is_ready(directory: &Path) -> bool {
    directory.join(FILE).is_file() && RUNTIMES.iter().all(|name| directory.join(name).is_file())
}

/// What a directory is made from: each file with its size and time.
fn stamp(library: &Path) -> io::Result<String> {
    let line = |file: &Path| fs::metadata(file).map(|m| format!("{} {} {}.{:09}\n", file.display(), m.size(), m.mtime(), m.mtime_nsec()));
    let beside = BESIDE.iter().filter_map(|name| line(&library.with_file_name(name)).ok());
    Ok(beside.fold(line(library)?, |text, line| text + &line))
}

/// As [`install`], unless the directory is of this library already. One that was made by `install` stays as it is.
///
/// # Errors
/// As `install`.
pub fn keep(library: &Path, directory: &Path) -> io::Result<()> {
    let file = directory.join(STAMP);
    if is_ready(directory) && !file.exists() {
        return Ok(());
    }
    let now = stamp(library)?;
    if is_ready(directory) && fs::read_to_string(&file).is_ok_and(|made| made == now) {
        return Ok(());
    }
    fs::create_dir_all(directory)?;
    // First, so that a directory that is made half is known for one of ours; it matches no library.
    if !file.exists() {
        fs::write(&file, "")?;
    }
    for name in BESIDE.iter().filter(|name| !library.with_file_name(name).exists()) {
        // It may well not be there.
        let _ = fs::remove_file(directory.join(name));
    }
    install(library, directory)?;
    place(directory, STAMP, |fresh| fs::write(fresh, now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// An empty directory of its own for a test.
    fn directory(name: &str) -> PathBuf {
        let at = std::env::temp_dir().join(format!("gangway-links-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&at));
        fs::create_dir_all(&at).expect("a directory for the test");
        at
    }

    #[test]
    fn a_directory_is_made_and_made_again_when_the_library_changes() {
        let at = directory("made");
        let (library, links) = (at.join("libgangway.so"), at.join("links"));
        fs::write(&library, "one").unwrap();
        fs::write(at.join(BESIDE[0]), "bridge").unwrap();
        assert!(!is_ready(&links));
        keep(&library, &links).unwrap();
        assert!(is_ready(&links) && links.join(BESIDE[0]).exists() && !links.join(BESIDE[1]).exists());
        assert_eq!(fs::read_to_string(links.join("libgomp.so.1")).unwrap(), "one");
        let made = fs::metadata(links.join(FILE)).unwrap().ino();
        keep(&library, &links).unwrap();
        assert_eq!(fs::metadata(links.join(FILE)).unwrap().ino(), made, "nothing has changed");
        fs::write(&library, "two, longer").unwrap();
        fs::remove_file(at.join(BESIDE[0])).unwrap();
        keep(&library, &links).unwrap();
        assert_eq!(fs::read_to_string(links.join("libomp.so.5")).unwrap(), "two, longer");
        assert!(!links.join(BESIDE[0]).exists(), "a bridge of an older library does not stay");
        assert_eq!(fs::read_link(links.join("libiomp5.so")).unwrap(), Path::new(FILE));
        fs::remove_dir_all(at).unwrap();
    }

    #[test]
    fn what_somebody_installed_stays_and_real_runtimes_do() {
        let at = directory("stays");
        let (library, links) = (at.join("libgangway.so"), at.join("links"));
        fs::write(&library, "one").unwrap();
        install(&library, &links).unwrap();
        fs::write(&library, "two, longer").unwrap();
        keep(&library, &links).unwrap();
        assert_eq!(fs::read_to_string(links.join(FILE)).unwrap(), "one");
        fs::remove_file(links.join("libgomp.so.1")).unwrap();
        fs::write(links.join("libgomp.so.1"), "GCC's").unwrap();
        assert!(install(&library, &links).is_err_and(|e| e.to_string().contains("libgomp.so.1 is there and is no link")));
        assert_eq!(fs::read_to_string(links.join("libgomp.so.1")).unwrap(), "GCC's");
        assert!(install(&at.join("nowhere.so"), &links).is_err());
        fs::remove_dir_all(at).unwrap();
    }
}
