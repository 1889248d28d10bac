//! What must hold with any parameters, and what tasks and moves are good for.

use super::*;

const CELL: MeshTime = 10_000;
const SMALL: Mesh =
    Mesh { cells: 60, side: 20, deepest: 5, piece: 64, steps: 4, has_front: true, cell: CELL };
/// Questions in vain have been answered by then.
const PAUSE: MeshTime = 10 * MESSAGE;
const FEW: MeshSetting = MeshSetting {
    nodes: 5,
    cores: 4,
    deal: Deal::Rows,
    moves: false,
    keeps: KEPT,
    pause: PAUSE,
    tasks: false,
    seed: 1,
};

/// Each of the four, in the order (stay, move) without tasks, then with.
fn all(setting: MeshSetting, load: &FrontLoad) -> [MeshOutcome; 4] {
    [(false, false), (true, false), (false, true), (true, true)]
        .map(|(moves, tasks)| simulate(MeshSetting { moves, tasks, ..setting }, load))
}

#[test]
fn one_core_a_node_and_even_patches_are_the_same_in_all_settings() {
    let mesh = Mesh { has_front: false, ..SMALL };
    let load = FrontLoad::new(mesh);
    let of_node = (4 * 60 * 60 / 5) * CELL;
    for deal in [Deal::Rows, Deal::Shuffled] {
        let [stay, moved, stay_tasks, moved_tasks] = all(MeshSetting { cores: 1, deal, ..FEW }, &load);
        let messages = 3 * (2 * MESSAGE + PAUSE) + MESSAGE;
        assert_eq!((stay.span, stay.ideal), (of_node + messages, of_node));
        assert_eq!((moved.span, moved.moved, &moved.busy), (stay.span, 0, &stay.busy));
        let tasks = 4 * 400 / 5 * TASK;
        assert_eq!([stay_tasks.span, moved_tasks.span], [stay.span + tasks; 2], "nine cells: one task each");
        assert_eq!((moved_tasks.moved, &moved_tasks.busy), (0, &stay_tasks.busy));
    }
}

#[test]
fn all_work_is_done_once() {
    let load = FrontLoad::new(SMALL);
    for deal in [Deal::Rows, Deal::Shuffled] {
        for (i, outcome) in all(MeshSetting { deal, ..FEW }, &load).into_iter().enumerate() {
            let tasks = if i < 2 { 0 } else { load.all_pieces() * TASK };
            assert_eq!(outcome.busy.iter().sum::<MeshTime>(), load.work() + tasks);
            assert_eq!((outcome.handlers, outcome.busy.len()), (4 * 400, 20));
            assert!(outcome.span > outcome.ideal && outcome.busy.iter().all(|&busy| busy <= outcome.span));
            assert_eq!(outcome.moved > 0, i % 2 == 1, "{deal:?} {i}");
            assert!(i >= 2 || outcome.span >= least(&load, 20, |step| step.longest));
        }
    }
}

#[test]
fn finer_patches_are_the_same_work() {
    let [coarse, fine] = [20, 60].map(|side| FrontLoad::new(Mesh { side, ..SMALL }));
    assert_eq!(coarse.work(), fine.work());
    assert_eq!((coarse.patches, fine.patches), (400, 3600));
    assert!((0..4).all(|step| coarse.step(step).longest > fine.step(step).longest));
}

#[test]
fn the_front_makes_some_patches_much_more_work() {
    let load = FrontLoad::new(SMALL);
    let step = load.step(3);
    assert!(step.longest > 10 * step.work / 400 && step.longest_piece < step.longest, "{step:?}");
    let even = FrontLoad::new(Mesh { has_front: false, ..SMALL });
    assert_eq!(even.step(3), FrontStep { longest: 9 * CELL, longest_piece: 9 * CELL, work: 60 * 60 * CELL });
}

#[test]
fn patches_are_dealt_out_evenly() {
    for deal in [Deal::Rows, Deal::Shuffled] {
        let homes = deal.homes(400, 5);
        assert!((0..5).all(|node| homes.iter().filter(|&&home| home == node).count() == 80));
        assert_eq!(homes.is_sorted(), deal == Deal::Rows);
    }
}

#[test]
fn equal_seeds_are_equal_runs() {
    let load = FrontLoad::new(SMALL);
    let setting = MeshSetting { moves: true, tasks: true, ..FEW };
    let other = simulate(MeshSetting { seed: 2, ..setting }, &load);
    assert_eq!(simulate(setting, &load), simulate(setting, &load));
    assert_ne!(simulate(setting, &load), other, "victims are drawn");
}

#[test]
fn a_long_handler_holds_up_all_unless_it_is_made_of_tasks() {
    let load = FrontLoad::new(Mesh { cells: 16, side: 4, steps: 1, ..SMALL });
    let one = MeshSetting { nodes: 1, cores: 32, ..FEW };
    let [alone, _, tasks, _] = all(one, &load);
    assert_eq!(alone.span, load.step(0).longest, "each has a core");
    assert!(tasks.span * 2 < alone.span, "{} {}", tasks.span, alone.span);
}
