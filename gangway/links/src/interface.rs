//! Reads what a shared library exports and needs from its dynamic section.
//!
//! Lives here: what the checks of the built library look at. May not live here: any opinion about
//! what the library should export; that is `cargo xtask symbols`.
//!
//! Rejected: calling `nm` and `readelf`. They belong to a package that a machine with Rust alone
//! need not have, and their output is a format for people.

use std::{fs, path::Path};

use object::Endianness;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader as _, Sym as _};

/// The dynamic interface of a shared library or a program.
#[derive(Debug, Default)]
pub struct Interface {
    /// Names of the defined symbols that other objects can see, sorted.
    pub exports: Vec<String>,
    /// Names of the symbols that other objects have to define.
    pub wanted: Vec<String>,
    /// `DT_NEEDED` entries in file order.
    pub needed: Vec<String>,
    /// `DT_SONAME`, empty when there is none.
    pub soname: String,
}

/// Reads the dynamic interface of `file`.
///
/// # Errors
/// A file that cannot be read or is not a 64-bit little-endian ELF file, as one line of text.
pub fn read(file: &Path) -> Result<Interface, String> {
    let bytes = fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
    parse(&bytes).map_err(|why| format!("{}: not a 64-bit ELF library: {why}", file.display()))
}

fn parse(file: &[u8]) -> object::Result<Interface> {
    let header = FileHeader64::<Endianness>::parse(file)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, file)?;
    let mut found = Interface::default();
    let symbols = sections.symbols(endian, file, elf::SHT_DYNSYM)?;
    for symbol in symbols.iter() {
        // What is absolute is the name of a version.
        let section = symbol.st_shndx(endian);
        if section == elf::SHN_UNDEF {
            found.wanted.push(text(symbol.name(endian, symbols.strings())?));
        }
        let is_defined = section != elf::SHN_UNDEF && section != elf::SHN_ABS;
        if is_defined && matches!(symbol.st_bind(), elf::STB_GLOBAL | elf::STB_WEAK) {
            found.exports.push(text(symbol.name(endian, symbols.strings())?));
        }
    }
    let entries = sections.dynamic_table(endian, file)?;
    for entry in &entries {
        match entry.tag {
            elf::DT_NEEDED => found.needed.push(text(entries.string(entry)?)),
            elf::DT_SONAME => found.soname = text(entries.string(entry)?),
            _ => {}
        }
    }
    found.exports.sort();
    Ok(found)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{parse, read};

    #[test]
    fn this_program_needs_the_c_library() {
        let program = read(&std::env::current_exe().unwrap()).unwrap();
        assert!(program.wanted.iter().any(|name| name == "malloc"), "{:?}", program.wanted);
        assert!(program.needed.iter().any(|n| n == "libc.so.6"), "{:?}", program.needed);
    }

    #[test]
    fn other_files_are_refused() {
        assert!(parse(b"").is_err());
        assert!(parse(b"\x7fELF\x01\x01").is_err());
        assert!(parse(b"\x7fELF\x02\x01 cut short").is_err());
    }
}
