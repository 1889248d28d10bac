//! Whether two runs printed the same: word by word, numbers within a tolerance, and where they
//! first differ. One line of each output is in memory at a time.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek as _};

/// As [`difference`], of two files from their beginnings.
///
/// # Errors
/// Those of reading.
pub fn difference_of(wanted: &File, got: &File, tolerance: f64) -> io::Result<Option<String>> {
    let begin = |mut file: &File| file.rewind();
    begin(wanted)?;
    begin(got)?;
    difference(BufReader::new(wanted), BufReader::new(got), tolerance)
}

/// The line where `got` first differs from `wanted`, in words; nothing when they agree.
///
/// `tolerance` is relative to the larger magnitude, and holds for words that are numbers with a
/// point or an exponent, with what punctuation is around them. Without one the texts are
/// compared as they are, blanks included.
fn difference(mut wanted: impl BufRead, mut got: impl BufRead, tolerance: f64) -> io::Result<Option<String>> {
    let mut number = 0_u64;
    loop {
        number += 1;
        let (left, right) = (line(&mut wanted)?, line(&mut got)?);
        if left.is_none() && right.is_none() {
            return Ok(None);
        }
        let [w, g] = [&left, &right].map(|line| line.as_deref().map(String::from_utf8_lossy));
        let is_near = || {
            tolerance != 0.0
                && w.as_deref().zip(g.as_deref()).is_some_and(|(w, g)| is_same_line(w, g, tolerance))
        };
        if left != right && !is_near() {
            return Ok(Some(format!(
                "line {number}: {} instead of {}",
                shown(g.as_deref()),
                shown(w.as_deref())
            )));
        }
    }
}

/// The bytes of the next line, without its end; nothing behind the last one.
fn line(of: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    if of.read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    for end in [b"\n", b"\r"] {
        if bytes.ends_with(end) {
            bytes.pop();
        }
    }
    Ok(Some(bytes))
}

/// Of a long line the beginning.
fn shown(line: Option<&str>) -> String {
    const MOST: usize = 60;
    let Some(line) = line else { return "nothing".into() };
    let short: String = line.chars().take(MOST).collect();
    if short.len() < line.len() { format!("'{short}...'") } else { format!("'{short}'") }
}

fn is_same_line(wanted: &str, got: &str, tolerance: f64) -> bool {
    let (mut left, mut right) = (wanted.split_whitespace(), got.split_whitespace());
    loop {
        match (left.next(), right.next()) {
            (None, None) => return true,
            (Some(w), Some(g)) if is_same_word(w, g, tolerance) => {}
            _ => return false,
        }
    }
}

fn is_same_word(wanted: &str, got: &str, tolerance: f64) -> bool {
    if wanted == got {
        return true;
    }
    let (w, g) = (pieces(wanted), pieces(got));
    let same = |(w, g): (&&str, &&str)| match (real(w), real(g)) {
        (Some(w), Some(g)) => (w - g).abs() <= tolerance * w.abs().max(g.abs()),
        _ => w == g,
    };
    w.len() == g.len() && w.iter().zip(&g).all(same)
}

/// A word at its commas, brackets and signs of equality: `[1.5,x=2.0]`.
fn pieces(word: &str) -> Vec<&str> {
    word.split_inclusive(|c: char| "[](){},;:=".contains(c))
        .flat_map(|piece| {
            let end = piece.trim_end_matches(|c: char| "[](){},;:=".contains(c)).len();
            [&piece[..end], &piece[end..]]
        })
        .filter(|piece| !piece.is_empty())
        .collect()
}

fn real(word: &str) -> Option<f64> {
    let number = word.parse().ok()?;
    word.contains(['.', 'e', 'E']).then_some(number)
}

#[cfg(test)]
mod tests {
    fn difference(wanted: &str, got: &str, tolerance: f64) -> Option<String> {
        super::difference(wanted.as_bytes(), got.as_bytes(), tolerance).unwrap()
    }

    #[test]
    fn numbers_may_differ_by_the_tolerance_and_words_not_at_all() {
        assert_eq!(difference("a 1.0000001\nb", "a 1.0000002\nb", 1e-6), None);
        assert!(difference("a 1.0000001", "a 1.0000002", 0.0).is_some());
        assert_eq!(difference("[1.5, x=2.0]", "[1.5000001, x=2.0]", 1e-6), None);
        assert!(difference("n 3", "n 4", 1.0).is_some() && difference("a  b", "a b", 0.0).is_some());
        assert_eq!(difference("a  b", "a b", 0.1), None);
        assert_eq!((difference("", "", 0.0), difference("x 1.0", "x nan", 1.0).is_some()), (None, true));
    }

    #[test]
    fn the_first_line_that_differs_is_shown() {
        assert_eq!(difference("a\nb\nc", "a\nx\nc", 0.0), Some("line 2: 'x' instead of 'b'".into()));
        assert_eq!(difference("a\nb", "a", 0.0), Some("line 2: nothing instead of 'b'".into()));
        assert!(difference("a", &"é".repeat(100), 0.0).unwrap().contains("é...'"));
        let bytes = |wanted: &[u8], got: &[u8]| super::difference(wanted, got, 0.0).unwrap().is_some();
        assert!(bytes(b"\xff\n", b"\xfe\n") && !bytes(b"a\r\nb", b"a\nb\n") && !bytes(b"\xff", b"\xff"));
    }
}
