//! What the decision has to reach in the model. `docs/models/allotment.md` has the table.

use super::{ProgramKind, ShareConfig, ShareResult, WorkerControl, simulate};

const KINDS: [ProgramKind; 4] = [
    ProgramKind::Barriers(40),
    ProgramKind::Barriers(1_000),
    ProgramKind::Tasks,
    ProgramKind::Phases(100, 50),
];

fn run(
    processors: usize,
    kind: ProgramKind,
    processes: usize,
    loops: usize,
    control: WorkerControl,
) -> Vec<ShareResult> {
    simulate(&ShareConfig {
        processors,
        programs: vec![kind; processes],
        loops,
        millis: 1000,
        control,
        seed: 7,
    })
}

fn total(results: &[ShareResult]) -> f64 {
    results.iter().map(|result| result.rate).sum()
}

/// Jain's index: 1 if all have the same.
fn fairness(results: &[ShareResult]) -> f64 {
    let squares: f64 = results.iter().map(|result| result.rate * result.rate).sum();
    total(results).powi(2) / (results.len() as f64 * squares)
}

fn best_fixed(processors: usize, kind: ProgramKind, processes: usize, loops: usize) -> f64 {
    let counts = (0..7).map(|bit| 1 << bit).filter(|&count| count as usize <= processors);
    counts
        .map(|count| total(&run(processors, kind, processes, loops, WorkerControl::Fixed(count))))
        .fold(0.0, f64::max)
}

#[test]
fn a_free_machine_is_used_as_before() {
    for kind in KINDS {
        let (fixed, followed) = (WorkerControl::Fixed(8), WorkerControl::Followed);
        assert_eq!(run(8, kind, 1, 0, fixed), run(8, kind, 1, 0, followed), "{kind:?}");
    }
}

#[test]
fn processes_come_within_a_third_of_the_best_fixed_number() {
    for kind in KINDS {
        for (processors, processes, loops) in
            [(2, 1, 1), (2, 2, 0), (2, 4, 0), (2, 16, 0), (8, 1, 1), (8, 1, 4), (8, 2, 0), (8, 16, 0)]
        {
            let followed = run(processors, kind, processes, loops, WorkerControl::Followed);
            let (sum, best) = (total(&followed), best_fixed(processors, kind, processes, loops));
            let what = format!("{kind:?}, {processes} on {processors} with {loops} loops");
            assert!(1.3 * sum >= best, "{what}: {sum:.2} of {best:.2}");
            assert!(fairness(&followed) > 0.75, "{what}: {followed:?}");
            assert!(followed.iter().all(|result| result.changes <= 40.0), "{what}: {followed:?}");
        }
    }
}

/// The mistakes that the decision must not make: leaving workers that are of use, and keeping
/// workers that only wait.
#[test]
fn barriers_beside_a_loop_run_on_fewer_workers_and_tasks_on_all() {
    let barriers = run(2, ProgramKind::Barriers(40), 1, 1, WorkerControl::Followed);
    assert!(barriers[0].workers < 1.2, "{barriers:?}");
    let all = run(2, ProgramKind::Barriers(40), 1, 1, WorkerControl::Fixed(2));
    assert!(barriers[0].rate > 1.3 * all[0].rate, "{barriers:?} {all:?}");
    let tasks = run(2, ProgramKind::Tasks, 1, 1, WorkerControl::Followed);
    assert!(tasks[0].workers > 1.8, "{tasks:?}");
}
