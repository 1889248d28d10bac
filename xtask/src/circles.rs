//! `cargo xtask circles`: which files of a crate import each other in a circle, and which crates of
//! the workspace depend on which.
//!
//! What lives here: the table of crates with their bounds, and the comparison with it. What does
//! not: how imports are found ([`imports`]) and circles ([`components`]), and what the manifests
//! say ([`manifests`]). A file in a large circle cannot be understood, tested or moved without all
//! others of it, and no compiler keeps such circles small.

mod components;
mod imports;
mod manifests;
#[cfg(test)]
mod tests;

use crate::programs::Workspace;
use crate::report::Report;
use imports::{FileGraph, FileImport};
use manifests::Member;

/// What is allowed in a crate of the workspace.
struct CrateBounds {
    name: &'static str,
    /// The most files that may import each other in one circle. It may only go down; 1 means that
    /// there is no circle.
    files: usize,
    /// The crates of the workspace that it may depend on, tests left out.
    may_use: &'static [&'static str],
}

const fn bounds(name: &'static str, files: usize, may_use: &'static [&'static str]) -> CrateBounds {
    CrateBounds { name, files, may_use }
}

/// All crates of the workspace, the lowest first.
const BOUNDS: &[CrateBounds] = &[
    bounds("ult", 6, &[]),
    bounds("placement", 1, &[]),
    bounds("device-trait", 1, &[]),
    bounds("cuda-offload", 3, &["device-trait"]),
    bounds("mpi-bridge", 8, &[]),
    bounds("omp", 12, &["ult"]),
    bounds("omp-tools", 19, &["ult", "omp"]),
    bounds("omp-offload", 3, &["ult", "omp", "placement", "device-trait", "cuda-offload"]),
    bounds(
        "omp-cluster",
        22,
        &[
            "ult",
            "omp",
            "omp-tools",
            "omp-offload",
            "placement",
            "device-trait",
            "cuda-offload",
            "mpi-bridge",
        ],
    ),
    bounds("libomp-shim", 5, &["ult", "omp", "omp-tools", "omp-offload", "omp-cluster", "placement"]),
    bounds("svg", 3, &[]),
    bounds("links", 1, &[]),
    bounds("report", 1, &[]),
    bounds("gangway", 2, &["links", "report", "placement", "mpi-bridge"]),
    bounds("benchmarks", 4, &["ult", "placement", "svg"]),
    bounds("xtask", 4, &["links", "placement", "svg"]),
];

/// What the command is asked for.
pub struct CirclesRequest {
    /// Print outcomes alone, without the members of circles.
    pub check: bool,
    /// Print the imports inside of the largest circle, too.
    pub arrows: bool,
    /// Only crates whose name contains it.
    pub filter: String,
}

/// Whether all bounds hold.
pub fn check(places: &Workspace, report: &mut Report) {
    run(places, &CirclesRequest { check: true, arrows: false, filter: String::new() }, report);
}

/// Measures all crates of the workspace and compares them with [`BOUNDS`].
pub fn run(places: &Workspace, request: &CirclesRequest, report: &mut Report) {
    let members = match manifests::members(&places.root) {
        Ok(members) => members,
        Err(why) => return report.fail("circles", &why),
    };
    for member in members.iter().filter(|member| member.name.contains(&request.filter)) {
        let source = places.root.join(&member.folder).join("src");
        match FileGraph::read(&source) {
            Ok(graph) => circle(member, &graph, request, report),
            Err(why) => report.fail(&format!("circles of {}", member.name), &why),
        }
    }
    for member in members.iter().filter(|member| !request.check && member.name.contains(&request.filter)) {
        let used = if member.uses.is_empty() { "none".into() } else { member.uses.join(", ") };
        report.row("crate", &member.name, &format!("depends on {used}"));
    }
    report.check("crates of the workspace and what they depend on", arrow_problems(&members, BOUNDS));
}

/// Compares the largest circle of one crate with its bound, and shows it.
fn circle(member: &Member, graph: &FileGraph, request: &CirclesRequest, report: &mut Report) {
    let largest = graph.largest_circle();
    let name = format!("circles of {}", member.name);
    let Some(bounds) = BOUNDS.iter().find(|bounds| bounds.name == member.name) else {
        return; // `arrow_problems` reports it.
    };
    report.check(&name, circle_problems(bounds.files, largest.len()));
    if largest.len() < bounds.files {
        let note = format!("lower the bound from {} to {} (BOUNDS)", bounds.files, largest.len());
        report.row("note", &name, &note);
    }
    if request.check {
        return;
    }
    let count = format!("{} of {} files in the largest", largest.len(), graph.len());
    report.row("files", &name, &count);
    if largest.len() < 2 {
        return;
    }
    largest.iter().for_each(|&file| println!("    {}", graph.name(file)));
    if request.arrows {
        let inside = |import: &&FileImport| largest.contains(&import.from) && largest.contains(&import.to);
        for import in graph.imports().iter().filter(inside) {
            let (from, to) = (graph.name(import.from), graph.name(import.to));
            println!("    {from}:{} -> {to} ({})", import.line, import.path);
        }
    }
}

fn circle_problems(bound: usize, measured: usize) -> Vec<String> {
    let too_large =
        format!("{measured} files import each other, {bound} are allowed (cargo xtask circles --arrows)");
    (measured > bound).then_some(too_large).into_iter().collect()
}

/// Differences between the manifests and the table.
fn arrow_problems(members: &[Member], table: &[CrateBounds]) -> Vec<String> {
    let mut problems = Vec::new();
    for member in members {
        let Some(bounds) = table.iter().find(|bounds| bounds.name == member.name) else {
            problems.push(format!("{} is not in the table BOUNDS", member.name));
            continue;
        };
        let unknown = member.uses.iter().filter(|used| !bounds.may_use.contains(&used.as_str()));
        problems.extend(unknown.map(|used| format!("{} may not depend on {used}", member.name)));
        let unused = bounds.may_use.iter().filter(|used| !member.uses.iter().any(|name| name == *used));
        problems.extend(
            unused.map(|used| format!("{} does not depend on {used} any more (BOUNDS)", member.name)),
        );
    }
    let gone = table.iter().filter(|bounds| !members.iter().any(|member| member.name == bounds.name));
    problems.extend(gone.map(|bounds| format!("BOUNDS names {}, which is no crate here", bounds.name)));
    problems
}
