//! The syntax of `OMP_PLACES` (OpenMP 5.2, section 21.1.6) and `GOMP_CPU_AFFINITY`.
//!
//! Only syntax: which places exist on this machine is decided by [`super::super::affinity`].
//! Processor numbers are the operating system's.

use crate::affinity::level::Level;

/// Most places, and most processors in a place, that an interval may describe: `{0}:1000000000` is
/// a typing error.
pub(super) const MOST: i64 = 1 << 16;
/// Most processors that a list may name in all, each as often as it comes.
const MOST_PROCESSORS: usize = 1 << 20;
/// Most comparisons of a place that is taken out with those that are there.
const MOST_COMPARISONS: usize = 1 << 24;

/// What is said of lists beyond those bounds.
pub(super) const TOO_MANY: &str = "too many processors";

/// What a variable asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlacesSpec {
    /// `threads`, `cores`, ..., with an optional number of places.
    Abstract(Level, Option<u32>),
    /// Lists of processor numbers, in the order written, not yet compared with what is usable.
    Explicit(Vec<Vec<usize>>),
}

/// Words for the levels.
const NAMES: [(&str, Level); 5] = [
    ("threads", Level::Thread),
    ("cores", Level::Core),
    ("ll_caches", Level::LastCache),
    ("numa_domains", Level::Numa),
    ("sockets", Level::Socket),
];

impl PlacesSpec {
    /// The word that stands for these places, with their number if one was given.
    pub fn name(&self) -> Option<String> {
        let PlacesSpec::Abstract(level, count) = self else { return None };
        let (name, _) = NAMES.iter().find(|(_, l)| l == level)?;
        Some(count.map_or_else(|| (*name).to_owned(), |n| format!("{name}({n})")))
    }
}

/// What a text that [`places`] refuses may have meant: the word it begins with, else cores.
pub fn nearest(text: &str) -> PlacesSpec {
    let word = text.split('(').next().unwrap_or_default();
    let level = super::value::one_of(&NAMES)(word.trim()).unwrap_or(Level::Core);
    PlacesSpec::Abstract(level, None)
}

/// Parses `OMP_PLACES`.
pub fn places(text: &str) -> Result<PlacesSpec, String> {
    match text.as_bytes()[0].is_ascii_alphabetic() {
        true => named(text),
        false => explicit(text).map(PlacesSpec::Explicit),
    }
}

fn named(text: &str) -> Result<PlacesSpec, String> {
    let (name, count) = match text.split_once('(') {
        None => (text, None),
        Some((name, rest)) => {
            let number = rest.strip_suffix(')').ok_or("a ) is missing")?;
            (name, Some(super::value::count(1)(number).map_err(|why| format!("number of places {why}"))?))
        }
    };
    let level = super::value::one_of(&NAMES)(name.trim())
        .map_err(|why| format!("neither a list of places nor {}", why.trim_start_matches("not ")))?;
    Ok(PlacesSpec::Abstract(level, count))
}

fn explicit(text: &str) -> Result<Vec<Vec<usize>>, String> {
    let mut cursor = Cursor { rest: text };
    let mut places: Vec<Vec<usize>> = Vec::new();
    let (mut listed, mut comparisons) = (0, 0);
    loop {
        let exclude = cursor.eat('!');
        let place = cursor.place()?;
        let (len, stride) = if exclude { (1, 1) } else { cursor.repeat(1)? };
        listed += len as usize * place.len();
        comparisons += if exclude { places.len() } else { 0 };
        if listed > MOST_PROCESSORS || comparisons > MOST_COMPARISONS {
            return Err(TOO_MANY.into());
        }
        for i in 0..len {
            let shifted = shift(&place, i * stride)?;
            match exclude {
                true => places.retain(|p| p != &shifted),
                false => places.push(shifted),
            }
        }
        if (places.len() as i64) > MOST {
            return Err("too many places".into());
        }
        if cursor.done() {
            return if places.is_empty() { Err("no place is left".into()) } else { Ok(places) };
        }
        cursor.expect(',')?;
    }
}

fn shift(place: &[usize], by: i64) -> Result<Vec<usize>, String> {
    place
        .iter()
        .map(|&cpu| usize::try_from(cpu as i64 + by).map_err(|_| "a processor number below 0".to_string()))
        .collect()
}

/// Parses `GOMP_CPU_AFFINITY`: processor numbers and ranges `a-b[:stride]`, separated by blanks or
/// commas; each processor is a place.
pub fn gomp_cpu_affinity(text: &str) -> Result<Vec<Vec<usize>>, String> {
    let mut cpus = Vec::new();
    for item in text.split([' ', '\t', ',']).filter(|item| !item.is_empty()) {
        range(item, &mut cpus)?;
    }
    Ok(cpus.into_iter().map(|cpu| vec![cpu]).collect())
}

/// One `a`, `a-b` or `a-b:stride`, appended to `cpus`.
pub fn range(item: &str, cpus: &mut Vec<usize>) -> Result<(), String> {
    let wrong = || format!("'{item}' is not a processor, a range a-b or a-b:stride");
    let number = |t: &str| t.trim().parse::<u32>().map(|n| n as usize).map_err(|_| wrong());
    let (bounds, stride) = match item.split_once(':') {
        None => (item, 1),
        Some((bounds, stride)) => (bounds, number(stride)?),
    };
    let (first, last) = match bounds.split_once('-') {
        None => (number(bounds)?, number(bounds)?),
        Some((first, last)) => (number(first)?, number(last)?),
    };
    let strides_nowhere = item.contains(':') && !bounds.contains('-');
    if last < first || stride == 0 || strides_nowhere {
        return Err(wrong());
    }
    if cpus.len() + (last - first) / stride >= MOST as usize {
        return Err(TOO_MANY.into());
    }
    cpus.extend((first..=last).step_by(stride));
    Ok(())
}

/// A position in the text; blanks are skipped before every token.
struct Cursor<'a> {
    rest: &'a str,
}

impl Cursor<'_> {
    fn done(&mut self) -> bool {
        self.rest = self.rest.trim_start();
        self.rest.is_empty()
    }

    fn eat(&mut self, c: char) -> bool {
        self.rest = self.rest.trim_start();
        let found = self.rest.strip_prefix(c);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    fn expect(&mut self, c: char) -> Result<(), String> {
        match self.eat(c) {
            true => Ok(()),
            false => Err(format!("{c} expected before '{}'", self.rest)),
        }
    }

    fn number(&mut self) -> Result<i64, String> {
        self.rest = self.rest.trim_start();
        let digits = self.rest.strip_prefix('-').unwrap_or(self.rest);
        let sign = self.rest.len() - digits.len();
        let end = sign + digits.len() - digits.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = self.rest.split_at(end);
        let n = number.parse::<i32>().map_err(|_| format!("a number expected before '{}'", self.rest))?;
        self.rest = rest;
        Ok(n.into())
    }

    /// `:len[:stride]`, or nothing.
    fn repeat(&mut self, default_stride: i64) -> Result<(i64, i64), String> {
        if !self.eat(':') {
            return Ok((1, default_stride));
        }
        let len = self.number()?;
        if !(1..=MOST).contains(&len) {
            return Err(format!("length {len} is not from 1 to {MOST}"));
        }
        let stride = if self.eat(':') { self.number()? } else { default_stride };
        Ok((len, stride))
    }

    /// `{resources}` or a single resource.
    fn place(&mut self) -> Result<Vec<usize>, String> {
        if !self.eat('{') {
            let cpu = self.cpu()?;
            return Ok(vec![cpu as usize]);
        }
        let mut cpus: Vec<usize> = Vec::new();
        loop {
            self.resources(&mut cpus)?;
            if self.eat('}') {
                break;
            }
            self.expect(',')?;
        }
        cpus.sort_unstable();
        cpus.dedup();
        if cpus.is_empty() { Err("an empty place".into()) } else { Ok(cpus) }
    }

    /// `n`, `n:len`, `n:len:stride` or `!n`.
    fn resources(&mut self, cpus: &mut Vec<usize>) -> Result<(), String> {
        if self.eat('!') {
            let out = self.cpu()? as usize;
            cpus.retain(|&cpu| cpu != out);
            return Ok(());
        }
        let first = self.cpu()?;
        let (len, stride) = self.repeat(1)?;
        if cpus.len() + len as usize > MOST_PROCESSORS {
            return Err(TOO_MANY.into());
        }
        for i in 0..len {
            let cpu = usize::try_from(first + i * stride).map_err(|_| "a processor number below 0")?;
            cpus.push(cpu);
        }
        Ok(())
    }

    fn cpu(&mut self) -> Result<i64, String> {
        self.number().and_then(|n| if n < 0 { Err("a processor number below 0".into()) } else { Ok(n) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> Vec<Vec<usize>> {
        match places(text) {
            Ok(PlacesSpec::Explicit(list)) => list,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn the_three_spellings_of_the_specification_agree() {
        let want: Vec<Vec<usize>> = (0..4).map(|i| (4 * i..4 * i + 4).collect()).collect();
        assert_eq!(listed("{0,1,2,3},{4,5,6,7},{8,9,10,11},{12,13,14,15}"), want);
        assert_eq!(listed("{0:4},{4:4},{8:4},{12:4}"), want);
        assert_eq!(listed("{0:4}:4:4"), want);
    }

    #[test]
    fn strides_exclusions_and_bare_numbers() {
        assert_eq!(listed("{0:3:2}"), [[0, 2, 4]]);
        assert_eq!(listed("{3}:4:-1"), [[3], [2], [1], [0]]);
        assert_eq!(listed("{0:2}:3"), [[0, 1], [1, 2], [2, 3]]);
        assert_eq!(listed("{0}:4,!{2}"), [[0], [1], [3]]);
        assert_eq!(listed("{0:4,!2}"), [[0, 1, 3]]);
        assert_eq!(listed("0, 2 :2: 3"), [[0], [2], [5]]);
        assert_eq!(listed(" { 1 , 0 } "), [[0, 1]]);
    }

    #[test]
    fn names() {
        assert_eq!(places("Cores"), Ok(PlacesSpec::Abstract(Level::Core, None)));
        assert_eq!(places("sockets ( 2 )"), Ok(PlacesSpec::Abstract(Level::Socket, Some(2))));
        assert_eq!(places("ll_caches"), Ok(PlacesSpec::Abstract(Level::LastCache, None)));
    }

    #[test]
    fn mistakes_are_refused() {
        for bad in [
            "{",
            "{}",
            "{0",
            "{0}}",
            "{0},",
            "{0:0}",
            "{0}:0",
            "{-1}",
            "{0}:2:-1",
            "chips",
            "cores(0)",
            "cores(2",
            "{0}:99999999",
            "{0:65536}:65536",
            "{0},!{0}",
            "{a}",
            "{0} {1}",
            &format!("{{{}}}", ["0:65536"; 100].join(",")),
            &["{0:65536}"; 100].join(","),
            &format!("{{0}}:65536{}", ",!{1}".repeat(1000)),
        ] {
            assert!(places(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn gomp_syntax() {
        assert_eq!(gomp_cpu_affinity("0 3 1-2 4-8:2").unwrap(), [[0], [3], [1], [2], [4], [6], [8]]);
        assert_eq!(gomp_cpu_affinity("0,1").unwrap(), [[0], [1]]);
        for bad in ["3-1", "a", "0:2", "0-4:0", "-", "0-4000000000", "0-65536", "0-60000 0-60000"] {
            assert!(gomp_cpu_affinity(bad).is_err(), "{bad}");
        }
    }
}
