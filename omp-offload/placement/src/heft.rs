//! HEFTMC: earliest finish under memory limits, for graphs that are known ahead (XSCALA, algorithm
//! 6; HEFT is Topcuoglu and others, 2002).
//!
//! Tasks by falling upper rank, each to the device with the least objective
//! ([`policy::best`](crate::policy::best)), in the first gap that is long enough, as in HEFT. A
//! device takes part if the task fits into its memory at some time; with `lambda` 1 and ample
//! memory this is HEFT.

use crate::graph::{Graph, GraphMachine, GraphPlaced, GraphSchedule, NoRoom};
use crate::policy::best;
use crate::space::ScheduleSpace;

/// The schedule of HEFTMC.
///
/// # Errors
/// A task that fits nowhere.
pub fn schedule(graph: &Graph, machine: &GraphMachine, lambda: f64) -> Result<GraphSchedule, NoRoom> {
    let mut space = ScheduleSpace::new(graph, machine);
    for task in graph.by_rank(machine) {
        let places: Vec<GraphPlaced> =
            (0..machine.devices.len()).filter_map(|d| space.earliest(task, d, 0)).collect();
        let place = best(&space, task, lambda, &places).ok_or(NoRoom { task })?;
        space.put(task, place);
    }
    Ok(GraphSchedule(space.placed.into_iter().flatten().collect()))
}
