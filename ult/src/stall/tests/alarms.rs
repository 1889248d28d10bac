//! Alarms: when they begin and end, and that they do no harm.
#[cfg(target_arch = "x86_64")]
use super::sleeps::sleeps;
use super::*;

#[test]
#[cfg(target_arch = "x86_64")]
fn where_spins_follow_each_other_an_alarm_takes_over() {
    let _stage = stage();
    let before = counters();
    let player = Player::new();
    player.act(fresh_region(), || (0..400).for_each(|_| player.spin()));
    let after = counters();
    let (ticks, preemptions) = (after.ticks - before.ticks, after.preemptions - before.preemptions);
    println!("{ticks} ticks, {preemptions} preemptions, {} signals", after.interrupts - before.interrupts);
    assert!(preemptions >= 400 && ticks >= 200, "{ticks} ticks for {preemptions} preemptions");
    assert!(!player.watched.alarm.is_running(), "the record has been given up");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn an_alarm_ends_when_its_thread_computes() {
    let _stage = stage();
    let player = Player::new();
    let (rang, rings) = player.act(fresh_region(), || {
        // Ticks that come at once after each other end it, too; the next spin starts it again.
        let rang = (0..200).any(|_| {
            player.spin();
            player.watched.alarm.is_running()
        });
        // Code is taken for a loop that waits where one tick comes straight after another, on a
        // busy virtual machine, until ticks make sure.
        let rings = (0..100).all(|_| {
            occupy(Duration::from_millis(5));
            player.watched.alarm.is_running()
        });
        (rang, rings)
    });
    assert!(rang && !rings, "running while it spins: {rang}, through 500 ms of computing: {rings}");
}

/// A timer goes off again and again before its signal has been dealt with: the thread stands still,
/// and its stack does not grow.
#[test]
fn ticks_that_come_faster_than_they_are_dealt_with_do_not_pile_up() {
    let _stage = stage();
    let player = Player::new();
    let (send, receive) = std::sync::mpsc::channel();
    let end = std::thread::spawn(move || {
        let timer: usize = receive.recv().unwrap();
        std::thread::sleep(Duration::from_millis(50));
        // SAFETY: the timer was made below, and no other thread deletes it.
        unsafe { libc::timer_delete(timer as libc::timer_t) }
    });
    player.act(fresh_region(), || {
        let timer = timer_for(&player.watched);
        send.send(timer as usize).unwrap();
        tick_every(timer, 500);
        while !end.is_finished() {}
    });
    assert_eq!(end.join().unwrap(), 0);
}

/// A timer that sends the signal for `watched` to the calling thread.
fn timer_for(watched: &'static Watched) -> libc::timer_t {
    // SAFETY: all zero is a valid `sigevent` and timer; the pointers are valid.
    unsafe {
        let (mut event, mut timer): (libc::sigevent, libc::timer_t) =
            (core::mem::zeroed(), core::mem::zeroed());
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal::number().unwrap();
        event.sigev_value.sival_ptr = ptr::from_ref(watched).cast_mut().cast();
        event.sigev_notify_thread_id = watched.tid();
        assert_eq!(libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer), 0);
        timer
    }
}

fn tick_every(timer: libc::timer_t, nanos: i64) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: nanos };
    let spec = libc::itimerspec { it_interval: time, it_value: time };
    // SAFETY: a timer of this process and a valid specification.
    assert_eq!(unsafe { libc::timer_settime(timer, 0, &raw const spec, ptr::null_mut()) }, 0);
}

/// The calls start while the alarm ticks, and are hit by it.
#[test]
#[cfg(target_arch = "x86_64")]
fn an_alarm_that_wakes_a_sleeper_puts_it_back_and_never_comes_again() {
    let _stage = stage();
    let before = counters();
    for (name, sleep) in sleeps() {
        let player = Player::new();
        let mut hit = 0;
        for round in 0..100 {
            if round >= 10 && hit > 0 {
                break;
            }
            let region = fresh_region();
            player.act(region, || {
                (0..20).for_each(|_| player.spin());
                let ticking = player.watched.alarm.is_running();
                assert!(sleep(2), "{name} was cut short");
                if ticking && regions::is_known_sleeper(region) {
                    hit += 1;
                    (0..20).for_each(|_| player.spin());
                    assert!(!player.watched.alarm.is_running(), "{name}: an alarm in a region that sleeps");
                }
            });
        }
        println!("{name}: {hit} regions");
        assert!(hit > 0, "{name}: no alarm has hit it");
    }
    assert!(counters().restarts > before.restarts);
}
