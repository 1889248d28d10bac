//! The events of the scheduler, as it tells them.

use ult::observer::{Observer, SchedulerEvent};

use super::kind::TraceKind;
use super::{forked, record};

/// Notified of everything while a trace is recorded.
pub static OBSERVER: Observer = Observer { observe };

fn observe(event: SchedulerEvent) {
    match event {
        SchedulerEvent::Switches { from, to } => record(TraceKind::Switch, 0, from as u64, to as u64),
        SchedulerEvent::Sleeps => record(TraceKind::Sleep, 0, 0, 0),
        SchedulerEvent::Wakes => record(TraceKind::Wake, 0, 0, 0),
        SchedulerEvent::Steals { victim } => record(TraceKind::StealUlt, victim, 0, 0),
        SchedulerEvent::Gang { id, level, size } => {
            record(TraceKind::Gang, level as u32, id as u64, u64::from(size))
        }
        SchedulerEvent::UltBegins { id, level } => record(TraceKind::UltBegin, level as u32, id as u64, 0),
        SchedulerEvent::UltEnds => record(TraceKind::UltEnd, 0, 0, 0),
        SchedulerEvent::Stalls { watched } => record(TraceKind::Stall, 0, watched as u64, 0),
        SchedulerEvent::Interrupts { watched } => record(TraceKind::Interrupt, 0, watched as u64, 0),
        SchedulerEvent::Preempted => record(TraceKind::Preempt, 0, 0, 0),
        SchedulerEvent::HandsOff { watched } => record(TraceKind::HandOff, 0, watched as u64, 0),
        SchedulerEvent::Moves { from } => record(TraceKind::Move, from, 0, 0),
        SchedulerEvent::RunningWorkers { running, total_workers } => {
            record(TraceKind::RunningWorkers, running, u64::from(total_workers), 0)
        }
        SchedulerEvent::Forked => forked(),
    }
}
