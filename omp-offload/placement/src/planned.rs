//! A schedule that was made ahead, as a policy: each task goes to the device that it was planned
//! for.
//!
//! What may not live here: how schedules are made ([`crate::heft`], [`crate::insertion`]).

use crate::graph::{Graph, GraphMachine, GraphSchedule, NoRoom};
use crate::online::EarliestStart;
use crate::policy::{PlacementPolicy, PlacementRequest, View};

/// Makes a schedule; the weight of time against waste of memory, 0 to 1.
type Scheduler = fn(&Graph, &GraphMachine, f64) -> Result<GraphSchedule, NoRoom>;

/// HEFTMC or ISHMC.
#[derive(Clone, Debug)]
pub struct Planned {
    name: &'static str,
    schedule: Scheduler,
    lambda: f64,
    plan: Vec<usize>,
    otherwise: EarliestStart,
}

impl Planned {
    /// HEFTMC with this weight.
    #[must_use]
    pub fn heft(lambda: f64) -> Self {
        Self::by("heftmc", crate::heft::schedule, lambda)
    }

    /// ISHMC with this weight.
    #[must_use]
    pub fn insertion(lambda: f64) -> Self {
        Self::by("ishmc", crate::insertion::schedule, lambda)
    }

    fn by(name: &'static str, schedule: Scheduler, lambda: f64) -> Self {
        Self { name, schedule, lambda, plan: Vec::new(), otherwise: EarliestStart::default() }
    }
}

impl PlacementPolicy for Planned {
    fn name(&self) -> String {
        format!("{}:lambda={}", self.name, self.lambda)
    }

    fn plan(&mut self, graph: &Graph, machine: &GraphMachine) -> Option<Result<GraphSchedule, NoRoom>> {
        let schedule = (self.schedule)(graph, machine, self.lambda);
        self.plan = schedule.as_ref().map_or(Vec::new(), |s| s.0.iter().map(|p| p.device).collect());
        Some(schedule)
    }

    /// Tasks that are not in the plan start where they can earliest.
    fn choose(&mut self, request: PlacementRequest, devices: &[View]) -> Option<usize> {
        let planned = request
            .task
            .and_then(|task| self.plan.get(task))
            .copied()
            .filter(|&device| device < devices.len());
        match planned {
            Some(device) => devices[device].fits().then_some(device),
            None => self.otherwise.choose(request, devices),
        }
    }
}
