//! Code that runs for other ranks, and its waits for futures and for ranks.
//!
//! What lives here: what the value of a future comes of, and the words for it. What may not: the
//! book of all waits ([`omp_tools::check::waits`]).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::super::RemoteHandle;
use super::occurrence::{RankOccurrence, object_name};
use omp::functions::name;
use omp_tools::check::waits::{self, CodeActivity, CodeWaitNote, CodeWaitTarget};

/// What the value of a future of this rank comes of.
#[derive(Clone, Copy, Debug)]
pub enum FutureSource {
    /// A function, by its address in this process, on a rank; `None`: where its mobile object is.
    Function(usize, Option<i32>),
    /// A tray of a persistent task.
    Tray(RemoteHandle, u32),
    /// Persistent tasks of this rank are to have done what they were asked.
    Tasks(i32),
    /// What this rank answers to a call of this name.
    Answer(&'static str, i32),
}

/// By the futures of this rank that they set, as long as those exist.
static PROMISES: Mutex<Option<HashMap<(u32, u64), FutureSource>>> = Mutex::new(None);

fn with<R>(look: impl FnOnce(&mut HashMap<(u32, u64), FutureSource>) -> R) -> R {
    look(PROMISES.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

/// The value of the future of this rank comes of that.
pub fn promised(future: RemoteHandle, promise: FutureSource) {
    if waits::is_on() {
        with(|promises| promises.insert((future.id, future.generation), promise));
    }
}

/// The future is gone.
pub fn forgotten(future: RemoteHandle) {
    if waits::is_on() {
        with(|promises| promises.remove(&(future.id, future.generation)));
    }
}

/// The calling task waits for the value of a future until what is returned is dropped.
pub fn waits_for_value(future: RemoteHandle) -> CodeWaitNote {
    let target = || CodeWaitTarget::OfRanks {
        thing: Some(RankOccurrence::Value(future).into()),
        name: future.words(),
        describe: value,
    };
    waits::waits(target, false)
}

/// The calling task waits until what is returned is dropped: the rank is to do some of what it has
/// been asked before more is asked of it.
pub fn waits_for_rank(rank: u32) -> CodeWaitNote {
    let target = || CodeWaitTarget::OfRanks { thing: None, name: [rank.into(), 0], describe: ahead };
    waits::waits(target, false)
}

/// The calling task runs this until what is returned is dropped; `gives`: what comes about by its
/// end.
pub fn runs(function: usize, gives: impl FnOnce() -> Vec<RankOccurrence>) -> CodeWaitNote {
    waits::runs(|| activity(function, &gives()))
}

fn activity(function: usize, gives: &[RankOccurrence]) -> CodeActivity {
    let of = gives.iter().find_map(|thing| match thing {
        RankOccurrence::Execution(task) => Some(format!(" of task {}", task.id)),
        RankOccurrence::Object(on) => Some(format!(" on {}", object_name(*on))),
        _ => None,
    });
    let gives = gives.iter().map(|&thing| thing.into()).collect();
    CodeActivity { function, of: of.unwrap_or_default(), gives }
}

fn value(future: [u64; 2]) -> String {
    let future = RemoteHandle::from_words(future);
    let promise = with(|promises| promises.get(&(future.id, future.generation)).copied());
    match promise {
        Some(FutureSource::Function(function, Some(rank))) => {
            format!("the value of {} on rank {rank}", name(function))
        }
        Some(FutureSource::Function(function, None)) => {
            format!("the value of {} on a mobile object", name(function))
        }
        Some(FutureSource::Tray(task, tray)) => {
            format!("tray {tray} of task {} on rank {}", task.id, task.rank)
        }
        Some(FutureSource::Tasks(rank)) => format!("what it has asked of tasks on rank {rank}"),
        Some(FutureSource::Answer(call, rank)) => format!("rank {rank} in {call}"),
        None => format!("future {}, which nobody has set", future.id),
    }
}

fn ahead([rank, _]: [u64; 2]) -> String {
    format!("rank {rank} to do some of what it was asked")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_activities_have_words() {
        let task = RemoteHandle { rank: 2, id: 5, generation: u64::MAX - 7 };
        assert_eq!(value(task.words()), "future 5, which nobody has set");
        with(|promises| promises.insert((task.id, task.generation), FutureSource::Tray(task, 3)));
        assert_eq!(value(task.words()), "tray 3 of task 5 on rank 2");
        assert_eq!(ahead([4, 0]), "rank 4 to do some of what it was asked");
        let (transfer, runs) = (RankOccurrence::Transfer(1, 2), RankOccurrence::Execution(task));
        assert_eq!(activity(8, &[transfer, runs]).of, " of task 5");
        assert_eq!(activity(8, &[RankOccurrence::Object(task)]).of, " on object 5 of rank 2");
    }
}
