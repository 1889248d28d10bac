//! Copies between the GPU and the host's ordinary memory, which the system may move: by way of
//! memory that it may not.
//!
//! The driver copies such memory while its caller waits. To the host it waits for all work before
//! the copy in its stream, perhaps a kernel. So a worker would be blocked, and with it all threads
//! that ask for the state of the device. Therefore a copy goes in *pieces* through buffers of
//! pinned memory. The driver copies between device and buffer; the thread that asks for the copy
//! copies between buffer and program. Pieces are not needed where the driver keeps no caller
//! waiting: for memory that is pinned already, and for few bytes to the device, which the driver
//! takes along at once. They are not used where there is no pinned memory, either.
//!
//! A copy always has a piece under way, with a buffer of its own if the others have all; so no copy
//! waits for another one. As long as some of its pieces have not been put on a stream, what is
//! begun later and touches the same bytes would overtake them. Then all of them are put, with as
//! many buffers as that takes: the host's part of a copy is waited for, the GPU's never. The core
//! waits for its copies before it runs what uses them, so that this is rare. Buffers are kept.
//!
//! Rejected:
//! * Pinning the program's memory for the time of the copy: slow by the page, and two arrays may
//!   share one.
//! * A thread that waits in the driver: one more for each direction and device, and all work behind
//!   its copies would have to be handed to it, too.
//! * Later operations that wait for the pieces in a queue of ours: a second scheduler, and streams
//!   of the program cannot wait in it.

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use device_trait::DeviceOperation;

use crate::driver::{Driver, DriverAddress, DriverError, code};
use crate::peers::Shared;
use crate::streams::{NotBegun, OperationState, StreamLane, StreamUse, StreamWork};

/// Bytes of a piece: long enough that the driver's part is not noticed, short enough that the
/// host's part delays no other work.
const PIECE: usize = 2 << 20;
/// Buffers of that size before a copy has to wait for its own.
const LARGE: usize = 8;
/// Bytes of a small buffer, and how many are made at a time.
const SMALL: usize = 16 << 10;
const SMALL_ONES: usize = 64;
/// Up to so many bytes to the device the driver takes along at once.
const TAKEN_ALONG: usize = 64 << 10;
/// Bytes that the host copies for one question.
const AT_A_TIME: usize = 2 * PIECE;

/// Numbers of operations from here on are those of copies in pieces.
const NUMBERS: u64 = 1 << 63;

/// `CU_MEMHOSTALLOC_PORTABLE`: for all contexts.
const PORTABLE: u32 = 1;
/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`, and what it says of pinned memory.
const MEMORY_TYPE: (i32, u32) = (2, 1);

/// Which way a copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyDirection {
    /// To the device.
    In,
    /// To the host.
    Out,
}

/// Pinned memory, for one piece at a time.
#[derive(Debug)]
struct StagingBuffer {
    at: *mut u8,
    is_large: bool,
}

// SAFETY: the memory belongs to the owner of the buffer.
unsafe impl Send for StagingBuffer {}

#[derive(Default)]
struct Pool {
    small: Vec<StagingBuffer>,
    large: Vec<StagingBuffer>,
    large_made: usize,
    /// What the driver has given.
    blocks: Vec<usize>,
}

struct Piece {
    number: u64,
    /// `None`: the driver copies from or to the program's memory.
    buffer: Option<StagingBuffer>,
    at: usize,
    size: usize,
}

#[derive(Default)]
struct Pieces {
    /// Bytes of which pieces have been put on a stream.
    put: usize,
    under_way: VecDeque<Piece>,
    failed: Option<DriverError>,
}

/// A copy in pieces.
struct Going {
    way: CopyDirection,
    device: DriverAddress,
    host: usize,
    size: usize,
    pieces: Mutex<Pieces>,
    /// No piece is to be put any more.
    is_put: AtomicBool,
}

impl Going {
    fn touches(&self, from: usize, size: usize) -> StreamUse {
        match self.way {
            CopyDirection::In => StreamUse::writes(self.device + from, size),
            CopyDirection::Out => StreamUse::reads(self.device + from, size),
        }
    }

    fn pieces(&self) -> MutexGuard<'_, Pieces> {
        lock(&self.pieces)
    }
}

/// See the module. Callers have made the device's context current.
pub struct Staging {
    driver: &'static Driver,
    pool: Mutex<Pool>,
    going: Mutex<BTreeMap<u64, Arc<Going>>>,
    last: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Staging {
    /// No buffer yet.
    pub fn new(driver: &'static Driver) -> Self {
        Self { driver, pool: Mutex::default(), going: Mutex::default(), last: AtomicU64::new(NUMBERS) }
    }

    /// Would the driver keep the caller of this copy waiting, and is there another way?
    pub fn suits(&self, way: CopyDirection, host: usize, size: usize) -> bool {
        let is_taken_along = way == CopyDirection::In && size <= TAKEN_ALONG;
        !is_taken_along && size > 0 && self.driver.host_allocate.is_some() && !self.is_pinned(host)
    }

    fn is_pinned(&self, host: usize) -> bool {
        let Some(attribute) = self.driver.pointer_attribute else { return false };
        let mut kind = 0_u32;
        // SAFETY: a valid out pointer; any address may be asked for.
        let found = unsafe { attribute((&raw mut kind).cast::<c_void>(), MEMORY_TYPE.0, host) };
        found == code::SUCCESS && kind == MEMORY_TYPE.1
    }

    // ---- buffers ------------------------------------------------------------

    /// A buffer for so many bytes, at most [`PIECE`]; a new one beyond what is usual only for who
    /// `must` have one.
    fn take(&self, size: usize, must: bool) -> Option<StagingBuffer> {
        let mut pool = lock(&self.pool);
        if size <= SMALL {
            if pool.small.is_empty() {
                let block = self.allocate(&mut pool, SMALL * SMALL_ONES)?;
                // SAFETY: inside of the block.
                let parts = (0..SMALL_ONES).map(|i| unsafe { block.add(i * SMALL) });
                pool.small.extend(parts.map(|at| StagingBuffer { at, is_large: false }));
            }
            return pool.small.pop();
        }
        if let Some(buffer) = pool.large.pop() {
            return Some(buffer);
        }
        if pool.large_made >= LARGE && !must {
            return None;
        }
        let at = self.allocate(&mut pool, PIECE)?;
        pool.large_made += 1;
        Some(StagingBuffer { at, is_large: true })
    }

    fn allocate(&self, pool: &mut Pool, size: usize) -> Option<*mut u8> {
        let (allocate, mut block) = (self.driver.host_allocate?, core::ptr::null_mut());
        // SAFETY: a valid out pointer; a context is current.
        let done = unsafe { allocate(&raw mut block, size, PORTABLE) };
        (done == code::SUCCESS && !block.is_null()).then(|| {
            pool.blocks.push(block.addr());
            block.cast()
        })
    }

    fn give(&self, buffer: StagingBuffer) {
        let mut pool = lock(&self.pool);
        if buffer.is_large { pool.large.push(buffer) } else { pool.small.push(buffer) }
    }

    // ---- copies -------------------------------------------------------------

    /// Begins a copy; `None` if there is no pinned memory. Gives its number.
    ///
    /// # Errors
    /// The driver's; nothing was begun then.
    /// # Safety
    /// Both sides are that large, and the host's stays until the copy is over.
    pub unsafe fn begin(
        &self,
        shared: &Shared,
        way: CopyDirection,
        device: DriverAddress,
        host: usize,
        size: usize,
    ) -> Option<Result<u64, DriverError>> {
        let going = Arc::new(Going {
            way,
            device,
            host,
            size,
            pieces: Mutex::default(),
            is_put: AtomicBool::new(false),
        });
        // ORDERING: Relaxed; numbers that differ.
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        // Known before its first piece is put: who comes now and touches these bytes waits for this
        // lock.
        let mut pieces = going.pieces();
        lock(&self.going).insert(number, going.clone());
        self.advance(shared, &going, &mut pieces, AT_A_TIME);
        if !pieces.under_way.is_empty() {
            return Some(Ok(number));
        }
        lock(&self.going).remove(&number);
        pieces.failed.take().map(Err)
    }

    /// Goes on with a copy as far as that is possible now; the host copies about `most` bytes. Says
    /// whether it is over.
    fn advance(&self, shared: &Shared, going: &Going, pieces: &mut Pieces, most: usize) -> bool {
        let mut copied = 0;
        while copied < most && self.finish_first(shared, going, pieces, &mut copied) {}
        while copied < most && pieces.put < going.size && pieces.failed.is_none() {
            let must = pieces.under_way.is_empty() || most == usize::MAX;
            if !self.put_next(shared, going, pieces, must) {
                break;
            }
            copied += if going.way == CopyDirection::In { PIECE } else { 0 };
        }
        let is_put = pieces.put == going.size || pieces.failed.is_some();
        // ORDERING: Release, pairs with `make_way`: who sees it finds all pieces on their stream.
        going.is_put.store(is_put, Ordering::Release);
        is_put && pieces.under_way.is_empty()
    }

    /// The end of the first piece; false if it is not over, or there is none.
    fn finish_first(&self, shared: &Shared, going: &Going, pieces: &mut Pieces, copied: &mut usize) -> bool {
        let Some(first) = pieces.under_way.front() else { return false };
        let OperationState::Over(result, _) = shared.streams().poll(first.number) else { return false };
        let Some(piece) = pieces.under_way.pop_front() else { return false };
        match (result, &piece.buffer) {
            (Ok(()), Some(buffer)) if going.way == CopyDirection::Out => {
                // SAFETY: the caller of `begin` promises the host's side; the buffer is the
                // piece's, and as large.
                unsafe {
                    core::ptr::copy_nonoverlapping(buffer.at, (going.host + piece.at) as *mut u8, piece.size)
                };
                *copied += piece.size;
            }
            (Ok(()), _) => {}
            (Err(why), _) => {
                pieces.failed.get_or_insert(why);
            }
        }
        piece.buffer.into_iter().for_each(|buffer| self.give(buffer));
        true
    }

    /// Puts the next piece on its stream; false if there is no buffer.
    fn put_next(&self, shared: &Shared, going: &Going, pieces: &mut Pieces, must: bool) -> bool {
        let size = PIECE.min(going.size - pieces.put);
        let Some(buffer) = self.take(size, must) else { return false };
        if going.way == CopyDirection::In {
            // SAFETY: the caller of `begin` promises the host's side; the buffer is the piece's,
            // and as large.
            unsafe {
                core::ptr::copy_nonoverlapping((going.host + pieces.put) as *const u8, buffer.at, size)
            };
        }
        self.put(shared, going, pieces, Some(buffer), size);
        true
    }

    /// Puts a piece on its stream.
    fn put(
        &self,
        shared: &Shared,
        going: &Going,
        pieces: &mut Pieces,
        buffer: Option<StagingBuffer>,
        size: usize,
    ) {
        let (driver, at) = (self.driver, pieces.put);
        let (device, host) =
            (going.device + at, buffer.as_ref().map_or((going.host + at) as *mut u8, |buffer| buffer.at));
        let work = StreamWork { uses: vec![going.touches(at, size)], ..StreamWork::default() };
        // SAFETY: the caller of `begin` promises both sides; the buffer is the piece's, as large,
        // and stays until the piece is over.
        let begun = unsafe {
            match going.way {
                CopyDirection::In => shared
                    .streams()
                    .begin(StreamLane::In, work, |stream| (driver.copy_in)(device, host, size, stream)),
                CopyDirection::Out => shared
                    .streams()
                    .begin(StreamLane::Out, work, |stream| (driver.copy_out)(host, device, size, stream)),
            }
        };
        match begun {
            Ok(number) => {
                pieces.put += size;
                pieces.under_way.push_back(Piece { number, buffer, at, size });
            }
            Err(NotBegun { why, .. }) => {
                pieces.failed.get_or_insert(why);
                buffer.into_iter().for_each(|buffer| self.give(buffer));
            }
        }
    }

    /// Is it the number of a copy in pieces?
    pub fn is_its(number: u64) -> bool {
        number > NUMBERS
    }

    /// How far a copy is; goes on with it.
    pub fn poll(&self, shared: &Shared, number: u64) -> Option<Result<(), DriverError>> {
        let Some(going) = lock(&self.going).get(&number).cloned() else { return Some(Ok(())) };
        let mut pieces = match going.pieces.try_lock() {
            Ok(pieces) => pieces,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        self.advance(shared, &going, &mut pieces, AT_A_TIME).then(|| {
            lock(&self.going).remove(&number);
            pieces.failed.take().map_or(Ok(()), Err)
        })
    }

    // ---- what comes behind copies -------------------------------------------

    /// What touches these bytes is about to be begun: it comes behind the copies that do.
    pub fn make_way(&self, shared: &Shared, uses: &[StreamUse]) {
        let in_the_way = |going: &&Arc<Going>| {
            let its = going.touches(0, going.size);
            // ORDERING: Acquire, pairs with `advance`.
            !going.is_put.load(Ordering::Acquire) && uses.iter().any(|other| its.conflicts(other))
        };
        let found: Vec<_> = lock(&self.going).values().filter(in_the_way).cloned().collect();
        found.iter().for_each(|going| self.put_all(shared, going));
    }

    /// Puts all pieces on their stream.
    fn put_all(&self, shared: &Shared, going: &Going) {
        let mut pieces = going.pieces();
        self.advance(shared, going, &mut pieces, usize::MAX);
        if pieces.put < going.size && pieces.failed.is_none() {
            // There is no more pinned memory: the driver copies what is left, and keeps the caller
            // waiting.
            let left = going.size - pieces.put;
            self.put(shared, going, &mut pieces, None, left);
            self.advance(shared, going, &mut pieces, usize::MAX);
        }
    }

    /// The operations, a copy in pieces as its pieces.
    pub fn pieces_of(&self, shared: &Shared, operations: &[DeviceOperation]) -> Vec<DeviceOperation> {
        let mut all = Vec::with_capacity(operations.len());
        for operation in operations {
            let found = lock(&self.going).get(&operation.0).cloned();
            match found {
                None => all.push(*operation),
                Some(going) => {
                    self.put_all(shared, &going);
                    all.extend(going.pieces().under_way.iter().map(|piece| DeviceOperation(piece.number)));
                }
            }
        }
        all
    }

    /// Goes on with all copies. Says whether none is under way any more.
    pub fn advance_all(&self, shared: &Shared) -> bool {
        let all: Vec<_> = lock(&self.going).values().cloned().collect();
        let under_way =
            all.iter().filter(|going| !self.advance(shared, going, &mut going.pieces(), AT_A_TIME));
        under_way.count() == 0
    }

    /// How many copies have not been polled to their end.
    pub fn known(&self) -> usize {
        lock(&self.going).len()
    }

    /// Gives all memory back. Nothing is under way, and no thread asks any more.
    pub fn close(&self) {
        lock(&self.going).clear();
        let pool = core::mem::take(&mut *lock(&self.pool));
        let Some(free) = self.driver.host_free else { return };
        for block in pool.blocks {
            // SAFETY: the driver has given it, and it is not in use.
            unsafe { free(block as *mut c_void) };
        }
    }
}
