//! The loader's list of libraries, `/etc/ld.so.cache`: a name, and where the library of this name
//! is.
//!
//! Read in the form that glibc has written since 2.2: a header of 48 bytes, then 24 bytes an entry
//! (flags, two places of strings, two words about the processor). Where the file still begins with
//! the older form, this one comes behind it. Of several entries with one name the first counts, as
//! for a processor without extensions.

use std::collections::HashMap;
use std::path::PathBuf;

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER_BYTES: usize = 48;
const ENTRY_BYTES: usize = 24;
/// `FLAG_X8664_LIB64 | FLAG_ELF_LIBC6`: libraries for 64 bits on x86-64.
const WIDE: u64 = 0x0303;

/// Where each library of the cache is; empty where there is no cache, or one in another form.
pub fn read() -> HashMap<String, PathBuf> {
    std::fs::read("/etc/ld.so.cache").ok().and_then(|bytes| parse(&bytes)).unwrap_or_default()
}

fn parse(bytes: &[u8]) -> Option<HashMap<String, PathBuf>> {
    let start = bytes.windows(MAGIC.len()).position(|w| w == MAGIC)?;
    let cache = &bytes[start..];
    let count = usize::try_from(number(cache, MAGIC.len(), 4)?).ok()?;
    let mut found = HashMap::new();
    for at in (0..count).map(|i| HEADER_BYTES + i * ENTRY_BYTES) {
        if number(cache, at, 4)? != WIDE {
            continue;
        }
        let word = |at| text(cache, usize::try_from(number(cache, at, 4)?).ok()?);
        let (Some(name), Some(path)) = (word(at + 4), word(at + 8)) else { continue };
        found.entry(name).or_insert_with(|| path.into());
    }
    Some(found)
}

/// The little-endian number of so many bytes at a place; `None` beyond the end.
fn number(bytes: &[u8], at: usize, count: usize) -> Option<u64> {
    let slice = bytes.get(at..at.checked_add(count)?)?;
    Some(slice.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)))
}

/// The string that ends with a zero byte at a place.
fn text(bytes: &[u8], at: usize) -> Option<String> {
    let rest = bytes.get(at..)?;
    let end = rest.iter().position(|b| *b == 0)?;
    String::from_utf8(rest[..end].to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_places_are_read_of_the_wide_ones_and_the_first_counts() {
        let strings = b"libx.so.1\0/a/libx.so.1\0/b/libx.so.1\0";
        let base = (HEADER_BYTES + 3 * ENTRY_BYTES) as u32;
        let mut bytes = b"an older form".to_vec();
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&3u32.to_le_bytes());
        bytes.resize(bytes.len() + HEADER_BYTES - MAGIC.len() - 4, 0);
        for (flags, path) in [(3u32, 10), (0x0303, 10), (0x0303, 23)] {
            for word in [flags, base, base + path, 0, 0, 0] {
                bytes.extend_from_slice(&word.to_le_bytes());
            }
        }
        bytes.extend_from_slice(strings);
        let found = parse(&bytes).unwrap();
        assert_eq!(found, HashMap::from([("libx.so.1".to_string(), PathBuf::from("/a/libx.so.1"))]));
        assert!(parse(b"nothing").is_none());
    }

    #[test]
    fn this_machine_s_has_the_c_library() {
        let found = read();
        assert!(found.is_empty() || found.get("libc.so.6").is_some_and(|p| p.is_file()), "{found:?}");
    }
}
