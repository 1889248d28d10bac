//! The programs that the model of the data manager runs.

use super::{DataNames, DataProgram, DataTask, DataTime, DataUse};

const MIB: usize = 1 << 20;

fn reads(datum: usize) -> DataUse {
    DataUse { datum, reads: true, writes: false }
}

fn changes(datum: usize) -> DataUse {
    DataUse { datum, reads: true, writes: true }
}

fn makes(datum: usize) -> DataUse {
    DataUse { datum, reads: false, writes: true }
}

/// All tasks read one block of 64 MiB and make a result of 256 KiB of their own: 4 tasks of 100 ms
/// for each rank.
#[must_use]
pub fn one_block(ranks: usize) -> DataProgram {
    let mut program = DataProgram { sizes: vec![64 * MIB], tasks: Vec::new() };
    for _ in 0..4 * ranks {
        program.sizes.push(MIB / 4);
        let result = program.sizes.len() - 1;
        program.tasks.push(DataTask { uses: vec![reads(0), makes(result)], work: 100_000_000 });
    }
    program
}

/// A chain of 8 tasks of 20 ms for each rank, which change the same 8 MiB one after the other.
#[must_use]
pub fn chains(ranks: usize) -> DataProgram {
    let tasks = (0..8 * ranks).map(|at| DataTask { uses: vec![changes(at % ranks)], work: 20_000_000 });
    DataProgram { tasks: tasks.collect(), sizes: vec![8 * MIB; ranks] }
}

/// A Cholesky factorization of so many tiles of 2 MiB squared, by columns; a product of two tiles
/// takes 25 ms.
#[must_use]
pub fn cholesky(tiles: usize) -> DataProgram {
    const PRODUCT: DataTime = 25_000_000;
    let (mut program, mut names) = (DataProgram::default(), DataNames::default());
    for k in 0..tiles {
        let mut tile = |program: &mut DataProgram, row, column| names.number(program, (row, column), 2 * MIB);
        let diagonal = tile(&mut program, k, k);
        program.tasks.push(DataTask { uses: vec![changes(diagonal)], work: PRODUCT / 6 });
        for row in k + 1..tiles {
            let below = tile(&mut program, row, k);
            program.tasks.push(DataTask { uses: vec![reads(diagonal), changes(below)], work: PRODUCT / 2 });
        }
        for column in k + 1..tiles {
            let left = tile(&mut program, column, k);
            let on = tile(&mut program, column, column);
            program.tasks.push(DataTask { uses: vec![reads(left), changes(on)], work: PRODUCT / 2 });
            for row in column + 1..tiles {
                let (above, under) = (tile(&mut program, row, k), tile(&mut program, row, column));
                program
                    .tasks
                    .push(DataTask { uses: vec![reads(left), reads(above), changes(under)], work: PRODUCT });
            }
        }
    }
    program
}
