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
//! **Cost.** A method is called only where a word says that the extension is active: a bit of
//! [`ult::watch`] for tools and checks, a word of its own for devices. While none is active an
//! extension point costs one relaxed load and a branch that is not taken.
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

/// Keeps a symbol that is for the linker alone out of what the library exports. There it could be
/// taken for that of another copy of the library in the process. A reference that is hidden hides
/// the definition; the section of the reference is not loaded.
#[macro_export]
macro_rules! hidden {
    ($name:literal) => {
        core::arch::global_asm!(
            concat!(".hidden ", $name),
            ".pushsection .gangway.hidden, \"\", @progbits",
            concat!(".quad ", $name),
            ".popsection",
        );
    };
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
