//! ISHMC: insertion scheduling under memory limits, for graphs that are known ahead (XSCALA,
//! algorithm 7; ISH is Kruatrachue and Lewis, 1987).
//!
//! The ready task of the highest rank goes behind everything else on the device with the least
//! objective. If the device is idle before it, other ready tasks are put into that slot, as long as
//! they fit and could not start earlier on another device. With `lambda` 1 and ample memory this is
//! ISH.

use crate::Time;
use crate::graph::{Graph, GraphMachine, GraphPlaced, GraphSchedule, NoRoom};
use crate::policy::best;
use crate::space::ScheduleSpace;
use core::ops::Range;

/// The schedule in the making.
struct Making<'a> {
    graph: &'a Graph,
    machine: &'a GraphMachine,
    space: ScheduleSpace<'a>,
    /// By task: its place by rank.
    position: Vec<usize>,
    /// By rank.
    ready: Vec<usize>,
    missing: Vec<usize>,
}

impl Making<'_> {
    /// The place behind all that is on the device.
    fn behind(&self, task: usize, device: usize) -> Option<GraphPlaced> {
        self.space.earliest(task, device, self.space.available(device))
    }

    fn put(&mut self, task: usize, place: GraphPlaced, fresh: &mut Vec<usize>) {
        self.space.put(task, place);
        for edge in self.graph.after(task) {
            self.missing[edge.to] -= 1;
            if self.missing[edge.to] == 0 {
                fresh.push(edge.to);
            }
        }
    }

    /// Puts ready tasks into what is idle on the device from one time to another.
    fn fill(&mut self, device: usize, slot: Range<Time>, fresh: &mut Vec<usize>) {
        let mut slots = vec![slot];
        for task in self.ready.clone() {
            let Some((at, place)) =
                slots.iter().enumerate().find_map(|(at, slot)| Some((at, self.inside(task, device, slot)?)))
            else {
                continue;
            };
            self.ready.retain(|&t| t != task);
            self.put(task, place, fresh);
            let Range { start: begin, end } = slots[at];
            slots.splice(at..=at, [begin..place.start, place.finish..end]);
        }
    }

    /// A place for the task in the slot, unless it could start earlier elsewhere.
    fn inside(&self, task: usize, device: usize, slot: &Range<Time>) -> Option<GraphPlaced> {
        let place = self.space.earliest(task, device, slot.start).filter(|p| p.finish <= slot.end)?;
        let mut others = (0..self.machine.devices.len()).filter(|&d| d != device);
        let elsewhere = others.any(|d| self.behind(task, d).is_some_and(|other| other.start < place.start));
        (!elsewhere).then_some(place)
    }

    fn welcome(&mut self, fresh: Vec<usize>) {
        self.ready.extend(fresh);
        let position = &self.position;
        self.ready.sort_by_key(|&t| position[t]);
    }
}

/// The schedule of ISHMC.
///
/// # Errors
/// A task that fits nowhere.
pub fn schedule(graph: &Graph, machine: &GraphMachine, lambda: f64) -> Result<GraphSchedule, NoRoom> {
    let order = graph.by_rank(machine);
    let mut position = vec![0; graph.len()];
    order.iter().enumerate().for_each(|(at, &task)| position[task] = at);
    let missing: Vec<usize> = (0..graph.len()).map(|t| graph.before(t).count()).collect();
    let ready = order.iter().copied().filter(|&t| missing[t] == 0).collect();
    let mut making =
        Making { graph, machine, space: ScheduleSpace::new(graph, machine), position, ready, missing };
    while !making.ready.is_empty() {
        let task = making.ready.remove(0);
        let places: Vec<GraphPlaced> =
            (0..machine.devices.len()).filter_map(|d| making.behind(task, d)).collect();
        let place = best(&making.space, task, lambda, &places).ok_or(NoRoom { task })?;
        let before = making.space.available(place.device);
        let mut fresh = Vec::new();
        making.put(task, place, &mut fresh);
        if before < place.start {
            making.fill(place.device, before..place.start, &mut fresh);
        }
        making.welcome(fresh);
    }
    Ok(GraphSchedule(making.space.placed.into_iter().flatten().collect()))
}
