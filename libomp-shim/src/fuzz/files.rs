//! Files that variables name: machines, rates, recorded graphs, placements by hand.
//!
//! What is written of an answer has to be read as the same; a plan of a graph that was accepted has
//! to pass the judge of plans.

use placement::choice::PlacementChoice;
use placement::graph::{Graph, GraphDevice, GraphMachine};
use placement::manual::{self, ManualKind};
use placement::rates::Rates;
use placement::replay::{ReplayFault, replay};
use ult::topology::Description;

use omp::judging::in_time;

/// Larger graphs are read, but not planned: planners are slower than lines are long.
const PLANNED: usize = 40;

/// A complaint is one line that says something.
fn is_a_line(why: &str) {
    assert!(!why.is_empty() && !why.contains('\n'), "{why:?}");
}

/// `GANGWAY_TOPOLOGY`.
pub fn machines(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let machine = match in_time(&*text, || Description::parse(&text)) {
        Ok(machine) => machine,
        Err(why) => return is_a_line(&why),
    };
    let Description { cpus, caches, slit, numbers, .. } = &machine;
    let mut all: Vec<usize> = cpus.iter().map(|cpu| cpu.os).collect();
    all.sort_unstable();
    assert!(
        !all.is_empty() && all.windows(2).all(|pair| pair[0] < pair[1]) && all[all.len() - 1] < *numbers,
        "{text}"
    );
    assert!((1..=all.len()).contains(&machine.worker_target()), "{text}");
    // Neighbours stand next to each other: a package does not come again, nor does a core.
    for what in [|cpu: &ult::topology::Cpu| cpu.socket, |cpu: &ult::topology::Cpu| cpu.core] {
        let mut runs: Vec<usize> = cpus.iter().map(what).collect();
        runs.dedup();
        let count = runs.len();
        runs.sort_unstable();
        runs.dedup();
        assert_eq!(runs.len(), count, "{text}");
    }
    let mut shared = caches.concat();
    shared.sort_unstable();
    assert!(shared.is_empty() || shared == all, "{text}");
    assert!(slit.iter().all(|row| row.len() == slit.len()), "{text}");
    assert_eq!(in_time(&*text, || machine.caches_of(cpus)).concat().len(), shared.len(), "{text}");
}

/// `OMPX_RATES`.
pub fn rates(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let rates = match in_time(&*text, || Rates::read(&text)) {
        Ok(rates) => rates,
        Err(why) => return is_a_line(&why),
    };
    assert_eq!(Rates::read(&rates.write()).as_ref(), Ok(&rates), "{text}");
    let machine = rates.machine(1, 3, 1 << 20);
    for (from, to) in [(0, 1), (1, 0), (1, 2), (2, 1), (0, 3)] {
        let rate = rates.between(from, to);
        assert!(rate.latency > 0.0 && rate.bandwidth > 0.0 && rate.compute > 0.0, "{text}");
        assert!(rate.time(1) <= rate.time(u64::MAX), "{text}");
        let _ = machine.transfer(u64::MAX, from.min(2), to.min(2));
    }
}

/// `OMPX_GRAPH`. The first byte chooses the devices.
pub fn graphs(input: &[u8]) {
    let Some((&chosen, text)) = input.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let graph = match in_time(&*text, || placement::file::read(&text)) {
        Ok(graph) => graph,
        Err(why) => return is_a_line(&why),
    };
    assert_eq!(placement::file::read(&placement::file::write(&graph)).as_ref(), Ok(&graph), "{text}");
    if !graph.is_empty() && graph.len() + graph.edges().len() <= PLANNED {
        let device = |number: u8| {
            GraphDevice::new("one", [1 << 10, 1 << 30, u64::MAX][usize::from(chosen / 4 % 3)])
                .of_speed(f64::from(number))
        };
        let machine = GraphMachine::new((1..2 + chosen % 4).map(device).collect());
        in_time(&*text, || plans(&text, &graph, &machine));
    }
}

fn plans(text: &str, graph: &Graph, machine: &GraphMachine) {
    for choice in [
        PlacementChoice::Heft(1.0),
        PlacementChoice::Heft(0.3),
        PlacementChoice::Insertion(1.0),
        PlacementChoice::Insertion(0.0),
    ] {
        let planned = choice.policy().and_then(|mut policy| policy.plan(graph, machine));
        let Some(Ok(schedule)) = planned else { continue };
        let fault: Option<ReplayFault> = replay(graph, machine, &schedule).err();
        assert!(fault.is_none(), "{choice} planned {text}: {fault:?}");
    }
}

/// `OMPX_TASKS`, `OMPX_SCHED=manual:`. The first byte says how many ranks there are.
pub fn manual(input: &[u8]) {
    let Some((&ranks, text)) = input.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let ranks = usize::from(ranks % 8) + 1;
    let lines = match in_time(&*text, || manual::parse(&text)) {
        Ok(lines) => lines,
        Err(why) => return is_a_line(&why),
    };
    let device =
        |rank: usize, kind, number| (rank < ranks && kind == ManualKind::Cpu && number == 0).then_some(rank);
    match in_time(&*text, || manual::devices(&lines, device)) {
        Err(why) => is_a_line(&why),
        Ok(found) => {
            let last =
                |task| lines.iter().rev().find(|line| line.tasks.iter().any(|range| range.contains(&task)));
            for task in [0, 1, 7, found.len().saturating_sub(1), found.len()] {
                assert_eq!(
                    found.get(task).copied().flatten(),
                    last(task).map(|line| line.rank),
                    "task {task} of {text}"
                );
            }
        }
    }
}
