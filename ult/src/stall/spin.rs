//! Tells a loop that waits from code that computes, by comparing samples of the interrupted registers.
//!
//! A loop that waits for a flag recomputes the same values: between two samples the stack pointer is the same, the
//! instruction pointer stays in one small window, and hardly any general register has changed. Code that computes
//! advances: pointers, counters and values move.
//!
//! What may not live here: signals and what to do about a spin.
#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::{leaf_caller, sample};

#[cfg(target_arch = "aarch64")]
pub(super) use aarch64::{leaf_caller, sample};

/// General registers in a sample, besides instruction and stack pointer.
const REGISTERS: usize = if cfg!(target_arch = "x86_64") { 15 } else { 31 };
/// Bytes of code that one waiting loop may span.
pub(super) const WINDOW: usize = 512;
/// Registers that may differ between two samples of one waiting loop: the loaded flag, a counter, a temporary.
const MAY_DIFFER: usize = 3;

/// The interrupted state.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    /// Instruction pointer.
    pub(super) ip: usize,
    /// Stack pointer.
    pub(super) sp: usize,
    registers: [usize; REGISTERS],
    /// The worker's `turns`: samples of different stretches of code are not compared.
    pub(super) turns: u32,
}

impl Sample {
    pub(super) const NONE: Sample = Sample { ip: 0, sp: 0, registers: [0; REGISTERS], turns: 0 };

    /// Are both samples from one loop that does not get on?
    pub(super) fn spins_like(&self, earlier: &Sample) -> bool {
        let differ = self.registers.iter().zip(&earlier.registers).filter(|(a, b)| a != b).count();
        self.turns == earlier.turns
            && self.sp == earlier.sp
            && self.ip.abs_diff(earlier.ip) < WINDOW
            && differ <= MAY_DIFFER
    }
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use super::{REGISTERS, Sample};
    use libc::{REG_RIP, REG_RSP, ucontext_t};

    /// The registers of the interrupted code.
    pub(in crate::stall) fn sample(context: &ucontext_t, turns: u32) -> Sample {
        let all = &context.uc_mcontext.gregs;
        let mut registers = [0; REGISTERS];
        // R8 to R15, RDI, RSI, RBP, RBX, RDX, RAX, RCX are the first fifteen.
        for (copy, &register) in registers.iter_mut().zip(all.iter()) {
            *copy = register as usize;
        }
        Sample { ip: all[REG_RIP as usize] as usize, sp: all[REG_RSP as usize] as usize, registers, turns }
    }

    /// Where a function without a frame, interrupted at `sample`, returns to.
    ///
    /// # Safety
    /// The sample's stack pointer is the one of code that is being executed.
    pub(in crate::stall) unsafe fn leaf_caller(sample: &Sample) -> usize {
        // SAFETY: the word at the stack pointer is mapped, whatever it means.
        unsafe { (sample.sp as *const usize).read() }
    }
}

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use super::Sample;
    use libc::ucontext_t;

    /// The registers of the interrupted code.
    pub(in crate::stall) fn sample(context: &ucontext_t, turns: u32) -> Sample {
        let all = &context.uc_mcontext;
        let registers = core::array::from_fn(|i| all.regs[i] as usize);
        Sample { ip: all.pc as usize, sp: all.sp as usize, registers, turns }
    }

    /// Where a function without a frame, interrupted at `sample`, returns to.
    ///
    /// # Safety
    /// None here: the link register is in the sample.
    pub(in crate::stall) unsafe fn leaf_caller(sample: &Sample) -> usize {
        sample.registers[30]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ip: usize, changed: usize) -> Sample {
        let mut s = Sample { ip, sp: 0x1000, registers: [7; REGISTERS], turns: 3 };
        s.registers[..changed].fill(8);
        s
    }

    #[test]
    fn same_loop_with_few_changes_spins() {
        assert!(at(0x400, 0).spins_like(&at(0x410, 3)));
        assert!(!at(0x400, 0).spins_like(&at(0x410, 4)));
        assert!(!at(0x400, 0).spins_like(&at(0x400 + WINDOW, 0)));
    }

    #[test]
    fn another_stretch_or_frame_does_not_count() {
        let later = Sample { turns: 4, ..at(0x400, 0) };
        assert!(!later.spins_like(&at(0x400, 0)));
        let deeper = Sample { sp: 0xf00, ..at(0x400, 0) };
        assert!(!deeper.spins_like(&at(0x400, 0)));
        assert!(!at(0x400, 0).spins_like(&Sample::NONE));
    }
}
