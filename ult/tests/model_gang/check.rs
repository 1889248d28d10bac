//! How the runs ask their question.

use crate::explore::{ModelFault, StepKind, explore};
use crate::program::{ModelProgram, ModelRules};
use crate::scheduler::Scheduler;

/// More than any run needs; a run that passes it has grown by mistake.
const LIMIT: usize = 3_000_000;

/// Unoptimised builds leave the larger runs out: they explore far more slowly.
pub const LARGE: bool = !cfg!(debug_assertions);

/// Every run of `program` under `rules` ends. The number of states.
#[track_caller]
pub fn ends(name: &str, program: ModelProgram, rules: ModelRules) -> usize {
    let outcome = explore(&Scheduler { program, rules }, LIMIT);
    if let Some(fault) = outcome.fault {
        panic!("{name}: {:?} after {} steps\n{}", fault.kind, fault.steps, fault.trace.join("\n"));
    }
    assert!(outcome.done > 0, "{name} never reaches its end");
    outcome.states
}

/// As [`ends`], for each of many programs with their names.
#[track_caller]
pub fn all_end(name: &str, programs: Vec<(String, ModelProgram)>, rules: ModelRules) {
    let began = std::time::Instant::now();
    let count = programs.len();
    let states: usize =
        programs.into_iter().map(|(program, it)| ends(&format!("{name}: {program}"), it, rules)).sum();
    println!("{name}: {count} programs, {states} states, {:.1} s", began.elapsed().as_secs_f64());
}

/// Some of the programs do not end under `rules`; prints the shortest trace.
#[track_caller]
pub fn some_deadlock(name: &str, programs: Vec<(String, ModelProgram)>, rules: ModelRules) {
    let count = programs.len();
    let fault_of = |program| explore(&Scheduler { program, rules }, LIMIT).fault;
    let stuck = programs.into_iter().filter_map(|(program, it)| Some((program, fault_of(it)?)));
    let stuck: Vec<_> = stuck.filter(|(_, fault)| fault.kind == StepKind::Deadlock).collect();
    let (program, fault) =
        stuck.iter().min_by_key(|(_, fault)| fault.steps).unwrap_or_else(|| panic!("{name}: no deadlock"));
    println!(
        "{name}: {} of {count} programs; {program}, after {} steps\n{}\n",
        stuck.len(),
        fault.steps,
        fault.trace.join("\n")
    );
}

/// Some run of `program` under `rules` does not end, in the way of `kind`.
#[track_caller]
pub fn fails(name: &str, program: ModelProgram, rules: ModelRules, kind: StepKind) -> ModelFault {
    let outcome = explore(&Scheduler { program, rules }, LIMIT);
    let fault = outcome.fault.unwrap_or_else(|| panic!("{name}: no {kind:?} in {} states", outcome.states));
    println!("{name}: {kind:?} after {} steps\n{}\n", fault.steps, fault.trace.join("\n"));
    assert_eq!(fault.kind, kind, "{name}");
    fault
}

/// As [`fails`], for a deadlock.
#[track_caller]
pub fn deadlocks(name: &str, program: ModelProgram, rules: ModelRules) -> ModelFault {
    fails(name, program, rules, StepKind::Deadlock)
}
