//! Functions of modules above the environment that the environment calls.
//!
//! What lives here: the hooks, and the calls of them. What does not: any of the functions behind them
//! ([`crate::start`] names them). The linker finds the hooks, as it finds the extensions
//! ([`crate::extension`]): the first call that asks for a setting reads the environment, and nothing
//! of ours runs before it that could register a function.

use super::build::Settings;
use super::types::PolicyName;

/// The functions behind the hooks.
pub struct SettingsHooks {
    /// The settings have just been read, by one thread of the process. Other threads wait for it,
    /// also in signal handlers. The function may print, and must not start anything.
    pub read: fn(&Settings),
    /// The first call of [`super::settings`] starts what the settings ask for, once.
    pub started: fn(&Settings),
    /// Returns the placement policy that a text names, see [`policy`]. Called while the environment
    /// is read.
    pub policy: fn(&str) -> Result<PolicyName, String>,
}

unsafe extern "Rust" {
    /// Defined once, in [`crate::start`].
    #[link_name = "gangway_settings_hooks"]
    static HOOKS: SettingsHooks;
}

fn hooks() -> &'static SettingsHooks {
    // SAFETY: `start` defines the variable with this type, and no code writes it.
    unsafe { &HOOKS }
}

/// See [`SettingsHooks::read`].
#[cold]
pub(super) fn read(settings: &Settings) {
    (hooks().read)(settings);
}

/// See [`SettingsHooks::started`].
#[cold]
pub(super) fn started(settings: &Settings) {
    (hooks().started)(settings);
}

/// Returns the placement policy that a text names. Only devices know policies.
///
/// # Errors
/// What is wrong with the text.
pub(super) fn policy(text: &str) -> Result<PolicyName, String> {
    (hooks().policy)(text)
}
