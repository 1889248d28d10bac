//! The judge of schedules: replays one in time, from the graph alone, and finds whatever is wrong
//! with it. Shares no code with the modules that make schedules ([`crate::space`]), except for
//! [`until`]: how long a task's data stay in memory.

use crate::Time;
use crate::graph::{Graph, GraphMachine, GraphSchedule};
use crate::space::until;

/// What a schedule is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayOutcome {
    /// When the last task ends.
    pub makespan: Time,
    /// Of a device's memory, the share that is free when a task starts there, on average over
    /// the tasks; 1 on devices without a limit.
    pub waste: f64,
    /// Per device: the most bytes in use at one time.
    pub peaks: Vec<u64>,
    /// Bytes that went from one device to another.
    pub moved: u64,
}

/// What is wrong with a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayFault {
    /// Not one place for each task, or one of a device that is not there.
    Incomplete,
    /// The task does not take as long as it costs there.
    Length(usize),
    /// The reader starts before the writer's data can be there.
    TooEarly {
        /// Who has to be first.
        writer: usize,
        /// Who was.
        reader: usize,
    },
    /// Two tasks run on one device at the same time.
    Together(usize, usize),
    /// More memory is in use than the device has.
    Memory {
        /// Where.
        device: usize,
        /// When.
        at: Time,
        /// How many bytes are in use.
        used: u64,
    },
}

/// Replays the schedule.
///
/// # Errors
/// The first fault.
pub fn replay(
    graph: &Graph,
    machine: &GraphMachine,
    schedule: &GraphSchedule,
) -> Result<ReplayOutcome, ReplayFault> {
    let all = &schedule.0;
    if all.len() != graph.len() || all.iter().any(|p| p.device >= machine.devices.len()) {
        return Err(ReplayFault::Incomplete);
    }
    let cost = |task: usize| machine.cost(&graph.tasks()[task], all[task].device);
    if let Some(task) = (0..all.len()).find(|&t| all[t].start + cost(t) != all[t].finish) {
        return Err(ReplayFault::Length(task));
    }
    let mut moved = 0;
    for edge in graph.edges() {
        let (writer, reader) = (all[edge.from], all[edge.to]);
        if reader.start < writer.finish + machine.transfer(edge.bytes, writer.device, reader.device) {
            return Err(ReplayFault::TooEarly { writer: edge.from, reader: edge.to });
        }
        moved += if writer.device == reader.device { 0 } else { edge.bytes };
    }
    one_at_a_time(schedule, machine)?;
    let memory = memory(graph, machine, schedule);
    let (mut peaks, mut waste) = (Vec::new(), 0.0);
    for (device, line) in memory.iter().enumerate() {
        peaks.push(peak(line, device, machine.devices[device].memory)?);
    }
    for placed in all {
        waste += wasted(&memory[placed.device], placed.start, machine.devices[placed.device].memory);
    }
    let makespan = all.iter().map(|p| p.finish).max().unwrap_or(0);
    Ok(ReplayOutcome { makespan, waste: waste / all.len().max(1) as f64, peaks, moved })
}

fn one_at_a_time(schedule: &GraphSchedule, machine: &GraphMachine) -> Result<(), ReplayFault> {
    for device in 0..machine.devices.len() {
        let mut own: Vec<usize> = (0..schedule.0.len()).filter(|&t| schedule.0[t].device == device).collect();
        own.sort_by_key(|&t| (schedule.0[t].start, schedule.0[t].finish));
        if let Some(pair) = own.windows(2).find(|w| schedule.0[w[0]].finish > schedule.0[w[1]].start) {
            return Err(ReplayFault::Together(pair[0], pair[1]));
        }
    }
    Ok(())
}

/// Per device: begin or end of a use of memory, and the bytes, in time.
fn memory(graph: &Graph, machine: &GraphMachine, schedule: &GraphSchedule) -> Vec<Vec<(Time, i128)>> {
    let mut lines = vec![Vec::new(); machine.devices.len()];
    let mut uses = |device: usize, begin: Time, end: Time, bytes: u64| {
        if begin < end {
            lines[device].extend([(begin, i128::from(bytes)), (end, -i128::from(bytes))]);
        }
    };
    for (task, &own) in schedule.0.iter().enumerate() {
        let what = &graph.tasks()[task];
        uses(own.device, own.start, own.finish, what.scratch);
        let read = graph.after(task).map(|e| until(own, schedule.0[e.to])).max().unwrap_or(0);
        uses(own.device, own.start, read.max(own.finish), what.keeps);
        for edge in graph.before(task) {
            let from = schedule.0[edge.from].device;
            if from != own.device {
                uses(
                    own.device,
                    own.start.saturating_sub(machine.transfer(edge.bytes, from, own.device)),
                    own.finish,
                    edge.bytes,
                );
            }
        }
    }
    // At one time what ends comes first.
    lines.iter_mut().for_each(|line| line.sort_unstable());
    lines
}

fn peak(line: &[(Time, i128)], device: usize, limit: u64) -> Result<u64, ReplayFault> {
    let (mut used, mut most) = (0, 0);
    for &(at, change) in line {
        used += change;
        most = most.max(used);
        if used > i128::from(limit) {
            return Err(ReplayFault::Memory { device, at, used: used as u64 });
        }
    }
    Ok(most as u64)
}

fn wasted(line: &[(Time, i128)], at: Time, limit: u64) -> f64 {
    if limit == u64::MAX || limit == 0 {
        return 1.0;
    }
    let used: i128 = line[..line.partition_point(|&(when, _)| when <= at)].iter().map(|l| l.1).sum();
    1.0 - used as f64 / limit as f64
}
