//! Loop schedules: `run-sched-var`, and the `schedule` clause.
//!
//! What lives here: kind, modifier and chunk, and the numbers by which the ABI names them. What does
//! not: how a schedule divides iterations ([`crate::worksharing::schedule`]).

use core::fmt;

/// Kind of a loop schedule. The discriminants are those of `omp_sched_t` (`omp.h`) if it has the
/// kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SchedKind {
    /// Iterations are divided once, before the loop.
    Static = 1,
    /// Threads take a chunk at a time, first come first served.
    Dynamic = 2,
    /// Threads take shrinking chunks, first come first served.
    Guided = 3,
    /// The runtime chooses.
    Auto = 4,
    /// LLVM extension: linearly shrinking chunks (`OMP_SCHEDULE=trapezoidal`).
    Trapezoidal = 101,
    /// LLVM extension: static division with stealing (`OMP_SCHEDULE=static_steal`).
    StaticSteal = 102,
}

/// Modifier of a loop schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SchedModifier {
    /// No modifier given: `static` is monotonic, all other kinds are nonmonotonic (5.2, section
    /// 11.5.3).
    Unspecified = 0,
    /// Chunks reach a thread in increasing iteration order.
    Monotonic = 1,
    /// Chunks reach a thread in any order.
    Nonmonotonic = 2,
}

/// A loop schedule: kind, modifier and chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sched {
    /// Iterations per chunk; 0 if not given. Then `static` divides evenly, `dynamic` and `guided`
    /// take 1.
    pub chunk: i32,
    /// The kind.
    pub kind: SchedKind,
    /// The modifier.
    pub modifier: SchedModifier,
}

/// `omp_sched_monotonic` of `omp_sched_t`. Given: by the ABI.
const OMP_SCHED_MONOTONIC: u32 = 0x8000_0000;

impl Sched {
    /// `static` without a chunk: `def-sched-var`, and the default of `run-sched-var`.
    pub const STATIC: Sched =
        Sched { chunk: 0, kind: SchedKind::Static, modifier: SchedModifier::Unspecified };

    /// The schedule for the arguments of `omp_set_schedule`; `None` for an unknown kind. A chunk
    /// below 1 means the default.
    pub fn from_omp(kind: u32, chunk: i32) -> Option<Sched> {
        let modifier = match kind & OMP_SCHED_MONOTONIC {
            0 => SchedModifier::Unspecified,
            _ => SchedModifier::Monotonic,
        };
        let kind = match kind & !OMP_SCHED_MONOTONIC {
            1 => SchedKind::Static,
            2 => SchedKind::Dynamic,
            3 => SchedKind::Guided,
            4 => SchedKind::Auto,
            101 => SchedKind::Trapezoidal,
            102 => SchedKind::StaticSteal,
            _ => return None,
        };
        let chunk = if kind == SchedKind::Auto { 0 } else { chunk.max(0) };
        Some(Sched { chunk, kind, modifier })
    }

    /// The values that `omp_get_schedule` stores: the kind with the modifier bit, and the chunk.
    /// `static_steal` is reported as `dynamic`.
    pub fn to_omp(self) -> (u32, i32) {
        let bit = if self.modifier == SchedModifier::Monotonic { OMP_SCHED_MONOTONIC } else { 0 };
        let kind = if self.kind == SchedKind::StaticSteal { SchedKind::Dynamic } else { self.kind };
        (kind as u32 | bit, self.effective_chunk())
    }

    /// The chunk to use: the given one; otherwise 0 (divide evenly) for `static`, and 1 for all
    /// other kinds. `auto` needs no chunk, but also reports 1.
    pub fn effective_chunk(self) -> i32 {
        match (self.chunk, self.kind) {
            (0, SchedKind::Static) => 0,
            (0, _) => 1,
            (chunk, _) => chunk,
        }
    }

    /// Must chunks reach each thread in increasing order? True with the `monotonic` modifier, and
    /// for `static` without a modifier.
    pub fn is_monotonic(self) -> bool {
        match self.modifier {
            SchedModifier::Monotonic => true,
            SchedModifier::Nonmonotonic => false,
            SchedModifier::Unspecified => self.kind == SchedKind::Static,
        }
    }
}

impl fmt::Display for Sched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.modifier {
            SchedModifier::Unspecified => "",
            SchedModifier::Monotonic => "MONOTONIC:",
            SchedModifier::Nonmonotonic => "NONMONOTONIC:",
        })?;
        f.write_str(match self.kind {
            SchedKind::Static => "STATIC",
            SchedKind::Dynamic => "DYNAMIC",
            SchedKind::Guided => "GUIDED",
            SchedKind::Auto => "AUTO",
            SchedKind::Trapezoidal => "TRAPEZOIDAL",
            SchedKind::StaticSteal => "STATIC_STEAL",
        })?;
        if self.chunk > 0 { write!(f, ",{}", self.chunk) } else { Ok(()) }
    }
}
