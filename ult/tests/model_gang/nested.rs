//! Two levels: gangs whose threads fork gangs.

use crate::check::{LARGE, all_end, deadlocks, ends};
use crate::program::{ModelProgram, ModelRules, Monitor, Op, alike, forks};

const MONITOR: ModelRules = ModelRules { monitor: Monitor::Fifo, ..ModelRules::STRICT };

/// Gang A of `outer` threads; the first `forking` of them fork a gang of `inner` each before they
/// go on.
fn nested(
    workers: usize,
    outer: usize,
    inner: usize,
    forking: u8,
    after: &[Op],
    within: &[Op],
) -> ModelProgram {
    let mut gangs = vec![alike(outer, after)];
    for thread in 0..forking {
        gangs[0][thread as usize].insert(0, Op::Fork(thread + 1));
        gangs.push(alike(inner, within));
    }
    ModelProgram::new(workers, vec![forks(0, &[0])], gangs)
}

/// Roots on two workers: one forks gang A, whose thread 0 forks gang B; the other forks gang C.
fn beside(workers: usize, outer: &[Op], inner: &[Op]) -> ModelProgram {
    let mut a = alike(2, outer);
    a[0].insert(0, Op::Fork(1));
    ModelProgram::new(
        workers,
        vec![forks(0, &[0]), forks(1, &[2])],
        vec![a, alike(2, inner), alike(2, outer)],
    )
}

const SPIN: &[Op] = &[Op::Spin(0)];
const MEET: &[Op] = &[Op::Meet(0)];
const MEET_SPIN: &[Op] = &[Op::Meet(0), Op::Spin(1)];
const SPIN_MEET: &[Op] = &[Op::Spin(0), Op::Meet(1)];

/// Nested programs with every pair of these scripts.
fn family(large: bool) -> Vec<(String, ModelProgram)> {
    let mut all = Vec::new();
    for (outer, inner) in
        [(SPIN, SPIN), (MEET, SPIN), (SPIN, MEET), (MEET_SPIN, SPIN), (SPIN_MEET, SPIN), (SPIN, MEET_SPIN)]
    {
        let name = format!("{outer:?} around {inner:?}");
        for (workers, sizes) in [(2, (2, 2)), (3, (2, 2)), (3, (3, 2)), (3, (2, 3)), (3, (3, 3))] {
            for forking in 1..=if large || workers == 2 { 2 } else { 1 } {
                let program = nested(workers, sizes.0, sizes.1, forking, outer, inner);
                all.push((format!("{sizes:?} on {workers}, {forking} forking, {name}"), program));
            }
        }
        all.push((format!("beside another on 2, {name}"), beside(2, outer, inner)));
        if large {
            all.push((format!("beside another on 3, {name}"), beside(3, outer, inner)));
        }
    }
    all
}

#[test]
fn the_rule_alone_deadlocks_under_spinning_outer_gangs() {
    let rules = ModelRules { nearest: true, ..ModelRules::STRICT };
    deadlocks("nested", nested(2, 2, 2, 1, SPIN, SPIN), rules);
    deadlocks("nested beside another", beside(3, SPIN, SPIN), rules);
}

#[test]
fn the_rule_alone_suffices_while_outer_gangs_wait_in_the_runtime() {
    for workers in 2..=3 {
        for forking in 1..=2 {
            ends("nested", nested(workers, 2, 2, forking, MEET, SPIN), ModelRules::STRICT);
        }
        ends("beside another", beside(workers, MEET, SPIN), ModelRules::STRICT);
    }
}

#[test]
fn the_rule_and_the_monitor_suffice() {
    all_end("rule and monitor", family(LARGE), MONITOR);
}

#[test]
fn the_exception_does_no_harm_under_the_monitor() {
    all_end("rule, monitor and exception", family(false), ModelRules { exception: true, ..MONITOR });
}

#[test]
fn the_monitor_alone_replaces_the_order() {
    let few: Vec<_> = family(false).into_iter().step_by(if LARGE { 1 } else { 6 }).collect();
    all_end("monitor, no order", few, ModelRules { monitor: Monitor::Fifo, ..ModelRules::NO_ORDER });
}
