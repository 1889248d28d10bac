//! Tests that `libomp-shim/variables.tsv` and the tables of settings say the same: which variables
//! there are, which name files, the names of their values, and what is used instead of a wrong one.
//! What values mean is tried by `cargo xtask env-cases`.

use std::collections::{BTreeMap, BTreeSet};

use super::snapshot::names_file;
use super::vars::{PREFIXES, Vars, tests::asked_by};
use super::{described, made_up};

/// The cells of a variable's row, by the names of the columns.
type Row = BTreeMap<&'static str, &'static str>;

fn rows() -> BTreeMap<&'static str, Row> {
    let mut lines =
        include_str!("../../../libomp-shim/variables.tsv").lines().filter(|line| !line.starts_with('#'));
    let heads: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let row = |line: &'static str| {
        let row: Row = heads.iter().copied().zip(line.split('\t')).collect();
        (row["variable"], row)
    };
    lines.map(row).collect()
}

/// The line about this value of the variable, if it is wrong: the reason, and what is used instead.
fn complaint(name: &str, value: &str) -> Option<(String, String)> {
    let lines = match name {
        "GANGWAY_TOPOLOGY" => described::believe(&Vars::of(&[(name, value)])),
        _ => made_up::build(&[(name, value)]).1,
    };
    let [line] = &lines[..] else {
        assert!(lines.is_empty(), "{lines:?}");
        return None;
    };
    let said = line.strip_prefix(&format!("{name}='{value}': ")).and_then(|said| said.rsplit_once("; "));
    let (why, instead) = said.unwrap_or_else(|| panic!("{line}"));
    Some((why.to_owned(), instead.to_owned()))
}

#[test]
fn the_rows_are_the_variables_that_are_read() {
    let rows: BTreeSet<String> = rows().keys().map(ToString::to_string).collect();
    let asked = asked_by(|| {
        described::believe(&Vars::default());
        made_up::build(&[]);
    });
    let plain =
        |name: &String| name.strip_suffix("_ALL").filter(|base| rows.contains(*base)).map(str::to_owned);
    let asked: BTreeSet<String> = asked.iter().map(|name| plain(name).unwrap_or(name.clone())).collect();
    let only =
        |one: &BTreeSet<String>, other: &BTreeSet<String>| one.difference(other).cloned().collect::<Vec<_>>();
    assert_eq!(
        (only(&asked, &rows), only(&rows, &asked)),
        (vec![], vec![]),
        "read and without a row; with a row and not read"
    );
    assert!(
        rows.len() > 70 && rows.iter().all(|name| PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
    );
}

#[test]
fn the_rows_say_which_variables_name_files() {
    for (name, row) in rows() {
        let says = ["file", "path", "FILE"].iter().any(|word| row["values"].contains(word));
        let names = ["/a/file", "library:/a/file"].iter().any(|value| names_file(name, value));
        assert_eq!(says, names, "{name}: '{}'", row["values"]);
    }
}

#[test]
fn the_rows_have_the_names_of_values() {
    let mut compared = 0;
    for (name, row) in rows() {
        let words: Vec<&str> = row["values"].split(", ").collect();
        let is_name = |word: &&str| word.len() > 2 && word.starts_with('`') && word.ends_with('`');
        let choices = complaint(name, "rubbish!")
            .and_then(|(why, _)| Some(why.strip_prefix("not one of ")?.to_owned()));
        if let Some(choices) = choices.filter(|_| words.iter().all(is_name)) {
            let mut choices: Vec<String> = choices.split(", ").map(|choice| format!("`{choice}`")).collect();
            let mut words = words;
            choices.sort_unstable();
            words.sort_unstable();
            assert_eq!(words, choices, "{name}");
            compared += 1;
        }
    }
    assert!(compared > 12, "{compared}");
}

#[test]
fn the_rows_say_what_is_used_instead() {
    for (name, row) in rows() {
        let says = row["instead"].replace("@PROCS@", "16").replace("@KIB@", "8192");
        // What is not UTF-8 is wrong even where all texts are right.
        let complaint = ["rubbish!", "a\u{FFFD}"].iter().find_map(|value| complaint(name, value));
        assert!(complaint.is_some_and(|(_, instead)| instead.starts_with(&says)), "{name}: {says}");
    }
}

#[test]
fn every_wrong_value_gives_one_line_and_the_default() {
    let defaults = |name, value| {
        let settings = made_up::build(&[(name, value)]).0;
        (settings.initial, settings.threads.stacksize, settings.threads.waiting, settings.scheduling.workers)
    };
    let usual = defaults("OMP_NUM_THREADS", "");
    let all = rows();
    // Wrong places bind threads to cores: who asks for places wants to be bound.
    let tried = all.keys().copied().filter(|&name| name != "OMP_PLACES").chain(["OMP_SCHEDULE_ALL"]);
    let wrong = tried.filter(|name| complaint(name, "rubbish!").is_some());
    let wrong: Vec<_> =
        wrong.inspect(|name| assert_eq!(defaults(name, "rubbish!"), usual, "{name}")).collect();
    assert!(wrong.len() > 60, "{wrong:?}");
}
