//! The directory of links: a copy of the library under a name that programs know, the names of all
//! OpenMP runtimes as links to it, and the libraries for MPI.
//!
//! [`install`] makes one where the user asked for it. [`refresh`] does so only if the library has
//! changed since, which a file in it ([`STAMP`]) tells. [`in_cache`] has a directory for each state
//! of the library, which is made under another name, renamed as a whole, and never changed. Several
//! processes may do all this at a time, in containers with equal process numbers, too: every file
//! and link is whole at any moment.
//!
//! Rejected: names made of the process number. Process 1 of a second container took the first one's
//! file for its own, and wrote over a library in use.

use std::hash::{DefaultHasher, Hasher as _};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use crate::names::{BESIDE, FILE, OFFLOAD, RUNTIMES};
use crate::unique::UniqueDirectory;

/// In a directory that [`refresh`] looks after: from what it was made.
pub const STAMP: &str = "made-from";
/// Directories for earlier states of a library stay in the cache for so long after their last use:
/// a program may load its runtime late. Chosen; any value from a day on will do.
const CACHE_LIFETIME: Duration = Duration::from_secs(7 * 24 * 3600);

/// Puts a file or link there that `make` makes under another name, in one step.
fn put_in_place(directory: &Path, name: &str, make: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let unique = UniqueDirectory::new(directory, ".new-")?;
    let new = unique.path().join(name);
    make(&new).and_then(|()| fs::rename(new, directory.join(name)))
}

fn copy(file: &Path, directory: &Path, name: &str) -> io::Result<()> {
    put_in_place(directory, name, |new| {
        fs::copy(file, new)?;
        // Before the name leads to it: after a crash the name has the old file or all of the new
        // one.
        fs::File::open(new)?.sync_data()
    })
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
    put_in_place(directory, name, |new| symlink(FILE, new))
}

/// Makes `directory` hold a copy of `library`, of the libraries for MPI that lie beside it, and the
/// names of all OpenMP runtimes as links to it. Programs that run on an older copy keep it.
///
/// # Errors
/// A library that is not there, or a directory, a copy or a link that cannot be made. Links that
/// exist are replaced; a file of such a name that is not a link is an error, for it may be a real
/// runtime.
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
    let line = |file: &Path| {
        fs::metadata(file)
            .map(|m| format!("{} {} {}.{:09}\n", file.display(), m.size(), m.mtime(), m.mtime_nsec()))
    };
    let beside = BESIDE.iter().filter_map(|name| line(&library.with_file_name(name)).ok());
    Ok(beside.fold(line(library)?, |text, line| text + &line))
}

/// As [`install`], unless the directory is of this state of the library already. A directory that
/// `install` alone made stays as it is.
///
/// # Errors
/// As `install`.
pub fn refresh(library: &Path, directory: &Path) -> io::Result<()> {
    let file = directory.join(STAMP);
    if is_ready(directory) && !file.exists() {
        return Ok(());
    }
    let now = stamp(library)?;
    if is_ready(directory) && fs::read_to_string(&file).is_ok_and(|made| made == now) {
        return Ok(());
    }
    fs::create_dir_all(directory)?;
    // An empty stamp comes first and matches no library: if this process is interrupted, the next
    // call finds it and completes the directory.
    if !file.exists() {
        fs::write(&file, "")?;
    }
    for name in BESIDE.iter().filter(|name| !library.with_file_name(name).exists()) {
        // It may well not be there.
        let _ = fs::remove_file(directory.join(name));
    }
    install(library, directory)?;
    put_in_place(directory, STAMP, |new| fs::write(new, now))
}

/// The directory in `cache` that holds this state of the library, which is made if it is not there.
/// `cache` is there.
///
/// # Errors
/// As [`install`].
pub fn in_cache(library: &Path, cache: &Path) -> io::Result<PathBuf> {
    let of_library = format!("links-{:016x}-", hash(&library));
    let directory = cache.join(format!("{of_library}{:016x}", hash(&stamp(library)?)));
    if !is_complete(&directory, library) {
        build_and_rename(&directory, library, cache)?;
        remove_old(cache, &of_library, &directory);
    }
    // The time of the last use. A cache that cannot be written to is used as it is.
    let _ = fs::File::open(&directory).and_then(|opened| opened.set_modified(SystemTime::now()));
    Ok(directory)
}

fn hash(what: &impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// Is the directory ready, and are its copies as long as the files? A machine that stopped may have
/// lost the end of a copy, but none that [`copy`] has renamed.
fn is_complete(directory: &Path, library: &Path) -> bool {
    let size = |file: &Path| fs::metadata(file).map(|m| m.size()).ok();
    let is_copied = |name: &&str| size(&directory.join(name)) == size(&library.with_file_name(name));
    is_ready(directory) && size(&directory.join(FILE)) == size(library) && BESIDE.iter().all(is_copied)
}

/// Makes the directory under another name, and renames it.
fn build_and_rename(directory: &Path, library: &Path, cache: &Path) -> io::Result<()> {
    let new = UniqueDirectory::new(cache, ".new-")?;
    install(library, new.path())?;
    if fs::rename(new.path(), directory).is_ok() || is_complete(directory, library) {
        return Ok(());
    }
    // A directory that is there and damaged is renamed first, for the kernel renames onto empty
    // ones only.
    let aside = UniqueDirectory::new(cache, ".new-")?;
    match fs::rename(directory, aside.path()).and_then(|()| fs::rename(new.path(), directory)) {
        Err(_) if is_complete(directory, library) => Ok(()),
        done => done,
    }
}

/// Removes directories for earlier states of this library, and unfinished ones.
fn remove_old(cache: &Path, of_library: &str, now: &Path) {
    let is_old = |at: &Path| {
        fs::symlink_metadata(at)
            .and_then(|m| m.modified())
            .is_ok_and(|made| SystemTime::now().duration_since(made).is_ok_and(|age| age > CACHE_LIFETIME))
    };
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        let (at, name) = (entry.path(), entry.file_name());
        let is_ours =
            name.to_str().is_some_and(|name| name.starts_with(of_library) || name.starts_with(".new-"));
        if is_ours && at != now && is_old(&at) {
            // Another process may have removed it.
            let _ = fs::remove_dir_all(&at);
        }
    }
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
    fn names_of_a_killed_process_are_no_obstacle() {
        let at = directory("killed");
        let (library, links) = (at.join("libgangway.so"), at.join("links"));
        fs::write(&library, "one").unwrap();
        fs::create_dir(&links).unwrap();
        for name in [FILE, "libgomp.so.1", "libomp.so.5"] {
            symlink("elsewhere", links.join(format!("{name}.{}", std::process::id()))).unwrap();
        }
        refresh(&library, &links).unwrap();
        assert!(is_ready(&links) && !links.join("elsewhere").exists());
        fs::remove_dir_all(at).unwrap();
    }

    #[test]
    fn a_directory_is_made_and_made_again_when_the_library_changes() {
        let at = directory("made");
        let (library, links) = (at.join("libgangway.so"), at.join("links"));
        fs::write(&library, "one").unwrap();
        fs::write(at.join(BESIDE[0]), "bridge").unwrap();
        assert!(!is_ready(&links));
        refresh(&library, &links).unwrap();
        assert!(is_ready(&links) && links.join(BESIDE[0]).exists() && !links.join(BESIDE[1]).exists());
        assert_eq!(fs::read_to_string(links.join("libgomp.so.1")).unwrap(), "one");
        let made = fs::metadata(links.join(FILE)).unwrap().ino();
        refresh(&library, &links).unwrap();
        assert_eq!(fs::metadata(links.join(FILE)).unwrap().ino(), made, "nothing has changed");
        fs::write(&library, "two, longer").unwrap();
        fs::remove_file(at.join(BESIDE[0])).unwrap();
        refresh(&library, &links).unwrap();
        assert_eq!(fs::read_to_string(links.join("libomp.so.5")).unwrap(), "two, longer");
        assert!(!links.join(BESIDE[0]).exists(), "a bridge of an older library does not stay");
        assert_eq!(fs::read_link(links.join("libiomp5.so")).unwrap(), Path::new(FILE));
        fs::remove_dir_all(at).unwrap();
    }

    #[test]
    fn the_cache_has_a_whole_directory_for_each_state_of_the_library() {
        let at = directory("cache");
        let (library, cache) = (at.join("libgangway.so"), at.join("cache"));
        fs::create_dir(&cache).unwrap();
        fs::write(&library, "one").unwrap();
        let one = in_cache(&library, &cache).unwrap();
        assert_eq!(in_cache(&library, &cache).unwrap(), one);
        fs::write(&library, "two, longer").unwrap();
        let two = in_cache(&library, &cache).unwrap();
        assert_ne!(one, two);
        assert_eq!(
            [&one, &two].map(|links| fs::read_to_string(links.join("libgomp.so.1")).unwrap()),
            ["one", "two, longer"]
        );
        fs::write(two.join(FILE), "tw").unwrap();
        assert_eq!(in_cache(&library, &cache).unwrap(), two);
        assert_eq!(
            fs::read_to_string(two.join(FILE)).unwrap(),
            "two, longer",
            "a damaged copy is made again"
        );
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 2, "nothing else is left");
        let old = SystemTime::now() - 2 * CACHE_LIFETIME;
        fs::File::open(&one).unwrap().set_modified(old).unwrap();
        fs::write(&library, "three").unwrap();
        in_cache(&library, &cache).unwrap();
        assert!(!one.exists() && two.exists());
        fs::remove_dir_all(at).unwrap();
    }

    #[test]
    fn processes_of_equal_numbers_make_the_cache_at_a_time() {
        let at = directory("race");
        let (library, cache) = (at.join("libgangway.so"), at.join("cache"));
        fs::create_dir(&cache).unwrap();
        for round in 0..20_u8 {
            fs::write(&library, vec![round; 100_000 + usize::from(round)]).unwrap();
            let made: Vec<PathBuf> = std::thread::scope(|scope| {
                let starts: Vec<_> = (0..4)
                    .map(|_| {
                        scope.spawn(|| {
                            in_cache(&library, &cache)
                                .map(|links| (fs::read(links.join("libomp.so.5")).unwrap(), links))
                        })
                    })
                    .collect();
                starts
                    .into_iter()
                    .map(|start| start.join().unwrap().unwrap())
                    .map(|(read, links)| {
                        assert!(read == fs::read(&library).unwrap());
                        links
                    })
                    .collect()
            });
            assert!(made.iter().all(|links| *links == made[0]));
        }
        assert_eq!(fs::read_dir(&cache).unwrap().count(), 20);
        fs::remove_dir_all(at).unwrap();
    }

    #[test]
    fn what_somebody_installed_stays_and_real_runtimes_do() {
        let at = directory("stays");
        let (library, links) = (at.join("libgangway.so"), at.join("links"));
        fs::write(&library, "one").unwrap();
        install(&library, &links).unwrap();
        fs::write(&library, "two, longer").unwrap();
        refresh(&library, &links).unwrap();
        assert_eq!(fs::read_to_string(links.join(FILE)).unwrap(), "one");
        fs::remove_file(links.join("libgomp.so.1")).unwrap();
        fs::write(links.join("libgomp.so.1"), "GCC's").unwrap();
        assert!(
            install(&library, &links)
                .is_err_and(|e| e.to_string().contains("libgomp.so.1 is there and is no link"))
        );
        assert_eq!(fs::read_to_string(links.join("libgomp.so.1")).unwrap(), "GCC's");
        assert!(install(&at.join("nowhere.so"), &links).is_err());
        fs::remove_dir_all(at).unwrap();
    }
}
