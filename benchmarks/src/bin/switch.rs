//! The context switch of `ult` beside the crates `context` and `corosensei`, interleaved in one
//! run.
//!
//! Three questions: what does it cost to go from one user-level thread directly to another, to
//! continue one on another kernel thread, and to create, run and finish one on a pooled stack. All
//! candidates use the stack pool of `ult`, so that only switching and creating differ. corosensei
//! has no direct switch between two coroutines. So its first figure is a suspension to the common
//! parent and a resumption from there.
//!
//! `cargo run --release -p benchmarks --bin switch [rounds]`; the numbers of one machine are in
//! `docs/dependencies.md`.
use std::arch::naked_asm;
use std::cell::Cell;
use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use ult::stack::{self, Stack};

const STACK: usize = 64 << 10;
const ITERATIONS: usize = 4000;

/// One candidate's answer to one question: does `n` of it, says how long all took.
type Run = fn(usize) -> Duration;
const QUESTIONS: [(&str, &[(&str, Run)]); 4] = [
    (
        "from one user-level thread to another",
        &[
            ("ult", own::ping_pong::<{ own::FULL }>),
            ("ult, FP words compared first", own::ping_pong::<{ own::COMPARED }>),
            ("ult, without FP words", own::ping_pong::<{ own::BARE }>),
            ("context", by_context::ping_pong),
            ("corosensei, by its parent", by_corosensei::ping_pong),
        ],
    ),
    (
        "continue on another kernel thread, there and back",
        &[
            ("the hand-over alone", |n| hand_over(n, &mut || {})),
            ("ult", own::migrate),
            ("context", by_context::migrate),
            ("corosensei", by_corosensei::migrate),
        ],
    ),
    (
        "create, run, finish on a pooled stack",
        &[
            ("take and give alone", |n| timed(n, || stack::give(black_box(new_stack())))),
            ("ult", own::create),
            ("context", by_context::create),
            ("corosensei", by_corosensei::create),
        ],
    ),
    (
        "what a scheduler adds, with libstdc++ loaded",
        &[
            ("save and restore the exception state", exception_state),
            ("look for new copies of the C++ runtime", |n| timed(n, ult::exceptions::refresh)),
        ],
    ),
];

fn main() {
    let rounds = std::env::args().nth(1).map_or(101, |rounds| rounds.parse().expect("a number of rounds"));
    println!("{}, {rounds} interleaved rounds of {ITERATIONS}, nanoseconds each", processor());
    for (question, candidates) in QUESTIONS {
        println!("\n{question:<52} {:>8} {:>8}", "min", "median");
        let mut times: Vec<Vec<f64>> = vec![Vec::new(); candidates.len()];
        for _ in 0..rounds {
            for ((_, run), times) in candidates.iter().zip(&mut times) {
                times.push(run(ITERATIONS).as_secs_f64() * 1e9 / ITERATIONS as f64);
            }
        }
        for ((name, _), times) in candidates.iter().zip(&mut times) {
            times.sort_by(f64::total_cmp);
            println!("  {name:<50} {:>8.1} {:>8.1}", times[0], times[times.len() / 2]);
        }
    }
}

fn exception_state(n: usize) -> Duration {
    // SAFETY: loads a library that this program does not otherwise need, once.
    unsafe { libc::dlopen(c"libstdc++.so.6".as_ptr(), libc::RTLD_NOW) };
    ult::exceptions::refresh();
    let mut saved = ult::exceptions::Saved::default();
    // SAFETY: this thread handles no exception.
    timed(n, || unsafe {
        ult::exceptions::save_and_clear(&mut saved);
        ult::exceptions::restore(black_box(&saved));
    })
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        text.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown processor");
    model.trim_start_matches([' ', '\t', ':']).to_owned()
}

fn timed(n: usize, mut each: impl FnMut()) -> Duration {
    let start = Instant::now();
    (0..n).for_each(|_| each());
    start.elapsed()
}

fn new_stack() -> Stack {
    stack::take(STACK).expect("a stack")
}

/// Two kernel threads on different processors take turns at calling `step`, `n` times together.
fn hand_over(n: usize, step: &mut dyn FnMut()) -> Duration {
    struct SwitchShared<'a>(*mut (dyn FnMut() + 'a));
    // SAFETY: only the thread whose turn it is calls the function.
    unsafe impl Sync for SwitchShared<'_> {}
    let (shared, turn) = (SwitchShared(step), AtomicUsize::new(usize::MAX));
    let play = |parity: usize| {
        let shared = &shared;
        pin(parity);
        for mine in (parity..n).step_by(2) {
            // ORDERING: Acquire pairs with the other thread's Release below.
            while turn.load(Ordering::Acquire) != mine {
                ult::sys::arch::pause();
            }
            // SAFETY: it is our turn.
            unsafe { (*shared.0)() };
            // ORDERING: Release hands what the step left behind to the other thread.
            turn.store(mine + 1, Ordering::Release);
        }
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| play(1));
        let first = scope.spawn(|| play(0));
        std::thread::sleep(Duration::from_micros(200)); // both are waiting by now
        let start = Instant::now();
        // ORDERING: Release pairs with the first Acquire in `play`.
        turn.store(0, Ordering::Release);
        first.join().expect("no panic");
        other.join().expect("no panic");
        start.elapsed()
    })
}

fn pin(index: usize) {
    // SAFETY: affects only this thread; without a second processor it stays where it is.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(index, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &raw const set);
    }
}

mod own {
    use super::*;
    use ult::sys::arch::{prepare, switch};

    pub const FULL: u8 = 0;
    pub const COMPARED: u8 = 1;
    pub const BARE: u8 = 2;

    /// Where both sides continue, and where `main` does.
    struct Sides {
        main: Cell<*mut u8>,
        first: Cell<*mut u8>,
        second: Cell<*mut u8>,
        count: Cell<usize>,
    }

    impl Sides {
        fn new() -> Sides {
            let null = || Cell::new(ptr::null_mut());
            Sides { main: null(), first: null(), second: null(), count: Cell::new(0) }
        }
    }

    fn sides(arg: usize) -> &'static Sides {
        // SAFETY: every caller passes the address of a local that waits.
        unsafe { &*(arg as *const Sides) }
    }

    /// The kind of switch under test; all have the frame of `ult`'s.
    #[inline(always)]
    unsafe fn go<const KIND: u8>(save: *mut *mut u8, to: *mut u8, arg: usize) -> usize {
        // SAFETY: passed on.
        unsafe {
            match KIND {
                FULL => switch(save, to, arg),
                COMPARED => compared(save, to, arg),
                _ => bare(save, to, arg),
            }
        }
    }

    /// Loads the floating-point words only where they differ from those just stored.
    #[cfg(target_arch = "x86_64")]
    #[unsafe(naked)]
    unsafe extern "C" fn compared(save: *mut *mut u8, to: *mut u8, arg: usize) -> usize {
        naked_asm!(
            "push rbp",
            "push rbx",
            "push r12",
            "push r13",
            "push r14",
            "push r15",
            "sub rsp, 8",
            "stmxcsr [rsp]",
            "fnstcw [rsp + 4]",
            "mov r8d, [rsp]",
            "movzx r9d, word ptr [rsp + 4]",
            "mov [rdi], rsp",
            "mov rsp, rsi",
            "mov rax, rdx",
            "cmp r8d, [rsp]",
            "jne 2f",
            "3:",
            "cmp r9w, [rsp + 4]",
            "jne 4f",
            "5:",
            "add rsp, 8",
            "pop r15",
            "pop r14",
            "pop r13",
            "pop r12",
            "pop rbx",
            "pop rbp",
            "pop rcx",
            "jmp rcx",
            "2:",
            "ldmxcsr [rsp]",
            "jmp 3b",
            "4:",
            "fldcw [rsp + 4]",
            "jmp 5b",
        )
    }

    #[cfg(target_arch = "x86_64")]
    #[unsafe(naked)]
    unsafe extern "C" fn bare(save: *mut *mut u8, to: *mut u8, arg: usize) -> usize {
        naked_asm!(
            "push rbp",
            "push rbx",
            "push r12",
            "push r13",
            "push r14",
            "push r15",
            "sub rsp, 8",
            "mov [rdi], rsp",
            "mov rsp, rsi",
            "mov rax, rdx",
            "add rsp, 8",
            "pop r15",
            "pop r14",
            "pop r13",
            "pop r12",
            "pop rbx",
            "pop rbp",
            "pop rcx",
            "jmp rcx",
        )
    }

    #[cfg(not(target_arch = "x86_64"))]
    use switch as compared;
    #[cfg(not(target_arch = "x86_64"))]
    use switch as bare;

    unsafe extern "C" fn first<const KIND: u8>(arg: usize) -> ! {
        let sides = sides(arg);
        for _ in 0..sides.count.get() / 2 {
            // SAFETY: `second` was prepared by `main` or stored by its own last switch.
            unsafe { go::<KIND>(sides.first.as_ptr(), sides.second.get(), arg) };
        }
        // SAFETY: `main` waits since it came here.
        unsafe { go::<KIND>(sides.first.as_ptr(), sides.main.get(), 0) };
        unreachable!()
    }

    unsafe extern "C" fn second<const KIND: u8>(arg: usize) -> ! {
        let sides = sides(arg);
        loop {
            // SAFETY: `first` waits since it came here.
            unsafe { go::<KIND>(sides.second.as_ptr(), sides.first.get(), arg) };
        }
    }

    pub fn ping_pong<const KIND: u8>(n: usize) -> Duration {
        let (sides, stacks) = (Sides::new(), [new_stack(), new_stack()]);
        sides.count.set(n);
        // SAFETY: two stacks of our own; `main` waits in the switch until `first` is through.
        unsafe {
            sides.first.set(prepare(stacks[0].top(), first::<KIND>));
            sides.second.set(prepare(stacks[1].top(), second::<KIND>));
        }
        let arg = &raw const sides as usize;
        // SAFETY: as above.
        let time = timed(1, || _ = unsafe { switch(sides.main.as_ptr(), sides.first.get(), arg) });
        stacks.into_iter().for_each(stack::give);
        time
    }

    unsafe extern "C" fn back_and_forth(arg: usize) -> ! {
        let sides = sides(arg);
        loop {
            // SAFETY: the context that resumed this one waits.
            unsafe { switch(sides.first.as_ptr(), sides.main.get(), 0) };
        }
    }

    pub fn migrate(n: usize) -> Duration {
        let (sides, stack) = (Sides::new(), new_stack());
        // SAFETY: a stack of our own.
        sides.first.set(unsafe { prepare(stack.top(), back_and_forth) });
        let arg = &raw const sides as usize;
        // SAFETY: `first` continues where it last left, on whichever thread has its turn.
        let time = hand_over(n, &mut || _ = unsafe { switch(sides.main.as_ptr(), sides.first.get(), arg) });
        stack::give(stack);
        time
    }

    pub fn create(n: usize) -> Duration {
        let sides = Sides::new();
        let arg = &raw const sides as usize;
        timed(n, || {
            let stack = new_stack();
            // SAFETY: a stack of our own, left for good when the switch returns.
            unsafe { switch(sides.main.as_ptr(), prepare(stack.top(), back_and_forth), arg) };
            stack::give(stack);
        })
    }
}

mod by_context {
    use super::*;
    use context::{Context, Transfer};

    fn prepare(stack: &Stack, entry: extern "C" fn(Transfer) -> !) -> Context {
        // SAFETY: a stack of our own that outlives the context.
        unsafe {
            let range = context::stack::Stack::new(stack.top().cast(), stack.bottom().cast());
            Context::new(&range, entry)
        }
    }

    extern "C" fn back_and_forth(mut from: Transfer) -> ! {
        loop {
            // SAFETY: the context that resumed this one waits.
            from = unsafe { from.context.resume(0) };
        }
    }

    extern "C" fn first(main: Transfer) -> ! {
        // SAFETY: `ping_pong` passes the address of its local and waits.
        let (count, second) = unsafe { &*(main.data as *const (usize, Cell<Option<Context>>)) };
        let mut other = second.take().expect("prepared");
        for _ in 0..count / 2 {
            // SAFETY: `other` waits.
            other = unsafe { other.resume(0) }.context;
        }
        // SAFETY: `main` waits.
        unsafe { main.context.resume(0) };
        unreachable!()
    }

    pub fn ping_pong(n: usize) -> Duration {
        let stacks = [new_stack(), new_stack()];
        let shared = (n, Cell::new(Some(prepare(&stacks[1], back_and_forth))));
        let mut start = Some(prepare(&stacks[0], first));
        let arg = &raw const shared as usize;
        // SAFETY: prepared above.
        let time = timed(1, || _ = unsafe { start.take().expect("once").resume(arg) });
        stacks.into_iter().for_each(stack::give);
        time
    }

    pub fn migrate(n: usize) -> Duration {
        let stack = new_stack();
        let mut other = Some(prepare(&stack, back_and_forth));
        let time = hand_over(n, &mut || {
            let context = other.take().expect("put back");
            // SAFETY: it waits.
            other = Some(unsafe { context.resume(0) }.context);
        });
        stack::give(stack);
        time
    }

    pub fn create(n: usize) -> Duration {
        timed(n, || {
            let stack = new_stack();
            // SAFETY: left for good when it comes back.
            unsafe { prepare(&stack, back_and_forth).resume(0) };
            stack::give(stack);
        })
    }
}

mod by_corosensei {
    use super::*;
    use corosensei::stack::StackPointer;
    use corosensei::{Coroutine, CoroutineResult};

    struct Pooled(Stack);

    // SAFETY: a mapped, guarded, page-aligned range that stays where it is.
    unsafe impl corosensei::stack::Stack for Pooled {
        fn base(&self) -> StackPointer {
            StackPointer::new(self.0.top() as usize).expect("not null")
        }

        fn limit(&self) -> StackPointer {
            StackPointer::new(self.0.bottom() as usize).expect("not null")
        }
    }

    type Endless = Coroutine<(), (), (), Pooled>;

    fn endless() -> Endless {
        Coroutine::with_stack(Pooled(new_stack()), |yielder, ()| {
            loop {
                yielder.suspend(());
            }
        })
    }

    fn end(mut coroutine: Endless) {
        // SAFETY: its stack holds nothing that needs dropping.
        unsafe { coroutine.force_reset() };
        stack::give(coroutine.into_stack().0);
    }

    pub fn ping_pong(n: usize) -> Duration {
        let (mut first, mut second) = (endless(), endless());
        let time = timed(n / 2, || {
            first.resume(());
            second.resume(());
        });
        end(first);
        end(second);
        time
    }

    pub fn migrate(n: usize) -> Duration {
        let mut coroutine = endless();
        let time = hand_over(n, &mut || _ = coroutine.resume(()));
        end(coroutine);
        time
    }

    pub fn create(n: usize) -> Duration {
        timed(n, || {
            let mut coroutine: Coroutine<(), (), (), Pooled> =
                Coroutine::with_stack(Pooled(new_stack()), |_, ()| ());
            let done = matches!(coroutine.resume(()), CoroutineResult::Return(()));
            assert!(done);
            stack::give(coroutine.into_stack().0);
        })
    }
}
