//! The requirements on all code here that reads a text of the user's, for texts that the author did
//! not think of. The code does not panic, takes little time, and gives an answer that another and
//! shorter way to separate right from wrong agrees with.
//!
//! | file | what lives there |
//! |---|---|
//! | `omp/src/env/judges` | all variables at once, by lines `NAME=value`; lists of places |
//! | `omp/src/affinity/judges` | `OMP_AFFINITY_FORMAT`, and the buffers that expanded ones are copied to |
//! | `files` | machines (`GANGWAY_TOPOLOGY`), rates, recorded graphs, placements by hand |
//!
//! What lives here: the list of all judges, and the judges of other crates' readers. A judge of
//! `omp` lies beside the code that it judges.
//!
//! A *judge* takes bytes and panics where something is wrong. Judges serve two users. One is the
//! search that is guided by the code's coverage (the crate in `fuzz/`, a nightly compiler). The
//! other is the tests, on any compiler, which show the judges the inputs that the search has kept
//! (`fuzz/corpus/*.txt`). So this is compiled for tests and with the feature `fuzz` only, and is in
//! no library that is shipped.

use omp::affinity::judges::formats;
use omp::env::judges::{environment, places};

mod files;

/// Looks at an answer for these bytes.
pub type Judge = fn(&[u8]);

/// All judges by the names of their corpora.
pub const JUDGES: [(&str, Judge); 7] = [
    ("environment", environment),
    ("places", places),
    ("formats", formats),
    ("machines", files::machines),
    ("rates", files::rates),
    ("graphs", files::graphs),
    ("manual", files::manual),
];

/// The inputs of a corpus: one a line, in which bytes beyond ASCII's letters and signs, and the
/// backslash, are written as `\xNN`.
pub fn inputs(corpus: &str) -> impl Iterator<Item = Vec<u8>> + '_ {
    corpus.lines().filter(|line| !line.starts_with("# ")).map(unescaped)
}

fn unescaped(line: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(line.len());
    let mut rest = line.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = (first == b'\\').then(|| after.get(1..3)).flatten();
        match escaped.and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()) {
            Some(byte) => (bytes.push(byte), rest = &after[3..]).0,
            None => (bytes.push(first), rest = after).0,
        }
    }
    bytes
}

/// An input as a line of a corpus.
pub fn escaped(input: &[u8]) -> String {
    let one = |&byte: &u8| match byte {
        b' '..=b'~' if byte != b'\\' => char::from(byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    };
    let line: String = input.iter().map(one).collect();
    // A remark's beginning, or one that would be lost.
    line.strip_prefix('#').map(|rest| format!("\\x23{rest}")).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORPORA: [&str; JUDGES.len()] = [
        include_str!("../../fuzz/corpus/environment.txt"),
        include_str!("../../fuzz/corpus/places.txt"),
        include_str!("../../fuzz/corpus/formats.txt"),
        include_str!("../../fuzz/corpus/machines.txt"),
        include_str!("../../fuzz/corpus/rates.txt"),
        include_str!("../../fuzz/corpus/graphs.txt"),
        include_str!("../../fuzz/corpus/manual.txt"),
    ];

    #[test]
    fn what_a_guided_search_has_kept_is_judged_again() {
        for ((name, _), corpus) in JUDGES.iter().zip(CORPORA) {
            assert!(inputs(corpus).next().is_some(), "{name} has no corpus");
        }
        // Some at a time: together they take a minute where nothing is optimised.
        let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
        std::thread::scope(|scope| {
            for first in 0..threads {
                scope.spawn(move || {
                    let all = JUDGES
                        .iter()
                        .zip(CORPORA)
                        .flat_map(|((_, judge), corpus)| inputs(corpus).map(move |input| (judge, input)));
                    all.skip(first).step_by(threads).for_each(|(judge, input)| judge(&input));
                });
            }
        });
    }

    #[test]
    fn a_line_stands_for_any_bytes() {
        let all: Vec<u8> = (0..=255).collect();
        for input in [&all[..], b"", b"#", b"# a", b"\\x41", b"\\", b"\\x4"] {
            assert_eq!(inputs(&format!("# what\n{}\n", escaped(input))).collect::<Vec<_>>(), [input]);
        }
    }
}
