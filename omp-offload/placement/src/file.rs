//! A graph as text (`OMPX_GRAPH`), a task or an edge a line:
//!
//! ```text
//! gangway-graph 1
//! task NAME KEEPS SCRATCH NANOSECONDS...
//! edge FROM TO BYTES
//! ```
//!
//! Tasks are numbered as they come. More than one time: one for each device.

use core::fmt::Write;

use crate::graph::{Graph, GraphEdge, GraphTask};

const FIRST: &str = "gangway-graph 1";

/// The text of a graph.
#[must_use]
pub fn write(graph: &Graph) -> String {
    let mut text = format!("{FIRST}\n");
    for task in graph.tasks() {
        // Writing to a String does not fail.
        let _ = write!(text, "task {} {} {}", task.name, task.keeps, task.scratch);
        for cost in &task.costs {
            let _ = write!(text, " {cost}");
        }
        text.push('\n');
    }
    for edge in graph.edges() {
        let _ = writeln!(text, "edge {} {} {}", edge.from, edge.to, edge.bytes);
    }
    text
}

/// The graph of a text.
///
/// # Errors
/// What is wrong with it, and in which line.
pub fn read(text: &str) -> Result<Graph, String> {
    let mut lines = text.lines().enumerate();
    if lines.next().map(|l| l.1) != Some(FIRST) {
        return Err(format!("does not begin with '{FIRST}'"));
    }
    let (mut tasks, mut edges) = (Vec::new(), Vec::new());
    for (at, line) in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let read = match words[..] {
            [] => Some(()),
            ["task", name, keeps, scratch, ref costs @ ..] => {
                task(name, keeps, scratch, costs).map(|t| tasks.push(t))
            }
            ["edge", from, to, bytes] => edge(from, to, bytes).map(|e| edges.push(e)),
            _ => None,
        };
        read.ok_or_else(|| format!("line {}: neither a task nor an edge", at + 1))?;
    }
    Graph::new(tasks, edges)
}

fn task(name: &str, keeps: &str, scratch: &str, costs: &[&str]) -> Option<GraphTask> {
    let costs = costs.iter().map(|c| c.parse().ok()).collect::<Option<Vec<f64>>>()?;
    Some(GraphTask { name: name.into(), costs, keeps: keeps.parse().ok()?, scratch: scratch.parse().ok()? })
}

fn edge(from: &str, to: &str, bytes: &str) -> Option<GraphEdge> {
    Some(GraphEdge { from: from.parse().ok()?, to: to.parse().ok()?, bytes: bytes.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples;

    #[test]
    fn what_is_written_is_read() {
        for graph in [examples::strassen(256, 0.0), examples::cholesky(5, 64), examples::random(7).0] {
            assert_eq!(read(&write(&graph)), Ok(graph));
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, why) in [
            ("", "does not begin with 'gangway-graph 1'"),
            ("gangway-graph 1\ntask a 1\n", "line 2: neither a task nor an edge"),
            ("gangway-graph 1\ntask a 1 2\n", "task 0 has no cost, or one below zero"),
            ("gangway-graph 1\ntask a 1 2 -3\n", "task 0 has no cost, or one below zero"),
            ("gangway-graph 1\ntask a 1 2 1e300\n", "times or sizes too large to be added up"),
            ("gangway-graph 1\ntask a 18446744073709551615 2 1\n", "times or sizes too large to be added up"),
            ("gangway-graph 1\ntask a 1 2 3\nedge 0 1 5\n", "edge 0 to 1: there are 1 tasks"),
            ("gangway-graph 1\ntask a 1 2 3\nedge 0 0 5\n", "tasks wait for each other in a circle"),
        ] {
            assert_eq!(read(text), Err(why.to_string()));
        }
    }
}
