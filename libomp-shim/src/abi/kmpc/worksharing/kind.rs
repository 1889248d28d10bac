//! LLVM's numbers of schedules (`sched_type`).

use crate::omp::report;
use crate::omp::thread::Here;
use crate::omp::worksharing::schedule::{Rule, Schedule};

/// Bits 29 and 30 say `monotonic` and `nonmonotonic`: every schedule here is monotonic.
const MODIFIERS: i32 = 0x6000_0000;
/// First number of the ordered schedules, and of the others.
const ORDERED: i32 = 64;
const PLAIN: i32 = 32;
/// The schedules of `distribute`.
const DISTRIBUTE: core::ops::RangeInclusive<i32> = 91..=92;
/// What the `nomerge` numbers add.
const NOMERGE: i32 = 128;

/// A schedule without its modifiers, as a number between 33 and 47.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    number: i32,
    /// The loop has an `ordered` clause.
    pub ordered: bool,
    /// The iterations are those of `distribute`, divided among the teams of a league.
    pub distribute: bool,
}

impl Kind {
    /// The schedule that `number` stands for.
    #[inline]
    pub fn of(number: i32) -> Self {
        let plain = number & !MODIFIERS;
        let merged = if plain > NOMERGE { plain - NOMERGE } else { plain };
        if DISTRIBUTE.contains(&merged) {
            return Self { number: merged - DISTRIBUTE.start() + 33, ordered: false, distribute: true };
        }
        let ordered = merged > ORDERED;
        Self { number: if ordered { merged - ORDERED + PLAIN } else { merged }, ordered, distribute: false }
    }

    /// Chunks are multiples of the chunk size, as even as possible.
    pub fn is_balanced(self) -> bool {
        self.number == 45
    }

    /// How chunks are made, `chunk` being what the program gave.
    pub fn schedule(self, here: Here, chunk: i64) -> Schedule {
        match self.number {
            33 | 45 => Schedule::new(Rule::Chunked, chunk),
            34 | 38 | 40 | 41 => Schedule::BLOCK,
            35 | 44 => Schedule::new(Rule::Dynamic, chunk),
            36 | 42 | 43 => Schedule::new(Rule::Guided, chunk),
            46 => Schedule::new(Rule::GuidedMultiple, chunk),
            37 => Schedule::of_icv(here.task.icv.get().run_sched),
            47 => Schedule::of_icv_simd(here.task.icv.get().run_sched, chunk),
            39 => Schedule::new(Rule::Trapezoidal, chunk),
            other => report::fatal(format_args!("schedule {other} in a call by LLVM's code is unknown; the program stops")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_and_families_come_off() {
        let kind = |n| Kind::of(n);
        assert_eq!(kind(0x4000_0023), kind(35));
        assert_eq!(kind(0x2000_0023), kind(35));
        assert_eq!(kind(67), Kind { number: 35, ordered: true, distribute: false });
        assert_eq!(kind(91), Kind { number: 33, ordered: false, distribute: true });
        assert_eq!(kind(92), Kind { number: 34, ordered: false, distribute: true });
        assert_eq!(kind(35 + 128), kind(35));
        assert_eq!(kind(67 + 128), kind(67));
    }
}
