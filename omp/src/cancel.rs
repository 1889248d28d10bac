//! Cancellation (OpenMP 5.2 §11.2). Active only with `OMP_CANCELLATION=true`; otherwise every
//! question is answered no.
//!
//! A cancelled construct is a flag that its threads and tasks look at: at cancellation points, at
//! cancellable barriers and before a task or chunk begins. Where the flag of a worksharing
//! construct stands: [`super::worksharing::cancel`].

use super::env;
use super::extension::tools;
use super::extension::tools::kinds::cancelled;
use super::worksharing::cancel::{cancel_current_loop, is_current_cancelled};
use crate::thread::current::CurrentThread;

/// The construct that a `cancel` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelConstruct {
    /// `cancel parallel`
    Parallel,
    /// `cancel for`
    Loop,
    /// `cancel sections`
    Sections,
    /// `cancel taskgroup`
    Taskgroup,
}

/// `cancel`: true when the construct is cancelled now, and the thread goes to its end.
pub fn cancel(here: CurrentThread, construct: CancelConstruct) -> bool {
    if !has_effect() {
        return false;
    }
    tools::other::cancels(here, || bits(construct) | cancelled::ACTIVATED);
    match construct {
        CancelConstruct::Parallel => here.team().cancel(),
        CancelConstruct::Loop | CancelConstruct::Sections => cancel_current_loop(here),
        CancelConstruct::Taskgroup => {
            if let Some(group) = here.task.open_group() {
                group.cancel();
            }
        }
    }
    true
}

ult::seam! {
    /// A `cancel` has an effect if cancellation is active.
    fn has_effect() -> bool {
        env::settings().cancellation
    } or cancel_ignored {
        false
    }
}

/// `cancellation point`: has the construct been cancelled?
pub fn is_cancelled(here: CurrentThread, construct: CancelConstruct) -> bool {
    if !env::settings().cancellation {
        return false;
    }
    let is_cancelled = sees_cancelled(here, construct);
    if is_cancelled {
        tools::other::cancels(here, || bits(construct) | cancelled::DETECTED);
    }
    is_cancelled
}

/// The construct, in the bits that tools get.
fn bits(construct: CancelConstruct) -> u32 {
    match construct {
        CancelConstruct::Parallel => cancelled::PARALLEL,
        CancelConstruct::Loop => cancelled::LOOP,
        CancelConstruct::Sections => cancelled::SECTIONS,
        CancelConstruct::Taskgroup => cancelled::TASKGROUP,
    }
}

fn sees_cancelled(here: CurrentThread, construct: CancelConstruct) -> bool {
    match construct {
        CancelConstruct::Parallel => here.team().is_cancelled(),
        CancelConstruct::Loop | CancelConstruct::Sections => is_current_cancelled(here),
        CancelConstruct::Taskgroup => {
            here.task.open_group().is_some_and(|g| g.is_cancelled()) || here.team().is_cancelled()
        }
    }
}
