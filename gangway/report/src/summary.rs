//! Sums over a timeline: what lanes did, tasks by function and by length, regions, steals, gangs.

use std::collections::{BTreeMap, HashMap};

use super::path::CriticalPath;
use super::timeline::{LaneActivity, Timeline};
use super::trace::{Category, Trace};
use super::workers::FewerWorkers;

/// Classes of lengths: powers of two from 2^-4 us (64 ns) up.
pub const CLASSES: usize = 32;
/// Of the first class.
pub const SHORTEST: f64 = 0.0625;

/// A function of tasks, or a region.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SummaryRow {
    pub name: String,
    pub count: u64,
    /// Microseconds: of tasks the work, of regions from fork to join.
    pub total: f64,
    pub longest: f64,
    /// How many of them the total is of.
    pub measured: u64,
    /// Of regions: the time of its threads, and what of it they spent in barriers.
    pub threads: f64,
    pub barriers: f64,
}

impl SummaryRow {
    pub fn mean(&self) -> f64 {
        self.total / if self.measured == 0 { self.count.max(1) } else { self.measured } as f64
    }
}

/// A gang, from its start to the end of its last thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GangRun {
    pub id: i64,
    pub level: i64,
    pub size: u32,
    pub queued: f64,
    pub begin: f64,
    pub end: f64,
}

/// See the module. Times are microseconds.
#[derive(Debug, Default)]
pub struct Summary {
    pub length: f64,
    /// By lane and [`LaneActivity`].
    pub lanes: Vec<[f64; LaneActivity::ALL.len()]>,
    pub tasks: Vec<SummaryRow>,
    pub regions: Vec<SummaryRow>,
    /// Tasks by the class of their length.
    pub lengths: [u64; CLASSES],
    /// Tasks in all, and those shorter than a microsecond.
    pub task_count: u64,
    pub short_tasks: u64,
    /// Thief, victim (indices of lanes), how often.
    pub steals: Vec<(usize, usize, u64)>,
    pub stolen_tasks: u64,
    pub gangs: Vec<GangRun>,
    /// Microseconds of work on the critical path. Where tasks were left out: its lower and its
    /// upper bound.
    pub path: f64,
    pub path_at_most: f64,
    /// Work divided by the critical path. Where tasks were left out: its upper and its lower bound.
    pub parallelism: f64,
    pub parallelism_at_least: f64,
    /// What is on the critical path, the longest first.
    pub on_path: Vec<(String, f64)>,
    /// The process in which fewer than all workers ran for the longest time; `None` if all workers ran all
    /// the time in every process.
    pub fewer_workers: Option<FewerWorkers>,
    pub lost: u64,
    /// Tasks that were left out. Where there are any, counts of tasks by function and length are
    /// estimates, and only bounds of the critical path are known.
    pub left_out: u64,
    /// Of how many ranks this is. Where there are several, the critical path is not known.
    pub ranks: usize,
    /// Their times are of one clock.
    pub one_clock: bool,
}

impl Summary {
    pub fn of(trace: &Trace, timeline: &Timeline, path: &CriticalPath) -> Self {
        let mut summary = Self {
            length: timeline.length(),
            lost: trace.lost,
            left_out: trace.left_out,
            path: path.length,
            path_at_most: path.upper_bound,
            parallelism: path.parallelism(),
            parallelism_at_least: path.parallelism_at_least(),
            fewer_workers: trace.fewer_workers.iter().copied().max_by(|a, b| a.time.total_cmp(&b.time)),
            ..Self::default()
        };
        summary.lanes = timeline.lanes.iter().map(|stretches| by_kind(stretches)).collect();
        summary.count_tasks(trace, timeline);
        summary.count_regions(trace, timeline);
        summary.count_steals(trace);
        summary.gangs = gangs(trace);
        summary.on_path = on_path(trace, path);
        summary
    }

    /// Are all times numbers?
    #[cfg(any(test, feature = "fuzz"))]
    pub fn is_finite(&self) -> bool {
        let rows = self
            .tasks
            .iter()
            .chain(&self.regions)
            .flat_map(|row| [row.total, row.longest, row.mean(), row.threads, row.barriers]);
        let gangs = self.gangs.iter().flat_map(|gang| [gang.queued, gang.begin, gang.end]);
        let path = [self.path, self.path_at_most, self.parallelism, self.parallelism_at_least];
        let workers = self.fewer_workers.iter().flat_map(|fewer| [fewer.time, fewer.withdrawn_time]);
        let alone = [self.length, self.all()].into_iter().chain(path).chain(workers);
        let mut all = self
            .lanes
            .iter()
            .flatten()
            .copied()
            .chain(rows)
            .chain(gangs)
            .chain(alone)
            .chain(self.on_path.iter().map(|part| part.1));
        all.all(f64::is_finite)
    }

    /// Is the critical path known?
    pub fn has_path(&self) -> bool {
        self.left_out == 0 && self.ranks <= 1
    }

    /// Are only bounds of the critical path known?
    pub fn has_only_path_bounds(&self) -> bool {
        self.left_out != 0 && self.ranks <= 1
    }

    /// Time of all lanes that is of this kind.
    pub fn total(&self, kind: LaneActivity) -> f64 {
        self.lanes.iter().map(|lane| lane[kind as usize]).sum()
    }

    /// Time of all lanes.
    pub fn all(&self) -> f64 {
        self.lanes.iter().flatten().sum()
    }

    /// The part of all lanes' time that is of this kind.
    pub fn share(&self, kind: LaneActivity) -> f64 {
        let all = self.all();
        if all > 0.0 { self.total(kind) / all } else { 0.0 }
    }

    fn count_tasks(&mut self, trace: &Trace, timeline: &Timeline) {
        let mut work: HashMap<u64, f64> = HashMap::new();
        for (_, stretch) in
            timeline.all().filter(|(_, s)| matches!(s.kind, LaneActivity::Task | LaneActivity::Stall))
        {
            *work.entry(stretch.task).or_default() += stretch.length();
        }
        let mut rows: BTreeMap<u32, SummaryRow> = BTreeMap::new();
        let first = trace
            .lanes
            .iter()
            .flat_map(|lane| &lane.slices)
            .filter(|s| s.category == Category::Task && s.made.is_some());
        let unmeasured = trace.unmeasured_tasks();
        for slice in first {
            let length = work.get(&slice.task).copied().unwrap_or(0.0);
            let stands = slice.made.map_or(1, |made| made.stands);
            self.task_count += stands;
            if unmeasured.contains(&slice.task) {
                rows.entry(slice.name).or_default().count += stands;
                continue;
            }
            add(&mut rows, slice.name, length, stands);
            self.lengths[class(length)] += stands;
            self.short_tasks += if length < 1.0 { stands } else { 0 };
        }
        if trace.left_out > 0 && self.task_count > 0 {
            self.stand_for_all(&mut rows, trace.tasks);
        }
        self.tasks = named(rows, trace);
    }

    /// Who was left out last, no task stands for: those that are written are taken for all of them.
    fn stand_for_all(&mut self, rows: &mut BTreeMap<u32, SummaryRow>, tasks: u64) {
        let factor = tasks as f64 / self.task_count as f64;
        let more = |count: &mut u64| *count = (*count as f64 * factor).round() as u64;
        self.task_count = tasks;
        [&mut self.short_tasks].into_iter().chain(&mut self.lengths).for_each(more);
        for row in rows.values_mut() {
            more(&mut row.count);
            more(&mut row.measured);
            row.total *= factor;
        }
    }

    fn count_regions(&mut self, trace: &Trace, timeline: &Timeline) {
        let mut rows: BTreeMap<u32, SummaryRow> = BTreeMap::new();
        let mut begun: HashMap<u64, (f64, u32)> = HashMap::new();
        let mut region_of: HashMap<u64, u64> = HashMap::new();
        let mut parents: HashMap<u64, u64> = HashMap::new();
        for slice in trace.lanes.iter().flat_map(|lane| &lane.slices) {
            match slice.category {
                Category::Region => {
                    let (begin, name) = *begun.entry(slice.region).or_insert((slice.begin, slice.name));
                    if slice.ends {
                        add(&mut rows, name, slice.end - begin, 1);
                    }
                }
                Category::Implicit => _ = region_of.insert(slice.task, slice.region),
                Category::Task => _ = slice.made.map(|made| parents.insert(slice.task, made.parent)),
                _ => {}
            }
        }
        for (_, stretch) in timeline.all() {
            let Some((_, name)) = begun.get(&region(stretch.task, &parents, &mut region_of)) else {
                continue;
            };
            let Some(row) = rows.get_mut(name) else { continue };
            row.threads += stretch.length();
            row.barriers += if stretch.kind == LaneActivity::Barrier { stretch.length() } else { 0.0 };
        }
        self.regions = named(rows, trace);
    }

    fn count_steals(&mut self, trace: &Trace) {
        let index: HashMap<i64, usize> =
            trace.lanes.iter().enumerate().map(|(i, lane)| (lane.number, i)).collect();
        let mut steals: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        for (thief, lane) in trace.lanes.iter().enumerate() {
            let tasks = lane
                .slices
                .iter()
                .filter_map(|s| s.made.and_then(|made| Some((made.victim? as i64, made.stands))));
            self.stolen_tasks += tasks.clone().map(|(_, stands)| stands).sum::<u64>();
            for (victim, count) in tasks.chain(lane.steals.iter().map(|s| (s.1, 1))) {
                if let Some(victim) = index.get(&victim) {
                    *steals.entry((thief, *victim)).or_default() += count;
                }
            }
        }
        self.steals = steals.into_iter().map(|((thief, victim), count)| (thief, victim, count)).collect();
    }
}

/// The region that a task runs in, 0 for none; what was found is kept.
fn region(task: u64, parents: &HashMap<u64, u64>, known: &mut HashMap<u64, u64>) -> u64 {
    let mut line = vec![task];
    let region = loop {
        let last = line[line.len() - 1];
        match (known.get(&last), parents.get(&last)) {
            (Some(&region), _) => break region,
            (None, Some(&parent)) if line.len() <= parents.len() => line.push(parent),
            _ => break 0,
        }
    };
    known.extend(line.into_iter().map(|task| (task, region)));
    region
}

fn by_kind(stretches: &[super::timeline::TimelineStretch]) -> [f64; LaneActivity::ALL.len()] {
    let mut sums = [0.0; LaneActivity::ALL.len()];
    stretches.iter().for_each(|s| sums[s.kind as usize] += s.length());
    sums
}

/// `stands`: for so many.
fn add(rows: &mut BTreeMap<u32, SummaryRow>, name: u32, length: f64, stands: u64) {
    let row = rows.entry(name).or_default();
    row.count += stands;
    row.measured += stands;
    row.total += length * stands as f64;
    row.longest = row.longest.max(length);
}

/// With their names, the largest first.
fn named(rows: BTreeMap<u32, SummaryRow>, trace: &Trace) -> Vec<SummaryRow> {
    let mut rows: Vec<SummaryRow> = rows
        .into_iter()
        .map(|(name, row)| SummaryRow { name: trace.names.get(name).to_owned(), ..row })
        .collect();
    rows.sort_by(|a, b| b.total.total_cmp(&a.total));
    rows
}

/// The class of a length.
pub fn class(length: f64) -> usize {
    if length < SHORTEST { 0 } else { (((length / SHORTEST).log2().floor() as usize) + 1).min(CLASSES - 1) }
}

fn gangs(trace: &Trace) -> Vec<GangRun> {
    let start = |g: &super::trace::TraceGang| {
        (
            g.id,
            GangRun { id: g.id, level: g.level, size: g.size, queued: g.at, begin: f64::INFINITY, end: g.at },
        )
    };
    let mut runs: BTreeMap<i64, GangRun> = trace.gangs.iter().map(start).collect();
    for slice in trace.lanes.iter().flat_map(|lane| &lane.slices) {
        if let Some(run) = slice.gang.and_then(|(id, _)| runs.get_mut(&id)) {
            (run.begin, run.end) = (run.begin.min(slice.begin), run.end.max(slice.end));
        }
    }
    runs.into_values()
        .map(|run| GangRun { begin: if run.begin.is_finite() { run.begin } else { run.queued }, ..run })
        .collect()
}

fn on_path(trace: &Trace, path: &CriticalPath) -> Vec<(String, f64)> {
    let mut sums: BTreeMap<Option<u32>, f64> = BTreeMap::new();
    path.links.iter().for_each(|link| *sums.entry(link.name).or_default() += link.end - link.begin);
    let name = |number: Option<u32>| number.map_or("?".to_owned(), |n| trace.names.get(n).to_owned());
    let mut sums: Vec<(String, f64)> = sums.into_iter().map(|(number, sum)| (name(number), sum)).collect();
    sums.sort_by(|a, b| b.1.total_cmp(&a.1));
    sums
}

#[cfg(test)]
mod tests {
    use super::super::path;
    use super::super::trace::{read, tests::file};
    use super::*;

    fn summary(events: &[&str]) -> Summary {
        let trace = read(&file(events)).unwrap();
        let timeline = Timeline::of(&trace);
        Summary::of(&trace, &timeline, &path::find(&trace, &timeline))
    }

    #[test]
    fn tasks_are_counted_by_their_own_work() {
        let s = summary(&[
            "'ph':'X','tid':0,'name':'f','cat':'task','ts':0,'dur':10,'args':{'task':1,'parent':0,'by':0,'created':0}",
            "'ph':'X','tid':0,'name':'taskwait','cat':'wait','ts':2,'dur':5,'args':{'task':1,'end':1}",
            "'ph':'X','tid':0,'name':'f','cat':'task','ts':20,'dur':3,'args':{'task':1,'end':1}",
            "'ph':'X','tid':1,'name':'f','cat':'task','ts':0,'dur':0.5,'args':{'task':2,'parent':0,'by':0,'created':0,'victim':0,'end':1}",
        ]);
        let row = &s.tasks[0];
        assert_eq!((row.count, row.total, row.longest, row.mean()), (2, 8.5, 8.0, 4.25));
        assert_eq!((s.task_count, s.short_tasks, s.stolen_tasks, s.steals), (2, 1, 1, vec![(1, 0, 1)]));
        assert_eq!((s.lengths[class(8.0)], s.lengths[class(0.5)]), (1, 1));
    }

    #[test]
    fn classes_of_lengths_are_powers_of_two() {
        let classes = [0.0, 0.06, 0.0625, 0.12, 0.125, 1.0, 1e12].map(class);
        assert_eq!(classes, [0, 0, 1, 1, 2, 5, CLASSES - 1]);
    }

    #[test]
    fn regions_know_what_their_threads_waited() {
        let s = summary(&[
            "'ph':'X','tid':0,'name':'r','cat':'region','ts':0,'dur':20,'args':{'task':9,'region':1,'size':2,'end':1}",
            "'ph':'X','tid':0,'name':'r','cat':'implicit','ts':1,'dur':19,'args':{'task':1,'region':1,'gang':4,'level':0,'end':1}",
            "'ph':'X','tid':0,'name':'barrier','cat':'wait','ts':10,'dur':10,'args':{'task':1,'end':1}",
            "'ph':'i','tid':0,'name':'gang','cat':'gang','ts':0.5,'s':'t','args':{'gang':4,'level':0,'size':1}",
        ]);
        let row = &s.regions[0];
        assert_eq!((row.count, row.total, row.threads, row.barriers), (1, 20.0, 19.0, 10.0));
        assert_eq!(s.gangs, [GangRun { id: 4, level: 0, size: 1, queued: 0.5, begin: 1.0, end: 20.0 }]);
        assert_eq!(s.total(LaneActivity::Barrier), 10.0);
    }

    #[test]
    fn a_task_counts_for_those_that_were_left_out_before_it() {
        let s = summary(&[
            "'ph':'X','tid':0,'name':'f','cat':'task','ts':0,'dur':2,'args':{'task':1,'parent':0,'by':0,'created':0,'stands':10,'end':1}",
            "'ph':'X','tid':0,'name':'f','cat':'task','ts':3,'dur':0.5,'args':{'task':2,'parent':0,'by':0,'created':0,'stands':30,'victim':1,'end':1}",
            "'ph':'X','tid':1,'name':'f','cat':'task','ts':3,'dur':50,'args':{'task':3,'parent':0,'by':0,'created':0,'stands':5,'unmeasured':1,'end':1}",
        ]);
        let row = &s.tasks[0];
        assert_eq!((s.task_count, s.short_tasks, s.stolen_tasks), (45, 30, 30));
        assert_eq!((row.count, row.total, row.longest, row.mean()), (45, 35.0, 2.0, 0.875));
        assert_eq!(
            (s.lengths[class(2.0)], s.lengths[class(0.5)], s.lengths.iter().sum::<u64>()),
            (10, 30, 40)
        );
    }
}
