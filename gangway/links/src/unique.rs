//! Directories whose names no other process has, for their owner alone.
//!
//! A process number does not make a name unique: containers that share a directory number their
//! processes alike, and a killed process leaves its names behind. So the kernel decides: a random
//! name is taken only if its directory can be made.

use std::fs::DirBuilder;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Names that are tried before the kernel's answer *exists* is an error.
const TRIES: u32 = 64;

/// A directory of mode 0700 that is removed, with everything in it, with this value.
#[derive(Debug)]
pub struct UniqueDirectory(PathBuf);

impl UniqueDirectory {
    /// An empty one in `parent`; its name begins with `prefix`.
    ///
    /// # Errors
    /// Those of `mkdir(2)`.
    pub fn new(parent: &Path, prefix: &str) -> io::Result<Self> {
        let mut tries = 0;
        loop {
            // The standard library draws the keys of each state from the kernel's random numbers.
            let at = parent.join(format!("{prefix}{:016x}", RandomState::new().build_hasher().finish()));
            match DirBuilder::new().mode(0o700).create(&at) {
                Ok(()) => return Ok(Self(at)),
                Err(why) if why.kind() == io::ErrorKind::AlreadyExists && tries < TRIES => tries += 1,
                Err(why) => return Err(why),
            }
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for UniqueDirectory {
    fn drop(&mut self) {
        // A directory that was renamed is no longer there.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt as _;

    #[test]
    fn names_differ_and_directories_go_with_their_values() {
        let [one, two] =
            [(), ()].map(|()| UniqueDirectory::new(&std::env::temp_dir(), "gangway-unique-").unwrap());
        assert_ne!(one.path(), two.path());
        assert_eq!(fs::metadata(one.path()).unwrap().mode() & 0o777, 0o700);
        fs::write(one.path().join("file"), "").unwrap();
        let gone = one.path().to_path_buf();
        drop(one);
        assert!(!gone.exists() && two.path().exists());
        assert!(UniqueDirectory::new(&gone, "x").is_err_and(|why| why.kind() == io::ErrorKind::NotFound));
    }
}
