//! HEFTMC: earliest finish under memory limits, for graphs that are known ahead (XSCALA, algorithm 6; HEFT is Topcuoglu and others, 2002).
//!
//! Tasks by falling upper rank, each to the device with the least objective ([`policy::best`](crate::policy::best)), in the first gap that is long
//! enough, as in HEFT. A device takes part if the task fits into its memory at some time; with `lambda` 1 and ample memory this is HEFT.

use crate::graph::{Graph, Machine, NoRoom, Placed, Schedule};
use crate::online::EarliestStart;
use crate::policy::{Policy, Request, View, best};
use crate::space::Space;

/// HEFTMC.
#[derive(Clone, Debug)]
pub struct Heft {
    /// The weight of time against waste of memory, 0 to 1.
    pub lambda: f64,
    plan: Vec<usize>,
    otherwise: EarliestStart,
}

impl Heft {
    /// With this weight.
    #[must_use]
    pub fn new(lambda: f64) -> Self {
        Self { lambda, plan: Vec::new(), otherwise: EarliestStart::default() }
    }
}

/// The schedule of HEFTMC.
///
/// # Errors
/// A task that fits nowhere.
pub fn schedule(graph: &Graph, machine: &Machine, lambda: f64) -> Result<Schedule, NoRoom> {
    let mut space = Space::new(graph, machine);
    for task in graph.by_rank(machine) {
        let places: Vec<Placed> = (0..machine.devices.len()).filter_map(|d| space.earliest(task, d, 0)).collect();
        let place = best(&space, task, lambda, &places).ok_or(NoRoom { task })?;
        space.put(task, place);
    }
    Ok(Schedule(space.placed.into_iter().flatten().collect()))
}

/// The device that was planned for a task; tasks that are not in the plan start where they can earliest.
pub(crate) fn planned(plan: &[usize], otherwise: &mut EarliestStart, request: Request, devices: &[View]) -> Option<usize> {
    let planned = request.task.and_then(|task| plan.get(task)).copied().filter(|&device| device < devices.len());
    match planned {
        Some(device) => devices[device].fits().then_some(device),
        None => otherwise.choose(request, devices),
    }
}

impl Policy for Heft {
    fn name(&self) -> String {
        format!("heftmc:lambda={}", self.lambda)
    }

    fn plan(&mut self, graph: &Graph, machine: &Machine) -> Option<Result<Schedule, NoRoom>> {
        let schedule = schedule(graph, machine, self.lambda);
        self.plan = schedule.as_ref().map_or(Vec::new(), |s| s.0.iter().map(|p| p.device).collect());
        Some(schedule)
    }

    fn choose(&mut self, request: Request, devices: &[View]) -> Option<usize> {
        planned(&self.plan, &mut self.otherwise, request, devices)
    }
}
