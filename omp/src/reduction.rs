//! Reductions on parallel and worksharing constructs: which way a team takes. The ways themselves
//! are in the front of clang's code (`abi/kmpc`); GCC's code combines by itself.

use super::env::{self, ReductionMethod};
use crate::thread::current::CurrentThread;
pub use crate::thread::own::ReductionPath;

/// Largest team that combines with atomic operations where both are possible: beyond it they
/// contend more than a tree waits.
const ATOMIC_TEAM: u32 = 4;

/// Chooses a way. `atomic`: the compiler has generated an atomic variant; `combiner`: it has passed
/// a function that combines two threads' copies. `KMP_FORCE_REDUCTION` and
/// `KMP_DETERMINISTIC_REDUCTION` decide where they can.
pub fn choose(here: CurrentThread, atomic: bool, combiner: bool) -> ReductionPath {
    let size = here.team().size();
    if size == 1 {
        return ReductionPath::Alone;
    }
    match env::settings().reduction_method {
        Some(ReductionMethod::Critical) => return ReductionPath::Critical,
        Some(ReductionMethod::Atomic) if atomic => return ReductionPath::Atomic,
        Some(ReductionMethod::Tree) if combiner => return ReductionPath::Tree,
        _ => {}
    }
    match (atomic, combiner) {
        (true, _) if size <= ATOMIC_TEAM => ReductionPath::Atomic,
        (_, true) => ReductionPath::Tree,
        (true, false) => ReductionPath::Atomic,
        (false, false) => ReductionPath::Critical,
    }
}
