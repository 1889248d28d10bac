//! What the targets share. The judges are in the library, under its feature `fuzz`
//! (`libomp-shim/src/fuzz.rs`), where its tests show them what the search has kept.

use gangway::fuzz::{JUDGES, Judge};

/// Shows an input to the judge of this name.
///
/// # Panics
/// Where something is wrong; that is the search's find.
pub fn judge(name: &str, input: &[u8]) {
    let of_this_name = |(known, _): &&(&str, Judge)| *known == name;
    let (_, judge) = JUDGES.iter().find(of_this_name).expect("a judge for each target");
    judge(input);
}
