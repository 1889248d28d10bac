//! What the library brings to the simulation.

use placement::ahead::PrefetchPlan;
use placement::directory::Directory;
use placement::forecast::Forecast;
use placement::order::TaskOrder;
use placement::times::TaskTimes;

/// The library's own parts, which decide. Each step of the simulation tells them what has happened.
pub(super) struct LibraryParts {
    pub(super) directory: Directory,
    pub(super) ahead: PrefetchPlan,
    pub(super) forecast: Forecast,
    pub(super) times: TaskTimes,
    /// A queue for each GPU, and two of tasks to be placed: one of tasks that wait for no other
    /// task, and one of the remaining tasks.
    pub(super) order: TaskOrder,
}

impl LibraryParts {
    /// For so many GPUs.
    pub(super) fn new(gpus: usize) -> Self {
        Self {
            directory: Directory::new(),
            ahead: PrefetchPlan::new(),
            forecast: Forecast::new(gpus),
            times: TaskTimes::new(),
            order: TaskOrder::new(gpus + 2),
        }
    }
}
