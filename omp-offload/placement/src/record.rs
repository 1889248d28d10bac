//! A graph from what tasks were seen to read and write, in an order in which they may run one after
//! the other.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::graph::{Graph, GraphEdge, GraphTask};

/// Storage that a task uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordUse {
    /// Where it is on the host.
    pub range: Range<usize>,
    /// Its value matters to the task.
    pub reads: bool,
    /// The task changes it.
    pub writes: bool,
}

/// Who wrote what last: disjoint ranges by their beginning, with end and task.
#[derive(Debug, Default)]
struct Writers(BTreeMap<usize, (usize, usize)>);

impl Writers {
    /// The parts of the range that were written, and by whom.
    fn of(&self, range: &Range<usize>) -> Vec<(Range<usize>, usize)> {
        let first = self.0.range(..=range.start).next_back().map_or(range.start, |(&begin, _)| begin);
        let near = self.0.range(first..range.end.max(first)).filter(|(_, (end, _))| *end > range.start);
        near.map(|(&begin, &(end, task))| (begin.max(range.start)..end.min(range.end), task)).collect()
    }

    fn write(&mut self, range: &Range<usize>, task: usize) {
        for (part, writer) in self.of(range) {
            let begin = *self.0.range(..=part.start).next_back().expect("the part lies in it").0;
            let (end, _) = self.0.remove(&begin).expect("it was there");
            if begin < range.start {
                self.0.insert(begin, (range.start, writer));
            }
            if end > range.end {
                self.0.insert(range.end, (end, writer));
            }
        }
        self.0.insert(range.start, (range.end, task));
    }
}

/// A graph in the making.
#[derive(Debug, Default)]
pub struct GraphRecord {
    /// By number; `None` for those that did not run.
    tasks: Vec<Option<GraphTask>>,
    edges: BTreeMap<(usize, usize), u64>,
    writers: Writers,
    /// Where tasks stand in the order of running, by number.
    order: usize,
}

impl GraphRecord {
    /// The task with this number, which has none yet, begins: after all that it reads from, and
    /// before all that reads from it. `scratch` is what it needs besides `uses`. Input that no
    /// task wrote counts as scratch.
    pub fn begin(&mut self, number: usize, name: &str, scratch: u64, uses: &[RecordUse]) {
        if self.tasks.len() <= number {
            self.tasks.resize(number + 1, None);
        }
        let uses = uses.iter().filter(|u| !u.range.is_empty());
        let (mut keeps, mut own) = (0, scratch);
        for one in uses.clone() {
            let sources = self.writers.of(&one.range);
            let known: usize = sources.iter().map(|(part, _)| part.len()).sum();
            for (part, from) in sources {
                let bytes = if one.reads { part.len() as u64 } else { 0 };
                *self.edges.entry((from, number)).or_default() += bytes;
            }
            if one.writes {
                keeps += one.range.len() as u64;
            } else if one.reads {
                own += (one.range.len() - known) as u64;
            }
        }
        uses.filter(|u| u.writes).for_each(|u| self.writers.write(&u.range, number));
        self.order += 1;
        self.tasks[number] = Some(GraphTask { name: name.into(), costs: vec![0.0], keeps, scratch: own });
    }

    /// The task took so many nanoseconds.
    pub fn end(&mut self, number: usize, nanoseconds: u64) {
        if let Some(task) = self.tasks.get_mut(number).and_then(Option::as_mut) {
            task.costs = vec![nanoseconds as f64];
        }
    }

    /// How many tasks have begun.
    #[must_use]
    pub fn begun(&self) -> usize {
        self.order
    }

    /// The graph. Numbers of tasks that did not run stand for empty ones.
    ///
    /// # Errors
    /// Tasks were recorded in an order in which they could not run.
    pub fn graph(&self) -> Result<Graph, String> {
        let absent = || GraphTask { name: "-".into(), costs: vec![0.0], keeps: 0, scratch: 0 };
        let tasks = self.tasks.iter().map(|task| task.clone().unwrap_or_else(absent)).collect();
        let edges = self.edges.iter().filter(|((from, to), _)| from != to);
        Graph::new(tasks, edges.map(|(&(from, to), &bytes)| GraphEdge { from, to, bytes }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(range: Range<usize>) -> RecordUse {
        RecordUse { range, reads: true, writes: false }
    }

    fn writes(range: Range<usize>) -> RecordUse {
        RecordUse { range, reads: false, writes: true }
    }

    #[test]
    fn who_reads_comes_after_who_wrote() {
        let mut record = GraphRecord::default();
        record.begin(0, "a", 7, &[writes(100..200), reads(0..10)]);
        record.begin(2, "b", 0, &[writes(150..160)]);
        record.begin(1, "c", 0, &[reads(140..170), writes(300..301)]);
        record.begin(4, "d", 0, &[RecordUse { range: 100..200, reads: true, writes: true }]);
        record.begin(5, "e", 0, &[reads(90..210)]);
        record.end(1, 17);
        let graph = record.graph().expect("no circle");
        let edges: Vec<_> = graph.edges().iter().map(|e| (e.from, e.to, e.bytes)).collect();
        assert_eq!(edges, [(0, 1, 20), (0, 2, 0), (0, 4, 90), (2, 1, 10), (2, 4, 10), (4, 5, 100)]);
        let kept: Vec<_> = graph.tasks().iter().map(|t| (t.keeps, t.scratch)).collect();
        assert_eq!(kept, [(100, 17), (1, 0), (10, 0), (0, 0), (100, 0), (0, 20)]);
        assert_eq!(
            (graph.tasks()[1].costs[0], graph.tasks()[3].name.as_str(), record.begun()),
            (17.0, "-", 5)
        );
    }
}
