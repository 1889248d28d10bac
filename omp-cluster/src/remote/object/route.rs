//! How requests find their object: what one rank knows of one object, and where it sends what it
//! cannot keep. No I/O.
//!
//! The *home* of an object, the rank that made it, knows at any time where it is or is going, and
//! agrees to every move before it begins. So a request that is sent to a place where the object is
//! not goes to the home, and from there to the right one: three messages at most.
//!
//! Invariant **certain**: a request that the home has sent on finds the object at its new place, or
//! comes before it and waits there. The home sends requests on in the handlers of messages, in
//! which it also agrees to moves. Messages of a pair of ranks are handled in the order of sending.
//! So before the object can leave a rank, that rank has handled all requests that the home has sent
//! there.
//!
//! Invariant **counted**: what an object takes along is counted in the object's message, and
//! requests whose bytes come later are counted from their own message on (`Local::expect`). An
//! object does not leave before all of them are there.
//!
//! Rejected:
//! * Forwarding pointers on every rank that an object was on: the way gets as long as the object
//!   has moved, or the memory is never given back.
//! * Telling the home after the move: a request could run after the object for ever.

use super::local::{Local, MoveReason, NextRequest, QueuedRequest};

/// What a request is known to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RouteMark {
    /// Nothing is known.
    Open,
    /// The object is here or is coming: "certain".
    Certain,
    /// It is expected here: "counted".
    Counted,
}

/// Where a request has got to.
#[derive(Debug, PartialEq, Eq)]
pub enum Road<I> {
    /// It waits here; so many others are over by that.
    Kept(u32),
    /// It goes there.
    Forward(I, u32, RouteMark),
    /// There is no such object.
    Stale(I),
}

/// What a rank knows of an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RouteEntry<T, I> {
    /// At the home: where the object is, or is going. If that is the home itself, `local` is there.
    pub record: Option<u32>,
    /// It is here, or certainly coming.
    pub local: Option<Local<T, I>>,
}

impl<T, I> Default for RouteEntry<T, I> {
    fn default() -> Self {
        Self { record: None, local: None }
    }
}

impl<T, I: QueuedRequest> RouteEntry<T, I> {
    /// Is nothing known?
    pub fn is_empty(&self) -> bool {
        self.record.is_none() && self.local.is_none()
    }

    /// A new object, on its home.
    pub fn create(&mut self, me: u32, thing: T) {
        (self.record, self.local) = (Some(me), Some(Local::new(Some(thing))));
    }

    /// A request is here, on the rank `me`. `in_turn`: in the handler of a message, one at a time.
    pub fn route(&mut self, me: u32, home_rank: u32, item: I, mark: RouteMark, in_turn: bool) -> Road<I> {
        match (&mut self.local, mark) {
            (Some(local), RouteMark::Counted) => Road::Kept(local.push_due(item)),
            (Some(local), _) if local.is_open() => Road::Kept(local.push(item)),
            (None, RouteMark::Certain | RouteMark::Counted) => {
                Road::Kept(self.local.insert(Local::new(None)).push(item))
            }
            _ if me != home_rank => Road::Forward(item, home_rank, RouteMark::Open),
            _ => match self.record {
                None => Road::Stale(item),
                Some(at) => {
                    Road::Forward(item, at, if in_turn { RouteMark::Certain } else { RouteMark::Open })
                }
            },
        }
    }

    /// A request is here whose bytes are still to come: does it find its object here for certain,
    /// and is expected from here on? By a handler.
    pub fn reserve(&mut self, mark: RouteMark) -> bool {
        match (&mut self.local, mark) {
            (_, RouteMark::Counted) => return true,
            (Some(local), _) if local.is_open() => local.expect(1),
            (None, RouteMark::Certain) => self.local.insert(Local::new(None)).expect(1),
            _ => return false,
        }
        true
    }

    /// The home is asked, in the handler of a message; false: it is not the home.
    pub fn agree(&mut self, me: u32, goal: MoveReason) -> bool {
        if self.record.is_none() {
            return false;
        }
        self.set_record(goal);
        if goal == MoveReason::Move(me) && self.local.is_none() {
            self.local = Some(Local::new(None));
        }
        true
    }

    fn set_record(&mut self, goal: MoveReason) {
        self.record = match goal {
            MoveReason::Move(to) => Some(to),
            MoveReason::End => None,
        };
    }

    /// The work to be done after a change. At the home no other rank has to be asked.
    pub fn review(&mut self, me: u32) -> NextRequest {
        let next = self.local.as_mut().map(|local| local.review(me)).unwrap_or_default();
        self.at_home_rank(me, next)
    }

    /// Gives the object away to `rank`, if it waits for handlers that have not begun.
    pub fn send_away(&mut self, me: u32, rank: u32) -> NextRequest {
        let next = self.local.as_mut().map(|local| local.send_away(rank)).unwrap_or_default();
        self.at_home_rank(me, next)
    }

    fn at_home_rank(&mut self, me: u32, mut next: NextRequest) -> NextRequest {
        if let (Some(_), Some(goal)) = (self.record, next.ask) {
            next.ask = None;
            self.set_record(goal);
            if let Some(local) = &mut self.local {
                local.granted(goal);
                next.leaves = local.review(me).leaves;
            }
        }
        next
    }

    /// The home has agreed.
    pub fn granted(&mut self, me: u32, goal: MoveReason) -> NextRequest {
        if let Some(local) = &mut self.local {
            local.granted(goal);
        }
        self.review(me)
    }

    /// The object's message is here, which so many requests follow.
    pub fn announce(&mut self, follow: u32) {
        self.local.get_or_insert_with(|| Local::new(None)).expect(follow);
    }
}
