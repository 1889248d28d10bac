//! The tree of files that all packages have below a prefix: the command, the library and its links,
//! headers, files for pkg-config and CMake, manual and completions.

use super::{VERSION, step};
use crate::exec;
use crate::programs::Workspace;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The library's directory of links below the prefix.
pub const COMPAT: &str = "lib/gangway/compat";

/// Makes the tree, anew.
pub fn tree(places: &Workspace, out: &Path) -> io::Result<PathBuf> {
    let tree = out.join(format!("gangway-{VERSION}"));
    if tree.exists() {
        fs::remove_dir_all(&tree)?;
    }
    let release = places.target.join("release");
    fs::create_dir_all(tree.join("bin"))?;
    fs::copy(release.join("gangway"), tree.join("bin/gangway"))?;
    links::install::install(&places.library(), &tree.join(COMPAT))?;
    symlink(format!("compat/{}", links::names::FILE), tree.join("lib/gangway").join(links::names::LIBRARY))?;
    stripped(&tree)?;
    for name in ["ompx.h", "ompx_lib.f90"] {
        file(&places.root.join("include").join(name), &tree.join("include/gangway").join(name), &[])?;
    }
    let parts = places.root.join("packages");
    for name in ["GangwayConfig.cmake", "GangwayConfigVersion.cmake"] {
        file(&parts.join("cmake").join(name), &tree.join("lib/cmake/Gangway").join(name), &[])?;
    }
    file(&places.root.join("gangway/gdb/gangway.py"), &tree.join("share/gangway/gdb/gangway.py"), &[])?;
    file(&parts.join("gangway.pc"), &tree.join("lib/pkgconfig/gangway.pc"), &[])?;
    pages(&tree)?;
    Ok(tree)
}

/// Copies a text and fills in `@VERSION@` and what else is given.
pub fn file(from: &Path, to: &Path, values: &[(&str, &str)]) -> io::Result<()> {
    let text =
        fs::read_to_string(from).map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", from.display())))?;
    let text = values
        .iter()
        .chain(&[("VERSION", VERSION)])
        .fold(text, |text, (name, value)| text.replace(&format!("@{name}@"), value));
    fs::create_dir_all(to.parent().expect("a file is in a directory"))?;
    fs::write(to, text)
}

/// Takes out what only debuggers read. Function names stay, for profilers and backtraces.
fn stripped(tree: &Path) -> io::Result<()> {
    if !exec::on_path("strip") {
        println!("packages: strip is not installed (binutils), so they are large");
        return Ok(());
    }
    let mut files = vec![tree.join("bin/gangway"), tree.join(COMPAT).join(links::names::FILE)];
    files.extend(
        links::names::BESIDE.iter().map(|name| tree.join(COMPAT).join(name)).filter(|file| file.is_file()),
    );
    for file in files {
        step(&["strip", "--strip-debug", &file.display().to_string()], &[], tree, 60)
            .map_err(io::Error::other)?;
    }
    Ok(())
}

/// The manual and the completions, by the command itself.
fn pages(tree: &Path) -> io::Result<()> {
    let tool = tree.join("bin/gangway").display().to_string();
    let share = tree.join("share");
    let ask =
        |words: &[&str]| step(&[&[tool.as_str()], words].concat(), &[], tree, 60).map_err(io::Error::other);
    ask(&["man", &share.join("man/man1").display().to_string()])?;
    for (shell, place) in [
        ("bash", "bash-completion/completions/gangway"),
        ("zsh", "zsh/vendor-completions/_gangway"),
        ("fish", "fish/vendor_completions.d/gangway.fish"),
    ] {
        let to = share.join(place);
        fs::create_dir_all(to.parent().expect("a file is in a directory"))?;
        fs::write(to, ask(&["completions", shell])?)?;
    }
    Ok(())
}

/// The version of glibc that the command, the library and those for MPI need.
pub fn glibc(places: &Workspace) -> Result<(u32, u32), String> {
    let release = places.target.join("release");
    let beside = links::names::BESIDE.into_iter().filter(|name| release.join(name).is_file());
    let all = ["gangway", links::names::LIBRARY]
        .into_iter()
        .chain(beside)
        .map(|name| links::versions::glibc(&release.join(name)));
    all.collect::<Result<Vec<_>, _>>().map(|found| found.into_iter().max().unwrap_or_default())
}

/// Copies a tree, links as links.
pub fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::create_dir_all(to).map_err(|e| format!("{}: {e}", to.display()))?;
    step(&["cp", "-a", &format!("{}/.", from.display()), &to.display().to_string()], &[], from, 60).map(drop)
}
