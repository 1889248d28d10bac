//! The critical path: the longest chain of work in which each part had to wait for the one before.
//!
//! Tasks are walked through in the order of time. Each has the length of the longest chain up to
//! its current work. Work makes the chain longer. Where a task had to wait, it takes over a longer
//! chain:
//! * a task, that of its creation and of the ends of the tasks that it depends on;
//! * a wait for tasks, those of the tasks;
//! * a barrier, those of all threads that arrive;
//! * a region's end, that of its threads.
//!
//! Where no task had to wait, the order of time makes no difference. Locks are not followed: which
//! task gets a lock first is by chance.
//!
//! Where tasks were left out, the chain through the written tasks is a lower bound. The time in
//! which at least one lane worked is an upper bound: parts of a chain do not overlap.

use std::collections::HashMap;

use super::timeline::{LaneActivity, Timeline, TimelineStretch};
use super::trace::{Category, Trace};

/// Part of a chain: work of a task on a lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    pub lane: usize,
    pub begin: f64,
    pub end: f64,
    pub name: Option<u32>,
    /// The link before; [`NONE`]: none.
    before: usize,
}

const NONE: usize = usize::MAX;

/// The path.
#[derive(Debug, Default)]
pub struct CriticalPath {
    /// Microseconds of work on the path. Where tasks were left out: a lower bound.
    pub length: f64,
    /// An upper bound where tasks were left out: microseconds in which at least one lane worked.
    /// Else the length.
    pub upper_bound: f64,
    /// All work, short tasks included.
    pub work: f64,
    /// The time of short tasks, with waits that cannot be separated from them.
    pub short_work: f64,
    /// Its links, in the order of time; neighbours of one kind are one.
    pub links: Vec<Link>,
}

impl CriticalPath {
    /// How many lanes could be busy at most, on average.
    pub fn parallelism(&self) -> f64 {
        if self.length > 0.0 { self.work / self.length } else { 1.0 }
    }

    /// The lower bound of the parallelism where tasks were left out. [`Self::parallelism`] is then
    /// the upper bound, if the path's lower bound is not 0.
    pub fn parallelism_at_least(&self) -> f64 {
        let measured = self.work - self.short_work;
        if self.upper_bound > 0.0 { (measured / self.upper_bound).max(1.0) } else { 1.0 }
    }
}

/// The end of a chain.
#[derive(Clone, Copy, Debug)]
struct Chain {
    length: f64,
    last: usize,
}

impl Chain {
    const EMPTY: Self = Self { length: 0.0, last: NONE };

    fn longer(self, other: Self) -> Self {
        if other.length > self.length { other } else { self }
    }
}

/// A task while it is walked through.
struct OpenTask {
    chain: Chain,
    /// Where and since when it works.
    works: Option<(usize, f64, Option<u32>)>,
    parent: u64,
    region: u64,
    /// The longest chains of children and descendants that have ended.
    children: Chain,
    descendants: Chain,
    /// Barriers that it has come to.
    barriers: usize,
}

/// A region while it is walked through.
#[derive(Default)]
struct Region {
    start: Option<Chain>,
    /// By number of the barrier, the longest chain of the tasks that have arrived.
    barriers: HashMap<usize, Chain>,
    /// Barriers that a task has left.
    left: usize,
    end: Option<Chain>,
}

/// What happens to tasks; at one time in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TaskEventKind {
    Rests,
    Creates,
    Ends,
    Arrives,
    Leaves,
    Joins,
    Forks,
    Begins,
    Works,
}

#[derive(Clone, Copy, Debug)]
struct TaskEvent {
    at: f64,
    what: TaskEventKind,
    task: u64,
    /// The other task, the region, or the lane.
    other: u64,
    name: Option<u32>,
}

#[derive(Default)]
struct Walk {
    open_tasks: HashMap<u64, OpenTask>,
    regions: HashMap<u64, Region>,
    links: Vec<Link>,
    before: HashMap<u64, Vec<u64>>,
    ended: HashMap<u64, Chain>,
}

pub fn find(trace: &Trace, timeline: &Timeline) -> CriticalPath {
    let mut walk = Walk::default();
    for &(from, to) in &trace.dependences {
        walk.before.entry(to).or_default().push(from);
    }
    let mut events = events(trace, timeline);
    events.sort_by(|a, b| a.at.total_cmp(&b.at).then(a.what.cmp(&b.what)));
    events.iter().for_each(|event| walk.take(event));
    let open = walk.open_tasks.values().map(|open_task| open_task.chain);
    let longest = open.chain(walk.ended.values().copied()).fold(Chain::EMPTY, Chain::longer);
    let time_of = |is_one: fn(LaneActivity) -> bool| -> f64 {
        timeline.all().filter(|(_, s)| is_one(s.kind)).map(|(_, s)| s.length()).sum()
    };
    CriticalPath {
        length: longest.length,
        upper_bound: if trace.left_out == 0 { longest.length } else { time_of_work(timeline) },
        work: time_of(LaneActivity::is_work),
        short_work: time_of(|kind| kind == LaneActivity::Short),
        links: walk.unroll(longest.last),
    }
}

/// Microseconds in which at least one lane works.
fn time_of_work(timeline: &Timeline) -> f64 {
    let work = timeline.all().filter(|(_, s)| s.kind.is_work());
    let mut times: Vec<(f64, f64)> = work.map(|(_, s)| (s.begin, s.end)).collect();
    times.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut covered = f64::NEG_INFINITY;
    times.into_iter().fold(0.0, |sum, (begin, end)| {
        let begin = begin.max(covered);
        covered = covered.max(end);
        sum + (end - begin).max(0.0)
    })
}

fn events(trace: &Trace, timeline: &Timeline) -> Vec<TaskEvent> {
    let mut events = Vec::new();
    let mut put = |at, what, task, other, name| events.push(TaskEvent { at, what, task, other, name });
    let unmeasured = trace.unmeasured_tasks();
    let is_measured_work = |s: &TimelineStretch| {
        s.kind.is_work() && s.kind != LaneActivity::Short && s.task != 0 && !unmeasured.contains(&s.task)
    };
    for (lane, stretch) in timeline.all().filter(|(_, s)| is_measured_work(s)) {
        put(stretch.begin, TaskEventKind::Works, stretch.task, lane as u64, stretch.name);
        put(stretch.end, TaskEventKind::Rests, stretch.task, lane as u64, None);
    }
    // The first slices of waits, regions and implicit tasks that are cut in pieces.
    let mut open: HashMap<(u64, u32), f64> = HashMap::new();
    let mut begun: HashMap<u64, f64> = HashMap::new();
    let mut all: Vec<_> = trace.lanes.iter().flat_map(|lane| &lane.slices).collect();
    all.sort_by(|a, b| a.begin.total_cmp(&b.begin));
    for slice in all {
        match slice.category {
            Category::Task => {
                if let Some(made) = slice.made {
                    put(made.at, TaskEventKind::Creates, made.parent, slice.task, None);
                    put(slice.begin, TaskEventKind::Begins, slice.task, 0, None);
                }
                if slice.ends {
                    put(slice.end, TaskEventKind::Ends, slice.task, 0, None);
                }
            }
            Category::Implicit => {
                begun.entry(slice.task).or_insert_with(|| {
                    put(slice.begin, TaskEventKind::Begins, slice.task, slice.region, None);
                    slice.begin
                });
                if slice.ends {
                    put(slice.end, TaskEventKind::Ends, slice.task, slice.region, None);
                }
            }
            Category::Region => {
                open.entry((slice.region, u32::MAX)).or_insert_with(|| {
                    put(slice.begin, TaskEventKind::Forks, slice.task, slice.region, None);
                    slice.begin
                });
                if slice.ends {
                    put(slice.end, TaskEventKind::Joins, slice.task, slice.region, None);
                }
            }
            Category::Wait => {
                let since = *open.entry((slice.task, slice.name)).or_insert(slice.begin);
                if slice.ends {
                    open.remove(&(slice.task, slice.name));
                    put(since, TaskEventKind::Arrives, slice.task, 0, Some(slice.name));
                    put(slice.end, TaskEventKind::Leaves, slice.task, 0, Some(slice.name));
                }
            }
            Category::Sleep
            | Category::Device
            | Category::Short
            | Category::NoProcessor
            | Category::Other => {}
        }
    }
    let is_barrier = |name: Option<u32>| name.is_some_and(|n| trace.names.get(n) == "barrier");
    let is_taskgroup = |name: Option<u32>| name.is_some_and(|n| trace.names.get(n) == "taskgroup");
    let is_taskwait =
        |name: Option<u32>| name.is_some_and(|n| matches!(trace.names.get(n), "taskwait" | "dependence"));
    for event in
        events.iter_mut().filter(|e| matches!(e.what, TaskEventKind::Arrives | TaskEventKind::Leaves))
    {
        event.other = match event.name {
            name if is_barrier(name) => BARRIER,
            name if is_taskgroup(name) => TASKGROUP,
            name if is_taskwait(name) => TASKWAIT,
            _ => OTHER,
        };
    }
    events
}

/// What waits are, in `TaskEvent::other`.
const BARRIER: u64 = 0;
const TASKWAIT: u64 = 1;
const TASKGROUP: u64 = 2;
const OTHER: u64 = 3;

impl Walk {
    fn open_task(&mut self, task: u64) -> &mut OpenTask {
        let none = Chain::EMPTY;
        self.open_tasks.entry(task).or_insert(OpenTask {
            chain: none,
            works: None,
            parent: 0,
            region: 0,
            children: none,
            descendants: none,
            barriers: 0,
        })
    }

    fn take(&mut self, event: &TaskEvent) {
        let TaskEvent { at, what, task, other, name } = *event;
        match what {
            TaskEventKind::Works => self.open_task(task).works = Some((other as usize, at, name)),
            TaskEventKind::Rests => {
                self.advance(task, at);
                self.open_task(task).works = None;
            }
            TaskEventKind::Creates => {
                let chain = self.advance(task, at);
                let region = self.open_task(task).region;
                let child = self.open_task(other);
                (child.chain, child.parent, child.region) = (chain, task, region);
            }
            TaskEventKind::Begins => self.begins(task, other),
            TaskEventKind::Ends => self.ends(task, other),
            TaskEventKind::Forks => {
                let chain = self.advance(task, at);
                self.regions.entry(other).or_default().start = Some(chain);
            }
            TaskEventKind::Joins => {
                let end = self.regions.remove(&other).and_then(|region| region.end);
                let open_task = self.open_task(task);
                open_task.chain = open_task.chain.longer(end.unwrap_or(Chain::EMPTY));
            }
            TaskEventKind::Arrives if other == BARRIER => self.arrives(task),
            TaskEventKind::Leaves => self.leaves(task, other),
            TaskEventKind::Arrives => {}
        }
    }

    /// The chain of a task up to `at`.
    fn advance(&mut self, task: u64, at: f64) -> Chain {
        let next = self.links.len();
        let open_task = self.open_task(task);
        if let Some((lane, since, name)) = open_task.works.filter(|w| w.1 < at) {
            let link = Link { lane, begin: since, end: at, name, before: open_task.chain.last };
            open_task.chain = Chain { length: open_task.chain.length + at - since, last: next };
            open_task.works = Some((lane, at, name));
            let chain = open_task.chain;
            self.links.push(link);
            return chain;
        }
        open_task.chain
    }

    /// `region`: of an implicit task.
    fn begins(&mut self, task: u64, region: u64) {
        let before = self.before.remove(&task).unwrap_or_default();
        let waited =
            before.iter().filter_map(|task| self.ended.get(task)).fold(Chain::EMPTY, |a, &b| a.longer(b));
        let start = self.regions.get(&region).and_then(|r| r.start).unwrap_or(Chain::EMPTY);
        let open_task = self.open_task(task);
        open_task.chain = open_task.chain.longer(waited).longer(start);
        if region != 0 {
            open_task.region = region;
        }
    }

    /// `region`: of an implicit task; 0 for explicit ones.
    fn ends(&mut self, task: u64, implicit: u64) {
        let Some(open_task) = self.open_tasks.remove(&task) else { return };
        let (chain, descendants) = (open_task.chain, open_task.chain.longer(open_task.descendants));
        if implicit == 0
            && let Some(parent) = self.open_tasks.get_mut(&open_task.parent)
        {
            parent.children = parent.children.longer(chain);
            parent.descendants = parent.descendants.longer(descendants);
        }
        if let Some(region) = self.regions.get_mut(&open_task.region) {
            region.end = Some(region.end.map_or(chain, |end| end.longer(chain)));
            if implicit == 0 {
                let left = region.left;
                region.at_barrier(left, chain);
            }
        }
        self.ended.insert(task, chain);
    }

    fn arrives(&mut self, task: u64) {
        let open_task = self.open_task(task);
        let (chain, number, region) = (open_task.chain, open_task.barriers, open_task.region);
        if let Some(region) = self.regions.get_mut(&region) {
            region.at_barrier(number, chain);
        }
    }

    fn leaves(&mut self, task: u64, wait: u64) {
        let open_task = self.open_task(task);
        let (number, region, children, descendants) =
            (open_task.barriers, open_task.region, open_task.children, open_task.descendants);
        let waited = match wait {
            TASKWAIT => children,
            TASKGROUP => children.longer(descendants),
            BARRIER => {
                open_task.barriers += 1;
                let region = self.regions.get_mut(&region);
                region.map_or(Chain::EMPTY, |region| {
                    region.left = region.left.max(number + 1);
                    region.barriers.get(&number).copied().unwrap_or(Chain::EMPTY)
                })
            }
            _ => Chain::EMPTY,
        };
        let open_task = self.open_task(task);
        open_task.chain = open_task.chain.longer(waited);
    }

    /// The links of the chain that ends with `last`.
    fn unroll(&self, last: usize) -> Vec<Link> {
        let mut path: Vec<Link> = Vec::new();
        let mut at = last;
        while at != NONE {
            let link = self.links[at];
            match path.last_mut() {
                Some(next)
                    if next.lane == link.lane && next.name == link.name && next.begin - link.end < 1e-3 =>
                {
                    next.begin = link.begin
                }
                _ => path.push(link),
            }
            at = link.before;
        }
        path.reverse();
        path
    }
}

impl Region {
    fn at_barrier(&mut self, number: usize, chain: Chain) {
        let longest = self.barriers.entry(number).or_insert(chain);
        *longest = longest.longer(chain);
    }
}

#[cfg(test)]
mod tests {
    use super::super::trace::{read, tests::file};
    use super::*;
    use std::ops::Range;

    fn path(events: &[&str]) -> CriticalPath {
        let trace = read(&file(events)).unwrap();
        find(&trace, &Timeline::of(&trace))
    }

    /// A moment of a task.
    #[derive(Clone, Copy)]
    struct TaskMoment {
        /// The task's number.
        task: u32,
        /// The time.
        at: u32,
    }

    fn in_task(task: u32, at: u32) -> TaskMoment {
        TaskMoment { task, at }
    }

    /// A task that runs at this time, and was created at that moment of its parent.
    fn task(lane: u32, id: u32, time: Range<u32>, created: TaskMoment) -> String {
        let (begin, length) = (time.start, time.end - time.start);
        let TaskMoment { task: parent, at: created } = created;
        format!(
            "'ph':'X','tid':{lane},'name':'t{id}','cat':'task','ts':{begin},'dur':{length},'args':{{'task':{id},'parent':{parent},'by':0,'created':{created},'end':1}}"
        )
    }

    fn arrow(id: u32, from: TaskMoment, to: TaskMoment) -> [String; 2] {
        let TaskMoment { task: from, at } = from;
        let TaskMoment { task: to, at: then } = to;
        [
            format!("'ph':'s','tid':0,'name':'d','cat':'dependence','ts':{at},'id':{id}"),
            format!(
                "'ph':'f','tid':0,'name':'d','cat':'dependence','ts':{then},'id':{id},'args':{{'from':{from},'to':{to}}}"
            ),
        ]
    }

    fn events(lists: Vec<Vec<String>>) -> Vec<String> {
        lists.into_iter().flatten().collect()
    }

    #[test]
    fn dependences_make_a_chain_and_waiting_for_a_lane_does_not() {
        // 1 → 3 is the chain; 2 runs between on the same lane without need.
        let all = events(vec![
            vec![
                task(0, 1, 10..30, in_task(0, 1)),
                task(0, 2, 30..35, in_task(0, 2)),
                task(0, 3, 35..65, in_task(0, 3)),
            ],
            arrow(1, in_task(1, 29), in_task(3, 35)).into(),
        ]);
        let path = path(&all.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!((path.length, path.work), (50.0, 55.0));
        assert_eq!(
            path.links.iter().map(|l| (l.begin, l.end)).collect::<Vec<_>>(),
            [(10.0, 30.0), (35.0, 65.0)]
        );
    }

    #[test]
    fn where_tasks_were_left_out_the_path_has_bounds() {
        // The thread runs for 100, of which 40 are short tasks. Beside it, task 2 works for 30, and
        // task 3 works for 5 after the thread's end.
        let thread =
            "'ph':'X','tid':0,'name':'r','cat':'implicit','ts':0,'dur':100,'args':{'task':1,'region':0}";
        let many = "'ph':'X','tid':10000,'name':'short tasks','cat':'many','ts':50,'dur':40,'args':{'lane':0,'tasks':9}";
        let tasks = [task(1, 2, 20..50, in_task(1, 10)), task(1, 3, 102..107, in_task(1, 20))];
        let text = file(&[thread, many, &tasks[0], &tasks[1]]);
        let text = text.replace("\"lost\":0", "\"lost\":0,\"tasks\":11,\"tasks_left_out\":9");
        let trace = read(&text).unwrap();
        let path = find(&trace, &Timeline::of(&trace));
        assert_eq!((path.length, path.upper_bound), (60.0, 105.0));
        assert_eq!((path.work, path.short_work), (135.0, 40.0));
        assert_eq!((path.parallelism(), path.parallelism_at_least()), (135.0 / 60.0, 1.0));
    }

    #[test]
    fn the_path_goes_through_creation_and_taskwait() {
        // The producer works 10, makes a task that works 40 elsewhere, works 5 more, waits, and
        // works 7.
        let producer =
            "'ph':'X','tid':0,'name':'p','cat':'implicit','ts':0,'dur':67,'args':{'task':1,'region':0}";
        let wait =
            "'ph':'X','tid':0,'name':'taskwait','cat':'wait','ts':15,'dur':45,'args':{'task':1,'end':1}";
        let child = task(1, 2, 20..60, in_task(1, 10));
        let path = path(&[producer, wait, &child]);
        assert_eq!(path.length, 10.0 + 40.0 + 7.0);
        assert_eq!(
            path.links.iter().map(|l| (l.lane, l.end - l.begin)).collect::<Vec<_>>(),
            [(0, 10.0), (1, 40.0), (0, 7.0)]
        );
        assert!((path.parallelism() - 62.0 / 57.0).abs() < 1e-9);
    }

    #[test]
    fn a_barrier_makes_all_wait_for_the_last() {
        let implicit = |lane: u32, task: u32, length: u32| {
            format!(
                "'ph':'X','tid':{lane},'name':'r','cat':'implicit','ts':10,'dur':{length},'args':{{'task':{task},'region':1,'end':1}}"
            )
        };
        let barrier = |lane: u32, task: u32, begin: u32, end: u32| {
            format!(
                "'ph':'X','tid':{lane},'name':'barrier','cat':'wait','ts':{begin},'dur':{},'args':{{'task':{task},'end':1}}",
                end - begin
            )
        };
        let region = "'ph':'X','tid':0,'name':'r','cat':'region','ts':9,'dur':90,'args':{'task':7,'region':1,'size':2,'end':1}";
        let initial =
            "'ph':'X','tid':0,'name':'i','cat':'implicit','ts':0,'dur':100,'args':{'task':7,'region':0}";
        // Thread 0 works 10, then 30; thread 1 works 40, then 5: the longest way is 40 + 30.
        let all = [
            initial.into(),
            region.into(),
            implicit(0, 1, 80),
            implicit(1, 2, 46),
            barrier(0, 1, 20, 50),
            barrier(1, 2, 50, 51),
            barrier(0, 1, 80, 90),
        ];
        let path = path(&all.iter().map(String::as_str).collect::<Vec<_>>());
        // Before the fork, through the region, and what the initial task does after it.
        assert_eq!(path.length, 9.0 + 40.0 + 30.0 + 1.0);
        assert_eq!(path.links.iter().map(|l| l.lane).collect::<Vec<_>>(), [0, 1, 0, 0]);
    }
}
