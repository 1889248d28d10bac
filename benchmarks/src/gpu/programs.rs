//! The task graphs. Sizes are those of Parla's thesis, chapter 4; where it says none, the header of
//! the function says what is taken.

use super::GpuTime;
use super::machine::GpuMachine;

/// What a task does to a datum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuUse {
    /// Its number.
    pub datum: usize,
    /// It needs the bytes.
    pub reads: bool,
    /// It changes them.
    pub writes: bool,
}

/// A task.
#[derive(Clone, Debug)]
pub struct GpuTask {
    /// What it runs.
    pub function: usize,
    /// Its data.
    pub uses: Vec<GpuUse>,
    /// How long its kernel takes.
    pub time: GpuTime,
    /// How much of the GPU it fills, 0 to 1.
    pub share: f64,
    /// Row and column of what it computes: who writes mappings by hand goes by these.
    pub place: (usize, usize),
}

/// Tasks in the order of their creation, and their data.
#[derive(Clone, Debug, Default)]
pub struct GpuProgram {
    /// A name for people.
    pub name: &'static str,
    /// The tasks.
    pub tasks: Vec<GpuTask>,
    /// Bytes of each datum.
    pub sizes: Vec<u64>,
    /// Where each one lies in the beginning: the host, or the GPU with this number, modulo their
    /// number.
    pub lies: Vec<Option<usize>>,
    /// Rows and columns.
    pub grid: (usize, usize),
}

const fn reads(datum: usize) -> GpuUse {
    GpuUse { datum, reads: true, writes: false }
}

const fn writes(datum: usize) -> GpuUse {
    GpuUse { datum, reads: false, writes: true }
}

const fn changes(datum: usize) -> GpuUse {
    GpuUse { datum, reads: true, writes: true }
}

/// Nanoseconds of so many units at so many per nanosecond.
fn time(units: f64, rate: f64) -> GpuTime {
    (units / rate).ceil() as GpuTime
}

impl GpuProgram {
    fn new(name: &'static str, grid: (usize, usize)) -> Self {
        Self { name, grid, ..Self::default() }
    }

    /// So many data of this size on the host: the number of the first one.
    fn data(&mut self, count: usize, bytes: u64) -> usize {
        self.sizes.resize(self.sizes.len() + count, bytes);
        self.lies.resize(self.sizes.len(), None);
        self.sizes.len() - count
    }

    fn task(&mut self, function: usize, place: (usize, usize), time: GpuTime, uses: &[GpuUse]) {
        self.small_task(function, place, time, 1.0, uses);
    }

    fn small_task(
        &mut self,
        function: usize,
        place: (usize, usize),
        time: GpuTime,
        share: f64,
        uses: &[GpuUse],
    ) {
        self.tasks.push(GpuTask { function, uses: uses.to_vec(), time, share, place });
    }
}

/// C = A Bᵀ, 32768 by 32768, in blocks of 4096: a task multiplies two blocks and adds to a third.
#[must_use]
pub fn gemm(machine: &GpuMachine) -> GpuProgram {
    let (blocks, side) = (8, 4096.0_f64);
    let mut program = GpuProgram::new("blocked GEMM", (blocks, blocks));
    let [a, b, c] = [0; 3].map(|_| program.data(blocks * blocks, (side * side) as u64 * 8));
    let cost = time(2.0 * side.powi(3), machine.product);
    for i in 0..blocks {
        for j in 0..blocks {
            for k in 0..blocks {
                let sum = GpuUse { datum: c + i * blocks + j, reads: k > 0, writes: true };
                program.task(0, (i, j), cost, &[reads(a + i * blocks + k), reads(b + j * blocks + k), sum]);
            }
        }
    }
    program
}

/// A stencil of four points on 30,000 by 30,000, so many times (500 in the thesis), 16 blocks of
/// rows. A block's edge rows are data of their own.
#[must_use]
pub fn jacobi(machine: &GpuMachine, times: usize) -> GpuProgram {
    let (blocks, side) = (16, 30_000_u64);
    let mut program = GpuProgram::new("2D Jacobi", (blocks, 1));
    let bytes = side * side * 8 / blocks as u64;
    let whole = [program.data(blocks, bytes), program.data(blocks, bytes)];
    let [top, bottom] = [0; 2].map(|_| [program.data(blocks, side * 8), program.data(blocks, side * 8)]);
    for round in 0..times {
        let (old, new) = (round % 2, 1 - round % 2);
        for block in 0..blocks {
            let mut uses = vec![reads(whole[old] + block)];
            uses.extend((block > 0).then(|| reads(bottom[old] + block - 1)));
            uses.extend((block + 1 < blocks).then(|| reads(top[old] + block + 1)));
            uses.extend([whole[new], top[new], bottom[new]].map(|first| writes(first + block)));
            program.task(0, (block, 0), time(2.0 * bytes as f64, machine.stream), &uses);
        }
    }
    program
}

/// A = L Lᵀ, 28,000 by 28,000 in blocks of 2000, right-looking. The factorization of a block fills
/// half of a GPU, at a tenth of its speed.
#[must_use]
pub fn cholesky(machine: &GpuMachine) -> GpuProgram {
    let (tiles, side) = (14, 2000.0_f64);
    let cube = side.powi(3);
    let mut program = GpuProgram::new("blocked Cholesky", (tiles, tiles));
    program.data(tiles * tiles, (side * side) as u64 * 8);
    let tile = |i: usize, j: usize| i * tiles + j;
    for k in 0..tiles {
        program.small_task(0, (k, k), time(cube / 3.0, machine.product / 10.0), 0.5, &[changes(tile(k, k))]);
        for i in k + 1..tiles {
            program.task(
                1,
                (i, k),
                time(cube, machine.product * 0.6),
                &[reads(tile(k, k)), changes(tile(i, k))],
            );
        }
        for i in k + 1..tiles {
            program.task(
                2,
                (i, i),
                time(cube, machine.product * 0.8),
                &[reads(tile(i, k)), changes(tile(i, i))],
            );
            for j in k + 1..i {
                program.task(
                    3,
                    (i, j),
                    time(2.0 * cube, machine.product),
                    &[reads(tile(i, k)), reads(tile(j, k)), changes(tile(i, j))],
                );
            }
        }
    }
    program
}

/// Ten million bodies in the plane, in 32 strips, denser in the middle, ten steps. The strip's
/// cells are summed up. Each body feels all cells, and the bodies nearby (of its strip and the two
/// beside it): 5000 interactions of 20 flops on average. Then it moves.
#[must_use]
pub fn nbody(machine: &GpuMachine) -> GpuProgram {
    let (strips, bodies, steps) = (32, 1e7, 10);
    let mut program = GpuProgram::new("N-body", (strips, 1));
    let density: Vec<f64> =
        (0..strips).map(|at| 1.0 + 3.0 * (-((at as f64 - 15.5) / 6.0).powi(2)).exp()).collect();
    let sum: f64 = density.iter().sum();
    let count: Vec<f64> = density.iter().map(|d| bodies * d / sum).collect();
    let of: Vec<usize> = count.iter().map(|n| program.data(1, (n * 40.0) as u64)).collect();
    let force: Vec<usize> = count.iter().map(|n| program.data(1, (n * 16.0) as u64)).collect();
    let cells = program.data(strips, 256 << 10);
    for _ in 0..steps {
        for at in 0..strips {
            program.task(
                0,
                (at, 0),
                time(count[at] * 80.0, machine.stream),
                &[reads(of[at]), writes(cells + at)],
            );
        }
        for at in 0..strips {
            let beside = [at.checked_sub(1), (at + 1 < strips).then_some(at + 1)];
            let near = beside.into_iter().flatten().chain([at]).map(|strip| reads(of[strip]));
            let uses: Vec<GpuUse> = near
                .chain((0..strips).map(|strip| reads(cells + strip)))
                .chain([writes(force[at])])
                .collect();
            let interactions = count[at] * 5000.0 * (density[at] * strips as f64 / sum).sqrt();
            program.task(1, (at, 0), time(interactions * 20.0, machine.flops), &uses);
        }
        for at in 0..strips {
            program.task(
                2,
                (at, 0),
                time(count[at] * 100.0, machine.stream),
                &[reads(force[at]), changes(of[at])],
            );
        }
    }
    program
}

/// 10,000 by 10,000 in blocks of 2500, each compressed to rank 100 (20 n³ flops at a tenth of the
/// GPU's speed, of which it fills half), then 20 products with a vector.
#[must_use]
pub fn low_rank(machine: &GpuMachine) -> GpuProgram {
    let (blocks, side, rank, products) = (4, 2500_u64, 100_u64, 20);
    let mut program = GpuProgram::new("block low-rank", (blocks, blocks));
    let dense = program.data(blocks * blocks, side * side * 8);
    let factors = program.data(blocks * blocks, 2 * side * rank * 8);
    let parts = program.data(blocks * blocks, side * 8);
    let vector = program.data(blocks, side * 8);
    let compress = time(20.0 * (side as f64).powi(3), machine.flops / 10.0);
    let multiply = time((2 * side * rank * 8) as f64, machine.stream / 4.0);
    for i in 0..blocks {
        for j in 0..blocks {
            let at = i * blocks + j;
            program.small_task(0, (i, j), compress, 0.5, &[reads(dense + at), writes(factors + at)]);
        }
    }
    for _ in 0..products {
        for i in 0..blocks {
            for j in 0..blocks {
                let at = i * blocks + j;
                program.small_task(
                    1,
                    (i, j),
                    multiply,
                    0.25,
                    &[reads(factors + at), reads(vector + j), writes(parts + at)],
                );
            }
        }
        for i in 0..blocks {
            let uses: Vec<GpuUse> =
                (0..blocks).map(|j| reads(parts + i * blocks + j)).chain([writes(vector + i)]).collect();
            program.small_task(2, (i, 0), 2_000, 0.1, &uses);
        }
    }
    program
}

/// Of the synthetic graphs: nanoseconds of a task, bytes of a datum.
pub const SYNTHETIC: (GpuTime, u64) = (16_000_000, 50_000_000);

impl GpuProgram {
    /// So many data of the synthetic graphs, dealt out to the GPUs.
    fn dealt(&mut self, count: usize) {
        self.data(count, SYNTHETIC.1);
        self.lies = (0..count).map(Some).collect();
    }
}

/// 300 tasks that read; every 64th the same datum.
#[must_use]
pub fn independent() -> GpuProgram {
    let mut program = GpuProgram::new("300 independent", (300, 1));
    program.dealt(64);
    (0..300).for_each(|at| program.task(0, (at, 0), SYNTHETIC.0, &[reads(at % 64)]));
    program
}

/// 150 tasks that change one datum, one after the other.
#[must_use]
pub fn serial() -> GpuProgram {
    let mut program = GpuProgram::new("150 serial", (1, 1));
    program.dealt(1);
    (0..150).for_each(|_| program.task(0, (0, 0), SYNTHETIC.0, &[changes(0)]));
    program
}

/// A binary tree of nine levels: a task changes the datum of its left parent and reads that of its
/// right one; those of the first level change one of their own.
#[must_use]
pub fn reduction() -> GpuProgram {
    let leaves = 256;
    let mut program = GpuProgram::new("9-level reduction", (leaves, 1));
    program.dealt(leaves);
    (0..leaves).for_each(|at| program.task(0, (at, 0), SYNTHETIC.0, &[changes(at)]));
    let mut step = 1;
    while step < leaves {
        (0..leaves)
            .step_by(2 * step)
            .for_each(|at| program.task(1, (at, 0), SYNTHETIC.0, &[changes(at), reads(at + step)]));
        step *= 2;
    }
    program
}

/// All eight; the stencil so many times.
#[must_use]
pub fn all(machine: &GpuMachine, times: usize) -> Vec<GpuProgram> {
    let real = [gemm(machine), jacobi(machine, times), cholesky(machine), nbody(machine), low_rank(machine)];
    real.into_iter().chain([independent(), serial(), reduction()]).collect()
}
