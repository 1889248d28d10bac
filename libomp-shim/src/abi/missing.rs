//! The exported symbols that have no implementation yet, or none in this build: each stops the program
//! with its name.
//!
//! Lives here: the generated functions of all rows of `symbols.tsv` whose status is `missing` or whose
//! feature is left out, and the functions they call. May not live here:
//! anything written by hand for a particular symbol; an implementation goes to the front it belongs
//! to and its row becomes `done`.
//!
//! Rejected: leaving such symbols out. Under LD_PRELOAD a symbol that this library does not define
//! is found in the runtime the program was linked against, and two runtimes share one program,
//! silently wrong.

// The names are those of the callers' ABI.
#![allow(non_snake_case, non_upper_case_globals, missing_docs)]

use omp::report;

/// Ends the program with one line that names `symbol` and says what to do instead.
///
/// May be called from any thread at any depth, also before the runtime has started.
#[allow(dead_code, reason = "nothing calls it when no row is missing")]
#[cold]
#[inline(never)]
fn stop(symbol: &str, hint: &str) -> ! {
    report::fatal(format_args!("{symbol} is not implemented yet ({hint})"))
}

/// Ends the program with one line that names `symbol` and says what this build leaves out.
///
/// May be called from any thread at any depth, also before the runtime has started.
#[allow(dead_code, reason = "nothing calls it when no feature is left out")]
#[cold]
#[inline(never)]
fn stop_left_out(symbol: &str, absent: &str) -> ! {
    report::fatal(format_args!(
        "{symbol} is not in this library, which was built with {absent} (use the library with all features)"
    ))
}

include!(concat!(env!("OUT_DIR"), "/missing.rs"));
