//! A device while a schedule is made: when it is busy, and how much of its memory is in use when
//! ([`ScheduleSpace`]).
//!
//! What a task needs:
//!
//! * a copy of what it reads from other devices: from the copy's beginning, just before the task,
//!   to the task's end;
//! * its scratch memory, from its start to its end;
//! * what it leaves for others, from its start until the last of them has ended (on the same
//!   device, where it is read in place) or begun (elsewhere, where a copy has been made).
//!
//! The last one is open while a reader is not placed. Algorithms 6 and 7 of XSCALA take a running
//! sum instead: they subtract a task's memory when it is mapped, and add it again as soon as its
//! last reader is *mapped*. That reader runs later, and tasks mapped next may be put before it in
//! time, where the memory is still in use: a device then exceeds its limit
//! (`tests::the_literal_sum_exceeds_the_limit`). Here memory is a function of time, and a task is
//! put only where it fits from its start on.

use std::collections::BTreeMap;

use crate::graph::{Graph, GraphMachine, GraphPlaced};
use crate::{NEVER, Time};

/// Bytes in use from one time to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulePiece {
    /// From here on.
    pub begin: Time,
    /// No more from here on.
    pub end: Time,
    /// How many.
    pub bytes: u64,
}

/// One device in time.
#[derive(Clone, Debug, Default)]
struct ScheduleLine {
    /// Begin and end of what runs, in order.
    busy: Vec<(Time, Time)>,
    /// Memory: by how much its use changes when.
    changes: BTreeMap<Time, i128>,
}

impl ScheduleLine {
    fn add(&mut self, piece: SchedulePiece) {
        if piece.begin < piece.end && piece.bytes > 0 {
            *self.changes.entry(piece.begin).or_default() += i128::from(piece.bytes);
            *self.changes.entry(piece.end).or_default() -= i128::from(piece.bytes);
        }
    }

    /// Bytes in use at a time.
    fn used(&self, at: Time) -> i128 {
        self.changes.range(..=at).map(|(_, change)| change).sum()
    }

    /// Is there room for all the pieces, in a memory of this size?
    fn fits(&self, pieces: &[SchedulePiece], limit: u64) -> bool {
        let Some(first) = pieces.iter().map(|p| p.begin).min().filter(|_| limit < u64::MAX) else {
            return true;
        };
        let mut own: Vec<(Time, i128)> = Vec::with_capacity(2 * pieces.len());
        for piece in pieces.iter().filter(|p| p.begin < p.end) {
            own.push((piece.begin, i128::from(piece.bytes)));
            own.push((piece.end, -i128::from(piece.bytes)));
        }
        own.extend(self.changes.range(first + 1..).map(|(&at, &change)| (at, change)));
        own.sort_unstable();
        // At one time what ends comes before what begins: changes sort by their sign.
        let mut used = self.used(first);
        own.iter().all(|(_, change)| {
            used += change;
            used <= i128::from(limit)
        })
    }

    /// Does the device run nothing from `start` to `finish`?
    fn is_idle(&self, start: Time, finish: Time) -> bool {
        let after = self.busy.partition_point(|&(_, end)| end <= start);
        self.busy.get(after).is_none_or(|&(begin, _)| finish <= begin)
    }

    fn last_end(&self) -> Time {
        self.busy.last().map_or(0, |b| b.1)
    }
}

/// The devices in time, with the tasks placed so far.
pub struct ScheduleSpace<'a> {
    graph: &'a Graph,
    machine: &'a GraphMachine,
    lines: Vec<ScheduleLine>,
    /// By task.
    pub placed: Vec<Option<GraphPlaced>>,
}

impl<'a> ScheduleSpace<'a> {
    /// Nothing placed yet.
    #[must_use]
    pub fn new(graph: &'a Graph, machine: &'a GraphMachine) -> Self {
        Self {
            graph,
            machine,
            lines: vec![ScheduleLine::default(); machine.devices.len()],
            placed: vec![None; graph.len()],
        }
    }

    /// When a task's data can be on a device, if all that it waits for is placed.
    #[must_use]
    pub fn data_ready(&self, task: usize, device: usize) -> Time {
        let arrival = |edge: &crate::graph::GraphEdge| {
            let from = self.placed[edge.from].expect("a task is placed after those that it waits for");
            from.finish + self.machine.transfer(edge.bytes, from.device, device)
        };
        self.graph.before(task).map(arrival).max().unwrap_or(0)
    }

    /// When the device has run all that is placed on it.
    #[must_use]
    pub fn available(&self, device: usize) -> Time {
        self.lines[device].last_end()
    }

    /// What the task needs on the device if it starts at `start` and its readers are not placed
    /// yet.
    #[must_use]
    pub fn pieces(&self, task: usize, device: usize, start: Time) -> Vec<SchedulePiece> {
        let what = &self.graph.tasks()[task];
        let finish = start + self.machine.cost(what, device);
        let until = if self.graph.after(task).next().is_some() { NEVER } else { finish };
        let mut pieces = vec![
            SchedulePiece { begin: start, end: finish, bytes: what.scratch },
            SchedulePiece { begin: start, end: until, bytes: what.keeps },
        ];
        for edge in self.graph.before(task) {
            let from = self.placed[edge.from].map_or(device, |p| p.device);
            if from != device {
                let begin = start.saturating_sub(self.machine.transfer(edge.bytes, from, device));
                pieces.push(SchedulePiece { begin, end: finish, bytes: edge.bytes });
            }
        }
        pieces
    }

    /// Could the task start there then?
    #[must_use]
    pub fn fits(&self, task: usize, device: usize, start: Time) -> bool {
        let line = &self.lines[device];
        let finish = start + self.machine.cost(&self.graph.tasks()[task], device);
        line.is_idle(start, finish)
            && line.fits(&self.pieces(task, device, start), self.machine.devices[device].memory)
    }

    /// The first time from `from` on at which the task can start there; `None`: never.
    #[must_use]
    pub fn earliest(&self, task: usize, device: usize, from: Time) -> Option<GraphPlaced> {
        let from = from.max(self.data_ready(task, device));
        let line = &self.lines[device];
        // A start that could not be earlier: now, when something ends, or when memory is given
        // back, before or after the copies.
        let ahead: Vec<Time> =
            self.pieces(task, device, NEVER / 2).iter().map(|p| NEVER / 2 - p.begin.min(NEVER / 2)).collect();
        let ends = line.busy.iter().map(|b| b.1);
        let freed =
            line.changes.iter().filter(|(at, change)| **change < 0 && **at < NEVER / 2).map(|(&at, _)| at);
        let mut starts: Vec<Time> = freed
            .flat_map(|at| ahead.iter().map(move |a| at + a))
            .chain(ends)
            .filter(|&t| t > from)
            .collect();
        starts.push(from);
        starts.sort_unstable();
        starts.dedup();
        let start = starts.into_iter().find(|&start| self.fits(task, device, start))?;
        Some(GraphPlaced {
            device,
            start,
            finish: start + self.machine.cost(&self.graph.tasks()[task], device),
        })
    }

    /// The share of the device's memory that is unused when the task has started, 1 where memory
    /// has no limit.
    #[must_use]
    pub fn waste(&self, task: usize, at: GraphPlaced) -> f64 {
        let limit = self.machine.devices[at.device].memory;
        if limit == u64::MAX || limit == 0 {
            return 1.0;
        }
        let own: u64 = self.pieces(task, at.device, at.start).iter().map(|p| p.bytes).sum();
        let used = self.lines[at.device].used(at.start) + i128::from(own);
        1.0 - used as f64 / limit as f64
    }

    /// Puts the task there, and gives back in time what it was the last to read.
    pub fn put(&mut self, task: usize, at: GraphPlaced) {
        for piece in self.pieces(task, at.device, at.start) {
            self.lines[at.device].add(piece);
        }
        let line = &mut self.lines[at.device];
        let index = line.busy.partition_point(|b| *b < (at.start, at.finish));
        line.busy.insert(index, (at.start, at.finish));
        self.placed[task] = Some(at);
        let writers: std::collections::BTreeSet<usize> = self.graph.before(task).map(|e| e.from).collect();
        for writer in writers {
            self.close(writer);
        }
    }

    /// If all readers of the task are placed, its data end with the last of them.
    fn close(&mut self, writer: usize) {
        let Some(own) = self.placed[writer] else { return };
        let ends: Option<Vec<Time>> = self
            .graph
            .after(writer)
            .map(|edge| self.placed[edge.to].map(|reader| until(own, reader)))
            .collect();
        if let Some(end) = ends.and_then(|all| all.into_iter().max()) {
            let bytes = self.graph.tasks()[writer].keeps;
            let (end, changes) = (end.max(own.finish), &mut self.lines[own.device].changes);
            *changes.entry(end).or_default() -= i128::from(bytes);
            *changes.entry(NEVER).or_default() += i128::from(bytes);
        }
    }
}

/// How long data stay where they were written, for this reader.
#[must_use]
pub fn until(writer: GraphPlaced, reader: GraphPlaced) -> Time {
    if writer.device == reader.device { reader.finish } else { reader.start }
}
