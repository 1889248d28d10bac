//! A directory for what is needed for a moment.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs};

use crate::failure::Failure;

/// A directory that goes with this value.
pub struct Scratch(PathBuf);

impl Scratch {
    /// An empty one, for this process alone.
    pub fn new(what: &str) -> Result<Scratch, Failure> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // ORDERING: Relaxed; only different numbers are wanted.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let at = env::temp_dir().join(format!("gangway-{what}-{}-{number}", std::process::id()));
        fs::create_dir(&at).map_err(|why| Failure::own(format!("{}: {why}", at.display())))?;
        Ok(Scratch(at))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays is found by whoever cleans the directory for such files.
        let _ = fs::remove_dir_all(&self.0);
    }
}
