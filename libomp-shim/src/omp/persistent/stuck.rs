//! For `GANGWAY_CHECK`: what tasks here have been asked and cannot begin, and what that waits for
//! in the end: parcels, or the end of what the task executes.

use super::order::{Order, Wanted};
use super::task::{self, Job, Task};
use crate::omp::check::thing::{Need, Thing, Wait};
use crate::omp::check::wire::MOST_NEEDS;
use crate::omp::check::words;
use crate::omp::remote::Handle;

/// Those that somebody may wait for. Also in the middle of the bridge.
pub fn waits() -> Vec<Wait> {
    task::all().iter().flat_map(|task| of(task)).collect()
}

fn of(task: &Task) -> Vec<Wait> {
    let state = task.state();
    let hindered = state.hindered(MOST_NEEDS).into_iter();
    hindered.filter_map(|(job, ends)| asked(task.name, job, &ends)).collect()
}

fn asked(task: Handle, job: &Job, ends: &[Option<&Job>]) -> Option<Wait> {
    let gives = gives(job)?;
    let who = words::cut(format!("task {}, which rank {} asked {},", task.id, job.source.rank, job.order));
    let needs = ends.iter().map(|end| need(task, *end)).collect();
    // Many tasks may be waited for together.
    let number = words::number(gives) ^ task.generation;
    Some(Wait { number, is_code: false, gives: vec![gives], needs, who })
}

/// What comes about by an operation, for somebody else.
fn gives(job: &Job) -> Option<Thing> {
    let value =
        |(id, generation): Wanted| Thing::Value(Handle { rank: job.source.rank as i32, id, generation });
    match job.order {
        Order::Send(_, key, _) => Some(Thing::Transfer(key.rank, key.serial)),
        Order::Read(_, _, wanted) | Order::Fence(_, wanted) => Some(value(wanted)),
        _ => None,
    }
}

/// What an operation waits for: one that is under way, or one that something is missing for.
fn need(task: Handle, end: Option<&Job>) -> Need {
    match end.map(|job| job.order) {
        None => Need { thing: Some(Thing::Execution(task)), what: "the end of its procedure".into() },
        Some(Order::Take(tray, key, ..)) => Need {
            thing: Some(Thing::Transfer(key.rank, key.serial)),
            what: format!("what is sent to its tray {tray}"),
        },
        Some(order) => {
            Need { thing: None, what: words::cut(format!("the bytes of what it was asked {order}")) }
        }
    }
}
