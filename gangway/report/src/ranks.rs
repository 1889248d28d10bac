//! Traces of several ranks, beside each other: one trace, whose lanes are grouped by rank.
//!
//! Each file counts its tasks, regions and lanes from the beginning: they get numbers of their own
//! here. What lanes do is found in each file by itself, as one rank's ready tasks are none that
//! another one's lanes wait for. What ranks wait for of each other is in no file: there is no
//! critical path.
//!
//! *Time.* Ranks of one machine have one clock. Files of several machines, and such whose times do
//! not overlap, have not: then each begins at 0, which is said.

use std::path::Path;

use super::timeline::Timeline;
use super::trace::{Trace, TraceLane};

/// How much higher the lanes of the next rank are numbered: more than a process has.
const LANES: i64 = 1 << 20;

/// Several traces as one.
pub struct MergedTraces {
    pub trace: Trace,
    pub timeline: Timeline,
    /// Their times are of one clock.
    pub one_clock: bool,
}

impl MergedTraces {
    /// Of these traces, each with the name of its lanes' group; one is left as it is.
    pub fn of(mut traces: Vec<(String, Trace)>) -> Self {
        if traces.len() == 1
            && let Some((_, trace)) = traces.pop()
        {
            let timeline = Timeline::of(&trace);
            return Self { trace, timeline, one_clock: true };
        }
        let one_clock = overlap(&traces);
        let first = traces.iter().map(|(_, trace)| trace.start).fold(f64::INFINITY, f64::min);
        let mut all = Self { trace: Trace::default(), timeline: Timeline::default(), one_clock };
        for (number, (name, trace)) in traces.into_iter().enumerate() {
            let later = if one_clock { trace.start - first } else { 0.0 };
            all.add(number, &name, trace, later);
        }
        all
    }

    fn add(&mut self, number: usize, name: &str, mut trace: Trace, later: f64) {
        let timeline = Timeline::of(&trace);
        let into = &mut self.trace;
        let names: Vec<u32> = trace.names.all().iter().map(|name| into.names.number(name)).collect();
        let base = Base {
            task: highest(into, |s| s.task),
            region: highest(into, |s| s.region),
            lane: number as i64 * LANES,
            later,
        };
        trace.lanes.iter_mut().for_each(|lane| base.renumber(lane, name, &names));
        let gangs = into.gangs.iter().map(|gang| gang.id + 1).max().unwrap_or(0);
        for gang in trace.lanes.iter_mut().flat_map(|lane| &mut lane.slices).filter_map(|s| s.gang.as_mut()) {
            gang.0 += gangs;
        }
        into.gangs.extend(trace.gangs.into_iter().map(|gang| super::trace::TraceGang {
            id: gang.id + gangs,
            at: gang.at + later,
            ..gang
        }));
        into.lanes.extend(trace.lanes);
        into.fewer_workers.extend(trace.fewer_workers);
        if into.program.is_empty() {
            into.program = trace.program;
        }
        into.lost += trace.lost;
        into.tasks += trace.tasks;
        into.left_out += trace.left_out;
        into.events += trace.events;
        self.beside(timeline, later, &names, base.task);
    }

    fn beside(&mut self, mut timeline: Timeline, later: f64, names: &[u32], tasks: u64) {
        for stretch in timeline.lanes.iter_mut().flatten() {
            stretch.begin += later;
            stretch.end += later;
            stretch.name = stretch.name.map(|name| names[name as usize]);
            stretch.task += if stretch.task == 0 { 0 } else { tasks };
        }
        let (begin, end) = (timeline.begin + later, timeline.end + later);
        let into = &mut self.timeline;
        into.begin = if into.lanes.is_empty() { begin } else { into.begin.min(begin) };
        into.end = into.end.max(end);
        into.lanes.extend(timeline.lanes);
    }
}

/// What is added to the numbers of a file.
struct Base {
    task: u64,
    region: u64,
    lane: i64,
    later: f64,
}

impl Base {
    fn renumber(&self, lane: &mut TraceLane, name: &str, names: &[u32]) {
        lane.number += self.lane;
        lane.name = format!("{name}: {}", lane.name);
        for slice in &mut lane.slices {
            slice.begin += self.later;
            slice.end += self.later;
            slice.name = names[slice.name as usize];
            slice.task += if slice.task == 0 { 0 } else { self.task };
            slice.region += if slice.region == 0 { 0 } else { self.region };
            if let Some(made) = &mut slice.made {
                made.parent += if made.parent == 0 { 0 } else { self.task };
                made.at += self.later;
                made.victim = made.victim.map(|victim| victim + self.lane as usize);
            }
        }
        lane.stalls.iter_mut().for_each(|stall| stall.0 += self.later);
        for steal in &mut lane.steals {
            *steal = (steal.0 + self.later, steal.1 + self.lane);
        }
        for many in &mut lane.many {
            many.begin += self.later;
            many.end += self.later;
        }
    }
}

fn highest(trace: &Trace, number: impl Fn(&super::trace::TraceSlice) -> u64) -> u64 {
    trace.lanes.iter().flat_map(|lane| &lane.slices).map(number).max().unwrap_or(0)
}

/// Are they of one machine, and have a time in common?
fn overlap(traces: &[(String, Trace)]) -> bool {
    if traces.iter().any(|(_, trace)| trace.machine != traces[0].1.machine) {
        return false;
    }
    let end = |trace: &Trace| {
        trace
            .lanes
            .iter()
            .flat_map(|lane| &lane.slices)
            .map(|s| s.end)
            .fold(trace.start, |end, s| end.max(trace.start + s))
    };
    let last_start = traces.iter().map(|(_, trace)| trace.start).fold(0.0, f64::max);
    let first_end = traces.iter().map(|(_, trace)| end(trace)).fold(f64::INFINITY, f64::min);
    last_start <= first_end
}

/// How the files' lanes are called: after their ranks, where the names differ by a number before
/// the last dot, as ranks write them; else as the files are.
pub fn names(files: &[&Path]) -> Vec<String> {
    let stems: Vec<String> = files
        .iter()
        .map(|file| file.file_stem().unwrap_or_default().to_string_lossy().into_owned())
        .collect();
    let parts: Option<Vec<(&str, u32)>> = stems
        .iter()
        .map(|stem| stem.rsplit_once('.').and_then(|(name, rank)| Some((name, rank.parse().ok()?))))
        .collect();
    match parts {
        Some(parts) if are_different(&stems) && parts.iter().all(|part| part.0 == parts[0].0) => {
            parts.iter().map(|part| format!("rank {}", part.1)).collect()
        }
        _ if are_different(&stems) => stems,
        _ => files.iter().map(|file| file.display().to_string()).collect(),
    }
}

fn are_different(names: &[String]) -> bool {
    names.iter().enumerate().all(|(i, name)| !names[..i].contains(name))
}

/// The order in which ranks stand beside each other: by number, where the shell has put 10 before
/// 2.
pub fn in_order<'a>(files: &[&'a Path]) -> Vec<&'a Path> {
    let rank = |file: &Path| file.file_stem()?.to_str()?.rsplit_once('.')?.1.parse::<u32>().ok();
    let mut files = files.to_vec();
    if files.iter().all(|file| rank(file).is_some()) {
        files.sort_by_key(|file| rank(file));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::LaneActivity;
    use crate::trace::read;
    use crate::trace::tests::file;

    /// Two workers, of which the second has stolen a task; begun at `start` nanoseconds.
    fn rank(start: u64, task: &str) -> Trace {
        let first = "'ph':'X','tid':0,'name':'r','cat':'implicit','ts':0,'dur':10,'args':{'task':1,'region':1,'end':1}";
        let stolen = format!(
            "'ph':'X','tid':1,'name':'{task}','cat':'task','ts':2,'dur':6,'args':{{'task':2,'parent':1,'by':0,'created':1,'victim':0,'end':1}}"
        );
        read(
            &file(&[first, &stolen])
                .replace("\"lost\":0", &format!("\"lost\":1,\"start\":{start},\"tasks\":1")),
        )
        .unwrap()
    }

    fn both(later: u64) -> MergedTraces {
        MergedTraces::of(vec![("a".into(), rank(5_000_000, "f")), ("b".into(), rank(5_000_000 + later, "g"))])
    }

    #[test]
    fn lanes_of_ranks_stand_beside_each_other_with_numbers_of_their_own() {
        let MergedTraces { trace, timeline, one_clock } = both(4000);
        assert!(one_clock);
        let lanes: Vec<&str> = trace.lanes.iter().map(|lane| lane.name.as_str()).collect();
        assert_eq!(lanes, ["a: thread 0", "a: thread 1", "b: thread 0", "b: thread 1"]);
        let slice = &trace.lanes[3].slices[0];
        let made = slice.made.unwrap();
        assert_eq!(
            (trace.names.get(slice.name), slice.begin, slice.end, slice.task, made.parent, made.at),
            ("g", 6.0, 12.0, 4, 3, 5.0)
        );
        assert_eq!(made.victim, Some(trace.lanes[2].number as usize));
        assert_eq!((trace.lanes[2].slices[0].region, trace.lost, trace.tasks, trace.events), (2, 2, 2, 4));
        assert_eq!((timeline.begin, timeline.end, timeline.lanes.len()), (0.0, 14.0, 4));
        let task = timeline.lanes[3].iter().find(|s| s.kind == LaneActivity::Task).unwrap();
        assert_eq!((task.begin, task.end, task.task, task.name), (6.0, 12.0, 4, Some(slice.name)));
    }

    #[test]
    fn times_of_different_clocks_begin_at_0() {
        let MergedTraces { trace, timeline, one_clock } = both(20_000);
        assert!(!one_clock);
        assert_eq!((trace.lanes[3].slices[0].begin, timeline.end), (2.0, 10.0));
    }

    #[test]
    fn times_of_different_machines_begin_at_0() {
        let mut here = rank(5_000_000, "f");
        here.machine = "here".into();
        assert!(!MergedTraces::of(vec![("a".into(), here), ("b".into(), rank(5_000_000, "g"))]).one_clock);
    }

    #[test]
    fn ranks_stand_by_number() {
        let order =
            |files: &[&'static str]| in_order(&files.iter().map(|file| Path::new(*file)).collect::<Vec<_>>());
        assert_eq!(
            order(&["t.0.json", "t.10.json", "t.2.json"]),
            [Path::new("t.0.json"), Path::new("t.2.json"), Path::new("t.10.json")]
        );
        assert_eq!(order(&["b.json", "a.1.json"]), [Path::new("b.json"), Path::new("a.1.json")]);
    }

    #[test]
    fn lanes_are_named_after_ranks_where_files_are() {
        let name = |files: &[&str]| names(&files.iter().map(|file| Path::new(*file)).collect::<Vec<_>>());
        assert_eq!(name(&["d/t.0.json", "d/t.12.json"]), ["rank 0", "rank 12"]);
        assert_eq!(name(&["d/t.0.json", "u.1.json"]), ["t.0", "u.1"]);
        assert_eq!(name(&["one.json", "two.json"]), ["one", "two"]);
        assert_eq!(name(&["a/t.0.json", "b/t.0.json"]), ["a/t.0.json", "b/t.0.json"]);
    }
}
