//! The formats: a tarball, a Debian package, a wheel for Python.

use super::{VERSION, stage, step};
use crate::exec;
use crate::programs::Workspace;
use std::fs;
use std::path::{Path, PathBuf};

/// The tree with a page that says what is in it, under a directory with the version. Who unpacks it
/// owns it.
pub fn tarball(places: &Workspace, out: &Path, tree: &Path, glibc: (u32, u32)) -> Result<PathBuf, String> {
    let version = format!("{}.{}", glibc.0, glibc.1);
    stage::file(&places.root.join("packages/tarball.md"), &tree.join("README.md"), &[("GLIBC", &version)])
        .map_err(|e| e.to_string())?;
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        fs::copy(places.root.join(name), tree.join(name)).map_err(|e| format!("{name}: {e}"))?;
    }
    let name = format!("gangway-{VERSION}-linux-x86_64.tar.gz");
    let inner = tree.file_name().expect("the tree has a name").to_string_lossy();
    step(&["tar", "--owner=0", "--group=0", "--sort=name", "-czf", &name, &inner], &[], out, 120)?;
    Ok(out.join(name))
}

/// The tree below /usr, with what dpkg has to know.
pub fn debian(places: &Workspace, out: &Path, tree: &Path, glibc: (u32, u32)) -> Result<PathBuf, String> {
    if !exec::on_path("dpkg-deb") {
        return Err("no Debian package: dpkg-deb is not installed".into());
    }
    let root = out.join("deb");
    if root.exists() {
        fs::remove_dir_all(&root).map_err(|e| e.to_string())?;
    }
    let usr = root.join("usr");
    stage::copy(tree, &usr)?;
    for name in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        fs::remove_file(usr.join(name)).map_err(|e| format!("{name}: {e}"))?;
    }
    let pages: Vec<PathBuf> = fs::read_dir(usr.join("share/man/man1"))
        .map_err(|e| e.to_string())?
        .flatten()
        .map(|e| e.path())
        .collect();
    let pages: Vec<String> = pages.iter().map(|p| p.display().to_string()).collect();
    step(
        &[&["gzip", "-9n"], &pages.iter().map(String::as_str).collect::<Vec<_>>()[..]].concat(),
        &[],
        out,
        60,
    )?;
    let mit = fs::read_to_string(places.root.join("LICENSE-MIT")).map_err(|e| e.to_string())?;
    // In Debian's form an empty line is a dot.
    let mit: Vec<String> =
        mit.lines().map(|line| if line.is_empty() { " .".into() } else { format!(" {line}") }).collect();
    let parts = places.root.join("packages");
    stage::file(
        &parts.join("copyright"),
        &usr.join("share/doc/gangway/copyright"),
        &[("MIT", &mit.join("\n"))],
    )
    .map_err(|e| e.to_string())?;
    let size = step(&["du", "-sk", &usr.display().to_string()], &[], out, 60)?;
    let size = size.split_whitespace().next().unwrap_or("0").to_string();
    let version = format!("{}.{}", glibc.0, glibc.1);
    stage::file(
        &parts.join("control"),
        &root.join("DEBIAN/control"),
        &[("SIZE", &size), ("GLIBC", &version)],
    )
    .map_err(|e| e.to_string())?;
    let package = out.join(format!("gangway_{VERSION}_amd64.deb"));
    step(
        &[
            "dpkg-deb",
            "--root-owner-group",
            "--build",
            &root.display().to_string(),
            &package.display().to_string(),
        ],
        &[],
        out,
        120,
    )?;
    Ok(package)
}

/// The library and the command inside of a Python package. A wheel has no links, so the command
/// makes them where it is used.
pub fn wheel(places: &Workspace, out: &Path, tree: &Path, glibc: (u32, u32)) -> Result<PathBuf, String> {
    let python = "/usr/bin/python3";
    if !Path::new(python).exists() {
        return Err(format!("no wheel: {python} is not there"));
    }
    let root = out.join("wheel");
    if root.exists() {
        fs::remove_dir_all(&root).map_err(|e| e.to_string())?;
    }
    let package = root.join("gangway");
    for name in ["__init__.py", "__main__.py"] {
        stage::file(&places.root.join("packages/python/gangway").join(name), &package.join(name), &[])
            .map_err(|e| e.to_string())?;
    }
    let library = Path::new("lib/gangway").join(links::names::FILE);
    for (from, to) in [
        (Path::new("bin/gangway").to_path_buf(), PathBuf::from("bin/gangway")),
        (Path::new(stage::COMPAT).join(links::names::FILE), library),
    ] {
        let to = package.join(to);
        fs::create_dir_all(to.parent().expect("a file is in a directory")).map_err(|e| e.to_string())?;
        fs::copy(tree.join(from), to).map_err(|e| e.to_string())?;
    }
    let tag = format!("py3-none-manylinux_{}_{}_x86_64", glibc.0, glibc.1);
    let script = places.root.join("packages/wheel.py").display().to_string();
    let made = step(
        &[python, &script, &root.display().to_string(), VERSION, &tag, &out.display().to_string()],
        &[],
        &places.root,
        120,
    )?;
    Ok(PathBuf::from(made.trim()))
}
