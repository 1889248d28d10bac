//! Runs a program on all lanes in turn, beside what its situation says.
//!
//! The figure of several processes is the time until the last one has ended. Processor time is that
//! of all of them. A peer that crawls, and what failed or was stopped, is not started again for the
//! row.

use super::plan::{BusyLane, BusyLaneKind, BusyProgram, BusySituation};
use crate::exec::{self, Ran};
use crate::lanes::{self, SLOW, statistics};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Instant;

/// Seconds after which a process is ended.
const LIMIT: u32 = 60;

/// One turn of a lane, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BusySample {
    /// Until the last process ended.
    pub wall: f64,
    /// Processor time of all processes.
    pub processor: f64,
}

/// What a lane gave.
#[derive(Clone, Debug)]
pub struct BusySeries {
    /// The lane.
    pub kind: BusyLaneKind,
    /// Of each round; nothing where it was not run.
    pub rounds: Vec<Option<BusySample>>,
    /// Why it has none in later rounds: how it ended. Nothing for a peer that crawls.
    pub failure: Option<String>,
    /// The lane is not run in further rounds.
    is_excluded: bool,
}

impl BusySeries {
    /// A series with these rounds.
    pub fn new(kind: BusyLaneKind, rounds: Vec<Option<BusySample>>) -> Self {
        Self { kind, rounds, failure: None, is_excluded: false }
    }

    /// Medians and the least wall time; nothing without figures.
    pub fn figure(&self) -> Option<BusyFigure> {
        let all: Vec<BusySample> = self.rounds.iter().copied().flatten().collect();
        let of = |part: fn(&BusySample) -> f64| all.iter().map(part).collect::<Vec<f64>>();
        let least = of(|sample| sample.wall).into_iter().min_by(f64::total_cmp)?;
        let [wall, processor] = [of(|sample| sample.wall), of(|sample| sample.processor)]
            .map(|values| statistics::median(&values));
        Some(BusyFigure { wall, processor, least })
    }
}

/// A lane's figures, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BusyFigure {
    /// Median wall time.
    pub wall: f64,
    /// Median processor time.
    pub processor: f64,
    /// Least wall time.
    pub least: f64,
}

/// A program in a situation.
#[derive(Clone, Debug)]
pub struct BusyRow {
    /// The program's name.
    pub program: String,
    /// The situation's name.
    pub situation: String,
    /// One for each lane.
    pub series: Vec<BusySeries>,
}

impl BusyRow {
    /// Whether something of ours failed or was stopped.
    pub fn has_failed(&self) -> bool {
        let is_ours = |kind| !matches!(kind, BusyLaneKind::Libgomp | BusyLaneKind::Libomp);
        self.series.iter().any(|series| is_ours(series.kind) && series.failure.is_some())
    }
}

/// Measures a row.
pub fn row(
    program: &BusyProgram,
    situation: BusySituation,
    lanes: &[BusyLane],
    cores: u32,
    rounds: usize,
) -> BusyRow {
    let mut series: Vec<BusySeries> = lanes.iter().map(|lane| BusySeries::new(lane.kind, vec![])).collect();
    lanes::in_turns(lanes.len(), rounds, |_, at| {
        let one = &mut series[at];
        let sample = if one.is_excluded { None } else { sample(program, situation, &lanes[at], cores, one) };
        one.rounds.push(sample);
    });
    BusyRow { program: program.name.into(), situation: situation.to_string(), series }
}

fn sample(
    program: &BusyProgram,
    situation: BusySituation,
    lane: &BusyLane,
    cores: u32,
    series: &mut BusySeries,
) -> Option<BusySample> {
    let words = words(program, lane, cores);
    let _loops = ForeignLoops::start(situation.loops);
    let (begun, before) = (Instant::now(), processor_time());
    let all: Vec<Ran> = thread::scope(|scope| {
        let one = || exec::run(&words, &[], Path::new("/"), LIMIT);
        let started: Vec<_> = (0..situation.processes).map(|_| scope.spawn(one)).collect();
        started.into_iter().filter_map(|process| process.join().ok()).collect()
    });
    let wall = begun.elapsed().as_secs_f64();
    let processor = processor_time() - before;
    if let Some(problem) = all.iter().find_map(|ran| ran.problem.as_ref()) {
        println!("{} {situation} under {}: {problem}\n  {}", program.name, lane.name, words.join(" "));
        series.failure = Some(problem.clone());
        series.is_excluded = true;
        return None;
    }
    series.is_excluded = lane.library.is_none() && wall > SLOW;
    Some(BusySample { wall, processor })
}

/// The command of a process.
fn words(program: &BusyProgram, lane: &BusyLane, cores: u32) -> Vec<String> {
    let mut words = vec!["env".to_string()];
    words.extend(lanes::without_foreign_variables());
    words.push(format!("OMP_NUM_THREADS={cores}"));
    words.extend(program.settings.iter().map(|(name, value)| format!("{name}={value}")));
    if let BusyLaneKind::Fixed(workers) = lane.kind {
        words.push(format!("GANGWAY_WORKERS={workers}"));
    }
    let libomp = || (lane.kind == BusyLaneKind::Libomp && program.preloads_libomp).then(libomp).flatten();
    let preloaded = lane.library.as_ref().map(|library| library.display().to_string()).or_else(libomp);
    words.extend(preloaded.map(|library| format!("LD_PRELOAD={library}")));
    words.extend(program.commands[usize::from(lane.kind == BusyLaneKind::Libomp)].clone());
    words
}

/// The newest libomp that is installed.
fn libomp() -> Option<String> {
    let file = |version: u32| format!("/usr/lib/llvm-{version}/lib/libomp.so.5");
    (14..30).rev().map(file).find(|file| Path::new(file).exists())
}

/// Endless loops, until this value is dropped.
struct ForeignLoops(Vec<Child>);

impl ForeignLoops {
    fn start(count: u32) -> Self {
        let one =
            |_| Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().ok();
        Self((0..count).filter_map(one).collect())
    }
}

impl Drop for ForeignLoops {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Processor time, in seconds, of all children of this process that have ended and been awaited.
fn processor_time() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    ended_children(&text).unwrap_or(0.0)
}

/// The sum of the 16th and 17th field of `/proc/self/stat`, which are hundredths of a second.
fn ended_children(text: &str) -> Option<f64> {
    let (_, fields) = text.rsplit_once(") ")?;
    let ticks: Vec<f64> = fields.split(' ').skip(13).take(2).filter_map(|field| field.parse().ok()).collect();
    (ticks.len() == 2).then(|| ticks.iter().sum::<f64>() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::super::plan;
    use super::*;

    #[test]
    fn processor_time_of_children_is_read() {
        let text = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 150 50 20 0 1";
        assert_eq!(ended_children(text), Some(2.0));
        assert_eq!(ended_children("nothing"), None);
    }

    #[test]
    fn a_program_runs_beside_loops_and_the_loops_end() {
        let words = |text: &str| ["sh", "-c", text].map(str::to_string).to_vec();
        let program = |text: &str| BusyProgram {
            name: "shell",
            commands: [words(text), words(text)],
            settings: vec![],
            is_own_program: true,
            preloads_libomp: false,
        };
        let lanes = plan::lanes(Path::new(""), 1);
        let situation = BusySituation { loops: 1, processes: 2 };
        let right = row(&program("test $OMP_NUM_THREADS = 3"), situation, &lanes, 3, 2);
        assert!(!right.has_failed() && right.series.iter().all(|series| series.figure().is_some()));
        let wrong = row(&program("exit 1"), situation, &lanes, 3, 2);
        assert!(wrong.has_failed() && wrong.series.iter().all(|series| series.figure().is_none()));
        let mut loops = ForeignLoops::start(1);
        assert!(loops.0[0].try_wait().unwrap().is_none());
    }

    #[test]
    fn medians_and_the_least_are_of_all_rounds() {
        let sample = |wall, processor| Some(BusySample { wall, processor });
        let rounds = vec![sample(3.0, 9.0), None, sample(2.0, 5.0), sample(4.0, 6.0)];
        let figure = BusySeries::new(BusyLaneKind::Gangway, rounds).figure().unwrap();
        assert_eq!(figure, BusyFigure { wall: 3.0, processor: 6.0, least: 2.0 });
    }
}
