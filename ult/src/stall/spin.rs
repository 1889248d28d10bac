//! Tells a loop that waits from code that computes, by comparing samples of the interrupted
//! registers.
//!
//! A loop that waits for a flag recomputes the same values: between two samples the stack pointer
//! is the same, the instruction pointer stays in one small window, and no register has changed but
//! perhaps a counter. Code that computes advances: pointers, counters and values move. In between
//! is doubt: two or three general registers that change may be a waiting loop with a back-off, or
//! an integer loop over an array. Vector registers that change are no doubt.
//!
//! Two equal samples may mean as little as that the code has not run: where signals come late, on a
//! virtual machine above all, the next one is there before the interrupted code has executed an
//! instruction, and every loop looks as if it waited. A loop that waits is seen at another
//! instruction sooner or later; so equal samples count only when there are [`EQUAL_SAMPLES`] in a
//! row (most samples of a loop around `pause` are equal).
//!
//! *Loops with a call in them.* A call changes every register that calls may change. So a sample
//! that was taken in a function of the C library is one of the code that called it: its instruction
//! and stack pointer, the registers that calls keep, and some words of its frame. Two such samples,
//! or one of them and one of the program's own code, are compared by those alone. A call that has
//! moved bytes gets on, whatever else is the same.
//!
//! What may not live here: signals and what to do about a spin.
//!
//! Tried and rejected: counting general registers alone, with three that may differ. A loop over an
//! array of floats changes one general register, its index. The time between samples, as a proof
//! that the code has run: the kernel, or who runs the virtual machine, may have taken all of it (80
//! us were seen between two signals with no instruction between them).
#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::{leaf_caller, sample, stack_pointer};

#[cfg(target_arch = "aarch64")]
pub(super) use aarch64::{leaf_caller, sample, stack_pointer};

/// General registers in a sample, besides instruction and stack pointer.
const REGISTERS: usize = if cfg!(target_arch = "x86_64") { 15 } else { 31 };
/// Bytes of code that one waiting loop may span.
pub(super) const LOOP_BYTES: usize = 512;
/// General registers that may differ between two samples of a waiting loop: a counter.
const REGISTERS_OF_WAIT: usize = 1;
/// General registers that may differ in a loop that perhaps waits: also a loaded value and a
/// temporary.
const REGISTERS_OF_SUSPECT: usize = 3;
/// Equal samples in a row, after the first, from which on the code is taken to have run in between.
const EQUAL_SAMPLES: u32 = 5;

/// What two samples tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Motion {
    /// Nothing: they are from different stretches of code.
    Unknown,
    /// The code stands still: it waits, or has not run.
    Still,
    /// The code does not get on.
    Spins,
    /// It may be waiting or computing.
    Suspect,
    /// The code gets on.
    Computes,
}

/// The interrupted state.
#[derive(Clone, Copy)]
pub(super) struct StallSample {
    /// Instruction pointer.
    pub(super) ip: usize,
    /// Stack pointer.
    pub(super) sp: usize,
    registers: [usize; REGISTERS],
    /// All vector registers folded into a word.
    vectors: u64,
    /// The worker's `switch_count`: samples of different stretches of code are not compared.
    pub(super) switch_count: u32,
    /// How many before it, in a row, were equal to it.
    equals: u32,
    /// Taken in a call: where. Zero: in the code itself.
    inside: usize,
    /// The call has done something.
    gets_on: bool,
    /// What the code keeps across calls: registers, and words of its frame.
    kept: [usize; KEPT + FRAME_WORDS],
}

/// Registers that calls keep.
pub(super) const KEPT: usize = 6;
/// Words of a frame that are looked at.
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

    /// The sample is one of the code at `ip` with `sp`, which has called what was interrupted.
    /// `gets_on`: the call has done something.
    pub(super) fn is_of_caller(&mut self, (ip, sp): (usize, usize), gets_on: bool) {
        (self.inside, self.ip, self.sp, self.gets_on) = (self.ip, ip, sp, gets_on);
    }

    /// What the code keeps across calls: registers, and words of its frame.
    pub(super) fn keeps(&mut self, registers: &[usize; KEPT], frame: &[usize; FRAME_WORDS]) {
        self.kept[..KEPT].copy_from_slice(registers);
        self.kept[KEPT..].copy_from_slice(frame);
    }

    /// Was it taken in a call?
    pub(super) fn is_in_call(&self) -> bool {
        self.inside != 0
    }

    /// Puts this sample in the place of `last`, which is returned.
    pub(super) fn succeed(&mut self, last: &mut StallSample) -> StallSample {
        self.equals = if self.is_equal(last) { last.equals.saturating_add(1) } else { 0 };
        core::mem::replace(last, *self)
    }

    fn is_equal(&self, other: &StallSample) -> bool {
        (self.ip, self.sp, self.vectors, self.switch_count, self.inside)
            == (other.ip, other.sp, other.vectors, other.switch_count, other.inside)
            && self.registers == other.registers
    }

    /// What happened between `earlier`, which this sample has succeeded, and this sample.
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
    use super::{REGISTERS, StallSample};
    use libc::{REG_RIP, REG_RSP, ucontext_t};

    /// The registers of the interrupted code.
    pub(in crate::stall) fn sample(context: &ucontext_t, switch_count: u32) -> StallSample {
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
    pub(in crate::stall) fn stack_pointer(context: &ucontext_t) -> usize {
        context.uc_mcontext.gregs[REG_RSP as usize] as usize
    }

    /// The low halves of the vector registers: wider instructions change them too.
    fn fold(context: &ucontext_t) -> u64 {
        // SAFETY: null, or the kernel's copy of the interrupted state, which lives as long as the
        // context.
        let Some(state) = (unsafe { context.uc_mcontext.fpregs.as_ref() }) else { return 0 };
        let words = state._xmm.iter().flat_map(|register| register.element);
        words.fold(0, |folded: u64, word| {
            (folded ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
        })
    }

    /// Where a function without a frame, interrupted at `sample`, returns to.
    ///
    /// # Safety
    /// The sample's stack pointer is the one of code that is being executed.
    pub(in crate::stall) unsafe fn leaf_caller(sample: &StallSample) -> usize {
        // SAFETY: the word at the stack pointer is mapped, whatever it means.
        unsafe { (sample.sp as *const usize).read() }
    }
}

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use super::Sample;
    use libc::ucontext_t;

    /// The registers of the interrupted code; the vector registers are not looked at, so that loops
    /// over arrays of floats are in doubt here.
    pub(in crate::stall) fn sample(context: &ucontext_t, switch_count: u32) -> StallSample {
        let all = &context.uc_mcontext;
        let registers = core::array::from_fn(|i| all.regs[i] as usize);
        StallSample { ip: all.pc as usize, sp: all.sp as usize, registers, switch_count, ..StallSample::NONE }
    }

    /// The stack pointer of the interrupted code.
    pub(in crate::stall) fn stack_pointer(context: &ucontext_t) -> usize {
        context.uc_mcontext.sp as usize
    }

    /// Where a function without a frame, interrupted at `sample`, returns to.
    ///
    /// # Safety
    /// None here: the link register is in the sample.
    pub(in crate::stall) unsafe fn leaf_caller(sample: &StallSample) -> usize {
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

    /// Taken in a call from `ip`, with so many words changed since then.
    fn in_call(ip: usize, changed: usize) -> StallSample {
        let mut s = at(0x9000 + changed, REGISTERS);
        s.is_of_caller((ip, 0x1000), false);
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
