//! Waits in words.

use core::hash::{Hash, Hasher};
use std::hash::DefaultHasher;

use super::thing::{Occurrence, RankNeed, RankWait};
use super::waits::{CodeActivity, CodeWait, FutureSource, WaitTarget};
use crate::omp::extension::check::{AwaitedMessage, MessageEnd};
use crate::omp::functions;
use crate::omp::remote::RemoteHandle;

/// The most bytes of the words for one.
pub const MOST_TEXT: usize = 88;

/// A wait of code, as the other ranks hear of it.
pub fn of_code(waiting: CodeWait, promise: Option<FutureSource>) -> RankWait {
    let who = match &waiting.whose {
        None => "main".into(),
        Some(activity) if waiting.itself => activity_name(activity),
        Some(activity) => format!("a task of {}", activity_name(activity)),
    };
    let need = RankNeed { thing: thing(&waiting.what), what: cut(what(&waiting.what, promise)) };
    let gives = waiting.whose.filter(|_| waiting.itself).map(|activity| activity.gives).unwrap_or_default();
    RankWait { number: waiting.number, is_code: true, gives, needs: vec![need], who: cut(who) }
}

fn activity_name(activity: &CodeActivity) -> String {
    let name = functions::name(activity.function);
    let of = activity.gives.iter().find_map(|thing| match thing {
        Occurrence::Execution(task) => Some(format!("{name} of task {}", task.id)),
        Occurrence::Object(on) => Some(format!("{name} on {}", object(*on))),
        _ => None,
    });
    of.unwrap_or(name)
}

/// The number of a wait of what was asked for: no code's, and no other's that gives something else,
/// or so unlikely that it does not matter.
pub fn number(gives: Occurrence) -> u64 {
    let mut hasher = DefaultHasher::new();
    gives.hash(&mut hasher);
    hasher.finish() | 1 << 63
}

/// An object's name.
pub fn object(object: RemoteHandle) -> String {
    format!("object {} of rank {}", object.id, object.rank)
}

fn thing(what: &WaitTarget) -> Option<Occurrence> {
    match what {
        WaitTarget::Future(future) => Some(Occurrence::Value(*future)),
        WaitTarget::Message(_, message) => Some(Occurrence::Message(*message)),
        WaitTarget::Library | WaitTarget::Condition | WaitTarget::Ahead(_) => None,
    }
}

fn what(what: &WaitTarget, promise: Option<FutureSource>) -> String {
    match (what, promise) {
        (WaitTarget::Future(_), Some(FutureSource::Function(function, Some(rank)))) => {
            format!("the value of {} on rank {rank}", functions::name(function))
        }
        (WaitTarget::Future(_), Some(FutureSource::Function(function, None))) => {
            format!("the value of {} on a mobile object", functions::name(function))
        }
        (WaitTarget::Future(_), Some(FutureSource::Tray(task, tray))) => {
            format!("tray {tray} of task {} on rank {}", task.id, task.rank)
        }
        (WaitTarget::Future(_), Some(FutureSource::Tasks(rank))) => {
            format!("what it has asked of tasks on rank {rank}")
        }
        (WaitTarget::Future(_), Some(FutureSource::Answer(call, rank))) => format!("rank {rank} in {call}"),
        (WaitTarget::Future(future), None) => format!("future {}, which nobody has set", future.id),
        (WaitTarget::Message(call, message), _) => format!("{} ({call})", end(*message)),
        (WaitTarget::Ahead(rank), _) => format!("rank {rank} to do some of what it was asked"),
        (WaitTarget::Library, _) => "a library (ompx_suspend_until)".into(),
        (WaitTarget::Condition, _) => "the condition of ompx_wait_until".into(),
    }
}

fn end(message: AwaitedMessage) -> String {
    let rank = if message.rank < 0 { "some rank".into() } else { format!("rank {}", message.rank) };
    let tag = if message.tag < 0 { String::new() } else { format!(", tag {}", message.tag) };
    match message.end {
        MessageEnd::Receives => format!("a message of {rank}{tag}"),
        MessageEnd::Sends => format!("{rank} to receive a message{tag}"),
        MessageEnd::Unknown => "messages".into(),
    }
}

/// No longer than [`MOST_TEXT`], and one line.
pub fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MOST_TEXT));
    text.replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_reported() {
        let function = libc::getpid as *const () as usize;
        let task = RemoteHandle { rank: 2, id: 5, generation: 5 };
        let whose = Some(CodeActivity { function, gives: vec![Occurrence::Execution(task)] });
        let message = AwaitedMessage { rank: 1, tag: 7, end: MessageEnd::Receives };
        let waiting = CodeWait {
            number: 1,
            whose,
            itself: true,
            what: WaitTarget::Message("MPI_Recv".into(), message),
            holds: 0,
        };
        let wait = of_code(waiting.clone(), None);
        assert!(
            wait.who.ends_with("getpid of task 5") && wait.gives == [Occurrence::Execution(task)],
            "{wait:?}"
        );
        assert_eq!(
            (wait.needs[0].what.as_str(), wait.needs[0].thing),
            ("a message of rank 1, tag 7 (MPI_Recv)", Some(Occurrence::Message(message)))
        );
        let below = of_code(
            CodeWait { itself: false, what: WaitTarget::Future(task), ..waiting },
            Some(FutureSource::Tray(task, 3)),
        );
        assert!(
            below.who.starts_with("a task of ") && below.gives.is_empty(),
            "its end is not that of the procedure: {below:?}"
        );
        assert_eq!(below.needs[0].what, "tray 3 of task 5 on rank 2");
    }
}
