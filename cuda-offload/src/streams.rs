//! What was begun on a device, in which stream, and what has to wait for what.
//!
//! A stream for each direction of copies, one for copies inside the device's memory, and some for
//! kernels, so that copies and kernels overlap. What touches the same bytes in different streams is
//! put in order on the device: the later one's stream waits for the event of the earlier one, not
//! the host. Only what is not known to be over can be waited for, so the list to look through is
//! short.
//!
//! A kernel that comes behind the last one of a stream goes there, and nothing waits for an event;
//! of several that come behind the same one the first does. The others go where nothing is under
//! way, as far as is known, else where it is their turn: they are not to wait for each other.
//!
//! Kernels of each level of priority ([`Priorities`]) have streams of their own, made when the
//! first one comes. If the driver makes none they go with those of the least priority: it is a
//! hint. What a kernel waits for keeps its own priority.
//!
//! A stream that the program has for its own work has no other user. What the program puts there is
//! not known; an event behind it makes an operation of it ([`Streams::mark`]).
//!
//! A copy from another device's memory is an operation here, and a *guest* there: it comes behind
//! what writes to its source, and what writes there later comes behind it, by the same event.
//!
//! Each operation has an event behind it. The event goes back to a pool when the operation has been
//! polled to its end ([`Streams::poll`]). May not live here: memory, images, contexts (the caller
//! has made the device's current).

use core::ops::Range;
use std::collections::{HashMap, VecDeque};

use device_trait::DeviceOperation;

use crate::driver::{Driver, DriverAddress, DriverCode, DriverError, Event, Stream, code};
use crate::priorities::Priorities;

/// Streams for kernels of one priority: as many run side by side.
const COMPUTE: usize = 4;

/// `CU_EVENT_DISABLE_TIMING`.
const NO_TIMING: u32 = 2;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamLane {
    /// Copies to the device.
    In,
    /// Copies to the host.
    Out,
    /// Copies inside of it, and from other devices.
    Within,
    /// Runs a kernel.
    Compute,
}

/// Bytes of the device that an operation touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamUse {
    /// Which.
    pub range: Range<DriverAddress>,
    /// It changes them.
    pub writes: bool,
}

impl StreamUse {
    /// So many bytes from there on are read.
    pub fn reads(from: DriverAddress, size: usize) -> Self {
        Self { range: from..from + size, writes: false }
    }

    /// They are changed.
    pub fn writes(from: DriverAddress, size: usize) -> Self {
        Self { range: from..from + size, writes: true }
    }

    /// Has one of them to come behind the other?
    pub fn conflicts(&self, other: &Self) -> bool {
        (self.writes || other.writes)
            && self.range.start < other.range.end
            && other.range.start < self.range.end
    }
}

/// Memory that belongs to an operation: on the device, and what is copied to it from the host.
#[derive(Debug)]
pub struct OperationMemory {
    /// A block of the device.
    pub block: DriverAddress,
    /// Stays where it is while it is copied.
    pub words: Box<[u64]>,
}

/// What is to be begun.
#[derive(Debug, Default)]
pub struct StreamWork<'a> {
    /// The bytes of the device that it touches.
    pub uses: Vec<StreamUse>,
    /// Operations that come before it, whatever they touch.
    pub after: &'a [DeviceOperation],
    /// What other devices do that comes before it.
    pub behind: &'a [Event],
    /// What belongs to it.
    pub held: Option<OperationMemory>,
    /// Its task's priority, which counts for kernels.
    pub priority: u32,
}

/// A stream of the program's, and its level of priority.
#[derive(Clone, Copy)]
struct ProgramStream {
    stream: Stream,
    level: u32,
}

/// Streams of the program.
#[derive(Default)]
struct Own {
    open: HashMap<u64, ProgramStream>,
    spare: VecDeque<ProgramStream>,
    last: u64,
}

/// The streams for kernels of one level of priority.
#[derive(Default)]
struct PriorityStreams {
    streams: Vec<Stream>,
    /// The last operation of each.
    tails: Vec<u64>,
    turn: usize,
}

impl PriorityStreams {
    fn new(driver: &Driver, priorities: Priorities, level: u32) -> Result<Self, DriverError> {
        let streams = make(driver, priorities, level, COMPUTE)?;
        Ok(Self { tails: vec![0; streams.len()], streams, turn: 0 })
    }

    /// The place of the stream where this goes.
    fn place(&mut self, begun: &HashMap<u64, Begun>, what: &StreamWork<'_>) -> usize {
        let is_before = |tail: u64, begun: &Begun| {
            what.after.iter().any(|before| before.0 == tail) || begun.touches(&what.uses)
        };
        let follows = |&tail: &u64| begun.get(&tail).is_some_and(|begun| is_before(tail, begun));
        if let Some(place) = self.tails.iter().position(follows) {
            return place;
        }
        let in_turn = (1..=self.streams.len()).map(|step| (self.turn + step) % self.streams.len());
        let is_idle = |&place: &usize| !begun.contains_key(&self.tails[place]);
        self.turn = in_turn.clone().find(is_idle).unwrap_or((self.turn + 1) % self.streams.len());
        self.turn
    }
}

/// An operation; or another device's operation that reads here, which this device has to know of
/// and is never polled for.
struct Begun {
    event: Event,
    stream: Stream,
    uses: Vec<StreamUse>,
    held: Option<OperationMemory>,
    /// Where it reads.
    reads: Option<GuestRead>,
}

impl Begun {
    /// Has it to be over before these are used?
    fn touches(&self, uses: &[StreamUse]) -> bool {
        self.uses.iter().any(|a| uses.iter().any(|b| a.conflicts(b)))
    }
}

/// See the module. Its owner locks it.
pub struct Streams {
    driver: &'static Driver,
    own: Own,
    priorities: Priorities,
    copies: [Stream; 3],
    /// By level; those above the least have no streams until the first kernel of their level comes.
    compute: Vec<PriorityStreams>,
    begun: HashMap<u64, Begun>,
    last: u64,
    spare: Vec<Event>,
}

/// A stream for kernels.
#[derive(Clone, Copy)]
struct ComputePlace {
    level: usize,
    /// Among those of the level.
    place: usize,
}

/// How far an operation is.
#[derive(Debug)]
pub enum OperationState {
    /// Not over.
    Pending,
    /// Over, and forgotten.
    Over(Result<(), DriverError>, OperationRemains),
}

/// An operation that reads from another device, as that one knows it.
#[derive(Clone, Copy, Debug)]
pub struct GuestRead {
    /// The other device's place in its family.
    pub place: usize,
    /// The operation's number there ([`Streams::leave`]).
    pub number: u64,
}

/// An operation on a stream, as another device has to know it.
#[derive(Clone, Copy)]
pub struct StreamEvent {
    /// Where it is.
    pub stream: Stream,
    /// What says that it is over.
    pub event: Event,
}

/// A stream that was opened for the program.
pub struct OpenedStream {
    /// Its number.
    pub id: u64,
    /// The driver's.
    pub stream: Stream,
}

/// An operation was not begun.
#[derive(Debug)]
pub struct NotBegun {
    /// The driver's reason.
    pub why: DriverError,
    /// What it would have held.
    pub held: Option<OperationMemory>,
}

/// What an operation leaves behind.
#[derive(Debug, Default)]
pub struct OperationRemains {
    /// What it held.
    pub held: Option<OperationMemory>,
    /// Where it has read.
    pub reads: Option<GuestRead>,
}

impl Streams {
    /// Streams of the current context.
    ///
    /// # Errors
    /// The driver's.
    pub fn new(driver: &'static Driver) -> Result<Self, DriverError> {
        let priorities = Priorities::of(driver);
        let copies = make(driver, priorities, 0, 3)?;
        let usual = PriorityStreams::new(driver, priorities, 0).inspect_err(|_| destroy(driver, &copies))?;
        let compute = core::iter::once(usual)
            .chain((1..priorities.levels()).map(|_| PriorityStreams::default()))
            .collect();
        let copies = [copies[0], copies[1], copies[2]];
        Ok(Self {
            driver,
            own: Own::default(),
            priorities,
            copies,
            compute,
            begun: HashMap::new(),
            last: 0,
            spare: Vec::new(),
        })
    }

    /// The stream for kernels where this goes.
    fn place(&mut self, what: &StreamWork<'_>) -> ComputePlace {
        let level = self.priorities.level(what.priority);
        let mut at = level as usize;
        if self.compute[at].streams.is_empty() {
            match PriorityStreams::new(self.driver, self.priorities, level) {
                Ok(row) => self.compute[at] = row,
                Err(_) => at = 0, // see the module
            }
        }
        ComputePlace { level: at, place: self.compute[at].place(&self.begun, what) }
    }

    fn event(&mut self) -> Result<Event, DriverError> {
        if let Some(event) = self.spare.pop() {
            return Ok(event);
        }
        let mut event = Event::NULL;
        // SAFETY: a valid out pointer.
        self.driver.check(unsafe { (self.driver.event_create)(&raw mut event, NO_TIMING) })?;
        Ok(event)
    }

    /// Begins an operation, which `put` puts on a stream, behind all that it has to wait for: what
    /// touches the same bytes, and `after`. Gives its number.
    ///
    /// # Errors
    /// The driver's; nothing was begun then, or the device is lost.
    pub fn begin(
        &mut self,
        lane: StreamLane,
        what: StreamWork<'_>,
        put: impl FnOnce(Stream) -> DriverCode,
    ) -> Result<u64, NotBegun> {
        let (stream, place) = match lane {
            StreamLane::In => (self.copies[0], None),
            StreamLane::Out => (self.copies[1], None),
            StreamLane::Within => (self.copies[2], None),
            StreamLane::Compute => {
                let at = self.place(&what);
                (self.compute[at.level].streams[at.place], Some(at))
            }
        };
        match self.put(stream, &what, put) {
            Ok(event) => {
                let number =
                    self.enter(Begun { event, stream, uses: what.uses, held: what.held, reads: None });
                if let Some(ComputePlace { level, place }) = place {
                    self.compute[level].tails[place] = number;
                }
                Ok(number)
            }
            Err(why) => Err(NotBegun { why, held: what.held }),
        }
    }

    fn enter(&mut self, begun: Begun) -> u64 {
        self.last += 1;
        self.begun.insert(self.last, begun);
        self.last
    }

    fn put(
        &mut self,
        stream: Stream,
        what: &StreamWork<'_>,
        put: impl FnOnce(Stream) -> DriverCode,
    ) -> Result<Event, DriverError> {
        for before in self.before(&what.uses) {
            self.wait(stream, before)?;
        }
        self.put_behind(stream, what.after)?;
        what.behind.iter().try_for_each(|&event| self.wait_for(stream, event))?;
        self.driver.check(put(stream))?;
        self.record(stream)
    }

    /// What was begun and touches these bytes.
    fn before(&self, uses: &[StreamUse]) -> impl Iterator<Item = &Begun> {
        self.begun.values().filter(|begun| begun.touches(uses))
    }

    /// What comes later on the stream begins when that is over.
    fn wait(&self, stream: Stream, before: &Begun) -> Result<(), DriverError> {
        if before.stream == stream { Ok(()) } else { self.wait_for(stream, before.event) }
    }

    /// What comes later on the stream begins when the event has happened, which may be another
    /// device's.
    fn wait_for(&self, stream: Stream, event: Event) -> Result<(), DriverError> {
        // SAFETY: a stream of this device and an event that was recorded: it is of an operation
        // that is known, or its owner is locked.
        self.driver.check(unsafe { (self.driver.stream_wait)(stream, event, 0) })
    }

    /// As [`Streams::wait`], for operations; one that is not known any more is over.
    fn put_behind(&self, stream: Stream, after: &[DeviceOperation]) -> Result<(), DriverError> {
        after
            .iter()
            .filter_map(|operation| self.begun.get(&operation.0))
            .try_for_each(|before| self.wait(stream, before))
    }

    /// An event behind what is on the stream.
    fn record(&mut self, stream: Stream) -> Result<Event, DriverError> {
        let event = self.event()?;
        // SAFETY: a stream and an event of this device; the event has no other user.
        let recorded = self.driver.check(unsafe { (self.driver.event_record)(event, stream) });
        recorded.map(|()| event).inspect_err(|_| self.spare.push(event))
    }

    // ---- streams of the program ---------------------------------------------

    /// A stream for the program alone, for work of this priority.
    ///
    /// # Errors
    /// The driver's.
    pub fn open(&mut self, priority: u32) -> Result<OpenedStream, DriverError> {
        let level = self.priorities.level(priority);
        let spare = self.own.spare.iter().position(|spare| spare.level == level);
        let borrowed = match spare.and_then(|at| self.own.spare.remove(at)) {
            Some(borrowed) => borrowed,
            None => ProgramStream { stream: self.priorities.create(self.driver, level)?, level },
        };
        self.own.last += 1;
        self.own.open.insert(self.own.last, borrowed);
        Ok(OpenedStream { id: self.own.last, stream: borrowed.stream })
    }

    /// It is kept for the next one of its priority. The one that was closed first is used first: it
    /// is the likeliest to be empty.
    pub fn give_back(&mut self, id: u64) {
        self.own.spare.extend(self.own.open.remove(&id));
    }

    /// What comes later on the program's stream begins when these are over; `None`: there is no
    /// such stream.
    pub fn put_own_behind(&self, id: u64, after: &[DeviceOperation]) -> Option<Result<(), DriverError>> {
        self.own.open.get(&id).map(|borrowed| self.put_behind(borrowed.stream, after))
    }

    /// An operation that is over when what is on the program's stream is; `None`: there is no such
    /// stream.
    pub fn mark(&mut self, id: u64, uses: Vec<StreamUse>) -> Option<Result<u64, DriverError>> {
        let stream = self.own.open.get(&id)?.stream;
        let recorded = self.record(stream);
        Some(recorded.map(|event| self.enter(Begun { event, stream, uses, held: None, reads: None })))
    }

    // ---- other devices ------------------------------------------------------

    /// The events of what was begun and touches these bytes, for another device that reads them.
    pub fn events_before(&self, uses: &[StreamUse]) -> Vec<Event> {
        self.before(uses).map(|begun| begun.event).collect()
    }

    /// Another device's operation, which reads here: what comes later comes behind it. The number
    /// is for [`Streams::leave`].
    pub fn enter_guest(&mut self, at: StreamEvent, uses: Vec<StreamUse>) -> u64 {
        let StreamEvent { stream, event } = at;
        self.enter(Begun { event, stream, uses, held: None, reads: None })
    }

    /// The operation reads from another device. `guest` passes the operation's stream and event to
    /// that device, and returns what it is there.
    pub fn reads(&mut self, number: u64, guest: impl FnOnce(StreamEvent) -> GuestRead) {
        if let Some(begun) = self.begun.get_mut(&number) {
            begun.reads = Some(guest(StreamEvent { stream: begun.stream, event: begun.event }));
        }
    }

    /// Another device's operation is over.
    pub fn leave(&mut self, guest: u64) {
        self.begun.remove(&guest);
    }

    // ---- what is over -------------------------------------------------------

    /// How far it is.
    pub fn poll(&mut self, number: u64) -> OperationState {
        let Some(begun) = self.begun.get(&number) else {
            return OperationState::Over(Ok(()), OperationRemains::default());
        };
        // SAFETY: an event that was recorded.
        let found = unsafe { (self.driver.event_query)(begun.event) };
        if found == code::NOT_READY {
            return OperationState::Pending;
        }
        let left = self.begun.remove(&number).map(|begun| {
            self.spare.push(begun.event);
            OperationRemains { held: begun.held, reads: begun.reads }
        });
        OperationState::Over(self.driver.check(found), left.unwrap_or_default())
    }

    /// How many operations are known here: they have not been polled to their end.
    pub fn known(&self) -> usize {
        self.begun.len()
    }

    /// All streams, those of the program included.
    pub fn all(&self) -> Vec<Stream> {
        let borrowed = self.own.open.values().chain(&self.own.spare).map(|borrowed| &borrowed.stream);
        let kernels = self.compute.iter().flat_map(|row| &row.streams);
        self.copies.iter().chain(kernels).chain(borrowed).copied().collect()
    }

    /// Gives streams and events back. Nothing is under way, and no other device knows of anything
    /// here: what read from one is returned.
    pub fn close(&mut self) -> Vec<GuestRead> {
        let streams = self.all();
        let mut reads = Vec::new();
        for (_, begun) in self.begun.drain().filter(|(_, begun)| streams.contains(&begun.stream)) {
            self.spare.push(begun.event);
            reads.extend(begun.reads);
        }
        destroy(self.driver, &streams);
        reads
    }

    /// The end of [`Streams::close`], when the other devices have forgotten what read from them.
    pub fn destroy_events(&mut self) {
        for event in self.spare.drain(..) {
            // SAFETY: ours, and not in use.
            unsafe { (self.driver.event_destroy)(event) };
        }
    }
}

/// So many streams of a level; none if the driver does not make all of them.
fn make(
    driver: &Driver,
    priorities: Priorities,
    level: u32,
    count: usize,
) -> Result<Vec<Stream>, DriverError> {
    let mut made = Vec::new();
    for _ in 0..count {
        let stream = priorities.create(driver, level).inspect_err(|_| destroy(driver, &made))?;
        made.push(stream);
    }
    Ok(made)
}

fn destroy(driver: &Driver, streams: &[Stream]) {
    for &stream in streams {
        // SAFETY: ours, and not in use.
        unsafe { (driver.stream_destroy)(stream) };
    }
}
