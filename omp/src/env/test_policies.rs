//! Placement policies for the tests of the environment: devices know what they mean, and the crate of
//! devices is above this one.

use super::{PolicyFile, PolicyName};
use crate::extension::offload::Offload;

/// Knows which policies come from a file, and no other names than those of `variables.tsv`.
pub(crate) struct TestPolicies;

impl Offload for TestPolicies {
    fn policy(&self, text: &str) -> Result<PolicyName, String> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let file = match name {
            "manual" => Some(PolicyFile::Text(rest.into())),
            "library" => Some(PolicyFile::Library(rest.into())),
            "least" | "rrmc" | "estmc" | "heftmc" | "ishmc" => None,
            _ => return Err(format!("no policy {name}")),
        };
        Ok(if file.is_some() { PolicyName { policy: name.into(), file } } else { PolicyName::of(text) })
    }
}
