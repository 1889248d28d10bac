//! Which versions of the C library an object needs, from its section `.gnu.version_r`: what a
//! package has to say about the machines that it is for.

use std::fs;
use std::path::Path;

use object::Endianness;
use object::elf::FileHeader64;
use object::read::elf::FileHeader as _;

/// The newest version of glibc, as (2, 34), that the file needs a symbol of.
///
/// # Errors
/// A file that cannot be read, or that needs none, as one line of text.
pub fn glibc(file: &Path) -> Result<(u32, u32), String> {
    let bytes = fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let names = needed(&bytes).map_err(|why| format!("{}: not a 64-bit ELF file: {why}", file.display()))?;
    let newest = names.iter().filter_map(|name| version(name)).max();
    newest.ok_or_else(|| format!("{}: needs no version of glibc", file.display()))
}

fn version(name: &str) -> Option<(u32, u32)> {
    let mut numbers = name.strip_prefix("GLIBC_")?.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Names of all versions that are needed of any library.
fn needed(file: &[u8]) -> object::Result<Vec<String>> {
    let header = FileHeader64::<Endianness>::parse(file)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, file)?;
    let mut names = Vec::new();
    let Some((mut libraries, link)) = sections.gnu_verneed(endian, file)? else { return Ok(names) };
    let strings = sections.strings(endian, file, link)?;
    while let Some((_, mut versions)) = libraries.next()? {
        while let Some(version) = versions.next()? {
            names.push(String::from_utf8_lossy(version.name(endian, strings)?).into_owned());
        }
    }
    Ok(names)
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
