//! What a rank prints before all ranks stop.

use std::io::Write;
use std::time::Duration;

/// How long the last line of a rank that aborts has for its way through the launcher. A launcher
/// that hears of the end first may drop output that it has not passed on (MPICH's does, once in
/// some hundred runs).
pub(crate) const FORWARDING: Duration = Duration::from_millis(100);

/// Prints `gangway: <line>; all ranks stop` by one call of the system: launchers put their own
/// lines between the pieces of one that comes in several.
pub(crate) fn say(line: &str) {
    let text = format!("gangway: {line}; all ranks stop\n");
    // If the line cannot be printed, no way is left to report that.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
