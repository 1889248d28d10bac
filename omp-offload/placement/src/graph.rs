//! What is placed ([`Graph`]) and where ([`GraphMachine`]).

use std::collections::BTreeMap;

use crate::Time;

/// A task. Memory is counted on the device that it runs on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphTask {
    /// A name for people, without blanks.
    pub name: String,
    /// Nanoseconds on a device of speed 1; or one figure for each device.
    pub costs: Vec<f64>,
    /// Bytes that it leaves for other tasks: in use from its start until the last of them has read
    /// them, or until its own end where no task reads them.
    pub keeps: u64,
    /// Bytes that it needs while it runs.
    pub scratch: u64,
}

/// `to` reads what `from` has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphEdge {
    /// The writer.
    pub from: usize,
    /// The reader.
    pub to: usize,
    /// Bytes; on another device `to` needs a copy of them while it runs.
    pub bytes: u64,
}

/// Tasks and what they pass to each other, without circles.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    tasks: Vec<GraphTask>,
    edges: Vec<GraphEdge>,
    into: Vec<Vec<usize>>,
    out: Vec<Vec<usize>>,
    order: Vec<usize>,
}

/// All tasks one after the other may take so many nanoseconds (36 years), and all that they keep,
/// need and pass on may be so many bytes. The reason: sums of times and sizes have to be numbers.
const MOST: u64 = 1 << 60;

impl Graph {
    /// A graph of these.
    ///
    /// # Errors
    /// An edge names a task that is not there, a task has no cost, tasks wait for each other in a
    /// circle, or times or sizes have no sum.
    pub fn new(tasks: Vec<GraphTask>, edges: Vec<GraphEdge>) -> Result<Self, String> {
        let count = tasks.len();
        if let Some(at) = tasks
            .iter()
            .position(|t| t.costs.is_empty() || t.costs.iter().any(|c| !c.is_finite() || *c < 0.0))
        {
            return Err(format!("task {at} has no cost, or one below zero"));
        }
        check_sums(&tasks, &edges)?;
        let (mut into, mut out) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for (at, edge) in edges.iter().enumerate() {
            if edge.from >= count || edge.to >= count {
                return Err(format!("edge {} to {}: there are {count} tasks", edge.from, edge.to));
            }
            into[edge.to].push(at);
            out[edge.from].push(at);
        }
        let mut graph = Self { tasks, edges, into, out, order: Vec::new() };
        graph.order = graph.sorted().ok_or("tasks wait for each other in a circle")?;
        Ok(graph)
    }

    /// Tasks, each behind those that it waits for, otherwise by number.
    fn sorted(&self) -> Option<Vec<usize>> {
        let mut missing: Vec<usize> = self.into.iter().map(Vec::len).collect();
        let mut ready: std::collections::BTreeSet<usize> =
            (0..self.len()).filter(|&t| missing[t] == 0).collect();
        let mut order = Vec::with_capacity(self.len());
        while let Some(task) = ready.pop_first() {
            order.push(task);
            for edge in self.after(task) {
                missing[edge.to] -= 1;
                if missing[edge.to] == 0 {
                    ready.insert(edge.to);
                }
            }
        }
        (order.len() == self.len()).then_some(order)
    }

    /// How many tasks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// No task?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The tasks by number.
    #[must_use]
    pub fn tasks(&self) -> &[GraphTask] {
        &self.tasks
    }

    /// All edges.
    #[must_use]
    pub fn edges(&self) -> &[GraphEdge] {
        &self.edges
    }

    /// What the task waits for.
    pub fn before(&self, task: usize) -> impl Iterator<Item = &GraphEdge> {
        self.into[task].iter().map(|&at| &self.edges[at])
    }

    /// What waits for the task.
    pub fn after(&self, task: usize) -> impl Iterator<Item = &GraphEdge> {
        self.out[task].iter().map(|&at| &self.edges[at])
    }

    /// All tasks, each behind those that it waits for.
    #[must_use]
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// How far the end is from the beginning of each task, itself included, with averages over the
    /// machine's devices: the upper rank of HEFT (Topcuoglu and others, 2002, equation 8), the
    /// b-level of ISH.
    #[must_use]
    pub fn ranks(&self, machine: &GraphMachine) -> Vec<f64> {
        let mut ranks = vec![0.0_f64; self.len()];
        for &task in self.order.iter().rev() {
            let behind =
                self.after(task).map(|e| machine.mean_transfer(e.bytes) + ranks[e.to]).fold(0.0, f64::max);
            ranks[task] = machine.mean_cost(&self.tasks[task]) + behind;
        }
        ranks
    }

    /// All tasks by falling rank, those of the same rank so that none is before what it waits for.
    #[must_use]
    pub fn by_rank(&self, machine: &GraphMachine) -> Vec<usize> {
        let ranks = self.ranks(machine);
        let mut order = self.order.clone();
        order.sort_by(|&a, &b| ranks[b].total_cmp(&ranks[a]));
        order
    }
}

/// A device, with its way to the others.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphDevice {
    /// A name for people.
    pub name: String,
    /// Bytes; [`u64::MAX`]: as many as anybody wants.
    pub memory: u64,
    /// How many times as fast as a device of speed 1.
    pub speed: f64,
    /// Nanoseconds until the first byte is on the way.
    pub latency: f64,
    /// Bytes per nanosecond (GB/s).
    pub bandwidth: f64,
    /// Devices of one node are [`LOCAL`] to each other.
    pub node: Option<usize>,
}

/// Latency and bandwidth between devices of one node.
pub const LOCAL: (f64, f64) = (1e4, 3.0);

impl GraphDevice {
    /// A device of speed 1 with this much memory, 1 us and 1 GB/s away.
    #[must_use]
    pub fn new(name: &str, memory: u64) -> Self {
        Self { name: name.into(), memory, speed: 1.0, latency: 1000.0, bandwidth: 1.0, node: None }
    }

    /// The same, so many times as fast.
    #[must_use]
    pub fn of_speed(self, speed: f64) -> Self {
        Self { speed, ..self }
    }

    /// The same, this far away: nanoseconds, bytes per nanosecond.
    #[must_use]
    pub fn at(self, latency: f64, bandwidth: f64) -> Self {
        Self { latency, bandwidth, ..self }
    }

    /// The same, in this node.
    #[must_use]
    pub fn of_node(self, node: usize) -> Self {
        Self { node: Some(node), ..self }
    }
}

/// Devices. What goes from one to another passes both their ways, where nothing is known of those
/// two.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphMachine {
    /// The devices by number; at least one.
    pub devices: Vec<GraphDevice>,
    /// What is known of pairs, the lower number first: nanoseconds until the first byte is on the
    /// way, bytes per nanosecond.
    pub pairs: BTreeMap<(usize, usize), (f64, f64)>,
}

fn check_sums(tasks: &[GraphTask], edges: &[GraphEdge]) -> Result<(), String> {
    let longest = |task: &GraphTask| task.costs.iter().fold(0.0, |longest: f64, cost| longest.max(*cost));
    let wide = |bytes: u64| u128::from(bytes);
    let time: f64 = tasks.iter().map(longest).sum();
    let bytes = tasks
        .iter()
        .map(|task| wide(task.keeps) + wide(task.scratch))
        .chain(edges.iter().map(|edge| wide(edge.bytes)));
    if time > MOST as f64 || bytes.sum::<u128>() > wide(MOST) {
        return Err("times or sizes too large to be added up".into());
    }
    Ok(())
}

/// Whole nanoseconds, never too few; what takes years takes so many.
fn whole(time: f64) -> Time {
    (time.ceil() as Time).min(MOST)
}

impl GraphMachine {
    /// Devices of whose pairs nothing is known.
    #[must_use]
    pub fn new(devices: Vec<GraphDevice>) -> Self {
        Self { devices, pairs: BTreeMap::new() }
    }

    fn exact_cost(&self, task: &GraphTask, device: usize) -> f64 {
        match task.costs[..] {
            [one] => one / self.devices[device].speed,
            _ => task.costs[device.min(task.costs.len() - 1)],
        }
    }

    /// How long the task runs on the device.
    #[must_use]
    pub fn cost(&self, task: &GraphTask, device: usize) -> Time {
        whole(self.exact_cost(task, device))
    }

    /// The same, on average over the devices.
    #[must_use]
    pub fn mean_cost(&self, task: &GraphTask) -> f64 {
        (0..self.devices.len()).map(|d| self.exact_cost(task, d)).sum::<f64>() / self.devices.len() as f64
    }

    fn exact_transfer(&self, bytes: u64, from: usize, to: usize) -> f64 {
        if from == to {
            return 0.0;
        }
        if let Some((latency, bandwidth)) = self.pairs.get(&(from.min(to), from.max(to))) {
            return latency + bytes as f64 / bandwidth;
        }
        let (a, b) = (&self.devices[from], &self.devices[to]);
        if a.node.is_some() && a.node == b.node {
            return LOCAL.0 + bytes as f64 / LOCAL.1;
        }
        a.latency + b.latency + bytes as f64 / a.bandwidth.min(b.bandwidth)
    }

    /// How long bytes travel: as is known of the two, or sum of the latencies, smaller one of the
    /// bandwidths; nothing to the same device.
    #[must_use]
    pub fn transfer(&self, bytes: u64, from: usize, to: usize) -> Time {
        whole(self.exact_transfer(bytes, from, to))
    }

    /// The same, on average over pairs of different devices.
    #[must_use]
    pub fn mean_transfer(&self, bytes: u64) -> f64 {
        let count = self.devices.len();
        let pairs = (0..count).flat_map(|a| (0..count).filter(move |&b| b != a).map(move |b| (a, b)));
        let sum: f64 = pairs.map(|(a, b)| self.exact_transfer(bytes, a, b)).sum();
        sum / (count * count.saturating_sub(1)).max(1) as f64
    }
}

/// A task in a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphPlaced {
    /// Where.
    pub device: usize,
    /// When it begins to run, its copies made.
    pub start: Time,
    /// When it ends.
    pub finish: Time,
}

/// Where and when each task runs, by its number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphSchedule(pub Vec<GraphPlaced>);

/// A task has no room on any device, however long it waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoRoom {
    /// Its number.
    pub task: usize,
}

impl core::fmt::Display for NoRoom {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "no device ever has room for task {}", self.task)
    }
}
