//! Gangs of one level that fit the workers and spin in user code.

use crate::check::{LARGE, all_end, deadlocks, ends};
use crate::families::{mixed, mixed_large, spinning};
use crate::program::{Eligibility, ModelRules, ModelStealing, Monitor};

#[test]
fn the_rule_suffices_for_spinning_gangs() {
    for (workers, sizes, roots, barriers) in [
        (2, &[2, 2][..], 2, 3),
        (2, &[2, 2, 2], 2, 3),
        (2, &[2, 2, 2], 3, 3),
        (3, &[3, 3], 2, 2),
        (3, &[2, 2, 2], 3, 2),
        (3, &[3, 2, 2], 3, 2),
        (3, &[2, 3, 3], 2, 2),
        (3, &[3, 3, 3], 3, 2),
    ] {
        let name = format!("{sizes:?} on {workers}, {roots} roots");
        let states = ends(&name, spinning(workers, sizes, roots, barriers), ModelRules::STRICT);
        println!("{name}: {states} states");
    }
}

#[test]
fn without_any_order_two_gangs_deadlock() {
    let fault = deadlocks("no order", spinning(2, &[2, 2], 2, 1), ModelRules::NO_ORDER);
    assert_eq!(fault.steps, 6);
}

#[test]
fn thread_0_must_give_way() {
    let fault = deadlocks(
        "no yielding",
        spinning(2, &[2, 2], 2, 1),
        ModelRules { give_way: false, ..ModelRules::STRICT },
    );
    assert_eq!(fault.steps, 6);
}

#[test]
fn a_thief_must_look_at_its_own_deque_first() {
    deadlocks(
        "no look",
        spinning(3, &[3, 2], 2, 1),
        ModelRules { stealing: ModelStealing::NoLook, nearest: true, ..ModelRules::STRICT },
    );
}

#[test]
fn a_look_before_the_victims_deque_is_too_early() {
    let rules = ModelRules { stealing: ModelStealing::LookedBefore, ..ModelRules::STRICT };
    deadlocks("looked before", spinning(3, &[2, 3, 3], 2, 1), rules);
}

#[test]
fn a_worker_must_not_steal_a_mate_of_a_context_that_mates_may_need() {
    let rules = ModelRules { eligibility: Eligibility::MatesStolen, ..ModelRules::STRICT };
    deadlocks("mates stolen while yielding", spinning(2, &[2, 2], 2, 1), rules);
}

#[test]
fn the_monitor_alone_replaces_the_order() {
    let few: Vec<_> = mixed().into_iter().step_by(if LARGE { 1 } else { 8 }).collect();
    all_end("monitor, no order", few, ModelRules { monitor: Monitor::Fifo, ..ModelRules::NO_ORDER });
}

#[test]
fn the_monitor_does_no_harm_to_the_order() {
    all_end("monitor and rule", mixed(), ModelRules { monitor: Monitor::Fifo, ..ModelRules::STRICT });
    if LARGE {
        let few = mixed_large().into_iter().step_by(3).collect();
        all_end("monitor and rule", few, ModelRules { monitor: Monitor::Fifo, ..ModelRules::STRICT });
    }
}
