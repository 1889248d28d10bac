//! Which versions of the C library an object needs, from its section `.gnu.version_r`: what a
//! package has to say about the machines that it is for.

use std::fs;
use std::path::Path;

use crate::{number, text};

const SHT_GNU_VERNEED: u64 = 0x6fff_fffe;

/// The newest version of glibc, as (2, 34), that the file needs a symbol of.
///
/// # Errors
/// A file that cannot be read, or that needs none, as one line of text.
pub fn glibc(file: &Path) -> Result<(u32, u32), String> {
    let bytes = fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let names = needed(&bytes).ok_or_else(|| format!("{}: not a 64-bit ELF file", file.display()))?;
    let newest = names.iter().filter_map(|name| version(name)).max();
    newest.ok_or_else(|| format!("{}: needs no version of glibc", file.display()))
}

fn version(name: &str) -> Option<(u32, u32)> {
    let mut numbers = name.strip_prefix("GLIBC_")?.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Names of all versions that are needed of any library.
fn needed(file: &[u8]) -> Option<Vec<String>> {
    if file.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let (start, size, count) = (number(file, 0x28, 8)?, number(file, 0x3a, 2)?, number(file, 0x3c, 2)?);
    let field = |index: u64, offset: u64, bytes| {
        number(file, usize::try_from(start + index * size + offset).ok()?, bytes)
    };
    let mut names = Vec::new();
    for index in (0..count).filter(|&i| field(i, 4, 4) == Some(SHT_GNU_VERNEED)) {
        let strings = usize::try_from(field(field(index, 40, 4)?, 24, 8)?).ok()?;
        of_libraries(file, usize::try_from(field(index, 24, 8)?).ok()?, strings, &mut names)?;
    }
    Some(names)
}

/// A chain of libraries, each with a chain of versions.
fn of_libraries(file: &[u8], table: usize, strings: usize, names: &mut Vec<String>) -> Option<()> {
    let mut library = table;
    loop {
        let mut version = library + number(file, library + 8, 4)? as usize;
        for _ in 0..number(file, library + 2, 2)? {
            names.push(text(file, strings + number(file, version + 8, 4)? as usize)?);
            version += number(file, version + 12, 4)? as usize;
        }
        match number(file, library + 12, 4)? as usize {
            0 => return Some(()),
            next => library += next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_needs_some_version_of_glibc() {
        let found = glibc(&std::env::current_exe().unwrap()).unwrap();
        assert!(found.0 == 2 && found.1 >= 17, "{found:?}");
        assert!(glibc(Path::new("/etc/passwd")).is_err());
    }

    #[test]
    fn names_of_versions_are_numbers() {
        assert_eq!(
            (version("GLIBC_2.34"), version("GLIBC_2.2.5"), version("GCC_3.0")),
            (Some((2, 34)), Some((2, 2)), None)
        );
        assert_eq!(version("GLIBC_PRIVATE"), None);
    }
}
