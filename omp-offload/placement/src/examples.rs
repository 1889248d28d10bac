//! Graphs and machines to try policies on. Costs are in nanoseconds on a device that computes 1
//! flop per nanosecond (1 GFlop/s); additions are as slow as memory of 1 GB/s per unit of speed.

use crate::graph::{Graph, GraphDevice, GraphEdge, GraphMachine, GraphTask};

/// Bytes of a number.
const FLOAT: u64 = 4;

/// One step of Strassen's multiplication of n by n matrices: ten additions (tasks 0 to 9), seven
/// multiplications (10 to 16), four sums (17 to 20) of blocks half as large. Each task takes
/// `setup` nanoseconds more on every device of speed 1.
///
/// # Panics
/// Never: the graph is right.
#[must_use]
pub fn strassen(n: u64, setup: f64) -> Graph {
    /// Which additions each multiplication reads.
    const FACTORS: [&[usize]; 7] = [&[0, 1], &[2], &[3], &[4], &[5], &[6, 7], &[8, 9]];
    /// Which products each sum reads.
    const SUMS: [&[usize]; 4] = [&[0, 3, 4, 6], &[2, 4], &[1, 3], &[0, 1, 2, 5]];
    let half = n / 2;
    let bytes = half * half * FLOAT;
    let task = |name: String, cost: f64, scratch: u64| GraphTask {
        name,
        costs: vec![cost + setup],
        keeps: bytes,
        scratch,
    };
    let (add, multiply) = (bytes as f64 / 4.0, 2.0 * (half as f64).powi(3));
    let mut tasks: Vec<GraphTask> =
        (0..10).map(|i| task(format!("S{}", i + 1), 3.0 * add, 2 * bytes)).collect();
    tasks
        .extend((0..7).map(|i| task(format!("M{}", i + 1), multiply, (2 - FACTORS[i].len() as u64) * bytes)));
    let names = ["C11", "C12", "C21", "C22"];
    tasks.extend((0..4).map(|i| task(names[i].into(), SUMS[i].len() as f64 * add, 0)));
    let factors = (0..7).flat_map(|i| FACTORS[i].iter().map(move |&from| (from, 10 + i)));
    let sums = (0..4).flat_map(|i| SUMS[i].iter().map(move |&from| (10 + from, 17 + i)));
    let edges = factors.chain(sums).map(|(from, to)| GraphEdge { from, to, bytes }).collect();
    Graph::new(tasks, edges).expect("the graph is right")
}

/// The placement by hand of XSCALA's figure 7.7, for [`cluster`].
pub const STRASSEN_BY_HAND: &str = "\
0-9    0 CPU 0
10     0 CPU 0
11     0 GPU 0
12     1 CPU 0
13     1 GPU 0
14     2 CPU 0
15     2 GPU 0
16     3 GPU 0
17-20  0 CPU 0
";

/// Four nodes with a processor and a small GPU each, on Gigabit Ethernet: XSCALA's platform C
/// (table 7.3), with the rates that such devices reach. Device 2k is the processor of node k, 2k +
/// 1 its GPU of 512 MB.
#[must_use]
pub fn cluster() -> GraphMachine {
    let memory = [8192 << 20, 4096 << 20, 4096 << 20, 4096 << 20];
    let node = |k: usize| {
        let near = |device: GraphDevice| device.at(25e3, 0.117).of_node(k);
        let cpu =
            near(GraphDevice::new(&format!("CPU_{k}"), memory[k]).of_speed(if k == 3 { 17.0 } else { 20.0 }));
        [cpu, near(GraphDevice::new(&format!("GPU_{k}"), 512 << 20).of_speed(15.0))]
    };
    GraphMachine::new((0..4).flat_map(node).collect())
}

/// So many equal ranks of 100 GFlop/s with this much memory, 10 us and 10 GB/s apart.
#[must_use]
pub fn ranks(count: usize, memory: u64) -> GraphMachine {
    let rank = |k: usize| GraphDevice::new(&format!("rank {k}"), memory).of_speed(100.0).at(5e3, 10.0);
    GraphMachine::new((0..count).map(rank).collect())
}

/// A graph in the making: who wrote each tile last.
#[derive(Default)]
struct Tiles {
    tasks: Vec<GraphTask>,
    edges: Vec<GraphEdge>,
    writers: std::collections::BTreeMap<(usize, usize), usize>,
}

impl Tiles {
    /// A task that reads these tiles and updates another one.
    fn task(
        &mut self,
        name: String,
        flops: f64,
        bytes: u64,
        reads: &[(usize, usize)],
        updates: (usize, usize),
    ) {
        let to = self.tasks.len();
        let sources = reads.iter().chain([&updates]).filter_map(|tile| self.writers.get(tile));
        self.edges.extend(sources.map(|&from| GraphEdge { from, to, bytes }));
        self.tasks.push(GraphTask { name, costs: vec![flops], keeps: bytes, scratch: 0 });
        self.writers.insert(updates, to);
    }
}

/// Cholesky factorization of a matrix of so many by so many tiles, each of `tile` by `tile` numbers
/// of 8 bytes.
///
/// # Panics
/// Never: the graph is right.
#[must_use]
pub fn cholesky(tiles: usize, tile: u64) -> Graph {
    let (cube, bytes) = ((tile as f64).powi(3), tile * tile * 8);
    let mut all = Tiles::default();
    for k in 0..tiles {
        all.task(format!("potrf{k}"), cube / 3.0, bytes, &[], (k, k));
        for i in k + 1..tiles {
            all.task(format!("trsm{i}.{k}"), cube, bytes, &[(k, k)], (i, k));
        }
        for i in k + 1..tiles {
            all.task(format!("syrk{i}.{k}"), cube, bytes, &[(i, k)], (i, i));
            for j in k + 1..i {
                all.task(format!("gemm{i}.{j}.{k}"), 2.0 * cube, bytes, &[(i, k), (j, k)], (i, j));
            }
        }
    }
    Graph::new(all.tasks, all.edges).expect("the graph is right")
}

/// Numbers that look random, the same ones for the same seed (splitmix64, Steele and others, 2014).
pub struct ExampleRandom(u64);

impl ExampleRandom {
    /// Those of this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next one.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// One from `low` to `high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.number() % (high - low + 1)
    }
}

/// A random graph of 8 to 40 tasks, and a machine of 2 to 5 devices with little memory: each holds
/// the largest task, and less than three of them. With an even seed the last device is slow and has
/// memory without a limit, as a host has.
///
/// # Panics
/// Never: the graph is right.
#[must_use]
pub fn random(seed: u64) -> (Graph, GraphMachine) {
    let random = &mut ExampleRandom(seed);
    let (count, devices) = (random.between(8, 40) as usize, random.between(2, 5) as usize);
    let unrelated = random.between(0, 1) == 1;
    let mut tasks = Vec::new();
    for at in 0..count {
        let costs = (0..if unrelated { devices } else { 1 })
            .map(|_| random.between(1_000, 1_000_000) as f64)
            .collect();
        tasks.push(GraphTask {
            name: format!("t{at}"),
            costs,
            keeps: random.between(0, 1 << 20),
            scratch: random.between(0, 1 << 19),
        });
    }
    let mut edges = Vec::new();
    for to in 1..count {
        for _ in 0..random.between(0, 3) {
            let from = random.between(to.saturating_sub(12) as u64, to as u64 - 1) as usize;
            if !edges.iter().any(|e: &GraphEdge| e.from == from && e.to == to) {
                edges.push(GraphEdge { from, to, bytes: random.between(0, tasks[from].keeps) });
            }
        }
    }
    let graph = Graph::new(tasks, edges).expect("the graph is right");
    let alone = |t: usize| {
        graph.tasks()[t].keeps + graph.tasks()[t].scratch + graph.before(t).map(|e| e.bytes).sum::<u64>()
    };
    let largest = (0..count).map(alone).max().unwrap_or(0);
    let device = |at: usize, random: &mut ExampleRandom| {
        let memory = largest + random.between(0, 2 * largest);
        GraphDevice::new(&format!("d{at}"), memory)
            .of_speed(random.between(1, 4) as f64)
            .at(random.between(0, 20_000) as f64, 1.0)
    };
    let mut all: Vec<GraphDevice> = (0..devices).map(|at| device(at, random)).collect();
    if seed.is_multiple_of(2)
        && let Some(last) = all.last_mut()
    {
        *last = GraphDevice { memory: u64::MAX, speed: 0.25, ..last.clone() };
    }
    (graph, GraphMachine::new(all))
}
