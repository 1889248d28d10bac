//! Families of programs: every combination of scripts up to a length.

use crate::program::{ModelProgram, Op, Script, alike, forks, task_that_forks};

/// Barriers of one kind, by their number.
pub type Kinds = [fn(u8) -> Op];

/// Every script of 1 to `longest` barriers.
fn scripts(longest: u8, kinds: &Kinds) -> Vec<Script> {
    let mut all: Vec<Script> = vec![vec![]];
    let mut from = 0;
    for barrier in 0..longest {
        let shorter = all[from..].to_vec();
        from = all.len();
        for script in shorter {
            all.extend(kinds.iter().map(|kind| [&script[..], &[kind(barrier)]].concat()));
        }
    }
    all.split_off(1)
}

/// Gangs of one level with the given sizes, in every combination of scripts. `roots` roots fork
/// them in turn; those that have no worker of their own are begun by idle ones.
pub fn one_level(
    workers: usize,
    sizes: &[usize],
    roots: usize,
    longest: u8,
    kinds: &Kinds,
) -> Vec<(String, ModelProgram)> {
    let scripts = scripts(longest, kinds);
    let combinations = scripts.len().pow(sizes.len() as u32);
    (0..combinations)
        .map(|combination| {
            let digit = |g| combination / scripts.len().pow(g) % scripts.len();
            let chosen: Vec<_> = (0..sizes.len() as u32).map(|g| &scripts[digit(g)]).collect();
            (
                format!("{sizes:?} on {workers}, {roots} roots: {chosen:?}"),
                gangs(workers, sizes, roots, &chosen),
            )
        })
        .collect()
}

/// One program of [`one_level`].
pub fn gangs(workers: usize, sizes: &[usize], roots: usize, scripts: &[&Script]) -> ModelProgram {
    let mut begun: Vec<_> = (0..roots)
        .map(|root| if root < workers { forks(root, &[]) } else { task_that_forks(root as u8) })
        .collect();
    for gang in 0..sizes.len() {
        if gang < workers || gang >= roots {
            begun[gang % roots].script.push(Op::Fork(gang as u8));
        }
    }
    ModelProgram::new(
        workers,
        begun,
        sizes.iter().zip(scripts).map(|(&size, script)| alike(size, script)).collect(),
    )
}

/// Gangs of one level that meet in `barriers` spin barriers each.
pub fn spinning(workers: usize, sizes: &[usize], roots: usize, barriers: u8) -> ModelProgram {
    let script: Script = (0..barriers).map(Op::Spin).collect();
    gangs(workers, sizes, roots, &vec![&script; sizes.len()])
}

/// One level, gangs that fit, spin barriers and the runtime's in every order.
pub fn mixed() -> Vec<(String, ModelProgram)> {
    let kinds: &Kinds = &[Op::Spin, Op::Meet];
    let mut all = one_level(2, &[2, 2], 2, 3, kinds);
    all.extend(one_level(2, &[2, 2, 2], 2, 2, kinds));
    all.extend(one_level(2, &[2, 2, 2], 3, 1, kinds));
    all.extend(one_level(3, &[2, 2, 2], 2, 1, kinds));
    all
}

/// The larger members of the same family, for what leaves few states.
pub fn mixed_large() -> Vec<(String, ModelProgram)> {
    let kinds: &Kinds = &[Op::Spin, Op::Meet];
    let three = [[2, 2, 2], [3, 2, 2], [2, 3, 3], [3, 3, 3]];
    let of = |sizes| (2..=3).flat_map(move |roots| one_level(3, sizes, roots, 1, kinds));
    let mut all: Vec<_> = three.iter().flat_map(|sizes| of(sizes)).collect();
    all.extend(one_level(3, &[3, 3], 2, 2, kinds));
    all
}
