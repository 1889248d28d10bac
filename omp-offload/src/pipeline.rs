//! Copies in pieces by way of this process's memory, so that a piece goes on while the next ones
//! come. They serve devices that have no way between them, and a GPU and the host of another rank.
//!
//! Two pieces come while others go. The context that copies is suspended while it waits. Copies of
//! one piece cost no more than its two halves.
//!
//! Rejected: all bytes at once (both halves one after the other, and as much memory as is copied);
//! a thread for each half (operations are asynchronous as they are).

use super::transfer;
use device_trait::{Device, DeviceAddress, DeviceFailure, DeviceOperation};

/// Bytes of a piece: what copies of a GPU in its own pieces ([`cuda_offload::staging`]) and
/// messages of ranks need to be fast.
pub const PIECE: usize = 1 << 20;
/// Pieces that are under way, and how many of them may come.
const PIECES: usize = 4;
const COMING: usize = 2;

/// Memory that bytes come from and go to. Addresses of this process stay valid until every
/// operation that was begun with them is complete.
pub trait TransferEnd {
    /// Begins to fetch `size` bytes that are `at` bytes from its beginning.
    ///
    /// # Errors
    /// The copy could not be begun.
    /// # Safety
    /// Both are that large, and stay so until the operation is complete.
    unsafe fn fetch(&self, at: usize, into: *mut u8, size: usize) -> Result<DeviceOperation, DeviceFailure>;

    /// Begins to store `size` bytes there.
    ///
    /// # Errors
    /// The copy could not be begun.
    /// # Safety
    /// As [`TransferEnd::fetch`].
    unsafe fn store(&self, at: usize, from: *const u8, size: usize)
    -> Result<DeviceOperation, DeviceFailure>;

    /// Waits for the operation.
    ///
    /// # Errors
    /// It failed.
    fn complete(&self, operation: DeviceOperation) -> Result<(), DeviceFailure>;
}

/// A device's memory.
pub struct InDevice<'a> {
    /// The device.
    pub device: &'a dyn Device,
    /// Where it begins.
    pub at: DeviceAddress,
}

impl TransferEnd for InDevice<'_> {
    unsafe fn fetch(&self, at: usize, into: *mut u8, size: usize) -> Result<DeviceOperation, DeviceFailure> {
        // SAFETY: as the caller says.
        unsafe { self.device.copy_out(into, self.at + at, size) }
    }

    unsafe fn store(
        &self,
        at: usize,
        from: *const u8,
        size: usize,
    ) -> Result<DeviceOperation, DeviceFailure> {
        // SAFETY: as the caller says.
        unsafe { self.device.copy_in(self.at + at, from, size) }
    }

    fn complete(&self, operation: DeviceOperation) -> Result<(), DeviceFailure> {
        transfer::wait_for(self.device, operation)
    }
}

/// Memory of this process with what was begun for it.
#[derive(Default)]
struct PipelineBuffer {
    bytes: Vec<u8>,
    comes: Option<DeviceOperation>,
    goes: Option<DeviceOperation>,
}

/// Waits for what was begun, if anything was.
fn complete(place: &dyn TransferEnd, begun: &mut Option<DeviceOperation>) -> Result<(), DeviceFailure> {
    begun.take().map_or(Ok(()), |operation| place.complete(operation))
}

/// Copies `size` bytes, and waits for it.
///
/// # Errors
/// What the first copy that failed said.
/// # Safety
/// Both are that large, and no other thread uses what is written.
pub unsafe fn copy(to: &dyn TransferEnd, from: &dyn TransferEnd, size: usize) -> Result<(), DeviceFailure> {
    let mut buffers: Vec<PipelineBuffer> = Vec::new();
    buffers.resize_with(PIECES.min(size.div_ceil(PIECE)), PipelineBuffer::default);
    // SAFETY: as the caller says; the buffers stay until all operations are complete.
    let mut outcome = unsafe { copy_through(&mut buffers, to, from, size) };
    // All are waited for, whatever became of the others: the buffers may go only then.
    for buffer in &mut buffers {
        let came = complete(from, &mut buffer.comes);
        let went = complete(to, &mut buffer.goes);
        outcome = outcome.and(came).and(went);
    }
    outcome
}

/// # Safety
/// As [`copy`], and the operations that the buffers have when it returns are complete before they
/// go.
unsafe fn copy_through(
    buffers: &mut [PipelineBuffer],
    to: &dyn TransferEnd,
    from: &dyn TransferEnd,
    size: usize,
) -> Result<(), DeviceFailure> {
    let (pieces, count) = (size.div_ceil(PIECE), buffers.len());
    let length = |piece: usize| PIECE.min(size - piece * PIECE);
    let mut next = 0;
    for piece in 0..pieces {
        while next < pieces.min(piece + COMING) {
            let buffer = &mut buffers[next % count];
            // The piece that had it last.
            complete(to, &mut buffer.goes)?;
            buffer.bytes.resize(length(next).max(buffer.bytes.len()), 0);
            // SAFETY: as the caller says; the buffer is that large, and free.
            buffer.comes =
                Some(unsafe { from.fetch(next * PIECE, buffer.bytes.as_mut_ptr(), length(next)) }?);
            next += 1;
        }
        let buffer = &mut buffers[piece % count];
        complete(from, &mut buffer.comes)?;
        // SAFETY: as above; the bytes are there.
        buffer.goes = Some(unsafe { to.store(piece * PIECE, buffer.bytes.as_ptr(), length(piece)) }?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::HostImage;
    use std::sync::Mutex;

    /// Memory that notes what is asked of it, and fails at one piece.
    struct Noted<'a> {
        place: InDevice<'a>,
        asked: &'a Mutex<Vec<(char, usize)>>,
        fails_at: usize,
    }

    impl Noted<'_> {
        fn note(&self, what: char, at: usize) -> Result<(), DeviceFailure> {
            self.asked.lock().unwrap().push((what, at / PIECE));
            if at / PIECE == self.fails_at { Err(DeviceFailure("no".into())) } else { Ok(()) }
        }
    }

    impl TransferEnd for Noted<'_> {
        unsafe fn fetch(
            &self,
            at: usize,
            into: *mut u8,
            size: usize,
        ) -> Result<DeviceOperation, DeviceFailure> {
            self.note('<', at)?;
            // SAFETY: as the caller says.
            unsafe { self.place.fetch(at, into, size) }
        }

        unsafe fn store(
            &self,
            at: usize,
            from: *const u8,
            size: usize,
        ) -> Result<DeviceOperation, DeviceFailure> {
            self.note('>', at)?;
            // SAFETY: as the caller says.
            unsafe { self.place.store(at, from, size) }
        }

        fn complete(&self, operation: DeviceOperation) -> Result<(), DeviceFailure> {
            self.place.complete(operation)
        }
    }

    fn copied(size: usize, fails_at: usize) -> (Result<(), DeviceFailure>, bool, Vec<(char, usize)>) {
        let device = HostImage::new(0, 300);
        let source: Vec<u8> = (0..size).map(|at| (at * 7 + at / 1000) as u8).collect();
        let mut target = vec![0_u8; size];
        let asked = Mutex::default();
        let from = Noted {
            place: InDevice { device: &device, at: source.as_ptr().addr() },
            asked: &asked,
            fails_at: usize::MAX,
        };
        let to = Noted {
            place: InDevice { device: &device, at: target.as_mut_ptr().addr() },
            asked: &asked,
            fails_at,
        };
        // SAFETY: both are that large; a host device's memory is this process's.
        let outcome = unsafe { copy(&to, &from, size) };
        (outcome, source == target, asked.into_inner().unwrap())
    }

    #[test]
    fn all_pieces_arrive_and_come_while_others_go() {
        for size in [1, PIECE - 1, PIECE, PIECE + 1, 7 * PIECE + 5] {
            let (outcome, same, asked) = copied(size, usize::MAX);
            assert_eq!((outcome, same, asked.len()), (Ok(()), true, 2 * size.div_ceil(PIECE)), "{size}");
        }
        let (.., asked) = copied(3 * PIECE, usize::MAX);
        assert_eq!(
            asked,
            [('<', 0), ('<', 1), ('>', 0), ('<', 2), ('>', 1), ('>', 2)],
            "the next one comes before the first goes"
        );
    }

    #[test]
    fn what_fails_is_reported_when_all_is_completed() {
        let (outcome, same, asked) = copied(6 * PIECE, 2);
        assert_eq!((outcome, same), (Err(DeviceFailure("no".into())), false));
        assert_eq!(asked.last(), Some(&('>', 2)), "nothing is begun afterwards");
    }
}
