//! The task graph of a factorization as SLATE writes it, seen by one rank.
//!
//! Step k has three outer tasks on columns of tiles: *panel* k (`inout c[k]`), *lookahead* (`in
//! c[k]`, `inout c[k+1]`) and *trailing* (`in c[k]`, `inout c[k+2]`, `inout c[nt-1]`). So panel k+1
//! waits for the lookahead of step k only, and may run beside the trailing update of step k.
//! Columns belong to the ranks in turn; a rank updates its own.

use super::cost;
use super::{Factorization, ModelConfig};

/// Which of a step's three tasks it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepTask {
    /// Factors a column and sends it, or receives it.
    Panel,
    /// Updates the next column.
    Lookahead,
    /// Updates the rest.
    Trailing,
}

/// What the body of an outer task does next. Times in microseconds, before noise.
#[derive(Clone, Debug)]
pub enum Phase {
    /// Computes.
    Compute(f64),
    /// Creates this many child tasks of this duration.
    Spawn(usize, f64),
    /// Waits for all children: the end of a taskgroup.
    Join,
    /// Forks a region of this many threads that share so many tiles of this panel time, with
    /// barriers, and joins it.
    Fork(usize, usize, f64),
    /// Sends this many tiles of the step's panel to the other ranks.
    Send(usize),
    /// Waits until the step's panel has come from its owner.
    Receive,
}

/// An outer task.
#[derive(Clone, Debug)]
pub struct OuterTask {
    /// Which of its step's tasks it is.
    pub kind: StepTask,
    /// The step k.
    pub step: usize,
    /// What it does.
    pub program: Vec<Phase>,
    /// How many tasks it waits for.
    pub waits_for: usize,
    /// Who waits for it.
    pub successors: Vec<usize>,
}

/// The tasks of `rank` in the order of their creation.
#[must_use]
pub fn build(config: &ModelConfig, rank: usize) -> Vec<OuterTask> {
    let mut builder = Builder::new(config.tiles);
    let last = config.tiles - 1;
    for step in 0..config.tiles {
        builder.add(StepTask::Panel, step, panel(config, rank, step), &[], &[step]);
        if step < last {
            let program = lookahead(config, rank, step);
            builder.add(StepTask::Lookahead, step, program, &[step], &[step + 1]);
        }
        if step + 2 <= last {
            let program = trailing(config, rank, step);
            builder.add(StepTask::Trailing, step, program, &[step], &[step + 2, last]);
        }
    }
    builder.tasks
}

/// The rank that holds a column.
#[must_use]
pub fn owner(config: &ModelConfig, column: usize) -> usize {
    column % config.ranks
}

fn panel(config: &ModelConfig, rank: usize, step: usize) -> Vec<Phase> {
    let tiles = config.tiles - step;
    if owner(config, step) != rank {
        return if tiles > 1 { vec![Phase::Receive] } else { Vec::new() };
    }
    let mut program = match config.what {
        Factorization::Cholesky => vec![
            Phase::Compute(cost::diagonal(config.tile)),
            Phase::Spawn(tiles - 1, cost::solve(config.tile)),
            Phase::Join,
        ],
        what => {
            let tile = cost::panel_tile(what, config.tile);
            match config.panel_threads.min(tiles) {
                0 | 1 => vec![Phase::Compute(tiles as f64 * tile)],
                threads => vec![Phase::Fork(threads, tiles, tile)],
            }
        }
    };
    if tiles > 1 && config.ranks > 1 {
        program.push(Phase::Send(tiles));
    }
    program
}

fn lookahead(config: &ModelConfig, rank: usize, step: usize) -> Vec<Phase> {
    update(config, rank, step, step + 1..step + 2)
}

fn trailing(config: &ModelConfig, rank: usize, step: usize) -> Vec<Phase> {
    update(config, rank, step, step + 2..config.tiles)
}

/// The update of those of `columns` that the rank holds.
fn update(config: &ModelConfig, rank: usize, step: usize, columns: std::ops::Range<usize>) -> Vec<Phase> {
    let mine: Vec<usize> = columns.filter(|&column| owner(config, column) == rank).collect();
    if mine.is_empty() {
        return Vec::new();
    }
    let tile = cost::update(config.what, config.tile);
    let rows = config.tiles - step;
    let below = |from: usize| config.tiles - 1 - from;
    match config.what {
        // The diagonal tile is symmetric; only tiles below it exist.
        Factorization::Cholesky => vec![
            Phase::Spawn(mine.len(), cost::solve(config.tile)),
            Phase::Spawn(mine.iter().map(|&column| below(column)).sum(), tile),
            Phase::Join,
        ],
        // The top tile of each column first, then the rest with it.
        Factorization::Lu => vec![
            Phase::Spawn(mine.len(), cost::solve(config.tile)),
            Phase::Join,
            Phase::Spawn(mine.len() * (rows - 1), tile),
            Phase::Join,
        ],
        Factorization::Qr => vec![Phase::Spawn(mine.len() * rows, tile), Phase::Join],
    }
}

/// OpenMP's dependences on columns: who wrote each last, and who has read it since.
struct Builder {
    tasks: Vec<OuterTask>,
    writer: Vec<Option<usize>>,
    readers: Vec<Vec<usize>>,
}

impl Builder {
    fn new(columns: usize) -> Self {
        Self { tasks: Vec::new(), writer: vec![None; columns], readers: vec![Vec::new(); columns] }
    }

    fn add(&mut self, kind: StepTask, step: usize, program: Vec<Phase>, ins: &[usize], inouts: &[usize]) {
        let me = self.tasks.len();
        let mut before: Vec<usize> = Vec::new();
        for &column in ins {
            before.extend(self.writer[column]);
            self.readers[column].push(me);
        }
        for &column in inouts {
            before.extend(self.writer[column]);
            before.append(&mut self.readers[column]);
            self.writer[column] = Some(me);
        }
        before.retain(|&one| one != me);
        before.sort_unstable();
        before.dedup();
        before.iter().for_each(|&one| self.tasks[one].successors.push(me));
        let waits_for = before.len();
        let successors = Vec::new();
        self.tasks.push(OuterTask { kind, step, program, waits_for, successors });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks_of(what: Factorization, rank: usize) -> (ModelConfig, Vec<OuterTask>) {
        let config = ModelConfig { tiles: 6, ..ModelConfig::new(what) };
        let tasks = build(&config, rank);
        (config, tasks)
    }

    fn find(tasks: &[OuterTask], kind: StepTask, step: usize) -> usize {
        tasks.iter().position(|task| task.kind == kind && task.step == step).unwrap()
    }

    #[test]
    fn the_next_panel_waits_for_the_lookahead_and_not_for_the_rest() {
        let (_, tasks) = tasks_of(Factorization::Lu, 0);
        let panel = find(&tasks, StepTask::Panel, 1);
        assert_eq!(tasks[panel].waits_for, 1);
        assert_eq!(tasks[find(&tasks, StepTask::Lookahead, 0)].successors, [panel]);
        assert!(!tasks[find(&tasks, StepTask::Trailing, 0)].successors.contains(&panel));
    }

    #[test]
    fn trailing_updates_follow_each_other_and_feed_the_lookahead_after_next() {
        let (_, tasks) = tasks_of(Factorization::Lu, 0);
        let trailing = &tasks[find(&tasks, StepTask::Trailing, 0)];
        assert!(trailing.successors.contains(&find(&tasks, StepTask::Trailing, 1)));
        assert!(trailing.successors.contains(&find(&tasks, StepTask::Lookahead, 1)));
    }

    #[test]
    fn all_tiles_below_the_diagonal_are_updated_once_per_step() {
        let children = |tasks: &[OuterTask], step: usize| -> usize {
            let of_step = tasks.iter().filter(|t| t.step == step && t.kind != StepTask::Panel);
            of_step
                .flat_map(|task| &task.program)
                .map(|phase| if let Phase::Spawn(count, _) = phase { *count } else { 0 })
                .sum()
        };
        for step in 0..5 {
            let left = 5 - step;
            let both = |what| (0..2).map(|rank| children(&tasks_of(what, rank).1, step)).sum::<usize>();
            assert_eq!(both(Factorization::Cholesky), left * (left + 1) / 2);
            assert_eq!(both(Factorization::Lu), left * (left + 1));
            assert_eq!(both(Factorization::Qr), left * (left + 1));
        }
    }

    #[test]
    fn a_column_is_factored_by_one_rank_and_received_by_the_other() {
        for step in 0..5 {
            let program = |rank| {
                let (_, tasks) = tasks_of(Factorization::Cholesky, rank);
                tasks[find(&tasks, StepTask::Panel, step)].program.clone()
            };
            let sends = |program: &[Phase]| matches!(program.last(), Some(Phase::Send(_)));
            let receives = |program: &[Phase]| matches!(program, [Phase::Receive]);
            let (owner, other) = (program(step % 2), program(1 - step % 2));
            assert!(sends(&owner) && receives(&other));
        }
    }
}
