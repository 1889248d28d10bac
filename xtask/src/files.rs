//! The files below a folder.
//!
//! What lives here: the one walk through folders. What does not: which files a command wants.

use std::fs;
use std::path::{Path, PathBuf};

/// The files below `folder`, sorted. Folders inside of it are entered if `enters` says so. Those
/// that cannot be read are left out.
pub fn below(folder: &Path, enters: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = open.pop() {
        for path in fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                if enters(&path) {
                    open.push(path);
                }
            } else if path.is_file() {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Does the name of the file end so?
pub fn ends(path: &Path, end: &str) -> bool {
    path.to_string_lossy().ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_entered_if_wanted() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let all = below(&source, |_| true);
        assert!(all.contains(&source.join("main.rs")) && all.contains(&source.join("pages/links.rs")));
        assert!(all.is_sorted());
        let some = below(&source, |folder| !folder.ends_with("pages"));
        assert!(some.contains(&source.join("pages.rs")) && !some.contains(&source.join("pages/links.rs")));
        assert!(below(&source.join("nowhere"), |_| true).is_empty());
    }
}
