//! What each lane does at each time: slices, which lie in each other, as stretches one behind the
//! other, each of one kind.
//!
//! A stretch belongs to the innermost slice. Where tasks were left out of a trace, all time without
//! a task, with a processor and without sleep is "short tasks". Those tasks, the waits between them
//! and the code that makes them are not separated, nor is it known what they depend on. Where
//! nothing is open, or a thread sleeps outside of a wait, the lane has no work.

use std::collections::HashMap;
use std::ops::Range;

use super::trace::{Category, Trace, TraceSlice};

/// What a lane does. The first five are work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LaneActivity {
    /// An explicit task.
    Task,
    /// A thread's own part of a region.
    Region,
    /// Code outside of parallel regions.
    Serial,
    /// It waits for a device that works.
    Device,
    /// Short tasks that were left out, with what lies between them.
    Short,
    /// There is nothing to do.
    NoWork,
    /// Tasks are there, but all wait for others.
    Dependence,
    /// Children or descendants are not complete.
    Taskwait,
    /// Others of the team have not come.
    Barrier,
    /// Another task has the lock, or another iteration of an `ordered` loop comes first.
    Lock,
    /// A message has not come.
    Mpi,
    /// The code stands still while others wait behind it.
    Stall,
    /// The kernel thread is runnable, but has no processor.
    NoProcessor,
}

impl LaneActivity {
    pub const ALL: [Self; 13] = [
        Self::Task,
        Self::Region,
        Self::Serial,
        Self::Device,
        Self::Short,
        Self::NoWork,
        Self::Dependence,
        Self::Taskwait,
        Self::Barrier,
        Self::Lock,
        Self::Mpi,
        Self::Stall,
        Self::NoProcessor,
    ];

    pub fn is_work(self) -> bool {
        self <= Self::Short
    }

    /// In tables and legends.
    pub fn name(self) -> &'static str {
        match self {
            Self::Task => "tasks",
            Self::Region => "code of regions",
            Self::Serial => "outside of regions",
            Self::Device => "devices",
            Self::Short => "short tasks",
            Self::NoWork => "no work",
            Self::Dependence => "dependences",
            Self::Taskwait => "taskwait",
            Self::Barrier => "barriers",
            Self::Lock => "locks",
            Self::Mpi => "MPI",
            Self::Stall => "stalls",
            Self::NoProcessor => "no processor",
        }
    }
}

/// A time in which a lane does one thing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimelineStretch {
    pub begin: f64,
    pub end: f64,
    pub kind: LaneActivity,
    /// Of the innermost slice that has one of its own (not "asleep"), if any.
    pub name: Option<u32>,
    /// The task or implicit task, 0 for none.
    pub task: u64,
}

impl TimelineStretch {
    pub fn length(&self) -> f64 {
        self.end - self.begin
    }
}

/// The stretches of each lane, without gaps from its first slice to the end of the trace, and the
/// times of both.
#[derive(Debug, Default)]
pub struct Timeline {
    pub lanes: Vec<Vec<TimelineStretch>>,
    pub begin: f64,
    pub end: f64,
}

/// When tasks are there, but none of them may begin: sums over time, to ask for any interval.
struct Blocked {
    /// Where it changes, and the sum before.
    steps: Vec<(f64, f64, bool)>,
}

impl Blocked {
    /// From the times at which tasks were made, were ready and began.
    fn of(tasks: impl Iterator<Item = (f64, f64, f64)>) -> Self {
        let mut changes: Vec<(f64, i64, i64)> = Vec::new();
        for (made, ready, began) in tasks {
            if ready > made {
                changes.extend([(made, 0, 1), (ready, 0, -1)]);
            }
            changes.extend([(ready, 1, 0), (began.max(ready), -1, 0)]);
        }
        changes.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut ready, mut waiting, mut sum) = (0, 0, 0.0);
        let mut steps: Vec<(f64, f64, bool)> = vec![(0.0, 0.0, false)];
        for (at, more_ready, more_waiting) in changes {
            ready += more_ready;
            waiting += more_waiting;
            let now = waiting > 0 && ready == 0;
            if let Some(&(since, _, was)) = steps.last().filter(|s| s.2 != now) {
                sum += if was { at - since } else { 0.0 };
                steps.push((at, sum, now));
            }
        }
        Self { steps }
    }

    /// How long it was so until `at`.
    fn until(&self, at: f64) -> f64 {
        let (since, sum, is) = self.steps[self.steps.partition_point(|s| s.0 <= at).max(1) - 1];
        sum + if is { at - since } else { 0.0 }
    }
}

impl Timeline {
    pub fn of(trace: &Trace) -> Self {
        let times = || trace.lanes.iter().flat_map(|lane| &lane.slices);
        let begin = times().map(|s| s.begin).fold(f64::INFINITY, f64::min);
        let end = times().map(|s| s.end).fold(0.0, f64::max);
        if begin > end {
            return Self { lanes: vec![Vec::new(); trace.lanes.len()], begin: 0.0, end: 0.0 };
        }
        // Which tasks are ready is known only where all are written.
        let blocked = Blocked::of(if trace.left_out == 0 { lives(trace) } else { Vec::new() }.into_iter());
        let initial = initial_tasks(trace);
        let lane = |lane: &super::trace::TraceLane| {
            let mut stretches =
                flatten(&lane.slices, end, &|slice: &TraceSlice| initial.contains(&slice.task));
            mark_stalls(&mut stretches, &lane.stalls);
            let stretches = if lane.many.is_empty() { stretches } else { mark_many(stretches, &awake(lane)) };
            split_waits(stretches, &blocked, &trace.names)
        };
        Self { lanes: trace.lanes.iter().map(lane).collect(), begin, end }
    }

    pub fn length(&self) -> f64 {
        self.end - self.begin
    }

    /// All stretches, with their lanes.
    pub fn all(&self) -> impl Iterator<Item = (usize, &TimelineStretch)> {
        self.lanes.iter().enumerate().flat_map(|(lane, stretches)| stretches.iter().map(move |s| (lane, s)))
    }
}

/// The implicit tasks outside of regions.
fn initial_tasks(trace: &Trace) -> std::collections::HashSet<u64> {
    let slices = trace.lanes.iter().flat_map(|lane| &lane.slices);
    slices.filter(|s| s.category == Category::Implicit && s.region == 0).map(|s| s.task).collect()
}

/// When each explicit task was made, was ready (all that it depends on were complete) and began.
fn lives(trace: &Trace) -> Vec<(f64, f64, f64)> {
    let mut ends: HashMap<u64, f64> = HashMap::new();
    let tasks = || trace.lanes.iter().flat_map(|lane| &lane.slices).filter(|s| s.category == Category::Task);
    if !trace.dependences.is_empty() {
        ends.extend(tasks().filter(|s| s.ends).map(|s| (s.task, s.end)));
    }
    let mut ready: HashMap<u64, f64> = HashMap::new();
    for (from, to) in &trace.dependences {
        if let Some(&end) = ends.get(from) {
            let at = ready.entry(*to).or_default();
            *at = at.max(end);
        }
    }
    tasks()
        .filter_map(|s| {
            s.made.map(|made| {
                (made.at, ready.get(&s.task).copied().unwrap_or(0.0).clamp(made.at, s.begin), s.begin)
            })
        })
        .collect()
}

/// What a slice is, without what lies in it.
fn kind(slice: &TraceSlice, name: &str, is_initial: &impl Fn(&TraceSlice) -> bool) -> LaneActivity {
    match (slice.category, name) {
        (Category::Task, _) => LaneActivity::Task,
        (Category::Implicit | Category::Region | Category::Other, _)
            if is_initial(slice) || slice.task == 0 =>
        {
            LaneActivity::Serial
        }
        (Category::Implicit | Category::Region | Category::Other, _) => LaneActivity::Region,
        (Category::Device, _) => LaneActivity::Device,
        (Category::Short, _) => LaneActivity::Short,
        (Category::Sleep, _) => LaneActivity::NoWork,
        (Category::NoProcessor, _) => LaneActivity::NoProcessor,
        (Category::Wait, _) => LaneActivity::Barrier,
    }
}

/// As [`kind`]; what waits wait for is found by [`split_waits`], which knows their names.
fn flatten(
    slices: &[TraceSlice],
    end: f64,
    is_initial: &impl Fn(&TraceSlice) -> bool,
) -> Vec<TimelineStretch> {
    let mut stretches = Vec::with_capacity(2 * slices.len());
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut at = slices.first().map_or(end, |s| s.begin);
    let mut put = |open: Option<&Open<'_>>, from: f64, to: f64| {
        if to > from {
            stretches.push(stretch(open, from..to, is_initial));
        }
    };
    for slice in slices {
        while let Some(top) = open.pop_if(|top| top.slice.end <= slice.begin) {
            put(Some(&top), at, top.slice.end);
            at = at.max(top.slice.end);
        }
        put(open.last(), at, slice.begin);
        at = at.max(slice.begin);
        open.push(Open::of(slice, open.last()));
    }
    while let Some(top) = open.pop() {
        put(Some(&top), at, top.slice.end);
        at = at.max(top.slice.end);
    }
    put(None, at, end);
    stretches
}

/// A slice that has begun and not ended, and what is known of those around it.
#[derive(Clone, Copy)]
struct Open<'a> {
    slice: &'a TraceSlice,
    /// The innermost one that is no sleep, this one included.
    awake: Option<&'a TraceSlice>,
    /// The task of the innermost one that has one.
    task: u64,
}

impl<'a> Open<'a> {
    fn of(slice: &'a TraceSlice, around: Option<&Open<'a>>) -> Self {
        let awake = if slice.category == Category::Sleep {
            around.and_then(|around| around.awake)
        } else {
            Some(slice)
        };
        // A region's own slice has the task that forked it.
        let task = if slice.task == 0 { around.map_or(0, |around| around.task) } else { slice.task };
        Self { slice, awake, task }
    }
}

fn stretch(
    open: Option<&Open<'_>>,
    time: Range<f64>,
    is_initial: &impl Fn(&TraceSlice) -> bool,
) -> TimelineStretch {
    let awake = open.and_then(|open| open.awake);
    let sleeps = open.is_some_and(|open| open.slice.category == Category::Sleep);
    let kind = match awake {
        Some(slice) if !sleeps || slice.category == Category::Wait || slice.category == Category::Device => {
            kind(slice, "", is_initial)
        }
        _ => LaneActivity::NoWork,
    };
    TimelineStretch {
        begin: time.start,
        end: time.end,
        kind,
        name: awake.map(|s| s.name),
        task: open.map_or(0, |open| open.task),
    }
}

/// From the time at which the monitor found the code standing still, the rest of the stretch is a
/// stall. The stall resumes after a time without a processor if the same code resumes. A mark
/// within such a time is ignored.
fn mark_stalls(stretches: &mut Vec<TimelineStretch>, stalls: &[(f64, String)]) {
    for (at, _) in stalls {
        let index = stretches.partition_point(|s| s.end <= *at);
        let Some(found) = stretches.get_mut(index).filter(|s| s.begin < *at && s.kind.is_work()) else {
            continue;
        };
        let stalled = *found;
        found.end = *at;
        stretches.insert(index + 1, TimelineStretch { begin: *at, kind: LaneActivity::Stall, ..stalled });
        let is_same_code = |next: &TimelineStretch| {
            (next.kind, next.name, next.task) == (stalled.kind, stalled.name, stalled.task)
        };
        let mut pairs = stretches[index + 2..].chunks_exact_mut(2);
        while let Some([gap, resumed]) = pairs.next()
            && gap.kind == LaneActivity::NoProcessor
            && is_same_code(resumed)
        {
            resumed.kind = LaneActivity::Stall;
        }
    }
}

/// The times in which a lane has run tasks that were left out, without those in which it slept.
fn awake(lane: &super::trace::TraceLane) -> Vec<(f64, f64)> {
    let mut sleeps = lane.slices.iter().filter(|s| s.category == Category::Sleep).peekable();
    let mut times = Vec::new();
    for many in &lane.many {
        let mut at = many.begin;
        while let Some(sleep) = sleeps.next_if(|sleep| sleep.begin < many.end) {
            times.push((at, sleep.begin));
            at = at.max(sleep.end);
        }
        times.push((at, many.end));
    }
    times.retain(|(begin, end)| begin < end);
    times
}

/// What is no task in these times, which are in order, and has a processor, is short tasks.
fn mark_many(stretches: Vec<TimelineStretch>, times: &[(f64, f64)]) -> Vec<TimelineStretch> {
    let mut marked = Vec::with_capacity(stretches.len() + 2 * times.len());
    for stretch in stretches {
        let mut rest = stretch;
        let stays = matches!(
            stretch.kind,
            LaneActivity::Task | LaneActivity::Device | LaneActivity::Short | LaneActivity::NoProcessor
        );
        let first = if stays { times.len() } else { times.partition_point(|t| t.1 <= stretch.begin) };
        for &(begin, end) in times[first..].iter().take_while(|t| t.0 < stretch.end) {
            let (begin, end) = (begin.max(rest.begin), end.min(stretch.end));
            marked.extend((rest.begin < begin).then_some(TimelineStretch { end: begin, ..rest }));
            marked.push(TimelineStretch { begin, end, kind: LaneActivity::Short, name: None, ..rest });
            rest.begin = end;
        }
        marked.extend((rest.begin < rest.end).then_some(rest));
    }
    marked
}

/// What the names of waits say; and those for tasks, or for work, while all tasks that are there
/// depend on others, are waits for dependences.
fn split_waits(
    stretches: Vec<TimelineStretch>,
    blocked: &Blocked,
    names: &super::trace::TraceNames,
) -> Vec<TimelineStretch> {
    let mut split = Vec::with_capacity(stretches.len());
    for mut stretch in stretches {
        if stretch.kind == LaneActivity::Barrier {
            stretch.kind = match stretch.name.map_or("", |name| names.get(name)) {
                "taskwait" | "taskgroup" => LaneActivity::Taskwait,
                "dependence" => LaneActivity::Dependence,
                "lock" | "critical" | "ordered" => LaneActivity::Lock,
                "MPI" => LaneActivity::Mpi,
                _ => LaneActivity::Barrier,
            };
        }
        let may_be =
            matches!(stretch.kind, LaneActivity::Barrier | LaneActivity::Taskwait | LaneActivity::NoWork);
        let length = if may_be {
            (blocked.until(stretch.end) - blocked.until(stretch.begin)).clamp(0.0, stretch.length())
        } else {
            0.0
        };
        let rest = stretch.length() - length;
        if length > 0.0 {
            split.push(TimelineStretch {
                end: stretch.begin + length,
                kind: LaneActivity::Dependence,
                ..stretch
            });
            stretch.begin += length;
        }
        if rest > 0.0 {
            split.push(stretch);
        }
    }
    split
}

#[cfg(test)]
mod tests {
    use super::super::trace::{read, tests::file};
    use super::*;

    /// Kind, length and task of the stretches of each lane.
    fn timeline(events: &[&str]) -> Vec<Vec<(LaneActivity, f64, u64)>> {
        let trace = read(&file(events)).unwrap();
        let lanes = Timeline::of(&trace).lanes;
        let rounded = |s: &TimelineStretch| (s.kind, (s.length() * 1000.0).round() / 1000.0, s.task);
        lanes.iter().map(|lane| lane.iter().map(rounded).collect()).collect()
    }

    #[test]
    fn a_stretch_belongs_to_the_innermost_slice() {
        let lanes = timeline(&[
            "'ph':'X','tid':0,'name':'initial','cat':'implicit','ts':0,'dur':100,'args':{'task':1,'region':0}",
            "'ph':'X','tid':0,'name':'r','cat':'region','ts':10,'dur':60,'args':{'task':1,'region':1}",
            "'ph':'X','tid':0,'name':'r','cat':'implicit','ts':12,'dur':50,'args':{'task':2,'region':1}",
            "'ph':'X','tid':0,'name':'f','cat':'task','ts':20,'dur':5,'args':{'task':3}",
            "'ph':'X','tid':0,'name':'barrier','cat':'wait','ts':40,'dur':22,'args':{'task':2}",
            "'ph':'X','tid':0,'name':'asleep','cat':'sleep','ts':50,'dur':10",
            "'ph':'X','tid':1,'name':'f','cat':'task','ts':30,'dur':10,'args':{'task':4}",
        ]);
        assert_eq!(
            lanes[0],
            [
                (LaneActivity::Serial, 10.0, 1),
                (LaneActivity::Serial, 2.0, 1),
                (LaneActivity::Region, 8.0, 2),
                (LaneActivity::Task, 5.0, 3),
                (LaneActivity::Region, 15.0, 2),
                (LaneActivity::Barrier, 10.0, 2),
                (LaneActivity::Barrier, 10.0, 2),
                (LaneActivity::Barrier, 2.0, 2),
                (LaneActivity::Serial, 8.0, 1),
                (LaneActivity::Serial, 30.0, 1),
            ]
        );
        assert_eq!(lanes[1], [(LaneActivity::Task, 10.0, 4), (LaneActivity::NoWork, 60.0, 0)]);
    }

    #[test]
    fn waits_are_distinguished_by_what_for() {
        let wait = |name: &str, ts: u32| {
            format!("'ph':'X','tid':0,'name':'{name}','cat':'wait','ts':{ts},'dur':1,'args':{{'task':2}}")
        };
        let names = [
            "barrier",
            "taskwait",
            "taskgroup",
            "critical",
            "lock",
            "ordered",
            "MPI",
            "dependence",
            "reduction",
        ];
        let events: Vec<String> = names.iter().zip(0..).map(|(name, at)| wait(name, at)).collect();
        let kinds: Vec<LaneActivity> =
            timeline(&events.iter().map(String::as_str).collect::<Vec<_>>())[0].iter().map(|s| s.0).collect();
        use LaneActivity::{Barrier, Dependence, Lock, Mpi, Taskwait};
        assert_eq!(kinds, [Barrier, Taskwait, Taskwait, Lock, Lock, Lock, Mpi, Dependence, Barrier]);
    }

    #[test]
    fn who_waits_while_all_tasks_depend_on_others_waits_for_dependences() {
        let lanes = timeline(&[
            "'ph':'X','tid':0,'name':'a','cat':'task','ts':10,'dur':40,'args':{'task':1,'parent':9,'by':0,'created':5,'end':1}",
            "'ph':'s','tid':0,'name':'dependence','cat':'dependence','ts':50,'id':1",
            "'ph':'X','tid':0,'name':'b','cat':'task','ts':50,'dur':10,'args':{'task':2,'parent':9,'by':0,'created':6,'end':1}",
            "'ph':'f','tid':0,'name':'dependence','cat':'dependence','ts':50,'id':1,'bp':'e','args':{'from':1,'to':2}",
            "'ph':'X','tid':1,'name':'barrier','cat':'wait','ts':0,'dur':60,'args':{'task':8}",
        ]);
        // Task 1 is ready until 10; then 2 waits for it until 50 and is not ready.
        assert_eq!(lanes[1], [(LaneActivity::Dependence, 40.0, 8), (LaneActivity::Barrier, 20.0, 8)]);
    }

    #[test]
    fn code_that_stands_still_is_a_stall_from_when_it_is_found() {
        let lanes = timeline(&[
            "'ph':'X','tid':0,'name':'r','cat':'implicit','ts':0,'dur':100,'args':{'task':2,'region':1}",
            "'ph':'i','tid':0,'name':'interrupt','cat':'stall','ts':30,'s':'t'",
            "'ph':'X','tid':0,'name':'r','cat':'implicit','ts':110,'dur':10,'args':{'task':2,'region':1}",
        ]);
        assert_eq!(
            lanes[0],
            [
                (LaneActivity::Region, 30.0, 2),
                (LaneActivity::Stall, 70.0, 2),
                (LaneActivity::NoWork, 10.0, 0),
                (LaneActivity::Region, 10.0, 2)
            ]
        );
    }

    #[test]
    fn code_without_a_processor_does_not_stand_still() {
        let lanes = timeline(&[
            "'ph':'X','tid':0,'name':'f','cat':'task','ts':0,'dur':100,'args':{'task':3}",
            "'ph':'X','tid':0,'name':'no processor','cat':'runnable','ts':20,'dur':30",
            "'ph':'i','tid':0,'name':'interrupt','cat':'stall','ts':30,'s':'t'",
            "'ph':'i','tid':0,'name':'interrupt','cat':'stall','ts':60,'s':'t'",
            "'ph':'X','tid':0,'name':'no processor','cat':'runnable','ts':70,'dur':5",
        ]);
        assert_eq!(
            lanes[0],
            [
                (LaneActivity::Task, 20.0, 3),
                (LaneActivity::NoProcessor, 30.0, 3),
                (LaneActivity::Task, 10.0, 3),
                (LaneActivity::Stall, 10.0, 3),
                (LaneActivity::NoProcessor, 5.0, 3),
                (LaneActivity::Stall, 25.0, 3),
            ]
        );
    }

    #[test]
    fn where_tasks_were_left_out_what_is_no_task_and_no_sleep_is_short_tasks() {
        let lanes = timeline(&[
            "'ph':'X','tid':0,'name':'r','cat':'implicit','ts':0,'dur':100,'args':{'task':2,'region':1}",
            "'ph':'X','tid':0,'name':'barrier','cat':'wait','ts':20,'dur':80,'args':{'task':2}",
            "'ph':'X','tid':0,'name':'f','cat':'task','ts':30,'dur':10,'args':{'task':3}",
            "'ph':'X','tid':0,'name':'short tasks','cat':'short','ts':32,'dur':2,'args':{'task':3}",
            "'ph':'X','tid':0,'name':'asleep','cat':'sleep','ts':60,'dur':10",
            "'ph':'X','tid':10000,'name':'short tasks','cat':'many','ts':10,'dur':15,'args':{'lane':0,'tasks':6}",
            "'ph':'X','tid':10000,'name':'short tasks','cat':'many','ts':25,'dur':55,'args':{'lane':0,'tasks':6}",
        ]);
        assert_eq!(
            lanes[0],
            [
                (LaneActivity::Region, 10.0, 2),
                (LaneActivity::Short, 10.0, 2),
                (LaneActivity::Short, 5.0, 2),
                (LaneActivity::Short, 5.0, 2),
                (LaneActivity::Task, 2.0, 3),
                (LaneActivity::Short, 2.0, 3),
                (LaneActivity::Task, 6.0, 3),
                (LaneActivity::Short, 20.0, 2),
                (LaneActivity::Barrier, 10.0, 2),
                (LaneActivity::Short, 10.0, 2),
                (LaneActivity::Barrier, 20.0, 2),
            ]
        );
    }
}
