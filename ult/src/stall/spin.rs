//! Tells a loop that waits from code that computes, by comparing samples of the interrupted
//! registers.
//!
//! A loop that waits for a flag recomputes the same values. Between two samples its stack pointer
//! stays the same, its instruction pointer stays in a small window, and at most one register, a
//! counter, changes. Code that computes advances: pointers, counters and values move.
//!
//! The case in between is *suspect*: two or three general registers change. That may be a waiting
//! loop with a back-off, or an integer loop over an array. If a vector register changes, the code
//! computes.
//!
//! Two equal samples may only mean that the code has not run. Where signals come late, above all on
//! a virtual machine, the next signal can arrive before the interrupted code has executed an
//! instruction. Every loop then looks as if it waited. A loop that waits is seen at another
//! instruction sooner or later, though most samples of a loop around `pause` are equal. So equal
//! samples count only when there are [`EQUAL_SAMPLES`] in a row.
//!
//! *Loops with a call in them.* A call may change all registers that are not callee-saved. So a
//! sample taken in a function of the C library becomes a sample of the caller. It then holds the
//! caller's instruction and stack pointer, the callee-saved registers, and some words of the
//! caller's frame. Two such samples, or one of them and one of the program's own code, are compared
//! by these values alone. A call that has moved bytes counts as progress, even if everything else
//! is the same.
//!
//! What may not live here: signals, and the reaction to a spin.
//!
//! Tried and rejected:
//! * Counting general registers alone, with three that may differ. A loop over an array of floats
//!   changes one general register, its index.
//! * The time between samples as a proof that the code has run. The kernel or the hypervisor may
//!   have taken all of it: 80 us were seen between two signals with no instruction between them.
#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::{leaf_caller, sample, stack_pointer};

#[cfg(target_arch = "aarch64")]
pub(super) use aarch64::{leaf_caller, sample, stack_pointer};

/// Number of general registers in a sample, besides instruction and stack pointer. Given: by the
/// processor.
const REGISTERS: usize = if cfg!(target_arch = "x86_64") { 15 } else { 31 };
/// Bytes of code that one waiting loop may span. Chosen: larger than loops with a back-off, smaller
/// than most functions; any value from 256 to 1024 will do.
pub(super) const LOOP_BYTES: usize = 512;
/// Number of general registers that may differ between two samples of a waiting loop. Derived: one
/// counter.
const REGISTERS_OF_WAIT: usize = 1;
/// Number of general registers that may differ between two samples of a loop that perhaps waits.
/// Derived: a counter, a loaded value and a temporary.
const REGISTERS_OF_SUSPECT: usize = 3;
/// Number of equal samples in a row, after the first, from which on the code is taken to have run
/// in between. Derived: on a virtual machine a third of the samples of a counting loop equalled the
/// one before (`docs/protocols/stall.md`), so that five in a row are rare.
const EQUAL_SAMPLES: u32 = 5;

/// The result of comparing two samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Motion {
    /// Nothing is known: the samples are from different stretches of code.
    Unknown,
    /// The code stands still: it waits, or has not run.
    Still,
    /// The code makes no progress.
    Spins,
    /// The code may be waiting or computing.
    Suspect,
    /// The code makes progress.
    Computes,
}

/// The interrupted state of a worker.
#[derive(Clone, Copy)]
pub(super) struct StallSample {
    /// Instruction pointer.
    pub(super) ip: usize,
    /// Stack pointer.
    pub(super) sp: usize,
    registers: [usize; REGISTERS],
    /// All vector registers, folded into a word.
    vectors: u64,
    /// The worker's `switch_count`: samples of different stretches of code are not compared.
    pub(super) switch_count: u32,
    /// Number of earlier samples, in a row, that were equal to this one.
    equals: u32,
    /// The interrupted address, if the sample was taken in a call; zero if in the code itself.
    inside: usize,
    /// The call has moved bytes.
    gets_on: bool,
    /// Values that the code keeps across calls: callee-saved registers, and words of its frame.
    kept: [usize; KEPT + FRAME_WORDS],
}

/// Number of registers that calls keep. Given: by the ABI.
pub(super) const KEPT: usize = 6;
/// Number of words of a frame that are compared. Chosen: room for the variables of a small loop;
/// any value from 16 to 32 will do.
pub(super) const FRAME_WORDS: usize = 24;

impl StallSample {
    pub(super) const NONE: StallSample = StallSample {
        ip: 0,
        sp: 0,
        registers: [0; REGISTERS],
        vectors: 0,
        switch_count: 0,
        equals: 0,
        inside: 0,
        gets_on: false,
        kept: [0; KEPT + FRAME_WORDS],
    };

    /// Makes this a sample of the calling code at `ip` with `sp`, which has called the interrupted
    /// code. `gets_on`: the call has moved bytes.
    pub(super) fn is_of_caller(&mut self, ip: usize, sp: usize, gets_on: bool) {
        (self.inside, self.ip, self.sp, self.gets_on) = (self.ip, ip, sp, gets_on);
    }

    /// Stores the values that the code keeps across calls: callee-saved registers, and words of its
    /// frame.
    pub(super) fn keeps(&mut self, registers: &[usize; KEPT], frame: &[usize; FRAME_WORDS]) {
        self.kept[..KEPT].copy_from_slice(registers);
        self.kept[KEPT..].copy_from_slice(frame);
    }

    /// Was the sample taken in a call?
    pub(super) fn is_in_call(&self) -> bool {
        self.inside != 0
    }

    /// Replaces `last` by this sample and returns the replaced one.
    pub(super) fn succeed(&mut self, last: &mut StallSample) -> StallSample {
        self.equals = if self.is_equal(last) { last.equals.saturating_add(1) } else { 0 };
        core::mem::replace(last, *self)
    }

    fn is_equal(&self, other: &StallSample) -> bool {
        (self.ip, self.sp, self.vectors, self.switch_count, self.inside)
            == (other.ip, other.sp, other.vectors, other.switch_count, other.inside)
            && self.registers == other.registers
    }

    /// The motion between `earlier`, which this sample has replaced, and this sample.
    pub(super) fn since(&self, earlier: &StallSample) -> Motion {
        if earlier.ip == 0 || self.switch_count != earlier.switch_count {
            return Motion::Unknown;
        }
        if (1..EQUAL_SAMPLES).contains(&self.equals) {
            return Motion::Still;
        }
        let near = self.sp == earlier.sp && self.ip.abs_diff(earlier.ip) < LOOP_BYTES;
        let around_call = self.is_in_call() || earlier.is_in_call();
        if !near || self.gets_on || !around_call && self.vectors != earlier.vectors {
            return Motion::Computes;
        }
        let differ = |one: &[usize], other: &[usize]| one.iter().zip(other).filter(|(a, b)| a != b).count();
        let changed = if around_call {
            differ(&self.kept, &earlier.kept)
        } else {
            differ(&self.registers, &earlier.registers)
        };
        match changed {
            0..=REGISTERS_OF_WAIT => Motion::Spins,
            changed if changed <= REGISTERS_OF_SUSPECT => Motion::Suspect,
            _ => Motion::Computes,
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use crate::stall::spin::{REGISTERS, StallSample};
    use libc::{REG_RIP, REG_RSP, ucontext_t};

    /// The registers of the interrupted code.
    pub(crate) fn sample(context: &ucontext_t, switch_count: u32) -> StallSample {
        let all = &context.uc_mcontext.gregs;
        let mut registers = [0; REGISTERS];
        // R8 to R15, RDI, RSI, RBP, RBX, RDX, RAX, RCX are the first fifteen.
        for (copy, &register) in registers.iter_mut().zip(all.iter()) {
            *copy = register as usize;
        }
        let vectors = fold(context);
        StallSample {
            ip: all[REG_RIP as usize] as usize,
            sp: all[REG_RSP as usize] as usize,
            registers,
            vectors,
            switch_count,
            ..StallSample::NONE
        }
    }

    /// The stack pointer of the interrupted code.
    pub(crate) fn stack_pointer(context: &ucontext_t) -> usize {
        context.uc_mcontext.gregs[REG_RSP as usize] as usize
    }

    /// Folds the low halves of the vector registers into a word; wider instructions change the low
    /// halves too.
    fn fold(context: &ucontext_t) -> u64 {
        // SAFETY: the pointer is null, or points to the kernel's copy of the interrupted state,
        // which lives as long as the context.
        let Some(state) = (unsafe { context.uc_mcontext.fpregs.as_ref() }) else { return 0 };
        let words = state._xmm.iter().flat_map(|register| register.element);
        words.fold(0, |folded: u64, word| {
            (folded ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        })
    }

    /// The return address of a function without a frame that was interrupted at `sample`.
    ///
    /// # Safety
    /// The sample's stack pointer belongs to code that is being executed.
    pub(crate) unsafe fn leaf_caller(sample: &StallSample) -> usize {
        // SAFETY: the word at the stack pointer is mapped, whatever it means.
        unsafe { (sample.sp as *const usize).read() }
    }
}

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use crate::stall::spin::StallSample;
    use libc::ucontext_t;

    /// The registers of the interrupted code. The vector registers are not read, so that loops over
    /// arrays of floats are suspect here.
    pub(crate) fn sample(context: &ucontext_t, switch_count: u32) -> StallSample {
        let all = &context.uc_mcontext;
        let registers = core::array::from_fn(|i| all.regs[i] as usize);
        StallSample { ip: all.pc as usize, sp: all.sp as usize, registers, switch_count, ..StallSample::NONE }
    }

    /// The stack pointer of the interrupted code.
    pub(crate) fn stack_pointer(context: &ucontext_t) -> usize {
        context.uc_mcontext.sp as usize
    }

    /// The return address of a function without a frame that was interrupted at `sample`.
    ///
    /// # Safety
    /// There is no condition here: the link register is in the sample.
    pub(crate) unsafe fn leaf_caller(sample: &StallSample) -> usize {
        sample.registers[30]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ip: usize, changed: usize) -> StallSample {
        let mut s = StallSample {
            ip,
            sp: 0x1000,
            registers: [7; REGISTERS],
            vectors: 5,
            switch_count: 3,
            ..StallSample::NONE
        };
        s.registers[..changed].fill(8);
        s
    }

    #[test]
    fn few_changes_in_one_place_are_a_spin() {
        assert_eq!(at(0x400, 0).since(&at(0x410, 0)), Motion::Spins);
        assert_eq!(at(0x400, 0).since(&at(0x410, REGISTERS_OF_WAIT)), Motion::Spins);
        assert_eq!(at(0x400, 0).since(&at(0x410, REGISTERS_OF_WAIT + 1)), Motion::Suspect);
        assert_eq!(at(0x400, 0).since(&at(0x410, REGISTERS_OF_SUSPECT + 1)), Motion::Computes);
        assert_eq!(at(0x400, 0).since(&at(0x400 + LOOP_BYTES, 0)), Motion::Computes);
    }

    #[test]
    fn vectors_and_frames_that_change_are_work() {
        let other = StallSample { vectors: 6, ..at(0x400, 0) };
        assert_eq!(other.since(&at(0x400, 0)), Motion::Computes);
        let deeper = StallSample { sp: 0xf00, ..at(0x400, 0) };
        assert_eq!(deeper.since(&at(0x400, 0)), Motion::Computes);
    }

    /// A sample that was taken in a call from `ip`; `changed` of its compared words differ from
    /// those of other samples.
    fn in_call(ip: usize, changed: usize) -> StallSample {
        let mut s = at(0x9000 + changed, REGISTERS);
        s.is_of_caller(ip, 0x1000, false);
        s.kept[..changed].fill(9);
        s
    }

    #[test]
    fn around_a_call_only_what_calls_keep_is_compared() {
        assert_eq!(in_call(0x400, REGISTERS_OF_WAIT).since(&in_call(0x404, 0)), Motion::Spins);
        assert_eq!(in_call(0x400, REGISTERS_OF_SUSPECT).since(&in_call(0x404, 0)), Motion::Suspect);
        assert_eq!(in_call(0x400, REGISTERS_OF_SUSPECT + 1).since(&in_call(0x404, 0)), Motion::Computes);
        assert_eq!(at(0x410, 5).since(&in_call(0x404, 0)), Motion::Spins);
        assert_eq!(in_call(0x400 + LOOP_BYTES, 0).since(&in_call(0x400, 0)), Motion::Computes);
        let moved = StallSample { gets_on: true, ..in_call(0x400, 0) };
        assert_eq!(moved.since(&in_call(0x400, 0)), Motion::Computes);
    }

    #[test]
    fn another_stretch_says_nothing() {
        let later = StallSample { switch_count: 4, ..at(0x400, 0) };
        assert_eq!(later.since(&at(0x400, 0)), Motion::Unknown);
        assert_eq!(at(0x400, 0).since(&StallSample::NONE), Motion::Unknown);
    }

    #[test]
    fn equal_samples_count_when_there_are_several() {
        let mut last = at(0x400, 0);
        let motions = [0; EQUAL_SAMPLES as usize + 1].map(|_| {
            let mut now = at(0x400, 0);
            let before = now.succeed(&mut last);
            now.since(&before)
        });
        assert!(
            motions[..EQUAL_SAMPLES as usize - 1].iter().all(|&m| m == Motion::Still)
                && motions[EQUAL_SAMPLES as usize - 1..].iter().all(|&m| m == Motion::Spins)
        );
        let mut next = at(0x404, 0);
        assert_eq!(next.succeed(&mut last).equals, EQUAL_SAMPLES + 1);
        assert_eq!(next.equals, 0);
    }
}
