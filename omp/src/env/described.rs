//! `GANGWAY_TOPOLOGY`: a file that describes the machine to believe in, in the text form of
//! [`ult::topology::Description`]. Here, too: what the other variables make of such machines, as a
//! table of tests.

use super::vars::{VariableReader, Vars};
use crate::user_files;
use ult::topology::{self, Description};

/// Longest description in bytes.
const LONGEST: u64 = 1 << 20;

/// Takes the machine that the variable's file describes for this one. Has to come before anything
/// is asked about the machine. Returns what is wrong, if anything is.
pub(super) fn believe(vars: &Vars) -> Vec<String> {
    let mut r = VariableReader::new(vars);
    let parse = |name: &str| {
        Description::parse(&user_files::read_up_to(name, LONGEST).map_err(|error| error.to_string())?)
    };
    if let Some(machine) = r.read("GANGWAY_TOPOLOGY", "using this machine", parse) {
        topology::believe(machine);
    }
    r.complaints
}

#[cfg(test)]
mod tests;
