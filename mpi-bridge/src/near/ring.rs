//! A ring of cells in which one thread leaves messages for another: one sender, one receiver.
//!
//! A message takes cells in a row, round the end of the ring if need be. The word of the first cell
//! says that it is there: the lap, so that what an earlier lap has left there is never taken for
//! it, and the length. Bytes lie beside the words, never in their place. The receiver says how many
//! cells it has taken; the sender looks there only when the ring seems full. So a message of one
//! cell moves one cache line.
//!
//! Invariant **sole**: a cell's bytes belong to the sender from when the receiver has counted it as
//! taken until the first word of its message is stored, and to the receiver from then on.
//! `tests/loom_near.rs` explores it.
//!
//! Rejected: a message as one run of bytes behind its length. Bytes in the middle of it could be
//! taken for a length in the next lap, unless the word behind each message is cleared.

use crate::sync::{AtomicU64, Ordering, UnsafeCell};
use core::ptr;

/// Bytes of a message in a cell.
pub const ROOM: usize = 56;

/// A cell: a cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct RingCell {
    word: AtomicU64,
    bytes: UnsafeCell<[u8; ROOM]>,
}

/// How many cells the receiver has taken so far, on cache lines of its own.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct Taken(AtomicU64);

#[cfg(not(loom))]
const _: () = assert!(size_of::<RingCell>() == 64 && size_of::<Taken>() == 128);

impl Default for RingCell {
    /// As zeroed memory is: no message.
    fn default() -> Self {
        Self { word: AtomicU64::new(0), bytes: UnsafeCell::new([0; ROOM]) }
    }
}

/// Cells that a message takes.
pub fn cells_for(length: usize) -> usize {
    length.div_ceil(ROOM).max(1)
}

/// One end of a ring.
struct End {
    cells: *const RingCell,
    taken: *const Taken,
    /// Number of cells, as the power of two that it is: no look has to divide.
    shift: u32,
    /// Number of the next cell, since the beginning.
    next: u64,
}

// SAFETY: the memory is shared by its nature, and an end has no part in the thread that made it.
unsafe impl Send for End {}

impl End {
    /// # Safety
    /// As [`Sender::new`].
    unsafe fn new(cells: *const [RingCell], taken: *const Taken) -> Self {
        debug_assert!(cells.len().is_power_of_two());
        Self { cells: cells.cast(), taken, shift: cells.len().ilog2(), next: 0 }
    }

    fn cells(&self) -> u64 {
        1 << self.shift
    }

    fn cell(&self, number: u64) -> &RingCell {
        // SAFETY: `new`: the cells stay, and are as many.
        unsafe { &*self.cells.add((number & (self.cells() - 1)) as usize) }
    }

    /// The word of a message of `length` bytes that begins at the next cell.
    fn word(&self, length: usize) -> u64 {
        ((self.next >> self.shift) + 1) << 32 | length as u64
    }

    /// How much of a message there can be: half a ring.
    fn most(&self) -> usize {
        self.cells() as usize / 2 * ROOM
    }

    fn taken(&self) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { &(*self.taken).0 }
    }
}

/// Leaves messages.
pub struct Sender {
    end: End,
    /// The cells below this number may be written.
    limit: u64,
}

/// Takes them.
pub struct Receiver {
    end: End,
}

impl Sender {
    /// The only sender of this ring, which is as [`RingCell::default`] and [`Taken::default`] say.
    ///
    /// # Safety
    /// The cells, a power of two of them, and the count stay valid as long as the sender.
    pub unsafe fn new(cells: *const [RingCell], taken: *const Taken) -> Self {
        // SAFETY: as the caller says.
        Self { end: unsafe { End::new(cells, taken) }, limit: cells.len() as u64 }
    }

    /// Leaves a message of at most half a ring; `false`: there is no room now.
    pub fn push(&mut self, bytes: &[u8]) -> bool {
        if bytes.len() > self.end.most() {
            return false;
        }
        let count = cells_for(bytes.len()) as u64;
        if self.end.next + count > self.limit {
            // ORDERING: Acquire, pairs with the Release in `take`: the receiver has read what was
            // in the cells.
            self.limit = self.end.taken().load(Ordering::Acquire) + self.end.cells();
            if self.end.next + count > self.limit {
                return false;
            }
        }
        // The first cell comes last: between its bytes and its word no other line has to be
        // fetched, so that a receiver that looks does not get the line in between.
        for (at, part) in bytes.chunks(ROOM).enumerate().rev() {
            // SAFETY: "sole": below the limit, and its message is not there yet.
            self.end.cell(self.end.next + at as u64).bytes.with_mut(|to| unsafe { put(to, part) });
        }
        // ORDERING: Release, pairs with the Acquire in `waiting`: the bytes are there.
        self.end.cell(self.end.next).word.store(self.end.word(bytes.len()), Ordering::Release);
        self.end.next += count;
        true
    }
}

/// Writes a part of a message to a cell.
///
/// # Safety
/// The cell's bytes are the caller's; the part is at most as long.
unsafe fn put(to: *mut [u8; ROOM], part: &[u8]) {
    match part.try_into() {
        // SAFETY: as the caller says. A copy of known length is a few instructions.
        Ok(whole) => unsafe { *to = whole },
        // SAFETY: as the caller says.
        Err(_) => unsafe { ptr::copy_nonoverlapping(part.as_ptr(), to.cast(), part.len()) },
    }
}

impl Receiver {
    /// The only receiver of a ring; see [`Sender::new`].
    ///
    /// # Safety
    /// As there.
    pub unsafe fn new(cells: *const [RingCell], taken: *const Taken) -> Self {
        // SAFETY: as the caller says.
        Self { end: unsafe { End::new(cells, taken) } }
    }

    /// The length of the message that waits, if one does.
    pub fn waiting(&self) -> Option<usize> {
        // ORDERING: Acquire, pairs with the Release in `push`.
        let found = self.end.cell(self.end.next).word.load(Ordering::Acquire);
        (found >> 32 == self.end.word(0) >> 32).then_some(found as u32 as usize)
    }

    /// Takes the message that waits, whose length the caller has from [`Receiver::waiting`] and has
    /// found to be no more than a sender could leave.
    ///
    /// # Safety
    /// `length` bytes at `into` may be written.
    pub unsafe fn take(&mut self, into: *mut u8, length: usize) {
        let mut left = length;
        for at in 0..cells_for(length) as u64 {
            let size = left.min(ROOM);
            self.end.cell(self.end.next + at).bytes.with(|from| {
                // SAFETY: "sole": the word was there; `into` as the caller says.
                unsafe { get(into.add(length - left), from, size) };
            });
            left -= size;
        }
        self.end.next += cells_for(length) as u64;
        // ORDERING: Release, pairs with the Acquire in `push`: the bytes have been read.
        self.end.taken().store(self.end.next, Ordering::Release);
    }

    /// How much of a message there can be.
    pub fn most(&self) -> usize {
        self.end.most()
    }
}

/// Reads a part of a message from a cell.
///
/// # Safety
/// The cell's bytes are the caller's, as are `size` bytes at `into`, at most as many.
unsafe fn get(into: *mut u8, from: *const [u8; ROOM], size: usize) {
    if size == ROOM {
        // SAFETY: as the caller says; no alignment is needed.
        unsafe { into.cast::<[u8; ROOM]>().write_unaligned(*from) };
    } else {
        // SAFETY: as the caller says.
        unsafe { ptr::copy_nonoverlapping(from.cast(), into, size) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A ring of `cells` cells, and both ends. The memory outlives the test.
    fn ring(cells: usize) -> (Sender, Receiver) {
        let memory: &'static [RingCell] = Box::leak((0..cells).map(|_| RingCell::default()).collect());
        let taken: &'static Taken = Box::leak(Box::default());
        // SAFETY: leaked; one of each.
        unsafe { (Sender::new(memory, taken), Receiver::new(memory, taken)) }
    }

    fn pop(receiver: &mut Receiver) -> Option<Vec<u8>> {
        let length = receiver.waiting()?;
        let mut bytes = vec![0; length];
        // SAFETY: as many as there are.
        unsafe { receiver.take(bytes.as_mut_ptr(), length) };
        Some(bytes)
    }

    #[test]
    fn messages_come_whole_and_in_order_round_the_end() {
        let (mut sender, mut receiver) = ring(8);
        assert_eq!(pop(&mut receiver), None);
        for length in [0, 1, 55, 56, 57, 112, 113, 168, 169, 224, 16, 200] {
            let message: Vec<u8> = (0..length).map(|i| (i * 7 + length) as u8).collect();
            assert!(sender.push(&message), "{length} bytes");
            assert_eq!(pop(&mut receiver), Some(message));
            assert_eq!(pop(&mut receiver), None);
        }
    }

    #[test]
    fn a_full_ring_refuses_and_goes_on_later() {
        let (mut sender, mut receiver) = ring(8);
        assert!(!sender.push(&[0; 4 * ROOM + 1]), "more than half a ring");
        assert!(sender.push(&[1; 4 * ROOM]) && sender.push(&[2; 3 * ROOM]));
        assert!(!sender.push(&[3; ROOM + 1]), "one cell is left");
        assert!(sender.push(&[4; ROOM]) && !sender.push(&[]));
        assert_eq!(pop(&mut receiver), Some(vec![1; 4 * ROOM]));
        assert!(sender.push(&[5; 4 * ROOM]) && !sender.push(&[]));
        assert_eq!([pop(&mut receiver), pop(&mut receiver)], [Some(vec![2; 3 * ROOM]), Some(vec![4; ROOM])]);
        assert_eq!([pop(&mut receiver), pop(&mut receiver)], [Some(vec![5; 4 * ROOM]), None]);
    }

    #[test]
    fn a_million_messages_between_two_threads() {
        let (mut sender, mut receiver) = ring(16);
        let count = if cfg!(miri) { 300 } else { 1_000_000_u32 };
        let thread = std::thread::spawn(move || {
            for i in 0..count {
                let message = vec![i as u8; (i % 301) as usize];
                while !sender.push(&message) {
                    std::thread::yield_now();
                }
            }
        });
        for i in 0..count {
            let message = loop {
                if let Some(message) = pop(&mut receiver) {
                    break message;
                }
                std::thread::yield_now();
            };
            assert!(
                message.len() == (i % 301) as usize && message.iter().all(|&b| b == i as u8),
                "message {i}"
            );
        }
        thread.join().expect("sender");
    }
}
