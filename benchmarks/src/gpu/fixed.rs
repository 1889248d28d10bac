//! Mappings that do not change: the GPU of each task, said beforehand.
//!
//! An author who knows the program would write these mappings by hand: the GPU that owns a block
//! computes it. The best mapping counts, for each program and number of GPUs by itself.

use placement::examples::ExampleRandom;

use super::machine::GpuMachine;
use super::programs::GpuProgram;
use super::world::{GpuMapping, GpuSetting, simulate};
use super::{GpuTime, world::GpuOutcome};

/// A name, and the GPU of each task.
pub type Fixed = (&'static str, Vec<usize>);

/// So many rows, dealt out in stretches that take about as long.
fn balanced(work: &[GpuTime], gpus: usize) -> Vec<usize> {
    let all: GpuTime = work.iter().sum();
    let mut before = 0;
    let stretch = |&time: &GpuTime| {
        let middle = before + time / 2;
        before += time;
        (middle as usize * gpus / all.max(1) as usize).min(gpus - 1)
    };
    work.iter().map(stretch).collect()
}

/// The longest row first, each to the GPU that has least work.
fn longest_first(work: &[GpuTime], gpus: usize) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..work.len()).collect();
    rows.sort_by_key(|&row| core::cmp::Reverse(work[row]));
    let (mut loads, mut of) = (vec![0; gpus], vec![0; work.len()]);
    for row in rows {
        let gpu = (0..gpus).min_by_key(|&gpu| loads[gpu]).unwrap_or(0);
        (loads[gpu], of[row]) = (loads[gpu] + work[row], gpu);
    }
    of
}

/// All that are tried.
#[must_use]
pub fn by_hand(program: &GpuProgram, gpus: usize) -> Vec<Fixed> {
    let (rows, columns) = program.grid;
    let mut work = vec![0; rows];
    program.tasks.iter().for_each(|task| work[task.place.0] += task.time);
    let (even, greedy) = (balanced(&work, gpus), longest_first(&work, gpus));
    let across = if gpus == 4 { 2 } else { 1 };
    let by = |name, owner: &dyn Fn((usize, usize)) -> usize| {
        (name, program.tasks.iter().map(|task| owner(task.place)).collect())
    };
    let mut all = vec![by("one GPU", &|_| 0)];
    if gpus > 1 {
        all.extend([
            by("rows in blocks", &|(i, _)| i * gpus / rows),
            by("rows in turns", &|(i, _)| i % gpus),
            by("columns in blocks", &|(_, j)| j * gpus / columns),
            by("columns in turns", &|(_, j)| j % gpus),
            by("grid in turns", &|(i, j)| i % (gpus / across) * across + j % across),
            by("grid in blocks", &|(i, j)| i * (gpus / across) / rows * across + j * across / columns),
            by("blocks in turns", &|(i, j)| (i * columns + j) % gpus),
            by("rows by work", &|(i, _)| even[i]),
            by("longest rows first", &|(i, _)| greedy[i]),
            ("tasks in turns", (0..program.tasks.len()).map(|at| at % gpus).collect()),
        ]);
    }
    all
}

/// Devices drawn from a seed.
#[must_use]
pub fn by_chance(program: &GpuProgram, gpus: usize, seed: u64) -> Vec<usize> {
    let random = &mut ExampleRandom::new(seed);
    program.tasks.iter().map(|_| random.between(0, gpus as u64 - 1) as usize).collect()
}

/// The best of them.
///
/// # Panics
/// Never: there is one at least.
#[must_use]
pub fn best(program: &GpuProgram, machine: GpuMachine, setting: GpuSetting) -> (Fixed, GpuOutcome) {
    let run = |fixed: Fixed| {
        let outcome = simulate(program, machine, setting, GpuMapping::Fixed(&fixed.1));
        (fixed, outcome)
    };
    by_hand(program, machine.gpus)
        .into_iter()
        .map(run)
        .min_by_key(|(_, outcome)| outcome.makespan)
        .expect("there is one")
}

/// Looks for a better mapping: so many times a block's tasks, or one task, go to a GPU by chance;
/// whatever is not worse stays.
#[must_use]
pub fn searched(
    program: &GpuProgram,
    machine: GpuMachine,
    setting: GpuSetting,
    from: &[usize],
    tries: u64,
) -> GpuTime {
    let (random, mut now) = (&mut ExampleRandom::new(1), from.to_vec());
    let mut best = simulate(program, machine, setting, GpuMapping::Fixed(&now)).makespan;
    for _ in 0..tries {
        let mut next = now.clone();
        let one = random.between(0, next.len() as u64 - 1) as usize;
        let gpu = random.between(0, machine.gpus as u64 - 1) as usize;
        if random.between(0, 1) == 0 {
            let place = program.tasks[one].place;
            next.iter_mut()
                .zip(&program.tasks)
                .filter(|(_, task)| task.place == place)
                .for_each(|(at, _)| *at = gpu);
        } else {
            next[one] = gpu;
        }
        let makespan = simulate(program, machine, setting, GpuMapping::Fixed(&next)).makespan;
        if makespan <= best {
            (best, now) = (makespan, next);
        }
    }
    best
}
