//! The trace as it is in the file: what its events say, and whether the file is what Chrome's trace
//! event format asks for.
//!
//! It is strict, so that Perfetto and `chrome://tracing` draw each file that is read here, too.
//! Each event has the members that its phase needs, slices of a lane nest, and arrows have both
//! ends unless the trace says that events were lost.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde_core::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::members::{MemberValue, Members};
use super::workers::{FewerWorkers, WorkerChange, WorkerEvents};

/// What is wrong.
type Result<T> = std::result::Result<T, String>;

/// Names of slices, each once.
#[derive(Debug, Default)]
pub struct TraceNames {
    list: Vec<String>,
    known: HashMap<String, u32>,
}

impl TraceNames {
    /// The number of a name.
    pub fn number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.known.get(name) {
            return number;
        }
        let number = self.list.len() as u32;
        self.list.push(name.to_owned());
        self.known.insert(name.to_owned(), number);
        number
    }

    /// All, by number.
    pub fn all(&self) -> &[String] {
        &self.list
    }

    /// One of them.
    pub fn get(&self, number: u32) -> &str {
        &self.list[number as usize]
    }
}

/// What kind of slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    Task,
    Implicit,
    Region,
    Wait,
    Sleep,
    Device,
    /// Short tasks that a task has run at once, and that were left out.
    Short,
    /// The kernel thread is runnable, but has no processor.
    NoProcessor,
    Other,
}

/// A slice of a lane. Times are microseconds.
#[derive(Clone, Debug)]
pub struct TraceSlice {
    pub begin: f64,
    pub end: f64,
    pub name: u32,
    pub category: Category,
    /// The task it belongs to, 0 for none.
    pub task: u64,
    /// The last slice of its task, wait or region.
    pub ends: bool,
    /// An explicit task's first slice: who made it, and when.
    pub made: Option<Made>,
    /// Of an implicit task or a region: the region's number, 0 for none.
    pub region: u64,
    /// Of a gang's thread: gang and level.
    pub gang: Option<(i64, i64)>,
    /// It is not written when the task has run others from some time on: its length is not known.
    pub unmeasured: bool,
}

/// How an explicit task came to be, and to run.
#[derive(Clone, Copy, Debug)]
pub struct Made {
    pub parent: u64,
    pub at: f64,
    /// The lane that it was stolen from.
    pub victim: Option<usize>,
    /// How many tasks it stands for: itself, and those that were left out before it.
    pub stands: u64,
}

/// A time in which a lane has run so many tasks that were left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Many {
    pub begin: f64,
    pub end: f64,
    pub tasks: u64,
}

/// A lane.
#[derive(Clone, Debug, Default)]
pub struct TraceLane {
    /// As in the file.
    pub number: i64,
    pub name: String,
    /// In the order of their beginnings, outer ones first.
    pub slices: Vec<TraceSlice>,
    /// When the monitor found its code standing still, and what it did.
    pub stalls: Vec<(f64, String)>,
    /// ULTs stolen: when, and from which lane's number.
    pub steals: Vec<(f64, i64)>,
    /// In the order of time, one behind the other.
    pub many: Vec<Many>,
}

/// A gang's start.
#[derive(Clone, Copy, Debug)]
pub struct TraceGang {
    pub id: i64,
    pub level: i64,
    pub size: u32,
    pub at: f64,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Trace {
    pub(crate) names: TraceNames,
    pub(crate) lanes: Vec<TraceLane>,
    /// From a task to one that waited for its end.
    pub(crate) dependences: Vec<(u64, u64)>,
    pub(crate) gangs: Vec<TraceGang>,
    /// Counters: name, and values over time.
    pub(crate) counters: Vec<(String, Vec<(f64, f64)>)>,
    /// The processes of which fewer than all workers ran for some time.
    pub(crate) fewer_workers: Vec<FewerWorkers>,
    pub(crate) program: String,
    pub(crate) lost: u64,
    /// Tasks that were made, and those of them that were left out.
    pub(crate) tasks: u64,
    pub(crate) left_out: u64,
    /// All that is in the file.
    pub(crate) events: usize,
    /// Its time 0, in microseconds of a clock that all processes of the machine have.
    pub(crate) start: f64,
    /// What tells machines and their starts apart, whose clocks these times are of; empty if the
    /// file does not say.
    pub(crate) machine: String,
}

/// Microseconds, some thirty years: sums of such times are exact to the nanosecond, or nearly.
const LATEST: f64 = 1e15;

/// A count, which is bounded so that sums of those of a file do not overflow.
fn count(number: f64) -> u64 {
    (number as u64).min(1 << 40)
}

/// A number of a lane, task or region: bounded so that those of several files can be put behind
/// each other.
fn id(number: f64) -> u64 {
    (number as u64).min(1 << 53)
}

/// As [`id`], of a gang.
fn gang_id(number: f64) -> i64 {
    id(number).cast_signed()
}

/// As [`id`], of a lane: other tools count below 0, too.
fn lane_number(number: f64) -> i64 {
    (number as i64).clamp(-(1 << 53), 1 << 53)
}

/// The library puts what was left out of a lane on one whose number is so much higher.
const MANY: i64 = 10_000;

/// One event.
struct RawTraceEvent<'a> {
    members: Members<'a>,
}

impl<'a> RawTraceEvent<'a> {
    fn number(&self, name: &str) -> Result<f64> {
        self.members
            .number(name)
            .ok_or_else(|| format!("an event without the number \"{name}\": {}", self.short()))
    }

    fn text(&self, name: &str) -> Result<&str> {
        self.members
            .text(name)
            .ok_or_else(|| format!("an event without the text \"{name}\": {}", self.short()))
    }

    fn arguments(&self) -> Option<&Members<'a>> {
        self.members.object("args")
    }

    fn argument(&self, name: &str) -> Option<f64> {
        self.arguments()?.number(name)
    }

    fn category(&self) -> &str {
        self.members.text("cat").unwrap_or("")
    }

    fn short(&self) -> String {
        format!("{:?}", self.members).chars().take(160).collect()
    }
}

/// What is put together while the events come.
#[derive(Default)]
struct Builder {
    trace: Trace,
    has_events: bool,
    lanes: HashMap<(i64, i64), usize>,
    arrows: HashMap<(String, i64), (u32, u32)>,
    counters: HashMap<String, usize>,
    workers: WorkerEvents,
    /// The latest time of any event, in microseconds.
    end: f64,
    /// By process and lane.
    many: Vec<((i64, i64), Many)>,
}

impl Trace {
    /// Tasks whose own length is not known: they ran left-out tasks whose times are not in the
    /// trace.
    pub(crate) fn unmeasured_tasks(&self) -> HashSet<u64> {
        let slices = self.lanes.iter().flat_map(|lane| &lane.slices);
        slices.filter(|slice| slice.unmeasured).map(|slice| slice.task).collect()
    }
}

/// Reads a trace. Members that are not known are skipped. Each event is dropped when it has been
/// taken.
pub fn read(text: &str) -> Result<Trace> {
    let mut builder = Builder::default();
    let mut source = serde_json::Deserializer::from_str(text);
    let read = source.deserialize_any(FileReader(&mut builder)).and_then(|()| source.end());
    read.map_err(|why| why.to_string())?;
    if !builder.has_events {
        return Err("there is no list \"traceEvents\"".into());
    }
    builder.finish()
}

/// Reads a file: a list of events, or an object that has one.
struct FileReader<'b>(&'b mut Builder);

impl<'de> Visitor<'de> for FileReader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of events, or an object with one")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> std::result::Result<(), A::Error> {
        EventReader(self.0).visit_seq(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut file: A) -> std::result::Result<(), A::Error> {
        while let Some(name) = file.next_key::<String>()? {
            match name.as_str() {
                "traceEvents" => file.next_value_seed(EventReader(self.0))?,
                "otherData" => self.0.facts(&file.next_value::<Members<'de>>()?),
                _ => drop(file.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// Reads a list of events.
struct EventReader<'b>(&'b mut Builder);

impl<'de> DeserializeSeed<'de> for EventReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> std::result::Result<(), D::Error> {
        source.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for EventReader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<(), A::Error> {
        self.0.has_events = true;
        while let Some(members) = list.next_element::<Members<'de>>()? {
            self.0.take(&RawTraceEvent { members }).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}

impl Builder {
    /// What a file says of the whole trace.
    fn facts(&mut self, facts: &Members<'_>) {
        let number = |name| facts.number(name).unwrap_or(0.0);
        self.trace.start = (number("start") / 1000.0).clamp(0.0, LATEST);
        self.trace.machine = facts.text("machine").unwrap_or_default().into();
        self.trace.lost = count(number("lost"));
        self.trace.tasks = count(number("tasks"));
        self.trace.left_out = count(number("tasks_left_out"));
    }

    fn lane(&mut self, event: &RawTraceEvent) -> Result<usize> {
        let key = (event.number("pid")? as i64, lane_number(event.number("tid")?));
        let lanes = &mut self.trace.lanes;
        Ok(*self.lanes.entry(key).or_insert_with(|| {
            lanes.push(TraceLane {
                number: key.1,
                name: format!("thread {}", key.1),
                ..TraceLane::default()
            });
            lanes.len() - 1
        }))
    }

    fn take(&mut self, event: &RawTraceEvent) -> Result<()> {
        self.trace.events += 1;
        let phase = event.text("ph")?;
        if phase == "M" {
            return self.metadata(event);
        }
        let (at, name) = (event.number("ts")?, event.text("name")?);
        if at < 0.0 {
            return Err(format!("a time before the beginning: {}", event.short()));
        }
        if at > LATEST {
            return Err(format!("a time that is too large: {}", event.short()));
        }
        self.end = self.end.max(at);
        match phase {
            "X" => self.slice(event, at, name),
            "i" | "I" => self.instant(event, at, name),
            "s" | "f" => self.arrow(event, phase == "s"),
            "C" => self.counter(event, at, name),
            _ => Err(format!("an event of the unknown phase \"{phase}\": {}", event.short())),
        }
    }

    fn metadata(&mut self, event: &RawTraceEvent) -> Result<()> {
        let name = event.arguments().and_then(|arguments| arguments.text("name"));
        match (event.text("name")?, name) {
            ("process_name", Some(name)) => self.trace.program = name.to_owned(),
            // Of a lane's tasks that were left out: they are shown on that lane.
            ("thread_name", Some(_)) if event.number("tid")? as i64 >= MANY => {}
            ("thread_name", Some(name)) => {
                let lane = self.lane(event)?;
                self.trace.lanes[lane].name = name.to_owned();
            }
            _ => {}
        }
        Ok(())
    }

    fn slice(&mut self, event: &RawTraceEvent, begin: f64, name: &str) -> Result<()> {
        let length = event.number("dur")?;
        if length < 0.0 {
            return Err(format!("a slice that ends before it begins: {}", event.short()));
        }
        let category = match event.category() {
            "task" => Category::Task,
            "implicit" => Category::Implicit,
            "region" => Category::Region,
            "wait" => Category::Wait,
            "sleep" => Category::Sleep,
            "device" => Category::Device,
            "short" => Category::Short,
            "runnable" => Category::NoProcessor,
            "many" => return self.many(event, begin, length),
            _ => Category::Other,
        };
        let number = |name| event.argument(name).unwrap_or(0.0);
        if begin + length > LATEST {
            return Err(format!("a time that is too large: {}", event.short()));
        }
        self.end = self.end.max(begin + length);
        let lane = self.lane(event)?;
        let made = event.argument("parent").map(|parent| Made {
            parent: id(parent),
            // Clocks of processors may differ by a little.
            at: event.argument("created").unwrap_or(begin).clamp(0.0, begin),
            victim: event.argument("victim").map(|victim| id(victim) as usize),
            stands: event.argument("stands").map_or(1, count),
        });
        let slice = TraceSlice {
            begin,
            end: begin + length,
            name: self.trace.names.number(name),
            category,
            task: id(number("task")),
            ends: event.argument("end").is_some(),
            made,
            region: id(number("region")),
            gang: event.argument("gang").map(|gang| (gang_id(gang), number("level") as i64)),
            unmeasured: event.argument("unmeasured").is_some(),
        };
        self.trace.lanes[lane].slices.push(slice);
        Ok(())
    }

    fn many(&mut self, event: &RawTraceEvent, begin: f64, length: f64) -> Result<()> {
        let argument = |name| {
            event
                .argument(name)
                .ok_or_else(|| format!("tasks left out without the number \"{name}\": {}", event.short()))
        };
        let lane = (event.number("pid")? as i64, lane_number(argument("lane")?));
        self.many.push((lane, Many { begin, end: begin + length, tasks: count(argument("tasks")?) }));
        Ok(())
    }

    fn instant(&mut self, event: &RawTraceEvent, at: f64, name: &str) -> Result<()> {
        let lane = self.lane(event)?;
        let number = |name| event.argument(name).unwrap_or(0.0);
        match event.category() {
            "stall" => self.trace.lanes[lane].stalls.push((at, name.to_owned())),
            "steal" => self.trace.lanes[lane].steals.push((at, lane_number(number("victim")))),
            "move" => self.workers.thread_moves(event.number("pid")? as i64),
            "gang" => self.trace.gangs.push(TraceGang {
                id: gang_id(number("gang")),
                level: number("level") as i64,
                size: number("size") as u32,
                at,
            }),
            _ => {}
        }
        Ok(())
    }

    fn arrow(&mut self, event: &RawTraceEvent, begins: bool) -> Result<()> {
        self.lane(event)?;
        let ends = self.arrows.entry((event.category().to_owned(), event.number("id")? as i64)).or_default();
        if begins {
            ends.0 += 1
        } else {
            ends.1 += 1
        }
        if let (false, "dependence", Some(from), Some(to)) =
            (begins, event.category(), event.argument("from"), event.argument("to"))
        {
            self.trace.dependences.push((id(from), id(to)));
        }
        Ok(())
    }

    fn counter(&mut self, event: &RawTraceEvent, at: f64, name: &str) -> Result<()> {
        let Some(values) = event.arguments() else {
            return Err(format!("a counter without values: {}", event.short()));
        };
        let Some(value) = values.first().and_then(MemberValue::number) else {
            return Err(format!("a counter without a number: {}", event.short()));
        };
        if let ("running workers", Some(withdrawn)) = (name, values.number("withdrawn")) {
            let change = WorkerChange { at, running: count(value), withdrawn: count(withdrawn) };
            self.workers.change(event.number("pid")? as i64, change);
        }
        let counters = &mut self.trace.counters;
        let index = *self.counters.entry(name.to_owned()).or_insert_with(|| {
            counters.push((name.to_owned(), Vec::new()));
            counters.len() - 1
        });
        counters[index].1.push((at, value));
        Ok(())
    }

    fn finish(mut self) -> Result<Trace> {
        for (lane, many) in self.many {
            let lane = self
                .lanes
                .get(&lane)
                .ok_or_else(|| format!("tasks were left out of the lane {}, which is not there", lane.1))?;
            self.trace.lanes[*lane].many.push(many);
        }
        for lane in &mut self.trace.lanes {
            lane.slices.sort_by(|a, b| a.begin.total_cmp(&b.begin).then(b.end.total_cmp(&a.end)));
            nests(lane)?;
            lane.many.sort_by(|a, b| a.begin.total_cmp(&b.begin));
            if lane.many.windows(2).any(|two| two[1].begin < two[0].end - SAME) {
                return Err(format!("times of \"{}\" in which tasks were left out overlap", lane.name));
            }
        }
        let twice = self.arrows.iter().find(|(_, ends)| ends.0 > 1 || ends.1 > 1 || ends.0 == 0);
        if let Some(((category, id), _)) = twice {
            return Err(format!(
                "the arrow {id} of \"{category}\" has not one beginning and at most one end"
            ));
        }
        // An arrow to a task that had not begun at the end has no head.
        self.trace.lanes.sort_by_key(|lane| lane.number);
        self.trace.fewer_workers = self.workers.finish(self.end);
        Ok(self.trace)
    }
}

/// Times are read from three digits behind the point: what they differ by less than this is the
/// same.
const SAME: f64 = 0.0006;

/// Do the lane's slices lie in each other or behind each other?
fn nests(lane: &TraceLane) -> Result<()> {
    let mut open: Vec<f64> = Vec::new();
    for slice in &lane.slices {
        while open.last().is_some_and(|&end| end <= slice.begin + SAME) {
            open.pop();
        }
        if open.last().is_some_and(|&end| slice.end > end + SAME) {
            return Err(format!("slices of \"{}\" overlap at {:.3} us", lane.name, slice.begin));
        }
        open.push(slice.end);
    }
    Ok(())
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A file of these events, without the process and with `'` for `"`.
    pub fn file(events: &[&str]) -> String {
        let events: Vec<String> =
            events.iter().map(|e| format!("{{\"pid\":1,{}}}", e.replace('\'', "\""))).collect();
        format!("{{\"traceEvents\":[{}],\"otherData\":{{\"lost\":0}}}}", events.join(","))
    }

    #[test]
    fn events_are_read() {
        let text = file(&[
            "'ph':'M','tid':0,'name':'process_name','args':{'name':'prog'}",
            "'ph':'M','tid':0,'name':'thread_name','args':{'name':'worker 0'}",
            "'ph':'X','tid':0,'name':'f','cat':'task','ts':1.5,'dur':2,'args':{'task':3,'parent':1,'by':0,'created':0.5,'victim':1,'end':1}",
            "'ph':'s','tid':0,'name':'dependence','cat':'dependence','ts':3,'id':1,'args':{'from':3}",
            "'ph':'f','tid':0,'name':'dependence','cat':'dependence','ts':4,'id':1,'bp':'e','args':{'from':3,'to':4}",
            "'ph':'C','tid':0,'name':'ready','ts':4,'args':{'ready':7}",
            "'ph':'i','tid':0,'name':'gang','cat':'gang','ts':4,'s':'t','args':{'gang':2,'level':1,'size':5}",
            "'ph':'i','tid':0,'name':'stall','cat':'stall','ts':4,'s':'t'",
        ]);
        let trace = read(&text).unwrap();
        assert_eq!(
            (trace.program.as_str(), trace.lanes[0].name.as_str(), trace.events),
            ("prog", "worker 0", 8)
        );
        let slice = &trace.lanes[0].slices[0];
        assert_eq!((slice.begin, slice.end, slice.task, slice.ends), (1.5, 3.5, 3, true));
        let made = slice.made.unwrap();
        assert_eq!((made.parent, made.at, made.victim), (1, 0.5, Some(1)));
        assert_eq!(
            (trace.dependences, trace.gangs[0].size, trace.lanes[0].stalls.len()),
            (vec![(3, 4)], 5, 1)
        );
        assert_eq!(trace.counters[0].1, [(4.0, 7.0)]);
    }

    #[test]
    fn the_number_of_running_workers_is_read() {
        let trace = read(&file(&[
            "'ph':'C','tid':0,'name':'running workers','ts':4,'args':{'running':1,'withdrawn':1}",
            "'ph':'i','tid':0,'name':'moves here','cat':'move','ts':5,'s':'t','args':{'from':1}",
            "'ph':'X','tid':0,'name':'f','cat':'task','ts':1,'dur':9",
        ]))
        .unwrap();
        let expected = FewerWorkers {
            time: 6.0,
            withdrawn_time: 6.0,
            least_running: 1,
            most_running: 1,
            total_workers: 2,
            moves: 1,
        };
        assert_eq!(trace.fewer_workers, [expected]);
    }

    #[test]
    fn what_was_left_out_is_read() {
        let many = "'ph':'X','tid':10000,'name':'short tasks','cat':'many','ts':1,'dur':4,'args':{'lane':0,'tasks':6}";
        let task = "'ph':'X','tid':0,'name':'f','cat':'task','ts':1.5,'dur':2,'args':{'task':3,'parent':1,'by':0,'created':0.5,'stands':8,'unmeasured':1,'end':1}";
        let name = "'ph':'M','tid':10000,'name':'thread_name','args':{'name':'worker 0: tasks left out'}";
        let trace = read(
            &file(&[name, many, task]).replace("\"lost\":0", "\"lost\":0,\"tasks\":10,\"tasks_left_out\":9"),
        )
        .unwrap();
        assert_eq!((trace.lanes.len(), trace.tasks, trace.left_out), (1, 10, 9));
        assert_eq!(trace.lanes[0].many, [Many { begin: 1.0, end: 5.0, tasks: 6 }]);
        assert!(trace.lanes[0].slices[0].unmeasured && trace.lanes[0].slices[0].made.unwrap().stands == 8);
        assert!(read(&file(&[many])).unwrap_err().contains("not there"));
        assert!(
            read(&file(&[many, &many.replace("'ts':1", "'ts':3"), task])).unwrap_err().contains("overlap")
        );
    }

    #[test]
    fn what_viewers_would_draw_wrongly_is_refused() {
        let slice =
            |ts: f64, dur: f64| format!("'ph':'X','tid':0,'name':'f','cat':'task','ts':{ts},'dur':{dur}");
        let wrong = |events: &[&str], part: &str| {
            let said = read(&file(events)).unwrap_err();
            assert!(said.contains(part), "{said}");
        };
        wrong(&[&slice(1.0, 5.0), &slice(2.0, 5.0)], "overlap");
        wrong(&[&slice(1.0, -1.0)], "ends before");
        wrong(&[&slice(-1.0, 1.0)], "before the beginning");
        wrong(&["'ph':'Q','tid':0,'name':'f','ts':1"], "unknown phase");
        wrong(&["'ph':'X','tid':0,'name':'f','ts':1"], "dur");
        wrong(&["'ph':'X','name':'f','ts':1,'dur':1"], "tid");
        wrong(&["'ph':'C','tid':0,'name':'f','ts':1"], "counter");
        wrong(&["'ph':'f','tid':0,'name':'a','cat':'a','ts':1,'id':1"], "arrow");
        assert!(
            read(&file(&[&slice(1.0, 5.0), &slice(2.0, 4.0), &slice(6.0, 1.0)])).is_ok(),
            "in each other and behind each other"
        );
        assert!(read("{}").unwrap_err().contains("traceEvents"));
        assert!(read("{\"traceEvents\":[").is_err());
    }
}
