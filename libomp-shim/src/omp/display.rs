//! What users see of the settings.
use super::env::Settings;

/// Default of `affinity-format-var`.
pub const DEFAULT_FORMAT: &str = "OMP: pid %P tid %i thread %n bound to OS proc set {%A}";

/// Prints what `OMP_DISPLAY_ENV` and `KMP_SETTINGS` ask for.
pub(super) fn at_start(_settings: &Settings) {}
