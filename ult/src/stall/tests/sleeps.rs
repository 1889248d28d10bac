//! Calls that sleep: signals do not cut them short.
use super::*;

/// One call that sleeps for about `millis`; true if it slept to its end without an error.
pub(super) type Sleep = fn(millis: u64) -> bool;

fn slept(result: i32, wanted: i32, start: Instant, millis: u64) -> bool {
    result == wanted && start.elapsed() >= Duration::from_millis(millis)
}

pub(super) fn sleeps() -> [(&'static str, Sleep); 6] {
    [
        ("usleep", |ms| {
            let start = Instant::now();
            // SAFETY: no memory.
            slept(unsafe { libc::usleep(ms as u32 * 1000) }, 0, start, ms)
        }),
        ("poll", |ms| {
            let start = Instant::now();
            // SAFETY: no descriptors.
            slept(unsafe { libc::poll(ptr::null_mut(), 0, ms as i32) }, 0, start, ms)
        }),
        ("select", |ms| {
            let start = Instant::now();
            let mut time = libc::timeval { tv_sec: 0, tv_usec: ms as i64 * 1000 };
            let none = ptr::null_mut();
            // SAFETY: no descriptors, a valid limit.
            slept(unsafe { libc::select(0, none, none, none, &raw mut time) }, 0, start, ms)
        }),
        ("epoll_wait", |ms| {
            // SAFETY: a fresh descriptor and room for one event.
            unsafe {
                let file = libc::epoll_create1(0);
                let mut event: libc::epoll_event = core::mem::zeroed();
                let start = Instant::now();
                let result = libc::epoll_wait(file, &raw mut event, 1, ms as i32);
                libc::close(file);
                slept(result, 0, start, ms)
            }
        }),
        ("sem_timedwait", |ms| {
            // SAFETY: a local semaphore and a valid limit.
            unsafe {
                let mut semaphore: libc::sem_t = core::mem::zeroed();
                libc::sem_init(&raw mut semaphore, 0, 0);
                let start = Instant::now();
                let mut until: libc::timespec = core::mem::zeroed();
                libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut until);
                until.tv_nsec += ms as i64 * 1_000_000;
                until.tv_sec += until.tv_nsec / 1_000_000_000;
                until.tv_nsec %= 1_000_000_000;
                let result = libc::sem_timedwait(&raw mut semaphore, &raw const until);
                result == -1
                    && *libc::__errno_location() == libc::ETIMEDOUT
                    && start.elapsed().as_millis() + 1 >= ms.into()
            }
        }),
        ("nanosleep", |ms| {
            let start = Instant::now();
            let time = libc::timespec { tv_sec: 0, tv_nsec: ms as i64 * 1_000_000 };
            // SAFETY: a valid time.
            slept(unsafe { libc::nanosleep(&raw const time, ptr::null_mut()) }, 0, start, ms)
        }),
    ]
}

/// What `act` makes of each of the calls, all at the same time, each on a kernel thread of its own
/// whose player no signal ends a spin of.
fn each_at_once<R: Send + 'static>(act: fn(&'static Player, Sleep) -> R) -> Vec<(&'static str, R)> {
    let sleepers = sleeps().map(|(name, sleep)| {
        let play = move || {
            let player = Player::new();
            player.deaf.store(true, SeqCst);
            act(player, sleep)
        };
        (name, std::thread::spawn(play))
    });
    sleepers.into_iter().map(|(name, thread)| (name, thread.join().unwrap())).collect()
}

#[test]
fn sleeping_calls_are_not_cut_short() {
    let _stage = stage();
    static OVER: AtomicBool = AtomicBool::new(false);
    OVER.store(false, SeqCst);
    let before = counters();
    let spinner = std::thread::spawn(|| {
        let player = Player::new();
        let region = fresh_region();
        player.act(region, || {
            while !OVER.load(SeqCst) {
                player.spin();
            }
        });
        player.preempted.load(SeqCst)
    });
    let results = each_at_once(|player, sleep| {
        let mut cut = 0;
        player.act(fresh_region(), || {
            for round in 0..120 {
                // Computes for a while, then sleeps: the moment of going to sleep is what is
                // dangerous.
                burn(Duration::from_micros(30 + 17 * (round % 16)));
                cut += u32::from(!sleep(1 + round % 4));
            }
        });
        (cut, hand_offs_of(player))
    });
    OVER.store(true, SeqCst);
    let interrupted = spinner.join().unwrap();
    let after = counters();
    let (sent, restarts) = (after.interrupts - before.interrupts, after.restarts - before.restarts);
    println!(
        "{sent} signals, {restarts} calls restarted, spinner preempted {interrupted} times, (call, (cut short, hand-offs)): {results:?}"
    );
    assert!(interrupted > 100, "the monitor was not busy: {interrupted}");
    assert!(results.iter().all(|&(_, (cut, _))| cut == 0), "{results:?}");
}

/// The remaining window: a thread that goes to sleep while the signal is on its way. Regions are
/// new in each round, so that nothing is remembered, and every round computes for long enough to be
/// signalled.
#[test]
fn signals_on_the_way_to_sleep_do_no_harm() {
    let _stage = stage();
    let before = counters();
    let results = each_at_once(|player, sleep| {
        player.act(0, || {
            let round = |round: u64| {
                player.watched.set_region(fresh_region());
                player.watched.pass();
                burn(Duration::from_micros(90 + 7 * (round % 32)));
                u32::from(!sleep(1))
            };
            (0..250).map(round).sum::<u32>()
        })
    });
    let after = counters();
    let (sent, restarts) = (after.interrupts - before.interrupts, after.restarts - before.restarts);
    println!("{sent} signals, {restarts} calls restarted, (call, cut short): {results:?}");
    assert!(sent > 50, "only {sent} signals");
    if cfg!(target_arch = "x86_64") {
        assert!(results.iter().all(|&(_, cut)| cut == 0), "{results:?}");
    }
}
