//! What can be waited for, who waits for it, and what a rank says of itself: the words in which
//! ranks talk of waits.

use omp::extension::check::{AwaitedMessage, MessageEnd};

/// Something that comes about once, or a message of which there may be many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Occurrence {
    /// Something of the ranks', by a kind and a name that are theirs (`omp_cluster::remote::check`).
    OfRanks {
        /// What it is.
        kind: u64,
        /// Which of its kind it is.
        name: [u64; 2],
    },
    /// A library's message with another rank.
    Message(AwaitedMessage),
    /// A lock of a rank is unset, by its address.
    Lock(u32, u64),
    /// A mutex of a `mutexinoutset` is free, by its address.
    Set(u32, u64),
    /// A task ends, by its address.
    Task(u32, u64),
}

/// May they be the two ends of one message, that of `here` and that of `there`?
pub fn may_meet(one: AwaitedMessage, here: usize, other: AwaitedMessage, there: usize) -> bool {
    let is_with = |message: AwaitedMessage, rank: usize| message.rank < 0 || message.rank as usize == rank;
    let tags = one.tag < 0 || other.tag < 0 || one.tag == other.tag;
    let are_two = matches!(
        (one.end, other.end),
        (MessageEnd::Sends, MessageEnd::Receives) | (MessageEnd::Receives, MessageEnd::Sends)
    );
    are_two && tags && is_with(one, there) && is_with(other, here)
}

/// A thing that a wait needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankNeed {
    /// None: the runtime does not know which code could bring it about.
    pub thing: Option<Occurrence>,
    /// In words.
    pub what: String,
}

/// A wait, as the other ranks hear of it: code of the program, or something that it has asked for
/// and that has not begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankWait {
    /// Never used again on its rank, or only for the same.
    pub number: u64,
    /// It is code that waits.
    pub is_code: bool,
    /// What comes about when the wait is over and who waits has ended, and not before.
    pub gives: Vec<Occurrence>,
    /// All of it has to come about; perhaps more than is said here.
    pub needs: Vec<RankNeed>,
    /// Who waits, in words.
    pub who: String,
}

/// A rank, at one look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankSample {
    /// Code of the program runs there.
    pub runs: bool,
    /// Messages that the rank has sent.
    pub sent: u64,
    /// Messages that it has handled.
    pub handled: u64,
    /// Copies that are under way.
    pub transfers: u64,
    /// Work that has come to it so far.
    pub taken: u64,
    /// Who waits.
    pub waits: Vec<RankWait>,
    /// How many more do.
    pub more: u64,
}

impl RankSample {
    /// Code that waits.
    pub fn code(&self) -> impl Iterator<Item = &RankWait> {
        self.waits.iter().filter(|wait| wait.is_code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_a_message_meet() {
        let message = |rank, tag, sends| AwaitedMessage {
            rank,
            tag,
            end: if sends { MessageEnd::Sends } else { MessageEnd::Receives },
        };
        let receive = message(1, 7, false);
        assert!(
            may_meet(receive, 0, message(0, 7, true), 1)
                && may_meet(message(-1, -1, false), 0, message(0, 7, true), 1)
        );
        assert!(!may_meet(receive, 0, message(0, 8, true), 1), "another tag");
        assert!(!may_meet(receive, 0, message(2, 7, true), 1), "for another rank");
        assert!(!may_meet(receive, 0, message(0, 7, true), 2), "of another rank");
        assert!(!may_meet(receive, 0, message(0, 7, false), 1), "both receive");
        assert!(
            !may_meet(receive, 0, AwaitedMessage { rank: -1, tag: -1, end: MessageEnd::Unknown }, 1),
            "nobody knows"
        );
    }
}
