//! What the manifests say: the crates of the workspace, and which of them each depends on.
//!
//! What lives here: as much of the form of `Cargo.toml` as the workspace uses. What does not: what
//! is allowed. Dependencies of tests (`dev-dependencies`) are left out; those that only some
//! platforms or `cfg`s have count.

use std::fs;
use std::path::Path;

/// A crate of the workspace.
pub struct Member {
    pub name: String,
    /// Relative to the workspace.
    pub folder: String,
    /// The crates of the workspace that it depends on, in the order of the alphabet.
    pub uses: Vec<String>,
}

/// The members of the workspace at `root`.
///
/// # Errors
/// A manifest that cannot be read, or that has no name.
pub fn members(root: &Path) -> Result<Vec<Member>, String> {
    let read = |file: &str| fs::read_to_string(root.join(file)).map_err(|e| format!("{file}: {e}"));
    let workspace = read("Cargo.toml")?;
    let mut members = Vec::new();
    for folder in folders(&workspace) {
        let manifest = read(&format!("{folder}/Cargo.toml"))?;
        let name = package_name(&manifest).ok_or(format!("{folder}/Cargo.toml: no name"))?;
        members.push(Member { name, folder, uses: dependencies(&manifest) });
    }
    let names: Vec<String> = members.iter().map(|member| member.name.clone()).collect();
    for member in &mut members {
        member.uses.retain(|used| names.contains(used));
        member.uses.sort();
        member.uses.dedup();
    }
    Ok(members)
}

/// The folders of the list `members`.
fn folders(workspace: &str) -> Vec<String> {
    let list = workspace.split("\nmembers = [").nth(1).and_then(|rest| rest.split(']').next());
    list.unwrap_or_default().split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

fn package_name(manifest: &str) -> Option<String> {
    let line = manifest.lines().find_map(|line| line.strip_prefix("name = "))?;
    Some(line.trim_matches('"').to_owned())
}

/// The names below `[dependencies]`, `[build-dependencies]` and their forms for some targets.
pub fn dependencies(manifest: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_list = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            // `target.'cfg(…)'.dependencies` may have dots inside of quotes.
            let unquoted: String = header.split('\'').step_by(2).collect();
            let parts: Vec<&str> = unquoted.split('.').collect();
            let at = parts.iter().position(|part| ["dependencies", "build-dependencies"].contains(part));
            let at = at.filter(|_| parts[0] != "workspace");
            is_list = at.is_some_and(|at| at + 1 == parts.len());
            names.extend(at.and_then(|at| parts.get(at + 1)).map(|name| (*name).to_owned()));
        } else if is_list && let Some((key, _)) = line.split_once('=') {
            let name = key.split('.').next().unwrap_or_default().trim();
            if !name.starts_with('#') {
                names.push(name.to_owned());
            }
        }
    }
    names
}
