//! Gangs whose threads sleep in the kernel for each other, where no thread can switch them out. A
//! spare kernel thread stands in for the worker, and gives back what it has taken over when the
//! worker moves again.

use crate::check::{LARGE, all_end, deadlocks, ends, some_deadlock};
use crate::families::{gangs, one_level};
use crate::program::{HandOff, ModelProgram, ModelRules, Monitor, Op, SPARES, forks};

const MONITOR: ModelRules = ModelRules { monitor: Monitor::Fifo, exception: true, ..ModelRules::STRICT };
const HAND_OFF: ModelRules = ModelRules { hand_off: HandOff::Stuck, ..MONITOR };

fn blocking(workers: usize, sizes: &[usize], roots: usize) -> ModelProgram {
    let script = vec![Op::Block(0)];
    gangs(workers, sizes, roots, &vec![&script; sizes.len()]).with_spares(SPARES)
}

/// One or two gangs on one or two workers, threads that sleep, spin and wait in the runtime in
/// every order.
fn family() -> Vec<(String, ModelProgram)> {
    let kinds: &[fn(u8) -> Op] = &[Op::Block, Op::Spin, Op::Meet];
    let mut all =
        [one_level(1, &[2], 1, 2, kinds), one_level(1, &[3], 1, 1, kinds), one_level(2, &[3], 1, 1, kinds)]
            .concat();
    let more = [
        one_level(1, &[3], 1, 2, kinds),
        one_level(2, &[3], 1, 2, kinds),
        one_level(2, &[2, 2], 2, 1, kinds),
    ]
    .concat();
    all.extend(more.into_iter().step_by(if LARGE { 1 } else { 6 }));
    all.into_iter().map(|(name, program)| (name, program.with_spares(SPARES))).collect()
}

#[test]
fn a_gang_that_blocks_needs_hand_off() {
    deadlocks("monitor alone", blocking(1, &[2], 1), MONITOR);
    ends("monitor and hand-off", blocking(1, &[2], 1), HAND_OFF);
}

#[test]
fn who_stands_in_and_blocks_has_to_be_stood_in_for() {
    deadlocks("once", blocking(1, &[3], 1), ModelRules { hand_off: HandOff::Once, ..HAND_OFF });
    ends("again", blocking(1, &[3], 1), HAND_OFF);
}

/// A0 sleeps for its mates; A1 spins for what A2 does, which is queued behind A0.
#[test]
fn who_stands_in_and_spins_for_what_is_queued_at_home_has_to_be_stood_in_for() {
    let scripts = vec![vec![Op::Block(0)], vec![Op::Poll(0), Op::Block(0)], vec![Op::Raise(0), Op::Block(0)]];
    let program = ModelProgram::new(1, vec![forks(0, &[0])], vec![scripts]).with_spares(SPARES);
    deadlocks("sleepers only", program.clone(), ModelRules { hand_off: HandOff::Sleepers, ..HAND_OFF });
    ends("spinners, too", program, HAND_OFF);
}

#[test]
fn there_must_be_spares_enough() {
    deadlocks("one spare", blocking(1, &[3], 1).with_spares(1), HAND_OFF);
    ends("two", blocking(1, &[3], 1).with_spares(2), HAND_OFF);
}

#[test]
fn hand_off_the_monitor_and_the_exception_suffice() {
    some_deadlock("without hand-off", family(), MONITOR);
    all_end("with hand-off", family(), HAND_OFF);
}
