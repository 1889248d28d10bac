//! LLVM's numbers of schedules (`sched_type`).

use omp::icv::{Sched, SchedKind};
use omp::report;
use omp::thread::CurrentThread;
use omp::worksharing::schedule::{Schedule, ScheduleRule};

/// The schedule has the `monotonic` modifier.
const MONOTONIC: i32 = 0x2000_0000;
/// It has the `nonmonotonic` modifier, or none in a program of OpenMP 5.0 or later.
const NONMONOTONIC: i32 = 0x4000_0000;
/// First number of the ordered schedules, and of the others.
const ORDERED: i32 = 64;
const PLAIN: i32 = 32;
/// The schedules of `distribute`.
const DISTRIBUTE: core::ops::RangeInclusive<i32> = 91..=92;
/// What the `nomerge` numbers add.
const NOMERGE: i32 = 128;

/// `schedule(static)`, without a chunk size.
pub const STATIC: i32 = 34;
/// `schedule(dynamic)`.
const DYNAMIC: i32 = 35;
/// `schedule(auto)`.
const AUTO: i32 = 38;

/// A schedule without its modifiers, as a number between 33 and 47.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleKind {
    number: i32,
    /// The loop has an `ordered` clause.
    pub ordered: bool,
    /// The iterations are those of `distribute`, divided among the teams of a league.
    pub distribute: bool,
    /// `MONOTONIC`, `NONMONOTONIC` or neither.
    modifier: i32,
}

impl ScheduleKind {
    /// What `auto` is, as in LLVM's library: programs that were tried with that one rely on uneven
    /// iterations being balanced. With gcc it is static, by code that the compiler makes
    /// itself.
    const AUTOMATIC: Schedule = Schedule { rule: ScheduleRule::Guided, chunk: 1 };

    /// The schedule that `number` stands for.
    #[inline]
    pub fn of(number: i32) -> Self {
        let modifier = number & (MONOTONIC | NONMONOTONIC);
        let plain = number - modifier;
        if plain == DYNAMIC {
            return Self { number: DYNAMIC, ordered: false, distribute: false, modifier };
        }
        let merged = if plain > NOMERGE { plain - NOMERGE } else { plain };
        if DISTRIBUTE.contains(&merged) {
            return Self {
                number: merged - DISTRIBUTE.start() + 33,
                ordered: false,
                distribute: true,
                modifier,
            };
        }
        let ordered = merged > ORDERED;
        Self {
            number: if ordered { merged - ORDERED + PLAIN } else { merged },
            ordered,
            distribute: false,
            modifier,
        }
    }

    /// Chunks are multiples of the chunk size, as even as possible.
    pub fn is_balanced(self) -> bool {
        self.number == 45
    }

    /// How chunks are made, `chunk` being what the program gave.
    #[inline]
    pub fn schedule(self, here: CurrentThread, chunk: i64) -> Schedule {
        let schedule = match self.number {
            33 | 45 => Schedule::new(ScheduleRule::Chunked, chunk),
            STATIC | 40 | 41 => Schedule::BLOCK,
            AUTO => Self::AUTOMATIC,
            // The default before OpenMP 5.0.
            DYNAMIC if self.modifier != NONMONOTONIC => Schedule::new(ScheduleRule::Dynamic, chunk),
            DYNAMIC | 44 => Schedule::new(ScheduleRule::Nonmonotonic, chunk),
            36 | 42 | 43 => Schedule::new(ScheduleRule::Guided, chunk),
            46 => Schedule::new(ScheduleRule::GuidedMultiple, chunk),
            37 => match here.task.own.icv.get().run_sched {
                Sched { kind: SchedKind::Auto, .. } => Self::AUTOMATIC,
                sched => Schedule::of_icv(sched),
            },
            47 => Schedule::of_icv_simd(here.task.own.icv.get().run_sched, chunk),
            39 => Schedule::new(ScheduleRule::Trapezoidal, chunk),
            other => report::fatal(format_args!(
                "schedule {other} in a call by LLVM's code is unknown; the program stops"
            )),
        };
        if self.modifier == MONOTONIC { schedule.monotonic() } else { schedule }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_and_families_come_off() {
        let kind = |n| ScheduleKind::of(n);
        assert_eq!(kind(0x4000_0023), ScheduleKind { modifier: NONMONOTONIC, ..kind(35) });
        assert_eq!(kind(0x2000_0023), ScheduleKind { modifier: MONOTONIC, ..kind(35) });
        assert_eq!(kind(67), ScheduleKind { number: 35, ordered: true, distribute: false, modifier: 0 });
        assert_eq!(kind(91), ScheduleKind { number: 33, ordered: false, distribute: true, modifier: 0 });
        assert_eq!(kind(92), ScheduleKind { number: 34, ordered: false, distribute: true, modifier: 0 });
        assert_eq!(kind(35 + 128), kind(35));
        assert_eq!(kind(67 + 128), kind(67));
    }
}
