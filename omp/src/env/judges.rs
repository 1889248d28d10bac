//! Judges of variables ([`libomp_shim::fuzz`]): lines of the right form, one per variable; integers by
//! their digits, lists of places by what they stand for in wide arithmetic.

use super::PlacesSpec;
use super::made_up::build;
use super::places::places as parse_places;
use crate::judging::in_time;

/// Makes others silent; is no variable of the environment's alone.
const LEFT_OUT: [&str; 1] = ["KMP_WARNINGS"];

/// Lines `NAME=value`; of two with one name the first counts.
pub fn environment(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for (name, value) in text.lines().filter_map(|line| line.split_once('=')) {
        if !LEFT_OUT.contains(&name) && pairs.iter().all(|(known, _)| *known != name) {
            pairs.push((name, value));
        }
    }
    reads(&pairs);
}

/// Reads these variables and looks at what came of them.
pub fn reads(pairs: &[(&str, &str)]) {
    let (settings, lines) = in_time(pairs, || build(pairs));
    assert!(
        settings.initial.nthreads >= 1
            && settings.scheduling.workers >= 1
            && settings.threads.stacksize >= 64 << 10,
        "{pairs:?}"
    );
    assert!(
        settings
            .binding
            .bound
            .places
            .as_ref()
            .is_none_or(|all| (0..all.len()).all(|place| all.procs(place).iter().all(|&cpu| cpu < 16))),
        "{pairs:?}"
    );
    for line in &lines {
        let is_about = |(name, _): &(&str, &str)| line.starts_with(&format!("{name}='"));
        assert!(
            pairs.iter().any(is_about) && line.contains("': ") && line.contains("; ") && line.len() < 1000,
            "{pairs:?}: {line}"
        );
    }
    // A value is wrong once, or well formed and then overruled or not to be had.
    for (name, _) in pairs {
        assert!(lines.iter().filter(|line| line.starts_with(&format!("{name}='"))).count() <= 1, "{lines:?}");
    }
    integers_are_right(pairs, &lines);
}

/// By the digits alone.
fn integers_are_right(pairs: &[(&str, &str)], lines: &[String]) {
    for (name, value) in pairs {
        let Some(&(_, least)) =
            [("OMP_MAX_TASK_PRIORITY", 0u32), ("OMP_NUM_TEAMS", 1), ("OMP_THREAD_LIMIT", 1)]
                .iter()
                .find(|(n, _)| n == name)
        else {
            continue;
        };
        let text = value.trim();
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        let significant = digits.trim_start_matches('0');
        let is_small = significant.len() < 10 || significant.len() == 10 && significant <= "2147483647";
        let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) && is_small;
        let is_negative = text.starts_with('-') && !significant.is_empty();
        let is_right =
            text.is_empty() || is_number && !is_negative && (least == 0 || !significant.is_empty());
        let complains = lines.iter().any(|line| line.starts_with(&format!("{name}='")));
        assert_eq!(is_right, !complains, "{name}='{value}'");
    }
}

/// A list of places, as `OMP_PLACES` has it.
///
/// What is accepted and looks like `{first:length:stride}:length:stride,...` is compared with what
/// that stands for.
pub fn places(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let text = text.trim();
    if text.is_empty() {
        return; // counts as not set, and no code reads it
    }
    let Ok(PlacesSpec::Explicit(list)) = in_time(text, || parse_places(text)) else { return };
    let Some(expected) = plain(text) else { return };
    let list: Vec<Vec<i128>> =
        list.iter().map(|place| place.iter().map(|&cpu| cpu as i128).collect()).collect();
    assert_eq!(list, expected, "{text}");
}

/// The places of a list of plain intervals; `None` for any other text.
fn plain(text: &str) -> Option<Vec<Vec<i128>>> {
    let mut all: Vec<Vec<i128>> = Vec::new();
    for part in text.split_inclusive('}') {
        // What stands before a brace belongs to the place before it: its copies, and a comma.
        let (before, inside) =
            part.split_once('{').map_or((part, None), |(before, inside)| (before, Some(inside)));
        let copies = before.trim().trim_end_matches(',').trim_end();
        if !copies.is_empty() {
            let (place, shifts) = (all.pop()?, interval(&format!("0{copies}"))?);
            all.extend(shifts.iter().map(|by| place.iter().map(|cpu| cpu + by).collect()));
        }
        if let Some(inside) = inside {
            let mut place = interval(inside.strip_suffix('}')?)?;
            place.sort_unstable();
            place.dedup();
            all.push(place);
        }
    }
    Some(all)
}

/// The numbers of `first[:length[:stride]]`.
fn interval(text: &str) -> Option<Vec<i128>> {
    let numbers: Vec<&str> = text.split(':').collect();
    let number =
        |at: usize, usual: i128| numbers.get(at).map_or(Some(usual), |text| text.trim().parse().ok());
    let (first, length, stride) = (number(0, 0)?, number(1, 1)?, number(2, 1)?);
    let is_plain = numbers.len() <= 3 && (1..=1 << 16).contains(&length);
    is_plain.then(|| (0..length).map(|i| first + i * stride).collect())
}
