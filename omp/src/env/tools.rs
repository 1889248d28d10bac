//! What looks on, and what is reported at the end: tools, the trace, counters and checks.

use super::files::{always, anchor_libraries, anchor_log, anchor_pattern, names_log};
use super::shown::{enabled, if_any, on, plain, size};
use super::table::settings;
use super::types::VerboseInit;
use super::value::{at_most, boolean, count, one_of, size as bytes, text};

/// Percent of the time that the trace may take for events of tasks, unless the user says otherwise.
pub const DEFAULT_TRACE_SHARE: u32 = 2;

settings! {
    /// Tools (OMPT, OMPD), the trace, counters and checks.
    pub struct ToolSettings read(r) {
        /// Whether tools may be registered.
        enabled: bool =
            read(OMP_TOOL, "using enabled", one_of(&[("enabled", true), ("disabled", false)])).or(true),
            shown(enabled);
        /// Libraries to look for a tool in, in order.
        libraries: Vec<String> = read(OMP_TOOL_LIBRARIES, "it is ignored", paths).or(Vec::new()),
            shown(|all: &Vec<String>| all.join(":")), file(always => anchor_libraries);
        /// Where the search for a tool is logged.
        verbose_init: VerboseInit =
            read(OMP_TOOL_VERBOSE_INIT, "using disabled", verbose_init).or(VerboseInit::Disabled),
            shown(log), file(names_log => anchor_log);
        /// `debug-var` (OMPD).
        debug: bool = read(OMP_DEBUG, "using disabled", boolean).or(false), shown(enabled);
        /// Print the counters of [`crate::stats`] at exit.
        stats: bool = read(GANGWAY_STATS, "using false", boolean).or(false), shown(on);
        /// The file that gets a timeline; `None` = none.
        trace: Option<String> = read(GANGWAY_TRACE, "there is no trace", text).or(None),
            shown(if_any), file(always => anchor_pattern);
        /// Bytes that each kernel thread's events may take: by default enough for four million.
        trace_buffer: usize =
            read(GANGWAY_TRACE_BUFFER, "using 128M", bytes(b'K')).or(128 << 20), shown(size);
        /// Percent of the time that events of tasks may take; 100: any.
        trace_share: Option<u32> =
            read(GANGWAY_TRACE_SHARE, "using 2", at_most(count(1), 100, "more than 100")).or(None),
            shown(|share: &Option<u32>| plain(&share.unwrap_or(DEFAULT_TRACE_SHARE)));
        /// Say who waits in vain, and what is misused (`omp_tools::check`).
        check: bool = read(GANGWAY_CHECK, "using false", boolean).or(false), shown(on);
    }
}

/// Paths, separated by colons.
fn paths(text: &str) -> Result<Vec<String>, String> {
    Ok(text.split(':').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

fn verbose_init(text: &str) -> Result<VerboseInit, String> {
    Ok(match text.to_ascii_lowercase().as_str() {
        "disabled" => VerboseInit::Disabled,
        "stdout" => VerboseInit::Stdout,
        "stderr" => VerboseInit::Stderr,
        _ => VerboseInit::File(text.to_owned()),
    })
}

fn log(value: &VerboseInit) -> String {
    match value {
        VerboseInit::Disabled => "DISABLED".into(),
        VerboseInit::Stdout => "STDOUT".into(),
        VerboseInit::Stderr => "STDERR".into(),
        VerboseInit::File(name) => name.clone(),
    }
}
