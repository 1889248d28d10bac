//! Places and bindings (OpenMP 5.2, section 10.1.3): which place each thread of a team runs on.
//!
//! | file | what lives there |
//! |---|---|
//! | `level` | the levels of the machine that a place may be |
//! | `places` | the places of this machine, from what the environment asked for |
//! | `order` | the order in which `KMP_AFFINITY` takes them |
//! | `hint` | the `affinity` clause of tasks: for whom they are queued |
//! | `format` | the lines that say where a thread is |
//! | `judges` | what tests and fuzzers require of such lines |
//! | `assign` | the policies `primary`, `close`, `spread`, as arithmetic |
//!
//! Nothing here binds a thread: that is the worker's business.

pub(crate) mod assign;
pub(crate) mod format;
pub mod hint;
#[cfg(any(test, feature = "fuzz"))]
pub mod judges;
pub(crate) mod level;
mod order;
pub(crate) mod places;

pub use self::assign::{PlaceAssignment, assign, part_of};
pub use self::format::{
    Facts, affinity_format, capture_affinity, copy_out, copy_out_fortran, display_affinity, expand, ranges,
    say_bound, set_affinity_format,
};
pub use self::level::Level;
pub use self::places::PlaceList;
pub use ult::topology;
