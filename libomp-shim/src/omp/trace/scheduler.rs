//! The events of the scheduler, as it tells them.

use ult::observer::{Event, Observer};

use super::kind::Kind;
use super::{forked, record};

/// Notified of everything while a trace is recorded.
pub static OBSERVER: Observer = Observer { observe };

fn observe(event: Event) {
    match event {
        Event::Switches { from, to } => record(Kind::Switch, 0, from as u64, to as u64),
        Event::Sleeps => record(Kind::Sleep, 0, 0, 0),
        Event::Wakes => record(Kind::Wake, 0, 0, 0),
        Event::Steals { victim } => record(Kind::StealUlt, victim, 0, 0),
        Event::Gang { id, level, size } => record(Kind::Gang, level as u32, id as u64, u64::from(size)),
        Event::UltBegins { id, level } => record(Kind::UltBegin, level as u32, id as u64, 0),
        Event::UltEnds => record(Kind::UltEnd, 0, 0, 0),
        Event::Stalls { watched } => record(Kind::Stall, 0, watched as u64, 0),
        Event::Interrupts { watched } => record(Kind::Interrupt, 0, watched as u64, 0),
        Event::Preempted => record(Kind::Preempt, 0, 0, 0),
        Event::HandsOff { watched } => record(Kind::HandOff, 0, watched as u64, 0),
        Event::Forked => forked(),
    }
}
