//! `bind-var`: how the threads of a team are bound to places.
//!
//! What lives here: the values, and the numbers by which the ABI names them. What does not: the
//! policies themselves ([`crate::affinity`]).

use core::fmt;

/// How threads are bound to places. The discriminants are those of `omp_proc_bind_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ProcBind {
    /// No binding: threads may run anywhere, and `proc_bind` clauses are ignored.
    False = 0,
    /// Threads are bound and the runtime chooses how; here as for [`ProcBind::Close`].
    True = 1,
    /// All threads on the place of the primary thread (formerly `master`).
    Primary = 2,
    /// Threads on consecutive places, starting at that of the primary thread.
    Close = 3,
    /// Threads spread over the place partition; each thread gets a part of it.
    Spread = 4,
}

impl ProcBind {
    /// The policy for a value of `GOMP_parallel`'s flags, `__kmpc_push_proc_bind` or
    /// `omp_get_proc_bind`.
    pub fn from_omp(value: u32) -> Option<ProcBind> {
        Some(match value {
            0 => ProcBind::False,
            1 => ProcBind::True,
            // clang's number for `primary`, which it keeps apart from `master`.
            2 | 5 => ProcBind::Primary,
            3 => ProcBind::Close,
            4 => ProcBind::Spread,
            _ => return None,
        })
    }
}

impl fmt::Display for ProcBind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProcBind::False => "FALSE",
            ProcBind::True => "TRUE",
            ProcBind::Primary => "PRIMARY",
            ProcBind::Close => "CLOSE",
            ProcBind::Spread => "SPREAD",
        })
    }
}
