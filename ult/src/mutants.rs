//! Deliberate mistakes ("mutants"), to find out whether the tests would notice them.
//! `docs/mutants.md` says how to use them.
//!
//! What lives here: the macro [`seam!`](crate::seam), and which mutant this process runs as. A mistake is
//! a second body of a small function, beside the right one; `cargo xtask mutants` has the list.
//!
//! Without the cargo feature `mutants`, which no ordinary build has, a seam is its right body and
//! nothing of this is left in the library. With it a process is the mutant that `GANGWAY_MUTANT`
//! names, or none: one build carries them all.
//!
//! Tried and rejected:
//! * A source patch per mutant: a build each, half a minute times fifty.
//! * A tool that changes operators at random: most of its changes make no difference, or do not
//!   start.

/// A function with further bodies, which a process runs instead if it is the mutant of that name:
///
/// ```
/// ult::seam! {
///     /// The last thread of a team of `size`.
///     fn last(size: u32) -> u32 {
///         size - 1
///     } or last_thread_wrong {
///         size
///     }
/// }
/// assert_eq!(last(4), 3);
/// ```
///
/// The function is inlined. Generic functions take their parameters as `impl Trait`.
#[macro_export]
macro_rules! seam {
    (
        $(#[$attribute:meta])*
        $visibility:vis fn $name:ident($($arguments:tt)*) $(-> $result:ty)? $body:block
        $(or $mutant:ident $mistake:block)+
    ) => {
        $(#[$attribute])*
        #[inline(always)]
        $visibility fn $name($($arguments)*) $(-> $result)? {
            $(if $crate::mutant!($mutant) {
                return $mistake;
            })+
            $body
        }
    };
}

/// Is this process the mutant of that name? A constant `false` without the feature `mutants`. Only
/// for [`seam!`](crate::seam).
#[cfg(not(feature = "mutants"))]
#[macro_export]
macro_rules! mutant {
    ($name:ident) => {
        $crate::mutants::NONE
    };
}

/// Is this process the mutant of that name?
#[cfg(feature = "mutants")]
#[macro_export]
macro_rules! mutant {
    ($name:ident) => {
        $crate::mutants::is_chosen(const { $crate::mutants::number(stringify!($name)) })
    };
}

/// What a mutant is without the feature.
#[cfg(not(feature = "mutants"))]
pub const NONE: bool = false;

#[cfg(feature = "mutants")]
pub use chosen::{is_chosen, number};

#[cfg(feature = "mutants")]
mod chosen {
    use core::ffi::CStr;
    use core::sync::atomic::{AtomicU64, Ordering};

    /// `GANGWAY_MUTANT` has not been read yet.
    const UNREAD: u64 = 0;
    /// `GANGWAY_MUTANT` is not set.
    const ORIGINAL: u64 = 1;

    static CHOSEN: AtomicU64 = AtomicU64::new(UNREAD);

    /// A number for a mutant's name (above the two that mean something else).
    pub const fn number(name: &str) -> u64 {
        crate::sys::hash::of_name(name) | 2
    }

    /// Is the process the mutant with this number? Any thread.
    pub fn is_chosen(mutant: u64) -> bool {
        // ORDERING: Relaxed; every thread that writes it writes the same value.
        match CHOSEN.load(Ordering::Relaxed) {
            UNREAD => read() == mutant,
            chosen => chosen == mutant,
        }
    }

    #[cold]
    fn read() -> u64 {
        // SAFETY: a constant string; what it returns is a string of the environment, or null.
        let value = unsafe { libc::getenv(c"GANGWAY_MUTANT".as_ptr()) };
        let name = if value.is_null() {
            ""
        } else {
            // SAFETY: not null, and no thread changes the environment of a process under test.
            unsafe { CStr::from_ptr(value) }.to_str().unwrap_or_default()
        };
        let chosen = if name.is_empty() { ORIGINAL } else { number(name) };
        // ORDERING: Relaxed, as in `is_chosen`.
        CHOSEN.store(chosen, Ordering::Relaxed);
        chosen
    }
}
