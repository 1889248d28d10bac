//! The extension points: all that the host's OpenMP tells tools, checks and devices, and all that it
//! asks them.
//!
//! What lives here: one trait for each kind of extension, whose methods are the events, with a
//! contract for each. What does not: any extension. `omp` names none of them, so that they can be
//! left out of a build.
//!
//! | file | the extension |
//! |---|---|
//! | `tools` | tools (OMPT) and the trace |
//! | `check` | `GANGWAY_CHECK` |
//! | `offload` | devices, among them MPI ranks |
//! | `memory` | devices' memory behind allocators |
//! | `side` | what extensions keep with threads, teams and tasks |
//!
//! **Registration.** The library names its extensions in one static variable
//! ([`Extensions`]), which the linker finds. So nothing runs when the library is loaded, there is no
//! moment at which an extension is missing, and link-time optimisation can see through the calls.
//!
//! **Cost.** While no extension is active, an event on a hot path costs one load and a branch that
//! is not taken. The load is of [`ult::watch`] for tools and checks, and of a counter or of a flag
//! of the task for devices. At start, for queries and for statistics the host calls the extension
//! directly.
//!
//! Rejected:
//! * Registration at run time: an entry point of the program may be called before it, and a
//!   constructor that registers would run code of ours in each program that is preloaded.
//! * Type parameters for the extensions through all of `omp`: each of its types would have one.

use ult::watch;

pub mod check;
pub mod memory;
pub mod offload;
pub mod side;
pub mod tools;

use check::{Check, NoCheck};
use offload::{NoOffload, Offload};
use tools::{NoTools, Tools};

/// The bits of [`ult::watch`] that the extensions use. Each is set while its extension is active.
///
/// This one: a tool of the standard's interface (OMPT).
pub const TOOL_WATCHES: u32 = watch::FREE;
/// The trace.
pub const TRACE_WATCHES: u32 = watch::FREE << 1;
/// Checks of the program.
pub const CHECK_WATCHES: u32 = watch::FREE << 2;

/// The extensions of a library, or of a test program.
pub struct Extensions {
    /// Tools.
    pub tools: &'static dyn Tools,
    /// Checks of the program.
    pub check: &'static dyn Check,
    /// Devices.
    pub offload: &'static dyn Offload,
}

impl Extensions {
    /// None: OpenMP on the host alone.
    pub const NONE: Self = Self { tools: &NoTools, check: &NoCheck, offload: &NoOffload };
}

unsafe extern "Rust" {
    /// Defined once in each library or test program.
    #[link_name = "gangway_extensions"]
    static LINKED: Extensions;
}

/// Returns the extensions that this library was linked with. Any thread may call this at any time.
#[inline(always)]
pub fn linked() -> &'static Extensions {
    // SAFETY: the library defines the variable with this type, and never writes it.
    unsafe { &LINKED }
}
