//! The judge of formats of affinity lines ([`libomp_shim::fuzz`]).

use core::ffi::c_char;

use crate::affinity::format::{Facts, copy_out, copy_out_fortran, expand};

const FACTS: Facts<'_> = Facts {
    team_num: 1,
    num_teams: 2,
    nesting_level: 3,
    thread_num: 4,
    num_threads: 5,
    ancestor_tnum: -1,
    native_thread_id: 77,
    affinity: &[0, 1, 2, 5, 7, 8],
};

/// A field's longest text: the widest field, or a name that this machine has.
const LONGEST_FIELD: usize = 4096 + 256;

/// A buffer's size, and behind it what goes in.
pub fn formats(input: &[u8]) {
    let Some((&size, format)) = input.split_first() else { return };
    let format = String::from_utf8_lossy(format);
    let text = expand(&format, &FACTS);
    assert!(
        text.len() <= format.len() + format.matches('%').count() * LONGEST_FIELD,
        "{format:?} became {} bytes",
        text.len()
    );
    // What has no fields stands for itself.
    assert_eq!(expand(&format.replace('%', "%%"), &FACTS), format);
    copies_stay_inside(&text, size.into());
}

/// What is copied is the text's beginning, then what the language wants, and nothing behind the
/// buffer's end.
fn copies_stay_inside(text: &str, size: usize) {
    const MARK: c_char = 0x55;
    let mut buffer = vec![MARK; size + 8];
    // SAFETY: `buffer` has more than `size` bytes.
    assert_eq!(unsafe { copy_out(text, buffer.as_mut_ptr(), size) }, text.len());
    let kept = text.len().min(size.saturating_sub(1));
    let same = |buffer: &[c_char]| buffer.iter().zip(text.bytes()).all(|(&a, b)| a as u8 == b);
    assert!(
        same(&buffer[..kept])
            && (size == 0 || buffer[kept] == 0)
            && buffer[size..].iter().all(|&c| c == MARK),
        "{text:?} in {size}"
    );
    buffer.fill(MARK);
    // SAFETY: as above.
    assert_eq!(unsafe { copy_out_fortran(text, buffer.as_mut_ptr(), size) }, text.len());
    let kept = text.len().min(size);
    let blank = |c: &c_char| *c as u8 == b' ';
    assert!(
        same(&buffer[..kept])
            && buffer[kept..size].iter().all(blank)
            && buffer[size..].iter().all(|&c| c == MARK),
        "{text:?} in {size}"
    );
}
