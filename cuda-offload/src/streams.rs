//! What was begun on a device, in which stream, and what has to wait for what.
//!
//! A stream for each direction of copies, one for copies inside the device's memory, and some for kernels, so that copies and kernels overlap. What touches the same bytes in
//! different streams is put in order on the device: the later one's stream waits for the event of the earlier one, not the host. Only what is not known to be over
//! can be waited for, so the list to look through is short.
//!
//! Each operation has an event behind it; events go back to a pool when somebody has been told that the operation is over. May not live here: memory, images, contexts (whoever calls has
//! made the device's current).

use core::ops::Range;
use std::collections::HashMap;

use crate::driver::{Address, Code, Driver, Error, Event, Stream, code};

/// Streams for kernels: as many run side by side.
const COMPUTE: usize = 4;

/// `CU_STREAM_NON_BLOCKING`: nothing waits for the program's own default stream.
const NON_BLOCKING: u32 = 1;
/// `CU_EVENT_DISABLE_TIMING`.
const NO_TIMING: u32 = 2;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
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
pub struct Use {
    /// Which.
    pub range: Range<Address>,
    /// It changes them.
    pub writes: bool,
}

impl Use {
    /// So many bytes from there on are read.
    pub fn reads(from: Address, size: usize) -> Self {
        Self { range: from..from + size, writes: false }
    }

    /// They are changed.
    pub fn writes(from: Address, size: usize) -> Self {
        Self { range: from..from + size, writes: true }
    }

    fn conflicts(&self, other: &Self) -> bool {
        (self.writes || other.writes) && self.range.start < other.range.end && other.range.start < self.range.end
    }
}

/// Memory that belongs to an operation: on the device, and what is copied to it from the host.
#[derive(Debug)]
pub struct Held {
    /// A block of the device.
    pub block: Address,
    /// Stays where it is while it is copied.
    pub words: Box<[u64]>,
}

struct Begun {
    event: Event,
    stream: Stream,
    uses: Vec<Use>,
    held: Option<Held>,
}

/// See the module. Its owner locks it.
pub struct Streams {
    driver: &'static Driver,
    copies: [Stream; 3],
    compute: Vec<Stream>,
    turn: usize,
    begun: HashMap<u64, Begun>,
    last: u64,
    spare: Vec<Event>,
}

/// How far an operation is.
#[derive(Debug)]
pub enum State {
    /// Not over.
    Pending,
    /// Over, and forgotten; what it held is returned.
    Over(Result<(), Error>, Option<Held>),
}

impl Streams {
    /// Streams of the current context.
    ///
    /// # Errors
    /// The driver's.
    pub fn new(driver: &'static Driver) -> Result<Self, Error> {
        let mut made = Vec::new();
        for _ in 0..3 + COMPUTE {
            let mut stream = Stream::NULL;
            // SAFETY: a valid out pointer.
            let result = driver.check(unsafe { (driver.stream_create)(&raw mut stream, NON_BLOCKING) });
            if let Err(why) = result {
                destroy(driver, &made);
                return Err(why);
            }
            made.push(stream);
        }
        let compute = made.split_off(3);
        Ok(Self { driver, copies: [made[0], made[1], made[2]], compute, turn: 0, begun: HashMap::new(), last: 0, spare: Vec::new() })
    }

    fn stream(&mut self, lane: Lane) -> Stream {
        match lane {
            Lane::In => self.copies[0],
            Lane::Out => self.copies[1],
            Lane::Within => self.copies[2],
            Lane::Compute => {
                self.turn = (self.turn + 1) % self.compute.len();
                self.compute[self.turn]
            }
        }
    }

    fn event(&mut self) -> Result<Event, Error> {
        if let Some(event) = self.spare.pop() {
            return Ok(event);
        }
        let mut event = Event::NULL;
        // SAFETY: a valid out pointer.
        self.driver.check(unsafe { (self.driver.event_create)(&raw mut event, NO_TIMING) })?;
        Ok(event)
    }

    /// Begins an operation, which `put` puts on a stream, behind all that it has to wait for. Gives its number.
    ///
    /// # Errors
    /// The driver's; nothing was begun then, or the device is lost.
    pub fn begin(&mut self, lane: Lane, uses: Vec<Use>, held: Option<Held>, put: impl FnOnce(Stream) -> Code) -> Result<u64, (Error, Option<Held>)> {
        match self.put(lane, &uses, put) {
            Ok((stream, event)) => {
                self.last += 1;
                self.begun.insert(self.last, Begun { event, stream, uses, held });
                Ok(self.last)
            }
            Err(why) => Err((why, held)),
        }
    }

    fn put(&mut self, lane: Lane, uses: &[Use], put: impl FnOnce(Stream) -> Code) -> Result<(Stream, Event), Error> {
        let (driver, stream, event) = (self.driver, self.stream(lane), self.event()?);
        let conflicts = |begun: &&Begun| begun.stream != stream && begun.uses.iter().any(|a| uses.iter().any(|b| a.conflicts(b)));
        let put_behind = || {
            for before in self.begun.values().filter(conflicts) {
                // SAFETY: a stream and an event of this device; the event was recorded.
                driver.check(unsafe { (driver.stream_wait)(stream, before.event, 0) })?;
            }
            driver.check(put(stream))?;
            // SAFETY: as above; the event is nobody else's.
            driver.check(unsafe { (driver.event_record)(event, stream) })
        };
        match put_behind() {
            Ok(()) => Ok((stream, event)),
            Err(why) => {
                self.spare.push(event);
                Err(why)
            }
        }
    }

    /// How far it is.
    pub fn poll(&mut self, number: u64) -> State {
        let Some(begun) = self.begun.get(&number) else { return State::Over(Ok(()), None) };
        // SAFETY: an event that was recorded.
        let found = unsafe { (self.driver.event_query)(begun.event) };
        if found == code::NOT_READY {
            return State::Pending;
        }
        let held = self.begun.remove(&number).and_then(|begun| {
            self.spare.push(begun.event);
            begun.held
        });
        State::Over(self.driver.check(found), held)
    }

    /// All streams.
    pub fn all(&self) -> Vec<Stream> {
        self.copies.iter().chain(&self.compute).copied().collect()
    }

    /// Gives streams and events back. Nothing is under way.
    pub fn close(&mut self) {
        destroy(self.driver, &self.copies);
        destroy(self.driver, &self.compute);
        for event in self.spare.drain(..).chain(self.begun.drain().map(|(_, begun)| begun.event)) {
            // SAFETY: ours, and nobody uses it.
            unsafe { (self.driver.event_destroy)(event) };
        }
    }
}

fn destroy(driver: &Driver, streams: &[Stream]) {
    for &stream in streams {
        // SAFETY: ours, and nobody uses it.
        unsafe { (driver.stream_destroy)(stream) };
    }
}
