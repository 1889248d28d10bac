//! Waits in words.

use super::thing::{Occurrence, RankNeed, RankWait};
use super::waits::{CodeActivity, CodeWait, CodeWaitTarget};
use omp::extension::check::{AwaitedMessage, MessageEnd};
use omp::functions;
use ult::sys::hash;

/// The most bytes of the words for one.
pub const MOST_TEXT: usize = 88;

/// A wait of code, as the other ranks hear of it.
pub fn of_code(waiting: CodeWait) -> RankWait {
    let who = match &waiting.whose {
        None => "main".into(),
        Some(activity) if waiting.itself => activity_name(activity),
        Some(activity) => format!("a task of {}", activity_name(activity)),
    };
    let need = RankNeed { thing: thing(&waiting.what), what: cut(what(&waiting.what)) };
    let gives = waiting.whose.filter(|_| waiting.itself).map(|activity| activity.gives).unwrap_or_default();
    RankWait { number: waiting.number, is_code: true, gives, needs: vec![need], who: cut(who) }
}

fn activity_name(activity: &CodeActivity) -> String {
    functions::name(activity.function) + &activity.of
}

/// The number of a wait of what was asked for: no code's, and no other's that gives something else,
/// or so unlikely that it does not matter.
pub fn number(gives: Occurrence) -> u64 {
    hash::of_value(&gives) | 1 << 63
}

fn thing(what: &CodeWaitTarget) -> Option<Occurrence> {
    match what {
        CodeWaitTarget::OfRanks { thing, .. } => *thing,
        CodeWaitTarget::Message(_, message) => Some(Occurrence::Message(*message)),
        CodeWaitTarget::Library | CodeWaitTarget::Condition => None,
    }
}

fn what(what: &CodeWaitTarget) -> String {
    match what {
        CodeWaitTarget::OfRanks { name, describe, .. } => describe(*name),
        CodeWaitTarget::Message(call, message) => format!("{} ({call})", end(*message)),
        CodeWaitTarget::Library => "a library (ompx_suspend_until)".into(),
        CodeWaitTarget::Condition => "the condition of ompx_wait_until".into(),
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
        let end = Occurrence::OfRanks { kind: 2, name: [5, 5] };
        let whose = Some(CodeActivity { function, of: " of task 5".into(), gives: vec![end] });
        let message = AwaitedMessage { rank: 1, tag: 7, end: MessageEnd::Receives };
        let waiting = CodeWait {
            number: 1,
            whose,
            itself: true,
            what: CodeWaitTarget::Message("MPI_Recv".into(), message),
            holds: 0,
        };
        let wait = of_code(waiting.clone());
        assert!(wait.who.ends_with("getpid of task 5") && wait.gives == [end], "{wait:?}");
        assert_eq!(
            (wait.needs[0].what.as_str(), wait.needs[0].thing),
            ("a message of rank 1, tag 7 (MPI_Recv)", Some(Occurrence::Message(message)))
        );
        let value =
            CodeWaitTarget::OfRanks { thing: Some(end), name: [3, 4], describe: |name| format!("{name:?}") };
        let below = of_code(CodeWait { itself: false, what: value, ..waiting });
        assert!(
            below.who.starts_with("a task of ") && below.gives.is_empty(),
            "its end is not that of the procedure: {below:?}"
        );
        assert_eq!((below.needs[0].what.as_str(), below.needs[0].thing), ("[3, 4]", Some(end)));
    }
}
