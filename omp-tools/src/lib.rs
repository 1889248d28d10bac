//! What looks at a program while it runs: tools, traces and checks.
//!
//! What lives here: the consumers of the host's events ([`omp::extension`]). What does not: anything
//! that the runtime itself needs to work.
//!
//! | module | what lives there |
//! |---|---|
//! | [`tool`] | OMPT, and the hooks that notify consumers |
//! | [`trace`] | timelines: `GANGWAY_TRACE` |
//! | [`check`] | `GANGWAY_CHECK`: waits in vain, and misuse |
//! | `object_file` | functions by address, from the files of objects, for both |
pub mod check;
mod object_file;
pub mod tool;
pub mod trace;

/// The extensions of this crate's tests.
#[cfg(test)]
#[unsafe(export_name = "gangway_extensions")]
static EXTENSIONS: omp::extension::Extensions = omp::extension::Extensions {
    tools: &tool::hook::ToolHooks,
    check: &check::host::Checks { ranks: &check::ranks::NoRanks },
    ..omp::extension::Extensions::NONE
};
