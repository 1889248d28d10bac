//! What waits for an object: invocations, and what moves or ends it. As it stands in a queue, and
//! as words of a message.

use super::super::RemoteHandle;
use super::local::{ObjectAccess, QueuedRequest};
use super::route::RouteMark;
use omp_offload::bytes::Bytes;
use omp_offload::modules::ModuleAddress;

/// What is asked of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectOperation {
    /// A handler: module and offset.
    Call {
        /// Does it write?
        writes: bool,
        /// Where the function is.
        place: ModuleAddress,
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
pub struct ObjectRequest {
    /// What it asks.
    pub what: ObjectOperation,
    /// Target regions around the call that has made it.
    pub depth: u8,
    /// Who has made it.
    pub origin: u32,
    /// The future that its end sets.
    pub future: Option<RemoteHandle>,
    /// What its handler gets.
    pub args: Bytes,
}

impl QueuedRequest for ObjectRequest {
    fn access(&self) -> ObjectAccess {
        match self.what {
            ObjectOperation::Call { writes: false, .. } => ObjectAccess::Read,
            ObjectOperation::Call { writes: true, .. } => ObjectAccess::Write,
            ObjectOperation::Move(to) => ObjectAccess::Move(to),
            ObjectOperation::Hold(rank, _) => ObjectAccess::Hold(rank),
            ObjectOperation::End => ObjectAccess::End,
        }
    }
}

/// Words of a request's message.
pub const WORDS: usize = 8;

/// A request's message without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectRequestHeader {
    /// The object.
    pub object: RemoteHandle,
    /// What is known of it.
    pub mark: RouteMark,
    /// As of [`ObjectRequest`].
    pub what: ObjectOperation,
    /// As of [`ObjectRequest`].
    pub depth: u8,
    /// As of [`ObjectRequest`].
    pub origin: u32,
    /// As of [`ObjectRequest`].
    pub future: Option<RemoteHandle>,
}

impl ObjectRequestHeader {
    /// That of a request.
    pub fn of(object: RemoteHandle, mark: RouteMark, item: &ObjectRequest) -> Self {
        Self { object, mark, what: item.what, depth: item.depth, origin: item.origin, future: item.future }
    }

    /// The request.
    pub fn with(self, args: Bytes) -> ObjectRequest {
        ObjectRequest { what: self.what, depth: self.depth, origin: self.origin, future: self.future, args }
    }

    /// As it is sent.
    pub fn words(self) -> [u64; WORDS] {
        let (kind, a, b) = match self.what {
            ObjectOperation::Call { writes, place } => (u64::from(writes), place.identity, place.offset),
            ObjectOperation::Move(to) => (2, to.into(), 0),
            ObjectOperation::Hold(rank, number) => (3, rank.into(), number),
            ObjectOperation::End => (4, 0, 0),
        };
        let mark = match self.mark {
            RouteMark::Open => 0,
            RouteMark::Certain => 1,
            RouteMark::Counted => 2,
        };
        let ([object, generation], [future, future_generation]) =
            (self.object.words(), RemoteHandle::words_if(self.future));
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
            2 => ObjectOperation::Move(a as u32),
            3 => ObjectOperation::Hold(a as u32, b),
            4 => ObjectOperation::End,
            kind => {
                ObjectOperation::Call { writes: kind == 1, place: ModuleAddress { identity: a, offset: b } }
            }
        };
        let mark = match kind as u8 {
            0 => RouteMark::Open,
            1 => RouteMark::Certain,
            _ => RouteMark::Counted,
        };
        let future = RemoteHandle::if_words([future, future_generation]);
        let object = RemoteHandle::from_words([object, generation]);
        Self { object, mark, what, depth: (kind >> 8) as u8, origin: origin as u32, future }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_received() {
        let object = RemoteHandle { rank: 3, id: u32::MAX, generation: 1 << 40 };
        let future = Some(RemoteHandle { rank: 65000, id: 7, generation: 9 });
        let calls = [false, true].map(|writes| ObjectOperation::Call {
            writes,
            place: ModuleAddress { identity: u64::MAX, offset: 12 },
        });
        for what in calls.into_iter().chain([
            ObjectOperation::Move(5),
            ObjectOperation::Hold(2, 99),
            ObjectOperation::End,
        ]) {
            for (mark, depth, future) in [
                (RouteMark::Open, 0, None),
                (RouteMark::Certain, u8::MAX, future),
                (RouteMark::Counted, 1, future),
            ] {
                let header = ObjectRequestHeader { object, mark, what, depth, origin: 8, future };
                assert_eq!(ObjectRequestHeader::from_words(header.words()), header);
            }
        }
    }
}
