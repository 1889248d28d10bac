//! Real donors, in use by the test's own kernel threads. What must differ between TLS blocks
//! differs, what belongs to the kernel thread stays, and forks and new threads work from under a
//! donor.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;

use super::*;

mod forks;
mod owners;

thread_local! {
    static NUMBER: Cell<usize> = const { Cell::new(0) };
    static DROPPED: Noisy = const { Noisy(Cell::new(0)) };
}

/// Counts, by its value, how often it was dropped.
struct Noisy(Cell<usize>);
static DROPS: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];
impl Drop for Noisy {
    fn drop(&mut self) {
        // ORDERING: Relaxed; read after the thread was joined.
        DROPS[self.0.get()].fetch_add(1, Relaxed);
    }
}

/// Runs `body` under `tls_block` and returns to what was in force, also when `body` panics.
#[inline(never)]
fn under<T>(tls_block: &TlsBlock, mut body: impl FnMut() -> T) -> T {
    let before = arch::thread_pointer();
    let mut result = None;
    let outcome = block_in_use(tls_block, &mut || result = Some(body()));
    // SAFETY: the storage in force when this was called; `block_in_use` and we are not inlined.
    unsafe { arch::set_thread_pointer(before) };
    outcome.unwrap_or_else(|panic| resume_unwind(panic));
    result.expect("the body has returned")
}

#[inline(never)]
fn block_in_use(tls_block: &TlsBlock, body: &mut dyn FnMut()) -> std::thread::Result<()> {
    // SAFETY: the tests' TLS blocks are each used by one kernel thread at a time; the body is
    // behind a pointer, so no address of its thread-local variables is kept from before.
    unsafe { run_with(tls_block) };
    run(body)
}

#[inline(never)]
fn run(body: &mut dyn FnMut()) -> std::thread::Result<()> {
    catch_unwind(AssertUnwindSafe(body))
}

fn borrowed() -> &'static TlsBlock {
    // The hook at fork.
    crate::pool::initialise();
    borrow().expect("this machine can make donors")
}

fn errno() -> &'static Cell<c_int> {
    // SAFETY: the calling thread's own; tests do not keep it across `under`.
    unsafe { &*libc::__errno_location().cast() }
}

fn pin(cpu: usize) -> bool {
    // SAFETY: a local set of processors, for the calling kernel thread.
    unsafe {
        let mut set: libc::cpu_set_t = core::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) == 0
    }
}

/// Allocates, prints a number with a fraction, looks at a character class: what keeps state or
/// locale per thread.
fn exercise(number: usize) {
    let block: Vec<u8> = vec![number as u8; 100 + 37 * number];
    let mut text = [0_u8; 32];
    // SAFETY: the buffer has the stated length; the format fits its argument.
    let length =
        unsafe { libc::snprintf(text.as_mut_ptr().cast(), 32, c"%.3f".as_ptr(), number as f64 + 0.5) };
    assert_eq!(&text[..length as usize], format!("{number}.500").as_bytes());
    // SAFETY: any character may be asked for.
    assert_ne!(unsafe { libc::isalpha(c_int::from(b'a')) }, 0);
    assert!(block.iter().all(|&byte| byte == number as u8));
}

#[test]
fn the_answer_is_kept_and_this_machine_can() {
    assert!(matches!(support(), Support::Direct | Support::Syscall), "{:?}", support());
    assert_eq!(support(), support());
}

#[test]
fn a_tls_donor_has_storage_of_its_own_and_keeps_it() {
    let tls_donor = borrowed();
    errno().set(5);
    NUMBER.set(1);
    under(tls_donor, || NUMBER.set(100));
    for round in 0..50 {
        under(tls_donor, || {
            assert_eq!(NUMBER.replace(101 + round), 100 + round);
            errno().set(7);
            exercise(round);
            assert_eq!(errno().get(), 7);
        });
        assert_eq!((errno().get(), NUMBER.get()), (5, 1));
    }
    give_back(tls_donor);
}

#[test]
fn a_destructor_runs_for_the_thread_that_ends_and_for_no_tls_donor() {
    let tls_donor = borrowed();
    let thread = std::thread::spawn(move || {
        DROPPED.with(|noisy| noisy.0.set(1));
        under(tls_donor, || DROPPED.with(|noisy| noisy.0.set(2)));
        DROPPED.with(|noisy| assert_eq!(noisy.0.get(), 1));
    });
    thread.join().expect("the thread ends well");
    // ORDERING: Relaxed; `join` orders the destructors before this.
    assert_eq!(DROPS.each_ref().map(|drops| drops.load(Relaxed)), [0, 1, 0]);
    under(tls_donor, || DROPPED.with(|noisy| assert_eq!(noisy.0.get(), 2)));
    give_back(tls_donor);
}

#[test]
fn a_tls_block_moves_between_kernel_threads_with_its_values() {
    let tls_donor = borrowed();
    let block = under(tls_donor, || {
        NUMBER.set(4711);
        vec![3_u8; 5000]
    });
    let inside = move || {
        assert_eq!(NUMBER.get(), 4711);
        drop(block);
        NUMBER.set(4712);
    };
    let mut inside = Some(inside);
    std::thread::spawn(move || under(tls_donor, || inside.take().expect("runs once")()))
        .join()
        .expect("it ends well");
    under(tls_donor, || assert_eq!(NUMBER.get(), 4712));
    give_back(tls_donor);
}

#[test]
fn sixty_four_donors_are_distinct_and_used_again() {
    let first: Vec<_> = (0..64).map(|_| borrowed()).collect();
    let made = count();
    assert!(made >= 64);
    let mut pointers: Vec<_> = first.iter().map(|tls_block| tls_block.thread_pointer()).collect();
    pointers.sort_unstable();
    pointers.dedup();
    assert_eq!(pointers.len(), 64);
    for (number, tls_block) in first.iter().enumerate() {
        assert!(tls_block.is_of_a_donor());
        under(tls_block, || NUMBER.set(number));
    }
    for (number, tls_block) in first.iter().enumerate() {
        under(tls_block, || assert_eq!(NUMBER.get(), number));
        give_back(tls_block);
    }
    let second: Vec<_> = (0..64).map(|_| borrowed()).collect();
    // Other tests borrow at the same time, a few each.
    let again =
        second.iter().filter(|tls_block| pointers.binary_search(&tls_block.thread_pointer()).is_ok()).count();
    assert!(again >= 32, "{again} of 64 were borrowed again");
    second.into_iter().for_each(give_back);
}

#[test]
fn the_record_of_a_thread_is_that_of_the_storage_in_force() {
    let own = of_current_thread();
    assert!(!own.is_of_a_donor());
    assert!(core::ptr::eq(own, of_current_thread()));
    let tls_donor = borrowed();
    under(tls_donor, || assert!(core::ptr::eq(tls_donor, of_current_thread())));
    std::thread::scope(|scope| {
        scope.spawn(|| assert_ne!(own.thread_pointer(), of_current_thread().thread_pointer()));
    });
    give_back(tls_donor);
}

#[test]
fn the_processor_is_the_kernel_threads_not_the_donors() {
    let allowed: Vec<usize> = (0..1024).filter(|&cpu| pin(cpu)).collect();
    for &born in &allowed[..allowed.len().min(4)] {
        assert!(pin(born));
        // Not from the pool: this donor has run on `born` and nowhere else.
        let tls_donor = NewTlsDonors::start(1).finish().pop().expect("this machine can make donors");
        for &cpu in &allowed {
            assert!(pin(cpu));
            under(tls_donor, || {
                // SAFETY: only asks.
                assert_eq!(unsafe { libc::sched_getcpu() }, cpu as c_int, "donor born on {born}")
            });
        }
        give_back(tls_donor);
    }
}

#[test]
fn threads_and_processes_start_from_under_a_tls_donor() {
    let tls_donor = borrowed();
    under(tls_donor, || {
        let thread = std::thread::spawn(|| {
            NUMBER.set(9);
            exercise(9);
            NUMBER.get()
        });
        assert_eq!(thread.join().expect("it ends well"), 9);
        assert!(std::process::Command::new("/bin/true").status().expect("it starts").success());
    });
    give_back(tls_donor);
}

#[test]
fn a_tls_donor_is_made_from_under_a_tls_donor() {
    let tls_donor = borrowed();
    let second =
        under(tls_donor, || NewTlsDonors::start(1).finish().pop().expect("this machine can make donors"));
    under(second, || exercise(3));
    under(tls_donor, || under(second, || exercise(4)));
    give_back(second);
    give_back(tls_donor);
}

#[test]
fn many_kernel_threads_borrow_at_once() {
    let threads: Vec<_> = (0..4).map(|me| std::thread::spawn(move || borrow_and_look(me))).collect();
    threads.into_iter().for_each(|thread| thread.join().expect("it ends well"));
}

#[test]
fn donors_that_are_made_together_are_all_complete() {
    crate::pool::initialise();
    for round in 0..20 {
        let made = NewTlsDonors::start(1 + round % 5).finish();
        assert_eq!(made.len(), 1 + round % 5);
        let numbers: std::collections::BTreeSet<_> =
            made.iter().map(|donor| donor.tls_donor_number()).collect();
        assert!(numbers.len() == made.len() && !numbers.contains(&None));
        for (me, donor) in made.into_iter().enumerate() {
            under(donor, || exercise(me));
            give_back(donor);
        }
    }
    let all = begin_borrowing(7).finish();
    assert_eq!(all.len(), 7);
    all.into_iter().for_each(give_back);
}

fn borrow_and_look(me: usize) {
    for round in 0..200 {
        let tls_donor = borrowed();
        under(tls_donor, || {
            NUMBER.set(1000 * me + round);
            exercise(me);
            std::thread::yield_now();
            assert_eq!(NUMBER.get(), 1000 * me + round);
        });
        give_back(tls_donor);
    }
}

#[test]
fn the_system_call_sets_the_same() {
    let tls_donor = borrowed();
    let own = arch::thread_pointer();
    // SAFETY: no other thread runs with the donor; nothing thread-local is used until the pointer
    // is set back.
    let (there, seen, back) = unsafe {
        let there = arch::set_thread_pointer_by_system_call(tls_donor.thread_pointer());
        let seen = arch::thread_pointer();
        (there, seen, arch::set_thread_pointer_by_system_call(own))
    };
    assert!(there && back);
    assert_eq!(seen, tls_donor.thread_pointer());
    give_back(tls_donor);
}

/// Nanoseconds per call of `action`: least and median of 21 runs.
fn time(calls: u32, mut action: impl FnMut()) -> (f64, f64) {
    let mut runs: Vec<f64> = (0..21)
        .map(|_| {
            let start = Instant::now();
            (0..calls).for_each(|_| action());
            start.elapsed().as_nanos() as f64 / f64::from(calls)
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    (runs[0], runs[10])
}

/// Pages of this process that are in memory.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("the second number")
}

#[test]
#[ignore = "measures; run alone with --release --ignored --nocapture"]
fn measure() {
    let (own, tls_donor) = (of_current_thread(), borrowed());
    // SAFETY: nothing thread-local is used between the two.
    let pair = time(100_000, || unsafe {
        run_with(tls_donor);
        run_with(own);
    });
    // SAFETY: sets what is in force.
    let call = time(10_000, || unsafe {
        arch::set_thread_pointer_by_system_call(own.thread_pointer());
    });
    let before = resident();
    let made = time(10, || assert!(NewTlsDonors::start(1).finish().pop().is_some()));
    println!("{:.1} KiB of resident memory for a donor", (resident() - before) as f64 * 4.0 / 210.0);
    let borrow_from = time(10_000, || give_back(borrowed()));
    println!(
        "run with {:.1} {:.1} ns, by system call {:.0} {:.0} ns",
        pair.0 / 2.0,
        pair.1 / 2.0,
        call.0,
        call.1
    );
    println!(
        "make a donor {:.1} {:.1} us, borrow and return {:.0} {:.0} ns",
        made.0 / 1e3,
        made.1 / 1e3,
        borrow_from.0,
        borrow_from.1
    );
    assert!(pair.0 < 10_000.0 && made.0 < 10_000_000.0);
}
