//! `OMP_AFFINITY_FORMAT`: the fields of OpenMP 5.2, section 21.2.4, and the routines of section
//! 18.4 that use it.
//!
//! A field is `%[0][.][width]<letter>` or `%[0][.][width]{<name>}`; `.` aligns to the right, `0`
//! then fills numbers with zeros. An unknown field expands to `undefined`. The caller says
//! where it is ([`Facts`]); this file knows neither teams nor threads.

use core::ffi::{c_char, c_int, c_void};
use core::fmt::Write;
use core::iter::Peekable;
use core::str::Chars;
use std::sync::Mutex;

use crate::env::settings;
use crate::report;

/// Where a thread is: what the fields of a format expand to.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// `%t`, `omp_get_team_num()`.
    pub team_num: u32,
    /// `%T`, `omp_get_num_teams()`.
    pub num_teams: u32,
    /// `%L`, `omp_get_level()`.
    pub nesting_level: u32,
    /// `%n`, `omp_get_thread_num()`.
    pub thread_num: u32,
    /// `%N`, `omp_get_num_threads()`.
    pub num_threads: u32,
    /// `%a`, `omp_get_ancestor_thread_num(omp_get_level() - 1)`; -1 at level 0.
    pub ancestor_tnum: i32,
    /// `%i`, the kernel's id of the worker that the thread is on.
    pub native_thread_id: u32,
    /// `%A`, the processors it may run on, ascending.
    pub affinity: &'a [usize],
}

/// Widest field; a format that asks for more is cut to it.
const WIDEST: usize = 4096;

/// `affinity-format-var`, once a routine has changed it.
static FORMAT: Mutex<Option<String>> = Mutex::new(None);

/// `omp_set_affinity_format`. Thread-safe, for the whole device.
pub fn set_affinity_format(format: &str) {
    *current() = Some(format.to_owned());
}

/// `omp_get_affinity_format`; [`copy_out`] puts it into the program's buffer.
pub fn affinity_format() -> String {
    current().clone().unwrap_or_else(|| settings().binding.format.clone())
}

fn current() -> std::sync::MutexGuard<'static, Option<String>> {
    // A panic aborts the process, so the lock is never poisoned where it matters.
    FORMAT.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// `omp_capture_affinity`, before [`copy_out`]: `format` expanded, or `affinity-format-var` if it
/// is `None` or empty.
pub fn capture_affinity(format: Option<&str>, facts: &Facts<'_>) -> String {
    match format {
        Some(format) if !format.is_empty() => expand(format, facts),
        _ => expand(&affinity_format(), facts),
    }
}

/// `omp_display_affinity`, and what `OMP_DISPLAY_AFFINITY` prints: one line on standard output,
/// through the C library's stream, so that it keeps its order among the program's own lines.
pub fn display_affinity(format: Option<&str>, facts: &Facts<'_>) {
    let mut line = capture_affinity(format, facts);
    line.push('\n');
    unsafe extern "C" {
        static stdout: *mut libc::FILE;
    }
    // SAFETY: the C library's `stdout` is a stream as long as the process lives, and only the
    // program reassigns it; fwrite locks the stream and reads `line.len()` bytes of a live string.
    unsafe { libc::fwrite(line.as_ptr().cast::<c_void>(), 1, line.len(), stdout) };
}

/// Copies `text` into a buffer of a C program: at most `size - 1` bytes and a zero. Returns the
/// length of the whole text, without the zero, as `omp_get_affinity_format` and
/// `omp_capture_affinity` do.
///
/// # Safety
/// `buffer` may be written for `size` bytes, or `size` is 0.
pub unsafe fn copy_out(text: &str, buffer: *mut c_char, size: usize) -> usize {
    if size > 0 && !buffer.is_null() {
        let n = text.len().min(size - 1);
        // SAFETY: n + 1 <= size bytes may be written, and `text` has at least n.
        unsafe {
            core::ptr::copy_nonoverlapping(text.as_ptr().cast::<c_char>(), buffer, n);
            buffer.add(n).write(0);
        }
    }
    text.len()
}

/// As [`copy_out`] for a Fortran character variable: filled with blanks, no zero.
///
/// # Safety
/// `buffer` may be written for `size` bytes, or `size` is 0.
pub unsafe fn copy_out_fortran(text: &str, buffer: *mut c_char, size: usize) -> usize {
    if size > 0 && !buffer.is_null() {
        let n = text.len().min(size);
        // SAFETY: n <= size bytes may be written, and `text` has at least n; the rest are size - n.
        unsafe {
            core::ptr::copy_nonoverlapping(text.as_ptr().cast::<c_char>(), buffer, n);
            buffer.add(n).write_bytes(b' ', size - n);
        }
    }
    text.len()
}

/// Expands all fields of `format`.
pub fn expand(format: &str, facts: &Facts<'_>) -> String {
    let mut out = String::with_capacity(format.len() + 32);
    let mut rest = format.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '%' if rest.next_if_eq(&'%').is_some() => out.push('%'),
            '%' => field(&mut rest, facts, &mut out),
            c => out.push(c),
        }
    }
    out
}

fn field(rest: &mut Peekable<Chars<'_>>, facts: &Facts<'_>, out: &mut String) {
    let zero = rest.next_if_eq(&'0').is_some();
    let right = rest.next_if_eq(&'.').is_some();
    let zeros = zero && right;
    let mut width = 0;
    while let Some(digit) = rest.peek().and_then(|c| c.to_digit(10)) {
        width = (width * 10 + digit as usize).min(WIDEST);
        rest.next();
    }
    let value = match rest.next() {
        Some('{') => named(&rest.by_ref().take_while(|&c| c != '}').collect::<String>()),
        Some(letter) => letter_of(letter),
        None => None,
    }
    .map_or(Value::Text("undefined".into()), |letter| value(letter, facts));
    // Writing to a String does not fail.
    let _ = match (value, zeros, right) {
        (Value::Number(n), true, _) => write!(out, "{n:0width$}"),
        (Value::Number(n), _, true) => write!(out, "{n:>width$}"),
        (Value::Number(n), ..) => write!(out, "{n:<width$}"),
        (Value::Text(t), _, true) => write!(out, "{t:>width$}"),
        (Value::Text(t), ..) => write!(out, "{t:<width$}"),
    };
}

enum Value {
    Number(i64),
    Text(String),
}

/// Letters and long names of the fields.
const FIELDS: [(char, &str); 10] = [
    ('t', "team_num"),
    ('T', "num_teams"),
    ('L', "nesting_level"),
    ('n', "thread_num"),
    ('N', "num_threads"),
    ('a', "ancestor_tnum"),
    ('H', "host"),
    ('P', "process_id"),
    ('i', "native_thread_id"),
    ('A', "thread_affinity"),
];

fn named(name: &str) -> Option<char> {
    FIELDS.iter().find(|(_, long)| *long == name).map(|&(letter, _)| letter)
}

fn letter_of(letter: char) -> Option<char> {
    FIELDS.iter().map(|&(l, _)| l).find(|&l| l == letter)
}

fn value(letter: char, facts: &Facts<'_>) -> Value {
    Value::Number(match letter {
        't' => facts.team_num.into(),
        'T' => facts.num_teams.into(),
        'L' => facts.nesting_level.into(),
        'n' => facts.thread_num.into(),
        'N' => facts.num_threads.into(),
        'a' => facts.ancestor_tnum.into(),
        'P' => std::process::id().into(),
        'i' => facts.native_thread_id.into(),
        'H' => return Value::Text(host()),
        _ => return Value::Text(ranges(facts.affinity)),
    })
}

fn host() -> String {
    let mut name = [0 as c_char; 256];
    // SAFETY: gethostname writes at most 255 bytes into the live buffer, whose last byte stays 0.
    let failed: c_int = unsafe { libc::gethostname(name.as_mut_ptr(), name.len() - 1) };
    let bytes: Vec<u8> = name.iter().take_while(|&&c| c != 0).map(|&c| c as u8).collect();
    if failed == 0 { String::from_utf8_lossy(&bytes).into_owned() } else { "unknown".into() }
}

/// Ascending processors as `0-3,8`.
pub fn ranges(cpus: &[usize]) -> String {
    let run = |run: &[usize]| match run {
        [one] => one.to_string(),
        _ => format!("{}-{}", run[0], run[run.len() - 1]),
    };
    cpus.chunk_by(|a, b| a + 1 == *b).map(run).collect::<Vec<_>>().join(",")
}

/// Says on standard error what `KMP_AFFINITY=verbose` is for: which processors a thread has been
/// bound to.
pub fn say_bound(facts: &Facts<'_>) {
    report::warn(format_args!(
        "thread {} of level {} (kernel thread {}) is bound to processors {}",
        facts.thread_num,
        facts.nesting_level,
        facts.native_thread_id,
        ranges(facts.affinity)
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: Facts<'static> = Facts {
        team_num: 1,
        num_teams: 2,
        nesting_level: 3,
        thread_num: 4,
        num_threads: 5,
        ancestor_tnum: -1,
        native_thread_id: 77,
        affinity: &[0, 1, 2, 5, 7, 8],
    };

    fn shown(format: &str) -> String {
        expand(format, &FACTS)
    }

    #[test]
    fn letters_and_names_agree() {
        for (letter, name) in FIELDS {
            assert_eq!(shown(&format!("%{letter}")), shown(&format!("%{{{name}}}")), "{name}");
        }
        assert_eq!(shown("%t %T %L %n %N %a %i %A"), "1 2 3 4 5 -1 77 0-2,5,7-8");
        assert_eq!(shown("%P"), std::process::id().to_string());
        assert!(!shown("%H").is_empty());
    }

    #[test]
    fn widths() {
        assert_eq!(shown("[%5n][%.5n][%0.5n][%05n]"), "[4    ][    4][00004][4    ]");
        assert_eq!(
            shown("[%12A][%.12{thread_affinity}][%0.12A]"),
            "[0-2,5,7-8   ][   0-2,5,7-8][   0-2,5,7-8]"
        );
        assert_eq!(shown("%0.4a"), "-001");
        assert_eq!(shown("%99999999999999999999n").len(), WIDEST);
    }

    #[test]
    fn what_is_no_field() {
        assert_eq!(shown("100%%, %X %{foobar} plain"), "100%, undefined undefined plain");
        assert_eq!(shown("%"), "undefined");
        assert_eq!(shown("%{thread_num"), "4");
        assert_eq!(shown(""), "");
    }

    #[test]
    fn copies_into_buffers_are_cut_and_ended() {
        let mut buffer = [1 as c_char; 6];
        // SAFETY: the buffers are live and as long as said.
        unsafe {
            assert_eq!(copy_out("abcdef", buffer.as_mut_ptr(), 4), 6);
            assert_eq!(buffer.map(|c| c as u8), *b"abc\0\x01\x01");
            assert_eq!(copy_out("xyz", core::ptr::null_mut(), 0), 3);
            assert_eq!(copy_out_fortran("ab", buffer.as_mut_ptr(), 5), 2);
            assert_eq!(buffer.map(|c| c as u8), *b"ab   \x01");
            assert_eq!(copy_out_fortran("abcdefgh", buffer.as_mut_ptr(), 6), 8);
            assert_eq!(buffer.map(|c| c as u8), *b"abcdef");
        }
    }

    #[test]
    fn the_format_can_be_set() {
        set_affinity_format("level %L");
        assert_eq!(affinity_format(), "level %L");
        assert_eq!(capture_affinity(None, &FACTS), "level 3");
        assert_eq!(capture_affinity(Some(""), &FACTS), "level 3");
        assert_eq!(capture_affinity(Some("%n"), &FACTS), "4");
    }
}
