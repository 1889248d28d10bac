//! Waits that the runtime sees: what a worker may do meanwhile.

use crate::check::{LARGE, all_end, deadlocks, ends, some_deadlock};
use crate::families::{mixed, mixed_large};
use crate::program::{Eligibility, ModelProgram, ModelRules, Monitor, Op, Resuming, forks};

const EXCEPTION: ModelRules = ModelRules { exception: true, ..ModelRules::STRICT };
const BOTH: ModelRules = ModelRules { monitor: Monitor::Fifo, ..EXCEPTION };

#[test]
fn the_rule_suffices_for_both_kinds_of_barriers() {
    all_end("rule", mixed(), ModelRules::STRICT);
    all_end("rule", mixed_large(), ModelRules::STRICT);
}

#[test]
fn anything_at_a_visible_wait_deadlocks() {
    some_deadlock(
        "anything at a wait",
        mixed(),
        ModelRules { eligibility: Eligibility::Anything, ..ModelRules::STRICT },
    );
}

#[test]
fn younger_gangs_at_a_visible_wait_deadlock() {
    let rules = ModelRules { eligibility: Eligibility::OtherGangs, ..ModelRules::STRICT };
    some_deadlock("younger gangs at a wait", mixed(), rules);
}

#[test]
fn mates_stolen_at_a_visible_wait_deadlock() {
    some_deadlock(
        "mates stolen at a wait",
        mixed(),
        ModelRules { eligibility: Eligibility::MatesStolen, ..ModelRules::STRICT },
    );
}

#[test]
fn a_context_that_can_go_on_must_wait_for_older_ones_of_its_worker() {
    some_deadlock(
        "resumed out of order",
        mixed(),
        ModelRules { resuming: Resuming::AnyReady, ..ModelRules::STRICT },
    );
}

#[test]
fn the_exception_deadlocks_without_the_monitor() {
    some_deadlock("exception alone", mixed(), EXCEPTION);
}

#[test]
fn the_exception_is_harmless_under_the_monitor() {
    let few: Vec<_> = mixed().into_iter().step_by(if LARGE { 1 } else { 8 }).collect();
    all_end("exception and monitor", few, BOTH);
}

/// Two kernel threads of the program (W0, W1) and one worker, W2. Gang A, the older, does `wait` on
/// W2 until gang B has run there; B's thread 0 spins, so it cannot run its mate itself.
fn across_roots(wait: Op) -> ModelProgram {
    let older = vec![vec![], vec![wait]];
    let younger = vec![vec![Op::Spin(0)], vec![Op::Raise(0), Op::Spin(0)]];
    ModelProgram::new(3, vec![forks(0, &[0]), forks(1, &[1])], vec![older, younger])
        .with_foreign(0, 0)
        .with_foreign(1, 1)
}

#[test]
fn a_dependence_on_a_younger_gang_needs_the_exception() {
    let program = across_roots(Op::Await(0));
    deadlocks("rule", program.clone(), ModelRules::STRICT);
    deadlocks(
        "rule and monitor",
        program.clone(),
        ModelRules { monitor: Monitor::Fifo, ..ModelRules::STRICT },
    );
    ends("rule and exception", program.clone(), EXCEPTION);
    ends("rule, exception and monitor", program, BOTH);
}

#[test]
fn an_invisible_dependence_on_a_younger_gang_needs_the_monitor() {
    let program = across_roots(Op::Poll(0));
    deadlocks("rule and exception", program.clone(), EXCEPTION);
    ends("rule and monitor", program.clone(), ModelRules { monitor: Monitor::Fifo, ..ModelRules::STRICT });
    ends("rule, exception and monitor", program, BOTH);
}
