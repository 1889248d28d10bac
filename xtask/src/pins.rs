//! Runs that the gate makes whatever its rule says: those by which mutants are noticed, and those
//! that have found a fault (`abi-tests/faults.tsv`).

use std::fs;

use crate::abi_tests::choose::Pin;
use crate::mutants;
use crate::programs::Workspace;

/// All of them.
///
/// # Errors
///
/// When the file cannot be read, or has a line of another form.
pub fn all(places: &Workspace) -> Result<Vec<Pin>, String> {
    let file = places.root.join("abi-tests/faults.tsv");
    let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let rows = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let faults: Result<Vec<Pin>, String> =
        rows.map(|line| pin(line).ok_or_else(|| format!("{}: `{line}` is no row", file.display()))).collect();
    Ok([mutants::pins(), faults?].concat())
}

/// A row: program, compiler, threads, what it has found.
fn pin(line: &str) -> Option<Pin> {
    let mut fields = line.split('\t');
    let (program, compiler) = (fields.next()?.to_owned(), fields.next()?.to_owned());
    let threads = fields.next()?.parse().ok()?;
    fields.next().filter(|found| !found.is_empty()).map(|_| Pin { program, compiler, threads })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_and_name_programs() {
        assert_eq!(
            pin("gang/a.c\tgcc\t3\thangs"),
            Some(Pin { program: "gang/a.c".into(), compiler: "gcc".into(), threads: 3 })
        );
        assert_eq!(pin("gang/a.c\tgcc\t3"), None);
        let places = Workspace::find();
        let pins = all(&places).unwrap();
        assert!(
            pins.iter().all(|pin| places
                .root
                .join("abi-tests")
                .join(pin.program.split(':').next().unwrap())
                .is_file())
        );
    }
}
