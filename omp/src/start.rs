//! The functions that the environment calls in modules above it.
//!
//! What lives here: the functions behind the hooks ([`SettingsHooks`]): one is called while the
//! environment is read, one when it has been read, one at the first call that may start something.
//! What does not: when they are called ([`crate::env`], which is below all of them).

use super::env::{Settings, SettingsHooks};
use super::extension::{check, offload, tools};
use super::{display, stats, storage};

#[unsafe(export_name = "gangway_settings_hooks")]
static HOOKS: SettingsHooks =
    SettingsHooks { read: display::at_start, started: start, policy: offload::policy };

ult::hidden!("gangway_settings_hooks");

fn start(settings: &Settings) {
    storage::at_start(settings);
    stats::at_start(settings);
    check::at_start(settings);
    tools::at_start(settings);
}
