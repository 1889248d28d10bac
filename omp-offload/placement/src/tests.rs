//! What has to be true of policies, on the graphs of the examples and on a thousand random ones.

use crate::choice::PlacementChoice;
use crate::examples::{self, STRASSEN_BY_HAND, random};
use crate::graph::{
    Graph, GraphDevice, GraphEdge, GraphMachine, GraphPlaced, GraphSchedule, GraphTask, NoRoom,
};
use crate::manual;
use crate::online::{ByHand, EarliestStart, LeastLoaded, RoundRobin};
use crate::planned::Planned;
use crate::policy::{PlacementPolicy, PlacementRequest, View};
use crate::replay::{ReplayFault, ReplayOutcome, replay};
use crate::{Time, heft, insertion, simulate};

const GRAPHS: u64 = 1000;

fn policies() -> Vec<Box<dyn PlacementPolicy>> {
    let names =
        ["least", "rrmc", "estmc", "heftmc:lambda=0.7", "heftmc", "ishmc:lambda=0.7", "ishmc:lambda=0"];
    names
        .iter()
        .map(|name| name.parse::<PlacementChoice>().expect("a policy").policy().expect("one of ours"))
        .collect()
}

fn ample(machine: &GraphMachine) -> GraphMachine {
    GraphMachine::new(machine.devices.iter().map(|d| GraphDevice { memory: u64::MAX, ..d.clone() }).collect())
}

#[test]
fn no_device_ever_exceeds_its_limit() {
    let (mut refused, mut tight) = (0, 0);
    for seed in 0..GRAPHS {
        let (graph, machine) = random(seed);
        for mut policy in policies() {
            match simulate::run(&graph, &machine, &mut *policy) {
                Ok(schedule) => drop(
                    replay(&graph, &machine, &schedule)
                        .unwrap_or_else(|f| panic!("{seed} {}: {f:?}", policy.name())),
                ),
                Err(NoRoom { .. }) => {
                    assert!(
                        seed % 2 == 1,
                        "seed {seed}, {}: a device without a limit takes everything",
                        policy.name()
                    );
                    refused += 1;
                }
            }
            let free = simulate::run(&graph, &ample(&machine), &mut *policy).expect("there is room");
            tight += usize::from(matches!(replay(&graph, &machine, &free), Err(ReplayFault::Memory { .. })));
        }
    }
    println!("{tight} of {} would exceed a limit if nobody looked, {refused} do not fit at all", 7 * GRAPHS);
    assert!(tight > 1000, "the limits matter: {tight}");
    assert!(refused < 700, "most graphs fit: {refused}");
}

#[test]
fn the_examples_keep_their_limits_too() {
    let tile = 8 * 256 * 256;
    let cases = [
        (examples::strassen(2048, 0.0), examples::cluster()),
        (examples::cholesky(8, 256), examples::ranks(4, 16 * tile)),
        (examples::cholesky(8, 256), examples::ranks(3, 24 * tile)),
    ];
    for (graph, machine) in cases {
        for mut policy in policies() {
            let schedule = simulate::run(&graph, &machine, &mut *policy)
                .unwrap_or_else(|e| panic!("{}: {e}", policy.name()));
            replay(&graph, &machine, &schedule).unwrap_or_else(|f| panic!("{}: {f:?}", policy.name()));
        }
    }
}

/// HEFT as published, without memory: written a second time, from the paper.
fn plain_heft(graph: &Graph, machine: &GraphMachine) -> GraphSchedule {
    let mut placed: Vec<Option<GraphPlaced>> = vec![None; graph.len()];
    for task in graph.by_rank(machine) {
        let mut best: Option<GraphPlaced> = None;
        for device in 0..machine.devices.len() {
            let place = gap(graph, machine, &placed, task, device);
            if best.is_none_or(|b| place.finish < b.finish) {
                best = Some(place);
            }
        }
        placed[task] = best;
    }
    GraphSchedule(placed.into_iter().flatten().collect())
}

fn arrival(
    graph: &Graph,
    machine: &GraphMachine,
    placed: &[Option<GraphPlaced>],
    task: usize,
    device: usize,
) -> Time {
    let mut ready = 0;
    for edge in graph.before(task) {
        let from = placed[edge.from].expect("placed");
        ready = ready.max(from.finish + machine.transfer(edge.bytes, from.device, device));
    }
    ready
}

/// The first gap that is long enough.
fn gap(
    graph: &Graph,
    machine: &GraphMachine,
    placed: &[Option<GraphPlaced>],
    task: usize,
    device: usize,
) -> GraphPlaced {
    let cost = machine.cost(&graph.tasks()[task], device);
    let mut busy: Vec<&GraphPlaced> = placed.iter().flatten().filter(|p| p.device == device).collect();
    busy.sort_by_key(|p| p.start);
    let mut start = arrival(graph, machine, placed, task, device);
    for other in busy {
        if start + cost <= other.start {
            break;
        }
        start = start.max(other.finish);
    }
    GraphPlaced { device, start, finish: start + cost }
}

#[test]
fn with_ample_memory_and_time_alone_it_is_heft() {
    for seed in 0..GRAPHS {
        let (graph, machine) = random(seed);
        let machine = ample(&machine);
        assert_eq!(heft::schedule(&graph, &machine, 1.0), Ok(plain_heft(&graph, &machine)), "seed {seed}");
    }
    let (graph, machine) = (examples::strassen(2048, 0.0), examples::cluster());
    assert_eq!(heft::schedule(&graph, &machine, 1.0), Ok(plain_heft(&graph, &machine)));
}

/// The insertion heuristic as published, without memory: written a second time.
fn plain_ish(graph: &Graph, machine: &GraphMachine) -> GraphSchedule {
    let (order, count) = (graph.by_rank(machine), machine.devices.len());
    let mut placed: Vec<Option<GraphPlaced>> = vec![None; graph.len()];
    let mut free_at = vec![0; count];
    let list = |placed: &[Option<GraphPlaced>]| -> Vec<usize> {
        let ready = |t: usize| placed[t].is_none() && graph.before(t).all(|e| placed[e.from].is_some());
        order.iter().copied().filter(|&t| ready(t)).collect()
    };
    while let Some(&task) = list(&placed).first() {
        let start = |t: usize, d: usize, placed: &[Option<GraphPlaced>], from: Time| {
            from.max(arrival(graph, machine, placed, t, d))
        };
        let cost = |t: usize, d: usize| machine.cost(&graph.tasks()[t], d);
        let device = (0..count)
            .min_by_key(|&d| start(task, d, &placed, free_at[d]) + cost(task, d))
            .expect("a device");
        let (begin, at) = (free_at[device], start(task, device, &placed, free_at[device]));
        let waiting: Vec<usize> = list(&placed).split_off(1);
        placed[task] = Some(GraphPlaced { device, start: at, finish: at + cost(task, device) });
        free_at[device] = at + cost(task, device);
        let mut holes = vec![(begin, at)];
        for other in waiting {
            for hole in 0..holes.len() {
                let from = start(other, device, &placed, holes[hole].0);
                let sooner = (0..count).any(|d| d != device && start(other, d, &placed, free_at[d]) < from);
                if begin < at && from + cost(other, device) <= holes[hole].1 && !sooner {
                    let finish = from + cost(other, device);
                    placed[other] = Some(GraphPlaced { device, start: from, finish });
                    let (first, last) = holes[hole];
                    holes.splice(hole..=hole, [(first, from), (finish, last)]);
                    break;
                }
            }
        }
    }
    GraphSchedule(placed.into_iter().flatten().collect())
}

#[test]
fn with_ample_memory_and_time_alone_it_is_ish() {
    for seed in 0..GRAPHS {
        let (graph, machine) = random(seed);
        let machine = ample(&machine);
        assert_eq!(
            insertion::schedule(&graph, &machine, 1.0),
            Ok(plain_ish(&graph, &machine)),
            "seed {seed}"
        );
    }
}

/// Algorithm 6 to the letter: a running sum per device, given back when the last reader is mapped.
fn literal(graph: &Graph, machine: &GraphMachine) -> Option<GraphSchedule> {
    let need = |t: usize, d: usize, placed: &[Option<GraphPlaced>]| -> u64 {
        let copies =
            graph.before(t).filter(|e| placed[e.from].is_some_and(|p| p.device != d)).map(|e| e.bytes);
        graph.tasks()[t].keeps + graph.tasks()[t].scratch + copies.sum::<u64>()
    };
    let mut left: Vec<u64> = machine.devices.iter().map(|d| d.memory).collect();
    let mut unread: Vec<usize> = (0..graph.len()).map(|t| graph.after(t).count()).collect();
    let (mut placed, mut taken) = (vec![None; graph.len()], vec![0; graph.len()]);
    for task in graph.by_rank(machine) {
        let fitting = (0..left.len()).filter(|&d| left[d] >= need(task, d, &placed));
        let place: GraphPlaced =
            fitting.map(|d| gap(graph, machine, &placed, task, d)).min_by_key(|p| p.finish)?;
        taken[task] = need(task, place.device, &placed);
        left[place.device] -= taken[task];
        placed[task] = Some(place);
        for edge in graph.before(task) {
            unread[edge.from] -= 1;
            if unread[edge.from] == 0 {
                left[placed[edge.from].expect("placed").device] += taken[edge.from];
            }
        }
    }
    Some(GraphSchedule(placed.into_iter().flatten().collect()))
}

#[test]
fn the_literal_sum_exceeds_the_limit() {
    let (mut complete, mut exceeding) = (0, 0);
    for seed in 0..GRAPHS {
        let (graph, machine) = random(seed);
        if let Some(schedule) = literal(&graph, &machine) {
            complete += 1;
            exceeding +=
                usize::from(matches!(replay(&graph, &machine, &schedule), Err(ReplayFault::Memory { .. })));
        }
    }
    println!("algorithm 6 to the letter: {complete} schedules, {exceeding} of them exceed a limit");
    assert!(exceeding > 0, "it would be right as it stands");
}

fn outcome(graph: &Graph, machine: &GraphMachine, policy: &mut dyn PlacementPolicy) -> ReplayOutcome {
    let schedule = simulate::run(graph, machine, policy).expect("there is room");
    replay(graph, machine, &schedule).expect("a right schedule")
}

fn by_hand() -> ByHand {
    let lines = manual::parse(STRASSEN_BY_HAND).expect("right");
    let device = |rank: usize, kind, _| Some(2 * rank + usize::from(kind == manual::ManualKind::Gpu));
    ByHand::new(manual::devices(&lines, device).expect("all there"))
}

#[test]
fn strassen_orders_as_published() {
    for setup in [0.0, 2e9] {
        let (graph, machine) = (examples::strassen(2048, setup), examples::cluster());
        let heft = outcome(&graph, &machine, &mut Planned::heft(1.0)).makespan;
        let turns = outcome(&graph, &machine, &mut RoundRobin::default()).makespan;
        let hand = outcome(&graph, &machine, &mut by_hand()).makespan;
        println!("setup {setup}: {heft} {turns} {hand}");
        assert!(heft < turns && turns < hand, "{heft} {turns} {hand}");
    }
}

#[test]
fn less_weight_on_time_wastes_less_memory() {
    let (mut time, mut waste) = ([0.0; 2], [0.0; 2]);
    for seed in (1..GRAPHS).step_by(2) {
        let (graph, machine) = random(seed);
        let machine = GraphMachine::new(
            machine.devices.iter().map(|d| GraphDevice { memory: 8 * d.memory, ..d.clone() }).collect(),
        );
        for (at, lambda) in [1.0, 0.3].into_iter().enumerate() {
            let outcome = outcome(&graph, &machine, &mut Planned::heft(lambda));
            time[at] += outcome.makespan as f64;
            waste[at] += outcome.waste;
        }
    }
    println!("lambda 1 and 0.3: makespans {time:?}, waste {waste:?}");
    assert!(time[1] > time[0] && waste[1] < waste[0], "{time:?} {waste:?}");
}

fn alone(keeps: u64, scratch: u64) -> GraphTask {
    GraphTask { name: "t".into(), costs: vec![1000.0], keeps, scratch }
}

#[test]
fn scratch_counts_under_every_policy() {
    let graph = Graph::new(vec![alone(10, 90), alone(10, 91), alone(10, 0)], vec![]).expect("right");
    let machine = GraphMachine::new(vec![GraphDevice::new("small", 100), GraphDevice::new("large", 200)]);
    let tiny = GraphMachine::new(vec![GraphDevice::new("small", 100)]);
    for mut policy in policies() {
        let schedule = simulate::run(&graph, &machine, &mut *policy).expect("there is room");
        assert_eq!(schedule.0[1].device, 1, "{}", policy.name());
        assert_eq!(simulate::run(&graph, &tiny, &mut *policy), Err(NoRoom { task: 1 }), "{}", policy.name());
    }
}

#[test]
fn the_earliest_start_sees_the_queue() {
    let busy = View { wait: 100, bring: 0, room: 1, ..View::default() };
    let idle = View { wait: 0, bring: 20, room: 1, ..View::default() };
    assert_eq!(EarliestStart::default().choose(PlacementRequest::default(), &[busy, idle]), Some(1));
    assert_eq!(
        EarliestStart::default().choose(PlacementRequest::default(), &[View { wait: 10, ..busy }, idle]),
        Some(0)
    );
    assert_eq!(
        EarliestStart::default().choose(PlacementRequest::default(), &[busy, View { need: 2, ..idle }]),
        Some(0)
    );
}

#[test]
fn turns_skip_who_has_no_room() {
    let (room, none) =
        (View { need: 1, room: 1, ..View::default() }, View { need: 2, room: 1, ..View::default() });
    let mut turns = RoundRobin::default();
    let chosen: Vec<_> =
        (0..4).map(|_| turns.choose(PlacementRequest::default(), &[room, none, room])).collect();
    assert_eq!(chosen, [Some(0), Some(2), Some(0), Some(2)]);
    assert_eq!(turns.choose(PlacementRequest::default(), &[none, none]), None);
}

#[test]
fn least_loaded_weighs_data_against_time() {
    let view = |wait, bring| View { wait, bring, moves: bring, room: 1, ..View::default() };
    let choose = |views: &[View]| LeastLoaded::default().choose(PlacementRequest::default(), views);
    assert_eq!(choose(&[view(100, 0), view(0, 0)]), Some(1));
    assert_eq!(
        [choose(&[view(100, 0), view(0, 60)]), choose(&[view(100, 0), view(0, 70)])],
        [Some(1), Some(0)],
        "copies count half once more"
    );
    let many = View { running: 9, ..view(10, 0) };
    assert_eq!(
        choose(&[View { running: 1, ..view(100, 0) }, many]),
        Some(1),
        "time counts, not how many there are"
    );
    assert_eq!(
        choose(&[View { cost: 50, ..view(0, 0) }, View { cost: 20, ..view(20, 0) }]),
        Some(1),
        "a faster device, though it is busy"
    );
    assert_eq!(choose(&[view(100, 0), View { need: 2, ..view(0, 0) }]), Some(0), "no room");
    assert_eq!(choose(&[view(0, 0), View { present: 1, ..view(0, 0) }]), Some(1));
    assert_eq!(choose(&[View { present: 1, ..view(0, 0) }, View { near: 1, ..view(0, 0) }]), Some(1));
}

#[test]
fn least_loaded_leaves_a_chain_where_it_is() {
    // What it waits for ends in 100, on the first device, which has nothing else to do; the others
    // have nothing at all.
    let home = View { wait: 100, bring: 100, near: 1, room: 1, ..View::default() };
    let idle = View { wait: 0, bring: 101, moves: 1, room: 1, ..View::default() };
    let mut least = LeastLoaded::default();
    for _ in 0..9 {
        assert_eq!(least.choose(PlacementRequest::default(), &[home, idle, idle]), Some(0));
    }
    // Nor if copies take no time.
    let free = View { bring: 100, moves: 0, ..idle };
    assert_eq!(
        (0..3).map(|_| least.choose(PlacementRequest::default(), &[free, free, home])).collect::<Vec<_>>(),
        [Some(2); 3]
    );
}

#[test]
fn who_takes_tasks_from_others_gains_by_it() {
    let late = View { wait: 100, cost: 10, room: 1, ..View::default() };
    let idle = View { bring: 40, moves: 40, cost: 10, room: 1, ..View::default() };
    assert_eq!(
        (late.gain(&idle), idle.gain(&late), late.gain(&View { need: 2, ..idle })),
        (Some(40), None, None)
    );
    assert_eq!(late.gain(&late), None, "nothing gained");
    assert!(idle.is_hasty(&[late, idle]) && !late.is_hasty(&[late, idle]), "it would leave its data");
}

#[test]
fn the_judge_finds_each_fault() {
    let (tasks, edge) = (vec![alone(60, 0), alone(10, 50)], GraphEdge { from: 0, to: 1, bytes: 60 });
    let graph = Graph::new(tasks, vec![edge]).expect("right");
    let machine =
        |memory| GraphMachine::new(vec![GraphDevice::new("a", memory), GraphDevice::new("b", memory)]);
    let judge = |memory: u64, places: &[(usize, Time, Time)]| {
        let placed =
            places.iter().map(|&(device, start, finish)| GraphPlaced { device, start, finish }).collect();
        replay(&graph, &machine(memory), &GraphSchedule(placed))
    };
    let fine = judge(120, &[(0, 0, 1000), (0, 1000, 2000)]).expect("fine");
    assert_eq!((fine.makespan, &fine.peaks[..], fine.moved), (2000, &[120, 0][..], 0));
    assert!((fine.waste - 0.25).abs() < 1e-9, "60 of 120, then all: {}", fine.waste);
    assert_eq!(
        judge(119, &[(0, 0, 1000), (0, 1000, 2000)]),
        Err(ReplayFault::Memory { device: 0, at: 1000, used: 120 })
    );
    assert_eq!(
        judge(120, &[(0, 0, 1000), (1, 1000, 2000)]),
        Err(ReplayFault::TooEarly { writer: 0, reader: 1 })
    );
    let far = judge(120, &[(0, 0, 1000), (1, 3060, 4060)]).expect("fine");
    assert_eq!((&far.peaks[..], far.moved), (&[60, 120][..], 60));
    assert_eq!(judge(120, &[(0, 0, 999), (0, 1000, 2000)]), Err(ReplayFault::Length(0)));
    assert_eq!(judge(120, &[(0, 0, 1000), (2, 9000, 10000)]), Err(ReplayFault::Incomplete));
    let apart = Graph::new(vec![alone(0, 0), alone(0, 0)], vec![]).expect("right");
    let both = GraphSchedule(vec![
        GraphPlaced { device: 0, start: 0, finish: 1000 },
        GraphPlaced { device: 0, start: 999, finish: 1999 },
    ]);
    assert_eq!(replay(&apart, &machine(1), &both), Err(ReplayFault::Together(0, 1)));
}

#[test]
fn names_are_read_as_they_are_shown() {
    for name in
        ["least", "rrmc", "estmc", "heftmc:lambda=0.7", "ishmc:lambda=0", "manual:a/b", "library:./x.so"]
    {
        assert_eq!(name.parse::<PlacementChoice>().map(|c| c.to_string()), Ok(name.into()));
    }
    assert_eq!("HEFTMC".parse(), Ok(PlacementChoice::Heft(1.0)));
    for wrong in
        ["", "heft", "rrmc:2", "heftmc:0.5", "heftmc:lambda=1.5", "ishmc:lambda=nan", "manual", "library:"]
    {
        assert!(wrong.parse::<PlacementChoice>().is_err(), "{wrong}");
    }
}
