//! Reads what a shared library exports and needs from its dynamic section.
//!
//! Lives here: the few structures of ELF64 (little endian) that the checks of the built library
//! look at. May not live here: any opinion about what the library should export; that is `cargo
//! xtask symbols`.
//!
//! Rejected: calling `nm` and `readelf`. They belong to a package that a machine with Rust alone
//! need not have, and their output is a format for people.

use std::{fs, path::Path};

use crate::{number, text};

const SHT_DYNAMIC: u32 = 6;
const SHT_DYNSYM: u32 = 11;
const DT_NEEDED: u64 = 1;
const DT_SONAME: u64 = 14;
const SYMBOL_BYTES: usize = 24;

/// The dynamic interface of a shared library.
#[derive(Debug, Default)]
pub struct Interface {
    /// Names of the defined symbols that other objects can see, sorted.
    pub exports: Vec<String>,
    /// `DT_NEEDED` entries in file order.
    pub needed: Vec<String>,
    /// `DT_SONAME`, empty when there is none.
    pub soname: String,
}

/// A section header, reduced to what is used here.
struct Section {
    kind: u32,
    offset: usize,
    size: usize,
    link: usize,
}

/// Reads the dynamic interface of `file`.
///
/// # Errors
/// A file that cannot be read or is not a 64-bit little-endian ELF file, as one line of text.
pub fn read(file: &Path) -> Result<Interface, String> {
    let bytes = fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
    parse(&bytes).ok_or_else(|| format!("{}: not a 64-bit ELF library", file.display()))
}

fn parse(file: &[u8]) -> Option<Interface> {
    if file.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let sections = sections(file)?;
    let mut found = Interface::default();
    for section in &sections {
        let strings = sections.get(section.link)?;
        match section.kind {
            SHT_DYNSYM => found.exports = exports(file, section, strings)?,
            SHT_DYNAMIC => dynamic(file, section, strings, &mut found)?,
            _ => {}
        }
    }
    found.exports.sort();
    Some(found)
}

fn sections(file: &[u8]) -> Option<Vec<Section>> {
    let (start, size, count) = (number(file, 0x28, 8)?, number(file, 0x3a, 2)?, number(file, 0x3c, 2)?);
    (0..count).map(|i| section(file, (start + i * size) as usize)).collect()
}

fn section(file: &[u8], at: usize) -> Option<Section> {
    Some(Section {
        kind: number(file, at + 4, 4)? as u32,
        offset: number(file, at + 24, 8)? as usize,
        size: number(file, at + 32, 8)? as usize,
        link: number(file, at + 40, 4)? as usize,
    })
}

/// A symbol counts when it is defined (it has a section), and its binding is global or weak.
fn exports(file: &[u8], table: &Section, strings: &Section) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for at in (table.offset..table.offset + table.size).step_by(SYMBOL_BYTES) {
        let (binding, section) = (number(file, at + 4, 1)? >> 4, number(file, at + 6, 2)?);
        let is_version_node = section == 0xfff1;
        if section != 0 && !is_version_node && matches!(binding, 1 | 2) {
            names.push(text(file, strings.offset + number(file, at, 4)? as usize)?);
        }
    }
    Some(names)
}

fn dynamic(file: &[u8], table: &Section, strings: &Section, found: &mut Interface) -> Option<()> {
    for at in (table.offset..table.offset + table.size).step_by(16) {
        let (tag, value) = (number(file, at, 8)?, number(file, at + 8, 8)? as usize);
        match tag {
            DT_NEEDED => found.needed.push(text(file, strings.offset + value)?),
            DT_SONAME => found.soname = text(file, strings.offset + value)?,
            _ => {}
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::{parse, read};

    #[test]
    fn this_program_needs_the_c_library() {
        let program = read(&std::env::current_exe().unwrap()).unwrap();
        assert!(program.needed.iter().any(|n| n == "libc.so.6"), "{:?}", program.needed);
    }

    #[test]
    fn other_files_are_refused() {
        assert!(parse(b"").is_none());
        assert!(parse(b"\x7fELF\x01\x01").is_none());
        assert!(parse(b"\x7fELF\x02\x01 cut short").is_none());
    }
}
