//! The syntax of `KMP_AFFINITY`: `[modifier,...]<type>[,<permute>][,<offset>]`, as LLVM's runtime
//! documents it.

use super::places::{MOST, TOO_MANY, range};
use crate::affinity::level::Level;

/// The type of a `KMP_AFFINITY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KmpKind {
    /// `none`, `disabled`: no binding.
    None,
    /// Neighbouring threads on neighbouring places.
    Compact,
    /// Neighbouring threads as far apart as possible.
    Scatter,
    /// Blocks of neighbouring threads, spread over the cores.
    Balanced,
    /// Places from `proclist`.
    Explicit,
}

/// A parsed `KMP_AFFINITY`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KmpAffinity {
    /// The type; `None` if only modifiers were given.
    pub kind: Option<KmpKind>,
    /// `granularity=`: how large the places are.
    pub granularity: Option<Level>,
    /// `proclist=[...]`: one place per element.
    pub proclist: Vec<Vec<usize>>,
    /// `permute`: how many of the outermost levels are treated as innermost.
    pub permute: u32,
    /// `offset`: the place of the first thread.
    pub offset: u32,
    /// `reset`: an initial thread is bound only while it is in a region.
    pub reset: bool,
    /// `verbose`: say what is bound where.
    pub verbose: bool,
}

/// Parses `KMP_AFFINITY`.
pub fn kmp_affinity(text: &str) -> Result<KmpAffinity, String> {
    let mut parsed = KmpAffinity {
        kind: None,
        granularity: None,
        proclist: Vec::new(),
        permute: 0,
        offset: 0,
        reset: false,
        verbose: false,
    };
    let mut numbers = Vec::new();
    for word in words(text) {
        let word = word.trim().to_ascii_lowercase();
        match word.split_once('=') {
            Some((name, value)) => setting(&mut parsed, name.trim(), value.trim())?,
            None if word.parse::<u32>().is_ok() => numbers.extend(word.parse::<u32>()),
            None => keyword(&mut parsed, &word)?,
        }
    }
    match numbers[..] {
        [] => {}
        // For `explicit` and `scatter` alike a single number is the permute; `balanced` has no
        // numbers in practice.
        [permute] => parsed.permute = permute,
        [permute, offset] => (parsed.permute, parsed.offset) = (permute, offset),
        _ => return Err("more than two numbers".into()),
    }
    match (parsed.kind, parsed.proclist.is_empty()) {
        (Some(KmpKind::Explicit), true) => Err("explicit needs a proclist=[...]".into()),
        (None, false) => Ok(KmpAffinity { kind: Some(KmpKind::Explicit), ..parsed }),
        _ => Ok(parsed),
    }
}

fn keyword(parsed: &mut KmpAffinity, word: &str) -> Result<(), String> {
    let kind = match word {
        "none" | "disabled" => KmpKind::None,
        "compact" | "logical" => KmpKind::Compact,
        "scatter" | "physical" => KmpKind::Scatter,
        "balanced" => KmpKind::Balanced,
        "explicit" => KmpKind::Explicit,
        "verbose" | "noverbose" => {
            parsed.verbose = word == "verbose";
            return Ok(());
        }
        "reset" | "noreset" => {
            parsed.reset = word == "reset";
            return Ok(());
        }
        // Always respected, always warned about; accepted because people write them.
        "respect" | "norespect" | "warnings" | "nowarnings" | "duplicates" | "noduplicates" => return Ok(()),
        _ => {
            return Err(format!(
                "'{word}' is neither a type (none, compact, scatter, balanced, explicit) nor a modifier"
            ));
        }
    };
    match parsed.kind.replace(kind) {
        None => Ok(()),
        Some(_) => Err("more than one type".into()),
    }
}

fn setting(parsed: &mut KmpAffinity, name: &str, value: &str) -> Result<(), String> {
    match name {
        "granularity" => {
            parsed.granularity = Some(match value {
                "fine" | "thread" | "threads" => Level::Thread,
                "core" | "cores" | "tile" | "module" => Level::Core,
                "ll_cache" | "l3_cache" | "l2_cache" | "die" => Level::LastCache,
                "node" | "numa" | "numa_domain" => Level::Numa,
                "socket" | "sockets" | "package" | "group" => Level::Socket,
                _ => {
                    return Err(format!(
                        "granularity '{value}' is not one of fine, thread, core, ll_cache, numa_domain, socket"
                    ));
                }
            });
            Ok(())
        }
        "proclist" => proclist(value).map(|list| parsed.proclist = list),
        _ => Err(format!("'{name}=' is neither granularity= nor proclist=")),
    }
}

/// `[0,{1,2},4-8:2]`
fn proclist(text: &str) -> Result<Vec<Vec<usize>>, String> {
    let inner = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).ok_or("proclist needs [ and ]")?;
    let (mut places, mut listed) = (Vec::new(), 0);
    for item in words(inner) {
        let item = item.trim();
        let mut cpus = Vec::new();
        match item.strip_prefix('{').and_then(|t| t.strip_suffix('}')) {
            Some(set) => {
                set.split(',').try_for_each(|one| range(one.trim(), &mut cpus))?;
                listed += cpus.len();
                cpus.sort_unstable();
                cpus.dedup();
                places.push(cpus);
            }
            None => {
                range(item, &mut cpus)?;
                listed += cpus.len();
                places.extend(cpus.into_iter().map(|cpu| vec![cpu]));
            }
        }
        if listed > MOST as usize {
            return Err(TOO_MANY.into());
        }
    }
    Ok(places)
}

/// Splits at the commas outside brackets and braces.
fn words(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut words) = (0i32, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                words.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    words.push(&text[start..]);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write() {
        let k = kmp_affinity("granularity=fine,compact,1,0").unwrap();
        assert_eq!(
            (k.kind, k.granularity, k.permute, k.offset),
            (Some(KmpKind::Compact), Some(Level::Thread), 1, 0)
        );
        let k = kmp_affinity("verbose,Scatter,reset").unwrap();
        assert_eq!((k.kind, k.verbose, k.reset), (Some(KmpKind::Scatter), true, true));
        assert_eq!(kmp_affinity("disabled").unwrap().kind, Some(KmpKind::None));
        assert_eq!(kmp_affinity("verbose").unwrap().kind, None);
        let k = kmp_affinity("proclist=[3,0,{1,2},4-8:2],explicit").unwrap();
        assert_eq!(k.proclist, [vec![3], vec![0], vec![1, 2], vec![4], vec![6], vec![8]]);
    }

    #[test]
    fn mistakes_are_refused() {
        for bad in [
            "fast",
            "explicit",
            "compact,scatter",
            "granularity=tiny,compact",
            "proclist=[a],explicit",
            "proclist=0,explicit",
            "compact,1,2,3",
            "explicit,proclist=[0-40000,0-40000]",
            "explicit,proclist=[{0-40000},{0-40000}]",
        ] {
            assert!(kmp_affinity(bad).is_err(), "{bad}");
        }
    }
}
