//! Parsers of single values. All take trimmed text, ignore case and blanks inside, and say what
//! they wanted.

use core::num::IntErrorKind;

use super::types::SpinSetting;
use crate::icv::binding::ProcBind;
use crate::icv::schedule::{Sched, SchedKind, SchedModifier};

/// `true`/`false` and the spellings that LLVM's runtime takes as well.
pub fn boolean(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "t" | ".true." | ".t." | "yes" | "y" | "on" | "1" | "enabled" => Ok(true),
        "false" | "f" | ".false." | ".f." | "no" | "n" | "off" | "0" | "disabled" => Ok(false),
        _ => Err("not true or false".into()),
    }
}

/// Any text, such as a file's name.
pub fn text(text: &str) -> Result<String, String> {
    Ok(text.to_owned())
}

/// An integer from `min` to the largest `int`.
pub fn integer(min: i32) -> impl Fn(&str) -> Result<i32, String> {
    move |text| {
        let outside = || format!("not from {min} to {}", i32::MAX);
        let n = text.trim().parse::<i64>().map_err(|error| match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => outside(),
            _ => "not an integer".to_string(),
        })?;
        i32::try_from(n).ok().filter(|&n| n >= min).ok_or_else(outside)
    }
}

/// An integer from `min`, as `u32`.
pub fn count(min: u32) -> impl Fn(&str) -> Result<u32, String> {
    move |text| integer(min as i32)(text).map(|n| n as u32)
}

/// The number of a real-time signal.
pub fn signal(text: &str) -> Result<i32, String> {
    let (first, last) = (libc::SIGRTMIN(), libc::SIGRTMAX());
    integer(first)(text)
        .ok()
        .filter(|&n| n <= last)
        .ok_or_else(|| format!("not a real-time signal, {first} to {last}"))
}

/// A list of positive integers, separated by commas.
pub fn count_list(text: &str) -> Result<Vec<u32>, String> {
    text.split(',')
        .map(|item| count(1)(item))
        .collect::<Result<_, _>>()
        .map_err(|_| "not a list of positive integers".into())
}

/// As `parse`, with results up to `most`: a larger one is a `what`.
pub fn at_most<T: PartialOrd + Copy>(
    parse: impl Fn(&str) -> Result<T, String>,
    most: T,
    what: &str,
) -> impl Fn(&str) -> Result<T, String> {
    move |text| parse(text).and_then(|n| if n <= most { Ok(n) } else { Err(what.to_owned()) })
}

/// One of `choices`, without regard to case.
pub fn one_of<T: Copy>(choices: &[(&str, T)]) -> impl Fn(&str) -> Result<T, String> {
    move |text| {
        let found = choices.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        found.map(|&(_, value)| value).ok_or_else(|| {
            let names: Vec<&str> = choices.iter().map(|&(name, _)| name).collect();
            format!("not one of {}", names.join(", "))
        })
    }
}

/// A size with a unit letter `B`, `K`, `M`, `G`, `T` (also `KB`, ...); `unit` is what no letter
/// means. In bytes.
pub fn size(unit: u8) -> impl Fn(&str) -> Result<usize, String> {
    move |text| {
        let wrong = || "not a size such as 4M (units B, K, M, G, T)".to_string();
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, letter) = text.split_at(digits);
        let number: usize = number.parse().map_err(|_| wrong())?;
        let letter = letter.trim().to_ascii_uppercase();
        let letter = match letter.as_bytes() {
            [] => unit,
            [one] | [one @ (b'K' | b'M' | b'G' | b'T'), b'B'] => *one,
            _ => return Err(wrong()),
        };
        let shift = match letter {
            b'B' => 0,
            b'K' => 10,
            b'M' => 20,
            b'G' => 30,
            b'T' => 40,
            _ => return Err(wrong()),
        };
        number.checked_mul(1 << shift).filter(|&n| n <= isize::MAX as usize).ok_or_else(|| "too large".into())
    }
}

/// `[modifier:]kind[,chunk]` of `OMP_SCHEDULE`.
pub fn schedule(text: &str) -> Result<Sched, String> {
    let (modifier, rest) = match text.split_once(':') {
        None => (SchedModifier::Unspecified, text),
        Some((m, rest)) => (schedule_modifier(m.trim())?, rest),
    };
    let (kind, chunk) = match rest.split_once(',') {
        None => (rest, 0),
        Some((kind, chunk)) => (kind, integer(1)(chunk).map_err(|why| format!("chunk {why}"))?),
    };
    let kind = one_of(&[
        ("static", SchedKind::Static),
        ("dynamic", SchedKind::Dynamic),
        ("guided", SchedKind::Guided),
        ("auto", SchedKind::Auto),
        ("trapezoidal", SchedKind::Trapezoidal),
        ("static_steal", SchedKind::StaticSteal),
    ])(kind.trim())
    .map_err(|why| format!("kind {why}"))?;
    let chunk = if kind == SchedKind::Auto { 0 } else { chunk };
    Ok(Sched { chunk, kind, modifier })
}

fn schedule_modifier(text: &str) -> Result<SchedModifier, String> {
    one_of(&[("monotonic", SchedModifier::Monotonic), ("nonmonotonic", SchedModifier::Nonmonotonic)])(text)
        .map_err(|why| format!("modifier {why}"))
}

/// `true`, `false`, or a list of `primary`, `master`, `close`, `spread`.
pub fn proc_bind(text: &str) -> Result<Vec<ProcBind>, String> {
    if let Ok(on) = boolean(text) {
        return Ok(vec![if on { ProcBind::True } else { ProcBind::False }]);
    }
    let policy = one_of(&[
        ("primary", ProcBind::Primary),
        ("master", ProcBind::Primary),
        ("close", ProcBind::Close),
        ("spread", ProcBind::Spread),
    ]);
    text.split(',')
        .map(|item| policy(item.trim()))
        .collect::<Result<_, _>>()
        .map_err(|_| "not true, false or a list of primary, close, spread".into())
}

/// `KMP_BLOCKTIME`: `infinite`, or a number with `us` or `ms` (the default).
pub fn blocktime(text: &str) -> Result<SpinSetting, String> {
    let text = text.to_ascii_lowercase();
    if text == "infinite" || text == "infinity" {
        return Ok(SpinSetting::Forever);
    }
    let (number, factor) = match text.strip_suffix("us") {
        Some(number) => (number, 1),
        None => (text.strip_suffix("ms").unwrap_or(&text), 1000),
    };
    let number =
        integer(0)(number).map_err(|_| "not a time such as 200 (ms), 50us or infinite".to_string())?;
    Ok(match number {
        0 => SpinSetting::None,
        i32::MAX => SpinSetting::Forever,
        _ => SpinSetting::Micros(number as u64 * factor),
    })
}

/// `GOMP_SPINCOUNT`: `infinite`, or a number of iterations with the suffixes `k`, `M`, `G`, `T`
/// (powers of 1000).
pub fn spincount(text: &str) -> Result<SpinSetting, String> {
    let text = text.to_ascii_lowercase();
    if text == "infinite" || text == "infinity" {
        return Ok(SpinSetting::Forever);
    }
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, suffix) = text.split_at(digits);
    let factor = match suffix.trim() {
        "" => Some(1),
        "k" => Some(1_000),
        "m" => Some(1_000_000),
        "g" => Some(1_000_000_000),
        "t" => Some(1_000_000_000_000),
        _ => None,
    };
    let number = number.parse::<u64>().ok().zip(factor).and_then(|(n, f)| n.checked_mul(f));
    match number.ok_or_else(|| "not a number (k, M, G, T allowed) or infinite".to_string())? {
        0 => Ok(SpinSetting::None),
        n => Ok(SpinSetting::Iterations(n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans() {
        for t in ["true", "TRUE", "1", "yes", ".T.", "on"] {
            assert_eq!(boolean(t), Ok(true), "{t}");
        }
        for f in ["false", "0", "No", "OFF"] {
            assert_eq!(boolean(f), Ok(false), "{f}");
        }
        assert!(boolean("maybe").is_err());
    }

    #[test]
    fn sizes() {
        let k = size(b'K');
        assert_eq!(k("10"), Ok(10 << 10));
        assert_eq!(k("2000500B"), Ok(2000500));
        assert_eq!(k("3000 k"), Ok(3000 << 10));
        assert_eq!(k("10M"), Ok(10 << 20));
        assert_eq!(k("1 gb"), Ok(1 << 30));
        assert_eq!(size(b'B')("10"), Ok(10));
        for bad in ["", "M", "-1", "10X", "1MM", "99999999999999999999", "9999999999T"] {
            assert!(k(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn schedules() {
        let s = schedule("nonmonotonic : Dynamic , 7").unwrap();
        assert_eq!((s.kind, s.chunk, s.modifier), (SchedKind::Dynamic, 7, SchedModifier::Nonmonotonic));
        assert_eq!(schedule("static"), Ok(Sched::STATIC));
        assert_eq!(schedule("auto,3").unwrap().chunk, 0);
        assert_eq!(schedule("monotonic:guided,2").unwrap().to_string(), "MONOTONIC:GUIDED,2");
        for bad in
            ["", "runtime", "static,0", "static,x", "static,", "fast:static", "dynamic,-3", "dynamic,4,4"]
        {
            assert!(schedule(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn lists() {
        assert_eq!(count_list("4, 3 ,2"), Ok(vec![4, 3, 2]));
        for bad in ["4,,2", "0", "4,", "-1", "x", "99999999999"] {
            assert!(count_list(bad).is_err(), "{bad}");
        }
        assert_eq!(proc_bind("Spread , master"), Ok(vec![ProcBind::Spread, ProcBind::Primary]));
        assert_eq!(proc_bind("TRUE"), Ok(vec![ProcBind::True]));
        assert!(proc_bind("true,close").is_err());
    }

    #[test]
    fn spinning() {
        assert_eq!(blocktime("200"), Ok(SpinSetting::Micros(200_000)));
        assert_eq!(blocktime("50us"), Ok(SpinSetting::Micros(50)));
        assert_eq!(blocktime("2 ms"), Ok(SpinSetting::Micros(2000)));
        assert_eq!(blocktime("Infinite"), Ok(SpinSetting::Forever));
        assert_eq!(blocktime("2147483647"), Ok(SpinSetting::Forever));
        assert_eq!(blocktime("0"), Ok(SpinSetting::None));
        assert!(blocktime("-1").is_err() && blocktime("soon").is_err());
        assert_eq!(spincount("30k"), Ok(SpinSetting::Iterations(30_000)));
        assert_eq!(spincount("INFINITY"), Ok(SpinSetting::Forever));
        assert_eq!(spincount("0"), Ok(SpinSetting::None));
        assert!(spincount("3q").is_err() && spincount("k").is_err());
    }
}
