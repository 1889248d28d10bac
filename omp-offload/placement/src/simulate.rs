//! Runs a graph in virtual time. A policy that plans is taken at its word; any other policy is
//! asked whenever a task becomes ready.
//!
//! A ready task that fits nowhere waits until something has ended. A device runs what it was given
//! in the order of giving; copies are made just before. A policy that is asked does not know the
//! later tasks. So the memory that a task leaves for others stays in use until they are placed.

use std::collections::BTreeSet;

use crate::Time;
use crate::graph::{Graph, GraphMachine, GraphPlaced, GraphSchedule, NoRoom};
use crate::policy::{PlacementPolicy, PlacementRequest, View};
use crate::space::ScheduleSpace;

/// The schedule that comes of it.
///
/// # Errors
/// A task for which no device ever has room.
pub fn run(
    graph: &Graph,
    machine: &GraphMachine,
    policy: &mut dyn PlacementPolicy,
) -> Result<GraphSchedule, NoRoom> {
    match policy.plan(graph, machine) {
        Some(planned) => planned,
        None => Running::new(graph, machine).run(policy),
    }
}

struct Running<'a> {
    graph: &'a Graph,
    machine: &'a GraphMachine,
    space: ScheduleSpace<'a>,
    /// By when they became ready, then by number.
    ready: BTreeSet<(Time, usize)>,
    /// When a running task ends, and which.
    ends: BTreeSet<(Time, usize)>,
    missing: Vec<usize>,
    now: Time,
}

impl<'a> Running<'a> {
    fn new(graph: &'a Graph, machine: &'a GraphMachine) -> Self {
        let missing: Vec<usize> = (0..graph.len()).map(|t| graph.before(t).count()).collect();
        let ready = (0..graph.len()).filter(|&t| missing[t] == 0).map(|t| (0, t)).collect();
        Self {
            graph,
            machine,
            space: ScheduleSpace::new(graph, machine),
            ready,
            ends: BTreeSet::new(),
            missing,
            now: 0,
        }
    }

    fn run(mut self, policy: &mut dyn PlacementPolicy) -> Result<GraphSchedule, NoRoom> {
        loop {
            self.place_ready(policy);
            if let Some((now, ended)) = self.ends.pop_first() {
                self.now = now;
                self.end(ended);
                while self.ends.first().is_some_and(|end| end.0 == now) {
                    let (_, ended) = self.ends.pop_first().expect("there is one");
                    self.end(ended);
                }
            } else if let Some(&(_, task)) = self.ready.first() {
                return Err(NoRoom { task });
            } else {
                return Ok(GraphSchedule(self.space.placed.into_iter().flatten().collect()));
            }
        }
    }

    fn end(&mut self, task: usize) {
        for edge in self.graph.after(task) {
            self.missing[edge.to] -= 1;
            if self.missing[edge.to] == 0 {
                self.ready.insert((self.now, edge.to));
            }
        }
    }

    fn place_ready(&mut self, policy: &mut dyn PlacementPolicy) {
        for (since, task) in self.ready.clone() {
            let places: Vec<Option<GraphPlaced>> =
                (0..self.machine.devices.len()).map(|d| self.place(task, d)).collect();
            let views: Vec<View> = (0..places.len()).map(|d| self.view(task, d, places[d])).collect();
            if let Some(place) =
                policy.choose(PlacementRequest { task: Some(task) }, &views).and_then(|device| places[device])
            {
                self.ready.remove(&(since, task));
                self.space.put(task, place);
                self.ends.insert((place.finish, task));
            }
        }
    }

    fn bring(&self, task: usize, device: usize) -> Time {
        let from = |writer: usize| self.space.placed[writer].map_or(device, |p| p.device);
        self.graph
            .before(task)
            .map(|e| self.machine.transfer(e.bytes, from(e.from), device))
            .max()
            .unwrap_or(0)
    }

    /// Behind what the device has, if there is room.
    fn place(&self, task: usize, device: usize) -> Option<GraphPlaced> {
        let start = self.space.available(device).max(self.now + self.bring(task, device));
        let finish = start + self.machine.cost(&self.graph.tasks()[task], device);
        self.space.fits(task, device, start).then_some(GraphPlaced { device, start, finish })
    }

    fn view(&self, task: usize, device: usize, place: Option<GraphPlaced>) -> View {
        let own = |writer: usize| self.space.placed[writer].is_some_and(|p| p.device == device);
        let running = self.ends.iter().filter(|&&(_, t)| own(t)).count() as u32;
        let wait = self.space.available(device).saturating_sub(self.now);
        let need = self.space.pieces(task, device, self.now.max(1)).iter().map(|p| p.bytes).sum();
        View {
            need,
            room: if place.is_some() { u64::MAX } else { 0 },
            present: self.graph.before(task).filter(|e| own(e.from)).map(|e| e.bytes).sum(),
            running,
            wait,
            bring: self.bring(task, device),
            moves: self.bring(task, device),
            cost: self.machine.cost(&self.graph.tasks()[task], device),
            ..View::default()
        }
    }
}
