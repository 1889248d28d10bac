//! Whether the pages hang together: links between files, headings that they name, and the list of
//! the book's pages.

use crate::files;
use std::fs;
use std::path::{Path, PathBuf};

const SUMMARY: &str = "docs/SUMMARY.md";
/// Pages that are inputs of others.
const INPUTS: [&str; 2] = ["docs/environment.in.md", "docs/status.in.md"];

/// Links of Markdown files that lead nowhere.
pub fn broken(root: &Path) -> Vec<String> {
    let mut problems = Vec::new();
    for page in pages(root) {
        let text = fs::read_to_string(&page).unwrap_or_default();
        for target in targets(&text) {
            if let Err(why) = resolves(&page, target) {
                problems
                    .push(format!("{}: {target}: {why}", page.strip_prefix(root).unwrap_or(&page).display()));
            }
        }
    }
    problems
}

/// Pages below docs/ that the book's list does not name.
pub fn forgotten(root: &Path) -> Vec<String> {
    let Ok(summary) = fs::read_to_string(root.join(SUMMARY)) else {
        return vec![format!("{SUMMARY} cannot be read")];
    };
    let named: Vec<&str> = targets(&summary).collect();
    let below_docs =
        |page: &PathBuf| page.strip_prefix(root.join("docs")).ok().map(|p| p.display().to_string());
    let is_listed = |name: &String| {
        named.contains(&name.as_str())
            || name == "SUMMARY.md"
            || INPUTS.contains(&format!("docs/{name}").as_str())
    };
    pages(root)
        .iter()
        .filter_map(below_docs)
        .filter(|name| !is_listed(name))
        .map(|name| format!("{SUMMARY} does not name {name}"))
        .collect()
}

/// The Markdown files of the project.
fn pages(root: &Path) -> Vec<PathBuf> {
    let enters = |folder: &Path| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        name != "target" && !name.starts_with('.') && !folder.is_symlink()
    };
    let mut found = files::below(root, enters);
    found.retain(|path| files::ends(path, ".md"));
    found
}

/// Where the links of a page go, those to other sites left out. Links in code are no links.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split("```").step_by(2);
    let links = prose.flat_map(|part| {
        part.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
    });
    links.filter(|target| !target.contains("://") && !target.contains(' ') && !target.is_empty())
}

fn resolves(page: &Path, target: &str) -> Result<(), String> {
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() { page.to_path_buf() } else { page.parent().unwrap_or(page).join(file) };
    if !path.exists() {
        return Err("there is no such file".into());
    }
    if heading.is_empty() || path.is_dir() {
        return Ok(());
    }
    let text = fs::read_to_string(&path).map_err(|e| e.to_string())?;
    let mut headings = text
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| anchor(line.trim_start_matches('#').trim()));
    if headings.any(|name| name == heading) { Ok(()) } else { Err("there is no such heading".into()) }
}

/// The name that a heading has in links.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_a_page() {
        let text = "[a](b.md#c) `x` [d](https://e.f) ```\n[g](h)\n``` [i](#j-k)";
        assert_eq!(targets(text).collect::<Vec<_>>(), ["b.md#c", "#j-k"]);
        assert_eq!(anchor("MPI calls, `inside` of regions"), "mpi-calls-inside-of-regions");
    }
}
