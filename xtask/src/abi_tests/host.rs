//! The host-only library (`cargo build -p libomp-shim --no-default-features`), and the programs that
//! it cannot run.
//!
//! What lives here: how it is built, and why a program is left out. A program is left out if it is
//! about tools or devices, or if it calls a symbol that is a function that stops there
//! (`symbols.tsv` has the feature of each).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::meta::TestSource;
use crate::programs::Workspace;
use crate::{exec, table};
use links::interface;

/// Builds the library in a target directory of its own, in the profile for what is not shipped.
///
/// # Errors
/// It does not build, as one line of text.
pub fn build(places: &Workspace) -> Result<PathBuf, String> {
    let target = places.target.join("host-only");
    let words = ["build", "--quiet", "--profile", "checks", "-p", "libomp-shim", "--no-default-features"];
    let env = [("CARGO_TARGET_DIR", target.to_str().ok_or("the target directory's name is no text")?)];
    if !exec::visible("cargo", &words, &env, &places.root) {
        return Err("the host-only library does not build".into());
    }
    Ok(target.join("checks/libgangway.so"))
}

/// Variables that only do something in a library with a feature, by the beginning of their names.
const VARIABLES: [(&str, &str); 6] = [
    ("GANGWAY_CHECK", "tools"),
    ("GANGWAY_TRACE", "tools"),
    ("OMP_TOOL", "tools"),
    ("GANGWAY_HOST_DEVICE", "offload"),
    ("OMPX_", "offload"),
    ("OMP_AVAILABLE_DEVICES", "offload"),
];

/// What a host-only library lacks.
pub struct LeftOut {
    /// The features of symbols that stop.
    features: BTreeMap<String, String>,
}

impl LeftOut {
    /// Reads the symbol table.
    ///
    /// # Errors
    /// As [`table::read`].
    pub fn read(root: &Path) -> Result<Self, String> {
        let rows = table::read(root)?.into_iter().filter(|row| row.feature != "-");
        Ok(Self { features: rows.map(|row| (row.symbol, row.feature)).collect() })
    }

    /// Why a source is left out, if its head says what needs a feature.
    pub fn reason(source: &TestSource) -> Option<String> {
        let without = |feature: &str| Some(format!("needs the feature {feature}"));
        if source.name.starts_with("ompt/") {
            return without("tools");
        }
        if !source.devices.is_empty() {
            return without("offload");
        }
        let known = |name: &str| VARIABLES.iter().find(|(start, _)| name.starts_with(start));
        source.env.iter().find_map(|(name, _)| known(name)).and_then(|(_, feature)| without(feature))
    }

    /// The feature that a program needs because of what it calls, in words.
    pub fn needed_by(&self, binary: &Path) -> Option<String> {
        let wanted = interface::read(binary).ok()?.wanted;
        wanted.iter().find_map(|name| Some(format!("{name} needs the feature {}", self.features.get(name)?)))
    }
}
