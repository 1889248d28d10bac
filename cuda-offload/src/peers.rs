//! Copies between GPUs, from memory to memory, where the hardware has a way for them.
//!
//! The devices of a driver know each other ([`PeerFamily`]). Who copies is the device that gets the
//! bytes. The copy comes behind the work that writes to its source on the other device. That device
//! knows the copy until it is over, so later writes to the source come behind it. Both use events,
//! which streams of other devices can wait for. Whether there is a way is asked, and the way
//! opened, when the first copy is about to take it. Without one, or with a driver that has no such
//! functions, the core copies by way of the host.
//!
//! Two devices are locked at a time, the one that comes first in the driver's order first.
//!
//! Rejected: opening all ways at the start (each takes the driver a while, and memory on both
//! devices; a program that uses one GPU needs none); `cuMemcpyPeerAsync` where the driver says that
//! there is no way (it goes through the host then, too, and may hold the caller up).

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use device_trait::{DeviceFailure, DeviceOperation};

use crate::context::Primary;
use crate::driver::{CuDevice, Driver, DriverAddress, DriverCode, Stream, code};
use crate::staging::Staging;
use crate::streams::{GuestRead, NotBegun, StreamLane, StreamUse, StreamWork, Streams};

/// Added to the driver's numbers of devices, so that other kinds of devices have others.
const NUMBERS: u64 = 1 << 32;

/// What devices of a family know of each other.
pub struct Shared {
    device: CuDevice,
    /// Its context.
    pub context: Primary,
    /// Copies in pieces.
    pub staging: Staging,
    streams: Mutex<Streams>,
}

impl Shared {
    /// Of a device.
    pub fn new(driver: &'static Driver, device: CuDevice, context: Primary, streams: Streams) -> Self {
        Self { device, context, staging: Staging::new(driver), streams: Mutex::new(streams) }
    }

    /// Begins an operation ([`Streams::begin`]), also behind copies in pieces of which some have
    /// not been put yet.
    ///
    /// # Errors
    /// The driver's; nothing was begun then, or the device is lost.
    pub fn begin(
        &self,
        lane: StreamLane,
        work: StreamWork<'_>,
        put: impl FnOnce(Stream) -> DriverCode,
    ) -> Result<u64, NotBegun> {
        self.staging.make_way(self, &work.uses);
        let after = self.staging.pieces_of(self, work.after);
        self.streams().begin(lane, StreamWork { after: &after, ..work }, put)
    }

    /// What is under way, locked.
    pub fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// By which others know it.
    pub fn peer(&self) -> u64 {
        NUMBERS + self.device as u64
    }
}

/// The devices of a driver, seen by one of them.
pub struct PeerFamily {
    driver: &'static Driver,
    all: Vec<Arc<Shared>>,
    own: usize,
    /// Is there a way from there, and is it open? Unset: no caller has asked.
    ways: Vec<OnceLock<bool>>,
}

impl PeerFamily {
    /// One device.
    pub fn alone(driver: &'static Driver, own: Arc<Shared>) -> Self {
        Self { driver, all: vec![own], own: 0, ways: vec![OnceLock::new()] }
    }

    /// All of them, in an order that is the same for each, seen by `own`.
    pub fn new(driver: &'static Driver, all: Vec<Arc<Shared>>, own: &Arc<Shared>) -> Self {
        let at = all.iter().position(|shared| Arc::ptr_eq(shared, own));
        match at {
            Some(at) => Self { driver, ways: all.iter().map(|_| OnceLock::new()).collect(), all, own: at },
            None => Self::alone(driver, own.clone()),
        }
    }

    fn own(&self) -> &Shared {
        &self.all[self.own]
    }

    fn find(&self, peer: u64) -> Option<usize> {
        self.all.iter().position(|shared| shared.peer() == peer)
    }

    /// Can it copy from there? Opens the way.
    pub fn reaches(&self, peer: u64) -> bool {
        let found = self.find(peer).filter(|&at| at != self.own);
        found.is_some_and(|at| *self.ways[at].get_or_init(|| self.open(&self.all[at])))
    }

    fn open(&self, other: &Shared) -> bool {
        let (Some(can), Some(enable), Some(_)) =
            (self.driver.peer_can, self.driver.peer_enable, self.driver.peer_copy)
        else {
            return false;
        };
        let mut is_there = 0;
        // SAFETY: a valid out pointer and two devices.
        let asked = unsafe { can(&raw mut is_there, self.own().device, other.device) };
        let Ok(_inside) = self.own().context.enter() else { return false };
        // SAFETY: a context that is retained; 0 is the only value there is.
        let open =
            || matches!(unsafe { enable(other.context.handle(), 0) }, code::SUCCESS | code::PEER_ALREADY);
        asked == code::SUCCESS && is_there != 0 && open()
    }

    /// Both devices' streams, locked in the family's order.
    fn lock_both(&self, other: usize) -> (MutexGuard<'_, Streams>, MutexGuard<'_, Streams>) {
        if self.own < other {
            let own = self.own().streams();
            (own, self.all[other].streams())
        } else {
            let there = self.all[other].streams();
            (self.own().streams(), there)
        }
    }

    /// Copies from another device.
    ///
    /// # Errors
    /// The copy could not be begun.
    /// # Safety
    /// As for the trait's `copy_across`; the own context is current.
    pub unsafe fn copy(
        &self,
        to: DriverAddress,
        peer: u64,
        from: DriverAddress,
        size: usize,
    ) -> Result<DeviceOperation, DeviceFailure> {
        let none = || DeviceFailure("it has no way to the other device".into());
        let at = self.find(peer).filter(|_| self.reaches(peer)).ok_or_else(none)?;
        let copy = self.driver.peer_copy.ok_or_else(none)?;
        let (own_context, its_context) = (self.own().context.handle(), self.all[at].context.handle());
        let source = || vec![StreamUse::reads(from, size)];
        self.own().staging.make_way(self.own(), &[StreamUse::writes(to, size)]);
        self.make_way_there(at, &source())?;
        let (mut own, mut there) = self.lock_both(at);
        let behind = there.events_before(&source());
        let work =
            StreamWork { uses: vec![StreamUse::writes(to, size)], behind: &behind, ..StreamWork::default() };
        // SAFETY: as the caller says; both contexts are retained.
        let begun = own.begin(StreamLane::Within, work, |stream| unsafe {
            copy(to, own_context, from, its_context, size, stream)
        });
        let number = begun.map_err(|failed| DeviceFailure(failed.why.to_string().into()))?;
        own.reads(number, |event| GuestRead { place: at, number: there.enter_guest(event, source()) });
        Ok(DeviceOperation(number))
    }

    /// What was begun on the other device is put on its streams, as far as it writes to the source.
    fn make_way_there(&self, at: usize, source: &[StreamUse]) -> Result<(), DeviceFailure> {
        let other = &self.all[at];
        let _there = other.context.enter().map_err(|why| DeviceFailure(why.to_string().into()))?;
        other.staging.make_way(other, source);
        Ok(())
    }

    /// An operation of this device that has read from the one at this place is over.
    pub fn leave(&self, guest: GuestRead) {
        self.all[guest.place].streams().leave(guest.number);
    }
}
