//! Code that computes, or is in a library that does: how often it is looked at, and when it must let
//! others run.
use super::*;

/// Signals and preemptions while a player computes for this time, and only helpers wait.
fn helped(duration: Duration) -> (u64, usize) {
    let player = Player::new();
    HELPED.store(&raw const player.watched as usize, SeqCst);
    let sent = counters().interrupts;
    player.act(fresh_region(), || burn(duration));
    HELPED.store(0, SeqCst);
    (counters().interrupts - sent, player.preempted.load(SeqCst) as usize)
}

#[test]
fn computing_beside_helpers_is_switched_out_late() {
    let _stage = stage();
    let (signals, preemptions) = helped(Duration::from_millis(60));
    assert!(signals <= 8, "{signals} signals in 60 ms");
    assert_eq!(preemptions, 0);
    let (_, preemptions) = helped(Duration::from_millis(600));
    assert!((1..=6).contains(&preemptions), "not for ever: {preemptions}");
}

/// The code is not the program's: the C library is at work. A sample that falls between two calls
/// finds code of the program, and begins anew.
#[test]
fn a_library_at_work_is_handed_off() {
    let _stage = stage();
    let mut block = vec![1_u8; 64 << 20];
    in_one_of_a_few(|| {
        let player = Player::new();
        let mut took = Duration::ZERO;
        player.act(fresh_region(), || {
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(60) {
                // SAFETY: the block's own bytes.
                unsafe { libc::memset(block.as_mut_ptr().cast(), 2, block.len()) };
                core::hint::black_box(&mut block);
            }
            took = start.elapsed();
        });
        let times = hand_offs_of(player);
        // Of code of the program that has had its time it may be switched out.
        // Beside other programs, a call that begins within the 60 ms ends much later.
        let most = 1 + (took.as_millis() / 50) as usize;
        assert!(times <= most, "{times} in {took:?}: one, and another each 50 ms");
        times >= 1
    });
}

/// A region that sleeps is remembered as one that blocks, even if its worker was handed off before
/// because a library computed.
#[test]
fn a_sleep_behind_a_library_at_work_is_remembered() {
    let _stage = stage();
    let mut block = vec![1_u8; 64 << 20];
    in_one_of_a_few(|| {
        let (player, region) = (Player::new(), fresh_region());
        let mut was_handed_off = false;
        player.act(region, || {
            let start = Instant::now();
            while hand_offs_of(player) == 0 && start.elapsed() < Duration::from_millis(60) {
                // SAFETY: the block's own bytes.
                unsafe { libc::memset(block.as_mut_ptr().cast(), 2, block.len()) };
                core::hint::black_box(&mut block);
            }
            was_handed_off = hand_offs_of(player) != 0 && !is_known_blocker(region);
            // Longer than the 50 ms after which a hand-off is repeated.
            std::thread::sleep(Duration::from_millis(120));
        });
        was_handed_off && is_known_blocker(region)
    });
}

/// A region whose code was in a library at a few looks gets fewer looks from then on.
#[test]
fn a_region_that_computes_in_a_library_is_interrupted_seldom() {
    let _stage = stage();
    let mut block = vec![1_u8; 64 << 20];
    let region = fresh_region();
    let mut signals_of_a_call = |bytes: usize| {
        let player = Player::new();
        let sent = counters().interrupts;
        player.act(region, || {
            // SAFETY: the block's own bytes.
            unsafe { libc::memset(block[..bytes].as_mut_ptr().cast(), 2, bytes) };
            core::hint::black_box(&mut block);
        });
        counters().interrupts - sent
    };
    in_one_of_a_few(|| {
        signals_of_a_call(64 << 20);
        regions::is_known_computer(region)
    });
    let signals: u64 = (0..20).map(|_| signals_of_a_call(8 << 20)).sum();
    assert!(signals <= 20, "{signals} signals in 20 calls");
}

/// Floating-point work over an array, long enough to be looked at many times.
fn compute(millis: u64) -> f64 {
    let mut field = vec![1.0_f64; 4096];
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(millis) {
        for _ in 0..50 {
            for i in 1..field.len() {
                field[i] = field[i] * 0.999 + field[i - 1] * 0.001 + i as f64 * 1e-9;
            }
        }
    }
    field.iter().sum()
}

#[test]
fn a_computation_is_left_alone() {
    let _stage = stage();
    in_one_of_a_few(|| {
        let player = Player::new();
        let (region, before) = (fresh_region(), counters());
        let sum = player.act(region, || compute(200));
        let after = counters();
        let (signals, preempted) = (after.interrupts - before.interrupts, player.preempted.load(SeqCst));
        println!("200 ms of computing ({sum}): {signals} signals, {preempted} preemptions, {after:?}");
        after.computing > before.computing && preempted <= 25 && hand_offs_of(player) == 0
    });
}
