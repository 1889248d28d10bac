//! An object on the rank where it is: who uses it, who waits for it, and when it may leave. No I/O:
//! what has to be done is said, not done.
//!
//! *Access.* Any number of readers, or one writer. Where nothing runs the oldest waiting request is
//! next. While readers run, further ones begin, also before writers that have waited longer: a
//! reader may wait for another one, and would for ever if that stood behind a writer which waits
//! for the first. So writers come in their order, and wait as long as reads overlap.
//!
//! *Leaving.* An object asks its home before it goes, when nothing runs, and then nothing begins
//! until it has the answer: a request that comes meanwhile waits here, and goes along. It does not
//! ask while a handler runs that waits for something: its home would send to the new place what the
//! handler waits for.
//!
//! *Tokens.* The first thread that has time takes the next request, so a request is open to be
//! carried away until it really begins. Each token is a task that was left to the rank's team.
//! There is one for each request that could begin now (`tokens` counts at most as many as there
//! are; one too many finds nothing).
//!
//! Rejected: readers that stand behind writers (above), and a limit for handlers that run (those
//! that wait would fill it).

use std::collections::VecDeque;

/// What a request wants of its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectAccess {
    /// A handler that reads it.
    Read,
    /// A handler that alone uses it.
    Write,
    /// It is to move to this rank.
    Move(u32),
    /// Something on this rank wants it there for itself.
    Hold(u32),
    /// Its end.
    End,
}

/// Something that waits for its turn with an object.
pub trait QueuedRequest {
    /// What it wants.
    fn access(&self) -> ObjectAccess;
}

/// Why an object leaves its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MoveReason {
    /// For this rank.
    Move(u32),
    /// For good.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Open,
    /// Its home was asked.
    Asking,
    /// It goes, when all is there that was promised to be taken along.
    Leaving(MoveReason),
    /// It goes now.
    Gone(MoveReason),
}

/// An object that is here or on its way, and what waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Local<T, I> {
    /// None: on its way.
    thing: Option<T>,
    /// The oldest first.
    queue: VecDeque<I>,
    /// Readers in the queue.
    waiting_reads: u32,
    readers: u32,
    has_writer: bool,
    /// Requests that have been taken in and whose bytes are not there yet, or that follow the
    /// object.
    due: u32,
    tokens: u32,
    phase: Phase,
}

/// What has to be done after a change.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NextRequest {
    /// So many tokens.
    pub tokens: u32,
    /// The home is to be asked for this.
    pub ask: Option<MoveReason>,
    /// The object is to be taken out, and brought where it goes.
    pub leaves: bool,
    /// Requests that are over.
    pub over: u32,
}

impl<T, I: QueuedRequest> Local<T, I> {
    /// One that is here, or on its way.
    pub fn new(thing: Option<T>) -> Self {
        Self {
            thing,
            queue: VecDeque::new(),
            waiting_reads: 0,
            readers: 0,
            has_writer: false,
            due: 0,
            tokens: 0,
            phase: Phase::Open,
        }
    }

    /// Does it take requests in?
    pub fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Asking)
    }

    /// Is it here, unused, and staying?
    fn is_at_rest(&self) -> bool {
        self.thing.is_some() && self.phase == Phase::Open && self.readers == 0 && !self.has_writer
    }

    /// Could it be given away together with handlers that wait?
    pub fn is_loaded(&self) -> bool {
        self.is_at_rest()
            && self
                .queue
                .front()
                .is_some_and(|item| matches!(item.access(), ObjectAccess::Read | ObjectAccess::Write))
    }

    /// How many requests wait.
    pub fn length(&self) -> usize {
        self.queue.len()
    }

    /// The object.
    pub fn thing(&self) -> Option<&T> {
        self.thing.as_ref()
    }

    /// A request joins the queue. A move goes before all, in place of an earlier one: how many
    /// requests are over by that.
    pub fn push(&mut self, item: I) -> u32 {
        match item.access() {
            ObjectAccess::Move(_) => {
                let before = self.queue.len();
                self.queue.retain(|other| !matches!(other.access(), ObjectAccess::Move(_)));
                let over = before - self.queue.len();
                self.queue.push_front(item);
                return over as u32;
            }
            ObjectAccess::Read => self.waiting_reads += 1,
            ObjectAccess::Write | ObjectAccess::Hold(_) | ObjectAccess::End => {}
        }
        self.queue.push_back(item);
        0
    }

    /// So many requests will come that may not be left behind.
    pub fn expect(&mut self, requests: u32) {
        self.due += requests;
    }

    /// One of them has come.
    pub fn push_due(&mut self, item: I) -> u32 {
        self.due -= 1;
        self.push(item)
    }

    /// The object itself has come.
    pub fn arrive(&mut self, thing: T) {
        self.thing = Some(thing);
    }

    /// The home agrees.
    pub fn granted(&mut self, goal: MoveReason) {
        self.phase = Phase::Leaving(goal);
    }

    /// It is to go to `rank`, if it could be given away.
    pub fn send_away(&mut self, rank: u32) -> NextRequest {
        if !self.is_loaded() {
            return NextRequest::default();
        }
        self.phase = Phase::Asking;
        NextRequest { ask: Some(MoveReason::Move(rank)), ..NextRequest::default() }
    }

    /// After each change: what is to be done now, on rank `me`.
    pub fn review(&mut self, me: u32) -> NextRequest {
        let mut next = NextRequest::default();
        if let Phase::Leaving(goal) = self.phase
            && self.due == 0
        {
            self.phase = Phase::Gone(goal);
            next.leaves = true;
        }
        if self.is_at_rest() {
            next.ask = self.wish(me, &mut next.over);
            if next.ask.is_some() {
                self.phase = Phase::Asking;
            }
        }
        let wanted = self.startable();
        next.tokens = wanted.saturating_sub(self.tokens);
        self.tokens += next.tokens;
        next
    }

    /// Where the object wants to go, when it is at rest: what the oldest request says. Counts those
    /// that are over by that.
    fn wish(&mut self, me: u32, over: &mut u32) -> Option<MoveReason> {
        loop {
            let goal = match self.queue.front()?.access() {
                ObjectAccess::Read | ObjectAccess::Write => return None,
                // It stays in front, and goes along.
                ObjectAccess::Hold(rank) => return (rank != me).then_some(MoveReason::Move(rank)),
                ObjectAccess::Move(rank) => MoveReason::Move(rank),
                ObjectAccess::End => MoveReason::End,
            };
            self.queue.pop_front();
            *over += 1;
            if goal != MoveReason::Move(me) {
                return Some(goal);
            }
        }
    }

    /// How many requests could begin now, one after the other or together.
    fn startable(&self) -> u32 {
        if self.thing.is_none() || self.phase != Phase::Open || self.has_writer {
            return 0;
        }
        match self.queue.front().map(QueuedRequest::access) {
            None => 0,
            Some(ObjectAccess::Read) => self.waiting_reads,
            Some(_) if self.readers > 0 => self.waiting_reads,
            Some(_) => 1,
        }
    }

    /// Requests that wait until those who use the object now let go of it.
    pub fn hindered(&self) -> impl Iterator<Item = &I> {
        let (has_writer, has_readers) = (self.has_writer, self.readers > 0);
        self.queue.iter().filter(move |item| has_writer || has_readers && item.access() != ObjectAccess::Read)
    }

    /// A token: takes the next request that may begin.
    pub fn begin(&mut self) -> Option<I> {
        self.tokens = self.tokens.saturating_sub(1);
        if self.startable() == 0 {
            return None;
        }
        let at = if self.readers == 0 {
            0
        } else {
            self.queue.iter().position(|item| item.access() == ObjectAccess::Read)?
        };
        let item = self.queue.remove(at)?;
        match item.access() {
            ObjectAccess::Read => {
                self.waiting_reads -= 1;
                self.readers += 1;
            }
            _ => self.has_writer = true,
        }
        Some(item)
    }

    /// A request that had begun is over.
    pub fn end(&mut self, access: ObjectAccess) {
        match access {
            ObjectAccess::Read => self.readers -= 1,
            _ => self.has_writer = false,
        }
    }

    /// The object, where it goes, and what goes along.
    pub fn into_parts(self) -> Option<(T, MoveReason, VecDeque<I>)> {
        let Phase::Gone(goal) = self.phase else {
            return None;
        };
        Some((self.thing?, goal, self.queue))
    }
}

#[cfg(test)]
mod tests {
    use super::ObjectAccess::{End, Hold, Move, Read, Write};
    use super::*;

    impl QueuedRequest for (char, ObjectAccess) {
        fn access(&self) -> ObjectAccess {
            self.1
        }
    }

    fn with(queue: &[(char, ObjectAccess)]) -> Local<(), (char, ObjectAccess)> {
        let mut local = Local::new(Some(()));
        for item in queue {
            assert_eq!(local.push(*item), 0);
        }
        local
    }

    fn begun(local: &mut Local<(), (char, ObjectAccess)>) -> Option<char> {
        local.begin().map(|item| item.0)
    }

    #[test]
    fn readers_run_together_and_writers_alone_in_their_order() {
        let mut object = with(&[('a', Write), ('b', Read), ('c', Write), ('d', Read)]);
        assert_eq!(object.review(0).tokens, 1);
        assert_eq!((begun(&mut object), begun(&mut object)), (Some('a'), None));
        assert_eq!(object.review(0), NextRequest::default());
        assert_eq!(object.hindered().map(|item| item.0).collect::<String>(), "bcd");
        object.end(Write);
        assert_eq!(object.hindered().count(), 0);
        assert_eq!(object.review(0).tokens, 2, "both readers may");
        assert_eq!(
            [begun(&mut object), begun(&mut object), begun(&mut object)],
            [Some('b'), Some('d'), None]
        );
        object.end(Read);
        assert_eq!(object.review(0), NextRequest::default());
        object.push(('e', Read));
        assert_eq!(object.hindered().map(|item| item.0).collect::<String>(), "c");
        assert_eq!(object.review(0).tokens, 1, "a reader that runs may wait for it");
        assert_eq!(begun(&mut object), Some('e'));
        object.end(Read);
        object.end(Read);
        assert_eq!(object.review(0).tokens, 1);
        assert_eq!(begun(&mut object), Some('c'));
    }

    #[test]
    fn it_asks_when_nothing_runs_and_nothing_begins_then() {
        let mut object = with(&[('a', Read)]);
        object.review(0);
        assert_eq!(begun(&mut object), Some('a'));
        object.push(('b', Write));
        object.push(('m', Move(1)));
        assert_eq!(object.push(('n', Move(2))), 1, "in place of the first");
        assert_eq!(object.review(0), NextRequest::default());
        object.end(Read);
        assert_eq!(
            object.review(0),
            NextRequest { ask: Some(MoveReason::Move(2)), over: 1, ..NextRequest::default() }
        );
        assert_eq!((begun(&mut object), object.review(0)), (None, NextRequest::default()));
        object.expect(1);
        object.granted(MoveReason::Move(2));
        assert_eq!(object.review(0), NextRequest::default(), "one is still to come");
        object.push_due(('c', Read));
        assert!(object.review(0).leaves);
        assert!(!object.review(0).leaves, "once");
        let (_, goal, along) = object.into_parts().expect("it goes");
        assert_eq!(
            (goal, along.into_iter().map(|i| i.0).collect::<String>()),
            (MoveReason::Move(2), "bc".into())
        );
    }

    #[test]
    fn a_move_to_where_it_is_does_nothing() {
        let mut object = with(&[('m', Move(3)), ('a', Write)]);
        assert_eq!(object.review(3), NextRequest { tokens: 1, over: 1, ..NextRequest::default() });
    }

    #[test]
    fn who_wants_it_elsewhere_goes_along_and_its_end_comes_in_turn() {
        let mut object = with(&[('h', Hold(1)), ('e', End)]);
        assert_eq!(
            object.review(0),
            NextRequest { ask: Some(MoveReason::Move(1)), ..NextRequest::default() }
        );
        assert_eq!(object.length(), 2);
        let mut there = with(&[('h', Hold(1)), ('e', End)]);
        assert_eq!(there.review(1).tokens, 1);
        assert_eq!(begun(&mut there), Some('h'));
        there.end(Hold(1));
        assert_eq!(
            there.review(1),
            NextRequest { ask: Some(MoveReason::End), over: 1, ..NextRequest::default() }
        );
    }

    #[test]
    fn what_is_given_away_waits_for_handlers_and_runs_none() {
        let mut object = with(&[('a', Write), ('b', Write)]);
        assert_eq!(object.send_away(4).ask, Some(MoveReason::Move(4)));
        assert_eq!((object.send_away(5).ask, begun(&mut object)), (None, None));
        let mut used = with(&[('a', Write), ('b', Write)]);
        used.review(0);
        assert_eq!(begun(&mut used), Some('a'));
        assert_eq!(used.send_away(4).ask, None);
    }

    #[test]
    fn nothing_begins_before_the_object_has_come() {
        let mut object: Local<(), _> = Local::new(None);
        object.push(('a', Write));
        assert_eq!((object.review(0), begun(&mut object)), (NextRequest::default(), None));
        object.arrive(());
        assert_eq!(object.review(0).tokens, 1);
    }
}
