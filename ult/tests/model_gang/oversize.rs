//! Gangs with more threads than there are workers: mates share a worker.

use crate::check::{LARGE, all_end, deadlocks, ends, fails, some_deadlock};
use crate::explore::StepKind;
use crate::families::{gangs, one_level, spinning};
use crate::program::{Eligibility, ModelProgram, ModelRules, Monitor, Op};

const MONITOR: ModelRules = ModelRules { monitor: Monitor::Fifo, ..ModelRules::STRICT };

/// One or two gangs of 2 and 3 on one or two workers, spin barriers and the runtime's in every
/// order.
fn family() -> Vec<(String, ModelProgram)> {
    let of = |workers, sizes: &[usize]| {
        one_level(workers, sizes, workers.min(sizes.len()), 2, &[Op::Spin, Op::Meet])
    };
    let mut all = [of(1, &[2]), of(1, &[3]), of(2, &[3])].concat();
    for sizes in [[3, 2], [2, 3], [3, 3]] {
        all.extend(of(2, &sizes).into_iter().step_by(if LARGE { 1 } else { 5 }));
    }
    all
}

#[test]
fn a_spinning_gang_of_three_on_two_workers_needs_the_monitor() {
    let program = spinning(2, &[3], 1, 2);
    deadlocks("rule", program.clone(), ModelRules::STRICT);
    ends("rule and monitor", program, MONITOR);
}

#[test]
fn the_runtimes_own_barriers_need_no_monitor() {
    let script = vec![Op::Meet(0), Op::Meet(1)];
    ends("rule", gangs(2, &[3], 1, &[&script]), ModelRules::STRICT);
    ends("rule", gangs(2, &[3, 3], 2, &[&script, &script]), ModelRules::STRICT);
}

#[test]
fn the_papers_rule_starves_mates_behind_a_visible_wait() {
    let script = vec![Op::Meet(0)];
    let rules = ModelRules { eligibility: Eligibility::PaperRule, ..MONITOR };
    deadlocks("smaller ids only", gangs(2, &[3], 1, &[&script]), rules);
}

#[test]
fn the_rule_and_the_monitor_suffice() {
    some_deadlock("rule", family(), ModelRules::STRICT);
    all_end("rule and monitor", family(), MONITOR);
}

#[test]
fn the_exception_does_no_harm_under_the_monitor() {
    let few: Vec<_> = family().into_iter().step_by(if LARGE { 1 } else { 6 }).collect();
    all_end("rule, monitor and exception", few, ModelRules { exception: true, ..MONITOR });
}

#[test]
fn the_monitor_must_go_round() {
    fails(
        "last in, first out",
        spinning(1, &[3], 1, 2),
        ModelRules { monitor: Monitor::Lifo, ..MONITOR },
        StepKind::Livelock,
    );
}

#[test]
fn the_monitor_alone_replaces_the_order() {
    let few: Vec<_> = family().into_iter().step_by(if LARGE { 1 } else { 6 }).collect();
    all_end("monitor, no order", few, ModelRules { monitor: Monitor::Fifo, ..ModelRules::NO_ORDER });
}
