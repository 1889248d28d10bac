//! What waits for an object: invocations, and what moves or ends it. As it stands in a queue, and
//! as words of a message.

use super::super::Handle;
use super::super::bytes::Bytes;
use super::local::{Access, Request};
use super::route::Mark;

/// What is asked of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A handler: module and offset.
    Call {
        /// Does it write?
        writes: bool,
        /// Where the function is.
        place: (u64, u64),
    },
    /// It moves to this rank.
    Move(u32),
    /// An event of this rank wants it there: the number of the one that waits.
    Hold(u32, u64),
    /// Its end.
    End,
}

/// A request.
#[derive(Debug)]
pub struct Item {
    /// What it asks.
    pub what: What,
    /// Target regions around the call that has made it.
    pub depth: u8,
    /// Who has made it.
    pub origin: u32,
    /// The future that its end sets.
    pub future: Option<Handle>,
    /// What its handler gets.
    pub args: Bytes,
}

impl Request for Item {
    fn access(&self) -> Access {
        match self.what {
            What::Call { writes: false, .. } => Access::Read,
            What::Call { writes: true, .. } => Access::Write,
            What::Move(to) => Access::Move(to),
            What::Hold(rank, _) => Access::Hold(rank),
            What::End => Access::End,
        }
    }
}

/// Words of a request's message.
pub const WORDS: usize = 8;

/// A request's message without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The object.
    pub object: Handle,
    /// What is known of it.
    pub mark: Mark,
    /// As of [`Item`].
    pub what: What,
    /// As of [`Item`].
    pub depth: u8,
    /// As of [`Item`].
    pub origin: u32,
    /// As of [`Item`].
    pub future: Option<Handle>,
}

impl Header {
    /// That of a request.
    pub fn of(object: Handle, mark: Mark, item: &Item) -> Self {
        Self { object, mark, what: item.what, depth: item.depth, origin: item.origin, future: item.future }
    }

    /// The request.
    pub fn with(self, args: Bytes) -> Item {
        Item { what: self.what, depth: self.depth, origin: self.origin, future: self.future, args }
    }

    /// As it is sent.
    pub fn words(self) -> [u64; WORDS] {
        let (kind, a, b) = match self.what {
            What::Call { writes, place } => (u64::from(writes), place.0, place.1),
            What::Move(to) => (2, to.into(), 0),
            What::Hold(rank, number) => (3, rank.into(), number),
            What::End => (4, 0, 0),
        };
        let mark = match self.mark {
            Mark::Open => 0,
            Mark::Certain => 1,
            Mark::Counted => 2,
        };
        let ([object, generation], [future, future_generation]) =
            (self.object.words(), Handle::words_if(self.future));
        [
            object,
            generation,
            kind << 32 | u64::from(self.depth) << 8 | mark,
            a,
            b,
            self.origin.into(),
            future,
            future_generation,
        ]
    }

    /// The inverse.
    pub fn from_words(words: [u64; WORDS]) -> Self {
        let [object, generation, kind, a, b, origin, future, future_generation] = words;
        let what = match kind >> 32 {
            2 => What::Move(a as u32),
            3 => What::Hold(a as u32, b),
            4 => What::End,
            kind => What::Call { writes: kind == 1, place: (a, b) },
        };
        let mark = match kind as u8 {
            0 => Mark::Open,
            1 => Mark::Certain,
            _ => Mark::Counted,
        };
        let future = Handle::if_words([future, future_generation]);
        let object = Handle::from_words([object, generation]);
        Self { object, mark, what, depth: (kind >> 8) as u8, origin: origin as u32, future }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_received() {
        let object = Handle { rank: 3, id: u32::MAX, generation: 1 << 40 };
        let future = Some(Handle { rank: 65000, id: 7, generation: 9 });
        let calls = [false, true].map(|writes| What::Call { writes, place: (u64::MAX, 12) });
        for what in calls.into_iter().chain([What::Move(5), What::Hold(2, 99), What::End]) {
            for (mark, depth, future) in
                [(Mark::Open, 0, None), (Mark::Certain, u8::MAX, future), (Mark::Counted, 1, future)]
            {
                let header = Header { object, mark, what, depth, origin: 8, future };
                assert_eq!(Header::from_words(header.words()), header);
            }
        }
    }
}
