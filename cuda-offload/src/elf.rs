//! Names of variables in an image: what the driver does not tell.
//!
//! ELF for 64 bits, little endian, as far as symbols go. What does not fit is as if it were not
//! there: the driver has looked at the image before. May not live here: what the names mean
//! ([`crate::images`]).

/// Offsets and sizes of the format.
const SECTIONS: usize = 40;
const SECTION_SIZE: usize = 58;
const SECTION_COUNT: usize = 60;
/// Bytes that say what a section is.
const SECTION: usize = 64;
const SYMBOL: usize = 24;
const SYMBOL_TABLE: u32 = 2;
const OBJECT: u8 = 1;

fn at<const N: usize>(bytes: &[u8], from: usize) -> Option<[u8; N]> {
    bytes.get(from..from.checked_add(N)?)?.try_into().ok()
}

fn half(bytes: &[u8], from: usize) -> Option<usize> {
    at(bytes, from).map(|b| usize::from(u16::from_le_bytes(b)))
}

fn word(bytes: &[u8], from: usize) -> Option<u32> {
    at(bytes, from).map(u32::from_le_bytes)
}

fn long(bytes: &[u8], from: usize) -> Option<usize> {
    at(bytes, from).and_then(|b| usize::try_from(u64::from_le_bytes(b)).ok())
}

/// Where section `number` begins in the table of sections; all of what is said about it is in the
/// image.
fn section(image: &[u8], number: usize) -> Option<usize> {
    let begin = long(image, SECTIONS)?.checked_add(number.checked_mul(half(image, SECTION_SIZE)?)?)?;
    (begin.checked_add(SECTION)? <= image.len()).then_some(begin)
}

/// A section's bytes.
fn content(image: &[u8], section: usize) -> Option<&[u8]> {
    let (from, size) = (long(image, section + 24)?, long(image, section + 32)?);
    image.get(from..from.checked_add(size)?)
}

/// The names of an image's variables that begin so.
pub fn variables<'a>(image: &'a [u8], prefix: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    let tables = (0..half(image, SECTION_COUNT).unwrap_or(0)).filter_map(|number| section(image, number));
    for table in tables.filter(|&table| word(image, table + 4) == Some(SYMBOL_TABLE)) {
        let names = word(image, table + 40).and_then(|names| content(image, section(image, names as usize)?));
        let (Some(names), Some(symbols)) = (names, content(image, table)) else { continue };
        for symbol in symbols.chunks_exact(SYMBOL).filter(|symbol| symbol[4] & 15 == OBJECT) {
            let name =
                word(symbol, 0).and_then(|from| names.get(from as usize..)?.split(|&byte| byte == 0).next());
            found.extend(
                name.and_then(|name| core::str::from_utf8(name).ok()).filter(|name| name.starts_with(prefix)),
            );
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header, a section of names, one of symbols, and the table of the two behind an empty one.
    fn image(symbols: &[(&str, u8)]) -> Vec<u8> {
        let (mut names, mut table) = (vec![0], Vec::new());
        for (name, kind) in symbols {
            table.extend((names.len() as u32).to_le_bytes());
            table.extend([*kind, 0, 1, 0]);
            table.extend([0; 16]);
            names.extend(name.bytes().chain([0]));
        }
        let mut image = vec![0; 64];
        image.extend(&names);
        let symbols_at = image.len();
        image.extend(&table);
        let sections_at = image.len();
        let mut header = |kind: u32, from: usize, size: usize, link: u32| {
            let mut section = vec![0; 64];
            section[4..8].copy_from_slice(&kind.to_le_bytes());
            section[24..32].copy_from_slice(&from.to_le_bytes());
            section[32..40].copy_from_slice(&size.to_le_bytes());
            section[40..44].copy_from_slice(&link.to_le_bytes());
            image.extend(section);
        };
        header(0, 0, 0, 0);
        header(3, 64, names.len(), 0);
        header(SYMBOL_TABLE, symbols_at, table.len(), 1);
        image[40..48].copy_from_slice(&sections_at.to_le_bytes());
        image[58..60].copy_from_slice(&64_u16.to_le_bytes());
        image[60..62].copy_from_slice(&3_u16.to_le_bytes());
        image
    }

    #[test]
    fn variables_are_found_by_how_they_begin() {
        let image = image(&[("init_a_2", 0x11), ("init_b_1", 0x12), ("other", 0x11), ("init_c_3", 0x21)]);
        assert_eq!(variables(&image, "init_"), ["init_a_2", "init_c_3"], "functions are none");
        assert_eq!(variables(&image, ""), ["init_a_2", "other", "init_c_3"]);
    }

    #[test]
    fn what_is_cut_short_has_none_or_fewer() {
        let whole = image(&[("init_a_2", 1)]);
        for length in 0..whole.len() {
            assert!(variables(&whole[..length], "init_").len() <= 1);
        }
        let mut broken = whole;
        broken[40..48].fill(0xFF);
        assert!(variables(&broken, "").is_empty());
    }
}
