//! Rectangular copies, as many plain ones.

use super::memory_of::{self as memory, AddressOn, CopyFailure, Side};

/// A rectangular copy, as `omp_target_memcpy_rect` describes it.
pub struct Rectangle<'a> {
    /// Elements to copy, per dimension.
    pub volume: &'a [usize],
    /// Where it begins in the target.
    pub to_offsets: &'a [usize],
    /// Where it begins in the source.
    pub from_offsets: &'a [usize],
    /// Elements of the whole target, per dimension.
    pub to_extents: &'a [usize],
    /// Elements of the whole source, per dimension.
    pub from_extents: &'a [usize],
}

impl Rectangle<'_> {
    /// Copies the dimensions from `at` on; `to` and `from` are the addresses of the sub-arrays in
    /// these.
    ///
    /// # Errors
    /// The device's.
    /// # Safety
    /// Both arrays are as large as their extents say.
    pub unsafe fn copy(
        &self,
        at: usize,
        element: usize,
        to: AddressOn<Side>,
        from: AddressOn<Side>,
    ) -> Result<(), CopyFailure> {
        let below = |extents: &[usize]| extents[at + 1..].iter().product::<usize>() * element;
        let (to_step, from_step) = (below(self.to_extents), below(self.from_extents));
        let to = to.plus(self.to_offsets[at] * to_step);
        let from = from.plus(self.from_offsets[at] * from_step);
        // SAFETY: as the caller says, at every depth.
        unsafe {
            if at + 1 == self.volume.len() {
                return memory::copy(to, from, self.volume[at] * element);
            }
            for i in 0..self.volume[at] {
                self.copy(at + 1, element, to.plus(i * to_step), from.plus(i * from_step))?;
            }
        }
        Ok(())
    }
}
