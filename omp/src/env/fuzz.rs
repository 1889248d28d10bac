//! Tests with values by chance: whatever the environment says, it is read without a panic, in
//! little time, and what is wrong gives lines of the usual form ([`super::judges`] judges
//! it). Where another way to tell right from wrong is short, the answers are compared, too.
//!
//! The values begin with those of `conformance/environment/` and with its `corpus.txt`, which is
//! also read as it is. They are changed without a look at the code's coverage; the crate in `fuzz/`
//! does that, with a nightly compiler. A run is short and always the same, unless
//! `GANGWAY_FUZZ_SECONDS` says how long it takes and `GANGWAY_FUZZ_SEED` where it begins
//! ([docs/robustness.md](../../../../docs/robustness.md)).

use std::time::{Duration, Instant};

use super::judges::reads;
use ult::sys::random::XorShift;

use super::places::{PlacesSpec, places};

const VARIABLES: &str = include_str!("../../../libomp-shim/variables.tsv");
const FORMS: &str = include_str!("../../../conformance/environment/forms.tsv");
const VALUES: &str = include_str!("../../../conformance/environment/values.tsv");
const CORPUS: &str = include_str!("../../../conformance/environment/corpus.txt");

/// What is put into values.
const TOKENS: [&str; 34] = [
    ",",
    ":",
    "{",
    "}",
    "!",
    "(",
    ")",
    "[",
    "]",
    "-",
    "+",
    "@",
    "*",
    "=",
    ";",
    " ",
    "\t",
    "0",
    "1",
    "65536",
    "65535",
    "2147483647",
    "2147483648",
    "-2147483648",
    "18446744073709551615",
    "x",
    "K",
    "T",
    "é",
    "\u{FFFD}",
    "\u{1F600}",
    "\u{7F}",
    "infinite",
    "true",
];

struct FuzzChance(XorShift);

impl FuzzChance {
    fn below(&mut self, end: usize) -> usize {
        (self.0.draw() % end as u64) as usize
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

/// Calls `one` for as long as it is meant to be.
fn many(usual: u64, mut one: impl FnMut(&mut FuzzChance)) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number("GANGWAY_FUZZ_SEED").unwrap_or(0).wrapping_add(0x2545_F491_4F6C_DD1D);
    let mut chance = FuzzChance(XorShift::new(seed));
    let end = number("GANGWAY_FUZZ_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut done = 0;
    while end.map_or(done < usual, |end| Instant::now() < end) {
        one(&mut chance);
        done += 1;
    }
    println!("{done} cases");
}

/// A column of a table.
fn column(table: &'static str, at: usize) -> impl Iterator<Item = &'static str> {
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(move |line| line.split('\t').nth(at))
}

fn names() -> Vec<&'static str> {
    // One makes others silent, and one reads files; the others are no variables.
    let left_out = ["KMP_WARNINGS", "GANGWAY_TOPOLOGY", "OMPX_", "variable"];
    column(VARIABLES, 1).chain(column(FORMS, 0)).filter(|name| !left_out.contains(name)).collect()
}

fn values() -> Vec<&'static str> {
    let words = column(VARIABLES, 7).flat_map(|cell| cell.split('`').skip(1).step_by(2));
    column(VALUES, 2).filter(|value| !value.contains("[[")).chain(words).collect()
}

/// A value like one of `values`.
fn changed(chance: &mut FuzzChance, values: &[&str]) -> String {
    let mut text = chance.of(values).to_owned();
    for _ in 0..chance.below(6) {
        let (mut from, mut to) = (chance.below(text.len() + 1), chance.below(text.len() + 1));
        (from, to) = (text.floor_char_boundary(from.min(to)), text.floor_char_boundary(from.max(to)));
        match chance.below(5) {
            0 => text.insert_str(from, chance.of(&TOKENS)),
            1 => text.replace_range(from..to, ""),
            2 => text.replace_range(from..to, chance.of(&TOKENS)),
            3 => text.insert_str(from, &text[from..to].repeat(1 + chance.below(40)).clone()),
            _ => text.insert_str(from, chance.of(values)),
        }
        text.truncate(text.floor_char_boundary(20_000));
    }
    text
}

#[test]
fn the_environment_is_read_whatever_it_says() {
    let (names, values) = (names(), values());
    for (name, value) in CORPUS.lines().filter_map(|line| line.split_once('=')) {
        reads(&[(name, value)]);
    }
    many(4000, |chance| {
        let count = 1 + chance.below(3);
        let mut pairs: Vec<(&str, String)> =
            (0..count).map(|_| (chance.of(&names), changed(chance, &values))).collect();
        pairs.sort();
        pairs.dedup_by_key(|(name, _)| *name);
        reads(&pairs.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>());
    });
}

/// An interval by chance: its text and the numbers it stands for, if they are numbers of
/// processors.
fn interval(chance: &mut FuzzChance, from: i128) -> (String, Vec<i128>) {
    let numbers = [1, 2, 3, 7, 64, 1000, -1, -3, -64, 2_147_483_647, -2_147_483_648];
    let (length, stride) = (1 + chance.below(20) as i128, numbers[chance.below(numbers.len())]);
    let (text, length, stride) = match chance.below(3) {
        0 => (String::new(), 1, 1),
        1 => (format!(":{length}"), length, 1),
        _ => (format!(":{length}:{stride}"), length, stride),
    };
    (text, (0..length).map(|i| from + i * stride).collect())
}

#[test]
fn lists_of_places_mean_what_they_say() {
    many(20_000, |chance| {
        let (mut text, mut expected) = (String::new(), Vec::<Vec<i128>>::new());
        for term in 0..1 + chance.below(4) {
            let first = [0, 1, 5, 63, 2_147_483_647][chance.below(5)];
            let (inside, mut place) = interval(chance, first);
            place.sort_unstable();
            place.dedup();
            let (after, shifts) = interval(chance, 0);
            text += if term == 0 { "" } else { "," };
            text += &format!("{{{first}{inside}}}{after}");
            expected.extend(shifts.iter().map(|by| place.iter().map(|cpu| cpu + by).collect()));
        }
        match places(&text) {
            Ok(PlacesSpec::Explicit(list)) => {
                let list: Vec<Vec<i128>> =
                    list.iter().map(|place| place.iter().map(|&cpu| cpu as i128).collect()).collect();
                assert_eq!(list, expected, "{text}");
            }
            Ok(named) => panic!("{text}: {named:?}"),
            Err(why) => assert!(expected.iter().flatten().any(|&cpu| cpu < 0), "{text}: {why}"),
        }
    });
}
