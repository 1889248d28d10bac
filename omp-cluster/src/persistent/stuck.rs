//! For `GANGWAY_CHECK`: what tasks here have been asked and cannot begin, and what that waits for
//! in the end: parcels, or the end of what the task executes.

use super::order::{AwaitedFuture, PersistentOperation};
use super::task::{self, PersistentJob, PersistentTask};
use crate::remote::RemoteHandle;
use crate::remote::check::occurrence::RankOccurrence;
use crate::remote::check::wire::MOST_NEEDS;
use omp_tools::check::thing::{RankNeed, RankWait};
use omp_tools::check::words;

/// Operations that cannot begin, and whose result a task may wait for. Also called in the middle of
/// the bridge.
pub fn waits() -> Vec<RankWait> {
    task::all().iter().flat_map(|task| of(task)).collect()
}

fn of(task: &PersistentTask) -> Vec<RankWait> {
    let state = task.state();
    let hindered = state.hindered(MOST_NEEDS).into_iter();
    hindered.filter_map(|(job, ends)| asked(task.name, job, &ends)).collect()
}

fn asked(task: RemoteHandle, job: &PersistentJob, ends: &[Option<&PersistentJob>]) -> Option<RankWait> {
    let gives = gives(job)?;
    let who = words::cut(format!("task {}, which rank {} asked {},", task.id, job.source.rank, job.order));
    let needs = ends.iter().map(|end| need(task, *end)).collect();
    // Many tasks may be waited for together.
    let number = words::number(gives.into()) ^ task.generation;
    Some(RankWait { number, is_code: false, gives: vec![gives.into()], needs, who })
}

/// The occurrence that an operation brings about for another task or rank, if any.
fn gives(job: &PersistentJob) -> Option<RankOccurrence> {
    let value = |(id, generation): AwaitedFuture| {
        RankOccurrence::Value(RemoteHandle { rank: job.source.rank as i32, id, generation })
    };
    match job.order {
        PersistentOperation::Send(_, key, _) => Some(RankOccurrence::Transfer(key.rank, key.serial)),
        PersistentOperation::Read(_, _, wanted) | PersistentOperation::Fence(_, wanted) => {
            Some(value(wanted))
        }
        _ => None,
    }
}

/// What an operation waits for: one that is under way, or one that something is missing for.
fn need(task: RemoteHandle, end: Option<&PersistentJob>) -> RankNeed {
    match end.map(|job| job.order) {
        None => RankNeed {
            thing: Some(RankOccurrence::Execution(task).into()),
            what: "the end of its procedure".into(),
        },
        Some(PersistentOperation::Take(tray, key, ..)) => RankNeed {
            thing: Some(RankOccurrence::Transfer(key.rank, key.serial).into()),
            what: format!("what is sent to its tray {tray}"),
        },
        Some(order) => {
            RankNeed { thing: None, what: words::cut(format!("the bytes of what it was asked {order}")) }
        }
    }
}
