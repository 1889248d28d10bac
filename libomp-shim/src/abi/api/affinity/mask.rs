//! Sets of processors as the kernel has them, behind LLVM's `kmp_affinity_mask_t`.

use std::io;

use omp::affinity::topology;

type Word = libc::c_ulong;
const WORD_BITS: usize = Word::BITS as usize;
/// The kernel refuses masks that are smaller than its own. No kernel's mask is larger than this
/// many processors.
const LARGEST: usize = 1 << 16;

/// A set of processors, by the operating system's numbers.
#[derive(Clone, Debug)]
pub struct Mask(Box<[Word]>);

impl Mask {
    /// The empty set.
    pub fn new() -> Self {
        Self(vec![0; LARGEST / WORD_BITS].into_boxed_slice())
    }

    /// The processors that the calling kernel thread may run on.
    ///
    /// # Errors
    /// The kernel's.
    pub fn of_calling_thread() -> io::Result<Self> {
        let procs = topology::current_thread_cpus();
        if procs.is_empty() {
            return Err(io::Error::last_os_error());
        }
        let mut mask = Self::new();
        procs.into_iter().for_each(|proc| mask.set(proc, true));
        Ok(mask)
    }

    /// Restricts the calling kernel thread to this set.
    ///
    /// # Errors
    /// The kernel's.
    pub fn bind_calling_thread(&self) -> io::Result<()> {
        ult::kernel_state::bind_kernel_thread(&self.procs())
    }

    /// Adds a processor or takes it away.
    pub fn set(&mut self, proc: usize, on: bool) {
        if let Some(word) = self.0.get_mut(proc / WORD_BITS) {
            let bit = 1 << (proc % WORD_BITS);
            if on { *word |= bit } else { *word &= !bit }
        }
    }

    /// Is this processor in the set?
    pub fn has(&self, proc: usize) -> bool {
        self.0.get(proc / WORD_BITS).is_some_and(|word| word >> (proc % WORD_BITS) & 1 == 1)
    }

    /// All of them, ascending.
    pub fn procs(&self) -> Vec<usize> {
        (0..LARGEST).filter(|&proc| self.has(proc)).collect()
    }
}

impl Default for Mask {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_added_and_taken_away() {
        let mut mask = Mask::new();
        mask.set(3, true);
        mask.set(70, true);
        mask.set(3, false);
        mask.set(LARGEST + 5, true);
        assert_eq!(mask.procs(), [70]);
    }

    #[test]
    fn a_thread_may_run_somewhere() {
        let mask = Mask::of_calling_thread().unwrap();
        assert!(!mask.procs().is_empty());
        mask.bind_calling_thread().unwrap();
    }
}
