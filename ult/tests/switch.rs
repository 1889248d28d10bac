//! The switch alone: ping-pong, arguments, alignment, floating-point words, another kernel thread.
use std::arch::asm;
use ult::stack;
use ult::sys::arch::{
    FpWords, fp_state, load_fp_words, pause, prepare, set_fp_state, store_fp_words, thread_block,
};

mod common;
use common::{Pair, pair};

unsafe extern "C" fn add_one(arg: usize) -> ! {
    let pair = pair(arg);
    let mut value = 0;
    loop {
        value = pair.to_main(value + 1);
    }
}

#[test]
fn arguments_travel_both_ways() {
    let (pair, stack) = (Pair::new(), stack::take(0).unwrap());
    pair.start(&stack, add_one);
    assert_eq!(pair.to_other(&raw const pair as usize), 1);
    for i in 0..1000 {
        assert_eq!(pair.to_other(i), i + 1);
    }
    stack::give(stack);
}

unsafe extern "C" fn check_alignment(arg: usize) -> ! {
    #[repr(align(16))]
    struct Aligned(#[expect(dead_code, reason = "only its address matters")] [u8; 16]);
    let local = Aligned([0; 16]);
    let mut sp: usize;
    // SAFETY: reads a register.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!("mov {}, rsp", out(reg) sp);
        #[cfg(target_arch = "aarch64")]
        asm!("mov {}, sp", out(reg) sp);
    }
    let misaligned = (&raw const local as usize) % 16;
    pair(arg).to_main(sp % 16 + misaligned);
    unreachable!()
}

#[test]
fn the_first_frame_is_aligned() {
    for offset in [0, 8, 13] {
        let (pair, stack) = (Pair::new(), stack::take(0).unwrap());
        // SAFETY: a fresh stack, a few bytes below its top.
        pair.other.set(unsafe { prepare(stack.top().sub(offset), check_alignment) });
        assert_eq!(pair.to_other(&raw const pair as usize), 0);
    }
}

/// Flush to zero (and denormals are zero, on x86_64), as `-Ofast` programs set it.
#[cfg(target_arch = "x86_64")]
fn set_flush_to_zero() {
    let mut word = 0_u32;
    // SAFETY: changes control bits that this test puts back.
    unsafe {
        asm!("stmxcsr [{}]", in(reg) &raw mut word);
        word |= 0x8040;
        asm!("ldmxcsr [{}]", in(reg) &raw const word);
    }
}

#[cfg(target_arch = "aarch64")]
fn set_flush_to_zero() {
    // SAFETY: changes a control bit that this test puts back.
    unsafe { asm!("mrs {0}, fpcr", "orr {0}, {0}, #0x1000000", "msr fpcr, {0}", out(reg) _) };
}

/// Sets the first argument's words, and passes on whether they differ from those in force before.
unsafe extern "C" fn set_words(arg: usize) -> ! {
    let pair = pair(arg);
    let before = fp_state();
    // SAFETY: the words that Rust expects.
    unsafe { set_fp_state(pair.words.get()) };
    pair.to_main(usize::from(before != pair.words.get()));
    unreachable!()
}

#[test]
fn control_words_stay_as_they_are_at_a_switch() {
    let plain = fp_state();
    let (pair, stack) = (Pair::new(), stack::take(0).unwrap());
    pair.start(&stack, set_words);
    set_flush_to_zero();
    if fp_state() == plain {
        return common::skip("this processor has no flush-to-zero mode (valgrind's has none)");
    }
    assert_eq!(pair.to_other(&raw const pair as usize), 1, "the other side runs with ours");
    assert_eq!(fp_state(), plain, "and we go on with its");
}

/// Rounds x87 arithmetic down, of which there is none here.
#[cfg(target_arch = "x86_64")]
fn round_x87_down() {
    let mut word = 0_u16;
    // SAFETY: changes control bits that the test puts back.
    unsafe {
        asm!("fnstcw [{}]", in(reg) &raw mut word);
        word = word & !0xc00 | 0x400;
        asm!("fldcw [{}]", in(reg) &raw const word);
    }
}

#[cfg(target_arch = "aarch64")]
fn round_x87_down() {}

#[test]
fn words_that_were_stored_are_loaded_again() {
    let plain = fp_state();
    set_flush_to_zero();
    round_x87_down();
    let (changed, mut words) = (fp_state(), FpWords::INITIAL);
    // SAFETY: two locals; then the words that Rust expects.
    unsafe {
        store_fp_words(&raw mut words);
        load_fp_words(&FpWords::INITIAL);
        assert_eq!(fp_state(), plain, "a kernel thread starts with the initial ones");
        load_fp_words(&words);
        assert_eq!(fp_state(), changed);
        set_fp_state(plain);
    }
}

unsafe extern "C" fn notify_block(arg: usize) -> ! {
    let pair = pair(arg);
    loop {
        pair.seen.set(thread_block() as usize);
        pair.to_main(0);
    }
}

#[test]
fn a_stack_resumes_on_another_kernel_thread() {
    struct Carry(Pair);
    // SAFETY: the test hands the pair from one thread to the other and waits.
    unsafe impl Send for Carry {}
    let (carry, stack) = (Box::new(Carry(Pair::new())), stack::take(0).unwrap());
    carry.0.start(&stack, notify_block);
    carry.0.to_other(&raw const carry.0 as usize);
    assert_eq!(carry.0.seen.get(), thread_block() as usize);
    std::thread::spawn(move || {
        let carry = carry;
        for _ in 0..100 {
            carry.0.to_other(0);
            assert_eq!(carry.0.seen.get(), thread_block() as usize, "the block of the thread it left");
        }
    })
    .join()
    .unwrap();
    stack::give(stack);
}

#[test]
fn a_thread_starts_with_a_zero_block_of_its_own() {
    let here = thread_block();
    // SAFETY: this thread's own block.
    unsafe { (*here).words[0].set(7) };
    let there = std::thread::spawn(|| {
        let block = thread_block();
        // SAFETY: this thread's own block.
        assert!(unsafe { (*block).words.iter().all(|word| word.get() == 0) });
        block as usize
    })
    .join()
    .unwrap();
    assert_ne!(here as usize, there);
    assert_eq!(here as usize % 64, 0);
    // SAFETY: this thread's own block.
    unsafe { (*here).words[0].set(0) };
    pause();
}
