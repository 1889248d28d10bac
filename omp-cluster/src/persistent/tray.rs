//! A tray: elements of one type, of one task.
//!
//! Trays that travel within a rank share their bytes until a procedure writes: a procedure that
//! asks to write gets a copy of its own then (`run`). So no procedure waits until sent bytes have
//! left, and bytes that have left never change.

use core::ops::Range;
use std::sync::Arc;

use super::kind::ElementType;
use crate::remote::RemoteFault;
use omp_offload::bytes::Bytes;

/// The content of a tray.
#[derive(Clone, Debug)]
pub struct Tray {
    /// The type of its elements.
    pub kind: ElementType,
    /// All of them.
    pub data: Arc<Bytes>,
}

/// What comes from elsewhere; none where the sender had nothing.
pub type TrayParcel = Option<Tray>;

impl Tray {
    /// Elements that are zero.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn zeroed(kind: ElementType, count: u64) -> Result<Self, RemoteFault> {
        let data = Bytes::zeroed(kind.bytes(count)?).ok_or(RemoteFault::Memory)?;
        Ok(Self { kind, data: Arc::new(data) })
    }

    /// These bytes.
    pub fn of(kind: ElementType, data: Bytes) -> Self {
        Self { kind, data: Arc::new(data) }
    }

    /// How many elements.
    pub fn count(&self) -> usize {
        self.data.size() / self.kind.size()
    }

    /// Bytes of the part `at` of `of` equal ones; the first ones are an element longer where that
    /// does not come out even.
    pub fn part(&self, at: usize, of: usize) -> Range<usize> {
        let share = split(self.count(), at, of);
        share.start * self.kind.size()..share.end * self.kind.size()
    }

    /// The bytes of a range.
    pub fn bytes(&self, range: &Range<usize>) -> &[u8] {
        &self.data.as_slice()[range.clone()]
    }

    /// The address of the bytes, for a caller that writes: of a copy if others share the bytes.
    ///
    /// # Errors
    /// There is no memory for a copy.
    pub fn own(&mut self) -> Result<*mut u8, RemoteFault> {
        if Arc::get_mut(&mut self.data).is_none() {
            self.data = Arc::new(Bytes::of(self.data.as_slice()).ok_or(RemoteFault::Memory)?);
        }
        Ok(self.data.address())
    }
}

/// Of `count` elements those of the part `at` of `of`.
pub fn split(count: usize, at: usize, of: usize) -> Range<usize> {
    let (each, more) = (count / of.max(1), count % of.max(1));
    let begin = each * at + at.min(more);
    begin..begin + each + usize::from(at < more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_all_of_it_in_order() {
        for (count, of) in [(10, 3), (2, 5), (0, 4), (7, 1), (12, 4)] {
            let parts: Vec<_> = (0..of).map(|at| split(count, at, of)).collect();
            assert!(parts[0].start == 0 && parts[of - 1].end == count);
            assert!(
                parts.windows(2).all(|two| two[0].end == two[1].start && two[0].len() - two[1].len() <= 1)
            );
        }
        let tray = Tray::zeroed(ElementType(8 << 8 | 3), 10).expect("memory");
        assert_eq!((tray.count(), tray.part(0, 3), tray.part(2, 3)), (10, 0..32, 56..80));
    }

    #[test]
    fn what_is_shared_is_copied_before_it_is_written() {
        let mut tray = Tray::zeroed(ElementType::BYTE, 4).expect("memory");
        let alone = tray.own().expect("no copy");
        let sent = tray.clone();
        let own = tray.own().expect("a copy");
        assert!(alone == sent.data.address() && own != alone);
        // SAFETY: our own four bytes.
        unsafe { own.write(7) };
        assert_eq!((sent.bytes(&(0..4)), tray.bytes(&(0..4))), (&[0u8; 4][..], &[7u8, 0, 0, 0][..]));
        assert_eq!(tray.own().expect("no copy"), own);
    }
}
