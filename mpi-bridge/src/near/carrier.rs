//! The carrier that takes packets between ranks of one machine through shared memory, and leaves
//! all else to another one.
//!
//! Packets are numbered, so that it does not matter which way each of them comes ([`crate::pair`]).
//! A packet that finds no room in its ring goes the other way, and is counted in the receiver's
//! inbox. Most looks of the other carrier are spared, all but one in [`SELDOM`], under three
//! conditions. All ranks are on this machine, nothing is under way that the other carrier has to
//! report, and no such packet is missing.

use crate::fabric::{Broken, Completion, Fabric, FabricLane, FabricOutcome};
use crate::packet::{PREFIX, Packet};

use super::segment::Inbox;

/// Looks, of which the other carrier gets one in any case.
const SELDOM: u32 = 64;
/// Packets taken from one neighbour in a look.
const MOST: usize = 16;

/// See the module.
pub struct Near<F> {
    other: F,
    inbox: Inbox,
    /// By rank: its place in the inbox.
    places: Vec<Option<u32>>,
    /// There are ranks on other machines.
    has_far: bool,
    /// Operations of the other carrier that will end, the receptions of packets left out.
    under_way: u32,
    /// Tokens of those.
    packets: Vec<u64>,
    /// Packets of neighbours that have come by the other carrier.
    came_elsewhere: u32,
    looks: u32,
    ending: bool,
}

impl<F: Fabric> Near<F> {
    /// Before `other`.
    pub fn new(other: F, inbox: Inbox) -> Self {
        let mut places = vec![None; other.ranks() as usize];
        for (place, neighbour) in (0..).zip(&inbox.neighbours) {
            places[neighbour.rank as usize] = Some(place);
        }
        let has_far = places.contains(&None);
        Self {
            other,
            inbox,
            places,
            has_far,
            under_way: 0,
            packets: Vec::new(),
            came_elsewhere: 0,
            looks: 0,
            ending: false,
        }
    }

    /// Must the other carrier be looked at?
    fn is_due(&mut self) -> bool {
        self.looks = self.looks.wrapping_add(1);
        let expects = self.has_far
            || self.ending
            || self.under_way > 0
            || self.inbox.sent_elsewhere() != self.came_elsewhere;
        expects || self.looks.is_multiple_of(SELDOM)
    }

    /// Counts what the other carrier has completed.
    fn note(&mut self, completion: &Completion) {
        let Some(at) = self.packets.iter().position(|&token| token == completion.token) else {
            self.under_way = self.under_way.saturating_sub(1);
            return;
        };
        self.packets.swap_remove(at);
        if completion.outcome == FabricOutcome::Done && self.places[completion.source as usize].is_some() {
            self.came_elsewhere = self.came_elsewhere.wrapping_add(1);
        }
    }
}

impl<F: Fabric> Fabric for Near<F> {
    fn rank(&self) -> u32 {
        self.other.rank()
    }

    fn ranks(&self) -> u32 {
        self.other.ranks()
    }

    fn most_tag(&self) -> u32 {
        self.other.most_tag()
    }

    unsafe fn send(
        &mut self,
        lane: FabricLane,
        to: u32,
        tag: u32,
        from: *const u8,
        length: usize,
        token: u64,
    ) -> Result<bool, Broken> {
        let place = self.places[to as usize].filter(|_| lane == FabricLane::Packets);
        let neighbour = place.map(|place| &mut self.inbox.neighbours[place as usize]);
        if let Some(neighbour) = neighbour {
            // SAFETY: as the caller says.
            let bytes = unsafe { core::slice::from_raw_parts(from, length) };
            if neighbour.sender.push(bytes.strip_prefix(&PREFIX).unwrap_or_default()) {
                return Ok(true);
            }
        }
        // SAFETY: as the caller says.
        let is_done = unsafe { self.other.send(lane, to, tag, from, length, token) }?;
        if let Some(place) = place {
            self.inbox.neighbours[place as usize].sent_elsewhere();
        }
        self.under_way += u32::from(!is_done);
        Ok(is_done)
    }

    unsafe fn receive(
        &mut self,
        lane: FabricLane,
        source: Option<u32>,
        tag: u32,
        into: *mut u8,
        length: usize,
        token: u64,
    ) -> Result<(), Broken> {
        // SAFETY: as the caller says.
        unsafe { self.other.receive(lane, source, tag, into, length, token) }?;
        match lane {
            FabricLane::Packets => self.packets.push(token),
            FabricLane::Blocks => self.under_way += 1,
        }
        Ok(())
    }

    fn poll(&mut self, into: &mut Vec<Completion>) -> Result<(), Broken> {
        if !self.is_due() {
            return Ok(());
        }
        let before = into.len();
        self.other.poll(into)?;
        for completion in &into[before..] {
            self.note(completion);
        }
        Ok(())
    }

    fn arrivals(
        &mut self,
        room: &mut dyn FnMut() -> Packet,
        into: &mut Vec<(u32, Packet)>,
    ) -> Result<(), Broken> {
        for neighbour in &mut self.inbox.neighbours {
            for _ in 0..MOST {
                let Some(length) = neighbour.receiver.waiting() else { break };
                let mut packet = room();
                if length > neighbour.receiver.most().min(packet.capacity() - PREFIX.len()) {
                    return Err(Broken(format!(
                        "{length} bytes in shared memory from rank {} are more than a packet",
                        neighbour.rank
                    )));
                }
                packet.set_length(PREFIX.len() + length);
                // SAFETY: the packet holds as many.
                unsafe { neighbour.receiver.take(packet.begin(), length) };
                into.push((neighbour.rank, packet));
            }
        }
        Ok(())
    }

    fn cancel(&mut self, token: u64) -> Result<(), Broken> {
        self.ending = true;
        self.other.cancel(token)
    }

    fn complete(&mut self, sent: &[u64]) -> Result<u64, Broken> {
        self.other.complete(sent)
    }

    fn close(&mut self) -> Result<(), Broken> {
        self.other.close()
    }

    fn aborter(&self) -> fn() {
        self.other.aborter()
    }
}
