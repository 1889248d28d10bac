//! The stack pool: sizes, reuse, trimming, the high-water mark, the child of a fork.
use std::sync::{Mutex, MutexGuard};
use ult::stack::{self, GUARD, KEEP_TOUCHED, MIN_SIZE, POOLED_MAX, Stack};

/// The pool is one per process, so its tests take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Resident bytes between two addresses.
fn resident(stack: &Stack) -> usize {
    let mut pages = vec![0_u8; stack.size().div_ceil(4096)];
    // SAFETY: the range is mapped, the vector has a byte per page.
    let answer = unsafe { libc::mincore(stack.bottom().cast(), stack.size(), pages.as_mut_ptr()) };
    assert_eq!(answer, 0);
    pages.iter().filter(|&&page| page & 1 == 1).count() * 4096
}

/// Writes one byte per page over the topmost `bytes`.
fn touch(stack: &Stack, bytes: usize) {
    for offset in (1..=bytes / 64).map(|line| line * 64) {
        // SAFETY: inside the stack, on which no thread runs.
        unsafe { stack.top().sub(offset).write(1) };
    }
}

#[test]
fn sizes_are_rounded_up() {
    let _turn = turn();
    for asked in [0, MIN_SIZE, MIN_SIZE + 1, 8 << 20] {
        let stack = stack::take(asked).unwrap();
        assert!(stack.size() >= asked.max(MIN_SIZE) && stack.size() < asked.max(MIN_SIZE) + 4096 + 64);
        assert_eq!(stack.top() as usize - stack.bottom() as usize, stack.size());
        assert_eq!(stack.top() as usize % 64, 0);
        touch(&stack, stack.size() & !63);
    }
    assert!(stack::take(usize::MAX).is_err());
    assert!(stack::take(usize::MAX / 2 - GUARD).is_err());
}

#[test]
fn a_given_stack_is_taken_again_by_size() {
    let _turn = turn();
    let (small, large) = (stack::take(3 << 20).unwrap(), stack::take(5 << 20).unwrap());
    let tops = (small.top(), large.top());
    stack::give(small);
    stack::give(large);
    let (small, large) = (stack::take(3 << 20).unwrap(), stack::take(5 << 20).unwrap());
    assert_eq!((small.top(), large.top()), tops);
}

#[test]
fn deep_use_is_given_back() {
    let _turn = turn();
    let stack = stack::take(7 << 20).unwrap();
    touch(&stack, 6 << 20);
    assert!(resident(&stack) >= 6 << 20);
    let top = stack.top();
    stack::give(stack);
    let stack = stack::take(7 << 20).unwrap();
    assert_eq!(stack.top(), top);
    assert!(resident(&stack) <= KEEP_TOUCHED + 4096, "{} bytes kept", resident(&stack));
}

#[test]
fn above_the_high_water_mark_stacks_are_unmapped() {
    let _turn = turn();
    let count = POOLED_MAX + 50;
    let stacks: Vec<_> = (0..count).map(|_| stack::take(11 * MIN_SIZE).unwrap()).collect();
    let mut bottoms: Vec<_> = stacks.iter().map(|stack| stack.bottom() as usize).collect();
    stacks.into_iter().for_each(stack::give);
    bottoms.retain(|&bottom| {
        let mut page = 0_u8;
        // SAFETY: only asks whether the address is mapped.
        unsafe { libc::mincore(bottom as *mut _, 4096, &raw mut page) == 0 }
    });
    assert!(bottoms.len() <= POOLED_MAX, "{} still mapped", bottoms.len());
    assert!(bottoms.len() >= POOLED_MAX - 50, "only {} pooled", bottoms.len());
    // Leave an empty pool to the other tests.
    (0..bottoms.len()).for_each(|_| drop(stack::take(11 * MIN_SIZE).unwrap()));
}

#[test]
fn threads_take_and_give_at_the_same_time() {
    let _turn = turn();
    std::thread::scope(|scope| {
        for thread in 0..8_u8 {
            scope.spawn(move || {
                for round in 0..2000 {
                    let stack = stack::take(MIN_SIZE).unwrap();
                    let mark = stack.top().wrapping_sub(200);
                    // SAFETY: this thread's own stack; a second owner would disturb the byte.
                    unsafe {
                        mark.write_volatile(thread);
                        if round % 16 == 0 {
                            std::thread::yield_now();
                        }
                        assert_eq!(mark.read_volatile(), thread);
                    }
                    stack::give(stack);
                }
            });
        }
    });
}

/// More stacks than `vm.max_map_count` allows with two areas each, where the kernel has light
/// guards.
#[test]
fn tens_of_thousands_of_stacks() {
    let _turn = turn();
    let mut stacks = Vec::new();
    for _ in 0..20_000 {
        match stack::take(MIN_SIZE) {
            Ok(stack) => stacks.push(stack),
            Err(error) => {
                eprintln!("the kernel stopped at {} stacks: {error}", stacks.len());
                break;
            }
        }
    }
    assert!(stacks.len() > 10_000);
    touch(stacks.last().unwrap(), MIN_SIZE);
}

#[test]
fn a_forked_child_starts_with_an_empty_pool() {
    let _turn = turn();
    let stack = stack::take(13 * MIN_SIZE).unwrap();
    let top = stack.top();
    stack::give(stack);
    // SAFETY: the child calls nothing but what is being tested, and `_exit`.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            stack::reset_after_fork();
            let stack = stack::take(13 * MIN_SIZE);
            let fresh = stack.as_ref().is_ok_and(|stack| stack.top() != top);
            let Ok(stack) = stack else { libc::_exit(1) };
            touch(&stack, MIN_SIZE);
            let mine = stack.top();
            stack::give(stack);
            let again = stack::take(13 * MIN_SIZE).is_ok_and(|stack| stack.top() == mine);
            libc::_exit(if fresh && again { 0 } else { 2 });
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
        assert_eq!(status, 0);
    }
    assert_eq!(stack::take(13 * MIN_SIZE).unwrap().top(), top, "the parent keeps its pool");
}
