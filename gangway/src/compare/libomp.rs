//! Where LLVM's runtime is, which has the entry points of gcc's programs, too.

use std::fs;
use std::path::PathBuf;

/// The newest of Debian's and Fedora's usual places; Gangway under that name is none.
pub fn newest() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.strip_prefix("llvm-")?.parse().ok()?;
            Some((number, entry.path().join("lib/libomp.so.5")))
        })
        .collect();
    found.sort();
    let usual = ["/usr/lib/x86_64-linux-gnu/libomp.so.5", "/usr/lib64/libomp.so", "/usr/lib/libomp.so"]
        .map(PathBuf::from);
    let all = found.into_iter().rev().map(|(_, file)| file).chain(usual);
    all.into_iter().find(|file| {
        file.is_file()
            && links::runtime::LinkedRuntime::of(file) == Some(links::runtime::LinkedRuntime::Libomp)
    })
}
