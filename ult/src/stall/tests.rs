//! The whole monitor on real threads: watcher, signal, handler, with hooks that only record.
//!
//! A *player* is a kernel thread that plays a worker. The tests share one watcher and its counters,
//! so they run one at a time.
mod alarms;
mod computing;
mod sleeps;

use super::hooks::WaitUrgency;
use super::*;
use core::arch::asm;
use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicU32, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst,
};
use core::time::Duration;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
static HAND_OFFS: Mutex<Vec<(usize, Instant)>> = Mutex::new(Vec::new());
static NOT_NOW: AtomicBool = AtomicBool::new(false);

thread_local! {
    static ME: Cell<Option<&'static Player>> = const { Cell::new(None) };
    /// The lowest address of the player's stack, where the test needs one that stays.
    static LOWEST: Cell<Option<usize>> = const { Cell::new(None) };
}

/// A thread that plays a worker.
struct Player {
    watched: Watched,
    /// Set by the hook: what the player waits for.
    flag: AtomicU32,
    preempted: AtomicU32,
    /// The hook leaves the flag alone.
    deaf: AtomicBool,
}

impl Player {
    fn new() -> &'static Player {
        Box::leak(Box::new(Player {
            watched: Watched::new(),
            flag: AtomicU32::new(0),
            preempted: AtomicU32::new(0),
            deaf: AtomicBool::new(false),
        }))
    }

    /// Runs `act` as program code of `region` with one context waiting behind it.
    fn act<R>(&'static self, region: usize, act: impl FnOnce() -> R) -> R {
        ME.set(Some(self));
        give_room_for_handlers();
        self.watched.begin();
        self.watched.set_region(region);
        self.watched.set_crowd(1);
        self.watched.enter_user();
        let result = act();
        self.watched.enter_scheduler();
        self.watched.set_crowd(0);
        self.watched.end();
        ME.set(None);
        result
    }

    /// Reads the flag in a loop of three instructions until it is set.
    fn spin(&self) {
        spin_on(&self.flag);
        self.flag.store(0, SeqCst);
    }
}

/// The standard library gives its threads 8 KiB, too little for the handler without optimisation.
/// Workers have a stack of ours.
fn give_room_for_handlers() {
    crate::fault::leave_kernel_thread();
    let stack = crate::fault::new_alternate().expect("there is memory");
    assert_eq!(crate::fault::set_alternate(&stack), 0);
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn spin_on(flag: &AtomicU32) {
    // SAFETY: reads the flag.
    unsafe {
        asm!("2: mov {v:e}, [{f}]", "test {v:e}, {v:e}", "je 2b", f = in(reg) flag, v = out(reg) _, options(nostack))
    };
}

#[cfg(target_arch = "aarch64")]
#[inline(never)]
fn spin_on(flag: &AtomicU32) {
    // SAFETY: reads the flag.
    unsafe {
        asm!("2: ldr {v:w}, [{f}]", "cbz {v:w}, 2b", f = in(reg) flag, v = out(reg) _, options(nostack))
    };
}

unsafe fn record_preemption() -> bool {
    let Some(me) = ME.get() else { return false };
    if NOT_NOW.load(SeqCst) {
        return false;
    }
    me.watched.enter_scheduler();
    me.preempted.fetch_add(1, SeqCst);
    if !me.deaf.load(SeqCst) {
        me.flag.store(1, SeqCst);
    }
    me.watched.enter_user();
    true
}

/// The record behind which no urgent work waits; zero: there is no such record.
static CALM: AtomicUsize = AtomicUsize::new(0);

/// The record behind which only helpers wait; zero: there is no such record.
static HELPED: AtomicUsize = AtomicUsize::new(0);

fn urgency(watched: &'static Watched) -> WaitUrgency {
    let is = |record: &AtomicUsize| record.load(SeqCst) == &raw const *watched as usize;
    if is(&CALM) {
        WaitUrgency::NotUrgent
    } else if is(&HELPED) {
        WaitUrgency::Helpers
    } else {
        WaitUrgency::Urgent
    }
}

/// The record that stands in for the players. The watcher always sees it running, because it has
/// the number of the watcher's own kernel thread.
static BUSY_HEIR: Watched = Watched::new();
/// The number of a sleeping kernel thread, which [`SLEEPING_HEIR`] gets; zero: [`BUSY_HEIR`] stands
/// in.
static SLEEPER: AtomicI32 = AtomicI32::new(0);
/// The record that stands in and sleeps.
static SLEEPING_HEIR: Watched = Watched::new();
/// Hand-offs set no heir: no worker takes over.
static NO_HEIR: AtomicBool = AtomicBool::new(false);

fn record_hand_off(watched: &'static Watched) {
    // SAFETY: no arguments.
    let tid = unsafe { libc::syscall(libc::SYS_gettid) } as i32;
    let heir = match SLEEPER.load(SeqCst) {
        0 => BUSY_HEIR.seem_to_run(tid),
        tid => SLEEPING_HEIR.seem_to_run(tid),
    };
    watched.set_heir(Some(heir).filter(|_| !NO_HEIR.load(SeqCst)));
    HAND_OFFS.lock().unwrap().push((&raw const *watched as usize, Instant::now()));
}

fn hand_offs_of(player: &'static Player) -> usize {
    times_of_hand_offs(player).len()
}

fn times_of_hand_offs(player: &'static Player) -> Vec<Instant> {
    let address = &raw const player.watched as usize;
    HAND_OFFS.lock().unwrap().iter().filter(|&&(a, _)| a == address).map(|&(_, time)| time).collect()
}

/// The players stand on their threads' stacks, which are deep enough.
unsafe fn anywhere(_: &'static Watched, sp: usize) -> Option<usize> {
    let fixed = LOWEST.get().filter(|&fixed| (fixed + (64 << 10)..fixed + (1 << 20)).contains(&sp));
    fixed.or(Some(sp - (64 << 10)))
}

fn stage() -> MutexGuard<'static, ()> {
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    install(Hooks {
        preempt: record_preemption,
        hand_off: record_hand_off,
        lowest_of_stack: anywhere,
        urgency,
    });
    treat_as_program(spin_on as *const () as usize);
    start_if_needed();
    guard
}

/// An address that no region of another test has.
fn fresh_region() -> usize {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, SeqCst) as usize * 0x1000
}

/// Sorted times, in microseconds, that a spinning player waits until the handler ends its spin.
fn spin_latencies(regions: impl Fn() -> usize, count: usize) -> Vec<u128> {
    let player = Player::new();
    let mut times: Vec<u128> = (0..count)
        .map(|_| {
            std::thread::sleep(Duration::from_micros(300));
            let region = regions();
            player.act(region, || {
                let start = Instant::now();
                player.spin();
                start.elapsed().as_micros()
            })
        })
        .collect();
    times.sort_unstable();
    times
}

#[test]
fn a_spinner_is_interrupted_and_its_region_remembered() {
    let _stage = stage();
    let before = counters();
    // On a busy machine one round may be slow; five in a row are not.
    let mut unknown = Vec::new();
    let is_quick = (0..5).any(|_| {
        unknown = spin_latencies(fresh_region, 40);
        unknown[20] < 2_000
    });
    let region = fresh_region();
    let known = spin_latencies(|| region, 40);
    println!("us until a spin ends: unknown region {unknown:?}, known region {known:?}");
    let after = counters();
    assert!(is_quick, "median {} us", unknown[20]);
    assert!(is_known_spinner(region) && !is_known_blocker(region));
    assert!(after.preemptions - before.preemptions >= 80 && after.stalls - before.stalls >= 80);
    assert!(after.interrupts >= after.preemptions);
}

#[test]
fn with_all_processors_spinning_the_watcher_still_comes() {
    let _stage = stage();
    let cores = crate::topology::worker_target();
    let region = fresh_region();
    let threads: Vec<_> = (0..cores)
        .map(|_| {
            std::thread::spawn(move || {
                let player = Player::new();
                let mut times: Vec<u128> = player.act(region, || {
                    (0..200)
                        .map(|_| {
                            let start = Instant::now();
                            player.spin();
                            start.elapsed().as_micros()
                        })
                        .collect()
                });
                times.sort_unstable();
                (times[0], times[100], times[180], times[199])
            })
        })
        .collect();
    for thread in threads {
        let (least, median, late, most) = thread.join().unwrap();
        println!(
            "us until a spin ends, {cores} spinners: min {least}, median {median}, 90 % {late}, max {most}"
        );
        assert!(median < 5_000, "median {median} us");
    }
}

#[test]
fn who_holds_up_nobody_urgent_is_left_alone_for_a_while() {
    let _stage = stage();
    let player = Player::new();
    CALM.store(&raw const player.watched as usize, SeqCst);
    let region = fresh_region();
    let waits: Vec<Duration> = player.act(region, || {
        (0..10)
            .map(|_| {
                let start = Instant::now();
                player.spin();
                start.elapsed()
            })
            .collect()
    });
    CALM.store(0, SeqCst);
    let mut sorted = waits.clone();
    sorted.sort_unstable();
    println!("until a spin ends: {waits:?}");
    // A thread that loses its processor before it reads the clock sees a shorter wait.
    assert!(sorted[3] >= Duration::from_millis(1) && sorted[5] < Duration::from_millis(50), "{waits:?}");
}

/// Computes, with hardly a look at the clock: a loop that does nothing else is one that waits.
///
/// Not inlined: next to a loop that spins, in the same lines of code, it would be taken for one.
#[inline(never)]
fn burn(duration: Duration) {
    let start = Instant::now();
    let mut value = 1.0_f64;
    while start.elapsed() < duration {
        for _ in 0..200 {
            value = core::hint::black_box(value) * 1.000_001 + 1e-9;
        }
    }
    core::hint::black_box(value);
}

/// As [`burn`], for so much time of a processor: an alarm cannot go off in a thread that waits for
/// one.
#[inline(never)]
fn occupy(duration: Duration) {
    let used = || crate::sys::thread::processor_time(0).expect("this thread runs");
    let start = used();
    while u128::from(used() - start) < duration.as_nanos() {
        burn(Duration::from_micros(100));
    }
}

#[test]
fn a_blocked_worker_is_handed_off_once() {
    let _stage = stage();
    let player = Player::new();
    let region = fresh_region();
    let sent = counters().interrupts;
    let block = |millis| {
        player.act(region, || {
            let start = Instant::now();
            // Who stands in gets on meanwhile.
            while start.elapsed() < Duration::from_millis(millis) {
                std::thread::sleep(Duration::from_millis(3));
                BUSY_HEIR.pass();
            }
            start
        })
    };
    let mut starts = vec![block(45)]; // there is another hand-off after 50
    let late = starts[0].elapsed().as_millis() >= 50; // on a busy machine
    assert!(hand_offs_of(player) == 1 || late && hand_offs_of(player) > 1);
    assert!(is_known_blocker(region) && !is_known_spinner(region));
    assert_eq!(counters().interrupts, sent, "a sleeping thread was signalled");
    // Known now: a short sleep is enough.
    starts.extend((0..20).map(|_| block(30)));
    assert!(is_frequent_blocker(region));
    let times = times_of_hand_offs(player);
    let first_after =
        |start: &Instant| times.iter().find(|time| *time >= start).map(|time| (*time - *start).as_micros());
    let mut after: Vec<u128> = starts.iter().filter_map(first_after).collect();
    assert_eq!(after.len(), starts.len());
    println!("us until a hand-off: at first {}, then {:?}", after.remove(0), after);
    after.sort_unstable();
    assert!(after[5] < 1000, "{after:?}");
}

/// Blocks for 48 ms, and says how often it was handed off.
fn hand_offs_of_a_standstill() -> usize {
    let player = Player::new();
    player.act(fresh_region(), || std::thread::sleep(Duration::from_millis(48)));
    hand_offs_of(player)
}

#[test]
fn who_stands_in_and_sleeps_is_stood_in_for_as_well() {
    let _stage = stage();
    let (send, receive) = std::sync::mpsc::channel();
    let (end, wait) = std::sync::mpsc::channel::<()>();
    let sleeper = std::thread::spawn(move || {
        // SAFETY: no arguments.
        send.send(unsafe { libc::syscall(libc::SYS_gettid) } as i32).unwrap();
        wait.recv().ok();
    });
    SLEEPER.store(receive.recv().unwrap(), SeqCst);
    let hand_offs = hand_offs_of_a_standstill();
    SLEEPER.store(0, SeqCst);
    drop(end);
    sleeper.join().unwrap();
    assert!(hand_offs >= 10, "{hand_offs} in 48 ms");
}

#[test]
fn who_stands_in_and_runs_on_and_on_is_stood_in_for_as_well() {
    let _stage = stage();
    let hand_offs = hand_offs_of_a_standstill();
    assert!((2..=5).contains(&hand_offs), "{hand_offs} in 48 ms: after 1 ms, then every 10 or more");
}

#[test]
fn what_nobody_takes_over_is_offered_again_less_and_less_often() {
    let _stage = stage();
    NO_HEIR.store(true, SeqCst);
    let hand_offs = hand_offs_of_a_standstill();
    NO_HEIR.store(false, SeqCst);
    assert!((3..=6).contains(&hand_offs), "{hand_offs} in 48 ms: after 1, 2, 4, 8, 16 ms");
}

/// Between the owner's count and its store another thread queues a context and publishes that.
#[test]
fn a_number_counted_early_does_not_overwrite_a_later_one() {
    static WATCHED: Watched = Watched::new();
    let (queued, first) = (Cell::new(true), Cell::new(true));
    WATCHED.recount(|| queued.get());
    queued.set(false);
    WATCHED.recount(|| {
        let early = queued.get();
        if first.replace(false) {
            queued.set(true);
            WATCHED.recount(|| queued.get());
        }
        early
    });
    assert_eq!(WATCHED.crowd(), 1);
}

/// The owner's last suspended thread goes on while another thread queues a context.
#[test]
fn who_begins_to_wait_is_seen_although_the_owner_compares_without_a_fence() {
    static WATCHED: Watched = Watched::new();
    static SUSPENDED: AtomicBool = AtomicBool::new(false);
    static QUEUED: AtomicBool = AtomicBool::new(false);
    let waits = || SUSPENDED.load(Relaxed) || QUEUED.load(Relaxed);
    let begin = std::sync::Barrier::new(2);
    let end = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..5000 {
                begin.wait();
                QUEUED.store(true, Relaxed);
                WATCHED.recount(waits);
                end.wait();
            }
        });
        for _ in 0..5000 {
            SUSPENDED.store(true, Relaxed);
            WATCHED.recount(waits);
            begin.wait();
            SUSPENDED.store(false, Relaxed);
            WATCHED.recount_behind_fence(waits);
            end.wait();
            assert_eq!(WATCHED.crowd(), 1);
            QUEUED.store(false, Relaxed);
            WATCHED.recount(waits);
            assert_eq!(WATCHED.crowd(), 0);
        }
    });
}

fn block_all(how: i32) {
    // SAFETY: a local set, for the calling thread.
    unsafe {
        let mut all: libc::sigset_t = core::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(how, &raw const all, ptr::null_mut());
    }
}

#[test]
fn who_cannot_be_interrupted_is_handed_off() {
    let _stage = stage();
    // The program has blocked the signal.
    let player = Player::new();
    player.act(fresh_region(), || {
        block_all(libc::SIG_BLOCK);
        (0..50).take_while(|_| hand_offs_of(player) == 0).for_each(|_| burn(Duration::from_millis(20)));
        assert_eq!(hand_offs_of(player), 1);
        assert_eq!(player.preempted.load(SeqCst), 0);
        block_all(libc::SIG_UNBLOCK);
    });
}

/// A processor that the hypervisor has taken away for ten milliseconds looks like code that cannot
/// be interrupted: what is true of code that runs has to show in one of a few attempts.
fn in_one_of_a_few(mut attempt: impl FnMut() -> bool) {
    assert!((0..5).any(|_| attempt()), "in none of 5 attempts");
}

#[test]
fn a_worker_asleep_in_the_scheduler_holds_nobody_up() {
    let _stage = stage();
    let player = Player::new();
    player.act(fresh_region(), || {
        player.watched.enter_scheduler();
        player.watched.enter_idle();
        std::thread::sleep(Duration::from_millis(600));
        let before = watcher_time().expect("the watcher runs");
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(watcher_time(), Some(before), "somebody is crowded, but idle");
        player.watched.enter_user();
        player.spin();
    });
    assert_eq!(hand_offs_of(player), 0);
}

#[test]
fn nobody_to_switch_to_means_fewer_signals() {
    let _stage = stage();
    let player = Player::new();
    let before = counters();
    NOT_NOW.store(true, SeqCst);
    player.act(fresh_region(), || burn(Duration::from_millis(60)));
    NOT_NOW.store(false, SeqCst);
    let after = counters();
    assert_eq!(after.preemptions, before.preemptions);
    let signals = after.interrupts - before.interrupts;
    assert!((2..100).contains(&signals), "{signals} signals in 60 ms");
}

#[test]
fn a_loop_that_yields_counts_as_spinning() {
    let _stage = stage();
    let player = Player::new();
    let before = counters();
    player.act(fresh_region(), || {
        while player.flag.swap(0, SeqCst) == 0 {
            // SAFETY: no arguments.
            unsafe { libc::sched_yield() };
        }
    });
    assert!(counters().preemptions > before.preemptions);
}

fn watcher_time() -> Option<u64> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    let named = |task: &std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).ok();
    let watcher =
        tasks.flatten().find(|task| named(task).is_some_and(|name| name.trim() == "gangway-stall"))?;
    crate::sys::thread::processor_time(watcher.file_name().to_str()?.parse().ok()?)
}

#[test]
fn the_watcher_rests_when_nobody_is_crowded() {
    let _stage = stage();
    let player = Player::new();
    player.act(fresh_region(), || player.spin());
    // It goes to sleep for good after some hundred milliseconds without work.
    let rests = || {
        let before = watcher_time().expect("the watcher runs");
        std::thread::sleep(Duration::from_millis(300));
        watcher_time() == Some(before)
    };
    assert!((0..10).any(|_| rests()));
    let before = watcher_time().unwrap();
    // The watcher wakes when work waits behind a player again.
    player.act(fresh_region(), || player.spin());
    assert!(watcher_time().unwrap() > before);
}

#[test]
fn the_child_of_a_fork_has_a_monitor_of_its_own() {
    let _stage = stage();
    let player = Player::new();
    player.act(fresh_region(), || player.spin());
    // SAFETY: the child makes system calls and a thread, and leaves by _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: the child's only thread.
        unsafe { reset_after_fork() };
        start_if_needed();
        player.act(0x7000_0000, || player.spin());
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(if is_known_spinner(0x7000_0000) { 7 } else { 8 }) };
    }
    let mut status = 0;
    let ended = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        // SAFETY: our child, a valid out pointer.
        unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) == child }
    });
    if !ended {
        // SAFETY: our child.
        unsafe { libc::kill(child, libc::SIGKILL) };
    }
    assert!(ended && libc::WIFEXITED(status), "the child hangs: {ended}, {status}");
    assert_eq!(libc::WEXITSTATUS(status), 7);
}

/// Loops with a call in them are left in functions that may be left, and behind those of the
/// allocator.
#[test]
#[cfg(target_arch = "x86_64")]
fn loops_with_a_call_are_left() {
    let _stage = stage();
    let calls: [extern "C" fn(); 4] = [reads_a_clock, reads_nothing, formats, allocates];
    for (kind, call) in calls.into_iter().enumerate() {
        in_one_of_a_few(|| {
            let player = Player::new();
            let before = counters().interrupts;
            let took = player.act(fresh_region(), || {
                let start = Instant::now();
                LOWEST.set(Some((&raw const start as usize) - (512 << 10)));
                wait_around(&player.flag, call);
                start.elapsed()
            });
            // Whatever gets nowhere is left after 20 ms, and some ten samples.
            let soon = took < Duration::from_millis(10) || counters().interrupts - before <= 5;
            assert!(player.preempted.load(SeqCst) >= 1 || !soon, "call {kind}");
            soon
        });
    }
}

/// Calls until the flag is set. Without a call of its own in a build without optimisation.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn wait_around(flag: &AtomicU32, call: extern "C" fn()) {
    // SAFETY: calls a function that keeps to the calling convention, with the stack aligned, and
    // reads the flag.
    unsafe {
        asm!(
            "2: call r12", "mov eax, [r13]", "test eax, eax", "je 2b",
            in("r12") call, in("r13") flag, clobber_abi("C"),
        );
    }
}

extern "C" fn reads_a_clock() {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
}

extern "C" fn reads_nothing() {
    let mut byte = 0_u8;
    // SAFETY: a descriptor that is not open, and one byte.
    unsafe { libc::read(-1, (&raw mut byte).cast(), 1) };
}

extern "C" fn formats() {
    let mut text = [0_u8; 64];
    // SAFETY: a format for these arguments, into so many bytes.
    unsafe { libc::snprintf(text.as_mut_ptr().cast(), 64, c"%d %g".as_ptr(), 7, 1.5) };
}

extern "C" fn allocates() {
    // SAFETY: frees what it has got.
    unsafe { libc::free(core::hint::black_box(libc::malloc(100))) };
}
